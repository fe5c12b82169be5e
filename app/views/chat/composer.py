"""The message field. Return sends, and Shift-Return starts a new line."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QDropEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QAbstractButton, QFrame, QPlainTextEdit, QScrollArea, QSizePolicy, QWidget

from app.session.attachment_reader import AttachmentReader
from app.session.next_message import NextMessage
from app.session.page_choice import PageChoice
from app.storage.attachments import shortened
from app.storage.chat_tree import Turn
from app.text.language import number, tr
from app.text.plain_text import clean
from app.views.chat.dropped import Dropped, dropped, files_in, image_link, is_image
from app.views.chat.long_pastes import LongPastes
from app.views.pictures.pdf_dialog import open_pages
from app.views.transcript.attachment_chips import AttachmentChips
from app.widgets.controls import IconButton, as_tooltip, button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

MAX_LINES = 8  # shown before the field scrolls
LONGEST_LINE = 400  # characters that can fit next to the controls
FILES_HEIGHT = 172  # pixels before the files scroll, at the default text size
LINE_GAP = 4  # between lines of chips
PAD = 8  # around everything
SIDE = 34  # of the button at the default text size


class Composer(QFrame):
    """A field for text and files, with a button that sends or stops."""

    stop_requested = Signal()
    edit_cancelled = Signal()
    attach_requested = Signal()
    paged = Signal(int)  # scroll the chat: -1 up, 1 down

    def __init__(
        self,
        theme: Theme,
        message: NextMessage,
        attachments: AttachmentReader,
        controls: Sequence[QWidget],
        pages: PageChoice | None = None,
        tool_chips: QWidget | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._message, self._attachments = message, attachments
        set_look(self, "composer")
        self.field = _Field(self)
        self.field.setAccessibleName(tr("Message"))
        self.field.submitted.connect(message.submit)
        self.field.dropped.connect(self.attach)
        self.field.pasted = LongPastes(self.field, attachments)
        self.field.paged.connect(self.paged)
        self.button = _RoundButton(theme)
        self.button.clicked.connect(self._press)
        self.attach_button = IconButton(theme, "clip", tr("Attach files"))
        self.attach_button.clicked.connect(self.attach_requested)
        self.files = AttachmentChips(theme, editable=True)
        self.files.removed.connect(attachments.remove)
        self.files.moved.connect(attachments.move)
        self.files.left_out.connect(attachments.leave_out)
        self.files.pages_requested.connect(lambda pdf: open_pages(theme, pdf, pages, self))
        attachments.changed.connect(self._show_files)
        self._busy = False
        self.banner = QWidget()
        self.cancel_button = button(tr("Cancel"), tr("Cancel editing"), clicked=self.edit_cancelled.emit)
        note = small_label(theme, tr("Editing message"), "secondary")
        row((note, 1), self.cancel_button, margins=(2, 0, 0, 0), parent=self.banner)
        self.banner.hide()
        bottom = Qt.AlignmentFlag.AlignBottom
        self._controls = (self.attach_button, *controls)
        self._line = row(*((control, 0, bottom) for control in self._controls), (self.field, 1), (self.button, 0, bottom))
        self.file_area = _FileArea(theme, self.files)
        chips = (tool_chips,) if tool_chips is not None else ()
        self._column = column(self.banner, self.file_area, *chips, self._line, spacing=2, margins=(PAD,) * 4, parent=self)
        self.is_stacked = False  # whether the field is above the controls
        self._show_text()
        self.field.textChanged.connect(self._write)
        message.replaced.connect(self._show_text)
        message.changed.connect(self._show_button)
        self._show_button()

    @Slot(object)
    def attach(self, found: Dropped) -> None:
        """Attach what was pasted or dropped."""
        reader = self._attachments
        if found.files:
            reader.attach(found.files)
        elif found.image:
            place = len(reader.files) + len(reader.reading) + 1
            reader.attach_data(found.image, found.name or tr("Image {number}", number=number(place)))
        elif found.link:
            reader.refused.emit(tr("This image is on a web page. Save it first, then attach the file."))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Put the field above the controls if its text doesn't fit next to them."""
        text = self.text
        taken = sum(one.sizeHint().width() + self._line.spacing() for one in (*self._controls, self.button) if not one.isHidden())
        room = self.contentsRect().width() - 2 * PAD - taken - 2 * round(self.field.document().documentMargin()) - 1
        is_long = "\n" in text or len(text) > LONGEST_LINE or self.field.fontMetrics().horizontalAdvance(text) > room
        if is_long == self.is_stacked:
            return
        self.is_stacked = is_long
        place = self._line.indexOf(self.button)
        if is_long:
            self._line.removeWidget(self.field)
            self._line.insertStretch(place - 1, 1)
            self._column.insertWidget(self._column.indexOf(self._line), self.field)
        else:
            self._column.removeWidget(self.field)
            self._line.takeAt(place - 1)
            self._line.insertWidget(place - 1, self.field, 1)

    def set_busy(self, busy: bool) -> None:
        self._busy = busy
        self._show_button()

    @Slot()
    def _write(self) -> None:
        self._message.write(self.field.toPlainText())
        self._arrange()
        self._show_button()

    @Slot()
    def _show_text(self) -> None:
        """Show what may be another message, without the history of the one before."""
        self.field.pasted.clear()
        if self._message.text != self.text:
            self.field.setPlainText(self._message.text)
            self.field.moveCursor(QTextCursor.MoveOperation.End)

    @Slot()
    def focus(self) -> None:
        self.field.setFocus()

    @property
    def text(self) -> str:
        return self.field.toPlainText()

    @Slot(object)
    def show_editing(self, turn: Turn | None) -> None:
        """Say that an earlier message is being edited, if it is."""
        self.banner.setVisible(turn is not None)
        self.focus()

    @property
    def _has_message(self) -> bool:
        return bool(self._message.text.strip() or self._attachments.files)

    @property
    def _stops(self) -> bool:
        """Whether the button stops the reply: no message is there, or it waits."""
        return self._busy and (not self._has_message or bool(self._message.note))

    @Slot()
    def _press(self) -> None:
        if self._stops:
            self.stop_requested.emit()
        else:
            self._message.submit()

    def show_look(self) -> None:
        """Show whether the field has the focus, and whether its message waits."""
        waits = bool(self._message.note)
        set_look(self, "composer-waiting" if waits else "composer-active" if self.field.hasFocus() else "composer")
        set_look(self.field, "waiting" if waits else "")

    @Slot()
    def _show_button(self) -> None:
        self.show_look()
        obstacle = self._message.obstacle
        stops = self._stops
        self.button.show_as("stop" if stops else "send", stops or (self._has_message and not obstacle))
        self.button.setEnabled(stops or not obstacle)
        if obstacle and not stops:
            self.button.setToolTip(as_tooltip(obstacle))

    @Slot()
    def _show_files(self) -> None:
        reader = self._attachments
        names = [shortened(clean(one.path.name)) for one in reader.reading] + [shortened(one.name) for one in reader.drawing]
        if len(names) > 1:
            names[0] = tr("{name} and {count} more", name=names[0], count=len(names) - 1)
        self.files.show_files(reader.files, reader.counts, "".join(names[:1]))
        self.file_area.fit()
        self._show_button()


class _FileArea(QScrollArea):
    """The chips of the files, which scroll if there are many."""

    def __init__(self, theme: Theme, files: AttachmentChips) -> None:
        super().__init__()
        self._theme, self._files = theme, files
        self._count = 0  # of chips
        self._at_end = False  # whether to stay at the end while new chips are laid out
        self.setWidget(files)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for widget in (self.viewport(), files):
            widget.setAutoFillBackground(False)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.verticalScrollBar().rangeChanged.connect(self._follow)
        self.verticalScrollBar().actionTriggered.connect(self._stop_following)
        self.hide()

    def fit(self) -> None:
        """Show as many chips as fit after a change, and a new one."""
        before, self._count = self._count, len(self._files.chips)
        if self._count != before:
            self._at_end = self._count > before
        self.setVisible(not self._files.isHidden())
        self.updateGeometry()
        QTimer.singleShot(0, self, self._follow)  # the range may be as before

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        needed = max(self._files.heightForWidth(width), self._files.minimumSizeHint().height())
        return min(needed, self._most)

    @property
    def _most(self) -> int:
        """The height of as many whole lines of chips as fit."""
        line = self._files.minimumSizeHint().height() + LINE_GAP
        count = (self._theme.scaled(FILES_HEIGHT) + LINE_GAP) // line
        return max(1, count) * line - LINE_GAP

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.heightForWidth(max(self.width(), 1)))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, min(self._files.minimumSizeHint().height(), self._most))

    @Slot()
    def _follow(self) -> None:
        if self._at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @Slot()
    def _stop_following(self) -> None:
        self._at_end = False


class _Field(QPlainTextEdit):
    submitted = Signal()
    dropped = Signal(object)  # Dropped
    paged = Signal(int)
    pasted: LongPastes

    def __init__(self, composer: Composer) -> None:
        super().__init__(composer)
        self._composer = composer
        self._dropping = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(2)
        self.setViewportMargins(0, 6, 0, 0)  # centers one line
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(files_in(source)) or is_image(source) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Attach pasted or dropped files and images, and long texts.

        A pasted link stays a link.
        """
        if files_in(source) or is_image(source) or (self._dropping and image_link(source)):
            self.dropped.emit(dropped(source))
        elif self._dropping or not self.pasted.attach(source.text()):
            super().insertFromMimeData(source)

    def dropEvent(self, event: QDropEvent) -> None:
        self._dropping = True
        super().dropEvent(event)
        self._dropping = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            if not event.isAutoRepeat():  # the key may have been pressed in another app
                self.submitted.emit()
            return
        if event.key() == Qt.Key.Key_Escape and self._composer.banner.isVisible():
            self._composer.edit_cancelled.emit()
            return
        if enter:
            self.textCursor().insertBlock()  # Qt would insert U+2028
            self.ensureCursorVisible()
            return
        step = (event.key() == Qt.Key.Key_PageDown) - (event.key() == Qt.Key.Key_PageUp)
        # Scroll the chat if the whole text is visible. On a Mac these keys have the keypad modifier.
        if step and self.verticalScrollBar().maximum() == 0 and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.paged.emit(step)
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._composer.show_look()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._composer.show_look()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()
            self._fit_placeholder()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()  # the document doesn't report lines that break elsewhere now
        self._fit_placeholder()

    def _fit_placeholder(self) -> None:
        width = self.viewport().width() - 2 * round(self.document().documentMargin())
        self.setPlaceholderText(self.fontMetrics().elidedText(tr("Message Slipstream"), Qt.TextElideMode.ElideRight, width))

    @Slot()
    def _fit(self) -> None:
        lines = round(self.document().size().height())  # QPlainTextEdit counts in lines
        shown = max(1, min(lines, MAX_LINES))
        height = shown * self.fontMetrics().lineSpacing() + 16
        scroll = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > MAX_LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(scroll)
        if height != self.maximumHeight():
            self.setFixedHeight(height)


class _RoundButton(QAbstractButton):
    """A round button: an arrow for Send or a square for Stop."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shape = ""
        self._ready = False  # whether pressing the button has an effect
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)

    def show_as(self, shape: str, ready: bool) -> None:
        name = tr("Stop") if shape == "stop" else tr("Send")
        self.setAccessibleName(name)
        self.setToolTip(tr("Stop (Esc)") if shape == "stop" else tr("Send (Return)"))
        self._shape, self._ready = shape, ready
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1, 1) * self._theme.scaled(SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = self.width() / SIDE
        painter.scale(scale, scale)
        area = QRectF(0, 0, SIDE, SIDE)
        ground = colors.accent if self._ready else colors.track
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawEllipse(area.adjusted(1, 1, -1, -1))
        front = QColor(colors.on_accent if self._ready else colors.window)
        center = area.center()
        if self._shape == "stop":
            painter.setBrush(front)
            painter.drawRoundedRect(QRectF(center.x() - 5, center.y() - 5, 10, 10), 2, 2)
        else:
            painter.setPen(QPen(front, 2.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
            x, y = center.x(), center.y()
            painter.drawLine(QPointF(x, y + 6), QPointF(x, y - 6))
            painter.drawPolyline([QPointF(x - 5, y - 1), QPointF(x, y - 6), QPointF(x + 5, y - 1)])
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colors.text), 1))
            painter.drawEllipse(area.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
