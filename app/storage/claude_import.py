"""Import of `conversations.json`, Claude's export.

Each conversation has `chat_messages` in order. A message names its `sender`, and in newer exports its parent, which makes branches.
Tool calls and their results are left out. IDs are derived from Claude's, so importing a chat again gives the same IDs.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeGuard

from app.storage.attached_files import cleaned
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.imported_messages import add_answer, add_question, derived_id, name_untitled
from app.storage.json_values import as_dict, as_list, as_text, as_time
from app.text.plain_text import NEW_CHAT

MODEL = "Claude"  # exports don't name the model


def is_claude_chat(data: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and isinstance(data.get("chat_messages"), list)


def claude_chat(data: Mapping[str, Any]) -> Chat:
    """Read one conversation with all its branches."""
    title, source = as_text(data.get("name")).strip(), as_text(data.get("uuid"))
    chat = Chat(title or NEW_CHAT)
    if source:
        chat.id = derived_id(MODEL, source)
    chat.created = created_at(data) or chat.created
    chat.changed = max(_seconds(data.get("updated_at")), chat.created)
    nodes: dict[str, Node] = {}
    above = chat.root
    for message in map(as_dict, data["chat_messages"]):
        parent = message.get("parent_message_uuid")
        if isinstance(parent, str):
            above = nodes.get(parent, chat.root)
        name, node = as_text(message.get("uuid")), _add(above, message, chat.created)
        if not name or name in nodes:
            name = f"#{len(nodes)}"
        if source and node is not above:
            node.id = derived_id(MODEL, source, name)
        nodes[name] = above = node
    chat.choose(above)
    name_untitled(chat, title)
    return chat


def created_at(data: Mapping[str, Any]) -> float:
    """Return when a conversation began, in seconds since 1970, or 0."""
    return _seconds(data.get("created_at"))


def _seconds(text: object) -> float:
    with suppress(ValueError, OverflowError, OSError):
        return as_time(datetime.fromisoformat(as_text(text)).timestamp(), 0.0)
    return 0.0


def _add(above: Node, message: Mapping[str, Any], created: float) -> Node:
    """Add or skip a message, and return the node to which the next one is added."""
    sender, at = message.get("sender"), _seconds(message.get("created_at")) or created
    text, thinking = _texts(message)
    if sender == "human":
        return add_question(above, text, _attachments(message), at)
    return add_answer(above, text, thinking, MODEL, at) if sender == "assistant" else above


def _texts(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return a message's text and thinking, with names of files not exported."""
    blocks = [as_dict(one) for one in as_list(message.get("content"))]
    texts = [as_text(one.get("text")) for one in blocks if one.get("type") == "text"]
    thoughts = [as_text(one.get("thinking")) for one in blocks if one.get("type") == "thinking"]
    if not any(texts) and not any(thoughts):  # older exports; newer ones repeat the blocks here, with notes on tool calls
        texts = [as_text(message.get("text"))]
    names = [as_text(as_dict(one).get("file_name")) for one in as_list(message.get("files"))]
    texts += [f"[{cleaned(name)}]" for name in names if name]
    return "\n\n".join(filter(None, texts)), "\n\n".join(filter(None, thoughts))


def _attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    found = []
    for one in map(as_dict, as_list(message.get("attachments"))):
        if text := as_text(one.get("extracted_content")):
            size = len(text.encode("utf-8", "surrogatepass"))
            found.append(Attachment(cleaned(as_text(one.get("file_name"))), text, size))
    return tuple(found)
