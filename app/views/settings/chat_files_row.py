"""The part of the Privacy pane for images and PDFs in chats."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.session.chat_library import ChatLibrary
from app.storage import wording
from app.storage.store import FileUsage
from app.text.language import tr
from app.widgets.controls import small_label
from app.widgets.layout import Form
from app.widgets.theme import Theme


class ChatFilesRow(QObject):
    """A form row with the number and size of files in chats."""

    def __init__(self, theme: Theme, library: ChatLibrary, form: Form, parent: QWidget) -> None:
        super().__init__(parent)
        self.used = small_label(theme, "", "secondary", wrap=True)
        form.add_row(tr("Images and PDFs"), self.used, help=tr("They are deleted with their messages and chats."))
        library.measure_files(self._show)

    def _show(self, found: FileUsage) -> None:
        if not isValid(self.used):
            return
        files = tr("1 file") if found.count == 1 else tr("{count} files", count=wording.number(found.count))
        used = tr("{files} in your chats, {size}", files=files, size=wording.size(found.bytes))
        self.used.setText(used if found.count else tr("None in your chats"))
