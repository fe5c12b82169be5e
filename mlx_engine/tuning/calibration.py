"""What a plain step, a verify and a draft cost for a loaded pair: measured in a few seconds, kept in the user's cache folder."""

import hashlib
import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import version
from math import log
from pathlib import Path
from statistics import mean, median
from typing import Any

import mlx.core as mx
import platformdirs
from mlx_lm.models.cache import KVCache, RotatingKVCache

from mlx_engine import blas
from mlx_engine.decoding import queued_rounds
from mlx_engine.decoding.costs import Pass, Table
from mlx_engine.decoding.queued_rounds import Queue
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.decoding.width import Choice
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.errors import UserError
from mlx_engine.events import CalibrationProgress
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.loading import LoadedPair
from mlx_engine.pairs.checkpoint_paths import read_json, write_json
from mlx_engine.pairs.room import machine_model
from mlx_engine.requests import Sampling
from mlx_engine.targets.target import Caches, Target

_DEPTHS = (128, 2048, 8192)  # tokens in the caches
_WIDTHS = (2, 4, 8, 16)
_TIMES = 6  # of every pass, after one that warms up
_STEPS = 3  # plain steps each time, the first of which counts for nothing: it was not queued ahead
_ENOUGH_S = 6.0  # after which no further depth is begun
_SEED_ROWS = 64  # tokens that are really read; deeper caches repeat their keys and values
_ROUNDS = 3  # one after the other, where queued ones are compared with such as are read first
_FORMAT = 4  # of the file


def measure(pair: LoadedPair, cancel: threading.Event) -> Iterator[CalibrationProgress | Table]:
    """Measure one pair; the last thing yielded is the table, unless `cancel` was set.

    Raises:
        UserError: the pair has no drafter.
    """
    drafter, target = pair.drafter, pair.target
    if drafter is None:
        raise UserError("There is nothing to calibrate: this pair has no drafter, so it decodes plainly.")
    block = drafter.config.block_size
    widths = tuple(sorted({*(width for width in _WIDTHS if width < block), block} - {1}))
    depths = tuple(depth for depth in _DEPTHS if depth + block + (_TIMES + 1) * (_STEPS + 2) < pair.info.context_limit) or (
        _SEED_ROWS,
    )
    passes = [("plain", 1), *((name, width) for width in widths for name in ("draft", "verify"))]
    found: list[dict[tuple[str, int], list[float]]] = []
    began, parts, done = time.perf_counter(), len(depths) * (_TIMES + 1) * len(passes), 0
    for depth in depths:
        if found and time.perf_counter() - began > _ENOUGH_S:
            break
        yield CalibrationProgress(done / parts, f"Measuring at {depth:,} tokens")
        bench = Bench(target, drafter, depth, pair.operations)
        times: dict[tuple[str, int], list[float]] = {each: [] for each in passes}
        for _ in range(_TIMES + 1):
            # in turn, so that what else the machine does in these seconds is not taken for what one of them costs
            for name, width in passes:
                times[name, width].append(getattr(bench, name)(width))
                done += 1
                if cancel.is_set():
                    return
            yield CalibrationProgress(done / parts, f"Measuring at {depth:,} tokens")
        found.append({each: sorted(seconds[1:]) for each, seconds in times.items()})
        del bench
        mx.clear_cache()
    quicker = queued_rounds.pays() and Bench(target, drafter, depths[len(found) - 1], pair.operations).quicker_queued(block, cancel)
    if cancel.is_set():
        return
    yield CalibrationProgress(1.0, "Measured")
    yield replace(table_of(depths, widths, found), queued=quicker)


def table_of(depths: tuple[int, ...], widths: tuple[int, ...], found: list[dict[tuple[str, int], list[float]]]) -> Table:
    """A table from sorted times, one dictionary a depth.

    Of a pass the lower quartile counts, since what disturbs a pass only makes it slower.
    """
    spreads = [log(seconds[3 * len(seconds) // 4] / _quartile(seconds)) for times in found for seconds in times.values()]
    return Table(
        depths[: len(found)],
        widths,
        tuple(_quartile(times["plain", 1]) for times in found),
        tuple(tuple(_quartile(times["verify", width]) for width in widths) for times in found),
        tuple(tuple(_quartile(times["draft", width]) for width in widths) for times in found),
        scatter=median(spreads) / 1.35,  # the quartiles of a normal distribution are 1.35 standard deviations apart
    )


def _quartile(seconds: list[float]) -> float:
    return seconds[len(seconds) // 4]


class Bench:
    """One target and drafter with caches and context of one depth, whose content does not matter."""

    def __init__(self, target: Target, drafter: Drafter, depth: int, operations: Operations = PLAIN) -> None:
        self._target, self._drafter = target, drafter
        self._caches, self._context = target.caches(), drafter.context()
        self._chooser = Chooser(Sampling(), 0, operations)
        tokens = mx.arange(_SEED_ROWS) * 7919 % target.vocabulary
        _, features = target.forward_tapped(tokens, self._caches)
        self._caches.rewind(0)
        mx.eval(features, self._caches.state)
        _deepen(self._caches, depth)
        while self._context.position < depth:
            drafter.inject(self._context, features[: depth - self._context.position])
            mx.eval(self._context.state)
        mx.eval(self._caches.state)
        self._anchor = tokens[:1].astype(mx.uint32)

    def plain(self, width: int) -> float:
        """Seconds of a plain step, each queued before the one before it is read, as in decoding."""
        times, token = [], self._step(self._anchor)
        for _ in range(_STEPS):
            began = time.perf_counter()
            following = self._step(token)
            mx.eval(token)
            times.append(time.perf_counter() - began)
            token = following
        mx.eval(token)
        features = [mx.zeros((1, self._features), self._dtype)] * (self._caches.length - self._context.position)
        self._drafter.inject(self._context, mx.concatenate(features))
        mx.eval(self._context.state)
        return mean(times[1:])

    def _step(self, token: mx.array) -> mx.array:
        logits, features = self._target.forward_tapped(token, self._caches)
        self._features, self._dtype = features.shape[1], features.dtype
        chosen = self._chooser.choose(logits, 0, None)
        mx.async_eval(chosen)
        return chosen

    def draft(self, width: int) -> float:
        """Seconds of a draft."""
        began = time.perf_counter()
        mx.eval(self._drafter.propose(self._context, self._anchor, width, self._chooser, None))
        return time.perf_counter() - began

    def verify(self, width: int) -> float:
        """Seconds of a verify, with all that a round does after it."""
        began = time.perf_counter()
        tokens = mx.broadcast_to(self._anchor, (width,))
        logits, features = self._target.forward_tapped(tokens, self._caches)
        verdict = self._chooser.verify(logits, tokens[1:], 0, None)
        self._drafter.inject(self._context, features)
        mx.eval(verdict.choices, verdict.count(), self._context.state)
        self._caches.rewind(width - 1)
        self._context.drop(width - 1)
        return time.perf_counter() - began

    def quicker_queued(self, width: int, cancel: threading.Event) -> bool:
        """Whether rounds are quicker if each is queued before the one before it is read; False if it was cancelled.

        They save the device a wait for the host. Where what is in flight still holds a cache's buffer, they copy the cache.
        """
        queued, read = [], []
        for _ in range(_TIMES + 1):
            queued.append(self.queued(width))
            read.append(median(self.draft(width) + self.verify(width) for _ in range(_ROUNDS)))
            if cancel.is_set():
                return False
        return median(queued[1:]) < median(read[1:])

    def queued(self, width: int) -> float:
        """Seconds of a round, in the mean of a few of which each is queued before the one before it is read."""
        rounds, choice = (
            Queue(self._target, self._drafter, self._caches, self._context, self._chooser),
            Choice(Pass("drafter", width)),
        )
        began = time.perf_counter()
        now = rounds.put(choice, width, self._anchor)
        for _ in range(_ROUNDS - 1):
            following = rounds.put_after(now, choice, width)
            rounds.read(now, frozenset())
            now = following
        rounds.read(now, frozenset())
        return (time.perf_counter() - began) / _ROUNDS


def _deepen(caches: Caches, depth: int) -> None:
    """Make growing caches as deep as this, and windows as full as they are there, by repeating what they hold.

    Recurrent states cost the same at any depth.
    """

    def repeated(arrays: Any, rows: int) -> tuple[mx.array, ...]:
        times = -(-rows // _SEED_ROWS)
        return tuple(mx.contiguous(mx.tile(each, (1, 1, times, 1))[:, :, :rows]) for each in arrays)

    def deepen(cache: Any) -> None:
        for part in getattr(cache, "caches", ()):
            deepen(part)
        if type(cache) is KVCache:
            room = -(-(depth + 1) // KVCache.step) * KVCache.step
            cache.state = (*repeated(cache.keys_and_values(), room), depth)
        elif type(cache) is RotatingKVCache:
            held = min(depth, cache.max_size)
            cache.keys, cache.values = repeated((cache.keys, cache.values), held)
            cache.offset, cache._idx = depth, held

    for cache in caches.layers:
        deepen(cache)
    caches.length = depth


def folder() -> Path:
    """Where tables are kept."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "calibration"


def known(pair: LoadedPair) -> Table | None:
    """The table measured earlier for this pair, machine, backend and version of MLX; None if there is none that can be read."""
    try:
        kept = read_json(_file(pair))
        if kept["of"] != _of(pair):
            return None
        table = kept["table"]
        return Table(
            tuple(map(int, table["depths"])),
            tuple(map(int, table["widths"])),
            _positive(table["plain"]),
            tuple(_positive(row) for row in table["verify"]),
            tuple(_positive(row) for row in table["draft"]),
            scatter=float(table["scatter"]),
            queued=bool(table["queued"]),
        )
    except (UserError, ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(pair: LoadedPair, table: Table) -> bool:
    """Keep a table for the next start; False where the folder cannot be written to, which is no error."""
    try:
        write_json(_file(pair), {"of": _of(pair), "table": asdict(table)})
    except UserError:
        return False
    return True


def _positive(values: list[float]) -> tuple[float, ...]:
    if not all(0 < value < 3600 for value in values):
        raise ValueError("not seconds")
    return tuple(map(float, values))


def _of(pair: LoadedPair) -> dict[str, Any]:
    """What a table is of: what differs makes another table."""
    info, in_use = pair.info, blas.prepare()
    device = mx.device_info().get("device_name", "") if mx.metal.is_available() else platform.processor()
    return {
        "format": _FORMAT,
        "pair": [info.target, info.target_bytes, info.drafter, info.drafter_bytes, info.drafter_weights, info.family],
        "dtype": str(pair.dtype),
        "block": info.block_size,
        "machine": [platform.machine(), machine_model(), str(device), os.cpu_count()],  # a host's name changes with the network
        "backend": [in_use.name, in_use.threads],
        "kernels": pair.operations.kernels,
        "mlx": version("mlx"),
    }


def _file(pair: LoadedPair) -> Path:
    return folder() / (hashlib.sha256(json.dumps(_of(pair), sort_keys=True).encode()).hexdigest()[:32] + ".json")
