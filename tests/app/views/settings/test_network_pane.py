"""The Network pane and the Offline switch in the Settings window."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from app.storage import wording
from app.views.settings import network_pane
from app.views.settings.network_pane import NetworkPane
from app.views.settings.settings_dialog import SettingsDialog
from mlx_engine.contract.errors import UserError
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.network import connection_log, offline
from mlx_engine.network.connection_log import FEATURES, ConnectionRecord
from tests.app.conftest import Session

Begin = Callable[..., Session]
HUB = ConnectionRecord("1", 1_700_000_000.0, "hub.example", 443, "hub", "closed", 2_000, 3_000_000)


def pane_of(app: Session) -> NetworkPane:
    app.window.dialogs.show_settings("network")
    pane = app.dialog(SettingsDialog).parts["network"]
    assert isinstance(pane, NetworkPane)
    app.until(lambda: app.services.connections.loaded)
    return pane


def rows(pane: NetworkPane) -> list[list[Any]]:
    model = pane.table.model()
    return [[model.index(row, at).data() for at in range(model.columnCount())] for row in range(model.rowCount())]


def test_without_connections_the_pane_says_so(begin: Begin) -> None:
    pane = pane_of(begin(loaded=False))
    assert pane.empty.isVisible() and pane.empty.text() == "No connections yet"
    assert not pane.table.isVisible() and not pane.clear.isEnabled()


def test_connections_are_listed_with_purpose_and_bytes_and_filtered(begin: Begin) -> None:
    later = HUB.opened + 60
    for record in (
        HUB,
        replace(HUB, id="2", opened=later, host="::1", port=80, feature="server", outcome="failed", sent=0, received=0),
        replace(HUB, id="3", opened=later + 1, host="proxy.example", proxy=True, feature="update", outcome="cut", received=7),
    ):
        connection_log.append(record)
    pane = pane_of(begin(loaded=False))
    assert [(connection, data) for connection, _, data in rows(pane)] == [
        ("proxy.example:443 (proxy)\nUpdate check · ended by Offline", "↑ 2 KB\n↓ 7 bytes"),
        ("[::1]:80\nLocal server · failed", "↑ 0 KB\n↓ 0 KB"),
        ("hub.example:443\nModel details", "↑ 2 KB\n↓ 3 MB"),
    ]
    assert pane.table.model().index(2, 2).data(Qt.ItemDataRole.AccessibleTextRole) == "2 KB sent, 3 MB received"
    assert pane.sum.text() == "3 connections: 4 KB sent, 3 MB received"
    pane.host.setText(" EXAMPLE")
    assert len(rows(pane)) == 2
    pane.feature.setCurrentIndex(1 + FEATURES.index("hub"))
    assert [row[0] for row in rows(pane)] == ["hub.example:443\nModel details"] and pane.sum.text().startswith("1 connection: ")
    pane.host.setText("else")
    assert rows(pane) == [] and pane.empty.text() == "No matching connections" and pane.clear.isEnabled()


def test_new_connections_appear_and_the_list_can_be_cleared(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(loaded=False)
    pane = pane_of(app)
    connection_log.append(HUB)
    app.until(lambda: len(rows(pane)) == 1)
    monkeypatch.setattr(network_pane, "confirm", lambda *_: True)
    pane.clear.click()
    app.until(lambda: rows(pane) == [])
    assert connection_log.read() == [] and pane.empty.isVisible()


def test_the_selection_stays_when_connections_come_and_end(begin: Begin) -> None:
    crashed = ConnectionRecord("crashed", HUB.opened, "host", 1, "hub")
    own = replace(crashed, id=f"{os.getpid()}-1-1", opened=HUB.opened + 1)
    connection_log.append(crashed)
    connection_log.append(own)
    app = begin(loaded=False)
    pane = pane_of(app)
    assert [row[0] for row in rows(pane)] == ["host:1\nModel details · open", "host:1\nModel details"]
    pane.table.selectRow(0)
    connection_log.append(replace(HUB, id="2", opened=HUB.opened + 60))
    connection_log.append(replace(own, outcome="failed"))
    app.until(lambda: len(rows(pane)) == 3)
    assert pane.table.currentIndex().data() == "host:1\nModel details · failed"
    assert [index.row() for index in pane.table.selectionModel().selectedRows()] == [1]


def test_a_list_of_50000_makes_only_the_texts_that_are_seen(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(loaded=False)
    history, pane = app.services.connections, pane_of(app)
    asked: list[float] = []
    size = wording.size
    monkeypatch.setattr(wording, "size", lambda count: asked.append(count) or size(count))
    history.records = [replace(HUB, id=str(number), opened=HUB.opened - number) for number in range(50_000)]
    pane.host.setText("hub")
    pane.table.scrollToBottom()
    pane.table.grab()
    assert pane.table.model().rowCount() == 50_000
    assert 0 < len(asked) < 1_000
    assert pane.table.model().headerData(2, Qt.Orientation.Horizontal) == "Data"


def test_programs_of_tools_are_named_as_not_listed(begin: Begin) -> None:
    app = begin(loaded=False)
    offline_box(app)  # opens Settings before there are servers
    servers = [ServerConfig("notes", command="notes-server"), ServerConfig("off", command="off-server", enabled=False)]
    app.tools.configs = (*servers, ServerConfig("web", url="https://tools.example/mcp"))
    assert pane_of(app).others.text().endswith("of these programs: notes.")


def offline_box(app: Session) -> QAbstractButton:
    app.window.dialogs.show_settings("privacy")
    box = app.dialog(SettingsDialog).fields["offline"]
    assert isinstance(box, QAbstractButton)
    return box


def test_the_offline_box_is_the_switch_of_all_processes(begin: Begin) -> None:
    app = begin(loaded=False)
    box = offline_box(app)
    assert not box.isChecked()
    box.click()
    assert box.isChecked() and offline.is_offline()
    app.services.preferences.reset()
    assert not box.isChecked() and not offline.is_offline()


def test_a_switch_that_cannot_be_saved_is_reported_and_stays_as_it_was(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(loaded=False)
    box = offline_box(app)

    def fail(on: bool) -> None:
        raise UserError("", "The disk is full.")

    monkeypatch.setattr(offline, "set_offline", fail)
    box.click()
    assert "The disk is full." in app.notices
    assert not box.isChecked()


def test_a_window_that_was_started_offline_leaves_the_switch_of_others_alone(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    offline.set_offline(True)
    monkeypatch.setenv(offline.VARIABLE, "1")
    app = begin(loaded=False)
    preferences, box = app.services.preferences, offline_box(app)
    assert box.isChecked() and not box.isEnabled() and offline.VARIABLE in box.accessibleDescription()
    preferences.reset()
    assert not app.notices
    preferences.offline = False
    assert any(offline.VARIABLE in text for text in app.notices) and box.isChecked()
    monkeypatch.delenv(offline.VARIABLE)
    assert offline.is_offline()
