"""Pages of PDFs in prompts: their texts, and their tokens. No MLX."""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from mlx_engine.media.pdfs import PdfPage, Why

if TYPE_CHECKING:
    from mlx_engine.vision.image_rules import ImageRules  # imports NumPy, which the app needs later only

_UNSEEN: dict[Why, str] = {
    "little_text": "picture",
    "figures": "figures",
    "table": "table's layout",
    "annotations": "notes and fields",
}


def page_text(page: PdfPage, total: int, pictured: bool) -> str:
    """Return what a prompt contains of a page besides its picture.

    Args:
        total: number of pages of the PDF.
        pictured: whether the page's picture follows. Otherwise, the text says what the model can't see.
    """
    unseen = f". You can't see its {_UNSEEN[page.why]}" if page.why and not pictured else ""
    return f"[Page {page.number} of {total}{unseen}]\n{page.text}".strip()


def page_costs(
    pages: Sequence[PdfPage], pictured: Collection[int], text_tokens: int, rules: "ImageRules | None"
) -> tuple[int, ...]:
    """Return the tokens that each page takes.

    Args:
        pages: pages of a PDF.
        pictured: numbers of the pages whose pictures follow their texts.
        text_tokens: tokens of all their texts together. They are divided by length.
        rules: how the target sees; None if it can't.
    """
    lengths = list(accumulate(len(page_text(page, len(pages), page.number in pictured)) for page in pages))
    ends = [-(-length * text_tokens // lengths[-1]) for length in lengths]
    texts = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return tuple(
        text + (picture_tokens(page, rules) if rules and page.number in pictured else 0)
        for page, text in zip(pages, texts, strict=True)
    )


def picture_tokens(page: PdfPage, rules: "ImageRules") -> int:
    """Return the tokens of a page's picture, or 0 if the page can't be drawn."""
    return rules.tokens(*page.size) if page.size else 0


def pages_that_fit(costs: Iterable[int], free: int) -> int:
    """Return how many of the first pages fit in a number of free tokens."""
    return sum(total <= free for total in accumulate(costs))
