"""The settings table. Add a setting to `Preferences` and translate its texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Generic, Literal, Protocol, TypeVar, overload

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.storage.json_values import parse_json
from app.storage.settings import ChatSettings
from app.storage.wording import percent
from app.system.appearance import DEFAULT_TEXT_SIZE, TEXT_SIZES, Appearance, Contrast
from app.system.quick_access import SHORTCUTS, shortcut_name
from app.text.language import LANGUAGES, tr, translated
from mlx_engine.api_server import PORT
from mlx_engine.contract.errors import UserError
from mlx_engine.mcp.tool_turn import MOST_STEPS
from mlx_engine.network import offline

T = TypeVar("T")
_PROMPT_SPACES = ("2", "5", "10", "20", "50")  # GB
_HUB = "huggingface.co"  # the example of what Offline refuses
_TOOL_STEPS = ("5", "10", "25", "50", "100")
Pane = Literal["general", "appearance", "models", "chats", "tools", "privacy", "network", "advanced"]


class Setting(Generic[T]):
    """A class attribute that reads and writes a value in the settings file."""

    def __init__(
        self,
        key: str,  # in the settings file
        default: T,  # until the user chooses, and in place of an invalid value
        label: Callable[[], str],
        *,
        choices: Callable[[], Mapping[T, str]] | None = None,  # names of the allowed values, in order; None for a switch
        allowed: range | None = None,  # the allowed values, instead of choices
        help: Callable[[], str] | None = None,
        pane: Pane | None = "appearance",  # None if another window shows the setting
    ) -> None:
        self.key, self.default, self.label = key, default, label
        self.choices, self.allowed, self.help, self.pane = choices, allowed, help, pane

    def read(self, preferences: Preferences) -> T:
        """Return the stored value, or the default if it is missing or invalid."""
        text = str(preferences.file.value(self.key))
        value: object = text
        if isinstance(self.default, bool):
            value = {"true": True, "false": False}.get(text.lower())
        elif isinstance(self.default, int):
            value = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
        allowed = self.choices() if self.choices is not None else self.allowed
        valid = type(value) is type(self.default) and (allowed is None or value in allowed)
        return value if valid else self.default  # type: ignore[return-value]

    def write(self, preferences: Preferences, value: T) -> None:
        preferences.file.setValue(self.key, value)
        preferences.apply()

    def reset(self, preferences: Preferences) -> None:
        """Restore the default."""
        preferences.file.remove(self.key)

    def locked(self) -> str:
        """Return why the user can't change the setting, or an empty text."""
        return ""

    @overload
    def __get__(self, preferences: None, owner: type) -> Setting[T]: ...

    @overload
    def __get__(self, preferences: Preferences, owner: type) -> T: ...

    def __get__(self, preferences: Preferences | None, owner: type) -> Setting[T] | T:
        return self if preferences is None else self.read(preferences)

    def __set__(self, preferences: Preferences, value: T) -> None:
        self.write(preferences, value)


class OfflineSwitch(Setting[bool]):
    """The Offline switch, which isn't in the settings file: all processes follow it."""

    def read(self, preferences: Preferences) -> bool:
        return offline.is_offline()

    def write(self, preferences: Preferences, value: bool) -> None:
        if reason := self.locked():
            preferences.failed.emit(reason)
        else:
            try:
                offline.set_offline(value)
            except UserError as error:
                preferences.failed.emit(translated(error.text))
        preferences.apply()

    def reset(self, preferences: Preferences) -> None:
        if self.read(preferences) and not self.locked():
            self.write(preferences, self.default)

    def locked(self) -> str:
        return translated(offline.refusal(_HUB).text) if offline.is_forced() else ""


class Look(Protocol):
    """What preferences change immediately: the theme."""

    reduce_motion: bool

    def set_appearance(self, appearance: Appearance) -> None: ...
    def set_contrast(self, contrast: Contrast) -> None: ...
    def set_text_size(self, pixels: int) -> None: ...
    def show_token_sources(self, shown: bool) -> None: ...


class Preferences(QObject):
    """The current settings. Setting an attribute saves and applies the value."""

    appearance = Setting[Appearance](
        "appearance",
        "system",
        lambda: tr("Appearance"),
        choices=lambda: {"system": tr("System"), "light": tr("Light"), "dark": tr("Dark")},
    )
    contrast = Setting[Contrast](
        "contrast",
        "system",
        lambda: tr("Contrast"),
        choices=lambda: {"system": tr("System"), "standard": tr("Standard"), "high": tr("High")},
    )
    text_size = Setting(
        "text_size",
        DEFAULT_TEXT_SIZE,
        lambda: tr("Text size"),
        choices=lambda: {size: percent(size / DEFAULT_TEXT_SIZE) for size in TEXT_SIZES},
    )
    reduce_motion = Setting(
        "less_motion",
        False,
        lambda: tr("Reduce motion"),
        help=lambda: tr("Turns off animations."),
    )
    token_sources = Setting(
        "tint",
        False,
        lambda: tr("Show token sources"),
        help=lambda: tr("Underlines drafted, copied, and target tokens in different styles."),
    )
    language = Setting(
        "language",
        "system",
        lambda: tr("Language"),
        choices=lambda: {"system": tr("System"), **LANGUAGES},
        help=lambda: tr("Takes effect after you restart Slipstream."),
        pane="general",
    )
    chat_titles = Setting(
        "chat_titles",
        True,
        lambda: tr("Generate chat titles"),
        help=lambda: tr("The loaded model writes a title after the first reply, except with the demo pair."),
        pane="general",
    )
    auto_compact = Setting(
        "auto_compact",
        False,
        lambda: tr("Summarize older messages when the context is nearly full"),
        help=lambda: tr("They stay in the chat, and you can undo it. Not with the demo pair."),
        pane="general",
    )
    quiet_mode = Setting(
        "quiet_mode",
        False,
        lambda: tr("Quiet mode"),
        help=lambda: tr(
            "Rests half of the time: replies take about twice as long, with the same text. Chat titles and measurements wait, and "
            "a running tuning is paused."
        ),
        pane="general",
    )
    quiet_on_battery = Setting(
        "quiet_on_battery",
        False,
        lambda: tr("Turn on quiet mode on battery"),
        help=lambda: tr("Turns off again when this computer is connected to power."),
        pane="general",
    )
    serve_at_launch = Setting(
        "serve_at_launch",
        False,
        lambda: tr("Start the server at launch"),
        help=lambda: tr("Other programs on this computer can then use the loaded model."),
        pane="general",
    )
    load_on_request = Setting(
        "load_on_request",
        False,
        lambda: tr("Load models on request"),
        help=lambda: tr("Programs can ask the server for another downloaded model, which replaces the loaded one."),
        pane="general",
    )
    quick_shortcut = Setting(
        "quick_shortcut",
        "off",
        lambda: tr("Shortcut for Quick Chat"),
        choices=lambda: {"off": tr("Off"), **{keys: shortcut_name(keys) for keys in SHORTCUTS}},
        help=lambda: tr("Opens a small window over any app."),
        pane="general",
    )
    quick_selection = Setting(
        "quick_selection",
        False,
        lambda: tr("Start Quick Chat with the selected text"),
        help=lambda: tr("macOS asks you for the Accessibility permission."),
        pane="general",
    )
    menu_bar_icon = Setting(
        "menu_bar_icon",
        False,
        lambda: tr("Show an icon in the menu bar"),
        help=lambda: tr("Its menu opens Quick Chat, chats, and the window."),
        pane="general",
    )
    server_port = Setting("server_port", PORT, lambda: tr("Port"), allowed=range(65536), pane=None)
    offline = OfflineSwitch(
        "offline",
        False,
        lambda: tr("Offline"),
        help=lambda: tr(
            "Slipstream connects to no other computer. Transfers end immediately; downloads can be resumed. Programs that "
            "you add as tools, coding agents, and your browser aren't covered."
        ),
        pane="privacy",
    )
    token_probabilities = Setting(
        "token_probabilities",
        False,
        lambda: tr("Record token probabilities"),
        help=lambda: tr(
            "The details of a reply then show how likely each token was, and which others were. They are kept until you open "
            "another chat. Only with models on this computer."
        ),
        pane="advanced",
    )
    check_for_updates = Setting(
        "look_for_versions",
        False,
        lambda: tr("Check for updates at launch"),
        help=lambda: tr("Requests the newest version number and sends nothing else."),
        pane="privacy",
    )
    save_prompts = Setting(
        "save_prompts",
        True,
        lambda: tr("Save prompts on disk"),
        help=lambda: tr(
            "Replies in earlier chats and to coding agents start sooner. Deleting a chat also deletes its saved prompts. "
            "Turning this off deletes all saved prompts."
        ),
        pane="privacy",
    )
    prompt_space = Setting(
        "prompt_space",
        "automatic",
        lambda: tr("Space for saved prompts"),
        choices=lambda: {"automatic": tr("Automatic"), **{count: f"{count} GB" for count in _PROMPT_SPACES}},
        help=lambda: tr("Automatic: 10 GB or 10% of the free space, whichever is less."),
        pane="privacy",
    )

    tool_steps = Setting(
        "tool_steps",
        str(MOST_STEPS),
        lambda: tr("Steps per reply"),
        choices=lambda: {count: count for count in _TOOL_STEPS},
        help=lambda: tr(
            "A step ends when the model calls tools and gets their results. In the last step, the model answers without tools."
        ),
        pane="tools",
    )

    changed = Signal()
    failed = Signal(str)  # why a setting can't be saved
    restart_requested = Signal()

    def __init__(self, look: Look, file: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look, self.file = look, file
        self._language_at_launch = self.language
        self.apply()

    @property
    def new_chats(self) -> ChatSettings:
        """Settings of new chats."""
        return ChatSettings.from_json(parse_json(str(self.file.value("new_chats"))))

    @new_chats.setter
    def new_chats(self, settings: ChatSettings) -> None:
        self.file.setValue("new_chats", json.dumps(settings.to_json()))
        self.changed.emit()

    def reset(self) -> None:
        """Reset all settings to their defaults."""
        self.file.remove("new_chats")
        for setting in SETTINGS:
            setting.reset(self)
        self.apply()

    def apply(self) -> None:
        """Apply the current values."""
        look = self._look
        look.set_appearance(self.appearance)
        look.set_contrast(self.contrast)
        look.set_text_size(self.text_size)
        look.reduce_motion = self.reduce_motion
        look.show_token_sources(self.token_sources)
        self.changed.emit()

    @property
    def needs_restart(self) -> bool:
        """Whether the current language takes effect only after a restart."""
        return self.language != self._language_at_launch

    @Slot()
    def larger_text(self) -> None:
        self._step_text_size(1)

    @Slot()
    def smaller_text(self) -> None:
        self._step_text_size(-1)

    @Slot()
    def reset_text_size(self) -> None:
        self.text_size = DEFAULT_TEXT_SIZE

    def _step_text_size(self, step: int) -> None:
        place = TEXT_SIZES.index(self.text_size) + step
        if 0 <= place < len(TEXT_SIZES):
            self.text_size = TEXT_SIZES[place]


SETTINGS: tuple[Setting, ...] = tuple(value for value in vars(Preferences).values() if isinstance(value, Setting))
