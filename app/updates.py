"""Is there a newer version? Looked for only when the user asks, or has asked for it at every start.

Nothing is sent but the question.
"""

import json
import logging
from collections.abc import Callable

from packaging.version import InvalidVersion, Version
from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtNetwork import QNetworkAccessManager, QNetworkReply, QNetworkRequest

from app.language import tr
from app.release import Release
from app.settings.preferences import Preferences

log = logging.getLogger(__name__)

PATIENCE_MS = 15_000
MOST_BYTES = 1 << 20


def newer(answer: bytes, current: str) -> tuple[str, str] | None:
    """Version and page of a newer release that an answer tells of, or None.

    Raises:
        ValueError: the answer is not understood.
    """
    said = json.loads(answer)
    if not isinstance(said, dict):
        raise ValueError("the answer is no object")
    found, page = str(said.get("tag_name", "")).removeprefix("v"), str(said.get("html_url", ""))
    try:
        is_newer = Version(found) > Version(current)
    except InvalidVersion as error:
        raise ValueError(str(error)) from error
    if QUrl(page).scheme() != "https":
        raise ValueError(f"{page!r} is no page")
    return (found, page) if is_newer else None


class Updates(QObject):
    """Tells in a sentence what it found. Without an address it can do nothing, and `possible` says so."""

    told = Signal(str)

    def __init__(self, release: Release, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._release = release
        self._preferences = preferences
        self._network: QNetworkAccessManager | None = None
        self._asked = False

    @property
    def possible(self) -> bool:
        return bool(self._release.address and self._release.version)

    def begin(self) -> None:
        """The app has started: ask if that is wanted, and speak only of news."""
        if self.possible and self._preferences.check_for_updates:
            self._ask(asked=False)

    @Slot()
    def ask(self) -> None:
        """The user asks: an answer comes in any case."""
        if self.possible:
            self._ask(asked=True)

    def _ask(self, asked: bool) -> None:
        self._asked = asked
        if self._network is None:
            self._network = QNetworkAccessManager(self)
        request = QNetworkRequest(QUrl(self._release.address))
        request.setHeader(QNetworkRequest.KnownHeaders.UserAgentHeader, "Slipstream")
        request.setTransferTimeout(PATIENCE_MS)
        reply = self._network.get(request)
        reply.finished.connect(self._answered)

    @Slot()
    def _answered(self) -> None:
        reply = self.sender()
        if not isinstance(reply, QNetworkReply):
            return
        reply.deleteLater()
        if reply.error() != QNetworkReply.NetworkError.NoError:
            self._tell(
                tr("Slipstream could not ask for a newer version: {errorstring}.", errorstring=reply.errorString()), news=False
            )
            return
        try:
            found = newer(bytes(reply.read(MOST_BYTES).data()), self._release.version)
        except ValueError as error:
            log.warning("The answer about versions was not understood: %s", error)
            self._tell(tr("Slipstream asked for a newer version, but did not understand the answer."), news=False)
            return
        if found is None:
            self._tell(tr("This is the newest version, {version}.", version=self._release.version), news=False)
        else:
            self._tell(
                tr(
                    "Slipstream {found} is there; this is {version}. To get it: {found_2}",
                    found=found[0],
                    version=self._release.version,
                    found_2=found[1],
                ),
                news=True,
            )

    def _tell(self, words: str, news: bool) -> None:
        tell: Callable[[str], None] = self.told.emit if news or self._asked else log.info
        tell(words)
