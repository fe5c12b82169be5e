"""The EAGLE-3 drafter: one layer that drafts token by token.

An entry joins a token's embedding with the features of the position before it: the target's in the context, the drafter's own
output while drafting. Position 0 has no features before it, so its entry is never read. The embedding and the head are
the target's unless the checkpoint has its own.

Sources: arXiv 2503.01840, published checkpoints, and the loaders in speculators and vLLM.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.eagle3.config import Eagle3Config
from mlx_engine.drafters.parts.chooser import run_chains
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.matrix import Matrix, arrays_of
from mlx_engine.drafters.parts.model import DrafterModel
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors


@dataclass
class DraftChain:
    """The entries that a round's proposals read, starting with those of the context."""

    features: mx.array  # of the position before the next entry, [1, H]
    entries: mx.array  # keys and values, with room for those of the proposals, [2, 1, kv heads, n, D]
    count: int  # entries so far
    start: int | mx.array  # position of the next entry
    visible: mx.array | None  # [n] bool; None if every entry is visible


@dataclass(frozen=True)
class _Layer:
    """The layer's weights. It attends to the normalized embedding and features."""

    input_norm: mx.array  # of the embedding
    hidden_norm: mx.array  # of the features
    queries: Matrix
    keys_values: Matrix
    output: Matrix
    mlp_norm: mx.array
    gate_up: Matrix
    down: Matrix

    @classmethod
    def take(cls, tensors: Tensors, config: Eagle3Config) -> "_Layer":
        c, at = config, "layers.0."
        hidden, queries, keys = c.hidden_size, c.heads * c.head_dim, c.kv_heads * c.head_dim
        rows = {"q": queries, "k": keys, "v": keys}
        q, k, v = (tensors.matrix(f"{at}self_attn.{name}_proj", rows[name], 2 * hidden) for name in rows)
        gate, up = (tensors.matrix(f"{at}mlp.{name}_proj", c.intermediate_size, hidden) for name in ("gate", "up"))
        names = ("input_layernorm", "hidden_norm", "post_attention_layernorm")
        norms = [tensors.take(f"{at}{name}.weight", hidden) for name in names]
        output = tensors.matrix(at + "self_attn.o_proj", hidden, queries)
        down = tensors.matrix(at + "mlp.down_proj", hidden, c.intermediate_size)
        taken = cls(norms[0], norms[1], q, k.concatenated(v), output, norms[2], gate.concatenated(up), down)
        tensors.settle(arrays_of(taken))
        return taken


class Eagle3Drafter(DrafterModel[Eagle3Config]):
    """An EAGLE-3 drafter with a target's embedding and head."""

    def __init__(self, config: Eagle3Config, ends: TargetEnds, fuse: Matrix, tap_norms: mx.array | None, layer: _Layer) -> None:
        super().__init__(config, ends)
        self._fuse, self._tap_norms, self._layer = fuse, tap_norms, layer
        self._rotation = Rotation.of(config.rope, config.head_dim)

    @property
    def bits(self) -> int:
        return self._layer.gate_up.bits

    def context(self) -> DraftContext:
        return DraftContext((None,), self.config.block_size)

    def inject_packed(self, parts: Sequence[ContextRows]) -> None:
        rows, features = [part.rows for part in parts], pack([part.features for part in parts])
        if self._tap_norms is not None:
            taps = mx.fast.rms_norm(features.reshape(-1, *self._tap_norms.shape), None, self.config.norm_eps) * self._tap_norms
            features = taps.reshape(features.shape)
        fused = unpack(self._fuse(features, self.multiply), rows)
        before = pack([part.context.pair(own) for part, own in zip(parts, fused, strict=True)])
        joined, _ = self._joined(pack([part.tokens for part in parts if part.tokens is not None]), before)
        for part, own in zip(parts, unpack(self._keys_values(joined), rows, axis=3), strict=True):
            part.context.kinds[None].append(self._turned(own, part.context.start))
            part.context.advance(part.rows)

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        chains = [self.chain(block.context, block.rows) for block in blocks]
        choosing = [b.chooser.chain(b.anchor, b.rows - 1, self.ends.noise(b.noise, b.rows - 1), self.ends.tokens) for b in blocks]
        return run_chains(choosing, lambda going, row, before: self.extend([chains[index] for index in going], before))

    def chain(self, context: DraftContext, rows: int) -> DraftChain:
        """Return the context's entries, with room for a block of `rows` rows."""
        c, held = self.config, context.kinds[None].layer(0)
        entries = mx.zeros((2, 1, c.kv_heads, rows - 1, c.head_dim), self.dtype)
        count = 0
        if held is not None:
            entries = mx.concatenate([mx.stack([*held])[..., 1:, :], entries], axis=3)
            count = held[0].shape[2] - 1
        slots = mx.arange(entries.shape[3])
        visible = None if context.span is None else (slots + 1 < context.start) | (slots >= count)  # hides unfilled rows
        return DraftChain(context.before(c.hidden_size).astype(self.dtype), entries, count, context.start, visible)

    def extend(self, chains: Sequence[DraftChain], tokens: mx.array) -> mx.array:
        """Append the entry of a token to each chain, and return the next logits [n, V].

        Args:
            chains: n chains, of one or more streams.
            tokens: one for each, [n].
        """
        c, layer, multiply = self.config, self._layer, self.multiply
        features = pack([chain.features for chain in chains])
        joined, normed = self._joined(tokens, features)
        one_each = [1] * len(chains)
        entries, queries = unpack(self._keys_values(joined), one_each, axis=3), unpack(layer.queries(joined, multiply), one_each)
        attended = [self._attended(chain, *own) for chain, *own in zip(chains, entries, queries, strict=True)]
        x = normed if c.norms_residual else features
        x = x + layer.output(pack(attended), multiply)
        x = x + layer.down(layer.gate_up(mx.fast.rms_norm(x, layer.mlp_norm, c.norm_eps), multiply, gated=True), multiply)
        out = self.ends.finish(x)
        for chain, own in zip(chains, unpack(out if c.norms_output else x, one_each), strict=True):
            chain.features, chain.count, chain.start = own, chain.count + 1, chain.start + 1
        return self.logits(out)

    def _attended(self, chain: DraftChain, entry: mx.array, queries: mx.array) -> mx.array:
        """Append an entry to a chain, and return attention's output for its queries.

        Both have the shape [1, heads * D].
        """
        c, end = self.config, chain.count + 1
        chain.entries[..., chain.count : end, :] = self._turned(entry, chain.start)
        turned = self._rotation(queries.reshape(1, c.heads, 1, c.head_dim), chain.start)
        keys, values = chain.entries[..., :end, :]
        mask = None if chain.visible is None else chain.visible[None, :end]
        return mx.fast.scaled_dot_product_attention(turned, keys, values, scale=c.head_dim**-0.5, mask=mask).reshape(1, -1)

    def _joined(self, tokens: mx.array, before: mx.array) -> tuple[mx.array, mx.array]:
        """Return the layer's input [S, 2H] for tokens [S], and the normed features [S, H]."""
        normed = mx.fast.rms_norm(before, self._layer.hidden_norm, self.config.norm_eps)
        embedded = mx.fast.rms_norm(self.ends.embed(tokens[None])[0], self._layer.input_norm, self.config.norm_eps)
        return mx.concatenate([embedded, normed], axis=-1), normed

    def _keys_values(self, joined: mx.array) -> mx.array:
        """Return the entries' keys, not rotated yet, and values, [2, 1, kv heads, S, D]."""
        c = self.config
        return self._layer.keys_values(joined, self.multiply).reshape(-1, 2, 1, c.kv_heads, c.head_dim).transpose(1, 2, 3, 0, 4)

    def _turned(self, entries: mx.array, start: int | mx.array) -> mx.array:
        """Rotate one stream's keys."""
        return mx.stack([self._rotation(entries[0], start), entries[1]])


def build(tensors: Tensors, config: Eagle3Config, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]) -> Eagle3Drafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c, size = config, (len(config.taps) or 3) * config.hidden_size
    fuse = tensors.matrix("fc", c.hidden_size, size)
    names = [f"fc_norm.{i}" for i in range(size // c.hidden_size)] if c.norms_each_tap else ["input_norm"] if c.norms_taps else []
    weights = [tensors.take(f"{name}.weight", size // len(names)) for name in names]
    ends = TargetEnds(tensors, c, embed, head)
    return Eagle3Drafter(c, ends, fuse, mx.stack(weights) if weights else None, _Layer.take(tensors, c))
