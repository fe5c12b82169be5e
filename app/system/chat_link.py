"""Links that open a new chat with a text in the message field.

Their form is `slipstream://new?text=…`. Any page or program can open one, so a link can do nothing else, and most invisible
characters in its text are shown.
"""

import re
from urllib.parse import unquote

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.visible import visible

SCHEME = "slipstream"
MAX_TEXT = 20_000  # characters
MAX_LINK = 12 * MAX_TEXT + 100  # an emoji is 12 characters of a link
_FORM = re.compile(rf"{SCHEME}://new/?(\?(text=(?P<text>[^&#]*))?)?", re.IGNORECASE)
_EMPTY_LINES = re.compile(r"\n([^\S\n]*\n){2,}")


def is_chat_link(text: str) -> bool:
    """Return whether a text has the scheme of these links, valid or not."""
    return text[: len(SCHEME) + 1].lower() == f"{SCHEME}:"


def text_of(link: str) -> str:
    """Return the text of a link, which may be empty.

    The text is percent-encoded UTF-8, in which "+" is a plus sign.

    Raises:
        UserError: the link is too long or has another form.
    """
    form = _FORM.fullmatch(link) if len(link) <= MAX_LINK else None
    text = unquote(form["text"] or "", errors="replace") if form else ""
    if len(link) > MAX_LINK or len(text) > MAX_TEXT:
        raise too_long()
    if form is None:
        raise UserError("chat_link", "Slipstream can't open this link. Links to Slipstream have the form {form}.", form=example())
    shown = visible("\n".join(text.splitlines()))
    return _EMPTY_LINES.sub("\n\n", shown).strip()  # what follows empty lines could be out of sight


def too_long() -> UserError:
    template = "The text of this link is too long. Copy the text instead, and paste it into a new chat."
    return UserError("chat_link_too_long", template)


def example() -> str:
    return f"{SCHEME}://new?text=Hello"
