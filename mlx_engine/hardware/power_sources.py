"""The Mac's power sources, from IOKit, which no declared package has."""

import ctypes
from ctypes import c_bool, c_char_p, c_double, c_int, c_long, c_uint32, c_void_p
from typing import Any

_FRAMEWORKS = "/System/Library/Frameworks/{0}.framework/{0}"
_UTF8 = 0x08000100  # kCFStringEncodingUTF8
_DOUBLE = 13  # kCFNumberDoubleType
_LONGEST = 128  # bytes of the texts that are read
_FUNCTIONS: dict[str, dict[str, tuple[Any, tuple[Any, ...]]]] = {  # results and arguments, by framework
    "IOKit": {
        "IOPSCopyPowerSourcesInfo": (c_void_p, ()),
        "IOPSCopyPowerSourcesList": (c_void_p, (c_void_p,)),
        "IOPSGetPowerSourceDescription": (c_void_p, (c_void_p, c_void_p)),
        "IOPSGetProvidingPowerSourceType": (c_void_p, (c_void_p,)),
    },
    "CoreFoundation": {
        "CFArrayGetCount": (c_long, (c_void_p,)),
        "CFArrayGetValueAtIndex": (c_void_p, (c_void_p, c_long)),
        "CFDictionaryGetValue": (c_void_p, (c_void_p, c_void_p)),
        "CFNumberGetValue": (c_bool, (c_void_p, c_int, c_void_p)),
        "CFStringCreateWithCString": (c_void_p, (c_void_p, c_char_p, c_uint32)),
        "CFStringGetCString": (c_bool, (c_void_p, c_char_p, c_long, c_uint32)),
        "CFRelease": (None, (c_void_p,)),
    },
}


class PowerSources:
    """The functions of IOKit and Core Foundation that read power sources."""

    def __init__(self) -> None:
        self._call: dict[str, Any] = {}
        for framework, functions in _FUNCTIONS.items():
            library = ctypes.CDLL(_FRAMEWORKS.format(framework))
            for name, (result, arguments) in functions.items():
                function = self._call[name] = getattr(library, name)
                function.restype, function.argtypes = result, list(arguments)

    def read(self) -> tuple[bool, float | None]:
        """Return whether the Mac runs on a battery, and the charge of its own one.

        Raises:
            OSError: IOKit has no answer.
        """
        info = self._call["IOPSCopyPowerSourcesInfo"]()
        if not info:
            raise OSError("no power sources")
        try:
            source = self._text(self._call["IOPSGetProvidingPowerSourceType"](info))
            return source != "AC Power", self._charge(info)  # a UPS is a battery, too
        finally:
            self._call["CFRelease"](info)

    def _charge(self, info: int) -> float | None:
        sources = self._call["IOPSCopyPowerSourcesList"](info)
        if not sources:
            return None
        try:
            for index in range(self._call["CFArrayGetCount"](sources)):
                source = self._call["CFArrayGetValueAtIndex"](sources, index)
                facts = self._call["IOPSGetPowerSourceDescription"](info, source)
                if facts and self._text(self._value(facts, b"Type")) == "InternalBattery":
                    most = self._number(self._value(facts, b"Max Capacity"))
                    return min(self._number(self._value(facts, b"Current Capacity")) / most, 1.0) if most else None
            return None
        finally:
            self._call["CFRelease"](sources)

    def _value(self, facts: int, key: bytes) -> int | None:
        name = self._call["CFStringCreateWithCString"](None, key, _UTF8)
        try:
            return self._call["CFDictionaryGetValue"](facts, name)
        finally:
            self._call["CFRelease"](name)

    def _text(self, text: int | None) -> str:
        buffer = ctypes.create_string_buffer(_LONGEST)
        if not text or not self._call["CFStringGetCString"](text, buffer, _LONGEST, _UTF8):
            raise OSError("not a text")
        return buffer.value.decode()

    def _number(self, number: int | None) -> float:
        value = c_double()
        if not number or not self._call["CFNumberGetValue"](number, _DOUBLE, ctypes.byref(value)):
            raise OSError("not a number")
        return value.value
