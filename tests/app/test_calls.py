"""Tool calls in a stored chat: kept, searched, exported, sent again, and never run again."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from app.storage import chat_export, chat_import
from app.storage.chat_tree import Chat, Cut, Turn, messages_before_prompt, messages_to, same_again
from app.storage.records import chat_from_json, chat_to_json
from app.storage.reply import Reply
from app.storage.salvage import read_database
from app.storage.store import Snapshot, Store
from mlx_engine.contract.requests import Message, ToolCall
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.record import STOPPED, CallRecord, CallState, messages_of
from mlx_engine.mcp.tool import ToolResult
from mlx_engine.mcp.tool_turn import ToolTurn
from tests.app.chats import calls, texts
from tests.app.scripted_engine import commit, done, stats
from tests.app.tools_in_chat import CALCULATOR

SUM = CallRecord(ToolCall("call_1", "calculator", '{"expression": "4817 × 392"}'), "Calculator", "calculator", answer_end=12)
DONE = replace(SUM, state="done", result="1888264", seconds=0.012)


def chat_with(*records: CallRecord, answer: str = "Let me see. It is 1,888,264.", reason: str = "eos") -> tuple[Chat, Turn]:
    chat = Chat()
    turn = chat.ask("What is 4817 × 392?", "dflash")
    turn.reply.answer, turn.reply.reason, turn.reply.calls = answer, reason, records  # type: ignore[assignment]
    turn.reply.answer_by.add(len(answer))
    turn.reply.stats = stats()
    return chat, turn


def saved(chat: Chat, file: Path | None = None) -> Store:
    store = Store(file)
    store.save(Snapshot.of(chat, chat.root.below()))
    return store


def test_a_reply_with_calls_has_steps_with_their_texts() -> None:
    _, turn = chat_with(DONE)
    first, last = turn.reply.steps
    assert (first.answer, first.calls, last.answer, last.calls) == ("Let me see. ", (DONE,), "It is 1,888,264.", ())
    assert turn.reply.text == "Let me see.\n\nIt is 1,888,264."


def test_later_questions_send_the_calls_with_their_results() -> None:
    chat, turn = chat_with(DONE)
    chat.ask("And twice that?", "dflash")
    sent = chat.turns[-1].request.messages
    assert [one.role for one in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[1].calls == (SUM.call,) and sent[2] == Message("tool", "1888264", call_id="call_1")
    assert messages_before_prompt(chat.turns[-1].request) == 4
    assert messages_before_prompt(same_again(turn)) == 0  # the messages of its own steps come after the prompt


def test_a_turn_that_ended_with_a_result_is_sent_with_an_empty_reply() -> None:
    """Many templates require an assistant's message before the next question."""
    chat, _ = chat_with(replace(SUM, answer_end=0, state="stopped", result=STOPPED), answer="", reason="cancelled")
    assert [one.role for one in chat.history()] == ["user", "assistant", "tool", "assistant"]


def test_a_result_that_did_not_fit_is_not_sent_with_the_next_question() -> None:
    chat, _ = chat_with(replace(DONE, answer_end=28), reason="error")
    assert chat.history() == ()


def test_the_rolling_window_counts_the_messages_of_calls() -> None:
    chat, first = chat_with(DONE)
    chat.settings = replace(chat.settings, rolling=True)
    second = chat.ask("And twice that?", "dflash")
    second.reply.answer, second.reply.left_out = "3,776,528.", len(first.reply.messages) + 1
    assert second.reply.left_out == 4 and chat.cut == Cut(second)


def test_the_last_step_is_repeated_after_the_calls_before_it() -> None:
    _, turn = chat_with(DONE)
    request = same_again(turn, ("{}",))
    assert [one.role for one in request.messages] == ["user", "assistant", "tool"]
    assert (request.continue_from, request.seed, request.tools) == ("", 7, ("{}",))


@given(texts, texts, st.data())
def test_the_stored_calls_become_the_messages_that_were_sent(answer: str, thinking: str, data: st.DataObject) -> None:
    records = data.draw(calls(answer, thinking))
    reply = Reply("plain", 100, answer, thinking, calls=records)
    assert "".join(step.answer for step in reply.steps) == answer
    assert "".join(step.thinking for step in reply.steps) == thinking
    sent = messages_of(answer, thinking, records)
    assert "".join(one.content for one in sent if one.role == "assistant") == answer
    assert [one.call_id for one in sent if one.role == "tool"] == [record.call.id for record in records]
    said = [(step.answer, step.thinking, tuple(one.call for one in step.calls)) for step in reply.steps]
    if said[-1] == ("", "", ()) and records:
        said.pop()
    assert said == [(one.content, one.thinking, one.calls) for one in sent if one.role == "assistant"]


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, str, list[tuple[ToolCall, str]]]]:
    """Answer, thinking, and calls of some steps. The text with a call is its result, or empty if the call is denied."""
    names, arguments = st.sampled_from(["calculator", "unknown"]), st.sampled_from(["{}", '{"a": "\u00d7"}', "[]", ""])
    made = st.builds(ToolCall, st.sampled_from(["a", "b", ""]), names, arguments)
    return draw(st.lists(st.tuples(texts, texts, st.lists(st.tuples(made, texts), min_size=1, max_size=3)), min_size=1, max_size=4))


@given(steps(), texts)
def test_what_the_loop_sends_is_what_a_stored_chat_sends_again(made: list, rest: str) -> None:
    chat = Chat()
    turn = chat.ask("What is 4817 × 392?", "dflash")
    state, reply = ToolTurn(turn.request, {"calculator": CALCULATOR}, Approvals(), chat.id), turn.reply
    sent = state.request()
    for answer, thinking, asked in made:
        state.submitted()
        reply.accept(commit(thinking, channel="thinking"), 0.0)
        reply.accept(commit(answer), 0.0)
        for call, _ in asked:
            state.called(call)
        added = state.replied("tool_calls", reply.answer, reply.thinking)
        state.closed()
        results = {record.call.id: result for record, (_, result) in zip(added, asked, strict=True)}
        for call_id, result in results.items():
            state.decide(call_id, "once" if result else "deny")
        for record, _ in state.ready:
            state.started(record.call.id, lambda: None, 0.0)
            state.ended(record.call.id, ToolResult(results[record.call.id]), 0.5)
        reply.calls = state.calls
        assert state.has_next
        before, sent = sent, state.request(reply.answer, reply.thinking)
        assert sent.messages[: len(before.messages)] == before.messages
    reply.accept(commit(rest), 0.0)
    reply.accept(done(), 0.0)
    (stored,) = chat_from_json(chat_to_json(chat)).turns
    assert same_again(stored, sent.tools) == replace(sent, seed=7)
    assert stored.reply.steps[-1].answer == rest


def test_calls_in_a_damaged_database_are_recovered(tmp_path: Path) -> None:
    chat, turn = chat_with(DONE)
    with closing(saved(chat, tmp_path / "chats.db")) as store:
        store._db.execute("PRAGMA journal_mode = DELETE")
    data = bytearray((tmp_path / "chats.db").read_bytes())
    data[36:40] = b"\0\0\0\x7f"  # the number of free pages
    (tmp_path / "chats.db").write_bytes(data)
    (found,) = read_database(tmp_path / "chats.db").chats
    assert found.chat.turns[0].reply.calls == turn.reply.calls


def test_open_calls_are_stopped_when_a_chat_is_read() -> None:
    """Whatever a file claims: nothing is approved or running."""
    for state in get_args(CallState):
        chat, _ = chat_with(replace(SUM, state=state))
        (call,) = chat_from_json(chat_to_json(chat)).turns[0].reply.calls
        assert call.ended and (call.state, call.result) == (
            (state, "") if replace(SUM, state=state).ended else ("stopped", STOPPED)
        )


def test_a_crash_in_mid_call_keeps_everything(tmp_path: Path) -> None:
    chat, turn = chat_with(DONE, replace(SUM, call=ToolCall("call_2", "calculator", "{}"), state="running"))
    turn.reply.reason = None
    with closing(saved(chat, tmp_path / "chats.db")):
        pass
    with closing(Store(tmp_path / "chats.db")) as store:
        store.recover()
        loaded = store.load(chat.id)
        assert loaded is not None
        reply = loaded.turns[0].reply
        assert (reply.answer, reply.reason) == (turn.reply.answer, "interrupted")
        assert [call.state for call in reply.calls] == ["done", "stopped"]
        assert reply.calls[0] == DONE
        assert [hit.message for hit in store.search("1888264")] == [loaded.turns[0].last.id]


def test_damaged_lengths_and_fields_of_calls_are_repaired() -> None:
    chat, _ = chat_with(DONE, replace(DONE, step=1, answer_end=9999), replace(DONE, step=2, answer_end=3))
    data = chat_to_json(chat)
    data["messages"][1]["details"]["calls"] += [{"call": 3}, "x", {"call": {"id": "a"}, "state": "approved"}]
    reply = chat_from_json(data).turns[0].reply
    assert [call.answer_end for call in reply.calls[:3]] == [12, 28, 28]
    assert all(call.ended for call in reply.calls)
    assert "".join(step.answer for step in reply.steps) == reply.answer


def test_names_arguments_and_results_of_calls_are_searched() -> None:
    chat, turn = chat_with(DONE)
    with closing(saved(chat)) as store:
        for words in ("expression", "calculator", "1888264", "Calculator see", "}"):
            assert [hit.message for hit in store.search(words)] == [turn.last.id], words
        assert not store.search("call_1") and not store.search("done")
        (hit,) = store.search("1888264")
        assert hit.excerpt[hit.start : hit.end] == "1888264"
        turn.reply.calls = (replace(DONE, result="none"),)
        store.save(Snapshot.of(chat, [turn.last]))
        assert not store.search("1888264") and len(store.search("none")) == 1
        store.delete_message(turn.last.id)
        assert not store.search("calculator")


def test_markdown_has_each_call_between_the_texts_of_its_steps() -> None:
    chat, _ = chat_with(replace(DONE, result="1888264\n```\n# not a heading\u202e"))
    text = chat_export.to_markdown(chat)
    assert text.index("Let me see.") < text.index('{"expression": "4817 × 392"}') < text.index("1888264") < text.index("It is")
    assert "````\n1888264\n```\n# not a heading<U+202E>\n````" in text and "*(tool call: done)*" in text


def test_calls_survive_export_and_import(tmp_path: Path) -> None:
    chat, _ = chat_with(DONE)
    with closing(saved(chat)) as store:
        (summary,) = store.chats()
    chat_export.export([(chat, summary)], {}, tmp_path / "chats.json")
    assert json.loads((tmp_path / "chats.json").read_text())["chats"][0]["messages"][1]["details"]["calls"]
    (imported,) = chat_import.read(tmp_path / "chats.json").chats
    assert imported.chat.turns[0].reply.calls == (DONE,)
    assert messages_to(imported.chat.turns[0].last) == chat.history()
