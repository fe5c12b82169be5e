"""The table of settings: add one in `Preferences` and translate its texts."""

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.language import LANGUAGES, tr
from app.settings.setting import Setting
from app.widgets.theme import DEFAULT_TEXT_SIZE, TEXT_SIZES, Appearance, Contrast, Theme


class Preferences(QObject):
    """The current settings. Setting an attribute stores and applies the value."""

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
        "text_size", DEFAULT_TEXT_SIZE, lambda: tr("Text size"), choices=lambda: {size: f"{size} px" for size in TEXT_SIZES}
    )
    reduce_motion = Setting(
        "less_motion",
        False,
        lambda: tr("Reduce motion"),
        help=lambda: tr("Turn off animations. Always off when Reduce Motion is on."),
    )
    token_sources = Setting(
        "tint",
        False,
        lambda: tr("Show token sources in replies"),
        help=lambda: tr("Underlines drafted, copied, and target tokens in different colors."),
    )
    language = Setting(
        "language",
        "system",
        lambda: tr("Language"),
        choices=lambda: {"system": tr("System"), **LANGUAGES},
        help=lambda: tr("Takes effect after restart."),
        section="general",
        takes_effect="after restart",
    )
    check_for_updates = Setting("look_for_versions", False, lambda: tr("Check for updates at launch"), section="general")

    changed = Signal()
    restart_requested = Signal()

    def __init__(self, theme: Theme, file: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme, self.file = theme, file
        self._at_launch = {setting.key: setting.read(self) for setting in SETTINGS}
        self.apply()

    def apply(self) -> None:
        """Put the current values into effect."""
        theme = self._theme
        theme.set_appearance(self.appearance)
        theme.set_contrast(self.contrast)
        theme.set_text_size(self.text_size)
        theme.reduce_motion = self.reduce_motion
        theme.show_token_sources(self.token_sources)
        self.changed.emit()

    def needs_restart(self, setting: Setting) -> bool:
        """Whether the current value is not in effect before a restart."""
        return setting.takes_effect == "after restart" and setting.read(self) != self._at_launch[setting.key]

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
