"""Measure this machine's peak rates, and how close a pair's passes come to them.

A pass takes at least as long as reading its data from memory and as its arithmetic; the larger time is the lower bound (Williams,
Waterman, and Patterson, “Roofline”, CACM 52(4), 2009). Both rates are measured with MLX on the kinds of products that decoding
runs, as the best of several tries. Data-sheet rates aren't reached in practice.
"""

import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from datetime import date
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Literal

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.calibration.pass_timer import PassTimer
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import MachineFacts, Phase, Roofline
from mlx_engine.decoding.prefill import CHUNK, prefill
from mlx_engine.hardware import blas, machine, memory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.targets.target import Caches
from mlx_engine.targets.weights import config_value, element_count

_STREAM_BYTES = 512 << 20  # far larger than any processor cache
_LONG_ENOUGH_S = 0.1  # seconds of a product that reaches the full rate
_MAX_SIZE = 8192  # limit of its rows and columns
_TRIES = 4
_STEPS = 8  # timed plain steps, after a warm-up
_NO_MEMORY = EngineText.of(
    "no_memory_to_measure", "There isn't enough memory to measure. Quit other apps, or load a smaller model."
)


def measure(pair: LoadedPair, cancel: threading.Event, again: bool = False) -> Iterator[WorkProgress | Roofline]:
    """Compare a pair's passes with the machine's limits, in a few seconds.

    Args:
        again: whether to measure the machine even if its limits are known.

    Yields:
        Progress, then the result; nothing more once `cancel` is set.

    Raises:
        UserError: memory ran out.
    """
    with memory.enough_for(_NO_MEMORY), memory.wired():
        facts = None if again else machine.load_facts()
        if facts is None or facts.blas != blas.prepare().name:
            facts = yield from _measure_machine(cancel)
            if facts is not None:
                machine.save_facts(facts)
        if facts is None or cancel.is_set():
            return
        phases: list[Phase] = []
        for done, measure_phases in enumerate((_prefill_and_plain, _draft_and_verify)):
            yield WorkProgress(0.6 + 0.2 * done, EngineText.of("measuring_pair", "Measuring the models"))
            phases += measure_phases(pair)
            mx.clear_cache()
            if cancel.is_set():
                return
        yield WorkProgress(1.0, EngineText.of("measured", "Measured"))
        yield Roofline(facts, tuple(phases))


def _measure_machine(cancel: threading.Event) -> Generator[WorkProgress, None, MachineFacts | None]:
    """Measure peak rates in about two seconds; return None if canceled."""
    metal = mx.default_device() == mx.Device(mx.gpu)
    yield WorkProgress(0.0, EngineText.of("measuring_memory", "Measuring memory"))
    size = min(_STREAM_BYTES, memory.working_set() // 8)
    bandwidth = _bandwidth(mx.float16 if metal else mx.float32, size)
    mx.clear_cache()
    if cancel.is_set():
        return None
    yield WorkProgress(0.3, EngineText.of("measuring_compute", "Measuring compute"))
    dtypes = (mx.float16, mx.bfloat16) if metal else (mx.float32,)
    compute, dtype = max((_compute(dtype), str(dtype)) for dtype in dtypes)
    mx.clear_cache()
    return (
        None
        if cancel.is_set()
        else MachineFacts(
            name=_chip(metal),
            device="Metal" if metal else "CPU",
            cores=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            working_set_bytes=memory.working_set(),
            bandwidth=bandwidth,
            compute=compute,
            dtype=dtype.removeprefix("mlx.core."),
            blas=blas.prepare().name,
            mlx=version("mlx"),
            measured=date.today().isoformat(),
        )
    )


def _bandwidth(dtype: mx.Dtype, size: int) -> float:
    """Return bytes per second: the better of a one-row product and a sum of weights."""
    columns = 4096
    weights = mx.full((size // columns // dtype.size, columns), 0.5, dtype=dtype)
    row = mx.ones((1, columns), dtype=dtype)
    mx.eval(weights, row)
    return weights.nbytes / min(_quickest(lambda: row @ weights.T), _quickest(weights.sum))


def _compute(dtype: mx.Dtype) -> float:
    """Return operations per second of matrix products, the best of all sizes."""
    best, n = 0.0, 512
    while n <= _MAX_SIZE:
        square = mx.random.normal((n, n)).astype(dtype)
        mx.eval(square)
        began = time.perf_counter()
        mx.eval(square @ square)
        seconds = time.perf_counter() - began
        if seconds < 2 * _LONG_ENOUGH_S:
            seconds = min(seconds, _quickest(partial(mx.matmul, square, square)))
        best = max(best, 2 * n**3 / seconds)
        if seconds > _LONG_ENOUGH_S:
            break
        n *= 2
    return best


def _quickest(work: Callable[[], mx.array]) -> float:
    times = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        mx.eval(work())
        times.append(time.perf_counter() - began)
    return min(times)


def _chip(metal: bool) -> str:
    if metal:
        return str(mx.device_info().get("device_name", "Apple silicon"))
    if sys.platform.startswith("linux"):
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as lines:
                return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        except (OSError, StopIteration):
            pass
    return platform.processor() or platform.machine()


def _prefill_and_plain(pair: LoadedPair) -> list[Phase]:
    """Measure one prompt chunk, then plain steps, both without a drafter's context."""
    target, pace = pair.target, pair.pace
    for _ in range(3 if pace.adapts else 2):  # the last is timed
        rows = min(pace.end(0), CHUNK, pair.info.context_limit // 2)
        prompt = [token * 7919 % target.vocabulary for token in range(rows + 1)]
        caches = target.caches()
        began = time.perf_counter()
        for done in prefill(target, caches, prompt, None, None, (), pace):
            if done == rows:
                seconds = time.perf_counter() - began
    token, times = mx.array(prompt[-1:]), []
    depth = caches.length
    for _ in range(_STEPS + 1):
        began = time.perf_counter()
        token = mx.argmax(target.forward(token, caches)[-1:], axis=-1)
        mx.eval(token)
        times.append(time.perf_counter() - began)
    return [
        _pass(pair, caches, "prefill", rows, 0, seconds),
        _pass(pair, caches, "plain", 1, depth, median(times[1:])),
    ]


def _pass(
    pair: LoadedPair, caches: Caches, name: Literal["prefill", "plain", "verify"], rows: int, depth: int, seconds: float
) -> Phase:
    """Return the measured phase for a pass of the target after `depth` tokens.

    On average, a row attends to half of the pass's own rows.
    """
    operations = pair.weights.operations(rows) + _attention(pair.target.model, caches, depth + rows // 2, rows)
    return Phase(name, rows, depth, seconds, pair.weights.bytes(rows) + (_size(caches.state) if depth else 0), operations)


def _draft_and_verify(pair: LoadedPair) -> list[Phase]:
    """Measure a draft and a verify of an entire block; empty without a drafter."""
    drafter, target = pair.drafter, pair.target
    if drafter is None:
        return []
    rows = drafter.config.block_size
    depth = min(CHUNK, pair.info.context_limit // 2)
    timer = PassTimer(target, drafter, depth, pair.operations)
    seconds = {name: median([run(rows) for _ in range(4)][1:]) for name, run in (("verify", timer.verify), ("draft", timer.draft))}
    own, head = drafter.parameters(), pair.weights
    read = _size(own) + head.head_bytes + _size(timer.context.state)
    operations = 2 * sum(element_count(array, drafter.bits) for array in own if array.ndim == 2) + head.head_operations
    return [
        _pass(pair, timer.caches, "verify", rows, depth, seconds["verify"]),
        Phase("draft", rows, depth, seconds["draft"], read, rows * operations),
    ]


def _size(arrays: list[mx.array]) -> int:
    return sum(array.nbytes for array in arrays)


def _attention(model: nn.Module, caches: Caches, depth: int, rows: int) -> int:
    """Return the floating-point operations of attention.

    Each of its two products takes 2 operations per row, cached row, and query element.
    """
    heads = config_value(model, "num_attention_heads")
    keys = [cache.keys for cache in caches.layers if isinstance(getattr(cache, "keys", None), mx.array)]
    return 4 * rows * depth * sum((heads or key.shape[1]) * key.shape[3] for key in keys)
