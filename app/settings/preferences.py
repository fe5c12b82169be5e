"""What the user chose for the whole app: appearance, contrast, text size, motion. It holds at once, and after a restart."""

from typing import get_args

from PySide6.QtCore import QObject, QSettings, Signal, Slot

from app.language import LANGUAGES
from app.widgets.theme import DEFAULT_TEXT_SIZE, TEXT_SIZES, Appearance, Contrast, Theme


class Preferences(QObject):
    """Kept in the settings file, put in force in the theme. What is not understood there counts as not said."""

    changed = Signal()
    restart_requested = Signal()

    def __init__(self, theme: Theme, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = settings
        appearance = settings.value("appearance")
        if appearance in get_args(Appearance):
            theme.set_appearance(appearance)
        contrast = settings.value("contrast")
        if contrast in get_args(Contrast):
            theme.set_contrast(contrast)
        size = str(settings.value("text_size", DEFAULT_TEXT_SIZE))
        theme.set_text_size(int(size) if size.isascii() and size.isdigit() else DEFAULT_TEXT_SIZE)
        theme.set_tinted(settings.value("tint", False, bool) is True)
        theme.reduce_motion = settings.value("less_motion", False, bool) is True

    @property
    def appearance(self) -> Appearance:
        return self._theme.appearance

    @property
    def contrast(self) -> Contrast:
        return self._theme.contrast

    @property
    def text_size(self) -> int:
        return self._theme.text_pixels

    @property
    def less_motion(self) -> bool:
        return self._theme.reduce_motion

    def set_appearance(self, appearance: Appearance) -> None:
        """Light, dark, or as the system is."""
        self._theme.set_appearance(appearance)
        self._keep("appearance", appearance)

    def set_contrast(self, contrast: Contrast) -> None:
        """High, standard, or as the system is."""
        self._theme.set_contrast(contrast)
        self._keep("contrast", contrast)

    def set_text_size(self, pixels: int) -> None:
        """One of the sizes of the scale."""
        self._theme.set_text_size(pixels)
        self._keep("text_size", self._theme.text_pixels)

    @property
    def language(self) -> str:
        """That was asked for."""
        wanted = str(self._settings.value("language", "system"))
        return wanted if wanted in LANGUAGES else "system"

    def set_language(self, wanted: str) -> None:
        """One of `LANGUAGES`, or "system"."""
        self._keep("language", wanted)

    @Slot()
    def larger_text(self) -> None:
        self._step(1)

    @Slot()
    def smaller_text(self) -> None:
        self._step(-1)

    @Slot()
    def usual_text(self) -> None:
        self.set_text_size(DEFAULT_TEXT_SIZE)

    @Slot(bool)
    def set_less_motion(self, less: bool) -> None:
        """Nothing moves by itself. Where the system asks for it, that holds anyway."""
        self._theme.reduce_motion = less
        self._keep("less_motion", less)

    @property
    def tinted(self) -> bool:
        return self._theme.tinted

    @Slot(bool)
    def set_tinted(self, tinted: bool) -> None:
        """Replies show who supplied each token."""
        self._theme.set_tinted(tinted)
        self._keep("tint", tinted)

    def _step(self, step: int) -> None:
        place = TEXT_SIZES.index(self.text_size) if self.text_size in TEXT_SIZES else TEXT_SIZES.index(DEFAULT_TEXT_SIZE)
        if 0 <= place + step < len(TEXT_SIZES):
            self.set_text_size(TEXT_SIZES[place + step])

    def _keep(self, name: str, value: object) -> None:
        self._settings.setValue(name, value)
        self.changed.emit()
