"""Notices shown above the composer, one at a time."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFrame, QPushButton

from app.session.notice import NoticeAction, Notices
from app.text.language import number, tr
from app.widgets.controls import IconButton, Label, button, small_label
from app.widgets.layout import Flow, column, row
from app.widgets.theme import Theme, set_look

SHOWN_MS = 10_000  # how long a notice that needs no action is shown


class NoticeBar(QFrame):
    """A bar with the latest notice and the number of others. Closing it shows another."""

    choose_models = Signal()
    use_demo = Signal()
    connect_again = Signal(str)  # name of an endpoint
    help_requested = Signal(str)  # page and heading

    def __init__(self, theme: Theme, notices: Notices) -> None:
        super().__init__()
        self._notices = notices
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)  # long words don't widen the window
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.choose = button(tr("Choose Another…"), tr("Choose another model"), "bordered", self.choose_models.emit)
        self.demo = button(tr("Use Demo"), tr("Load the demo pair"), "bordered", self._use_demo)
        self.again = button(tr("Try Again"), tr("Reconnect"), "bordered", self._connect_again)
        self.help = button(tr("Learn More"), tr("Open Help about this problem"), "bordered", self._show_help)
        self.close_button = IconButton(theme, "close", tr("Close"))
        self.close_button.clicked.connect(notices.close_latest)
        self.shown_actions: list[QPushButton] = []
        self._buttons = Flow()
        for made in (self.choose, self.again, self.demo, self.help):
            self._buttons.addWidget(made)
        body = column(self.label, self._buttons, margins=(0, 6, 0, 6))
        self.more = small_label(theme, look="secondary")
        corner = column(row(self.more, self.close_button, spacing=2), None)
        row((body, 1), corner, margins=(16, 2, 4, 2), parent=self)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._remove_passing)
        notices.changed.connect(self._refresh)
        notices.posted.connect(self._wait)
        self._refresh()

    @Slot()
    def _wait(self) -> None:
        """Give the reader time from the latest notice on."""
        if passing := [one for one in self._notices.valid if one.passing]:
            times = 3 if any(one.actions for one in passing) else 1  # a choice takes longer than reading
            self._timer.start(times * SHOWN_MS)

    @Slot()
    def _remove_passing(self) -> None:
        if not self.underMouse() and not self.isAncestorOf(self.window().focusWidget() or self.window()):  # perhaps being read
            self._notices.clear_passing()

    def _run(self, action: NoticeAction, checked: bool = False) -> None:
        self._notices.run(action)

    @Slot()
    def _show_help(self) -> None:
        self.help_requested.emit(self._notices.valid[-1].help)

    @Slot()
    def _use_demo(self) -> None:
        self._notices.close_latest()
        self.use_demo.emit()

    @Slot()
    def _connect_again(self) -> None:
        name = self._notices.valid[-1].again
        self._notices.close_latest()
        self.connect_again.emit(name)

    @Slot()
    def _refresh(self) -> None:
        valid = self._notices.valid
        self.setVisible(bool(valid))
        if not any(one.passing for one in valid):
            self._timer.stop()
        for made in self.shown_actions:
            made.hide()
            made.deleteLater()
        self.shown_actions = []
        if valid:
            notice = valid[-1]
            error = notice.kind == "error"
            set_look(self, "error" if error else "notice")
            set_look(self.label, "danger" if error else "secondary")
            self.label.setAccessibleName(tr("Error") if error else tr("Note"))
            self.label.setText(notice.text)
            others = len(valid) - 1
            self.more.setText(f"+{number(others)}")
            self.more.setVisible(others > 0)
            self.close_button.set_name(tr("Close, and show the notice before") if others else tr("Close"))
            for made in (self.choose, self.demo):
                made.setVisible(notice.offer == "load")
            self.again.setVisible(bool(notice.again))
            self.help.setVisible(bool(notice.help))
            for action in notice.actions:
                made = button(action.title, look="bordered", clicked=partial(self._run, action))
                self._buttons.addWidget(made)
                self.setTabOrder(self.shown_actions[-1] if self.shown_actions else self.demo, made)
                self.shown_actions.append(made)
                made.show()
            self._buttons.removeWidget(self.help)
            self._buttons.addWidget(self.help)  # the last one
            self.setTabOrder(self.shown_actions[-1] if self.shown_actions else self.demo, self.help)
