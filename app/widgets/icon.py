"""The app icon, for the window and, outside a bundle, for the Dock."""

from importlib.resources import files

from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon

SMALL = (16, 32)


def window_icon() -> QIcon:
    """Return the icon, with a simpler drawing at small sizes."""
    folder = files("resources") / "icon"
    icon = QIcon(str(folder / "Slipstream.svg"))
    for size in SMALL:
        icon.addPixmap(QIcon(str(folder / "Slipstream-small.svg")).pixmap(QSize(size, size), 1.0))
    return icon
