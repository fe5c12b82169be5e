"""Predicted speeds next to published ones, as a table for docs/performance.md.

    python -m tests.benchmarks.predictions

The last lines fit the free constant, the likely share of the rate of large products, to all chips but one, and predict that one.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from unittest.mock import patch

from mlx_engine.models.library import pass_times
from tests.mlx_engine.models.published_speeds import HELD_OUT, MISSED, POINTS, Point

ALL = (*POINTS, *MISSED, *HELD_OUT)
FAR = 1.6  # times off
GRID = (0.46, 0.5, 0.54, 0.58, 0.62)


@dataclass(frozen=True)
class LeftOut:
    """The errors of one chip's points with the constant that suits all others."""

    chip: str
    efficiency: float
    errors: tuple[float, ...]


def name(point: Point) -> str:
    return " ".join(map(str, (point.chip, point.model, f"{point.bits}-bit", point.drafter, point.text or "all", point.published)))


def error(point: Point) -> float:
    """Return how many times the predicted middle is off, at least 1."""
    return max(point.ratio, 1 / point.ratio)


def without_each_chip(grid: Sequence[float]) -> list[LeftOut]:
    low, _, high = pass_times._EFFICIENCY
    errors = {}
    for efficiency in grid:
        with patch.object(pass_times, "_EFFICIENCY", (low, efficiency, high)):
            errors[efficiency] = {point: error(point) for point in POINTS}

    def left_out(chip: str) -> LeftOut:
        best = min(grid, key=lambda one: sum(log(errors[one][point]) ** 2 for point in POINTS if point.chip != chip))
        return LeftOut(chip, best, tuple(errors[best][point] for point in POINTS if point.chip == chip))

    return [left_out(chip) for chip in dict.fromkeys(point.chip for point in POINTS)]


def summary() -> str:
    """Return the table of errors of docs/performance.md."""
    left_out = [error for found in without_each_chip(GRID) for error in found.errors]
    rows = {
        "All published speeds": ALL,
        "Those that the constant was chosen with": POINTS,
        "The same, each chip with the constant that suits the others best": POINTS,
        "Those that were found afterwards": HELD_OUT,
    }
    lines = ["| Compared with | Points | Chips | Median error | Largest | Over 1.6 times |", "|---|---|---|---|---|---|"]
    for title, points in rows.items():
        errors = left_out if title.startswith("The same") else [error(point) for point in points]
        chips, far = len({point.chip for point in points}), sum(each >= FAR for each in errors) or "none"
        lines.append(f"| {title} | {len(points)} | {chips} | {median(errors) - 1:.0%} | {max(errors):.2f} times | {far} |")
    return "\n".join(lines)


def table() -> str:
    """Return the table of predictions of docs/performance.md."""
    lines = ["| Mac | Model | Drafter | Text | Published | Predicted | Middle / published |", "|---|---|---|---|---|---|---|"]
    for title, points in (("", POINTS), ("More than 1.6 times off", MISSED), ("Found afterwards", HELD_OUT)):
        if title:
            lines.append(f"| **{title}** | | | | | | |")
        lines += [_row(point) for point in points]
    return "\n".join(lines)


def _row(point: Point) -> str:
    low, middle, high = (_number(value, point.unit) for value in point.predicted())
    model = f"{point.model}, {point.bits} bits" + (f", {point.width} rows" if point.width else "")
    text = {"chat": "chat", "code": "code or math"}.get(point.text or "", "any")
    published = f"{_number(point.published, point.unit)}{'' if point.unit == '×' else ' '}{point.unit}"
    cells = (point.chip, model, point.drafter, text, published, f"{low} – **{middle}** – {high}", f"{point.ratio:.2f}")
    return f"| {' | '.join(cells)} |"


def _number(value: float, unit: str) -> str:
    return f"{value:.2f}" if unit == "×" else f"{value:.0f}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(summary(), table(), sep="\n\n", end="\n\n")
    for found in without_each_chip(GRID):
        errors = found.errors
        print(f"without {found.chip}: {found.efficiency}; its {len(errors)}: median {median(errors):.2f}, worst {max(errors):.2f}")


if __name__ == "__main__":
    main()
