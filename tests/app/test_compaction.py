"""A summary replaces older messages in prompts, and they stay in the chat."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.session.compaction import MAX_TOKENS
from app.session.context_use import ContextUse, Misfit
from app.storage import chat_export
from app.storage.chat_tree import Chat, Cut, Turn
from app.storage.records import chat_from_json, chat_to_json
from app.storage.reply import Reply
from app.views.chat.full_context import FullContextBar
from app.views.transcript.cut_view import CutView
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import CountTokens, LoadPair
from mlx_engine.contract.token_counts import PromptParts
from tests.app.conftest import Begin, Running, Session, Start
from tests.app.scripted_engine import Script, ScriptedEngine, answer, commit, done, refuse
from tests.app.test_full_context import LONG, fill, small_engine

WRITTEN = "We counted words."
NOTE = "The message will be sent when the summary has been written."


def roomy_engine(*replies: Script) -> ScriptedEngine:
    """An engine whose context of 500 words is full after three replies. Two fit in the prompt of a summary."""
    filling = [answer("word " * size + "end") for size in (149, 149, 195)]
    engine = small_engine(*filling, *replies)
    engine.pair = replace(engine.pair, context_limit=500)
    return engine


def loaded(app: Session) -> Session:
    """Use a pair that can write summaries, and no titles."""
    app.services.preferences.chat_titles = False
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    return app


def summarized(app: Session) -> list[Turn]:
    """Fill the chat, compact it, and return its turns."""
    fill(loaded(app))
    app.run("compact")
    app.until(lambda: not app.services.compactor.running)
    app.until(lambda: not app.meter.counting)
    return app.session.chat.turns


def sent(app: Session) -> list[str]:
    return [message.content for message in app.engine.requests[-1].messages]


def test_a_summary_replaces_all_but_the_latest_turns(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN), answer("Four.")))
    fill(loaded(app))
    bar = FullContextBar(app.theme, app.services)
    bar.compact.click()
    assert bar.label.text() == "Summarizing older messages…" and not bar.roll.isVisible()
    app.until(lambda: not app.services.compactor.running)
    request, turns = app.engine.requests[-1], app.session.chat.turns
    assert request.foreground and request.tool_choice == "none" and not request.thinking
    assert [one.content for one in request.messages[:-1]] == ["Be brief.", *_texts(turns[:2])]
    assert request.messages[-1].content.startswith("Summarize our conversation so far.")
    assert app.session.chat.cut == Cut(turns[2], turns[1].answered) and len(app.engine.requests) == 4
    app.until(lambda: not app.meter.counting)
    assert not app.message.chat_full and len(turns) == 3
    app.ask("And now?")
    assert sent(app) == ["Be brief.", "Summarize our conversation so far.", WRITTEN, *_texts(turns[2:]), "And now?"]
    assert app.texts[0][0] == "Question 0", "the messages stay in the chat"


def _texts(turns: list[Turn]) -> list[str]:
    return [text for turn in turns for text in (turn.prompt, turn.reply.answer)]


def test_turns_that_do_not_fit_in_one_prompt_are_summarized_in_portions(begin: Begin) -> None:
    app = begin(small_engine(*LONG, answer("Without question 0."), answer("First."), answer("Both."), answer("Four.")))
    turns = summarized(app)
    first, second = app.engine.requests[-2:]
    assert [one.content for one in first.messages[:-1]] == ["Be brief.", *_texts(turns[:1])] and first.rolling is None
    summary = ["Summarize our conversation so far.", "First."]
    assert [one.content for one in second.messages[:-1]] == ["Be brief.", *summary, *_texts(turns[1:2])]
    assert app.session.chat.cut == Cut(turns[2], turns[1].answered)
    assert [one.content for one in app.session.chat.history()][:2] == ["Summarize our conversation so far.", "Both."]
    app.run("undo_compact")
    assert [one.content for one in app.session.chat.history()] == _texts(turns), "the portions have no summaries of their own"


def test_a_summary_includes_messages_that_the_window_left_out(begin: Begin) -> None:
    replies = [answer(text) for text in ("Three.", "Four.", "Five.", "Without the first.", "First.", "Both.")]
    app = begin(roomy_engine(*replies))
    fill(loaded(app))
    app.session.change(rolling=True)
    for number in range(3, 6):
        app.ask(f"Question {number}")
    turns = app.session.chat.turns
    assert turns[3].reply.left_out
    app.run("compact")
    app.until(lambda: not app.services.compactor.running)
    first, second = ([one.content for one in request.messages[1:-1]] for request in app.engine.requests[-2:])
    assert first == _texts(turns[:2]) and second == ["Summarize our conversation so far.", "First.", *_texts(turns[2:4])]
    assert app.session.chat.cut == Cut(turns[4], turns[3].answered)


def test_a_continued_reply_is_read_in_full(begin: Begin) -> None:
    app = begin(small_engine([commit("Half "), done(reason="cancelled")], [commit("done."), done()]))
    app.ask("One")
    turn = app.session.chat.turns[0]
    app.session.set_summary(turn.last, WRITTEN)
    app.session.resume(turn)
    app.idle()
    assert [one.content for one in app.session.chat.history()] == ["One", "Half done."]
    app.press("Undo")
    assert [one.content for one in app.session.chat.history()][1] == WRITTEN


@pytest.mark.parametrize("leave", [False, True])
def test_a_reply_that_is_not_continued_keeps_its_summary(begin: Begin, tmp_path: Path, leave: bool) -> None:
    (tmp_path / "data").mkdir()
    gate = threading.Event()
    app = begin(small_engine([commit("Half "), done(reason="cancelled")], [gate, refuse("No.")]), data=tmp_path / "data")
    app.ask("One")
    chat = app.session.chat
    app.session.set_summary(chat.turns[0].last, WRITTEN)
    app.session.resume(chat.turns[0])
    assert chat.cut is None
    if leave:
        app.session.new_chat()
    gate.set()
    app.idle()
    assert chat.turns[0].last.summary == WRITTEN and "Undo" not in [one.title for n in app.noticed for one in n.actions]
    app.quit()
    again = begin(small_engine(), data=tmp_path / "data")
    again.session.open_chat(chat.id)
    again.until(lambda: again.session.chat.id == chat.id)
    assert again.session.chat.turns[0].last.summary == WRITTEN


def test_a_summary_is_sent_even_if_the_window_left_messages_out_before(begin: Begin) -> None:
    """It was left out itself, because earlier replies had left out as many messages."""
    app = begin(small_engine(*LONG, answer("Four."), answer("Five.")))
    fill(loaded(app))
    app.session.change(rolling=True)
    app.ask("Question 3")
    turns = app.session.chat.turns
    assert turns[3].reply.left_out == 4 and app.session.chat.cut == Cut(turns[2])
    app.session.set_summary(turns[2].last, WRITTEN)
    assert app.session.chat.cut == Cut(turns[3], turns[2].answered)
    app.ask("Question 4")
    assert sent(app)[:4] == ["Be brief.", "Summarize our conversation so far.", WRITTEN, "Question 3"]
    assert app.engine.requests[-1].rolling == 0


def test_without_the_window_the_line_shows_the_summary_that_is_sent_again(start: Start) -> None:
    """The line still had no summary, which the next prompt began with."""
    app = start(small_engine(*LONG, answer("Four.")))
    fill(app)
    turns = app.session.chat.turns
    app.session.set_summary(turns[0].last, WRITTEN)
    app.session.change(rolling=True)
    turns[2].reply.left_out = 2  # the summary
    app.session.change(rolling=True)
    assert app.session.chat.cut == Cut(turns[1])
    show_line(app)
    app.session.change(rolling=False)
    assert app.session.chat.history()[1].content == WRITTEN and app.session.chat.cut == Cut(turns[1], turns[0].answered)
    line = show_line(app)
    assert line.label.text() == "The model reads a summary of what is above this line." and line.undo_button.isEnabled()
    assert WRITTEN in chat_export.to_markdown(app.session.chat) and app.can("undo_compact")
    app.session.change(rolling=True)
    assert app.session.chat.cut == Cut(turns[1]) and WRITTEN not in chat_export.to_markdown(app.session.chat)


def test_undo_sends_the_messages_again_and_can_be_undone(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN)))
    turns = summarized(app)
    history = app.session.chat.history()
    assert history[1].content == WRITTEN
    app.run("undo_compact")
    assert [one.content for one in app.session.chat.history()] == _texts(turns) and not app.can("undo_compact")
    app.until(lambda: app.message.chat_full)
    app.press("Undo")
    assert app.session.chat.history() == history
    app.until(lambda: not app.message.chat_full)


def test_an_edit_above_the_line_has_no_summary_and_one_below_keeps_it(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN), answer("Below."), answer("Above.")))
    turns = summarized(app)
    app.session.edit(turns[2])
    app.ask("Question 2, edited")
    assert sent(app) == ["Be brief.", "Summarize our conversation so far.", WRITTEN, "Question 2, edited"]
    app.session.edit(turns[1])
    app.ask("Question 1, edited")
    assert sent(app) == ["Be brief.", *_texts(turns[:1]), "Question 1, edited"] and app.session.chat.cut is None
    app.session.switch(app.session.chat.turns[1].asked, -1)  # type: ignore[arg-type]
    assert app.session.chat.cut is not None, "the other version has it"


def test_a_second_summary_includes_the_first_and_undo_returns_to_it(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN), answer("word " * 40 + "end"), answer("We went on.")))
    turns = summarized(app)
    app.ask("And now?")
    app.run("compact")
    app.until(lambda: not app.services.compactor.running)
    assert sent(app)[:4] == ["Be brief.", "Summarize our conversation so far.", WRITTEN, turns[2].prompt]
    assert [one.content for one in app.session.chat.history()][1] == "We went on."
    app.run("undo_compact")
    assert [one.content for one in app.session.chat.history()][1] == WRITTEN
    assert app.notices[-1] == "The earlier summary replaces the older messages again."


@pytest.mark.parametrize("way", ["cancel", "failure", "nothing", "cut off", "too long", "another chat", "quit"])
def test_a_message_without_its_summary_is_kept(begin: Begin, way: str) -> None:
    gate = threading.Event()
    said = {
        "failure": [gate, refuse("No.")],
        "nothing": [gate, done()],
        "cut off": [gate, commit(WRITTEN), done(reason="length")],
        "too long": [gate, UserError("context_full", "No.")],
    }.get(way, [gate, commit(WRITTEN), done()])
    app = begin(roomy_engine(said))
    fill(loaded(app))
    chat = app.session.chat
    app.run("compact")
    app.send("And now?")
    assert app.message.note == NOTE and app.notices == []
    app.until(lambda: len(app.engine.requests) == 4)
    if way == "another chat":
        app.session.new_chat()
    elif way == "quit":
        app.services.close()
    elif way == "cancel":
        app.services.compactor.cancel()
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert chat.cut is None and len(app.engine.requests) == 4
    canceled = ["The summary of “Question 0” was canceled because you opened another chat."] if way == "another chat" else []
    assert [one for one in app.notices if "canceled" in one] == canceled
    if way != "quit":
        app.until(lambda: not app.services.engine.busy)
        app.session.open_chat(chat.id)
        app.until(lambda: app.session.chat is chat and not app.meter.counting)
        assert app.message.text == "And now?" and not app.message.note
        assert any("It is a draft in its chat." in one for one in app.notices)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([UserError("context_full", "No.")], "A message is too long to be summarized"),
        ([UserError("context_exceeded", "No.")], "A message is too long to be summarized"),
        ([UserError("remote_context_exceeded", "No.")], "A message is too long to be summarized"),
        ([commit(WRITTEN), done(reason="length", tokens=3)], "The context has too little room for a summary"),
        ([commit(WRITTEN), done(reason="length", tokens=MAX_TOKENS)], "The summary was too long"),
    ],
)
def test_a_notice_says_why_there_is_no_summary(begin: Begin, script: Script, why: str) -> None:
    app = begin(roomy_engine(script))
    fill(loaded(app))
    app.run("compact")
    app.until(lambda: not app.services.compactor.running)
    assert app.session.chat.cut is None and app.notices[-1].startswith(why)


def test_a_message_waits_for_the_summary_and_is_sent_below_it(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(roomy_engine([gate, commit(WRITTEN), done()], answer("Go on.")))
    fill(loaded(app))
    app.run("compact")
    app.send("And now?")
    gate.set()
    app.until(lambda: len(app.session.chat.turns) == 4 and not app.activity.busy)
    assert app.texts[-1] == ("And now?", "Go on.") and WRITTEN in sent(app)


def test_replies_and_comparisons_wait_for_a_summary(begin: Begin) -> None:
    gate = threading.Event()
    app = begin(roomy_engine([gate, commit(WRITTEN), done()]))
    fill(loaded(app))
    app.run("compact")
    app.session.regenerate(app.session.chat.turns[-1])
    assert app.notices == ["A summary is being written. Wait for it to finish, or cancel it."]
    assert app.activity.busy and not app.can("compact")
    gate.set()
    app.until(lambda: not app.activity.busy)


def test_a_reply_that_filled_the_context_is_continued_below_a_summary(begin: Begin) -> None:
    cut_off = [commit("word " * 40, 40), done(reason="length", tokens=40)]
    app = begin(small_engine(answer("word " * 55), cut_off, answer(WRITTEN), [commit("end."), done(tokens=1)]))
    loaded(app)
    app.ask("One")
    app.ask("Two")
    turns = app.session.chat.turns
    app.session.set_summary(turns[0].last, WRITTEN)
    assert turns[1].reply.context_full
    app.session.resume(turns[1])
    app.idle()
    assert app.engine.requests[-1].continue_from == "word " * 40 and WRITTEN in sent(app)


def test_older_messages_are_summarized_automatically_only_if_wanted(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN), [refuse("No.")]))
    fill(loaded(app))
    assert app.session.chat.cut is None and len(app.engine.requests) == 3
    app.services.preferences.auto_compact = True
    app.until(lambda: app.session.chat.cut is not None)
    assert [one.text for one in app.noticed][-2:] == [
        "The context is nearly full, so older messages are being summarized.",
        "A summary replaces the older messages in prompts. They stay in the chat.",
    ]
    app.run("undo_compact")
    app.until(lambda: app.message.chat_full)
    assert len(app.engine.requests) == 4, "once for each end of the chat"


def test_a_long_message_starts_no_summary(begin: Begin) -> None:
    app = begin(small_engine(answer("word " * 20)))
    loaded(app)
    app.services.preferences.auto_compact = True
    app.ask("One")
    app.message.write("word " * 200)
    app.until(lambda: bool(app.message.obstacle))
    assert not app.services.compactor.running and len(app.engine.requests) == 1


def test_an_edit_starts_no_summary(begin: Begin) -> None:
    app = begin(roomy_engine())
    fill(loaded(app))
    app.session.edit(app.session.chat.turns[2])
    app.message.write("word " * 170)
    app.until(lambda: app.meter.use is not None and 450 <= app.meter.use.used < 500 and not app.meter.counting)
    app.services.preferences.auto_compact = True
    assert not app.services.compactor.running


def test_a_chat_is_nearly_full_without_its_message() -> None:
    def is_full(draft: bool, misfit: Misfit | None = None, **parts: int) -> bool:
        made = PromptParts(**parts)
        return ContextUse(made.total, 100, draft, misfit, parts=made).chat_nearly_full

    assert is_full(False, chat=90) and is_full(True, chat=80, template=10, message=5) and not is_full(True, chat=50, message=45)
    assert not is_full(True, chat=50, files=45) and not is_full(False, Misfit("tools"), chat=50, tools=50)
    assert is_full(True, Misfit("chat"), chat=100)


def test_a_chat_that_is_opened_is_not_summarized_before_it_grows(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(roomy_engine(), data=tmp_path / "data")
    fill(loaded(app))
    chat = app.session.chat.id
    app.quit()
    again = begin(roomy_engine(), data=tmp_path / "data")
    again.until(lambda: again.session.chat.id == chat)
    loaded(again).services.preferences.auto_compact = True
    again.until(lambda: again.message.chat_full and not again.meter.counting)
    assert not again.services.compactor.running and not again.engine.requests


def test_summaries_are_stored_exported_and_found(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    app = begin(roomy_engine(answer("We counted **kumquats**.")), data=tmp_path / "data")
    summarized(app)
    chat, hits = app.session.chat, list[object]()
    app.library.search("kumquats", hits.append)
    app.until(lambda: bool(hits))
    assert [hit.message for hit in hits[0]] == [chat.turns[1].last.id]  # type: ignore[attr-defined]
    copy = chat_from_json(chat_to_json(chat))
    assert copy.history() == chat.history() and "kumquats" in chat_export.to_markdown(copy)
    app.quit()
    again = begin(small_engine(), data=tmp_path / "data")
    again.until(lambda: again.session.chat.id == chat.id)
    assert again.session.chat.history() == chat.history()


def show_line(app: Running) -> CutView:
    app.until(lambda: bool(app.window.transcript.findChildren(CutView)))
    app.window.transcript.go_to_message([item.kind for item in app.window.transcript.column.items].index("cut"))
    return app.window.transcript.findChildren(CutView)[-1]


def test_a_search_in_the_chat_opens_the_summary(start: Start) -> None:
    app = start(roomy_engine(answer("We counted kumquats.")))
    summarized(app)
    find = app.window.transcript.find_bar
    find.open_search()
    find.field.setText("kumquats")
    app.until(lambda: not find.searching)
    find.find_next()
    assert find.count.text() == "1 of 1" and show_line(app).shown.isVisible()


def test_what_is_compacted(begin: Begin) -> None:
    """All but the latest two turns; fewer stay if they have too much of the text."""

    def covered(*sizes: int, share: float = 0.5) -> int:
        chat = Chat()
        for size in sizes:
            turn = chat.ask("q", "plain")
            assert turn.answered is not None
            turn.answered.reply = turn.reply = Reply("plain", 9, answer="w" * size, reason="eos")
        return len(chat.compactable(share))

    assert [covered(*sizes) for sizes in ((), (9,), (9, 9), (9, 9, 9, 9), (9, 9, 99), (99, 9, 9), (0, 9))] == [0, 1, 1, 2, 3, 1, 1]
    assert [covered(*sizes, share=1.0) for sizes in ((9,), (9, 99), (9, 9, 99))] == [1, 1, 1]


@given(st.lists(st.sampled_from(["", "text", "summary"]), max_size=6))
def test_a_chat_can_be_compacted_if_there_are_turns_to_summarize(replies: list[str]) -> None:
    chat = Chat()
    for text in replies:
        turn = chat.ask("q", "plain")
        turn.reply.answer, turn.reply.reason = text, "eos"
        turn.last.summary = WRITTEN if text == "summary" else ""
    assert chat.can_compact == bool(chat.compactable())


def test_a_long_chat_builds_few_messages_to_offer_compact(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """It built all of them for each delivery of a reply."""
    app, built = loaded(begin()), list[Reply]()
    for number in range(20):
        turn = app.session.chat.ask(f"Question {number}", "plain")
        turn.reply.answer, turn.reply.reason = "text", "eos"
    messages = Reply.messages.fget
    monkeypatch.setattr(Reply, "messages", property(lambda reply: built.append(reply) or messages(reply)))  # type: ignore
    assert app.services.compactor.can_compact and len(built) == 1


def test_the_meter_counts_the_summary(begin: Begin) -> None:
    app = begin(roomy_engine(answer(WRITTEN)))
    turns = summarized(app)
    counted: CountTokens = app.engine.counted[-1]
    assert [one.content for one in counted.messages] == [
        "Be brief.", "Summarize our conversation so far.", WRITTEN, *_texts(turns[2:])
    ]  # fmt: skip
    assert app.meter.use is not None and app.meter.use.used == app.engine.count_tokens(counted).tokens
