"""The user's consent to send earlier messages of chats to other computers."""

from collections.abc import Callable

from app.session.notice import Notice, NoticeAction
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.storage.chat_tree import Chat
from app.text.language import sentences, tr
from mlx_engine.remote.endpoint import open_host


class SendConsent:
    """The chats whose earlier messages may go to a server on another computer.

    A reply of that server in the chat is consent. Until there is one, the user's answer is kept in memory.
    """

    def __init__(self, loader: PairLoader, reply_runner: ReplyRunner) -> None:
        self._loader = loader
        self._given: set[tuple[str, str]] = set()  # IDs of chats, and hosts
        reply_runner.started.connect(self._record)

    def _record(self, run: ReplyRun) -> None:
        """Record which server a reply comes from."""
        run.turn.reply.sent_to = self._loader.sent_away_to or run.turn.reply.sent_to

    def refusal(self, chat: Chat, again: Callable[[], object] | None = None) -> Notice | None:
        """Return a question if a chat needs consent, or None.

        Args:
            chat: the chat to send.
            again: called when the user consents. Without it, the notice only states the reason.
        """
        host, saved = self._loader.sent_away_to, self._loader.connected_to
        if not host or saved is None or (chat.id, host) in self._given or not _is_new_to(host, chat):
            return None
        if again is None:
            return Notice(tr("This chat hasn't been sent to {host} yet.", host=host), until="consent")

        def send() -> None:
            self._given.add((chat.id, host))
            again()

        question = tr("Send its earlier messages to {host}?", host=host)
        if open_host(saved.endpoint):
            question = tr("Send its earlier messages to {host} (not encrypted)?", host=host)
        elsewhere = any(node.reply is not None and (node.reply.sent_to or node.reply.origin) for node in chat.root.below())
        first = tr("This chat is new to the server.") if elsewhere else tr("This chat was written on this computer.")
        actions = NoticeAction(tr("Send"), send), NoticeAction(tr("Cancel"), lambda: None)
        return Notice(sentences(first, question), until="consent", topic="consent", actions=actions)


def _is_new_to(host: str, chat: Chat) -> bool:
    """Return whether a chat has messages from elsewhere, and no reply of a host."""
    replies = [node.reply for node in chat.root.below() if node.reply is not None or not node.children]
    answered = any(reply is not None and reply.sent_to == host and not reply.empty for reply in replies)
    return not answered and any(reply is None or reply.sent_to != host for reply in replies)
