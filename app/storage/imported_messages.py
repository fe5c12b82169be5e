"""What the imports of other apps' chats share: ids, dates, and messages."""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node
from app.storage.json_values import as_dict, as_list, as_text, as_time, read_as
from app.storage.reply import Reply
from app.text.plain_text import title_from
from mlx_engine.contract.errors import UserError

_LATEST_SECONDS = 1e11  # larger numbers count milliseconds, microseconds, or nanoseconds
_THINK, _END = "<think>", "</think>"


def derived_id(app: str, chat: str, message: str = "") -> str:
    """Return the id of another app's chat or message, the same at each import."""
    return blake2b(f"{app}\0{chat}\0{message}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def moment(value: object, default: float = 0.0) -> float:
    """Return the seconds since 1970 of a time in seconds or a smaller unit."""
    seconds: float = read_as(float, value, 0.0)
    while seconds > _LATEST_SECONDS:
        seconds /= 1000
    return as_time(seconds, default) if seconds > 0 else default


def add_question(above: Node, text: str, attachments: tuple[Attachment, ...], created: float) -> Node:
    """Add a user's message, and return it, or `above` if the message is empty."""
    if not text.strip() and not attachments:
        return above
    return above.add(Node("user", text=text, attachments=attachments, created=created))


def add_answer(above: Node, answer: str, thinking: str, model: str, created: float, joins: bool = True) -> Node:
    """Add a model's message, and return it, or `above` if the message is empty.

    Args:
        joins: whether it becomes part of a reply above it, since replies alternate with questions.
    """
    if not answer.strip() and not thinking.strip():
        return above
    if joins and above.reply is not None and not above.children:
        above.reply.answer = "\n\n".join(filter(None, (above.reply.answer, answer)))
        above.reply.thinking = "\n\n".join(filter(None, (above.reply.thinking, thinking)))
        return above
    reply = Reply("plain", 0, answer=answer, thinking=thinking, reason="eos", origin=model)
    return above.add(Node("assistant", reply=reply, created=created))


def split_thinking(text: str) -> tuple[str, str]:
    """Return a reply's answer and thinking, which may be in a tag at its start."""
    start = text.lstrip()
    if not start.startswith(_THINK) or _END not in start:
        return text, ""
    thinking, _, answer = start.removeprefix(_THINK).partition(_END)
    return answer.strip(), thinking.strip()


def name_untitled(chat: Chat, title: str) -> None:
    """Name a chat without a title after its first message."""
    if not title and (first := next((node.text for node in chat.root.below() if node.text), "")):
        chat.title = title_from(first)


def add_branches(
    chat: Chat,
    nodes: Mapping[str, Any],
    fields: tuple[str, str],
    add: Callable[[Node, Mapping[str, Any]], Node],
    id_of: Callable[[str], str] | None,
    current: object,
) -> None:
    """Add all branches of a chat, and choose the one that another app showed.

    Args:
        nodes: messages by id.
        fields: those of a message with the id of its parent, and with those of its children.
        add: adds a message below a node and returns it, or returns the node to leave the message out.
        id_of: returns the id of an added message, given the other app's; None for new ids.
        current: the id of the last message that was shown, if known.

    Raises:
        UserError: the messages don't form a tree.
    """
    children = _children_by_parent(nodes, *fields)
    waiting = [(one, chat.root) for one in reversed(children.pop("", []))]
    added: dict[str, Node] = {}
    while waiting:
        one, above = waiting.pop()
        added[one] = node = add(above, as_dict(nodes[one]))
        if id_of is not None and node is not above:
            node.id = id_of(one)
        waiting.extend((below, node) for below in reversed(children.pop(one, [])))
    if len(added) != len(nodes):  # messages in a cycle have no path from a root
        raise UserError("chat_not_a_tree", "The chat “{title}” is damaged: its messages are inconsistent.", title=chat.title)
    if isinstance(current, str) and current in added:
        chat.choose(added[current])


def _children_by_parent(nodes: Mapping[str, Any], parent: str, children: str) -> dict[str, list[str]]:
    """Return child ids by parent id, in the order of their parent; roots are under "".

    Args:
        nodes: objects by id.
        parent, children: the fields of a node with the id of its parent, and those of its children.
    """
    found: dict[str, list[str]] = {}
    for node_id, node in nodes.items():
        above = as_dict(node).get(parent)
        found.setdefault(above if isinstance(above, str) and above in nodes and above else "", []).append(node_id)
    for node_id, below in found.items():
        listed = as_list(as_dict(nodes.get(node_id)).get(children))
        order = {one: index for index, one in enumerate(listed) if isinstance(one, str)}
        below.sort(key=lambda one, order=order: order.get(one, len(order)))  # type: ignore[misc]
    return found


def texts_of(parts: object) -> str:
    """Return the text of a content that is a text or a list of parts."""
    if isinstance(parts, str):
        return as_text(parts)
    return "\n\n".join(text for part in map(as_dict, as_list(parts)) if (text := as_text(part.get("text"))))
