"""Types of the values of options, for argparse."""

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS

KEY_VARIABLE = "SLIPSTREAM_KEY"  # unlike --key, not in the list of processes
PROMPT_SETS = ("mixed", "long", "general")
_Number = TypeVar("_Number", int, float)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return an argparse type for integers in a range."""
    what = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    return number(int, least, math.inf if most is None else most, what)


def number(kind: type[_Number], least: float, most: float, what: str) -> Callable[[str], _Number]:
    """Return an argparse type for numbers in a range, described by `what` in errors."""

    def convert(text: str) -> _Number:
        with suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"“{text}” isn't {what}")

    return convert


def nonempty(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the value is empty")
    return text


def path(text: str) -> Path:
    return Path(nonempty(text))  # an empty path would be the current folder


def folder(text: str) -> Path:
    if not path(text).is_dir():
        raise argparse.ArgumentTypeError(f"“{text}” isn't a folder")
    return Path(text)


def file(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"“{text}” isn't a file")
    return Path(text)


def prompt_set(text: str) -> str | Path:
    names = (*PROMPT_SETS, *PUBLISHED_SETS)
    if text in names:
        return text
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"“{text}” is neither one of {', '.join(names)}, nor a file")
    return Path(text)


def key(text: str) -> str:
    if text != "none" and not (8 <= len(text) <= 1000 and text.isascii() and text.isprintable() and " " not in text):
        raise argparse.ArgumentTypeError(f"an API key (or {KEY_VARIABLE}) has at least 8 characters, all ASCII, without spaces")
    return text


def origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or text != f"{parts.scheme}://{parts.netloc}" or "@" in text:
        raise argparse.ArgumentTypeError(f"“{text}” isn't an origin. Use a form such as http://localhost:3000, without a path")
    return text.lower()


def streams(text: str) -> tuple[int, ...]:
    return tuple(sorted({1, *(whole(1, 16)(part.strip()) for part in text.split(","))}))


def widths(text: str) -> tuple[int, ...]:
    width = whole(2)
    return () if text == "none" else tuple(sorted({width(part.strip()) for part in text.split(",")}))


TEMPERATURE = number(float, 0, sys.float_info.max, "a temperature of at least 0")
SECONDS = number(float, 0, 3600, "a number of seconds from 0 to 3600")
MEGABYTES = number(float, 1e-6, 1e6, "a number of megabytes per second above 0")
