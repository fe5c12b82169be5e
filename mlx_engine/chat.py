"""Messages -> prompt tokens, and reply tokens -> text: thinking and answer told apart, stop strings found."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.channels import Channels, leading_to, markers_of
from mlx_engine.errors import UserError
from mlx_engine.events import Channel, Commit, Source
from mlx_engine.requests import GenerationRequest, Message

_BROKEN = "\ufffd"  # what an incomplete character decodes to


@dataclass(frozen=True)
class Prompt:
    """Prompt token ids. `opening` are those at the end that belong to the reply already; `begun`, of these, its unfinished text."""

    tokens: list[int]
    opening: list[int]
    begun: list[int]


def render(tokenizer: TokenizerWrapper, request: GenerationRequest) -> Prompt:
    """The prompt of a request: raw token ids as they are, messages through the target's chat template.

    An unfinished reply follows in the channel it belongs to, also where the template has opened another.

    Raises:
        UserError: neither or both are given, a message is empty, or the template refuses the chat.
    """
    if request.prompt_tokens is not None:
        if request.messages:
            raise UserError("Give either messages or prompt tokens, not both.")
        if not request.prompt_tokens:
            raise UserError("The prompt is empty. Give it at least one token.")
        tokens = list(request.prompt_tokens)
        shared = max((at + 1 for at, token in enumerate(tokens) if token in tokenizer.eos_token_ids), default=0)
    else:
        _check(request.messages)
        tokens = template(tokenizer, request.messages, request.thinking, request.effort)
        asked = template(tokenizer, request.messages, request.thinking, request.effort, reply=False)
        shared = next((at for at, (a, b) in enumerate(zip(tokens, asked, strict=False)) if a != b), min(len(tokens), len(asked)))
    opening, begun = tokens[shared:], list[int]()
    markers = markers_of(tokenizer)
    if request.continue_thinking:
        opening += leading_to(tokenizer, markers, opening, "thinking")
        begun = _encoded(tokenizer, request.continue_thinking)
        opening += begun
    if request.continue_from:
        text = _encoded(tokenizer, request.continue_from)
        if not (markers and markers.closing and _within(text, markers.closing)):
            opening += leading_to(tokenizer, markers, opening, "answer")
        begun = text
        opening += begun
    return Prompt(tokens[:shared] + opening, opening, begun)


def _check(messages: Sequence[Message]) -> None:
    if not any(message.role == "user" for message in messages):
        raise UserError("There is nothing to answer: the chat has no message of yours. Write one first.")
    last = messages[-1]
    if last.role == "user" and not last.content.strip():
        raise UserError("The message is empty. Write something first.")
    for message in messages:
        if message.role not in ("system", "user", "assistant"):
            raise UserError(f"The chat has a message of role “{message.role}”; it may be system, user or assistant.")


def can_think(tokenizer: TokenizerWrapper) -> bool:
    """Whether a target's replies can hold thinking that is told apart."""
    return markers_of(tokenizer) is not None


def takes_effort(tokenizer: TokenizerWrapper) -> bool:
    """Whether a target's chat template takes a reasoning effort."""
    return _takes(tokenizer, "reasoning_effort")


def template(
    tokenizer: TokenizerWrapper,
    messages: Sequence[Message],
    thinking: bool = False,
    effort: str | None = None,
    reply: bool = True,
) -> list[int]:
    """Token ids of a chat, with `reply` up to the point where the reply begins.

    A template that takes no system message, or no two messages of one role in a row, gets the chat as one message a turn, the
    instructions at the head of the first.

    Raises:
        UserError: there is no template, or it refuses the chat even so.
    """
    if not tokenizer.has_chat_template:
        raise UserError("This target has no chat template, so it cannot chat. Pick an instruction-tuned one, or give raw tokens.")
    options: dict[str, bool | str] = {"add_generation_prompt": reply, "enable_thinking": thinking}
    if _takes(tokenizer, "thinking"):  # DeepSeek's and Kimi's name for the switch
        options["thinking"] = thinking
    if effort and takes_effort(tokenizer):
        options["reasoning_effort"] = effort
    turns = [_turn(message) for message in messages]
    try:
        return list(tokenizer.apply_chat_template(turns, **options))
    except Exception as error:  # templates raise what they like, from inside Jinja or from mlx-lm's own renderers
        refusal = error
    folded = _folded(turns)
    if folded != turns:
        try:
            return list(tokenizer.apply_chat_template(folded, **options))
        except Exception as error:
            refusal = error
    raise UserError(f"The target's chat template refuses this chat: {refusal}") from refusal


def _turn(message: Message) -> dict[str, str]:
    """A message as templates know it; which of a reply's thinking they show again is theirs to say."""
    turn = {"role": message.role, "content": message.content}
    if message.role == "assistant" and message.thinking:
        turn |= {"reasoning_content": message.thinking, "thinking": message.thinking}
    return turn


def _folded(turns: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The same chat without system messages and without two turns of one role in a row."""
    out: list[dict[str, str]] = []
    for turn in turns:
        turn = {**turn, "role": "user"} if turn["role"] == "system" else dict(turn)
        if out and out[-1]["role"] == turn["role"]:
            out[-1]["content"] = "\n\n".join(text for text in (out[-1]["content"], turn["content"]) if text)
        else:
            out.append(turn)
    return out


def _takes(tokenizer: TokenizerWrapper, option: str) -> bool:
    """Whether a chat template reads a variable of this name."""
    text = tokenizer.chat_template
    if isinstance(text, dict):
        text = text.get("default")
    if getattr(tokenizer, "_chat_template", None) is not None or not isinstance(text, str):
        return False  # mlx-lm renders this target's chats itself, and refuses options that it does not know
    statements = " ".join(re.findall(r"\{[%{].*?[%}]\}", text, re.DOTALL))
    return re.search(rf"(?<![\w.'\"]){option}(?![\w'\"])", statements) is not None


def _encoded(tokenizer: TokenizerWrapper, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def _within(tokens: Sequence[int], marker: tuple[int, ...]) -> bool:
    return any(tuple(tokens[at : at + len(marker)]) == marker for at in range(len(tokens)))


@dataclass
class _Text:
    """Text, token by token: who supplied it, and how many characters of it."""

    text: str = ""
    runs: list[tuple[Source, int]] = field(default_factory=list)

    def add(self, text: str, sources: Sequence[Source]) -> None:
        """Text of these tokens together: all but the last began one character each, which was unfinished."""
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
        """Cut the first characters off."""
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
    """Tokens of one channel since the last commit, and their text."""

    channel: Channel
    text: _Text = field(default_factory=_Text)
    tokens: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)


class ReplyText:
    """Turns a reply's tokens into commits.

    White space at the head of a section is not shown, nor are special tokens, nor a character that is unfinished at the end. Of the
    stop strings the one that is complete first counts, however the text is cut into tokens.

    Args:
        tokenizer: of the target.
        prompt: whose opening may have begun the reply, in its thinking or its answer.
        stop: strings that end the answer; they are not shown.
    """

    def __init__(self, tokenizer: TokenizerWrapper, prompt: Prompt, stop: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._detokenizer = tokenizer.detokenizer
        self._silent = set(tokenizer.eos_token_ids)
        self._silent |= {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
        self._known = len(tokenizer)  # a model's table may be padded beyond it
        self._stop = tuple(text for text in stop if text)
        self._held = _Text()  # the end of the answer that may be the beginning of a stop string
        self._queue: list[Source] = []  # of the tokens that may be the beginning of a marker
        self._unread: list[Source] = []  # of the tokens whose text the decoder keeps back
        self._source: Source = "prefill"  # of the last token read
        self._at_start = True  # nothing but white space in this section yet
        self._shown: set[Channel] = set()  # channels with text in them
        self.stopped = False
        markers = markers_of(tokenizer)
        self._headed = markers is not None and markers.headed
        self._channels = Channels(tokenizer, markers)
        self.channel: Channel = "answer"
        written = len(prompt.opening) - len(prompt.begun)
        for at, token in enumerate(prompt.opening):
            text, ended = self._channels.take(token)
            if ended:
                self._detokenizer.reset()
                self._turn()
            for each in text if at >= written else ():  # so that the first space after it is not taken for the start of a text
                self._detokenizer.add_token(each)
        if tokenizer.decode(prompt.begun).endswith(" "):
            self._detokenizer.finalize()  # it waits with a last space for the next token
        self._at_start = not self._detokenizer.last_segment.strip()

    def add(self, tokens: Sequence[int], sources: Sequence[Source]) -> Iterator[Commit]:
        """Commits for these tokens, one a channel and change of channel; none after a stop string, which sets `stopped`."""
        piece = _Piece(self.channel)
        for token, source in zip(tokens, sources, strict=True):
            piece.tokens.append(token)
            piece.sources.append(source)
            self._queue.append(source)
            text, ended = self._channels.take(token, self._at_start)
            shown = self._read(text)
            if ended:
                piece.text.extend(self._flush(shown))
                yield self._commit(piece)
                if self.stopped:
                    return
                self._turn()
                piece = _Piece(self.channel)
                continue
            piece.text.extend(self._through(shown))
            if self.stopped:  # looked for after every token, so that none after it is kept
                break
        if piece.tokens:
            yield self._commit(piece)

    def finish(self) -> Iterator[Commit]:
        """What was held back, once no more tokens come."""
        if self.stopped:
            return
        piece = _Piece(self.channel, self._flush(self._read(self._channels.rest())))
        if piece.text.text:
            yield self._commit(piece)

    def _read(self, tokens: Sequence[int]) -> _Text:
        """The text of tokens that are no marker."""
        found = _Text()
        for token, source in zip(tokens, self._queue, strict=False):
            if token not in self._silent and token < self._known:
                self._source = source
                hidden = self._at_start and not found.text  # white space here is not shown
                if not (hidden and self._tokenizer.decode([token]).isspace()):
                    self._unread.append(source)
                self._detokenizer.add_token(token)
                text = self._detokenizer.last_segment
                if text := text.lstrip() if hidden else text:
                    found.add(text, self._unread or [source])
                    self._unread.clear()
        del self._queue[: len(self._queue) - self._channels.held]
        return found

    def _turn(self) -> None:
        """A new section begins. A header belongs to the channel before it, as nobody sees it."""
        if self._channels.state != "header":
            self.channel = self._channels.state
        self._at_start = True

    def _flush(self, found: _Text) -> _Text:
        """The end of a section, after this text."""
        self._detokenizer.finalize()
        found.add(self._detokenizer.last_segment.rstrip(_BROKEN), self._unread or [self._source])
        self._unread.clear()
        shown = self._through(found)
        shown.extend(self._held)
        self._detokenizer.reset()
        self._held = _Text()
        return shown

    def _through(self, found: _Text) -> _Text:
        """What may be shown of the text so far: without leading white space, up to a stop string or what could become one."""
        if self._at_start:
            found.take(len(found.text) - len(found.text.lstrip()))
            if found.text:
                self._at_start = False
                if self._headed and self.channel in self._shown:  # one message after another
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

    @staticmethod
    def _commit(piece: _Piece) -> Commit:
        text = piece.text
        return Commit(text.text, piece.channel, tuple(piece.tokens), tuple(piece.sources), tuple(text.runs))


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`, and not all of it."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:size])), 0)
