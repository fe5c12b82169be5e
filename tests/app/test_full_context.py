"""A chat that has filled the context goes on in a rolling window."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.session.context_use import ContextUse, NextPrompt, measure, use_text
from app.storage.chat_tree import Cut
from app.views.chat.full_context import FullContextBar
from app.views.transcript.cut_view import CutView
from mlx_engine.contract.events import ToolCall
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.contract.token_counts import TokenCount
from tests.app.conftest import Begin, Session, Start
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, answer, commit, done, words


def small_engine(*replies: Script) -> ScriptedEngine:
    """An engine with a context of 100 words."""
    engine = ScriptedEngine(replies, pair=replace(PAIR, context_limit=100))
    engine.counts_words = True
    return engine


def fill(app: Session) -> None:
    """Ask until the chat has filled the context."""
    app.session.set_settings(replace(app.session.chat.settings, system="Be brief."))
    for number in range(3):
        app.ask(f"Question {number}")
    app.until(lambda: app.message.chat_full)


LONG = [answer("word " * size + "end") for size in (29, 29, 35)]


def test_a_full_chat_goes_on_in_a_rolling_window(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = start(small_engine(*LONG, answer("Four.")), data=tmp_path / "data")
    fill(app)
    assert app.window.foot.full.label.text() == ("The model's context is full. Continue here, or edit an earlier message.")
    app.until(lambda: not app.meter.counting)
    assert app.window.foot.context.isHidden(), "the bar says it"
    app.window.foot.full.roll.click()
    app.until(lambda: not app.window.foot.full.isVisible())
    app.ask("Question 3")
    request = app.engine.requests[-1]
    assert words(request.messages) > 100
    assert [message.content for message in request.messages][::2] == ["Be brief.", *(LONG_ANSWERS)]
    assert request.rolling == 0 and app.session.chat.turns[3].reply.left_out == 4
    assert [prompt for prompt, _ in app.texts] == [f"Question {number}" for number in range(4)], "the chat stays complete"
    kinds = [item.kind for item in app.window.transcript.column.items]
    assert kinds == ["prompt", "reply", "prompt", "reply", "cut", "prompt", "reply", "prompt", "reply"]
    (line,) = app.window.transcript.findChildren(CutView)
    assert line.label.text() == "The context is full, so the model reads nothing above this line."
    chat = app.session.chat.id
    app.quit()
    again = start(small_engine(answer("Five.")), data=tmp_path / "data")
    again.until(lambda: again.session.chat.id == chat)
    assert [item.kind for item in again.window.transcript.column.items] == kinds
    assert again.window.menus["rolling"].isChecked()
    again.ask("Question 4")
    assert again.engine.requests[-1].rolling == 4, "messages that were left out stay left out"


LONG_ANSWERS = ["word " * 29 + "end", "word " * 29 + "end", "word " * 35 + "end"]


def test_the_meter_says_how_many_messages_a_smaller_context_leaves_out(start: Start) -> None:
    """The tick said nothing until the reply, because half of the context was free again."""
    app = start(small_engine(*(answer("word " * 9 + "end") for _ in range(5))))
    for number in range(5):
        app.ask(f"Question {number}")
    app.session.change(rolling=True)
    context = app.window.foot.context
    app.until(lambda: not app.meter.counting)
    assert context.isVisible() and "older" not in context.label.text(), "60 of 100 tokens fit"
    assert context.toolTip().endswith("The oldest messages are left out when the chat fills the context")
    app.engine.pair = replace(app.engine.pair, context_limit=40)
    app.activity.use()
    app.until(lambda: app.loader.pair is not None and app.loader.pair.context_limit == 40 and not app.loader.running)
    app.type("Go on")
    app.until(lambda: not app.meter.counting)
    assert app.meter.use is not None and app.meter.use.share < 0.5
    assert context.isVisible() and context.label.text().startswith("8 older messages won't be read · ")
    left_out = app.meter.use.left_out
    app.ask("Go on")
    assert app.session.chat.turns[-1].reply.left_out == left_out


def test_messages_left_out_are_counted_as_the_chat_shows_them() -> None:
    call = ToolCall("1", "add", "{}")
    reply = (Message("assistant", "", calls=(call,)), Message("tool", "4", call_id="1"), Message("assistant", "It is 4."))
    steps = measure(NextPrompt(GenerationRequest(rolling=0), (Message("user", "2 + 2?"), *reply) * 3, "Hi"))
    next(steps)
    with pytest.raises(StopIteration) as end:
        steps.send(TokenCount(9, 100, left_out=8))
    assert end.value.value.left_out == 4
    assert use_text(end.value.value) == "4 older messages won't be read · 9 of 100 tokens used · 91 left"
    assert use_text(ContextUse(9, 100, left_out=1)).startswith("1 older message won't be read · ")


def test_a_summary_that_is_left_out_counts_as_the_messages_it_replaces(begin: Begin) -> None:
    """It counted as the two messages that stand for it."""
    app = begin(small_engine(*(answer("word " * 9 + "end") for _ in range(5))))
    for number in range(5):
        app.ask(f"Question {number}")
    app.session.change(rolling=True)
    app.session.set_summary(app.session.chat.turns[2].last, "word " * 30 + "end")
    app.until(lambda: not app.meter.counting)
    assert app.meter.use is not None and app.meter.use.left_out == 0
    app.type("word " * 40)
    app.until(lambda: not app.meter.counting)
    assert app.meter.use.left_out == 10
    app.ask("word " * 40)
    assert app.session.chat.cut == Cut(app.session.chat.turns[5]), "below five questions and replies"


def test_a_new_chat_has_no_rolling_window_of_the_chat_before(begin: Begin) -> None:
    app = begin(small_engine(*LONG))
    fill(app)
    app.session.continue_rolling()
    app.session.change(thinking=True)
    app.session.new_chat()
    assert not app.session.chat.settings.rolling and app.session.chat.settings.thinking


def test_a_reply_that_filled_the_context_is_continued_in_the_window(begin: Begin) -> None:
    cut_off = [commit("word " * 70, 70), done(reason="length", tokens=70)]
    app = begin(small_engine(answer("word " * 28), cut_off, [commit("end."), done(tokens=1)]))
    app.ask("One")
    app.ask("Two")
    app.until(lambda: app.message.chat_full)
    app.session.continue_rolling()
    app.idle()
    assert app.session.chat.turns[1].reply.answer == "word " * 70 + "end."
    assert app.engine.requests[-1].rolling == 0 and app.engine.requests[-1].continue_from == "word " * 70


def test_the_demo_pair_offers_no_summary(begin: Begin) -> None:
    app = begin(small_engine(*LONG))
    fill(app)
    bar = FullContextBar(app.theme, app.services)
    bar.refresh()
    assert bar.roll.isVisible() and not bar.compact.isVisible() and not app.can("compact")
