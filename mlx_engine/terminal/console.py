"""What the commands share when they write to a terminal."""

import json
import sys
from typing import Any

_SEVEN_BITS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_EIGHT_BITS = {0x80 + letter: "␛" + chr(0x40 + letter) for letter in range(0x20)}  # each means an escape and a letter
_PICTURES = {**_SEVEN_BITS, 0x7F: "␡", **_EIGHT_BITS}


def visible(text: str) -> str:
    """Replace control characters except tab and line feed by pictures such as "␛".

    A terminal obeys control characters, and a model's text, or a name in its files, must not control it.
    """
    return text.translate(_PICTURES)


def progress(text: str) -> None:
    """Replace the progress line on standard error, if that is a terminal; an empty text removes it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:200]}", end="", file=sys.stderr, flush=True)


def note(text: str) -> None:
    """Print a line for the user on standard error."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False))
