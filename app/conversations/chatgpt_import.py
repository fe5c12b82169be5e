"""Chats from the file that ChatGPT exports, `conversations.json`.

Each conversation holds a `mapping` from ids to nodes with `parent`, `children` and a `message`, and names its `current_node`. Roots
without a message, system messages, hidden ones and the traffic with tools are left out; what hangs on them moves up to the nearest
message that is kept. Several messages of the assistant in a row are one reply.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from app.conversations.chat_tree import Chat, Node
from app.conversations.plain_text import NEW_CHAT, clean, title_from
from app.conversations.reply import Reply
from app.language import tr
from mlx_engine.errors import UserError

THINKING = ("thoughts", "reasoning_recap")


def is_conversation(data: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(data, Mapping) and isinstance(data.get("mapping"), Mapping)


def chat_from(data: Mapping[str, Any]) -> Chat:
    """One conversation with all its branches.

    Raises:
        UserError: its nodes make no tree.
    """
    mapping: Mapping[str, Any] = data["mapping"]
    title = clean(_text(data.get("title"))).strip()
    chat = Chat(title or NEW_CHAT)
    chat.created = _time(data.get("create_time"), chat.created)
    chat.changed = max(_time(data.get("update_time"), chat.created), chat.created)
    kept: dict[str, Node] = {}
    children = _children(mapping)
    waiting = [(one, chat.root) for one in reversed(children.pop("", []))]
    seen: set[str] = set()
    while waiting:
        node_id, above = waiting.pop()
        if node_id in seen:
            raise UserError(tr("The messages of the chat “{title}” make no tree.", title=chat.title))
        seen.add(node_id)
        kept[node_id] = here = _take(above, _dict(_dict(mapping[node_id]).get("message")), chat.created)
        waiting.extend((one, here) for one in reversed(children.get(node_id, [])))
    if len(seen) != len(mapping):
        raise UserError(tr("The messages of the chat “{title}” make no tree.", title=chat.title))
    for node in chat.root.below():
        assert node.parent is not None
        node.parent.chosen = node.parent.chosen or node
    if isinstance(current := data.get("current_node"), str) and current in kept:
        chat.choose(kept[current])
    if not title and (first := next((node.text for node in chat.root.below() if node.text), "")):
        chat.title = title_from(first)
    return chat


def _children(mapping: Mapping[str, Any]) -> dict[str, list[str]]:
    """The ids under each id, and under "" those without a parent. A node's own `parent` says where it hangs, that one's `children`
    in which order."""
    found: dict[str, list[str]] = {}
    for node_id, node in mapping.items():
        parent = _dict(node).get("parent")
        found.setdefault(parent if isinstance(parent, str) and parent in mapping and parent else "", []).append(node_id)
    for node_id, below in found.items():
        listed = [one for one in _list(_dict(mapping.get(node_id)).get("children")) if isinstance(one, str)]
        order = {one: place for place, one in enumerate(listed)}
        below.sort(key=lambda one, order=order: order.get(one, len(order)))  # type: ignore[misc]
    return found


def _take(above: Node, message: Mapping[str, Any], created: float) -> Node:
    """Hang a message under `above`, or leave it out; what its own children hang on."""
    role = _dict(message.get("author")).get("role")
    metadata = _dict(message.get("metadata"))
    content = _dict(message.get("content"))
    to_tool = message.get("recipient") not in (None, "all")
    if role not in ("user", "assistant") or metadata.get("is_visually_hidden_from_conversation") is True or to_tool:
        return above
    text, thinking = _words(content)
    if not text.strip() and not thinking.strip():
        return above
    at = _time(message.get("create_time"), created)
    if role == "user":
        return above.add(Node("user", text=text, created=at))
    if above.role == "assistant" and above.reply is not None and not above.children:
        above.reply.answer = "\n\n".join(part for part in (above.reply.answer, text) if part)
        above.reply.thinking = "\n\n".join(part for part in (above.reply.thinking, thinking) if part)
        return above
    model = clean(_text(metadata.get("model_slug"))).strip() or "ChatGPT"
    reply = Reply("plain", 0, answer=text, thinking=thinking, reason="eos", origin=model)
    return above.add(Node("assistant", reply=reply, created=at))


def _words(content: Mapping[str, Any]) -> tuple[str, str]:
    """What a message says and what was thought in it. A picture or a file is named, as its bytes are not in the file."""
    kind = content.get("content_type")
    if kind in THINKING:
        thoughts = [_text(_dict(one).get("content")) for one in _list(content.get("thoughts"))]
        return "", clean("\n\n".join(thought for thought in thoughts if thought))
    if kind == "code":
        language = _text(content.get("language"))
        return clean(f"```{'' if language == 'unknown' else language}\n{_text(content.get('text'))}\n```"), ""
    parts: list[str] = []
    for part in _list(content.get("parts")):
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping):
            said = _text(part.get("text"))
            parts.append(said or f"[{_text(part.get('content_type')).replace('_', ' ') or 'attachment'}]")
    return clean("\n\n".join(part for part in parts if part) or _text(content.get("text"))), ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _time(value: object, missing: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 4e9 else missing
