"""Texts of PDF pages in prompts. No MLX."""

from mlx_engine.media.pdfs import PdfPage, Why

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
