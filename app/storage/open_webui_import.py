"""Import of Open WebUI's export, a list of records with a `chat`.

The chat's `history` has `messages` by id, with `parentId`, `childrenIds`, `role`, and `content`, and the `currentId` of the last
shown one. Thinking and tool calls are `<details>` in the content; calls are left out. Images are data URLs in `files`, or are on
the server and not in the export. Times count seconds, or smaller units in older versions. The code of open-webui/open-webui
describes the format: src/lib/components/chat/Chat.svelte makes the messages, and backend/open_webui/models/chats.py the records
around them.
"""

import html
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeGuard

from app.storage.attached_files import cleaned
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.imported_files import LinkedImages
from app.storage.imported_messages import (
    add_answer,
    add_branches,
    add_question,
    derived_id,
    moment,
    name_untitled,
    split_thinking,
    texts_of,
)
from app.storage.json_values import as_dict, as_list, as_text
from app.storage.salvage import ImportedChat
from app.storage.settings import ChatSettings
from app.text.plain_text import NEW_CHAT

OPEN_WEBUI = "Open WebUI"
_DETAILS = re.compile(r'<details type="(reasoning|tool_calls)"[^>]*>(.*?)</details>\n?', re.DOTALL)
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>\n?", re.DOTALL)


def is_open_webui_chat(data: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and isinstance(as_dict(_chat(data).get("history")).get("messages"), Mapping)


def _chat(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the chat of a record; in older exports, it is the record."""
    return as_dict(data.get("chat")) or data


def open_webui_chat(data: Mapping[str, Any], images: LinkedImages) -> ImportedChat:
    """Read one chat with all its branches.

    Raises:
        UserError: the chat's messages don't form a tree.
    """
    found = _chat(data)
    history = found["history"]
    messages: Mapping[str, Any] = history["messages"]
    title = (as_text(data.get("title")) or as_text(found.get("title"))).strip()
    title = "" if title == "New Chat" else title
    chat = Chat(title or NEW_CHAT, ChatSettings(system=as_text(as_dict(found.get("params")).get("system"))))
    created = moment(data.get("created_at")) or moment(found.get("timestamp"))
    chat.created = created or chat.created
    chat.changed = max(moment(data.get("updated_at")), chat.created)
    source = as_text(data.get("id")) or as_text(found.get("id"))
    if source:
        chat.id = derived_id(OPEN_WEBUI, source)

    def add(above: Node, message: Mapping[str, Any]) -> Node:
        return _add(above, message, chat.created, images)

    id_of = partial(derived_id, OPEN_WEBUI, source) if source else None
    add_branches(chat, messages, ("parentId", "childrenIds"), add, id_of, history.get("currentId"))
    name_untitled(chat, title)
    return ImportedChat(chat, "", data.get("pinned") is True, created > 0, data.get("archived") is True)


def _add(above: Node, message: Mapping[str, Any], created: float, images: LinkedImages) -> Node:
    """Add or skip a message, and return the node to which its children are added."""
    text, at = texts_of(message.get("content")), moment(message.get("timestamp"), created)
    if message.get("role") == "user":
        names, attached = _files(message, images)
        return add_question(above, "\n\n".join(filter(None, (text, *names))), attached, at)
    if message.get("role") != "assistant":
        return above
    answer, thinking = _without_details(text)
    return add_answer(above, answer, thinking, as_text(message.get("model")) or OPEN_WEBUI, at)


def _without_details(text: str) -> tuple[str, str]:
    """Return a reply's answer and thinking."""
    thoughts = []
    for kind, inner in _DETAILS.findall(text):
        if kind == "reasoning":
            inner = _SUMMARY.sub("", inner, count=1).strip()
            inner = html.unescape(inner) if inner.startswith("&gt;") else inner  # newer versions escape it
            thoughts.append("\n".join(line.removeprefix(">").removeprefix(" ") for line in inner.split("\n")))
    if not thoughts:
        answer, thinking = split_thinking(text)
        return _DETAILS.sub("", answer), thinking
    return _DETAILS.sub("", text).strip(), "\n\n".join(filter(None, thoughts))


def _files(message: Mapping[str, Any], images: LinkedImages) -> tuple[list[str], tuple[Attachment, ...]]:
    """Return the names of a message's files that aren't in the export, and the others."""
    names, attached = [], []
    parts = (as_dict(as_dict(part).get("image_url")) for part in as_list(message.get("content")))
    for file in (*map(as_dict, as_list(message.get("files"))), *(part for part in parts if "url" in part)):
        inner = as_dict(file.get("file"))
        name = as_text(file.get("name")) or as_text(inner.get("filename"))
        text = as_text(as_dict(inner.get("data")).get("content"))
        if (image := images.image(as_text(file.get("url")), name)) is not None:
            attached.append(image)
        elif text:
            attached.append(Attachment(cleaned(name), text, len(text.encode("utf-8", "surrogatepass"))))
        else:
            names.append(f"[{cleaned(name or 'image')}]")
    return names, tuple(attached)
