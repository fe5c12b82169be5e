"""Conversion between chats and database columns or JSON.

Reading is lenient, because a record may come from another version or program. Only the fields that the tree needs are required.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from app.storage.attachments import attachments_from
from app.storage.chat_tree import Chat, Node, NodeRole, new_id
from app.storage.json_values import as_dict, as_list, as_text, as_time, read_as, read_fields
from app.storage.pictures import FileData, StoredFile
from app.storage.reply import Reply, Suppliers
from app.storage.settings import MAX_TOKENS, ChatSettings
from app.text.plain_text import NEW_CHAT
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import AttachedImage, Detail, GenerationRequest, Message, Mode
from mlx_engine.mcp.record import STOPPED, CallRecord

_REPLY = (
    "mode",
    "reason",
    "error",
    "error_code",
    "origin",
    "sent_to",
    "thinking_s",
    "tokens",
    "tokens_before",
    "rounds",
    "drafted",
    "accepted",
    "left_out",
    "prompt_letters",
    "result_length",
    "stats",
    "calls",
    "unreadable_calls",
    "step_stats",
    "conditions",
    "slow_cause",
    "usual_tok_s",
)
_REQUEST = ("mode", "width", "sampling", "seed", "max_tokens", "thinking", "effort", "stop", "rolling")

_Json = dict[str, Any]
_NO_FILES: Mapping[str, bytes] = {}


def files_of(node: Node) -> list[StoredFile]:
    """Return the files of a message, or of the results of a reply's calls."""
    calls = node.reply.calls if node.reply else ()
    images = (StoredFile(image.digest, image.data) for call in calls for image in call.images)
    found = [*(file for one in node.attachments for file in one.files), *images]
    return list({file.digest: file for file in sorted(found, key=lambda file: bool(file.data))}.values())


def fill(nodes: Iterable[Node], files: FileData) -> None:
    """Give messages the data of their files."""
    for node in nodes:
        node.attachments = tuple(one.filled(files) for one in node.attachments)
        if node.reply is not None:
            node.reply.calls = tuple(_filled(call, files) if call.images else call for call in node.reply.calls)


def _filled(call: CallRecord, files: FileData) -> CallRecord:
    return replace(call, images=tuple(replace(image, data=files.get(image.digest, image.data)) for image in call.images))


def files_in(chat: Chat) -> dict[str, bytes]:
    """Return the data of a chat's files that aren't lost, by digest."""
    return {file.digest: file.data for node in chat.root.below() for file in files_of(node) if file.data}


def details(node: Node) -> _Json:
    """Return a message's attachments, or its reply's request and statistics.

    The data of files isn't included.
    """
    reply, request = node.reply, node.request
    if reply is None:
        return {"attachments": [one.to_json() for one in node.attachments]} if node.attachments else {}
    system = request.messages[0].content if request.messages else ""
    values = {name: getattr(reply, name) for name in _REPLY} | {"stats": asdict(reply.stats) if reply.stats else None}
    values |= {"calls": [_call(one) for one in reply.calls], "step_stats": [asdict(one) for one in reply.step_stats]}
    values |= {"conditions": asdict(reply.conditions) if reply.conditions else None}
    asked = {name: getattr(request, name) for name in _REQUEST} | {"sampling": asdict(request.sampling)}
    return values | {"request": {"system": system} | asked}


def growth(reply: Reply) -> _Json:
    """Return the details that change while a reply's text grows."""
    return {name: getattr(reply, name) for name in _REPLY if name not in ("stats", "calls", "step_stats", "conditions")}


def _call(record: CallRecord) -> _Json:
    images = [{"at": one.at, "digest": one.digest, "name": one.name, "detail": one.detail} for one in record.images]
    found = asdict(replace(record, images=()))
    return found | {"images": images} if images else {name: value for name, value in found.items() if name != "images"}


def suppliers(node: Node) -> str:
    """Return a reply's encoded suppliers as "answer/thinking"."""
    reply = node.reply
    return f"{reply.answer_by.encode()}/{reply.thinking_by.encode()}" if reply and not reply.origin else ""


def text_of(node: Node) -> tuple[str, str]:
    """Return a message's text and thinking."""
    return (node.reply.answer, node.reply.thinking) if node.reply else (node.text, "")


def texts_of_calls(node: Node) -> str:
    """Return the searchable text of calls: names, arguments, and results."""
    calls = node.reply.calls if node.reply else ()
    return "".join(f"\n{one.server} {one.tool or one.call.name} {one.call.arguments}\n{one.result}" for one in calls)


def node_from(
    role: NodeRole,
    node_id: str,
    text: str,
    thinking: str,
    created: float,
    found: Mapping[str, Any],
    supplied: str = "",
    files: Mapping[str, bytes] = _NO_FILES,
    summary: str = "",
) -> Node:
    """Return a message without a parent.

    An unfinished reply becomes interrupted, and open calls are stopped.

    Args:
        found: see `details`.
        files: data of files, by digest.
    """
    if role != "assistant":
        attached = attachments_from(found.get("attachments"), files)
        return Node(role, text=text, attachments=attached, id=node_id, created=created)
    asked = as_dict(found.get("request"))
    system = as_text(asked.get("system"))
    options = read_fields(GenerationRequest, {**asked, "mode": read_as(Mode, asked.get("mode"), "plain")}, _REQUEST)
    request = GenerationRequest((Message("system", system),) if system else (), **options)
    request = replace(request, max_tokens=request.max_tokens or MAX_TOKENS, width=request.width or None)
    values = read_fields(Reply, {**found, "mode": read_as(Mode, found.get("mode"), "plain")}, _REPLY)
    answer_by, _, thinking_by = supplied.partition("/")
    reply = Reply(
        max_tokens=request.max_tokens,
        answer=text,
        thinking=thinking,
        answer_by=_suppliers(answer_by, text),
        thinking_by=_suppliers(thinking_by, thinking),
        **values,
    )
    reply.reason = reply.reason or "interrupted"
    reply.calls = tuple(_with_images(_closed_calls(reply), as_list(found.get("calls")), files))
    reply.unreadable_calls = tuple(_valid_ranges(reply))
    if reply.thinking_s is not None and reply.thinking_s < 0:
        reply.thinking_s = None
    return Node(role, reply=reply, request=request, id=node_id, created=created, summary=summary.strip())


def _with_images(calls: Iterable[CallRecord], listed: list[Any], files: Mapping[str, bytes]) -> Iterator[CallRecord]:
    """Yield a stored reply's calls with the images of their results."""
    images = {as_text(as_dict(found.get("call")).get("id")): as_list(found.get("images")) for found in map(as_dict, listed)}
    for one in calls:
        found = (_image(as_dict(image), len(one.result), files) for image in images.get(one.call.id, ()))
        yield replace(one, images=tuple(sorted(found, key=lambda image: image.at)))


def _image(found: Mapping[str, Any], length: int, files: Mapping[str, bytes]) -> AttachedImage:
    at, digest = min(read_as(int, found.get("at"), 0), length), as_text(found.get("digest"))
    rest = as_text(found.get("name")), read_as(Detail, found.get("detail"), "auto")
    return AttachedImage(at, files.get(digest, b""), *rest, digest)


def _closed_calls(reply: Reply) -> Iterator[CallRecord]:
    """Yield a stored reply's calls, all ended, with lengths that fit its text."""
    answered = thought = 0
    for one in reply.calls:
        answered = min(max(answered, one.answer_end), len(reply.answer))
        thought = min(max(thought, one.thinking_end), len(reply.thinking))
        found = replace(one, answer_end=answered, thinking_end=thought)
        yield found if one.ended else replace(found, state="stopped", result=STOPPED)


def _valid_ranges(reply: Reply) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a stored reply's unreadable calls that fit its text."""
    end = 0
    for first, last in reply.unreadable_calls:
        first, last = max(first, end), min(last, len(reply.answer))
        if first < last:
            yield first, last
            end = last


def chat_to_json(chat: Chat) -> _Json:
    """Return a chat as JSON values with all branches, but without the data of files."""
    return {
        "id": chat.id,
        "title": chat.title,
        "created": chat.created,
        "changed": chat.changed,
        "settings": chat.settings.to_json(),
        "messages": [_message(node) for node in chat.root.below()],
    }


def chat_from_json(data: object, files: Mapping[str, bytes] = _NO_FILES) -> Chat:
    """Read a chat.

    Args:
        data: see `chat_to_json`.
        files: data of files, by digest.

    Raises:
        UserError: the data is not a chat, or its messages don't form a tree.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("messages"), list):
        raise UserError("not_a_chat", "The file contains an item that isn't a Slipstream chat.")
    now = time.time()
    chat = Chat(
        as_text(data.get("title")).strip() or NEW_CHAT,
        ChatSettings.from_json(data.get("settings")),
        as_text(data.get("id")) or new_id(),
        as_time(data.get("created"), now),
        as_time(data.get("changed"), now),
    )
    build_tree(chat, (_row(one, files) for one in as_list(data["messages"])))
    return chat


Row = tuple[Node, str | None, bool]  # message, parent id, and whether this version is shown


def build_tree(chat: Chat, rows: Iterable[Row]) -> None:
    """Add messages to an empty chat; versions keep the order of the rows.

    Raises:
        UserError: an id is duplicated, a parent is missing, or a message is its own ancestor.
    """
    nodes: dict[str, Row] = {}
    for row in rows:
        if row[0].id in nodes:
            raise _no_tree(chat)
        nodes[row[0].id] = row
    for node, parent_id, chosen in nodes.values():
        if parent_id is not None and parent_id not in nodes:
            raise _no_tree(chat)
        (nodes[parent_id][0] if parent_id is not None else chat.root).add(node, show=chosen)
    if sum(1 for _ in chat.root.below()) != len(nodes):
        raise _no_tree(chat)


def _no_tree(chat: Chat) -> UserError:
    return UserError("chat_not_a_tree", "The chat “{title}” is damaged: its messages are inconsistent.", title=chat.title)


def _message(node: Node) -> _Json:
    assert node.parent is not None
    text, thinking = text_of(node)
    found: _Json = {
        "id": node.id,
        "parent": None if node.parent.role == "root" else node.parent.id,
        "role": node.role,
        "chosen": node.parent.chosen is node,
        "created": node.created,
        "text": text,
    }
    if node.reply:
        found |= {"thinking": thinking, "suppliers": suppliers(node)} | ({"summary": node.summary} if node.summary else {})
    return found | ({"details": details(node)} if node.reply or node.attachments else {})


def _row(data: object, files: Mapping[str, bytes]) -> Row:
    found = as_dict(data)
    role, node_id, parent = found.get("role"), as_text(found.get("id")), found.get("parent")
    if role not in ("user", "assistant") or not node_id:
        raise UserError("not_a_message", "The file contains a message without an ID or a valid role.")
    node = node_from(
        role,
        node_id,
        as_text(found.get("text")),
        as_text(found.get("thinking")),
        as_time(found.get("created"), time.time()),
        as_dict(found.get("details")),
        as_text(found.get("suppliers")),
        files,
        as_text(found.get("summary")),
    )
    return node, parent if isinstance(parent, str) else None, found.get("chosen") is True


def _suppliers(encoded: str, text: str) -> Suppliers:
    found = Suppliers.decode(encoded)
    if len(found) != len(text):
        found = Suppliers()
        found.add(len(text))
    return found
