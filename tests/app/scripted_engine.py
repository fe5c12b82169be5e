"""An engine that answers from a script, behind the same interface and on the real thread."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    Commit,
    Event,
    Finished,
    LoadProgress,
    PairInfo,
    PrefillProgress,
    Round,
    Stats,
    StopReason,
    WorkProgress,
)
from mlx_engine.contract.limits import rolling_window
from mlx_engine.contract.machine_events import Calibrated, KernelsSelected, KernelTrial, MachineFacts, MemoryUse, Phase, Roofline
from mlx_engine.contract.requests import Compare, CountTokens, GenerationRequest, Message, Mode, Request
from mlx_engine.contract.token_counts import PromptParts, TokenCount
from mlx_engine.engine.relief import Relief
from tests.engine_double import EngineDouble

PAIR = PairInfo("Demo pair", "target", "drafter", "qwen3", 16, 2048, 18_000_000, 5_000_000, can_think=False)

# What a script is made of: an event to send, an exception to raise, a function to call, or a gate to wait at until it is opened or
# the reply cancelled.
Script = Iterable[Event | Exception | threading.Event | Callable[[], object]]


def commit(text: str, tokens: int = 1, channel: str = "answer") -> Commit:
    return Commit(text, channel, tuple(range(tokens)), ("target",) * tokens, (("target", len(text)),))  # type: ignore[arg-type]


def reason(message: str) -> EngineText:
    return EngineText("", message)


DFLASH_TOK_S, PLAIN_TOK_S = 512.3, 131.4


def stats(
    mode: Mode = "dflash",
    tokens: int = 13,
    why_plain: EngineText | None = None,
    decode_tok_s: float | None = DFLASH_TOK_S,
    seed: int = 7,
) -> Stats:
    drafting = mode == "dflash"
    return Stats(
        mode=mode,
        prompt_tokens=9,
        reused_tokens=0,
        tokens=tokens,
        ttft_s=0.038,
        prompt_tok_s=240.0,
        decode_tok_s=decode_tok_s,
        rounds=2 if drafting else 0,
        drafted=30 if drafting else 0,
        tested=11 if drafting else 0,
        accepted=10 if drafting else 0,
        accepted_per_round=(6, 4) if drafting else (),
        widths=(16, 16) if drafting else (),
        plain_steps=0 if drafting else tokens - 1,
        why_plain=why_plain,
        peak_memory_bytes=64_000_000,
        seed=seed,
    )


def done(mode: Mode = "dflash", reason: StopReason = "eos", **figures: object) -> Finished:
    return Finished(reason, stats(mode, **figures))  # type: ignore[arg-type]


def answer(text: str, mode: Mode = "dflash") -> Script:
    """A whole reply, word by word."""
    words = text.split(" ")
    pieces = [word + " " for word in words[:-1]] + words[-1:]
    return [*(commit(piece) for piece in pieces), done(mode, tokens=len(pieces))]


FACTS = MachineFacts("Some Chip", "Metal", 14, 48 << 30, 36 << 30, 273e9, 8.1e12, "float16", "metal", "0.32.4", "2026-11-20")
ROOFLINE = Roofline(
    FACTS,
    (
        Phase("prefill", 512, 0, 0.62, 4_400_000_000, 4_300_000_000_000),
        Phase("plain", 1, 512, 0.0184, 4_470_000_000, 8_700_000_000),
        Phase("verify", 16, 512, 0.0297, 4_480_000_000, 139_000_000_000),
        Phase("draft", 16, 512, 0.0093, 1_700_000_000, 37_000_000_000),
    ),
)


MEMORY = MemoryUse(
    (
        ("target", 18_600_000_000),
        ("drafter", 1_700_000_000),
        ("images", 900_000_000),
        ("replies", 1_300_000_000),
        ("snapshots", 2_400_000_000),
        ("workspace", 350_000_000),
        ("buffers", 420_000_000),
        ("tuning", 0),
        ("window", 310_000_000),
        ("others", 11_900_000_000),
    ),
    reserved=2_600_000_000,
    budget=36 << 30,
    total=48 << 30,
    pressure="normal",
)


class ScriptedEngine(EngineDouble):
    """`replies` are played one after the other; when they run out, "Fine." is the answer.

    In a rolling window, the oldest messages are left out as by the engine, and words are tokens.
    """

    def __init__(self, replies: Sequence[Script] = (), pair: PairInfo = PAIR, load_error: Exception | None = None) -> None:
        self.replies = list(replies)
        self.pair = pair
        self.load_error = load_error
        self.load_gate: threading.Event | None = None
        self.measure_gate: threading.Event | None = None
        self.measured: list[bool] = []
        self.memory = MEMORY
        self.memory_readings = 0
        self.calibration_gate: threading.Event | None = None
        self.calibrations = 0
        self.proofs: list[int] = []  # how many calibrations there had been
        self.trials: tuple[KernelTrial, ...] = ()  # what a proof finds
        self.proof_gate: threading.Event | None = None
        self.proof_parts = 1  # number of runs that a proof takes if it is limited
        self.requests: list[GenerationRequest] = []
        self.threads: set[int] = set()
        self.unloaded = False
        self.counts_words = False
        self.tokens_per_tool = 0
        self.counted: list[CountTokens] = []
        self.closed_early = 0
        self._compared: list[Path | None] = []  # drafters
        self.loaded: list[tuple[Path, Path | None]] = []

    def load(self, target: Path, drafter: Path | None) -> Iterator[LoadProgress | PairInfo]:
        self.threads.add(threading.get_ident())
        yield LoadProgress(0.25, reason("Reading the weights"))
        if self.load_gate:
            self.load_gate.wait()
        if self.load_error:
            raise self.load_error
        self.loaded.append((target, drafter))
        yield replace(self.pair, drafter_folder=drafter)

    def generate(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event]:
        yield from (event for event in self._play(request, cancel) if event is not None)

    def steps(
        self, request: GenerationRequest, cancel: threading.Event, submitted: float | None = None
    ) -> Generator[Sequence[Event], None, None]:
        """Yield each event. A reply that waits at a gate leaves its turns to others."""
        return ([event] if event is not None else [] for event in self._play(request, cancel))

    def _play(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event | None]:
        self.threads.add(threading.get_ident())
        self.requests.append(request)
        script = self.replies.pop(0) if self.replies else [commit("Fine."), done(request.mode)]
        if left_out := len(request.messages) - len(self._sent(request)):
            yield PrefillProgress(1, 1, 0, left_out)
        for step in script:
            if cancel.is_set():
                break
            if isinstance(step, threading.Event):
                while not step.wait(0.005) and not cancel.is_set():
                    yield None
            elif isinstance(step, Exception):
                raise step
            elif callable(step):
                step()
            elif isinstance(step, Finished):
                yield self._timed(step, request)
                return
            else:
                yield step
        if cancel.is_set():
            self.closed_early += 1
            yield self._timed(done(request.mode, "cancelled", tokens=1), request)

    def loaded_pair(self) -> PairInfo:
        """The kind is named by the drafter's folder."""
        name = (self.loaded[-1][1] or Path()).name if self.loaded else ""
        return replace(self.pair, drafter_kind=name, drafter=f"lab/{name}", drafter_bytes=900_000_000)

    def run(self, request: Request, cancel: threading.Event) -> Iterator[Event]:
        if isinstance(request, Compare):
            self._compared = [pair.drafter for pair in request.pairs]
        yield from super().run(request, cancel)

    def _timed(self, end: Finished, request: GenerationRequest) -> Finished:
        """Return the end of a reply with its rate, unless the script sets one.

        Plain replies are slower. Of several drafters that are compared, the last one is the fastest.
        """
        own = end.stats.decode_tok_s != DFLASH_TOK_S
        return end if own else replace(end, stats=replace(end.stats, decode_tok_s=self._rate(request)))

    def _rate(self, request: GenerationRequest) -> float:
        if not self._compared:
            return PLAIN_TOK_S if request.mode == "plain" else DFLASH_TOK_S
        drafted = 1 if request.lookup_only else 2 + self._compared.index(self.loaded[-1][1])
        return 40.0 + 30 * drafted * (request.mode != "plain")

    def memory_use(self, relief: Relief, tuning: int | None) -> MemoryUse:
        self.memory_readings += 1
        return replace(self.memory, pressure=relief.pressure, step=relief.step)

    def roofline(self, cancel: threading.Event, again: bool) -> Iterator[WorkProgress | Roofline]:
        self.measured.append(again)
        yield WorkProgress(0.3, reason("Measuring arithmetic"))
        while self.measure_gate and not self.measure_gate.wait(0.005):
            if cancel.is_set():
                return
        yield ROOFLINE

    def calibrate(self, cancel: threading.Event) -> Iterator[WorkProgress | Calibrated]:
        self.calibrations += 1
        yield WorkProgress(0.1, reason("Measuring"))
        while self.calibration_gate and not self.calibration_gate.wait(0.005):
            if cancel.is_set():
                return
        yield Calibrated((128,), (16,), (0.01,), ((0.02,),), ((0.005,),), saved=True)

    def prove(self, cancel: threading.Event, seconds: float | None = None) -> Iterator[WorkProgress | KernelsSelected]:
        self.proofs.append(self.calibrations)
        yield WorkProgress(0.1 * len(self.proofs), reason("Trying"))
        while self.proof_gate and not self.proof_gate.wait(0.005):
            if cancel.is_set():
                return
        if seconds is None or len(self.proofs) >= self.proof_parts:
            yield KernelsSelected(self.trials, saved=True)

    def count_tokens(self, request: CountTokens) -> TokenCount:
        self.counted.append(request)
        sent, tools = self._sent(request.request), self.tokens_per_tool * len(request.request.tools)
        tokens = words(sent) + tools if self.counts_words else 7 + tools
        left_out = len(request.messages) - len(sent)
        parts = PromptParts(tools=tools, chat=tokens - tools) if request.parts else None
        return TokenCount(tokens, self.pair.context_limit, True, left_out, parts)

    def _sent(self, request: GenerationRequest) -> Sequence[Message]:
        """The messages that the model sees."""
        if request.rolling is None:
            return request.messages
        return rolling_window(request.messages, request.rolling, self.pair.context_limit, request.max_tokens, words)

    def unload(self) -> None:
        self.threads.add(threading.get_ident())
        self.unloaded = True


def words(messages: Sequence[Message]) -> int:
    return sum(len(message.content.split()) for message in messages)


def a_round(tested: int = 6, accepted: int = 5) -> Round:
    return Round(16, "drafter", tested, accepted, 0.1)


def refuse(sentence: str) -> UserError:
    return UserError("scripted", "{text}", text=sentence)
