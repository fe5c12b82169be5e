"""One target with images of the reference outputs: pixels, features, positions, and the passes."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_engine.vision.spans import ImageSpan, positions, shift
from tests.golden.drafter_case import Differences
from tests.golden.vision_features import check as check_features
from tests.golden.vision_passes import SeeingTarget
from tests.golden.vision_passes import check as check_passes


@dataclass(frozen=True)
class Prompt:
    """A prompt of a case: its first turn, or both.

    Args:
        name: what the names of its arrays begin with.
        described: its entry in cases.json, with the fields `input_ids`, `output_ids`, and for Qwen `rope_delta`.
        spans: its images; their digests are the pictures' names.
    """

    name: str
    described: dict[str, Any]
    spans: list[ImageSpan]


def prompts(described: dict[str, Any]) -> Iterator[Prompt]:
    """Yield the prompts of cases.json."""
    token = next(number for text, number in described["special_ids"].items() if text in ("<|image_pad|>", "<|image|>"))
    for case in described["cases"]:
        for name, asked in ((case["name"], case), (f"{case['name']}.turn2", case["turn2"])):
            spans: list[ImageSpan] = []
            for picture in asked["images"]:
                start = asked["input_ids"].index(token, spans[-1].end if spans else 0)
                spans.append(ImageSpan(start, grid(described["images"][picture]), picture))
            yield Prompt(name, asked, spans)


def grid(picture: dict[str, Any]) -> tuple[int, int]:
    """Return the rows and columns of a picture's soft tokens."""
    side = 32 if "grid_thw" in picture else 48
    width, height = picture["resized_size"]
    return height // side, width // side


def check(folder: Path) -> tuple[str, list[str]]:
    """What was looked at, with the largest difference of each field, and what is wrong.

    Raises:
        UserError: the engine does not support this target.
        Exception: whatever else a damaged case brings about.
    """
    described = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    stored = mx.load(str(folder / "arrays.safetensors"))
    found = Differences()
    check_features(found, folder, described, stored)
    for prompt in prompts(described):
        _positions(found, prompt, stored)
    check_passes(found, SeeingTarget(folder, described, stored), prompts(described), stored)
    return f"{len(described['cases'])} cases, largest difference: {found}", found.wrong


def _positions(found: Differences, prompt: Prompt, stored: dict[str, mx.array]) -> None:
    asked, length = prompt.described, len(prompt.described["input_ids"])
    if spans := asked.get("image_spans"):
        found.same(prompt.name, "spans", [[span.start, span.end] for span in prompt.spans], spans)
    if (rows := stored.get(f"{prompt.name}.position_ids")) is not None and len(rows) == 3:
        found.same(prompt.name, "positions", positions(prompt.spans, length).tolist(), np.array(rows).tolist())
        found.same(prompt.name, "shift", [shift(prompt.spans, length)], [asked["rope_delta"]])
