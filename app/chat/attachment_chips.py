"""Files that go with a message, as chips: name, size, tokens."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.conversations import wording
from app.conversations.attachments import Attachment
from app.conversations.wording import number, size
from app.language import tr
from app.widgets.button import button
from app.widgets.flow import Flow
from app.widgets.icon_button import IconButton
from app.widgets.label import Label, as_tooltip
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.events import TokenCount

LONGEST_NAME = 40
MOST_SHOWN = 300_000  # characters of a text that is looked at


class AttachmentChips(QWidget):
    """A chip a file, wrapping; each opens its text. With `removable`, each can be taken out; else they stand at the right, as the
    user's words do."""

    removed = Signal(object)  # Attachment
    left_out = Signal()  # what is still being read

    def __init__(self, theme: Theme, removable: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._removable = removable
        self.chips: list[AttachmentChip] = []
        self._flow = Flow(self, right=not removable)
        self.waiting = _Waiting(theme, self)
        self.waiting.hide()
        self._flow.addWidget(self.waiting)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    def show_files(self, files: list[Attachment], counts: dict[Attachment, TokenCount], reading: str = "") -> None:
        """Show these; `reading` names what is still to come."""
        for chip in self.chips:
            chip.hide()
            self._flow.removeWidget(chip)
            chip.deleteLater()
        self.chips = [AttachmentChip(self._theme, one, counts.get(one), self._removable) for one in files]
        self._flow.removeWidget(self.waiting)
        for chip in self.chips:
            chip.removed.connect(self.removed)
            self._flow.addWidget(chip)
            chip.show()
        self._flow.addWidget(self.waiting)
        self.waiting.show_name(reading)
        self.setVisible(bool(files or reading))
        self.updateGeometry()


class _Waiting(QFrame):
    """A file that is being read, and a way not to wait for it."""

    def __init__(self, theme: Theme, chips: AttachmentChips) -> None:
        super().__init__(chips)
        set_look(self, "attachment")
        self.label = Label()
        theme.set_font(self.label, SMALL)
        set_look(self.label, "secondary")
        self.leave_button = IconButton(theme, "close", tr("Leave out what is still being read"))
        self.leave_button.clicked.connect(chips.left_out)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 2, 4, 2)
        row.setSpacing(4)
        row.addWidget(self.label)
        row.addWidget(self.leave_button)

    def show_name(self, name: str) -> None:
        self.label.setText(tr("Reading {name}…", name=name))
        self.setVisible(bool(name))


class AttachmentChip(QFrame):
    """One file. A text longer than the model can read is told by color and words."""

    removed = Signal(object)

    def __init__(self, theme: Theme, file: Attachment, count: TokenCount | None, removable: bool) -> None:
        super().__init__()
        self._theme = theme
        self.file = file
        set_look(self, "attachment")
        self.open_button = button(shortened(file.name), tr("Attached: {name}. Show its text", name=file.name))
        self.open_button.setToolTip(as_tooltip(tr("Show the text of {name}", name=file.name)))
        self.open_button.clicked.connect(self.show_text)
        facts, too_long = figures(file, count)
        self.facts = Label(facts)
        self.facts.setAccessibleName(facts)
        theme.set_font(self.facts, SMALL)
        set_look(self.facts, "danger" if too_long else "secondary")
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4 if removable else 12, 2)
        row.setSpacing(4)
        row.addWidget(self.open_button)
        row.addWidget(self.facts)
        if removable:
            self.remove_button = IconButton(theme, "close", tr("Remove {name}", name=file.name))
            self.remove_button.clicked.connect(self._remove)
            row.addWidget(self.remove_button)

    @Slot()
    def show_text(self) -> None:
        """What the model is told of the file."""
        shown = TextDialog(self._theme, self.file, self.window())
        shown.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        shown.open()

    @Slot()
    def _remove(self) -> None:
        self.removed.emit(self.file)


def shortened(name: str) -> str:
    """A file's name; of a long one the beginning and the end."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 12] + "…" + name[-11:]


def figures(file: Attachment, count: TokenCount | None) -> tuple[str, bool]:
    """Size, pages and tokens in words, and whether that is more than the model can read."""
    parts = [size(file.size)]
    if file.pages:
        parts.append(tr("1 page") if file.pages == 1 else tr("{count} pages", count=number(file.pages)))
    too_long = count is not None and count.tokens >= count.limit
    if count is not None:
        tokens = wording.tokens(count.tokens)
        parts.append(
            tr("{tokens}, more than the {limit} that this model can read", tokens=tokens, limit=number(count.limit))
            if too_long
            else tokens
        )
    return " · ".join(parts), too_long


class TextDialog(QDialog):
    """The text of a file as it was taken out of it."""

    def __init__(self, theme: Theme, file: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(file.name)
        self.resize(640, 520)
        note = Label(tr("This text goes to the model with the message."))
        note.setWordWrap(True)
        set_look(note, "secondary")
        theme.set_font(note, SMALL)
        text = QPlainTextEdit()
        text.setReadOnly(True)
        text.setAccessibleName(tr("Text of {name}", name=file.name))
        text.setFont(theme.code_font)
        cut = len(file.text) > MOST_SHOWN
        text.setPlainText(file.text[:MOST_SHOWN] + ("\n…" if cut else ""))
        done: QPushButton = button(tr("Done"), tr("Close"), "bordered")
        done.setDefault(True)
        done.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 14)
        layout.setSpacing(10)
        layout.addWidget(note)
        layout.addWidget(text, 1)
        layout.addWidget(done, 0, Qt.AlignmentFlag.AlignRight)
