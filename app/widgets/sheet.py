"""The layout of sheets: a page, a hairline, and a footer with Done."""

from PySide6.QtWidgets import QAbstractButton, QDialog, QFrame, QLayout, QWidget

from app.language import tr
from app.widgets.button import button
from app.widgets.layout import column, row
from app.widgets.theme import set_look


def line(look: str = "hairline") -> QFrame:
    """Return a separator, "hairline" or "upright"."""
    made = QFrame()
    set_look(made, look)
    return made


def lay_out(dialog: QDialog, page: QWidget | QLayout, width: int, done_name: str, aside: QAbstractButton | None = None) -> None:
    """Lay out a dialog as a sheet.

    Args:
        dialog: has no layout yet.
        page: the content.
        width: minimum in pixels.
        done_name: of the Done button, for screen readers.
        aside: a button on the left of the footer.
    """
    done = button(tr("Done"), done_name, "bordered", dialog.accept)
    done.setDefault(True)
    footer = row(*([aside] if aside is not None else []), None, done, margins=(24, 12, 24, 14))
    layout = column((page, 1), line(), footer, spacing=0, parent=dialog)
    layout.addStrut(width)
