"""The Local Server window."""

from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from app.views.models.picker_dialog import PickerDialog
from app.views.server.server_dialog import HIDDEN_KEY, MAX_SHOWN, progress
from mlx_engine.api_server.metrics import LiveRequest
from tests.app.conftest import Start
from tests.app.views.server.conftest import page_of, post, turn_on

LIVE = LiveRequest(1, "/v1/messages", "claude-cli")


def test_the_key_is_shown_on_demand_and_copied(begin: Start) -> None:
    app = begin()
    page = page_of(app)
    assert page.key.text() == "" and not page.copy_key.isEnabled()
    server = turn_on(app)
    assert page.key.text() == HIDDEN_KEY and server.key not in page.example.toPlainText()
    page.show_key.click()
    assert page.key.text() == server.key and server.key in page.example.toPlainText()
    page.show_key.click()
    assert page.key.text() == HIDDEN_KEY
    page.copy_key.click()
    assert QGuiApplication.clipboard().text() == server.key
    page.copy_example.click()
    assert server.key in QGuiApplication.clipboard().text()


def test_a_new_key_replaces_the_old_one_while_the_server_runs(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    server = turn_on(app)
    page, old = page_of(app), server.key
    monkeypatch.setattr("app.views.server.server_dialog.confirm", lambda *_: False)
    page.new_key.click()
    assert server.key == old
    monkeypatch.setattr("app.views.server.server_dialog.confirm", lambda *_: True)
    page.new_key.click()
    app.until(lambda: server.key != old)
    assert post(server).status_code == 200
    new, server.key = server.key, old
    assert post(server).status_code == 401
    server.key = new


def test_without_a_keychain_the_page_says_how_long_the_key_is_valid(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_engine.api_server.api_key.stored_key", lambda: ("a-key", False))
    app = begin()
    page = page_of(app)
    turn_on(app)
    assert "no keychain" in page.key_note.text()


def test_the_page_shows_the_served_pair_and_opens_the_models(begin: Start) -> None:
    app = begin()
    page = page_of(app)
    assert page.model.text() == "Demo pair"
    page.models.click()
    assert app.window.dialogs.find(PickerDialog) is not None
    assert all(isinstance(field, QLineEdit) and field.isReadOnly() for field in (page.address, page.key, page.model))


@pytest.mark.parametrize(
    ("live", "text"),
    [
        (LIVE, "Waiting"),
        (replace(LIVE, position=2), "Position 2 in the queue"),
        (
            replace(LIVE, state="reading", read_tokens=900, prompt_tokens=1200, cached_tokens=512),
            "Reading the prompt: 900 of 1,200 tokens · 512 of 1,200 prompt tokens cached",
        ),
        (replace(LIVE, state="writing", tokens=1), "1 token"),
        (
            replace(LIVE, state="writing", tokens=40, tok_s=45.2, prompt_tokens=100, cached_tokens=98),
            "40 tokens · 45 tok/s · 98 of 100 prompt tokens cached",
        ),
    ],
)
def test_the_progress_of_a_request(live: LiveRequest, text: str) -> None:
    assert progress(live) == text


def test_the_speed_of_all_replies_together_is_shown_while_there_are_several(begin: Start) -> None:
    app = begin()
    page, server = page_of(app), app.services.server
    writing = replace(LIVE, state="writing", tokens=40, tok_s=45.2)
    for count, tok_s, shown in ((1, 45.0, False), (3, None, False), (3, 40.2, True), (0, None, False)):
        server.activity = tuple(replace(writing, number=number, tok_s=tok_s) for number in range(count))
        server.activity_changed.emit()
        assert page.together.isVisible() == shown
    server.activity = writing, replace(writing, number=2, tok_s=20.0), LIVE
    server.activity_changed.emit()
    assert page.together.text() == "2 replies, 65 tok/s together", "the sum of the speeds that are shown"


def test_live_requests_are_listed_up_to_a_limit(begin: Start) -> None:
    app = begin()
    page = page_of(app)
    assert page.none.isVisible() and not any(view.isVisible() for view in page.requests)
    app.services.server.activity = tuple(replace(LIVE, number=number) for number in range(MAX_SHOWN + 2))
    app.services.server.activity_changed.emit()
    assert all(view.isVisible() for view in page.requests) and page.more.text() == "2 more" and page.none.isHidden()
    assert page.requests[0].title.text() == "claude-cli · /v1/messages"
    app.services.server.activity = ()
    app.services.server.activity_changed.emit()
    assert not page.more.isVisible() and not any(view.isVisible() for view in page.requests)
