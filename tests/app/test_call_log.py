"""The log of tool calls: read from the chats, newest first, without those before it was cleared."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from app.storage.call_log import MOST_LETTERS, logged_calls
from app.storage.chat_tree import Chat
from app.storage.store import Snapshot, Store
from mlx_engine.contract.requests import ToolCall
from mlx_engine.mcp.record import STOPPED, CallRecord, CallState
from mlx_engine.mcp.tool import ToolResult
from tests.app.conftest import Begin
from tests.app.scripted_engine import commit, done
from tests.app.tools_in_chat import PRODUCT, SECOND, ask_for_call, calling, decide, with_tools

ANSWER = [commit("1,888,264", 3), done()]
SUM = CallRecord(ToolCall("1", "calculator", "{}"), "Calculator", "calculator", state="done", result="7")


def chat_with(records: Sequence[CallRecord], reason: str | None = "eos", created: float = 100.0) -> Chat:
    chat = Chat()
    turn = chat.ask("Hi", "plain")
    turn.reply.reason, turn.reply.calls = reason, tuple(records)  # type: ignore[assignment]
    assert turn.answered is not None
    turn.answered.created = created
    return chat


def stored(*chats: Chat) -> Store:
    store = Store(None)
    for chat in chats:
        store.save(Snapshot.of(chat, chat.root.below()))
    return store


records = st.builds(
    CallRecord,
    st.builds(ToolCall, st.uuids().map(str), st.sampled_from(["add", "read"]), st.sampled_from(["{}", '{"a": 1}', "no JSON"])),
    st.sampled_from(["", "Math"]),
    st.sampled_from(["", "add"]),
    state=st.sampled_from([state for state in get_args(CallState) if state not in ("waiting", "running")]),
    result=st.sampled_from(["", "7", "é\n"]),
    made=st.floats(1, 1e9),
)


@given(st.lists(st.lists(records, max_size=3), max_size=4), st.integers(1, 6))
def test_all_calls_are_listed_and_the_latest_come_first(replies: list[list[CallRecord]], most: int) -> None:
    store = stored(*(chat_with(made, created=max((one.made for one in made), default=0.0)) for made in replies))
    found = store.calls()
    every = sorted((one for made in replies for one in made), key=lambda one: -one.made)
    assert sorted((call.record for call in found), key=lambda one: (-one.made, one.call.id)) == sorted(
        every, key=lambda one: (-one.made, one.call.id)
    )
    assert [call.made for call in found] == [one.made for one in every]
    assert len(logged_calls(store._db, lambda: None, most)) == min(most, len(every))


def test_calls_of_earlier_versions_have_the_time_of_their_reply() -> None:
    (first, second) = stored(chat_with([SUM, replace(SUM, call=SECOND)], created=500.0)).calls()
    assert (first.made, second.made) == (500.0, 500.0)
    assert (first.record.call, second.record.call) == (SECOND, SUM.call)  # the last one first


def test_a_long_result_is_cut_off() -> None:
    (call,) = stored(chat_with([replace(SUM, result="x" * (MOST_LETTERS + 5))])).calls()
    assert call.record.result == "x" * MOST_LETTERS


def test_calls_of_deleted_chats_are_not_listed() -> None:
    chat = chat_with([SUM])
    store = stored(chat)
    store.delete([chat.id])
    assert store.calls() == []
    store.delete([chat.id], deleted=False)
    assert len(store.calls()) == 1


def test_calls_that_a_crash_has_ended_are_stopped(tmp_path: Path) -> None:
    waiting = chat_with([replace(SUM, state="waiting", result="")], reason=None)
    with closing(Store(tmp_path / "chats.sqlite")) as store:
        store.save(Snapshot.of(waiting, waiting.root.below()))
        assert [call.record.state for call in store.calls()] == ["waiting"]
    with closing(Store(tmp_path / "chats.sqlite")) as store:
        store.recover()
        assert [(call.record.state, call.record.result) for call in store.calls()] == [("stopped", STOPPED)]
        store._db.execute("UPDATE message SET details = '{', running = 1 WHERE role = 'assistant'")
        store.clear_calls()
        assert store.calls() == [], "a damaged message is left out"


def test_a_cleared_log_lists_open_and_later_calls(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    clock = count(1_000)
    monkeypatch.setattr("app.storage.call_log.time.time", lambda: float(next(clock)))
    waiting = replace(SUM, call=replace(PRODUCT, id="open"), state="waiting", made=900.0)
    running = chat_with([replace(SUM, made=800.0), waiting], reason=None)
    store = stored(chat_with([replace(SUM, made=700.0)]), running)
    store.clear_calls()
    assert [call.record.call.id for call in store.calls()] == ["open"]
    ended = running.turns[0]
    ended.reply.reason, ended.reply.calls = "eos", (replace(SUM, made=800.0), replace(waiting, state="denied"))
    store.save(Snapshot.of(running, running.root.below()))
    assert [call.record.state for call in store.calls()] == ["denied"]
    store.clear_calls()
    assert store.calls() == []
    store.save(Snapshot.of(later := chat_with([replace(SUM, made=2_000.0)]), later.root.below()))
    assert len(store.calls()) == 1


def test_calls_are_logged_as_they_are_made_denied_and_deleted(begin: Begin) -> None:
    app, tools = with_tools(begin, [calling(PRODUCT, SECOND), ANSWER])
    log = app.services.calls
    log.refresh()
    app.until(lambda: log.loaded)
    assert log.shown == []
    ask_for_call(app)
    app.until(lambda: [call.record.state for call in log.shown] == ["waiting", "waiting"])
    assert log.title(log.shown[0]) == app.library.entries[app.session.chat.id].title
    decide(app, "deny")
    decide(app, "once")
    app.until(lambda: sorted(call.record.state for call in log.shown) == ["denied", "running"])
    tools.open["read_file"][0](ToolResult("Some notes"))
    app.idle()
    app.until(lambda: sorted(call.record.state for call in log.shown) == ["denied", "done"])
    assert all(call.made > 1_700_000_000 for call in log.shown)
    assert log.tools == [("Calculator", "calculator"), ("Files", "read_file")]
    log.filter(("Calculator", "calculator"))
    assert [(call.record.state, call.record.result) for call in log.shown] == [("denied", "The user denied this call.")]
    log.filter(None)
    app.library.delete([app.session.chat.id])
    assert log.shown == []
    app.library.undo()
    assert len(log.shown) == 2
    log.clear()
    app.until(lambda: log.shown == [])
    assert len(app.session.chat.turns[0].reply.calls) == 2


def test_a_log_that_is_closed_while_it_is_read_stays_empty(begin: Begin) -> None:
    app, _ = with_tools(begin, [calling(PRODUCT), ANSWER], calculator="7")
    ask_for_call(app)
    decide(app, "once")
    app.idle()
    log, read = app.services.calls, list[object]()
    log.refresh()
    log.close()
    app.services.store.read_long(lambda store, pause: None, read.append)  # after the calls
    app.until(lambda: bool(read))
    assert not log.loaded and log.calls == []
