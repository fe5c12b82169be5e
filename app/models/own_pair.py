"""Adding a custom pair of two repos or two folders, after a compatibility check."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QGridLayout, QLineEdit, QWidget

from app.language import tr
from app.models.background import while_open
from app.models.picker import Picker, is_folder
from app.widgets.controls import button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look


class OwnPairDialog(QDialog):
    """The main button checks the pair, then adds it."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._checked: tuple[str, str] | None = None
        self.setWindowTitle(tr("Custom Pair"))
        self.setAccessibleName(tr("Custom Pair"))
        self.setMinimumWidth(680)
        introduction = small_label(
            theme,
            tr(
                "The target can be any model that mlx-lm supports. The drafter must be trained for that target; leave it "
                "empty for plain decoding. Slipstream never runs Python code from a repo."
            ),
            "secondary",
            wrap=True,
        )
        grid = QGridLayout()
        grid.setSpacing(8)
        grid.setColumnStretch(1, 1)
        self.target = self._add_field(theme, grid, tr("Target"), tr("owner/name or a folder"), tr("Choose the target folder"))
        self.drafter = self._add_field(
            theme, grid, tr("Drafter"), tr("owner/name or a folder (optional)"), tr("Choose the drafter folder")
        )
        self.search = button(tr("Find"), tr("Find a drafter on this disk and on the hub"), "bordered", self._find)
        grid.addWidget(self.search, grid.rowCount() - 1, 3)
        self.verdict = small_label(theme, wrap=True)
        self.verdict.setAccessibleName(tr("Result"))
        self.go = button(tr("Check"), tr("Check compatibility"), "primary", self._go)
        self.go.setDefault(True)
        cancel = button(tr("Cancel"), look="bordered", clicked=self.reject)
        footer = row(None, cancel, self.go)
        column(introduction, grid, self.verdict, None, footer, spacing=16, margins=(24, 24, 24, 16), parent=self)
        self._changed()
        self.target.setFocus()

    def _add_field(self, theme: Theme, grid: QGridLayout, name: str, hint: str, choose: str) -> QLineEdit:
        def browse() -> None:
            if folder := QFileDialog.getExistingDirectory(self, tr("Choose a Folder"), field.text()):
                field.setText(folder)

        field = QLineEdit()
        set_look(field, "entry")
        field.setAccessibleName(name)
        field.setPlaceholderText(hint)
        field.textChanged.connect(self._changed)
        label = small_label(theme, name, bold=True)
        label.setBuddy(field)
        index = grid.rowCount()
        for position, widget in enumerate((label, field, button(tr("Choose…"), choose, "bordered", browse))):
            grid.addWidget(widget, index, position)
        return field

    @property
    def names(self) -> tuple[str, str]:
        return self.target.text().strip(), self.drafter.text().strip()

    @Slot()
    def _changed(self) -> None:
        """Require a new check: the names have changed."""
        self._checked = None
        self.go.setText(tr("Check"))
        self._wait(False)
        self.verdict.setText("")

    @Slot()
    def _go(self) -> None:
        target, drafter = self.names
        if self._checked == (target, drafter):
            self._picker.add(target, drafter)
            self.accept()
        elif drafter and is_folder(target) != is_folder(drafter):
            self._say(tr("Enter two repos or two folders."), "danger")
        else:
            self._wait(True)
            self._say(tr("Checking…"), "secondary")
            self._picker.check(target, drafter, while_open(self._answered))

    @Slot()
    def _find(self) -> None:
        self._wait(True)
        self._say(tr("Searching for a drafter…"), "secondary")
        self._picker.find_drafter(self.names[0], while_open(self._found), while_open(self._answered))

    def _found(self, drafter: str) -> None:
        self.drafter.setText(drafter)
        self._go()

    def _wait(self, waiting: bool) -> None:
        for widget in (self.go, self.search):
            widget.setEnabled(bool(self.names[0]) and not waiting)

    def _answered(self, problem: str) -> None:
        self._wait(False)
        if problem:
            self._say(problem, "danger")
            return
        self._checked = self.names
        self.go.setText(tr("Add"))
        compatible = tr("The target and the drafter are compatible.") if self.names[1] else tr("Runs with plain decoding.")
        self._say(compatible, "secondary")

    def _say(self, text: str, look: str) -> None:
        set_look(self.verdict, look)
        self.verdict.setText(text)
        self.adjustSize()
