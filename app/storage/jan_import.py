"""Import of Jan's threads, which are folders with thread.json and messages.jsonl.

A message has a `role` and `content`: parts with `text`, which is thinking if the part's type is "reasoning", or an `image_url`.
Threads have no branches. Tool calls are left out. The types Thread and ThreadMessage in janhq/jan, core/src/types, describe the
format.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from app.storage.attachments import Attachment
from app.storage.chat_export import MAX_BYTES
from app.storage.chat_tree import Chat, Node
from app.storage.imported_files import LinkedImages
from app.storage.imported_messages import add_answer, add_question, derived_id, moment, name_untitled, split_thinking
from app.storage.json_values import as_dict, as_list, as_text, parse_json
from app.storage.salvage import ImportedChat
from app.storage.settings import ChatSettings
from app.text.plain_text import NEW_CHAT
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_bounded

JAN = "Jan"
THREAD, MESSAGES = "thread.json", "messages.jsonl"
_IMAGES = "files"  # a thread's folder for images of older versions


def is_thread_folder(folder: Path) -> bool:
    return (folder / THREAD).is_file() and (folder / MESSAGES).is_file()


def read_thread(folder: Path, check: Callable[[bytes], object]) -> dict[str, Any]:
    """Return the content of a thread's folder, for `jan_chat`.

    Args:
        folder: with both files.
        check: raises an error if there is too much in a file.

    Raises:
        UserError, OSError, ValueError: a file can't be read.
    """
    texts = []
    for file in (folder / THREAD, folder / MESSAGES):
        check(content := read_bounded(file, MAX_BYTES))
        texts.append(content.decode("utf-8", "replace"))
    thread, lines = parse_json(texts[0]), [line for line in texts[1].split("\n") if line.strip()]
    if not isinstance(thread, Mapping):
        raise UserError("jan_thread_damaged", "The thread in “{folder}” is damaged.", folder=folder.name)
    return {"thread": thread, "messages": [parse_json(line) for line in lines]}


def is_jan_thread(data: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and isinstance(data.get("thread"), Mapping) and isinstance(data.get("messages"), list)


def jan_chat(data: Mapping[str, Any], images: LinkedImages, place: Path | None = None) -> ImportedChat:
    """Read one thread.

    Args:
        data: the content of its two files.
        images: gets its images.
        place: its folder.
    """
    thread, messages = data["thread"], [as_dict(one) for one in data["messages"]]
    assistant = as_dict(next(iter(as_list(thread.get("assistants"))), None))
    model = as_text(as_dict(assistant.get("model")).get("id")) or JAN
    title = as_text(thread.get("title")).strip()
    title = "" if title == "New Thread" else title
    chat = Chat(title or NEW_CHAT, ChatSettings(system=as_text(assistant.get("instructions"))))
    times = [moment(one.get("created_at")) for one in messages]
    dates = [time for time in (moment(thread.get("created")), *times) if time]
    chat.created = min(dates, default=chat.created)
    chat.changed = max(*dates, moment(thread.get("updated")), chat.created) if dates else chat.created
    source = as_text(thread.get("id"))
    if source:
        chat.id = derived_id(JAN, source)
    if all(times):  # older versions write the latest message first
        messages.sort(key=lambda one: moment(one.get("created_at")))
    above, seen = chat.root, set[str]()
    for message in messages:
        node = _add(above, message, model, chat.created, images, place)
        name = as_text(message.get("id"))
        if source and node is not above and name and name not in seen:
            node.id = derived_id(JAN, source, name)
            seen.add(name)
        above = node
    name_untitled(chat, title)
    return ImportedChat(chat, dated=bool(dates))


def _add(above: Node, message: Mapping[str, Any], model: str, created: float, images: LinkedImages, place: Path | None) -> Node:
    """Add or skip a message, and return the node to which the next one is added."""
    texts, thoughts, attached = list[str](), list[str](), list[Attachment]()
    for part in map(as_dict, as_list(message.get("content"))):
        value, url = as_text(as_dict(part.get("text")).get("value")), as_text(as_dict(part.get("image_url")).get("url"))
        if url and (image := images.image(_link(url, place))) is not None:
            attached.append(image)
        elif url:
            texts.append("[image]")
        (thoughts if part.get("type") == "reasoning" else texts).append(value)
    at = moment(message.get("created_at"), created)
    text = "\n\n".join(filter(None, texts))
    if message.get("role") == "user":
        return add_question(above, text, tuple(attached), at)
    if message.get("role") != "assistant":
        return above
    answer, thinking = split_thinking(text)
    used = as_text(as_dict(message.get("metadata")).get("modelId")) or model
    return add_answer(above, answer, "\n\n".join(filter(None, (*thoughts, thinking))), used, at)


def _link(url: str, place: Path | None) -> Path | str:
    """Return a data URL, or the file of an older version's image."""
    name = url.rpartition("/")[2]
    return place / _IMAGES / name if place is not None and name and url.startswith("file:") else url
