"""The area below the chat: notes, the composer, and the context meter."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QWidget

from app.rendering.text_marks import SourceLegend
from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.context_meter import ContextMeter
from app.session.context_use import ContextUse, Misfit
from app.session.notice import Notice, NoticeAction
from app.session.reply_runner import ReplyRunner
from app.session.services import Services
from app.storage.attachments import shortened
from app.storage.chat_tree import Turn
from app.storage.wording import about_tokens, number, percent
from app.text.language import sentences, tr
from app.views.chat.composer import Composer
from app.views.chat.full_context import FullContextBar, SummaryRunner
from app.views.chat.notice_bar import NoticeBar
from app.views.tools.tools_button import ToolsButton, ToolTokens
from app.widgets.controls import ThinBar, announce, button, small_label
from app.widgets.layout import column, row
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import COLUMN, MARGIN, Theme, set_look

NARROW = 620  # width in pixels below which legend and meter are stacked
MAX_TITLE = 40  # characters
FILLING = 100_000  # stretch factor; the rest is less than a pixel


class Foot(QWidget):
    """The area below the chat, as wide as the chat's column."""

    def __init__(self, theme: Theme, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        session, activity, loader, library = services.session, services.activity, services.loader, services.library
        tools, attachments, notices = services.tools, services.attachments, services.notices
        tokens = ToolTokens(session, activity, loader, tools, services.engine, self)
        self.tools = ToolsButton(theme, session, loader, tools, tokens)
        self.composer = Composer(theme, attachments, self.tools)
        self._meter = ContextMeter(services.engine, session, activity, loader, tools, attachments, services.reply_runner, self)
        self.context = ContextView(theme, self._meter)
        self._session, self._activity, self._loader = session, activity, loader
        self._attachments, self._notices, self._reply_runner = attachments, notices, services.reply_runner
        self._waiting = False  # whether the message is sent as soon as possible
        self._delayed: Callable[[], object] | None = None  # starts a reply when the tools are ready
        self._example = ""  # the server that the reply needs besides those of the chat
        self._after: Turn | None = None  # whose reply the message waits for
        self.elsewhere = ElsewhereBar(theme, session, activity, library, services.reply_runner)
        self.waiting = FootBar(theme, tr("Cancel"), tr("Don't send the message"))
        self.waiting.button.clicked.connect(self.cancel_sending)
        self.legend = SourceLegend(theme)
        self.goes_to = small_label(theme, look="faint", elided=True)
        self.notes = row((self.legend, 1), (self.goes_to, 1), spacing=0, margins=(0, 0, 0, 0))
        self.notes.addWidget(self.context, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        inner = QWidget()
        inner.setMaximumWidth(COLUMN)
        self.importing = ImportBar(theme, library)
        self.unsaved = UnsavedBar(theme, session, library)
        self.notices = NoticeBar(theme)
        self.full = FullContextBar(
            theme,
            SummaryRunner(session, activity, services.engine, notices, self),
            session,
            activity,
            loader,
            self._meter,
            self.composer,
        )
        column(
            self.notices,
            self.importing,
            self.unsaved,
            self.elsewhere,
            self.full,
            self.waiting,
            self.composer,
            self.notes,
            spacing=5,
            parent=inner,
        )
        row(None, (inner, FILLING), None, spacing=0, margins=(MARGIN, 4, MARGIN + SCROLL_BAR, 8), parent=self)
        self.composer.field.textChanged.connect(self._set_draft)
        self.composer.send_requested.connect(self.send)
        self._meter.changed.connect(self._show_obstacle)
        for signal in (
            self._meter.changed,
            loader.changed,
            loader.loaded,
            tools.changed,
            activity.changed,
        ):
            signal.connect(self._send_waiting)
        notices.posted.connect(self.notices.add)
        attachments.changed.connect(self._clear_reading)
        session.delayed.connect(self._delay)
        session.turn_added.connect(self._clear_notices)
        session.chat_changed.connect(partial(self.notices.clear, "chat"))
        for signal in (loader.changed, loader.loaded, session.chat_changed, session.settings_changed):
            signal.connect(self._show_destination)
        self._show_destination()
        for signal in (session.chat_changed, session.turn_added, session.turns_changed, session.editing_changed):
            signal.connect(self.cancel_sending)

    @property
    def _obstacle(self) -> str:
        """Why the message doesn't fit into the context, or an empty string."""
        use = self._meter.use
        return sentence(use) if use is not None and use.misfit is not None and use.draft and not self._meter.counting else ""

    @Slot()
    def send(self) -> None:
        """Send the message, or wait for the chat's reply, the models, or the token count."""
        activity, composer, loader = self._activity, self.composer, self._loader
        has_message = bool(composer.text.strip() or self._attachments.files)
        if self._delayed is not None and not has_message:
            return  # the bar says what the reply waits for
        note, after = "", None
        if has_message and activity.replying_here and not self._attachments.reading:
            after = self._reply_runner.turn
            note = tr("The message will be sent when the reply has ended.")
            if self._reply_runner.waiting:
                note = tr("The message will be sent when the reply has ended. A tool call needs your approval.")
        elif has_message and not activity.busy and not self._attachments.reading:
            if loader.running and (loader.pair is None or loader.connecting_to is not None):
                note = tr("The message will be sent when the models have loaded.")
            elif self._session.tools_starting():
                note = tr("The message will be sent when the tools are ready.")
            elif self._meter.may_exceed:
                self._meter.count_now()
                note = tr("Counting tokens before sending…") if self._meter.counting else ""
        self._wait(note, after=after)
        if note:
            return
        if self._obstacle:
            if self.full.isHidden():  # otherwise, the bar explains it
                self._explain_obstacle()
            return
        editing = self._session.editing is not None  # the draft returns after an edit
        if self._session.send(composer.text, self._attachments.files) and not editing:
            composer.clear()

    def _explain_obstacle(self) -> None:
        misfit = self._meter.use.misfit if self._meter.use is not None else None
        if misfit is None:
            return
        advice = {
            "file": tr("Remove it, or attach part of it."),
            "tools": tr("Turn some tools off."),
            "system": tr("Shorten the system prompt."),
            "chat": tr("Start a new chat, or edit an earlier message."),
        }
        text = sentences(self._obstacle, advice.get(misfit.part, tr("Shorten the message.")))
        attachments, file = self._attachments, misfit.file
        actions: tuple[NoticeAction, ...] = ()
        if file is not None and file in attachments.files:
            actions = (NoticeAction(tr("Remove {name}", name=shortened(file.name)), partial(attachments.remove, file)),)
        self._notices.post(Notice(text, "error", until="fits", topic="fits", actions=actions))

    @Slot()
    def _clear_notices(self) -> None:
        self.notices.clear()

    @Slot()
    def _clear_reading(self) -> None:
        if not self._attachments.reading:
            self.notices.clear("read")

    @Slot()
    def cancel_sending(self) -> None:
        """Stop waiting, and keep the message in the composer."""
        self._wait("")

    @Slot(object, str)
    def _delay(self, start: Callable[[], object], example: str) -> None:
        self._wait(tr("The reply will start when the tools are ready."), start)
        self._example = example

    def _wait(self, note: str, delayed: Callable[[], object] | None = None, after: Turn | None = None) -> None:
        self._waiting, self._delayed, self._after = bool(note) and delayed is None, delayed, after
        self.composer.set_locked(self._waiting and after is None)  # an edited message waits for Return again
        self.waiting.show_text(note)

    @Slot()
    def _send_waiting(self) -> None:
        loader = self._loader
        if self._after is not None and self._after.reply.reason in ("cancelled", "interrupted", "error"):
            self.cancel_sending()  # the user may want to change it
        elif self._waiting and loader.pair is None and not loader.running:
            self.cancel_sending()  # loading failed
        elif self._waiting:
            self.send()
        elif self._delayed is not None and not self._session.tools_starting(self._example):
            start = self._delayed
            self._wait("")
            start()

    @Slot()
    def _show_obstacle(self) -> None:
        obstacle = self._obstacle
        self.composer.set_obstacle(obstacle)
        if not obstacle:
            self.notices.clear("fits")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        self.notes.setDirection(directions.TopToBottom if self.width() < NARROW else directions.LeftToRight)

    @Slot()
    def _show_destination(self) -> None:
        host = self._loader.sent_to
        stays = tr("This private chat isn't sent to {host}", host=host)
        self.goes_to.setText(stays if self._activity.why_private else tr("Messages go to {host}", host=host) if host else "")
        self.goes_to.setVisible(bool(host))

    @Slot()
    def _set_draft(self) -> None:
        self._meter.set_draft(self.composer.text)
        if self._after is not None:
            self.cancel_sending()


class ContextView(QWidget):
    """A short bar and a token count, which stand out more as the context fills."""

    def __init__(self, theme: Theme, meter: ContextMeter) -> None:
        super().__init__()
        self._meter = meter
        self._bar = ThinBar(theme, tr("Context"))
        self.label = small_label(theme, elided=True)
        self.label.setAccessibleName(tr("Context"))
        self.setToolTip(tr("Replies stop when the chat fills the context"))
        row(self._bar, self.label, parent=self)
        meter.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        counting = self._meter.counting
        use = None if counting else self._meter.use
        full = use is not None and use.full
        self._bar.color = "danger" if full else "accent"
        self._bar.show_fraction(use.share if use is not None else None)
        self._bar.update()
        self._bar.setVisible(use is not None or counting)
        text = tr("Counting tokens…") if counting else sentence(use) if use is not None else " "
        if use is not None and use.misfit is not None and text != self.label.text():
            announce(self, text)
        self.label.setText(text)
        set_look(self.label, "danger" if full else "secondary" if use is not None and use.nearly_full else "faint")


def sentence(use: ContextUse) -> str:
    """Return the use of the context in words, or what doesn't fit."""
    about = "" if use.exact else "~"
    limit = number(use.limit)
    if use.misfit is not None and not use.chat_full:
        return misfit_text(use.misfit)
    if use.full:
        return tr("This chat is full ({limit} tokens)", limit=limit)
    if use.left == 1:
        return tr("{about}1 token left", about=about)
    left, used = number(use.left), number(use.used)
    if use.nearly_full:
        return tr("{about}{left} tokens left", about=about, left=left)
    return tr("{about}{used} of {limit} tokens used · {left} left", about=about, used=used, limit=limit, left=left)


def misfit_text(misfit: Misfit) -> str:
    tokens, left = about_tokens(misfit.tokens, misfit.exact), number(misfit.left)
    match misfit.part:
        case "file" if misfit.file is not None:
            return tr("{name} doesn't fit: {tokens}, {left} left", name=shortened(misfit.file.name), tokens=tokens, left=left)
        case "text":
            return tr("The text doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)
        case "tools":
            return tr("The tools don't fit: {tokens}, {left} left", tokens=tokens, left=left)
        case "system":
            return tr("The system prompt doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)
    return tr("The message with its files doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)


class FootBar(QFrame):
    """A note with a button above the composer, hidden while it has no text."""

    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        set_look(self, "notice")
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.button = button(title, name, "bordered")
        row((self.label, 1), self.button, margins=(16, 6, 8, 6), parent=self)
        self.hide()  # without a parent, it would be a window

    def show_text(self, text: str) -> None:
        self.label.setText(text)
        self.setVisible(bool(text))


class ElsewhereBar(FootBar):
    """A note that another chat's reply is being generated."""

    def __init__(
        self, theme: Theme, session: ChatSession, activity: SessionActivity, library: ChatLibrary, reply_runner: ReplyRunner
    ) -> None:
        super().__init__(theme, tr("Open Chat"), tr("Open the chat that is generating a reply"))
        self._session, self._activity, self._reply_runner = session, activity, reply_runner
        self.button.clicked.connect(self._open)
        for signal in (activity.changed, session.chat_changed, library.changed):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        title = self._activity.replying_elsewhere
        shown = title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
        if title and self._reply_runner.waiting:
            self.show_text(tr("“{title}” needs your approval for a tool call.", title=shown))
        else:
            self.show_text(tr("A reply is being generated in “{title}”.", title=shown) if title else "")

    @Slot()
    def _open(self) -> None:
        if (chat := self._reply_runner.chat) is not None:
            self._session.open_chat(chat.id)


class ImportBar(FootBar):
    """A note that chats are being imported, which can take a minute."""

    def __init__(self, theme: Theme, library: ChatLibrary) -> None:
        super().__init__(theme, tr("Cancel"), tr("Cancel the import"))
        self._library = library
        self.button.clicked.connect(self._library.cancel_imports)
        self._library.import_changed.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        run = self._library.importing
        self.show_text(tr("Importing “{name}”: {share}", name=shortened(run.name), share=percent(run.share)) if run else "")


class UnsavedBar(FootBar):
    """A note that the open chat's latest changes aren't saved."""

    def __init__(self, theme: Theme, session: ChatSession, library: ChatLibrary) -> None:
        super().__init__(theme, tr("Export…"), tr("Save a copy of this chat to another location"))
        self._session, self._library = session, library
        for signal in (library.unsaved_changed, session.chat_changed):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        library = self._library
        if self._session.chat.id not in library.unsaved:
            self.show_text("")
        elif library.refusal:
            self.show_text(tr("The latest changes in this chat can't be saved: {reason}.", reason=library.refusal))
        else:
            self.show_text(tr("The latest changes in this chat aren't saved."))
