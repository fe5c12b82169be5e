"""How a target sees images: tokens, sizes, masks, and prepared pixels."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mlx_engine.contract.requests import Detail

# Which tokens of one image see each other: none of the later ones; those inside the window, in sliding layers; all, in all layers
MaskRule = Literal["causal", "sliding", "all"]
SCORES = 1 << 24  # attention scores that a CPU computes at a time


@dataclass(frozen=True, eq=False)
class PreparedImage:
    """An image as a tower reads it.

    Attributes:
        patches: float32 [patches, values].
        grid: rows and columns of soft tokens.
    """

    patches: np.ndarray = field(repr=False)
    grid: tuple[int, int]


@dataclass(frozen=True)
class ImageRules(ABC):
    """How a target sees images.

    Attributes:
        family: the target's `model_type`.
        token, start, end: IDs of the image token, and of the tokens around an image.
        texts: their texts: start, image token, end.
        wraps: whether `start` and `end` must be added around an image because chat templates write the image token only.
        mask: which tokens of one image see each other.
        sections: how many pairs of a head's elements each of the three rows of positions rotates (`vision.spans.positions`); None
            if positions count tokens.
        hidden: width of a soft token, which is the target's hidden size.
        side: pixels of a soft token's side.
        packed: bytes of the tower's quantized weights.
        values: number of its other weights.
    """

    family: str
    token: int
    start: int
    end: int
    texts: tuple[str, str, str]
    wraps: bool
    mask: MaskRule
    sections: tuple[int, int, int] | None
    hidden: int
    side: int
    packed: int
    values: int

    @abstractmethod
    def size(self, width: int, height: int, detail: Detail = "auto") -> tuple[int, int]:
        """Return the width and height to which an image of this size is resized.

        Raises:
            UserError: no size fits.
        """

    @abstractmethod
    def patches(self, rgb: np.ndarray) -> np.ndarray:
        """Return the patches of a resized image, float32 [patches, values]."""

    @abstractmethod
    def pass_bytes(self, grid: tuple[int, int], element: int) -> int:
        """Return the bytes that the tower needs for an image, without its weights.

        Args:
            grid: rows and columns of soft tokens.
            element: bytes of a number.
        """

    def image_bytes(self, grid: tuple[int, int], element: int) -> int:
        """Return the bytes for decoding and computing an image.

        They don't include weights and soft tokens. See `pass_bytes` for the arguments.
        """
        pixels = grid[0] * grid[1] * self.side**2
        return self.pass_bytes(grid, element) + 27 * pixels  # three channels, decoded, and twice as floating-point patches

    def token_bytes(self, element: int) -> int:
        """Return the bytes of a soft token, with `element` bytes per number."""
        return self.hidden * element

    def grid(self, width: int, height: int) -> tuple[int, int]:
        """Return the rows and columns of soft tokens of a resized image."""
        return height // self.side, width // self.side

    def tokens(self, width: int, height: int, detail: Detail = "auto") -> int:
        """Return the tokens of an image of this size in a prompt, with those around it.

        Raises:
            UserError: no size fits.
        """
        rows, columns = self.grid(*self.size(width, height, detail))
        return rows * columns + 2

    def prepare(self, rgb: np.ndarray) -> PreparedImage:
        """Prepare a resized image, uint8 [height, width, 3]."""
        height, width, _ = rgb.shape
        assert rgb.dtype == np.uint8 and not (height % self.side or width % self.side)
        grid = self.grid(width, height)
        return PreparedImage(self.patches(rgb), grid)

    def weight_bytes(self, element: int) -> int:
        """Return the bytes of the tower's weights, with `element` bytes per number."""
        return self.packed + element * self.values


@dataclass(frozen=True)
class PixelScale:
    """What a picture's levels become: (level * factor - mean) / deviation."""

    factor: float
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

    def __call__(self, rgb: np.ndarray) -> np.ndarray:
        """Return float32 [height, width, 3], rounded as the reference processors do."""
        levels = (np.arange(256) * self.factor).astype(np.float32)[:, None]
        table = (levels - np.array(self.mean, np.float32)) / np.array(self.deviation, np.float32)
        return table[rgb, np.arange(3)]
