"""Sending, stopping, deciding, and switching in several chats, in any order."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from app.storage.chat_tree import Chat
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import GenerationRequest
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done
from tests.app.tools_in_chat import PRODUCT, ScriptedTools, ToolResult, calling
from tests.examples import sampled

STEPS = st.tuples(
    st.sampled_from(["send", "send", "ask", "type", "stop", "open", "open", "once", "deny", "finish"]), st.integers(0, 2)
)


class GatedEngine(ScriptedEngine):
    """An engine whose replies end when a gate is opened. A prompt with a question mark gets a call first."""

    def __init__(self) -> None:
        super().__init__(pair=replace(PAIR, can_call_tools=True))
        self.gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)  # by the message

    def _play(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event | None]:
        last, prompt = request.messages[-1], next(one.content for one in reversed(request.messages) if one.role == "user")
        call = last.role == "user" and "?" in prompt
        self.replies = [calling(PRODUCT) if call else [commit("Half "), self.gates[prompt], commit("whole."), done()]]
        return super()._play(request, cancel)


@dataclass
class Expected:
    """What a chat should contain.

    Attributes:
        sent: its messages.
        draft: the text in its composer.
        waits: whether the draft is sent when the reply ends.
        replies: whether a reply is running.
        asks: whether the reply waits for a decision.
    """

    sent: list[str]
    draft: str = ""
    waits: bool = False
    replies: bool = False
    asks: bool = False

    def send(self) -> None:
        if self.draft and self.replies:
            self.waits = True
        elif self.draft:
            self.sent.append(self.draft)
            self.replies, self.asks, self.waits, self.draft = True, "?" in self.draft, False, ""

    def finish(self) -> None:
        self.replies = False
        if self.waits:
            self.send()

    def stop(self) -> None:
        self.replies = self.asks = self.waits = False


@dataclass
class Chats:
    """Three chats of an app, and what they should contain."""

    app: Session
    engine: GatedEngine
    chats: list[Chat] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    open: int = 2
    messages: int = 0

    def begin(self) -> None:
        for number in range(3):
            self.app.session.new_chat()
            first = f"Chat {number}"
            self.engine.gates[first].set()
            self.app.ask(first)
            self.chats.append(self.app.session.chat)
            self.expected.append(Expected([first]))

    def step(self, action: str, number: int) -> None:
        app, at = self.app, self.expected[self.open]
        if action == "open":
            self.open = number
            app.session.open_chat(self.chats[number].id)
            app.until(lambda: app.session.chat is self.chats[number])
        elif action in ("send", "ask"):
            if not at.draft:
                self.messages += 1
                at.draft = f"Message {self.messages}{'?' * (action == 'ask')}"
                app.type(at.draft)
            at.send()
            app.message.send()
        elif action == "type" and at.draft:
            at.draft, at.waits = f"{at.draft}!", False
            app.type(at.draft)
        elif action == "stop":
            run = app.reply_runner.of(self.chats[self.open].id)
            at.stop()
            app.activity.stop()
            app.until(lambda: run not in app.reply_runner.runs)
        elif action == "finish" and self.expected[number].replies and not self.expected[number].asks:
            run = app.reply_runner.of(self.chats[number].id)
            self.engine.gates[self.expected[number].sent[-1]].set()
            self.expected[number].finish()
            app.until(lambda: run not in app.reply_runner.runs)
        elif action in ("once", "deny") and self.expected[number].asks:
            self.expected[number].asks = False
            app.reply_runner.decide(self.chats[number].turns[-1], PRODUCT.id, "once" if action == "once" else "deny")
        app.until(self.settled)
        self.check()

    def settled(self) -> bool:
        """Whether each reply waits for the user or for its gate, and nothing else is to come."""
        asking, replying = [one.asks for one in self.expected], [one.replies for one in self.expected]
        runs = [self.app.reply_runner.of(chat.id) for chat in self.chats]
        at_rest = all(run is None or run.waiting or run.turn.reply.answer.endswith("Half ") for run in runs)
        states = [run is not None and run.waiting for run in runs], [run is not None for run in runs]
        return at_rest and states == (asking, replying) and not self.app.meter.counting

    def check(self) -> None:
        for chat, expected in zip(self.chats, self.expected, strict=True):
            assert [node.text for node in chat.root.below() if node.role == "user"] == expected.sent
        at = self.expected[self.open]
        assert (self.app.message.text, bool(self.app.message.note)) == (at.draft, at.waits)

    def end(self) -> None:
        """End all replies, and look at the drafts of all chats."""
        while any(one.replies for one in self.expected):
            for number in range(3):
                self.step("once", number)
                self.step("finish", number)
        for number in range(3):
            self.step("open", number)


def test_each_message_is_sent_once_in_its_own_chat_and_none_is_lost(begin: Begin) -> None:
    engine = GatedEngine()
    app = begin(engine)
    app.services.preferences.chat_titles = False
    tools = ScriptedTools({"calculator": ToolResult("4")})
    app.tools.offered = lambda settings, project="": tools.offered  # type: ignore[method-assign]
    app.tools.call = tools.call  # type: ignore[method-assign]

    @sampled(10)
    @given(st.lists(STEPS, max_size=25))
    def check(steps: list[tuple[str, int]]) -> None:
        engine.gates.clear()
        engine.requests.clear()
        chats = Chats(app, engine)
        chats.begin()
        for action, number in steps:
            chats.step(action, number)
        chats.end()
        for chat, expected in zip(chats.chats, chats.expected, strict=True):
            asked = [one for one in engine.requests if one.chat == chat.id and one.messages[-1].role == "user"]
            assert [one.messages[-1].content for one in asked] == expected.sent

    check()
