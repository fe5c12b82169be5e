"""A pair that has just been loaded is made ready: the kernels that were proved for it, and what its passes cost with them."""

from dataclasses import replace

from mlx_engine import calibrating, memory, proving
from mlx_engine.decoding import queue
from mlx_engine.decoding.costs import Table
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.loading import LoadedPair
from mlx_engine.warming import warm


def ready(pair: LoadedPair) -> Table | None:
    """Run what was proved for the pair, and warm that up; what its passes cost then, if it was measured."""
    pair.use(proving.operations(pair))
    try:
        return _warmed(pair)
    except Exception as error:  # whatever a driver makes of a kernel
        if memory.exhausted(error) or pair.operations == PLAIN:
            raise
        why = proving.fails(error)
    # what was right once fails now: the pair runs without it, if it does so
    proved = proving.known(pair)
    pair.use(PLAIN)
    table = _warmed(pair)
    proving.keep(pair, tuple(replace(trial, used=False, why=why) if trial.used else trial for trial in proved))
    return table


def _warmed(pair: LoadedPair) -> Table | None:
    table = calibrating.known(pair) if pair.drafter else None
    ahead = queue.pays() and table is not None and table.queued
    if ahead or pair.operations != PLAIN:  # the rest was warmed up while loading
        warm(pair.target, pair.drafter, pair.info.context_limit, pair.operations, ahead)
    return table
