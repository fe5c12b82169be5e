"""Notices shown above the composer, one at a time."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QPushButton

from app.session.notice import Notice, NoticeAction
from app.text.language import tr
from app.widgets.controls import IconButton, Label, button
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

SHOWN_MS = 10_000  # how long a notice that needs no action is shown


class NoticeBar(QFrame):
    """A bar with the latest notice. Closing it shows the previous one."""

    choose_models = Signal()
    use_demo = Signal()
    connect_again = Signal(str)  # name of an endpoint

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._notices: list[Notice] = []
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)  # long words don't widen the window
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.choose = button(tr("Choose Another…"), tr("Choose another model"), "bordered", self.choose_models.emit)
        self.demo = button(tr("Use Demo"), tr("Load the demo pair"), "bordered", self._use_demo)
        self.again = button(tr("Try Again"), tr("Reconnect"), "bordered", self._connect_again)
        self.close_button = IconButton(theme, "close", tr("Close"))
        self.close_button.clicked.connect(self._close_latest)
        self._actions: list[QPushButton] = []
        self._buttons = row(self.choose, self.again, self.demo, None)
        body = column(self.label, self._buttons, margins=(0, 6, 0, 6))
        row((body, 1), (self.close_button, 0, Qt.AlignmentFlag.AlignTop), margins=(16, 2, 4, 2), parent=self)
        self._timer = QTimer(self, interval=SHOWN_MS)
        self._timer.timeout.connect(self._remove_passing)
        self._refresh()

    def texts(self) -> list[str]:
        """Return the texts of all notices that are still valid, the latest last."""
        return [notice.text for notice in self._notices]

    @Slot(object)
    def add(self, notice: Notice) -> None:
        self._notices = [one for one in self._notices if one.text != notice.text and (one.topic != notice.topic or not one.topic)]
        self._notices.append(notice)
        self._timer.start()
        self._refresh()

    @Slot()
    def clear(self, until: str = "") -> None:
        """Remove all notices, or those with this `until`."""
        self._notices = [one for one in self._notices if until and one.until != until and not (until == "chat" and one.passing)]
        self._refresh()

    @Slot()
    def _remove_passing(self) -> None:
        if not self.underMouse() and not self.isAncestorOf(self.window().focusWidget() or self.window()):  # perhaps being read
            self._notices = [one for one in self._notices if not one.passing]
            self._refresh()

    def _act(self, action: NoticeAction, checked: bool = False) -> None:
        self._close_latest()
        action.act()

    @Slot()
    def _use_demo(self) -> None:
        self.clear()
        self.use_demo.emit()

    @Slot()
    def _connect_again(self) -> None:
        name = self._notices[-1].again
        self.clear()
        self.connect_again.emit(name)

    @Slot()
    def _close_latest(self) -> None:
        self._notices.pop()
        self._refresh()

    def _refresh(self) -> None:
        self.setVisible(bool(self._notices))
        if not any(one.passing for one in self._notices):
            self._timer.stop()
        for made in self._actions:
            made.hide()
            made.deleteLater()
        self._actions = []
        if self._notices:
            notice = self._notices[-1]
            error = notice.kind == "error"
            set_look(self, "error" if error else "notice")
            set_look(self.label, "danger" if error else "secondary")
            self.label.setAccessibleName(tr("Error") if error else tr("Note"))
            self.label.setText(notice.text)
            for made in (self.choose, self.demo):
                made.setVisible(notice.offer == "load")
            self.again.setVisible(bool(notice.again))
            for action in notice.actions:
                made = button(action.title, look="bordered", clicked=partial(self._act, action))
                self._buttons.insertWidget(self._buttons.count() - 1, made)
                self.setTabOrder(self._actions[-1] if self._actions else self.demo, made)
                self._actions.append(made)
                made.show()
