"""An SVG picture of benchmark reports: speeds, plain and with the drafter."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from mlx_engine.cli.bench_merge import ReportLine, split_columns
from mlx_engine.cli.bench_results import words
from mlx_engine.contract.visible import visible

_WIDE, _LEFT, _RIGHT = 960, 32, 484  # the text right of the longest bar needs _RIGHT
_TOP, _STEP, _BAR = 112, 76, 16
_INK, _GRAY, _LINE = "#1d2733", "#5d6873", "#e3e7eb"
_PLAIN, _DRAFTED = "#8a94a0", "#2f7fd6"


def draw(lines: Sequence[ReportLine]) -> str:
    """Return the picture. It has its own background, so that it also fits dark pages."""
    common, different = split_columns(lines)
    most = max([rate for line in lines for rate in (line.plain, line.drafted) if rate], default=1.0)
    high = _TOP + _STEP * len(lines) + 44
    title = "Tokens per second, plain and with a drafter"
    parts = [_text(_LEFT, 40, title, size=20, bold=True), _text(_LEFT, 64, " · ".join(common), _GRAY)]
    for at, line in enumerate(lines):
        y = _TOP + _STEP * at
        parts += [
            f'<path d="M{_LEFT} {y - 18} H{_WIDE - _LEFT}" stroke="{_LINE}"/>',
            _text(_LEFT, y, " · ".join(getattr(line, name) for name in different), bold=True),
            *_bar(y + 10, line.plain, most, _PLAIN, f"plain {words(line.plain, '.0f')}"),
            *_bar(y + 14 + _BAR, line.drafted, most, _DRAFTED, _result(line)),
        ]
    dates = sorted({line.when for line in lines})
    identical, compared = sum(line.identical for line in lines), sum(line.compared for line in lines)
    parts.append(
        _text(
            _LEFT,
            high - 18,
            f"slipstream bench, {' to '.join(dates[:: max(len(dates) - 1, 1)])}. Identical replies: {identical} of {compared}",
            _GRAY,
        )
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high}" viewBox="0 0 {_WIDE} {high}" '
            f'font-family="sans-serif" font-size="13" fill="{_INK}">',
            f'<title>{title}</title><rect width="{_WIDE}" height="{high}" rx="8" fill="white"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _result(line: ReportLine) -> str:
    """Return the text next to the bar of a drafter."""
    known = [f"drafted {words(line.drafted, '.0f')}", f"{words(line.ratio, '.2f')} ×"]
    if line.tokens_per_round is not None:
        known.append(f"{line.tokens_per_round:.2f} tokens per round")
    paper = f"paper: {line.paper.ratio:.2f} ×, {line.paper.tokens_per_round:.2f}" if line.paper else ""
    return ", ".join(known) + (f" ({paper})" if paper else "")


def _bar(y: int, rate: float | None, most: float, color: str, label: str) -> list[str]:
    wide = (_WIDE - _LEFT - _RIGHT) * (rate or 0) / most
    bar = f'<rect x="{_LEFT}" y="{y}" width="{wide:.1f}" height="{_BAR}" rx="2" fill="{color}"/>'
    return [bar, _text(_LEFT + wide + 8, y + 13, label)]


def _text(x: float, y: float, text: str, color: str = _INK, size: int = 13, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    shown = "".join(char if char.isprintable() else "�" for char in visible(text))  # XML lacks some characters
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size}"{weight}>{escape(shown)}</text>'
