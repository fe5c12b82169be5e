"""Files of prompts, for tuning, comparisons and benchmarks."""

import json
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read
from mlx_engine.contract.requests import Message

Prompts = list[tuple[Message, ...]]


def read_prompts(file: Path) -> Prompts:
    """Return the prompts in a file.

    Each line of a .jsonl file is a string, a list of messages with `role` and `content`, or an object with `prompt` or `messages`.
    Messages contain a user's one and may end with the reply. Each line of other files is the text of a prompt.

    Raises:
        UserError: the file can't be read.
    """
    try:
        lines = [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
        values = [json.loads(line) for line in lines] if file.suffix == ".jsonl" else lines
        return [to_messages(value) for value in values]
    except OSError as error:
        raise cannot_read(file, error) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        template = "“{file}” isn't a list of prompts. Write one prompt per line."
        raise UserError("prompts_invalid", template, file=str(file)) from None


def to_messages(value: Any) -> tuple[Message, ...]:
    """Return the messages of a line.

    Raises:
        ValueError, KeyError, TypeError: it is not a prompt.
    """
    if isinstance(value, dict):
        value = value["messages"] if "messages" in value else value["prompt"]
    if isinstance(value, str):
        return (Message("user", value),)
    for each in value:
        if each["role"] not in ("system", "user", "assistant") or not isinstance(each["content"], str):
            raise ValueError
    if not any(each["role"] == "user" for each in value):
        raise ValueError
    return tuple(Message(each["role"], each["content"]) for each in value)
