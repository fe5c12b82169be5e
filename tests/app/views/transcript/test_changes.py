"""What a transcript does when its chat changes: steps to other versions, and Find."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from mlx_engine.contract.events import Commit
from tests.app.conftest import PATIENCE_MS
from tests.app.views.transcript.test_transcript import chat_of


@pytest.fixture
def transcript(qapp: QApplication, qtbot: QtBot) -> Transcript:
    made = Transcript(Theme(qapp, "light"))
    qtbot.addWidget(made)
    made.resize(900, 700)
    made.show()
    return made


def test_many_turns_are_replaced_in_one_step(transcript: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stepping an early version of a long chat removed turn by turn, and marked and laid out all others each time."""
    transcript.show_turns(chat_of(*(f"Answer {number}" for number in range(40))))
    first = transcript.column.items[0].turn
    assert first is not None
    steps: list[str] = []
    update_marks, settle = transcript.column.update_marks, transcript.settle
    monkeypatch.setattr(transcript.column, "update_marks", lambda *only: (steps.append("marks"), update_marks(*only)))
    monkeypatch.setattr(transcript, "settle", lambda: (steps.append("settle"), settle()))
    transcript.show_turns([first, *chat_of("Another")])
    assert len(transcript.column.items) == 4 and len(steps) < 10


def test_find_follows_changes_of_the_chat_at_once(transcript: Transcript, qtbot: QtBot) -> None:
    """For 400 ms after a step to a shorter version, the next hit was past the end."""
    transcript.show_turns(chat_of("needle", "needle", "needle"))
    bar, first = transcript.find_bar, transcript.column.items[0].turn
    assert first is not None
    bar.open_search()
    bar.field.setText("needle")
    qtbot.waitUntil(lambda: not bar.searching and len(bar.hits) == 3, timeout=PATIENCE_MS)
    for _ in range(2):
        bar.find_next()
    transcript.show_turns([first])
    bar.find_next()
    assert [hit.position.item for hit in bar.hits] == [1]
    transcript.show_turns([first, *chat_of("needle")])
    qtbot.waitUntil(lambda: not bar.searching and len(bar.hits) == 2, timeout=PATIENCE_MS)
    assert all(arrow.isEnabled() for arrow in bar.arrows)
    bar.field.setText("nowhere")
    qtbot.waitUntil(lambda: not bar.searching and bar.count.text() == "No matches", timeout=PATIENCE_MS)
    assert not any(arrow.isEnabled() for arrow in bar.arrows)


def test_the_find_bar_covers_no_message(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_turns(chat_of(*["needle"] * 30))
    bar, viewport, scroll_bar = transcript.find_bar, transcript.viewport(), transcript.verticalScrollBar()
    transcript.go_to_message(20)
    top, before = transcript.visible_band()[0], viewport.geometry()
    bar.open_search()
    assert bar.geometry().bottom() < viewport.geometry().top() and transcript.visible_band()[0] == top
    bar.field.setText("needle")
    qtbot.waitUntil(lambda: not bar.searching, timeout=PATIENCE_MS)
    for _ in range(40):
        bar.find_next()
        rect = transcript.column.rect_of(bar.hits[bar.current].position)
        assert rect is not None and viewport.rect().contains(rect.translated(transcript.column.mapTo(viewport, QPoint())))
    bar.close_search()
    assert viewport.geometry() == before and scroll_bar.maximum() > 0


def test_find_searches_only_the_reply_that_grows(transcript: Transcript, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search began again every 400 ms, and in a long chat it never ended."""
    transcript.show_turns(chat_of(*["needle"] * 20))
    bar, turn = transcript.find_bar, Chat().ask("More", "dflash")
    transcript.add_turn(turn)
    bar.open_search()
    bar.field.setText("needle")
    qtbot.waitUntil(lambda: not bar.searching and len(bar.hits) == 20, timeout=PATIENCE_MS)
    for _ in range(18):
        bar.find_next()
    current, searched = bar.hits[bar.current], list[int]()
    search = bar._search_message
    monkeypatch.setattr(bar, "_search_message", lambda index: (searched.append(index), search(index))[1])
    for _ in range(2):
        turn.reply.accept(Commit("a needle ", "answer", (), ()), 0.0)
        transcript.refresh(turn)
    qtbot.waitUntil(lambda: len(bar.hits) == 22, timeout=PATIENCE_MS)
    assert set(searched) == {len(transcript.column.items) - 1} and bar.hits[bar.current] == current


def test_find_keeps_the_hits_after_a_reply_that_grows(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_turns(chat_of("needle", "needle"))
    bar, turn = transcript.find_bar, transcript.column.items[0].turn
    assert turn is not None
    bar.open_search()
    bar.field.setText("needle")
    qtbot.waitUntil(lambda: not bar.searching and len(bar.hits) == 2, timeout=PATIENCE_MS)
    turn.reply.accept(Commit(" and another needle", "answer", (), ()), 0.0)
    transcript.refresh(turn)
    qtbot.waitUntil(lambda: [hit.position.item for hit in bar.hits].count(1) == 2, timeout=PATIENCE_MS)
    assert [hit.position.item for hit in bar.hits] == [1, 1, 3]


def test_a_search_in_all_chats_marks_its_words_in_the_message(transcript: Transcript, qtbot: QtBot) -> None:
    """A result opened its chat, but nothing there was marked."""
    turns = chat_of("A needle", "Hay", "Hay " * 4000 + "and a needle", "needles")
    transcript.show_turns(turns)
    bar = transcript.find_bar
    transcript.go_to_node(turns[2], turns[2].last, '"a needle" hay')
    qtbot.waitUntil(lambda: not bar.searching and bar.current >= 0, timeout=PATIENCE_MS)
    assert [hit.position.item for hit in bar.hits if hit.position.item != 5] == [1, 3] and bar.hits[bar.current].position.item == 5
    assert bar.isVisible() and not bar.field.hasFocus() and bar.field.text() == '"a needle" hay'
    transcript.go_to_node(turns[3], turns[3].last, "needle")
    qtbot.waitUntil(lambda: not bar.searching and bar.current == 2, timeout=PATIENCE_MS)
    rect = transcript.column.rect_of(bar.hits[2].position)
    top, bottom = transcript.visible_band()
    assert rect is not None and top < rect.top() < bottom and len(bar.hits) == 3
    transcript.clear()
    assert bar.isHidden()
