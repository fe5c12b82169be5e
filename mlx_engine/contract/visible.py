"""Untrusted text with visible symbols for control and invisible characters."""

_SEVEN_BITS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_EIGHT_BITS = {0x80 + letter: "␛" + chr(0x40 + letter) for letter in range(0x20)}  # each stands for an escape and a letter
# Bidi marks and overrides, line separators, characters without width or ink, and tags, which can hide or reorder text. The joiners
# U+200C and U+200D and the selectors from U+FE00 stay, because emoji and some scripts need them.
_INVISIBLE = (
    *(0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164, 0xFFA0),
    *(0x061C, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF),
    *(*range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)),
)
_HIDDEN = {code: f"<U+{code:04X}>" for code in _INVISIBLE}
_CONTROLS = {**_SEVEN_BITS, 0x7F: "␡", **_EIGHT_BITS}
_PICTURES = {**_CONTROLS, **_HIDDEN}
JSON_ESCAPES = {code: f"\\u{code:04x}" for code in (0x7F, *_EIGHT_BITS, *_HIDDEN) if code < 0x10000}


def visible(text: str) -> str:
    """Replace control, bidi, and invisible characters with visible symbols."""
    return text.translate(_PICTURES)


def without_controls(text: str) -> str:
    """Replace control characters, which terminals execute, with symbols."""
    return text.translate(_CONTROLS)
