"""The Help menu: pages, shortcuts, the report of a problem, and About."""

import os
import re
import sys
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QProcess, Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.session.commands import plain_title
from app.views.models.picker_dialog import PickerDialog
from app.views.settings.settings_dialog import SettingsDialog
from app.window.help import DEVELOPER_PAGES, FOLDER, PAGES, HelpDialog, page_html
from app.window.report import ReportDialog, report
from tests.app.conftest import Begin, Start

ALL_PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))


def test_the_user_guide_opens_and_its_links_lead_to_other_pages(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_help()
    dialog = app.dialog(HelpDialog)
    assert dialog.list.currentItem().text() == "User Guide"
    assert "How do I chat?" in dialog.text.toPlainText()
    dialog.text.anchorClicked.emit(QUrl("exactness.md#what-does-exact-mode-promise"))
    assert dialog.page == "exactness" and dialog.text.verticalScrollBar().value() > 0
    dialog.text.anchorClicked.emit(QUrl("kernels.md"))
    assert dialog.page == "kernels" and dialog.list.currentItem().text() == "Metal kernels"
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda address: opened.append(address.toString()) or True)
    dialog.text.anchorClicked.emit(QUrl("https://example.org/x.md"))
    dialog.text.anchorClicked.emit(QUrl("file:///etc/passwd"))
    dialog.text.anchorClicked.emit(QUrl("../../etc/passwd.md"))
    assert opened == ["https://example.org/x.md"] and dialog.page == "kernels"
    before = dialog.text.toPlainText()
    app.services.preferences.appearance = "dark"
    assert dialog.text.toPlainText() == before


@pytest.mark.parametrize("page", ALL_PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    html = page_html(page)
    assert "<h1" in html and "<img" not in html
    for address in re.findall(r'href="([^"]+)"', html):
        if not address.startswith("https://"):
            name, _, heading = address.partition("#")
            target = page_html(name.removesuffix(".md") or page)
            assert not heading or f'id="{heading}"' in target, address


def test_the_list_has_all_pages() -> None:
    assert sorted((*PAGES, *DEVELOPER_PAGES)) == ALL_PAGES


def test_the_pages_for_developers_are_below_a_heading_that_cannot_be_chosen(begin: Begin) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_help()
    shown = app.dialog(HelpDialog).list
    titles = [shown.item(row).text() for row in range(shown.count())]
    heading = titles.index("For developers")
    assert titles[heading + 1 :] == ["Architecture", "Metal kernels", "Releasing"]
    assert not shown.item(heading).flags() & Qt.ItemFlag.ItemIsSelectable


def test_its_key_works_in_other_windows(start: Start, qtbot: QtBot) -> None:
    app = start()
    app.window.dialogs.show_models()
    models = app.dialog(PickerDialog)
    app.until(models.isActiveWindow)
    qtbot.keyClick(models, Qt.Key.Key_F1)
    assert app.dialog(HelpDialog).page == "guide"


def test_help_is_searched(begin: Begin) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_help()
    dialog = app.dialog(HelpDialog)
    listed = lambda: [dialog.list.item(row).text() for row in range(dialog.list.count()) if not dialog.list.item(row).isHidden()]  # noqa: E731
    everything = listed()
    assert {"Keyboard Shortcuts", "Local server", "Remote servers", "Coding agents", "Architecture"} <= set(everything)
    dialog.search.setText("OPENCODE Qwen")
    assert "Coding agents" in listed() and len(listed()) < len(everything)
    assert dialog.list.currentItem().text() == listed()[0], "the first match is shown"
    marked = {mark.cursor.selectedText().casefold() for mark in dialog.text.extraSelections()}
    assert marked == {"opencode", "qwen"}
    dialog.search.setText("zzzz")
    assert listed() == [] and dialog.none.isVisible()
    dialog.search.clear()
    assert listed() == everything and not dialog.none.isVisible() and not dialog.text.extraSelections()


def test_a_search_of_help_begins_at_the_best_heading_and_goes_on(start: Start, qtbot: QtBot) -> None:
    app = start(loaded=False)
    app.run("guide")
    dialog = app.dialog(HelpDialog)
    app.until(dialog.isActiveWindow)
    assert dialog.focusWidget() is dialog.search
    qtbot.keyClicks(dialog.search, "context full")
    at = lambda: dialog.text.textCursor().block().text()  # noqa: E731
    assert at() == "What happens when the context is full?"
    assert 0 <= dialog.text.cursorRect().top() < dialog.text.viewport().height() // 4, "with what follows the heading"
    seen = [(dialog.page, dialog.text.textCursor().position())]
    while len(seen) < 3 or seen[-1] not in seen[:-1]:
        qtbot.keyClick(dialog.search, Qt.Key.Key_Return if len(seen) % 2 else Qt.Key.Key_F3)
        seen.append((dialog.page, dialog.text.textCursor().position()))
    assert seen[-1] == seen[0], "all matches are passed before the first one comes again"
    assert len({page for page, _ in seen}) == sum(not dialog.list.item(row).isHidden() for row in range(dialog.list.count())) > 1
    qtbot.keyClick(dialog.search, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
    assert (dialog.page, dialog.text.textCursor().position()) == seen[-2]
    dialog.search.setText("zzzz")
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()
    dialog.search.clear()
    shown = dialog.page
    for key in (Qt.Key.Key_Return, Qt.Key.Key_F3):
        qtbot.keyClick(dialog.search, key)
    assert dialog.page == shown


def test_a_search_of_help_shows_a_page_with_the_words_in_a_heading(start: Start) -> None:
    app = start(loaded=False)
    app.window.dialogs.show_help("privacy")
    dialog = app.dialog(HelpDialog)
    dialog.search.setText("context full")
    assert (dialog.page, dialog.text.textCursor().block().text()) == ("guide", "What happens when the context is full?")


def test_the_shortcuts_are_those_of_the_menus_and_wrap_between_keys(start: Start, qtbot: QtBot) -> None:
    app = start(loaded=False)
    about = app.window.menus["about"]
    menus = [menu.title() for menu in (top.menu() for top in app.window.menuBar().actions()) if about in menu.actions()]
    assert menus == ["&Help"] and about.menuRole() == QAction.MenuRole.AboutRole  # which macOS moves
    app.run("shortcuts")
    dialog = app.dialog(HelpDialog)
    shown = dialog.text.toPlainText().replace("\u200b", "")
    for action in (app.window.menus["new_chat"], app.window.menus["stop"], app.window.menus["guide"]):
        assert action.text().replace("&", "") in shown and action.shortcut().toString() in shown
    assert "Chat" in shown and about.text() not in shown
    app.until(dialog.isActiveWindow)
    qtbot.keyClick(dialog.list, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert dialog.focusWidget() is dialog.search
    dialog.search.setText("Ctrl+Shift+N")
    (mark,) = dialog.text.extraSelections()
    assert mark.cursor.selectedText().replace("\u200b", "") == "Ctrl+Shift+N"
    keys = QFontMetrics(dialog.text.font()).horizontalAdvance("Ctrl+Shift+N")
    dialog.text.setFixedWidth(4 * keys)
    block = dialog.text.document().findBlock(mark.cursor.selectionStart())
    lines = [block.layout().lineAt(line) for line in range(block.layout().lineCount())]
    assert all(block.text()[: line.textStart()].endswith(("", "+\u200b")[line.textStart() > 0]) for line in lines)


def test_titles_lose_their_access_keys() -> None:
    assert [plain_title(text) for text in ("&File", "文件(&F)", "导出(&E)…", "Cut && Paste")] == [
        "File",
        "文件",
        "导出…",
        "Cut & Paste",
    ]


def test_a_report_is_shown_copied_and_saved_but_never_names_the_home_folder(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(
        "app.window.report.child.command", lambda module: (sys.executable, ["-c", f"print('{module} /home/someone/x')"])
    )
    crash = tmp_path / "crash-before.log"
    crash.write_text("Fatal Python error in /home/someone/y\n")
    os.utime(crash, (0, datetime(2026, 11, 20, 9, 30).timestamp()))
    app = begin(loaded=False)
    app.window.dialogs.show_report()
    dialog = app.dialog(ReportDialog)
    app.until(dialog.status.isHidden)
    version = app.services.updates.release.version
    expected = f"Slipstream {version}\n\nmlx_engine.__main__ ~/x\n\nLast crash: 2026-11-20 09:30\nFatal Python error in ~/y"
    assert dialog.text.toPlainText() == expected and dialog.text.isReadOnly()
    dialog.copy.click()
    assert QGuiApplication.clipboard().text() == expected
    file = tmp_path / "report.txt"
    monkeypatch.setattr("app.window.report.ask_save_path", lambda *_: file)
    dialog.save.click()
    assert file.read_text() == expected + "\n"
    file.unlink()
    file.mkdir()
    dialog.save.click()
    assert "Can't save the report" in dialog.status.text()


def test_a_report_tells_if_checks_cannot_start_and_stops_them_when_closed(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.window.report.child.command", lambda module: ("/nowhere/python", []))
    app = begin(loaded=False)
    app.window.dialogs.show_report()
    app.until(lambda: "The checks failed" in app.dialog(ReportDialog).text.toPlainText())
    app.dialog(ReportDialog).accept()
    monkeypatch.setattr("app.window.report.child.command", lambda module: (sys.executable, ["-c", "import time; time.sleep(600)"]))
    app.window.dialogs.show_report()
    process = app.dialog(ReportDialog).findChild(QProcess)
    assert process.waitForStarted(60_000)
    app.dialog(ReportDialog).accept()
    assert process.state() == process.ProcessState.NotRunning


def test_report_runs_the_checks_of_this_installation(begin: Begin) -> None:
    """Until MLX runs. What the demo pair's check says is tested with the checks, and takes seconds."""
    app = begin(loaded=False)
    app.window.dialogs.show_report()
    dialog = app.dialog(ReportDialog)
    app.until(lambda: "ok    device" in dialog.text.toPlainText())
    assert "ok    Python" in dialog.text.toPlainText() and not dialog.status.isHidden()
    assert report("", "", "") == "Slipstream development build"


def test_the_privacy_pane_leads_to_the_page_about_privacy(begin: Begin) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_settings("privacy")
    settings = app.dialog(SettingsDialog)
    next(one for one in settings.parts["privacy"].findChildren(QPushButton) if one.text() == "Learn More").click()
    assert app.dialog(HelpDialog).page == "privacy"
