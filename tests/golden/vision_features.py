"""Pixels and features of a target with images of the reference outputs."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from PIL import Image, ImageOps

from mlx_engine.vision.image_rules import ImageRules
from mlx_engine.vision.tower import Tower
from mlx_engine.vision.tower_weights import load_tower
from mlx_engine.vision.vision_checkpoint import read_rules
from tests.golden.drafter_case import Differences

PICTURES = "pictures"  # next to the families
TOLERANCE = 1e-4
FLAT = 3e-4  # of gemma4_unified, whose reference rounds in flat areas


def load(folder: Path) -> tuple[ImageRules, Tower]:
    """Load the rules and the tower of a target."""
    rules = read_rules(folder, json.loads((folder / "config.json").read_text(encoding="utf-8")))
    return rules, load_tower(folder, rules, mx.float32)


def pixels(folder: Path, name: str, picture: dict[str, Any]) -> np.ndarray:
    """Return a picture as the target's tower gets it, uint8 [height, width, 3]."""
    resized, upright = picture.get("resized_file"), folder.parent / PICTURES / "upright" / f"{name}.png"
    if resized and (folder / resized).is_file():
        return np.array(Image.open(folder / resized).convert("RGB"))
    file = upright if upright.is_file() else folder / picture["file"]
    image = ImageOps.exif_transpose(Image.open(file)).convert("RGB")
    return np.array(image.resize(tuple(picture["resized_size"]), Image.Resampling.BICUBIC))


def check(found: Differences, folder: Path, described: dict[str, Any], stored: dict[str, mx.array]) -> None:
    """Compare all pictures of a target: sizes, soft tokens, prepared pixels, and what the tower computes."""
    rules, tower = load(folder)
    tolerance = FLAT if rules.family == "gemma4_unified" else TOLERANCE
    for name, picture in described["images"].items():
        size = rules.size(*picture["upright_size"])
        found.same(name, "size", [*size], picture["resized_size"])
        found.same(name, "soft tokens", [int(np.prod(rules.grid(*size)))], [picture["soft_tokens"]])
        image = rules.prepare(pixels(folder, name, picture))
        found.same(name, "shape of pixels", [*image.patches.shape], picture["pixel_values_shape"])
        found.same(name, "pixels", [sha256(image.patches.tobytes()).hexdigest()], [picture["pixel_values_sha256"]])
        if (features := stored.get(f"image.{name}.features")) is None:
            continue
        *blocks, last = tower.steps(image)
        found.compare(name, "tower's features", last, features, tolerance)
        for number, block in enumerate(blocks):
            if (rows := stored.get(f"image.{name}.tower.{number}")) is not None:
                found.compare(name, f"block {number}", block[: len(rows)], rows, tolerance)
