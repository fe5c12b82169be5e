"""Screen reader announcements of finished replies and notices."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.session.chat_session import ChatSession
from app.session.notice import Notices
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.storage import wording
from app.storage.chat_tree import Turn
from app.text.language import sentences, tr
from app.views.transcript.call_card import preview, server_name, tool_name
from app.views.transcript.unreadable_call import unreadable_call_title
from app.widgets.controls import announce

MAX_LENGTH = 600  # characters announced of a reply


class Announcer(QObject):
    """An announcer that passes texts to `say`, by default the system's screen reader."""

    def __init__(
        self,
        session: ChatSession,
        reply_runner: ReplyRunner,
        notices: Notices,
        window: QObject,
        say: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(window)
        self._say = say or partial(announce, window)
        self._session = session
        reply_runner.ended.connect(self._announce_reply)
        reply_runner.asked.connect(self._announce_calls)
        notices.posted.connect(lambda notice: self._say(notice.text))

    @Slot(object)
    def _announce_reply(self, run: ReplyRun) -> None:
        self._say_of(run, sentence(run.turn))

    def _say_of(self, run: ReplyRun, text: str) -> None:
        """Announce something about a reply, with its chat if another one is open."""
        elsewhere = run.chat.id != self._session.chat.id
        self._say(tr("In “{title}”: {said}", title=run.chat.title, said=text) if elsewhere else text)

    @Slot(object)
    def _announce_calls(self, run: ReplyRun) -> None:
        for record in run.turn.reply.calls:
            if record.state == "waiting":
                server, tool = server_name(record), tool_name(record)
                arguments = preview(record.call.arguments, MAX_LENGTH)
                if server == tool:
                    text = tr("{tool} needs approval: {arguments}", tool=tool, arguments=arguments)
                else:
                    text = tr("{server} wants to run “{tool}”: {arguments}", server=server, tool=tool, arguments=arguments)
                self._say_of(run, text)


def sentence(turn: Turn) -> str:
    """Return the announcement for a finished reply."""
    reply = turn.reply
    if reply.error:
        return tr("The reply failed. {error}", error=reply.error)
    spoken = (sentences(unreadable_call_title()) if step.unreadable else step.answer for step in reply.shown_steps)
    text = " ".join(" ".join(spoken).split())
    if len(text) > MAX_LENGTH:
        text = text[:MAX_LENGTH].rsplit(" ", 1)[0] + " …"
    ending = wording.ending(reply)
    finished = tr("Reply ended: {ending}", ending=ending) if ending else tr("Reply finished")
    return sentences(finished, text) if text else finished
