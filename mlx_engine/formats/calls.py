"""What the parsers of tool calls share.

A parser raises an exception if any of its text isn't part of a complete call. The text is then shown.
"""

import json
import re
import secrets
import string
from collections.abc import Iterator
from typing import Any

from mlx_engine.contract.requests import ToolCall

_ID_LENGTH = 9  # Mistral's templates reject other lengths


def new_id() -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(_ID_LENGTH))


def tool_call(name: Any, arguments: Any, identifier: Any = None) -> ToolCall:
    """Return a call. Its arguments are an object, JSON text, or None.

    Raises:
        ValueError: these aren't a name and arguments.
    """
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    arguments = {} if arguments is None else arguments
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise ValueError("no call")
    identifier = identifier if isinstance(identifier, str) and identifier else new_id()
    call = ToolCall(identifier, name, json.dumps(arguments, ensure_ascii=False, allow_nan=False))
    "".join((call.id, call.name, call.arguments)).encode()  # no halves of characters
    return call


def json_call(found: Any) -> ToolCall:
    """Return the call that a JSON object describes."""
    found = next((found[key] for key in ("function", "tool") if isinstance(found.get(key), dict)), found)
    name = found.get("name", found.get("function"))
    return tool_call(name, found.get("arguments", found.get("parameters")), found.get("id"))


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, which together are all of the text."""
    at = 0
    while at < len(text):
        if not (found := pattern.match(text, at)) or found.end() == at:
            raise ValueError("text between calls")
        yield found
        at = found.end()


def with_json(header: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], Any]]:
    """Yield each header and its JSON value, which together are all of the text."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(text):
        if not (found := header.match(text, at)):
            raise ValueError("text between calls")
        value, at = decoder.raw_decode(text, found.end())
        yield found, value
