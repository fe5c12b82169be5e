"""The transcript of a chat, with selection, search, and link navigation."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QContextMenuEvent, QFocusEvent, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollBar, QWidget

from app.rendering.lazy_stack import StackEntry
from app.storage.chat_tree import Cut, Node, Turn
from app.text.language import tr
from app.views.transcript.cited_pages import open_page
from app.views.transcript.cut_view import CutView
from app.views.transcript.find_bar import FindBar, LinkNavigator
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.message_column import TranscriptItem
from app.views.transcript.message_focus import MessageFocus
from app.views.transcript.message_view import GAP, PROMPT_GAP, MessageView
from app.views.transcript.message_views import PromptView, ReplyView
from app.views.transcript.scrolling_column import NEAR_END, ScrollingColumn
from app.views.transcript.selection import TextSelection
from app.widgets.controls import button
from app.widgets.soft_edge import SoftEdge
from app.widgets.theme import MARGIN, Theme, set_look

FRAME_MS = 16
FOCUS_WIDTH = 3  # of the bar on the left that shows keyboard focus
KEYBOARD_FOCUS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


class Transcript(ScrollingColumn):
    """A scrolling view of a chat's turns."""

    sample_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, self._make_view, parent)
        self._theme = theme
        self._cut: Cut | None = None  # as last shown, or to be shown after an edit
        self.setAccessibleName(tr("Chat"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click on text focuses the chat, and one on a button doesn't
        self.message_actions = MessageActions(self)
        self.welcome.chosen.connect(self.sample_chosen)
        self.selection = TextSelection(self)
        self.soft_edge = SoftEdge(theme, self)
        self.find_bar = FindBar(theme, self)
        self.links = LinkNavigator(self, self.selection)
        self.message_focus = MessageFocus(self)
        self._has_new_text = False  # below the visible part
        self.jump_button = button("↓", tr("Go to the end"), "float", self.follow)
        self.jump_button.setToolTip(tr("Go to the end"))
        self.jump_button.setParent(self)
        self.jump_button.hide()
        self.verticalScrollBar().valueChanged.connect(self._show_jump_button)
        self.verticalScrollBar().rangeChanged.connect(self._show_jump_button)
        self._deferred = QTimer(self, singleShot=True, interval=FRAME_MS)
        self._deferred.timeout.connect(self._show_next_deferred)
        self.focus_bar = QFrame(self)
        set_look(self.focus_bar, "focus")
        self.focus_bar.hide()
        self.follow_changed.connect(self._show_jump_button)
        self.column.page_requested.connect(self._open_page)
        theme.text_resized.connect(self._rebuild)
        theme.changed.connect(self._redraw)

    # Messages

    @Slot(object)
    def add_turn(self, turn: Turn) -> None:
        """Add a turn at the end, showing its prompt and reply in separate frames."""
        self._set_following(True)
        self._append(_items(turn), deferred=True)
        self._deferred.start()

    @Slot()
    def _show_next_deferred(self) -> None:
        if self.column.show_next_deferred():
            self._deferred.start()
        else:
            self._deferred.stop()
        self.settle()

    @Slot(list)
    def show_turns(self, turns: list[Turn]) -> None:
        """Show exactly these turns, keeping leading ones that are already shown."""
        shown = list(dict.fromkeys(item.turn for item in self.column.items if item.turn is not None))
        pairs = zip(shown, turns, strict=False)
        same = next((number for number, (old, new) in enumerate(pairs) if old is not new), min(len(shown), len(turns)))
        gone = set(shown[same:])
        self._remove([index for index, item in enumerate(self.column.items) if item.turn in gone])
        self._append([item for turn in turns[same:] for item in _items(turn)])
        self._reveal_editor()

    @Slot(object, object, str)
    def go_to_node(self, turn: Turn, node: Node, words: str = "") -> None:
        """Scroll to a message, and mark the words of a search there."""
        kind = "prompt" if node is turn.asked else "reply"
        for index, item in enumerate(self.column.items):
            if item.turn is turn and item.kind == kind:
                self.go_to_message(index)
                if words:
                    self.find_bar.find_in_message(words, index)

    @Slot(int, str)
    def _open_page(self, index: int, address: str) -> None:
        if (turn := self.column.items[index].turn) is not None:
            open_page(self._theme, turn, address, self.message_actions.page_requested.emit, self)

    def shows(self, turn: Turn) -> bool:
        return any(item.turn is turn for item in reversed(self.column.items))

    @Slot(object)
    def refresh(self, turn: Turn) -> None:
        """Update the view of a reply."""
        items = self.column.items
        index = next((at for at in reversed(range(len(items))) if items[at].turn is turn and items[at].kind == "reply"), None)
        if index is None:
            return
        self.column.entries[index].pinned = turn.reply.running
        if isinstance(view := self.column.entries[index].view, ReplyView):
            view.refresh()
        self.column.changed(index)
        self.column.update_marks(index)
        self.settle()
        self._has_new_text = not self.following
        self._show_jump_button()
        self.find_bar.refresh_message(items[index])

    @Slot()
    def clear(self) -> None:
        self.find_bar.close_search()
        self._remove(list(range(len(self.column.items))))
        self.follow()

    @Slot(object)
    def show_cut(self, cut: Cut | None) -> None:
        """Show a line above the messages that the model reads, or none if it reads all.

        While a summary is being edited, its line stays.
        """
        self._cut = cut
        items, summary = self.column.items, cut.summary if cut is not None else None
        text = summary.summary if summary is not None else ""
        shown = next((index for index, item in enumerate(items) if item.kind == "cut"), None)
        if shown is not None and self._is_edited(shown):
            return
        below = self._index_below(cut)
        if shown is not None and shown + 1 == below and items[shown].summary is summary and items[shown].summarized == text:
            return
        if shown is not None:
            self._remove([shown])
            below = below - 1 if below is not None and below > shown else below
        if below is not None:
            self.selection.clear()
            items.insert(below, TranscriptItem("cut", summary=summary, summarized=text))
            edited = summary is not None and summary.id in self.message_actions.summary_edits
            self.column.insert(below, StackEntry(gap=GAP, pinned=edited))
            self.column.update_marks()
            self.find_bar.refresh(below)
            self.settle()

    def _index_below(self, cut: Cut | None) -> int | None:
        """Return the index of the first item below a cut, or None without a cut."""
        if cut is None:
            return None
        if cut.first is None:
            return len(self.column.items)
        return next((index for index, item in enumerate(self.column.items) if item.turn is cut.first), None)

    def show_editing(self, node: Node | None) -> None:
        """Edit a message in its bubble, or end the edit if None."""
        self.message_actions.editing = node
        for index, item in enumerate(self.column.items):
            if item.kind == "prompt":
                entry = self.column.entries[index]
                entry.pinned = self._edits(item)
                entry.deferred = entry.deferred and not entry.pinned  # the editor gets the focus now
        self.message_actions.editing_changed.emit()
        self._reveal_editor()

    def _edits(self, item: TranscriptItem) -> bool:
        """Whether a prompt is being edited."""
        node = self.message_actions.editing
        return node is not None and item.kind == "prompt" and item.turn is not None and item.turn.asked is node

    def _reveal_editor(self) -> None:
        """Scroll to the message that is being edited, unless its start is visible."""
        index = next((index for index, item in enumerate(self.column.items) if self._edits(item)), None)
        if index is None:
            return
        self.column.changed(index)
        self.settle()
        top, bottom = self.visible_band()
        if self.column.entries[index].view is None or not top <= self.column.entries[index].top < bottom - MARGIN:
            self.go_to_message(index)

    def _is_edited(self, index: int) -> bool:
        """Return whether a line's summary is being edited, and its message is above."""
        line, above = self.column.items[index], self.column.items[index - 1].turn if index else None
        if line.summary is None or not line.summary.summary or above is None or above.last is not line.summary:
            return False
        return line.summary.id in self.message_actions.summary_edits

    def _keep_built(self, item: TranscriptItem, kept: bool) -> None:
        """Keep the view of a summary while it is being edited. Update the line afterward."""
        if item in self.column.items:
            index = self.column.items.index(item)
            self.column.entries[index].pinned = kept
            self.column.changed(index)
            self.settle()
            self.show_cut(self._cut)

    def _update_icons(self) -> None:
        """Draw the icons of messages again, which may not be in the last turn any more."""
        for entry in self.column.entries:
            if isinstance(entry.view, MessageView):
                entry.view.show_icons()

    def _append(self, items: list[TranscriptItem], deferred: bool = False) -> None:
        first = len(self.column.items)
        for item in items:
            self.column.items.append(item)
            running = item.kind == "reply" and item.turn is not None and item.turn.reply.running
            pinned = running or self._edits(item)
            gap = PROMPT_GAP if item.kind == "prompt" else GAP
            self.column.insert(len(self.column.entries), StackEntry(gap=gap, pinned=pinned, deferred=deferred))
        self.find_bar.refresh(first)
        self._update_icons()
        self.settle()

    def _remove(self, indexes: list[int]) -> None:
        if not indexes:
            return
        selection = self.selection.range
        if selection is not None and selection[1].item >= indexes[0]:
            self.selection.clear()
        for index in reversed(indexes):
            self.column.remove(index)
        self.column.update_marks()
        self.find_bar.refresh(indexes[0])
        self.settle()

    def _make_view(self, item: TranscriptItem) -> QWidget:
        if item.kind == "cut":
            view = CutView(self._theme, item.summary, self.message_actions)
            view.editing_changed.connect(partial(self._keep_built, item))
            return view
        assert item.turn is not None
        make = PromptView if item.kind == "prompt" else ReplyView
        return make(self._theme, item.turn, self.message_actions)

    # Keyboard

    @Slot()
    def copy(self) -> None:
        self.selection.copy()

    @Slot()
    def selectAll(self) -> None:
        self.selection.select_all()

    @Slot(int)
    def page(self, step: int) -> None:
        """Scroll a page up (-1) or down (1)."""
        actions = QScrollBar.SliderAction
        self.verticalScrollBar().triggerAction(actions.SliderPageStepSub if step < 0 else actions.SliderPageStepAdd)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.selectAll()
        elif event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            if not self.message_focus.step_to_action(event.key() == Qt.Key.Key_Right):
                super().keyPressEvent(event)
        elif event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not self.links.show_current():
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return self.message_focus.step(forward) or super().focusNextPrevChild(forward)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_keyboard = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.message_focus.show_menu(event.globalPos(), self.selection, by_keyboard)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_bar.setVisible(event.reason() in KEYBOARD_FOCUS)
        self.focus_bar.raise_()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_bar.hide()

    # Appearance

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.focus_bar.setGeometry(0, 0, FOCUS_WIDTH, self.height())
        self._show_jump_button()
        self.find_bar.place()

    @Slot()
    def _show_jump_button(self) -> None:
        """Show the way to the end while it is out of sight, and whether it has new text."""
        bar = self.verticalScrollBar()
        self._has_new_text = self._has_new_text and not self.following
        self.jump_button.setText(tr("New Text ↓") if self._has_new_text else "↓")
        self.jump_button.setVisible(not self.following and not self._empty and bar.value() < bar.maximum() - NEAR_END)
        self.jump_button.adjustSize()
        self.jump_button.move((self.width() - self.jump_button.width()) // 2, self.height() - self.jump_button.height() - 10)
        self.jump_button.raise_()

    @Slot()
    def _rebuild(self) -> None:
        """Rebuild all messages with the new text size."""
        for index, entry in enumerate(self.column.entries):
            self.column.discard(index)
            entry.height = 0
            self.column.changed(index)
        self.settle()
        self._reveal_editor()  # else its editor would be gone while it is out of sight

    @Slot()
    def _redraw(self) -> None:
        for index in range(len(self.column.entries)):
            for area in self.column.areas(index).values():
                area.redraw()
            self.column.changed(index)
        self.settle()


def _items(turn: Turn) -> list[TranscriptItem]:
    """Return a turn's prompt and reply. An imported chat can begin with a reply."""
    return [*([TranscriptItem("prompt", turn)] if turn.asked is not None else []), TranscriptItem("reply", turn)]
