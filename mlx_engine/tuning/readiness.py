"""A pair that has just been loaded is made ready: the kernels that were proved for it, and what its passes cost with them."""

from dataclasses import replace

from mlx_engine import memory
from mlx_engine.decoding import queued_rounds
from mlx_engine.decoding.costs import Table
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.loading import LoadedPair
from mlx_engine.tuning import calibration, kernel_trials
from mlx_engine.warmup import warm


def ready(pair: LoadedPair) -> Table | None:
    """Run what was proved for the pair, and warm that up; what its passes cost then, if it was measured."""
    pair.use(kernel_trials.operations(pair))
    try:
        return _warmed(pair)
    except Exception as error:  # whatever a driver makes of a kernel
        if memory.exhausted(error) or pair.operations == PLAIN:
            raise
        why = kernel_trials.fails(error)
    # what was right once fails now: the pair runs without it, if it does so
    proved = kernel_trials.known(pair)
    pair.use(PLAIN)
    table = _warmed(pair)
    kernel_trials.keep(pair, tuple(replace(trial, used=False, why=why) if trial.used else trial for trial in proved))
    return table


def _warmed(pair: LoadedPair) -> Table | None:
    table = calibration.known(pair) if pair.drafter else None
    ahead = queued_rounds.pays() and table is not None and table.queued
    if ahead or pair.operations != PLAIN:  # the rest was warmed up while loading
        warm(pair.target, pair.drafter, pair.info.context_limit, pair.operations, ahead)
    return table
