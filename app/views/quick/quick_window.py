"""A small window for one question, over the app in front."""

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent, QTextCursor
from PySide6.QtWidgets import QDialog, QFrame

from app.session.pair_session import PairLoader
from app.session.quick_chat import QuickChat
from app.session.reply_runner import ReplyRunner
from app.storage.chat_tree import Turn
from app.storage.wording import percent
from app.text.language import tr
from app.views.chat.foot_bar import FootBar
from app.views.chat.notice_bar import NoticeBar
from app.views.transcript.transcript import Transcript
from app.widgets.controls import announce, button, small_label
from app.widgets.growing_field import GrowingField
from app.widgets.layout import SCREEN_SHARE, column, row
from app.widgets.send_button import SendButtons
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import MARGIN, Theme, set_look

WIDTH, HEIGHT = 560, 460  # with a reply, at the default text size
PAD = 8  # around the message field
LEFT = MARGIN + SCROLL_BAR // 2  # as the transcript's, whose scroll bar is on the right
MARGINS = (LEFT, 0, 2 * MARGIN + SCROLL_BAR - LEFT, 8)


class QuickWindow(QDialog):
    """The quick chat's messages, and a field for the next one. Esc closes the window."""

    open_requested = Signal()  # go on in the main window

    def __init__(self, theme: Theme, quick: QuickChat, reply_runner: ReplyRunner, loader: PairLoader) -> None:
        super().__init__(None, Qt.WindowType.Tool | Qt.WindowType.WindowStaysOnTopHint)
        self.setAttribute(Qt.WidgetAttribute.WA_MacAlwaysShowToolWindow)  # else it would hide when another app is in front
        self.setWindowTitle(tr("Quick Chat"))
        self._theme, self._quick, self._loader = theme, quick, loader
        self.transcript = Transcript(theme, self)
        self.transcript.hide()
        self.notices = NoticeBar(theme, quick.notices)
        self.waiting = FootBar(theme, tr("Cancel"), tr("Don't send the message"))
        set_look(self.waiting, "waiting")
        self.waiting.button.clicked.connect(quick.cancel)
        composer = QFrame(self)
        set_look(composer, "composer")
        self.field = GrowingField(tr("Message Slipstream"), parent=composer)
        self.field.setAccessibleName(tr("Message"))
        self._buttons = SendButtons(theme)
        self.button, self.stop_button = self._buttons.send, self._buttons.stop
        self.stop_button.setToolTip(tr("Stop"))  # Esc closes the window
        row((self.field, 1), (self._buttons, 0, Qt.AlignmentFlag.AlignBottom), margins=(PAD,) * 4, parent=composer)
        self.model = small_label(theme, look="faint", elided=True)
        self.open_button = button(tr("Open in Slipstream"), tr("Go on in the main window"), "quiet", self.open_requested.emit)
        foot = row((self.model, 1), self.open_button)
        below = column(self.notices, self.waiting, composer, foot, spacing=6, margins=MARGINS)
        self._parts = column((self.transcript, 1), below, spacing=6, margins=(0, 10, 0, 0), parent=self)
        for made in (self.open_button, self.waiting.button):
            made.setAutoDefault(False)  # Return sends
        self.field.submitted.connect(quick.submit)
        self.field.textChanged.connect(lambda: quick.write(self.field.toPlainText()))
        self.field.textChanged.connect(self._show_state)
        self.button.clicked.connect(quick.submit)
        self.stop_button.clicked.connect(quick.stop)
        for keys, act in ((QKeySequence.StandardKey.Close, self.close), (QKeySequence.StandardKey.New, quick.restart)):
            QShortcut(keys, self).activated.connect(act)
        QShortcut(QKeySequence("Ctrl+Return"), self).activated.connect(self.open_requested)
        quick.replaced.connect(self._show_text)
        quick.changed.connect(self._show_state)
        quick.restarted.connect(self._show_turns)
        quick.turn_added.connect(self._add_turn)
        quick.notices.posted.connect(lambda notice: announce(self, notice.text))
        reply_runner.changed.connect(self._refresh)
        for signal in (loader.changed, loader.loaded):
            signal.connect(self._show_state)
        self._show_text()
        self._show_turns()
        self._show_state()

    @Slot()
    def _show_text(self) -> None:
        if self._quick.text != self.field.toPlainText():
            self.field.setPlainText(self._quick.text)
            self.field.moveCursor(QTextCursor.MoveOperation.End)

    @Slot()
    def _show_state(self) -> None:
        self.waiting.show_text(self._quick.note)
        has_message = bool(self._quick.text.strip())
        self._buttons.show_state(self._quick.running, has_message and not self._quick.note)
        self.button.set_ready(has_message)
        loader = self._loader
        if loader.progress is not None:
            text = f"{tr('Loading…')} {percent(loader.progress.fraction)}"
        elif loader.sent_to:
            text = tr("Messages go to {host}", host=loader.sent_to)
        else:
            text = loader.pair.name if loader.pair is not None else tr("No models loaded")
        self.model.setText(text)
        self.transcript.message_actions.set_can_resume(loader.can_continue)

    @Slot()
    def _show_turns(self) -> None:
        """Show another chat. A new one needs no place for messages."""
        turns = self._quick.chat.turns
        self.transcript.clear()
        self.transcript.show_turns(turns)
        self._fit(bool(turns))

    @Slot(object)
    def _add_turn(self, turn: Turn) -> None:
        self._fit(True)
        self.transcript.add_turn(turn)

    @Slot(object)
    def _refresh(self, turn: Turn) -> None:
        if self.transcript.shows(turn):
            self.transcript.refresh(turn)

    def _fit(self, has_turns: bool) -> None:
        """Make the window as high as it needs to be."""
        if has_turns == self.transcript.isVisibleTo(self) and self.isVisible():
            return
        self.transcript.setVisible(has_turns)
        self._parts.activate()
        size = QSize(self._theme.scaled(WIDTH), self._theme.scaled(HEIGHT) if has_turns else self._parts.sizeHint().height())
        self.resize(size.boundedTo(self.screen().availableSize() * SCREEN_SHARE))

    def event(self, event: QEvent) -> bool:
        """Fit the height again after a notice or a long text, unless there are messages."""
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest and self.transcript.isHidden():
            self.resize(self.width(), self._parts.sizeHint().height())
        return handled

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.field.setFocus()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._quick.hide()
