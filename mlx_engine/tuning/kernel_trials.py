"""Trials of Metal kernels on a loaded pair: correct, exact, and faster in whole replies.

A kernel that wins on its own can lose in use, so whole replies are timed, alternately with plain MLX and with the kernel. DFlash
replies must be faster. Plain replies, which run the same kernels, must not be slower. Kernels that win alone are then tried
together.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import mlx.core as mx

from mlx_engine import memory
from mlx_engine.comparison import collect, difference, first_difference
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import Event, Failed, Finished, KernelTrial
from mlx_engine.kernels.agreement import Agreement, Witness
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels
from mlx_engine.loading import LoadedPair
from mlx_engine.requests import GenerationRequest, Message, Mode
from mlx_engine.tuning import self_check

_TRIAL_S = 5.0  # of replies for each kernel and mode
_MIN_REPLIES = 3  # with the kernel, and as many without
_FASTER = 0.99  # of plain MLX's time: a smaller gain is noise
_SLOWER = 1.01  # of plain MLX's time in plain decoding: a smaller loss is noise
_QUESTION = "Write the numbers from one to forty in words, separated by commas."
_TOKENS = 64
# In float32, DFlash's text must equal plain decoding's. These kernels sum a row differently in a block than in a plain step.
_OFF_IN_FLOAT32 = {
    "verify_attention": EngineText.of("kernel_sums_by_block", "off in float32: its sums depend on the other rows of the block"),
    "delta_inputs": EngineText.of("kernel_verifies_only", "off in float32: plain steps run mlx-lm's own operations"),
    "gated_delta_replay": EngineText.of("kernel_verifies_only", "off in float32: plain steps run mlx-lm's own operations"),
}

Tokens = tuple[int, ...]
Generate = Callable[[GenerationRequest, threading.Event], Iterator[Event]]


class Stopped(Exception):
    """The trials were cancelled."""


class TrialReplies:
    """Replies of a pair with a drafter to one fixed request.

    Attributes:
        exact: the target computes in float32, so only equal tokens pass.
    """

    def __init__(self, pair: LoadedPair, generate: Generate, cancel: threading.Event) -> None:
        self._pair, self._generate, self._cancel = pair, generate, cancel
        self.exact = pair.dtype == mx.float32
        self._wrong = {result.name: result.detail for result in self_check.check_kernels() if result.state == "fail"}

    def agreement(self, name: str) -> Agreement:
        """Compare a kernel with its reference, on made-up cases and on the pair's own arrays in a reply of each mode.

        Raises:
            UserError, Stopped: as `reply`.
        """
        if wrong := self._wrong.get(name):
            return Agreement(wrong=wrong)
        witness = Witness(name)
        self.reply(witness.operations(), "dflash")
        self.reply(witness.operations(), "plain")
        return witness.agreement

    def reply(self, operations: Operations, mode: Mode) -> tuple[float, Tokens]:
        """Generate a reply with these operations. Returns its seconds per token and its tokens.

        Raises:
            UserError: it failed, or was too short to be timed.
            Stopped: it was cancelled.
        """
        if self._cancel.is_set():
            raise Stopped
        self._pair.use(operations)
        events = list(self._generate(self._request(mode), self._cancel))
        if self._cancel.is_set():
            raise Stopped
        end = events[-1]
        if isinstance(end, Failed):
            raise UserError.of(end)
        assert isinstance(end, Finished)
        if not end.stats.decode_tok_s:
            raise UserError("reply_too_short_to_time", "The trial reply is too short to be timed. Load another pair.")
        return 1 / end.stats.decode_tok_s, collect(events, end).tokens

    def is_tie(self, mode: Mode, expected: Tokens, found: Tokens) -> bool:
        """Return whether rounding alone explains the first difference between two replies, by the rule of `compare`."""
        at = first_difference(expected, found)
        if at is None:
            return True
        self._pair.use(PLAIN)
        return difference(self._pair, self._request(mode), expected, found, at).tie

    def _request(self, mode: Mode) -> GenerationRequest:
        width = self._pair.info.block_size if mode == "dflash" else None
        messages = (Message("user", _QUESTION),)
        return GenerationRequest(messages, mode=mode, max_tokens=_TOKENS, ignore_eos=True, width=width, seed=1, reuse=False)


def try_kernels(
    replies: TrialReplies,
    build: Any = mx.fast.metal_kernel,
    clock: Callable[[], float] = time.perf_counter,
    done: Sequence[KernelTrial] = (),
) -> Iterator[KernelTrial | tuple[KernelTrial, ...]]:
    """Try every kernel alone, then those that won together.

    Args:
        replies: what kernels are tried with.
        build: makes a kernel.
        clock: seconds.
        done: trials of single kernels from a run that was stopped.

    Yields:
        A `KernelTrial` of each kernel alone. Last all of them; only those that also win together are used.

    Raises:
        UserError, Stopped: as `TrialReplies.reply`.
    """
    found, earlier = list[KernelTrial](), {trial.kernel: trial for trial in done}
    for name in KERNELS:
        found.append(earlier.get(name) or _alone(replies, name, build, clock))
        yield found[-1]
    winners = [trial for trial in found if trial.used]
    if len(winners) > 1:
        names = tuple(trial.kernel for trial in winners)
        together = _guarded(", ".join(names), lambda: _measure(replies, ", ".join(names), with_kernels(names, build), clock))
        best, reason = min(winners, key=_ratio), str(together.why)
        if together.used and _ratio(together) > _ratio(best):
            together, reason = replace(together, used=False), f"slower than {best.kernel} alone"
        if not together.used:
            why = EngineText.of("kernel_not_with_others", "not used with the other kernels: {reason}", reason=reason)
            found = [replace(trial, used=False, why=why) if trial.used and trial is not best else trial for trial in found]
    yield tuple(found)


def _ratio(trial: KernelTrial) -> float:
    return (trial.kernel_s or 0.0) / (trial.plain_s or 1.0)


def _alone(replies: TrialReplies, name: str, build: Any, clock: Callable[[], float]) -> KernelTrial:
    def attempt() -> KernelTrial:
        agreement = replies.agreement(name)
        if agreement.wrong:
            wrong = EngineText.of("kernel_wrong", "wrong results on this machine: {detail}", detail=agreement.wrong)
            return KernelTrial(name, False, wrong)
        if replies.exact and name in _OFF_IN_FLOAT32:
            trial = KernelTrial(name, False, _OFF_IN_FLOAT32[name])
        elif not agreement.shapes:
            return KernelTrial(name, False, EngineText.of("kernel_not_called", "this pair does not use it"))
        else:
            trial = _guarded(name, lambda: _measure(replies, name, with_kernels((name,), build), clock))
        return replace(trial, off=agreement.off, shapes=agreement.shapes) if agreement.shapes else trial

    return _guarded(name, attempt)


def _guarded(label: str, attempt: Callable[[], KernelTrial]) -> KernelTrial:
    try:
        return attempt()
    except (Stopped, UserError):  # not the kernel's fault
        raise
    except Exception as error:  # whatever goes wrong in a driver, the pair runs without the kernel
        if memory.exhausted(error):
            raise
        return KernelTrial(label, False, failure(error))


def failure(error: Exception) -> EngineText:
    """Return why a kernel that raised is not used."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return EngineText.of("kernel_fails", "fails in use: {reason}", reason=reason)


def _measure(replies: TrialReplies, label: str, operations: Operations, clock: Callable[[], float]) -> KernelTrial:
    tie_at, texts = 0, dict[Mode, Tokens]()
    modes: tuple[Mode, Mode] = ("dflash", "plain")
    for mode in modes:  # not timed: the kernel is compiled and caches are filled
        (_, expected), (_, texts[mode]) = replies.reply(PLAIN, mode), replies.reply(operations, mode)
        if (at := first_difference(expected, texts[mode])) is None:
            continue
        if replies.exact or not replies.is_tie(mode, expected, texts[mode]):
            return KernelTrial(
                label,
                False,
                EngineText.of(
                    "kernel_not_exact",
                    "not exact: the {mode} text differs from plain MLX's at token {token}, by more than rounding allows",
                    mode=mode,
                    token=at + 1,
                ),
            )
        tie_at = tie_at or at + 1
    if replies.exact and texts["plain"] != texts["dflash"]:
        why = EngineText.of("kernel_breaks_exactness", "not exact: DFlash and plain decoding produce different text in float32")
        return KernelTrial(label, False, why)
    without, with_kernel = _seconds_per_token(replies, operations, "dflash", clock)
    plain_without, plain_with = _seconds_per_token(replies, operations, "plain", clock)
    if with_kernel >= _FASTER * without:
        why = EngineText.of("kernel_not_faster", "not faster: {ratio:.1%} of plain MLX's time", ratio=with_kernel / without)
        return KernelTrial(label, False, why, without, with_kernel)
    if plain_with > _SLOWER * plain_without:
        ratio = plain_with / plain_without
        why = EngineText.of("kernel_slows_plain", "slows plain decoding: {ratio:.1%} of plain MLX's time", ratio=ratio)
        return KernelTrial(label, False, why, without, with_kernel)
    saving = 1 - with_kernel / without
    why = EngineText.of("kernel_faster", "{saving:.1%} less time per token", saving=saving)
    if tie_at:
        why = EngineText.of(
            "kernel_faster_near_tie",
            "{saving:.1%} less time per token; the text differs from plain MLX's at token {token}, a near tie",
            saving=saving,
            token=tie_at,
        )
    return KernelTrial(label, True, why, without, with_kernel)


def _seconds_per_token(
    replies: TrialReplies, operations: Operations, mode: Mode, clock: Callable[[], float]
) -> tuple[float, float]:
    """Return the median seconds per token with plain MLX and with these operations, timed alternately."""
    without, with_kernels = list[float](), list[float]()
    began = clock()
    while len(without) < _MIN_REPLIES or clock() - began < _TRIAL_S:
        without.append(replies.reply(PLAIN, mode)[0])
        with_kernels.append(replies.reply(operations, mode)[0])
    return median(without), median(with_kernels)
