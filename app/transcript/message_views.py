"""A prompt and a reply as shown in the transcript."""

from math import ceil

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.chat.attachment_chips import AttachmentChips
from app.conversations.chat_tree import Turn
from app.language import tr
from app.rendering.blocks_view import BlocksView
from app.rendering.markdown import clean_text
from app.rendering.text_view import LINE_HEIGHT
from app.transcript.message_actions import MessageActions, ReplyActions, VersionStepper
from app.transcript.stats_line import StatsLine
from app.transcript.thinking_view import ThinkingView
from app.widgets.controls import Label, button
from app.widgets.layout import NoticeView, column, row
from app.widgets.theme import Theme, set_look

THINKING, ANSWER = 0, 1  # text areas of a message; a prompt has the second

FOLD_ABOVE = 4000  # characters; a long prompt must not bury the reply
MAX_BUBBLE = 560
PIECE_CHARS = 6000  # a long answer is drawn in pieces
PIECE_PAUSE_MS = 5


class MessageView(QWidget):
    """A message with text areas that can be selected and searched."""

    def areas(self) -> dict[int, BlocksView]:
        """Return the text areas by number. A message has none unless its class says otherwise."""
        return {}

    def show_band(self, top: int, bottom: int) -> bool:
        """Build what is between two heights. Return whether heights changed."""
        changed = False
        for area in self.areas().values():
            above = area.mapTo(self, QPoint()).y()
            changed = area.show_band(top - above, bottom - above) or changed
        return changed


class PromptView(MessageView):
    """The user's text in a bubble on the right, as typed."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions) -> None:
        super().__init__()
        self.text = clean_text(turn.prompt)
        bubble = QFrame(self)  # without a parent it would be a window for a moment
        set_look(bubble, "bubble")
        self.blocks = _BubbleText(theme)
        self.blocks.setAccessibleName(tr("Your message"))
        shift = round(theme.text_pixels * LINE_HEIGHT / 400 * 0.7)  # the last line has line spacing below it
        inner = column(self.blocks, margins=(16, 10 + shift, 16, 10 - shift), parent=bubble)
        self.folded = len(self.text) > FOLD_ABOVE
        if self.folded:
            self.unfold = button(tr("Show All"), tr("Show all of your message"), "bordered", self.show_all)
            inner.addWidget(self.unfold, 0, Qt.AlignmentFlag.AlignLeft)
        self.blocks.show_plain(self.text[: FOLD_ABOVE // 2].rstrip() + " …" if self.folded else self.text)
        bubble.setVisible(bool(self.text))
        self.edit_button = button(tr("Edit"), tr("Edit message"), clicked=lambda: actions.edit.emit(turn))
        self.edit_button.setToolTip(tr("Edit (keeps this version)"))
        foot = row(None, self.edit_button)
        layout = column(row(None, bubble, margins=(48, 0, 0, 0)), foot, spacing=2, parent=self)
        if turn.asked is not None:
            self.versions = VersionStepper(theme, turn.asked, actions, self)
            foot.insertWidget(1, self.versions)
            if turn.asked.attachments:
                self.files = AttachmentChips(theme, removable=False)
                self.files.show_files(list(turn.asked.attachments), {})
                layout.insertWidget(0, self.files)

    def areas(self) -> dict[int, BlocksView]:
        return {ANSWER: self.blocks}

    @Slot()
    def show_all(self) -> None:
        """Unfold a long message."""
        if self.folded:
            self.folded = False
            self.unfold.hide()
            self.blocks.show_plain(self.text)


class _BubbleText(BlocksView):
    """As wide as its longest line, up to a limit."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, lazy=True)
        self._wanted_width = 0
        self.resized.connect(self._update_layouts)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_plain(self, text: str) -> None:
        longest = sorted(text[:20_000].split("\n"), key=len)[-8:]
        document = QTextDocument("\n".join(line[:400] for line in longest))
        document.setDefaultFont(self._theme.text_font)
        document.setDocumentMargin(0)
        self._wanted_width = min(ceil(document.idealWidth()), MAX_BUBBLE)
        super().show_plain(text)
        self._update_layouts()

    @Slot()
    def _update_layouts(self) -> None:
        """Update all enclosing layouts now. Qt would update one per event."""
        widget: QWidget | None = self
        while widget is not None and not isinstance(widget, PromptView):
            widget.updateGeometry()
            widget = widget.parentWidget()

    def sizeHint(self) -> QSize:
        return QSize(self._wanted_width, self.fit(self._wanted_width))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self._wanted_width), 0)


class ReplyView(MessageView):
    """A reply: thinking, answer, error, statistics, actions."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions) -> None:
        super().__init__()
        self._theme = theme
        self._actions = actions
        self.turn = turn
        self._drawn_chars = 0
        self.thinking: ThinkingView | None = None
        self.error: NoticeView | None = None
        self.blocks = BlocksView(theme, lazy=True)
        self.blocks.show_sources(turn.reply.answer_by, lambda: turn.reply.answer)
        self.stats = StatsLine(theme)
        self.buttons: ReplyActions | None = None
        self._waiting = Label("…")
        self._waiting.setAccessibleName(tr("Waiting for the first token"))
        set_look(self._waiting, "faint")
        self._layout = column(self._waiting, self.blocks, self.stats, spacing=10, parent=self)
        self._next_piece = QTimer(self, singleShot=True, interval=PIECE_PAUSE_MS)
        self._next_piece.timeout.connect(self._draw_piece)
        self.refresh()

    def refresh(self) -> None:
        """Draw what is new in the reply."""
        reply = self.turn.reply
        had_text = self._drawn_chars > 0
        self._waiting.setVisible(reply.running and reply.empty)
        if reply.thinking:
            if self.thinking is None:
                self.thinking = ThinkingView(self._theme, lazy=True)
                self.thinking.body.show_sources(reply.thinking_by, lambda: reply.thinking)
                self._layout.insertWidget(0, self.thinking)
                self.thinking.show()  # now, so that its height counts
            self.thinking.show_reply(reply)
        self._draw_piece()
        self.blocks.setVisible(self._drawn_chars > 0)
        self._show_error(reply.error)
        self.stats.setVisible(not (reply.error and reply.empty))
        several = self.turn.answered is not None and self.turn.answered.place[1] > 1
        if had_text or not reply.running or several:
            # Not with the first text, when there is enough to do.
            if self.buttons is None:
                self.buttons = ReplyActions(self._theme, self.turn, self._actions, self.stats)
                self.stats.add_line(self.buttons)
            self.buttons.refresh()
        self.stats.show_reply(reply)

    def areas(self) -> dict[int, BlocksView]:
        return {ANSWER: self.blocks} if self.thinking is None else {THINKING: self.thinking.body, ANSWER: self.blocks}

    @property
    def complete(self) -> bool:
        """Whether all of the answer is drawn."""
        return self._drawn_chars >= len(self.turn.reply.answer)

    @Slot()
    def _draw_piece(self) -> None:
        piece = self.turn.reply.answer[self._drawn_chars : self._drawn_chars + PIECE_CHARS]
        if piece:
            self._drawn_chars += len(piece)
            self.blocks.append(piece)
        if not self.complete:
            self._next_piece.start()

    def _show_error(self, message: str) -> None:
        if message and self.error is None:
            self.error = NoticeView(message, "error")
            retry, edit = self._actions.retry, self._actions.edit
            self.error.add_button(button(tr("Try Again"), "", "bordered", lambda: retry.emit(self.turn)))
            self.error.add_button(button(tr("Edit Message"), "", "bordered", lambda: edit.emit(self.turn)))
            self._layout.insertWidget(self._layout.count() - 1, self.error)
            self.error.show()
        elif self.error is not None and not message:
            self.error.hide()
            self.error.deleteLater()
            self.error = None
