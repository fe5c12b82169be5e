"""The sidebar's list of chats: pinned, folders, days. One selected row, all by keyboard too."""

import time

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QDropEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView, QWidget

from app.chat.conductor import Conductor
from app.language import tr
from app.sidebar.sections import ChatSection, sections
from app.widgets.icon_button import ICON_SIZE, draw_icon
from app.widgets.label import as_tooltip
from app.widgets.theme import LISTED, Theme

Index = QModelIndex | QPersistentModelIndex

ID = Qt.ItemDataRole.UserRole  # of a chat or a folder; empty for a heading
KIND = Qt.ItemDataRole.UserRole + 1  # "heading", "folder" or "chat"
INSIDE = Qt.ItemDataRole.UserRole + 2  # a chat that lies in a folder
OPEN_MS = 140  # arrow keys pass over chats without opening each


class ChatList(QTreeView):
    """Shows the library; opening, renaming and moving go straight to it."""

    opened = Signal(str)  # a chat's id
    delete_asked = Signal()  # of the current row, by key

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._library = conductor.library
        self._model = QStandardItemModel(self)
        self._filling = False
        self._shown: list[ChatSection] = []
        self._closed_folders: set[str] = set()
        self._rows: dict[str, QStandardItem] = {}
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(theme, conductor, self))
        self.setAccessibleName(tr("Chats"))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setExpandsOnDoubleClick(False)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setMouseTracking(True)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(OPEN_MS)
        self._soon.timeout.connect(self._open_current)
        self.expanded.connect(self._note_folders)
        self.collapsed.connect(self._note_folders)
        self._library.changed.connect(self.refresh)
        conductor.chat_changed.connect(self.mark_open)
        conductor.busy_changed.connect(self.viewport().update)
        theme.changed.connect(self.viewport().update)
        theme.text_resized.connect(self.doItemsLayout)
        self.refresh()

    def chat_ids(self) -> list[str]:
        """All chats in the order of the list, also those in closed folders."""
        return [entry.id for section in self._shown for entry in section.chats]

    @property
    def current(self) -> tuple[str, str]:
        """Kind and id of the row that the keys act on; empty when there is none."""
        index = self.currentIndex()
        return (index.data(KIND), index.data(ID)) if index.isValid() else ("", "")

    @Slot()
    def refresh(self) -> None:
        """Show the library as it is now."""
        found = sections(self._library.entries.values(), self._library.folders.values(), time.time())
        before, self._shown = self._shown, found
        if _rows_of(found) == _rows_of(before):
            return
        kept, place = self.current, self.verticalScrollBar().value()
        self._filling = True
        if [(section.title, section.folder) for section in found] == [(section.title, section.folder) for section in before]:
            listed = {entry.id for section in found for entry in section.chats}
            for one in [one for one, item in self._rows.items() if item.data(KIND) == "chat" and one not in listed]:
                self._row_out(one)
            for number, section in enumerate(found):
                self._refill(self._model.item(number), section)
        else:
            self._model.clear()
            self._rows = {}
            for section in found:
                heading = _item(section.title, "folder" if section.folder else "heading", section.folder)
                self._model.appendRow(heading)
                if section.folder:
                    self._rows[section.folder] = heading
                self._refill(heading, section)
                self.setExpanded(heading.index(), section.folder not in self._closed_folders)
        self._filling = False
        if kept[1] in self._rows:
            self.setCurrentIndex(self._rows[kept[1]].index())
        else:
            self.mark_open()
        self.verticalScrollBar().setValue(place)

    def _refill(self, heading: QStandardItem, section: ChatSection) -> None:
        """Bring the rows under a heading up to date: a list of thousands is not made anew because one chat came to its top."""
        for place, entry in enumerate(section.chats):
            item = self._rows.get(entry.id)
            if item is None or item.parent() is not heading or item.row() != place:
                self._row_out(entry.id)
                item = self._rows[entry.id] = _item(entry.title, "chat", entry.id)
                heading.insertRow(place, item)
                item.setData(bool(section.folder), INSIDE)
                item.setToolTip(as_tooltip(entry.title))
            elif item.text() != entry.title:
                item.setText(entry.title)
                item.setToolTip(as_tooltip(entry.title))

    def _row_out(self, chat_id: str) -> None:
        if (item := self._rows.pop(chat_id, None)) is not None:
            item.parent().removeRow(item.row())

    @Slot()
    def mark_open(self) -> None:
        """Select the chat that is open."""
        item = self._rows.get(self._conductor.chat.id)
        self.setCurrentIndex(item.index() if item else QModelIndex())
        self.viewport().update()

    def rename(self, one: str) -> None:
        """Let the user write another name over that of a chat or folder."""
        if item := self._rows.get(one):
            if parent := item.parent():
                self.setExpanded(parent.index(), True)
            self.setFocus()
            self.setCurrentIndex(item.index())
            self.edit(item.index())

    def commit(self, index: Index, text: str) -> None:
        """A name was written."""
        if index.data(KIND) == "folder":
            self._library.rename_folder(index.data(ID), text)
        else:
            self._library.rename(index.data(ID), text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        before, (kind, one) = self.currentIndex(), self.current
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.state() != self.State.EditingState:
            if kind == "folder":
                self.setExpanded(before, not self.isExpanded(before))
            elif kind == "chat":
                self._soon.stop()
                self.opened.emit(one)
            return
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete) and self.state() != self.State.EditingState:
            if kind in ("chat", "folder"):
                self.delete_asked.emit()
            return
        super().keyPressEvent(event)
        if self.currentIndex() != before and self.current[0] == "chat":
            self._soon.start()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            if index.data(KIND) == "chat":
                self.opened.emit(index.data(ID))
            elif index.data(KIND) == "folder":
                self.setExpanded(index, not self.isExpanded(index))

    def dropEvent(self, event: QDropEvent) -> None:
        """Chats are dropped into folders, or out of them onto a day."""
        kind, one = self.current
        target = self.indexAt(event.position().toPoint())
        while target.isValid() and target.parent().isValid():
            target = target.parent()
        event.setDropAction(Qt.DropAction.IgnoreAction)  # the list is made anew; the view must not take the row out itself
        event.accept()
        if kind == "chat" and event.source() is self and one in self._library.entries:
            self._library.move(one, target.data(ID) if target.isValid() and target.data(KIND) == "folder" else "")

    @Slot()
    def _open_current(self) -> None:
        kind, one = self.current
        if kind == "chat":
            self.opened.emit(one)

    @Slot()
    def _note_folders(self) -> None:
        if not self._filling:
            for section in self._shown:
                if section.folder and section.folder in self._rows:
                    if self.isExpanded(self._rows[section.folder].index()):
                        self._closed_folders.discard(section.folder)
                    else:
                        self._closed_folders.add(section.folder)


def _rows_of(found: list[ChatSection]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What the list shows of its sections; when a chat was last written it does not."""
    return [(section.title, section.folder, [(entry.id, entry.title) for entry in section.chats]) for section in found]


def _item(text: str, kind: str, one: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setData(one, ID)
    item.setData(kind, KIND)
    flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsDropEnabled
    if kind != "heading":
        flags |= Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable
    if kind == "chat":
        flags |= Qt.ItemFlag.ItemIsDragEnabled
    item.setFlags(flags)
    return item


class _Delegate(QStyledItemDelegate):
    """Draws rows: quiet headings, rounded selection, a dot where a reply is being written."""

    def __init__(self, theme: Theme, conductor: Conductor, view: ChatList) -> None:
        super().__init__(view)
        self._theme = theme
        self._conductor = conductor
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        first = index.row() == 0 and not index.parent().isValid()
        height = self._theme.row_height()
        return QSize(0, height if index.data(KIND) != "heading" else height - 4 if first else height + 8)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colors, kind = self._theme.colors, index.data(KIND)
        area = QRectF(option.rect).adjusted(8, 1, -8, -1)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if kind == "heading":
            painter.setFont(self._theme.small(bold=True))
            painter.setPen(QColor(colors.secondary))
            bottom = area.adjusted(10, 0, -8, -4)
            painter.drawText(bottom, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, index.data())
            painter.restore()
            return
        is_open = kind == "chat" and index.data(ID) == self._conductor.chat.id
        focused = bool(state & QStyle.StateFlag.State_Selected) and self._view.hasFocus()
        painter.setPen(QPen(QColor(colors.accent), 1.5) if focused else Qt.PenStyle.NoPen)
        if is_open or state & QStyle.StateFlag.State_MouseOver or focused:
            painter.setBrush(QColor(colors.chosen if is_open else colors.hover))
            painter.drawRoundedRect(area, 7, 7)
        left = area.left() + 10
        if kind == "folder":
            painter.save()
            painter.translate(left - 2, area.center().y() - ICON_SIZE / 2)
            draw_icon(painter, "folder", QColor(colors.secondary))
            painter.translate(area.right() - left - ICON_SIZE, 0)
            draw_icon(painter, "opened" if self._view.isExpanded(index) else "closed", QColor(colors.faint))
            painter.restore()
            left += ICON_SIZE + 6
        elif index.data(INSIDE):
            left += ICON_SIZE + 6
        right = area.right() - (ICON_SIZE + 8 if kind == "folder" else 10)
        replying = self._conductor.reply_job.chat
        if replying is not None and index.data(ID) == replying.id:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.accent))
            painter.drawEllipse(QPointF(right - 3, area.center().y()), 3.5, 3.5)
            right -= 14
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.text))
        text = painter.fontMetrics().elidedText(index.data(), Qt.TextElideMode.ElideRight, int(right - left))
        painter.drawText(QRectF(left, area.top(), right - left, area.height()), Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(tr("Name"))
        self._theme.set_font(editor, LISTED)
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        editor.setGeometry(option.rect.adjusted(10, 2, -10, -2))

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data())
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        assert isinstance(editor, QLineEdit)
        text, where = editor.text(), QPersistentModelIndex(index)
        # The list is made anew with the new name; it must not lose the row while Qt still works on it.
        QTimer.singleShot(0, self._view, lambda: self._view.commit(where, text) if where.isValid() else None)
