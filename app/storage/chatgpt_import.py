"""Import of `conversations.json`, ChatGPT's export.

Each conversation has a `mapping` from ids to nodes with `parent`, `children`, and a `message`, and names its `current_node`. Empty
roots, system messages, hidden messages, and tool calls are left out; their children move up to the nearest kept message.
Consecutive assistant messages become one reply. IDs are derived from ChatGPT's, so importing a chat again gives the same IDs.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeGuard

from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.chatgpt_files import ChatGptFiles
from app.storage.imported_messages import add_branches, derived_id, name_untitled
from app.storage.json_values import as_dict, as_list, as_text, as_time
from app.storage.reply import Reply
from app.text.plain_text import NEW_CHAT, clean

CHATGPT = "ChatGPT"
THINKING = ("thoughts", "reasoning_recap")


def is_conversation(data: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and isinstance(data.get("mapping"), Mapping)


def chat_from(data: Mapping[str, Any], files: ChatGptFiles) -> Chat:
    """Read one conversation with all its branches.

    Args:
        data: the conversation.
        files: the export's images.

    Raises:
        UserError: the conversation's nodes don't form a tree.
    """
    mapping: Mapping[str, Any] = data["mapping"]
    title = as_text(data.get("title")).strip()
    source = as_text(data.get("conversation_id")) or as_text(data.get("id"))
    chat = Chat(title or NEW_CHAT)
    if source:
        chat.id = derived_id(CHATGPT, source)
    chat.created = as_time(data.get("create_time"), chat.created)
    chat.changed = max(as_time(data.get("update_time"), chat.created), chat.created)

    def add(above: Node, node: Mapping[str, Any]) -> Node:
        return _add(above, as_dict(node.get("message")), chat.created, files)

    id_of = partial(derived_id, CHATGPT, source) if source else None
    add_branches(chat, mapping, ("parent", "children"), add, id_of, data.get("current_node"))
    name_untitled(chat, title)
    return chat


def _add(above: Node, message: Mapping[str, Any], created: float, files: ChatGptFiles) -> Node:
    """Add or skip a message, and return the node to which its children are added."""
    role = as_dict(message.get("author")).get("role")
    metadata = as_dict(message.get("metadata"))
    to_tool = message.get("recipient") not in (None, "all")
    if role not in ("user", "assistant") or metadata.get("is_visually_hidden_from_conversation") is True or to_tool:
        return above
    content = as_dict(message.get("content"))
    listed = [as_dict(one) for one in as_list(metadata.get("attachments"))] if role == "user" else []
    names = {as_text(one.get("id")): as_text(one.get("name")) for one in listed}
    images = [_image(part, names, files) if role == "user" else None for part in as_list(content.get("parts"))]
    text, thinking = _texts(content, [image is not None for image in images])
    attached = tuple(image for image in images if image is not None)
    if not text.strip() and not thinking.strip() and not attached:
        return above
    at = as_time(message.get("create_time"), created)
    if role == "user":
        return above.add(Node("user", text=text, attachments=attached, created=at))
    if above.role == "assistant" and above.reply is not None and not above.children:
        above.reply.answer = "\n\n".join(part for part in (above.reply.answer, text) if part)
        above.reply.thinking = "\n\n".join(part for part in (above.reply.thinking, thinking) if part)
        return above
    model = as_text(metadata.get("model_slug")).strip() or CHATGPT
    reply = Reply("plain", 0, answer=text, thinking=thinking, reason="eos", origin=model)
    return above.add(Node("assistant", reply=reply, created=at))


def _image(part: object, names: dict[str, str], files: ChatGptFiles) -> Attachment | None:
    """Return the image that a part of a message points at, if the export has it."""
    pointer = as_text(as_dict(part).get("asset_pointer"))
    return files.image(pointer, names) if pointer else None


def _texts(content: Mapping[str, Any], found: list[bool]) -> tuple[str, str]:
    """Return a message's text and thinking, with placeholders for images and files.

    Args:
        content: the content of the message.
        found: whether each of its parts is an image that was found, which needs no placeholder.
    """
    kind = content.get("content_type")
    if kind in THINKING:
        thoughts = [as_text(as_dict(one).get("content")) for one in as_list(content.get("thoughts"))]
        return "", "\n\n".join(thought for thought in thoughts if thought)
    if kind == "code":
        language = as_text(content.get("language"))
        return f"```{'' if language == 'unknown' else language}\n{as_text(content.get('text'))}\n```", ""
    parts: list[str] = []
    for part, is_found in zip(as_list(content.get("parts")), found, strict=True):
        if isinstance(part, str):
            parts.append(clean(part))
        elif is_found:
            continue
        elif isinstance(part, Mapping):
            name = as_text(part.get("content_type")).replace("_", " ") or "attachment"
            parts.append(as_text(part.get("text")) or f"[{name}]")
    return "\n\n".join(part for part in parts if part) or as_text(content.get("text")), ""
