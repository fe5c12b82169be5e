"""The meter's count equals the prompt that is sent, with the chat templates of many families."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlx_lm.tokenizer_utils import TokenizerWrapper

from app.storage.attachments import Attachment, text_of_pages
from app.storage.pictures import Page, Picture, StoredFile
from app.storage.settings import ChatSettings
from mlx_engine.contract.requests import ToolCall
from mlx_engine.formats.format_registry import call_format
from mlx_engine.formats.sight import Sight
from mlx_engine.mcp.tool import Tool
from tests.app.conftest import Begin, Session
from tests.app.prompting_engine import PromptingEngine
from tests.app.scripted_engine import commit, done
from tests.examples import sampled
from tests.mlx_engine.formats.made_tokenizers import made
from tests.mlx_engine.formats.test_continuations import TEMPLATES
from tests.mlx_engine.formats.test_image_prompts import FOLDERS, SHOWS, SILENT, described, made_sight, sight_of, tokenizer_in

LIMIT = 1500  # tokens of the context: most tokenizers here have a token per byte
TOOLS = {name: Tool("box", name, description="Looks things up. " * long) for name, long in (("look", 1), ("find", 20))}
FAMILIES = [*TEMPLATES, "images", "images of users only", *(f"images of {folder.name}" for folder in FOLDERS)]

words = st.sampled_from(["Hi", "a", "Why?", "Tell me more, please. ", "naïve 漢字 🙂", "line\n\nline ", "<think>", "word " * 60])
texts = st.lists(words, min_size=1, max_size=3).map("".join)
documents = texts.map(lambda text: Attachment("notes.txt", text, len(text)))
pages = st.lists(texts, min_size=1, max_size=3).map(lambda found: tuple(Page(at, text) for at, text in enumerate(found, 1)))
pdfs = pages.map(lambda found: Attachment("paper.pdf", text_of_pages(found), 9, len(found), page_list=found))
sentences = texts.filter(str.strip)


@cache
def family(name: str) -> tuple[TokenizerWrapper, Sight | None, tuple[bytes, ...]]:
    """Return a tokenizer with its template, how its model sees images, and files of images."""
    if name in TEMPLATES:
        return TEMPLATES[name][0](), None, (b"3PNG",)
    if name.startswith("images of ") and name != "images of users only":
        folder = name.removeprefix("images of ")
        return tokenizer_in(folder), sight_of(folder), tuple(picture.encode() for picture in described(folder)["images"])
    tokenizer = made("tool_call", SHOWS if name == "images" else SILENT)
    return tokenizer, made_sight(tokenizer), (b"1PNG", b"6PNG")


def picture(file: bytes) -> Attachment:
    return Attachment("p.png", "", len(file), picture=Picture(StoredFile.of(file), 9, 9, "PNG"))


def reply(data: st.DataObject, calls: bool) -> Sequence[Any]:
    """Return the script of a reply, or of its first step, which calls a tool that doesn't exist."""
    thinking = [commit(text, channel="thinking") for text in data.draw(st.lists(texts, max_size=1), "thinking")]
    made = [commit(text) for text in data.draw(st.lists(texts, max_size=2), "answer")]
    if not calls:
        return [*thinking, *made, done()]
    wanted = data.draw(st.lists(st.sampled_from(['{"city": "Rome"}', "{}"]), min_size=1, max_size=2), "calls")
    called = [ToolCall(f"call{at:05}", "missing", arguments) for at, arguments in enumerate(wanted)]
    return [*thinking, *made, *called, done(reason="tool_calls")]


def check_chat(app: Session, engine: PromptingEngine, data: st.DataObject) -> Counter[str]:
    """Write a chat of several turns, and compare each count with its reply's prompt.

    Returns:
        how many prompts were counted exactly, were too long, or were rejected by the template; and how many had each part.
    """
    outcomes = Counter[str]()
    name = data.draw(st.sampled_from(FAMILIES), "family")
    tokenizer, sight, pictures = family(name)
    can_call = call_format(tokenizer) is not None
    engine.use(tokenizer, sight)
    engine.replies.clear()
    session = app.session
    session.new_chat()
    session.change(
        system=data.draw(st.one_of(st.just(""), texts), "system"),
        thinking=data.draw(st.booleans(), "thinking is on"),
        rolling=data.draw(st.booleans(), "rolling"),
        max_tokens=data.draw(st.sampled_from([100, 1024]), "limit of replies"),
        tool_servers=("box",) if can_call and data.draw(st.booleans(), "tools") else (),
    )
    images = st.sampled_from(pictures).map(
        lambda file: Attachment("p.png", "", 4, picture=Picture(StoredFile.of(file), 9, 9, "PNG"))
    )
    kinds = st.one_of(documents, pdfs, images) if sight is not None else st.one_of(documents, pdfs)
    for _ in range(data.draw(st.integers(1, 4), "messages")):
        turns = session.chat.turns
        kind = data.draw(st.sampled_from(["ask", "ask", "edit", "regenerate", "switch", "compact"]), "step") if turns else "ask"
        if kind == "switch":
            turn = data.draw(st.sampled_from(turns), "turn")
            for node in (turn.asked, turn.answered):
                session.switch(node, data.draw(st.sampled_from([-1, 1]), "way"))
            continue
        if kind == "compact":
            session.set_summary(data.draw(st.sampled_from(turns), "turn").last, data.draw(st.one_of(st.just(""), texts), "summary"))
            outcomes["summaries"] += session.chat.cut is not None
            continue
        if kind == "edit":
            session.edit(data.draw(st.sampled_from(turns), "turn"))
        if can_call and data.draw(st.booleans(), "calls"):
            engine.replies.append(reply(data, calls=True))
        engine.replies.append(reply(data, calls=False))
        if kind == "regenerate":  # has no count, but its reply may call tools
            session.regenerate(turns[-1])
            app.until(lambda: not app.activity.busy)
            continue
        app.message.show_draft(data.draw(sentences, "text"), data.draw(st.lists(kinds, max_size=2), "files"))
        app.until(lambda: not app.meter.counting)
        use, known = app.meter.use, len(engine.requests)
        session.send(app.message.text, app.attachments.files)
        app.message.show_draft("", [])
        app.until(lambda: not app.activity.busy)
        sent = app.session.chat.turns[-1].reply
        if use is None:  # the template rejects the chat
            assert sent.error and "rejects" in sent.error
            outcomes["rejected"] += 1
        elif use.full:
            assert sent.error and len(engine.requests) == known + 1
            outcomes["too long"] += 1
        else:
            first = sent.step_stats[0] if sent.step_stats else sent.stats
            assert first is not None and not (sent.error and not sent.step_stats), sent.error
            assert use.exact and use.used == first.prompt_tokens
            assert use.parts is not None and use.parts.total == use.used and min(vars(use.parts).values()) >= 0
            if not sent.calls:  # otherwise, results have made room
                left_out = [one for one in engine.requests[known].messages if one.role != "system"][: sent.left_out]
                assert use.left_out == 2 * sum(one.role == "user" for one in left_out), "questions and replies, as shown"
            outcomes.update(["exact", *(name for name, tokens in vars(use.parts).items() if tokens)])
            outcomes["with messages left out"] += use.left_out > 0
            outcomes["with calls"] += bool(sent.calls)
    return outcomes


@pytest.fixture
def chatting(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> tuple[Session, PromptingEngine]:
    """An app whose engine renders prompts, with two tools."""
    app = begin(engine := PromptingEngine(LIMIT))
    monkeypatch.setattr(app.tools, "offered", offered)
    return app, engine


def offered(chosen: ChatSettings, project: str) -> dict[str, Tool]:
    return TOOLS if chosen.tool_servers else {}


@settings(sampled(12, 300), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_the_meter_equals_the_prompt_that_is_sent(chatting: tuple[Session, PromptingEngine], data: st.DataObject) -> None:
    check_chat(*chatting, data)
