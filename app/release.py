"""The version of this build, where its updates are announced, and its licenses."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

STAMP = "release.json"  # in resources; written by the build


@dataclass(frozen=True)
class Release:
    """A build of the app.

    Attributes:
        version: empty for a development build.
        address: answers like GitHub's “latest release” API; empty if this build has no updates.
    """

    version: str
    address: str = ""

    @property
    def has_updates(self) -> bool:
        return bool(self.address and self.version)


def this_release() -> Release:
    """The release stored by the build; in a checkout or a wheel, the installed version."""
    stamp = files("resources") / STAMP
    if stamp.is_file():
        stored = json.loads(stamp.read_text(encoding="utf-8"))
        return Release(str(stored.get("version", "")), str(stored.get("releases", "")))
    try:
        return Release(version("slipstream"))
    except PackageNotFoundError:
        return Release("")


def licenses() -> str:
    """The licenses of everything in the app."""
    return (files("resources") / "licenses.txt").read_text(encoding="utf-8")
