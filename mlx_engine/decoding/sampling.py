"""How a token is chosen from the target's logits, and a proposal from the drafter's.

The target's choice is what counts: greedy, or Gumbel-max with keyed noise over logits that are penalised, tempered and filtered, in
this order. The proposal is free: under the *same* noise the drafter picks what the target picks wherever their laws are near.
"""

from collections.abc import Sequence
from math import log

import mlx.core as mx

from mlx_engine.decoding.noise import gumbel
from mlx_engine.kernels.block_verify import Draw, Verdict
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.requests import Sampling

COLDEST = 1e-5  # a lower temperature is greedy: float32 could not divide by it
# What a proposal is made by; `bench/proposals.py` compares the rules
OPEN = log(0.15)  # a row is open when the drafter gives its favourite less than this share
COOLING = 0.5  # proposal temperature / sampling temperature in an open row


class Chooser:
    """Chooses tokens for one request.

    Args:
        sampling: temperature, filters and penalties.
        seed: 64 bits, for the noise.
        operations: what chooses and compares.
    """

    def __init__(self, sampling: Sampling, seed: int, operations: Operations = PLAIN) -> None:
        self.sampling, self.seed, self.operations = sampling, seed, operations
        self.greedy = sampling.temperature < COLDEST

    def noise(self, first_position: int | mx.array, rows: int, vocabulary: int) -> mx.array | None:
        """What `pick` and `propose` add for the tokens at `first_position` and after, [rows, vocabulary]; None when greedy."""
        return None if self.greedy else gumbel(self.seed, first_position, rows, vocabulary)

    def verify(self, logits: mx.array, drafts: mx.array | None, first_position: int | mx.array, noise: mx.array | None) -> Verdict:
        """What the target chooses in every row, from its logits [rows, V], and what that makes of the drafts.

        Args:
            logits: after penalties.
            drafts: for the first rows - 1 rows, uint32; None for one row.
            first_position: where the token stands that the first row chooses; [1] uint32 where only the device knows it.
            noise: of these rows, from `noise`; None when greedy.
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
        """The target's choice, uint32 [1], for one position, from its logits [1, V]: a block without drafts."""
        return self.verify(logits, None, position, noise).choices

    def pick(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """The target's choices, uint32 [rows], from its logits [rows, V]."""
        return mx.argmax(self.scores(logits, noise), axis=-1)

    def scores(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """What `pick` takes the largest of, [rows, V] float32 unless greedy; a filtered token scores -inf."""
        if noise is None:
            return logits
        return self._filter(logits.astype(mx.float32) / self.sampling.temperature) + noise

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """The drafter's proposals, uint32 [rows], from its logits [rows, V].

        A drafter that half knows what comes has found the target's favourite, though its law is flatter than the target's: then
        the favourite is proposed. A row without one is open, and there noise that both sides share finds what the target picks.
        """
        if noise is None:
            return mx.argmax(logits, axis=-1)
        scaled = logits.astype(mx.float32) / self.sampling.temperature
        favourite = scaled.max(axis=-1, keepdims=True) - mx.logsumexp(scaled, axis=-1, keepdims=True)
        shared = mx.where(favourite < OPEN, COOLING, 0.0) * noise[: logits.shape[0]]
        return mx.argmax(scaled + shared, axis=-1)

    def _filter(self, logits: mx.array) -> mx.array:
        """Top-k, then top-p over what is left, then min-p. Of equal logits at a boundary all are kept, or none."""
        s, vocabulary = self.sampling, logits.shape[-1]
        if 0 < s.top_k < vocabulary:
            least = mx.topk(logits, s.top_k, axis=-1).min(axis=-1, keepdims=True)
            logits = mx.where(logits < least, -mx.inf, logits)
        if 0 < s.top_p < 1:
            falling = -mx.sort(-logits, axis=-1)
            shares = mx.softmax(falling, axis=-1, precise=True)
            before = mx.cumsum(shares, axis=-1) - shares
            least = mx.where(before < s.top_p, falling, mx.inf).min(axis=-1, keepdims=True)
            logits = mx.where(logits < least, -mx.inf, logits)
        if s.min_p > 0:
            least = logits.max(axis=-1, keepdims=True) + mx.log(mx.array(s.min_p))
            logits = mx.where(logits < least, -mx.inf, logits)
        return logits


class Penalties:
    """Penalties on tokens seen before, for one request.

    The repetition penalty (Keskar et al., 2019) divides a positive logit and multiplies a negative one, for tokens of prompt and
    reply; presence and frequency penalties (as OpenAI's API defines them) subtract, for tokens of the reply.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int]) -> None:
        self.sampling = sampling
        self.active = (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty) != (1.0, 0.0, 0.0)
        self._prompt, self._reply = list(prompt), list[int]()
        self._prompt_counts: mx.array | None = None
        self._reply_counts: mx.array | None = None  # of the tokens that were final when last looked at, which left the list

    def add(self, tokens: Sequence[int]) -> None:
        """These tokens of the reply are final."""
        if self.active:
            self._reply += tokens

    def apply(self, logits: mx.array, ahead: mx.array | None = None) -> mx.array:
        """Penalised logits [rows, V]. Row i comes after the first i of the tokens `ahead` [rows - 1], not yet final."""
        if not self.active:
            return logits
        s, (rows, vocabulary) = self.sampling, logits.shape
        reply = mx.broadcast_to(self._counted(vocabulary), (rows, vocabulary))
        if ahead is not None and rows > 1:
            each = (ahead[:, None] == mx.arange(vocabulary)[None]).astype(mx.float32)
            reply = reply + mx.concatenate([mx.zeros((1, vocabulary)), mx.cumsum(each, axis=0)])
        logits = logits.astype(mx.float32)
        if s.repetition_penalty != 1.0:
            worse = mx.where(logits > 0, logits / s.repetition_penalty, logits * s.repetition_penalty)
            if self._prompt_counts is None:
                self._prompt_counts = _counts(self._prompt, vocabulary)
            logits = mx.where(reply + self._prompt_counts > 0, worse, logits)
        return logits - s.presence_penalty * (reply > 0) - s.frequency_penalty * reply

    def _counted(self, vocabulary: int) -> mx.array:
        """How often each token id occurs in the reply, [vocabulary] float32; only what is new is counted."""
        if self._reply_counts is None:
            self._reply_counts = mx.zeros((vocabulary,), mx.float32)
        if self._reply:
            self._reply_counts = self._reply_counts + _counts(self._reply, vocabulary)
            self._reply = []
        return self._reply_counts


def _counts(tokens: Sequence[int], vocabulary: int) -> mx.array:
    """How often each token id occurs, [vocabulary] float32."""
    return mx.zeros((vocabulary,), mx.float32).at[mx.array(list(tokens), dtype=mx.uint32)].add(1.0)
