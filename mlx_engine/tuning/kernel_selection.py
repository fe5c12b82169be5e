"""Which Metal kernels a pair runs on this machine: selected by trials, saved, and restored when the pair is loaded."""

import hashlib
import platform
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mlx.core as mx

import metal
from mlx_engine import device, kernels, memory
from mlx_engine.decoding.costs import ASSUMED, CostTable
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import KernelsSelected, KernelTrial, TuningProgress
from mlx_engine.kernels.operations import KERNELS, PLAIN, with_kernels
from mlx_engine.loading import LoadedPair
from mlx_engine.tuning import calibration, saved
from mlx_engine.tuning.kernel_trials import Generate, Stopped, TrialReplies, failure, try_kernels
from mlx_engine.warmup import warm

NO_METAL = EngineText.of("no_metal", "Metal isn't available on this machine")
_NO_MEMORY = EngineText.of(
    "no_memory_to_try_kernels", "There is not enough memory to test the kernels. Close other apps or load a smaller model."
)
_FORMAT = 4  # of the saved trials


def available() -> bool:
    """Return whether Metal kernels can run here."""
    return mx.default_device().type == mx.gpu and mx.metal.is_available()


def select(pair: LoadedPair, generate: Generate, cancel: threading.Event) -> Iterator[TuningProgress | KernelsSelected]:
    """Find out which Metal kernels make the pair faster and leave its text alone, in about a minute; run and save those.

    Yields:
        Progress, and last the result. Nothing more once `cancel` is set: the pair then runs what it ran before, and a later call
        continues with the kernel that was being tried.

    Raises:
        UserError: the pair has no drafter, Metal is missing, a trial reply failed, or memory ran out.
    """
    if pair.drafter is None:
        raise UserError("no_kernels_to_try", "There are no kernels to test: the pair has no drafter.")
    if not available():
        raise UserError("no_kernels_without_metal", "Kernels can't be tested: Metal isn't available on this machine.")
    operations, found = pair.operations, list[KernelTrial]()
    try:
        yield TuningProgress(0.0, EngineText.of("checking_kernels", "Checking the kernels"))
        with memory.enough_for(_NO_MEMORY):
            for trial in try_kernels(TrialReplies(pair, generate, cancel), done=pair.kernel_trials):
                if isinstance(trial, KernelTrial):
                    found.append(trial)
                    step = EngineText.of("kernel_tried", "{kernel}: {why}", kernel=trial.kernel, why=str(trial.why))
                    yield TuningProgress(len(found) / (len(KERNELS) + 1), step)
                else:
                    found, operations = [], with_kernels(tuple(each.kernel for each in trial if each.used))
                    yield KernelsSelected(trial, save(pair, trial))
    except Stopped:
        return
    finally:
        pair.kernel_trials = found
        pair.use(operations)


def restore(pair: LoadedPair) -> None:
    """Run the kernels selected earlier for a pair that was just loaded, use the costs calibrated with them, and warm both up."""
    trials = known(pair) if available() else ()
    pair.use(with_kernels(tuple(trial.kernel for trial in trials if trial.used)))
    try:
        _warm(pair)
    except Exception as error:  # whatever goes wrong in a driver
        if memory.exhausted(error) or pair.operations == PLAIN:
            raise
        pair.use(PLAIN)
        why = failure(error)
        _warm(pair)
        save(pair, tuple(replace(trial, used=False, why=why) if trial.used else trial for trial in trials))


def _warm(pair: LoadedPair) -> None:
    table: CostTable | None = calibration.known(pair) if pair.drafter else None
    ahead = device.runs_beside_host() and table is not None and table.queued
    if ahead or pair.operations != PLAIN:  # loading has warmed up everything else
        warm(pair.target, pair.drafter, pair.info.context_limit, pair.operations, ahead)
    pair.use_costs(table or ASSUMED)


def known(pair: LoadedPair) -> tuple[KernelTrial, ...]:
    """Return the trials saved for this pair, machine, MLX and kernel sources; none if none are valid."""
    try:
        return tuple(_trial(data) for data in saved.read("kernels", _identity(pair)) if data["kernel"] in KERNELS)
    except (ValueError, KeyError, TypeError):
        return ()


def _trial(data: dict[str, Any]) -> KernelTrial:
    why = EngineText(data["why"]["code"], data["why"]["message"], tuple((name, value) for name, value in data["why"]["values"]))
    if not isinstance(data["used"], bool):
        raise ValueError("not a trial")
    return KernelTrial(**data | {"why": why})


def save(pair: LoadedPair, trials: tuple[KernelTrial, ...]) -> bool:
    """Save trials for later starts. Returns False if the folder can't be written to."""
    return saved.write("kernels", _identity(pair), [asdict(trial) for trial in trials])


def kernel_files() -> list[Path]:
    """Return every file that a kernel's result or speed depends on: Metal sources, and the Python that launches them."""
    return sorted([*Path(metal.__file__).parent.glob("*.metal"), *Path(kernels.__file__).parent.glob("*.py")])


def _identity(pair: LoadedPair) -> dict[str, Any]:
    sources = hashlib.sha256()
    for path in kernel_files():
        sources.update(f"{path.name}\n{path.read_text(encoding='utf-8')}".encode())
    # Metal's compiler comes with the system
    return saved.identity(pair) | {"format": _FORMAT, "system": platform.release(), "kernel_sources": sources.hexdigest()}
