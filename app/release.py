"""Which version this is, where newer ones are told of, and whose work is in it. Built apps say it in resources/release.json."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

STAMP = "release.json"


@dataclass(frozen=True)
class Release:
    """`address` answers as GitHub's “latest release” does; empty where nobody said where this build's successors are."""

    version: str
    address: str = ""


def this_release() -> Release:
    """What the build wrote down; in a checkout or a wheel, the installed version and no address."""
    stamp = files("resources") / STAMP
    if stamp.is_file():
        said = json.loads(stamp.read_text(encoding="utf-8"))
        return Release(str(said.get("version", "")), str(said.get("releases", "")))
    try:
        return Release(version("slipstream"))
    except PackageNotFoundError:
        return Release("")


def licences() -> str:
    """The licences of everything in the app; a file that tests hold to the pinned versions."""
    return (files("resources") / "licenses.txt").read_text(encoding="utf-8")
