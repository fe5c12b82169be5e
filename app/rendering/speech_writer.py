"""Markdown as text for a voice."""

from app.rendering.blocks import Block, TableBlock, TextBlock, TextSpan
from app.rendering.markdown import LINE_BREAK, parse_blocks

_ENDS = ".!?:;,…。！？：；，"


def to_speech(source: str) -> str:
    """Return the sentences of Markdown, without code blocks, formulas, and addresses."""
    lines = (line for block in parse_blocks(source) for line in _lines(block))
    return "\n".join(line if line[-1] in _ENDS else f"{line}." for line in lines if line)


def _lines(block: Block) -> list[str]:
    if isinstance(block, TextBlock):
        marker = f"{block.marker} " if block.marker[:1].isdigit() else ""
        text = _spoken(block.spans)
        return [marker + text] if text else []
    if isinstance(block, TableBlock):
        return [", ".join(filter(None, map(_spoken, row))) for row in block.rows]
    return []


def _spoken(spans: tuple[TextSpan, ...]) -> str:
    shown = (span.text for span in spans if not (span.math or (span.link and span.text.strip() == span.link)))
    return " ".join("".join(shown).replace(LINE_BREAK, " ").split())
