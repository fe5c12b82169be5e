"""How Qwen3-VL, Qwen3.5, and its successors see images."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Detail
from mlx_engine.vision.image_rules import SCORES, ImageRules, PixelScale
from mlx_engine.vision.vision_fields import VisionFields, unusable

_TEXTS = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>")
_PIXELS = {"low": 262_144, "auto": 2_097_152, "high": 4_194_304}  # at most
_LEAST, _MOST = 65_536, 16_777_216  # pixels, in the published processor settings
# Whether there is deepstack -> the usual share of a head that is rotated, and the usual sections
_ROTATED = {False: (0.25, [11, 11, 10]), True: (1.0, [24, 20, 20])}
_NARROWEST = 200  # times as long as wide


@dataclass(frozen=True)
class QwenRules(ImageRules):
    """The rules of a target of these families, and the sizes of its tower.

    Attributes:
        least, most: pixels of a resized image.
        scale: what levels become.
        patch: pixels of a patch's side.
        merge: patches of a soft token's side.
        frames: how often a picture is repeated in time.
        depth, width, heads, feed_forward: of the tower's blocks.
        table: side of the grid of learned positions.
        theta: base of the rotary frequencies.
        deepstack: blocks after which the tower's state becomes a soft token, too. The target's first layers add these.
    """

    least: int
    most: int
    scale: PixelScale
    patch: int
    merge: int
    frames: int
    depth: int
    width: int
    heads: int
    feed_forward: int
    table: int
    theta: float
    deepstack: tuple[int, ...] = ()

    @classmethod
    def read(cls, common: dict[str, Any], vision: VisionFields, processor: VisionFields, text: VisionFields) -> "QwenRules":
        """Return the rules in the target's files.

        Args:
            common: fields of `ImageRules` that don't depend on the family.
            vision: the `vision_config` of config.json.
            processor: the image processor's settings.
            text: the `text_config` of config.json.

        Raises:
            UserError: a setting is invalid or not supported.
        """
        patch = vision.whole("patch_size", default=16, most=256)
        merge = vision.whole("spatial_merge_size", default=2, most=16)
        frames = vision.whole("temporal_patch_size", default=2, most=16)
        width, heads = vision.whole("hidden_size", default=1152), vision.whole("num_heads", "num_attention_heads", default=16)
        positions = vision.whole("num_position_embeddings", default=2304)
        processor.must_be("patch_size", patch)
        processor.must_be("merge_size", merge)
        processor.must_be("temporal_patch_size", frames)
        vision.must_be("in_channels", 3)
        vision.must_be("hidden_act", "gelu_pytorch_tanh")
        if not (deep := common["family"] == "qwen3_vl"):
            vision.must_be("deepstack_visual_indexes", [])
        depth = vision.whole("depth", "num_hidden_layers", default=27, most=256)
        vision.must_be("out_hidden_size", common["hidden"])
        if width % heads or width // heads % 4:
            raise unusable("vision_config, num_heads", heads, f"{width} / 4n")
        if math.isqrt(positions) ** 2 != positions:
            raise unusable("vision_config, num_position_embeddings", positions, "n²")
        size = processor.block("size")
        least = processor.whole("min_pixels", default=size.whole("shortest_edge", default=_LEAST, most=1 << 30), most=1 << 30)
        most = processor.whole("max_pixels", default=size.whole("longest_edge", default=_MOST, most=1 << 30), most=1 << 30)
        if most < max(least, (patch * merge) ** 2):
            raise unusable("size, longest_edge", most, f"≥ {max(least, (patch * merge) ** 2):,}")
        rope = vision.block("rope_parameters")
        rope.must_be("rope_type", "axial", "default")
        return cls(
            **common,
            texts=_TEXTS,
            wraps=False,
            mask="causal",
            sections=_sections(text, *_ROTATED[deep]),
            side=patch * merge,
            least=least,
            most=most,
            scale=pixel_scale(processor, 0.5, 0.5, normalizes=True),
            patch=patch,
            merge=merge,
            frames=frames,
            depth=depth,
            width=width,
            heads=heads,
            feed_forward=vision.whole("intermediate_size", default=4304),
            table=math.isqrt(positions),
            theta=rope.number("rope_theta", 10_000.0),
            deepstack=_deepstack(vision, depth, text.whole("num_hidden_layers", default=36)) if deep else (),
        )

    def size(self, width: int, height: int, detail: Detail = "auto") -> tuple[int, int]:
        if max(width, height) > _NARROWEST * min(width, height):
            template = "The image is more than {most} times as long as wide. Crop it, then attach it again."
            raise UserError("image_too_narrow", template, most=_NARROWEST)
        side, area = self.side, width * height
        most = max(self.least, min(self.most, _PIXELS[detail]))
        # Halves are rounded to the even number
        fitted = (round(width / side) * side, round(height / side) * side)
        if fitted[0] * fitted[1] > most:
            shrunk = math.sqrt(area / most)
            return tuple(max(side, math.floor(edge / shrunk / side) * side) for edge in (width, height))  # type: ignore[return-value]
        if fitted[0] * fitted[1] < self.least:
            grown = math.sqrt(self.least / area)
            return tuple(math.ceil(edge * grown / side) * side for edge in (width, height))  # type: ignore[return-value]
        return fitted

    def patches(self, rgb: np.ndarray) -> np.ndarray:
        """Return patches [channel, time, y, x], those of a soft token next to each other."""
        rows, columns = self.grid(rgb.shape[1], rgb.shape[0])
        merge, patch = self.merge, self.patch
        split = self.scale(rgb).reshape(rows, merge, patch, columns, merge, patch, 3).transpose(0, 3, 1, 4, 6, 2, 5)
        repeated = np.broadcast_to(split[:, :, :, :, :, None], (*split.shape[:5], self.frames, patch, patch))
        return repeated.reshape(rows * columns * merge**2, -1)

    def token_bytes(self, element: int) -> int:
        return super().token_bytes(element) * (1 + len(self.deepstack))

    def pass_bytes(self, grid: tuple[int, int], element: int) -> int:
        patches, pixels = grid[0] * grid[1] * self.merge**2, 3 * self.frames * self.patch**2
        # Measured: results in a block's attention, or in its feed-forward
        block = max(26 * self.width, 8 * self.width + 3 * self.feed_forward)
        scores = min(SCORES, self.heads * patches**2)
        return patches * (4 * pixels + max(pixels * (4 + element), block * element)) + 3 * scores * element


def _deepstack(vision: VisionFields, depth: int, layers: int) -> tuple[int, ...]:
    """Return `QwenRules.deepstack`."""
    blocks = [8, 16, 24] if (given := vision.get("deepstack_visual_indexes")) is None else given
    is_valid = isinstance(blocks, list) and all(type(block) is int and 0 <= block < depth for block in blocks)
    if not is_valid or len(blocks) > layers or sorted(set(blocks)) != blocks:
        raise unusable("vision_config, deepstack_visual_indexes", blocks, f"0 to {depth - 1}")
    return tuple(blocks)


def _sections(text: VisionFields, share: float, usual: list[int]) -> tuple[int, int, int]:
    """Return `ImageRules.sections`, whose rows must take turns and rotate all pairs.

    Args:
        share: part of a head that is rotated, unless the settings say so.
        usual: the sections, unless the settings have some.
    """
    rope = text.block("rope_parameters" if text.get("rope_parameters") is not None else "rope_scaling")
    rope.must_be("mrope_interleaved", True)
    head = text.whole("head_dim", default=text.whole("hidden_size", default=4096) // text.whole("num_attention_heads", default=16))
    pairs = int(head * rope.number("partial_rotary_factor", share)) // 2
    sections = rope.get("mrope_section") or usual
    sizes = sections if isinstance(sections, list) else []
    if [type(size) for size in sizes] != [int] * 3 or min(sizes) < 0 or sum(sizes) != pairs:
        raise unusable("rope_parameters, mrope_section", sections, f"a + b + c = {pairs}")
    time, row, column = sizes
    return time, row, column


def pixel_scale(processor: VisionFields, mean: float, deviation: float, normalizes: bool) -> PixelScale:
    """Return what an image processor does with levels."""
    processor.must_be("do_rescale", True)
    processor.must_be("do_resize", True)
    processor.must_be("resample", 3)  # bicubic
    factor = processor.number("rescale_factor", 1 / 255)
    if not processor.flag("do_normalize", normalizes):
        return PixelScale(factor, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    return PixelScale(factor, processor.numbers("image_mean", mean, -1e9), processor.numbers("image_std", deviation, 0.0))
