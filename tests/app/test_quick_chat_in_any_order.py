"""The user's texts in the quick chat, whatever happens in any order: none is lost, sent twice, or in another chat."""

import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.storage.chat_tree import Chat
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import GenerationRequest
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import ScriptedEngine, commit, done, refuse
from tests.app.test_drafts import stored
from tests.examples import sampled

WINDOW = [*["ask"] * 6, "ask what fails", "write", "write", "cancel", "open", "new"]  # which the user opens first
ELSEWHERE = [
    *["hide"] * 4,
    *["finish"] * 4,
    "show",
    "list",
    "list",
    "new in window",
    "stop",
    "tools",
    "load",
    "loaded",
    "missed",
    "delete",
]
STEPS = st.tuples(st.sampled_from(WINDOW + ELSEWHERE), st.integers(0, 9))
CALLED_BACK = ("write", "cancel", "new", "delete")  # the message no longer waits after these steps


class GatedEngine(ScriptedEngine):
    """An engine whose replies end when the gates of their prompts are opened, with an error if the prompt has an "f"."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: defaultdict[str, threading.Event] = defaultdict(threading.Event)

    def _play(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event | None]:
        prompt = request.messages[-1].content
        ends = refuse("It broke.") if "f" in prompt else commit("whole.")
        self.replies = [[commit("Half "), self.gates[prompt], ends, done()]]
        return super()._play(request, cancel)


@dataclass
class Texts:
    """The user's texts, which are words: where each must be, and whether a step may call it back.

    Attributes:
        home: ID of the chat that a text belongs to, once that is known.
    """

    app: Session
    engine: GatedEngine
    tools: list[bool]
    numbers: Iterator[int]
    chats: dict[str, Chat] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    home: dict[str, str] = field(default_factory=dict)

    def step(self, action: str, number: int) -> None:
        app, quick, loader = self.app, self.app.services.quick, self.app.loader
        waited = quick.text.split() if quick.note else []
        if action in ("new", "delete"):
            for text in quick.text.split():
                self.home.pop(text, None)  # it moves to the next chat, where the user sees it
        app.noticed.clear()
        if action in WINDOW and not quick.shown:
            quick.begin()
        runs = app.reply_runner.runs
        match action:
            case "write" | "ask" | "ask what fails":
                self.written.append(f"{'f' if action == 'ask what fails' else 'm'}{next(self.numbers)}")
                quick.write(f"{quick.text} {self.written[-1]}".strip())
                if action != "write":
                    quick.submit()
            case "cancel":
                quick.cancel()
            case "new":
                quick.restart()
            case "hide" if quick.shown:
                quick.hide()
            case "show" if not quick.shown:
                quick.begin()
            case "open":
                quick.open()
                quick.hide()
            case "list" if self.chats:
                app.session.open_chat(list(self.chats)[-1 - number % min(2, len(self.chats))])
            case "new in window":
                app.session.new_chat()
            case "finish" if runs:
                run = runs[number % len(runs)]
                self.engine.gates[run.turn.prompt].set()
                app.until(lambda: run not in app.reply_runner.runs)
            case "stop" if runs:
                run = runs[number % len(runs)]
                app.reply_runner.stop(run.chat.id)
                app.until(lambda: run not in app.reply_runner.runs)
            case "tools":
                self.tools[0] = not self.tools[0]
                app.tools.changed.emit()
            case "load" if not runs:
                app.activity.use()
            case "loaded" | "missed" if loader.running:
                assert self.engine.load_gate is not None
                self.engine.load_error = refuse("No memory.") if action == "missed" else None
                self.engine.load_gate.set()
                app.until(lambda: not loader.running)
                self.engine.load_error, self.engine.load_gate = None, threading.Event()
            case "delete" if not quick.chat.empty:
                app.library.delete([quick.chat.id])
        app.until(self.settled)
        self.check(action, waited)

    def settled(self) -> bool:
        runs = self.app.reply_runner.runs
        counting = self.app.meter.counting and not self.app.loader.running and not self.tools[0]
        return all(run.turn.reply.answer.endswith("Half ") for run in runs) and not counting

    def check(self, action: str, waited: list[str]) -> None:
        app, quick = self.app, self.app.services.quick
        for chat in (quick.chat, app.session.chat, *(run.chat for run in app.reply_runner.runs)):
            if not chat.empty and chat.id not in self.chats:
                self.chats[chat.id] = chat
        drafts = {draft.chat: draft.text.split() for draft in app.services.drafts._drafts.values()}
        sent = {
            chat.id: [word for node in chat.root.below() if node.role == "user" for word in node.text.split()]
            for chat in self.chats.values()
        }
        places = [*drafts.items(), *sent.items()]
        for text in self.written:
            found = [place for place, texts in places for one in texts if one == text]
            assert len(found) == 1, (text, found)
            home = self.home.setdefault(text, found[0]) if found[0] in self.chats else self.home.get(text, found[0])
            assert home == found[0], f"{text} is in another chat"
        if quick.shown or action in CALLED_BACK or quick.note or app.message.note:
            return
        unsent = set().union(*drafts.values())
        told = any("wasn't sent" in one.text or "no longer waiting" in one.text for one in app.noticed)
        assert told or not unsent & set(waited), "the message no longer waits, and no notice says so"

    def on_disk(self, expected: set[str]) -> None:
        found = {(draft.chat, word) for draft in stored(self.app) for word in draft.text.split()}
        drafts = self.app.services.drafts._drafts.values()
        kept = {(draft.chat, word) for draft in drafts for word in draft.text.split() if word in expected}
        assert kept <= found

    def end(self) -> None:
        """Let everything end well, and look whether what waited was sent."""
        app, quick = self.app, self.app.services.quick
        if self.tools[0]:
            self.step("tools", 0)
        while app.loader.running or app.reply_runner.runs:
            self.step("loaded", 0)
            self.step("finish", 0)
        assert not quick.note and not app.message.note
        app.session.new_chat()
        app.type("")
        quick.restart()
        quick.write("")
        quick.hide()
        app.services.notices.clear_all()


def test_no_text_is_lost_or_moves_whatever_happens(begin: Begin, tmp_path: Path) -> None:
    engine = GatedEngine()
    app = begin(engine, data=tmp_path)
    app.services.preferences.chat_titles = False
    app.until(lambda: app.library.read)
    app.session.new_chat()  # nothing is being opened any more
    tools, numbers = [False], count()
    app.session.tools_starting_in = lambda chat: tools[0]  # type: ignore[method-assign]
    app.session.tools_starting = lambda example="": tools[0]  # type: ignore[method-assign]
    engine.load_gate = threading.Event()

    @sampled(20)
    @given(st.lists(STEPS, min_size=15, max_size=40))
    def check(steps: list[tuple[str, int]]) -> None:
        engine.gates.clear()
        for run in app.reply_runner.runs:
            app.reply_runner.stop(run.chat.id)  # of an example that failed
        app.idle()
        texts = Texts(app, engine, tools, numbers)
        texts.step("show", 0)
        for action, number in steps:
            texts.step(action, number)
            if app.services.quick.note:
                texts.on_disk(set(app.services.quick.text.split()))  # not even a crash loses it
        app.services.drafts.save()  # as after a second
        texts.on_disk(set(texts.written))
        texts.end()

    check()
