"""What may be done with a reply, in a line under its figures."""

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget

from app.conversations.chat_tree import Turn
from app.language import tr
from app.transcript.versions import Versions
from app.widgets.button import button
from app.widgets.flow import Flow
from app.widgets.theme import Theme

COPIED_MS = 1500


class ReplyActions(QWidget):
    """While the reply is written only its versions are shown, if there are several. Wraps where the window is narrow."""

    details_asked = Signal()
    retry_asked = Signal()
    resume_asked = Signal()
    compare_asked = Signal()

    def __init__(self, theme: Theme, turn: Turn, parent: QWidget) -> None:
        super().__init__(parent)
        self._turn = turn
        self.details = button(tr("Details"), tr("How this reply was decoded"))
        self.details.clicked.connect(self.details_asked)
        self.copy = button(tr("Copy"), tr("Copy reply"))
        self.copy.clicked.connect(self._copy)
        self.again = button(tr("Regenerate"), tr("Answer once more"))
        self.again.setToolTip(tr("Answer once more; this reply stays beside the new one"))
        self.again.clicked.connect(self.retry_asked)
        self.more = button(tr("Continue"), tr("Continue this reply"))
        self.more.clicked.connect(self.resume_asked)
        self.both_ways = button(tr("Compare"), tr("Compare both modes on this prompt"))
        self.both_ways.setToolTip(tr("Answer this prompt again, plainly and with DFlash, side by side"))
        self.both_ways.clicked.connect(self.compare_asked)
        self.versions = Versions(theme, turn.answered, self) if turn.answered is not None else None
        row = Flow(self, gap=2)
        for made in (self.details, self.copy, self.again, self.more, self.both_ways, self.versions):
            if made is not None:
                row.addWidget(made)
        self._offered: tuple[bool, ...] = ()
        self._restore = QTimer(self)
        self._restore.setSingleShot(True)
        self._restore.setInterval(COPIED_MS)
        self._restore.timeout.connect(self._reset_copy)
        self.hide()  # until `refresh` knows what to offer

    def refresh(self) -> None:
        """Offer what the reply allows now."""
        reply, asked = self._turn.reply, self._turn.asked is not None
        ended = not reply.running
        measured = ended and reply.stats is not None
        offered = (measured, ended and bool(reply.answer), ended and asked, reply.can_continue, measured and asked)
        if offered == self._offered:
            return
        self._offered = offered
        self.hide()  # each button that comes or goes in sight lays all of the message out anew
        buttons: tuple[QPushButton, ...] = (self.details, self.copy, self.again, self.more, self.both_ways)
        for made, offer in zip(buttons, offered, strict=True):
            made.setVisible(offer)
        self.setVisible(any(offered) or (self.versions is not None and not self.versions.isHidden()))

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._turn.reply.answer.strip())
        self.copy.setText(tr("Copied"))
        self._restore.start()

    @Slot()
    def _reset_copy(self) -> None:
        self.copy.setText(tr("Copy"))
