"""Import of Claude's export."""

import json
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage.chat_import import from_json, import_into, read
from app.storage.chat_tree import Chat
from app.storage.claude_import import claude_chat
from app.storage.store import Store
from tests.app.test_transfer import json_values

ROOT = "00000000-0000-4000-8000-000000000000"  # parent of the first message


def message(sender: str, text: str, uuid: str = "", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"sender": sender, "text": text, "created_at": "2025-03-01T10:00:00.5+00:00"}
    return made | ({"uuid": uuid} if uuid else {}) | more


def conversation(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    dates = {"created_at": "2025-03-01T09:59:00Z", "updated_at": "2025-03-02T10:00:00Z"}
    return {"uuid": "c1", "name": "A chat", **dates, "chat_messages": list(messages), **more}


def said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.reply.answer) for turn in chat.turns]


def test_a_chat_keeps_its_messages_dates_and_model() -> None:
    chat = claude_chat(conversation(message("human", "Hi"), message("assistant", "Hello."), message("human", "Bye")))
    assert said(chat) == [("Hi", "Hello."), ("Bye", "")] and chat.title == "A chat"
    assert (chat.created, chat.changed) == (1740823140.0, 1740909600.0)
    assert chat.turns[0].reply.origin == "Claude" and chat.turns[0].reply.reason == "eos"
    assert claude_chat(conversation(message("human", "Hi there"), name="")).title == "Hi there"


def test_blocks_take_precedence_over_the_text_that_repeats_them() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Let me see."},
        {"type": "text", "text": "First."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Second."},
    ]
    noted = "First.\n```\nThis block is not supported on your current device yet.\n```\nSecond."
    chat = claude_chat(conversation(message("human", "Hi"), message("assistant", noted, content=blocks)))
    assert said(chat) == [("Hi", "First.\n\nSecond.")] and chat.turns[0].reply.thinking == "Let me see."


def test_attached_texts_are_attachments_and_other_files_are_named() -> None:
    attached = [{"file_name": "a b.txt", "file_size": 3, "extracted_content": "abc"}, {"file_name": "empty"}]
    chat = claude_chat(conversation(message("human", "See", attachments=attached, files=[{"file_name": "photo.png"}])))
    asked = chat.turns[0].asked
    assert asked is not None and asked.text == "See\n\n[photo.png]"
    assert [(one.name, one.text, one.size) for one in asked.attachments] == [("a b.txt", "abc", 3)]


def test_branches_are_kept_and_the_latest_message_is_shown() -> None:
    chat = claude_chat(
        conversation(
            message("human", "Hi", "1", parent_message_uuid=ROOT),
            message("assistant", "One", "2", parent_message_uuid="1"),
            message("assistant", "Two", "3", parent_message_uuid="1"),
            message("human", "More", "4", parent_message_uuid="3"),
        )
    )
    assert said(chat) == [("Hi", "Two"), ("More", "")]
    assert chat.turns[0].answered is not None and chat.turns[0].answered.place == (2, 2)


def test_replies_in_a_row_become_one() -> None:
    chat = claude_chat(conversation(message("human", "Hi"), message("assistant", "One"), message("assistant", "Two")))
    assert said(chat) == [("Hi", "One\n\nTwo")]


@pytest.mark.parametrize("kind", ["file", "archive", "folder"])
def test_an_export_is_imported_once(tmp_path: Path, kind: str) -> None:
    chats = [conversation(message("human", "Hi", "1"), message("assistant", "Hello.", "2")), conversation(uuid="c2")]
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(chats))
    if kind == "archive":
        with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
            archive.write(file, "conversations.json")
            archive.writestr("users.json", "[]")
        file = tmp_path / "data.zip"
    elif kind == "folder":
        file = tmp_path
    with closing(Store(None)) as store:
        outcome = import_into(store, file)
        assert [one.chat.title for one in outcome.chats] == ["A chat"]
        assert outcome.remark == "Skipped 1 chat without readable messages."
        chats[0]["chat_messages"].append(message("human", "Bye", "3"))
        if kind == "file":
            file.write_text(json.dumps(chats))
        again = import_into(store, file)
        assert (len(again.chats), again.known, len(again.grown)) == (0, 1, int(kind == "file"))


@given(
    st.lists(
        st.fixed_dictionaries({"chat_messages": st.lists(json_values, max_size=4)}, optional={"name": json_values}), min_size=1
    )
)
def test_strange_values_break_nothing(found: list[dict[str, Any]]) -> None:
    for one in found:
        claude_chat(one)


sender = st.sampled_from(["human", "assistant", "other", None])
messages = st.fixed_dictionaries(
    {"sender": sender, "text": st.text(max_size=5)},
    optional={"uuid": st.sampled_from("abc"), "parent_message_uuid": st.sampled_from("abc"), "created_at": st.text(max_size=5)},
)


@given(st.lists(messages, max_size=9))
def test_every_text_is_kept_and_the_chat_is_a_tree(found: list[dict[str, Any]]) -> None:
    chat = claude_chat(conversation(*found))
    kept = [node.text or (node.reply.answer if node.reply else "") for node in chat.root.below()]
    for one in found:
        text = one["text"].strip()
        assert one["sender"] not in ("human", "assistant") or any(text in each for each in kept) or not text
    assert len({node.id for node in chat.root.below()}) == len(kept)


def test_an_export_without_messages_is_refused() -> None:
    with pytest.raises(Exception, match="None of the chats"):
        from_json([conversation()], "conversations.json")


def test_the_summary_of_a_wrong_file_names_claude(tmp_path: Path) -> None:
    (file := tmp_path / "a.json").write_text("{}")
    with pytest.raises(Exception, match="Claude, LM Studio"):
        read(file)
