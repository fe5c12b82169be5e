"""How Gemma 4 sees images, with a tower or without one."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlx_engine.contract.requests import Detail
from mlx_engine.vision.image_rules import SCORES, ImageRules, MaskRule, PixelScale
from mlx_engine.vision.qwen_rules import pixel_scale
from mlx_engine.vision.vision_fields import VisionFields, unusable

_TEXTS = ("<|image>", "<|image|>", "<image|>")
_BUDGETS = (70, 140, 280, 560, 1120)  # soft tokens of an image
_USUAL = 280


@dataclass(frozen=True)
class GemmaRules(ImageRules):
    """The rules of a Gemma 4, and the sizes of its tower.

    Attributes:
        budget: most soft tokens of an image with detail "auto".
        scale: what levels become.
        patch: pixels of a patch's side.
        width: of the tower.
        table: number of learned positions of each axis.
        epsilon: of the norms.
        depth: number of blocks. 0: patches are projected without a tower, and the fields below don't matter.
        heads, kv_heads, head, feed_forward: of the blocks; `head` is the size of a head.
        theta: base of the rotary frequencies.
        standardizes: whether the pooled states are shifted and scaled.
        clips: whether inputs and outputs of the blocks' products are clipped.
    """

    budget: int
    scale: PixelScale
    patch: int
    width: int
    table: int
    epsilon: float
    depth: int = 0
    heads: int = 1
    kv_heads: int = 1
    head: int = 0
    feed_forward: int = 0
    theta: float = 100.0
    standardizes: bool = False
    clips: bool = False

    @classmethod
    def read(cls, common: dict[str, Any], vision: VisionFields, processor: VisionFields, text: VisionFields) -> "GemmaRules":
        """Return the rules in the target's files.

        Args:
            common: fields of `ImageRules` that don't depend on the family.
            vision: the `vision_config` of config.json.
            processor: the image processor's settings.
            text: the `text_config` of config.json.

        Raises:
            UserError: a setting is invalid or not supported.
        """
        patch, pool = vision.whole("patch_size", default=16, most=256), vision.whole("pooling_kernel_size", default=3, most=16)
        processor.must_be("patch_size", patch)
        processor.must_be("pooling_kernel_size", pool)
        processor.must_be("max_soft_tokens", *_BUDGETS)
        shared = {
            **common,
            "texts": _TEXTS,
            "wraps": True,
            "sections": None,
            "side": patch * pool,
            "budget": min(_USUAL, processor.whole("max_soft_tokens", default=_USUAL)),
            "scale": pixel_scale(processor, 0.0, 1.0, normalizes=False),
            "epsilon": vision.number("rms_norm_eps", 1e-6),
        }
        text.must_be("use_bidirectional_attention", "vision")
        sees = text.get("use_bidirectional_attention")
        if common["family"] == "gemma4_unified":
            width = vision.whole("mm_embed_dim", default=3840)
            vision.must_be("output_proj_dims", width)
            mask: MaskRule = "all" if sees or "use_bidirectional_attention" not in text else "causal"
            return cls(**shared, mask=mask, patch=patch * pool, width=width, table=vision.whole("mm_posemb_size", default=1120))
        width, heads = vision.whole("hidden_size", default=768), vision.whole("num_attention_heads", default=12)
        kv_heads, head = (
            vision.whole("num_key_value_heads", default=heads),
            vision.whole("head_dim", default=max(width // heads, 1)),
        )
        if heads % kv_heads:
            raise unusable("vision_config, num_key_value_heads", kv_heads, f"{heads} / n")
        if head % 4:
            raise unusable("vision_config, head_dim", head, "4n")
        vision.must_be("hidden_activation", "gelu_pytorch_tanh")
        vision.must_be("attention_bias", False)
        rope = vision.block("rope_parameters")
        rope.must_be("rope_type", "axial", "default")
        return cls(
            **shared,
            mask="sliding" if sees else "causal",
            patch=patch,
            width=width,
            table=vision.whole("position_embedding_size", default=10_240, least=pool),
            depth=vision.whole("num_hidden_layers", default=16, most=256),
            heads=heads,
            kv_heads=kv_heads,
            head=head,
            feed_forward=vision.whole("intermediate_size", default=3072),
            theta=rope.number("rope_theta", 100.0),
            standardizes=vision.flag("standardize", False),
            clips=vision.flag("use_clipped_linears", False),
        )

    def size(self, width: int, height: int, detail: Detail = "auto") -> tuple[int, int]:
        budget = {"low": min(_BUDGETS[0], self.budget), "auto": self.budget, "high": min(_BUDGETS[-1], 4 * self.budget)}[detail]
        scale = math.sqrt(budget * self.side**2 / (width * height))
        columns, rows = (math.floor(scale * edge / self.side) for edge in (width, height))
        if rows == 0:
            rows, columns = 1, min(width // height, budget)
        elif columns == 0:
            rows, columns = min(height // width, budget), 1
        most = self.table * self.patch // self.side  # more has no positions
        return min(columns, most) * self.side, min(rows, most) * self.side

    def patches(self, rgb: np.ndarray) -> np.ndarray:
        """Return patches [y, x, channel], row by row."""
        rows, columns = rgb.shape[0] // self.patch, rgb.shape[1] // self.patch
        split = self.scale(rgb).reshape(rows, self.patch, columns, self.patch, 3)
        return split.transpose(0, 2, 1, 3, 4).reshape(rows * columns, -1)

    def pass_bytes(self, grid: tuple[int, int], element: int) -> int:
        patches, pixels = grid[0] * grid[1] * (self.side // self.patch) ** 2, 3 * self.patch**2
        if not self.depth:
            return patches * (pixels * (24 + element) + 8 * self.width * element)  # layer norm in double precision
        # Measured: results in a block's attention, or in its feed-forward
        block = max(22 * max(self.width, self.heads * self.head), 12 * self.width + 4 * self.feed_forward)
        scores = min(SCORES, self.heads * patches**2)
        return patches * (4 * pixels + max(pixels * (8 + element), block * element)) + 3 * scores * element
