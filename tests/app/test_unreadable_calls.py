"""Calls that can't be read, in a reply and where it is stored, copied, exported, and sent again."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage import chat_export, chat_import
from app.storage.chat_tree import Chat, Turn
from app.storage.records import chat_from_json, chat_to_json
from app.storage.reply import Reply
from app.storage.store import Snapshot, Store
from mlx_engine.contract.requests import Message, ToolCall
from mlx_engine.mcp.record import CallRecord
from tests.app.chats import texts
from tests.app.scripted_engine import commit, done

BROKEN = '<tool_call>\n{"name": "calculator"\n</tool_call>'
Said = list[tuple[str, bool]]
answers = st.lists(st.tuples(texts.filter(bool), st.booleans()), max_size=6)


def said(reply: Reply, *pieces: tuple[str, bool]) -> None:
    for text, unreadable in pieces:
        reply.accept(replace(commit(text), unreadable_call=unreadable), 0.0)


def chat_with(*pieces: tuple[str, bool]) -> tuple[Chat, Turn]:
    chat = Chat()
    turn = chat.ask("What is 4817 × 392?", "dflash")
    said(turn.reply, *pieces)
    turn.reply.accept(done(), 0.0)
    return chat, turn


def shown(reply: Reply) -> Said:
    """Return the texts of the shown steps, and whether they are calls that can't be read."""
    return [(step.answer, step.unreadable) for step in reply.shown_steps if step.answer]


def merged(pieces: Sequence[tuple[str, bool]]) -> Said:
    return [("".join(text for text, _ in group), kind) for kind, group in groupby(pieces, key=lambda piece: piece[1])]


@given(answers)
def test_each_is_a_shown_step_of_its_own_in_memory_and_in_a_file(pieces: Said) -> None:
    chat, turn = chat_with(*pieces)
    for reply in (turn.reply, chat_from_json(json.loads(json.dumps(chat_to_json(chat)))).turns[0].reply):
        assert shown(reply) == merged(pieces) and reply.answer == "".join(text for text, _ in pieces)
        assert len(reply.steps) == 1, "the model's own steps stay as they are"


@given(answers, answers)
def test_calls_thinking_and_offsets_stay_with_their_steps(first: Said, last: Said) -> None:
    reply = Reply("dflash", 10)
    for step, pieces in enumerate((first, last)):
        reply.accept(commit("Hm.", channel="thinking"), 0.0)
        said(reply, *pieces)
        record = CallRecord(ToolCall(str(step), "x", "{}"), step=step, answer_end=len(reply.answer), thinking_end=3 * step + 3)
        reply.calls = (*reply.calls, replace(record, state="done"))
    steps = reply.shown_steps
    ends = [at for at, step in enumerate(steps) if step.calls]
    assert [step.calls for step in steps if step.calls] == [step.calls for step in reply.steps if step.calls]
    assert [at for at, step in enumerate(steps) if step.thinking] == [0, ends[0] + 1]
    assert shown(reply) == merged(first) + merged(last)
    for step in steps:
        assert reply.answer[step.answer_start : step.answer_start + len(step.answer)] == step.answer


@given(answers, st.lists(st.tuples(texts.filter(bool), st.booleans()), max_size=3))
def test_shown_steps_only_grow_while_the_reply_is_written(pieces: Said, more: Said) -> None:
    """A view per step stays valid."""
    reply = Reply("dflash", 10)
    said(reply, *pieces)
    before = reply.shown_steps
    said(reply, *more)
    after = reply.shown_steps
    assert after[: len(before) - 1] == before[:-1]
    old, new = before[-1], after[len(before) - 1]
    assert new.answer.startswith(old.answer) and (new.answer_start, new.unreadable) == (old.answer_start, old.unreadable)


@given(st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=2), max_size=5), answers)
def test_damaged_ranges_lose_no_text(ranges: list[list[int]], pieces: Said) -> None:
    chat, turn = chat_with(*pieces)
    data = chat_to_json(chat)
    data["messages"][1]["details"]["unreadable_calls"] = [*ranges, "x", [1], None]
    reply = chat_from_json(data).turns[0].reply
    assert "".join(step.answer for step in reply.shown_steps) == turn.reply.answer
    assert all(step.answer for step in reply.shown_steps if step.unreadable)


def test_replies_of_earlier_versions_have_none() -> None:
    chat, turn = chat_with((BROKEN, True))
    data = chat_to_json(chat)
    del data["messages"][1]["details"]["unreadable_calls"]
    assert shown(chat_from_json(data).turns[0].reply) == [(turn.reply.answer, False)]


def test_they_are_kept_and_searched_in_the_database(tmp_path: Path) -> None:
    chat, turn = chat_with(("Let me see.\n", False), (BROKEN, True))
    with closing(Store(tmp_path / "chats.db")) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
    with closing(Store(tmp_path / "chats.db")) as store:
        loaded = store.load(chat.id)
        assert loaded is not None and shown(loaded.turns[0].reply) == [("Let me see.\n", False), (BROKEN, True)]
        assert [hit.message for hit in store.search("calculator")] == [turn.last.id]


def test_the_model_sees_its_own_text_in_the_next_prompt() -> None:
    chat, _ = chat_with(("Let me see.\n", False), (BROKEN, True))
    chat.ask("Again?", "dflash")
    assert chat.turns[-1].request.messages[1] == Message("assistant", f"Let me see.\n{BROKEN}")


@pytest.mark.parametrize("broken", [BROKEN, "<tool_call>```\n````\n# Heading"])
def test_copies_and_markdown_have_the_text_as_a_code_block(broken: str, tmp_path: Path) -> None:
    chat, turn = chat_with(("Let me see.\n", False), (broken, True), ("\nHm.", False))
    fence = "`" * (5 if "````" in broken else 3)
    block = f"{fence}\n{broken}\n{fence}"
    assert turn.reply.text == f"Let me see.\n\n{block}\n\nHm."
    assert f"Let me see.\n\n*(tool call: unreadable)*\n\n{block}\n\nHm." in chat_export.to_markdown(chat)
    with closing(Store(None)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
        (summary,) = store.chats()
    chat_export.export([(chat, summary)], {}, tmp_path / "chats.json")
    (imported,) = chat_import.read(tmp_path / "chats.json").chats
    assert shown(imported.chat.turns[0].reply) == shown(turn.reply)
