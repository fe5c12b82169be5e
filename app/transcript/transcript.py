"""The chat, top to bottom, in one column that follows the end while the reader is there."""

from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollBar, QWidget

from app.chat.welcome import Welcome
from app.conversations.chat_tree import Node, Turn
from app.language import tr
from app.notice import Notice
from app.rendering.blocks_view import BlocksView
from app.rendering.marks import Marks
from app.transcript.column import GAP, Column, Item, Place, areas
from app.transcript.find_bar import Finding
from app.transcript.follow_scroll import Following
from app.transcript.link_navigation import Links
from app.transcript.message import NoticeView, PromptView, ReplyView
from app.transcript.selection import Selecting
from app.transcript.stack import Entry
from app.widgets.button import button
from app.widgets.theme import COLUMN, MARGIN, Theme, set_look

ABOVE = BELOW = 28  # around the column
AHEAD = 500  # pixels above and below the window that are built already
FRAME_MS = 16
FOCUS_WIDTH = 3  # of the bar at the edge while the keyboard is here
BY_KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


@dataclass(slots=True)
class _Anchor:
    """A point in the text: `down` pixels into an entry, or from its end, or into a part of one of its texts."""

    entry: Entry
    down: int
    area: BlocksView | None = None
    part: Entry | None = None
    from_end: bool = False


class Transcript(Following):
    """Turns and notices in order of appearance; a friendly page while there are none. Only what is near the reader is built."""

    retry = Signal(object)  # Turn
    edit = Signal(object)  # Turn
    resume = Signal(object)  # Turn
    compare = Signal(object)  # Turn
    stepped = Signal(object, int)  # the Node whose versions are gone through, and -1 or 1
    load = Signal()
    sample_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settling = False
        self.setAccessibleName(tr("Chat"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setWidgetResizable(False)

        page = QWidget()
        self.welcome = Welcome(theme, page)
        self.welcome.chosen.connect(self.sample_chosen)
        self.welcome.load.connect(self._ask_load)
        self.column = Column(theme, self._make, page)
        self.column.relaid.connect(self._laid_out_anew)
        self._page = page
        self.setWidget(page)
        self.selecting = Selecting(self, self.column)
        self.finding = Finding(self, theme, self.column)
        self.links = Links(self, self.column)

        self.to_end = button(tr("New text  ↓"), tr("Go to the end"), "float")
        self.to_end.setParent(self)
        self.to_end.hide()
        self.to_end.clicked.connect(self.follow)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(FRAME_MS)
        self._soon.timeout.connect(self._show_next)
        self.focus_bar = QFrame(self)
        set_look(self.focus_bar, "focus")
        self.focus_bar.hide()
        self.follow_changed.connect(self._follow_changed)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        theme.text_resized.connect(self._rebuild)
        theme.changed.connect(self._redraw)

    def reply_views(self) -> list[ReplyView]:
        """The replies that are built, in order."""
        while self._soon.isActive():
            self._show_next()
        return [entry.view for entry in self.column.entries if isinstance(entry.view, ReplyView)]

    def notices(self) -> list[str]:
        """The sentences shown outside replies."""
        return [item.notice.label.text() for item in self.column.items if item.notice is not None]

    # What is shown

    @Slot(object)
    def add_turn(self, turn: Turn) -> None:
        """A new turn at the end. The question appears a frame later, its reply one more, so that neither keeps the window long."""
        self._set_following(True)
        self.clear_notices()
        self._append(*_items(turn), waits=True)
        self._soon.start()

    @Slot()
    def _show_next(self) -> None:
        if self.column.show_next():
            self._soon.start()
        else:
            self._soon.stop()
        self._settle()

    @Slot(list)
    def show_turns(self, turns: list[Turn]) -> None:
        """Show these turns and no others; those at the beginning that are shown already stay as they are."""
        shown = list(dict.fromkeys(item.turn for item in self.column.items if item.turn is not None))
        same = 0
        while same < min(len(shown), len(turns)) and shown[same] is turns[same]:
            same += 1
        for turn in shown[same:]:
            self.remove_turn(turn)
        self._append(*(item for turn in turns[same:] for item in _items(turn)))

    @Slot(object, object)
    def point(self, turn: Turn, node: Node) -> None:
        """Go to a message."""
        wanted = "prompt" if node is turn.asked else "reply"
        for index, item in enumerate(self.column.items):
            if item.turn is turn and item.kind == wanted:
                self._set_following(False)
                self._go_to(index)

    @Slot(object)
    def remove_turn(self, turn: Turn) -> None:
        self.selecting.clear()
        for index in reversed(range(len(self.column.items))):
            if self.column.items[index].turn is turn:
                self._take(index)
        self._settle()

    @Slot(object)
    def refresh(self, turn: Turn) -> None:
        """Draw what is new in a reply."""
        for index in reversed(range(len(self.column.items))):
            item = self.column.items[index]
            if item.turn is turn and item.kind == "reply":
                self.column.entries[index].pinned = turn.reply.running
                view = self.column.view(index)
                if isinstance(view, ReplyView):
                    view.refresh()
                self.column.changed(index)
                self.lay_marks(index)
                self._settle()
                if not self.following:
                    self._show_to_end(True)
                self.finding.refresh()
                return

    @Slot(object)
    def add_notice(self, notice: Notice) -> None:
        """Say a sentence; the same sentence is not said twice in a row."""
        if self.notices()[-1:] == [notice.text]:
            return
        view = NoticeView(self._theme, notice.text, "error" if notice.kind == "error" else "notice")
        if notice.offer == "load":
            view.add_button(button(tr("Try Again"), tr("Load again"), "bordered")).clicked.connect(self._ask_load)
        self._append(Item("notice", notice=view, said=notice))
        self.follow()

    @Slot()
    def clear(self) -> None:
        """Back to the empty page: another chat follows, or none."""
        self.selecting.clear()
        self.finding.close()
        for index in reversed(range(len(self.column.items))):
            self._take(index)
        self._settle()
        self.follow()

    @Slot(str)
    def clear_notices(self, until: str = "") -> None:
        """Take all away, or only those that held until this."""
        items = self.column.items
        gone = [
            at for at, item in enumerate(items) if item.kind == "notice" and (not until or (item.said and item.said.until == until))
        ]
        for index in reversed(gone):
            self._take(index)
        if gone:
            self._settle()

    # Going places

    @Slot()
    def follow(self) -> None:
        """Go to the end and stay there."""
        self._set_following(True)
        self._settle()

    def reveal(self, place: Place) -> None:
        """Bring a place of the text into sight."""
        self._set_following(False)
        self._go_to(place.item)
        view = self.column.view(place.item)
        if isinstance(view, PromptView) and view.folded:
            view.show_all()
            self.column.changed(place.item)
            self.lay_marks(place.item)
        if isinstance(view, ReplyView) and place.area == 0 and view.thinking is not None:
            view.thinking.open()
        self._settle()
        for _ in range(4):  # what lies between is built on the way, and may be higher or lower than thought
            rect = self.column.rect_of(place)
            if rect is None:
                top = self._part_top(place)
                if top is None:
                    return
            else:
                top = rect.top()
            bar = self.verticalScrollBar()
            inside = self._above + top - bar.value()
            if rect is not None and self._top_margin() <= inside <= self.viewport().height() - 80:
                return
            bar.setValue(max(0, self._above + top - self.viewport().height() // 3))
            self._settle()

    def shown_band(self) -> tuple[int, int]:
        """What is in sight, in the column's heights."""
        top = self.verticalScrollBar().value() - self._above
        return top, top + self.viewport().height()

    # Selection and hits

    def lay_marks(self, only: int | None = None) -> None:
        """Lay selection and hits over the messages that are built."""
        for index in range(len(self.column.items)) if only is None else (only,):
            view = self.column.view(index)
            marks: dict[int, dict[int, Marks]] = {}
            for number, area in areas(view):
                hits = self.finding.hits_of(index, number)
                for part in range(len(area.parts)):
                    selected = self.selecting.stretch(index, number, part)
                    if selected is not None or part in hits:
                        found, current = hits.get(part, ((), None))
                        marks.setdefault(number, {})[part] = Marks(selected, found, current)
            self.column.set_marks(index, marks)

    @Slot()
    def copy(self) -> None:
        """Put the selection on the clipboard, as Markdown."""
        self.selecting.copy()

    @Slot()
    def selectAll(self) -> None:
        """Select the whole chat."""
        self.selecting.select_all()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.selectAll()
        elif event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter) or not self.links.show_current():
            super().keyPressEvent(event)

    @Slot(int)
    def page(self, step: int) -> None:
        """A screenful up (-1) or down (1)."""
        actions = QScrollBar.SliderAction
        self.verticalScrollBar().triggerAction(actions.SliderPageStepSub if step < 0 else actions.SliderPageStepAdd)

    def make_room(self) -> None:
        """The bar of the search has come or gone: the first message must not lie under it."""
        self._settle()

    # Inside

    @property
    def _above(self) -> int:
        return ABOVE + self.finding.height()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_bar.setVisible(event.reason() in BY_KEYBOARD)
        self.focus_bar.raise_()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_bar.hide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.focus_bar.setGeometry(0, 0, FOCUS_WIDTH, self.height())
        self._settle()
        self._place_button()
        self.finding.place()

    @Slot()
    def _laid_out_anew(self) -> None:
        """Something in a message has changed its size by itself."""
        if self._settling:
            return
        for index, entry in enumerate(self.column.entries):
            if entry.view is not None:
                self.column.changed(index)
        self._settle()

    def _make(self, item: Item) -> QWidget:
        if item.notice is not None:
            return item.notice
        assert item.turn is not None
        view: PromptView | ReplyView
        if item.kind == "prompt":
            view = PromptView(self._theme, item.turn, lazy=True)
        else:
            view = ReplyView(self._theme, item.turn, lazy=True)
            view.retry.connect(self.retry)
            view.resume.connect(self.resume)
            view.compare.connect(self.compare)
        view.edit.connect(self.edit)
        view.stepped.connect(self.stepped)
        return view

    def _append(self, *items: Item, waits: bool = False) -> None:
        for item in items:
            self.column.items.append(item)
            pinned = item.kind == "notice" or (item.kind == "reply" and item.turn is not None and item.turn.reply.running)
            entry = Entry(gap=GAP, pinned=pinned, view=item.notice, waits=waits)
            self.column.insert(len(self.column.entries), entry)
            if item.notice is not None:
                item.notice.setParent(self.column)
                item.notice.show()
        self._settle()

    def _take(self, index: int) -> None:
        self.column.remove(index)
        del self.column.items[index]

    def _settle(self) -> None:
        """Give everything its place, with what the reader looks at where it was."""
        if self._settling:
            return
        self._settling = True
        bar = self.verticalScrollBar()
        size = self.viewport().size()
        width = max(80, min(COLUMN, size.width() - 2 * MARGIN))
        empty = not any(item.turn is not None for item in self.column.items)
        anchor = None if self.following else self._anchor()
        for _ in range(6):
            total = self.column.fit(width)
            height = total + self._above + BELOW + (self.welcome.height_for(width) + GAP if empty else 0)
            self._page.resize(size.width(), max(height, size.height()))
            at = QPoint((size.width() - width) // 2, self._page.height() - total - BELOW if empty else self._above)
            self.column.setGeometry(at.x(), at.y(), width, max(total, 1))
            bar.setValue(bar.maximum() if self.following else self._above + self._height_of(anchor) if anchor else bar.value())
            top, bottom = self.shown_band()
            if not self.column.show_band(top - AHEAD, bottom + AHEAD):
                break
        self.welcome.setVisible(empty)
        if empty:
            self.welcome.setGeometry(at.x(), 0, width, max(1, self._page.height() - total - BELOW - (GAP if total else 0)))
        self._settling = False

    def _anchor(self) -> "_Anchor | None":
        """What is at the top of the window: the message, the part of it, and how far down in that."""
        top = self.shown_band()[0]
        index = self.column.index_at(top)
        if index is None or top <= 0:
            return None
        entry = self.column.entries[index]
        for _, area in areas(entry.view):
            above = area.mapTo(self.column, QPoint()).y()
            part = area.index_at(top - above)
            if above <= top < above + area.height() and part is not None:
                return _Anchor(entry, top - above - area.entries[part].top, area, area.entries[part])
            if top >= above + area.height():  # under the text, which may turn out higher than thought
                return _Anchor(entry, top - entry.top - entry.height, from_end=True)
        return _Anchor(entry, top - entry.top)

    def _height_of(self, anchor: "_Anchor") -> int:
        if anchor.area is None or anchor.part is None or anchor.entry.view is None:
            return anchor.entry.top + anchor.down + (anchor.entry.height if anchor.from_end else 0)
        return anchor.area.mapTo(self.column, QPoint()).y() + anchor.part.top + anchor.down

    def _go_to(self, index: int) -> None:
        """Bring the beginning of a message to the top of the window."""
        for _ in range(3):
            self._settle()
            self.verticalScrollBar().setValue(max(0, self.column.entries[index].top + self._above - MARGIN))

    def _part_top(self, place: Place) -> int | None:
        for number, area in areas(self.column.view(place.item)):
            if number == place.area and place.part < len(area.entries):
                return area.mapTo(self.column, QPoint()).y() + area.entries[place.part].top
        return None

    def _top_margin(self) -> int:
        return self.finding.height() + 8

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        self._settle()

    @Slot(int)
    def _moved(self, value: int) -> None:
        if not self._settling:
            super()._moved(value)

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
    def _rebuild(self) -> None:
        """Text has another size: what is built has the old one in its layout."""
        for index, item in enumerate(self.column.items):
            if item.notice is None:
                self.column.let_go(index)
        self.column.measure_anew()
        self._settle()

    @Slot()
    def _redraw(self) -> None:
        for entry in self.column.entries:
            if isinstance(entry.view, PromptView | ReplyView):
                entry.view.redraw()
        for index in range(len(self.column.entries)):
            self.column.changed(index)
        self._settle()


def _items(turn: Turn) -> list[Item]:
    """An imported chat may begin with a reply."""
    return [*([Item("prompt", turn)] if turn.asked is not None else []), Item("reply", turn)]
