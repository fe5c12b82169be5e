"""Benchmark prompts: from resources/bench_prompts.json, or from a file.

- `mixed`: the demo pair's kinds of questions, with new operands and wordings.
- `long`: the same kinds in long chats, including repeated questions.
- `general`: chat, code, math, copying, and long context, for other pairs.

Neighbors differ in kind, so that the first N prompts are mixed too.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import resources
from mlx_engine.cli.prompt_files import read_prompts
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Message


@dataclass(frozen=True)
class BenchPrompt:
    """The messages of a prompt, with the question last, and the kind of its answer."""

    kind: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The question."""
        return self.messages[-1].content


def _alternating(*texts: str) -> tuple[Message, ...]:
    """Return messages of the user and the model in turns, the user's first."""
    return tuple(Message("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


SETS = {
    name: tuple(BenchPrompt(prompt["kind"], _alternating(*prompt.get("before", ()), prompt["text"])) for prompt in prompts)
    for name, prompts in json.loads((Path(resources.__file__).parent / "bench_prompts.json").read_text(encoding="utf-8")).items()
}
PROMPTS = SETS["mixed"]


def from_texts(kind: str, texts: Iterable[str]) -> tuple[BenchPrompt, ...]:
    return tuple(BenchPrompt(kind, (Message("user", text),)) for text in texts)


def from_file(file: Path) -> tuple[BenchPrompt, ...]:
    """Return the prompts in a file. Their kind is the file's name.

    Replies after the last question are left out.

    Raises:
        UserError: the file can't be read, or is empty.
    """
    prompts = []
    for messages in read_prompts(file):
        last = max(at for at, message in enumerate(messages) if message.role == "user")
        prompts.append(BenchPrompt(file.name, messages[: last + 1]))
    if not prompts:
        raise UserError("prompts_empty", "“{file}” has no prompts. Write one prompt per line.", file=str(file))
    return tuple(prompts)
