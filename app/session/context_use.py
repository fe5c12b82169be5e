"""The use of the context by the next prompt, and the part that doesn't fit."""

import json
from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from app.storage.attachments import Attachment, message_of, shortened, shown_to
from app.storage.chat_tree import SUMMARY_MESSAGES, asking
from app.storage.reply import Reply
from app.storage.wording import about_tokens
from app.text.language import number, tr
from mlx_engine.contract.limits import shrinking_windows
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message
from mlx_engine.contract.token_counts import PromptParts, TokenCount

LOW, NEARLY_FULL = 0.75, 0.9  # shares of the context in use: the meter warns, and older messages are summarized
TEMPLATE_TOKENS = 64  # upper bound of what a chat template adds to a message or a tool
IMAGE_TOKENS = 4200  # upper bound of an image
IMAGE_LETTERS = 4000  # of a text with as many tokens as a typical image
SHORTEST = "a"  # message

Part = Literal["system", "tools", "chat", "text", "file", "message"]


@dataclass(frozen=True)
class Misfit:
    """The part of a prompt that doesn't fit. A message is its text and files together.

    Attributes:
        tokens: number of tokens of the part.
        left: number of tokens that the rest of the prompt leaves.
        exact: False for an estimate of `tokens`.
        file: the file, if the part is one.
        pages_fit: how many of its first pages fit, if it is a PDF.
    """

    part: Part
    tokens: int = 0
    left: int = 0
    exact: bool = True
    file: Attachment | None = None
    pages_fit: int = 0


@dataclass(frozen=True)
class ContextUse:
    """Used and available tokens."""

    used: int
    limit: int
    draft: bool = False  # whether a message is counted too
    misfit: Misfit | None = None  # if the prompt doesn't fit
    exact: bool = True  # False for an estimate
    left_out: int = 0  # number of the chat's oldest messages that aren't sent, as the chat shows them
    parts: PromptParts | None = None  # what the tokens are, if known

    @property
    def left(self) -> int:
        return self.limit - self.used

    @property
    def share(self) -> float:
        """Used share of the context, from 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0

    @property
    def low(self) -> bool:
        """Whether a long reply may not fit."""
        return self.used >= LOW * self.limit

    @property
    def nearly_full(self) -> bool:
        return self.used >= NEARLY_FULL * self.limit

    @property
    def full(self) -> bool:
        """Whether the context has no room for a token of a reply."""
        return self.left < 1

    @property
    def chat_full(self) -> bool:
        """Whether the chat leaves no room for even the shortest message."""
        return self.full and (self.misfit.part == "chat" if self.misfit is not None else not self.draft)

    @property
    def chat_nearly_full(self) -> bool:
        """Whether the chat nearly fills the context, without the message and all files."""
        if self.misfit is not None and not self.chat_full:
            return False
        parts = self.parts or PromptParts(message=self.used)
        message = parts.message + parts.files + parts.images if self.draft and not self.chat_full else 0
        return self.used - message >= NEARLY_FULL * self.limit


def use_text(use: ContextUse) -> str:
    """Return the use of the context in words, or what doesn't fit."""
    about = "" if use.exact else "~"
    limit = number(use.limit)
    if use.misfit is not None and not use.chat_full:
        return misfit_text(use.misfit)
    if use.full:
        return tr("This chat is full ({limit} tokens)", limit=limit)
    left, used = number(use.left), number(use.used)
    text = tr("{about}{used} of {limit} tokens used · {left} left", about=about, used=used, limit=limit, left=left)
    if use.nearly_full:
        text = tr("{about}{left} tokens left", about=about, left=left)
    if use.left == 1:
        text = tr("{about}1 token left", about=about)
    if not use.left_out:
        return text
    unread = tr("{count} older messages won't be read", count=number(use.left_out))
    if use.left_out == 1:
        unread = tr("1 older message won't be read")
    return f"{unread} · {text}"


def parts_text(use: ContextUse) -> str:
    """Return what the prompt consists of, one part a line, or an empty string."""
    if use.parts is None:
        return ""
    titles = {
        "system": tr("System prompt"),
        "tools": tr("Tools"),
        "chat": tr("Earlier messages"),
        "results": tr("Results of tools"),
        "files": tr("Files"),
        "images": tr("Images"),
        "message": tr("This message"),
        "template": tr("Chat template"),
    }
    lines = [tr("{title}: {tokens}", title=title, tokens=number(getattr(use.parts, name))) for name, title in titles.items()]
    shown = [line for name, line in zip(titles, lines, strict=True) if getattr(use.parts, name)]
    return "\n".join((*shown, tr("Total: {used} of {limit} tokens", used=number(use.used), limit=number(use.limit))))


def misfit_text(misfit: Misfit) -> str:
    tokens, left = about_tokens(misfit.tokens, misfit.exact), number(misfit.left)
    match misfit.part:
        case "file" if misfit.file is not None:
            text = tr("{name} doesn't fit: {tokens}, {left} left", name=shortened(misfit.file.name), tokens=tokens, left=left)
            if not misfit.pages_fit:
                return text
            fit = tr("{count} of {pages} pages fit", count=number(misfit.pages_fit), pages=number(len(misfit.file.page_list)))
            return f"{text} · {fit}"
        case "text":
            return tr("The text doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)
        case "tools":
            return tr("The tools don't fit: {tokens}, {left} left", tokens=tokens, left=left)
        case "system":
            return tr("The system prompt doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)
    return tr("The message with its files doesn't fit: {tokens}, {left} left", tokens=tokens, left=left)


@dataclass(frozen=True)
class NextPrompt:
    """The prompt that the next message leads to.

    Attributes:
        base: the request without the chat's messages.
        history: earlier messages that are sent again.
        text, files: the message.
        can_see: whether the model sees images.
        summarized: number of the chat's messages that a summary at the start of `history` replaces.
    """

    base: GenerationRequest
    history: tuple[Message, ...] = ()
    text: str = ""
    files: tuple[Attachment, ...] = ()
    can_see: bool = False
    summarized: int = 0

    @property
    def has_message(self) -> bool:
        return bool(self.text or self.files)

    @property
    def empty(self) -> bool:
        """Whether nothing would be sent but the message."""
        return not (self.base.messages or self.history or self.base.tools)

    def counted(self, message: str = "", parts: bool = False) -> CountTokens:
        """Return a request to count the prompt, by default with its own message."""
        last = Message("user", message) if message else message_of(self.text, self.files, can_see=True)
        request = asking(self.base, self.history, last)
        return CountTokens(replace(request, messages=shown_to(self.can_see, request.messages)), True, parts)

    def as_shown(self, left_out: int) -> int:
        """Return how many messages the chat shows for the oldest of the history.

        A reply with calls and their results is one message there, and a summary is all that it replaces.
        """
        replaced = bool(self.summarized and left_out)
        sent = self.history[SUMMARY_MESSAGES if replaced else 0 : left_out]
        roles = ("user", *(one.role for one in sent))
        return sum("user" in pair for pair in pairwise(roles)) + (self.summarized if replaced else 0)

    @property
    def most_tokens(self) -> int:
        """An upper bound of the tokens, at one per byte."""
        request = self.counted(SHORTEST if not self.has_message else "").request
        images = sum(len(one.images) for one in request.messages)
        size = sum(len(text.encode("utf-8", "surrogatepass")) + TEMPLATE_TOKENS for text in _texts_of(request))
        return size + images * IMAGE_TOKENS + TEMPLATE_TOKENS


def measure(prompt: NextPrompt) -> Generator[CountTokens, TokenCount, ContextUse]:
    """Yield requests, receive their results, and return the use of the context.

    Without a message, a chat that must begin with one is counted with the shortest.
    """
    needs_message = not prompt.history or prompt.base.rolling is not None  # then the oldest turns make room for any next message
    stand_in = not prompt.has_message and needs_message
    whole = yield prompt.counted(SHORTEST if stand_in else "", parts=not stand_in)
    exact, left_out = whole.exact and not stand_in, prompt.as_shown(whole.left_out)
    use = ContextUse(whole.tokens, whole.limit, prompt.has_message, None, exact, left_out, whole.parts)
    return replace(use, misfit=(yield from _misfit(prompt, whole))) if use.full else use


def estimate(prompt: NextPrompt, reply: Reply, limit: int) -> ContextUse | None:
    """Estimate the use without the next message from the last reply's statistics.

    Text that has come or gone since then counts as many tokens per letter as that reply and its prompt had.
    """
    stats = next(iter(reply.step_stats[-1:]), reply.stats)
    if stats is None or not stats.prompt_tokens:
        return None
    request = prompt.counted(SHORTEST).request
    whole = letters_of(replace(request, messages=request.messages[:-1]))
    own = letters_of(GenerationRequest(reply.messages[-1:]))
    then = reply.prompt_letters + own if reply.prompt_letters else whole  # earlier versions didn't store it
    use = ContextUse(0, limit, exact=False)
    for messages, left_out in shrinking_windows(request):
        now = letters_of(replace(request, messages=messages[:-1]))
        used = round((stats.prompt_tokens + stats.tokens) * now / max(1, then))
        use = replace(use, used=used, left_out=prompt.as_shown(left_out))
        if not use.full:
            break
    return use


def letters_of(request: GenerationRequest) -> int:
    """Return the size of a prompt in letters, for estimates."""
    return sum(map(len, _texts_of(request))) + IMAGE_LETTERS * sum(len(one.images) for one in request.messages)


def _texts_of(request: GenerationRequest) -> list[str]:
    """Return the texts of the messages, and the declarations of the tools."""
    texts = [one.content + one.thinking + "".join(call.name + call.arguments for call in one.calls) for one in request.messages]
    return texts + [json.dumps(tool.declaration, ensure_ascii=False) for tool in request.tools]


def _misfit(prompt: NextPrompt, whole: TokenCount) -> Generator[CountTokens, TokenCount, Misfit]:
    """Find the part of a prompt that doesn't fit."""
    limit = whole.limit
    shortest = yield prompt.counted(SHORTEST)
    if shortest.tokens < limit and prompt.has_message:
        message = Misfit("message", whole.tokens - shortest.tokens + 1, limit - shortest.tokens, whole.exact)
        part = yield from _largest_part(prompt, message)
        return replace(part, pages_fit=(yield from _pages_that_fit(prompt, part.file))) if part.file else part
    fresh = replace(prompt, base=replace(prompt.base, rolling=None), history=())
    without_history = yield fresh.counted(SHORTEST)
    if without_history.tokens < limit:
        return Misfit("chat")
    without_tools = yield replace(fresh, base=replace(fresh.base, tools=())).counted(SHORTEST)
    if without_tools.tokens < limit:
        exact = without_history.exact
        return Misfit("tools", without_history.tokens - without_tools.tokens, limit - without_tools.tokens, exact)
    return Misfit("system", without_tools.tokens, limit, without_tools.exact)


def _pages_that_fit(prompt: NextPrompt, pdf: Attachment) -> Generator[CountTokens, TokenCount, int]:
    """Return how many of the first pages of a file that doesn't fit do."""
    fits, too_many = 0, len(pdf.page_list)
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        files = tuple(one.first_pages(count) if one == pdf else one for one in prompt.files)
        found = yield replace(prompt, files=files).counted()
        fits, too_many = (count, too_many) if found.tokens < found.limit else (fits, count)
    return fits


def _largest_part(prompt: NextPrompt, message: Misfit) -> Generator[CountTokens, TokenCount, Misfit]:
    """Return the part of a message that alone is too long, or the message."""
    if not prompt.files:
        return replace(message, part="text")
    if not prompt.text and len(prompt.files) == 1:
        return replace(message, part="file", file=prompt.files[0])
    found = list[Misfit]()
    for part, file, one in (
        *(("file", file, message_of("", (file,), prompt.can_see)) for file in prompt.files),
        *((("text", None, Message("user", prompt.text)),) if prompt.text else ()),
    ):
        count = yield CountTokens(GenerationRequest((one,)), estimate=True)
        found.append(Misfit(part, count.tokens, message.left, count.exact, file))
    largest = max(found, key=lambda one: one.tokens)
    return largest if largest.tokens > message.left else message
