"""Select the Metal kernels of a pair on this machine, save them, and restore them."""

import hashlib
import platform
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mlx.core as mx

import metal
from mlx_engine import kernels
from mlx_engine.calibration import calibration, saved_calibration
from mlx_engine.calibration.kernel_choice import try_kernels
from mlx_engine.calibration.kernel_trials import PairTrials, PassCheck, TrialRecord, failure, numbers
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import CompareResult, Event, PairInfo, WorkProgress
from mlx_engine.contract.machine_events import KernelRows, KernelSaving, KernelsSelected, KernelTrial
from mlx_engine.contract.requests import Compare, Contestant, GenerationRequest, Message
from mlx_engine.decoding.costs import ASSUMED, COPY_WIDTHS
from mlx_engine.hardware import device, memory
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels
from mlx_engine.loading.loaded_pair import LoadedPair, exact_operations
from mlx_engine.loading.warmup import warm

NO_METAL = EngineText.of("no_metal", "Metal isn't available on this machine")
_NO_MEMORY = EngineText.of(
    "no_memory_to_try_kernels", "There isn't enough memory to test the kernels. Quit other apps, or load a smaller model."
)
_NOT_EXACT = EngineText.of(
    "kernels_not_exact", "not exact: with the kernels, DFlash and plain decoding differ by more than rounding error"
)
_NOT_COMPARED = EngineText.of("kernels_not_compared", "not compared: replies with or without the kernels are missing")
_QUESTION = "Write the numbers from one to forty in words, separated by commas."
_TOKENS = 64
_FORMAT = 7  # of saved evidence


Runner = Callable[[Compare, threading.Event], Iterator[Event]]


def available() -> bool:
    """Return whether Metal kernels can run here."""
    return mx.default_device().type == mx.gpu and mx.metal.is_available()


def select(
    pair: LoadedPair,
    compare: Runner,
    cancel: threading.Event,
    again: bool = False,
    seconds: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[WorkProgress | KernelsSelected]:
    """Find, use, and save the kernels that speed up a pair and preserve its text.

    Takes minutes, see `docs/kernels.md`. Kernels that failed in replies before stay off.

    Args:
        pair: the pair, which must have a drafter.
        compare: compares the pair's replies with and without DFlash.
        cancel: set to stop. The pair then runs its previous kernels, and a later call reuses the measurements so far.
        again: whether to repeat a complete selection, and to test kernels that failed before, too.
        seconds: stop in this time, as if canceled, but not before there is a new result.

    Yields:
        Progress, then the result.

    Raises:
        UserError: the pair has no drafter, Metal is missing, or memory ran out.
    """
    if pair.drafter is None:
        raise UserError("no_kernels_to_try", "This pair has no kernels to test, because it has no drafter.")
    if not available():
        raise UserError("no_kernels_without_metal", "Kernels can't be tested: Metal isn't available on this machine.")
    found = None if again else known(pair)
    if found is not None and found.complete:
        yield found
        return
    failed = {(trial.kernel, 0): PassCheck(trial.why) for trial in found.trials} if found else {}
    if pair.kernel_record is None or pair.kernel_record.failed != failed:
        pair.kernel_record = TrialRecord(failed=failed)
    ranges, record = pair.ranges, pair.kernel_record
    began, size = clock(), record.size

    def must_stop(share: float = 0.9) -> bool:
        """Return whether the run must stop, because a step may take the rest of the time."""
        is_late = seconds is not None and record.size > size and clock() - began > share * seconds
        return cancel.is_set() or is_late

    try:
        with memory.enough_for(_NO_MEMORY):
            for event in try_kernels(PairTrials(pair), record):
                if must_stop():
                    return
                if isinstance(event, WorkProgress):
                    yield event
                    continue
                _use(pair, event)
                chosen, problems = pair.ranges, list[EngineText | None]()
                for start, operations in chosen:
                    for width in _widths(operations, pair.info.block_size):
                        key = start, width, tuple(operations.kernels)
                        if key not in record.problems:
                            if width > pair.info.block_size and not record.prompt:
                                if must_stop(share=0.5):
                                    return
                                prompt = _prompt_to_copy(pair, compare, cancel)
                                if cancel.is_set():
                                    return
                                record.prompt = prompt
                            if must_stop(share=0.5):
                                return
                            problem = _problem(pair, operations, width, record.prompt, compare, cancel)
                            if cancel.is_set():
                                return
                            record.problems[key] = problem
                        problems.append(record.problems[key])
                if why := next(filter(None, problems), None):
                    event, chosen = _without(event, why), ((0, PLAIN),)
                ranges, pair.kernel_record = chosen, None
                yield replace(event, saved=save(pair, event))
    finally:
        (_, operations), *longer = ranges
        pair.use(operations, *longer)


def _widths(operations: Operations, block: int) -> list[int]:
    """Return the widest draft, and the widest longer copy, of each set of kernels."""
    widest: dict[tuple[bool, frozenset[str]], int] = {}
    for width in sorted({*COPY_WIDTHS[1:], block}):
        kernels = frozenset(name for name in operations.kernels if operations.kernel(name).at(width))
        widest[width > block, kernels] = width
    return [width for (_, kernels), width in widest.items() if kernels]


def _prompt_to_copy(pair: LoadedPair, compare: Runner, cancel: threading.Event) -> tuple[int, ...]:
    """Return a raw prompt: a question, the reply to it, and the question again."""
    question = tuple(pair.tokenizer.encode(_QUESTION))
    end = _end(compare(Compare((_request(prompt_tokens=question),), (Contestant("plain"),)), cancel))
    replied = [token for reply in (end.results[0].replies if end else ()) for token in reply.tokens]
    return (*question, *replied, *question)


def _request(**options: Any) -> GenerationRequest:
    return GenerationRequest(max_tokens=_TOKENS, ignore_eos=True, seed=1, **options)


def _end(events: Iterator[Event]) -> CompareResult | None:
    return next((event for event in events if isinstance(event, CompareResult)), None)


def _problem(
    pair: LoadedPair, operations: Operations, width: int, copied: tuple[int, ...], compare: Runner, cancel: threading.Event
) -> EngineText | None:
    """Return why replies can't use these operations at this width, or None.

    DFlash and plain decoding must give the same reply, within rounding. Beyond a block, passes verify copies of a prompt: also in
    float32, where only passes that replies share are as wide, and MLX rounds them differently.
    """
    pair.use(operations)
    copies = width > pair.info.block_size
    prompt: dict[str, Any] = {"prompt_tokens": copied} if copies else {"messages": (Message("user", _QUESTION),)}
    request = _request(width=width, lookup_only=copies, **prompt)
    end = _end(compare(Compare((request,)), cancel))
    if end is None or not all(result.runs for result in end.results):
        return _NOT_COMPARED
    if copies and not any(width in run.widths for run in end.results[1].runs):
        return _NOT_COMPARED
    allowed = ("identical",) if pair.dtype == mx.float32 and not copies else ("identical", "tie")
    errors = [run.gpu_error for result in end.results for run in result.runs if run.gpu_error is not None]
    for error in errors:
        if error.code == "kernels_turned_off":
            return failure(str(dict(error.values)["reason"]))
    return None if end.results[1].verdict in allowed else _NOT_EXACT


def _without(found: KernelsSelected, why: EngineText) -> KernelsSelected:
    """Return the same evidence with all kernels turned off."""
    trials = tuple(replace(trial, used_at=(), why=why) if trial.used_at else trial for trial in found.trials)
    return replace(found, trials=trials, switch=0)


def _use(pair: LoadedPair, found: KernelsSelected) -> None:
    """Use the selected kernels for each context length."""
    widest = max((saving.at.last for trial in found.trials for saving in trial.savings), default=pair.info.block_size)

    def operations(depth: int) -> Operations:
        used = {trial.kernel: [rows for rows in trial.used_at if rows.depth == depth] for trial in found.trials}
        return with_kernels({name: numbers(rows, widest) for name, rows in used.items()})

    first, *_, last = (operations(depth) for depth in (*found.depths[:1], *found.depths[-1:]) or (0, 0))
    pair.use(first, *([(found.switch, last)] if found.switch else []))
    broken = [trial.kernel for trial in found.trials if trial.excluded or trial.why.code in ("kernel_fails", "kernel_wrong")]
    if (exact := exact_operations(broken)).kernels != pair.exact_operations.kernels:
        pair.exact_operations, pair.exact_history = exact, None


def turn_off(pair: LoadedPair, names: Collection[str], message: str) -> KernelsSelected:
    """Turn off kernels that failed in a reply, here and for later starts.

    Args:
        pair: the pair, which then runs the other kernels.
        names: the kernels.
        message: MLX's error.

    Returns:
        The evidence, which is saved.
    """
    found, why = known(pair) or KernelsSelected((), complete=False), failure(message)
    others = {trial.kernel: trial for trial in found.trials}
    failed = {name: replace(others.get(name, KernelTrial(name, why)), used_at=(), why=why) for name in names}
    found = replace(found, trials=tuple((others | failed).values()))
    found = replace(found, saved=save(pair, found))
    _use(pair, found)
    return found


def restore(pair: LoadedPair) -> None:
    """Use and warm up the saved kernels and costs of a pair that was just loaded.

    If the kernels fail, they are turned off for later starts too.
    """
    found = known(pair) if available() else None
    _use(pair, found or KernelsSelected(()))
    why: EngineText | None = None
    try:
        _warm(pair)
    except Exception as error:  # a driver may raise anything
        if memory.exhausted(error) or found is None or pair.ranges == ((0, PLAIN),):
            raise
        why = failure(error)
    if found is not None and why is not None:  # outside the handler, whose traceback holds arrays
        memory.settle()
        pair.use(PLAIN)
        _warm(pair)
        save(pair, _without(found, why))


def restored(pair: LoadedPair) -> PairInfo:
    """Restore a pair as `restore` does, and return what to report about it."""
    restore(pair)
    plain, kernels = pair.drafter is None, known(pair) if available() else None
    selected = plain or not available() or (kernels is not None and kernels.complete)
    return replace(pair.info, calibrated=plain or pair.history.costs.table.reliable, kernels_selected=selected, kernels=kernels)


def _warm(pair: LoadedPair) -> None:
    table = calibration.known(pair) if pair.drafter else None
    ahead = device.runs_beside_host() and table is not None and table.queued
    for start, operations in pair.ranges:
        pair.run_at(start)
        if ahead or operations != PLAIN:  # loading has warmed up plain MLX
            warm(pair.target, pair.drafter, pair.info.context_limit, operations, ahead)
    pair.use_costs(table or ASSUMED)


def known(pair: LoadedPair) -> KernelsSelected | None:
    """Return the saved evidence for this pair, machine, and software, or None."""
    try:
        data = saved_calibration.read("kernels", _identity(pair))
        trials = tuple(_trial(each) for each in data["trials"])
        depths, switch = tuple(map(int, data["depths"])), int(data["switch"])
        return KernelsSelected(trials, depths, switch, saved=True, complete=bool(data["complete"]))
    except (ValueError, KeyError, TypeError):
        return None


def _trial(data: dict[str, Any]) -> KernelTrial:
    why = EngineText(data["why"]["code"], data["why"]["message"], tuple((name, value) for name, value in data["why"]["values"]))
    if data["kernel"] not in KERNELS:
        raise ValueError("not a kernel")
    savings = tuple(KernelSaving(_rows(each["at"]), float(each["share"]), float(each["error"])) for each in data["savings"])
    passes = {name: tuple(map(_rows, data[name])) for name in ("used_at", "excluded")}
    return KernelTrial(**data | {"why": why, "savings": savings} | passes)


def _rows(data: dict[str, Any]) -> KernelRows:
    return KernelRows(int(data["depth"]), int(data["first"]), int(data["last"]))


def save(pair: LoadedPair, found: KernelsSelected) -> bool:
    """Save evidence for later starts; return False if the folder isn't writable."""
    return saved_calibration.write("kernels", _identity(pair), asdict(found))


def kernel_files() -> list[Path]:
    """Return the files that define the kernels: Metal sources and Python callers."""
    return sorted([*Path(metal.__file__).parent.glob("*.metal"), *Path(kernels.__file__).parent.glob("*.py")])


def _identity(pair: LoadedPair) -> dict[str, Any]:
    sources = hashlib.sha256()
    for path in kernel_files():
        sources.update(f"{path.name}\n{path.read_text(encoding='utf-8')}".encode())
    # `system`, because it includes Metal's compiler
    return saved_calibration.identity(pair) | {
        "format": _FORMAT,
        "system": platform.release(),
        "kernel_sources": sources.hexdigest(),
    }
