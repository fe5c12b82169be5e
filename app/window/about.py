"""The About window: version and licenses."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QDialog, QFrame, QPlainTextEdit, QWidget

from app.language import tr
from app.release import Release, licenses
from app.widgets.controls import Label, button, small_label
from app.widgets.icon import window_icon
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

ICON_SIZE = 96
LINES = 14  # of the licenses, without scrolling


class AboutDialog(QDialog):
    def __init__(self, theme: Theme, release: Release, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("About Slipstream"))
        self.setAccessibleName(tr("About Slipstream"))
        icon = Label()
        icon.setPixmap(window_icon().pixmap(ICON_SIZE, ICON_SIZE))
        icon.setFixedSize(ICON_SIZE, ICON_SIZE)
        name = Label("Slipstream")
        theme.set_font(name, 1.6, bold=True)
        self.version = Label(tr("Version {version}", version=release.version) if release.version else tr("Development build"))
        self.version.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(self.version, "secondary")
        summary = Label(tr("A small model drafts and a large one checks, with exactly the large model’s output."))
        summary.setWordWrap(True)
        caption = small_label(theme, tr("Licenses"), bold=True)
        self.licenses = QPlainTextEdit(licenses())
        self.licenses.setReadOnly(True)
        self.licenses.setTabChangesFocus(True)
        self.licenses.setFrameShape(QFrame.Shape.NoFrame)
        self.licenses.setFont(theme.code_font)
        self.licenses.setAccessibleName(caption.text())
        metrics = QFontMetrics(theme.code_font)
        self.licenses.setMinimumSize(metrics.averageCharWidth() * 84, metrics.lineSpacing() * LINES)
        caption.setBuddy(self.licenses)
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        close.setDefault(True)
        head = row((icon, 0, Qt.AlignmentFlag.AlignTop), (column(name, self.version, 6, summary, spacing=4), 1), spacing=20)
        column(head, 10, caption, (self.licenses, 1), 4, row(None, close), spacing=10, margins=(28, 26, 28, 18), parent=self)
        close.setFocus()
