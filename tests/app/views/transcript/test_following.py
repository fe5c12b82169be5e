"""The transcript follows its end, unless the user has scrolled away."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from mlx_engine.contract.events import Commit
from tests.app.conftest import wait_until
from tests.app.scripted_engine import done


def test_a_new_turn_is_shown_wherever_the_user_has_scrolled(qapp: QApplication, qtbot: QtBot) -> None:
    chat, transcript = Chat(), Transcript(Theme(qapp, "light"))
    qtbot.addWidget(transcript)
    for number in range(8):
        turn = chat.ask(f"Question {number}", "dflash")
        turn.reply.accept(Commit("A paragraph of text. " * 60, "answer", (), ()), 0.0)
        turn.reply.accept(done(), 0.0)
    transcript.resize(600, 400)
    transcript.show()
    transcript.show_turns(chat.turns)
    bar = transcript.verticalScrollBar()
    bar.setValue(0)
    assert not transcript.following and bar.maximum() > 0
    transcript.add_turn(chat.ask("Another question", "dflash"))
    wait_until(lambda: not any(entry.deferred for entry in transcript.column.entries))
    assert transcript.following and bar.value() == bar.maximum()
