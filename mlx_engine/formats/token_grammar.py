"""The tokens that a reply's grammar allows in each row of a pass.

llguidance computes the masks. Thinking is unconstrained, but can't end the reply if an answer or a call is required. The state
follows the accepted tokens of the reply. It advances along a draft and is then restored, so each row of a verify gets the mask
that plain decoding would apply at its position.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, cast
from weakref import WeakKeyDictionary

import mlx.core as mx
import numpy as np
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.formats.channels import ChannelMarkers, ChannelParser, Marker, Section, token_of
from mlx_engine.formats.format_registry import call_format, markers_of
from mlx_engine.formats.grammars import reply_rules
from mlx_engine.formats.lark import ReplyRules
from mlx_engine.formats.schemas import BadSchema

_LIMITS: dict[str, Any] = {  # bounds on the time of a step, and on memory
    "max_items_in_row": 2_000,
    "initial_lexer_fuel": 1_000_000,
    "step_lexer_fuel": 200_000,
    "step_max_items": 50_000,
    "max_lexer_states": 50_000,
    "max_grammar_size": 500_000,
    "verbose_errors": False,
}
_KEPT = 8  # compiled grammars per tokenizer
_LONGEST_REASON = 200  # characters
_LONGEST_TOKEN = 64  # bytes of a token that spells the text of a special token
_MARKER = b"\xff"  # precedes a special token among the bytes that must follow
# Schema keywords for llguidance's errors that don't name one
_KEYWORDS = {"regex": "pattern", "lookaround": "pattern", "Unknown format": "format"}

# What llguidance says, and what users read
_MESSAGES = {
    r"Unimplemented keys: \[(.*)\]": r"\1 isn't supported",
    r"oneOf constraints are not supported": r"“oneOf” isn't supported if its branches may overlap. Use anyOf",
    r"Regex is empty": r"no string matches its “pattern”, “format”, lengths, and values together",
    r"Unsatisfiable schema: (.*)": r"no value can match it: \1",
    r"Failed to generate regex for (integer|float) range": r"the range of “minimum” and “maximum” has too many digits",
    r"(Resource|Anchor|Pointer) '([^']*)'": r"“$ref” or “$schema”: “\2” is unknown",
    r"circular references with sibling keys.*: .*?(#\S*)": r"“$ref”: “\1” refers to itself next to other keywords",
    r"Unable to determine if regex is empty": r"“pattern” is too complex",
    r'failed to parse "%json"': r"it isn't valid JSON",
    r"NoExtension": r"no token of this model can continue the reply",
    r"'multipleOf' has too many digits": r"this number isn't supported in “multipleOf”",
    r"(?i)too (many|big|large|complex)|TooComplex|fuel": r"it is too complex",
    r"doesn't satisfy the grammar": r"the text doesn't match",
}
_ALL = 0xFFFFFFFF

Matcher = Any  # llguidance.LLMatcher
_Matched = tuple[Any, int]
Row = np.ndarray | None  # bits of the allowed tokens, 32 per uint32; None allows all


class _Compiler:
    """Compiler of Lark grammars for one tokenizer.

    Attributes:
        words: length of a row.
        special: tokens that never belong to text.

    Raises:
        UserError: llguidance doesn't support the tokenizer.
    """

    def __init__(self, tokenizer: TokenizerWrapper) -> None:
        import llguidance  # here, because few replies have grammars

        size = max((len(tokenizer), *(token + 1 for token in tokenizer.eos_token_ids)))
        self.words = -(-size // 32)
        try:
            rules = copy(tokenizer.backend_tokenizer)
            rules.no_padding()
            rules.no_truncation()
            self._tokens = llguidance.LLTokenizer(rules.to_str(), n_vocab=size, eos_token=sorted(tokenizer.eos_token_ids))
        except (AttributeError, ValueError):
            template = "This model can't follow a schema or tool choice: its tokenizer isn't supported. Choose another model."
            raise UserError("no_grammars", template) from None
        self.special = frozenset(token for token in tokenizer.added_tokens_decoder if self._tokens.is_special_token(token))
        self._limits = llguidance.LLParserLimits(**_LIMITS)
        self._new = llguidance.LLMatcher
        self.matcher = lru_cache(_KEPT)(self.compiled)

    def tokens_of(self, text: bytes) -> list[int]:
        """Return the tokens of a text, without special tokens."""
        return self._tokens.tokenize_bytes(text)

    def compiled(self, lark: str) -> Matcher:
        """Return a new matcher. Copies share its lexer, and the first error.

        Raises:
            BadSchema: a schema in the grammar is invalid, unsupported, or too complex.
        """
        matcher = self._new(self._tokens, json.dumps({"grammars": [{"lark_grammar": lark}]}), log_level=0, limits=self._limits)
        if matcher.is_error():
            raise BadSchema(_reason(matcher.get_error()))
        return matcher


_compilers: WeakKeyDictionary[TokenizerWrapper, _Compiler] = WeakKeyDictionary()  # weak, because tokenizers can be large


def _reason(error: str) -> str:
    """Return the part of an llguidance error about the schema, with the keyword."""
    text = error.partition("failed to compile JSON schema: ")[2] or error
    text = " ".join(text.partition("\n   1 |")[0].partition("<non-verbose/>")[0].split())
    text = next((found.expand(ours) for theirs, ours in _MESSAGES.items() if (found := re.search(theirs, text))), text)
    keyword = next((keyword for part, keyword in _KEYWORDS.items() if part in text and keyword not in text), "")
    if len(text) > _LONGEST_REASON:
        text = text[:_LONGEST_REASON] + "…"
    return f"{keyword}: {text}" if keyword else text


def reply_grammar(
    tokenizer: TokenizerWrapper, request: GenerationRequest, opening: Sequence[int], continued: int
) -> "Grammar | None":
    """Return the grammar of a reply, or None if the reply is unconstrained.

    Args:
        tokenizer: the target's tokenizer.
        request: has the schema, tools, and tool choice.
        opening: tokens at the end of the prompt that belong to the reply.
        continued: number of tokens at the end of `opening` that belong to an unfinished reply.

    Raises:
        UserError: the schema or the tool choice can't be used with this model.
    """

    def marker(text: str) -> str:
        token = token_of(tokenizer, text)
        return json.dumps(text) if token is None else f"<[{token}]>"

    reason = ""
    for any_arguments in (False, True):
        try:
            form = call_format(tokenizer)
            rules = reply_rules(form, request.tools, request.tool_choice, request.schema, marker, any_arguments)
            return None if rules is None else Grammar(tokenizer, rules, opening, continued, request.thinking)
        except BadSchema as error:
            reason = str(error)
        except RecursionError:
            reason = "it is nested too deeply"
    raise UserError("bad_schema", "The schema can't be used: {reason}", reason=reason)


class Grammar:
    """The state of a reply's grammar after the accepted tokens, and after drafts.

    The state after each draft is kept, and becomes the reply's if the draft is accepted.

    Args:
        tokenizer: the target's tokenizer.
        rules: the grammars of the reply's sections.
        opening: tokens at the end of the prompt that belong to the reply.
        continued: number of tokens at the end of `opening` that belong to an unfinished reply.
        thinking: whether the reply may begin with thinking.

    Raises:
        BadSchema: a grammar can't be compiled.
        UserError: llguidance doesn't support the tokenizer.
    """

    def __init__(
        self, tokenizer: TokenizerWrapper, rules: ReplyRules, opening: Sequence[int], continued: int, thinking: bool
    ) -> None:
        markers = markers_of(tokenizer)
        state = _State(_Sections.compiled(tokenizer, rules, markers), ChannelParser(tokenizer, markers))
        state.enter()
        for at, token in enumerate(opening):
            written = at >= len(opening) - continued
            state.advance(token, written or state.parser.section == "header")
        starts = [marker for marker, section in state.sections.closing("answer").items() if section == "thinking"]
        if starts and thinking and state.parser.section == "answer" and starts[0][0] not in opening:
            state.thought = starts[0]
        self._drafts = list[int]()
        self._states = [state]  # after the accepted tokens, and after each of `_drafts`

    @property
    def stuck(self) -> bool:
        """Whether no token can follow the accepted tokens."""
        return self._states[0].stuck

    def add(self, tokens: Sequence[int]) -> None:
        """Advance the state by accepted tokens of the reply."""
        for token in tokens:
            if self._drafts[:1] == [token]:
                del self._drafts[0], self._states[0]
            else:
                self._follow(())[0].advance(token)

    def usable(self, drafts: Sequence[int]) -> int:
        """Return the number of drafts that can be verified in one pass.

        A draft after which the reply can't continue is left to the target. If the target chooses it, the next pass fails, as in
        plain decoding.
        """
        states = self._follow(drafts)
        return len(states) - 2 if states[-1].stuck and len(states) > 1 else len(drafts)

    def mask(self, logits: mx.array, drafts: Sequence[int] = ()) -> mx.array:
        """Return logits [rows, V] in which all forbidden tokens are -inf.

        Row i follows the first i drafts, which are `usable`. Rows after a forbidden draft are unchanged, because the draft isn't
        accepted.

        Raises:
            UserError: no token is allowed, or the grammar became too complex.
        """
        rows = [state.row() for state in self._follow(drafts)]
        if all(row is None for row in rows):
            return logits
        count, vocabulary = logits.shape
        return mx.where(_allowed((rows + [None] * count)[:count], vocabulary), logits, -mx.inf)

    def path(self, scores: mx.array, tokens: mx.array | None = None) -> mx.array:
        """Return the best proposals that the grammar allows in sequence, uint32 [rows].

        Args:
            scores: [rows, n].
            tokens: token id of each column, uint32 [n]; None for the ids from 0 on.
        """
        best = mx.argmax(scores, axis=-1)
        drafts = cast(list[int], (best if tokens is None else tokens[best]).tolist())
        state = self._follow(())[0]
        for at in range(len(drafts)):
            if state.stuck:
                break
            if not state.allows(drafts[at]):
                forced = state.forced()
                if forced:
                    drafts[at : at + len(forced)] = forced[: len(drafts) - at]
                elif tokens is None:
                    allowed = _allowed([state.row()], scores.shape[-1])[0]
                    drafts[at] = cast(int, mx.argmax(mx.where(allowed, scores[at], -mx.inf)).item())
                if not state.allows(drafts[at]):
                    break
            state = self._follow(drafts[: at + 1])[-1]
        return mx.array(drafts, mx.uint32)

    def _follow(self, drafts: Sequence[int]) -> list["_State"]:
        """Return the states after the accepted tokens and each allowed draft."""
        same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(self._drafts, drafts, strict=False))))
        del self._drafts[same:], self._states[same + 1 :]
        for token in drafts[same:]:
            if not self._states[-1].allows(token):
                break
            self._drafts.append(token)
            self._states.append(self._states[-1].after(token))
        return self._states


@dataclass(frozen=True)
class _Sections:
    """The compiled grammars of a reply's sections.

    Attributes:
        compiler: provides the tokens.
        sections: grammar of each section that has one, with its matcher, which users copy.
        calls: the same for each tool's arguments, for families with headers.
        next_section: as in `ChannelMarkers`.
        demanding: as in `ReplyRules`.
        ends: tokens that end a reply.
    """

    compiler: _Compiler
    sections: Mapping[str, tuple[str, Matcher]]
    calls: Mapping[str, tuple[str, Matcher]]
    next_section: Mapping[Section, Mapping[Marker, Section]]
    demanding: bool
    ends: frozenset[int]

    @classmethod
    def compiled(cls, tokenizer: TokenizerWrapper, rules: ReplyRules, markers: ChannelMarkers | None) -> "_Sections":
        if tokenizer not in _compilers:
            _compilers[tokenizer] = _Compiler(tokenizer)
        compiler = _compilers[tokenizer]
        return cls(
            compiler,
            {name: (lark, compiler.matcher(lark)) for name, lark in (("answer", rules.answer), ("header", rules.header)) if lark},
            {name: (lark, compiler.matcher(lark)) for name, lark in rules.calls.items()},
            markers.next_section if markers else {},
            rules.demanding,
            frozenset(tokenizer.eos_token_ids),
        )

    def closing(self, section: Section) -> Mapping[Marker, Section]:
        """Return the markers that end a section, and the section after each."""
        return self.next_section.get(section, {})


@dataclass
class _State:
    """The state of the grammar after some tokens of the reply.

    Attributes:
        sections: the grammars.
        parser: finds the current section.
        lark: grammar of the current section; empty if it is unconstrained.
        matcher: of the current section; None if it is unconstrained.
        matched: the section's tokens so far: all but the last, and the last.
        thought: marker with which the reply may open thinking.
        ended: whether the reply has ended.
    """

    sections: _Sections
    parser: ChannelParser
    lark: str = ""
    matcher: Matcher | None = None
    matched: "_Matched | None" = None
    thought: Marker = ()
    ended: bool = False
    _found: tuple[Row] | UserError | None = None  # the result of `row`

    def after(self, token: int) -> "_State":
        """Return the state after another token."""
        # After llguidance's rollback, a matcher may refuse tokens that its mask allowed
        matcher = None if self.matcher is None else self.matcher.deep_copy()
        found = replace(self, parser=self.parser.copy(), matcher=matcher)
        found.advance(token)
        return found

    def advance(self, token: int, written: bool = True) -> None:
        """Add a token. The grammar skips it if the model didn't write it."""
        self._found = None
        if self.ended or token in self.sections.ends:
            self.ended = True
            return
        begins, self.thought = self.thought[self.parser.pending :][:1] == (token,), self.thought
        if not begins:
            self.thought = ()
        if self.parser.add(token)[1]:
            self.thought = ()
            self.enter()
        elif self.matcher is not None and written and not begins:
            self.matched = self.matched, token
            self.matcher.consume_token(token)

    def enter(self) -> None:
        """Select the matcher of the section that begins."""
        s, parser = self.sections, self.parser
        found = s.calls.get(parser.tool) if parser.tool else s.sections.get(parser.section)
        self.lark, self.matcher, self.matched = (found[0], found[1].deep_copy(), None) if found else ("", None, None)

    def row(self) -> Row:
        """Return the tokens that are allowed next, or None for all.

        Raises:
            UserError: no token is allowed, or the grammar became too complex.
        """
        if self._found is None:
            try:
                self._found = (self._computed(),)
            except UserError as error:
                self._found = error
        if isinstance(self._found, UserError):
            raise self._found
        return self._found[0]

    @property
    def stuck(self) -> bool:
        """Whether `row` fails."""
        with suppress(UserError):
            self.row()
        return isinstance(self._found, UserError)

    def allows(self, token: int) -> bool:
        """Return whether a token may follow."""
        return not self.stuck and _allows(self.row(), token)

    def forced(self) -> list[int]:
        """Return the tokens that must follow."""
        return [] if self.matcher is None else self.matcher.compute_ff_tokens()

    def _computed(self) -> Row:
        s = self.sections
        if self.ended or (self.matcher is None and not s.demanding):
            return None
        if self.thought and self.parser.pending:
            return self._changed(0, (self.thought[self.parser.pending],))
        if self.matcher is None:
            return self._changed(_ALL, forbidden=s.ends)
        allowed = self.matcher.compute_bitmask()
        if self.matcher.is_error():
            self._renew()
            allowed = self.matcher.compute_bitmask()
        if self.matcher.is_error():
            raise _stuck(_reason(self.matcher.get_error()))
        bits: np.ndarray = np.frombuffer(allowed, np.uint32)[: s.compiler.words]
        closing = [marker[0] for marker in s.closing(self.parser.section)]
        if not bits[bits != 0][1:].size:
            bits = self._spelled(self.matcher, bits, {*s.compiler.special, *s.ends, *closing})
        ending = (closing if self.parser.section == "header" else s.ends) if self.matcher.is_accepting() else ()
        row = self._changed(bits, (*ending, *self.thought[:1]), (*s.ends, *closing))
        if not row.any():
            raise _stuck("no token of this model can continue the reply")
        return row

    def _renew(self) -> None:
        """Replace the matcher with one that shares no lexer.

        The limits of a shared lexer also count what drafts and other replies have needed.
        """
        self.sections.compiler.matcher.cache_clear()
        self.matcher = self.sections.compiler.compiled(self.lark)
        tokens, left = list[int](), self.matched
        while left is not None:
            left, token = left
            tokens.append(token)
        for token in reversed(tokens):
            self.matcher.consume_token(token)

    def _spelled(self, matcher: Matcher, bits: np.ndarray, special: Collection[int]) -> np.ndarray:
        """Return bits of the special tokens whose text a schema's string spells.

        llguidance tokenizes text that must follow, and then allows only its first token. Special tokens never belong to text.
        """
        if not any(_allows(bits, token) for token in special):
            return bits
        found, text = self._changed(0), matcher.compute_ff_bytes().partition(_MARKER)[0]
        for end in range(1, min(len(text), _LONGEST_TOKEN) + 1):
            tokens = self.sections.compiler.tokens_of(text[:end])
            if len(tokens) == 1 and tokens[0] not in special:
                found = self._changed(found, tokens)
        return found if found.any() else bits

    def _changed(self, bits: np.ndarray | int, allowed: Collection[int] = (), forbidden: Collection[int] = ()) -> np.ndarray:
        """Return bits in which single tokens are first forbidden, then allowed."""
        row = np.zeros(self.sections.compiler.words, np.uint32)
        row[:] = bits
        for tokens, bit in ((forbidden, 0), (allowed, 1)):
            for token in tokens:
                word, mask = token // 32, np.uint32(1 << token % 32)
                row[word] = row[word] | mask if bit else row[word] & ~mask
        return row


def _allows(row: Row, token: int) -> bool:
    return row is None or (token < 32 * len(row) and bool(row[token // 32] >> np.uint32(token % 32) & 1))


def _allowed(rows: Sequence[Row], vocabulary: int) -> mx.array:
    """Return which tokens the rows allow, bool [rows, vocabulary].

    Ids without a token are forbidden.
    """
    table = np.zeros((len(rows), -(-vocabulary // 32)), np.uint32)
    for at, row in enumerate(rows):
        if row is None:
            table[at] = _ALL
        else:
            table[at, : len(row)] = row[: table.shape[1]]
    bits = mx.array(table)[:, :, None] >> mx.arange(32, dtype=mx.uint32) & 1
    return bits.reshape(len(rows), -1)[:, :vocabulary].astype(mx.bool_)


def _stuck(reason: str) -> UserError:
    return UserError("reply_stuck", "The reply can't match its schema or tool choice: {reason}", reason=reason)
