"""Chats as trees of messages, with the shown branch and its requests."""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from app.storage.attachments import Attachment, message_of
from app.storage.reply import Reply
from app.storage.settings import ChatSettings
from app.text.plain_text import NEW_CHAT, title_from
from mlx_engine.contract.requests import GenerationRequest, Message, Mode, Sampling, ToolSpec
from mlx_engine.mcp.record import messages_of

KEPT_TURNS = 2  # latest turns that a summary doesn't replace, at most
SUMMARY_QUESTION = "Summarize our conversation so far."  # of a model
SUMMARY_MESSAGES = 2  # that stand for a summary: this question, and the summary as its answer

NodeRole = Literal["root", "user", "assistant"]


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(eq=False, repr=False)  # parent and child links would make `repr` endless
class Node:
    """A message of the user or the model, or the root of a chat."""

    role: NodeRole
    parent: "Node | None" = None
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    reply: Reply | None = None
    request: GenerationRequest = field(default_factory=GenerationRequest)  # its messages are only the system prompt
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    children: list["Node"] = field(default_factory=list)  # versions of the next message, oldest first
    chosen: "Node | None" = None  # the child that is shown
    summary: str = ""  # what later prompts have in place of the messages up to this one; empty sends them
    _made: tuple[str, tuple[Attachment, ...], Message] | None = None  # the last `message`, and what it was made of

    @property
    def message(self) -> Message:
        """A user's message with its files, for a model that sees images."""
        made = self._made  # a document's text is long, and needed after each pause in typing
        if made is None or made[0] is not self.text or made[1] is not self.attachments:
            made = self._made = self.text, self.attachments, message_of(self.text, self.attachments, can_see=True)
        return made[2]

    @property
    def own_files(self) -> tuple[Attachment, ...]:
        """The files that the user attached, without passages that were added."""
        return tuple(one for one in self.attachments if not one.passages)

    def add(self, child: "Node", show: bool = True) -> "Node":
        """Add a version of the next message. Show it if `show` or if it is the only one."""
        child.parent = self
        self.children.append(child)
        if show or self.chosen is None:
            self.chosen = child
        return child

    def drop(self, child: "Node") -> None:
        """Remove a version. If it was shown, show the previous one."""
        index = self.children.index(child)
        self.children.remove(child)
        if self.chosen is child:
            self.chosen = self.children[max(0, index - 1)] if self.children else None

    @property
    def place(self) -> tuple[int, int]:
        """This version's number, starting at 1, and the number of versions."""
        versions = self.parent.children if self.parent else [self]
        return versions.index(self) + 1, len(versions)

    def path(self) -> "list[Node]":
        """Return the messages from the first to this one."""
        found: list[Node] = []
        node: Node | None = self
        while node is not None and node.role != "root":
            found.append(node)
            node = node.parent
        return found[::-1]

    @property
    def is_after_summary(self) -> bool:
        """Whether a summary replaces earlier messages in this one's prompt."""
        return _since_summary(self)[0] not in (None, self)

    def below(self) -> "Iterator[Node]":
        """Yield all messages below this one, parents first, versions in order."""
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(eq=False)
class Turn:
    """A prompt and its reply, as shown. Imported chats may lack either node."""

    asked: Node | None
    answered: Node | None
    reply: Reply

    @property
    def prompt(self) -> str:
        return self.asked.text if self.asked else ""

    @property
    def question(self) -> tuple[Message, ...]:
        """The prompt with its files, for a model that sees images."""
        return (self.asked.message,) if self.asked is not None else ()

    @property
    def can_compare(self) -> bool:
        """Whether Compare can repeat the turn: it has ended and isn't imported."""
        return self.asked is not None and self.reply.reason not in (None, "unanswered") and not self.reply.origin

    @property
    def request(self) -> GenerationRequest:
        """The complete request with all earlier messages and images; see `shown_to`."""
        request = self.answered.request if self.answered else GenerationRequest()
        return asking(request, messages_to(self.asked.parent), self.asked.message) if self.asked is not None else request

    @property
    def last(self) -> Node:
        """The node to which the next question is added."""
        node = self.answered or self.asked
        assert node is not None
        return node


@dataclass(frozen=True)
class Cut:
    """The place in a chat above which the model reads nothing.

    Attributes:
        first: the first turn below; None if all turns are above.
        summary: the message whose summary replaces what is above, or None.
    """

    first: Turn | None
    summary: Node | None = None


@dataclass(eq=False)
class Chat:
    """A message tree, title, and settings.

    Attributes:
        changed: the time of the last question.
        project: the ID of the project of a new chat. The library knows those of stored chats.
    """

    title: str = NEW_CHAT
    settings: ChatSettings = field(default_factory=ChatSettings)
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    changed: float = field(default_factory=time.time)
    root: Node = field(default_factory=lambda: Node("root"))
    project: str = ""
    _turns: dict[tuple[str, str], Turn] = field(default_factory=dict)

    @property
    def turns(self) -> list[Turn]:
        """The shown branch. The same messages always give the same `Turn` objects."""
        turns: list[Turn] = []
        node = self.root.chosen
        while node is not None:
            asked = node if node.role == "user" else None
            answered = node if asked is None else node.chosen
            if answered is not None and answered.role != "assistant":
                answered = None
            turns.append(self._turn(asked, answered))
            node = turns[-1].last.chosen
        return turns

    def ask(
        self,
        prompt: str,
        mode: Mode,
        thinking: bool = False,
        sampling: Sampling | None = None,
        attachments: tuple[Attachment, ...] = (),
        after: Node | None = None,
    ) -> Turn:
        """Add a turn after the last one, or a new version of the message after `after`."""
        if after is None:
            after = self.turns[-1].last if self.root.chosen else self.root
        untitled = self.empty and self.title == NEW_CHAT
        asked = after.add(Node("user", text=prompt, attachments=attachments))
        if untitled:
            self.title = self.first_words
        return self._answer(asked, mode, thinking, sampling)

    def ask_again(self, turn: Turn, mode: Mode, thinking: bool = False, sampling: Sampling | None = None) -> Turn:
        """Add another reply to the same question. An empty old reply is removed."""
        assert turn.asked is not None
        if turn.answered is not None and turn.reply.empty and not turn.answered.children:
            turn.asked.drop(turn.answered)
        return self._answer(turn.asked, mode, thinking, sampling)

    def choose(self, node: Node) -> None:
        """Show the branch through this message, with its last shown continuation."""
        for child in node.path():
            assert child.parent is not None
            child.parent.chosen = child

    def find(self, node_id: str) -> Node | None:
        return next((node for node in self.root.below() if node.id == node_id), None)

    def node_before(self, edits: str = "") -> Node | None:
        """Return the message before the next question, or before the one with this id."""
        edited, turns = self.find(edits) if edits else None, self.turns
        return edited.parent if edited is not None else turns[-1].last if turns else None

    def renew_ids(self) -> None:
        """Give new ids to the chat and its messages."""
        self.id = new_id()
        for node in self.root.below():
            node.id = new_id()

    def history(self) -> tuple[Message, ...]:
        """Return the messages before the next question."""
        turns = self.turns
        return messages_to(turns[-1].last) if turns else ()

    def rolling_after(self, node: Node | None) -> int | None:
        """Return the least number of messages to leave out, or None if rolling is off."""
        path = _since_summary(node)[1] if node is not None else []
        return max((one.reply.left_out for one in path if one.reply), default=0) if self.settings.rolling else None

    @property
    def turns_below_cut(self) -> list[Turn]:
        """The turns whose messages and files the model reads."""
        turns, cut = self.turns, self.cut
        if cut is None:
            return turns
        return turns[turns.index(cut.first) :] if cut.first is not None else []

    @property
    def cut(self) -> Cut | None:
        """Where the next prompt begins at the earliest; None if all is sent."""
        turns = self.turns
        summary, path = _since_summary(turns[-1].last) if turns else (None, [])
        later = set(path)
        below = [turn for turn in turns if turn.last in later]
        left_out = (self.rolling_after(turns[-1].last) if turns else None) or 0
        if not left_out:
            return Cut(below[0] if below else None, summary) if summary is not None else None
        left_out -= SUMMARY_MESSAGES if summary is not None else 0
        for turn in below:
            if left_out <= 0:
                return Cut(turn)
            if messages := turn.reply.messages:
                left_out -= len(messages) + (turn.asked is not None)
        return None

    @property
    def can_compact(self) -> bool:
        """Whether there are turns to summarize."""
        node: Node | None = self.root  # from the end, because this is read for each delivery of a reply
        while node is not None and node.chosen is not None:
            node = node.chosen
        while node is not None and not node.summary:
            if node.reply is not None and node.reply.messages:
                return True
            node = node.parent
        return False

    def compactable(self, share: float = 0.5) -> list[Turn]:
        """Return the turns that a new summary would replace: all but the latest two.

        Fewer stay if they would have more than this share of the text. The only turn of a chat is replaced.
        """
        turns = self.turns
        path = _since_summary(turns[-1].last)[1] if turns else []
        later = set(path)
        answered = [turn for turn in turns if turn.last in later and turn.reply.messages]
        sizes = [sum(len(one.content) for one in (*turn.question, *turn.reply.messages)) for turn in answered]
        kept = min(KEPT_TURNS, max(0, len(answered) - 1))
        while kept > 0 and sum(sizes[-kept:]) > share * sum(sizes):
            kept -= 1
        return answered[: len(answered) - kept]

    @property
    def first_words(self) -> str:
        """The default title: the beginning of the first message."""
        first = self.root.children[0]
        return title_from(first.text or " ".join(one.name for one in first.attachments))

    @property
    def last_comparable(self) -> Turn | None:
        """The last turn, if Compare can repeat it."""
        turns = self.turns
        return turns[-1] if turns and turns[-1].can_compare else None

    @property
    def empty(self) -> bool:
        return not self.root.children

    def base_request(
        self, after: Node | None, mode: Mode = "plain", thinking: bool = False, sampling: Sampling | None = None
    ) -> GenerationRequest:
        """Return the request for a reply after a message, without messages yet."""
        settings = self.settings
        return GenerationRequest(
            messages=(Message("system", settings.system),) if settings.system.strip() else (),
            mode=mode,
            sampling=settings.sampling or sampling or Sampling(),
            seed=settings.seed,
            max_tokens=settings.max_tokens,
            thinking=thinking,
            rolling=self.rolling_after(after),
        )

    def _answer(self, asked: Node, mode: Mode, thinking: bool, sampling: Sampling | None) -> Turn:
        request = self.base_request(asked, mode, thinking, sampling)
        answered = asked.add(Node("assistant", reply=Reply.to(request), request=request))
        self.changed = time.time()
        return self._turn(asked, answered)

    def _turn(self, asked: Node | None, answered: Node | None) -> Turn:
        key = (asked.id if asked else "", answered.id if answered else "")
        if key not in self._turns:
            reply = answered.reply if answered else None
            self._turns[key] = Turn(asked, answered, reply or Reply("plain", 0, reason="unanswered"))
        return self._turns[key]


def asking(base: GenerationRequest, earlier: tuple[Message, ...], question: Message) -> GenerationRequest:
    """Return a request with a chat's earlier messages and a question.

    All prompts of chats are made here, whether they are sent or only counted.
    """
    asked = (question,) if question.content or question.images else ()
    return replace(base, messages=(*base.messages, *earlier, *asked))


def messages_to(node: Node | None, covered: Node | None = None, summary: str = "") -> tuple[Message, ...]:
    """Return the messages up to this one with images, without unanswered questions.

    The latest summary replaces the messages up to its own, or a given one those up to `covered`.
    """
    latest, path = _since_summary(node) if node is not None else (None, [])
    if covered is not None:
        path = path[path.index(covered) + 1 :]
    elif latest is not None:
        summary = latest.summary
    messages = [*_stand_in(summary)] if summary else []
    question: Node | None = None  # left out if unanswered: one that was too long must not break the next
    for one in path:
        if one.role == "user":
            question = one
        elif one.reply is not None and (reply := one.reply.messages):
            if question is not None:
                messages.append(question.message)
            messages += reply
            question = None
    return tuple(messages)


def _since_summary(node: Node) -> tuple[Node | None, list[Node]]:
    """Return the last message with a summary up to a message, and those after it."""
    path = node.path()
    at = next((at for at in reversed(range(len(path))) if path[at].summary), -1)
    return (path[at] if at >= 0 else None), path[at + 1 :]


def messages_summarized(node: Node | None) -> int:
    """Return the number of messages that the latest summary up to a message replaces."""
    latest = _since_summary(node)[0] if node is not None else None
    return len(latest.path()) if latest is not None else 0


def _stand_in(summary: str) -> tuple[Message, Message]:
    """Return a summary as a question and its answer, which all templates take."""
    return Message("user", SUMMARY_QUESTION), Message("assistant", summary)


def messages_before_prompt(request: GenerationRequest) -> int:
    """Return the number of messages before the prompt, except the system prompt."""
    prompt = max((at for at, one in enumerate(request.messages) if one.role == "user"), default=0)
    return sum(1 for one in request.messages[:prompt] if one.role != "system")


def same_again(turn: Turn, tools: tuple[ToolSpec, ...] = ()) -> GenerationRequest:
    """Return the request for a reply's last step, with the seed that the reply used.

    Args:
        turn: the prompt and its reply.
        tools: as in `GenerationRequest`.
    """
    request, reply = turn.request, turn.reply
    last = reply.steps[-1]
    made = messages_of(reply.answer[: last.answer_start], reply.thinking[: last.thinking_start], reply.calls) if reply.calls else ()
    seed = reply.stats.seed if reply.stats else request.seed
    return replace(request, messages=(*request.messages, *made), tools=tools, shorten_results=True, seed=seed)
