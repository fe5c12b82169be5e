"""What was asked, what was answered, and the sentences the app itself says in between."""

from math import ceil

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.chat.attachment_chips import AttachmentChips
from app.conversations.chat_tree import Turn
from app.language import tr
from app.rendering.blocks_view import BlocksView
from app.rendering.markdown import clean
from app.rendering.text_run import LINE_HEIGHT
from app.transcript.reply_actions import ReplyActions
from app.transcript.stats_line import StatsLine
from app.transcript.thinking_view import ThinkingView
from app.transcript.versions import Versions
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import Theme, set_look

FOLD_ABOVE = 4000  # characters of a prompt; a pasted book must not bury the reply
WIDEST_BUBBLE = 560
SLACK = 10  # a layout may need a little more than the sum of advances
READ_AT_ONCE = 6000  # characters of an answer
READ_PAUSE_MS = 5


class PromptView(QWidget):
    """The user's words in a bubble at the right, as they were typed; under it, what may be done with them."""

    edit = Signal(object)  # Turn
    stepped = Signal(object, int)  # the Node whose versions are gone through, and -1 or 1

    def __init__(self, theme: Theme, turn: Turn, lazy: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.turn = turn
        self.text = clean(turn.prompt)
        bubble = QFrame(self)  # shown before it is in a layout: without a parent it would be a window of its own for a moment
        set_look(bubble, "bubble")
        self.blocks = BlocksView(theme, lazy=lazy)
        self.blocks.setAccessibleName(tr("Your message"))
        self.bubble = _Bubble(theme, bubble, self.blocks)
        inner = QVBoxLayout(bubble)
        shift = round(theme.text_pixels * LINE_HEIGHT / 400 * 0.7)  # the room between two lines stands below the last one too
        inner.setContentsMargins(16, 10 + shift, 16, 10 - shift)
        inner.addWidget(self.bubble)
        self.folded = len(self.text) > FOLD_ABOVE
        if self.folded:
            self.unfold = button(tr("Show all"), tr("Show all of your message"), "bordered")
            self.unfold.clicked.connect(self.show_all)
            inner.addWidget(self.unfold, 0, Qt.AlignmentFlag.AlignLeft)
        self._show(self.text[: FOLD_ABOVE // 2].rstrip() + " …" if self.folded else self.text)
        bubble.setVisible(bool(self.text))
        row = QHBoxLayout()
        row.setContentsMargins(48, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(bubble)
        self.edit_button = button(tr("Edit"), tr("Edit message"))
        self.edit_button.setToolTip(tr("Write this message anew; the old one stays beside it"))
        self.edit_button.clicked.connect(self._ask_edit)
        foot = QHBoxLayout()
        foot.addStretch(1)
        if turn.asked is not None:
            self.versions = Versions(theme, turn.asked, self)
            self.versions.stepped.connect(self.stepped)
            foot.addWidget(self.versions)
        foot.addWidget(self.edit_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        if turn.asked is not None and turn.asked.attachments:
            self.files = AttachmentChips(theme, removable=False)
            self.files.show_files(list(turn.asked.attachments), {})
            layout.addWidget(self.files)
        layout.addLayout(row)
        layout.addLayout(foot)

    @Slot()
    def _ask_edit(self) -> None:
        self.edit.emit(self.turn)

    def areas(self) -> list[BlocksView]:
        """Where its text is, for selecting and finding."""
        return [self.blocks]

    def show_band(self, top: int, bottom: int) -> bool:
        """Build what lies between."""
        above = self.blocks.mapTo(self, QPoint()).y()
        return self.blocks.show_band(top - above, bottom - above)

    def redraw(self) -> None:
        """The colors changed."""
        self.blocks.redraw()

    @Slot()
    def show_all(self) -> None:
        """Unfold a long message."""
        if self.folded:
            self.folded = False
            self.unfold.hide()
            self._show(self.text)

    def _show(self, text: str) -> None:
        self.bubble.measure(text)
        self.blocks.show_plain(text)


class _Bubble(QWidget):
    """As wide as the longest line in it, within reason."""

    def __init__(self, theme: Theme, parent: QWidget, blocks: BlocksView) -> None:
        super().__init__(parent)
        self._theme = theme
        self._wanted = 0
        self._blocks = blocks
        blocks.resized.connect(self._pass_on)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(blocks)

    def measure(self, text: str) -> None:
        longest = sorted(text[:20_000].split("\n"), key=len)[-8:]
        metrics = QFontMetricsF(self._theme.text_font)
        widest = max(metrics.horizontalAdvance(line[:400]) for line in longest)
        self._wanted = min(ceil(widest) + SLACK, WIDEST_BUBBLE)
        self._pass_on()

    @Slot()
    def _pass_on(self) -> None:
        """Qt tells the layouts above one by one, an event later each; they are to know at once."""
        widget: QWidget | None = self
        while widget is not None and not isinstance(widget, PromptView):
            widget.updateGeometry()
            widget = widget.parentWidget()

    def sizeHint(self) -> QSize:
        return QSize(self._wanted, self._blocks.fit(self._wanted))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self._wanted), 0)


class NoticeView(QFrame):
    """A sentence from the app, with at most a few buttons."""

    def __init__(self, theme: Theme, text: str, kind: str = "notice", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_look(self, kind)
        self.label = Label(text)
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAccessibleName(tr("Error") if kind == "error" else tr("Note"))
        set_look(self.label, "danger" if kind == "error" else "secondary")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 11, 16, 11)
        layout.setSpacing(8)
        layout.addWidget(self.label)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.addStretch()
        layout.addLayout(self._buttons)

    def add_button(self, made: QPushButton) -> QPushButton:
        self._buttons.insertWidget(self._buttons.count() - 1, made)
        return made


class ReplyView(QWidget):
    """A reply: thinking, blocks, error, figures. `refresh` draws what is new in it."""

    retry = Signal(object)  # Turn
    edit = Signal(object)  # Turn
    resume = Signal(object)  # Turn
    compare = Signal(object)  # Turn
    stepped = Signal(object, int)  # the Node whose versions are gone through, and -1 or 1

    def __init__(self, theme: Theme, turn: Turn, lazy: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lazy = lazy
        self.turn = turn
        self._drawn_chars = 0
        self.thinking: ThinkingView | None = None
        self.error: NoticeView | None = None
        self.blocks = BlocksView(theme, lazy=lazy)
        self.blocks.set_suppliers(turn.reply.answer_by, lambda: turn.reply.answer)
        self.stats = StatsLine(theme)
        self.buttons: ReplyActions | None = None
        self._waiting = Label("…")
        self._waiting.setAccessibleName(tr("Waiting for the first token"))
        set_look(self._waiting, "faint")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(10)
        self._layout.addWidget(self._waiting)
        self._layout.addWidget(self.blocks)
        self._layout.addWidget(self.stats)
        self._rest = QTimer(self)  # a long text is read in pieces
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._read_on)
        self.refresh()

    def refresh(self) -> None:
        """Bring the view up to date with its turn."""
        reply = self.turn.reply
        had_text = self._drawn_chars > 0
        self._waiting.setVisible(reply.running and reply.empty)
        if reply.thinking:
            if self.thinking is None:
                self.thinking = ThinkingView(self._theme, self._lazy)
                self.thinking.body.set_suppliers(reply.thinking_by, lambda: reply.thinking)
                self._layout.insertWidget(0, self.thinking)
                self.thinking.show()  # at once, or its height would not count yet
            self.thinking.show_reply(reply)
        self._read_on()
        self.blocks.setVisible(self._drawn_chars > 0)
        if reply.error and self.error is None:
            self._show_error(reply.error)
        self.stats.setVisible(not (reply.error and reply.empty))
        if had_text or not reply.running or (self.turn.answered is not None and self.turn.answered.place[1] > 1):
            self._show_actions()
        self.stats.show_reply(reply)
        if self.error is not None and not reply.error:
            self.error.hide()
            self.error.deleteLater()
            self.error = None

    def _show_actions(self) -> None:
        """Made while the reply is written: there is less to do then than at its beginning and at its end."""
        if self.buttons is None:
            self.buttons = ReplyActions(self._theme, self.turn, self.stats)
            self.buttons.details_asked.connect(self._show_details)
            self.buttons.retry_asked.connect(self._ask_retry)
            self.buttons.resume_asked.connect(self._ask_resume)
            self.buttons.compare_asked.connect(self._ask_compare)
            if self.buttons.versions is not None:
                self.buttons.versions.stepped.connect(self.stepped)
            self.stats.add_line(self.buttons)
        self.buttons.refresh()

    def areas(self) -> list[BlocksView]:
        """Where its text is, for selecting and finding: the thoughts if they are open, and the answer."""
        return [*([self.thinking.body] if self.thinking is not None else []), self.blocks]

    def show_band(self, top: int, bottom: int) -> bool:
        """Build what lies between."""
        moved = False
        for area in self.areas():
            above = area.mapTo(self, QPoint()).y()
            moved = area.show_band(top - above, bottom - above) or moved
        return moved

    @property
    def read(self) -> bool:
        """All of the answer is shown."""
        return self._drawn_chars >= len(self.turn.reply.answer)

    def redraw(self) -> None:
        """The colors changed."""
        self.blocks.redraw()
        if self.thinking is not None:
            self.thinking.redraw()

    @Slot()
    def _read_on(self) -> None:
        answer = self.turn.reply.answer
        if len(answer) > self._drawn_chars:
            piece = answer[self._drawn_chars : self._drawn_chars + READ_AT_ONCE]
            self._drawn_chars += len(piece)
            self.blocks.append(piece)
        if not self.read:
            self._rest.start(READ_PAUSE_MS)

    def _show_error(self, sentence: str) -> None:
        self.error = NoticeView(self._theme, sentence, "error")
        again = self.error.add_button(button(tr("Try Again"), tr("Try again"), "bordered"))
        again.clicked.connect(self._ask_retry)
        edit = self.error.add_button(button(tr("Edit Message"), tr("Edit message"), "bordered"))
        edit.clicked.connect(self._ask_edit)
        self._layout.insertWidget(self._layout.count() - 1, self.error)
        self.error.show()

    @Slot()
    def _ask_retry(self) -> None:
        self.retry.emit(self.turn)

    @Slot()
    def _ask_edit(self) -> None:
        self.edit.emit(self.turn)

    @Slot()
    def _ask_resume(self) -> None:
        self.resume.emit(self.turn)

    @Slot()
    def _ask_compare(self) -> None:
        self.compare.emit(self.turn)

    @Slot()
    def _show_details(self) -> None:
        if self.buttons is not None:
            self.stats.show_details(self.buttons.mapToGlobal(QPoint()))
