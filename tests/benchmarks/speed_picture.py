"""Draw a report of `slipstream bench --out` as SVG: rates, acceptance by position, widths, and the ratio by kind of text."""

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

_WIDE, _HIGH = 960, 560
_INK, _GRAY, _LINE = "#1d2733", "#5d6873", "#e3e7eb"
_PLAIN, _DFLASH, _FIXED = "#8a94a0", "#2f7fd6", "#a9c9ec"


class _Panel:
    """A chart with a title and a scale from 0 along its left edge."""

    def __init__(self, x: float, y: float, wide: float, high: float, title: str, most: float, form: str = ".0f") -> None:
        self.x, self.y, self.wide, self.high = x, y, wide, high
        self.most = _round_up(most)
        self.parts = [f'<text x="{x:.1f}" y="{y - 16:.1f}" font-weight="bold">{escape(title)}</text>']
        for quarter in range(5):
            value = self.most * quarter / 4
            at = self.at(value)
            self.parts.append(f'<path d="M{x:.1f} {at:.1f} H{x + wide:.1f}" stroke="{_LINE}"/>')
            self.parts.append(f'<text x="{x - 8:.1f}" y="{at + 4:.1f}" text-anchor="end" fill="{_GRAY}">{value:{form}}</text>')

    def at(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return self.y + self.high * (1 - value / self.most)

    def bars(self, bars: Sequence[tuple[str, float | None, str, str]], spread: Sequence[tuple[float, float] | None] = ()) -> None:
        """Draw a bar for each (name, value, text above it, color), with a whisker where its spread is given."""
        step = self.wide / max(len(bars), 1)
        broad = min(step * 0.7, 64)
        for index, (name, value, words, color) in enumerate(bars):
            middle = self.x + step * (index + 0.5)
            base = self.y + self.high
            self._write(middle, base + 17, name, _GRAY)
            if value is None:
                self._write(middle, base - 6, "–", _GRAY)
                continue
            top, left = self.at(value), middle - broad / 2
            self.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{broad:.1f}" height="{base - top:.1f}" fill="{color}"/>')
            above = top
            if index < len(spread) and (between := spread[index]) is not None:
                low, high = self.at(between[0]), self.at(between[1])
                self.parts.append(f'<path d="M{middle:.1f} {low:.1f} V{high:.1f}" stroke="{_INK}" stroke-width="1.5"/>')
                above = min(high, top)
            self._write(middle, above - 5, words, _INK)

    def _write(self, middle: float, y: float, text: str, color: str) -> None:
        self.parts.append(f'<text x="{middle:.1f}" y="{y:.1f}" text-anchor="middle" fill="{color}">{escape(text)}</text>')


def svg(result: dict[str, Any]) -> str:
    """Draw a report of `slipstream bench`."""
    machine, drafted = result["machine"], result["dflash"]
    sides = [("plain", result["plain"], _PLAIN), ("DFlash", drafted, _DFLASH)]
    sides += [(f"width {width}", side, _FIXED) for width, side in result["fixed"].items()]
    spreads = [_between(side["runs_tok_s"]) for _, side, _ in sides]
    fastest = max([high for spread in spreads if spread for high in spread], default=1.0)
    rates = _Panel(64, 112, 400, 160, "Tokens per second (bar: median of the runs, line: range)", fastest)
    medians = [(name, side["decode_tok_s"], color) for name, side, color in sides]
    rates.bars([(name, rate, _number(rate, ".0f"), color) for name, rate, color in medians], spreads)
    kinds = result["kinds"]
    best = max([side["ratio"] or 0 for side in kinds.values()], default=1.0)
    ratios = _Panel(64, 362, 848, 130, "DFlash / plain by kind of text", best, ".1f")
    ratios.bars([(kind, side["ratio"], _number(side["ratio"], ".1f"), _DFLASH) for kind, side in kinds.items()])
    kept = _Panel(532, 112, 170, 160, "Acceptance by position, %", 100)
    shares = drafted["acceptance_by_position"]
    labelled = {0, len(shares) // 2, len(shares) - 1}
    kept.bars([(str(k + 1) if k in labelled else "", 100 * share, "", _DFLASH) for k, share in enumerate(shares)])
    counts = ({"1": drafted["plain_steps"]} if drafted["plain_steps"] else {}) | drafted["widths"]
    widths = _Panel(762, 112, 150, 160, "Passes per width", max(counts.values(), default=1))
    marked = counts if len(counts) < 7 else {"1", "4", "8", "12", "16"}
    widths.bars([(w if w in marked else "", count, "", _PLAIN if w == "1" else _DFLASH) for w, count in counts.items()])
    title = f"{result['pair']['name']}: {_number(result['ratio'], '.2f')} × plain decoding"
    about = (
        f"{machine['device']}, {machine['system']}, MLX {machine['mlx']}, BLAS {machine['blas']}; {result['prompts']} prompts "
        f"({result['set']}), {result['runs']} runs; {result['when'][:10]}"
    )
    same = f"{result['identical']} of {result['compared']} replies identical"
    panels = [part for panel in (rates, kept, widths, ratios) for part in panel.parts]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" '
            f'font-family="sans-serif" font-size="12" fill="{_INK}">',
            f'<title>{escape(title)}</title><rect width="{_WIDE}" height="{_HIGH}" fill="white"/>',
            f'<text x="24" y="34" font-size="18" font-weight="bold">{escape(title)}</text>',
            f'<text x="24" y="56" fill="{_GRAY}">{escape(about)}</text>',
            f'<text x="24" y="{_HIGH - 20}" fill="{_GRAY}">{escape(same)}</text>',
            *panels,
            "</svg>",
        ]
    )


def _between(values: Sequence[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 5, 6 or 8 times a power of ten."""
    power = 1.0
    while value > 10 * power:
        power *= 10
    while 0 < value <= power:
        power /= 10
    return next((step * power for step in (1, 2, 4, 5, 6, 8, 10) if step * power >= value), 10 * power)
