"""`kill -9` during a reply, on a real process: at most one second of the reply is lost."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from app.storage import wording
from app.storage.database import FILE, open_store
from app.storage.store import Store
from tests.app.conftest import Session
from tests.app.scripted_engine import ScriptedEngine, commit, done

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120

# The app without its window. It logs how much of the reply there is at each second, how much was handed to the store, and how much
# is on the disk. The seconds are the process's own, so that a slow machine doesn't matter.
CHILD = """
import os, sys, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication, Qt, QTimer
from app.session.services import Services
from app.storage.store import Store
from app.system.data_paths import DataPaths
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.switch import EngineSwitch
from tests.app.scripted_engine import ScriptedEngine, commit

folder = Path(sys.argv[1])

def note(what, length):
    os.write(sys.stdout.fileno(), f"{what} {length}\\n".encode())

def slow_reply():
    for number in range(100_000):
        time.sleep(0.02)
        yield commit(f"w{number} ")

class Look:
    reduce_motion = False
    set_appearance = set_contrast = set_text_size = show_token_sources = lambda self, value: None

write = Store.save

def save(store, snapshot, **options):
    write(store, snapshot, **options)
    for message in snapshot.messages[-1:]:
        note("kept", len(message["text"]))

write_growth = Store.save_growth

def save_growth(store, growth):
    write_growth(store, growth)
    note("kept", len(growth.text))

Store.save, Store.save_growth = save, save_growth
app = QCoreApplication([])
host = EngineHost(lambda: ScriptedEngine([slow_reply()]))
services = Services(EngineSwitch(host), DataPaths(folder, folder, folder), Look())
hand_over = services.library.save

def hand(chat, nodes, then=None):
    for node in list(nodes)[-1:]:
        note("handed", len(node.reply.answer))
    hand_over(chat, nodes, then)

hand_over_growth = services.library.save_growth

def hand_growth(chat, node):
    note("handed", len(node.reply.answer))
    hand_over_growth(chat, node)

services.library.save, services.library.save_growth = hand, hand_growth
seconds = QTimer(interval=1000, timerType=Qt.TimerType.PreciseTimer, singleShot=True)  # a repeating one would catch up

def second():
    if services.session.chat.turns:
        note("second", len(services.session.chat.turns[-1].reply.answer))
    seconds.start()

seconds.timeout.connect(second)
seconds.start()
services.loader.changed.connect(lambda: services.loader.ready and services.session.send("Tell me everything"))
services.library.load()
services.activity.use()
app.exec()
"""


@pytest.fixture
def killed(tmp_path: Path) -> tuple[Path, list[tuple[str, int]]]:
    """Return the folder of a process that was killed during a reply, and its log."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        text=True,
    )
    notes: list[tuple[str, int]] = []

    def all_seen() -> bool:
        return all(len({length for noted, length in notes if noted == what and length}) > 2 for what in ("second", "kept"))

    too_late = threading.Timer(PATIENCE_S, process.kill)
    too_late.start()
    with process:
        assert process.stdout is not None
        for line in process.stdout:  # after the kill, what the pipe still holds
            what, length = line.split()
            notes.append((what, int(length)))
            if all_seen():
                process.kill()  # -9
    too_late.cancel()
    assert all_seen(), "the process ended early, or is too slow"
    return tmp_path, notes


def test_kill_9_during_a_reply_loses_at_most_a_second(
    killed: tuple[Path, list[tuple[str, int]]], begin: Callable[..., Session]
) -> None:
    folder, notes = killed
    handed = [length for what, length in notes if what == "handed"]
    kept = [length for what, length in notes if what == "kept"]
    assert kept == handed[: len(kept)]
    seconds = [at for at, (what, _) in enumerate(notes) if what == "second"]
    for at, next_at in pairwise(seconds):  # what exists at one second is handed over by the next
        assert max(length for what, length in notes[:next_at] if what == "handed") >= notes[at][1]
    with closing(open_store(folder).store) as store:
        store.recover()
        (entry,) = store.contents().chats
        chat = store.load(entry.id)
        assert chat is not None
        (turn,) = chat.turns
        assert (turn.prompt, turn.reply.reason) == ("Tell me everything", "interrupted")
        assert len(turn.reply.answer) >= kept[-1] > 0
        assert turn.reply.answer == "".join(f"w{number} " for number in range(10_000))[: len(turn.reply.answer)]
    app = begin(ScriptedEngine(), data=folder)
    app.until(lambda: bool(app.session.chat.turns))
    assert wording.facts(app.reply).endswith("interrupted: Slipstream quit before the reply was complete")
    assert app.can("resume") and app.can("compare")
    app.run("compare")
    app.until(lambda: not app.activity.busy)
    assert [request.messages[-1].content for request in app.engine.requests] == ["Tell me everything"] * 2


def test_the_question_is_saved_before_the_engine_gets_it(begin: Callable[..., Session], tmp_path: Path) -> None:
    found: list[str] = []

    def look() -> None:
        with closing(Store(tmp_path / "data" / FILE)) as other:
            chats = [other.load(entry.id) for entry in other.chats()]
            found.extend(turn.prompt for chat in chats if chat for turn in chat.turns)

    (tmp_path / "data").mkdir()
    app = begin(ScriptedEngine([[look, commit("Yes."), done()]]), data=tmp_path / "data")
    app.ask("Is it kept?")
    assert found == ["Is it kept?"]
