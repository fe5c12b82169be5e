"""Calls to macOS APIs. They do nothing on other systems."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mlx_engine.hardware.sensors import process_info

log = logging.getLogger(__name__)

# NSActivityUserInitiated prevents App Nap and idle sleep, but not display sleep.
USER_INITIATED = 0x00FFFFFF


class Activity:
    """An activity that prevents sleep and App Nap while anything holds it."""

    def __init__(self, process: Any = None) -> None:
        """Use `process` in place of NSProcessInfo.processInfo(), for tests."""
        self._process = process if process is not None else process_info()
        self._held: set[str] = set()
        self._token: Any = None

    def set_held(self, name: str, held: bool, reason: str = "") -> None:
        """Hold or release the activity. `pmset -g assertions` shows the reason."""
        (self._held.add if held else self._held.discard)(name)
        if self._process is None:
            return
        if self._held and self._token is None:
            self._token = self._process.beginActivityWithOptions_reason_(USER_INITIATED, reason or name)
        elif not self._held and self._token is not None:
            self._process.endActivity_(self._token)
            self._token = None


def reduces_motion() -> bool:
    """Whether Reduce Motion is on."""
    if sys.platform != "darwin":
        return False
    try:
        from AppKit import NSWorkspace

        return bool(NSWorkspace.sharedWorkspace().accessibilityDisplayShouldReduceMotion())
    except (ImportError, AttributeError):
        log.exception("Can't read the Reduce Motion setting")
        return False


def offer_service(ask: Callable[[str], object]) -> Any:
    """Receive texts from the Services menu's Ask Slipstream, declared in Info.plist.

    Returns:
        The receiver, which the caller must keep; None on other systems.
    """
    if sys.platform != "darwin":
        return None
    try:
        import objc
        from AppKit import NSApplication, NSPasteboardTypeString
        from Foundation import NSObject
    except ImportError:
        log.exception("Without pyobjc, Slipstream isn't in the Services menu")
        return None

    class SlipstreamService(NSObject):
        @partial(objc.selector, signature=b"v@:@@o^@")  # returns nothing; gets two objects, and a place for an error
        def askSlipstream_userData_error_(self, board: Any, data: Any, error: Any) -> None:
            try:
                ask(str(board.stringForType_(NSPasteboardTypeString) or ""))
            except Exception:  # it would end the app
                log.exception("Can't use a text from the Services menu")

    receiver = SlipstreamService.alloc().init()
    NSApplication.sharedApplication().setServicesProvider_(receiver)
    return receiver
