"""The memory of a loaded pair: what its replies need, and what holds memory now."""

import os
from collections.abc import Iterable
from pathlib import Path

import mlx.core as mx

from mlx_engine.contract import limits
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.machine_events import MemoryOwner, MemoryUse
from mlx_engine.decoding.sampling import choice_bytes
from mlx_engine.decoding.turns import ReplyTurns
from mlx_engine.engine.relief import Relief
from mlx_engine.hardware import machine, memory
from mlx_engine.hardware.child_process import footprint
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.mtp_head import pair_bytes
from mlx_engine.models.fit import predict_fit
from mlx_engine.prefix.snapshots import Snapshots

_MOST_ROWS = 16 * limits.MAX_BLOCK_ROWS  # of replies that share a pass


def check_weights(target: Path, drafter: Path | None) -> None:
    """Check that a target's weights can be allocated.

    Raises:
        UserError: they can't.
    """
    facts = machine.load_facts()
    fit = predict_fit(read_config(target), None, pair_bytes(target, None)[0], 0, 1, facts, sees=False)
    if fit.limit is not None and (fit.lines[0].bytes or 0) > fit.limit:
        raise UserError.of(no_memory(target, drafter))


def no_memory(target: Path, drafter: Path | None) -> EngineText:
    """Return the error of a pair whose weights don't fit."""
    template = "There isn't enough memory for {size:,.1f} GB of weights. Quit other apps, or choose a smaller model."
    return EngineText.of("no_memory_to_load", template, size=sum(pair_bytes(target, drafter)) / 1e9)


def memory_ledger(pair: LoadedPair) -> MemoryLedger:
    """Return the ledger for a pair's replies."""
    target, drafter = pair.folders
    configs = read_config(target), read_config(drafter) if drafter else None
    facts = machine.load_facts()

    def needs(tokens: int) -> tuple[int, int]:
        fit = predict_fit(*configs, 0, 0, tokens, facts, sees=False)  # a prompt's own images are counted
        workspace = fit.lines[-1].bytes or 0
        return fit.needed - workspace, workspace

    shared = choice_bytes(min(pair.target.shared_rows, _MOST_ROWS) * pair.target.vocabulary, pair.dtype.size)
    return MemoryLedger(needs, lambda: pair.held, machine.allocation_limit(facts), shared)


def memory_use(
    pair: LoadedPair | None,
    snapshots: Snapshots | None,
    ledger: MemoryLedger | None,
    turns: ReplyTurns,
    relief: Relief,
    tuning: int | None = None,
) -> MemoryUse:
    """Return what holds memory now.

    Args:
        pair: the loaded pair, if any.
        snapshots: its snapshots.
        ledger: its ledger.
        turns: the replies in progress.
        relief: the current step.
        tuning: ID of the process that tunes a drafter, if there is one.
    """
    counted: dict[int, mx.array] = {}  # also keeps them, so that no other one gets the same ID

    def count(arrays: Iterable[mx.array]) -> int:
        new = {id(array): array for array in arrays if id(array) not in counted}
        counted.update(new)
        return sum(array.nbytes for array in new.values())

    parts: dict[MemoryOwner, int] = {}
    if pair is not None:
        parts["target"] = pair.weights.held
        parts["drafter"] = count(pair.drafter.parameters()) if pair.drafter else 0
        parts["images"] = pair.images.held if pair.images else 0
    parts["replies"] = count(array for branch in turns.branches for array in branch.arrays())
    parts["snapshots"] = count(snapshots.arrays()) if snapshots is not None else 0
    parts["workspace"] = max(mx.get_active_memory() - sum(parts.values()), 0)
    parts["buffers"] = mx.get_cache_memory()
    here, total = sum(parts.values()), machine.total_memory() or 0
    free, process = machine.free_memory(), footprint(os.getpid())
    parts["tuning"] = (footprint(tuning) or 0) if tuning is not None else 0
    parts["window"] = max((process or 0) - here, 0)
    parts["others"] = max(total - free - sum(parts.values()), 0) if free is not None else 0
    reserved = ledger.reserved if ledger is not None else 0
    return MemoryUse(tuple(parts.items()), reserved, memory.working_set(), total, relief.pressure, relief.step)
