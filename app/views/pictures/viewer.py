"""The picture viewer: zoom, the previous and next picture, saving, and copying."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QImage,
    QKeyEvent,
    QKeySequence,
    QNativeGestureEvent,
    QPainter,
    QPixmap,
    QResizeEvent,
    QShortcut,
    QWheelEvent,
)
from PySide6.QtWidgets import QDialog, QGraphicsPixmapItem, QGraphicsScene, QGraphicsView, QWidget
from shiboken6 import isValid

from app.storage.wording import percent
from app.text.language import number, tr
from app.views.pictures.picture_actions import copy_picture, picture_menu, save_picture
from app.widgets.controls import Label, announce, button, small_label
from app.widgets.layout import SCREEN_SHARE, column, flow, line, row
from app.widgets.picture_loader import FULL, Result, Shown
from app.widgets.picture_tile import thumbnail_room
from app.widgets.theme import Theme, set_look

PADDING = 7  # of buttons, which are flush with the texts above and below
STEP = 1.25  # of a zoom
MOST_ZOOM = 8.0  # device pixels per pixel
SIZE = QSize(900, 680)
AROUND = 16  # pixels around a picture that fits


def open_viewer(theme: Theme, pictures: Sequence[Shown], index: int, parent: QWidget) -> "PictureViewer":
    """Show pictures in the viewer of a window, which has at most one."""
    viewer = next((one for one in parent.findChildren(PictureViewer) if one.isVisible()), None)
    if viewer is None:
        viewer = PictureViewer(theme, parent)
        viewer.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        viewer.resize(SIZE.boundedTo(viewer.screen().availableSize() * SCREEN_SHARE))
    viewer.show_pictures(pictures, index)
    viewer.show()
    viewer.raise_()
    viewer.activateWindow()
    return viewer


class PictureViewer(QDialog):
    """A window with one of several pictures. Escape closes it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.pictures: tuple[Shown, ...] = ()
        self.index = 0
        self.canvas = _Canvas(theme, self)
        self.canvas.zoomed.connect(self._show_zoom)
        self.previous = button("‹", tr("Previous image"), "arrow", partial(self.step, -1))
        self.next = button("›", tr("Next image"), "arrow", partial(self.step, 1))
        self.place = small_label(theme, look="secondary")
        self.facts = small_label(theme, look="secondary", elided=True)
        self.status = small_label(theme, look="secondary", wrap=True)
        self.status.hide()
        self.out = button("−", tr("Zoom out"), "arrow", self.canvas.zoom_out)
        self.zoom = small_label(theme, look="secondary")
        self.zoom.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.into = button("+", tr("Zoom in"), "arrow", self.canvas.zoom_in)
        self.fit = button(tr("Fit"), tr("Fit the image into the window"), clicked=self.canvas.fit)
        self.actual = button(tr("Actual Size"), clicked=self.canvas.show_actual_size)
        self.copy_button = button(tr("Copy Image"), clicked=self.copy)
        self.save_button = button(tr("Save Image…"), clicked=self.save)
        for one in (self.previous, self.next, self.out, self.into, self.fit):
            one.setToolTip(one.accessibleName())
        self._steps = QWidget()
        row(self.previous, self.place, self.next, spacing=2, parent=self._steps)
        zooms = QWidget()
        row(self.out, self.zoom, self.into, spacing=2, parent=zooms)
        foot, tools = QWidget(), QWidget()
        tools.setLayout(flow(self._steps, zooms, self.fit, self.actual, self.copy_button, self.save_button, gap=6))
        texts = [row(one, margins=(PADDING, 0, 0, 0)) for one in (self.facts, self.status)]
        column(texts[0], tools, texts[1], spacing=4, margins=(16 - PADDING, 8, 16, 10), parent=foot)
        column((self.canvas, 1), line(), foot, spacing=0, parent=self)
        for keys, slot in (
            (("PgUp",), partial(self.step, -1)),
            (("PgDown",), partial(self.step, 1)),
            (("+", "=", "Ctrl++", "Ctrl+="), self.canvas.zoom_in),
            (("-", "Ctrl+-"), self.canvas.zoom_out),
            (("0", "Ctrl+0"), self.canvas.fit),
            (("1", "Ctrl+1"), self.canvas.show_actual_size),
            ((QKeySequence(QKeySequence.StandardKey.Copy),), self.copy),
            ((QKeySequence(QKeySequence.StandardKey.Save),), self.save),
        ):
            for key in keys:
                QShortcut(QKeySequence(key), self, slot)
        theme.changed.connect(self._color)
        self._color()

    @property
    def shown(self) -> Shown:
        return self.pictures[self.index]

    def show_pictures(self, pictures: Sequence[Shown], index: int) -> None:
        self.pictures, self.index = tuple(pictures), index
        self._show()

    @Slot()
    def step(self, by: int) -> None:
        if 0 <= self.index + by < len(self.pictures):
            self.index += by
            self._show()

    @Slot()
    def copy(self) -> None:
        if not self.shown.is_lost:
            copy_picture(self._theme, self.shown, self._say)

    @Slot()
    def save(self) -> None:
        if not self.shown.is_lost:
            save_picture(self, self._theme, self.shown)

    def _say(self, text: str) -> None:
        if not isValid(self):
            return
        self.status.setText(text)
        self.status.show()
        announce(self, text)

    def _show(self) -> None:
        shown = self.shown
        self.setWindowTitle(tr("{name}, page {number}", name=shown.name, number=number(shown.page)) if shown.page else shown.name)
        self.status.hide()
        self._steps.setVisible(len(self.pictures) > 1)
        place, count = number(self.index + 1), number(len(self.pictures))
        self.place.setText(tr("{place} of {count}", place=place, count=count))
        self.place.ensurePolished()
        self.place.setMinimumWidth(self.place.fontMetrics().horizontalAdvance(self.place.text()) + 8)
        self.previous.setEnabled(self.index > 0)
        self.next.setEnabled(self.index + 1 < len(self.pictures))
        self.facts.setText(shown.facts)
        self.facts.setVisible(bool(shown.facts))
        for one in (self.copy_button, self.save_button, self.out, self.into, self.fit, self.actual):
            one.setEnabled(not shown.is_lost)
        self.canvas.setAccessibleName(shown.alt_text)
        self.canvas.show_picture(shown)
        self.canvas.setFocus()
        announce(self.canvas, shown.alt_text)

    @Slot()
    def _show_zoom(self) -> None:
        self.zoom.setText(percent(self.canvas.zoom))
        widest = self.zoom.fontMetrics().horizontalAdvance(percent(MOST_ZOOM))
        self.zoom.setMinimumWidth(widest)

    @Slot()
    def _color(self) -> None:
        self.canvas.setBackgroundBrush(QColor(self._theme.colors.code))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = picture_menu(self, self._theme, self.shown, self.canvas.fit)
        menu.actions()[0].setVisible(False)
        menu.popup(event.globalPos())


class _Canvas(QGraphicsView):
    """The picture, in its own pixels. Small at first, then with all pixels."""

    zoomed = Signal()

    def __init__(self, theme: Theme, viewer: PictureViewer) -> None:
        super().__init__(viewer)
        self._theme, self._viewer = theme, viewer
        self._scene = QGraphicsScene(self)
        self._item = QGraphicsPixmapItem()
        self._item.setTransformationMode(Qt.TransformationMode.SmoothTransformation)
        self._scene.addItem(self._item)
        self.setScene(self._scene)
        self.setFrameShape(QGraphicsView.Shape.NoFrame)
        self.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.setDragMode(QGraphicsView.DragMode.ScrollHandDrag)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)
        self._shown: Shown | None = None
        self._is_full = False
        self.fits = True
        self.message = Label("", self)
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.message.setWordWrap(True)
        set_look(self.message, "secondary")

    @property
    def zoom(self) -> float:
        """Device pixels per pixel of the picture."""
        return self.transform().m11() * self.devicePixelRatioF()

    def show_picture(self, shown: Shown) -> None:
        self._shown, self._is_full = shown, False
        self._item.setPixmap(QPixmap())
        self._scene.setSceneRect(0, 0, 1, 1)
        self._say(tr("“{name}” is missing. It can't be shown.", name=shown.name) if shown.is_lost else tr("Loading…"))
        if shown.is_lost:
            return
        loader = self._theme.pictures
        loader.get(shown, FULL, partial(self._show_image, shown, True))
        if not self._is_full and shown.width:
            loader.get(shown, thumbnail_room(self, self._theme), partial(self._show_image, shown, False))

    def _show_image(self, shown: Shown, full: bool, result: Result) -> None:
        if not isValid(self) or shown is not self._shown or self._is_full:  # the viewer may be closed
            return
        if not isinstance(result, QImage):
            self._say(result)
            return
        had_picture, self._is_full = not self._item.pixmap().isNull(), full
        width, height = (shown.width, shown.height) if shown.width else (result.width(), result.height())
        self.message.hide()
        self._item.setPixmap(QPixmap.fromImage(result))
        self._item.setScale(width / result.width())
        self._scene.setSceneRect(0, 0, width, height)
        if not had_picture or self.fits:
            self.fit()

    def _say(self, text: str) -> None:
        self.message.setText(text)
        self.message.show()
        self._place_message()

    # Zoom

    @Slot()
    def fit(self) -> None:
        """Fit the picture into the window, without enlarging it."""
        self.fits = True
        area, scene = self.maximumViewportSize() - QSize(AROUND, AROUND), self._scene.sceneRect()
        self._scale(min(area.width() / scene.width(), area.height() / scene.height(), self._actual))

    @Slot()
    def show_actual_size(self) -> None:
        self._leave_fit()
        self._scale(self._actual)

    @Slot()
    def zoom_in(self) -> None:
        self._zoom_by(STEP)

    @Slot()
    def zoom_out(self) -> None:
        self._zoom_by(1 / STEP)

    @property
    def _actual(self) -> float:
        return 1 / self.devicePixelRatioF()

    def _zoom_at_pointer(self, factor: float) -> None:
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorUnderMouse)
        self._zoom_by(factor)
        self.setTransformationAnchor(QGraphicsView.ViewportAnchor.AnchorViewCenter)

    def _zoom_by(self, factor: float) -> None:
        if self._item.pixmap().isNull():
            return
        area, scene = self.maximumViewportSize(), self._scene.sceneRect()
        least = min(area.width() / scene.width(), area.height() / scene.height(), self._actual) / 2
        self._leave_fit()
        self._scale(min(max(self.transform().m11() * factor, least), MOST_ZOOM * self._actual))

    def _leave_fit(self) -> None:
        if self.fits:
            self.centerOn(self._item)  # the point that Qt keeps in the center
        self.fits = False

    def _scale(self, scale: float) -> None:
        now = self.transform().m11()
        self.scale(scale / now, scale / now)
        self.zoomed.emit()

    # Input

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._zoom_at_pointer(STEP ** (event.angleDelta().y() / 120))
        else:
            super().wheelEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent) and event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
            self._zoom_at_pointer(1 + event.value())
            return True
        return super().viewportEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = (event.key() == Qt.Key.Key_Right) - (event.key() == Qt.Key.Key_Left)
        if step and self.horizontalScrollBar().maximum() == self.horizontalScrollBar().minimum():
            self._viewer.step(step)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.fits:
            self.fit()
        self._place_message()

    def _place_message(self) -> None:
        self.message.setGeometry(self.rect().adjusted(24, 24, -24, -24))
        self.message.move(QPoint(24, 24))
