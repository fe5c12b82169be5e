"""Find in the chat: a bar over the transcript, hits in all messages, shown or not."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit

from app.language import tr
from app.rendering.blocks import Block
from app.rendering.markdown import clean
from app.rendering.marks import Stretch
from app.rendering.parts import as_typed, parts, plain, units
from app.rendering.streaming import StreamingMarkdown
from app.transcript.column import Column, Place
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look

if TYPE_CHECKING:
    from app.transcript.transcript import Transcript

SLICE = 8  # messages looked through between two looks at the event loop
MOST = 2000  # hits
Hits = dict[int, tuple[tuple[Stretch, ...], Stretch | None]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A hit: where it begins and the offset behind it."""

    place: Place
    end: int


class FindBar(QFrame):
    """A field, the count, two arrows and a way out."""

    def __init__(self, theme: Theme, finding: "Finding", parent: "Transcript") -> None:
        super().__init__(parent)
        set_look(self, "find")
        self._finding = finding
        self.field = _Field(finding)
        self.field.setPlaceholderText(tr("Find in this chat"))
        self.field.setAccessibleName(tr("Find in this chat"))
        self.field.setClearButtonEnabled(True)
        self.count = Label()
        theme.set_font(self.count, SMALL)
        self.count.setAccessibleName(tr("Hits"))
        set_look(self.count, "secondary")
        self.before = button("↑", tr("Previous hit"))
        self.after = button("↓", tr("Next hit"))
        self.close_button = button(tr("Done"), tr("Close the search"))
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        row.setSpacing(4)
        row.addWidget(self.field, 1)
        row.addWidget(self.count)
        for made in (self.before, self.after, self.close_button):
            row.addWidget(made)
        self.hide()


class _Field(QLineEdit):
    def __init__(self, finding: "Finding") -> None:
        super().__init__()
        self._finding = finding
        self.setFrame(False)
        self.setMinimumWidth(120)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._finding.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self._finding.close()
        else:
            super().keyPressEvent(event)


class Finding(QObject):
    """What is looked for and where it was found. Messages are looked through a few at a time, so that typing never waits."""

    def __init__(self, transcript: "Transcript", theme: Theme, column: Column) -> None:
        super().__init__(column)
        self._transcript = transcript
        self._column = column
        self.bar = FindBar(theme, self, transcript)
        self.hits: list[Hit] = []
        self.current = -1
        self._pattern: re.Pattern[str] | None = None
        self._words: list[str] = []
        self._next = 0
        self._at: Place | None = None
        self._by_item: dict[int, dict[int, dict[int, list[Stretch]]]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._look_on)
        self._again = QTimer(self)  # a reply that grows is looked through now and then
        self._again.setSingleShot(True)
        self._again.setInterval(400)
        self._again.timeout.connect(self._search)
        self.bar.field.textChanged.connect(self._search)
        self.bar.before.clicked.connect(self.back)
        self.bar.after.clicked.connect(self.forward)
        self.bar.close_button.clicked.connect(self.close)

    @Slot()
    def open(self) -> None:
        """Show the bar and write into it."""
        self.bar.show()
        self.place()
        self._transcript.make_room()
        self._search()
        self.bar.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.bar.field.selectAll()

    @property
    def at(self) -> Place | None:
        """The hit that the reader is at, or was when the chat was begun to be looked through again."""
        return self.hits[self.current].place if 0 <= self.current < len(self.hits) else self._at if self._timer.isActive() else None

    @Slot()
    def close(self) -> None:
        """Hide the bar and forget the hits."""
        if self.bar.isHidden():
            return
        self.bar.hide()
        self._transcript.make_room()
        self._pattern = None
        self._timer.stop()
        self._forget()
        self._transcript.setFocus()

    def height(self) -> int:
        """What the bar takes of the window."""
        return 0 if self.bar.isHidden() else self.bar.height()

    def place(self) -> None:
        """Put the bar where it belongs."""
        width = min(460, self._transcript.width() - 40)
        self.bar.setGeometry(self._transcript.width() - width - 24, 8, width, self.bar.sizeHint().height())
        self.bar.raise_()

    def refresh(self) -> None:
        """A reply has grown."""
        if self._pattern is not None and not self._again.isActive():
            self._again.start()

    def hits_of(self, item: int, area: int) -> Hits:
        """The hits in a text, by part, with the one that the reader is at."""
        found = self._by_item.get(item, {}).get(area, {})
        at = self.hits[self.current] if 0 <= self.current < len(self.hits) else None
        result: Hits = {}
        for part, stretches in found.items():
            here = at is not None and (at.place.item, at.place.area, at.place.part) == (item, area, part)
            result[part] = tuple(stretches), (at.place.offset, at.end) if here and at is not None else None
        return result

    @Slot()
    def back(self) -> None:
        """To the hit before."""
        self.step(-1)

    @Slot()
    def forward(self) -> None:
        """To the next hit."""
        self.step(1)

    def step(self, by: int) -> None:
        """Go to the next or previous hit; around at the ends."""
        if not self.hits:
            return
        self.current = self._first_in_sight() if self.current < 0 else (self.current + by) % len(self.hits)
        self._show()
        self._transcript.lay_marks()
        self._transcript.reveal(self.hits[self.current].place)

    def _first_in_sight(self) -> int:
        top = self._transcript.shown_band()[0]
        first = self._column.index_at(top) or 0
        return next((number for number, hit in enumerate(self.hits) if hit.place.item >= first), 0)

    def _forget(self) -> None:
        self.hits, self.current, self._next, self._by_item = [], -1, 0, {}
        self._transcript.lay_marks()

    @Slot()
    def _search(self) -> None:
        if self.bar.isHidden():
            return
        at = self.at
        query = self.bar.field.text().strip()
        self._forget()
        if not query:
            self._pattern = None
            self.bar.count.setText("")
            return
        self._at = at
        self._pattern = re.compile(r"\s+".join(re.escape(word) for word in query.split()), re.IGNORECASE)
        self._words = [word.casefold() for word in query.split()]
        self._timer.start()

    @Slot()
    def _look_on(self) -> None:
        looked = 0
        while self._next < len(self._column.items) and looked < SLICE and len(self.hits) < MOST:
            looked += self._look_through(self._next)
            self._next += 1
        if self._next >= len(self._column.items) or len(self.hits) >= MOST:
            self._timer.stop()
            if self._at is not None and self.hits:
                places = [hit.place for hit in self.hits]
                self.current = places.index(self._at) if self._at in places else -1
            self._transcript.lay_marks()
        self._show()

    def _look_through(self, index: int) -> int:
        """The cost: 1 for a message that had to be read, 0 for one whose source says that nothing can be in it."""
        item = self._column.items[index]
        if item.turn is None or self._pattern is None:
            return 0
        texts = [(1, item.text)]
        if item.kind == "reply" and item.turn.reply.thinking:
            texts.insert(0, (0, item.turn.reply.thinking))
        cost = 0
        for area, text in texts:
            folded = text.casefold()
            if not all(word in folded for word in self._words):
                continue
            cost += 1 + len(text) // 4000
            if item.kind == "prompt":
                blocks: tuple[Block, ...] = as_typed(clean(text))
            else:
                source = StreamingMarkdown()
                source.append(text)
                blocks = source.blocks
            for number, part in enumerate(parts(blocks)):
                mine = blocks[part.first : part.first + part.count]
                for stretch in self._stretches(part.kind, mine):
                    self.hits.append(Hit(Place(index, area, number, stretch[0]), stretch[1]))
                    self._by_item.setdefault(index, {}).setdefault(area, {}).setdefault(number, []).append(stretch)
        return cost

    def _stretches(self, kind: str, blocks: Sequence[Block]) -> list[Stretch]:
        assert self._pattern is not None
        if kind == "table":
            cells = plain(blocks[0]).split("\n")[:-1]
            return [(number, number) for number, cell in enumerate(cells) if self._pattern.search(cell)]
        text = "\n".join(plain(block) for block in blocks)
        return [(units(text[: match.start()]), units(text[: match.end()])) for match in self._pattern.finditer(text)]

    def _show(self) -> None:
        if not self.hits:
            self.bar.count.setText("" if self._timer.isActive() else tr("None"))
            return
        count = f"{len(self.hits)}{'+' if len(self.hits) >= MOST or self._timer.isActive() else ''}"
        self.bar.count.setText(tr("{place} of {count}", place=self.current + 1, count=count) if self.current >= 0 else count)
