"""Calls of macOS APIs, with fake frameworks, and notices about low memory."""

import ctypes
import sys
import tomllib
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session.memory_watch import CALM_READINGS, MemoryWatch
from app.system import chat_link, data_paths, macos
from app.system.macos import Activity
from tests.packaging import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INFO = PROJECT["tool"]["briefcase"]["app"]["app"]["macOS"]["info"]


class Process:
    """NSProcessInfo as far as activities go."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[int, str]] = {}
        self.started = 0

    def beginActivityWithOptions_reason_(self, options: int, reason: str) -> int:
        self.started += 1
        self.running[self.started] = options, reason
        return self.started

    def endActivity_(self, token: int) -> None:
        del self.running[token]


@given(st.lists(st.tuples(st.sampled_from(["reply", "download"]), st.booleans())))
def test_the_mac_stays_awake_exactly_while_something_runs(steps: list[tuple[str, bool]]) -> None:
    process = Process()
    activity = Activity(process)
    held: set[str] = set()
    for name, wanted in steps:
        activity.set_held(name, wanted, "because")
        (held.add if wanted else held.discard)(name)
        assert len(process.running) == bool(held)
    assert all(running == (0x00FFFFFF, "because") for running in process.running.values())


def test_other_systems_are_not_kept_awake() -> None:
    activity = Activity()
    activity.set_held("reply", True)
    activity.set_held("reply", False)
    assert not macos.reduces_motion()


def test_a_mac_uses_its_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    foundation, appkit = ModuleType("Foundation"), ModuleType("AppKit")
    foundation.NSProcessInfo = SimpleNamespace(processInfo=lambda: process)  # type: ignore[attr-defined]
    workspace = SimpleNamespace(accessibilityDisplayShouldReduceMotion=lambda: 1)
    appkit.NSWorkspace = SimpleNamespace(sharedWorkspace=lambda: workspace)  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Foundation", foundation)
    monkeypatch.setitem(sys.modules, "AppKit", appkit)
    Activity().set_held("download", True, "Fetching models")
    assert list(process.running.values()) == [(0x00FFFFFF, "Fetching models")]
    assert macos.reduces_motion()


def test_a_text_from_the_services_menu_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    [service], [urls] = INFO["NSServices"], INFO["CFBundleURLTypes"]
    assert service["NSPortName"] == data_paths.NAME and urls["CFBundleURLSchemes"] == [chat_link.SCHEME]
    providers: list[Any] = []
    objc, appkit, foundation = ModuleType("objc"), ModuleType("AppKit"), ModuleType("Foundation")

    class NSObject:
        @classmethod
        def alloc(cls) -> "NSObject":
            return cls()

        def init(self) -> "NSObject":
            return self

    def selector(function: Any, signature: bytes) -> Any:
        assert function.__name__.count("_") == len(signature.split(b":")[1].replace(b"o^", b""))
        return function

    application = SimpleNamespace(setServicesProvider_=providers.append)
    objc.selector = selector  # type: ignore[attr-defined]
    foundation.NSObject = NSObject  # type: ignore[attr-defined]
    appkit.NSPasteboardTypeString = "public.utf8-plain-text"  # type: ignore[attr-defined]
    appkit.NSApplication = SimpleNamespace(sharedApplication=lambda: application)  # type: ignore[attr-defined]
    for module in (objc, appkit, foundation):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    told: list[str] = []
    assert macos.offer_service(told.append) is None, "no other system has the menu"
    monkeypatch.setattr(sys, "platform", "darwin")
    receiver = macos.offer_service(told.append)
    assert providers == [receiver]
    for text in ("Selected", None):
        board = SimpleNamespace(stringForType_={"public.utf8-plain-text": text}.get)
        assert getattr(receiver, f"{service['NSMessage']}_userData_error_")(board, "", None) is None
    assert told == ["Selected", ""]

    def fail(text: str) -> None:
        raise ZeroDivisionError

    macos.offer_service(fail).askSlipstream_userData_error_(board, "", None)  # is logged, and reaches no Objective-C


def test_a_mac_without_pyobjc_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    for name in ("Foundation", "AppKit", "objc"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    Activity().set_held("reply", True)
    assert not macos.reduces_motion() and macos.offer_service(print) is None


# Memory


def watch(*levels: str) -> list[str]:
    readings = iter(levels)
    told: list[str] = []
    watched = MemoryWatch(read=lambda: next(readings), budget=10_000_000_000)  # type: ignore[arg-type, return-value]
    watched.short.connect(told.append)
    for _ in levels:
        watched.check()
    return told


def test_low_memory_is_reported_once_per_episode_and_again_when_critical() -> None:
    assert watch("normal") == []
    told = watch("warning", "warning", "normal", "warning", "critical", "warning", "critical")
    assert [warning.split(". ")[0] for warning in told] == ["Memory is running low", "Memory is almost full"]
    assert len(watch("warning", *["normal"] * CALM_READINGS, "warning")) == 2


def test_a_reply_that_used_nearly_all_memory_is_reported_once() -> None:
    told: list[str] = []
    watched = MemoryWatch(read=lambda: "normal", budget=10_000_000_000)
    watched.short.connect(told.append)
    for peak in (8_000_000_000, 9_500_000_000, 9_900_000_000):
        watched.note_peak(peak)
    assert len(told) == 1 and "9.5 GB of the 10.0 GB" in told[0]
