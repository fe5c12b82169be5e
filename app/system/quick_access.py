"""A shortcut that works in every app, and the text that is selected there.

On a Mac, shortcuts are hot keys of Carbon, which need no permission; event taps and global monitors would. The selected text is
read with the Accessibility API after the user has allowed that. Other systems have neither: there, the user binds a key to a link.
"""

import ctypes
import logging
import sys
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

log = logging.getLogger(__name__)

FRAMEWORKS = "/System/Library/Frameworks"
SPACE = 49  # the key's code on all keyboards
MODIFIERS = {"command": 0x100, "shift": 0x200, "option": 0x800, "control": 0x1000}  # of Carbon
SYMBOLS = {"control": "⌃", "option": "⌥", "shift": "⇧", "command": "⌘"}  # in Apple's order
SHORTCUTS = ("option", "option-shift", "control-shift", "shift-command")  # modifiers of the space bar
MAX_SELECTION = 20_000  # characters
TIMEOUT_S = 0.5  # for an app that doesn't answer
_HOT_KEY_PRESSED = (0x6B657962, 5)  # class "keyb", kEventHotKeyPressed
_SIGNATURE = 0x536C6970  # "Slip"
_PREVENT_ACTIVATION = "_setPreventsActivation:"  # private, so it may be missing
_UTF8 = 0x08000100  # kCFStringEncodingUTF8


class QuickAccess(QObject):
    """The access of a system that offers none."""

    pressed = Signal()  # the shortcut
    has_shortcuts = False

    def set_shortcut(self, shortcut: str) -> bool:
        """Use one of `SHORTCUTS` in place of the current one, or none if empty.

        Returns:
            Whether the system accepts the shortcut.
        """
        return not shortcut

    def selected_text(self) -> str:
        """Return the text that is selected in the app in front, if that is allowed."""
        return ""

    def ask_permission(self) -> bool:
        """Let the system ask the user to allow `selected_text`, unless it is allowed.

        Returns:
            Whether it is.
        """
        return False

    def show_over_apps(self, view: int) -> None:
        """Let a window appear over the app in front, which stays active.

        Args:
            view: `QWidget.winId` of the window.
        """


class _HotKeyID(ctypes.Structure):
    _fields_ = (("signature", ctypes.c_uint32), ("id", ctypes.c_uint32))


class _EventType(ctypes.Structure):
    _fields_ = (("event_class", ctypes.c_uint32), ("kind", ctypes.c_uint32))


_Handler = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_pointer, _out = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)


class MacAccess(QuickAccess):
    """The access on a Mac.

    Args:
        load: returns the library with a path, for tests.
    """

    has_shortcuts = True

    def __init__(self, parent: QObject | None = None, load: Callable[[str], Any] = ctypes.CDLL) -> None:
        super().__init__(parent)
        self._load = load
        self._hot_key = ctypes.c_void_p()
        self._handler = _Handler(self._press)  # lives as long as Carbon may call it
        carbon = self._carbon = load(f"{FRAMEWORKS}/Carbon.framework/Carbon")
        carbon.GetApplicationEventTarget.restype = _pointer
        event_types = ctypes.POINTER(_EventType)
        carbon.InstallEventHandler.argtypes = [_pointer, _Handler, ctypes.c_ulong, event_types, _pointer, _out]
        word = ctypes.c_uint32
        carbon.RegisterEventHotKey.argtypes = [word, word, _HotKeyID, _pointer, word, _out]
        carbon.UnregisterEventHotKey.argtypes = [_pointer]
        self._target = _pointer(carbon.GetApplicationEventTarget())
        self._installed = False

    def _press(self, *_: object) -> int:
        self.pressed.emit()
        return 0

    def set_shortcut(self, shortcut: str) -> bool:
        if self._hot_key:
            self._carbon.UnregisterEventHotKey(self._hot_key)
            self._hot_key = ctypes.c_void_p()
        if not shortcut:
            return True
        if not self._installed:
            pressed = _EventType(*_HOT_KEY_PRESSED)
            self._installed = not self._carbon.InstallEventHandler(self._target, self._handler, 1, pressed, None, None)
        modifiers = sum(MODIFIERS[name] for name in shortcut.split("-"))
        made = ctypes.c_void_p()
        status = self._carbon.RegisterEventHotKey(SPACE, modifiers, _HotKeyID(_SIGNATURE, 1), self._target, 0, made)
        if not status:
            self._hot_key = made
        return self._installed and not status

    def selected_text(self) -> str:
        accessibility, foundation = self._accessibility(), self._foundation()
        if not accessibility.AXIsProcessTrusted():
            return ""
        system = accessibility.AXUIElementCreateSystemWide()
        accessibility.AXUIElementSetMessagingTimeout(system, TIMEOUT_S)
        focused = self._attribute(system, "AXFocusedUIElement")
        selected = self._attribute(focused, "AXSelectedText") if focused else None
        text = ""
        if selected and foundation.CFGetTypeID(selected) == foundation.CFStringGetTypeID():
            text = self._text(selected)
        for made in (system, focused, selected):
            if made:
                foundation.CFRelease(made)
        return text[:MAX_SELECTION]

    def _attribute(self, element: int, name: str) -> int | None:
        """Return the value of an element's attribute, which the caller releases, or None."""
        foundation, value = self._foundation(), ctypes.c_void_p()
        key = foundation.CFStringCreateWithCString(None, name.encode(), _UTF8)
        status = self._accessibility().AXUIElementCopyAttributeValue(element, key, value)
        foundation.CFRelease(key)
        return value.value if not status else None

    def _text(self, string: int) -> str:
        foundation = self._foundation()
        size = foundation.CFStringGetMaximumSizeForEncoding(foundation.CFStringGetLength(string), _UTF8) + 1
        buffer = ctypes.create_string_buffer(size)
        done = foundation.CFStringGetCString(string, buffer, size, _UTF8)
        return buffer.value.decode("utf-8", "replace") if done else ""

    def ask_permission(self) -> bool:
        accessibility, foundation = self._accessibility(), self._foundation()
        key = ctypes.c_void_p.in_dll(accessibility, "kAXTrustedCheckOptionPrompt")
        value = ctypes.c_void_p.in_dll(foundation, "kCFBooleanTrue")
        callbacks = [
            ctypes.addressof(ctypes.c_char.in_dll(foundation, f"kCFTypeDictionary{kind}CallBacks")) for kind in ("Key", "Value")
        ]
        options = foundation.CFDictionaryCreate(None, ctypes.byref(key), ctypes.byref(value), 1, *callbacks)
        trusted = bool(accessibility.AXIsProcessTrustedWithOptions(options))
        foundation.CFRelease(options)
        return trusted

    def _accessibility(self) -> Any:
        library = self._load(f"{FRAMEWORKS}/ApplicationServices.framework/ApplicationServices")
        library.AXIsProcessTrusted.restype = library.AXIsProcessTrustedWithOptions.restype = ctypes.c_bool
        library.AXIsProcessTrustedWithOptions.argtypes = [_pointer]
        library.AXUIElementCreateSystemWide.restype = _pointer
        library.AXUIElementSetMessagingTimeout.argtypes = [_pointer, ctypes.c_float]
        library.AXUIElementCopyAttributeValue.argtypes = [_pointer, _pointer, _out]
        return library

    def _foundation(self) -> Any:
        library = self._load(f"{FRAMEWORKS}/CoreFoundation.framework/CoreFoundation")
        library.CFRelease.argtypes = library.CFGetTypeID.argtypes = library.CFStringGetLength.argtypes = [_pointer]
        library.CFGetTypeID.restype = library.CFStringGetTypeID.restype = ctypes.c_ulong
        library.CFStringCreateWithCString.argtypes = [_pointer, ctypes.c_char_p, ctypes.c_uint32]
        library.CFStringCreateWithCString.restype = library.CFDictionaryCreate.restype = _pointer
        library.CFStringGetLength.restype = library.CFStringGetMaximumSizeForEncoding.restype = ctypes.c_long
        library.CFStringGetMaximumSizeForEncoding.argtypes = [ctypes.c_long, ctypes.c_uint32]
        library.CFStringGetCString.argtypes = [_pointer, ctypes.c_char_p, ctypes.c_long, ctypes.c_uint32]
        library.CFStringGetCString.restype = ctypes.c_bool
        library.CFDictionaryCreate.argtypes = [_pointer, _pointer, _pointer, ctypes.c_long, _pointer, _pointer]
        return library

    def show_over_apps(self, view: int) -> None:
        try:
            import AppKit
            import objc

            panel: Any = objc.objc_object(c_void_p=view).window()
            panel.setStyleMask_(panel.styleMask() | AppKit.NSWindowStyleMaskNonactivatingPanel)
            if panel.respondsToSelector_(_PREVENT_ACTIVATION):
                panel._setPreventsActivation_(True)  # which AppKit does only for panels that are made with this style
            behavior = AppKit.NSWindowCollectionBehaviorMoveToActiveSpace | AppKit.NSWindowCollectionBehaviorFullScreenAuxiliary
            panel.setCollectionBehavior_(behavior)
            panel.makeKeyAndOrderFront_(None)
            if not panel.isKeyWindow():
                AppKit.NSApplication.sharedApplication().activateIgnoringOtherApps_(True)
        except (ImportError, AttributeError, ValueError):
            log.exception("The quick window may not be in front")


def keeps_app_active() -> bool:
    """Whether the quick window can have the keyboard while another app stays active."""
    import AppKit

    return bool(AppKit.NSPanel.instancesRespondToSelector_(_PREVENT_ACTIVATION))


def has_shortcuts() -> bool:
    """Whether this system has shortcuts that work in every app."""
    return sys.platform == "darwin"


def quick_access(parent: QObject | None = None) -> QuickAccess:
    """Return the access of this system."""
    if sys.platform == "darwin" and QGuiApplication.platformName() == "cocoa":  # then windows are NSViews
        try:
            return MacAccess(parent)
        except (OSError, AttributeError):
            log.exception("Can't use Carbon for the shortcut of the quick window")
    return QuickAccess(parent)


def shortcut_name(shortcut: str) -> str:
    """Return a shortcut in the Mac's notation."""
    return " ".join(SYMBOLS[name] for name in SYMBOLS if name in shortcut.split("-")) + " Space"
