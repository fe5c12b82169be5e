"""The keyboard focus in the transcript, and the menus of messages."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Slot
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QWidget
from shiboken6 import isValid

from app.text.language import tr
from app.views.transcript.message_view import MessageView
from app.views.transcript.scrolling_column import ScrollingColumn
from app.views.transcript.selection import TextSelection
from app.widgets.theme import set_look

BAR_WIDTH, BAR_GAP = 3, 10  # pixels of the bar that shows the focused message, and between it and the message


class MessageFocus(QObject):
    """The order in which Tab and arrow keys move through messages and their buttons.

    Qt's own order is that in which widgets were made, and messages are made while scrolling.
    """

    def __init__(self, view: ScrollingColumn) -> None:
        super().__init__(view)
        self._view, self._column = view, view.column
        page = view.column.parentWidget()
        assert page is not None
        self._page, self.bar = page, QFrame(page)
        set_look(self.bar, "focus")
        self.bar.hide()
        view.verticalScrollBar().valueChanged.connect(self.find_pointer)

    @property
    def index(self) -> int | None:
        """The index of the message that contains the focus, or None."""
        return self._index_of(self._view.window().focusWidget())

    def _index_of(self, widget: QWidget | None) -> int | None:
        if widget is None or not self._column.isAncestorOf(widget):
            return None
        entries = enumerate(self._column.entries)
        return next((index for index, one in entries if one.view is widget or (one.view and one.view.isAncestorOf(widget))), None)

    def step(self, forward: bool) -> bool:
        """Move the focus on within the messages. Return False if it leaves them."""
        focus, index = QApplication.focusWidget(), self.index
        by = 1 if forward else -1
        if index is None:
            return focus is self._view and forward and self._go_to(self._view.first_visible, forward)
        view = self._column.entries[index].view
        stops = self._stops(view, focus) if view is not None else []
        place = stops.index(focus) + by if focus in stops else 0
        if 0 <= place < len(stops):
            stops[place].setFocus(_reason(forward))
            return True
        return self._go_to(index + by, forward) or self._leave(forward)

    def step_to_action(self, forward: bool) -> bool:
        """Move the focus from a message to its first or last button that applies."""
        index = self.index
        view = self._column.entries[index].view if index is not None else None
        if not isinstance(view, MessageView) or not view.hasFocus():
            return False
        actions = [action for action in view.action_buttons if _takes_focus(action)]
        if actions:
            actions[0 if forward else -1].setFocus(_reason(forward))
        return bool(actions)

    def _go_to(self, index: int, forward: bool) -> bool:
        """Focus a message, or its last stop when moving back. Return whether there is one."""
        if not 0 <= index < len(self._column.entries):
            return False
        entry = self._column.entries[index]
        top, bottom = self._view.visible_band()
        if entry.view is None or not top <= entry.top < bottom:
            self._view.go_to_message(index)
        if entry.view is None:
            return False
        stops = self._stops(entry.view, None)
        if not stops:
            return self._go_to(index + (1 if forward else -1), forward)
        stops[0 if forward else -1].setFocus(_reason(forward))
        return True

    def _leave(self, forward: bool) -> bool:
        """Focus what is next to the messages."""
        if not forward:
            self._view.setFocus(_reason(forward))
            return True
        after = self._view.nextInFocusChain()
        while after is not None and after is not self._view:
            if not self._column.isAncestorOf(after) and after.focusPolicy() & Qt.FocusPolicy.TabFocus and _takes_focus(after):
                after.setFocus(_reason(forward))
                return True
            after = after.nextInFocusChain()
        return False

    def _stops(self, view: QWidget, focus: QWidget | None) -> list[QWidget]:
        """Return where Tab stops in a message, from top to bottom.

        The icons are included if one of them has the focus.
        """
        actions = view.action_buttons if isinstance(view, MessageView) else []
        inner = actions if focus in actions else []
        found = [one for one in view.findChildren(QWidget) if one.focusPolicy() & Qt.FocusPolicy.TabFocus or one in inner]

        def place(widget: QWidget) -> tuple[int, int]:
            middle = widget.mapTo(view, widget.rect().center())
            return middle.y(), middle.x()

        stops = [one for one in [view, *sorted(found, key=place)] if _takes_focus(one)]
        return [one for one in stops if one is not view or view.focusPolicy() & Qt.FocusPolicy.TabFocus]

    def order(self) -> None:
        """Put the built messages after the transcript in Qt's order, from top to bottom."""
        before: QWidget = self._view
        for entry in self._column.entries:
            for stop in self._stops(entry.view, None) if entry.view is not None else ():
                QWidget.setTabOrder(before, stop)
                before = stop

    def show(self, old: QWidget | None, new: QWidget | None) -> None:
        """Draw the icons of the message that has the focus, and a bar next to it."""
        for widget in (old, new):
            index = self._index_of(widget) if widget is not None and isValid(widget) else None
            view = self._column.entries[index].view if index is not None else None
            if isinstance(view, MessageView):
                view.show_icons()
        self.bar.hide()
        # Signals of focus changes can be nested, so `new` may have lost the focus already.
        if isinstance(new, MessageView) and new.hasFocus() and self._column.isAncestorOf(new):
            new.installEventFilter(self)
            self._place_bar(new)
            self.bar.show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move the bar with its message."""
        moved = event.type() in (QEvent.Type.Move, QEvent.Type.Resize)
        if moved and isinstance(watched, MessageView) and watched.hasFocus():
            self._place_bar(watched)
        return False

    def _place_bar(self, view: MessageView) -> None:
        top = view.mapTo(self._page, QPoint(-BAR_GAP, 0))
        self.bar.setGeometry(top.x(), top.y(), BAR_WIDTH, view.height())

    @Slot()
    def find_pointer(self) -> None:
        """Show the icons of the message under the pointer.

        While scrolling, the pointer stays where it is, and Qt doesn't say that a message has left it.
        """
        under = QApplication.widgetAt(QCursor.pos())
        index = self._index_of(under)
        for number, entry in enumerate(self._column.entries):
            if isinstance(entry.view, MessageView):
                entry.view.show_pointed(number == index)

    def show_menu(self, at: QPoint, selection: TextSelection, by_keyboard: bool) -> QMenu | None:
        """Show the menu of the message at a point of the screen, or of the focused one."""
        index = self.index if by_keyboard else self._index_of(QApplication.widgetAt(at))
        view = self._column.entries[index].view if index is not None else None
        menu = QMenu(self._view)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setAccessibleName(tr("Message"))
        if selection.range is not None:
            menu.addAction(tr("Copy"), selection.copy)
            menu.addSeparator()
        for entry in view.menu_entries if isinstance(view, MessageView) else ():
            action = menu.addAction(entry.title, entry.run)
            action.setEnabled(entry.enabled)
            if entry.checked is not None:
                action.setCheckable(True)
                action.setChecked(entry.checked)
        if menu.isEmpty():
            menu.deleteLater()
            return None
        if by_keyboard and view is not None:
            at = view.mapToGlobal(view.rect().topLeft())
        menu.popup(at)
        return menu


def _reason(forward: bool) -> Qt.FocusReason:
    return Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason


def _takes_focus(widget: QWidget) -> bool:
    return widget.isEnabled() and widget.isVisible()
