"""The prompts that speed is measured on, from resources/bench_prompts.json.

- `mixed`: what the demo pair was trained for, with operands and wordings that it has not seen.
- `long`: the same in long chats, and with questions that were answered before.
- `general`: chat, code, math, copying, and long context, for other pairs.

Neighbors differ in kind, so that the first N prompts are mixed too.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import resources
from mlx_engine.requests import Message


@dataclass(frozen=True)
class Prompt:
    """A question, the kind of its answer, and the questions and answers before it, alternating."""

    kind: str
    text: str
    before: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, the question last."""
        earlier = tuple(Message("assistant" if index % 2 else "user", text) for index, text in enumerate(self.before))
        return (*earlier, Message("user", self.text))


SETS = {
    name: tuple(Prompt(prompt["kind"], prompt["text"], tuple(prompt.get("before", ()))) for prompt in prompts)
    for name, prompts in json.loads((Path(resources.__file__).parent / "bench_prompts.json").read_text(encoding="utf-8")).items()
}
PROMPTS = SETS["mixed"]
