"""Benchmark prompts, from resources/bench_prompts.json.

- `mixed`: the demo pair's kinds of questions, with new operands and wordings.
- `long`: the same kinds in long chats, including repeated questions.
- `general`: chat, code, math, copying, and long context, for other pairs.

Neighbors differ in kind, so that the first N prompts are mixed too.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import resources
from mlx_engine.contract.requests import Message


@dataclass(frozen=True)
class BenchPrompt:
    """A question, the kind of its answer, and the messages before it (user first)."""

    kind: str
    text: str
    before: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, with the question last."""
        earlier = tuple(Message("assistant" if index % 2 else "user", text) for index, text in enumerate(self.before))
        return (*earlier, Message("user", self.text))


SETS = {
    name: tuple(BenchPrompt(prompt["kind"], prompt["text"], tuple(prompt.get("before", ()))) for prompt in prompts)
    for name, prompts in json.loads((Path(resources.__file__).parent / "bench_prompts.json").read_text(encoding="utf-8")).items()
}
PROMPTS = SETS["mixed"]
