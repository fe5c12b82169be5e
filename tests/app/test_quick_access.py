"""Shortcuts and the selected text on a Mac, with a C library that stands for its frameworks."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication

from app.system import quick_access
from app.system.quick_access import MODIFIERS, SHORTCUTS, MacAccess, QuickAccess, keeps_app_active, shortcut_name

COMPILER = shutil.which("g++") or shutil.which("clang++")


@pytest.fixture(scope="module")
def frameworks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    assert COMPILER is not None, "the tests need g++ or clang++"
    library = tmp_path_factory.mktemp("double") / "double.so"
    source = Path(__file__).with_name("mac_double.c")
    subprocess.run([COMPILER, "-x", "c", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture
def access(frameworks: Any) -> Iterator[MacAccess]:
    frameworks.set_refuses(0)
    frameworks.set_trusted(0)
    made = MacAccess(load=lambda path: frameworks)
    yield made
    made.set_shortcut("")


def test_a_shortcut_is_pressed_until_it_is_off(access: MacAccess, frameworks: Any) -> None:
    pressed: list[bool] = []
    access.pressed.connect(lambda: pressed.append(True))
    frameworks.press()
    for shortcut in SHORTCUTS:
        assert access.set_shortcut(shortcut)
        assert frameworks.registered() == sum(MODIFIERS[name] for name in shortcut.split("-"))
    frameworks.press()
    assert pressed == [True]
    assert access.set_shortcut("")
    frameworks.press()
    assert pressed == [True] and frameworks.registered() == -1


def test_a_refused_shortcut_leaves_none(access: MacAccess, frameworks: Any) -> None:
    assert access.set_shortcut("option")
    frameworks.set_refuses(1)
    assert not access.set_shortcut("control-shift") and frameworks.registered() == -1
    frameworks.set_refuses(0)
    assert access.set_shortcut("control-shift")


def test_the_selected_text_is_read_only_if_the_user_allows_it(access: MacAccess, frameworks: Any) -> None:
    before = frameworks.objects()
    frameworks.set_selected("Grüße \U0001f600".encode(), 1)
    assert access.selected_text() == "" and not access.ask_permission()
    assert frameworks.times_asked() == 1
    frameworks.set_trusted(1)
    assert access.selected_text() == "Grüße \U0001f600" and access.ask_permission()
    for kind in (2, 0):  # the selection isn't a text, and then no field has the focus
        frameworks.set_selected(b"x", kind)
        assert access.selected_text() == ""
    assert frameworks.objects() == before, "all objects are released"


def test_other_systems_have_no_shortcuts() -> None:
    access = QuickAccess()
    assert access.set_shortcut("") and not access.set_shortcut("option")
    assert access.selected_text() == "" and not access.ask_permission() and not access.has_shortcuts
    access.show_over_apps(1)


def test_a_mac_without_carbon_works(access: MacAccess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert quick_access.has_shortcuts()
    assert type(quick_access.quick_access()) is QuickAccess, "its windows aren't the Mac's"
    monkeypatch.setattr(QGuiApplication, "platformName", lambda: "cocoa")
    monkeypatch.setattr(quick_access, "FRAMEWORKS", "/nowhere")
    assert type(quick_access.quick_access()) is QuickAccess
    monkeypatch.setattr(quick_access, "MacAccess", lambda parent: access)
    assert quick_access.quick_access() is access


@pytest.mark.parametrize("becomes_key", [True, False])
def test_the_window_is_a_panel_over_the_app_in_front(access: MacAccess, monkeypatch: pytest.MonkeyPatch, becomes_key: bool) -> None:
    calls: list[tuple[str, Any]] = []
    panel = SimpleNamespace(
        styleMask=lambda: 1,
        isKeyWindow=lambda: becomes_key,
        respondsToSelector_=lambda name: becomes_key and name == "_setPreventsActivation:",
        **{
            name: lambda value, name=name: calls.append((name, value))
            for name in ("setStyleMask_", "_setPreventsActivation_", "setCollectionBehavior_", "makeKeyAndOrderFront_")
        },
    )
    appkit, objc = ModuleType("AppKit"), ModuleType("objc")
    appkit.NSWindowStyleMaskNonactivatingPanel = 128  # type: ignore[attr-defined]
    appkit.NSWindowCollectionBehaviorMoveToActiveSpace = 2  # type: ignore[attr-defined]
    appkit.NSWindowCollectionBehaviorFullScreenAuxiliary = 256  # type: ignore[attr-defined]
    application = SimpleNamespace(activateIgnoringOtherApps_=lambda value: calls.append(("activate", value)))
    appkit.NSApplication = SimpleNamespace(sharedApplication=lambda: application)  # type: ignore[attr-defined]
    objc.objc_object = lambda c_void_p: SimpleNamespace(window=lambda: panel)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "AppKit", appkit)
    monkeypatch.setitem(sys.modules, "objc", objc)
    access.show_over_apps(7)
    prevents = [("_setPreventsActivation_", True)] if becomes_key else []  # else that method isn't there
    shown = [("setStyleMask_", 129), *prevents, ("setCollectionBehavior_", 258), ("makeKeyAndOrderFront_", None)]
    assert calls == [*shown, *([] if becomes_key else [("activate", True)])]
    appkit.NSPanel = SimpleNamespace(instancesRespondToSelector_=panel.respondsToSelector_)  # type: ignore[attr-defined]
    assert keeps_app_active() == becomes_key
    monkeypatch.setitem(sys.modules, "AppKit", None)
    access.show_over_apps(7)  # is logged


def test_shortcuts_are_named_as_on_a_mac() -> None:
    assert [shortcut_name(one) for one in SHORTCUTS] == ["⌥ Space", "⌥ ⇧ Space", "⌃ ⇧ Space", "⇧ ⌘ Space"]
