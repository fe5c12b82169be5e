"""The Help window: the pages of docs/ and the keyboard shortcuts."""

import re
from html import escape
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from PySide6.QtCore import QSize, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWidgets import QDialog, QListWidgetItem, QMenu, QMenuBar, QTextBrowser, QWidget

from app.language import tr
from app.rendering.markdown import is_safe_link
from app.widgets.layout import PageList, line, row
from app.widgets.theme import Theme
from app.window.palette import plain_title

FOLDER = Path(__file__).parents[2] / "docs"
PAGES = ("guide", "models", "downloads", "tools", "troubleshooting", "privacy", "exactness", "performance", "cli")
SHORTCUTS = "shortcuts"
DEFAULT_SIZE = QSize(860, 640)
PAGE_MARGIN = 24
# Images, and links to files that exist only in the repository
_LEFT_OUT = re.compile(r"!\[[^\]]*\]\([^)]*\)|\[([^\]]*)\]\(\.\.[^)]*\)")

Menus = dict[str, list[tuple[str, str]]]  # menu -> titles and shortcuts of its commands


class HelpDialog(QDialog):
    """The Help window. The list shows the user pages; links can open any page."""

    def __init__(self, theme: Theme, shortcuts: Menus, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._shortcuts = theme, shortcuts
        self.page = ""
        self.setWindowTitle(tr("Slipstream Help"))
        self.setAccessibleName(tr("Slipstream Help"))
        self.resize(DEFAULT_SIZE)
        self.list = PageList(theme, tr("Pages"))
        for page in (*PAGES, SHORTCUTS):
            title = tr("Keyboard Shortcuts") if page == SHORTCUTS else _read(page).partition("\n")[0].removeprefix("# ")
            item = QListWidgetItem(title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, page)
        self.list.currentItemChanged.connect(self._choose)
        self.text = QTextBrowser()
        self.text.setAccessibleName(tr("Page"))
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        row(self.list.side, line("upright"), (self.text, 1), spacing=0, parent=self)
        theme.changed.connect(self._draw)
        self.list.fit()
        self.list.setFocus()

    def show_page(self, page: str, heading: str = "") -> None:
        """Show a page of docs/ or the shortcuts, scrolled to a heading if given."""
        if page != self.page:
            self.page = page
            self._draw()
        place = (*PAGES, SHORTCUTS).index(page) if page in (*PAGES, SHORTCUTS) else -1
        self.list.setCurrentRow(place)
        if heading:
            self.text.scrollToAnchor(heading)

    @Slot()
    def _draw(self) -> None:
        colors = self._theme.colors
        document = self.text.document()
        document.setDocumentMargin(PAGE_MARGIN)
        document.setDefaultStyleSheet(
            f"a {{ color: {colors.accent}; }} h1, h2, h3 {{ font-weight: 600; }} "
            f"code, pre {{ font-family: '{self._theme.code_font.family()}'; }} "
            f"pre {{ background: {colors.code}; }} table {{ border-collapse: collapse; margin-top: 6px; }} "
            f"th, td {{ padding: 5px 16px 5px 0px; border-bottom: 1px solid {colors.line}; text-align: left; }}"
        )
        self.text.setHtml(shortcuts_html(self._shortcuts) if self.page == SHORTCUTS else page_html(self.page))

    @Slot(QListWidgetItem, QListWidgetItem)
    def _choose(self, item: QListWidgetItem | None, before: QListWidgetItem | None) -> None:
        if item is not None:
            self.show_page(item.data(Qt.ItemDataRole.UserRole))

    @Slot(QUrl)
    def _follow(self, address: QUrl) -> None:
        page = address.path().removesuffix(".md")
        if is_safe_link(address.toString()):
            QDesktopServices.openUrl(address)
        elif not address.scheme() and (not page or page in {file.stem for file in FOLDER.glob("*.md")}):
            self.show_page(page or self.page, address.fragment())


def page_html(page: str) -> str:
    """Return a page of docs/ as HTML, with GitHub's anchors for headings."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(_LEFT_OUT.sub(r"\1", _read(page)))
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", re.sub(r"[^\w\- ]", "", content.content.lower()).strip().replace(" ", "-"))
    return markdown.renderer.render(tokens, markdown.options, {})


def shortcuts_html(menus: Menus) -> str:
    tables = [
        f"<h2>{escape(menu)}</h2><table width='100%'>"
        + "".join(f"<tr><td width='60%'>{escape(title)}</td><td>{escape(keys)}</td></tr>" for title, keys in rows)
        + "</table>"
        for menu, rows in menus.items()
    ]
    return f"<h1>{escape(tr('Keyboard Shortcuts'))}</h1>{''.join(tables)}"


def menu_shortcuts(bar: QMenuBar) -> Menus:
    """Return all menu commands with a shortcut."""
    found: Menus = {}
    for top in bar.actions():
        if isinstance(menu := top.menu(), QMenu):
            keys = [
                (plain_title(action.text()), action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
                for action in menu.actions()
                if action.isVisible() and not action.shortcut().isEmpty()
            ]
            if keys:
                found[plain_title(top.text())] = keys
    return found


def _read(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")
