"""Choose tokens from the target's logits, and proposals from the drafter's.

The target's choice alone determines the text: greedy, or Gumbel-max with keyed noise over logits that are biased, penalized,
divided by the temperature, and filtered, in this order. Proposals may follow any rule. With the *same* noise, the drafter picks the
target's token wherever their distributions are close.
"""

from collections.abc import Sequence
from math import log
from typing import cast

import mlx.core as mx

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.noise import gumbel
from mlx_engine.drafters.parts.chooser import Chain, ProposalChooser
from mlx_engine.formats import logprobs
from mlx_engine.formats.token_grammar import Grammar
from mlx_engine.kernels.block_verify import BlockVerdict, Draw
from mlx_engine.kernels.operations import PLAIN, Operations

MIN_TEMPERATURE = 1e-5  # lower temperatures are greedy: float32 can't divide by them
# tests/benchmarks/proposals.py compares this proposal rule with others
OPEN = log(0.15)  # log probability of a row's favorite below which the row is open
COOLING = 0.5  # proposal temperature / sampling temperature in an open row
_RESULTS = 12  # float32 results per logit that MLX holds for filters and noise, because it queues operations ahead


def choice_bytes(logits: int, element: int) -> int:
    """Return the bytes of logits, and of the choice of tokens without penalties.

    Args:
        logits: rows times tokens of the vocabulary.
        element: bytes of a logit.
    """
    return logits * (element + _RESULTS * mx.float32.size)


class Chooser(ProposalChooser):
    """Chooser of tokens for one request.

    Args:
        sampling: temperature, filters, and penalties.
        seed: 64-bit seed of the noise.
        operations: provides `block_verify`.
        logprobs: number of most likely tokens in each `report`; None for empty reports.
        grammar: restricts proposals.
    """

    def __init__(
        self,
        sampling: Sampling,
        seed: int,
        operations: Operations = PLAIN,
        logprobs: int | None = None,
        grammar: Grammar | None = None,
    ) -> None:
        self.sampling, self.seed, self.operations = sampling, seed, operations
        self._logprobs, self._grammar = logprobs, grammar
        self.greedy = sampling.temperature < MIN_TEMPERATURE

    def noise(self, first_position: int | mx.array, rows: int, vocabulary: int) -> mx.array | None:
        """Return noise from `first_position` on, [rows, vocabulary]; None if greedy."""
        return None if self.greedy else gumbel(self.seed, first_position, rows, vocabulary)

    def verify(
        self, logits: mx.array, drafts: mx.array | None, first_position: int | mx.array, noise: mx.array | None
    ) -> BlockVerdict:
        """Choose a token in each row and compare it with the draft.

        Args:
            logits: penalized logits, [rows, V].
            drafts: drafts for the first rows - 1 rows, uint32; None for one row.
            first_position: position of the token chosen by row 0; [1] uint32 if only the device knows it.
            noise: from `noise`; None if greedy.
        """
        if noise is None:
            return self.operations.block_verify(logits, drafts, None)
        s, temperature = self.sampling, self.sampling.temperature
        if s.top_k > 0 or s.top_p < 1 or s.min_p > 0:
            logits, temperature = self._filter(logits.astype(mx.float32) / temperature), 1.0
        words = mx.array([self.seed & 0xFFFFFFFF, self.seed >> 32], mx.uint32)
        first = first_position if isinstance(first_position, mx.array) else mx.array([first_position], mx.uint32)
        draw = Draw(temperature, noise, words, first)
        return self.operations.block_verify(logits, drafts, draw)

    def choose(self, logits: mx.array, position: int, noise: mx.array | None) -> mx.array:
        """Choose one token, [1] uint32, from logits [1, V]."""
        return self.verify(logits, None, position, noise).choices

    def report(self, logits: mx.array, choices: mx.array) -> logprobs.Report:
        """Return the log-probabilities of the choices, lazily.

        Args:
            logits: the target's own, [rows, V].
            choices: token ids, [rows].
        """
        return logprobs.report(logits, choices, self._logprobs)

    def scores(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Return the scores [rows, V] to maximize. Filtered tokens score -inf."""
        if noise is None:
            return logits
        return self._filter(logits.astype(mx.float32) / self.sampling.temperature) + noise

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Choose proposals, [rows] uint32, from the drafter's logits [rows, V].

        A drafter's distribution is flatter than the target's, so its favorite is usually right even if only moderately likely. In
        an *open* row, which has no clear favorite, the shared noise helps to find the target's token.
        """
        return mx.argmax(self._proposal_scores(logits, noise), axis=-1)

    def propose_path(self, logits: mx.array, noise: mx.array | None, tokens: mx.array | None = None) -> mx.array:
        if self._grammar is None:
            return super().propose_path(logits, noise, tokens)
        return self._grammar.path(self._proposal_scores(logits, noise), tokens)

    def chain(self, anchor: mx.array, rows: int, noise: mx.array | None, tokens: mx.array | None = None) -> Chain:
        if self._grammar is None:
            return (yield from super().chain(anchor, rows, noise, tokens))
        found, own, before = list[mx.array](), super().chain(anchor, rows, noise, tokens), anchor
        next(own)
        for row in range(rows):
            found.append((yield before))
            if row < rows - 1:
                before = own.send(found[-1])
        return self.propose_path(mx.concatenate(found), noise, tokens)

    def _proposal_scores(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        if noise is None:
            return logits
        scaled = logits.astype(mx.float32) / self.sampling.temperature
        favorite = scaled.max(axis=-1, keepdims=True) - mx.logsumexp(scaled, axis=-1, keepdims=True)
        shared = mx.where(favorite < OPEN, COOLING, 0.0) * noise[: logits.shape[0]]
        return scaled + shared

    def _filter(self, logits: mx.array) -> mx.array:
        """Apply top-k, top-p, and min-p, in this order. Ties are kept or removed together."""
        s, vocabulary = self.sampling, logits.shape[-1]
        if 0 < s.top_k < vocabulary:
            threshold = mx.topk(logits, s.top_k, axis=-1).min(axis=-1, keepdims=True)
            logits = mx.where(logits < threshold, -mx.inf, logits)
        if 0 < s.top_p < 1:
            descending = -mx.sort(-logits, axis=-1)
            shares = mx.softmax(descending, axis=-1, precise=True)
            before = mx.cumsum(shares, axis=-1) - shares
            threshold = mx.where(before < s.top_p, descending, mx.inf).min(axis=-1, keepdims=True)
            logits = mx.where(logits < threshold, -mx.inf, logits)
        if s.min_p > 0:
            threshold = logits.max(axis=-1, keepdims=True) + mx.log(mx.array(s.min_p))
            logits = mx.where(logits < threshold, -mx.inf, logits)
        return logits


class Penalties:
    """A request's penalties for repeated tokens, its logit bias, and its grammar.

    The repetition penalty (Keskar et al., 2019) divides positive logits and multiplies negative ones, for tokens of the prompt and
    the reply. Presence and frequency penalties (as in OpenAI's API) are subtracted, for tokens of the reply. The bias is added
    first. The grammar comes last and forbids tokens.

    Attributes:
        active: whether there are penalties or a grammar, which need the tokens before a row.
    """

    def __init__(
        self,
        sampling: Sampling,
        prompt: Sequence[int],
        bias: Sequence[tuple[int, float]] = (),
        grammar: Grammar | None = None,
    ) -> None:
        self.sampling, self._grammar = sampling, grammar
        self._penalized = (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty) != (1.0, 0.0, 0.0)
        self.active = self._penalized or grammar is not None
        self._bias, self._biases = bias, cast(mx.array | None, None)
        self._prompt, self._reply = list(prompt), list[int]()
        self._prompt_counts: mx.array | None = None
        self._reply_counts: mx.array | None = None  # counted tokens, which `_reply` no longer lists

    def add(self, tokens: Sequence[int]) -> None:
        """Append final tokens of the reply."""
        if self._penalized:
            self._reply += tokens
        if self._grammar is not None:
            self._grammar.add(tokens)

    @property
    def stuck(self) -> bool:
        """Whether the grammar allows no token after the final ones."""
        return self._grammar is not None and self._grammar.stuck

    def usable(self, drafts: mx.array) -> mx.array:
        """Return the drafts that can be verified in one pass; see `Grammar.usable`."""
        return drafts if self._grammar is None else drafts[: self._grammar.usable(cast(list[int], drafts.tolist()))]

    def apply(self, logits: mx.array, ahead: mx.array | None = None) -> mx.array:
        """Return adjusted logits [rows, V]. Row i follows the first i tokens of `ahead`."""
        if self._bias:
            if self._biases is None:
                tokens, values = zip(*self._bias, strict=True)
                self._biases = mx.zeros((logits.shape[-1],), mx.float32).at[mx.array(tokens)].add(mx.array(values, mx.float32))
            logits = logits.astype(mx.float32) + self._biases
        if self._penalized:
            logits = self._penalize(logits, ahead)
        if self._grammar is not None:
            logits = self._grammar.mask(logits, [] if ahead is None else cast(list[int], ahead.tolist()))
        return logits

    def _penalize(self, logits: mx.array, ahead: mx.array | None) -> mx.array:
        s, (rows, vocabulary) = self.sampling, logits.shape
        reply = mx.broadcast_to(self._count_reply(vocabulary), (rows, vocabulary))
        if ahead is not None and rows > 1:
            each = (ahead[:, None] == mx.arange(vocabulary)[None]).astype(mx.float32)
            reply = reply + mx.concatenate([mx.zeros((1, vocabulary)), mx.cumsum(each, axis=0)])
        logits = logits.astype(mx.float32)
        if s.repetition_penalty != 1.0:
            penalized = mx.where(logits > 0, logits / s.repetition_penalty, logits * s.repetition_penalty)
            if self._prompt_counts is None:
                self._prompt_counts = _counts(self._prompt, vocabulary)
            logits = mx.where(reply + self._prompt_counts > 0, penalized, logits)
        return logits - s.presence_penalty * (reply > 0) - s.frequency_penalty * reply

    def _count_reply(self, vocabulary: int) -> mx.array:
        """Return the count of each token id in the reply, [vocabulary] float32."""
        if self._reply_counts is None:
            self._reply_counts = mx.zeros((vocabulary,), mx.float32)
        if self._reply:
            self._reply_counts = self._reply_counts + _counts(self._reply, vocabulary)
            self._reply = []
        return self._reply_counts


def _counts(tokens: Sequence[int], vocabulary: int) -> mx.array:
    """Return the count of each token id, [vocabulary] float32."""
    counted = [token for token in tokens if token < vocabulary]
    return mx.zeros((vocabulary,), mx.float32).at[mx.array(counted, dtype=mx.uint32)].add(1.0)
