"""Labels, buttons, search fields, and progress bars in the app's style.

By default, Qt renders text that looks like HTML and loads its images. Titles, file names, model names, and imported chats come from
other people, so labels and tooltips show plain text.
"""

import html
from collections.abc import Callable
from functools import lru_cache, partial
from importlib.resources import files

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QObject,
    QPointF,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QGuiApplication,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPixmap,
)
from PySide6.QtGui import Qt as Text
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStylePainter,
    QWidget,
)

from app.text.language import tr
from app.widgets.theme import SMALL, Theme, set_look

COPIED_MS = 1500
BAR_HEIGHT = 6
TEXT_MARGIN = 5  # of a number field
BAR_STEPS = 1000
SIDE = 30  # of an icon button at the default text size
ICON_SIZE = 18  # width and height at the default text size
ICON_SCALE = 2  # of icons in lists, for sharp screens

# SVG elements in a square of `ICON_SIZE`
ICONS = {
    "sidebar": '<rect x="2" y="3" width="14" height="12" rx="2.5"/><path d="M7 3V15"/>',
    "new": '<path d="M9 4H5L3.5 5.5V13L5 14.5H12.5L14 13V9M7.5 10.5L8 8.5L13.5 3L15 4.5L9.5 10Z"/>',
    "sliders": '<path d="M2.5 5H9.7M13.3 5H15.5M2.5 9H4.7M8.3 9H15.5M2.5 13H10.7M14.3 13H15.5"/>'
    '<circle cx="11.5" cy="5" r="1.8"/><circle cx="6.5" cy="9" r="1.8"/><circle cx="12.5" cy="13" r="1.8"/>',
    "folder": '<path d="M2.5 6V4.5L3.3 3.8H6.5L8.2 5.6H14.7L15.5 6.4V13.2L14.7 14H3.3L2.5 13.2Z"/>',
    "archive": '<path d="M2.5 3.5H15.5V6.5H2.5ZM3.7 6.5V13.7L4.5 14.5H13.5L14.3 13.7V6.5M7 9.5H11"/>',
    "pin": '<path d="M6.2 3H11.8L11 4.2V7.5L13 10.2H5L7 7.5V4.2ZM9 10.2V15"/>',
    "opened": '<path d="M5.5 7.5L9 11L12.5 7.5"/>',
    "closed": '<path d="M7.5 5.5L11 9L7.5 12.5"/>',
    "search": '<circle cx="8" cy="8" r="4.5"/><path d="M11.3 11.3L14.5 14.5"/>',
    "more": '<circle cx="4" cy="9" r="0.7"/><circle cx="9" cy="9" r="0.7"/><circle cx="14" cy="9" r="0.7"/>',
    "server": '<circle cx="9" cy="9" r="1"/><path d="M6.4 11.6A3.7 3.7 0 0 1 6.4 6.4M11.6 6.4A3.7 3.7 0 0 1 11.6 11.6'
    'M4.2 13.8A6.8 6.8 0 0 1 4.2 4.2M13.8 4.2A6.8 6.8 0 0 1 13.8 13.8"/>',
    "tools": '<path d="M12.9 3.2A3.6 3.6 0 0 0 8.2 7.6L3.4 12.4A1.5 1.5 0 0 0 5.6 14.6L10.4 9.8A3.6 3.6 0 0 0 14.8 5.1L12.6 7.3'
    'L10.9 7.1L10.7 5.4Z"/>',
    "picture": '<rect x="2.5" y="3.5" width="13" height="11" rx="2"/><circle cx="6.3" cy="7.2" r="1.2"/>'
    '<path d="M3 13L7 9.5L9.5 11.7L12 9L15.3 12.3"/>',
    "eye": '<path d="M2 9C5 3.9 13 3.9 16 9C13 14.1 5 14.1 2 9Z"/><circle cx="9" cy="9" r="2.2"/>',
    "document": '<path d="M4.5 2.5H10.5L13.5 5.5V15.5H4.5ZM10.5 2.5V5.5H13.5M7 9H11M7 12H11"/>',
    "copy": '<rect x="6.5" y="6.5" width="8.5" height="8.5" rx="1.8"/><path d="M4.5 11.5L3 10.7V4.8L4.8 3H10.7L11.5 4.5"/>',
    "check": '<path d="M3.5 9.5L7.3 13L14.5 5"/>',
    "speaker": '<path d="M3 7H5.5L9 4V14L5.5 11H3ZM11.6 6.6A3.6 3.6 0 0 1 11.6 11.4M13.6 4.6A6.4 6.4 0 0 1 13.6 13.4"/>',
    "again": '<path d="M14.6 9A5.6 5.6 0 1 1 12.6 4.7M12.9 2.3V5H10.2"/>',
    "columns": '<rect x="2.5" y="3.5" width="5.2" height="11" rx="1.4"/><rect x="10.3" y="3.5" width="5.2" height="11" rx="1.4"/>',
    "chart": '<path d="M2.5 15H15.5M4.8 15V10M9 15V4M13.2 15V7.5"/>',
    "edit": '<path d="M3.5 14.5L4.1 11.6L12.2 3.5L14.5 5.8L6.4 13.9Z"/>',
    "lock": '<rect x="3.5" y="8" width="11" height="7.5" rx="1.8"/><path d="M5.8 8V5.6A3.2 3.2 0 0 1 12.2 5.6V8"/>',
    "layers": '<path d="M9 2.5L16 6.2L9 9.9L2 6.2ZM2.8 9.7L9 13L15.2 9.7M2.8 12.6L9 15.9L15.2 12.6"/>',
    "close": '<path d="M5.5 5.5L12.5 12.5M12.5 5.5L5.5 12.5"/>',
    "bulb": '<path d="M6.7 12.2C6.7 10.5 4.6 9.6 4.6 7A4.4 4.4 0 0 1 13.4 7C13.4 9.6 11.3 10.5 11.3 12.2ZM7.2 15H10.8"/>',
    "clip": '<path d="M15.2 8.4L8.9 14.7A3.9 3.9 0 0 1 3.4 9.2L9.9 2.7A2.6 2.6 0 0 1 13.6 6.4L7.2 12.8'
    'A1.3 1.3 0 0 1 5.4 11L11.2 5.2"/>',
}


class Label(QLabel):
    """A label with plain text, used for all labels of the app.

    A click on the label of a switch or check box toggles it.
    """

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if self._toggled is not None:
            event.accept()  # to get the release

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        is_click = event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint())
        if is_click and (toggled := self._toggled) is not None:
            toggled.click()

    @property
    def _toggled(self) -> QAbstractButton | None:
        buddy = self.buddy()
        return buddy if isinstance(buddy, QAbstractButton) and buddy.isCheckable() else None


class ElidedLabel(Label):
    """A one-line label that ends with an ellipsis if there is too little space."""

    is_drawn: Callable[[], bool] = staticmethod(lambda: True)

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        self.setIndent(0)  # a look's padding counts as a frame, which would add an indent

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(min(hint.width(), 16 * self.fontMetrics().averageCharWidth()), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.is_drawn():
            return
        painter = QPainter(self)
        self.drawFrame(painter)
        area = self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, area.width())
        alignment = self.alignment() | Qt.TextFlag.TextSingleLine
        self.style().drawItemText(painter, area, alignment, self.palette(), self.isEnabled(), shown, self.foregroundRole())
        painter.end()


def styled_label(
    theme: Theme,
    text: str = "",
    look: str = "",
    *,
    size: float = 1.0,
    bold: bool = False,
    wrap: bool = False,
    selectable: bool = False,
    elided: bool = False,
) -> Label:
    """Return a label. `size` is a factor of the text size."""
    label = ElidedLabel(text) if elided else Label(text)
    theme.set_font(label, size, bold)
    label.setWordWrap(wrap)
    if look:
        set_look(label, look)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


small_label = partial(styled_label, size=SMALL)


def as_tooltip(text: str) -> str:
    """Return a text escaped for a tooltip, which has no plain text mode."""
    if not Text.mightBeRichText(text):
        return text
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>"


def button(text: str, name: str = "", look: str = "quiet", clicked: Callable[[], object] | None = None) -> QPushButton:
    """Return a push button. `name` is for screen readers and defaults to the text."""
    made = QPushButton(text)
    made.setAccessibleName(name or text)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click doesn't take the focus from the text field
    set_look(made, look)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made


def announce(source: QObject, text: str) -> None:
    """Let a screen reader read a text."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(source, text))


def copy_button(name: str, text: Callable[[], str], look: str = "quiet", title: str = "") -> QPushButton:
    """Return a button that copies `text()` and briefly shows “Copied”.

    `title` defaults to “Copy”.
    """

    def copy() -> None:
        QGuiApplication.clipboard().setText(text())
        made.setText(tr("Copied"))
        QTimer.singleShot(COPIED_MS, made, lambda: made.setText(title or tr("Copy")))

    made = button(title or tr("Copy"), name, look, copy)
    return made


class ElidedButton(QPushButton):
    """A button that elides its text in the middle if there is too little space.

    Args:
        opens_menu: whether to draw a chevron after the text.
    """

    def __init__(self, name: str, look: str, opens_menu: bool = False) -> None:
        super().__init__()
        self._opens_menu = opens_menu
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        set_look(self, look)

    @property
    def _chevron(self) -> int:
        return max(ICON_SIZE, self.fontMetrics().height()) if self._opens_menu else 0

    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(self._chevron, 0)

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        return QSize(min(hint.width(), 10 * self.fontMetrics().averageCharWidth() + self._chevron), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionButton()
        self.initStyleOption(option)
        area = self.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, self)
        middle = Qt.TextElideMode.ElideMiddle
        text = option.fontMetrics.elidedText(self.text(), middle, area.width() - self._chevron)
        option.text = text.replace("&", "&&")
        painter.drawControl(QStyle.ControlElement.CE_PushButton, option)
        if self._chevron:
            painter.translate(area.right() - self._chevron + 3, area.center().y() - self._chevron / 2 + 1)
            draw_icon(painter, "opened", self.palette().color(QPalette.ColorRole.PlaceholderText), self._chevron)
        painter.end()


class IconButton(QAbstractButton):
    """A button with an icon from `ICONS`. `name` is for screen readers and tooltips."""

    is_active = False  # drawn in the accent color
    is_drawn: Callable[[], bool] = staticmethod(lambda: True)

    def __init__(self, theme: Theme, icon: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self.set_name(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)

    def set_name(self, name: str) -> None:
        self.setAccessibleName(name)
        self.setToolTip(as_tooltip(name))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Let Return press the button, as the space bar does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        return QSize(1, 1) * self._theme.scaled(SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.is_drawn():
            return
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        hovered = self.isEnabled() and (self.underMouse() or self.isDown())
        if hovered or self.hasFocus():
            painter.setPen(QPen(QColor(colors.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.hover) if hovered else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area, 7, 7)
        resting = colors.accent if self.is_active or self.isChecked() else colors.secondary
        color = QColor(colors.text if hovered else resting if self.isEnabled() else colors.disabled)
        size = self._theme.scaled(ICON_SIZE)
        painter.translate(area.center() - QPointF(size / 2, size / 2))
        draw_icon(painter, self._icon, color, size)
        painter.end()


class CopyButton(IconButton):
    """An icon that copies something and briefly shows a check mark."""

    def __init__(self, theme: Theme, name: str, copy: Callable[[], None]) -> None:
        super().__init__(theme, "copy", name)
        self.clicked.connect(copy)
        self.clicked.connect(self._confirm)

    @Slot()
    def _confirm(self) -> None:
        self._show_icon("check")
        announce(self, tr("Copied"))
        QTimer.singleShot(COPIED_MS, self, lambda: self._show_icon("copy"))

    def _show_icon(self, icon: str) -> None:
        self._icon = icon
        self.update()


def draw_icon(painter: QPainter, icon: str, color: QColor, size: int) -> None:
    """Draw an icon at the painter's origin."""
    _renderer(icon, color.name()).render(painter, QRectF(0, 0, size, size))


def icon_of(icon: str, color: str, size: int) -> QIcon:
    """Return an icon from `ICONS` for a list or a menu."""
    pixmap = QPixmap(QSize(size, size) * ICON_SCALE)
    pixmap.setDevicePixelRatio(ICON_SCALE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    draw_icon(painter, icon, QColor(color), size)
    painter.end()
    return QIcon(pixmap)


@lru_cache
def _renderer(icon: str, color: str) -> QSvgRenderer:
    style = f'fill="none" stroke="{color}" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ICON_SIZE} {ICON_SIZE}" {style}>{ICONS[icon]}</svg>'
    return QSvgRenderer(QByteArray(svg.encode()))


def entry(text: str = "", hint: str = "", limit: int = 0, read_only: bool = False) -> QLineEdit:
    """Return a text field. `limit` is the most characters it accepts, if not 0."""
    field = QLineEdit(text)
    field.setPlaceholderText(hint)
    field.setReadOnly(read_only)
    if limit:
        field.setMaxLength(limit)
    set_look(field, "entry")
    return field


class SearchField(QLineEdit):
    """A search field that emits `down_pressed` on the Down key."""

    down_pressed = Signal()

    def __init__(self, theme: Theme, placeholder: str, name: str) -> None:
        super().__init__()
        self._theme = theme
        set_look(self, "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        self.setClearButtonEnabled(True)
        theme.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        size = self._theme.scaled(ICON_SIZE)
        painter.translate(QPointF(5, (self.height() - size) / 2))
        draw_icon(painter, "search", QColor(self._theme.colors.faint), size)
        painter.end()


def prepare_number_field(box: QAbstractSpinBox) -> None:
    """Pad a number field, and keep scrolling from changing it unless it has the focus."""
    box.lineEdit().setTextMargins(TEXT_MARGIN, 0, 0, 0)  # style sheets can't pad it
    box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    box.installEventFilter(_NoWheel(box))


class _NoWheel(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class ThinBar(QProgressBar):
    """A bar that shows a fraction from 0 to 1. None is empty; above 1 is full."""

    def __init__(self, theme: Theme, name: str, color: str = "accent", height: int = BAR_HEIGHT) -> None:
        super().__init__()
        self._theme, self.color = theme, color
        self.fraction: float | None = None
        self.setRange(0, BAR_STEPS)
        self.setFixedHeight(height)
        self.setMinimumWidth(60)
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    def show_fraction(self, fraction: float | None) -> None:
        self.fraction = fraction
        self.setValue(round(BAR_STEPS * min(fraction or 0.0, 1.0)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colors.bubble))
        height = self.height()
        painter.drawRoundedRect(QRectF(self.rect()), height / 2, height / 2)
        if self.value() > 0:
            painter.setBrush(QColor(getattr(self._theme.colors, self.color)))
            width = max(height, self.width() * self.value() / BAR_STEPS)
            painter.drawRoundedRect(QRectF(0, 0, width, height), height / 2, height / 2)
        painter.end()


def window_icon() -> QIcon:
    """Return the app icon, which is simpler at small sizes."""
    folder = files("resources") / "icon"
    icon = QIcon(str(folder / "Slipstream.svg"))
    for size in (16, 32):
        icon.addPixmap(QIcon(str(folder / "Slipstream-small.svg")).pixmap(QSize(size, size), 1.0))
    return icon
