"""One setting: how it is stored, checked, shown, and when it takes effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, Literal, Protocol, TypeVar, overload

from PySide6.QtCore import QSettings

T = TypeVar("T")
Section = Literal["appearance", "general"]


class Settings(Protocol):
    """The owner of settings: their file, and what happens after a change."""

    file: QSettings

    def apply(self) -> None: ...


class Setting(Generic[T]):
    """A class attribute that reads and writes one value of the settings file.

    Args:
        key: in the settings file. The type is the default's.
        default: used until the user chooses, and in place of an invalid value.
        label: name in the Settings window.
        choices: allowed values with their names, in order; None for a switch.
        help: one short sentence under the control.
        section: of the Settings window.
        takes_effect: immediately, or after a restart.
    """

    def __init__(
        self,
        key: str,
        default: T,
        label: Callable[[], str],
        *,
        choices: Callable[[], Mapping[T, str]] | None = None,
        help: Callable[[], str] | None = None,
        section: Section = "appearance",
        takes_effect: Literal["now", "after restart"] = "now",
    ) -> None:
        self.key, self.default, self.label = key, default, label
        self.choices, self.help = choices, help
        self.section, self.takes_effect = section, takes_effect

    def read(self, settings: Settings) -> T:
        return self.parse(settings.file.value(self.key))

    def write(self, settings: Settings, value: T) -> None:
        settings.file.setValue(self.key, value)
        settings.apply()

    def parse(self, stored: object) -> T:
        """Return the stored value, or the default if it is missing or invalid."""
        text = str(stored)
        value: object = text
        if isinstance(self.default, bool):
            value = {"true": True, "false": False}.get(text.lower())
        elif isinstance(self.default, int):
            value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
        valid = type(value) is type(self.default) and (self.choices is None or value in self.choices())
        return value if valid else self.default  # type: ignore[return-value]

    @overload
    def __get__(self, settings: None, owner: type) -> Setting[T]: ...

    @overload
    def __get__(self, settings: Settings, owner: type) -> T: ...

    def __get__(self, settings: Settings | None, owner: type) -> Setting[T] | T:
        return self if settings is None else self.read(settings)

    def __set__(self, settings: Settings, value: T) -> None:
        self.write(settings, value)
