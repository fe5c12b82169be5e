"""A chat as plain values and back: what the database holds of a message, and what a JSON file holds of a chat.

Reading is forgiving: a field that is missing or of a wrong kind gets its default, because a record may come from an older version,
a newer one, or another hand. Only what a tree cannot do without is insisted on.
"""

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any, cast, get_args

from app.conversations.attachments import attachment_from
from app.conversations.chat_tree import Chat, Node, NodeRole, new_id
from app.conversations.plain_text import NEW_CHAT, clean
from app.conversations.reply import Ending, Reply
from app.conversations.settings import ChatSettings, sampling_from
from app.conversations.token_sources import Suppliers
from mlx_engine.errors import UserError
from mlx_engine.events import Stats, StopReason
from mlx_engine.requests import GenerationRequest, Message, Mode

Json = dict[str, Any]

MOST = 1 << 63  # no figure is larger, and each can be reckoned with
ENDINGS = {*get_args(StopReason), "interrupted", "unanswered"}
_NO_STATS = Stats("plain", 0, 0, 0, None, None, None, 0, 0, 0, 0, (), (), 0, "", 0, 0)


def details(node: Node) -> Json:
    """All of a message that is not text or place: its files; or how a reply was asked for, how it went, and its figures."""
    reply, request = node.reply, node.request
    if reply is None:
        return {"attachments": [one.to_json() for one in node.attachments]} if node.attachments else {}
    return {
        "mode": reply.mode,
        "reason": reply.reason,
        "error": reply.error,
        "origin": reply.origin,
        "thinking_s": reply.thinking_s,
        "tokens": reply.tokens,
        "tokens_before": reply.tokens_before,
        "rounds": reply.rounds,
        "tested": reply.tested,
        "accepted": reply.accepted,
        "stats": asdict(reply.stats) if reply.stats else None,
        "request": {
            "system": request.messages[0].content if request.messages else "",
            "mode": request.mode,
            "width": request.width,
            "sampling": asdict(request.sampling),
            "seed": request.seed,
            "max_tokens": request.max_tokens,
            "thinking": request.thinking,
            "effort": request.effort,
            "stop": list(request.stop),
        },
    }


def suppliers(node: Node) -> str:
    """Who supplied a reply's answer and, after a slash, its thinking."""
    reply = node.reply
    return f"{reply.answer_by.written()}/{reply.thinking_by.written()}" if reply and not reply.origin else ""


def node_from(
    role: NodeRole, node_id: str, text: str, thinking: str, created: float, found: Mapping[str, Any], supplied: str = ""
) -> Node:
    """A message without its place in the tree. A reply that had not ended is one that was interrupted."""
    if role != "assistant":
        files = tuple(one for data in _list(found.get("attachments")) if (one := attachment_from(data)) is not None)
        return Node(role, text=text, attachments=files, id=node_id, created=created)
    asked = _dict(found.get("request"))
    mode, reason = found.get("mode"), found.get("reason")
    request = GenerationRequest(
        messages=(Message("system", asked["system"]),) if _text(asked.get("system")) else (),
        mode=_mode(asked.get("mode")),
        width=_count(asked.get("width")) or None,
        sampling=sampling_from(_dict(asked.get("sampling"))),
        seed=_count(asked.get("seed"), None),
        max_tokens=_count(asked.get("max_tokens"), 1024) or 1024,
        thinking=asked.get("thinking") is True,
        effort=_text(asked.get("effort")) or None,
        stop=tuple(text for text in _list(asked.get("stop")) if isinstance(text, str)),
    )
    seconds = found.get("thinking_s")
    answer_by, _, thinking_by = supplied.partition("/")
    reply = Reply(
        _mode(mode),
        request.max_tokens,
        answer=text,
        thinking=thinking,
        error=_text(found.get("error")),
        reason=cast(Ending, reason) if isinstance(reason, str) and reason in ENDINGS else "interrupted",
        stats=stats_from(found.get("stats")),
        origin=_text(found.get("origin")),
        tokens=_count(found.get("tokens")) or 0,
        tokens_before=_count(found.get("tokens_before")) or 0,
        rounds=_count(found.get("rounds")) or 0,
        tested=_count(found.get("tested")) or 0,
        accepted=_count(found.get("accepted")) or 0,
        thinking_s=float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < MOST else None,
        answer_by=_fitting(answer_by, text),
        thinking_by=_fitting(thinking_by, thinking),
    )
    return Node(role, reply=reply, request=request, id=node_id, created=created)


def text_of(node: Node) -> tuple[str, str]:
    """What is read and searched of a message, and what was thought before it."""
    return (node.reply.answer, node.reply.thinking) if node.reply else (node.text, "")


def chat_to_json(chat: Chat) -> Json:
    """A chat with all its branches."""
    return {
        "id": chat.id,
        "title": chat.title,
        "created": chat.created,
        "changed": chat.changed,
        "settings": chat.settings.to_json(),
        "messages": [_message(node) for node in chat.root.below()],
    }


def chat_from_json(data: object) -> Chat:
    """The chat back.

    Raises:
        UserError: it is no chat, or its messages make no tree.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("messages"), list):
        raise UserError("It holds something that is not a chat of Slipstream's.")
    now = time.time()
    chat = Chat(
        _text(data.get("title")).strip() or NEW_CHAT,
        ChatSettings.from_json(data.get("settings")),
        _text(data.get("id")) or new_id(),
        time_from(data.get("created"), now),
        time_from(data.get("changed"), now),
    )
    hang(chat, (_row(one) for one in data["messages"]))
    return chat


Row = tuple[Node, str | None, bool]  # a message, its parent's id, and whether it is the version shown


def hang(chat: Chat, rows: Iterator[Row]) -> None:
    """Make the tree of its messages. Versions keep the order in which they come.

    Raises:
        UserError: an id comes twice, a parent is missing, or a message is its own ancestor.
    """
    nodes: dict[str, Row] = {}
    for row in rows:
        if row[0].id in nodes:
            raise UserError(f"The chat “{chat.title}” holds two messages with the same id, so it makes no tree.")
        nodes[row[0].id] = row
    for node, parent_id, chosen in nodes.values():
        if parent_id is not None and parent_id not in nodes:
            raise UserError(f"A message of the chat “{chat.title}” answers one that is not there.")
        parent = nodes[parent_id][0] if parent_id is not None else chat.root
        before = parent.chosen
        parent.add(node)
        if not chosen and before is not None:
            parent.chosen = before
    if sum(1 for _ in chat.root.below()) != len(nodes):
        raise UserError(f"The messages of the chat “{chat.title}” answer each other in a circle.")


def _message(node: Node) -> Json:
    assert node.parent is not None
    text, thinking = text_of(node)
    found: Json = {
        "id": node.id,
        "parent": None if node.parent.role == "root" else node.parent.id,
        "role": node.role,
        "chosen": node.parent.chosen is node,
        "created": node.created,
        "text": text,
    }
    if node.reply:
        found |= {"thinking": thinking, "details": details(node), "suppliers": suppliers(node)}
    return found | ({"details": details(node)} if node.attachments else {})


def _row(data: object) -> Row:
    if not isinstance(data, Mapping) or data.get("role") not in ("user", "assistant"):
        raise UserError("It holds a message that is neither the user's nor a reply.")
    node_id, parent = _text(data.get("id")), data.get("parent")
    if not node_id:
        raise UserError("It holds a message without an id.")
    node = node_from(
        data["role"],
        node_id,
        _text(data.get("text")),
        _text(data.get("thinking")),
        time_from(data.get("created"), time.time()),
        _dict(data.get("details")),
        _text(data.get("suppliers")),
    )
    return node, parent if isinstance(parent, str) else None, data.get("chosen") is True


def _fitting(written: str, text: str) -> Suppliers:
    """Who supplied a text, if that is what was written."""
    found = Suppliers.read(written)
    return found if len(found) == len(text) else _unknown(len(text))


def _unknown(length: int) -> Suppliers:
    found = Suppliers()
    found.add(length, ())
    return found


def stats_from(data: object) -> Stats | None:
    """A reply's figures; a field that is missing or of a wrong kind gets its default."""
    if not isinstance(data, Mapping):
        return None
    values: Json = {}
    for name, like in ((one.name, getattr(_NO_STATS, one.name)) for one in fields(Stats)):
        value = _frozen(data.get(name))
        values[name] = value if _alike(value, like) else like
    return Stats(**{**values, "mode": _mode(values["mode"])})


def _frozen(value: object) -> object:
    return tuple(_frozen(one) for one in value) if isinstance(value, list | tuple) else value


def _pair(value: object) -> bool:
    """A reason and how often it held."""
    return isinstance(value, tuple) and [type(one) for one in value] == [str, int]


def _alike(value: object, like: object) -> bool:
    if isinstance(like, tuple):
        return isinstance(value, tuple) and all(type(one) is int or _pair(one) for one in value)
    if like is None:
        return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST)
    return type(value) is type(like) and (not isinstance(value, int) or abs(value) < MOST)


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mode(value: object) -> Mode:
    return "dflash" if value == "dflash" else "plain"


def _count(value: object, missing: int | None = 0) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else missing


def time_from(value: object, missing: float) -> float:
    """Seconds since 1970, within what a calendar can show."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value != value or abs(value) == math.inf:
        return missing
    return float(min(max(value, 0), 4e9))  # bounded first: a whole number may be larger than any float
