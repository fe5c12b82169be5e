"""How a token is chosen from the target's logits, and a proposal from the drafter's.

The target's choice is what counts: greedy, or Gumbel-max over the filtered, tempered logits with keyed noise. The proposal is free;
under the *same* noise, at a cooler temperature, the drafter picks what the target picks wherever their distributions are near.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_engine.decoding.noise import gumbel
from mlx_engine.events import Sampling

PROPOSAL_COOLING = 0.6  # proposal temperature / sampling temperature: best of 0.3, 0.6 and 1.0 over a demo pair's prompts


class Chooser:
    """Chooses tokens for one request.

    Args:
        sampling: temperature, filters and penalties.
        seed: 64 bits, for the noise.
    """

    def __init__(self, sampling: Sampling, seed: int) -> None:
        self.sampling, self.seed = sampling, seed
        self.greedy = sampling.temperature <= 0

    def noise(self, first_position: int, rows: int, vocabulary: int) -> mx.array | None:
        """What `pick` and `propose` add for the tokens at `first_position` and after, [rows, vocabulary]; None when greedy."""
        return None if self.greedy else gumbel(self.seed, first_position, rows, vocabulary)

    def pick(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """The target's choices, uint32 [rows], from its logits [rows, V]."""
        return mx.argmax(self.scores(logits, noise), axis=-1)

    def scores(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """What `pick` takes the largest of, [rows, V] float32 unless greedy; a filtered token scores -inf."""
        if noise is None:
            return logits
        return self._filter(logits.astype(mx.float32) / self.sampling.temperature) + noise

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """The drafter's proposals, uint32 [rows], from its logits [rows, V]."""
        if noise is None:
            return mx.argmax(logits, axis=-1)
        temperature = self.sampling.temperature * PROPOSAL_COOLING
        return mx.argmax(logits.astype(mx.float32) / temperature + noise[: logits.shape[0]], axis=-1)

    def _filter(self, logits: mx.array) -> mx.array:
        """Top-k, then min-p, then top-p over what is left. Ties at a boundary are all kept."""
        s, vocabulary = self.sampling, logits.shape[-1]
        if 0 < s.top_k < vocabulary:
            least = mx.topk(logits, s.top_k, axis=-1).min(axis=-1, keepdims=True)
            logits = mx.where(logits < least, -mx.inf, logits)
        if s.min_p > 0:
            least = logits.max(axis=-1, keepdims=True) + mx.log(mx.array(s.min_p))
            logits = mx.where(logits < least, -mx.inf, logits)
        if 0 < s.top_p < 1:
            falling = -mx.sort(-logits, axis=-1)
            shares = mx.softmax(falling, axis=-1, precise=True)
            before = mx.cumsum(shares, axis=-1) - shares
            least = mx.where(before < s.top_p, falling, mx.inf).min(axis=-1, keepdims=True)
            logits = mx.where(logits < least, -mx.inf, logits)
        return logits


class Penalties:
    """Penalties on tokens seen before, for one request.

    The repetition penalty (Keskar et al., 2019) divides a positive logit and multiplies a negative one, for tokens of prompt and
    reply; presence and frequency penalties (as OpenAI's API defines them) subtract, for tokens of the reply.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int], vocabulary: int) -> None:
        self.sampling = sampling
        self.active = (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty) != (1.0, 0.0, 0.0)
        if self.active:
            self._prompt = mx.zeros((vocabulary,), mx.float32).at[mx.array(list(prompt), dtype=mx.uint32)].add(1.0)
            self._reply = mx.zeros((vocabulary,), mx.float32)

    def add(self, tokens: Sequence[int]) -> None:
        """These tokens of the reply are final."""
        if self.active and tokens:
            self._reply = self._reply.at[mx.array(list(tokens), dtype=mx.uint32)].add(1.0)

    def apply(self, logits: mx.array, ahead: mx.array | None = None) -> mx.array:
        """Penalised logits [rows, V]. Row i comes after the first i of the tokens `ahead` [rows - 1], not yet final."""
        if not self.active:
            return logits
        s, (rows, vocabulary) = self.sampling, logits.shape
        reply = mx.broadcast_to(self._reply, (rows, vocabulary))
        if ahead is not None and rows > 1:
            each = (ahead[:, None] == mx.arange(vocabulary)[None]).astype(mx.float32)
            reply = reply + mx.concatenate([mx.zeros((1, vocabulary)), mx.cumsum(each, axis=0)])
        logits = logits.astype(mx.float32)
        if s.repetition_penalty != 1.0:
            worse = mx.where(logits > 0, logits / s.repetition_penalty, logits * s.repetition_penalty)
            logits = mx.where(reply + self._prompt > 0, worse, logits)
        return logits - s.presence_penalty * (reply > 0) - s.frequency_penalty * reply
