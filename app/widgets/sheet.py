"""How the sheets over the window are laid out: a page, and below a hairline a foot with Done."""

from PySide6.QtWidgets import QAbstractButton, QDialog, QFrame, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from app.language import tr
from app.widgets.button import button
from app.widgets.theme import set_look


def lay_out(dialog: QDialog, page: QWidget | QLayout, width: int, closes: str, aside: QAbstractButton | None = None) -> None:
    """Give a dialog its page and foot.

    Args:
        dialog: has no layout yet.
        page: takes all the room there is.
        width: px; what the sheet is wide at least. It gets wider where a text needs it.
        closes: what Done does, for a tooltip and a screen reader.
        aside: a button at the other end of the foot.
    """
    done = button(tr("Done"), closes, "bordered")
    done.setDefault(True)
    done.clicked.connect(dialog.accept)
    line = QFrame()
    set_look(line, "hairline")
    foot = QHBoxLayout()
    foot.setContentsMargins(24, 12, 24, 14)
    if aside is not None:
        foot.addWidget(aside)
    foot.addStretch(1)
    foot.addWidget(done)
    layout = QVBoxLayout(dialog)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addStrut(width)
    if isinstance(page, QWidget):
        layout.addWidget(page, 1)
    else:
        layout.addLayout(page, 1)
    layout.addWidget(line)
    layout.addLayout(foot)
