"""A chat: a tree of messages, the branch of it that is shown, and what of that goes into the next request."""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from app.conversations.attachments import Attachment, told
from app.conversations.plain_text import NEW_CHAT, title_from
from app.conversations.reply import Reply
from app.conversations.settings import ChatSettings
from mlx_engine.requests import GenerationRequest, Message, Mode, Sampling

NodeRole = Literal["root", "user", "assistant"]


def new_id() -> str:
    return uuid.uuid4().hex


@dataclass(eq=False, repr=False)  # a tree with links both ways would be written out without end
class Node:
    """One message. `children` are the versions of what follows it, oldest first; `chosen` is the one that is shown.

    A user's node has `text` and `attachments`; an assistant's has `reply` and the `request` that it answers, whose messages are
    only the system prompt: the rest is the path to the node. The root of a chat has neither.
    """

    role: NodeRole
    parent: "Node | None" = None
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    reply: Reply | None = None
    request: GenerationRequest = field(default_factory=GenerationRequest)
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    children: list["Node"] = field(default_factory=list)
    chosen: "Node | None" = None

    @property
    def told(self) -> str:
        """What the model reads of a user's message."""
        return told(self.text, self.attachments)

    def add(self, child: "Node") -> "Node":
        """The newest version, which is shown from now on."""
        child.parent = self
        self.children.append(child)
        self.chosen = child
        return child

    def drop(self, child: "Node") -> None:
        """Take a version out; its neighbour is shown instead."""
        place = self.children.index(child)
        self.children.remove(child)
        if self.chosen is child:
            self.chosen = self.children[max(0, place - 1)] if self.children else None

    @property
    def place(self) -> tuple[int, int]:
        """Which of how many versions this is, from 1: (2, 3) is the second of three."""
        versions = self.parent.children if self.parent else [self]
        return versions.index(self) + 1, len(versions)

    def path(self) -> "list[Node]":
        """From the first message to this one."""
        found: list[Node] = []
        node: Node | None = self
        while node is not None and node.role != "root":
            found.append(node)
            node = node.parent
        return found[::-1]

    def below(self) -> "Iterator[Node]":
        """Every message under this one, each after its parent, versions in order."""
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


@dataclass(eq=False)
class Turn:
    """A question and its reply, as they are shown. `asked` or `answered` is None where an imported chat lacks one."""

    asked: Node | None
    answered: Node | None
    reply: Reply

    @property
    def prompt(self) -> str:
        return self.asked.text if self.asked else ""

    @property
    def request(self) -> GenerationRequest:
        """What was asked for, whole, so that Compare and Try Again can ask for the same."""
        request = self.answered.request if self.answered else GenerationRequest()
        return replace(request, messages=(*request.messages, *history(self.asked))) if self.asked else request

    @property
    def last(self) -> Node:
        """The node that what comes next hangs on."""
        node = self.answered or self.asked
        assert node is not None
        return node


@dataclass(eq=False)
class Chat:
    """A tree of messages under `root`, with a title and settings. `changed` is when something was last said."""

    title: str = NEW_CHAT
    settings: ChatSettings = field(default_factory=ChatSettings)
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    changed: float = field(default_factory=time.time)
    root: Node = field(default_factory=lambda: Node("root"))
    _turns: dict[tuple[str, str], Turn] = field(default_factory=dict)

    @property
    def turns(self) -> list[Turn]:
        """The branch that is shown. The same messages give the same `Turn` each time."""
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
    ) -> Turn:
        """Add a turn at the end: the prompt after everything that was answered before it."""
        turns = self.turns
        return self.ask_under(turns[-1].last if turns else self.root, prompt, mode, thinking, sampling, attachments)

    def ask_under(
        self,
        node: Node,
        prompt: str,
        mode: Mode,
        thinking: bool = False,
        sampling: Sampling | None = None,
        attachments: tuple[Attachment, ...] = (),
    ) -> Turn:
        """Add a turn after this message, as the newest version of what follows it."""
        if not any(self.root.below()) and self.title == NEW_CHAT:
            self.title = title_from(prompt or " ".join(one.name for one in attachments))
        asked = node.add(Node("user", text=prompt, attachments=attachments))
        return self._answer(asked, mode, thinking, sampling)

    def ask_again(self, turn: Turn, mode: Mode, thinking: bool = False, sampling: Sampling | None = None) -> Turn:
        """A new reply to the same question, beside the old one; instead of it if there was nothing in that to read."""
        assert turn.asked is not None
        if turn.answered is not None and turn.reply.empty and not turn.answered.children:
            turn.asked.drop(turn.answered)
        return self._answer(turn.asked, mode, thinking, sampling)

    def choose(self, node: Node) -> None:
        """Show the branch that leads to this message, and below it what was shown there last."""
        for child in node.path():
            assert child.parent is not None
            child.parent.chosen = child

    def find(self, node_id: str) -> Node | None:
        """The message with this id."""
        return next((node for node in self.root.below() if node.id == node_id), None)

    def history(self) -> tuple[Message, ...]:
        """What the model is told of the past."""
        turns = self.turns
        return past(turns[-1].last) if turns else ()

    @property
    def last_answered(self) -> Turn | None:
        """The turn that Compare repeats."""
        return next((turn for turn in reversed(self.turns) if turn.reply.stats), None)

    @property
    def empty(self) -> bool:
        return not self.root.children

    def _answer(self, asked: Node, mode: Mode, thinking: bool, sampling: Sampling | None) -> Turn:
        settings = self.settings
        request = GenerationRequest(
            messages=(Message("system", settings.system),) if settings.system.strip() else (),
            mode=mode,
            sampling=settings.sampling or sampling or Sampling(),
            seed=settings.seed,
            max_tokens=settings.max_tokens,
            thinking=thinking,
        )
        answered = asked.add(Node("assistant", reply=Reply.to(request), request=request))
        self.changed = time.time()
        return self._turn(asked, answered)

    def _turn(self, asked: Node | None, answered: Node | None) -> Turn:
        key = (asked.id if asked else "", answered.id if answered else "")
        turn = self._turns.get(key)
        if turn is None:
            reply = answered.reply if answered else None
            turn = self._turns[key] = Turn(asked, answered, reply or Reply("plain", 0, reason="unanswered"))
        return turn


def history(asked: Node) -> tuple[Message, ...]:
    """What came before a question, and the question."""
    before = past(asked.parent) if asked.parent else ()
    return (*before, Message("user", asked.told))


def past(node: Node) -> tuple[Message, ...]:
    """The messages up to this one. A question without an answer is left out: a prompt that was too long would otherwise make every
    later one too long."""
    messages: list[Message] = []
    question: Node | None = None
    for one in node.path():
        if one.role == "user":
            question = one
        elif one.reply is not None and one.reply.answer.strip():
            if question is not None:
                messages.append(Message("user", question.told))
            messages.append(Message("assistant", one.reply.answer, one.reply.thinking))
            question = None
    return tuple(messages)


def standing_before(request: GenerationRequest) -> int:
    """How many messages of the chat stand before the prompt; a system prompt is none of them."""
    return max(0, sum(1 for one in request.messages if one.role != "system") - 1)


def same_again(turn: Turn) -> GenerationRequest:
    """The request of a turn with the seed it was answered with."""
    seed = turn.reply.stats.seed if turn.reply.stats else turn.request.seed
    return replace(turn.request, seed=seed)


def continuation(turn: Turn) -> GenerationRequest:
    """Ask for the rest of a reply, with the same seed: the noise of a place does not depend on where a run began."""
    return replace(same_again(turn), continue_from=turn.reply.answer, continue_thinking=turn.reply.thinking)
