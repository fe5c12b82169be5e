"""Convert reply tokens to text in channels, and to tool calls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, repeat
from typing import NamedTuple

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.events import Channel, Commit, Source
from mlx_engine.contract.requests import ToolCall, ToolSpec
from mlx_engine.contract.token_logprobs import PositionLogprobs
from mlx_engine.formats.call_reader import CallReader, TextPart, last_calls, overlap
from mlx_engine.formats.channels import ChannelParser
from mlx_engine.formats.chat_prompt import RenderedPrompt
from mlx_engine.formats.format_registry import call_format, markers_of
from mlx_engine.formats.logprobs import RowLogprobs
from mlx_engine.formats.token_texts import TokenTexts

_REPLACEMENT = "\ufffd"  # what an incomplete character decodes to
_KNOWN = 8  # tokens of a raw prompt that are decoded before the reply


@dataclass(eq=False)
class _Token:
    source: Source


class _Character(NamedTuple):
    """A character of a reply, and the token that begins it.

    Attributes:
        unreadable: whether it belongs to a call that can't be parsed.
    """

    text: str
    token: _Token
    unreadable: bool = False


_Text = list[_Character]


def _decoded(text: str, tokens: Sequence[_Token]) -> _Text:
    """Return decoded text whose last token completes a character."""
    return [_Character(*pair) for pair in zip(text, chain(tokens, repeat(tokens[-1])), strict=False)]


def _string(text: _Text) -> str:
    return "".join(character.text for character in text)


@dataclass
class _Piece:
    """Tokens and text of one channel since the last commit."""

    channel: Channel
    at_s: float | None = None
    text: _Text = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    logprobs: list[PositionLogprobs] = field(default_factory=list)

    def commits(self) -> Iterator[Commit]:
        """Yield the tokens and the text, with unreadable calls apart."""
        tokens, sources, logprobs = tuple(self.tokens), tuple(self.sources), tuple(self.logprobs)
        groups = [(unreadable, list(text)) for unreadable, text in groupby(self.text, key=lambda each: each.unreadable)]
        for unreadable, text in groups or ([(False, [])] if tokens else []):
            runs = tuple((token.source, len(list(same))) for token, same in groupby(text, key=lambda each: each.token))
            yield Commit(_string(text), self.channel, tokens, sources, runs, self.at_s, logprobs, unreadable)
            tokens, sources, logprobs = (), (), ()


class ReplyText:
    """A converter of a reply's tokens to commits and tool calls.

    Leading whitespace of a section, special tokens, and an unfinished last character are not shown. A reply to a raw prompt may
    begin with whitespace. The stop sequence that is complete first ends the answer, however the text is split into tokens. Calls
    that can't be parsed become text of the answer, in commits that say so.

    Args:
        tokenizer: the target's tokenizer.
        prompt: the rendered prompt, whose opening may begin the thinking or the answer.
        stop: strings that end the answer; they are not shown.
        tools: tools of the request. Without tools, calls are text.
        one_call: whether the first call ends the reply.

    Attributes:
        channel: channel of the current section.
        stopped: the stop sequence that has ended the answer, or "".
        called: whether the reply has called a tool.
    """

    def __init__(
        self,
        tokenizer: TokenizerWrapper,
        prompt: RenderedPrompt,
        stop: Sequence[str] = (),
        tools: Sequence[ToolSpec] = (),
        one_call: bool = False,
    ) -> None:
        self._tokenizer, self._texts = tokenizer, TokenTexts(tokenizer)
        self._detokenizer = tokenizer.detokenizer
        self._hidden = set(tokenizer.eos_token_ids)
        self._hidden |= {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
        self._vocabulary = len(tokenizer)  # a model's table may be padded beyond it
        self._stop = tuple(text for text in stop if text)
        self._held: _Text = []  # the end of the answer, which may be the beginning of a stop sequence
        self._queue: list[_Token] = []  # which may be the beginning of a marker
        self._undecoded: list[_Token] = []  # whose text the decoder holds back
        self._last = _Token("prefill")  # that was decoded
        self._at_start = True  # the section has only whitespace so far
        self._shown: set[Channel] = set()  # channels that have text
        self.stopped, self.called, self._one_call = "", False, one_call
        markers = markers_of(tokenizer)
        self._headed = markers is not None and markers.read_header is not None
        self._parser = ChannelParser(tokenizer, markers)
        self.channel: Channel = "answer"
        self._tool = ""  # to which the section is addressed
        self._thoughts = ""  # text of the thinking
        self._call: _Text = []  # what may belong to a call
        self._tools, self._format = tools, call_format(tokenizer) if tools else None
        self._reader: CallReader | None = None
        if self._format and not self._headed:
            self._reader = CallReader(self._format, self._tools)
            self._hidden -= set(tokenizer.encode(self._format.start, add_special_tokens=False)) - set(tokenizer.eos_token_ids)
        known = prompt.opening[-_KNOWN:] if prompt.raw else prompt.continued
        for at, token in enumerate(prompt.opening):
            text, ended = self._parser.add(token)
            if ended:
                self._detokenizer.reset()
                self._begin_section()
            # decode continued text, so that a space after it is not dropped as a leading one
            for each in text if at >= len(prompt.opening) - len(known) else ():
                if each < self._vocabulary:
                    self._detokenizer.add_token(each)
        if tokenizer.decode(known).endswith((" ", _REPLACEMENT)):
            self._detokenizer.finalize()  # it holds back a last space or an incomplete character until the next token
        self._at_start = not (self._detokenizer.last_segment.strip() or prompt.raw)

    def add(
        self,
        tokens: Sequence[int],
        sources: Sequence[Source],
        logprobs: Sequence[RowLogprobs] = (),
        at_s: float | None = None,
    ) -> Iterator[Commit | ToolCall]:
        """Yield commits for these tokens, and the tool calls that they complete.

        Each commit is within one section. The reply may have ended afterward.

        Args:
            tokens: the next tokens of the reply.
            sources: of the tokens.
            logprobs: of the tokens, or nothing.
            at_s: the commits' time.
        """
        piece = _Piece(self.channel, at_s)
        for token, source, row in zip(tokens, sources, logprobs or repeat(None, len(tokens)), strict=True):
            piece.tokens.append(token)
            piece.sources.append(source)
            self._queue.append(_Token(source))
            at_start = self._at_start and not self._call
            text, ended = self._parser.add(token, at_start, self._in_call)
            if row is not None:
                hidden = ended or token in self._hidden or not (text or self._parser.pending)
                found = self._texts.logprobs(token, row, hidden)
                is_cut = at_start and found.chosen.text.isspace()
                piece.logprobs.append(replace(found, hidden=True) if is_cut else found)
            shown = self._decode(text)
            for part in self._flush(shown) if ended else self._show(shown):
                if isinstance(part, ToolCall):
                    yield from piece.commits()
                    piece = _Piece(self.channel, at_s)
                    yield part
                else:
                    piece.text += part
            if ended and not self.ended:
                yield from piece.commits()
                self._begin_section()
                piece = _Piece(self.channel, at_s)
            if self.ended:  # checked after every token, so that no later token counts
                break
        yield from piece.commits()

    def finish(self, ended: bool = True) -> Iterator[Commit | ToolCall]:
        """Yield the text and tool calls held back until the end of the reply.

        Args:
            ended: whether the reply is complete. If not, an unfinished call is yielded as text.
        """
        if self.ended:
            return
        piece = _Piece(self.channel)
        for part in self._flush(self._decode(self._parser.finish()), ended):
            if isinstance(part, ToolCall):
                yield part
            else:
                piece.text += part
        yield from piece.commits()
        if ended and self._reader and self._format and self.channel == "thinking":  # some models don't close it before a call
            calls = last_calls(self._format, self._thoughts, self._tools)
            self.called = self.called or bool(calls)
            yield from calls[:1] if self._one_call else calls

    @property
    def ended(self) -> bool:
        """Whether a stop sequence or a call has ended the reply."""
        return bool(self.stopped) or (self._one_call and self.called)

    @property
    def _in_call(self) -> bool:
        return self._reader is not None and self._reader.inside and not self._headed

    def _decode(self, tokens: Sequence[int]) -> _Text:
        """Return the text of tokens that are not markers."""
        found: _Text = []
        for token, each in zip(tokens, self._queue, strict=False):
            hidden = token in (self._tokenizer.eos_token_ids if self._in_call else self._hidden)
            if not hidden and token < self._vocabulary:
                self._last = each
                leading = self._at_start and not found and not self._call  # whitespace here is not shown
                if not (leading and self._tokenizer.decode([token]).isspace()):
                    self._undecoded.append(each)
                self._detokenizer.add_token(token)
                text = self._detokenizer.last_segment
                if text := text.lstrip() if leading else text:
                    found += _decoded(text, self._undecoded or [each])
                    self._undecoded.clear()
        del self._queue[: len(self._queue) - self._parser.pending]
        return found

    def _begin_section(self) -> None:
        """Begin a section. A header is never shown and belongs to the previous channel."""
        if self._parser.section != "header":
            self.channel, self._tool = self._parser.section, self._parser.tool
            if self._headed:
                self._reader = CallReader(self._format, self._tools, self._tool) if self._format and self._tool else None
        self._at_start, self._thoughts = True, ""

    def _flush(self, found: _Text, ended: bool = True) -> list[_Text | ToolCall]:
        """Return this text and the rest of the section."""
        self._detokenizer.finalize()
        found += _decoded(self._detokenizer.last_segment.rstrip(_REPLACEMENT), self._undecoded or [self._last])
        self._undecoded.clear()
        self._detokenizer.reset()
        shown = self._show(found)
        if self._reader and not self.ended:
            shown += self._parts(self._reader.finish(ended))
        shown.append(self._held)
        self._held = []
        return shown

    def _show(self, found: _Text) -> list[_Text | ToolCall]:
        """Return text to show and complete calls. An unfinished call is held back."""
        if self.channel == "answer" and self._reader:
            self._call += found
            return self._parts(self._reader.add(_string(found)))
        self._thoughts += _string(found) if self._reader else ""
        return [self._shown_text(found)]

    def _parts(self, parts: Iterator[TextPart]) -> list[_Text | ToolCall]:
        shown: list[_Text | ToolCall] = []
        for part in parts:
            text, self._call = self._call[: len(part.text)], self._call[len(part.text) :]
            if part.is_block:
                spaces = len(part.text) - len(part.text.lstrip())
                text[spaces:] = [each._replace(unreadable=True) for each in text[spaces:]]
            if not self.ended:
                shown += self._shown_calls(part.calls) if part.calls else [self._shown_text(text)]
        return shown

    def _shown_calls(self, calls: Sequence[ToolCall]) -> list[_Text | ToolCall]:
        held, self._held = self._held, []
        self.called = self._at_start = True
        return [held, *(calls[:1] if self._one_call else calls)]

    def _shown_text(self, pieces: _Text) -> _Text:
        """Return text to show, without leading whitespace and possible stop sequences."""
        if self._at_start:
            text = _string(pieces)
            pieces = pieces[len(text) - len(text.lstrip()) :]
            if pieces:
                self._at_start, first = False, pieces[0]
                gap = "\n\n" if self._headed and self.channel in self._shown else ""  # another message of the same channel
                name = f"{self._tool} " if self._tool else ""
                pieces = [*_decoded(gap, [first.token]), *(first._replace(text=each) for each in name), *pieces]
                self._shown.add(self.channel)
        if self.channel == "thinking" or not self._stop:
            return pieces
        pieces, self._held = self._held + pieces, []
        text = _string(pieces)
        ends = [(at + len(stop), at, stop) for stop in self._stop if (at := text.find(stop)) >= 0]
        if ends:
            _, at, self.stopped = min(ends)
            return pieces[:at]
        size = len(text) - max(overlap(text, stop) for stop in self._stop)
        self._held = pieces[size:]
        return pieces[:size]
