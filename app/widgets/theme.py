"""The appearance of the window: fonts, sizes, and colors."""

import sys
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.system import macos
from app.system.appearance import DEFAULT_TEXT_SIZE, TEXT_SIZES, Appearance, Contrast
from app.widgets.colors import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, Colors
from app.widgets.formulas import Typesetter
from app.widgets.picture_loader import PictureLoader
from app.widgets.style_sheet import style_sheet

FONTS = Path(__file__).parents[2] / "resources" / "fonts"
SMALL = 0.86  # of the text size, for statistics and captions
LISTED = 0.93  # of the text size, for rows of a list

COLUMN = 760  # maximum width of text
MARGIN = 20
INDENT = 26  # of a list
QUOTE = 18
DEEPEST_INDENT = 8  # deeper nesting isn't indented further


class Theme(QObject):
    """The window's current appearance.

    Views redraw on `changed`, and lay out again on `text_resized`, which is emitted after `changed`.
    """

    changed = Signal()
    text_resized = Signal()
    token_sources_changed = Signal()

    def __init__(self, app: QApplication, appearance: Appearance = "system") -> None:
        super().__init__(app)
        self._app = app
        self.appearance: Appearance = "system"
        self.contrast: Contrast = "system"
        self.reduce_motion = False
        self.shows_token_sources = False
        self._system_animates = not macos.reduces_motion()
        self.colors = LIGHT
        self.text_font = _text_font(app)
        self.code_font = _code_font(self.text_font)
        self.typesetter = Typesetter(self)
        self.pictures = PictureLoader(self)
        app.setFont(self.text_font)
        app.styleHints().colorSchemeChanged.connect(self._apply)
        app.styleHints().accessibility().contrastPreferenceChanged.connect(self._apply)
        app.styleHints().setColorScheme(Qt.ColorScheme.Unknown)
        self._apply()
        self.set_appearance(appearance)

    @property
    def dark(self) -> bool:
        return self.colors in (DARK, DARK_CONTRAST)

    @property
    def animates(self) -> bool:
        return self._system_animates and not self.reduce_motion

    def set_appearance(self, appearance: Appearance) -> None:
        if appearance == self.appearance:
            return
        self.appearance = appearance
        schemes = {"system": Qt.ColorScheme.Unknown, "light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        self._app.styleHints().setColorScheme(schemes[appearance])
        self._apply()

    def set_contrast(self, contrast: Contrast) -> None:
        if contrast != self.contrast:
            self.contrast = contrast
            self._apply()

    def set_text_size(self, pixels: int) -> None:
        """Set the size of body text. All other text scales with it."""
        pixels = min(max(pixels, TEXT_SIZES[0]), TEXT_SIZES[-1])
        if pixels == self.text_pixels:
            return
        self.text_font.setPixelSize(pixels)
        self.code_font.setPixelSize(_code_pixels(pixels))
        self._app.setFont(self.text_font)
        self._apply()
        self.text_resized.emit()

    def show_token_sources(self, shown: bool) -> None:
        if shown != self.shows_token_sources:
            self.shows_token_sources = shown
            self.token_sources_changed.emit()

    def set_font(self, widget: QWidget, share: float, bold: bool = False) -> None:
        """Set a widget's font to a share of the text size, now and after changes."""
        widget.setProperty("text_share", share)
        widget.setProperty("text_bold", bold)
        widget.setFont(self.font(share, bold))

    def font(self, share: float, bold: bool = False) -> QFont:
        font = QFont(self.text_font)
        font.setPixelSize(round(self.text_pixels * share))
        font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        return font

    def small(self, bold: bool = False) -> QFont:
        return self.font(SMALL, bold)

    def list_font(self) -> QFont:
        return self.font(LISTED)

    def large(self, factor: float) -> QFont:
        return self.font(factor, bold=True)

    def scaled(self, pixels: int) -> int:
        """Scale a length up with the text size. Smaller text doesn't reduce the length."""
        return round(pixels * max(1.0, self.text_pixels / DEFAULT_TEXT_SIZE))

    def row_height(self, lines: int = 1) -> int:
        return self.scaled(32) + (lines - 1) * round(self.text_pixels * 1.6)

    @property
    def text_pixels(self) -> int:
        return self.text_font.pixelSize()

    @Slot()
    def _apply(self) -> None:
        hints = self._app.styleHints()
        dark = self.appearance == "dark" or (self.appearance == "system" and hints.colorScheme() == Qt.ColorScheme.Dark)
        high = self.contrast == "high" or (
            self.contrast == "system" and hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast
        )
        self.colors = (DARK_CONTRAST if high else DARK) if dark else (LIGHT_CONTRAST if high else LIGHT)
        self._app.setPalette(_palette(self.colors))
        menus = _palette(self.colors)
        menus.setColor(QPalette.ColorRole.Window, QColor(self.colors.disabled).lighter(140))  # Fusion darkens it for check boxes
        self._app.setPalette(menus, "QMenu")  # type: ignore[arg-type]  # PySide refuses bytes
        sheet = style_sheet(self.colors, self.small().pixelSize(), self.scaled)
        if sheet != self._app.styleSheet():  # Qt styles every widget again even if nothing has changed
            self._app.setStyleSheet(sheet)
        for widget in self._app.allWidgets():  # a new style sheet resets the fonts
            if (share := widget.property("text_share")) is not None:
                self.set_font(widget, share, widget.property("text_bold") is True)
        self.changed.emit()


def _palette(c: Colors) -> QPalette:
    palette = QPalette()
    roles = QPalette.ColorRole
    for role, color in (
        (roles.Window, c.window),
        (roles.Base, c.raised),
        (roles.AlternateBase, c.code),
        (roles.Button, c.raised),
        (roles.Text, c.text),
        (roles.WindowText, c.text),
        (roles.ButtonText, c.text),
        (roles.PlaceholderText, c.faint),
        (roles.ToolTipBase, c.raised),
        (roles.ToolTipText, c.text),
        (roles.Highlight, c.selection),
        (roles.HighlightedText, c.text),
        (roles.Link, c.accent),
        (roles.LinkVisited, c.accent),
        (roles.Accent, c.accent),
        (roles.Mid, c.line),
        (roles.Midlight, c.line),
        (roles.Light, c.raised),
        (roles.Dark, c.line),
    ):
        palette.setColor(role, QColor(color))
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(c.disabled))
    return palette


def _text_font(app: QApplication) -> QFont:
    """Return the system font, or Inter if Linux has only a basic one."""
    font = app.font()
    if sys.platform != "darwin" and QFontInfo(font).family() in ("DejaVu Sans", "Bitstream Vera Sans", "Sans Serif", ""):
        for file in sorted(FONTS.glob("*.ttf")):
            QFontDatabase.addApplicationFont(str(file))
        font.setFamilies(["Inter", font.family()])
    font.setPixelSize(DEFAULT_TEXT_SIZE)
    return font


def _code_font(text: QFont) -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    for family in ("SF Mono", "Menlo", "JetBrains Mono"):
        if family in QFontDatabase.families():
            font.setFamily(family)
            break
    font.setStyleHint(QFont.StyleHint.Monospace)
    for ligatures in ("calt", "liga"):
        font.setFeature(QFont.Tag(ligatures), 0)
    font.setPixelSize(_code_pixels(text.pixelSize()))
    return font


def _code_pixels(text: int) -> int:
    return round(text * 0.88)


def set_look(widget: QWidget, name: str) -> None:
    """Apply a look of the style sheet."""
    if widget.property("look") != name:
        widget.setProperty("look", name)
        if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            return  # the style sheet hasn't been applied yet
        font = widget.font()
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        if widget.property("text_share") is not None:
            widget.setFont(font)  # the style sheet has restored an earlier one
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))  # updates the size, which includes the padding
