"""The About window and the update check."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session.preferences import Preferences
from app.session.updates import Release, Updates, licenses, newer, this_release
from app.widgets.theme import Theme
from app.window.dialogs import AboutDialog
from app.window.help import HelpDialog
from app.window.window_commands import setting_commands
from tests.packaging import script

PATIENCE_MS = 120_000  # for busy machines
PAGE = "https://example.org/releases/2"


def test_the_about_window_shows_version_and_licenses(begin: Any) -> None:
    app = begin(loaded=False)
    app.window.dialogs.show_about()
    page = app.window.findChild(AboutDialog)
    assert page is not None and page.isVisible()
    assert page.version.text() == f"Version {app.services.updates.release.version}"
    shown = page.licenses.toPlainText()
    assert page.licenses.isReadOnly() and shown == licenses()
    for name, version in script("licenses.py").pinned().items():
        assert f"\n{name} {version}\n---" in shown
    page.accept()


def test_a_build_has_its_stored_version_and_a_checkout_the_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.updates.files", lambda package: tmp_path)
    assert this_release().version and this_release().address == ""
    (tmp_path / "release.json").write_text('{"version": "7.1", "releases": "https://example.org/latest", "build": "macos26"}')
    assert this_release() == Release("7.1", "https://example.org/latest", "macos26")


class Releases(ThreadingHTTPServer):
    """Answers every question with `answer`, and counts them."""

    answer: bytes = b""
    status: int = 200
    asked: list[dict[str, str]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/latest"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Releases)
        server.asked.append(dict(self.headers))
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(server.answer)))
        self.end_headers()
        self.wfile.write(server.answer)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Releases]:
    made = Releases(("127.0.0.1", 0), Answer)
    made.asked = []
    thread = Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def preferences(qapp: QApplication, tmp_path: Path) -> Preferences:
    return Preferences(Theme(qapp), QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))


def release_of(tag: str, page: str = PAGE) -> bytes:
    return json.dumps({"tag_name": tag, "html_url": page}).encode()


def test_no_update_check_until_turned_on(qtbot: QtBot, server: Releases, preferences: Preferences) -> None:
    server.answer = release_of("v9.0")
    one = Updates(Release("1.0", server.address), preferences)
    one.start()
    qtbot.wait(50)
    assert server.asked == []
    preferences.check_for_updates = True
    again = Updates(Release("1.0", server.address), preferences)
    with qtbot.waitSignal(again.notified, timeout=PATIENCE_MS) as told:
        again.start()
    assert told.args == [f"Slipstream 9.0 is available. You have 1.0. {PAGE}"]
    assert server.asked and server.asked[0]["User-Agent"] == "Slipstream" and "Cookie" not in server.asked[0]


@pytest.mark.parametrize(
    ("build", "best", "hint"),
    [
        ("macos14", "macos26", "download Slipstream-1.0-macos26.dmg"),
        ("macos14", "macos14", ""),
        ("macos26", "macos26", ""),
        ("macos26", "macos14", ""),
        ("", "macos26", ""),
    ],
)
def test_a_build_for_other_macs_says_so_once_per_version(
    monkeypatch: pytest.MonkeyPatch, preferences: Preferences, build: str, best: str, hint: str
) -> None:
    monkeypatch.setattr("app.session.updates.machine.has_accelerators", lambda: best == "macos26")
    heard: list[str] = []
    for version in ("1.0", "1.0", "1.1"):
        one = Updates(Release(version, build=build), preferences)
        one.notified.connect(heard.append)
        one.start()
    assert [text.count("macOS 14") for text in heard] == ([1, 1] if hint else [])
    assert hint in "".join(heard)


def test_an_update_is_announced_once_and_never_at_the_first_launch(preferences: Preferences) -> None:
    heard: list[str] = []
    for version in ("1.0", "1.0", "", "1.1", "1.1", "1.0", "1.1", "another", "1.2"):
        one = Updates(Release(version), preferences)
        one.updated.connect(heard.append)
        one.start()
    assert heard == ["1.1", "1.1"], "only a newer version is an update"


def test_the_announcement_opens_the_changes(begin: Any) -> None:
    app = begin(loaded=False)
    assert app.window and not app.notices
    app.services.updates.start()
    assert not app.notices, "the first launch"
    version = app.services.updates.release.version
    app.services.settings.setValue("last_version", "0.0.1")
    app.services.updates.start()
    assert app.notices == [f"Slipstream is now version {version}."]
    app.press("What's New")
    page = app.dialog(HelpDialog)
    assert page.page == "changelog" and version in page.text.toPlainText()


@pytest.mark.parametrize("best", ["macos14", "macos26"])
def test_an_update_names_the_disk_image_for_this_mac(
    qtbot: QtBot, server: Releases, preferences: Preferences, monkeypatch: pytest.MonkeyPatch, best: str
) -> None:
    monkeypatch.setattr("app.session.updates.machine.has_accelerators", lambda: best == "macos26")
    server.answer = release_of("v9.0")
    one = Updates(Release("1.0", server.address, "macos14"), preferences)
    with qtbot.waitSignal(one.notified, timeout=PATIENCE_MS) as told:
        one.check()
    assert told.args[0].endswith(f"{PAGE} For this Mac, download Slipstream-9.0-{best}.dmg.")


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (release_of("v1.0"), 200, "Slipstream 1.0 is the newest version."),
        (release_of("v0.9"), 200, "Slipstream 1.0 is the newest version."),
        (b"<html>", 200, "unexpected response"),
        (release_of("v9.0", "javascript:alert(1)"), 200, "unexpected response"),
        (release_of("newest"), 200, "unexpected response"),
        (b"{}", 404, "Can't check for updates: "),
    ],
)
def test_only_manual_checks_report_errors_and_no_news(
    qtbot: QtBot, server: Releases, preferences: Preferences, answer: bytes, status: int, words: str
) -> None:
    server.answer, server.status = answer, status
    one = Updates(Release("1.0", server.address), preferences)
    with qtbot.waitSignal(one.notified, timeout=PATIENCE_MS) as told:
        one.check()
    assert words in told.args[0]
    preferences.check_for_updates = True
    heard: list[str] = []
    one.notified.connect(heard.append)
    before = len(server.asked)
    one.start()
    qtbot.waitUntil(lambda: len(server.asked) > before, timeout=PATIENCE_MS)
    qtbot.wait(50)
    assert heard == []


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:1/"])
def test_the_menu_has_the_update_check_if_there_is_an_address(preferences: Preferences, address: str) -> None:
    one = Updates(Release("1.0", address), preferences)
    if not address:
        preferences.check_for_updates = True
        one.start()
        one.check()
        preferences.check_for_updates = False
    commands = setting_commands(preferences, one, Mock())
    check, at_launch = (command for command in commands if "update" in command.plain_text.lower())
    assert check.visible == at_launch.visible == one.release.has_updates == bool(address)
    assert at_launch.checked is not None and not at_launch.checked()
    at_launch.act()
    assert preferences.check_for_updates and at_launch.checked()


@given(st.tuples(st.integers(0, 3), st.integers(0, 12)), st.tuples(st.integers(0, 3), st.integers(0, 12)))
def test_newer_means_a_higher_version(here: tuple[int, int], there: tuple[int, int]) -> None:
    current, found = (".".join(map(str, one)) for one in (here, there))
    assert (newer(release_of(f"v{found}"), current) is not None) == (Version(found) > Version(current)) == (there > here)
