"""Chips for attached files, with name, size, and tokens."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QContextMenuEvent, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import QDialog, QFrame, QMenu, QPlainTextEdit, QSizePolicy, QWidget

from app.storage import wording
from app.storage.attachments import Attachment, shortened
from app.storage.wording import number, size
from app.text.language import tr
from app.views.pictures.picture_actions import picture_menu
from app.views.pictures.picture_row import picture_of_page
from app.views.pictures.viewer import open_viewer
from app.widgets.controls import ICON_SIZE, ElidedButton, IconButton, as_tooltip, button, draw_icon, small_label
from app.widgets.layout import Flow, column, row
from app.widgets.picture_loader import Shown
from app.widgets.picture_tile import PictureTile
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.token_counts import TokenCount

MAX_TEXT = 300_000  # characters shown of a file
SIDE = QSize(38, 38)  # of a picture in a chip
SMALL_SIDE = QSize(20, 20)  # of an icon in a chip of one line


class AttachmentChips(QWidget):
    """A wrapping row of chips.

    Args:
        editable: whether chips can be removed and moved.
        right: whether to align chips to the right.
    """

    removed = Signal(object)  # Attachment
    moved = Signal(object, int)  # Attachment and its new place
    pages_requested = Signal(object)  # Attachment, a PDF
    left_out = Signal()  # leave out the files still being read

    def __init__(self, theme: Theme, editable: bool, right: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._editable = editable
        self.chips: list[AttachmentChip] = []
        self._flow = Flow(self, right=right)
        self.waiting = QFrame(self)
        set_look(self.waiting, "attachment")
        self.waiting.hide()
        self.waiting_name = small_label(theme, look="secondary", elided=True)
        self.leave_button = IconButton(theme, "close", tr("Cancel reading"))
        self.leave_button.clicked.connect(self.left_out)
        row(self.waiting_name, self.leave_button, spacing=4, margins=(12, 2, 4, 2), parent=self.waiting)
        self._flow.addWidget(self.waiting)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.hide()

    def show_files(self, files: Sequence[Attachment], counts: dict[Attachment, TokenCount], reading: str = "") -> None:
        """Show these files. `reading` names a file that is still being read."""
        before = {chip.file: chip for chip in self.chips}
        for chip in self.chips:
            self._flow.removeWidget(chip)
        self.chips = [before.pop(one) if one in before else self._chip(one) for one in files]
        for chip in before.values():
            chip.hide()
            chip.deleteLater()
        self._flow.removeWidget(self.waiting)
        for place, chip in enumerate(self.chips):
            chip.show_count(counts.get(chip.file))
            chip.show_place(place, len(self.chips))
            self._flow.addWidget(chip)
            chip.show()
            if place:
                QWidget.setTabOrder(self.chips[place - 1].last_stop, chip.first_stop)
        self._flow.addWidget(self.waiting)
        self.waiting_name.setText(tr("Reading {name}…", name=reading))
        self.waiting.setVisible(bool(reading))
        self.setVisible(bool(files or reading))
        self.updateGeometry()

    def _chip(self, one: Attachment) -> "AttachmentChip":
        chip = AttachmentChip(self._theme, one, self._editable, self)
        chip.removed.connect(self.removed)
        chip.moved.connect(self.moved)
        chip.opened.connect(partial(self._open, chip))
        return chip

    def _open(self, chip: "AttachmentChip") -> None:
        """Open a picture, together with the others, or show the file's pages or text."""
        if chip.file.page_list:
            self.pages_requested.emit(chip.file)
        elif chip.shown is None:
            dialog = AttachmentDialog(self._theme, chip.file, self.window())
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.open()
        else:
            pictures = [one for one in self.chips if one.shown is not None]
            open_viewer(self._theme, [one.shown for one in pictures if one.shown], pictures.index(chip), self.window())


class AttachmentChip(QFrame):
    """A file's chip, marked if the file is longer than the context.

    Alt with the arrow keys moves it, and Delete removes it.
    """

    removed = Signal(object)
    moved = Signal(object, int)
    opened = Signal()

    def __init__(self, theme: Theme, file: Attachment, editable: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self._editable = theme, editable
        self.file = file
        self.place = self.count = 0
        self.shown = Shown.of(file.name, file.picture) if file.picture is not None else None
        set_look(self, "attachment")
        self.open_button = ElidedButton("", "quiet")
        self.open_button.setText(shortened(file.name))
        self.open_button.clicked.connect(self.opened)
        self.facts = small_label(theme, elided=True)
        right = 4 if editable else 12
        name, tip = self._names()
        self.open_button.setAccessibleName(name)
        self.open_button.setToolTip(as_tooltip(tip))
        picture = self.shown or (picture_of_page(file, 1) if file.page_list else None)
        self.tile: PictureTile | None = None
        if self.shown is not None or editable:
            image: QWidget = _DocumentIcon(theme, SIDE)
            if picture is not None:
                self.tile = image = PictureTile(theme, picture, SIDE, square=True)
                self.tile.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the name is next to it
                self.tile.clicked.connect(self.opened)
            texts = column(row(self.open_button, None), row(self.facts, margins=(8, 0, 0, 0)), spacing=0)
            layout = row(image, texts, spacing=2, margins=(5, 5, right, 5), parent=self)
        else:
            icon = _DocumentIcon(theme, SMALL_SIDE)
            layout = row(icon, self.open_button, self.facts, spacing=2, margins=(6, 2, right, 2), parent=self)
        self.first_stop: QWidget = self.open_button
        self.last_stop: QWidget = self.open_button
        if editable:
            self.remove_button = IconButton(theme, "close", tr("Remove {name}", name=file.name))
            self.remove_button.clicked.connect(self._remove)
            layout.addWidget(self.remove_button)
            self.last_stop = self.remove_button
            for keys, slot in (("Alt+Left", self._move_left), ("Alt+Right", self._move_right), ("Del", self._remove)):
                shortcut = QShortcut(QKeySequence(keys), self)
                shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
                shortcut.activated.connect(slot)
        self.show_count(None)

    def _names(self) -> tuple[str, str]:
        """Return what a screen reader says, and a tooltip."""
        name = self.file.name
        if self.shown is not None:
            return self.shown.alt_text, tr("Show {name}", name=name)
        if self.file.page_list:
            return tr("Attached: {name}. Show pages", name=name), tr("Show the pages of {name}", name=name)
        return tr("Attached: {name}. Show text", name=name), tr("Show the text of {name}", name=name)

    def show_count(self, count: TokenCount | None) -> None:
        facts, too_long = figures(self.file, count)
        self.facts.setText(facts)
        self.facts.setAccessibleName(facts)
        set_look(self.facts, "danger" if too_long else "secondary")

    def show_place(self, place: int, count: int) -> None:
        self.place, self.count = place, count

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu().popup(event.globalPos())

    def menu(self) -> QMenu:
        if self.shown is not None:
            menu = picture_menu(self, self._theme, self.shown, self.opened.emit)
        else:
            menu = QMenu(self)
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.addAction(tr("Open"), self.opened.emit)
        if self._editable:
            menu.addSeparator()
            actions: tuple[tuple[str, Callable[[], None], bool], ...] = (
                (tr("Move Left"), self._move_left, self.place > 0),
                (tr("Move Right"), self._move_right, self.place + 1 < self.count),
                (tr("Remove"), self._remove, True),
            )
            for title, slot, enabled in actions:
                menu.addAction(title, slot).setEnabled(enabled)
        return menu

    @Slot()
    def _move_left(self) -> None:
        if self.place > 0:
            self.moved.emit(self.file, self.place - 1)

    @Slot()
    def _move_right(self) -> None:
        if self.place + 1 < self.count:
            self.moved.emit(self.file, self.place + 1)

    @Slot()
    def _remove(self) -> None:
        self.removed.emit(self.file)


class _DocumentIcon(QWidget):
    """The icon of a file without a picture."""

    def __init__(self, theme: Theme, size: QSize) -> None:
        super().__init__()
        self._theme = theme
        self.setFixedSize(theme.scaled(size.width()), theme.scaled(size.height()))
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, side = QPainter(self), self._theme.scaled(ICON_SIZE)
        painter.translate((self.width() - side) / 2, (self.height() - side) / 2)
        draw_icon(painter, "document", QColor(self._theme.colors.secondary), side)
        painter.end()


def figures(file: Attachment, count: TokenCount | None) -> tuple[str, bool]:
    """Return tokens, size, and pages as text, and whether the context is exceeded."""
    parts = [Shown.of(file.name, file.picture).facts if file.picture is not None else size(file.size)]
    if file.pages:
        parts.append(_pages_text(file))
    too_long = count is not None and count.tokens >= count.limit
    if count is not None:
        parts.insert(0, wording.about_tokens(count.tokens, count.exact))  # first, because too little space hides the end
    return " · ".join(parts), too_long


def _pages_text(file: Attachment) -> str:
    """Return the number of pages, and which are sent unless all are."""
    sent, count = [page.number for page in file.page_list if page.sent != "no"], number(file.pages)
    if len(sent) == len(file.page_list):
        return tr("1 page") if file.pages == 1 else tr("{count} pages", count=count)
    if len(sent) == 1:
        return tr("page {page} of {count}", page=number(sent[0]), count=count)
    if sent and sent[-1] - sent[0] == len(sent) - 1:
        return tr("pages {first}–{last} of {count}", first=number(sent[0]), last=number(sent[-1]), count=count)
    return tr("{sent} of {count} pages", sent=number(len(sent)), count=count)


class AttachmentDialog(QDialog):
    """A dialog with the extracted text of a file."""

    def __init__(self, theme: Theme, file: Attachment, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(file.name)
        self.resize(640, 520)
        note = small_label(theme, tr("This text is sent to the model with the message."), "secondary", wrap=True)
        text = QPlainTextEdit()
        text.setReadOnly(True)
        text.setAccessibleName(tr("Text of {name}", name=file.name))
        text.setFont(theme.code_font)
        text.setPlainText(file.text[:MAX_TEXT] + ("\n…" if len(file.text) > MAX_TEXT else ""))
        done = button(tr("Done"), tr("Close"), "bordered", self.accept)
        done.setDefault(True)
        column(note, (text, 1), (done, 0, Qt.AlignmentFlag.AlignRight), spacing=10, margins=(20, 16, 20, 14), parent=self)
