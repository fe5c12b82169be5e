"""This build's version and licenses, the update check, and what an update changed.

The check runs only if the user asks or has turned it on. Nothing is sent but the request.
"""

import json
import logging
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

import httpx2
from packaging.version import InvalidVersion, Version
from PySide6.QtCore import QObject, QUrl, Signal, Slot

from app.session.background_work import Background
from app.session.preferences import Preferences
from app.text.language import sentences, tr
from mlx_engine.contract.errors import UserError
from mlx_engine.hardware import machine
from mlx_engine.network import traffic

log = logging.getLogger(__name__)

_HINTED = "hinted_build"  # key in the settings file: the version that gave the hint
_LAST_VERSION = "last_version"  # key in the settings file: the version of the last launch
_HEADERS = {"User-Agent": "Slipstream", "Accept-Encoding": "identity"}
STAMP = "release.json"  # in resources; written by the build
TIMEOUT_S = 15.0
MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Release:
    """A build of the app."""

    version: str  # empty for a development build
    address: str = ""  # URL of an API like GitHub's “latest release”; empty if this build has no updates
    build: str = ""  # in an app bundle, "macos14" or "macos26": the macOS that its MLX is made for

    @property
    def has_updates(self) -> bool:
        return bool(self.address and self.version)


def this_release() -> Release:
    """Return the release recorded by the build, or else the installed version."""
    stamp = files("resources") / STAMP
    if stamp.is_file():
        stored = json.loads(stamp.read_text(encoding="utf-8"))
        return Release(*(str(stored.get(name, "")) for name in ("version", "releases", "build")))
    try:
        return Release(version("slipstream"))
    except PackageNotFoundError:
        return Release("")


def best_build() -> str:
    """Return the build with the fastest MLX for this Mac."""
    return "macos26" if machine.has_accelerators() else "macos14"


def licenses() -> str:
    """Return the licenses of all bundled components."""
    return (files("resources") / "licenses.txt").read_text(encoding="utf-8")


def newer(response: bytes, current: str) -> tuple[str, str] | None:
    """Return the version and page of a newer release, or None.

    Raises:
        ValueError: the response has an unexpected format.
    """
    found = json.loads(response)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    version, page = str(found.get("tag_name", "")).removeprefix("v"), str(found.get("html_url", ""))
    try:
        is_newer = Version(version) > Version(current)
    except InvalidVersion as error:
        raise ValueError(str(error)) from error
    if QUrl(page).scheme() != "https":
        raise ValueError(f"{page!r} is not a page")
    return (version, page) if is_newer else None


def is_newer(version: str, before: str) -> bool:
    """Return whether a version is newer than another. Invalid ones are neither."""
    try:
        return Version(version) > Version(before)
    except InvalidVersion:
        return False


def fetch(address: str) -> bytes:
    """Return the beginning of a response. Only the headers tell about this app.

    Raises:
        UserError: the server doesn't respond, or Offline is on.
    """

    def check(request: httpx2.Request) -> None:
        if request.url.scheme != "https" and address.startswith("https:"):
            raise httpx2.UnsupportedProtocol("the address leads to one that isn't encrypted")

    body, deadline = bytearray(), time.monotonic() + TIMEOUT_S
    options: dict[str, Any] = {"timeout": TIMEOUT_S, "follow_redirects": True, "event_hooks": {"request": [check]}}
    template = "Can't check for updates: {error}."
    try:
        with traffic.client("update", **options) as client, client.stream("GET", address, headers=_HEADERS) as response:
            response.raise_for_status()
            for piece in response.iter_raw():
                body += piece
                if len(body) > MAX_BYTES or time.monotonic() > deadline:
                    break
    except httpx2.HTTPStatusError as error:
        raise UserError("update_failed", template, error=f"HTTP {error.response.status_code}") from None
    except httpx2.HTTPError as error:
        raise UserError("update_failed", template, error=str(error) or type(error).__name__) from None
    return bytes(body)


class Updates(QObject):
    """The update check, and the hints after an update.

    Unless the user asks, only a newer version is reported. A build that suits this Mac better is named once per version.
    """

    notified = Signal(str)
    updated = Signal(str)  # this version, at its first launch after an earlier one

    def __init__(self, release: Release, preferences: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.release = release
        self._preferences = preferences
        self._background = Background(self, threads=1)
        self._asked = False  # by the user

    def start(self) -> None:
        """Give the hints, and check for updates if that is on."""
        self._compare_versions()
        self._compare_builds()
        if self._preferences.check_for_updates:
            self._request(asked=False)

    def _compare_versions(self) -> None:
        """Report an update. The first launch of all is none."""
        version, settings = self.release.version, self._preferences.file
        before = str(settings.value(_LAST_VERSION) or "")
        if version and version != before:
            settings.setValue(_LAST_VERSION, version)
            if before and is_newer(version, before):
                self.updated.emit(version)

    def _compare_builds(self) -> None:
        version, settings = self.release.version, self._preferences.file
        if self.release.build == "macos14" and best_build() != "macos14" and settings.value(_HINTED) != version:
            settings.setValue(_HINTED, version)
            text = tr("This copy of Slipstream was built for macOS 14. On this Mac, the one for macOS 26 is faster.")
            self.notified.emit(sentences(text, self._image(version)))

    def _image(self, version: str) -> str:
        """Say which disk image suits this Mac, if this is an app bundle."""
        name = f"Slipstream-{version}-{best_build()}.dmg"
        return tr("For this Mac, download {name}.", name=name) if self.release.build else ""

    @Slot()
    def check(self) -> None:
        self._request(asked=True)

    def _request(self, asked: bool) -> None:
        if not self.release.has_updates:
            return
        self._asked = asked
        address = self.release.address
        self._background.run(lambda: fetch(address), self._show, self._report)

    def _show(self, response: bytes) -> None:
        try:
            found = newer(response, self.release.version)
        except ValueError as error:
            log.warning("Unexpected response about updates: %s", error)
            self._report(tr("Can't check for updates: unexpected response from the server."))
            return
        current = self.release.version
        if found is None:
            self._report(tr("Slipstream {version} is the newest version.", version=current))
        else:
            version, page = found
            text = tr("Slipstream {version} is available. You have {current}. {page}", version=version, current=current, page=page)
            self.notified.emit(f"{text} {self._image(version)}".rstrip())

    def _report(self, text: str) -> None:
        if self._asked:
            self.notified.emit(text)
        else:
            log.info(text)
