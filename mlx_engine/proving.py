"""Which kernels earn their place for a pair on this machine: right, and quicker inside whole rounds.

A kernel that wins by itself can lose in use, so what is timed is replies, with plain MLX and with the kernel in turn. What came of
it is kept in the user's cache folder.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import mlx.core as mx
import platformdirs

from metal import kernel_source
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels
from mlx_engine.loading import LoadedPair

NO_METAL = "no Metal here"
_ENOUGH_S = 5.0  # of replies for each kernel
_TIMES = 3  # of each way, at least
_QUICKER = 0.99  # of the time of plain MLX: less gain than this is noise

# One reply with these operations -> seconds a token, and its tokens
Replies = Callable[[Operations], tuple[float, tuple[int, ...]]]


@dataclass(frozen=True)
class Trial:
    """What became of one kernel: whether it is used, why, and seconds a token with plain MLX and with it."""

    kernel: str
    used: bool
    why: str
    plain_s: float | None = None
    kernel_s: float | None = None


def prove(
    wrong: Callable[[str], str],
    replies: Replies,
    build: Any = mx.fast.metal_kernel,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Trial]:
    """Try every kernel of the table, one after the other.

    Args:
        wrong: what is wrong with a kernel's results here; empty when they are right.
        replies: makes one, the same every time.
        build: makes a kernel.
        clock: seconds.
    """
    for name in KERNELS:
        if reason := wrong(name):
            yield Trial(name, False, f"not right here: {reason}")
            continue
        try:
            yield _time(name, replies, with_kernels((name,), build), clock)
        except Exception as error:  # whatever a driver makes of a kernel, the pair runs without it
            yield Trial(name, False, f"fails in use: {(str(error).strip() or type(error).__name__).splitlines()[0]}")


def _time(name: str, replies: Replies, operations: Operations, clock: Callable[[], float]) -> Trial:
    plain, fused = list[float](), list[float]()
    _, wanted = replies(PLAIN)  # neither of the first two counts: the kernel is compiled, caches are filled
    _, found = replies(operations)
    began = clock()
    while len(plain) < _TIMES or clock() - began < _ENOUGH_S:
        plain.append(replies(PLAIN)[0])
        fused.append(replies(operations)[0])
    before, after = median(plain), median(fused)
    used = after < _QUICKER * before
    why = f"{abs(1 - after / before):.1%} {'less' if after < before else 'more'} time a token".replace("%", " %")
    parted = next((i for i, (a, b) in enumerate(zip(wanted, found, strict=False), 1) if a != b), None)
    if parted is not None:
        why += f"; the text parts from plain MLX's at token {parted}, as another order of sums may make it"
    return Trial(name, used, why if used else f"not quicker: {why}", before, after)


def operations(pair: LoadedPair) -> Operations:
    """What the pair shall run: the kernels that were proved for it here, and plain MLX for the rest."""
    if mx.default_device().type != mx.gpu or not mx.metal.is_available():
        return PLAIN
    return with_kernels(tuple(trial.kernel for trial in known(pair) if trial.used))


def folder() -> Path:
    """Where trials are kept."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "kernels"


def known(pair: LoadedPair) -> tuple[Trial, ...]:
    """The trials made earlier with this pair, machine, MLX and these very kernels; none where none can be read."""
    try:
        kept = json.loads(_file(pair).read_text(encoding="utf-8"))
        return tuple(Trial(**trial) for trial in kept if trial["kernel"] in KERNELS and isinstance(trial["used"], bool))
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def keep(pair: LoadedPair, trials: tuple[Trial, ...]) -> bool:
    """Keep trials for later starts; False where the folder cannot be written to, which is no error."""
    with contextlib.suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder())
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump([asdict(trial) for trial in trials], file)
        os.replace(name, _file(pair))
        return True
    return False


def _file(pair: LoadedPair) -> Path:
    info = pair.info
    of = [info.target, info.target_bytes, info.drafter, info.drafter_bytes, info.drafter_weights, str(pair.dtype), version("mlx")]
    of += [str(mx.device_info().get("device_name", "")), *(kernel_source(name) for name in KERNELS)]
    return folder() / (hashlib.sha256(json.dumps(of).encode()).hexdigest()[:32] + ".json")
