"""Convert messages to prompt tokens, and reply tokens to text in channels."""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.channels import ChannelParser, markers_of, tokens_opening
from mlx_engine.errors import UserError
from mlx_engine.events import Channel, Commit, Source
from mlx_engine.limits import rolling_window
from mlx_engine.requests import CountTokens, GenerationRequest, Message
from mlx_engine.template_sandbox import RenderingCancelled, on_thread

_REPLACEMENT = "\ufffd"  # what an incomplete character decodes to


@dataclass(frozen=True)
class RenderedPrompt:
    """Prompt tokens.

    Attributes:
        tokens: all tokens.
        opening: the last of `tokens`, which belong to the reply.
        continued: the last of `opening`: text of an unfinished reply that is continued.
    """

    tokens: list[int]
    opening: list[int]
    continued: list[int]


def render(tokenizer: TokenizerWrapper, request: GenerationRequest, cancel: threading.Event | None = None) -> RenderedPrompt:
    """Return a request's prompt, from raw tokens or through the chat template.

    An unfinished reply is continued in its own channel, even if the template has opened another.

    Raises:
        UserError: neither or both are given, a message or the whole prompt is empty, or the template rejects the chat.
        RenderingCancelled: `cancel` was set.
    """
    if request.prompt_tokens is not None:
        if request.messages:
            raise UserError("two_prompts", "Pass either messages or prompt tokens, not both.")
        if not request.prompt_tokens:
            raise UserError("prompt_without_tokens", "The prompt is empty. Pass at least one token.")
        tokens = list(request.prompt_tokens)
        shared = max((at + 1 for at, token in enumerate(tokens) if token in tokenizer.eos_token_ids), default=0)
    else:
        _check(request.messages)
        tokens = template(tokenizer, request.messages, request.thinking, request.effort, cancel=cancel)
        chat = template(tokenizer, request.messages, request.thinking, request.effort, reply=False, cancel=cancel)
        shared = next((at for at, (a, b) in enumerate(zip(tokens, chat, strict=False)) if a != b), min(len(tokens), len(chat)))
    opening, continued = tokens[shared:], list[int]()
    markers = markers_of(tokenizer)
    if request.continue_thinking:
        opening += tokens_opening(tokenizer, markers, opening, "thinking")
        continued = _encode(tokenizer, request.continue_thinking, cancel)
        opening += continued
    if request.continue_from:
        continued = _encode(tokenizer, request.continue_from, cancel)
        closing = markers.closing if markers else ()
        if not closing or all(tuple(continued[at : at + len(closing)]) != closing for at in range(len(continued))):
            opening += tokens_opening(tokenizer, markers, opening, "answer")
        opening += continued
    if not tokens[:shared] and not opening:
        raise UserError(
            "chat_without_tokens",
            "The model's chat template or tokenizer produces an empty prompt. Download the model again, or choose another one.",
        )
    return RenderedPrompt(tokens[:shared] + opening, opening, continued)


def fitting(
    tokenizer: TokenizerWrapper, request: GenerationRequest | CountTokens, limit: int, cancel: threading.Event | None = None
) -> tuple[Message, ...]:
    """Return the messages of a request that fit in a context of `limit` tokens.

    These are all messages, or a rolling window if the request asks for one.
    """
    if request.rolling is None:
        return request.messages
    effort, written = None, ""
    if isinstance(request, GenerationRequest):
        effort, written = request.effort, request.continue_thinking + request.continue_from
    size = len(_encode(tokenizer, written, cancel))

    def count(messages: Sequence[Message]) -> int:
        return size + len(template(tokenizer, messages, request.thinking, effort, cancel=cancel))

    return rolling_window(request.messages, request.rolling, limit, request.max_tokens, count)


def _encode(tokenizer: TokenizerWrapper, text: str, cancel: threading.Event | None) -> list[int]:
    return list(on_thread(partial(tokenizer.encode, text, add_special_tokens=False), cancel, tokenizer))


def _check(messages: Sequence[Message]) -> None:
    if not any(message.role == "user" for message in messages):
        raise UserError("nothing_to_answer", "There is no message to reply to. Write one first.")
    last = messages[-1]
    if last.role == "user" and not last.content.strip():
        raise UserError("empty_message", "The message is empty. Write something first.")
    for message in messages:
        if message.role not in ("system", "user", "assistant"):
            raise UserError(
                "unknown_role",
                "The chat has a message with the role “{role}”. Use system, user, or assistant.",
                role=message.role,
            )


def can_think(tokenizer: TokenizerWrapper) -> bool:
    """Return whether replies can contain thinking separate from the answer."""
    return markers_of(tokenizer) is not None


def takes_effort(tokenizer: TokenizerWrapper) -> bool:
    """Return whether a target's chat template takes a reasoning effort."""
    return _template_reads(tokenizer, "reasoning_effort")


def template(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    reply: bool = True,
    cancel: threading.Event | None = None,
) -> list[int]:
    """Return the tokens of a chat, up to where the reply begins if `reply`.

    If the template rejects the chat, system messages become user messages, and messages of one role in a row are merged.

    Raises:
        UserError: the template is missing, rejects the merged chat too, or it takes too long or makes too much text.
        RenderingCancelled: `cancel` was set.
    """
    templates = tokenizer.chat_template
    if not tokenizer.has_chat_template or (isinstance(templates, dict) and "default" not in templates):
        raise UserError(
            "no_chat_template",
            "This model has no chat template, so it can't chat. Choose an instruction-tuned model, or pass raw tokens.",
        )
    options: dict[str, bool | str] = {"add_generation_prompt": reply, "enable_thinking": thinking}
    if _template_reads(tokenizer, "thinking"):  # DeepSeek's and Kimi's name for the switch
        options["thinking"] = thinking
    if effort and takes_effort(tokenizer):
        options["reasoning_effort"] = effort
    turns = [_turn(message) for message in messages]
    merged = _merged(turns)
    for chat in [turns] if merged == turns else [turns, merged]:
        try:
            return list(on_thread(partial(tokenizer.apply_chat_template, chat, **options), cancel, tokenizer))
        except (UserError, RenderingCancelled):
            raise
        except Exception as error:  # templates raise anything, in Jinja or in mlx-lm's own renderers
            rejection = error
    raise UserError(
        "chat_template_rejects", "The model's chat template rejects this chat: {reason}", reason=str(rejection)
    ) from rejection


def _turn(message: Message) -> dict[str, str]:
    """Return a message as templates expect it. Templates decide about past thinking."""
    turn = {"role": message.role, "content": message.content}
    if message.role == "assistant" and message.thinking:
        turn |= {"reasoning_content": message.thinking, "thinking": message.thinking}
    return turn


def _merged(turns: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the chat without system messages and with messages of one role merged."""
    out: list[dict[str, str]] = []
    for turn in turns:
        turn = {**turn, "role": "user"} if turn["role"] == "system" else dict(turn)
        if out and out[-1]["role"] == turn["role"]:
            out[-1]["content"] = "\n\n".join(text for text in (out[-1]["content"], turn["content"]) if text)
        else:
            out.append(turn)
    return out


def _template_reads(tokenizer: TokenizerWrapper, option: str) -> bool:
    """Return whether a chat template reads a variable of this name."""
    text = tokenizer.chat_template
    text = text.get("default") if isinstance(text, dict) else text
    if getattr(tokenizer, "_chat_template", None) is not None or not isinstance(text, str):
        return False  # mlx-lm renders this target's chats itself, and rejects unknown options
    statements = " ".join(re.split(r"[%}]\}", part)[0] for part in re.split(r"\{[%{]", text)[1:])
    return re.search(rf"(?<![\w.'\"]){option}(?![\w'\"])", statements) is not None


@dataclass
class _Text:
    """Text and its runs: the source of each token, and its number of characters."""

    text: str = ""
    runs: list[tuple[Source, int]] = field(default_factory=list)

    def add(self, text: str, sources: Sequence[Source]) -> None:
        """Add the text of these tokens. Each but the last began an unfinished character."""
        left = len(text)
        for source in sources[:-1]:
            if left:
                self.runs.append((source, 1))
                left -= 1
        if left:
            self.runs.append((sources[-1], left))
        self.text += text

    def extend(self, other: "_Text") -> None:
        self.text += other.text
        self.runs += other.runs

    def take(self, count: int) -> "_Text":
        """Remove and return the first characters."""
        taken = _Text(self.text[:count])
        self.text = self.text[count:]
        while count:
            source, size = self.runs[0]
            taken.runs.append((source, min(size, count)))
            if size > count:
                self.runs[0] = (source, size - count)
            else:
                del self.runs[0]
            count -= min(size, count)
        return taken


@dataclass
class _Piece:
    """Tokens and text of one channel since the last commit."""

    channel: Channel
    text: _Text = field(default_factory=_Text)
    tokens: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)

    def commit(self) -> Commit:
        return Commit(self.text.text, self.channel, tuple(self.tokens), tuple(self.sources), tuple(self.text.runs))


class ReplyText:
    """Converts a reply's tokens to commits.

    Leading whitespace of a section, special tokens and an unfinished last character are not shown. The stop string that is
    complete first counts, however the text is split into tokens.

    Args:
        tokenizer: of the target.
        prompt: its opening may begin the thinking or the answer.
        stop: strings that end the answer; they are not shown.
    """

    def __init__(self, tokenizer: TokenizerWrapper, prompt: RenderedPrompt, stop: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._detokenizer = tokenizer.detokenizer
        self._hidden = set(tokenizer.eos_token_ids)
        self._hidden |= {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
        self._vocabulary = len(tokenizer)  # a model's table may be padded beyond it
        self._stop = tuple(text for text in stop if text)
        self._held = _Text()  # the end of the answer, which may be the beginning of a stop string
        self._queue: list[Source] = []  # of the tokens that may be the beginning of a marker
        self._undecoded: list[Source] = []  # of the tokens whose text the decoder holds back
        self._source: Source = "prefill"  # of the last decoded token
        self._at_start = True  # the section has only whitespace so far
        self._shown: set[Channel] = set()  # channels that have text
        self.stopped = False
        markers = markers_of(tokenizer)
        self._headed = markers is not None and markers.headed
        self._parser = ChannelParser(tokenizer, markers)
        self.channel: Channel = "answer"
        template_length = len(prompt.opening) - len(prompt.continued)
        for at, token in enumerate(prompt.opening):
            text, ended = self._parser.add(token)
            if ended:
                self._detokenizer.reset()
                self._begin_section()
            # decode continued text, so that a space after it is not dropped as a leading one
            for each in text if at >= template_length else ():
                if each < self._vocabulary:
                    self._detokenizer.add_token(each)
        if tokenizer.decode(prompt.continued).endswith(" "):
            self._detokenizer.finalize()  # it holds back a last space until the next token
        self._at_start = not self._detokenizer.last_segment.strip()

    def add(self, tokens: Sequence[int], sources: Sequence[Source]) -> Iterator[Commit]:
        """Yield commits for these tokens, one per section.

        A stop string sets `stopped` and ends the reply.
        """
        piece = _Piece(self.channel)
        for token, source in zip(tokens, sources, strict=True):
            piece.tokens.append(token)
            piece.sources.append(source)
            self._queue.append(source)
            text, ended = self._parser.add(token, self._at_start)
            shown = self._decode(text)
            if ended:
                piece.text.extend(self._flush(shown))
                yield piece.commit()
                if self.stopped:
                    return
                self._begin_section()
                piece = _Piece(self.channel)
                continue
            piece.text.extend(self._show(shown))
            if self.stopped:  # checked after every token, so that no later token counts
                break
        if piece.tokens:
            yield piece.commit()

    def finish(self) -> Iterator[Commit]:
        """Yield text that was held back, at the end of the reply."""
        if self.stopped:
            return
        piece = _Piece(self.channel, self._flush(self._decode(self._parser.finish())))
        if piece.text.text:
            yield piece.commit()

    def _decode(self, tokens: Sequence[int]) -> _Text:
        """Return the text of tokens that are not markers."""
        found = _Text()
        for token, source in zip(tokens, self._queue, strict=False):
            if token not in self._hidden and token < self._vocabulary:
                self._source = source
                leading = self._at_start and not found.text  # whitespace here is not shown
                if not (leading and self._tokenizer.decode([token]).isspace()):
                    self._undecoded.append(source)
                self._detokenizer.add_token(token)
                text = self._detokenizer.last_segment
                if text := text.lstrip() if leading else text:
                    found.add(text, self._undecoded or [source])
                    self._undecoded.clear()
        del self._queue[: len(self._queue) - self._parser.pending]
        return found

    def _begin_section(self) -> None:
        """Begin a section. A header is never shown and belongs to the previous channel."""
        if self._parser.section != "header":
            self.channel = self._parser.section
        self._at_start = True

    def _flush(self, found: _Text) -> _Text:
        """Return this text and the rest of the section."""
        self._detokenizer.finalize()
        found.add(self._detokenizer.last_segment.rstrip(_REPLACEMENT), self._undecoded or [self._source])
        self._undecoded.clear()
        shown = self._show(found)
        shown.extend(self._held)
        self._detokenizer.reset()
        self._held = _Text()
        return shown

    def _show(self, found: _Text) -> _Text:
        """Return text to show, without leading whitespace and possible stop strings."""
        if self._at_start:
            found.take(len(found.text) - len(found.text.lstrip()))
            if found.text:
                self._at_start = False
                if self._headed and self.channel in self._shown:  # another message of the same channel
                    gap = _Text("\n\n", [(found.runs[0][0], 2)])
                    gap.extend(found)
                    found = gap
                self._shown.add(self.channel)
        if self.channel == "thinking" or not self._stop:
            return found
        self._held.extend(found)
        found, self._held = self._held, _Text()
        text = found.text
        ends = [(at + len(stop), at) for stop in self._stop if (at := text.find(stop)) >= 0]
        if ends:
            self.stopped = True
            return found.take(min(ends)[1])
        shown = found.take(len(text) - max(_overlap(text, stop) for stop in self._stop))
        self._held = found
        return shown


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest suffix of `text` that begins `stop`."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:size])), 0)
