"""Links that open a new chat, the quick chat, or a chat of the library.

`slipstream://new?text=…` and `slipstream://quick?text=…` put a text into a message field, and `slipstream://chat/ID` opens a chat.
Any page or program can open one, so a link can do nothing else, and most invisible characters in its text are shown.
"""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.visible import visible

SCHEME = "slipstream"
MAX_TEXT = 20_000  # characters
MAX_LINK = 12 * MAX_TEXT + 100  # an emoji is 12 characters of a link
_FORM = re.compile(rf"{SCHEME}://((?P<place>new|quick)/?(\?(text=(?P<text>[^&#]*))?)?|chat/(?P<chat>[^/?&#]+)/?)", re.IGNORECASE)
_EMPTY_LINES = re.compile(r"\n([^\S\n]*\n){2,}")


@dataclass(frozen=True)
class ChatLink:
    """What a link opens.

    Attributes:
        place: a new chat, the quick chat, or a chat of the library.
        text: the text for the message field, which may be empty.
        chat: the ID of the chat of the library.
    """

    place: Literal["new", "quick", "chat"]
    text: str = ""
    chat: str = ""


def is_chat_link(text: str) -> bool:
    """Return whether a text has the scheme of these links, valid or not."""
    return text[: len(SCHEME) + 1].lower() == f"{SCHEME}:"


def link_to(chat_id: str) -> str:
    """Return the link to a chat of the library."""
    return f"{SCHEME}://chat/{quote(chat_id, safe='')}"


def read_link(link: str) -> ChatLink:
    """Return what a link opens.

    Texts and IDs are percent-encoded UTF-8, in which "+" is a plus sign.

    Raises:
        UserError: the link is too long or has another form.
    """
    form = _FORM.fullmatch(link) if len(link) <= MAX_LINK else None
    text = unquote(form["text"] or "", errors="replace") if form else ""
    if len(link) > MAX_LINK or len(text) > MAX_TEXT:
        raise too_long()
    if form is None:
        raise UserError("chat_link", "Slipstream can't open this link. Links to Slipstream have the form {form}.", form=example())
    if form["chat"]:
        return ChatLink("chat", chat=unquote(form["chat"], errors="replace"))
    shown = visible("\n".join(text.splitlines()))
    shown = _EMPTY_LINES.sub("\n\n", shown).strip()  # what follows empty lines could be out of sight
    return ChatLink("new" if form["place"].lower() == "new" else "quick", shown)


def too_long() -> UserError:
    template = "The text of this link is too long. Copy the text instead, and paste it into a new chat."
    return UserError("chat_link_too_long", template)


def example() -> str:
    return f"{SCHEME}://new?text=Hello"
