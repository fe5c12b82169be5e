"""The connections that are on record, as the user filters them."""

from PySide6.QtCore import QObject, Signal

from app.session.background_work import Background
from app.text.language import tr
from mlx_engine.network import connection_log
from mlx_engine.network.connection_log import ConnectionRecord, Feature, LogReader, Outcome


def feature_names() -> dict[Feature, str]:
    return {
        "search": tr("Model search"),
        "hub": tr("Model details"),
        "download": tr("Model downloads"),
        "update": tr("Update check"),
        "endpoint": tr("Connected servers"),
        "tool": tr("Tool servers"),
        "sign_in": tr("Sign-in"),
        "server": tr("Local server"),
        "worker": tr("Models on several Macs"),
    }


def outcome_names() -> dict[Outcome, str]:
    return {
        "open": tr("open"),
        "failed": tr("failed"),
        "refused": tr("refused by Offline"),
        "cut": tr("ended by Offline"),
    }


class ConnectionHistory(QObject):
    """The record of connections, read on another thread. The newest are first.

    Attributes:
        records: all connections.
        shown: those that the filter lets pass.
        loaded: whether the record has been read.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.records: list[ConnectionRecord] = []
        self.shown: list[ConnectionRecord] = []
        self.loaded = False
        self._feature: Feature | None = None
        self._host = ""
        self._reader = LogReader()
        self._reading = self._outdated = False
        self._background = Background(self, threads=1)

    def refresh(self) -> None:
        """Read the record, if it has changed."""
        self._outdated = self._reading
        if self._reading:
            return
        self._reading = True
        self._background.run(self._reader.read, self._use, self._fail)

    def filter(self, feature: Feature | None, host: str) -> None:
        """Show only the connections of a feature, and with a text in their host."""
        self._feature, self._host = feature, host.strip().lower()
        self._show()

    def clear(self) -> None:
        """Delete the record."""
        self._background.run(connection_log.clear, lambda _: self.refresh(), self.failed.emit, saves=True)

    def close(self) -> None:
        self._background.close()
        self._reader.close()

    def _use(self, records: list[ConnectionRecord] | None) -> None:
        self._reading = False
        if records is not None:
            self.records, self.loaded = records, True
            self._show()
        if self._outdated:
            self.refresh()

    def _fail(self, reason: str) -> None:
        self._reading = False
        self.failed.emit(reason)

    def _show(self) -> None:
        feature, host = self._feature, self._host
        self.shown = [one for one in self.records if feature in (None, one.feature) and host in one.host.lower()]
        self.changed.emit()
