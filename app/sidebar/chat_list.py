"""The list of chats in the sidebar: pinned chats, folders, days."""

import time

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QDropEvent, QKeyEvent, QMouseEvent, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView, QWidget

from app.chat.conductor import Conductor
from app.language import tr
from app.sidebar.sections import ChatSection, sections
from app.widgets.controls import ICON_SIZE, as_tooltip, draw_icon
from app.widgets.theme import LISTED, Theme

_Index = QModelIndex | QPersistentModelIndex

ID = Qt.ItemDataRole.UserRole  # of a chat or a folder; empty for a heading
KIND = Qt.ItemDataRole.UserRole + 1  # "heading", "folder" or "chat"
INSIDE = Qt.ItemDataRole.UserRole + 2  # whether a chat is in a folder
OPEN_MS = 140  # after the last arrow key; does not open every chat on the way


class ChatList(QTreeView):
    """Shows the library. Renaming and moving change the library directly."""

    opened = Signal(str)  # chat id
    delete_requested = Signal()  # for the current row

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._library = conductor.library
        self._model = QStandardItemModel(self)
        self._refreshing = False
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
        self._open_timer = QTimer(self)
        self._open_timer.setSingleShot(True)
        self._open_timer.setInterval(OPEN_MS)
        self._open_timer.timeout.connect(self._open_current)
        self.expanded.connect(self._remember_expanded)
        self.collapsed.connect(self._remember_collapsed)
        self._library.changed.connect(self.refresh)
        conductor.chat_changed.connect(self.mark_open)
        conductor.busy_changed.connect(self.viewport().update)
        theme.changed.connect(self.viewport().update)
        theme.text_resized.connect(self.doItemsLayout)
        self.refresh()

    def chat_ids(self) -> list[str]:
        """All chats in the order of the list, including those in closed folders."""
        return [entry.id for section in self._shown for entry in section.chats]

    @property
    def current(self) -> tuple[str, str]:
        """Kind and id of the selected row; empty if there is none."""
        index = self.currentIndex()
        return (index.data(KIND), index.data(ID)) if index.isValid() else ("", "")

    @Slot()
    def refresh(self) -> None:
        found = sections(self._library.entries.values(), self._library.folders.values(), time.time())
        before, self._shown = self._shown, found
        if _content(found) == _content(before):
            return
        kept, place = self.current, self.verticalScrollBar().value()
        self._refreshing = True
        if [(section.title, section.folder) for section in found] == [(section.title, section.folder) for section in before]:
            listed = {entry.id for section in found for entry in section.chats}
            for one in [one for one, item in self._rows.items() if item.data(KIND) == "chat" and one not in listed]:
                self._remove(one)
            for number, section in enumerate(found):
                self._update_rows(self._model.item(number), section)
        else:
            self._model.clear()
            self._rows = {}
            for section in found:
                heading = _item(section.title, "folder" if section.folder else "heading", section.folder)
                self._model.appendRow(heading)
                if section.folder:
                    self._rows[section.folder] = heading
                self._update_rows(heading, section)
                self.setExpanded(heading.index(), section.folder not in self._closed_folders)
        self._refreshing = False
        if kept[1] in self._rows:
            self.setCurrentIndex(self._rows[kept[1]].index())
        else:
            self.mark_open()
        self.verticalScrollBar().setValue(place)

    def _update_rows(self, heading: QStandardItem, section: ChatSection) -> None:
        """Update the rows under a heading. Rebuilding a list of thousands for one chat would be slow."""
        for place, entry in enumerate(section.chats):
            item = self._rows.get(entry.id)
            if item is None or item.parent() is not heading or item.row() != place:
                self._remove(entry.id)
                item = self._rows[entry.id] = _item(entry.title, "chat", entry.id)
                heading.insertRow(place, item)
                item.setData(bool(section.folder), INSIDE)
                item.setToolTip(as_tooltip(entry.title))
            elif item.text() != entry.title:
                item.setText(entry.title)
                item.setToolTip(as_tooltip(entry.title))

    def _remove(self, chat_id: str) -> None:
        if (item := self._rows.pop(chat_id, None)) is not None:
            item.parent().removeRow(item.row())

    @Slot()
    def mark_open(self) -> None:
        """Select the open chat."""
        item = self._rows.get(self._conductor.chat.id)
        self.setCurrentIndex(item.index() if item else QModelIndex())
        self.viewport().update()

    def rename(self, id: str) -> None:
        """Let the user edit the name of a chat or folder."""
        if item := self._rows.get(id):
            if parent := item.parent():
                self.setExpanded(parent.index(), True)
            self.setFocus()
            self.setCurrentIndex(item.index())
            self.edit(item.index())

    def commit(self, index: _Index, text: str) -> None:
        """Rename the chat or folder of a row."""
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
                self._open_timer.stop()
                self.opened.emit(one)
            return
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete) and self.state() != self.State.EditingState:
            if kind in ("chat", "folder"):
                self.delete_requested.emit()
            return
        super().keyPressEvent(event)
        if self.currentIndex() != before and self.current[0] == "chat":
            self._open_timer.start()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            if index.data(KIND) == "chat":
                self.opened.emit(index.data(ID))
            elif index.data(KIND) == "folder":
                self.setExpanded(index, not self.isExpanded(index))

    def dropEvent(self, event: QDropEvent) -> None:
        """Move a chat into the folder it is dropped on, or out of its folder."""
        kind, one = self.current
        target = self.indexAt(event.position().toPoint())
        while target.isValid() and target.parent().isValid():
            target = target.parent()
        event.setDropAction(Qt.DropAction.IgnoreAction)  # the list is refreshed; the view must not remove the row
        event.accept()
        if kind == "chat" and event.source() is self and one in self._library.entries:
            self._library.move(one, target.data(ID) if target.isValid() and target.data(KIND) == "folder" else "")

    @Slot()
    def _open_current(self) -> None:
        kind, one = self.current
        if kind == "chat":
            self.opened.emit(one)

    @Slot(QModelIndex)
    def _remember_expanded(self, index: QModelIndex) -> None:
        if not self._refreshing:
            self._closed_folders.discard(index.data(ID))

    @Slot(QModelIndex)
    def _remember_collapsed(self, index: QModelIndex) -> None:
        if not self._refreshing:
            self._closed_folders.add(index.data(ID))


def _content(sections: list[ChatSection]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return what the list shows of its sections."""
    return [(section.title, section.folder, [(entry.id, entry.title) for entry in section.chats]) for section in sections]


def _item(text: str, kind: str, id: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setData(id, ID)
    item.setData(kind, KIND)
    flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsDropEnabled
    if kind != "heading":
        flags |= Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable
    if kind == "chat":
        flags |= Qt.ItemFlag.ItemIsDragEnabled
    item.setFlags(flags)
    return item


class _Delegate(QStyledItemDelegate):
    """Draws the rows, with a dot for the chat in which a reply is being generated."""

    def __init__(self, theme: Theme, conductor: Conductor, view: ChatList) -> None:
        super().__init__(view)
        self._theme = theme
        self._conductor = conductor
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        first = index.row() == 0 and not index.parent().isValid()
        height = self._theme.row_height()
        return QSize(0, height if index.data(KIND) != "heading" else height - 4 if first else height + 8)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
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

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: _Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAccessibleName(tr("Name"))
        self._theme.set_font(editor, LISTED)
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: _Index) -> None:
        editor.setGeometry(option.rect.adjusted(10, 2, -10, -2))

    def setEditorData(self, editor: QWidget, index: _Index) -> None:
        assert isinstance(editor, QLineEdit)
        editor.setText(index.data())
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: _Index) -> None:
        assert isinstance(editor, QLineEdit)
        text, where = editor.text(), QPersistentModelIndex(index)
        # Renaming refreshes the list, which must not remove the row while Qt still uses it.
        QTimer.singleShot(0, self._view, lambda: self._view.commit(where, text) if where.isValid() else None)
