"""What was asked, what was answered, and the sentences the app itself says in between."""

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.conversations.chat import Turn
from app.rendering.blocks import Span, Text
from app.views.blocks_view import BlocksView
from app.views.stats_line import StatsLine
from app.views.text_run import TextRun
from app.views.theme import Theme, look
from app.views.versions import Versions

COPIED_MS = 1500
FOLD_ABOVE = 4000  # characters of a prompt; a pasted book must not bury the reply


def button(text: str, name: str, kind: str = "quiet") -> QPushButton:
    """A push button in one of the looks of the style sheet."""
    made = QPushButton(text)
    made.setAccessibleName(name)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    look(made, kind)
    return made


class PromptView(QWidget):
    """The user's words in a bubble at the right; under it, what may be done with them."""

    edit = Signal(object)  # Turn

    def __init__(self, theme: Theme, turn: Turn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.turn = turn
        text = turn.prompt
        bubble = QFrame()
        look(bubble, "bubble")
        self._text = text
        folded = len(text) > FOLD_ABOVE
        self.label = _PromptLabel(text[: FOLD_ABOVE // 2].rstrip() + " …" if folded else text)
        inner = QVBoxLayout(bubble)
        inner.setContentsMargins(16, 10, 16, 10)
        inner.addWidget(self.label)
        if folded:
            self.unfold = button("Show all", "Show all of your message", "bordered")
            self.unfold.clicked.connect(self._unfold)
            inner.addWidget(self.unfold, 0, Qt.AlignmentFlag.AlignLeft)
        row = QHBoxLayout()
        row.setContentsMargins(48, 0, 0, 0)
        row.addStretch(1)
        row.addWidget(bubble)
        self.edit_button = button("Edit", "Edit message")
        self.edit_button.setToolTip("Write this message anew; the old one stays beside it")
        self.edit_button.clicked.connect(self._ask_edit)
        foot = QHBoxLayout()
        foot.addStretch(1)
        self.versions: Versions | None = None
        if turn.asked is not None:
            self.versions = Versions(theme, turn.asked)
            foot.addWidget(self.versions)
        foot.addWidget(self.edit_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row)
        layout.addLayout(foot)
        self.setVisible(turn.asked is not None)  # an imported chat may begin with a reply

    @Slot()
    def _ask_edit(self) -> None:
        self.edit.emit(self.turn)

    @Slot()
    def _unfold(self) -> None:
        self.label.setText(self._text)
        self.unfold.hide()


class _PromptLabel(QLabel):
    """Not Markdown: what the user typed is shown as it was typed, with its line breaks. As wide as its longest line, within
    reason, where a wrapping QLabel would rather be narrow and tall."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.setAccessibleName("Your message")

    def sizeHint(self) -> QSize:
        widest = max(self.fontMetrics().horizontalAdvance(line) for line in self.text().split("\n"))
        width = min(widest + 4, 560)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self.sizeHint().width()), 0)


class ThinkingView(QWidget):
    """What the model thought, behind a line that opens it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = ""
        self._shown = 0
        self.header = button("", "Show thinking")
        self.header.setCheckable(True)
        self.header.toggled.connect(self._toggle)
        self.body = TextRun(theme, quiet=True)
        self.body.hide()
        frame = QWidget()
        inner = QHBoxLayout(frame)
        inner.setContentsMargins(10, 0, 0, 0)
        bar = QFrame()
        look(bar, "upright")
        inner.addWidget(bar)
        inner.addSpacing(12)
        inner.addWidget(self.body)
        self._frame = frame
        frame.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.header, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(frame)

    def show_thinking(self, text: str, over: bool) -> None:
        """`over` once the answer has begun."""
        self._text = text
        arrow = "▾" if self.header.isChecked() else "▸"
        title = f"{arrow}  {'Thoughts' if over else 'Thinking…'}"
        if title != self.header.text():
            self.header.setText(title)
        if self.header.isChecked():
            self._fill()

    def redraw(self) -> None:
        """The colours changed."""
        self.body.truncate(0)
        self._shown = 0
        if self.header.isChecked():
            self._fill()

    @Slot(bool)
    def _toggle(self, opened: bool) -> None:
        self.header.setText(("▾" if opened else "▸") + self.header.text()[1:])
        self._frame.setVisible(opened)
        self.body.setVisible(opened)
        if opened:
            self._fill()

    def _fill(self) -> None:
        fresh = self._text[self._shown :]
        self._shown = len(self._text)
        if not len(self.body):
            self.body.append_block(Text((Span(fresh.lstrip()),)))
        elif fresh:
            cursor = QTextCursor(self.body.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(fresh)  # in the look of the text before it


class NoticeView(QFrame):
    """A sentence from the app, with at most a few buttons."""

    def __init__(self, theme: Theme, text: str, kind: str = "notice", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look(self, kind)
        self.label = QLabel(text)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAccessibleName("Error" if kind == "error" else "Note")
        look(self.label, "danger" if kind == "error" else "secondary")
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

    def __init__(self, theme: Theme, turn: Turn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.turn = turn
        self._drawn_chars = 0
        self.thinking: ThinkingView | None = None
        self.error: NoticeView | None = None
        self.blocks = BlocksView(theme)
        self.stats = StatsLine(theme)
        self._copy = button("Copy", "Copy reply")
        self._copy.clicked.connect(self._copy_reply)
        self._copy.hide()
        self.stats.add(self._copy)
        self.again = button("Regenerate", "Answer once more")
        self.again.setToolTip("Answer once more; this reply stays beside the new one")
        self.again.clicked.connect(self._ask_retry)
        self.stats.add(self.again)
        self.more = button("Continue", "Continue this reply")
        self.more.clicked.connect(self._ask_resume)
        self.stats.add(self.more)
        self.versions = Versions(theme, turn.answered) if turn.answered is not None else None
        if self.versions is not None:
            self.stats.add(self.versions)
        self._waiting = QLabel("…")
        self._waiting.setAccessibleName("Waiting for the first token")
        look(self._waiting, "faint")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(10)
        self._layout.addWidget(self._waiting)
        self._layout.addWidget(self.blocks)
        self._layout.addWidget(self.stats)
        self._restore = QTimer(self)
        self._restore.setSingleShot(True)
        self._restore.timeout.connect(self._reset_button)
        self.refresh()

    def refresh(self) -> None:
        """Bring the view up to date with its turn."""
        reply = self.turn.reply
        self._waiting.setVisible(reply.running and reply.empty)
        if reply.thinking:
            if self.thinking is None:
                self.thinking = ThinkingView(self._theme)
                self._layout.insertWidget(0, self.thinking)
            self.thinking.show_thinking(reply.thinking, over=bool(reply.answer) or not reply.running)
        if len(reply.answer) > self._drawn_chars:
            self.blocks.append(reply.answer[self._drawn_chars :])
            self._drawn_chars = len(reply.answer)
        self.blocks.setVisible(self._drawn_chars > 0)
        if reply.error and self.error is None:
            self._show_error(reply.error)
        self.stats.setVisible(not (reply.error and reply.empty))
        self.stats.show_reply(reply)
        self._copy.setVisible(not reply.running and bool(reply.answer))
        self.again.setVisible(not reply.running and self.turn.asked is not None)
        self.more.setVisible(reply.can_continue)
        if self.error is not None and not reply.error:
            self.error.hide()
            self.error.deleteLater()
            self.error = None

    def redraw(self) -> None:
        """The colours changed."""
        self.blocks.redraw()
        if self.thinking is not None:
            self.thinking.redraw()

    def _show_error(self, sentence: str) -> None:
        self.error = NoticeView(self._theme, sentence, "error")
        again = self.error.add_button(button("Try Again", "Try again", "bordered"))
        again.clicked.connect(self._ask_retry)
        edit = self.error.add_button(button("Edit Message", "Edit message", "bordered"))
        edit.clicked.connect(self._ask_edit)
        self._layout.insertWidget(self._layout.count() - 1, self.error)

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
    def _copy_reply(self) -> None:
        QGuiApplication.clipboard().setText(self.turn.reply.answer.strip())
        self._copy.setText("Copied")
        self._restore.start(COPIED_MS)

    @Slot()
    def _reset_button(self) -> None:
        self._copy.setText("Copy")
