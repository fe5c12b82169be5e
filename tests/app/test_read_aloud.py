"""Replies read by the system's voice, with a program that stands for it."""

from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.rendering.speech_writer import to_speech
from app.system.speech import PROGRAM, Speaker
from app.widgets.controls import IconButton
from tests.app.conftest import PATIENCE_MS, Running, Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, answer

ENDLESS = "#!/bin/sh\ncat >> {log}\nexec sleep 600\n"
SHORT = "#!/bin/sh\ncat >> {log}\n"


@pytest.fixture
def voice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A voice that goes on until it is stopped. Returns the file with what it has said."""
    program, log = tmp_path / "say", tmp_path / "said.txt"
    program.write_text(ENDLESS.format(log=log))
    program.chmod(0o755)
    log.touch()
    monkeypatch.setattr(Speaker.__init__, "__defaults__", (None, str(program)))
    return log


def button_of(app: Running, number: int = -1) -> IconButton:
    buttons = reply_views(app.window.transcript)[number].buttons
    assert buttons is not None
    return buttons.read_aloud


def test_a_second_click_stops(start: Start, voice: Path) -> None:
    app = start(ScriptedEngine([answer("Hello **world**.\n\n```\ncode\n```\n\nBye")]))
    app.ask("One")
    read, button = app.services.read_aloud, button_of(app)
    assert button.isVisible() and not button.isChecked() and button.accessibleName() == "Read aloud"
    button.click()
    assert button.isChecked() and button.accessibleName() == "Stop reading aloud"
    app.until(lambda: voice.read_text() == "Hello world.\nBye.")
    assert read.turn is app.session.chat.turns[0]
    button.click()
    assert not button.isChecked() and read.turn is None and not read.speaker.speaking


def test_one_reply_is_read_at_a_time(start: Start, voice: Path) -> None:
    app = start(ScriptedEngine([answer("One"), answer("Two")]))
    app.ask("First")
    app.ask("Second")
    first, second = button_of(app, 0), button_of(app, 1)
    first.click()
    second.click()
    assert not first.isChecked() and second.isChecked()
    assert app.services.read_aloud.turn is app.session.chat.turns[1]
    app.until(lambda: voice.read_text().endswith("Two."))
    app.run("new_chat")
    assert app.services.read_aloud.turn is None, "its button is gone"


def test_the_command_reads_the_last_reply_and_stops(start: Start, voice: Path) -> None:
    app = start(ScriptedEngine([answer("One")]))
    assert not app.can("read_aloud")
    app.ask("First")
    assert app.commands["read_aloud"].plain_text == "Read Last Reply Aloud"
    app.run("read_aloud")
    assert app.services.read_aloud.turn is app.session.chat.turns[0]
    assert app.commands["read_aloud"].plain_text == "Stop Reading Aloud" and app.can("read_aloud")
    app.run("read_aloud")
    assert app.services.read_aloud.turn is None


def test_the_voice_stops_with_the_quick_window(start: Start, voice: Path) -> None:
    app = start(ScriptedEngine([answer("One"), answer("Two")]))
    app.services.preferences.chat_titles = False
    app.ask("First")
    app.run("quick_chat")
    view, read = app.window.quick.view, app.services.read_aloud
    assert view is not None
    view.field.setPlainText("Second")
    view.button.click()
    app.until(lambda: bool(app.services.quick.chat.turns) and not app.services.quick.running)
    [reply] = reply_views(view.transcript)
    assert reply.buttons is not None
    reply.buttons.read_aloud.click()
    assert read.turn is app.services.quick.chat.turns[0]
    view.close()
    assert read.turn is None, "its button is gone"
    button_of(app).click()
    app.run("quick_chat")
    view.close()
    assert read.turn is app.session.chat.turns[0]


def test_quitting_is_silent(start: Start, voice: Path) -> None:
    app = start(ScriptedEngine([answer("One")]))
    app.ask("First")
    button_of(app).click()
    app.quit()
    app.until(lambda: not app.services.read_aloud.speaker.speaking)  # the window's event may follow the end of the store


def test_nothing_is_offered_without_a_voice(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Speaker.__init__, "__defaults__", (None, "/nowhere/say"))
    app = start(ScriptedEngine([answer("One")]))
    app.ask("First")
    assert not button_of(app).isVisible() and not app.window.menus["read_aloud"].isVisible()
    assert PROGRAM == "/usr/bin/say"


def test_the_end_of_a_text_is_reported(qtbot: QtBot, tmp_path: Path) -> None:
    program, log, parent = tmp_path / "say", tmp_path / "said.txt", QObject()
    program.write_text(SHORT.format(log=log))
    program.chmod(0o755)
    speaker = Speaker(parent, str(program))
    with qtbot.waitSignal(speaker.ended, timeout=PATIENCE_MS):
        speaker.speak("Grüße \U0001f600 [[volm 0]]")
        assert speaker.speaking
    assert not speaker.speaking and log.read_text() == "Grüße \U0001f600 [ [volm 0]]", "a command of the voice is text"
    missing = Speaker(parent, str(tmp_path / "nothing"))
    assert not missing.available
    ended: list[bool] = []
    missing.ended.connect(lambda: ended.append(True))
    missing.speak("x")
    qtbot.waitUntil(lambda: bool(ended), timeout=PATIENCE_MS)
    assert not missing.speaking
    missing.stop()
    assert len(ended) == 1


@pytest.mark.parametrize(
    ("markdown", "speech"),
    [
        ("# Title\n\nText *here*", "Title.\nText here."),
        ("1. One\n2. Two\n- Three", "1. One.\n2. Two.\nThree."),
        ("Before:\n\n```python\nprint()\n```\n\n    indented\n\nAfter!", "Before:\nAfter!"),
        ("Call `run` now", "Call run now."),
        ("See [the page](https://example.org/x) or https://example.org/y", "See the page or."),
        ("So $x^2$ is\n\n$$y$$", "So is."),
        ("| A | B |\n|---|---|\n| 1 | 2 |", "A, B.\n1, 2."),
        ("One\ntwo  \nthree", "One two three."),
        ("---\n", ""),
        ("", ""),
    ],
)
def test_speech_of_markdown(markdown: str, speech: str) -> None:
    assert to_speech(markdown) == speech
