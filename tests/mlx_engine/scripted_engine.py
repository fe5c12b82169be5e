"""A scripted engine, so that commands are tested without a model."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    Commit,
    CompletedReply,
    Event,
    Failed,
    Finished,
    LoadProgress,
    PairInfo,
    PrefillProgress,
    Round,
    Stats,
    StopReason,
    TextDifference,
    WorkProgress,
)
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Mode
from mlx_engine.contract.token_counts import TokenCount
from tests.engine_double import EngineDouble


def stats(mode: Mode, tokens: int = 5) -> Stats:
    drafting = mode == "dflash"
    return Stats(
        mode=mode,
        prompt_tokens=7,
        reused_tokens=0,
        tokens=tokens,
        ttft_s=0.25,
        prompt_tok_s=28.0,
        decode_tok_s=300.0 if drafting else 100.0,
        rounds=1 if drafting else 0,
        drafted=7 if drafting else 0,
        tested=4 if drafting else 0,
        accepted=3 if drafting else 0,
        accepted_per_round=(3,) if drafting else (),
        widths=(8,) if drafting else (),
        plain_steps=0 if drafting else 4,
        why_plain=None if drafting else EngineText("dflash_off", "DFlash is off"),
        peak_memory_bytes=1_000_000,
        seed=11,
    )


def press_ctrl_c(cancel: threading.Event | None) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    assert cancel is not None and cancel.wait(60)  # set by the main thread


class ScriptedEngine(EngineDouble):
    """Answers every request with `pieces`, one token each.

    Args:
        pieces: channel and text of each commit; the text Ctrl-C presses it instead.
        fails: error of every request.
        refuses: error of loading.
        why_plain: reason why the loaded pair can't use DFlash.
        parts_at: token at which the replies of a comparison differ.
        can_see: whether the loaded pair sees images.
        can_think: whether it can think.
    """

    def __init__(
        self,
        pieces: tuple[tuple[str, str], ...] = (("answer", "Hello"), ("answer", " there.")),
        fails: str = "",
        refuses: str = "",
        why_plain: str = "",
        parts_at: int | None = None,
        can_see: bool = False,
        can_think: bool = False,
    ) -> None:
        self._pieces, self._fails, self._refuses, self._parts_at = pieces, fails, refuses, parts_at
        self._can_see, self._can_think = can_see, can_think
        self._why_plain = EngineText("", why_plain) if why_plain else None
        self.loaded: tuple[Path, Path | None] | None = None
        self.drafter_bits: int | None = None
        self.requests: list[GenerationRequest] = []
        self.counted: list[GenerationRequest] = []

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        yield LoadProgress(0.5, EngineText("reading_target", "Reading the target"))
        if self._refuses:
            raise UserError("scripted", "{text}", text=self._refuses)
        self.loaded, self.drafter_bits = (target, drafter), drafter_bits
        can_think, can_see = self._can_think, self._can_see
        yield PairInfo("tiny", "target", "drafter", "qwen3", 8, 64, 10, 5, can_think, self._why_plain, can_see=can_see)

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        self.requests.append(request)
        yield PrefillProgress(7, 7, 0)
        if self._fails:
            yield Failed("error", self._fails)
            return
        reason: StopReason = "eos"
        for number, (channel, text) in enumerate(self._pieces):
            if text == "Ctrl-C":
                if cancel is None or not cancel.is_set():  # by another reply of a comparison
                    press_ctrl_c(cancel)
                continue
            if cancel is not None and cancel.is_set():
                reason = "cancelled"
                break
            differs = request.mode == "plain" and number == self._parts_at
            yield Commit(text, channel, (99 if differs else number,), ("drafter",))  # type: ignore[arg-type]
        if request.mode == "dflash":
            yield Round(8, "drafter", 4, 3, 0.3)
        yield Finished(reason, stats(request.mode))

    def count_tokens(self, request: CountTokens) -> TokenCount:
        self.counted.append(request.request)
        return TokenCount(7, 64)

    def calibrate(self, cancel: threading.Event | None = None) -> Iterator[WorkProgress | Calibrated]:
        yield WorkProgress(0.5, EngineText("", "Measuring at 128 tokens"))
        if self._fails:
            raise UserError("scripted", "{text}", text=self._fails)
        if self._pieces and self._pieces[0][1] == "Ctrl-C":
            press_ctrl_c(cancel)
        if cancel is not None and cancel.is_set():
            return
        yield Calibrated((128,), (2, 8), (0.01,), ((0.011, 0.012),), ((0.004, 0.005),), True)

    def difference(self, request: GenerationRequest, baseline: CompletedReply, reply: CompletedReply, at: int) -> TextDifference:
        return TextDifference(at, 0.5)
