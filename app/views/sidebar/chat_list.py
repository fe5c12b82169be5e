"""The sidebar's list of pinned chats, projects, days, and archived chats."""

import time
from collections.abc import Iterable

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QDropEvent, QKeyEvent, QMouseEvent, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLineEdit, QStyledItemDelegate, QTreeView, QWidget

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.new_replies import NewReplies
from app.session.reply_runner import ReplyRunner
from app.text.language import tr
from app.views.sidebar.chat_sections import ARCHIVE, ChatSection, sections
from app.widgets.controls import IconButton, as_tooltip
from app.widgets.rows import Index, Option, Row, RowDelegate
from app.widgets.theme import LISTED, Theme

ID = Qt.ItemDataRole.UserRole  # id of a chat or project; empty for a heading
KIND = Qt.ItemDataRole.UserRole + 1  # "heading", "project", "archive", "chat", or "hint"
GROUPS = ("project", "archive")  # kinds of headings that open and close
OPEN_MS = 140  # delay after an arrow key, so that chats passed on the way don't open
EXTEND_SELECTION = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class ChatList(QTreeView):
    """The view of the chat library.

    Renaming, moving, and pinning change the library directly. Several chats can be selected. The row under the pointer, or else the
    current row, has a button that pins its chat, and one that opens its menu.
    """

    opened = Signal(str)  # chat id
    chosen = Signal()  # by a click or Return, not by the arrow keys
    delete_requested = Signal()  # for the current row

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        library: ChatLibrary,
        reply_runner: ReplyRunner,
        new_replies: NewReplies,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._session, self._reply_runner = theme, session, reply_runner
        self._library, self._new_replies = library, new_replies
        self._model = QStandardItemModel(self)
        self._refreshing = False
        self._shown: list[ChatSection] = []
        self._closed_projects = {ARCHIVE}
        self._rows: dict[str, QStandardItem] = {}
        self.pin = IconButton(theme, "pin", tr("Pin Chat"), self.viewport())  # before `more` in the Tab order
        self.more = IconButton(theme, "more", tr("Actions"), self.viewport())
        self._button_chat = ""  # id of the chat whose row has the buttons
        self._pointer: QPoint | None = None  # in the viewport
        self._multiple: list[str] = []  # the selected chats, if several
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(theme, self))
        self.setAccessibleName(tr("Chats"))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setExpandsOnDoubleClick(False)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._open_timer = QTimer(self, singleShot=True, interval=OPEN_MS)
        self._open_timer.timeout.connect(self._open_current)
        self.expanded.connect(self._remember_expanded)
        self.collapsed.connect(self._remember_collapsed)
        self.pin.clicked.connect(self._pin)
        self.pin.hide()
        self.more.clicked.connect(self._open_menu)
        self.more.hide()
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self.selectionModel().selectionChanged.connect(self._show_selected)
        for moved in (self.selectionModel().currentChanged, self.verticalScrollBar().valueChanged, application.focusChanged):
            moved.connect(self._place_buttons)
        theme.text_resized.connect(self._measure)
        self._library.changed.connect(self.refresh)
        self._library.restored.connect(self._select_restored)
        session.chat_changed.connect(self.mark_open)
        for signal in (reply_runner.started, reply_runner.waiting_changed, reply_runner.ended):
            signal.connect(self.viewport().update)
        new_replies.changed.connect(self._mark_new_replies)
        self.refresh()

    def chat_ids(self) -> list[str]:
        """Return all chats in list order, including those in collapsed projects."""
        return [entry.id for section in self._shown for entry in section.chats]

    def _ids(self) -> list[str]:
        """Return the IDs of all rows but headings of days, in list order."""
        return [one for section in self._shown for one in (section.project, *(entry.id for entry in section.chats)) if one]

    @property
    def current(self) -> tuple[str, str]:
        """Kind and id of the current row; empty strings if no row is selected."""
        index, rows = self.currentIndex(), self.selectedIndexes()
        if index not in rows:  # a second ⌘-click has deselected it
            index = rows[0] if rows else QModelIndex()
        return (index.data(KIND), index.data(ID)) if index.isValid() else ("", "")

    @property
    def selected(self) -> list[str]:
        """Ids of the selected chats, in list order."""
        ids = {index.data(ID) for index in self.selectedIndexes() if index.data(KIND) == "chat"}
        return [one for one in self.chat_ids() if one in ids]

    @Slot()
    def refresh(self) -> None:
        found = sections(self._library.entries.values(), self._library.projects.values(), time.time())
        order, before, self._shown = self._ids(), self._shown, found
        if _content(found) == _content(before):
            return
        kept, selected = self.current[1], self._multiple
        place_before = self._place_of_open()
        place = self.verticalScrollBar().value()
        self._refreshing = True
        self._update_headings()
        for gone in set(order).difference(self._ids()):
            self._remove(gone)
        for number, section in enumerate(found):
            self._update_rows(self._model.item(number), section)
        for number, section in enumerate(found):
            self._update_hint(self._model.item(number), section)
            self.setExpanded(self._model.index(number, 0), section.project not in self._closed_projects)
        self._refreshing = False
        at = order.index(kept) if kept else len(order)
        others = (kept, *selected, *order[at:], *reversed(order[:at]))
        near = next((one for one in others if one in self._rows and not self._in_closed_archive(one)), kept)
        if kept and (near == kept or self.hasFocus()):
            self.select_rows([near, *selected])
        else:
            self.mark_open()
        self.verticalScrollBar().setValue(place)
        opened = self._session.chat.id
        if opened in self._rows and self._place_of_open() != place_before and not self._in_closed_archive(opened):
            self.scrollTo(self._rows[opened].index())  # a new chat, or one that a message has moved up
        self._place_buttons()

    def _in_closed_archive(self, one: str) -> bool:
        """Return whether a chat is in the closed archive. Selecting it would open it."""
        item = self._rows[one].parent()
        return item is not None and item.data(KIND) == "archive" and ARCHIVE in self._closed_projects

    def _place_of_open(self) -> tuple[str, int]:
        """Return the heading and row of the open chat."""
        item = self._rows.get(self._session.chat.id)
        return (item.parent().text(), item.row()) if item is not None else ("", -1)

    def _update_headings(self) -> None:
        """Remove and insert only headings that changed."""
        wanted = [(section.title, section.project) for section in self._shown]
        for number in reversed(range(self._model.rowCount())):
            if _key(heading := self._model.item(number)) not in wanted:
                for one in (heading.data(ID), *(heading.child(row).data(ID) for row in range(heading.rowCount()))):
                    self._rows.pop(one, None)
                self._model.removeRow(number)
        for number, (title, project) in enumerate(wanted):
            if (there := self._model.item(number)) is None or _key(there) != (title, project):
                heading = _item(title, _kind_of(project), project)
                self._model.insertRow(number, heading)
                if project:
                    self._rows[project] = heading
        for number in range(len(wanted)):
            self._measure_row(self._model.item(number))

    def _update_rows(self, heading: QStandardItem, section: ChatSection) -> None:
        """Update only rows that changed: rebuilding a list of thousands would be slow."""
        for place, entry in enumerate(section.chats):
            item = self._rows.get(entry.id)
            if item is None or item.parent() is not heading or item.row() != place:
                self._remove(entry.id)
                item = self._rows[entry.id] = _item(entry.title, "chat", entry.id)
                self._measure_row(item)
                heading.insertRow(place, item)
                self._describe_title(item)
            elif item.text() != entry.title:
                item.setText(entry.title)
                self._describe_title(item)

    def _update_hint(self, heading: QStandardItem, section: ChatSection) -> None:
        """Show a hint in an empty project, once chats that have moved are out of it."""
        if section.chats:
            heading.setRowCount(len(section.chats))
        elif section.project and not heading.rowCount():
            hint = _item(tr("No chats yet"), "hint", "")
            self._measure_row(hint)
            heading.appendRow(hint)

    def _describe_title(self, item: QStandardItem) -> None:
        """Put the whole title into the tooltip, and tell screen readers of new replies."""
        title = item.text()
        item.setToolTip(as_tooltip(title))
        is_new = item.data(ID) in self._new_replies
        item.setAccessibleText(tr("{title}, new reply", title=title) if is_new else title)

    @Slot()
    def _mark_new_replies(self) -> None:
        for item in self._rows.values():
            if item.data(KIND) == "chat":
                self._describe_title(item)

    @Slot()
    def _measure(self) -> None:
        for number in range(self._model.rowCount()):
            heading = self._model.item(number)
            for item in (heading, *(heading.child(row) for row in range(heading.rowCount()))):
                self._measure_row(item)

    def _measure_row(self, item: QStandardItem) -> None:
        extra = 0 if item.data(KIND) != "heading" else 8 if item.row() else -4
        item.setSizeHint(QSize(0, self._theme.row_height() + extra))

    def _remove(self, chat_id: str) -> None:
        if (item := self._rows.get(chat_id)) is not None and item.parent() is not None:
            del self._rows[chat_id]
            item.parent().removeRow(item.row())

    @Slot()
    def mark_open(self) -> None:
        """Select the open chat. A new one has no row, so the keyboard stays at its row."""
        if (one := self._session.chat.id) in self._rows or not self.hasFocus():
            self.select_rows([one])
        self.viewport().update()

    @Slot(object)
    def _select_restored(self, ids: list[str]) -> None:
        self.refresh()
        self.select_rows(ids)

    def select_rows(self, ids: Iterable[str]) -> None:
        """Select these rows, and make the first one current.

        Not by `setCurrentIndex` of the view, which extends the selection while Shift or ⌘ is held, as with ⌘N.
        """
        indexes = [self._rows[one].index() for one in ids if one in self._rows and not self._in_closed_archive(one)]
        chosen = QItemSelection()
        for index in indexes:
            chosen.select(index, index)
        flag, model = QItemSelectionModel.SelectionFlag, self.selectionModel()
        model.setCurrentIndex(indexes[0] if indexes else QModelIndex(), flag.NoUpdate)
        model.select(chosen, flag.ClearAndSelect)

    def index_of(self, id: str) -> QModelIndex:
        """Return the row of a chat or project, or an invalid index."""
        item = self._rows.get(id)
        return item.index() if item is not None else QModelIndex()

    def rename(self, id: str) -> None:
        """Start editing the name of a chat or project."""
        if item := self._rows.get(id):
            if parent := item.parent():
                self.setExpanded(parent.index(), True)
            self.setFocus()
            self.select_rows([id])
            self.edit(item.index())

    def describe(self, index: Index) -> Row:
        """Return a row's content.

        A ring marks a chat whose reply is being generated, or a question mark if a call needs approval. A dot marks a chat with a
        new reply.
        """
        kind, one, title = index.data(KIND), index.data(ID), index.data()
        if kind == "heading":
            return Row(title, heading=True)
        if kind == "hint":
            return Row(title, hint=True)
        if kind in GROUPS:
            icon = "folder" if kind == "project" else "archive"
            return Row(title, icon=icon, disclosure="opened" if self.isExpanded(index) else "closed", chosen=False)
        run = self._reply_runner.of(one)
        asking = run is not None and run.waiting
        return Row(
            title,
            trailing="?" if asking else "",
            indented=index.parent().data(KIND) in GROUPS,
            mark="" if asking else "ring" if run is not None else "dot" if one in self._new_replies else "",
            chosen=one == self._session.chat.id or one in self._multiple,
            reserved=2 * self.more.sizeHint().width() if one == self._button_chat else 0,
        )

    def commit(self, index: Index, text: str) -> None:
        """Rename the chat or project of a row."""
        if index.data(KIND) == "project":
            self._library.change_project(index.data(ID), name=text)
        else:
            self._library.rename(index.data(ID), text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        before, kind, key = self.currentIndex(), self.current[0], event.key()
        if self.state() == self.State.EditingState:  # the name field has ignored the key
            key = 0
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if kind in GROUPS:
                self.setExpanded(before, not self.isExpanded(before))
            else:
                self._open_current()
                self.chosen.emit()
            return
        if key in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            if kind in ("chat", "project"):
                self.delete_requested.emit()
            return
        super().keyPressEvent(event)
        if event.modifiers() & EXTEND_SELECTION:
            self._open_timer.stop()
        elif self.currentIndex() != before and self.current[0] == "chat":
            self._open_timer.start()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and index.isValid() and not event.modifiers() & EXTEND_SELECTION:
            if index.data(KIND) == "chat":
                self.opened.emit(index.data(ID))
                self.chosen.emit()
            elif index.data(KIND) in GROUPS:
                self.setExpanded(index, not self.isExpanded(index))

    def dropEvent(self, event: QDropEvent) -> None:
        """Move the selected chats into or out of a project, or into or out of the archive."""
        target = self.indexAt(event.position().toPoint())
        while target.isValid() and target.parent().isValid():
            target = target.parent()
        event.setDropAction(Qt.DropAction.IgnoreAction)  # the list is refreshed; the view must not remove the row
        event.accept()
        kind = target.data(KIND) if target.isValid() else ""
        chats = self.selected if event.source() is self else []
        if kind == "archive":
            self._library.archive(chats)
            return
        self._library.archive(chats, archived=False)
        self._library.move(chats, target.data(ID) if kind == "project" else "")

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent):
            self._pointer = event.position().toPoint()
            self._place_buttons()
        elif event.type() == QEvent.Type.Leave:
            self._pointer = None
            self._place_buttons()
        return super().viewportEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()

    @Slot()
    def _place_buttons(self) -> None:
        """Put the buttons on the chat under the pointer, or on the focused row."""
        index = self.indexAt(self._pointer) if self._pointer is not None else QModelIndex()
        if not index.isValid() and any(widget.hasFocus() for widget in (self, self.pin, self.more)):
            index = self.currentIndex()
        area = self.visualRect(index)
        # None for headings and projects, and for a chat that was just deleted
        chat = self._library.entries.get(index.data(ID)) if area.isValid() and self.state() != self.State.EditingState else None
        if chat is not None:
            side = min(self.more.sizeHint().width(), area.height() - 4)
            self.more.setGeometry(area.right() - side - 10, area.center().y() - side // 2 + 1, side, side)
            self.more.setAccessibleName(tr("Actions for “{title}”", title=chat.title))
            self.pin.setGeometry(self.more.geometry().translated(-side, 0))
            self.pin.set_name(tr("Unpin “{title}”", title=chat.title) if chat.pinned else tr("Pin “{title}”", title=chat.title))
            self.pin.is_active = chat.pinned
        self._button_chat = chat.id if chat is not None else ""
        for button in (self.pin, self.more):
            button.setVisible(chat is not None)
        self.viewport().update()

    @Slot()
    def _pin(self) -> None:
        self._library.pin(self._button_chat, not self._library.entries[self._button_chat].pinned)

    @Slot()
    def _open_menu(self) -> None:
        self.customContextMenuRequested.emit(self.more.geometry().bottomLeft())

    @Slot()
    def _show_selected(self) -> None:
        self._multiple = selected if len(selected := self.selected) > 1 else []
        self.viewport().update()

    @Slot()
    def _open_current(self) -> None:
        self._open_timer.stop()
        kind, one = self.current
        if kind == "chat":
            self.opened.emit(one)

    @Slot(QModelIndex)
    def _remember_expanded(self, index: QModelIndex) -> None:
        if not self._refreshing:
            self._closed_projects.discard(index.data(ID))

    @Slot(QModelIndex)
    def _remember_collapsed(self, index: QModelIndex) -> None:
        if not self._refreshing:
            self._closed_projects.add(index.data(ID))


def _content(sections: list[ChatSection]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what the list shows, to detect changes."""
    return [(section.title, section.project, [(entry.id, entry.title) for entry in section.chats]) for section in sections]


def _kind_of(project: str) -> str:
    return "archive" if project == ARCHIVE else "project" if project else "heading"


def _key(heading: QStandardItem) -> tuple[str, str]:
    return heading.text(), heading.data(ID)


def _item(text: str, kind: str, id: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setData(id, ID)
    item.setData(kind, KIND)
    flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsDropEnabled
    if kind not in ("heading", "hint"):
        flags |= Qt.ItemFlag.ItemIsSelectable
    if kind in ("project", "chat"):
        flags |= Qt.ItemFlag.ItemIsEditable
    if kind == "chat":
        flags |= Qt.ItemFlag.ItemIsDragEnabled
    item.setFlags(flags)
    return item


class _Delegate(RowDelegate):
    """A row delegate with an editor for renaming."""

    # The size of the item, without a call of Python: Qt asks for thousands at a time
    sizeHint = QStyledItemDelegate.sizeHint  # type: ignore[assignment]

    def __init__(self, theme: Theme, view: ChatList) -> None:
        super().__init__(theme, view, view.describe)
        self._chats = view

    def createEditor(self, parent: QWidget, option: Option, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(tr("Name"))
        self._theme.set_font(editor, LISTED)
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: Option, index: Index) -> None:
        editor.setGeometry(option.rect.adjusted(10, 2, -10, -2))

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data())
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        text, where = editor.text(), QPersistentModelIndex(index)
        # Renaming refreshes the list, which must not remove the row while Qt still uses it.
        QTimer.singleShot(0, self._chats, lambda: self._chats.commit(where, text) if where.isValid() else None)
