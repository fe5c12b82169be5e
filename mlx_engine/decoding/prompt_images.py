"""The images of a prompt, for its prefill."""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.targets.image_rows import ImageRows
from mlx_engine.vision import spans
from mlx_engine.vision.image_rules import MaskRule
from mlx_engine.vision.spans import ImageSpan


@dataclass(frozen=True)
class PromptImages:
    """The images of a prompt.

    Attributes:
        spans: where they are, in order. The prompt continues after each.
        features: returns the embeddings of an image, [tokens, H]. Called for every chunk with a part of the image.
        mask: see `ImageRows.mask`.
        sections: see `ImageRules.sections`.
    """

    spans: tuple[ImageSpan, ...]
    features: Callable[[ImageSpan], mx.array]
    mask: MaskRule = "causal"
    sections: tuple[int, int, int] | None = None

    def shift(self, length: int) -> int:
        """Return `Caches.shift` after the first `length` tokens."""
        return spans.shift(self.spans, length) if self.sections else 0

    def chunk_end(self, start: int, end: int) -> int:
        """Return the end of a chunk that begins at `start` and should end at `end`.

        An image that must be in one chunk begins or extends the chunk if it would be divided.
        """
        divided = (span for span in self.spans if self.mask != "causal" and span.start < end < span.end)
        return next((span.start if start < span.start else span.end for span in divided), end)

    def rows(self, start: int, end: int) -> ImageRows | None:
        """Return the parts of images in a chunk, or None without any."""
        parts = [(span, max(start, span.start), min(end, span.end)) for span in self.spans if span.start < end and start < span.end]
        if not parts:
            return None
        whole = all((begin, stop) == (span.start, span.end) for span, begin, stop in parts)
        assert whole or self.mask == "causal", "a chunk divides an image"
        features = [self.features(span)[begin - span.start : stop - span.start] for span, begin, stop in parts]
        positions = spans.positions(self.spans, end)[:, start:] if self.sections else None
        ranges = tuple((begin - start, stop - start) for _, begin, stop in parts)
        return ImageRows(end - start, ranges, mx.concatenate(features), positions, self.mask, self.sections or ())
