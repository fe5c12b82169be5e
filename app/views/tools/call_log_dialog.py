"""The Tool Calls window: the log of the calls in all chats."""

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QListWidget, QListWidgetItem, QWidget

from app.session.call_history import CallHistory, Tool, tool_of
from app.storage.call_log import MOST_CALLS, MOST_LETTERS, LoggedCall
from app.text.dates import date_and_time, short_date
from app.text.language import number, tr
from app.text.plain_text import one_line
from app.views.transcript.call_card import MAX_PREVIEW, PlainTextView, preview, readable, server_name, shown, status, tool_name
from app.widgets.controls import as_tooltip, button, small_label
from app.widgets.layout import Item, ScrollingPage, column, row
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme, set_look

WIDTH, HEIGHT = 680, 620  # at the default text size
LEAST_LIST_LINES = 8  # of the list
CALL = Qt.ItemDataRole.UserRole


class CallLogDialog(QDialog):
    """A list of calls, newest first, and below it the selected one with its result."""

    chat_requested = Signal(str, str)  # IDs of a chat and a message

    def __init__(self, theme: Theme, log: CallHistory, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._log = theme, log
        self._tools: list[Tool] = []
        self._selected: LoggedCall | None = None
        self.setWindowTitle(tr("Tool Calls"))
        self.resize(theme.scaled(WIDTH), theme.scaled(HEIGHT))
        self.tool = QComboBox()
        self.tool.setAccessibleName(tr("Tool"))
        self.tool.activated.connect(self._filter)
        self.list = _CallList()
        self.list.setAccessibleName(tr("Tool calls"))
        set_look(self.list, "records")
        self.list.setItemDelegate(RowDelegate(theme, self.list, _describe))
        self.list.currentItemChanged.connect(self._choose)
        self.empty = small_label(theme, "", "faint")
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        holder, self.details = QWidget(), QWidget()
        self._holder = column(self.details, None, parent=holder)
        self.page = ScrollingPage(holder)
        self.count = small_label(theme, "", "secondary", wrap=True)
        self.clear = button(tr("Clear…"), tr("Clear the list of calls"), "bordered", self._clear)
        about = tr("The calls in your chats, with those that you denied. Deleting a chat deletes its calls.")
        column(
            small_label(theme, about, "secondary", wrap=True),
            self.tool,
            (self.list, 1),
            (self.empty, 1),
            (self.page, 1),
            row((self.count, 1, Qt.AlignmentFlag.AlignVCenter), (self.clear, 0, Qt.AlignmentFlag.AlignRight)),
            spacing=12,
            margins=(20, 16, 20, 14),
            parent=self,
        )
        log.changed.connect(self._show)
        self.finished.connect(log.close)
        self._show()
        log.refresh()

    @Slot()
    def _show(self) -> None:
        """Show the calls that the filter lets pass. The selected one stays selected."""
        log = self._log
        self._show_tools()
        calls = log.shown
        with QSignalBlocker(self.list):
            self.list.clear()
            for call in calls:
                self.list.addItem(_item(call))
            key = _key(self._selected) if self._selected is not None else None
            self.list.setCurrentRow(next((at for at, call in enumerate(calls) if _key(call) == key), -1))
        self._choose()
        self.list.setVisible(bool(calls))
        self.empty.setVisible(not calls)
        self.empty.setText(tr("No tool calls") if log.loaded else "")
        text = tr("1 call") if len(calls) == 1 else tr("{count} calls", count=number(len(calls)))
        if len(log.calls) == MOST_CALLS:
            text = tr("{calls}, of the latest {count}", calls=text, count=number(MOST_CALLS))
        self.count.setText(text if calls else "")
        self.clear.setEnabled(bool(log.calls))

    def _show_tools(self) -> None:
        """Offer the tools that were called. The chosen one stays in the list."""
        chosen = self._tools[self.tool.currentIndex() - 1] if self.tool.currentIndex() > 0 else None
        self._tools = self._log.tools
        if chosen is not None and chosen not in self._tools:
            self._tools.append(chosen)
        titles = {tool_of(call): _tool_title(call) for call in self._log.calls}
        with QSignalBlocker(self.tool):
            self.tool.clear()
            self.tool.addItem(tr("All Tools"))
            self.tool.addItems([titles.get(tool, one_line(tool[1], MAX_PREVIEW)) for tool in self._tools])
            self.tool.setCurrentIndex(self._tools.index(chosen) + 1 if chosen is not None else 0)

    @Slot(int)
    def _filter(self, place: int) -> None:
        self._log.filter(self._tools[place - 1] if place > 0 else None)

    @Slot()
    def _choose(self) -> None:
        """Show the arguments and the result of the selected call."""
        item = self.list.currentItem()
        call: LoggedCall | None = item.data(CALL) if item is not None else None
        if call != self._selected or call is None:
            self._selected = call
            self._show_details(call)
            if item is not None and (layout := self.layout()) is not None:
                layout.activate()  # the list is shorter now
                self.list.scrollToItem(item)

    def _show_details(self, call: LoggedCall | None) -> None:
        old, self.details = self.details, QWidget()
        column(*(self._parts(call) if call is not None else ()), parent=self.details)
        self._holder.replaceWidget(old, self.details)
        old.deleteLater()
        self.page.setVisible(call is not None)

    def _parts(self, call: LoggedCall) -> list[Item]:
        record = call.record
        title = self._log.title(call)
        head = small_label(self._theme, f"{date_and_time(call.made)} · {status(record)}", "secondary", elided=True)
        self.open_chat = button(tr("Open Chat"), tr("Open the chat “{title}”", title=title), "bordered")
        self.open_chat.setToolTip(as_tooltip(title))
        self.open_chat.clicked.connect(lambda: self.chat_requested.emit(call.chat, call.message))
        self.arguments = PlainTextView(self._theme, readable(record.call.arguments), tr("Arguments"))
        self.result_text = PlainTextView(self._theme, shown(record.result), tr("Result"))
        caption = tr("Result")
        if len(record.result) == MOST_LETTERS:
            caption = tr("Result · The first {count} characters; the chat has all", count=number(MOST_LETTERS))
        parts: list[Item] = [
            row((head, 1), self.open_chat),
            small_label(self._theme, tr("Arguments"), "secondary"),
            self.arguments,
        ]
        if record.result:
            parts += [small_label(self._theme, caption, "secondary", wrap=True), self.result_text]
        return parts

    @Slot()
    def _clear(self) -> None:
        question = tr("The list will be empty. The chats keep their calls, and later calls are listed.")
        if confirm(self, tr("Clear the List of Calls?"), question, tr("Clear")):
            self._log.clear()


class _CallList(QListWidget):
    def minimumSizeHint(self) -> QSize:
        """Leave room for some lines next to the details of a call."""
        return QSize(0, LEAST_LIST_LINES * self.fontMetrics().lineSpacing() + 2 * self.frameWidth())


def _item(call: LoggedCall) -> QListWidgetItem:
    record, arguments = call.record, preview(call.record.call.arguments, MAX_PREVIEW)
    item = QListWidgetItem(_tool_title(call))
    item.setData(CALL, call)
    said = ", ".join((item.text(), status(record), date_and_time(call.made), arguments))
    item.setData(Qt.ItemDataRole.AccessibleTextRole, said)
    item.setToolTip(as_tooltip(f"{item.text()}\n{date_and_time(call.made)}\n{arguments}"))
    return item


def _describe(index: Index) -> Row:
    call: LoggedCall = index.data(CALL)
    trailing = f"{status(call.record)} · {short_date(call.made)}"
    return Row(_tool_title(call), trailing, excerpt=("", "", preview(call.record.call.arguments, MAX_PREVIEW)))


def _tool_title(call: LoggedCall) -> str:
    """Return the names of a call's tool and server."""
    tool, server = tool_name(call.record), server_name(call.record)
    return tool if tool == server else f"{tool} · {server}"


def _key(call: LoggedCall) -> tuple[str, str]:
    return call.message, call.record.call.id
