"""The dialog that adds other Macs, and lists them."""

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFrame, QVBoxLayout, QWidget

from app.session.other_macs import OtherMac, OtherMacs
from app.text.language import tr
from app.widgets.controls import ElidedLabel, announce, button, entry, small_label
from app.widgets.layout import Form, column, fit_content, flow, lay_out, line
from app.widgets.secret_texts import secrets_kept
from app.widgets.theme import Theme, set_look
from app.widgets.toggle import Switch

WIDTH = 520
MAX_CHARACTERS = 200


class MacsDialog(QDialog):
    """A form for the address and code of a Mac, above those that were added."""

    def __init__(self, theme: Theme, macs: OtherMacs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._macs = theme, macs
        self.setWindowTitle(tr("Add Another Mac"))
        introduction = tr(
            "For models that are too large for one Mac. Run “slipstream worker” in Terminal on the other Mac, which then shows a "
            "pairing code. Control traffic is encrypted. What MLX exchanges between the Macs isn't, so use a network you trust."
        )
        self.address = entry("", "192.168.1.2", MAX_CHARACTERS)
        self.code = entry("", "ABCD-EFGH-JKMN-PQRS", MAX_CHARACTERS)
        form = Form(theme)
        form.add_row(tr("Address"), self.address)
        form.add_row(tr("Pairing code"), self.code, help=secrets_kept())
        self.verdict = small_label(theme, wrap=True, selectable=True)
        self.verdict.setAccessibleName(tr("Result"))
        self.verdict.setMinimumWidth(120)  # long words don't widen the window
        self._line = line()
        self._list = QVBoxLayout()
        self._list.setSpacing(8)
        self.rows: list[MacRow] = []
        self.add = button(tr("Add"), tr("Add this Mac"), "primary", self._add)
        self.add.setDefault(True)
        self.cancel = button(tr("Cancel"), tr("Stop connecting"), "bordered", macs.cancel)
        self.end = button(tr("Close"), look="bordered", clicked=self.reject)
        for made in (self.cancel, self.end):
            made.setAutoDefault(False)
        text = small_label(theme, introduction, "secondary", wrap=True)
        page = column(text, form, self.verdict, self._line, self._list, None, spacing=14, margins=(24, 20, 24, 16))
        lay_out(self, page, None, self.end, self.cancel, self.add, width=WIDTH)
        macs.changed.connect(self.refresh)
        macs.added.connect(self._clear)
        self.finished.connect(macs.cancel)
        self.refresh()
        self.address.setFocus()

    @Slot()
    def _add(self) -> None:
        self._macs.add(self.address.text(), self.code.text())

    @Slot()
    def _clear(self) -> None:
        self.address.clear()
        self.code.clear()
        self.address.setFocus()
        self._say(tr("The Mac was added."), "secondary")

    @Slot()
    def refresh(self) -> None:
        adding = bool(self._macs.adding)
        starts, ends = adding and self.cancel.isHidden(), not adding and self.cancel.hasFocus()
        self.cancel.setVisible(adding)
        for field in (self.address, self.code, self.add):
            field.setEnabled(not adding)
        if starts or ends:  # Qt would choose Close
            (self.cancel if starts else self.address).setFocus()
        if adding:
            self._say(tr("Connecting…"), "secondary")
        else:
            self._say(self._macs.problem, "danger")
        self._show_list()

    def _show_list(self) -> None:
        listed = self._macs.macs
        self._line.setVisible(bool(listed))
        if [mac.name for mac in listed] != [row.name for row in self.rows]:
            for old in self.rows:
                self._list.removeWidget(old)
                old.hide()
                old.deleteLater()
            self.rows = [MacRow(self._theme, self._macs, mac, self) for mac in listed]
            for made in self.rows:
                self._list.addWidget(made)
                made.show()  # otherwise, the layout counts it only after the next event
            self._fit()
        for made, mac in zip(self.rows, listed, strict=True):
            made.used.setChecked(mac.used)

    def _say(self, text: str, look: str) -> None:
        if text == self.verdict.text():
            return
        set_look(self.verdict, look)
        self.verdict.setText(text)
        if text:
            announce(self, text)
        self._fit()

    def _fit(self) -> None:
        if self.isVisible():
            fit_content(self)


class MacRow(QFrame):
    """A Mac: its address, a switch, and a button to remove it."""

    def __init__(self, theme: Theme, macs: OtherMacs, mac: OtherMac, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = mac.name
        label = ElidedLabel(mac.name)
        self.used = Switch(theme, tr("Use for the next load"))
        self.used.setAccessibleName(tr("Use {name} for the next load", name=mac.name))
        self.used.setChecked(mac.used)
        self.used.clicked.connect(lambda used: macs.use(mac.name, used))
        self.remove = button(tr("Remove"), tr("Remove {name}", name=mac.name), "bordered", partial(macs.remove, mac.name))
        self.remove.setAutoDefault(False)
        column(label, flow(self.used, self.remove), spacing=4, parent=self)
