"""About Slipstream: what it is, which version, and whose work is in it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.language import tr
from app.release import Release, licences
from app.widgets.button import button
from app.widgets.icon import window_icon
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look


def _about_words() -> str:
    return tr("""A small model drafts, a large one checks, and every token shown is the large model's own.
Nothing you write leaves this computer.""")


PIXELS = 96
LINES = 14  # of the licences, without scrolling


class AboutDialog(QDialog):
    """The licences are text to read, search and copy."""

    def __init__(self, theme: Theme, release: Release, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("About Slipstream"))
        self.setAccessibleName(tr("About Slipstream"))
        picture = Label()
        picture.setPixmap(window_icon().pixmap(PIXELS, PIXELS))
        picture.setFixedSize(PIXELS, PIXELS)
        name = Label("Slipstream")
        theme.set_font(name, 1.6, bold=True)
        self.version = Label(
            tr("Version {version}", version=release.version) if release.version else tr("A version that nobody numbered")
        )
        self.version.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(self.version, "secondary")
        words = Label(_about_words())
        words.setWordWrap(True)
        text = QVBoxLayout()
        text.setSpacing(4)
        text.addWidget(name)
        text.addWidget(self.version)
        text.addSpacing(6)
        text.addWidget(words)
        head = QHBoxLayout()
        head.setSpacing(20)
        head.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(text, 1)

        caption = Label(tr("Whose work is in it, and under which licence"))
        theme.set_font(caption, SMALL, bold=True)
        self.licences = QPlainTextEdit(licences())
        self.licences.setReadOnly(True)
        self.licences.setTabChangesFocus(True)
        self.licences.setFrameShape(QFrame.Shape.NoFrame)
        self.licences.setFont(theme.code_font)
        self.licences.setAccessibleName(caption.text())
        metrics = QFontMetrics(theme.code_font)
        self.licences.setMinimumSize(metrics.averageCharWidth() * 84, metrics.lineSpacing() * LINES)
        caption.setBuddy(self.licences)

        close = button(tr("Close"), tr("Close this page"), "bordered")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(28, 26, 28, 18)
        layout.setSpacing(10)
        layout.addLayout(head)
        layout.addSpacing(10)
        layout.addWidget(caption)
        layout.addWidget(self.licences, 1)
        layout.addSpacing(4)
        layout.addLayout(foot)
        close.setFocus()
