"""Notices of the app above the composer."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QTimer
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from app.session.help_pages import PAGES_BY_CODE
from app.session.notice import Notice, NoticeAction
from app.storage.records import chat_from_json, chat_to_json
from app.views.chat.notice_bar import NoticeBar
from app.widgets.layout import column
from app.window.help import HelpDialog, page_html
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Failed
from mlx_engine.contract.requests import Endpoint
from mlx_engine.hardware.gpu_faults import GpuFault
from mlx_engine.remote.saved_endpoints import SavedEndpoint, read_endpoints, write_endpoints
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import ScriptedEngine, commit
from tests.app.test_chats_window import chat_with


def bar_of(app: Session) -> NoticeBar:
    """Return the bar above a field that has the focus."""
    panel, field, bar = QWidget(), QLineEdit(), NoticeBar(app.theme, app.services.notices)
    column(field, None, bar, parent=panel)
    app.window.setCentralWidget(panel)
    panel.show()
    field.setFocus()
    return bar


def test_no_button_of_a_notice_is_cut_off_in_a_narrow_window(begin: Begin) -> None:
    app = begin()
    bar = bar_of(app)
    actions = (NoticeAction("Open the Chat", lambda: None), NoticeAction("Remove the File", lambda: None))
    app.services.notices.post(Notice("No connection.", "error", offer="load", again="Mac", help="troubleshooting", actions=actions))
    app.window.resize(440, 500)
    app.window.show()
    buttons = [made for made in bar.findChildren(QPushButton) if made.isVisible()]
    app.until(lambda: app.window.width() == 440 and all(made.width() >= made.sizeHint().width() for made in buttons))
    areas = [QRect(made.mapTo(bar, QPoint()), made.size()) for made in buttons]
    assert len(areas) == 6 and all(bar.rect().contains(area) for area in areas)
    assert not any(one.intersects(other) for one, other in combinations(areas, 2))


def test_the_latest_notice_tells_how_many_others_there_are(begin: Begin) -> None:
    app = begin()
    bar = bar_of(app)
    for text in ("One.", "Two.", "Three."):
        app.services.notices.post(Notice(text, stays=True))
    assert (bar.label.text(), bar.more.text()) == ("Three.", "+2") and bar.more.isVisible()
    assert bar.close_button.accessibleName() == "Close, and show the notice before"
    bar.close_button.click()
    bar.close_button.click()
    assert bar.label.text() == "One." and not bar.more.isVisible() and bar.close_button.accessibleName() == "Close"


def test_several_imports_leave_one_notice(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    library = app.library
    one = chat_with(app, "One")
    library.export_chats([one], tmp_path / "one.json")
    app.until(lambda: len(app.notices) == 1)
    for _ in range(6):
        library.delete(list(library.entries))
        library.import_file(tmp_path / "one.json")
        app.until(lambda: len(library.entries) == 1)
    assert [text for text in app.notices if "Imported" in text] == ["Imported 1 chat."]


def test_a_success_replaces_the_notice_about_an_earlier_failure(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    library = app.library
    one, file = chat_with(app, "One"), tmp_path / "one.json"
    (tmp_path / "broken.json").write_text("{")
    for work in (
        lambda: library.export_chats([one], tmp_path / "missing" / "one.json"),
        lambda: library.export_chats([one], file),
        lambda: library.import_file(tmp_path / "broken.json"),
        lambda: library.import_file(file),
    ):
        before = app.notices
        work()
        app.until(lambda before=before: app.notices != before)  # type: ignore[misc]
    assert app.notices == [f"Exported 1 chat to {file}.", "1 chat already there."]


def test_one_notice_is_shown_at_a_time_and_can_be_closed(begin: Begin) -> None:
    app = begin(loaded=False)
    bar = bar_of(app)
    for text in ("First.", "Second.", "First."):
        app.services.notices.post(text)
    app.services.notices.post(Notice("Third.", "error"))
    assert app.notices == ["Second.", "First.", "Third."] and bar.label.text() == "Third."
    assert bar.property("look") == "error"
    bar.close_button.click()
    assert bar.label.text() == "First." and bar.isVisible() and bar.property("look") == "notice"
    bar.close_button.click()
    bar.close_button.click()
    assert not bar.isVisible() and app.notices == []


def test_notices_stay_when_another_chat_is_opened(begin: Begin) -> None:
    app = begin()
    one, _ = chat_with(app, "One"), chat_with(app, "Two")
    app.message.send()
    app.services.notices.post(Notice("Disk problem.", "error"))
    app.services.notices.post("Exported.")
    assert app.notices == ["Write a message first.", "Disk problem.", "Exported."]
    assert app.texts == [("Two", "Fine.")]
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    assert app.notices == ["Disk problem."]
    app.ask("More")
    assert app.notices == ["Disk problem."]


def test_sending_a_message_keeps_the_notices_that_wait_for_the_user(begin: Begin) -> None:
    """It removed the button of an import, errors, and what the user had to see."""
    app = begin()
    add = NoticeAction("Add Messages", lambda: None, needed=True)
    lasting = [Notice("An error.", "error"), Notice("Downloaded.", stays=True), Notice("Newer.", actions=(add,))]
    for notice in (*lasting, Notice("Exported."), Notice("It failed.", "error", until="chat")):
        app.services.notices.post(notice)
    app.ask("One")
    assert app.notices == [notice.text for notice in lasting]


def test_a_notice_that_no_models_are_loaded_goes_away_once_a_pair_is(begin: Begin) -> None:
    app = begin(loaded=False)
    app.type("One")
    app.message.send()
    assert app.notices == ["No models are loaded."]
    app.load()
    assert app.notices == []


def test_a_notice_goes_away_unless_it_needs_an_action(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.views.chat.notice_bar.SHOWN_MS", 1)
    app = begin(loaded=False)
    bar = bar_of(app)
    done: list[str] = []
    lasting = [
        Notice("An error.", "error"),
        Notice("No models.", offer="load"),
        Notice("Offline.", again="Server"),
        Notice("Loading.", until="loaded"),
        Notice("Downloaded.", stays=True),
        Notice("Newer.", actions=(NoticeAction("Add", lambda: done.append("added"), needed=True),)),
    ]
    for notice in (*lasting, Notice("Exported.")):
        app.services.notices.post(notice)
    assert bar.findChild(QTimer).isActive() and bar.findChild(QTimer).interval() == 1
    app.services.notices.post(Notice("Imported.", actions=(NoticeAction("Show", lambda: None),)))
    assert bar.findChild(QTimer).interval() == 3, "a choice takes longer than reading"
    app.until(lambda: app.notices == [notice.text for notice in lasting])
    assert not bar.findChild(QTimer).isActive()
    (add,) = bar.shown_actions
    assert add.text() == "Add" and add.isVisible()
    add.click()
    assert done == ["added"] and app.notices == [notice.text for notice in lasting[:-1]]


def test_a_damaged_mcp_json_is_reported_at_the_start_and_when_it_changes(begin: Begin, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"notes": ')
    app = begin(data=tmp_path)
    reasons = (
        "The list of servers isn't valid JSON (",
        "“notes” needs either a command or a URL.",
        "The list of servers isn't valid JSON (",
    )
    for content, reason in zip(("", '{"mcpServers": {"notes": {}}}', "["), reasons, strict=True):
        if content:
            file.write_text(content)
            app.services.tools.reload()
        (notice,) = app.notices
        assert notice.startswith(f"Can't use mcp.json. {reason}")
    assert file.read_text() == "["
    app.services.notices.post(Notice("Another error.", "error"))
    file.write_text("{}")
    app.services.tools.reload()
    assert app.notices == ["Another error."], "the file has been repaired"


def test_connections_that_are_readable_again_are_used_and_kept(begin: Begin, tmp_path: Path) -> None:
    """The next change wrote a list without them, and the notice stayed."""
    file = tmp_path / "connections.json"
    file.mkdir()
    app = begin(data=tmp_path)
    endpoints = app.services.picker.endpoints
    (notice,) = app.notices
    messages: list[str] = []
    endpoints.message.connect(messages.append)
    endpoints.put(SavedEndpoint("Mac", Endpoint("http://127.0.0.1:1")))
    app.until(lambda: bool(messages))
    assert app.notices == [notice] == messages and notice.startswith("Can't read")
    file.rmdir()
    write_endpoints(file, [SavedEndpoint("Studio", Endpoint("http://127.0.0.1:2"))])
    endpoints.put(SavedEndpoint("Mini", Endpoint("http://127.0.0.1:3")))
    assert app.notices == []
    app.quit()
    assert [saved.name for saved in read_endpoints(file)] == ["Studio", "Mac", "Mini"]


def test_the_notice_about_damaged_connections_goes_once_new_ones_are_stored(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "connections.json").write_text("{")
    app = begin(data=tmp_path)
    endpoints = app.services.picker.endpoints
    endpoints.reload()
    assert len(app.notices) == 1 and "was damaged" in app.notices[0]
    endpoints.put(SavedEndpoint("Mac", Endpoint("http://127.0.0.1:1")))
    app.until(lambda: app.notices == [])


def test_an_error_opens_the_page_about_it(start: Start) -> None:
    app = start()
    bar = app.window.foot.notices
    app.services.notices.post(Notice("It failed.", "error"))
    assert bar.help.isHidden()
    app.services.notices.post(Notice("No such model.", "error", help="troubleshooting#a-pair-doesnt-load"))
    assert bar.help.isVisible()
    bar.help.click()
    dialog = app.dialog(HelpDialog)
    assert dialog.page == "troubleshooting" and dialog.text.verticalScrollBar().value() > 0


def test_all_links_of_notices_lead_to_headings() -> None:
    files = (Path(__file__).parents[2] / "app").rglob("*.py")
    links = {link for file in files for link in re.findall(r'"([\w-]+#[\w-]+)"', file.read_text(encoding="utf-8"))}
    assert len(links) >= 6
    for link in links:
        page, _, heading = link.partition("#")
        assert f'id="{heading}"' in page_html(page), link


def test_pages_are_about_errors_that_exist() -> None:
    files = (Path(__file__).parents[2] / "mlx_engine").rglob("*.py")
    codes = {code for file in files for code in re.findall(r'"([a-z_]+)"', file.read_text(encoding="utf-8"))}
    assert set(PAGES_BY_CODE) <= codes


def test_a_failed_reply_opens_the_page_about_its_error_also_later(start: Start) -> None:
    gpu = GpuFault(EngineText("gpu_reset", "macOS reset the GPU"), by_kernel=False, message="").error
    app = start(ScriptedEngine([[commit("Half"), Failed.because(gpu)], [commit("Half"), Failed("error", "It broke.")]]))
    app.ask("Go")
    failed = app.session.chat
    notice = app.reply.error
    assert notice is not None and notice.help.isVisible()
    notice.help.click()
    assert app.dialog(HelpDialog).text.verticalScrollBar().value() > 0 and app.dialog(HelpDialog).page == "troubleshooting"
    app.session.new_chat()
    app.ask("Go")
    assert app.reply.error is not None and not app.reply.error.help.isVisible()
    assert chat_from_json(chat_to_json(failed)).turns[-1].reply.error_code == "gpu_failed"
