"""The files of the message that is being written."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

from app.session.attachment_reader import AttachmentReader
from app.session.page_choice import PageChoice
from app.storage.attachments import Attachment, shortened
from app.text.language import tr
from app.text.plain_text import clean
from app.views.pictures.pdf_dialog import open_pages
from app.views.transcript.attachment_chips import AttachmentChips
from app.widgets.theme import Theme

FILES_HEIGHT = 172  # pixels before the files scroll, at the default text size
LINE_GAP = 4  # between lines of chips


class FileArea(QScrollArea):
    """The chips of a message's files, which scroll if there are many.

    Args:
        pages: the choice of PDF pages.
        owner: the parent of their dialog.
    """

    def __init__(self, theme: Theme, attachments: AttachmentReader, pages: PageChoice | None, owner: QWidget) -> None:
        super().__init__()
        self._theme, self._attachments = theme, attachments
        self.files = files = AttachmentChips(theme, editable=True)
        files.removed.connect(attachments.remove)
        files.moved.connect(attachments.move)
        files.left_out.connect(attachments.leave_out)
        files.pages_requested.connect(lambda pdf: open_pages(theme, pdf, pages, owner))
        self._count = 0  # of chips
        self._at_end = False  # whether to stay at the end while new chips are laid out
        self.setWidget(files)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for widget in (self.viewport(), files):
            widget.setAutoFillBackground(False)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.verticalScrollBar().rangeChanged.connect(self._follow)
        self.verticalScrollBar().actionTriggered.connect(self._stop_following)
        self.hide()

    def show_message(self) -> None:
        """Show the files of the message that is being written."""
        reader = self._attachments
        names = [shortened(clean(one.path.name)) for one in reader.reading] + [shortened(one.name) for one in reader.drawing]
        if len(names) > 1:
            names[0] = tr("{name} and {count} more", name=names[0], count=len(names) - 1)
        self.files.show_files(reader.files, reader.counts, "".join(names[:1]))
        self._fit()

    def show_draft(self, files: Sequence[Attachment]) -> None:
        """Show the files of a message that isn't being written now."""
        self.files.show_files(files, {})
        self._fit()

    def _fit(self) -> None:
        """Show as many chips as fit after a change, and a new one."""
        before, self._count = self._count, len(self.files.chips)
        if self._count != before:
            self._at_end = self._count > before
        self.setVisible(not self.files.isHidden())
        self.updateGeometry()
        QTimer.singleShot(0, self, self._follow)  # the range may be as before

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        needed = max(self.files.heightForWidth(width), self.files.minimumSizeHint().height())
        return min(needed, self._most)

    @property
    def _most(self) -> int:
        """The height of as many whole lines of chips as fit."""
        line = self.files.minimumSizeHint().height() + LINE_GAP
        count = (self._theme.scaled(FILES_HEIGHT) + LINE_GAP) // line
        return max(1, count) * line - LINE_GAP

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.heightForWidth(max(self.width(), 1)))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, min(self.files.minimumSizeHint().height(), self._most))

    @Slot()
    def _follow(self) -> None:
        if self._at_end:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @Slot()
    def _stop_following(self) -> None:
        self._at_end = False
