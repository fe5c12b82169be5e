"""Long texts that are pasted into the message field."""

from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from app.session.attachment_reader import AttachmentReader
from app.storage.attachments import Attachment

LONG_PASTE = 5000  # characters


@dataclass(frozen=True)
class _LongPaste:
    file: Attachment
    steps: int  # of the field's undo history, with the text in the field
    steps_after: int  # with the text attached
    text_after: str


class LongPastes:
    """Long texts that were pasted, and became files.

    Undo brings a text back into the field, and Redo attaches it again: in the field's history, the text was inserted and deleted.
    """

    def __init__(self, field: QPlainTextEdit, attachments: AttachmentReader) -> None:
        self._field, self._attachments = field, attachments
        self._pastes: list[_LongPaste] = []
        self._steps = 0  # before the latest change
        field.textChanged.connect(self._follow)
        field.document().undoCommandAdded.connect(self._drop_undone)

    def attach(self, text: str) -> bool:
        """Attach a long text in place of the selection; return False for others."""
        if len(text) < LONG_PASTE or (file := self._attachments.add_text(text)) is None:
            return False
        field, cursor = self._field, self._field.textCursor()
        start = cursor.selectionStart()
        with QSignalBlocker(field):
            cursor.insertText(text)
            steps = field.document().availableUndoSteps()
            cursor.setPosition(start, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
        self._steps = field.document().availableUndoSteps()
        self._pastes.append(_LongPaste(file, steps, self._steps, field.toPlainText()))
        field.textChanged.emit()
        return True

    def clear(self) -> None:
        """Forget the field's history, which may hold texts of another message."""
        self._field.document().clearUndoRedoStacks()
        self._pastes.clear()
        self._steps = 0

    def _drop_undone(self) -> None:
        """Forget pastes that Redo can't reach any more, because of a new change."""
        steps = self._field.document().availableUndoSteps()
        self._pastes = [one for one in self._pastes if one.steps_after < steps]

    def _follow(self) -> None:
        """Move a text between the field and the files after Undo or Redo."""
        before, self._steps = self._steps, self._field.document().availableUndoSteps()
        for one in self._pastes:
            if (before, self._steps) == (one.steps_after, one.steps):
                self._attachments.remove(one.file)
            elif (before, self._steps) == (one.steps, one.steps_after) and self._field.toPlainText() == one.text_after:
                self._attachments.restore(one.file)
