"""Control characters in text that others wrote. A terminal obeys them; a model's text, or a name in its files, may not make it."""

_SEVEN_BITS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}  # Unicode has a picture of each
# U+0080 to U+009F are each an escape and a letter in one, which is how they are shown
_EIGHT_BITS = {0x80 + letter: "␛" + chr(0x40 + letter) for letter in range(0x20)}
_PICTURES = {**_SEVEN_BITS, 0x7F: "␡", **_EIGHT_BITS}


def visible(text: str) -> str:
    """The text with a picture of each control character but tab and line feed, such as “␛”, which a terminal only shows."""
    return text.translate(_PICTURES)
