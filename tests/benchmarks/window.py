"""Measure what the window costs while a reply streams: event-loop gaps, busy time, memory.

    python -m tests.benchmarks.window                  the demo pair, at full speed, for a minute
    python -m tests.benchmarks.window --recorded       a recorded reply at 400 tokens per second, without a model
    python -m tests.benchmarks.window --json

The reply streams into a chat of 300 messages with code, tables and math, whose opening is measured too. A timer fires every 5 ms on
the window's thread; a gap is the time between two events.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from PySide6.QtCore import QElapsedTimer, QEventLoop, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.application import Slipstream
from app.storage.chat_tree import Chat
from app.storage.settings import ChatSettings
from app.system.data_paths import DataPaths
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Stats
from mlx_engine.engine.host import local_engine
from tests.benchmarks.recorded_engine import RICH, TOKEN_CHARS, RecordedEngine

PROMPTS = (
    "Write a Python function that checks if a number is prime.",
    "How many positive whole-number divisors does 196 have?",
    "Convert 37 kilometres to metres.",
)
BEAT_MS = 5
LIMIT_MS = 33.0
BUSY_LIMIT = 0.35
OPEN_LIMIT_MS = 300.0
WARM_S = 4.0  # lexers, fonts and first paint don't belong to a reply


@dataclass(frozen=True)
class Report:
    """Gaps in milliseconds, the busy share of the window's thread, and the process's memory in MB.

    Memory is taken at the beginning, middle and end; None where the system doesn't report it.
    """

    engine: str
    mode: str
    replies: int
    tokens: int
    seconds: float
    tok_s: float | None
    longest_gap_ms: float
    p99_gap_ms: float
    gaps_over_limit: int
    busy: float
    history: int
    open_ms: float
    memory_mb: tuple[float, ...] | None
    load: float
    platform: str


class Heartbeat(QObject):
    """Records the time between timer events while a reply streams."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self._clock = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        self._clock.start()
        self._timer.start(BEAT_MS)

    def stop(self) -> None:
        self._timer.stop()

    @Slot()
    def _beat(self) -> None:
        self.gaps.append(self._clock.nsecsElapsed() / 1e6)
        self._clock.restart()


def measure(recorded: bool, mode: str, seconds: float, tok_s: float, history: int = 300, tinted: bool = False) -> Report:
    """Stream replies for some seconds into a new window and measure it."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setQuitOnLastWindowClosed(False)
    tokens = max(1, round(seconds * tok_s))
    with tempfile.TemporaryDirectory() as folder:
        text = RICH * (1 + tokens * TOKEN_CHARS // len(RICH))
        make_engine = (lambda: RecordedEngine(text, tok_s, tok_s)) if recorded else local_engine
        slipstream = Slipstream(app, DataPaths(Path(folder), Path(folder)), make_engine)
        slipstream.theme.show_token_sources(tinted)
        slipstream.start()
        heart = Heartbeat()
        try:
            _until(lambda: slipstream.services.loader.progress is None)
            if slipstream.services.loader.pair is None:
                raise UserError("not_loaded", "The models could not be loaded; `slipstream doctor` says more.")
            _until(lambda: False, WARM_S if seconds > 5 else 0.2)
            open_ms = _open(slipstream, history)
            _until(lambda: False, 0.5)
            streamed = _stream(slipstream, heart, mode, seconds, tokens if recorded else None)
        except UserError as error:
            raise SystemExit(str(error)) from None
        finally:
            slipstream.window.close()
            slipstream.services.client.wait(20)
    gaps = sorted(heart.gaps)
    rates = [one.decode_tok_s for one in streamed.stats if one.decode_tok_s]
    return Report(
        engine="recorded" if recorded else "demo pair",
        mode=f"{mode}, tinted" if tinted else mode,
        replies=len(streamed.stats),
        tokens=sum(one.tokens for one in streamed.stats),
        seconds=round(streamed.wall, 2),
        tok_s=round(median(rates), 1) if rates else None,
        longest_gap_ms=round(gaps[-1], 1),
        p99_gap_ms=round(gaps[int(len(gaps) * 0.99)], 1),
        gaps_over_limit=sum(gap > LIMIT_MS for gap in gaps),
        busy=round(streamed.busy / streamed.wall, 3),
        history=history,
        open_ms=round(open_ms, 1),
        memory_mb=tuple(streamed.memory) or None,
        load=round(os.getloadavg()[0], 1),
        platform=f"{app.platformName()}, {platform.machine()}, {os.cpu_count()} processors",
    )


@dataclass
class _Streamed:
    stats: list[Stats]
    wall: float = 0.0
    busy: float = 0.0
    memory: list[float] = field(default_factory=list)


def _open(slipstream: Slipstream, messages: int) -> float:
    """Show a chat with that many messages; return the milliseconds until it was painted."""
    chat = Chat()
    for number in range(messages // 2):
        turn = chat.ask(PROMPTS[number % len(PROMPTS)], "dflash")
        turn.reply.accept(Commit(RICH, "answer", (), ()), 0.0)
        turn.reply.reason = "eos"
    turns = chat.turns
    clock = QElapsedTimer()
    clock.start()
    slipstream.window.transcript.show_turns(turns)
    QApplication.processEvents()
    return clock.nsecsElapsed() / 1e6


def _stream(slipstream: Slipstream, heart: Heartbeat, mode: str, seconds: float, tokens: int | None) -> _Streamed:
    """Stream one reply of that many tokens, or several until the time is over."""
    done = _Streamed([])
    _note_memory(done.memory)
    middle = QTimer()
    middle.setSingleShot(True)
    middle.timeout.connect(lambda: _note_memory(done.memory))
    middle.start(round(seconds * 500))
    while done.wall < seconds - 0.5 or not done.stats:
        # One question at a time: the demo pair's context can't hold the whole chat.
        slipstream.services.session.chat = Chat(settings=ChatSettings(dflash=mode == "dflash", max_tokens=tokens or 1024))
        began, used = time.monotonic(), time.thread_time()
        heart.start()
        slipstream.services.session.send(PROMPTS[len(done.stats) % len(PROMPTS)])
        _until(lambda: not slipstream.services.activity.busy)
        heart.stop()
        done.wall += time.monotonic() - began
        done.busy += time.thread_time() - used
        reply = slipstream.services.session.chat.turns[-1].reply
        if reply.stats is None:
            raise UserError("reply_failed", "{error}", error=reply.error)
        done.stats.append(reply.stats)
    _note_memory(done.memory)
    return done


def _note_memory(found: list[float]) -> None:
    """Return the resident memory in MB on Linux."""
    with contextlib.suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        found.append(round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1))


def _until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Run the event loop until the condition holds."""
    loop = QEventLoop()
    watch = QTimer()
    deadline = time.monotonic() + seconds

    def look() -> None:
        if condition() or time.monotonic() > deadline:
            loop.quit()

    watch.timeout.connect(look)
    watch.start(20)
    loop.exec()


def main(arguments: list[str] | None = None) -> int:
    """Print the report; 1 if a limit was exceeded."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.window", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--recorded", action="store_true", help="play a recorded reply instead of decoding")
    parser.add_argument("--rate", type=float, default=400.0, help="tokens a second of the recording (default 400)")
    parser.add_argument("--mode", choices=("dflash", "plain"), default="dflash")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long replies stream (default 60)")
    parser.add_argument("--history", type=int, default=300, help="messages in the chat before (default 300)")
    parser.add_argument("--tint", action="store_true", help="with the token tint")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(arguments)
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    report = measure(options.recorded, options.mode, options.seconds, options.rate, options.history, options.tint)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        rate = f"{report.tok_s} tok/s, " if report.tok_s else ""
        print(f"{report.engine}, {report.mode}: {report.replies} replies, {report.tokens} tokens in {report.seconds} s, {rate}")
        print(f"  longest gap  {report.longest_gap_ms} ms   (limit {LIMIT_MS:.0f} ms, {report.gaps_over_limit} above it)")
        print(f"  99 % below   {report.p99_gap_ms} ms")
        print(f"  busy         {100 * report.busy:.1f} % of the window's thread   (limit {100 * BUSY_LIMIT:.0f} %)")
        print(f"  opening      {report.open_ms} ms for {report.history} messages   (limit {OPEN_LIMIT_MS:.0f} ms)")
        if report.memory_mb:
            sizes = ", ".join(str(one) for one in report.memory_mb)
            print(f"  memory       {sizes} MB at the beginning, in the middle and at the end")
        print(f"  machine      {report.platform}, load {report.load}")
    within = report.longest_gap_ms <= LIMIT_MS and report.busy <= BUSY_LIMIT and report.open_ms <= OPEN_LIMIT_MS
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
