"""What a drafter computes before its first layer and after its last one."""

from collections.abc import Callable

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.tensors import Tensors

TargetEnd = Callable[[mx.array], mx.array]
"""The target's embedding or head: token ids [N, w] -> embeddings [N, w, H], or hidden states [N, w, H] -> logits [N, w, V]."""


class TargetEnds:
    """Embedding, final norm, and head, the target's own if absent.

    Args:
        tensors: the drafter's tensors.
        config: the drafter's config.
        embed: the target's embedding, with its scale.
        head: the target's head.
        own_scale: factor of embeddings that aren't the target's.

    Attributes:
        tokens: token of each logit, uint32; None for the ids from 0 on.
    """

    def __init__(self, tensors: Tensors, config: DrafterConfig, embed: TargetEnd, head: TargetEnd, own_scale: float = 1.0) -> None:
        c = self._config = config
        self._embed, self._head, self._own_scale = embed, head, own_scale
        self.norm = tensors.take("norm.weight", c.hidden_size)
        self.table: Matrix | None = None
        self._own_head: Matrix | None = None
        self.tokens: mx.array | None = None
        if c.vocab_size is None:
            return
        if "embed_tokens.weight" in tensors:
            self.table = tensors.matrix("embed_tokens", c.vocab_size, c.hidden_size)
        if "lm_head.weight" in tensors:
            self._own_head = tensors.matrix("lm_head", c.draft_vocab_size or c.vocab_size, c.hidden_size)
        if c.draft_vocab_size is not None:
            offsets = tensors.integers("d2t", c.draft_vocab_size)  # id - index
            self.tokens = distinct_tokens("d2t", mx.arange(offsets.size) + offsets, c.vocab_size)
        elif "d2t" in tensors:  # over the full vocabulary, `d2t` can only be the identity
            tensors.integers("d2t", c.vocab_size)

    def embed(self, tokens: mx.array) -> mx.array:
        if self.table is None:
            return self._embed(tokens)
        x = self.table.rows(tokens)
        return x if self._own_scale == 1.0 else x * self._own_scale

    def finish(self, x: mx.array) -> mx.array:
        """Return the final norm of hidden states."""
        return mx.fast.rms_norm(x, self.norm, self._config.norm_eps)

    def logits(self, hidden: mx.array, multiply: Callable[..., mx.array] | None) -> mx.array:
        """Return the logits [rows, V or reduced vocabulary] of hidden states [rows, H]."""
        c = self._config
        if self._own_head is not None:
            logits = self._own_head(hidden, multiply)
        else:
            logits = self._head(hidden[None])[0]
            if self.tokens is not None:
                logits = logits[:, self.tokens]
            elif c.vocab_size is not None and logits.shape[-1] > c.vocab_size:
                logits = logits[:, : c.vocab_size]  # the target's head is padded
        if c.output_multiplier != 1.0:
            logits = logits * c.output_multiplier
        return mx.tanh(logits / c.softcap) * c.softcap if c.softcap else logits

    def noise(self, noise: mx.array | None, rows: int) -> mx.array | None:
        """Return the noise [rows or more, V] for the logits of rows."""
        if noise is None:
            return None
        return noise[:rows, : self._config.vocab_size] if self.tokens is None else noise[:rows, self.tokens]


def distinct_tokens(name: str, ids: mx.array, vocabulary: int) -> mx.array:
    """Return the target's token ids [n] of the tensor `name` as uint32.

    Raises:
        UserError: the ids repeat or are outside the vocabulary.
    """
    ordered = mx.sort(ids)
    outside = mx.any((ordered < 0) | (ordered >= vocabulary)).item()
    if outside or mx.any(ordered[1:] == ordered[:-1]).item():
        raise UserError(
            "drafter_vocabulary_invalid",
            "The drafter's “{name}” must list {count:,} distinct token IDs below {vocabulary:,}. Download "
            "it again, or choose another drafter.",
            name=name,
            count=ids.size,
            vocabulary=vocabulary,
        )
    return ids.astype(mx.uint32)
