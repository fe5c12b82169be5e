"""Recognition of imported chats and messages that the library has already.

A chat is known if the library has its id, or a chat that began at the same time with the same message: older versions gave
new ids to imported chats. Messages are compared one by one, so a chat that the user has continued is still known, and a file that
is newer only adds messages next to the user's own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from app.storage.attachments import Attachment, attachments_from
from app.storage.chat_tree import Chat, Node
from app.storage.json_values import as_dict, parse_json
from app.storage.records import text_of, texts_of_calls
from app.storage.store import Store
from app.text.plain_text import clean

IMAGE_PLACEHOLDER = "[image asset pointer]"  # text of a message whose image an export of ChatGPT lacks


@dataclass(eq=False)
class MessageOutline:
    """What identifies a message, or the root of a chat: its id or its content.

    Attributes:
        texts: text, thinking, and calls.
        node: the message itself; None if it wasn't loaded.
    """

    id: str = ""
    role: str = "root"
    texts: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    node: Node | None = None
    children: list["MessageOutline"] = field(default_factory=list)

    @property
    def content(self) -> tuple[object, ...]:
        return self.role, self.texts, self.attachments

    def below(self) -> "Iterator[MessageOutline]":
        """Yield all messages below this one, parents first."""
        waiting = self.children[::-1]
        while waiting:
            one = waiting.pop()
            yield one
            waiting.extend(reversed(one.children))


def outline(chat: Chat) -> MessageOutline:
    """Return the outline of a chat in memory."""
    made = {chat.root: MessageOutline(node=chat.root)}
    for node in chat.root.below():
        texts = tuple(map(clean, (*text_of(node), texts_of_calls(node))))
        made[node] = MessageOutline(node.id, node.role, texts, node.attachments, node)
        assert node.parent is not None
        made[node.parent].children.append(made[node])
    return made[chat.root]


def stored_outline(store: Store, chat_id: str) -> MessageOutline:
    """Return the outline of a stored chat, which is much faster to read than the chat."""
    root = MessageOutline()
    made: dict[str | None, MessageOutline] = {None: root}
    for node_id, parent, role, text, thinking, calls, details in store.message_texts(chat_id):
        found = as_dict(parse_json(details)).get("attachments") if role == "user" and details != "{}" else ()
        files = attachments_from(found, {})
        made[node_id] = MessageOutline(node_id, role, (text, thinking, calls), files)
        made.get(parent, root).children.append(made[node_id])
    return root


@dataclass(eq=False)
class Overlap:
    """What a stored chat and the same chat in a file have in common.

    Attributes:
        twins: the stored message of each of the file's messages that is known.
        missing: the first unknown messages of the file, each after the stored message (or root) that it follows.
        own: number of stored messages that the file lacks.
    """

    twins: dict[MessageOutline, MessageOutline] = field(default_factory=dict)
    missing: list[tuple[MessageOutline, MessageOutline]] = field(default_factory=list)
    own: int = 0

    def missing_nodes(self) -> list[Node]:
        """Return all messages that the stored chat lacks, parents first."""
        return [one.node for _, first in self.missing for one in (first, *first.below()) if one.node is not None]

    def more_images(self) -> "list[tuple[Node, MessageOutline]]":
        """Return the file's messages with images that their stored twins lack."""
        pairs = ((one.node, one, twin) for one, twin in self.twins.items() if one.role == "user")
        return [(node, twin) for node, one, twin in pairs if node and len(one.attachments) > len(twin.attachments)]


def overlap(stored: MessageOutline, other: MessageOutline) -> Overlap:
    found = Overlap()
    waiting = [(stored, other)]
    while waiting:
        above, theirs = waiting.pop()
        pairs = _twins(above.children, theirs.children)
        found.twins |= pairs
        found.missing += [(above, one) for one in theirs.children if one not in pairs]
        waiting += [(twin, one) for one, twin in pairs.items()]
    found.own = sum(1 for _ in stored.below()) - len(found.twins)
    return found


def add_missing(stored: Chat, other: Chat) -> list[Node]:
    """Add a file's messages that a chat lacks, and return them, parents first.

    They become versions next to the user's own messages. The file's branch is shown only if the user hasn't continued the chat.
    `other` can't be used afterwards.
    """
    found = overlap(outline(stored), outline(other))
    added, shown = found.missing_nodes(), other.turns[-1].last if other.turns else None
    for above, first in found.missing:
        assert above.node is not None and first.node is not None
        above.node.add(first.node, show=False)
    if added and shown is not None and not found.own:
        twins = {one.node: twin.node for one, twin in found.twins.items()}
        stored.choose(twins.get(shown) or shown)
    stored.changed = max(stored.changed, other.changed) if added else stored.changed
    return added


def _twins(stored: Iterable[MessageOutline], others: Iterable[MessageOutline]) -> dict[MessageOutline, MessageOutline]:
    """Return the stored versions of a message by the file's, same ids first."""
    free = {one.id: one for one in stored}
    pairs: dict[MessageOutline, MessageOutline] = {}
    for one in others:
        if (twin := free.get(one.id)) is not None and _is_continued(one, twin):
            pairs[one] = free.pop(one.id)
    by_content: dict[tuple[object, ...], list[MessageOutline]] = {}
    for twin in reversed(free.values()):
        by_content.setdefault(twin.content, []).append(twin)
    for one in others:
        if one not in pairs and (same := by_content.get(one.content)):
            pairs[one] = same.pop()
    return pairs


def _is_continued(one: MessageOutline, stored: MessageOutline) -> bool:
    """Whether a stored message equals the file's, or continues it."""
    if (one.role, stored.role) != ("assistant", "assistant"):
        return one.content == stored.content or _has_other_images(one, stored)
    return all(mine.startswith(theirs) for mine, theirs in zip(stored.texts, one.texts, strict=True))


def _has_other_images(one: MessageOutline, stored: MessageOutline) -> bool:
    """Whether two messages differ only in images that one of them lacks.

    An export of ChatGPT may lack images, or contain images that can't be read.
    """
    fewer, more = sorted((one.attachments, stored.attachments), key=len)
    rest = iter(more)
    is_part = all(file in rest for file in fewer) and all(file.picture is not None for file in more)
    same_texts = _without_placeholders(one.texts[0]) == _without_placeholders(stored.texts[0])
    return one.role == stored.role == "user" and fewer != more and is_part and same_texts


def _without_placeholders(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part != IMAGE_PLACEHOLDER]


class KnownChats:
    """An index of the stored chats that aren't deleted, made once per import."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._created = {entry.id: entry.created for entry in store.chats()}
        self._by_start: dict[bytes, list[str]] = {}
        for chat_id, role, text in store.first_messages():
            if chat_id in self._created:
                self._by_start.setdefault(_start(role, text), []).append(chat_id)

    def find(self, chat: Chat, dated: bool = True) -> tuple[str, Overlap] | None:
        """Return the id of the stored chat that is most like a file's, and how.

        Args:
            chat: a chat of the file.
            dated: whether the file says when the chat was created.
        """
        other = outline(chat)
        starts = [_start(one.role, one.texts[0]) for one in other.children]
        best: tuple[str, Overlap] | None = None
        for one in dict.fromkeys([chat.id, *(each for start in starts for each in self._by_start.get(start, ()))]):
            if one not in self._created or (one != chat.id and dated and self._created[one] != chat.created):
                continue
            found = overlap(stored_outline(self._store, one), other)
            if not found.twins and not chat.empty:
                continue
            if one != chat.id and self._created[one] != chat.created and found.missing and found.own:
                continue  # both begin with the same words, perhaps "Hi"
            if not found.missing:
                return one, found
            if best is None or len(found.missing_nodes()) < len(best[1].missing_nodes()):
                best = one, found
        return best


def _start(role: str, text: str) -> bytes:
    return blake2b(f"{role}\n{text}".encode(), digest_size=16).digest()
