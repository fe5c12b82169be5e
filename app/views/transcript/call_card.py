"""Cards for tool calls. All of their text is untrusted and shown as plain text."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QFrame, QMenu, QPlainTextEdit, QPushButton, QSizePolicy, QWidget

from app.rendering.text_marks import NO_MARKS, TextMarks, cursor_at, extra_selections
from app.rendering.text_view import make_selectable, prepare_document
from app.storage import wording
from app.storage.chat_tree import Turn
from app.text.language import number, tr
from app.text.plain_text import clean, one_line
from app.views.pictures.picture_row import PictureRow, shown_image
from app.views.transcript.message_actions import MessageActions
from app.widgets.controls import ElidedButton, button, copy_button, small_label
from app.widgets.layout import Item, column, flow, row
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.visible import visible
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.record import CallRecord

CARD_PARTS = 3  # of the text: names, arguments, and result
ARM_MS = 600  # before calls can be allowed, so that a click or key that was meant for something else can't
MAX_LINES = 14  # a longer text scrolls
MAX_NAME = 80  # characters
MAX_PREVIEW = 300  # characters
ONE_LINE = 72  # characters; longer arguments are indented
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_LITERAL = re.compile(r"null|true|false|NaN|-?Infinity|[-+]?[\d.]+([eE][-+]?\d+)?")  # without quotes, these aren't text


def shown(text: str) -> str:
    """Return untrusted text without invisible characters, but with its line breaks."""
    return visible(clean(text).replace("\r\n", "\n"))


def readable(arguments: str) -> str:
    """Return simple arguments as lines such as “path: notes.md”, others as JSON."""
    try:
        value = json.loads(arguments)
        if isinstance(value, dict) and value and all(map(_is_simple, value, value.values())):
            lines = (f"{name}: {each if isinstance(each, str) else json.dumps(each)}" for name, each in value.items())
            return shown("\n".join(lines))
        short = json.dumps(value, ensure_ascii=False)
        return shown(short if len(short) <= ONE_LINE else json.dumps(value, ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return shown(arguments)


def preview(arguments: str, length: int) -> str:
    """Return arguments on one line, as JSON if there are several."""
    text = readable(arguments)
    return one_line(arguments if "\n" in text else text, length)


def _is_simple(name: str, value: object) -> bool:
    """Return whether an argument is clear without quotes."""
    if not isinstance(value, str):
        return _NAME.fullmatch(name) is not None and (value is None or isinstance(value, bool | int | float))
    return _NAME.fullmatch(name) is not None and value.splitlines() == [value.strip()] and not _LITERAL.fullmatch(value)


def card_texts(record: CallRecord) -> tuple[str, str, str]:
    """Return a card's texts for searches: names, arguments, and result."""
    return f"{tool_name(record)} {server_name(record)}", readable(record.call.arguments), shown(record.result)


def tool_name(record: CallRecord) -> str:
    """Return a tool's name, for the calculator that of its server."""
    if (record.server, record.tool) == ("Calculator", "calculator"):
        return server_name(record)
    return one_line(record.tool or record.call.name, MAX_NAME)


def server_name(record: CallRecord) -> str:
    return one_line(wording.tool_server(record.server), MAX_NAME) or tr("Unknown tool")


def status(record: CallRecord) -> str:
    match record.state:
        case "waiting":
            return tr("Needs approval")
        case "running":
            return tr("Running…")
        case "done" if record.seconds is not None:
            return tr("Done in {seconds}", seconds=wording.duration(record.seconds))
        case "done":
            return tr("Done")
        case "failed":
            return tr("Failed")
        case "denied":
            return tr("Denied")
    return tr("Stopped")


class CallCard(QFrame):
    """A card with a call's tool, arguments, status, and result.

    An open call shows its arguments. A call that has ended is collapsed to one line.
    """

    def __init__(self, theme: Theme, turn: Turn, record: CallRecord, actions: MessageActions, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._turn, self._actions = theme, turn, actions
        self.record = record
        self._sent = 0  # characters of the result that the model got, at most; 0 for all
        self._marks = [NO_MARKS] * CARD_PARTS
        self.body: QWidget | None = None
        self.header = ElidedButton("", "pair")
        self.header.setCheckable(True)
        self.header.setChecked(not record.ended)
        self.header.toggled.connect(self._rebuild)
        self.preview = small_label(theme, look="secondary", elided=True)
        self.preview.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.preview.setMinimumWidth(1)
        self.status = small_label(theme, elided=True)
        self.status.setAccessibleName(tr("Status"))
        self.report = small_label(theme, look="secondary", wrap=True)
        self.report.setAccessibleName(tr("Progress"))
        top = row(self.header, (self.preview, 1), self.status)
        self._layout = column(top, row(self.report, margins=(8, 0, 0, 0)), spacing=6, margins=(6, 6, 14, 6), parent=self)
        self.report.hide()
        self._rebuild()

    def show_call(self, record: CallRecord, progress: str = "", sent: int = 0) -> None:
        """Show the call's new state.

        Args:
            record: the call.
            progress: what the running call reports.
            sent: number of characters of the result that the model got, at most; 0 for all.
        """
        self.report.setText(one_line(progress, MAX_PREVIEW))
        self.report.setVisible(bool(progress) and record.state == "running")
        if (record, sent) != (self.record, self._sent):
            self._sent = sent
            ends, self.record = record.ended and not self.record.ended, record
            if ends and self.header.isChecked():
                self.header.setChecked(False)
            else:
                self._rebuild()

    @Slot()
    def _rebuild(self) -> None:
        """Build only the parts that the call's state needs, to save memory."""
        record, name, said = self.record, tool_name(self.record), status(self.record)
        is_open = self.header.isChecked()
        set_look(self, "asking" if record.state == "waiting" else "code")
        self.setAccessibleName(tr("Tool call: {tool}, {status}", tool=name, status=said))
        self.header.setText(f"{'▾' if is_open else '▸'}  {name}")
        self.header.setAccessibleName(tr("Hide call to “{tool}”", tool=name) if is_open else tr("Show call to “{tool}”", tool=name))
        server = server_name(record)
        arguments = "" if is_open else preview(record.call.arguments, MAX_PREVIEW)
        self.preview.setText(" · ".join(filter(None, (server if server != name else "", arguments))))
        self.status.setText(said)
        set_look(self.status, "danger" if record.state == "failed" else "secondary")
        if self.body is not None:
            self.body.hide()
            self.body.deleteLater()
            self.body = None
        if is_open:
            self.body = QWidget(self)
            column(*self._parts(), spacing=8, margins=(8, 0, 0, 4), parent=self.body)
            self._layout.addWidget(self.body)
            self.body.show()
            self.show_marks(self._marks)

    def show_marks(self, marks: Sequence[TextMarks]) -> None:
        """Mark search hits in each part of the text."""
        self._marks = list(marks)
        for view, part in zip(self._views, marks, strict=True):
            if view is not None:
                hits = replace(part, selected=())
                view.setExtraSelections(extra_selections(view.document(), hits, self._theme))

    def reveal(self, part: int, offset: int) -> None:
        """Open the card, and scroll to an offset in a part of its text."""
        self.header.setChecked(True)
        if (view := self._views[part]) is not None:
            view.setTextCursor(cursor_at(view.document(), offset))

    def rect_of(self, part: int, offset: int) -> QRect:
        """Return the rectangle of a character in a part, or of the header."""
        if (view := self._views[part]) is None:
            return self.header.geometry()
        rect = view.cursorRect(cursor_at(view.document(), offset))
        return QRect(view.viewport().mapTo(self, rect.topLeft()), rect.size())

    @property
    def _views(self) -> tuple["PlainTextView | None", ...]:
        """The views of the parts, if the card is open."""
        if self.body is None:
            return (None,) * CARD_PARTS
        return None, self.arguments, self.result if self.record.ended and self.record.result else None

    def _parts(self) -> list[Item]:
        """Return the widgets below the header."""
        record, name = self.record, tool_name(self.record)
        self.arguments = PlainTextView(self._theme, readable(record.call.arguments), tr("Arguments"))
        parts: list[Item] = [self.arguments]
        if record.state == "waiting":
            if record.changed:
                parts.insert(0, small_label(self._theme, tr("This tool has changed since you allowed it."), wrap=True))
            parts.append(flow(*self._choices(record.call.id, name)))
        elif record.state == "running":
            cancel = partial(self._actions.call_canceled.emit, self._turn, record.call.id)
            parts.append(row(button(tr("Cancel"), tr("Cancel the call to “{tool}”", tool=name), "bordered", cancel), None))
        else:
            if record.result:
                self.result = PlainTextView(self._theme, shown(record.result), tr("Result"))
                title = tr("Result")
                if 0 < self._sent < len(record.result):
                    title = tr("Result · The model received only the first {count} characters", count=number(self._sent))
                parts += [small_label(self._theme, title, "secondary", wrap=True), self.result]
            if record.images:
                parts.append(PictureRow(self._theme, [shown_image(one) for one in record.images]))
            copied = f"{record.call.name} {record.call.arguments}\n\n{record.result}"
            parts.append(row(None, copy_button(tr("Copy call"), lambda: copied)))
        return parts

    def _choices(self, call_id: str, name: str) -> list[QPushButton]:
        """Return the buttons of a call that needs approval."""

        def decide(decision: Decision) -> Callable[[], None]:
            return partial(self._actions.decided.emit, self._turn, call_id, decision)

        once = button(tr("Allow Once"), tr("Allow “{tool}” once", tool=name), "primary", decide("once"))
        deny = button(tr("Deny"), tr("Deny the call to “{tool}”", tool=name), "bordered", decide("deny"))
        more = button(f"{tr('More')} ▾", tr("More ways to allow “{tool}”", tool=name), "bordered")
        menu = QMenu(more)
        self.lasting = [
            menu.addAction(tr("Allow in This Chat"), decide("chat")),
            menu.addAction(tr("Always Allow"), decide("always")),
        ]
        more.clicked.connect(lambda: menu.popup(more.mapToGlobal(QPoint(0, more.height()))))
        for made in (once, more):
            made.setEnabled(False)
            QTimer.singleShot(ARM_MS, made, partial(made.setEnabled, True))
        self.choices = [once, deny, more]
        return self.choices


class PlainTextView(QPlainTextEdit):
    """Read-only text that grows with its lines up to a limit, then scrolls."""

    def __init__(self, theme: Theme, text: str, name: str) -> None:
        super().__init__()
        self._theme = theme
        prepare_document(self, name)
        make_selectable(self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self._set_font()
        self.setPlainText(text)
        self._first_lines = text.split("\n", MAX_LINES)[:MAX_LINES]
        theme.changed.connect(self._set_font)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @Slot()
    def _set_font(self) -> None:
        self.setFont(self._theme.code_font)  # a new style sheet has replaced it

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        metrics, lines = self.fontMetrics(), 0
        for line in self._first_lines:
            lines += 1 + metrics.horizontalAdvance(line[:2000]) // max(1, width - 2)
        return ceil(min(lines, MAX_LINES) * self._line_height()) + 2

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(200))

    def minimumSizeHint(self) -> QSize:
        return QSize(60, ceil(self._line_height()) + 2)

    def _line_height(self) -> float:
        first = self.document().begin()
        drawn = self.document().documentLayout().blockBoundingRect(first).height() / max(1, first.lineCount())
        return max(drawn, self.fontMetrics().lineSpacing())
