"""The area below the chat: notes, the composer, and the context meter."""

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.rendering.text_marks import SourceLegend
from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.context_meter import ContextMeter
from app.session.context_use import parts_text, use_text
from app.session.services import Services
from app.storage.attachments import shortened
from app.storage.wording import percent
from app.text.language import tr
from app.views.chat.composer import Composer
from app.views.chat.foot_bar import FootBar
from app.views.chat.full_context import FullContextBar
from app.views.chat.notice_bar import NoticeBar
from app.views.chat.quiet_note import QuietNote
from app.views.chat.thinking_button import ThinkingButton
from app.views.chat.unread_bar import UnreadBar
from app.views.tools.tool_chips import ToolChips
from app.views.tools.tools_button import ToolsButton
from app.widgets.controls import ThinBar, announce, as_tooltip, button, small_label
from app.widgets.layout import column, row
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import COLUMN, MARGIN, Theme, set_look
from mlx_engine.remote.endpoint import other_computers

NARROW = 620  # width in pixels below which legend and meter are stacked
GAP = 8  # between notes
NAMED = 480  # width in pixels at the default text size from which the composer shows the name of Thinking
MAX_TITLE = 40  # characters
BAR_WIDTH, LEAST_BAR = 160, 60  # maximum and minimum, in pixels
SHOWN_FROM = 0.5  # of the context in use
FILLING = 100_000  # stretch factor; the rest is less than a pixel


class Foot(QWidget):
    """The area below the chat, as wide as the chat's column."""

    def __init__(self, theme: Theme, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        session, activity, loader, library = services.session, services.activity, services.loader, services.library
        self.tools = ToolsButton(theme, session, loader, services.tools, services.tool_tokens, services.passages)
        self._message, self._notices = services.message, services.notices
        self.tool_chips = ToolChips(theme, self.tools)
        self.thinking = ThinkingButton(theme, session, loader, services.commands)
        controls = (self.tools, self.thinking)
        self.composer = Composer(theme, services.message, services.attachments, controls, services.pages, self.tool_chips)
        self.context = ContextView(theme, services.meter)
        self._activity, self._loader = activity, loader
        self.elsewhere = ElsewhereBar(theme, session, activity, library)
        self.waiting = FootBar(theme, tr("Cancel"), tr("Don't send the message"))
        set_look(self.waiting, "waiting")
        self.waiting.button.clicked.connect(services.message.cancel)
        services.message.changed.connect(self._show_wait)
        self.legend = SourceLegend(theme)
        self.goes_to = small_label(theme, look="faint", elided=True)
        self.quiet = QuietNote(theme, services.quiet_mode, services.preferences, loader)
        self.notes = row((self.legend, 1), (self.goes_to, 1), (self.quiet, 1), spacing=0, margins=(0, 0, 0, 0))
        self.compact = button(tr("Compact"), tr("Summarize older messages to make room"), "quiet", services.compactor.start)
        use = row(self.compact, self.context)
        self.notes.addLayout(use)
        self.notes.setAlignment(use, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        inner = QWidget()
        inner.setMaximumWidth(COLUMN)
        self.importing = ImportBar(theme, library)
        self.unsaved = UnsavedBar(theme, session, library)
        self.notices = NoticeBar(theme, services.notices)
        self.full = FullContextBar(theme, services)
        self.unread = UnreadBar(theme, services)
        column(
            self.notices,
            self.importing,
            self.unsaved,
            self.elsewhere,
            self.full,
            self.unread,
            self.waiting,
            self.composer,
            self.notes,
            spacing=5,
            parent=inner,
        )
        left = MARGIN + SCROLL_BAR // 2  # as the transcript's, whose scroll bar is on the right
        row(None, (inner, FILLING), None, spacing=0, margins=(left, 4, 2 * MARGIN + SCROLL_BAR - left, 8), parent=self)
        self._meter, self._compactor = services.meter, services.compactor
        for signal in (services.notices.changed, services.message.changed, services.compactor.changed):
            signal.connect(self._show_explained)
        for signal in (services.meter.changed, services.compactor.changed, session.cut_changed):
            signal.connect(self._show_compact)
        self._show_compact()
        for signal in (loader.changed, loader.loaded, session.chat_changed, session.settings_changed):
            signal.connect(self._show_destination)
        self._show_destination()

    @Slot()
    def _show_wait(self) -> None:
        self.waiting.show_text(self._message.note)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange_notes()
        return super().event(event)

    @Slot()
    def _arrange_notes(self) -> None:
        """Stack the notes if their whole texts don't fit next to each other."""
        notes = [one for one in (self.legend, self.goes_to, self.quiet, self.compact, self.context) if not one.isHidden()]
        needed = sum(one.sizeHint().width() + GAP for one in notes)
        directions = QBoxLayout.Direction
        is_narrow = self.width() < NARROW or needed > self.composer.width()
        self.context.set_room(self.composer.width() - (self.compact.sizeHint().width() + GAP) * self.compact.isVisible())
        self.notes.setDirection(directions.TopToBottom if is_narrow else directions.LeftToRight)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange_notes()
        self.thinking.show_name(self.width() >= self._theme.scaled(NAMED))

    @Slot()
    def _show_compact(self) -> None:
        """Offer Compact once the context is nearly full. When it is full, a bar does."""
        use = self._meter.use
        wanted = use is not None and use.nearly_full and not self._message.chat_full
        self.compact.setVisible(wanted and self._compactor.can_compact)

    @Slot()
    def _show_explained(self) -> None:
        """Let the meter not repeat what the notice or the bar says."""
        noticed = any(one.until == "fits" for one in self._notices.valid)
        self.context.set_explained(noticed or self._message.chat_full)

    @Slot()
    def _show_destination(self) -> None:
        host = self._loader.sent_to
        stays = tr("This private chat isn't sent to {host}", host=host)
        away = tr("Messages go to {host}", host=host)
        here = tr("Messages go to a server on this computer ({host})", host=host)
        server = self._loader.connecting_to or self._loader.connected_to
        is_here = server is not None and not other_computers(server.endpoint)  # its plain replies may come from elsewhere
        self.goes_to.setText(stays if self._activity.why_private else here if is_here else away)
        self.goes_to.setVisible(bool(host))


class ContextView(QWidget):
    """A short bar and a token count of the next prompt.

    They are shown once the context is half full, or if messages are left out. They stand out more as it fills.
    """

    def __init__(self, theme: Theme, meter: ContextMeter) -> None:
        super().__init__()
        self._meter = meter
        self._explained = False
        self._bar = ThinBar(theme, tr("Context"))
        self._bar.setMaximumWidth(BAR_WIDTH)
        self._bar.setMinimumWidth(LEAST_BAR)
        self.label = small_label(theme, elided=True)
        self.label.setAccessibleName(tr("Context"))
        row(self._bar, self.label, parent=self)
        meter.changed.connect(self.refresh)
        self.refresh()

    def set_explained(self, explained: bool) -> None:
        """Hide the tokens of a full context, because a notice explains it."""
        if explained != self._explained:
            self._explained = explained
            self.refresh()

    def set_room(self, width: int) -> None:
        """Show the bar only if the text needs less than a width in pixels."""
        self._bar.setVisible(width >= self.label.sizeHint().width() + GAP + LEAST_BAR)

    @Slot()
    def refresh(self) -> None:
        use = self._meter.use  # the last one while the prompt is counted again
        full = use is not None and use.full
        self.setVisible(use is not None and (use.share >= SHOWN_FROM or use.left_out > 0) and not (full and self._explained))
        is_low = use is not None and use.low
        self._bar.color = "danger" if full else "nearly" if is_low else "accent"
        self._bar.show_fraction(use.share if use is not None else None)
        self._bar.update()
        text = use_text(use) if use is not None else " "
        if use is not None and use.misfit is not None and text != self.label.text():
            announce(self, text)
        self.label.setText(text)
        stops = tr("Replies stop when the chat fills the context")
        why = tr("The oldest messages are left out when the chat fills the context") if self._meter.rolling else stops
        self.setToolTip(as_tooltip("\n\n".join(filter(None, (parts_text(use) if use is not None else "", why)))))
        stands_out = use is not None and use.left_out > 0
        warned = "caution" if is_low else "secondary" if stands_out else "faint"
        set_look(self.label, "danger" if full else warned)


class ElsewhereBar(FootBar):
    """A note that a tool call in another chat needs approval."""

    def __init__(self, theme: Theme, session: ChatSession, activity: SessionActivity, library: ChatLibrary) -> None:
        super().__init__(theme, tr("Open Chat"), tr("Open the chat that needs your approval"))
        self._session, self._activity = session, activity
        self.button.clicked.connect(self._open)
        for signal in (activity.changed, session.chat_changed, library.changed):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        title = next((chat.title for chat in self._activity.asking_elsewhere), "")
        shown = title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
        self.show_text(tr("“{title}” needs your approval for a tool call.", title=shown) if title else "")

    @Slot()
    def _open(self) -> None:
        for chat in self._activity.asking_elsewhere[:1]:
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
        set_look(self, "warning")
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
