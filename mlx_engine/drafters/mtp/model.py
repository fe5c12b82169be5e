"""The MTP head of Qwen3.5, 3.6, 3.8, and Next: a layer that drafts a chain.

An entry combines a token's embedding with the target's final hidden state at the position before it. The layer's output takes the
place of that state in the next entry. The context keeps the keys and values of entries with the target's own states. Entries of
drafts are dropped after each round.

Sources: the checkpoints' `mtp.*` tensors and the implementations in vLLM and mlx-vlm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.mtp.config import Experts, MtpConfig
from mlx_engine.drafters.mtp.tensors import LAYER, MLP, take_experts, take_layer
from mlx_engine.drafters.parts.block import block_mask
from mlx_engine.drafters.parts.chooser import run_chains
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.injection import FeatureFusion, Injection
from mlx_engine.drafters.parts.layer import AttentionHeads, Layer, View
from mlx_engine.drafters.parts.matrix import Matrix, arrays_of
from mlx_engine.drafters.parts.model import DrafterModel
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors


@dataclass
class _Chain:
    """The entries that a round's proposals read, and the state before the next one."""

    state: mx.array  # [1, H]
    keys_values: tuple[mx.array, mx.array] | None  # of the context, then of proposals
    filled: int  # entries of the context
    visible: mx.array | None  # keys of each proposal, or None for all
    start: int | mx.array  # position of the anchor

    @classmethod
    def after(cls, context: DraftContext, rows: int, size: int, dtype: mx.Dtype) -> "_Chain":
        """Return the chain of a block of `rows` rows, with states of `size`."""
        held = context.kinds[None].layer(0)
        keys_values = None if held is None else (held[0][:, :, 1:], held[1][:, :, 1:])  # position 0 has no entry
        filled = 0 if held is None else held[0].shape[2] - 1
        visible = block_mask(context, None, False, rows - 1)
        return cls(context.before(size).astype(dtype), keys_values, filled, visible, context.start)

    def view(self, row: int) -> View:
        """Return what a row attends to."""
        mask = None if self.visible is None else self.visible[row : row + 1, 1 : self.filled + row + 2]
        return View(1, self.keys_values, mask, self.start + row)


class MtpDrafter(DrafterModel[MtpConfig]):
    """An MTP head with a target's embedding and head."""

    def __init__(
        self,
        config: MtpConfig,
        ends: TargetEnds,
        embed: TargetEnd,
        pair_norms: Sequence[mx.array],
        injection: Injection,
        layer: Layer,
        experts: "RoutedExperts | None",
    ) -> None:
        super().__init__(config, ends)
        self._embed, self._pair_norms, self._injection = embed, pair_norms, injection
        self._layer, self._experts = layer, experts

    @property
    def bits(self) -> int:
        return self._layer.gate_up.bits

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows, self.config.block_size)

    def inject_packed(self, parts: Sequence[ContextRows]) -> None:
        before = pack([part.context.pair(part.features) for part in parts])
        entries = self._entries(pack([part.tokens for part in parts if part.tokens is not None]), before)
        each = unpack(entries, [part.rows for part in parts])
        self._injection.inject([part.context for part in parts], each, self.operations, self.multiply)

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        c, layer, multiply = self.config, self._layer, self.multiply
        chains = [_Chain.after(block.context, block.rows, c.hidden_size, self.dtype) for block in blocks]

        def logits(going: Sequence[int], row: int, before: mx.array) -> mx.array:
            own = [chains[index] for index in going]
            views, states = [chain.view(row) for chain in own], pack([chain.state for chain in own])
            x = self._injection.fusion.matrix(self._entries(before, states), multiply)[None]
            normed = mx.fast.rms_norm(x, layer.input_norm, c.norm_eps)
            heads = layer.project(normed, views, multiply)
            x = x + layer.attend(normed, heads, views, multiply)
            x = x + self.feed_forward(mx.fast.rms_norm(x, layer.mlp_norm, c.norm_eps))
            out = self.ends.finish(x[0])
            for chain, (_, *keys_values), state in zip(own, heads, unpack(out, [1] * len(own)), strict=True):
                chain.keys_values, chain.state = (keys_values[0], keys_values[1]), state
            return self.logits(out)

        return run_chains([b.chooser.chain(b.anchor, b.rows - 1, self.ends.noise(b.noise, b.rows - 1)) for b in blocks], logits)

    def feed_forward(self, x: mx.array) -> mx.array:
        """Return the output of the MLP, or of the experts, for rows [1, n, H]."""
        out = self._layer.feed_forward(x, self.multiply)
        return out if self._experts is None else self._experts(x, out)

    def _entries(self, tokens: mx.array, states: mx.array) -> mx.array:
        """Return tokens [S] joined with the states [S, H] before them, [S, 2 * H]."""
        embedded = self._embed(tokens[None])[0]
        pairs = zip((embedded, states), self._pair_norms, strict=True)
        return mx.concatenate([mx.fast.rms_norm(x, weight, self.config.norm_eps) for x, weight in pairs], axis=-1)


class RoutedExperts:
    """A layer of experts: a few chosen for each row, and one shared by all rows."""

    def __init__(self, tensors: Tensors, config: Experts, hidden: int) -> None:
        self._config = config
        self._router = tensors.matrix(MLP + "gate", config.count, hidden, quantize=False)
        self._shared_gate = tensors.matrix(MLP + "shared_expert_gate", 1, hidden, quantize=False)
        self._gate, self._up, self._down = take_experts(tensors, config, hidden)
        tensors.settle(arrays_of(self))

    @property
    def bits(self) -> int:
        return self._down.bits

    def __call__(self, x: mx.array, shared: mx.array) -> mx.array:
        """Return the experts' weighted outputs [1, n, H], plus the shared one's."""
        c, shares = self._config, mx.softmax(self._router(x), axis=-1, precise=True)
        chosen = mx.argpartition(shares, kth=-c.chosen, axis=-1)[..., -c.chosen :]
        weights = mx.take_along_axis(shares, chosen, axis=-1)
        if c.normalized:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        spread = x[:, :, None, None]
        gate, up = self._product(self._gate, spread, chosen), self._product(self._up, spread, chosen)
        routed = self._product(self._down, gate * mx.sigmoid(gate) * up, chosen)[..., 0, :]
        return (routed * weights[..., None]).sum(axis=-2) + mx.sigmoid(self._shared_gate(x)) * shared

    def _product(self, stacked: Matrix, x: mx.array, chosen: mx.array) -> mx.array:
        """Multiply x [1, n, k or 1, 1, columns] by the chosen experts' matrices."""
        parts = [array.reshape(self._config.count, -1, array.shape[-1]) for array in stacked.arrays]
        if len(parts) == 1:
            return mx.gather_mm(x, parts[0].swapaxes(-1, -2), rhs_indices=chosen)
        weight, scales, biases = parts
        group, bits = stacked.group, stacked.bits
        return mx.gather_qmm(x, weight, scales, biases, rhs_indices=chosen, transpose=True, group_size=group, bits=bits)


def build(tensors: Tensors, config: MtpConfig, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]) -> MtpDrafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c, hidden = config, config.hidden_size
    heads = AttentionHeads(c.heads, c.kv_heads, c.head_dim, c.norm_eps, c.head_dim**-0.5, Rotation.of(c.rope, c.head_dim))
    fuse = tensors.matrix("fc", hidden, 2 * hidden)
    pair_norms = [tensors.take(f"pre_fc_norm_{name}.weight", hidden) for name in ("embedding", "hidden")]
    input_norm = tensors.take(LAYER + "input_layernorm.weight", hidden)
    ends = TargetEnds(tensors, c, embed, head)
    layer, injected = take_layer(tensors, c, heads, input_norm)
    experts = RoutedExperts(tensors, c.experts, hidden) if c.experts else None
    injection = Injection(tensors, c.windows, FeatureFusion(fuse, input_norm), [injected], heads.rotation, c.norm_eps)
    return MtpDrafter(c, ends, embed, pair_norms, injection, layer, experts)
