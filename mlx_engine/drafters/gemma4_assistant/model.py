"""The Gemma 4 assistant: layers that read keys and values of the target.

These are the target's last sliding and last full-attention layer with keys and values of their own. The context holds copies,
computed with the target's weights from the inputs of the two layers, so it is rewound and saved like the context of any drafter.
A draft combines a token's embedding with the final hidden state of the position before it: the target's for the first draft, then
the assistant's own.

All queries of a round have the position before the anchor's, as in vLLM and mlx-vlm. In transformers, they have the anchor's. It is
unknown which one the published weights expect.

Sources: published configs and the implementations in vLLM, mlx-vlm, and transformers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.gemma4_assistant.config import AssistantConfig
from mlx_engine.drafters.gemma4_assistant.tensors import AssistantEnds, take_layer
from mlx_engine.drafters.parts.chooser import run_chains
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.injection import normalized_values
from mlx_engine.drafters.parts.layer import AttentionHeads, Heads, Layer, Multiply, View
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.model import DrafterModel
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors


@dataclass(frozen=True)
class _Source:
    """A layer of the target whose keys and values are read."""

    own: Any
    window: int | None
    dim: int
    rotation: Rotation

    def keys_values(self, x: mx.array) -> mx.array:
        """Return the projections [S, 1, 2, H, D] of the layer's input [S, H]."""
        x, attention = self.own.input_layernorm(x), self.own.self_attn
        keys = attention.k_proj(x)
        values = keys if attention.use_k_eq_v else attention.v_proj(x)
        return mx.stack([keys, values], axis=1).reshape(x.shape[0], 1, 2, -1, self.dim)

    def view(self, context: DraftContext) -> View:
        """Return the attention inputs of the drafts, which are the same for all of them."""
        held, start, mask = context.kinds[self.window], context.start, None
        if context.span is not None or (self.window is not None and held.rows >= self.window):
            key = held.first + mx.arange(held.rows)[None]
            mask = key < start
            if self.window is not None:
                mask = mask & (start - key < self.window)
        return View(1, held.layer(0), mask, start - 1)


def source_layers(layers: Sequence[Any]) -> tuple[int, int]:
    """Return the target's last sliding and last full-attention layer.

    Raises:
        UserError: the target has no such layers after its first one.
    """
    last = {layer.self_attn.is_sliding: index for index, layer in enumerate(layers) if layer.self_attn.has_kv}
    if len(last) < 2 or 0 in last.values():
        template = "The target lacks the layers whose keys this drafter reads. Choose another drafter."
        raise UserError("assistant_without_keys", template)
    return last[True], last[False]


def tapped(layers: Sequence[Any]) -> tuple[int, ...]:
    """Return the taps: the inputs of both source layers, and the final norm."""
    return *(index - 1 for index in source_layers(layers)), len(layers)


class Gemma4AssistantDrafter(DrafterModel[AssistantConfig]):
    """A Gemma 4 assistant with a target's embedding and layers."""

    def __init__(
        self,
        config: AssistantConfig,
        ends: TargetEnds,
        joints: tuple[Matrix, Matrix],
        sources: Sequence[_Source],
        layers: Sequence[Layer],
    ) -> None:
        super().__init__(config, ends)
        (self._join, self._return), self._sources, self._layers = joints, sources, layers

    @property
    def bits(self) -> int:
        return self._layers[0].gate_up.bits

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows, self.config.block_size)

    def inject_packed(self, parts: Sequence[ContextRows]) -> None:
        rows = [part.rows for part in parts]
        *inputs, final = mx.split(pack([part.features for part in parts]), 3, axis=1)
        for source, x in zip(self._sources, inputs, strict=True):
            norm = source.own.self_attn.k_norm
            for part, projected in zip(parts, unpack(source.keys_values(x), rows), strict=True):
                rotation = (source.rotation.frequencies, part.context.start, norm.eps)
                injected = self.operations.kv_injection(projected, norm.weight[None], *rotation)
                part.context.kinds[source.window].append(normalized_values(injected, self.config.norm_eps))
        for part, state in zip(parts, unpack(final, rows), strict=True):
            part.context.pair(state)
            part.context.advance(part.rows)

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        states = [block.context.before(self.config.hidden_size).astype(self.dtype) for block in blocks]
        seen = [[source.view(block.context) for source in self._sources] for block in blocks]

        def logits(going: Sequence[int], row: int, before: mx.array) -> mx.array:
            embedded = self.ends.embed(before[None])[0]
            x = self._join(mx.concatenate([embedded, pack([states[index] for index in going])], axis=-1), self.multiply)[None]
            for layer, slides in zip(self._layers, self.config.sliding, strict=True):
                views = [seen[index][0 if slides else 1] for index in going]
                normed = mx.fast.rms_norm(x, layer.input_norm, self.config.norm_eps)
                heads = _heads(layer, normed, views, self.multiply)
                x = layer.finish(x, layer.attend(normed, heads, views, self.multiply), self.multiply)
            x = self.ends.finish(x[0])
            for index, state in zip(going, unpack(self._return(x, self.multiply), [1] * len(going)), strict=True):
                states[index] = state
            return self.logits(x)

        return run_chains([b.chooser.chain(b.anchor, b.rows - 1, self.ends.noise(b.noise, b.rows - 1)) for b in blocks], logits)


def _heads(layer: Layer, x: mx.array, views: Sequence[View], multiply: Multiply) -> list[Heads]:
    """Return the queries of a row of each stream, x [1, n, H], and what they read."""
    heads = layer.qkv(x, multiply).reshape(1, len(views), layer.heads.count, -1).transpose(0, 2, 1, 3)
    normed = unpack(mx.fast.rms_norm(heads, layer.head_norm, layer.heads.eps), [1] * len(views), axis=2)
    found = []
    for view, own in zip(views, normed, strict=True):
        assert view.held is not None
        found.append((layer.heads.rotation(own, view.start), *view.held))
    return found


def build(
    tensors: Tensors, config: AssistantConfig, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]
) -> Gemma4AssistantDrafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c = config
    ropes = ((c.head_dim, c.rope), (c.full_dim, c.full_rope))
    sources = [
        _Source(layers[index], window, dim, Rotation.of(rope, dim))
        for index, window, (dim, rope) in zip(source_layers(layers), c.windows, ropes, strict=True)
    ]
    joints = (
        tensors.matrix("pre_projection", c.own_size, 2 * c.hidden_size),
        tensors.matrix("post_projection", c.hidden_size, c.own_size),
    )
    ends = AssistantEnds(tensors, c, embed)
    taken = []
    for i, slides in enumerate(c.sliding):
        source = sources[0 if slides else 1]
        heads = AttentionHeads(c.heads, 0, source.dim, c.norm_eps, 1.0, source.rotation)
        taken.append(take_layer(tensors, c, heads, f"layers.{i}."))
    return Gemma4AssistantDrafter(c, ends, joints, sources, taken)
