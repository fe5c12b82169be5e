"""The Help window: the pages of docs/ and the keyboard shortcuts."""

import re
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QColor, QKeySequence, QShortcut, QTextBlock, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QDialog, QListWidgetItem, QTextBrowser, QTextEdit, QWidget

from app.rendering.markdown import is_safe_link
from app.session.commands import Commands, plain_title
from app.text.language import tr
from app.widgets.browser import open_in_browser
from app.widgets.controls import SearchField, small_label
from app.widgets.layout import PageList, line, row
from app.widgets.theme import Theme

FOLDER = Path(__file__).parents[2] / "docs"
PAGES = (
    *("guide", "models", "downloads", "remote", "tools", "server", "agents", "train-a-drafter"),
    *("troubleshooting", "privacy", "exactness", "performance", "cli", "changelog"),
)
SHORTCUTS = "shortcuts"
DEVELOPER_PAGES = ("architecture", "kernels", "releasing")
LISTED = (*PAGES, SHORTCUTS, "", *DEVELOPER_PAGES)  # "" is the heading of the developers' pages
WIDTH, HEIGHT = 860, 640  # at the default text size
PAGE_MARGIN = 24
MAX_MARKS = 500  # of search words on a page
# Images, and links to files that exist only in the repository
_LEFT_OUT = re.compile(r"!\[[^\]]*\]\([^)]*\)|\[([^\]]*)\]\(\.\.[^)]*\)")

Shortcuts = dict[str, list[tuple[str, str]]]  # menu -> titles and shortcuts of its commands


class HelpDialog(QDialog):
    """The Help window. Its list shows all pages, those for users first."""

    def __init__(self, theme: Theme, shortcuts: Shortcuts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._shortcuts = theme, shortcuts
        self.page = ""
        self._matches: list[QTextBlock] = []  # with the search words, in the page's order
        self._match = 0  # the shown one
        self.setWindowTitle(tr("Slipstream Help"))
        self.resize(theme.scaled(WIDTH), theme.scaled(HEIGHT))
        self.list = PageList(theme, tr("Pages"))
        for page in LISTED:
            title = tr("Keyboard Shortcuts") if page == SHORTCUTS else _read(page).partition("\n")[0].removeprefix("# ")
            item = QListWidgetItem(title or tr("For developers"), self.list)
            item.setData(Qt.ItemDataRole.UserRole, page)
            if not page:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
                item.setFont(theme.small(bold=True))
        self.list.currentItemChanged.connect(self._choose)
        self.text = QTextBrowser()
        self.text.setAccessibleName(tr("Page"))
        self.text.setOpenLinks(False)
        self.text.setMinimumSize(theme.scaled(WIDTH) // 3, theme.scaled(HEIGHT) // 2)
        self.text.anchorClicked.connect(self._follow)
        self.search = SearchField(theme, tr("Search"), tr("Search help"))
        self.search.textChanged.connect(self._search)
        self.search.down_pressed.connect(self.list.setFocus)
        self.search.returnPressed.connect(self._go_on)
        self.none = small_label(theme, tr("No matches"), "secondary", wrap=True)
        self.none.hide()
        self.list.side.layout().insertWidget(0, self.search)  # type: ignore[union-attr]
        self.list.side.layout().insertWidget(1, self.none)  # type: ignore[union-attr]
        row(self.list.side, line("upright"), (self.text, 1), spacing=0, parent=self)
        QShortcut(QKeySequence.StandardKey.Find, self, self._find)
        QShortcut(QKeySequence.StandardKey.FindNext, self, self._go_on)
        QShortcut(QKeySequence.StandardKey.FindPrevious, self, self._go_back)
        theme.changed.connect(self._draw)
        self.list.fit()
        self.search.setFocus()

    def show_page(self, page: str, heading: str = "") -> None:
        """Show a page of docs/ or the shortcuts, scrolled to a heading if given."""
        if page != self.page:
            self.page = page
            self._draw()
        self.list.setCurrentRow(LISTED.index(page))
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
        self._mark()

    @Slot()
    def _find(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    @Slot(str)
    def _search(self, text: str) -> None:
        """List only the pages that contain all words.

        The page stays if it has them in a heading, or no page does. Otherwise, the first such page is shown.
        """
        words = text.casefold().split()
        found = [self._contains(page, words) for page in LISTED]
        for place, hit in enumerate(found):
            self.list.item(place).setHidden(not hit)
        self.none.setVisible(not any(found))
        in_heading = [any(_has_all(line, words) for line in _headings(page)) for page in LISTED]
        best = in_heading if any(in_heading) else found
        if words and any(best) and not (self.list.currentRow() >= 0 and best[self.list.currentRow()]):
            self.list.setCurrentRow(best.index(True))
        self._mark()

    def _contains(self, page: str, words: list[str]) -> bool:
        return _has_all(str(self._shortcuts) if page == SHORTCUTS else _read(page), words)

    def _mark(self) -> None:
        """Mark the search words on the page, and scroll to the best match."""
        marks: list[QTextEdit.ExtraSelection] = []
        form = QTextCharFormat()
        form.setBackground(QColor(self._theme.colors.hit))
        form.setForeground(QColor(self._theme.colors.on_hit))
        for word in self.search.text().split():
            word = _breakable(word) if self.page == SHORTCUTS else word
            found = self.text.document().find(word)
            while not found.isNull() and len(marks) < MAX_MARKS:
                mark = QTextEdit.ExtraSelection()
                mark.cursor, mark.format = found, form
                marks.append(mark)
                found = self.text.document().find(word, found)
        self.text.setExtraSelections(marks)
        words = self.search.text().casefold().split()
        self._matches = _best_blocks(self.text.document(), words) if words else []
        if self._matches:
            ranks = [_rank(block, words) for block in self._matches]
            self._show_match(ranks.index(min(ranks)))

    def _show_match(self, number: int) -> None:
        """Scroll to a match, so that the text after it can be read."""
        self._match = number
        self.text.setTextCursor(QTextCursor(self._matches[number]))
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.value() + self.text.cursorRect().top() - PAGE_MARGIN)

    @Slot()
    def _go_on(self) -> None:
        """Show the next match, if necessary on the next listed page."""
        if self._match + 1 < len(self._matches):
            self._show_match(self._match + 1)
        elif self._turn_page(1):
            self._show_match(0)

    @Slot()
    def _go_back(self) -> None:
        if self._matches and self._match > 0:
            self._show_match(self._match - 1)
        elif self._turn_page(-1):
            self._show_match(len(self._matches) - 1)

    def _turn_page(self, step: int) -> bool:
        """Show the next or previous listed page. Return whether it has matches."""
        if not self.search.text().split():
            return False
        listed = [row for row in range(self.list.count()) if not self.list.item(row).isHidden()]
        others = (row for row in listed[::step] if (row - self.list.currentRow()) * step > 0)
        if listed:
            self.list.setCurrentRow(next(others, listed[::step][0]))
        return bool(self._matches)

    @Slot(QListWidgetItem, QListWidgetItem)
    def _choose(self, item: QListWidgetItem | None, before: QListWidgetItem | None) -> None:
        if item is not None:
            self.show_page(item.data(Qt.ItemDataRole.UserRole))

    @Slot(QUrl)
    def _follow(self, address: QUrl) -> None:
        page = address.path().removesuffix(".md")
        if is_safe_link(address.toString()):
            open_in_browser(address, self.text)
        elif not address.scheme() and (not page or page in LISTED):
            self.show_page(page or self.page, address.fragment())


def page_html(page: str) -> str:
    """Return a page of docs/ as HTML, with GitHub's anchors for headings."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(_LEFT_OUT.sub(r"\1", _read(page)))
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            token.attrSet("id", re.sub(r"[^\w\- ]", "", content.content.lower()).strip().replace(" ", "-"))
    return markdown.renderer.render(tokens, markdown.options, {})


def shortcuts_html(menus: Shortcuts) -> str:
    tables = [
        f"<h2>{escape(menu)}</h2><table width='100%'>"
        + "".join(f"<tr><td>{escape(title)}</td><td>{_breakable(escape(keys))}</td></tr>" for title, keys in rows)
        + "</table>"
        for menu, rows in menus.items()
    ]
    return f"<h1>{escape(tr('Keyboard Shortcuts'))}</h1>{''.join(tables)}"


def _breakable(keys: str) -> str:
    """Allow a line break after each key, which Qt would otherwise make within a name."""
    return keys.replace("+", "+\u200b")


def menu_shortcuts(commands: Commands) -> Shortcuts:
    """Return all menu commands with a shortcut."""
    found: Shortcuts = {}
    for menu in commands.menus:
        shown = [command for command, _ in menu.commands() if command.visible and command.shortcut]
        if shown:
            found[plain_title(menu.text)] = [(command.plain_text, command.shortcut) for command in shown]
    move = tr("Move an attachment to the left or right")
    found[tr("Images")] = [
        (move, _native("Alt+Left", "Alt+Right")),
        (tr("Remove an attachment"), _native("Del")),
        (tr("Previous or next image"), _native("Left", "Right")),
        (tr("Zoom in or out"), "+, −"),
        (tr("Fit into the window, or actual size"), "0, 1"),
    ]
    return found


def _has_all(text: str, words: list[str]) -> bool:
    return all(word in text.casefold() for word in words)


def _headings(page: str) -> list[str]:
    return [] if page == SHORTCUTS else [line for line in _read(page).splitlines() if line.startswith("#")]


def _best_blocks(document: QTextDocument, words: list[str]) -> list[QTextBlock]:
    """Return the paragraphs with the most of the words."""
    found: dict[int, list[QTextBlock]] = {}
    block = document.begin()
    while block.isValid():
        found.setdefault(sum(word in _text_of(block) for word in words), []).append(block)
        block = block.next()
    most = max(found)
    return found[most] if most else []


def _rank(block: QTextBlock, words: list[str]) -> tuple[bool, bool]:
    """Return a key that sorts headings first, and then what has the whole phrase."""
    return not block.blockFormat().headingLevel(), " ".join(words) not in _text_of(block)


def _text_of(block: QTextBlock) -> str:
    return block.text().replace("\u200b", "").casefold()


def _native(*keys: str) -> str:
    return ", ".join(QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in keys)


@cache
def _read(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8") if page else ""
