"""Fonts, sizes, and the style sheet of the window. The colors are in `colors.py`."""

import sys
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app import macos
from app.rendering.formulas import Typesetter
from app.widgets.colors import DARK, DARK_CONTRAST, LIGHT, LIGHT_CONTRAST, Colors

Appearance = Literal["system", "light", "dark"]
Contrast = Literal["system", "standard", "high"]
FONTS = Path(__file__).parents[2] / "resources" / "fonts"
CONTROLS = Path(__file__).parents[2] / "resources" / "controls"
TEXT_SIZES = (12, 13, 14, 15, 16, 18, 20, 24)  # pixels
DEFAULT_TEXT_SIZE = 15
SMALL = 0.86  # of the text size: figures and captions
LISTED = 0.93  # of the text size: rows of a list

COLUMN = 760  # maximum width of text
MARGIN = 20
SCROLL_BAR = 11
RADIUS = 10
INDENT = 26  # of a list
QUOTE = 18
DEEPEST_INDENT = 8  # levels of nesting that are indented


class Theme(QObject):
    """The current appearance. Views redraw on `changed` and lay out again on `text_resized`, which follows it."""

    changed = Signal()
    text_resized = Signal()
    tint_changed = Signal()

    def __init__(self, app: QApplication, appearance: Appearance = "system") -> None:
        super().__init__(app)
        self._app = app
        self.appearance: Appearance = "system"
        self.contrast: Contrast = "system"
        self.reduce_motion = False
        self.tinted = False  # replies show token sources
        self._system_animates = not macos.reduces_motion()
        self.colors = LIGHT
        self.text_font = _text_font(app)
        self.code_font = _code_font(self.text_font)
        self.typesetter = Typesetter(self)
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
        """Whether animations are on."""
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

    def set_tinted(self, tinted: bool) -> None:
        if tinted != self.tinted:
            self.tinted = tinted
            self.tint_changed.emit()

    def set_font(self, widget: QWidget, share: float, bold: bool = False) -> None:
        """Set a widget's font to a share of the text size. The widget follows when the text size changes."""
        widget.setProperty("text_share", share)
        widget.setProperty("text_bold", bold)
        widget.setFont(self.font(share, bold))

    def font(self, share: float, bold: bool = False) -> QFont:
        """Return a font with this share of the text size."""
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

    def row_height(self, lines: int = 1) -> int:
        """Return the height of a list row with this many lines of text."""
        scale = max(1.0, self.text_pixels / DEFAULT_TEXT_SIZE)
        return round(32 * scale) + (lines - 1) * round(self.text_pixels * 1.6)

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
        self._app.setStyleSheet(_style_sheet(self.colors, self.small().pixelSize()))
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
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(c.faint))
    return palette


def _style_sheet(c: Colors, small: int) -> str:
    """Return styles for what the palette does not cover. They match the `look` property, so other controls stay native.

    Linux has no native look, so there fields and check boxes are drawn in the style of the buttons.
    """
    chip = round(small * 0.62)  # half the height of a chip
    return f"""
    QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 5px; }}
    QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}
    QPushButton[look="quiet"] {{ border: 1px solid transparent; border-radius: 6px; padding: 3px 7px; color: {c.secondary};
        background: transparent; font-size: {small}px; }}
    QPushButton[look="quiet"]:hover, QPushButton[look="quiet"]:focus {{ background: {c.hover}; color: {c.text}; }}
    QPushButton[look]:focus {{ border-color: {c.accent}; }}
    QPushButton[look="quiet"]:disabled {{ color: {c.faint}; background: transparent; }}
    QPushButton[look="arrow"] {{ border: 1px solid transparent; border-radius: 5px; padding: 0px 5px 1px 5px; color: {c.secondary};
        background: transparent; }}
    QPushButton[look="arrow"]:hover, QPushButton[look="arrow"]:focus {{ background: {c.hover}; color: {c.text}; }}
    QPushButton[look="arrow"]:disabled {{ color: {c.track}; background: transparent; }}
    QPushButton[look="bordered"] {{ border: 1px solid {c.line}; border-radius: 7px; padding: 5px 12px; color: {c.text};
        background: {c.raised}; font-size: {small}px; }}
    QPushButton[look="bordered"]:hover, QPushButton[look="bordered"]:focus {{ background: {c.hover}; }}
    QPushButton[look="bordered"]:disabled {{ color: {c.faint}; background: transparent; }}
    QPushButton[look="filter"] {{ border: 1px solid transparent; border-radius: {chip}px; padding: 2px 8px; color: {c.secondary};
        background: transparent; font-size: {small}px; }}
    QPushButton[look="filter"]:hover {{ background: {c.hover}; color: {c.text}; }}
    QPushButton[look="filter"]:checked {{ background: {c.chosen}; color: {c.text}; }}
    QPushButton[look="disclosure"] {{ border: 1px solid transparent; border-radius: 5px; padding: 1px 2px 1px 0px;
        color: {c.accent}; background: transparent; font-size: {small}px; text-align: left; }}
    QPushButton[look="disclosure"]:focus {{ border-color: {c.accent}; }}
    QPushButton[look="pair"] {{ border: 1px solid transparent; border-radius: 7px; padding: 4px 8px; color: {c.text};
        background: transparent; font-weight: 600; font-size: {small}px; text-align: left; }}
    QPushButton[look="pair"]:hover, QPushButton[look="pair"]:focus {{ background: {c.hover}; }}
    QPushButton[look="card"] {{ border: 1px solid {c.line}; border-radius: {RADIUS}px; padding: 12px 14px; color: {c.text};
        background: {c.raised}; text-align: left; }}
    QPushButton[look="card"]:hover, QPushButton[look="card"]:focus {{ background: {c.hover}; }}
    QPushButton[look="card"]:focus {{ border-color: {c.accent}; }}
    QPushButton[look="primary"] {{ border: 1px solid {c.accent}; border-radius: 7px; padding: 6px 14px; color: {c.on_accent};
        background: {c.accent}; font-size: {small}px; }}
    QPushButton[look="primary"]:focus {{ border-color: {c.text}; }}
    QPushButton[look="primary"]:disabled {{ color: {c.secondary}; background: {c.bubble}; border-color: {c.line}; }}
    QPushButton[look="card"]:disabled {{ color: {c.faint}; }}
    QPushButton[look="float"] {{ border: 1px solid {c.line}; border-radius: 15px; padding: 6px 14px; color: {c.text};
        background: {c.raised}; font-size: {small}px; }}
    QPushButton[look="float"]:hover {{ background: {c.hover}; }}
    QLabel[look="secondary"] {{ color: {c.secondary}; }}
    QLabel[look="faint"] {{ color: {c.faint}; }}
    QLabel[look="danger"] {{ color: {c.danger}; }}
    QLabel[look="chip"] {{ color: {c.secondary}; background: {c.bubble}; border-radius: {chip}px; padding: 2px 9px; }}
    QLabel[look="chip-accent"] {{ color: {c.accent}; background: {c.accent_ground}; border-radius: {chip}px; padding: 2px 9px; }}
    QFrame[look="bubble"] {{ background: {c.bubble}; border-radius: 14px; }}
    QFrame[look="code"] {{ background: {c.code}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="popover"] {{ background: {c.raised}; border: 1px solid {c.line}; }}
    QFrame[look="find"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="find"] QLineEdit {{ background: transparent; border: none; color: {c.text};
        selection-background-color: {c.selection}; selection-color: {c.text}; }}
    QFrame[look="composer"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 16px; }}
    QFrame[look="composer"][active="true"] {{ border-color: {c.accent}; }}
    QPlainTextEdit[look="field"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px;
        color: {c.text}; }}
    QPlainTextEdit[look="field"]:focus {{ border-color: {c.accent}; }}
    QListWidget[look="history"] {{ background: transparent; border: none; outline: 0; }}
    QListWidget[look="history"]::item {{ padding: 6px 8px; border-radius: 6px; color: {c.text}; }}
    QListWidget[look="history"]::item:hover {{ background: {c.hover}; }}
    QListWidget[look="history"]::item:selected {{ background: {c.chosen}; color: {c.text}; }}
    QFrame[look="notice"] {{ background: {c.bubble}; border-radius: {RADIUS}px; }}
    QFrame[look="error"] {{ background: {c.danger_ground}; border-radius: {RADIUS}px; }}
    QFrame[look="attachment"] {{ background: {c.bubble}; border: 1px solid {c.line}; border-radius: 9px; }}
    QDialog[look="palette"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 12px; }}
    QDialog[look="palette"] QListView {{ background: transparent; border: none; outline: 0; }}
    QLineEdit[look="palette"] {{ background: transparent; border: none; border-bottom: 1px solid {c.line}; padding: 8px 10px;
        color: {c.text}; selection-background-color: {c.selection}; selection-color: {c.text}; }}
    QFrame[look="drop"] {{ background: {c.accent_ground}; border: 2px dashed {c.accent}; border-radius: 16px; }}
    QFrame[look="focus"] {{ background: {c.accent}; border: none; }}
    QFrame[look="hairline"] {{ background: {c.line}; max-height: 1px; min-height: 1px; border: none; }}
    QFrame[look="upright"] {{ background: {c.line}; max-width: 1px; min-width: 1px; border: none; }}
    QWidget[look="sidebar"] {{ background: {c.sidebar}; }}
    QWidget[look="sidebar"] QAbstractItemView {{ background: transparent; border: none; outline: 0; }}
    QWidget[look="sidebar"] QAbstractItemView::item, QWidget[look="sidebar"] QAbstractItemView::branch {{
        background: transparent; }}
    QWidget[look="sidebar"] QAbstractItemView QLineEdit {{ background: {c.raised}; border: 1px solid {c.accent};
        border-radius: 6px; padding: 0 4px; color: {c.text}; }}
    QLineEdit[look="search"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 8px; padding: 4px 8px 4px 26px;
        color: {c.text}; font-size: {small}px; selection-background-color: {c.selection}; selection-color: {c.text}; }}
    QLineEdit[look="search"]:focus {{ border-color: {c.accent}; }}
    QFrame[look="undo"] {{ background: {c.bubble}; border-radius: {RADIUS}px; }}
    QSplitter::handle {{ background: {c.line}; }}
    QTextEdit, QPlainTextEdit {{ background: transparent; border: none; selection-background-color: {c.selection};
        selection-color: {c.text}; }}
    QScrollBar:vertical {{ background: transparent; width: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:vertical {{ background: {c.track}; border-radius: 3px; min-height: 36px; margin: 2px 3px; }}
    QScrollBar:horizontal {{ background: transparent; height: {SCROLL_BAR}px; margin: 0; }}
    QScrollBar::handle:horizontal {{ background: {c.track}; border-radius: 3px; min-width: 36px; margin: 3px 2px; }}
    QScrollBar::handle:disabled {{ background: transparent; }}
    QScrollBar::handle:hover:enabled {{ background: {c.faint}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    {"" if sys.platform == "darwin" else _controls(c)}
    """


def _controls(c: Colors) -> str:
    """Return styles of combo boxes, number fields, and check boxes."""
    icons = CONTROLS.as_posix()
    check = "white" if QColor(c.on_accent).lightnessF() > 0.5 else "black"
    return f"""
    QComboBox, QAbstractSpinBox, QLineEdit[look="entry"] {{ border: 1px solid {c.line}; border-radius: 7px; padding: 4px 8px;
        color: {c.text}; background: {c.raised}; selection-background-color: {c.selection}; selection-color: {c.text}; }}
    QComboBox {{ padding-right: 24px; combobox-popup: 0; }}
    QComboBox:hover {{ background: {c.hover}; }}
    QComboBox:focus, QAbstractSpinBox:focus, QLineEdit[look="entry"]:focus {{ border-color: {c.accent}; }}
    QComboBox:disabled, QAbstractSpinBox:disabled {{ color: {c.faint}; background: transparent; }}
    QComboBox::drop-down {{ border: none; width: 24px; }}
    QComboBox::down-arrow, QAbstractSpinBox::down-arrow {{ image: url("{icons}/down.svg"); width: 12px; height: 12px; }}
    QAbstractSpinBox::up-arrow {{ image: url("{icons}/up.svg"); width: 12px; height: 12px; }}
    QAbstractSpinBox {{ padding-right: 20px; }}
    QAbstractSpinBox QLineEdit {{ background: transparent; border: none; padding-left: 5px; }}
    QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ border: none; background: transparent; width: 20px; }}
    QAbstractSpinBox::up-button {{ subcontrol-position: top right; }}
    QAbstractSpinBox::down-button {{ subcontrol-position: bottom right; }}
    QComboBox QAbstractItemView {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 4px; outline: 0;
        selection-background-color: {c.chosen}; selection-color: {c.text}; }}
    QComboBox QAbstractItemView::item {{ min-height: 26px; padding: 0px 6px; }}
    QCheckBox {{ spacing: 8px; color: {c.text}; }}
    QCheckBox:disabled {{ color: {c.faint}; }}
    QCheckBox::indicator {{ width: 14px; height: 14px; border: 1px solid {c.faint}; border-radius: 4px; background: {c.raised}; }}
    QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {c.accent}; }}
    QCheckBox::indicator:checked {{ background: {c.accent}; border-color: {c.accent}; image: url("{icons}/check-{check}.svg"); }}
    QCheckBox::indicator:disabled {{ border-color: {c.track}; background: transparent; }}
    """


def _text_font(app: QApplication) -> QFont:
    """Return the system font, or the bundled Inter where Linux only has a font for small screens."""
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
    """Apply one of the looks of the style sheet."""
    if widget.property("look") != name:
        widget.setProperty("look", name)
        if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
            return  # not styled yet
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))  # updates the size, which includes the padding
