"""Convert messages to prompt tokens."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.limits import rolling_window, shorten_results
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message, ToolSpec
from mlx_engine.formats.channels import tokens_opening
from mlx_engine.formats.chat_text import chat_with_images
from mlx_engine.formats.continuations import continuations
from mlx_engine.formats.format_registry import call_format, markers_of
from mlx_engine.formats.harmony import message_ends
from mlx_engine.formats.known_prompts import known_prompts, shared_length
from mlx_engine.formats.sight import Sight
from mlx_engine.formats.template_sandbox import on_thread, tokenizer_crash
from mlx_engine.vision import spans
from mlx_engine.vision.spans import ImageSpan

_CHARACTERS_PER_TOKEN = 8  # more than nearly any text has


@dataclass(frozen=True)
class RenderedPrompt:
    """Prompt tokens.

    Attributes:
        tokens: all tokens.
        opening: the tokens at the end of `tokens` that belong to the reply.
        continued: the tokens at the end of `opening` that belong to an unfinished reply.
        raw: whether the prompt is raw text, so that leading whitespace of the reply is shown.
        boundaries: the counts of tokens that other chats and the next turn share, in ascending order, if asked for. They exclude at
            least the last token, and aren't inside images.
        spans: where images are in `tokens`.
        images: the images, in the same order.
    """

    tokens: list[int]
    opening: list[int]
    continued: list[int]
    raw: bool = False
    boundaries: tuple[int, ...] = ()
    spans: tuple[ImageSpan, ...] = ()
    images: tuple[AttachedImage, ...] = ()

    def keys(self) -> list[int]:
        """Return the keys that match prefixes: `tokens` itself without images."""
        return spans.keys(self.tokens, self.spans)


class ContextExceeded(UserError):
    """The refusal of a text that is far too long for the context.

    Attributes:
        estimate: estimated number of tokens of the whole text.
    """

    estimate = 0


def render(
    tokenizer: TokenizerWrapper,
    request: GenerationRequest,
    cancel: threading.Event | None = None,
    limit: int | None = None,
    with_boundaries: bool = False,
    sight: Sight | None = None,
) -> RenderedPrompt:
    """Return a request's prompt, from raw tokens or through the chat template.

    An unfinished reply is continued in its own channel, even if the template has opened another.

    Args:
        tokenizer: the target's tokenizer.
        request: the request for the reply.
        cancel: stops the rendering.
        limit: context length in tokens, by which a far too long text is refused without tokenizing all of it.
        with_boundaries: whether to find the boundaries.
        sight: how the model's prompts show images; None if it can't see.

    Raises:
        UserError: the request has both messages and a raw prompt or neither, a message or the whole prompt is empty, the text is
            far too long, or the template rejects the chat.
        WorkCancelled: `cancel` was set.
    """
    raw = request.prompt_tokens is not None or request.prompt_text is not None
    start, shared, ends = 0, list[list[int]](), {*tokenizer.eos_token_ids}
    images = list[AttachedImage]()
    if raw:
        if request.messages:
            raise UserError("two_prompts", "Pass either messages or prompt tokens, not both.")
        tokens = list(
            request.prompt_tokens or text_tokens(tokenizer, request.prompt_text or "", cancel, limit, add_special_tokens=True)
        )
        if not tokens:
            raise UserError("prompt_without_tokens", "The prompt is empty. Pass at least one token.")
        shared = [tokens]
    else:
        _check(request.messages)
        asked = (request.messages, request.thinking, request.effort, request.tools)
        text, images = chat_with_images(tokenizer, *asked, cancel=cancel, sight=sight)
        tokens, ends = _tokens(tokenizer, text, cancel, limit), message_ends(tokenizer)
        end, lengths = continuations(tokenizer, request, text, with_boundaries, cancel, sight)
        shared = [_tokens(tokenizer, text[:length], cancel) for length in lengths]
        start = len(tokens) - shared_length(tokens[::-1], text_tokens(tokenizer, text[end:], cancel, limit)[::-1])
    start = max((at + 1 for at in range(start, len(tokens)) if tokens[at] in ends), default=start)
    opening, continued = tokens[start:], list[int]()
    markers = markers_of(tokenizer)
    if request.continue_thinking:
        opening += tokens_opening(tokenizer, markers, opening, "thinking")
        continued = text_tokens(tokenizer, request.continue_thinking, cancel, limit)
        opening += continued
    if request.continue_from:
        continued = text_tokens(tokenizer, request.continue_from, cancel, limit)
        closing = markers.closing if markers else ()
        if not closing or all(tuple(continued[at : at + len(closing)]) != closing for at in range(len(continued))):
            opening += tokens_opening(tokenizer, markers, opening, "answer")
        opening += continued
    if not tokens[:start] and not opening:
        raise UserError(
            "chat_without_tokens",
            "The model's chat template or tokenizer produces an empty prompt. Download the model again, or choose another one.",
        )
    tokens = tokens[:start] + opening
    boundaries = {min(shared_length(tokens, part), len(tokens) - 1) for part in shared if with_boundaries}
    if not images or sight is None:
        return RenderedPrompt(tokens, opening, continued, raw, tuple(sorted(boundaries - {0})))
    if sight.token in opening:
        raise sight.ambiguous()
    shown = sight.expand(tokens, images)
    counts = sorted(map(shown.count, boundaries - {0}))
    return RenderedPrompt(shown.tokens, opening, continued, raw, tuple(counts), shown.spans, tuple(images))


def usable_tools(tokenizer: TokenizerWrapper, request: GenerationRequest) -> tuple[ToolSpec, ...]:
    """Return a request's tools, or () if the request and the model allow no calls."""
    return request.tools if request.tool_choice != "none" or call_format(tokenizer) else ()


def fitting(
    tokenizer: TokenizerWrapper,
    request: GenerationRequest,
    limit: int,
    cancel: threading.Event | None = None,
    sight: Sight | None = None,
) -> tuple[tuple[Message, ...], int, int]:
    """Return the messages of a request that fit in a context of `limit` tokens.

    These are all messages, or a rolling window if the request asks for one. Results of tools are cut off if it asks for that.

    Returns:
        the messages, the length to which results were cut, or 0, and the tokens of the prompt with all messages, or 0 if they
            weren't counted, because an earlier prompt had left out some.
    """
    if request.rolling is None and not request.shorten_results:
        return request.messages, 0, 0
    size = len(text_tokens(tokenizer, request.continue_thinking + request.continue_from, cancel, limit))
    whole = 0

    def count(messages: Sequence[Message]) -> int:
        nonlocal whole
        try:
            asked = (tokenizer, messages, request.thinking, request.effort, request.tools)
            tokens = size + len(template(*asked, cancel=cancel, limit=limit, sight=sight))
        except ContextExceeded as error:
            tokens = size + error.estimate
        if len(messages) == len(request.messages):
            whole = whole or tokens  # all messages are counted before any result is cut
        return tokens

    messages = request.messages
    if request.rolling is not None:
        messages = rolling_window(messages, request.rolling, limit, request.max_tokens, count)
    cut = 0
    if request.shorten_results:
        messages, cut = shorten_results(messages, limit, request.max_tokens, count)
    return messages, cut, whole


def text_tokens(
    tokenizer: TokenizerWrapper, text: str, cancel: threading.Event | None, limit: int | None, add_special_tokens: bool = False
) -> list[int]:
    """Return a text's tokens.

    Raises:
        UserError: the text contains half a character, which no tokenizer takes.
        ContextExceeded: the text is so long that its beginning doesn't fit in `limit` tokens.
    """
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        template = "The prompt contains half of a character ({code}). Remove it from the text, or choose another model."
        raise UserError("half_character", template, code=f"U+{ord(text[fault.start]):04X}") from None

    def tokens_of(part: str) -> list[int]:
        try:
            return list(on_thread(partial(tokenizer.encode, part, add_special_tokens=add_special_tokens), cancel, tokenizer))
        except (UserError, WorkCancelled):
            raise
        except Exception as error:  # such as a missing token for unknown text
            raise tokenizer_crash(error) from None

    if limit is not None and len(text) > _CHARACTERS_PER_TOKEN * limit:
        tokens = len(tokens_of(text[: _CHARACTERS_PER_TOKEN * limit]))
        if tokens > limit + limit // 4:  # the cut may change the tokens of the last word
            raise _context_exceeded(tokens, limit, round(tokens * len(text) / (_CHARACTERS_PER_TOKEN * limit)))
    return tokens_of(text)


def _context_exceeded(tokens: int, limit: int, estimate: int) -> ContextExceeded:
    template = (
        "The chat has at least {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one."
    )
    error = ContextExceeded("context_exceeded", template, tokens=tokens, limit=limit)
    error.estimate = estimate
    return error


def _check(messages: Sequence[Message]) -> None:
    if not any(message.role in ("user", "tool") for message in messages):
        raise UserError("nothing_to_answer", "This chat has no message to reply to. Write one first.")
    for message in messages:
        if message.role not in ("system", "user", "assistant", "tool"):
            raise UserError(
                "unknown_role",
                "The chat has a message with the role “{role}”. Use system, user, assistant, or tool.",
                role=message.role,
            )


def can_think(tokenizer: TokenizerWrapper) -> bool:
    """Return whether replies can contain thinking separate from the answer."""
    return markers_of(tokenizer) is not None


def template(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    tools: Sequence[ToolSpec] = (),
    reply: bool = True,
    cancel: threading.Event | None = None,
    limit: int | None = None,
    sight: Sight | None = None,
) -> list[int]:
    """Return the tokens of a chat, with the opening of a reply if `reply` is set.

    Args:
        limit: context length in tokens, as in `render`.
        sight: as in `render`.

    Raises:
        UserError: the chat is rejected, or far too long for the context.
        WorkCancelled: `cancel` was set.
    """
    text, images = chat_with_images(tokenizer, messages, thinking, effort, tools, reply, cancel, sight)
    tokens = _tokens(tokenizer, text, cancel, limit)
    return sight.expand(tokens, images).tokens if sight and images else tokens


def _tokens(tokenizer: TokenizerWrapper, text: str, cancel: threading.Event | None, limit: int | None = None) -> list[int]:
    """Return the tokens of a text, and tokenize only what is new."""
    known = known_prompts(tokenizer)
    size, tokens = known.beginning(text)
    tokens += text_tokens(tokenizer, text[size:], cancel, limit)
    known.add(text, tokens)
    return tokens
