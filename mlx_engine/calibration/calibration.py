"""Measure the cost of a pair's passes in about ten seconds, and save it."""

import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import asdict, replace
from math import log
from statistics import median
from typing import Any

import mlx.core as mx

from mlx_engine.calibration import saved_calibration
from mlx_engine.calibration.pass_timer import ROUNDS, SEED_ROWS, STEPS, PassTimer
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.decoding.costs import LADDER, SHARED_ROWS, CostTable
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.hardware import blas, device, memory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.models.library.measured_costs import FORMAT

_DEPTHS = (128, 2048, 8192)  # cached tokens
_TIMES = 4  # timed runs of each pass, after a warm-up
_ENOUGH_S = 8.0  # seconds after which no further depth is started
_NO_MEMORY = EngineText.of(
    "no_memory_to_calibrate", "There isn't enough memory to calibrate. Quit other apps, or load a smaller model."
)


def calibrate(pair: LoadedPair, cancel: threading.Event, for_later: bool = True) -> Iterator[WorkProgress | Calibrated]:
    """Measure the cost of a pair's passes, and use it from the next reply on.

    Args:
        for_later: whether to save the result for later starts.

    Yields:
        Progress, then the result; nothing more once `cancel` is set.

    Raises:
        UserError: the pair has no drafter, or memory ran out.
    """
    if pair.drafter is None:
        raise UserError("nothing_to_calibrate", "There is nothing to calibrate: the pair has no drafter.")
    with memory.enough_for(_NO_MEMORY):
        table = yield from _measure(pair, pair.drafter, cancel)
        if table is not None:
            pair.use_costs(table)
            is_saved = for_later and save(pair, table)
            yield Calibrated(table.depths, table.widths, table.plain, table.verify, table.draft, is_saved)


def _measure(pair: LoadedPair, drafter: Drafter, cancel: threading.Event) -> Generator[WorkProgress, None, CostTable | None]:
    block = drafter.config.block_size
    # All, because costs rise in steps, at 8 rows for example; and beyond the block, because replies share passes
    widths = (*(width for width in LADDER if 1 < width < block), block, *(rows for rows in SHARED_ROWS if rows > block))
    room = pair.info.context_limit - widths[-1] - (_TIMES + 1) * (STEPS + 2 + len(widths))
    depths = tuple(depth for depth in _DEPTHS if depth < room) or (SEED_ROWS,)
    passes = [("plain", 1), *((name, width) for width in widths for name in ("draft", "verify"))]
    measured: list[dict[tuple[str, int], list[float]]] = []
    began, total, done = time.perf_counter(), len(depths) * (_TIMES + 1) * len(passes), 0
    for depth in depths:
        if measured and time.perf_counter() - began > _ENOUGH_S:
            break
        step = EngineText.of("measuring_at_depth", "Measuring at {depth:,} tokens", depth=depth)
        yield WorkProgress(done / total, step)
        pair.run_at(depth)
        timer = PassTimer(pair.target, drafter, depth, pair.operations)
        times: dict[tuple[str, int], list[float]] = {each: [] for each in passes}
        for _ in range(_TIMES + 1):
            for name, width in passes:  # interleaved, so that another program's load affects all passes
                times[name, width].append(getattr(timer, name)(width))
                done += 1
                if cancel.is_set():
                    return None
            yield WorkProgress(done / total, step)
        measured.append({each: sorted(seconds[1:]) for each, seconds in times.items()})
        del timer
        mx.clear_cache()
    timer = PassTimer(pair.target, drafter, depths[len(measured) - 1], pair.operations)
    queued = device.runs_beside_host() and _queuing_is_faster(timer, block, cancel)
    if cancel.is_set():
        return None
    yield WorkProgress(1.0, EngineText.of("measured", "Measured"))
    return replace(table_of(depths, widths, measured), queued=queued)


def _queuing_is_faster(timer: PassTimer, width: int, cancel: threading.Event) -> bool:
    """Return whether queuing each round before reading the previous one is faster.

    Queuing spares the device a wait for the host, but a cache is copied if queued work still uses its buffer. False if canceled.
    """
    queued, read = [], []
    for _ in range(_TIMES + 1):
        queued.append(timer.queued(width))
        read.append(median(timer.draft(width) + timer.verify(width) for _ in range(ROUNDS)))
        if cancel.is_set():
            return False
    return median(queued[1:]) < median(read[1:])


def table_of(depths: tuple[int, ...], widths: tuple[int, ...], found: list[dict[tuple[str, int], list[float]]]) -> CostTable:
    """Return a cost table from sorted times, one dictionary per depth.

    Uses the lower quartile of each pass's times, because disturbances only make a pass slower.
    """
    spreads = [log(seconds[3 * len(seconds) // 4] / _quartile(seconds)) for times in found for seconds in times.values()]
    return CostTable(
        depths[: len(found)],
        widths,
        tuple(_quartile(times["plain", 1]) for times in found),
        tuple(tuple(_quartile(times["verify", width]) for width in widths) for times in found),
        tuple(tuple(_quartile(times["draft", width]) for width in widths) for times in found),
        scatter=median(spreads) / 1.35,  # normal quartiles are 1.35 standard deviations apart
    )


def _quartile(seconds: list[float]) -> float:
    return seconds[len(seconds) // 4]


def known(pair: LoadedPair) -> CostTable | None:
    """Return the table saved for this pair, machine, backend, and MLX, or None."""
    table = saved_calibration.read("calibration", _identity(pair))
    try:
        return CostTable(
            tuple(map(int, table["depths"])),
            tuple(map(int, table["widths"])),
            _positive(table["plain"]),
            tuple(_positive(row) for row in table["verify"]),
            tuple(_positive(row) for row in table["draft"]),
            scatter=float(table["scatter"]),
            queued=bool(table["queued"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def save(pair: LoadedPair, table: CostTable) -> bool:
    """Save a table for later starts; return False if the folder isn't writable."""
    return saved_calibration.write("calibration", _identity(pair), asdict(table))


def _positive(values: list[float]) -> tuple[float, ...]:
    if not all(0 < value < 3600 for value in values):
        raise ValueError("not seconds")
    return tuple(map(float, values))


def _identity(pair: LoadedPair) -> dict[str, Any]:
    backend = blas.prepare()
    return saved_calibration.identity(pair) | {
        "format": FORMAT,
        "block": pair.info.block_size,
        "backend": [backend.name, backend.threads],
        "kernels": [
            [start, operations.kernels, {name: sorted(rows) for name, rows in operations.rows.items()}]
            for start, operations in pair.ranges
        ],
    }
