"""Text of messages by the chat template, and memory of texts and rejections."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import pairwise, takewhile
from threading import Event
from typing import Any
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.limits import check_images
from mlx_engine.contract.requests import AttachedImage, Message, ToolCall, ToolSpec
from mlx_engine.formats.format_registry import call_format, template_reads
from mlx_engine.formats.sight import ImageMarks, Sight
from mlx_engine.formats.template_sandbox import on_thread, render_chat
from mlx_engine.formats.typescript_tools import in_order, typescript
from mlx_engine.models.files.chat_template import NO_CHAT_TEMPLATE, default_template

_KEPT = 8  # latest texts per template: of a prompt and its continuations, for two chats
_INSTRUCTION = "later"
_WORDS = ("content", "reasoning_content", "thinking")  # fields of a turn

Turn = dict[str, Any]  # a message as templates expect it
Kind = frozenset[tuple[Any, ...]]  # what a template may reject of a chat


@dataclass
class _Memory:
    """What is known of a tokenizer's chat template.

    Attributes:
        texts: the latest texts by the key of their chat, the last one used last.
        rejected: kinds of chats that the template rejects whatever their words, and accepts when they are rewritten.
        takes_later_systems: whether it renders system messages after the first message, once known.
    """

    texts: dict[bytes, str] = field(default_factory=dict)
    rejected: set[Kind] = field(default_factory=set)
    takes_later_systems: bool | None = None


_memories: WeakKeyDictionary[TokenizerWrapper, _Memory] = WeakKeyDictionary()


def takes_effort(tokenizer: TokenizerWrapper) -> bool:
    """Return whether a target's chat template takes a reasoning effort."""
    return template_reads(tokenizer, "reasoning_effort")


def chat_text(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    tools: Sequence[ToolSpec] = (),
    reply: bool = True,
    cancel: Event | None = None,
    sight: Sight | None = None,
) -> str:
    """Return the text of a chat; see `chat_with_images`."""
    return chat_with_images(tokenizer, messages, thinking, effort, tools, reply, cancel, sight)[0]


def chat_with_images(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    tools: Sequence[ToolSpec] = (),
    reply: bool = True,
    cancel: Event | None = None,
    sight: Sight | None = None,
) -> tuple[str, list[AttachedImage]]:
    """Return the text of a chat, and the images that it shows in order.

    The text has the opening of a reply if `reply` is set.

    If the template rejects or drops system messages after the first, they become user messages. If it rejects the chat, messages of
    one role in a row are merged. If it rejects the merged chat too, all system messages become user messages. Kinds of chats that
    it rejects whatever their words aren't tried again. If it doesn't show the images of tools' results, these are shown in the
    results' texts.

    Raises:
        UserError: the template is missing, takes no tools, rejects the merged chat too, takes too long, or makes too much text; or
            it has no sight of images.
        WorkCancelled: `cancel` was set.
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
        options |= _tool_options(tokenizer, tools)
    names = {call.id: call.name for message in messages for call in message.calls}
    form = call_format(tokenizer)
    if (tools or names or any(message.role == "tool" for message in messages)) and form is None:
        raise UserError("takes_no_tools", "This model can't call tools. Choose another model, or start a chat without tools.")
    memory = _memories.setdefault(tokenizer, _Memory())
    check_images(messages, sight is not None)
    images = [image for message in messages for image in message.images]
    marks = ImageMarks(messages) if images else None
    turns = [_turn(message, names) for message in (marks.messages if marks else messages)]
    if marks and sight and sight.placeholder in repr((turns, options)):  # such as a file that an agent has read
        turns, options = sight.broken_up(turns), sight.broken_up(options)
    if any(turn["role"] == "system" for turn in turns[1:]) and not _takes_later_systems(tokenizer, cancel):
        turns = _one_system(turns)
    single = _single_calls(turns)
    first = single if form and form.one_per_turn else turns  # gpt-oss's template drops further calls
    chats = list[tuple[list[Turn], Sequence[int]]]()  # with the order of their images
    for rewritten in (first, single, _merged(single, keeps_system=True), _merged(single)):
        for chat in marks.shown(rewritten, sight) if marks and sight else (rewritten,):
            if chat not in [chat for chat, _ in chats]:
                chats.append((chat, marks.order(rewritten) if marks else ()))
    placeholder = sight.placeholder if marks and sight else ""
    rejected = list[list[Turn]]()
    kinds = [_kind(chat, options, placeholder) for chat, _ in chats]
    untried = [chat for chat, kind in zip(chats, kinds, strict=True) if not any(known <= kind for known in memory.rejected)]
    for chat, order in untried or chats:
        try:
            text = _rendered(tokenizer, memory, chat, options, cancel, placeholder)
        except (UserError, WorkCancelled):
            raise
        except Exception as error:  # templates raise anything, in Jinja or in mlx-lm's own renderers
            reason = str(error)  # not the error, whose traceback holds this frame and so the model
            rejected.append(chat)
        else:
            again = (tokenizer, options, cancel, placeholder)
            memory.rejected.update(_kind(chat, options, placeholder) for chat in rejected if _rejects_all(chat, *again))
            return text, [images[index] for index in order]
    raise UserError("chat_template_rejects", "The model's chat template rejects this chat: {reason}", reason=reason)


def _tool_options(tokenizer: TokenizerWrapper, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Return the variables of a chat template that declare tools."""
    declared = [tool.declaration for tool in tools if not tool.deferred]
    if not declared or not template_reads(tokenizer, "tools_ts_str"):
        return {"tools": declared}
    options: dict[str, Any] = {"tools": declared}
    with suppress(Exception):  # schemas contain anything; the template then writes JSON
        options["tools"] = in_order(declared)
        options["tools_ts_str"] = typescript(declared)
    return options


def _rendered(
    tokenizer: TokenizerWrapper,
    memory: _Memory,
    chat: Sequence[Turn],
    options: Mapping[str, Any],
    cancel: Event | None,
    placeholder: str,
) -> str:
    """Return a chat's text, which is rendered unless it is one of the latest."""
    template, now = str(tokenizer.chat_template), ""
    if template_reads(tokenizer, "strftime_now"):
        now = time.strftime("".join(re.findall(r"(?<!{)%-?\w", template)))
    key = blake2b(repr((template, now, chat, options)).encode(errors="surrogatepass")).digest()
    text = memory.texts.pop(key, None)
    if text is None:
        text = on_thread(partial(_render, tokenizer, chat, options, placeholder), cancel, tokenizer)
    memory.texts[key] = text
    if len(memory.texts) > _KEPT:
        del memory.texts[next(iter(memory.texts))]
    return text


def _render(tokenizer: TokenizerWrapper, chat: Sequence[Turn], options: Mapping[str, Any], placeholder: str) -> str:
    text = render_chat(tokenizer, chat, **options)
    if placeholder and text.count(placeholder) != sum(_images(turn, placeholder) for turn in chat):
        raise ValueError("It doesn't show all images.")
    return text


def _images(turn: Turn, placeholder: str) -> int:
    """Return the number of a turn's images, as parts or in its text."""
    content = turn["content"]
    if isinstance(content, list):
        return sum(part["type"] == "image" for part in content)
    return content.count(placeholder) if placeholder else 0


def _kind(chat: Sequence[Turn], options: Mapping[str, Any], placeholder: str) -> Kind:
    """Return what a template may reject: successive turns, by role and fields.

    A turn has its role, the names of the fields that aren't empty, and whether it has images, as parts or in its text. Options
    count, too.
    """
    chosen = tuple(sorted((name, bool(value) if name in ("tools", "tools_ts_str") else value) for name, value in options.items()))
    turns = [
        ("",),
        *(
            (
                turn["role"],
                len(turn.get("tool_calls", ())) > 1,
                isinstance(turn["content"], list),
                _images(turn, placeholder) > 0,
                *filter(turn.get, turn),
            )
            for turn in chat
        ),
    ]
    return frozenset((chosen, *pairwise(turns)))


def _rejects_all(
    chat: Sequence[Turn], tokenizer: TokenizerWrapper, options: Mapping[str, Any], cancel: Event | None, placeholder: str
) -> bool:
    """Return whether a template rejects a rejected chat with other words, too."""

    def other(value: Any) -> Any:
        if isinstance(value, list):
            return [{**part, "text": "a"} if "text" in part else part for part in value]
        return "a" + placeholder * _images({"content": value}, placeholder)

    plain = [{**turn, **{name: other(value) for name, value in turn.items() if name in _WORDS and value}} for turn in chat]
    for turn in plain:
        if calls := turn.get("tool_calls"):
            turn["tool_calls"] = [{**call, "function": {**call["function"], "arguments": {}}} for call in calls]
    try:
        on_thread(partial(_render, tokenizer, plain, options, placeholder), cancel, tokenizer)
    except WorkCancelled:
        raise
    except UserError:  # too slow: not known
        return False
    except Exception:  # templates raise anything
        return True
    return False


def _turn(message: Message, names: Mapping[str, str]) -> Turn:
    """Return a message as templates expect it.

    The template decides whether past thinking is kept.

    Args:
        message: a message of the chat.
        names: names of the called tools, by the ID of the call.
    """
    turn: Turn = {"role": message.role, "content": message.content}
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


def _takes_later_systems(tokenizer: TokenizerWrapper, cancel: Event | None) -> bool:
    """Return whether a chat template renders system messages after the first message."""
    memory = _memories[tokenizer]
    if memory.takes_later_systems is None:
        contents = (("user", "a"), ("assistant", "b"), ("system", _INSTRUCTION), ("user", "c"))
        chat = [{"role": role, "content": content} for role, content in contents]
        try:
            text = on_thread(partial(render_chat, tokenizer, chat, add_generation_prompt=True), cancel, tokenizer)
            memory.takes_later_systems = _INSTRUCTION in text
        except (UserError, WorkCancelled):
            raise
        except Exception:  # the template rejects them
            memory.takes_later_systems = False
    return memory.takes_later_systems


def _one_system(turns: Sequence[Turn]) -> list[Turn]:
    """Return the chat with one leading system message; others become user messages."""
    first = [turn["content"] for turn in takewhile(lambda turn: turn["role"] == "system", turns)]
    rest = [{**turn, "role": "user"} if turn["role"] == "system" else turn for turn in turns[len(first) :]]
    return [{"role": "system", "content": "\n\n".join(first)}, *rest] if first else rest


def _merged(turns: Sequence[Turn], keeps_system: bool = False) -> list[Turn]:
    """Return the chat with consecutive messages of one role merged.

    System messages become user messages, except the first message if `keeps_system` is set.
    """
    out: list[Turn] = []
    for at, turn in enumerate(turns):
        becomes = turn["role"] == "system" and (at > 0 or not keeps_system)
        turn = {**turn, "role": "user"} if becomes else dict(turn)
        with_calls = turn["role"] == "tool" or "tool_calls" in turn or (out and "tool_calls" in out[-1])
        if out and out[-1]["role"] == turn["role"] and not with_calls:
            out[-1]["content"] = "\n\n".join(text for text in (out[-1]["content"], turn["content"]) if text)
        else:
            out.append(turn)
    return out


def _single_calls(turns: Sequence[Turn]) -> list[Turn]:
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
