"""The EAGLE-3 drafter: one layer that drafts token by token.

An entry joins a token's embedding with the features of the position before it: the target's in the context, the drafter's own
output while drafting. Position 0 has no features before it, so its entry is never read. The embedding and the head are
the target's unless the checkpoint has its own.

Sources: arXiv 2503.01840, published checkpoints, and the loaders in speculators and vLLM.
"""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import DFlashDrafter
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.tensors import Tensors


@dataclass
class Chain:
    """The entries that a round's proposals read, starting with those of the context."""

    features: mx.array  # of the position before the next entry, [1, H]
    entries: mx.array  # keys and values, with room for those of the proposals, [2, 1, kv heads, n, D]
    count: int  # entries so far
    start: int | mx.array  # position of the next entry
    visible: mx.array | None  # [n] bool; None if every entry is visible


class Eagle3Drafter(DFlashDrafter):
    """An EAGLE-3 drafter, with the arguments and errors of `DFlashDrafter`."""

    def _take_context(self, tensors: Tensors) -> None:
        c, norms = self.config, self.config.eagle3
        assert norms is not None
        self._norms = norms
        size = (len(c.taps) or 3) * c.hidden_size
        self._fuse = tensors.matrix("fc", c.hidden_size, size)
        self._fuse_norm = tensors.take("layers.0.hidden_norm.weight", c.hidden_size)
        names = [f"fc_norm.{i}" for i in range(size // c.hidden_size)] if norms.each_tap else ["input_norm"] if norms.taps else []
        weights = [tensors.take(f"{name}.weight", size // len(names)) for name in names]
        self._tap_norms = mx.stack(weights) if weights else None

    def _take_layers(self, tensors: Tensors) -> None:
        c, at = self.config, "layers.0."
        hidden, queries, keys = c.hidden_size, c.heads * c.head_dim, c.kv_heads * c.head_dim
        self._input_norm = tensors.take(at + "input_layernorm.weight", hidden)
        rows = {"q": queries, "k": keys, "v": keys}
        self._queries, k, v = (tensors.matrix(f"{at}self_attn.{name}_proj", rows[name], 2 * hidden) for name in rows)
        self._injection = k.concatenated(v)
        self._output = tensors.matrix(at + "self_attn.o_proj", hidden, queries)
        self._mlp_norm = tensors.take(at + "post_attention_layernorm.weight", hidden)
        gate, up = (tensors.matrix(f"{at}mlp.{name}_proj", c.intermediate_size, hidden) for name in ("gate", "up"))
        self._gate_up = gate.concatenated(up)
        self._down = tensors.matrix(at + "mlp.down_proj", hidden, c.intermediate_size)
        tensors.settle(self.parameters())

    def parameters(self) -> list[mx.array]:
        layer = [self._queries, self._injection, self._output, self._gate_up, self._down]
        matrices = [part for part in (self._fuse, *layer, self._own_table, self._own_head) if part is not None]
        norms = [self._fuse_norm, self._tap_norms, self._input_norm, self._mlp_norm, self._final_norm]
        vectors = [array for array in (*norms, self._frequencies, self._proposable) if array is not None]
        return vectors + [array for matrix in matrices for array in matrix.arrays]

    @property
    def bits(self) -> int:
        return self._gate_up.bits

    def context(self) -> DraftContext:
        return DraftContext((None,), self.config.block_size)

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        assert tokens is not None
        if self._tap_norms is not None:
            taps = mx.fast.rms_norm(features.reshape(-1, *self._tap_norms.shape), None, self.config.norm_eps) * self._tap_norms
            features = taps.reshape(features.shape)
        joined, _ = self._joined(tokens, context.pair(self._fuse(features, self._multiply)))
        context.kinds[None].append(self._keys_values(joined, context.start))
        if context.span is None:
            context.position += tokens.size

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        chain = self.chain(context, rows)
        if noise is not None:
            noise = noise[: rows - 1, : self.config.vocab_size] if self._proposable is None else noise[: rows - 1, self._proposable]
        return chooser.propose_chain(anchor, rows - 1, lambda row, before: self.extend(chain, before), noise, self._proposable)

    def chain(self, context: DraftContext, rows: int) -> Chain:
        """Return the context's entries, with room for a block of `rows` rows."""
        c, held = self.config, context.kinds[None].layer(0)
        entries = mx.zeros((2, 1, c.kv_heads, rows - 1, c.head_dim), self.dtype)
        count = 0
        if held is not None:
            entries = mx.concatenate([mx.stack([*held])[..., 1:, :], entries], axis=3)
            count = held[0].shape[2] - 1
        slots = mx.arange(entries.shape[3])
        visible = None if context.span is None else (slots + 1 < context.start) | (slots >= count)  # hides unfilled rows
        return Chain(context.before(c.hidden_size).astype(self.dtype), entries, count, context.start, visible)

    def extend(self, chain: Chain, token: mx.array) -> mx.array:
        """Append the entry of a token [1], and return the logits [1, V or reduced vocabulary] of the token after it."""
        c, multiply, end = self.config, self._multiply, chain.count + 1
        joined, normed = self._joined(token, chain.features)
        chain.entries[..., chain.count : end, :] = self._keys_values(joined, chain.start)
        queries = self._rotated(self._queries(joined, multiply).reshape(1, c.heads, 1, c.head_dim), chain.start)
        keys, values = chain.entries[..., :end, :]
        mask = None if chain.visible is None else chain.visible[None, :end]
        attended = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=self._scale, mask=mask)
        x = normed if self._norms.residual else chain.features
        x = x + self._output(attended.reshape(1, -1), multiply)
        x = x + self._down(self._gate_up(mx.fast.rms_norm(x, self._mlp_norm, c.norm_eps), multiply, gated=True), multiply)
        out = mx.fast.rms_norm(x, self._final_norm, c.norm_eps)
        chain.features, chain.count, chain.start = out if self._norms.output else x, end, chain.start + 1
        return self.logits(out)

    def _joined(self, tokens: mx.array, before: mx.array) -> tuple[mx.array, mx.array]:
        """Return the layer's input [S, 2H] for tokens [S], and the normed features [S, H]."""
        normed = mx.fast.rms_norm(before, self._fuse_norm, self.config.norm_eps)
        embedded = mx.fast.rms_norm(self._embedded(tokens[None])[0], self._input_norm, self.config.norm_eps)
        return mx.concatenate([embedded, normed], axis=-1), normed

    def _keys_values(self, joined: mx.array, start: int | mx.array) -> mx.array:
        """Return the entries' keys and values, [2, 1, kv heads, S, D]."""
        c = self.config
        both = self._injection(joined, self._multiply).reshape(-1, 2, 1, c.kv_heads, c.head_dim).transpose(1, 2, 3, 0, 4)
        return mx.stack([self._rotated(both[0], start), both[1]])

    def _rotated(self, heads: mx.array, start: int | mx.array) -> mx.array:
        if self._rope_scale != 1.0:
            heads = heads * self._rope_scale
        dim, freqs = self.config.head_dim, self._frequencies
        return mx.fast.rope(heads, dim, traditional=False, base=None, scale=1.0, offset=start, freqs=freqs)
