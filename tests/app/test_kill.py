"""`kill -9` in mid-reply, on a real process: what was said is there again, and the reply as far as it was a second before."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.conversations.opening import FILE, open_store
from app.conversations.store import Store
from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120

# The app without its window: the conductor, the engine's thread and the store's. Each piece is noted, with its time, where the
# test sees it even after the end.
CHILD = """
import sys, threading, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from app.conductor import Conductor
from app.conversations.opening import open_store
from app.engine_thread import EngineThread
from app.store_thread import StoreThread
from mlx_engine.events import Commit, Finished
from tests.app.scripted_engine import ScriptedEngine, commit

folder = Path(sys.argv[1])
seen = open(folder / "seen", "w", buffering=1)

class Engine(ScriptedEngine):
    def generate(self, request, cancel):
        for number in range(100_000):
            time.sleep(0.02)
            yield commit(f"w{number} ")

app = QCoreApplication([])
conductor = Conductor(EngineThread(Engine), None, StoreThread(lambda: open_store(folder)))
conductor.pair_changed.connect(lambda: conductor.send("Tell me everything"))
conductor.reply_changed.connect(lambda turn: seen.write(f"{time.time()} {len(turn.reply.answer)}\\n"))
conductor.library.load()
conductor.load()
app.exec()
"""


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, int]:
    """The folder of a process that was killed in mid-reply, and how many characters it had shown a second before."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
    )
    seen, end = tmp_path / "seen", time.monotonic() + PATIENCE_S

    def lines() -> list[tuple[float, int]]:
        rows = [line.split() for line in seen.read_text().splitlines()] if seen.exists() else []
        return [(float(row[0]), int(row[1])) for row in rows if len(row) == 2]

    try:
        while not (found := lines()) or found[-1][0] - found[0][0] < 2.5:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    at = lines()[-1][0]
    return tmp_path, max((length for when, length in lines() if when <= at - 1.0), default=0)


def test_kill_9_in_mid_reply_loses_at_most_a_second(killed: tuple[Path, int], start: Callable[..., Running]) -> None:
    folder, length = killed
    assert length > 0
    with closing(open_store(folder).store) as store:
        store.begin()
        (entry,) = store.contents().chats
        chat = store.load(entry.id)
        assert chat is not None
        (turn,) = chat.turns
        assert (turn.prompt, turn.reply.reason) == ("Tell me everything", "interrupted")
        assert len(turn.reply.answer) >= length
        assert turn.reply.answer == "".join(f"w{number} " for number in range(10_000))[: len(turn.reply.answer)]
    # and the app opens with it
    app = start(ScriptedEngine(), data=folder)
    app.until(lambda: bool(app.conductor.chat.turns))
    view = app.window.transcript.reply_views()[-1]
    assert view.stats.facts.text().endswith("interrupted: Slipstream ended before this reply did")
    app.until(view.buttons.more.isVisible)


def test_the_question_is_on_the_disk_before_the_engine_is_asked(start: Callable[..., Running], tmp_path: Path) -> None:
    class Looking(ScriptedEngine):
        found: tuple[str, ...] = ()

        def generate(self, request, cancel):  # type: ignore[no-untyped-def]
            with closing(Store(tmp_path / "data" / FILE)) as other:
                chats = [other.load(entry.id) for entry in other.entries()]
                self.found = tuple(turn.prompt for chat in chats if chat for turn in chat.turns)
            yield from super().generate(request, cancel)

    (tmp_path / "data").mkdir()
    engine = Looking()
    app = start(engine, data=tmp_path / "data")
    app.ask("Is it kept?")
    assert engine.found == ("Is it kept?",)
