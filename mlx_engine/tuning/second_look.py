"""Kernels that won their trials, looked at once more in real use: a kernel can win a short trial and stall in a long reply.

Real replies run in turn with the kernels and without. No two of them are alike, so what is compared is passes of one kind (who
proposed, how many rows) at one depth of the context. What was seen is kept, for a few questions a day say enough in a week.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median
from typing import Any, cast

from mlx_engine.decoding.costs import Pass
from mlx_engine.decoding.width import Choice, Controller, Outcome
from mlx_engine.drafters.lookup import Offer
from mlx_engine.events import KernelTrial, Source

_SLOWER = 1.02  # of the time without: less than this is noise
_ENOUGH = 64  # passes of each sort, of kinds and depths that both have seen
_LEAST = 3  # passes of one kind and depth that say something
_DEPTH = 1024  # tokens of context that are held to cost the same
_MOST_REPLIES = 60  # then nothing comparable will come

Cell = tuple[Pass, int]


class SecondLook:
    """Times of passes with and without the kernels that `trials` let in, until there are enough of both.

    Args:
        trials: of every kernel.
        evidence: what an earlier one of these trials had seen; whatever is none counts for nothing.
    """

    def __init__(self, trials: Sequence[KernelTrial], evidence: Any = None) -> None:
        self._trials = trials
        self._seconds: dict[bool, defaultdict[Cell, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}
        self._replies = 0
        with suppress(KeyError, TypeError, ValueError):
            replies = int(evidence["replies"])
            for ours, proposer, width, depth, seconds in evidence["passes"]:
                self._seconds[bool(ours)][Pass(cast(Source, str(proposer)), int(width)), int(depth)].append(float(seconds))
            self._replies = replies

    @property
    def due(self) -> bool:
        """Whether kernels are in use that real replies have not spoken on, and may still."""
        return self._replies < _MOST_REPLIES and any(trial.used and trial.in_use is None for trial in self._trials)

    @property
    def evidence(self) -> dict[str, Any]:
        """What was seen, for a file."""
        cells = [(ours, *cell, times) for ours, seen in self._seconds.items() for cell, times in seen.items()]
        return {
            "replies": self._replies,
            "passes": [[ours, kind.proposer, kind.width, depth, each] for ours, kind, depth, times in cells for each in times],
        }

    @property
    def with_kernels(self) -> bool:
        """Whether the present reply runs the kernels: with, without, without, with, so that neither has the deeper contexts."""
        return self._replies % 4 in (0, 3)

    def saw(self, outcome: Outcome) -> None:
        """A pass of the present reply is over."""
        times = self._seconds[self.with_kernels][outcome.choice.kind, outcome.depth // _DEPTH]
        if outcome.seconds is not None and len(times) < _ENOUGH:
            times.append(outcome.seconds)

    def ended(self) -> None:
        """The present reply is over; the next one may run the other way."""
        self._replies += 1

    def concluded(self) -> tuple[KernelTrial, ...] | None:
        """The trials with what real use says of the kernels; None until enough was seen.

        If passes are slower with them all go, for it cannot be told which of them is the cause.
        """
        ratio = self._ratio()
        if ratio is None:
            return None
        change = f"{abs(ratio - 1):.1%} {'more' if ratio > 1 else 'less'} time a pass".replace("%", " %")
        seen = [replace(trial, in_use=ratio) for trial in self._trials if trial.used]
        if ratio >= _SLOWER:
            seen = [replace(trial, used=False, why=f"slower in real use: {change}") for trial in seen]
        by_name = {trial.kernel: trial for trial in seen}
        return tuple(by_name.get(trial.kernel, trial) for trial in self._trials)

    def _ratio(self) -> float | None:
        ours, theirs = self._seconds[True], self._seconds[False]
        weights = {cell: least for cell in ours if (least := min(len(ours[cell]), len(theirs.get(cell, ())))) >= _LEAST}
        if sum(weights.values()) < _ENOUGH:
            return None
        with_, without = (sum(weights[cell] * median(times[cell]) for cell in weights) for times in (ours, theirs))
        return with_ / without


class Watched:
    """A controller whose passes are also told to a second look."""

    def __init__(self, controller: Controller, look: SecondLook) -> None:
        self._controller, self._look = controller, look

    def choose(self, depth: int, offer: Offer | None = None) -> Choice:
        """What the controller says."""
        return self._controller.choose(depth, offer)

    def saw(self, outcome: Outcome) -> None:
        """Both hear of it."""
        self._controller.saw(outcome)
        self._look.saw(outcome)
