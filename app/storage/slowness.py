"""Why a reply was slow: one cause, compared with its pair's usual speed."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from mlx_engine.contract.conditions import Conditions
from mlx_engine.contract.events import Stats

SlowCause = Literal["quiet", "memory", "heat", "power_mode", "replies", "drafter", "battery", "prompt"]

LEAST_TOKENS = 32  # shorter replies say little about speed; as in `mlx_engine.models.library.speeds`
_ENOUGH = 3  # replies whose median is the usual speed; as there
_SLOWER = 0.8  # of the usual speed: replies of a pair differ by about a fifth with their texts, and less isn't noticed
_MISFIT = 0.6  # of the usual acceptance: two rounds yield less than one usually does
_SHARED = 0.8  # passes per own pass: below, other replies had rows in two of five passes, or more
_WAITED = 0.25  # of a reply's time, from which its wait for others is its main cause
_RESTED = 0.1  # of a reply's time: in all but its first pass, quiet mode takes more
_NOTICED_S = 2.0  # a shorter wait isn't noticed
_LONG_START_S = 5.0  # the longest wait for a first token that needs no explanation


@dataclass(frozen=True)
class UsualSpeed:
    """The medians of earlier replies of the pair, or None if there were too few.

    Attributes:
        tok_s: tokens per second.
        acceptance: share of the drafter's tested drafts that were accepted.
    """

    tok_s: float | None = None
    acceptance: float | None = None

    @classmethod
    def of(cls, rates: Sequence[float], acceptances: Sequence[float]) -> "UsualSpeed":
        """Return the medians of replies, as far as there are enough."""
        return cls(*(median(values) if len(values) >= _ENOUGH else None for values in (rates, acceptances)))


UNKNOWN_SPEED = UsualSpeed()


def slow_cause(stats: Stats, conditions: Conditions, usual: UsualSpeed = UNKNOWN_SPEED) -> SlowCause | None:
    """Return the first cause that explains why a reply was slow, or None.

    The first cause that holds counts. A warning of low memory and the battery may slow a computer down, so they count only
    below the usual speed. A long wait for the first token always has a cause, however long the reply is.

    Args:
        stats: of the reply. The conditions of a server aren't known.
        conditions: the worst during the reply.
        usual: speed of the pair.
    """
    if stats.measured_by != "engine":
        return None
    worked, is_slower = stats.prefill_s + stats.decode_s, is_slower_than(stats, usual)
    may_be_slower = is_slower or (_has_speed(stats) and usual.tok_s is None)
    shared = stats.has_shared_passes and stats.passes <= _SHARED * stats.own_passes
    waited = stats.waiting_s >= min(_LONG_START_S, max(_NOTICED_S, _WAITED * (worked + stats.waiting_s)))
    accepted = drafter_acceptance(stats)
    fits_badly = accepted is not None and accepted < _MISFIT * (usual.acceptance or 0)
    causes: tuple[tuple[SlowCause, bool], ...] = (
        ("quiet", may_be_slower and stats.rest_s > 0 and stats.rest_s >= _RESTED * worked),
        ("memory", may_be_slower and conditions.pressure == "critical"),
        ("heat", may_be_slower and conditions.is_hot),
        ("power_mode", may_be_slower and conditions.saves_power is True),
        ("replies", waited or (may_be_slower and shared)),
        ("drafter", stats.few_accepted is not None or (is_slower and fits_badly)),
        ("memory", is_slower and conditions.pressure == "warning"),
        ("battery", is_slower and conditions.on_battery is True),
        ("prompt", stats.prefill_s >= _LONG_START_S),
    )
    return next((cause for cause, holds in causes if holds), None)


def is_slower_than(stats: Stats, usual: UsualSpeed) -> bool:
    """Return whether a reply was slower than usual, as far as is known."""
    return _has_speed(stats) and usual.tok_s is not None and (stats.decode_tok_s or 0) < _SLOWER * usual.tok_s


def _has_speed(stats: Stats) -> bool:
    return (stats.decode_tok_s or 0) > 0 and stats.tokens >= LEAST_TOKENS


def drafter_acceptance(stats: Stats) -> float | None:
    """Return accepted / tested drafts of the drafter, or None if few were tested."""
    tested = stats.tested - stats.lookup_tested
    return (stats.accepted - stats.lookup_accepted) / tested if tested >= LEAST_TOKENS else None
