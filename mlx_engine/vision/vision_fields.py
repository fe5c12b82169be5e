"""Fields of a target's vision settings, checked for type and range."""

import json
from collections.abc import Mapping
from typing import Any

from mlx_engine.contract.errors import UserError

_LARGEST = 1e9


class VisionFields:
    """The fields of a JSON object. An explicit null counts as absent.

    Args:
        place: the file, and the object in it, for messages.
        fields: the object.

    Raises:
        UserError: `fields` isn't an object; and by all methods, for a value that can't be used.
    """

    def __init__(self, place: str, fields: Any) -> None:
        if not isinstance(fields, Mapping):
            raise unusable(place, fields, "object")
        self._place, self._fields = place, fields

    def get(self, *names: str) -> Any:
        """Return the first of these fields that is present, or None."""
        return next((self._fields[name] for name in names if self._fields.get(name) is not None), None)

    def __contains__(self, name: str) -> bool:
        """Return whether a field is in the object, if only as null."""
        return name in self._fields

    def block(self, name: str) -> "VisionFields":
        """Return an object, empty if absent."""
        return VisionFields(f"{self._place}, {name}", {} if self.get(name) is None else self.get(name))

    def whole(self, *names: str, default: int | None = None, least: int = 1, most: int = 1 << 20) -> int:
        value = default if self.get(*names) is None else self.get(*names)
        if type(value) is not int or not least <= value <= most:
            raise self._unusable(names[0], value, f"{least:,} to {most:,}")
        return value

    def number(self, name: str, default: float, above: float = 0.0) -> float:
        value = default if self.get(name) is None else self.get(name)
        if type(value) not in (int, float) or not above < value < _LARGEST:  # also NaN
            raise self._unusable(name, value, f"> {above:g}")
        return float(value)

    def numbers(self, name: str, default: float, above: float) -> tuple[float, float, float]:
        """Return a value for each of the three channels."""
        value = self.get(name)
        values = value if isinstance(value, list) else [value] * 3
        if len(values) != 3:
            raise self._unusable(name, value, "3")
        red, green, blue = (VisionFields(self._place, {name: each}).number(name, default, above) for each in values)
        return red, green, blue

    def flag(self, name: str, default: bool) -> bool:
        value = default if self.get(name) is None else self.get(name)
        if type(value) is not bool:
            raise self._unusable(name, value, "true, false")
        return value

    def must_be(self, name: str, *supported: Any) -> None:
        """Refuse a present field with another value."""
        value = self.get(name)
        if value is not None and not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in supported):
            raise self._unusable(name, value, ", ".join(map(_short, supported)))

    def _unusable(self, name: str, value: Any, expected: str) -> UserError:
        return unusable(f"{self._place}, {name}", value, expected)


def unusable(field: str, value: Any, expected: str) -> UserError:
    return UserError(
        "vision_field_unusable",
        "This model can't see images: “{field}” is {value} (expected: {expected}). Download the model again, or choose another "
        "one.",
        field=field,
        value=_short(value),
        expected=expected,
    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "…"
