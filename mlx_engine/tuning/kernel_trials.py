"""Which kernels earn their place for a pair on this machine: right, exact, and quicker inside whole rounds.

A kernel that wins by itself can lose in use, so what is timed is replies, with plain MLX and with the kernel in turn: DFlash's,
which must be quicker, and plain decoding's, which runs the same kernels and must not be slower. What won alone is then tried
together. What came of it is kept in the user's cache folder.
"""

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import mlx.core as mx
import platformdirs

import metal
from mlx_engine import kernels, memory
from mlx_engine.errors import UserError
from mlx_engine.events import KernelTrial
from mlx_engine.kernels.agreement import Agreement
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels
from mlx_engine.loading import LoadedPair
from mlx_engine.pairs.checkpoint_paths import read_json, write_json
from mlx_engine.requests import Mode

NO_METAL = "no Metal here"
_ENOUGH_S = 5.0  # of replies for each kernel
_TIMES = 3  # of each way, at least
_QUICKER = 0.99  # of the time of plain MLX: less gain than this is noise
_SLOWER = 1.01  # of it, for plain decoding: less loss than this is noise
_FORMAT = 3  # of the file
# In float32 DFlash's text is plain decoding's, and these sum a row otherwise in a block than a plain step does
_BLOCKWISE = {
    "verify_attention": "in float32 it is off: its sums depend on the other rows of the block",
    "delta_inputs": "in float32 it is off: a plain step runs mlx-lm's own operations",
    "gated_delta_replay": "in float32 it is off: a plain step runs mlx-lm's own kernel",
}

Tokens = tuple[int, ...]


class Bench(Protocol):
    """What kernels are tried with: one request, answered the same every time."""

    exact: bool  # the target computes in float32, where nothing but the same tokens will do

    def agreement(self, name: str) -> Agreement:
        """What came of a kernel's results here beside its reference's."""
        ...

    def reply(self, operations: Operations, mode: Mode) -> tuple[float, Tokens]:
        """One reply with these operations: seconds a token, and its tokens."""
        ...

    def tie(self, mode: Mode, wanted: Tokens, found: Tokens) -> bool:
        """Whether rounding alone can have parted a reply from plain MLX's, by the rule that `compare` goes by."""
        ...


class Stopped(Exception):
    """Somebody else wants the engine."""


def prove(
    bench: Bench,
    build: Any = mx.fast.metal_kernel,
    clock: Callable[[], float] = time.perf_counter,
    done: Sequence[KernelTrial] = (),
) -> Iterator[KernelTrial | tuple[KernelTrial, ...]]:
    """Try every kernel of the table, one after the other, and then those that won together.

    Args:
        bench: what they are tried with.
        build: makes a kernel.
        clock: seconds.
        done: trials of kernels alone, from a run that was stopped.

    Raises:
        Stopped, UserError: as `bench` does.

    Yields:
        A `KernelTrial` of each kernel alone; last all of them, where only those that also hold together are used.
    """
    found, before = list[KernelTrial](), {trial.kernel: trial for trial in done}
    for name in KERNELS:
        found.append(before.get(name) or _alone(bench, name, build, clock))
        yield found[-1]
    won = [trial for trial in found if trial.used]
    if len(won) > 1:
        together = _try(bench, ", ".join(trial.kernel for trial in won), tuple(trial.kernel for trial in won), build, clock)
        best = min(won, key=_ratio)
        why = together.why
        if together.used and _ratio(together) > _ratio(best):
            together, why = replace(together, used=False), f"slower than {best.kernel} alone"
        if not together.used:
            found = [
                replace(trial, used=False, why=f"not with the others: {why}") if trial.used and trial is not best else trial
                for trial in found
            ]
    yield tuple(found)


def _ratio(trial: KernelTrial) -> float:
    return (trial.kernel_s or 0.0) / (trial.plain_s or 1.0)


def _alone(bench: Bench, name: str, build: Any, clock: Callable[[], float]) -> KernelTrial:
    def tried() -> KernelTrial:
        seen = bench.agreement(name)
        if seen.wrong:
            return KernelTrial(name, False, f"not right here: {seen.wrong}")
        if bench.exact and name in _BLOCKWISE:
            trial = KernelTrial(name, False, _BLOCKWISE[name])
        elif not seen.shapes:
            trial = KernelTrial(name, False, "not called: this pair has nothing for it to do")
        else:
            trial = _try(bench, name, (name,), build, clock)
        return replace(trial, off=seen.off, shapes=seen.shapes) if seen.shapes else trial

    return _guarded(name, tried)


def _try(bench: Bench, label: str, names: tuple[str, ...], build: Any, clock: Callable[[], float]) -> KernelTrial:
    return _guarded(label, lambda: _measure(bench, label, with_kernels(names, build), clock))


def _guarded(label: str, tried: Callable[[], KernelTrial]) -> KernelTrial:
    try:
        return tried()
    except (Stopped, UserError):  # neither is the kernel's doing
        raise
    except Exception as error:  # whatever a driver makes of a kernel, the pair runs without it
        if memory.exhausted(error):
            raise
        return KernelTrial(label, False, fails(error))


def fails(error: Exception) -> str:
    """Why a kernel that raised is off, in words."""
    return f"fails in use: {(str(error).strip() or type(error).__name__).splitlines()[0]}"


def _measure(bench: Bench, label: str, operations: Operations, clock: Callable[[], float]) -> KernelTrial:
    notes, texts = list[str](), dict[Mode, Tokens]()
    modes: tuple[Mode, Mode] = ("dflash", "plain")
    for mode in modes:  # none of these counts in time: the kernel is compiled, caches are filled
        (_, wanted), (_, texts[mode]) = bench.reply(PLAIN, mode), bench.reply(operations, mode)
        if wanted == texts[mode]:
            continue
        at = next(
            (i for i, (a, b) in enumerate(zip(wanted, texts[mode], strict=False), 1) if a != b),
            min(len(wanted), len(texts[mode])) + 1,
        )
        said = f"the {'text' if mode == 'dflash' else 'plain text'} parts from plain MLX's at token {at}"
        if bench.exact:
            return KernelTrial(label, False, f"not exact: {said}, in float32")
        if not bench.tie(mode, wanted, texts[mode]):
            return KernelTrial(label, False, f"not exact: {said}, by more than rounding")
        notes.append(f"{said}, a near tie")
    if bench.exact and texts["plain"] != texts["dflash"]:
        return KernelTrial(label, False, "not exact: DFlash's text is not plain decoding's, in float32")
    (before, after), (plain_before, plain_after) = (
        _medians(bench, operations, "dflash", clock),
        _medians(bench, operations, "plain", clock),
    )
    why = "; ".join([_change(before, after), *notes])
    if after >= _QUICKER * before:
        return KernelTrial(label, False, f"not quicker: {why}", before, after)
    if plain_after > _SLOWER * plain_before:
        return KernelTrial(label, False, f"slows plain decoding: {_change(plain_before, plain_after)}", before, after)
    return KernelTrial(label, True, why, before, after)


def _medians(bench: Bench, operations: Operations, mode: Mode, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds a token with plain MLX and with these, in turn."""
    plain, fused = list[float](), list[float]()
    began = clock()
    while len(plain) < _TIMES or clock() - began < _ENOUGH_S:
        plain.append(bench.reply(PLAIN, mode)[0])
        fused.append(bench.reply(operations, mode)[0])
    return median(plain), median(fused)


def _change(before: float, after: float) -> str:
    return f"{abs(1 - after / before):.1%} {'less' if after < before else 'more'} time a token".replace("%", " %")


def possible() -> bool:
    """Whether kernels can run here."""
    return mx.default_device().type == mx.gpu and mx.metal.is_available()


def exact(pair: LoadedPair) -> bool:
    """Whether nothing but plain MLX's own tokens will do: the pair computes in float32."""
    return pair.dtype == mx.float32


def operations(pair: LoadedPair) -> Operations:
    """What the pair shall run: the kernels that were proved for it here, and plain MLX for the rest."""
    if not possible():
        return PLAIN
    return with_kernels(tuple(trial.kernel for trial in known(pair) if trial.used))


def folder() -> Path:
    """Where trials are kept."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "kernels"


def known(pair: LoadedPair) -> tuple[KernelTrial, ...]:
    """The trials made earlier with this pair, machine, MLX and these very kernels; none where none can be read."""
    try:
        kept = read_json(_file(pair))
        return tuple(KernelTrial(**trial) for trial in kept if trial["kernel"] in KERNELS and isinstance(trial["used"], bool))
    except (UserError, ValueError, KeyError, TypeError):
        return ()


def keep(pair: LoadedPair, trials: tuple[KernelTrial, ...]) -> bool:
    """Keep trials for later starts; False where the folder cannot be written to, which is no error."""
    try:
        write_json(_file(pair), [asdict(trial) for trial in trials])
    except UserError:
        return False
    return True


def kernel_files() -> list[Path]:
    """Whatever a kernel's result or speed comes from: every Metal source, those that others include too, and what launches them."""
    return sorted([*Path(metal.__file__).parent.glob("*.metal"), *Path(kernels.__file__).parent.glob("*.py")])


def _file(pair: LoadedPair) -> Path:
    info = pair.info
    of: list[Any] = [
        _FORMAT,
        info.target,
        info.target_bytes,
        info.drafter,
        info.drafter_bytes,
        info.drafter_weights,
        str(pair.dtype),
        version("mlx"),
        platform.release(),  # Metal's compiler comes with the system
        str(mx.device_info().get("device_name", "")),
        *((path.name, path.read_text(encoding="utf-8")) for path in kernel_files()),
    ]
    return folder() / (hashlib.sha256(json.dumps(of).encode()).hexdigest()[:32] + ".json")
