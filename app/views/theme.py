"""Every colour, font and measure of the window, for light and dark. No other file names a colour."""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.views.maths import Typesetter

Appearance = Literal["system", "light", "dark"]

COLUMN = 760  # widest line of reading
MARGIN = 20
SCROLL_BAR = 11
RADIUS = 10
INDENT = 26  # of a list
QUOTE = 18
DEEPEST_INDENT = 8  # what is nested deeper stands no further in


@dataclass(frozen=True)
class Colours:
    """Named by what they are for."""

    window: str
    sidebar: str
    raised: str  # composer, dialogs' fields
    bubble: str  # what the user said
    code: str  # ground of code
    hover: str
    chosen: str  # the row of the open chat
    line: str  # hairlines
    text: str
    secondary: str
    faint: str
    accent: str
    on_accent: str
    accent_ground: str
    danger: str
    danger_ground: str
    selection: str
    track: str  # a switch that is off, the rest of a bar
    knob: str
    # code
    comment: str
    keyword: str
    string: str
    number: str
    name: str
    builtin: str
    operator: str
    # search
    hit: str
    current_hit: str
    on_hit: str


LIGHT = Colours(
    window="#ffffff",
    sidebar="#f5f6f8",
    raised="#ffffff",
    bubble="#f0f2f5",
    code="#f6f7f9",
    hover="#eceef1",
    chosen="#dfe5ec",
    line="#dfe2e6",
    text="#1b1f24",
    secondary="#626a73",
    faint="#8b929b",
    accent="#0b6bcb",
    on_accent="#ffffff",
    accent_ground="#e7f1fb",
    danger="#b3261e",
    danger_ground="#fdf1f0",
    selection="#b9d7f5",
    track="#c3c8ce",
    knob="#ffffff",
    comment="#727a84",
    keyword="#8a2da5",
    string="#1a7f37",
    number="#9a5b00",
    name="#0550ae",
    builtin="#0b7285",
    operator="#505862",
    hit="#ffe9a8",
    current_hit="#ffc533",
    on_hit="#1b1f24",
)

DARK = Colours(
    window="#1b1d20",
    sidebar="#16181a",
    raised="#24272b",
    bubble="#2b2f34",
    code="#232629",
    hover="#2a2e33",
    chosen="#353b43",
    line="#373b41",
    text="#e7e9ec",
    secondary="#a2a9b2",
    faint="#7d858f",
    accent="#5aa9f5",
    on_accent="#0d1a26",
    accent_ground="#1f3247",
    danger="#f2938c",
    danger_ground="#3a2322",
    selection="#2f5580",
    track="#4b5057",
    knob="#f2f4f6",
    comment="#8b939d",
    keyword="#d2a0ec",
    string="#8ccf9a",
    number="#e6b673",
    name="#85bdf7",
    builtin="#7fd1de",
    operator="#b4bac2",
    hit="#6b5a1e",
    current_hit="#946800",
    on_hit="#ffffff",
)


class Theme(QObject):
    """The colours in force. Views draw from it and redraw on `changed`."""

    changed = Signal()

    def __init__(self, app: QApplication, appearance: Appearance = "system") -> None:
        super().__init__(app)
        self._app = app
        self.appearance: Appearance = appearance
        self.colours = LIGHT
        self.text_font = _text_font(app)
        self.code_font = _code_font(self.text_font)
        self.typesetter = Typesetter(self)
        app.setFont(self.text_font)
        app.styleHints().colorSchemeChanged.connect(self._apply)
        self.set_appearance(appearance)

    @property
    def dark(self) -> bool:
        return self.colours is DARK

    def set_appearance(self, appearance: Appearance) -> None:
        """Light, dark, or as the system is."""
        self.appearance = appearance
        schemes = {"system": Qt.ColorScheme.Unknown, "light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        self._app.styleHints().setColorScheme(schemes[appearance])
        self._apply()

    def small(self, bold: bool = False) -> QFont:
        """For figures and labels."""
        font = QFont(self.text_font)
        font.setPixelSize(round(self.text_pixels * 0.86))
        font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        return font

    def list_font(self) -> QFont:
        """For rows of a list: between text and labels."""
        font = QFont(self.text_font)
        font.setPixelSize(round(self.text_pixels * 0.93))
        return font

    def large(self, factor: float) -> QFont:
        """For headlines."""
        font = QFont(self.text_font)
        font.setPixelSize(round(self.text_pixels * factor))
        font.setWeight(QFont.Weight.DemiBold)
        return font

    @property
    def text_pixels(self) -> int:
        return self.text_font.pixelSize()

    @Slot()
    def _apply(self) -> None:
        dark = self.appearance == "dark" or (
            self.appearance == "system" and self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        )
        colours = DARK if dark else LIGHT
        self.colours = colours
        self._app.setPalette(_palette(colours))
        self._app.setStyleSheet(_style_sheet(colours, self.small().pixelSize()))
        self.changed.emit()


def _palette(c: Colours) -> QPalette:
    palette = QPalette()
    roles = QPalette.ColorRole
    for role, colour in (
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
        palette.setColor(role, QColor(colour))
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(c.faint))
    return palette


def _style_sheet(c: Colours, small: int) -> str:
    """Only for what the palette cannot say; matched by the `look` property, so that native controls stay native."""
    return f"""
    QToolTip {{ background: {c.raised}; color: {c.text}; border: 1px solid {c.line}; padding: 5px; }}
    QScrollArea, QScrollArea > QWidget > QWidget {{ background: transparent; }}
    QPushButton[look="quiet"] {{ border: none; border-radius: 6px; padding: 4px 8px; color: {c.secondary};
        background: transparent; font-size: {small}px; }}
    QPushButton[look="quiet"]:hover, QPushButton[look="quiet"]:focus {{ background: {c.hover}; color: {c.text}; }}
    QPushButton[look="quiet"]:disabled {{ color: {c.faint}; background: transparent; }}
    QPushButton[look="arrow"] {{ border: none; border-radius: 5px; padding: 0px 6px 2px 6px; color: {c.secondary};
        background: transparent; }}
    QPushButton[look="arrow"]:hover, QPushButton[look="arrow"]:focus {{ background: {c.hover}; color: {c.text}; }}
    QPushButton[look="arrow"]:disabled {{ color: {c.track}; background: transparent; }}
    QPushButton[look="bordered"] {{ border: 1px solid {c.line}; border-radius: 7px; padding: 5px 12px; color: {c.text};
        background: {c.raised}; font-size: {small}px; }}
    QPushButton[look="bordered"]:hover, QPushButton[look="bordered"]:focus {{ background: {c.hover}; }}
    QPushButton[look="bordered"]:disabled {{ color: {c.faint}; background: transparent; }}
    QPushButton[look="card"] {{ border: 1px solid {c.line}; border-radius: {RADIUS}px; padding: 12px 14px; color: {c.text};
        background: {c.raised}; text-align: left; }}
    QPushButton[look="card"]:hover, QPushButton[look="card"]:focus {{ background: {c.hover}; border-color: {c.faint}; }}
    QPushButton[look="card"]:disabled {{ color: {c.faint}; }}
    QPushButton[look="float"] {{ border: 1px solid {c.line}; border-radius: 15px; padding: 6px 14px; color: {c.text};
        background: {c.raised}; font-size: {small}px; }}
    QPushButton[look="float"]:hover {{ background: {c.hover}; }}
    QLabel[look="secondary"] {{ color: {c.secondary}; }}
    QLabel[look="faint"] {{ color: {c.faint}; }}
    QLabel[look="danger"] {{ color: {c.danger}; }}
    QLabel[look="chip"] {{ color: {c.secondary}; background: {c.bubble}; border-radius: 9px; padding: 2px 9px; }}
    QLabel[look="chip-accent"] {{ color: {c.accent}; background: {c.accent_ground}; border-radius: 9px; padding: 2px 9px; }}
    QFrame[look="bubble"] {{ background: {c.bubble}; border-radius: 14px; }}
    QFrame[look="code"] {{ background: {c.code}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="popover"] {{ background: {c.raised}; border: 1px solid {c.line}; }}
    QFrame[look="find"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: {RADIUS}px; }}
    QFrame[look="find"] QLineEdit {{ background: transparent; border: none; color: {c.text};
        selection-background-color: {c.selection}; selection-color: {c.text}; }}
    QFrame[look="composer"] {{ background: {c.raised}; border: 1px solid {c.line}; border-radius: 16px; }}
    QFrame[look="composer"][active="true"] {{ border-color: {c.faint}; }}
    QFrame[look="notice"] {{ background: {c.bubble}; border-radius: {RADIUS}px; }}
    QFrame[look="error"] {{ background: {c.danger_ground}; border-radius: {RADIUS}px; }}
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
    """


def _text_font(app: QApplication) -> QFont:
    """The system's own font; on Linux, where that is often a font made for small screens, Inter if it is there."""
    font = app.font()
    if QFontInfo(font).family() in ("DejaVu Sans", "Bitstream Vera Sans", "Sans Serif"):
        for family in ("Inter", "Noto Sans", "Cantarell"):
            if family in QFontDatabase.families():
                font.setFamily(family)
                break
    font.setPixelSize(15)
    return font


def _code_font(text: QFont) -> QFont:
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    for family in ("SF Mono", "Menlo", "JetBrains Mono"):
        if family in QFontDatabase.families():
            font.setFamily(family)
            break
    font.setStyleHint(QFont.StyleHint.Monospace)
    for ligatures in ("calt", "liga"):
        font.setFeature(QFont.Tag(ligatures), 0)  # code is read character by character
    font.setPixelSize(round(text.pixelSize() * 0.88))
    return font


def look(widget: QWidget, name: str) -> None:
    """Give a widget one of the looks of the style sheet."""
    if widget.property("look") != name:
        widget.setProperty("look", name)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
        QApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))  # or its size would leave out the padding
