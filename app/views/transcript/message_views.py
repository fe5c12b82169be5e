"""Views of prompts and replies in the transcript, with their buttons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QTextDocument
from PySide6.QtWidgets import QAbstractButton, QFrame, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.rendering.blocks_view import BlocksView
from app.rendering.markdown import clean_text
from app.rendering.streaming import held_back
from app.rendering.text_view import LINE_HEIGHT
from app.session.help_pages import help_page
from app.storage import wording
from app.storage.attachments import Attachment
from app.storage.chat_tree import Turn
from app.storage.reply import ReplyStep
from app.storage.speed_history import speed_history
from app.text.language import tr, translated
from app.views.pictures.pdf_dialog import open_pages
from app.views.pictures.picture_row import PictureRow, pictures_of
from app.views.transcript.attachment_chips import AttachmentChips
from app.views.transcript.call_card import CallCard
from app.views.transcript.cited_pages import citable_pages
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.message_view import MenuEntry, MessageView
from app.views.transcript.read_pages import ReadPages, pages_read
from app.views.transcript.reply_actions import ReplyActions, Revealed, VersionStepper
from app.views.transcript.stats_line import StatsLine
from app.views.transcript.unreadable_call import UnreadableCall
from app.widgets.controls import IconButton, Label, button
from app.widgets.layout import NoticeView, column, line, row
from app.widgets.theme import Theme, set_look
from mlx_engine.mcp.record import CallRecord
from mlx_engine.models.files.chat_template import NO_CHAT_TEMPLATE
from mlx_engine.models.library.demo import is_refusal, needs_calculator

THINKING, ANSWER, CALLS = 0, 1, 2  # text areas of a message; a prompt has only the second, and each step of a reply has all
AREAS = 3  # of a step

FOLD_ABOVE = 4000  # characters; a longer prompt is folded to keep the reply visible
MAX_BUBBLE = 560
PIECE_CHARS = 6000  # a long answer is drawn in pieces
PIECE_PAUSE_MS = 5
FILES_GAP = 6  # pixels between attached files and the bubble
LINE_GAP = 13  # pixels from the line on the left to the text of thinking


class ThinkingView(QWidget):
    """A view of the model's thinking.

    The view is open until the answer begins, unless the user toggles it.
    """

    def __init__(self, theme: Theme, lazy: bool = False) -> None:
        super().__init__()
        self._text = ""
        self._shown_chars = 0
        self._toggled_by_reader = False
        self.header = button("", tr("Show thinking"), clicked=self._keep_as_is)
        self.header.setCheckable(True)
        self.header.toggled.connect(self._toggle)
        self.body = BlocksView(theme, quiet=True, lazy=lazy)
        self._frame = QWidget()
        row(line("upright"), self.body, spacing=LINE_GAP, margins=(10, 0, 0, 0), parent=self._frame)
        self._frame.hide()
        self.body.resized.connect(self._update_layouts)
        column(row(self.header, None), self._frame, spacing=6, parent=self)

    @property
    def is_open(self) -> bool:
        return self.header.isChecked()

    def show_thinking(self, text: str, seconds: float | None, finished: bool) -> None:
        self._text = text
        if not self._toggled_by_reader:
            self.header.setChecked(not finished)
        self._set_title(wording.thoughts(text, seconds, finished))
        if self.is_open:
            self._show_rest()

    def open(self) -> None:
        self._keep_as_is()
        self.header.setChecked(True)

    @Slot()
    def _keep_as_is(self) -> None:
        self._toggled_by_reader = True

    def _set_title(self, title: str) -> None:
        text = f"{'▾' if self.is_open else '▸'}  {title}"
        if text != self.header.text():
            self.header.setText(text)

    @Slot(bool)
    def _toggle(self, is_open: bool) -> None:
        self._set_title(self.header.text()[3:])
        self.header.setAccessibleName(tr("Hide thinking") if is_open else tr("Show thinking"))
        self._frame.setVisible(is_open)
        if is_open:
            self._show_rest()
        self.updateGeometry()

    @Slot()
    def _update_layouts(self) -> None:
        """Update all enclosing layouts now. Qt would update one per event."""
        self._frame.updateGeometry()
        self.updateGeometry()

    def _show_rest(self) -> None:
        if len(self._text) > self._shown_chars:
            self.body.append(self._text[self._shown_chars :])
            self._shown_chars = len(self._text)


class PromptView(MessageView):
    """A bubble on the right with the user's text as typed."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions) -> None:
        super().__init__(tr("Your message"))
        self.text = clean_text(turn.prompt)
        self._turn, self._actions = turn, actions
        self.editor: QWidget | None = None
        self._bubble = bubble = QFrame(self)  # without a parent, it would briefly be a window
        set_look(bubble, "bubble")
        self.blocks = _BubbleText(theme)
        self.blocks.setAccessibleName(tr("Text"))
        shift = round(theme.text_pixels * LINE_HEIGHT / 400 * 0.7)  # balances the line spacing below the last line
        inner = column(self.blocks, margins=(16, 10 + shift, 16, 10 - shift), parent=bubble)
        self.folded = len(self.text) > FOLD_ABOVE
        if self.folded:
            self.unfold = button(tr("Show All"), tr("Show the full message"), "bordered", self.show_all)
            inner.addWidget(self.unfold, 0, Qt.AlignmentFlag.AlignLeft)
        self.blocks.show_plain(self.text[: FOLD_ABOVE // 2].rstrip() + " …" if self.folded else self.text)
        bubble.setVisible(bool(self.text))
        self.edit_button = IconButton(theme, "edit", tr("Edit (keeps this version)"), self)  # before the versions, also for Tab
        self.edit_button.clicked.connect(lambda: actions.edit.emit(turn))
        self.revealed = Revealed(self, turn, self.edit_button)
        foot = row(None)
        self.versions: VersionStepper | None = None
        if turn.asked is not None:
            self.versions = VersionStepper(theme, turn.asked, actions, self)
            foot.addWidget(self.versions)
        pencil = (self.edit_button, 0, Qt.AlignmentFlag.AlignBottom)
        self._layout = column(row(None, pencil, bubble, spacing=4, margins=(14, 0, 0, 0)), foot, spacing=2, parent=self)
        self._files: list[QWidget] = []
        if turn.asked is not None and turn.asked.own_files:
            self._show_files(theme, turn.asked.own_files, self._layout)
        actions.editing_changed.connect(self._show_editor)
        self._show_editor()

    @Slot()
    def _show_editor(self) -> None:
        """Show an editor in place of the bubble while the message is being edited."""
        edits = self._actions.editing is not None and self._actions.editing is self._turn.asked
        if edits == (self.editor is not None):
            return
        if self.editor is not None:
            self.editor.hide()
            self.editor.deleteLater()
            self.editor = None
        for part in (self.edit_button, *self._files):
            part.setVisible(not edits)
        if self.versions is not None and self.versions.arrows:
            self.versions.setVisible(not edits)
        self._bubble.setVisible(not edits and bool(self.text))
        if edits:
            self.editor = self._actions.make_editor()
            self._layout.insertWidget(0, self.editor)
            self.editor.show()
        self.updateGeometry()

    def _show_files(self, theme: Theme, files: Sequence[Attachment], layout: QVBoxLayout) -> None:
        """Show pictures and chips of other files above the bubble."""
        shown: list[QWidget] = []
        if pictures := pictures_of(files):
            self.pictures = PictureRow(theme, pictures, right=True, parent=self)
            shown.append(self.pictures)
        if others := [one for one in files if one.picture is None]:
            self.files = AttachmentChips(theme, editable=False, right=True, parent=self)
            self.files.show_files(others, {})
            self.files.pages_requested.connect(lambda pdf: open_pages(theme, pdf, None, self))
            shown.append(self.files)
        for place, widget in enumerate(reversed(shown)):
            if place or self.text:
                layout.insertSpacing(0, FILES_GAP)
            layout.insertWidget(0, widget)
        self._files = shown

    @property
    def action_buttons(self) -> list[QAbstractButton]:
        return [self.edit_button, *(self.versions.arrows if self.versions is not None else ())]

    @property
    def menu_entries(self) -> list[MenuEntry]:
        copy = [MenuEntry(tr("Copy Message"), lambda: QGuiApplication.clipboard().setText(self.text))] if self.text else []
        return [*copy, MenuEntry(tr("Edit Message"), self.edit_button.click)]

    def areas(self) -> dict[int, BlocksView]:
        return {ANSWER: self.blocks}

    @Slot()
    def show_all(self) -> None:
        if self.folded:
            self.folded = False
            self.unfold.hide()
            self.blocks.show_plain(self.text)


class _BubbleText(BlocksView):
    """A text view as wide as its longest line, up to a limit."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, lazy=True)
        self._wanted_width = 0
        self.resized.connect(self._update_layouts)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def show_plain(self, text: str) -> None:
        longest = sorted(text[:20_000].split("\n"), key=len)[-8:]
        document = QTextDocument("\n".join(line[:400] for line in longest))
        document.setDefaultFont(self._theme.text_font)
        document.setDocumentMargin(0)
        self._wanted_width = min(ceil(document.idealWidth()), MAX_BUBBLE)
        super().show_plain(text)
        self._update_layouts()

    @Slot()
    def _update_layouts(self) -> None:
        """Update all enclosing layouts now. Qt would update one per event."""
        widget: QWidget | None = self
        while widget is not None and not isinstance(widget, PromptView):
            widget.updateGeometry()
            widget = widget.parentWidget()

    def sizeHint(self) -> QSize:
        return QSize(self._wanted_width, self.fit(self._wanted_width))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self._wanted_width), 0)


@dataclass(eq=False)
class StepView:
    """The widgets of a reply's step.

    Attributes:
        unreadable: the card that contains `blocks`, if they show a call that can't be read.
        drawn: characters of the step's answer that have been drawn.
    """

    blocks: BlocksView
    unreadable: UnreadableCall | None = None
    thinking: ThinkingView | None = None
    cards: list[CallCard] = field(default_factory=list)
    drawn: int = 0


class ReplyView(MessageView):
    """A reply with its shown steps, error, statistics, and actions."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions) -> None:
        super().__init__(tr("Reply"))
        self._theme = theme
        self._actions = actions
        self.turn = turn
        self.steps: list[StepView] = []
        self.error: NoticeView | None = None
        self.choose_button: QPushButton | None = None  # below a refusal of the demo pair
        self.stats = StatsLine(theme)
        self.stats.history = lambda: speed_history(turn.answered)
        self.buttons: ReplyActions | None = None
        self.read_pages: ReadPages | None = None
        self._calls_shown: tuple[CallRecord, ...] | None = None
        self._waiting = Label("…")
        self._waiting.setAccessibleName(tr("Waiting for the first token"))
        set_look(self._waiting, "faint")
        self._layout = column(self._waiting, self.stats, spacing=10, parent=self)
        self._next_piece = QTimer(self, singleShot=True, interval=PIECE_PAUSE_MS)
        self._next_piece.timeout.connect(self._draw_piece)
        self.refresh()

    def _help_button(self, refusal: str) -> QPushButton:
        """Return the button for what would answer a question that the demo refuses."""
        if needs_calculator(refusal):
            name = tr("Turn on the calculator in this chat, and ask again")
            return button(tr("Turn On Calculator"), name, "bordered", lambda: self._actions.use_calculator.emit(self.turn))
        return button(tr("Choose a Model…"), tr("Choose a model"), "bordered", self._actions.choose_model.emit)

    def refresh(self) -> None:
        """Draw new text and update the buttons."""
        reply = self.turn.reply
        had_text = any(view.drawn for view in self.steps)
        steps = reply.shown_steps
        for number, step in enumerate(steps):
            self._show_step(number, step, number == len(steps) - 1)
        at_work = bool(steps[-1].answer or steps[-1].thinking) or not all(record.ended for record in reply.calls)
        self._waiting.setVisible(reply.running and not at_work)
        self._show_read_pages()
        self._draw_piece()
        self._show_error(reply.error, help_page(reply.error_code))
        if self.choose_button is None and not reply.running and is_refusal(reply.answer):
            self.choose_button = self._help_button(reply.answer)
            self._layout.insertWidget(self._layout.indexOf(self.stats), self.choose_button, 0, Qt.AlignmentFlag.AlignLeft)
            self.choose_button.show()
        self.stats.setVisible(not (reply.error and reply.empty))
        several = self.turn.answered is not None and self.turn.answered.place[1] > 1
        if had_text or not reply.running or several:
            # Skip the frame of the first text, which already has enough to draw.
            if self.buttons is None:
                self.buttons = ReplyActions(self._theme, self.turn, self._actions, self.stats)
                self.stats.figures.insertWidget(1, self.buttons.lead)  # after why the reply ended
                self.stats.figures.addWidget(self.buttons)
                self.revealed = Revealed(self, self.turn, self.stats.chip, self.stats.cause, *self.buttons.icons)
            self.buttons.refresh()
        self.stats.show_reply(reply)

    @property
    def action_buttons(self) -> list[QAbstractButton]:
        return self.buttons.in_order if self.buttons is not None else []

    @property
    def menu_entries(self) -> list[MenuEntry]:
        titles = self.buttons.titles if self.buttons is not None else {}
        shown = {button: title for button, title in titles.items() if not button.isHidden()}
        checked = {button: button.isChecked() if button.isCheckable() else None for button in shown}
        return [MenuEntry(title, button.click, button.isEnabled(), checked[button]) for button, title in shown.items()]

    def _show_read_pages(self) -> None:
        """Show which pages of documents the reply has read."""
        calls = tuple(self.turn.reply.calls)
        if calls == self._calls_shown:
            return
        self._calls_shown = calls
        self.blocks.citable = citable_pages(self.turn)
        if self.read_pages is not None:
            self.read_pages.hide()
            self.read_pages.deleteLater()
            self.read_pages = None
        if pages := pages_read(self.turn):
            self.read_pages = ReadPages(self._theme, pages, self._actions.page_requested.emit)
            self._layout.insertWidget(self._layout.indexOf(self.stats), self.read_pages)
            self.read_pages.show()

    def _show_step(self, number: int, step: ReplyStep, last: bool) -> None:
        """Show the thinking and the calls of a step. Its answer is drawn in pieces."""
        reply = self.turn.reply
        if number == len(self.steps):
            blocks = BlocksView(self._theme, lazy=True)
            blocks.citable = citable_pages(self.turn)
            before = step.markdown.index(step.answer)
            blocks.show_sources(reply.answer_by, lambda: reply.shown_steps[number].markdown, step.answer_start - before)
            unreadable = UnreadableCall(self._theme, blocks) if step.unreadable else None
            shown = unreadable or blocks
            shown.hide()
            self._layout.insertWidget(self._layout.indexOf(self._waiting), shown)
            self.steps.append(StepView(blocks, unreadable=unreadable))
        view = self.steps[number]
        if step.thinking:
            if view.thinking is None:
                view.thinking = ThinkingView(self._theme, lazy=True)
                view.thinking.body.show_sources(reply.thinking_by, lambda: reply.shown_steps[number].thinking, step.thinking_start)
                self._layout.insertWidget(self._layout.indexOf(view.blocks), view.thinking)
                view.thinking.show()  # hidden widgets have no height
            seconds = reply.thinking_s if step.thinking == reply.thinking else None
            view.thinking.show_thinking(step.thinking, seconds, bool(step.answer) or not (last and reply.running))
        for record in step.calls[len(view.cards) :]:
            view.cards.append(CallCard(self._theme, self.turn, record, self._actions, self))
            self._layout.insertWidget(self._layout.indexOf(self._waiting), view.cards[-1])
            view.cards[-1].show()
        for card, record in zip(view.cards, step.calls, strict=True):
            card.show_call(record, reply.progress.get(record.call.id, ""), reply.result_length)

    @property
    def blocks(self) -> BlocksView:
        """The answer of the last step."""
        return self.steps[-1].blocks

    @property
    def thinking(self) -> ThinkingView | None:
        """The thinking of the last step."""
        return self.steps[-1].thinking

    def areas(self) -> dict[int, BlocksView]:
        found: dict[int, BlocksView] = {}
        for number, view in enumerate(self.steps):
            if view.thinking is not None:
                found[AREAS * number + THINKING] = view.thinking.body
            if view.drawn or not number:
                found[AREAS * number + ANSWER] = view.blocks
        return found

    def unfold(self, area: int) -> None:
        """Open the thinking or the unreadable call in an area, if it is one."""
        view = self.steps[area // AREAS]
        if area % AREAS == THINKING and view.thinking is not None:
            view.thinking.open()
        elif area % AREAS == ANSWER and view.unreadable is not None:
            view.unreadable.open()

    @property
    def complete(self) -> bool:
        """Whether all text that can be drawn now has been."""
        return sum(view.drawn for view in self.steps) >= len(self.turn.reply.answer) - self._held

    @property
    def _held(self) -> int:
        """The number of characters at the end that aren't drawn before they are complete."""
        reply = self.turn.reply
        last = reply.shown_steps[-1]
        return held_back(last.answer) if reply.running and not last.calls else 0

    @Slot()
    def _draw_piece(self) -> None:
        steps = self.turn.reply.shown_steps
        for view, step in zip(self.steps, steps, strict=False):
            if view.unreadable is not None and view.drawn < len(step.answer):
                view.drawn = len(step.answer)
                view.blocks.show_markdown(step.markdown)
                view.unreadable.show()
                break
            end = len(step.answer) - (self._held if step is steps[-1] else 0)
            if piece := step.answer[view.drawn : min(view.drawn + PIECE_CHARS, end)]:
                view.drawn += len(piece)
                view.blocks.show()
                view.blocks.append(piece)
                break
        if not self.complete:
            self._next_piece.start()

    def _show_error(self, message: str, page: str) -> None:
        if message and self.error is None:
            self.error = NoticeView(message, "error", page)
            self.error.help_requested.connect(self._actions.help_requested)
            retry, edit = self._actions.retry, self._actions.edit
            self.error.add_button(button(tr("Try Again"), "", "bordered", lambda: retry.emit(self.turn)))
            self.error.add_button(button(tr("Edit Message"), "", "bordered", lambda: edit.emit(self.turn)))
            if message == translated(NO_CHAT_TEMPLATE):
                choose = button(tr("Choose a Model…"), tr("Choose a model"), "bordered", self._actions.choose_model.emit)
                self.error.add_button(choose)
            self._layout.insertWidget(self._layout.count() - 1, self.error)
            self.error.show()
        elif self.error is not None and not message:
            self.error.hide()
            self.error.deleteLater()
            self.error = None
