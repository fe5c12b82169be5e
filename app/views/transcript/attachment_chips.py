"""Chips for attached files, with name, size, and tokens."""

from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QDialog, QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.storage import wording
from app.storage.attachments import Attachment, shortened
from app.storage.wording import number, size
from app.text.language import tr
from app.widgets.controls import ElidedButton, IconButton, as_tooltip, button, small_label, styled_label
from app.widgets.layout import Flow, column, row
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.events import TokenCount

MAX_TEXT = 300_000  # characters shown of a file


class AttachmentChips(QWidget):
    """A wrapping row of chips, aligned right if they can't be removed."""

    removed = Signal(object)  # Attachment
    left_out = Signal()  # leave out the files still being read

    def __init__(self, theme: Theme, removable: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._removable = removable
        self.chips: list[AttachmentChip] = []
        self._flow = Flow(self, right=not removable)
        self.waiting = QFrame(self)
        set_look(self.waiting, "attachment")
        self.waiting.hide()
        self.waiting_name = small_label(theme, look="secondary", elided=True)
        self.leave_button = IconButton(theme, "close", tr("Cancel reading"))
        self.leave_button.clicked.connect(self.left_out)
        row(self.waiting_name, self.leave_button, spacing=4, margins=(12, 2, 4, 2), parent=self.waiting)
        self._flow.addWidget(self.waiting)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    def show_files(self, files: list[Attachment], counts: dict[Attachment, TokenCount], reading: str = "") -> None:
        """Show these files. `reading` names a file that is still being read."""
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
        self.waiting_name.setText(tr("Reading {name}…", name=reading))
        self.waiting.setVisible(bool(reading))
        self.setVisible(bool(files or reading))
        self.updateGeometry()


class AttachmentChip(QFrame):
    """A file's chip, marked if the file is longer than the context."""

    removed = Signal(object)

    def __init__(self, theme: Theme, file: Attachment, count: TokenCount | None, removable: bool) -> None:
        super().__init__()
        self._theme = theme
        self.file = file
        set_look(self, "attachment")
        name = tr("Attached: {name}. Show text", name=file.name)
        self.open_button = ElidedButton(name, "quiet")
        self.open_button.setText(shortened(file.name))
        self.open_button.clicked.connect(self.show_text)
        self.open_button.setToolTip(as_tooltip(tr("Show the text of {name}", name=file.name)))
        facts, too_long = figures(file, count)
        self.facts = small_label(theme, facts, "danger" if too_long else "secondary", elided=True)
        self.facts.setAccessibleName(facts)
        layout = row(self.open_button, self.facts, spacing=4, margins=(4, 2, 4 if removable else 12, 2), parent=self)
        if removable:
            self.remove_button = IconButton(theme, "close", tr("Remove {name}", name=file.name))
            self.remove_button.clicked.connect(lambda: self.removed.emit(file))
            layout.addWidget(self.remove_button)

    @Slot()
    def show_text(self) -> None:
        """Show the file's text as sent to the model."""
        dialog = AttachmentDialog(self._theme, self.file, self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()


def figures(file: Attachment, count: TokenCount | None) -> tuple[str, bool]:
    """Return size, pages, and tokens as text, and whether the context is exceeded."""
    parts = [size(file.size)]
    if file.pages:
        parts.append(tr("1 page") if file.pages == 1 else tr("{count} pages", count=number(file.pages)))
    too_long = count is not None and count.tokens >= count.limit
    if count is not None:
        tokens = wording.about_tokens(count.tokens, count.exact)
        parts.append(tr("{tokens}, over the limit of {limit}", tokens=tokens, limit=number(count.limit)) if too_long else tokens)
    return " · ".join(parts), too_long


class DropTarget(QFrame):
    """An overlay shown while files are dragged over the window."""

    dropped = Signal(list)  # of Path
    image_dropped = Signal()  # without a file, for example from a browser

    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        set_look(self, "drop")
        self.setAcceptDrops(True)
        self.label = styled_label(theme, tr("Drop files to attach them"), size=1.3, bold=True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column((self.label, 1), parent=self)
        self.label.ensurePolished()
        self.hide()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files and images.

        The window forwards its event when the pointer enters it.
        """
        if files_in(event.mimeData()) or event.mimeData().hasImage():
            event.acceptProposedAction()
            self.setGeometry(self._window.rect().adjusted(8, 8, -8, -8))
            self.raise_()
            self.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self.hide()
        if files := files_in(event.mimeData()):
            event.acceptProposedAction()
            self.dropped.emit(files)
        elif event.mimeData().hasImage():
            self.image_dropped.emit()


def files_in(data: QMimeData) -> list[Path]:
    """Return the local files in dropped or pasted data."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


class AttachmentDialog(QDialog):
    """A dialog with the extracted text of a file."""

    def __init__(self, theme: Theme, file: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(file.name)
        self.resize(640, 520)
        note = small_label(theme, tr("This text is sent to the model with the message."), "secondary", wrap=True)
        text = QPlainTextEdit()
        text.setReadOnly(True)
        text.setAccessibleName(tr("Text of {name}", name=file.name))
        text.setFont(theme.code_font)
        text.setPlainText(file.text[:MAX_TEXT] + ("\n…" if len(file.text) > MAX_TEXT else ""))
        done = button(tr("Done"), tr("Close"), "bordered", self.accept)
        done.setDefault(True)
        column(note, (text, 1), (done, 0, Qt.AlignmentFlag.AlignRight), spacing=10, margins=(20, 16, 20, 14), parent=self)
