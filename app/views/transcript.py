"""The chat, top to bottom, in one column that follows the end while the reader is there."""

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.conductor import Notice
from app.conversations.chat import Node, Turn
from app.views.following import Following
from app.views.message import NoticeView, PromptView, ReplyView, button
from app.views.theme import COLUMN, MARGIN, Theme
from app.views.welcome import Welcome


class Transcript(Following):
    """Turns and notices in order of appearance; a friendly page while there are none."""

    retry = Signal(object)  # Turn
    edit = Signal(object)  # Turn
    resume = Signal(object)  # Turn
    stepped = Signal(object, int)  # the Node whose versions are gone through, and -1 or 1
    load = Signal()
    sample_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._turns: dict[int, tuple[Turn, PromptView, ReplyView]] = {}
        self._notices: list[NoticeView] = []
        self.setAccessibleName("Chat")

        self.welcome = Welcome(theme)
        self.welcome.chosen.connect(self.sample_chosen)
        column = QWidget()
        column.setMaximumWidth(COLUMN)
        column.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._column = QVBoxLayout(column)
        self._column.setContentsMargins(0, 28, 0, 28)
        self._column.setSpacing(22)
        self._column.addWidget(self.welcome, 1000)
        self._column.addStretch(1)
        page = QWidget()
        row = QHBoxLayout(page)
        row.setContentsMargins(MARGIN, 0, MARGIN, 0)
        row.addStretch(1)
        row.addWidget(column, 1000)
        row.addStretch(1)
        self.setWidget(page)

        self.to_end = button("New text  ↓", "Go to the end", "float")
        self.to_end.setParent(self)
        self.to_end.hide()
        self.to_end.clicked.connect(self.follow)
        self.follow_changed.connect(self._follow_changed)
        theme.changed.connect(self._redraw)

    def reply_views(self) -> list[ReplyView]:
        """All replies shown, in order."""
        return [reply for _, _, reply in self._turns.values()]

    def notices(self) -> list[str]:
        """The sentences shown outside replies."""
        return [notice.label.text() for notice in self._notices]

    @Slot(object)
    def add_turn(self, turn: Turn) -> None:
        """A new turn at the end."""
        self.clear_notices()
        self._add(turn)
        self.follow()

    @Slot(list)
    def show_turns(self, turns: list[Turn]) -> None:
        """Show these turns and no others; those at the beginning that are shown already stay as they are."""
        shown = [turn for turn, _, _ in self._turns.values()]
        same = 0
        while same < min(len(shown), len(turns)) and shown[same] is turns[same]:
            same += 1
        for turn in shown[same:]:
            self.remove_turn(turn)
        for turn in turns[same:]:
            self._add(turn)
        self.welcome.setVisible(not turns)

    @Slot(object, object)
    def point(self, turn: Turn, node: Node) -> None:
        """Go to a message."""
        if shown := self._turns.get(id(turn)):
            view = shown[1] if node is turn.asked else shown[2]
            self._set_following(False)
            for wait_ms in (0, 60):  # once its place is known, and again when those above it have their heights
                QTimer.singleShot(wait_ms, view, lambda: self._go_to(view))

    def _go_to(self, view: QWidget) -> None:
        bar, page = self.verticalScrollBar(), self.widget()
        assert page is not None
        bar.setValue(min(bar.maximum(), max(0, view.mapTo(page, view.rect().topLeft()).y() - MARGIN)))

    def _add(self, turn: Turn) -> None:
        self.welcome.hide()
        prompt, reply = PromptView(self._theme, turn), ReplyView(self._theme, turn)
        reply.retry.connect(self.retry)
        reply.resume.connect(self.resume)
        for view in (prompt, reply):
            view.edit.connect(self.edit)
            if view.versions is not None:
                view.versions.stepped.connect(self.stepped)
            self._insert(view)
        self._turns[id(turn)] = (turn, prompt, reply)

    @Slot(object)
    def remove_turn(self, turn: Turn) -> None:
        if shown := self._turns.pop(id(turn), None):
            self._take(shown[1])
            self._take(shown[2])
        self.welcome.setVisible(not self._turns)

    @Slot(object)
    def refresh(self, turn: Turn) -> None:
        """Draw what is new in a reply."""
        if shown := self._turns.get(id(turn)):
            shown[2].refresh()
            if not self.following:
                self._show_to_end(True)

    @Slot(object)
    def add_notice(self, notice: Notice) -> None:
        """Say a sentence; the same sentence is not said twice in a row."""
        if self._notices and self._notices[-1].label.text() == notice.text:
            return
        view = NoticeView(self._theme, notice.text, "error" if notice.kind == "error" else "notice")
        if notice.offer == "load":
            view.add_button(button("Try Again", "Load again", "bordered")).clicked.connect(self._ask_load)
        self._notices.append(view)
        self._insert(view)
        self.follow()

    @Slot()
    def clear(self) -> None:
        """Back to the empty page: another chat follows, or none."""
        for turn, _, _ in list(self._turns.values()):
            self.remove_turn(turn)
        self.clear_notices()
        self.welcome.show()
        self.follow()

    def clear_notices(self) -> None:
        while self._notices:
            self._take(self._notices.pop())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_button()

    def _insert(self, view: QWidget) -> None:
        self._column.insertWidget(self._column.count() - 1, view)

    def _take(self, view: QWidget) -> None:
        self._column.removeWidget(view)
        view.hide()
        view.deleteLater()

    @Slot(bool)
    def _follow_changed(self, following: bool) -> None:
        if following:
            self._show_to_end(False)

    def _show_to_end(self, visible: bool) -> None:
        if visible != self.to_end.isVisible():
            self.to_end.setVisible(visible)
            self._place_button()

    def _place_button(self) -> None:
        self.to_end.adjustSize()
        self.to_end.move((self.width() - self.to_end.width()) // 2, self.height() - self.to_end.height() - 10)
        self.to_end.raise_()

    @Slot()
    def _ask_load(self) -> None:
        self.clear_notices()
        self.load.emit()

    @Slot()
    def _redraw(self) -> None:
        for view in self.reply_views():
            view.redraw()
