"""What the window costs while a reply streams: the longest gap of its event loop, and how busy its thread is.

    python -m app.bench                  the demo pair, at full speed
    python -m app.bench --recorded       a recorded reply at 500 tokens a second, without a model's load on the processor
    python -m app.bench --json

A timer beats every 5 ms in the window's thread; a gap is the time between two beats. A window that never keeps anyone waiting has
no gap above 50 ms.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from PySide6.QtCore import QElapsedTimer, QEventLoop, QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.application import Slipstream
from app.conductor import Conductor
from app.door import real_engine
from app.places import Places
from app.recorded import TEXT, RecordedEngine
from mlx_engine.errors import UserError
from mlx_engine.events import Stats

PROMPTS = (
    "Write a Python function that checks if a number is prime.",
    "How many positive whole-number divisors does 196 have?",
    "Convert 37 kilometres to metres.",
)
BEAT_MS = 5
LIMIT_MS = 50.0
RECORDED_COPIES = 12  # of the recorded text, in one reply: long enough for costs that grow to show


@dataclass(frozen=True)
class Report:
    """Gaps in milliseconds; `busy` is the share of the time that the window's thread used a processor."""

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
    load: float
    platform: str


class Heartbeat(QObject):
    """Notes the time between beats while a reply streams."""

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


def measure(recorded: bool, mode: str, repeats: int, tok_s: float) -> Report:
    """Stream replies in a window of its own and measure it."""
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    app.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory() as folder:
        make_engine = (lambda: RecordedEngine(TEXT * RECORDED_COPIES, tok_s, tok_s)) if recorded else real_engine
        slipstream = Slipstream(app, Places(Path(folder), Path(folder)), make_engine)
        conductor = slipstream.conductor
        conductor.set_dflash(mode == "dflash")
        slipstream.start()
        heart = Heartbeat()
        try:
            stats, wall, busy = _stream(conductor, heart, repeats)
        except UserError as error:
            raise SystemExit(str(error)) from None
        finally:
            slipstream.window.close()
            slipstream.engine.wait(20)
    gaps = sorted(heart.gaps)
    rates = [one.decode_tok_s for one in stats if one.decode_tok_s]
    return Report(
        engine="recorded" if recorded else "demo pair",
        mode=mode,
        replies=repeats,
        tokens=sum(one.tokens for one in stats),
        seconds=round(wall, 2),
        tok_s=round(median(rates), 1) if rates else None,
        longest_gap_ms=round(gaps[-1], 1),
        p99_gap_ms=round(gaps[int(len(gaps) * 0.99)], 1),
        gaps_over_limit=sum(gap > LIMIT_MS for gap in gaps),
        busy=round(busy / wall, 3),
        load=round(os.getloadavg()[0], 1),
        platform=f"{app.platformName()}, {platform.machine()}, {os.cpu_count()} processors",
    )


def _stream(conductor: Conductor, heart: Heartbeat, repeats: int) -> tuple[list[Stats], float, float]:
    """The replies' figures, and the seconds they took by the clock and on the processor."""
    _until(lambda: conductor.loading is None)
    if conductor.pair is None:
        raise UserError("The models could not be loaded; `slipstream doctor` says more.")
    _until(lambda: False, 0.5)  # the first paint is not part of a reply
    stats: list[Stats] = []
    wall = busy = 0.0
    for number in range(repeats):
        conductor.new_chat()
        began, used = time.monotonic(), time.thread_time()
        heart.start()
        conductor.send(PROMPTS[number % len(PROMPTS)])
        _until(lambda: not conductor.busy)
        heart.stop()
        wall += time.monotonic() - began
        busy += time.thread_time() - used
        reply = conductor.chat.turns[-1].reply
        if reply.stats is None:
            raise UserError(reply.error)
        stats.append(reply.stats)
    return stats, wall, busy


def _until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Let the event loop run as it does in the app, until the condition holds."""
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
    """Prints the report; 1 when a gap was longer than the limit."""
    parser = argparse.ArgumentParser(prog="python -m app.bench", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--recorded", action="store_true", help="play a recorded reply instead of decoding")
    parser.add_argument("--rate", type=float, default=500.0, help="tokens a second of the recording (default 500)")
    parser.add_argument("--mode", choices=("dflash", "plain"), default="dflash")
    parser.add_argument("--repeats", type=int, default=3, help="replies (default 3)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args(arguments)
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    report = measure(options.recorded, options.mode, options.repeats, options.rate)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        rate = f"{report.tok_s} tok/s, " if report.tok_s else ""
        print(f"{report.engine}, {report.mode}: {report.replies} replies, {report.tokens} tokens in {report.seconds} s, {rate}")
        print(f"  longest gap  {report.longest_gap_ms} ms   (limit {LIMIT_MS:.0f} ms, {report.gaps_over_limit} above it)")
        print(f"  99 % below   {report.p99_gap_ms} ms")
        print(f"  busy         {100 * report.busy:.1f} % of the window's thread")
        print(f"  machine      {report.platform}, load {report.load}")
    return 0 if report.longest_gap_ms <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
