"""Import of chats of LM Studio, Jan, and Open WebUI."""

import base64
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage.chat_import import from_json, import_into, read, read_several
from app.storage.chat_tree import Chat
from app.storage.imported_files import LinkedImages
from app.storage.imported_messages import moment
from app.storage.jan_import import jan_chat
from app.storage.lm_studio_import import lm_studio_chat
from app.storage.open_webui_import import open_webui_chat
from app.storage.records import text_of
from app.storage.store import Store
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError
from tests.app.pictures import landscape
from tests.app.test_transfer import json_values

NOW = 1_740_823_140_000  # milliseconds
PNG = landscape(3, 2)
URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


def said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.prompt, turn.reply.answer) for turn in chat.turns]


def texts_in(chat: Chat) -> str:
    return "\n".join(text for node in chat.root.below() for text in text_of(node))


# LM Studio


def asked(*texts: str, files: tuple[dict[str, Any], ...] = (), chosen: int = 0) -> dict[str, Any]:
    contents = [[{"type": "text", "text": text}, *files] for text in texts]
    return {"versions": [{"type": "singleStep", "role": "user", "content": one} for one in contents], "currentlySelected": chosen}


def step(text: str, at: int = 0, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text, "fromDraftModel": False, "tokensCount": 1, "isStructural": False}]
    return {"type": "contentBlock", "stepIdentifier": f"{NOW + at}-0.25", "content": content, **more}


def answered(*versions: list[dict[str, Any]], chosen: int = 0) -> dict[str, Any]:
    sender = {"senderName": "qwen3-8b"}
    made = [{"type": "multiStep", "role": "assistant", "steps": steps, "senderInfo": sender} for steps in versions]
    return {"versions": made, "currentlySelected": chosen}


def conversation(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    dates = {"createdAt": NOW, "userLastMessagedAt": NOW + 5000, "assistantLastMessagedAt": NOW + 9000}
    model = {"lastUsedModel": {"identifier": "last-model"}}
    return {"name": "A chat", "pinned": True, **dates, "systemPrompt": "Be brief.", "messages": list(messages), **model, **more}


class TestLmStudio:
    def test_messages_dates_model_and_system_prompt_are_kept(self) -> None:
        thinking = step("Hm.", 1000, style={"type": "thinking", "ended": True})
        thinking["content"].insert(0, {"type": "text", "text": "<think>", "isStructural": True})
        tool = {"type": "toolStatus", "stepIdentifier": f"{NOW + 1500}-0.1", "callId": 1}
        data = conversation(asked("Hi"), answered([thinking, tool, step("Hello.", 2000)]), asked("Bye"))
        found = lm_studio_chat(data, LinkedImages())
        chat, (first, second) = found.chat, found.chat.turns
        assert said(chat) == [("Hi", "Hello."), ("Bye", "")] and first.reply.thinking == "Hm." and first.reply.origin == "qwen3-8b"
        assert (chat.title, chat.settings.system, found.pinned, found.dated) == ("A chat", "Be brief.", True, True)
        assert (chat.created, chat.changed) == (NOW / 1000, NOW / 1000 + 9)
        assert first.answered is not None and first.answered.created == NOW / 1000 + 2
        assert second.asked is not None and second.asked.created == NOW / 1000 + 2, "no date of its own"

    def test_versions_are_kept_and_the_selected_ones_are_shown(self) -> None:
        data = conversation(asked("One", "Two", chosen=1), answered([step("A")], [step("B")], [step("C")], chosen=1), asked("End"))
        chat = lm_studio_chat(data, LinkedImages()).chat
        assert said(chat) == [("Two", "B"), ("End", "")]
        turn = chat.turns[0]
        assert turn.asked is not None and turn.answered is not None
        assert (turn.asked.place, turn.answered.place) == ((2, 2), (2, 3))

    def test_images_come_from_the_folder_for_files(self, tmp_path: Path) -> None:
        (tmp_path / "user-files").mkdir()
        (tmp_path / "user-files/17 - 4.png").write_bytes(PNG)
        (tmp_path / "user-files/17 - 4.png.metadata.json").write_text(json.dumps({"originalName": "cat.png"}))
        (tmp_path / "outside.png").write_bytes(PNG)
        names = ["17 - 4.png", "gone.png", "../outside.png"]
        files = tuple({"type": "file", "fileIdentifier": name, "fileType": "image", "sizeBytes": 9} for name in names)
        (folder := tmp_path / "conversations/Work").mkdir(parents=True)
        (folder / "1.conversation.json").write_text(json.dumps(conversation(asked("See", files=files))))
        with closing(Store(None)) as store:
            (one,) = import_into(store, folder / "1.conversation.json").chats
            chat = store.load(one.chat.id)
            assert chat is not None
            (turn,) = chat.turns
            assert turn.asked is not None and turn.prompt == "See\n\n[gone.png]\n\n[../outside.png]"
            assert [(file.name, file.picture and file.picture.file.data) for file in turn.asked.attachments] == [("cat.png", PNG)]

    def test_a_folder_is_imported_once_and_names_what_it_skips(self, tmp_path: Path) -> None:
        (tmp_path / "Work").mkdir()
        for name, data in {
            "1": conversation(asked("Hi"), answered([step("Hello.")])),
            "Work/2": conversation(asked("Other"), createdAt=NOW + 1),
            "3": conversation(),
        }.items():
            (tmp_path / f"{name}.conversation.json").write_text(json.dumps(data))
        (tmp_path / "4.conversation.json").write_text("{")
        with closing(Store(None)) as store:
            outcome = import_into(store, tmp_path)
            assert sorted(turn.prompt for one in outcome.chats for turn in one.chat.turns) == ["Hi", "Other"]
            assert "Skipped 1 chat without readable messages." in outcome.remark
            assert "Skipped a file: “4.conversation.json” isn't a valid JSON file." in outcome.remark
            assert outcome.remark.count("4.conversation.json") == 1
            file = tmp_path / "1.conversation.json"
            file.write_text(json.dumps(conversation(asked("Hi"), answered([step("Hello.")]), asked("Bye"))))
            again = import_into(store, [file, tmp_path / "Work/2.conversation.json"])
            assert (len(again.chats), again.known, len(again.grown)) == (0, 2, 1)

    def test_files_of_which_none_can_be_read_are_refused(self, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / f"{name}.json").write_text("{")
        with pytest.raises(UserError, match=r"^None of the 2 files can be imported\. “a\.json” is[^“]*$"):
            read_several([tmp_path / "a.json", tmp_path / "b.json"])


# Jan


def jan_message(role: str, *parts: dict[str, Any], at: float = 0, **more: Any) -> dict[str, Any]:
    return {"id": f"m{at}", "object": "thread.message", "role": role, "content": list(parts), "created_at": NOW / 1000 + at, **more}


def jan_text(value: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": {"value": value, "annotations": []}}


def thread_folder(folder: Path, *messages: dict[str, Any], lines: str = "", **more: Any) -> Path:
    folder.mkdir(parents=True)
    assistant = {"assistant_id": "jan", "model": {"id": "qwen3:8b", "engine": "mlx"}, "instructions": "Be kind."}
    thread = {"id": folder.name, "object": "thread", "title": "A thread", "assistants": [assistant], "updated": NOW / 1000 + 99}
    (folder / "thread.json").write_text(json.dumps(thread | more))
    (folder / "messages.jsonl").write_text("\n".join(map(json.dumps, messages)) + lines)
    return folder


class TestJan:
    def test_messages_dates_images_and_thinking_are_kept(self, tmp_path: Path) -> None:
        folder = thread_folder(
            tmp_path / "threads/jan_1",
            jan_message("assistant", jan_text("Hm.", "reasoning"), jan_text("A cat."), at=2),  # older versions: the latest first
            jan_message("user", jan_text("What?"), {"type": "image_url", "image_url": {"url": URL, "detail": "auto"}}, at=1),
            jan_message("user", jan_text("And?"), at=3),
            jan_message("assistant", jan_text("<think>\nSo.\n</think>\n\nEnd."), at=4, metadata={"modelId": "other"}),
        )
        with closing(Store(None)) as store:
            (one,) = import_into(store, folder / "thread.json").chats
            chat = store.load(one.chat.id)
            assert chat is not None and said(chat) == [("What?", "A cat."), ("And?", "End.")]
            assert [(turn.reply.thinking, turn.reply.origin) for turn in chat.turns] == [("Hm.", "qwen3:8b"), ("So.", "other")]
            assert (chat.title, chat.settings.system) == ("A thread", "Be kind.")
            assert (chat.created, chat.changed) == (NOW / 1000 + 1, NOW / 1000 + 99)
            asked = chat.turns[0].asked
            assert asked is not None and [file.picture and file.picture.file.data for file in asked.attachments] == [PNG]
            for source in (folder, folder / "messages.jsonl", tmp_path, tmp_path / "threads"):
                assert import_into(store, source).known == 1

    def test_images_of_older_versions_are_in_the_folder(self, tmp_path: Path) -> None:
        url = {"type": "image_url", "image_url": {"url": "file://threads/jan_1/files/a.png"}}
        folder = thread_folder(tmp_path / "jan_1", jan_message("user", jan_text("See"), url), jan_message("user", url, at=1))
        (folder / "files").mkdir()
        (folder / "files/a.png").write_bytes(PNG)
        (one,) = read(folder).chats
        assert [len(turn.asked.attachments) for turn in one.chat.turns if turn.asked] == [1, 1]
        (folder / "files/a.png").unlink()
        assert [turn.prompt for turn in read(folder).chats[0].chat.turns] == ["See\n\n[image]", "[image]"]

    def test_a_damaged_line_loses_no_other_message(self, tmp_path: Path) -> None:
        folder = thread_folder(tmp_path / "a", jan_message("user", jan_text("Hi")), lines='\n{"role": "assis')
        found = read(folder)
        assert said(found.chats[0].chat) == [("Hi", "")] and found.remark == "Messages in “a” that can't be read: 1."
        (folder / "thread.json").write_text("[")
        with pytest.raises(UserError, match="The thread in “a” is damaged"):
            read(folder)


# Open WebUI


def owui(name: str, parent: str | None, role: str, content: Any, *children: str, **more: Any) -> dict[str, Any]:
    dated = {"timestamp": NOW // 1000 + len(name)}
    return {"id": name, "parentId": parent, "childrenIds": list(children), "role": role, "content": content, **dated, **more}


def exported(*messages: dict[str, Any], current: str | None = None, **more: Any) -> dict[str, Any]:
    history = {"messages": {one["id"]: one for one in messages}, "currentId": current}
    chat = {"title": "A chat", "models": ["m"], "params": {"system": "Be nice."}, "history": history, "timestamp": NOW}
    return {"id": "c1", "title": "A chat", "chat": chat, "created_at": NOW // 1000, "updated_at": NOW // 1000 + 60, **more}


class TestOpenWebui:
    def test_branches_dates_models_and_thinking_are_kept(self) -> None:
        old = '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n> Let me\n> see.\n</details>\n'
        new = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n&gt; 1 &lt; 2\n</details>\n'
        call = '<details type="tool_calls" done="true" id="1" name="clock" arguments="{}">\n<summary>Tool</summary>\n</details>\n'
        found = open_webui_chat(
            exported(
                owui("q", None, "user", "Hi", "b", "a"),
                owui("a", "q", "assistant", old + "One", "q2", model="m1"),
                owui("b", "q", "assistant", call + new + "Two", model="m2"),
                owui("q2", "a", "user", "More"),
                current="q2",
                pinned=True,
                archived=True,
            ),
            LinkedImages(),
        )
        chat = found.chat
        assert said(chat) == [("Hi", "One"), ("More", "")] and (found.pinned, found.dated, found.archived) == (True, True, True)
        assert (chat.created, chat.changed, chat.settings.system) == (NOW // 1000, NOW // 1000 + 60, "Be nice.")
        first = chat.turns[0]
        assert first.asked is not None and first.answered is not None and first.answered.place == (2, 2)
        assert first.answered.created == NOW // 1000 + 1
        replies = [node.reply for node in first.asked.children if node.reply is not None]
        assert [(one.answer, one.thinking, one.origin) for one in replies] == [
            ("Two", "1 < 2", "m2"),
            ("One", "Let me\nsee.", "m1"),
        ]

    def test_images_and_texts_come_along_and_other_files_are_named(self, tmp_path: Path) -> None:
        files = [
            {"type": "image", "url": URL},
            {"type": "image", "url": "/api/v1/files/1/content", "name": "far.png"},
            {"type": "file", "name": "a.txt", "file": {"data": {"content": "abc"}, "filename": "a.txt"}},
        ]
        (file := tmp_path / "chat-export-1.json").write_text(json.dumps([exported(owui("q", None, "user", "See", files=files))]))
        with closing(Store(None)) as store:
            (one,) = import_into(store, file).chats
            chat = store.load(one.chat.id)
            assert chat is not None
            asked = chat.turns[0].asked
            assert asked is not None and asked.text == "See\n\n[far.png]"
            image, text = asked.attachments
            assert image.picture is not None and image.picture.file.data == PNG
            assert (text.name, text.text, text.size) == ("a.txt", "abc", 3)
            assert import_into(store, file).known == 1

    def test_a_circle_is_skipped_and_counted(self) -> None:
        circle = exported(owui("a", "b", "user", "x"), owui("b", "a", "user", "y"), id="c2")
        found = from_json([circle, exported(owui("q", None, "user", "Hi"))], "a file")
        assert [said(one.chat) for one in found.chats] == [[("Hi", "")]] and "Skipped 1 chat" in found.remark

    def test_an_older_export_without_records_is_read(self) -> None:
        (one,) = from_json(exported(owui("q", None, "user", "Hi"))["chat"], "a file").chats
        assert said(one.chat) == [("Hi", "")] and one.chat.created == NOW / 1000


# All


@given(st.integers(200_000_000, 4_000_000_000), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_times_in_any_unit_are_seconds(seconds: int, unit: int) -> None:
    assert moment(seconds * unit) == pytest.approx(seconds, rel=1e-12)  # of a division by a power of 10


ids = st.sampled_from("abcd")
lm_messages = st.lists(
    st.fixed_dictionaries(
        {
            "versions": st.lists(
                st.fixed_dictionaries(
                    {"role": st.sampled_from(["user", "assistant"])},
                    optional={
                        "content": st.lists(
                            st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=5)}), max_size=2
                        ),
                        "steps": json_values,
                        "senderInfo": json_values,
                    },
                ),
                max_size=3,
            )
        },
        optional={"currentlySelected": st.integers(-1, 3) | json_values},
    ),
    max_size=4,
)
owui_messages = st.dictionaries(
    ids,
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=5)},
        optional={
            "parentId": ids | st.none(),
            "childrenIds": st.lists(ids, max_size=3),
            "timestamp": json_values,
            "files": json_values,
        },
    ),
    min_size=1,
)
jan_messages = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant"]),
            "content": st.lists(st.builds(jan_text, st.text(max_size=5), st.sampled_from(["text", "reasoning"])), max_size=2),
        },
        optional={"id": ids | json_values, "created_at": json_values, "metadata": json_values},
    ),
    max_size=5,
)


def expect_kept(chat: Chat, texts: list[str]) -> None:
    """Check that the chat is a tree, and that no text is lost."""
    kept, nodes = texts_in(chat), list(chat.root.below())
    assert len({node.id for node in nodes}) == len(nodes)
    assert all(clean(text).strip() in kept for text in texts)


@given(lm_messages)
def test_lm_studios_texts_are_kept(messages: list[dict[str, Any]]) -> None:
    versions = [one for message in messages for one in message["versions"] if "steps" not in one or one["role"] == "user"]
    texts = [part["text"] for one in versions for part in one.get("content", ())]
    expect_kept(lm_studio_chat(conversation(*messages), LinkedImages()).chat, texts)


@given(owui_messages)
def test_open_webuis_texts_are_kept(messages: dict[str, dict[str, Any]]) -> None:
    data = exported()
    data["chat"]["history"]["messages"] = messages
    try:
        chat = open_webui_chat(data, LinkedImages()).chat
    except UserError:
        return  # not a tree
    expect_kept(chat, [one["content"] for one in messages.values()])


@given(jan_messages)
def test_jans_texts_are_kept(messages: list[dict[str, Any]]) -> None:
    texts = [
        part["text"]["value"] for one in messages for part in one["content"] if one["role"] == "assistant" or part["type"] == "text"
    ]
    expect_kept(jan_chat({"thread": {"id": "t"}, "messages": messages}, LinkedImages()).chat, texts)


@given(json_values, json_values, json_values)
def test_strange_values_break_nothing(one: Any, other: Any, third: Any) -> None:
    lm_studio_chat(
        {"messages": [{"versions": [one, {"role": "user", "content": [other]}, third]}, one], "createdAt": other}, LinkedImages()
    )
    jan_chat({"thread": {"assistants": one, "id": third}, "messages": [other, {"role": "user", "content": one}]}, LinkedImages())
    record = {
        "chat": {"history": {"messages": {"a": one, "b": {"role": "user", "content": other, "files": third}}, "currentId": one}}
    }
    open_webui_chat(record, LinkedImages())
