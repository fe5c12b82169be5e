"""The message being written, and its wait until it can be sent."""

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.chat_session import ChatSession
from app.session.context_meter import ContextMeter
from app.session.context_use import use_text
from app.session.drafts import Drafts
from app.session.help_pages import FULL_CONTEXT_PAGE
from app.session.message_passages import MessagePassages
from app.session.notice import Notice, NoticeAction, Notices
from app.session.outgoing import STOPPED, OutgoingMessages
from app.session.pair_session import PairLoader
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.attachments import Attachment, Unread, unread
from app.storage.chat_tree import Turn
from app.text.language import number, sentences, tr
from app.text.plain_text import clean

PAUSE_S = 0.6  # after another app's text has come, so that a key that was meant for that app sends nothing


class NextMessage(QObject):
    """The text in the composer, and the message or reply that waits to start.

    Attributes:
        text: the text of the unsent message, or of the message that is being edited.
        note: what the message or reply waits for, or an empty string.
    """

    changed = Signal()  # `note` or `obstacle`
    replaced = Signal()  # the app has changed the text

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        tools: ToolBox,
        attachments: AttachmentReader,
        meter: ContextMeter,
        reply_runner: ReplyRunner,
        notices: Notices,
        drafts: Drafts,
        outgoing: OutgoingMessages,
        passages: MessagePassages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._passages = passages
        self._session, self._activity, self._loader = session, activity, loader
        self._attachments, self._meter, self._reply_runner, self._notices = attachments, meter, reply_runner, notices
        self._drafts, self._outgoing = drafts, outgoing
        self._shown = drafts.of(session.chat)
        self._at_start = True  # whether no other chat has been opened yet
        self.note = ""
        self._waiting = False  # whether the message is sent as soon as possible
        self._for_loading = False  # whether it waits for a pair that is being loaded
        self._delayed: Callable[[], object] | None = None  # starts a reply when tools and pages are ready
        self._example = ""  # the server that the reply needs besides those of the chat
        self._after: Turn | None = None  # whose reply the message waits for
        self._chat = session.chat  # whose message is shown
        self._paused_until = 0.0  # on the monotonic clock
        meter.changed.connect(self._show_obstacle)
        waited_for = (meter, loader, tools, activity, attachments, passages)
        for signal in (*(one.changed for one in waited_for), loader.loaded, session.pages_changed):
            signal.connect(self._send_waiting)
        loader.missed.connect(self._keep_for_model)
        session.delayed.connect(self._delay)
        session.edit_canceled.connect(self._give_up_edit)
        session.editing_changed.connect(self._edit)
        session.chat_changed.connect(self._change_chat)
        session.opened.connect(self._resume_waiting)
        session.turn_added.connect(self._claim_draft)
        drafts.read.connect(self._show_draft)
        attachments.changed.connect(drafts.save_soon)
        attachments.incomplete.connect(self._stop_waiting)  # the message isn't sent without the file
        attachments.set_files(self._shown.files)
        session.turn_added.connect(self.cancel)
        session.turns_changed.connect(self.put_back)

    # The text

    @property
    def text(self) -> str:
        return self._shown.text

    def write(self, text: str) -> None:
        """Set the text to what the user has typed."""
        if text != self._shown.text:
            self._shown.text = text
            self._drafts.save_soon()
            if self._waiting:
                self.cancel()  # what is half written isn't sent
        self._meter.set_draft(text)

    def replace(self, text: str) -> None:
        """Set the text to something that the user hasn't typed."""
        self.write(text)
        self.replaced.emit()

    def add(self, text: str) -> None:
        """Add a paragraph, unless it is the last one already."""
        if not f"\n\n{self.text}".endswith(f"\n\n{text}"):
            self.replace(f"{self.text}\n\n{text}" if self.text.strip() else text)

    @property
    def is_edit(self) -> bool:
        """Whether an earlier message is being edited."""
        return bool(self._shown.edits)

    @property
    def draft_files(self) -> Sequence[Attachment]:
        """Files of the unsent message, even while an earlier message is being edited."""
        return self._drafts.of(self._session.chat).files

    @property
    def draft(self) -> str:
        """Text of the unsent message, even while an earlier message is being edited."""
        return self._drafts.of(self._session.chat).text

    def show_draft(self, text: str, files: list[Attachment]) -> None:
        """Set the text and the files of the message."""
        self._shown.files = files
        self._attachments.set_files(files)
        self.replace(text)

    @Slot()
    def _show_draft(self) -> None:
        """Show the unsent message of the open chat, or the edit of one of its messages."""
        editing, before = self._session.editing, self._shown
        self._chat = self._session.chat
        edited = editing.asked if editing is not None else None
        self._shown = shown = self._drafts.of(self._session.chat, edited)
        shown.open = edited is not None
        if before is not shown and before.edits:
            before.open = before.chat != shown.chat  # an edit goes on when its chat is opened again
            if before.unchanged:
                self._drafts.discard(before)
        self.show_draft(shown.text, shown.files)

    @Slot(object)
    def _edit(self, turn: Turn | None) -> None:
        """Edit the message of a turn, or return to the unsent one if None."""
        if self._session.chat is not self._chat:
            return  # `chat_changed` follows
        if turn is None and self._waiting and self._shown.edits:
            self._give_up_edit()  # another version hides its message
        if self._shown.edits or self._delayed is not None:
            self.put_back()
        else:
            self.cancel()
        self._show_draft()

    @Slot()
    def _give_up_edit(self) -> None:
        """Discard the edit, or add it to the unsent message if it waits to be sent."""
        waits = self._waiting
        self.put_back()
        self._attachments.leave_out()  # ends the edit's files still being read
        edit, draft = self._shown, self._drafts.of(self._session.chat)
        if waits:
            draft.text = f"{draft.text}\n\n{edit.text}".strip()
            draft.files += [one for one in edit.files if not any(map(one.is_same_file, draft.files))]
        self._drafts.discard(edit)

    @Slot()
    def _change_chat(self) -> None:
        """Show the draft of the chat that was opened."""
        self._leave()
        chat, before, earlier = self._session.chat, self._shown, self._drafts.earlier
        typed = before.text.removeprefix(f"{earlier}\n\n" if earlier else "")
        if self._at_start and not before.chat and typed not in ("", earlier) and self._drafts.of(chat).empty:
            before.text = earlier  # what was typed while the last chat was being read stays in the field
            self._drafts.of(chat).text = typed
            if not earlier:
                self._drafts.of(chat).files, before.files = before.files, []
        self._at_start = False
        self._show_draft()
        if edited := self._drafts.open_edit(chat):
            turns = (turn for turn in chat.turns if turn.asked is not None and turn.asked.id == edited)
            if (turn := next(turns, None)) is not None:
                self._session.edit(turn)

    @Slot()
    def _resume_waiting(self) -> None:
        """Let a message wait here that was waiting when its chat was left."""
        draft = self._outgoing.take(self._session.chat)
        if draft is self._shown:
            self.send()
        elif draft is not None:  # an edit that isn't shown any more
            self.explain_end()

    def _leave(self) -> None:
        """Let the message wait in the chat that is left, if it can."""
        with_summary = self._activity.summarizing  # which is canceled, too
        if self._waiting and not with_summary and self._outgoing.add(self._chat, self._shown, self._after):
            self.cancel()
        self.put_back()

    @Slot()
    def _claim_draft(self) -> None:
        """Keep the text of a new chat that has its first message now."""
        if not self._shown.chat and not self._session.chat.empty:
            self._drafts.claim(self._shown, self._session.chat)

    # Sending

    @property
    def obstacle(self) -> str:
        """Why the message doesn't fit into the context, or an empty string."""
        use = self._meter.use
        return use_text(use) if use is not None and use.misfit is not None and use.draft and not self._meter.counting else ""

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What the loaded pair wouldn't read of the message; empty without a pair."""
        files, drawing = self._attachments.files, bool(self._attachments.drawing)
        return unread(files, self._loader.can_see, drawing) if self._loader.pair is not None else ()

    @property
    def chat_full(self) -> bool:
        """Whether the chat fills the context, whatever the message is."""
        chat, use = self._session.chat, self._meter.use
        full = use is not None and use.chat_full
        return full and not chat.empty and not chat.settings.rolling and self._activity.refusal_here is None

    def pause(self) -> None:
        """Ignore the user's next attempts to send, which may be meant for another app."""
        self._paused_until = monotonic() + PAUSE_S

    @Slot()
    def submit(self) -> None:
        """Send the message for the user."""
        if monotonic() >= self._paused_until:
            self.send()

    @Slot()
    def send(self) -> None:
        """Send the message, or wait for what it needs."""
        has_message = bool(self.text.strip() or self._attachments.files)
        if self._delayed is not None:
            if not has_message:
                return  # the note says what the reply waits for
            self.put_back()
        run = self._reply_runner.of(self._session.chat.id)
        note = self._what_to_wait_for() if has_message else ""
        self._wait(note, after=run.turn if run is not None else None)
        if note:
            return
        if self.obstacle:
            if not self.chat_full:  # otherwise, the window offers ways to continue
                self._explain_obstacle()
            return
        if has_message and not self._activity.can_start(self.send):
            return  # first, so that consent sends what the composer has then
        sent = self._shown
        if self._session.send(sent.text, self._passages.added_to(self._session.chat, clean(sent.text).strip(), sent.files)):
            self._drafts.discard(sent)
            self._drafts.save()  # right after the message, which is in the database now
            self._show_draft()

    def _what_to_wait_for(self) -> str:
        """Return a note on what the message waits for, or an empty string."""
        activity, run = self._activity, self._reply_runner.of(self._session.chat.id)
        if run is not None and run.waiting:
            return tr("The message will be sent when the reply has ended. A tool call needs your approval.")
        if run is not None:
            return tr("The message will be sent when the reply has ended.")
        if activity.comparing:
            return tr("The message will be sent when the comparison has ended.")
        if activity.summarizing:
            return tr("The message will be sent when the summary has been written.")
        if self._attachments.busy:
            return tr("The message will be sent when its files have been read.")
        if self._loader.running:
            return tr("The message will be sent when the models have loaded.")
        if self._session.tools_starting():
            return tr("The message will be sent when the tools are ready.")
        if self._session.drawing_pages:
            return tr("The message will be sent when the chat's PDF pages have been read.")
        if self._passages.searching(self._session.chat, clean(self.text).strip()):
            return tr("The message will be sent when the documents have been searched.")
        if self._meter.may_exceed:
            self._meter.count_now()
            return tr("Counting tokens before sending…") if self._meter.counting else ""
        return ""

    def _what_delays(self) -> str:
        """Return a note on what a delayed reply waits for, or an empty string."""
        if self._activity.replying_here:
            return tr("The reply will start when the other one has ended.")
        if self._activity.comparing:
            return tr("The reply will start when the comparison has ended.")
        if self._activity.summarizing:
            return tr("The reply will start when the summary has been written.")
        if self._loader.running:
            return tr("The reply will start when the models have loaded.")
        if self._session.tools_starting(self._example):
            return tr("The reply will start when the tools are ready.")
        if self._session.drawing_pages:
            return tr("The reply will start when the chat's PDF pages have been read.")
        return ""

    @Slot()
    def cancel(self) -> None:
        """Stop waiting, and keep the message."""
        self._wait("")

    @Slot()
    def _stop_waiting(self) -> None:
        """Keep the message, but let a reply wait."""
        if self._waiting:
            self.cancel()

    @Slot()
    def put_back(self) -> None:
        """Stop waiting, and tell the user what isn't sent or doesn't start."""
        if self._waiting:
            self.explain_end()
        elif self._delayed is not None:
            text = tr("The reply in “{title}” didn't start. Try again there.", title=self._chat.title)
            self._notices.post(Notice(text, topic="waiting", stays=True))
        self.cancel()

    def end(self) -> None:
        """Send nothing that waits, in any chat, because the app quits."""
        self.cancel()
        self._outgoing.end()

    def explain_end(self) -> None:
        """Tell the user that the message doesn't wait any more."""
        text = tr("Your message is no longer waiting to be sent. It is a draft in its chat.")
        self._notices.post(Notice(text, topic="waiting", stays=True))

    @Slot()
    def _keep_for_model(self) -> None:
        """Keep a message that was for a pair which couldn't be loaded from another one."""
        if self._waiting and self._loader.pair is not None:
            if not self._for_loading:
                return  # it waits for something else, and its pair is still in use
            text = tr("Your message wasn't sent, because the model it was for isn't available.")
            self._notices.post(Notice(text, topic="waiting", stays=True))
        self._stop_waiting()

    @Slot(object, str)
    def _delay(self, start: Callable[[], object], example: str) -> None:
        self._example = example
        self._wait(self._what_delays(), start)

    def _wait(self, note: str, delayed: Callable[[], object] | None = None, after: Turn | None = None) -> None:
        waited, self._waiting = self._waiting, bool(note) and delayed is None
        self._delayed, self._after = delayed, after
        self._shown.waits = self._waiting
        if self._waiting and self._at_start:
            self._session.stay()  # the last chat, which is still being read, wouldn't be the one of the message
            self._at_start = False
        self.note = note
        if self._waiting and not waited:
            self._for_loading = self._loader.running
            self._drafts.save()  # for the user, the message is sent, so not even a crash may lose it
        self.changed.emit()

    @Slot()
    def _send_waiting(self) -> None:
        loader = self._loader
        if self._session.chat is not self._chat:
            return  # `chat_changed` follows
        if self._after is not None and self._after.reply.reason in STOPPED:
            self.cancel()  # the user may want to change it
        elif self._waiting and loader.pair is None and not loader.running:
            self.cancel()  # loading failed
        elif self._waiting:
            self.send()
        elif self._delayed is not None and (note := self._what_delays()):
            self._wait(note, self._delayed)
        elif self._delayed is not None:
            start = self._delayed
            self._wait("")
            start()

    @Slot()
    def _show_obstacle(self) -> None:
        self.changed.emit()
        if not self.obstacle:
            self._notices.clear("fits")

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
        text = sentences(self.obstacle, advice.get(misfit.part, tr("Shorten the message.")))
        attachments, file = self._attachments, misfit.file
        actions: tuple[NoticeAction, ...] = ()
        if file is not None and attachments.current(file) is not None:
            actions = (NoticeAction(tr("Remove File"), partial(attachments.remove, file)),)
            if count := misfit.pages_fit:
                title = tr("Send Page 1 Only") if count == 1 else tr("Send Pages 1 to {count}", count=number(count))
                first = file.first_pages(count).page_list
                actions = (NoticeAction(title, partial(attachments.set_pages, file, first)), *actions)
        self._notices.post(Notice(text, "error", until="fits", topic="fits", actions=actions, help=FULL_CONTEXT_PAGE))
