"""Tiny pairs that see: the reference targets with images, and drafters for them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message
from mlx_engine.engine.engine import Engine
from tests.mlx_engine import tiny_families
from tests.mlx_engine.conftest import GOLDEN, loaded

VISION = GOLDEN / "vision"
FAMILIES = tuple(sorted(folder.parent.name for folder in VISION.glob("*/cases.json")))


@cache
def described(family: str) -> dict[str, Any]:
    return json.loads((VISION / family / "cases.json").read_text())


@cache
def picture(name: str, at: int = 0, **options: Any) -> AttachedImage:
    """Return a picture of the reference cases at a place in a message."""
    file = VISION / "qwen3_5" / described("qwen3_5")["images"][name]["file"]
    return AttachedImage(at, file.read_bytes(), file.name, **options)


def message(role: Any, content: Any) -> Message:
    """Return a message of a reference case."""
    if isinstance(content, str):
        return Message(role, content)
    text, images = "", []
    for part in content:
        text += part.get("text", "")
        if part["type"] == "image":
            images.append(picture(part["name"], len(text)))
    return Message(role, text, images=tuple(images))


def asked(messages: tuple[Message, ...], **options: Any) -> GenerationRequest:
    return GenerationRequest(messages, **{"max_tokens": 48, "ignore_eos": True, **options})


@contextmanager
def seeing(family: str, kind: str, folder: Path) -> Iterator[Engine]:
    """Run an engine with a reference target and a random drafter.

    Args:
        family: one of `FAMILIES`.
        kind: "none", "dflash", "dspark", "eagle3" or "mtp".
        folder: for the drafter.
    """
    config = json.loads((VISION / family / "config.json").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_families, "VOCABULARY", config["text_config"]["vocab_size"])
        patch.setitem(tiny_families.CONFIGS, family, config)
        drafter = {
            "none": lambda: None,
            "dflash": lambda: tiny_families.save_drafter(family, folder / "drafter", block=8),
            "dspark": lambda: tiny_families.save_drafter(family, folder / "drafter", block=8, dspark=True),
            "eagle3": lambda: tiny_families.save_eagle3(family, folder / "drafter"),
            "mtp": lambda: tiny_families.save_mtp(family, folder / "drafter"),
        }[kind]()
    engine = loaded(VISION / family, drafter)
    yield engine
    engine.unload()
