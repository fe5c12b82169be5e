"""LaTeX to pictures: SVG outlines, so sharp at any size. Nothing here needs TeX, a browser or the network."""

import re
from dataclasses import dataclass
from functools import lru_cache

from app.rendering.maths_syntax import MOST_CHARS

_command_left_over = re.compile(r">[^<]*\\[a-zA-Z]")
_unescaped_brace = re.compile(r"(?<!\\)((?:\\\\)*)([{}])")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula set in type: SVG text, and its measures in pixels from the baseline."""

    svg: bytes
    width: float
    ascent: float
    descent: float


@lru_cache(maxsize=512)
def typeset(latex: str, display: bool, pixels: float) -> Formula | None:
    """Set a formula at this size of type; None where it cannot be read, and its source is to be shown."""
    if len(latex) > MOST_CHARS or not _balanced(latex):
        return None
    import ziamath
    from ziamath.tex import tex2mml

    ziamath.config.svg2 = False  # Qt draws no symbols
    try:
        if _command_left_over.search(tex2mml(latex, inline=not display)):
            return None
        made = ziamath.Latex(latex, size=pixels, inline=not display)
        box, margin = made.node.bbox, made.margin
        return Formula(made.svg().encode(), box.xmax - box.xmin + 2 * margin, box.ymax + margin, margin - box.ymin)
    except Exception:  # whatever its parser stumbles over, the reader sees the source
        return None


def _balanced(latex: str) -> bool:
    depth = 0
    for match in _unescaped_brace.finditer(latex):
        depth += 1 if match[2] == "{" else -1
        if depth < 0:
            return False
    return depth == 0
