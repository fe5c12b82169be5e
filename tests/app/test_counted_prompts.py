"""The context meter with the real engine: its number is the length of the prompt that is sent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.application import Slipstream
from app.session.context_use import use_text
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.storage.settings import ChatSettings
from app.system.data_paths import DataPaths
from app.text.plain_text import clean
from mlx_engine.contract.requests import ToolCall
from mlx_engine.mcp.record import CallRecord
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import PATIENCE_MS

WORDS = st.text(st.sampled_from("ab 1\n\t-é你🙂\0\ud800\u2028\u200f"), max_size=12)
TEXTS = st.builds(lambda word, times: word * times, WORDS, st.integers(1, 6))
CLEAN = TEXTS.map(clean)  # text is cleaned where it comes in; a draft is cleaned when it is sent
FILES = st.builds(Attachment, st.sampled_from(["a.txt", "notes 2.md", "é.py"]), CLEAN)
OFFERED = {name: Tool("Calculator", name, description=f"Calculates the {name}.") for name in ("sum", "product")}


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """A chat with complete, empty, and failed replies, some with calls of a tool."""
    settings = ChatSettings(
        system=draw(CLEAN),
        max_tokens=draw(st.integers(1, 4)),
        rolling=draw(st.booleans()),
        thinking=draw(st.booleans()),
    )
    chat = Chat(settings=settings)
    for _ in range(draw(st.integers(0, 3))):
        turn = chat.ask(draw(CLEAN).strip() or "Hi", "plain", attachments=tuple(draw(st.lists(FILES, max_size=1))))
        answer = draw(st.sampled_from(["", "Fine.", "Let me see. It is 4."]))
        turn.reply.answer, turn.reply.reason = answer, draw(st.sampled_from(["eos", "error", "length"]))
        if draw(st.booleans()):
            call = ToolCall(f"call_{len(chat.turns)}", "sum", '{"terms": [2, 2]}')
            turn.reply.calls = (CallRecord(call, "Calculator", "sum", 0, len(answer) // 2, 0, "done", draw(CLEAN) or "4"),)
    return chat


@pytest.fixture
def demo(qapp: QApplication, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slipstream]:
    """The app with the demo pair."""
    monkeypatch.setattr("app.window.main_window.confirm", lambda *_: True)  # quitting with unsaved chats
    slipstream = Slipstream(qapp, DataPaths(tmp_path, tmp_path))
    slipstream.start()
    qtbot.waitUntil(lambda: slipstream.services.loader.progress is None, timeout=PATIENCE_MS)
    yield slipstream
    slipstream.window.close()
    assert slipstream.services.client.wait(PATIENCE_MS / 1000)
    slipstream.window.deleteLater()


def test_the_meter_shows_the_length_of_the_prompt_that_is_sent(demo: Slipstream, qtbot: QtBot) -> None:
    meter, message, sent = demo.services.meter, demo.services.message, 0

    @settings(max_examples=3)  # each is answered by the demo pair
    @given(chats(), TEXTS, st.lists(FILES, max_size=2), st.lists(st.sampled_from(sorted(OFFERED)), unique=True), st.booleans())
    def check(chat: Chat, draft: str, files: list[Attachment], tools: list[str], edit: bool) -> None:
        nonlocal sent
        demo.services.tools.offered = lambda settings, project="": {name: OFFERED[name] for name in tools}  # type: ignore[method-assign]
        demo.services.session._show(chat)
        if edit and chat.turns:
            demo.services.session.edit(chat.turns[-1])
        message.show_draft(draft, list(files))
        meter.count_now()
        qtbot.waitUntil(lambda: not meter.counting, timeout=PATIENCE_MS)
        use, before = meter.use, len(chat.turns)
        if use is None or not use.draft or use.misfit is not None:
            assert use is not None
            return
        assert use.exact
        message.send()
        qtbot.waitUntil(lambda: not demo.services.activity.busy, timeout=PATIENCE_MS)
        turn = chat.turns[-1]
        assert len(chat.turns) == before + (not edit or not before) and turn.reply.stats is not None, turn.reply.error
        assert turn.reply.stats.prompt_tokens == use.used
        sent += 1

    check()
    assert sent


def test_what_does_not_fit_is_refused_before_it_is_sent(demo: Slipstream, qtbot: QtBot) -> None:
    meter, message = demo.services.meter, demo.services.message
    long = "A sentence of some words, with 12 digits. " * 5000  # 210 KB
    names = {
        "text": "The text doesn't fit: about ",
        "file": "big.txt doesn't fit: about ",
        "tools": "The tools don't fit: about ",
        "system": "The system prompt doesn't fit: about ",
        "chat": "This chat is full",
    }
    for part, name in names.items():
        chat = Chat(settings=ChatSettings(system=long if part == "system" else "Be brief."))
        if part == "chat":
            turn = chat.ask("Hi", "plain")
            turn.reply.answer, turn.reply.reason = long, "eos"
        tools = {"sum": Tool("Calculator", "sum", description=long)} if part == "tools" else {}
        demo.services.tools.offered = lambda settings, project="", tools=tools: tools  # type: ignore[method-assign, misc]
        demo.services.session._show(chat)
        message.show_draft(long if part == "text" else "Hi", [Attachment("big.txt", long)] if part == "file" else [])
        message.send()
        qtbot.waitUntil(lambda: not meter.counting, timeout=PATIENCE_MS)
        use = meter.use
        assert use is not None and use.full and use.misfit is not None and use.misfit.part == part
        assert use_text(use).startswith(name) and message.obstacle.startswith(name)
        assert not demo.services.activity.busy and len(chat.turns) == (part == "chat") and not message.note
