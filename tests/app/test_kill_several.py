"""`kill -9` on a real process while two chats reply and a message waits in a third one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mlx_engine.contract.requests import GenerationRequest
from tests.app.conftest import Session
from tests.app.scripted_engine import ScriptedEngine, answer

ROOT = Path(__file__).parents[2]
PATIENCE_S = 240
GROWN = 40  # characters of each reply that are on the disk at the time of the kill

# The app without its window. It kills itself once everything is stored that was passed to the store when the message began to wait.
CHILD = """
import os, signal, sys, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QTimer
from app.session.services import Services
from app.storage.store import Store
from app.system.data_paths import DataPaths
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.switch import EngineSwitch
from tests.app.scripted_engine import ScriptedEngine, commit

folder, leaves, grown = Path(sys.argv[1]), sys.argv[2] == "left", int(sys.argv[3])
kept = {}

def slow_reply(name):
    for number in range(100_000):
        time.sleep(0.01)
        yield commit(f"{name}{number} ")

class Look:
    reduce_motion = False
    set_appearance = set_contrast = set_text_size = show_token_sources = lambda self, value: None

write_growth = Store.save_growth

def save_growth(store, growth):
    write_growth(store, growth)
    kept[growth.text[:1]] = len(growth.text)

Store.save_growth = save_growth
app = QCoreApplication([])
host = EngineHost(lambda: ScriptedEngine([slow_reply(name) for name in "abc"]))
services = Services(EngineSwitch(host), DataPaths(folder, folder, folder), Look())
session, message = services.session, services.message
chats = []

def until(condition):
    while not condition():
        app.processEvents()

def send(text):
    message.replace(text)
    message.send()

services.library.load()
services.activity.use()
until(lambda: services.loader.ready and services.library.read)
for name in ("One", "Two", "Three"):
    session.new_chat()
    send(name)
    until(lambda: session.chat.turns and session.chat.turns[0].reply.answer)
    chats.append(session.chat)
until(lambda: all(kept.get(name, 0) > grown for name in "abc"))
send("Waits")
assert message.note
if leaves:
    session.open_chat(chats[0].id)
    until(lambda: session.chat is chats[0])
services.store.write(lambda store: os.kill(os.getpid(), signal.SIGKILL))
until(lambda: False)
"""


@pytest.mark.parametrize("where", ["open", "left"])
def test_nothing_is_lost_when_two_chats_reply_and_a_message_waits_in_a_third(
    begin: Callable[..., Session], tmp_path: Path, where: str
) -> None:
    process = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), where, str(GROWN)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
        timeout=PATIENCE_S,
    )
    assert process.returncode == -9
    app = begin(ScriptedEngine([answer("And more.")] * 3), data=tmp_path)
    app.services.preferences.chat_titles = False
    app.until(lambda: app.library.read)
    ids = {entry.title: one for one, entry in app.library.entries.items()}
    assert sorted(ids) == ["One", "Three", "Two"]
    for name, title in zip("abc", ("One", "Two", "Three"), strict=True):
        app.session.open_chat(ids[title])
        app.until(lambda title=title: app.session.chat.id == ids[title])  # type: ignore[misc]
        (turn,) = app.session.chat.turns
        grown = turn.reply.answer
        assert (turn.prompt, turn.reply.reason) == (title, "interrupted")
        assert len(grown) > GROWN and "".join(f"{name}{number} " for number in range(10_000)).startswith(grown)
        assert app.message.text == ("Waits" if title == "Three" else "") and not app.message.note
        assert app.can("resume")
        app.run("resume")
        app.idle()
        assert turn.reply.answer == f"{grown}And more."
    sent = [request for request in app.engine.requests if isinstance(request, GenerationRequest)]
    assert [request.continue_from[:1] for request in sent] == ["a", "b", "c"], "each continues its own text"
