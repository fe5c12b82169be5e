"""One column of a comparison: how a mode answers."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.conversations import wording
from app.conversations.difference import Difference
from app.conversations.reply import Reply
from app.language import tr
from app.rendering.blocks_view import BlocksView
from app.transcript.follow_scroll import Following
from app.transcript.stats_line import StatsLine
from app.transcript.thinking_view import ThinkingView
from app.widgets.button import button
from app.widgets.theme import Theme
from mlx_engine.requests import Mode


class CompareSide(QWidget):
    """Follows a reply as it grows; another reply begins the column again."""

    def __init__(self, theme: Theme, mode: Mode) -> None:
        super().__init__()
        self._theme = theme
        self._mode: Mode = mode
        self._reply: Reply | None = None
        self._drawn = 0
        self._difference: Difference | None = None
        self._going = False  # to the difference, until the reader goes elsewhere: what is laid out later moves it
        theme.changed.connect(self._redraw)
        self.stats = StatsLine(theme, stacked=True)  # so that both texts begin at one height
        self._holder = QWidget()
        self._inner = QVBoxLayout(self._holder)
        self._inner.setContentsMargins(0, 0, 8, 0)
        self.thinking = ThinkingView(theme)
        self._inner.addWidget(self.thinking)
        self.blocks = BlocksView(theme)
        self._inner.addWidget(self.blocks)
        self._inner.addStretch(1)
        for area in (self.thinking, self.blocks):
            area.installEventFilter(self)
        self.parting = button("", tr("Go to the first difference"))
        self.parting.clicked.connect(self.show_difference)
        self._soon = QTimer(self, singleShot=True, interval=0)  # once the mark has its place
        self._soon.timeout.connect(self._keep_difference)
        self._scroll = Following()
        self._scroll.setWidget(self._holder)
        self._scroll.verticalScrollBar().rangeChanged.connect(self._keep_difference)
        self._scroll.verticalScrollBar().actionTriggered.connect(self._leave_difference)
        self._scroll.setAccessibleName(tr("{mode} reply", mode=wording.mode_names()[mode]))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addWidget(self.stats)
        layout.addWidget(self.parting, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._scroll, 1)
        self.clear()

    def clear(self) -> None:
        """Nothing has been answered yet."""
        self.show_reply(Reply(self._mode, 0))

    def show_reply(self, reply: Reply) -> None:
        """Show what there is of a reply."""
        if reply is not self._reply:
            if self._drawn or not self.thinking.isHidden():
                self._begin_again()
            self.thinking.hide()
            self._reply, self._drawn = reply, 0
            self.mark(None)
            self._scroll.follow()
        if len(reply.answer) > self._drawn:
            self.blocks.append(reply.answer[self._drawn :])
            self._drawn = len(reply.answer)
        if reply.thinking:
            self.thinking.show()
            self.thinking.show_reply(reply)
        self.stats.show_reply(reply)

    @property
    def shown(self) -> tuple[str, str]:
        """Thoughts and answer."""
        return (self._reply.thinking, self._reply.answer) if self._reply is not None else ("", "")

    def mark(self, difference: Difference | None) -> None:
        """Mark where this reply and the other part, say it in words, and go there; None: they do not."""
        self.blocks.mark_difference(None, "")
        self.thinking.body.mark_difference(None, "")
        self.parting.setVisible(difference is not None)
        self._difference, self._going = difference, difference is not None
        if difference is None:
            return
        thinks = difference.channel == "thinking"
        text = self.shown[0 if thinks else 1]
        first, last = difference.span(text)
        if thinks and text:
            self.thinking.open()
        if first < last:
            (self.thinking.body if thinks else self.blocks).mark_difference((first, last), text)
        told = _told(difference, text)
        self.parting.setText(told)
        self.parting.setAccessibleName(tr("{told}. Go to the first difference", told=told))
        self._scroll.stay()
        self._soon.start()

    @Slot()
    def show_difference(self) -> None:
        """Bring the mark into sight; where there is none, the end of what is shorter."""
        self._going = self._difference is not None
        for area in (self.thinking.body, self.blocks):
            if (rect := area.difference_rect) is not None:
                at = area.mapTo(self._holder, rect.center())
                self._scroll.ensureVisible(0, at.y(), 0, self._scroll.viewport().height() // 3)
                return
        if self._difference is not None and self._difference.channel == "thinking":
            body = self.thinking.body
            at = body.mapTo(self._holder, QPoint(0, body.height())) if self.thinking.opened else QPoint()  # else it thought nothing
            self._scroll.ensureVisible(0, at.y(), 0, self._scroll.viewport().height() // 3)
        else:
            self._scroll.follow()

    @Slot()
    def _keep_difference(self) -> None:
        if self._going:
            self.show_difference()

    @Slot()
    def _leave_difference(self) -> None:
        self._going = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """With another width the text is laid out anew, perhaps to the same height: then no range says so."""
        if event.type() == QEvent.Type.Resize:
            self._soon.start()
        return super().eventFilter(watched, event)

    def _begin_again(self) -> None:
        blocks, thinking = BlocksView(self._theme), ThinkingView(self._theme)
        for old, fresh in ((self.blocks, blocks), (self.thinking, thinking)):
            self._inner.replaceWidget(old, fresh)
            old.hide()
            old.deleteLater()
            fresh.installEventFilter(self)
        self.blocks, self.thinking = blocks, thinking

    @Slot()
    def _redraw(self) -> None:
        self.blocks.redraw()
        self.thinking.redraw()


def _told(difference: Difference, text: str) -> str:
    if difference.spaces:
        return tr("From here on different: spaces or line breaks")
    if words_there := difference.words(text):
        return tr("From here on different: “{words}”", words=words_there)
    if difference.channel == "thinking":
        return tr("Its thoughts end where the other one’s go on")
    return tr("Ends where the other one goes on")
