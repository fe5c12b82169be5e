"""A menu that shows a link's address before it is opened."""

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from app.language import tr
from app.rendering.markdown import is_safe_link
from app.widgets.controls import as_tooltip

MAX_SHOWN = 70  # characters of an address in the menu; the tooltip shows all


def show_link(owner: QWidget, address: str, at: QPoint) -> QMenu | None:
    """Show a menu to open or copy an address, or return None if it is unsafe."""
    if not is_safe_link(address):
        return None
    menu = QMenu(owner)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setAccessibleName(tr("Link"))
    menu.setToolTipsVisible(True)
    shown = address if len(address) <= MAX_SHOWN else f"{address[: MAX_SHOWN - 20]}…{address[-19:]}"
    title = menu.addAction(shown.replace("&", "&&"))
    title.setEnabled(False)
    title.setToolTip(as_tooltip(address))
    menu.addSeparator()
    menu.addAction(tr("Open in Browser")).triggered.connect(lambda: QDesktopServices.openUrl(QUrl(address)))
    menu.addAction(tr("Copy Link")).triggered.connect(lambda: QGuiApplication.clipboard().setText(address))
    menu.popup(at)
    return menu
