"""A pair that the user names: two repos of the hub, or two folders. Whether they go together is said first."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QGridLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.language import tr
from app.models.background import while_there
from app.models.picker import Picker, is_folder
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look


def _hint() -> str:
    return tr("OWNER/NAME, or a folder")


class OwnPairDialog(QDialog):
    """Check first, then Add."""

    def __init__(self, theme: Theme, picker: Picker, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picker = picker
        self._checked: tuple[str, str] | None = None
        self.setWindowTitle(tr("Own Pair"))
        self.setAccessibleName(tr("Own pair"))
        self.setMinimumWidth(680)
        text = Label(
            tr(
                "A target is any model that mlx-lm runs; its drafter was trained for it. Without a drafter it decodes plainly. "
                "Only data files are ever read, never a repo’s Python."
            )
        )
        text.setWordWrap(True)
        theme.set_font(text, SMALL)
        set_look(text, "secondary")
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        self.target, self.drafter = QLineEdit(), QLineEdit()
        for field in (self.target, self.drafter):
            set_look(field, "entry")
        rows = (
            (tr("Target"), self.target, _hint(), tr("Choose the target’s folder"), self._browse_target),
            (
                tr("Drafter"),
                self.drafter,
                tr("OWNER/NAME, a folder, or nothing"),
                tr("Choose the drafter’s folder"),
                self._browse_drafter,
            ),
        )
        for row, (name, field, hint, choose, act) in enumerate(rows):
            label = Label(name)
            theme.set_font(label, SMALL, bold=True)
            label.setBuddy(field)
            field.setAccessibleName(name)
            field.setPlaceholderText(hint)
            field.textChanged.connect(self._changed)
            browse = button(tr("Folder…"), choose, "bordered")
            browse.clicked.connect(act)
            grid.addWidget(label, row, 0)
            grid.addWidget(field, row, 1)
            grid.addWidget(browse, row, 2)
        self.search = button(tr("Find"), tr("Look for a drafter of this target, on this disk and on the hub"), "bordered")
        self.search.clicked.connect(self._find)
        grid.addWidget(self.search, 1, 3)
        self.verdict = Label()
        self.verdict.setWordWrap(True)
        self.verdict.setAccessibleName(tr("Whether they go together"))
        theme.set_font(self.verdict, SMALL)
        self.go = button(tr("Check"), tr("Check whether they go together"), "primary")
        self.go.setDefault(True)
        self.go.clicked.connect(self._go)
        close = button(tr("Cancel"), tr("Cancel"), "bordered")
        close.clicked.connect(self.reject)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(close)
        foot.addWidget(self.go)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 16)
        layout.setSpacing(16)
        layout.addWidget(text)
        layout.addLayout(grid)
        layout.addWidget(self.verdict)
        layout.addStretch(1)
        layout.addLayout(foot)
        self._changed()
        self.target.setFocus()

    @property
    def names(self) -> tuple[str, str]:
        return self.target.text().strip(), self.drafter.text().strip()

    @Slot()
    def _changed(self) -> None:
        """What was checked is not what stands here any more."""
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
            return
        if drafter and is_folder(target) != is_folder(drafter):
            self._say(tr("Give two repos or two folders: one of each does not work."), "danger")
            return
        self._wait(True)
        self._say(tr("Looking at both…") if drafter else tr("Looking at it…"), "secondary")
        self._picker.check(target, drafter, while_there(self._answered))

    @Slot()
    def _find(self) -> None:
        self._wait(True)
        self._say(tr("Looking for a drafter…"), "secondary")
        self._picker.find_drafter(self.names[0], while_there(self._found), while_there(self._answered))

    def _found(self, drafter: str) -> None:
        """It was chosen because it goes with the target; the check says so."""
        self.drafter.setText(drafter)
        self._go()

    def _wait(self, waiting: bool) -> None:
        for one in (self.go, self.search):
            one.setEnabled(bool(self.names[0]) and not waiting)

    def _answered(self, sentence: str) -> None:
        self._wait(False)
        if sentence:
            self._say(sentence, "danger")
            return
        self._checked = self.names
        self.go.setText(tr("Add"))
        self._say(tr("They go together.") if self.names[1] else tr("It can be run, plainly."), "secondary")

    def _say(self, sentence: str, kind: str) -> None:
        set_look(self.verdict, kind)
        self.verdict.setText(sentence)
        self.adjustSize()

    @Slot()
    def _browse_target(self) -> None:
        self._browse(self.target)

    @Slot()
    def _browse_drafter(self) -> None:
        self._browse(self.drafter)

    def _browse(self, field: QLineEdit) -> None:
        if folder := QFileDialog.getExistingDirectory(self, tr("Choose a Folder"), field.text()):
            field.setText(folder)
