"""Convert messages to prompt tokens."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import rolling_window, shorten_results
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats.calls import HARMONY
from mlx_engine.formats.channels import call_format, markers_of, template_reads, tokens_opening
from mlx_engine.formats.known_prompts import known_prompts
from mlx_engine.formats.template_sandbox import RenderingCancelled, on_thread, render_chat
from mlx_engine.models.files.chat_template import NO_CHAT_TEMPLATE, default_template

_INSTRUCTION = "later"
_CHARACTERS_PER_TOKEN = 8  # more than nearly any text has
_later_systems: WeakKeyDictionary[TokenizerWrapper, bool] = WeakKeyDictionary()


@dataclass(frozen=True)
class RenderedPrompt:
    """Prompt tokens.

    Attributes:
        tokens: all tokens.
        opening: the tokens at the end of `tokens` that belong to the reply.
        continued: the tokens at the end of `opening` that belong to an unfinished reply.
        raw: whether the prompt is raw text, so that leading whitespace of the reply is shown.
    """

    tokens: list[int]
    opening: list[int]
    continued: list[int]
    raw: bool = False


class ContextExceeded(UserError):
    """The refusal of a text that is far too long for the context.

    Attributes:
        estimate: estimated number of tokens of the whole text.
    """

    estimate = 0


def render(
    tokenizer: TokenizerWrapper, request: GenerationRequest, cancel: threading.Event | None = None, limit: int | None = None
) -> RenderedPrompt:
    """Return a request's prompt, from raw tokens or through the chat template.

    An unfinished reply is continued in its own channel, even if the template has opened another.

    Args:
        tokenizer: the target's tokenizer.
        request: the request for the reply.
        cancel: stops the rendering.
        limit: context length in tokens, by which a far too long text is refused without tokenizing all of it.

    Raises:
        UserError: the request has both messages and a raw prompt or neither, a message or the whole prompt is empty, the text is
            far too long, or the template rejects the chat.
        RenderingCancelled: `cancel` was set.
    """
    raw = request.prompt_tokens is not None or request.prompt_text is not None
    if raw:
        if request.messages:
            raise UserError("two_prompts", "Pass either messages or prompt tokens, not both.")
        tokens = list(
            request.prompt_tokens or _encode(tokenizer, request.prompt_text or "", cancel, limit, add_special_tokens=True)
        )
        if not tokens:
            raise UserError("prompt_without_tokens", "The prompt is empty. Pass at least one token.")
        shared = max((at + 1 for at, token in enumerate(tokens) if token in tokenizer.eos_token_ids), default=0)
    else:
        _check(request.messages)
        options = request.messages, request.thinking, request.effort, request.tools
        text, tokens = _rendered(tokenizer, *options, True, cancel, limit)
        known_prompts(tokenizer).add(text, tokens)
        chat = template(tokenizer, *options, reply=False, cancel=cancel)
        shared = next((at for at, (a, b) in enumerate(zip(tokens, chat, strict=False)) if a != b), min(len(tokens), len(chat)))
    opening, continued = tokens[shared:], list[int]()
    markers = markers_of(tokenizer)
    if request.continue_thinking:
        opening += tokens_opening(tokenizer, markers, opening, "thinking")
        continued = _encode(tokenizer, request.continue_thinking, cancel, limit)
        opening += continued
    if request.continue_from:
        continued = _encode(tokenizer, request.continue_from, cancel, limit)
        closing = markers.closing if markers else ()
        if not closing or all(tuple(continued[at : at + len(closing)]) != closing for at in range(len(continued))):
            opening += tokens_opening(tokenizer, markers, opening, "answer")
        opening += continued
    if not tokens[:shared] and not opening:
        raise UserError(
            "chat_without_tokens",
            "The model's chat template or tokenizer produces an empty prompt. Download the model again, or choose another one.",
        )
    return RenderedPrompt(tokens[:shared] + opening, opening, continued, raw)


def usable_tools(tokenizer: TokenizerWrapper, request: GenerationRequest) -> tuple[ToolSpec, ...]:
    """Return a request's tools, or () if the request and the model allow no calls."""
    return request.tools if request.tool_choice != "none" or call_format(tokenizer) else ()


def fitting(
    tokenizer: TokenizerWrapper, request: GenerationRequest | CountTokens, limit: int, cancel: threading.Event | None = None
) -> tuple[tuple[Message, ...], int]:
    """Return the messages of a request that fit in a context of `limit` tokens.

    These are all messages, or a rolling window if the request asks for one. Results of tools are cut off if it asks for that.

    Returns:
        the messages, and the length to which results were cut, or 0.
    """
    if request.rolling is None and not request.shorten_results:
        return request.messages, 0
    effort, written = None, ""
    if isinstance(request, GenerationRequest):
        effort, written = request.effort, request.continue_thinking + request.continue_from
    size = len(_encode(tokenizer, written, cancel, limit))

    def count(messages: Sequence[Message]) -> int:
        try:
            return size + len(template(tokenizer, messages, request.thinking, effort, request.tools, cancel=cancel, limit=limit))
        except ContextExceeded:
            return limit + 1

    messages = request.messages
    if request.rolling is not None:
        messages = rolling_window(messages, request.rolling, limit, request.max_tokens, count)
    return shorten_results(messages, limit, request.max_tokens, count) if request.shorten_results else (messages, 0)


def _encode(
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

    def encode(part: str) -> list[int]:
        return list(on_thread(partial(tokenizer.encode, part, add_special_tokens=add_special_tokens), cancel, tokenizer))

    if limit is not None and len(text) > _CHARACTERS_PER_TOKEN * limit:
        tokens = len(encode(text[: _CHARACTERS_PER_TOKEN * limit]))
        if tokens > limit + limit // 4:  # the cut may change the tokens of the last word
            template = (
                "The chat has at least {tokens:,} tokens, but the context holds only {limit:,}. "
                "Shorten the chat, or start a new one."
            )
            error = ContextExceeded("context_exceeded", template, tokens=tokens, limit=limit)
            error.estimate = round(tokens * len(text) / (_CHARACTERS_PER_TOKEN * limit))
            raise error
    return encode(text)


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


def takes_effort(tokenizer: TokenizerWrapper) -> bool:
    """Return whether a target's chat template takes a reasoning effort."""
    return template_reads(tokenizer, "reasoning_effort")


def template(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    tools: Sequence[ToolSpec] = (),
    reply: bool = True,
    cancel: threading.Event | None = None,
    limit: int | None = None,
) -> list[int]:
    """Return the tokens of a chat, with the opening of a reply if `reply` is set.

    Args:
        limit: context length in tokens, as in `render`.

    Raises:
        UserError: the chat is rejected.
        RenderingCancelled: `cancel` was set.
    """
    return _rendered(tokenizer, messages, thinking, effort, tools, reply, cancel, limit)[1]


def _rendered(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool,
    effort: str | None,
    tools: Sequence[ToolSpec],
    reply: bool,
    cancel: threading.Event | None,
    limit: int | None,
) -> tuple[str, list[int]]:
    """Return the text and the tokens of a chat.

    If the template rejects or drops system messages after the first, they become user messages. If it rejects the chat, messages of
    one role in a row are merged. If it rejects the merged chat too, all system messages become user messages.

    Raises:
        UserError: the template is missing, takes no tools, rejects the merged chat too, takes too long, or makes too much text; or
            the text is far too long for the context.
        RenderingCancelled: `cancel` was set.
    """
    templates = tokenizer.chat_template
    if not tokenizer.has_chat_template or (isinstance(templates, str | dict) and not default_template(templates)):
        raise UserError.of(NO_CHAT_TEMPLATE)
    options: dict[str, Any] = {"add_generation_prompt": reply, "enable_thinking": thinking}
    if template_reads(tokenizer, "thinking"):  # DeepSeek's and Kimi's name for the switch
        options["thinking"] = thinking
    if effort and takes_effort(tokenizer):
        options["reasoning_effort"] = effort
    if tools:
        options["tools"] = [tool.declaration for tool in tools if not tool.deferred]
    names = {call.id: call.name for message in messages for call in message.calls}
    if (tools or names or any(message.role == "tool" for message in messages)) and call_format(tokenizer) is None:
        raise UserError("takes_no_tools", "This model can't call tools. Choose another model, or start a chat without tools.")
    turns = [_turn(message, names) for message in messages]
    if any(turn["role"] == "system" for turn in turns[1:]) and not _takes_later_systems(tokenizer, cancel):
        turns = _one_system(turns)
    single = _single_calls(turns)
    first = single if call_format(tokenizer) is HARMONY else turns  # gpt-oss's template drops further calls
    tried = list[list[dict[str, Any]]]()
    for chat in (first, single, _merged(single, keeps_system=True), _merged(single)):
        if chat in tried:
            continue
        tried.append(chat)
        try:
            text = on_thread(partial(render_chat, tokenizer, chat, **options), cancel, tokenizer)
            size, known = known_prompts(tokenizer).beginning(text)
            return text, known + _encode(tokenizer, text[size:], cancel, limit)
        except (UserError, RenderingCancelled):
            raise
        except Exception as error:  # templates raise anything, in Jinja or in mlx-lm's own renderers
            rejection = str(error)  # not the error, whose traceback holds this frame and so the model
    raise UserError("chat_template_rejects", "The model's chat template rejects this chat: {reason}", reason=rejection)


def _turn(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    """Return a message as templates expect it.

    The template decides whether past thinking is kept.

    Args:
        message: a message of the chat.
        names: names of the called tools, by the ID of the call.
    """
    turn: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "assistant" and message.thinking:
        turn |= {"reasoning_content": message.thinking, "thinking": message.thinking}
    if message.role == "assistant" and message.calls:
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for call in message.calls
        ]
    if message.role == "tool":
        turn |= {"tool_call_id": message.call_id, "name": names.get(message.call_id, "")}
    return turn


def _arguments(call: ToolCall) -> dict:
    """Return the arguments of a call, which may be invalid JSON from a client."""
    try:
        found = json.loads(call.arguments)
    except (ValueError, RecursionError):
        found = call.arguments
    return found if isinstance(found, dict) else {"input": found}


def _takes_later_systems(tokenizer: TokenizerWrapper, cancel: threading.Event | None) -> bool:
    """Return whether a chat template renders system messages after the first message."""
    if tokenizer not in _later_systems:
        contents = (("user", "a"), ("assistant", "b"), ("system", _INSTRUCTION), ("user", "c"))
        chat = [{"role": role, "content": content} for role, content in contents]
        try:
            text = on_thread(partial(render_chat, tokenizer, chat, add_generation_prompt=True), cancel, tokenizer)
            _later_systems[tokenizer] = _INSTRUCTION in text
        except (UserError, RenderingCancelled):
            raise
        except Exception:  # the template rejects them
            _later_systems[tokenizer] = False
    return _later_systems[tokenizer]


def _one_system(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the chat with one leading system message; others become user messages."""
    first = [turn["content"] for turn in takewhile(lambda turn: turn["role"] == "system", turns)]
    rest = [{**turn, "role": "user"} if turn["role"] == "system" else turn for turn in turns[len(first) :]]
    return [{"role": "system", "content": "\n\n".join(first)}, *rest] if first else rest


def _merged(turns: Sequence[dict[str, Any]], keeps_system: bool = False) -> list[dict[str, Any]]:
    """Return the chat with consecutive messages of one role merged.

    System messages become user messages, except the first message if `keeps_system` is set.
    """
    out: list[dict[str, Any]] = []
    for at, turn in enumerate(turns):
        becomes = turn["role"] == "system" and (at > 0 or not keeps_system)
        turn = {**turn, "role": "user"} if becomes else dict(turn)
        with_calls = turn["role"] == "tool" or "tool_calls" in turn or (out and "tool_calls" in out[-1])
        if out and out[-1]["role"] == turn["role"] and not with_calls:
            out[-1]["content"] = "\n\n".join(text for text in (out[-1]["content"], turn["content"]) if text)
        else:
            out.append(turn)
    return out


def _single_calls(turns: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the chat with one call per turn, each followed by its result.

    No turn with a call has both text and thinking. Some templates accept nothing else.
    """
    rest, out = list(turns), []
    while rest:
        turn = rest.pop(0)
        calls = turn.get("tool_calls", ())
        if calls and turn["content"] and turn.get("thinking"):
            thinking = f"{turn['thinking']}\n\n{turn['content']}"
            turn = {**turn, "content": "", "reasoning_content": thinking, "thinking": thinking}
        results = list(takewhile(lambda other: other["role"] == "tool", rest))
        by_id = {result["tool_call_id"]: result for result in results}
        if len(calls) < 2 or len(results) != len(calls) or set(by_id) != {call["id"] for call in calls}:
            out.append(turn)
            continue
        for at, call in enumerate(calls):
            said = {"role": "assistant", "content": ""} if at else turn
            out += [{**said, "tool_calls": [call]}, by_id[call["id"]]]
        del rest[: len(results)]
    return out
