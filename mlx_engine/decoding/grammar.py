"""The tokens that a reply's grammar allows in each row of a pass.

llguidance computes the masks. Thinking is unconstrained, but can't end the reply if an answer or a call is required. The state
follows the accepted tokens of the reply. It advances along a draft and is then restored, so each row of a verify gets the mask
that plain decoding would apply at its position.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import lru_cache
from typing import Any, cast
from weakref import WeakKeyDictionary

import mlx.core as mx
import numpy as np
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_engine.channels import ChannelParser, call_format, markers_of
from mlx_engine.errors import UserError
from mlx_engine.requests import GenerationRequest
from mlx_engine.tools.grammars import BadSchema, ReplyRules, reply_rules

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
# Schema keywords for llguidance's errors that don't name one
_KEYWORDS = {"regex": "pattern", "lookaround": "pattern", "Resource '": "$ref", "Pointer '": "$ref", "Unknown format": "format"}

_ALL = 0xFFFFFFFF

Matcher = Any  # llguidance.LLMatcher
Row = np.ndarray | None  # bits of the allowed tokens, 32 per uint32; None allows all


class _Compiler:
    """Compiler of Lark grammars for one tokenizer.

    Attributes:
        size: number of token ids.

    Raises:
        UserError: llguidance doesn't support the tokenizer.
    """

    def __init__(self, tokenizer: TokenizerWrapper) -> None:
        import llguidance  # here, because few replies have grammars

        self.size = max((len(tokenizer), *(token + 1 for token in tokenizer.eos_token_ids)))
        try:
            rules = copy(tokenizer.backend_tokenizer)
            rules.no_padding()
            rules.no_truncation()
            self._tokens = llguidance.LLTokenizer(rules.to_str(), n_vocab=self.size, eos_token=sorted(tokenizer.eos_token_ids))
        except (AttributeError, ValueError):
            template = "This model can't follow a schema or tool choice: its tokenizer isn't supported. Choose another model."
            raise UserError("no_grammars", template) from None
        self._limits = llguidance.LLParserLimits(**_LIMITS)
        self._new = llguidance.LLMatcher
        self.matcher = lru_cache(_KEPT)(self._compiled)

    def _compiled(self, lark: str) -> Matcher:
        """Return a matcher, which users copy.

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
    text = text.replace("Enable 'coerce_one_of' option to approximate oneOf with anyOf", "Use anyOf")
    text = " ".join(text.partition("\n   1 |")[0].partition("<non-verbose/>")[0].split())
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
        found = tokenizer.convert_tokens_to_ids(text)
        single = isinstance(found, int) and tokenizer.convert_ids_to_tokens(found) == text
        return f"<[{found}]>" if single else json.dumps(text)

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
    """The state of a reply's grammar after the accepted tokens.

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
        if tokenizer not in _compilers:
            _compilers[tokenizer] = _Compiler(tokenizer)
        compiled, self._words = _compilers[tokenizer].matcher, -(-_compilers[tokenizer].size // 32)
        self._sections = {name: compiled(lark) for name, lark in (("answer", rules.answer), ("header", rules.header)) if lark}
        self._calls = {name: compiled(lark) for name, lark in rules.calls.items()}
        markers = markers_of(tokenizer)
        self._next = markers.next_section if markers else {}
        self._demanding, self._ends = rules.demanding, frozenset(tokenizer.eos_token_ids)
        self._parser = ChannelParser(tokenizer, markers)
        self._matcher: Matcher | None = None  # of the current section; None if it is unconstrained
        self._known: tuple[list[int], list[Row]] = [], []  # a draft and its rows
        self._thought: tuple[int, ...] = ()  # marker with which the reply may open thinking
        self._ended = False
        self._enter()
        for at, token in enumerate(opening):
            written = at >= len(opening) - continued
            self._advance(token, written or self._parser.section == "header")
        starts = [marker for marker, section in self._next.get("answer", {}).items() if section == "thinking"]
        if starts and thinking and self._parser.section == "answer" and starts[0][0] not in opening:
            self._thought = starts[0]

    def add(self, tokens: Sequence[int]) -> None:
        """Advance the state by accepted tokens of the reply."""
        for token in tokens:
            self._advance(token)
        self._known = [], []

    def mask(self, logits: mx.array, drafts: Sequence[int] = ()) -> mx.array:
        """Return logits [rows, V] in which all forbidden tokens are -inf.

        Row i follows the first i drafts. Rows after a forbidden draft are unchanged, because no draft is accepted there.

        Raises:
            UserError: no token is allowed, or the grammar became too complex.
        """
        known, rows = self._known
        if not rows or known != list(drafts):
            rows = [self._row()]
            with suppress(UserError), self._restored():  # no other draft can be accepted where no token is allowed
                for token in drafts:
                    if not _allows(rows[-1], token):
                        break
                    self._advance(token)
                    rows.append(self._row())
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
        rows = [self._row()]
        with suppress(UserError), self._restored():
            at = 0
            while at < len(drafts):
                if not _allows(rows[-1], drafts[at]):
                    forced = self._matcher.compute_ff_tokens() if self._matcher is not None else []
                    if forced:
                        drafts[at : at + len(forced)] = forced[: len(drafts) - at]
                    elif tokens is None:
                        allowed = _allowed(rows[-1:], scores.shape[-1])[0]
                        drafts[at] = cast(int, mx.argmax(mx.where(allowed, scores[at], -mx.inf)).item())
                    if not _allows(rows[-1], drafts[at]):
                        break
                self._advance(drafts[at])
                rows.append(self._row())
                at += 1
        self._known = drafts, rows
        return mx.array(drafts, mx.uint32)

    def _advance(self, token: int, written: bool = True) -> None:
        """Advance the state by a token. The grammar skips it if the model didn't write it."""
        if self._ended or token in self._ends:
            self._ended = True
            return
        begins, self._thought = self._thought[self._parser.pending :][:1] == (token,), self._thought
        if not begins:
            self._thought = ()
        if self._parser.add(token)[1]:
            self._thought = ()
            self._enter()
        elif self._matcher is not None and written and not begins:
            self._matcher.consume_token(token)

    def _enter(self) -> None:
        """Select the matcher of the section that begins."""
        found = self._calls.get(self._parser.tool) if self._parser.tool else self._sections.get(self._parser.section)
        self._matcher = None if found is None else found.deep_copy()

    @contextmanager
    def _restored(self) -> Iterator[None]:
        """Restore the state at the end of the `with` statement."""
        before = self._matcher, self._parser, self._thought, self._ended
        if self._matcher is not None:
            self._matcher = self._matcher.deep_copy()  # after llguidance's rollback, it may refuse tokens that its mask allowed
        self._parser = self._parser.copy()
        try:
            yield
        finally:
            self._matcher, self._parser, self._thought, self._ended = before

    def _row(self) -> Row:
        """Return the tokens that are allowed next, or None for all."""
        if self._ended or (self._matcher is None and not self._demanding):
            return None
        if self._thought and self._parser.pending:
            return self._changed(0, (self._thought[self._parser.pending],))
        if self._matcher is None:
            return self._changed(_ALL, forbidden=self._ends)
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint32)[: self._words]
        if self._matcher.is_error():
            raise _stuck(_reason(self._matcher.get_error()))
        closing = [marker[0] for marker in self._next.get(self._parser.section, {})]
        ending = (closing if self._parser.section == "header" else self._ends) if self._matcher.is_accepting() else ()
        row = self._changed(bits, (*ending, *self._thought[:1]), (*self._ends, *closing))
        if not row.any():
            raise _stuck("no token of this model can continue the reply")
        return row

    def _changed(self, bits: np.ndarray | int, allowed: Collection[int] = (), forbidden: Collection[int] = ()) -> np.ndarray:
        """Return bits in which single tokens are first forbidden, then allowed."""
        row = np.zeros(self._words, np.uint32)
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
