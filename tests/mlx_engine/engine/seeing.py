"""Tiny pairs that see: the reference targets with images, and drafters for them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten

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


def _with_experts(folder: Path) -> Path:
    """Write a target with experts, random weights, and the tower of the reference target."""
    shutil.copytree(VISION / "qwen3_5", folder)
    weights = mx.load(str(folder / "model.safetensors"))
    assert isinstance(weights, dict)
    tower = {name: array for name, array in weights.items() if "visual" in name}
    text = dict(tree_flatten(tiny_families.build("qwen3_5_moe").parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), tower | text)
    (folder / "config.json").write_text(json.dumps(tiny_families.CONFIGS["qwen3_5_moe"]))
    return folder


def _with_template(family: str, template: str, folder: Path) -> Path:
    """Write a reference target with another chat template."""
    shutil.copytree(VISION / family, folder)
    (folder / "chat_template.jinja").chmod(0o644)
    (folder / "chat_template.jinja").write_text(template)
    return folder


@contextmanager
def seeing(family: str, kind: str, folder: Path, template: str = "") -> Iterator[Engine]:
    """Run an engine with a reference target, or one with experts, and a random drafter.

    Args:
        family: one of `FAMILIES`, or "qwen3_5_moe".
        kind: "none", "dflash", "dspark", "eagle3", "mtp" or "assistant".
        folder: for the drafter.
        template: chat template of a reference target, in place of its own.
    """
    has_experts = family == "qwen3_5_moe"
    config = json.loads((VISION / family.removesuffix("_moe") / "config.json").read_text())
    if has_experts:
        config |= {"model_type": family, "architectures": ["Qwen3_5MoeForConditionalGeneration"]}
        config["text_config"] |= {"model_type": f"{family}_text", **tiny_families.EXPERTS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_families, "VOCABULARY", config["text_config"]["vocab_size"])
        patch.setitem(tiny_families.CONFIGS, family, config)
        drafter = {
            "none": lambda: None,
            "dflash": lambda: tiny_families.save_drafter(family, folder / "drafter", block=8),
            "dspark": lambda: tiny_families.save_drafter(family, folder / "drafter", block=8, dspark=True),
            "eagle3": lambda: tiny_families.save_eagle3(family, folder / "drafter"),
            "mtp": lambda: tiny_families.save_mtp(family, folder / "drafter"),
            "assistant": lambda: tiny_families.save_assistant(family, folder / "drafter"),
        }[kind]()
        target = _with_experts(folder / "target") if has_experts else VISION / family
        target = _with_template(family, template, folder / "target") if template else target
    engine = loaded(target, drafter)
    yield engine
    engine.unload()
