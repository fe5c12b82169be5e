"""The DFlash 2 drafter: convolutions along the block and joint token selection.

A grouped dynamic causal convolution over the block's rows precedes and follows every attention and MLP. Tokens are not chosen
independently: a selector walks from the anchor through the likeliest tokens of each row, and adds an edge score for each pair of
neighboring tokens.

Sources: z-lab's published checkpoints, and the loaders in speculators and vLLM.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.dflash2.config import DFlash2Config
from mlx_engine.drafters.parts.block import BlockPass
from mlx_engine.drafters.parts.block_tensors import heads_of, take_layer, take_layers
from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.draft_requests import Block
from mlx_engine.drafters.parts.ends import TargetEnd, TargetEnds
from mlx_engine.drafters.parts.injection import FeatureFusion, Injection
from mlx_engine.drafters.parts.layer import Layer, Multiply, View, needed
from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.model import BlockModel
from mlx_engine.drafters.parts.row_packing import pack, unpack
from mlx_engine.drafters.parts.tensors import Tensors

_SPAN = 512  # logits per span


@dataclass(frozen=True)
class _Convolution:
    """A pair of grouped dynamic causal convolutions around a sublayer.

    out[i] = sum over taps t of (base[side, t] + dynamic[i, side, t, group]) * x[i - t], with zeros before the block. Side 0
    precedes the sublayer, side 1 follows it. The dynamic part of both is computed from the sublayer's input.
    """

    base: mx.array  # [2, taps, H]
    projection: Matrix  # [2 * taps * groups, H]
    groups: int

    @classmethod
    def take(cls, tensors: Tensors, config: DFlash2Config, at: str) -> "_Convolution":
        c, groups = config, config.hidden_size // config.group
        base = tensors.take(f"{at}.base_kernel", 2, c.kernel_rows, c.hidden_size)
        projection = tensors.matrix(f"{at}.kernel_projection", 2 * c.kernel_rows * groups, c.hidden_size, quantize=False)
        return cls(base, projection, groups)

    def __call__(self, x: mx.array, inside: mx.array | None, sublayer: Callable[[mx.array], mx.array]) -> mx.array:
        """Return a sublayer's output, convolved before and after.

        Args:
            x: [B, w, H], or the rows of all streams' blocks, [1, R, H].
            inside: index of each row in its block, [R], if there are several streams.
            sublayer: takes and returns such rows.
        """
        (count, width, hidden), taps = x.shape, self.base.shape[1]
        dynamic = self.projection(x).reshape(count, width, 2, taps, self.groups, 1)
        kernels = (dynamic + self.base.reshape(2, taps, self.groups, -1)).reshape(count, width, 2, taps, hidden)

        def earlier(x: mx.array, tap: int) -> mx.array:
            moved = mx.pad(x[:, :-tap], [(0, 0), (tap, 0), (0, 0)])
            return moved if inside is None else mx.where((inside >= tap)[:, None], moved, 0)

        def convolve(side: int, x: mx.array) -> mx.array:
            out = kernels[:, :, side, 0] * x
            for tap in range(1, min(taps, width)):
                out = out + kernels[:, :, side, tap] * earlier(x, tap)
            return out

        return convolve(1, sublayer(convolve(0, x)))


@dataclass(frozen=True)
class _ConvolvedLayer:
    layer: Layer
    attention: _Convolution
    mlp: _Convolution

    def __call__(self, x: mx.array, views: Sequence[View], multiply: Multiply) -> mx.array:
        layer, eps = self.layer, self.layer.heads.eps
        # Keep all rows, because the convolution after a sublayer reads the anchor's row
        whole = [replace(view, read=0) for view in views]
        inside = mx.concatenate([mx.arange(view.rows) for view in views]) if len(views) > 1 else None
        h = mx.fast.rms_norm(x, layer.input_norm, eps)
        x = x + self.attention(h, inside, lambda rows: layer.attention(rows, whole, multiply))
        h = mx.fast.rms_norm(x, layer.mlp_norm, eps)
        return needed(x + self.mlp(h, inside, lambda rows: layer.feed_forward(rows, multiply)), views)


@dataclass(frozen=True)
class CandidateSelector:
    """The weights of the edges between neighboring tokens."""

    predecessors: Matrix
    successors: Matrix
    edge: Matrix

    @classmethod
    def take(cls, tensors: Tensors, config: DFlash2Config) -> "CandidateSelector":
        at, c = "candidate_selector.", config
        before, after = (tensors.table(f"{at}{name}_codebook", c.vocab_size, c.rank) for name in ("predecessor", "successor"))
        return cls(before, after, tensors.matrix(at + "hidden_projection", c.rank, c.hidden_size, quantize=False))


class DFlash2Drafter(BlockModel[DFlash2Config]):
    """A DFlash 2 drafter with a target's embedding and head."""

    def __init__(self, block: BlockPass, layers: Sequence[_ConvolvedLayer], selector: CandidateSelector) -> None:
        super().__init__(block, [layer.layer for layer in layers])
        self.selector = selector

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        rows = [block.rows - 1 for block in blocks]
        hidden = self.hidden_packed([(block.context, block.anchor, block.rows) for block in blocks])
        tokens, logits = self.candidates(self.logits(hidden))
        each = unpack(tokens, rows)
        before = pack([previous(block.anchor, own) for block, own in zip(blocks, each, strict=True)])
        parts = zip(blocks, each, unpack(self.scores(before, tokens, logits, hidden), rows), strict=True)
        return [self.path(own, scores, block.chooser, block.noise) for block, own, scores in parts]

    def trained_logits(self, features: mx.array, blocks: mx.array, positions: mx.array) -> mx.array:
        """Return `BlockModel.trained_logits`, with the edges from true tokens."""
        hidden = self.block.trained(features.astype(self.dtype), blocks[:, :, 0], positions)
        edges = self.selector.predecessors.rows(blocks[:, :, :-1]) * self.selector.edge(hidden)
        flat = hidden.reshape(-1, hidden.shape[-1])
        logits = self.logits(flat) + self.selector.successors(edges.reshape(flat.shape[0], -1))
        return logits.reshape(*hidden.shape[:3], -1)

    def candidates(self, logits: mx.array) -> tuple[mx.array, mx.array]:
        """Return the k likeliest tokens of each row, uint32 [rows, k], and their logits.

        The tokens are unordered.
        """
        tokens = largest(logits, self.config.top_k)
        return tokens, mx.take_along_axis(logits, tokens, axis=-1).astype(mx.float32)

    def scores(self, before: mx.array, tokens: mx.array, logits: mx.array, hidden: mx.array) -> mx.array:
        """Return the score of each candidate after each previous one, [rows, k, k].

        Axis 1 has the previous candidates, which are `before`, [rows, k].
        """
        selector = self.selector
        edge = selector.edge(hidden).astype(mx.float32)[:, None]
        left = selector.predecessors.rows(before).astype(mx.float32) * edge
        right = selector.successors.rows(tokens).astype(mx.float32)
        return logits[:, None] + left @ right.transpose(0, 2, 1)

    @staticmethod
    def path(tokens: mx.array, scores: mx.array, chooser: ProposalChooser, noise: mx.array | None) -> mx.array:
        """Return the tokens on the chooser's path through the candidates, uint32 [rows].

        Every candidate's successor is chosen in one call. Row i's table then maps the previous row's candidates to its own, and a
        parallel prefix scan composes the tables.
        """
        rows, count = tokens.shape
        if noise is not None:
            noise = mx.take_along_axis(noise[:rows], tokens, axis=-1)
            noise = mx.broadcast_to(noise[:, None], scores.shape).reshape(-1, count)
        table = chooser.propose(scores.reshape(-1, count), noise).reshape(rows, count)
        reach = 1
        while reach < rows:
            table = mx.concatenate([table[:reach], mx.take_along_axis(table[reach:], table[:-reach], axis=-1)])
            reach *= 2
        return mx.take_along_axis(tokens, table[:, :1], axis=-1)[:, 0]


def build(tensors: Tensors, config: DFlash2Config, embed: TargetEnd, head: TargetEnd, layers: Sequence[Any]) -> DFlash2Drafter:
    """Return a drafter made of its tensors; see `registry.make`."""
    c, heads = config, heads_of(config)
    fusion, ends, selector = FeatureFusion.take(tensors, c), TargetEnds(tensors, c, embed, head), CandidateSelector.take(tensors, c)
    taken, injected = take_layers(tensors, c, lambda i: take_layer(tensors, c, heads, i))
    convolved = [
        _ConvolvedLayer(layer, *(_Convolution.take(tensors, c, f"layers.{i}.{name}_conv") for name in ("attention", "mlp")))
        for i, layer in enumerate(taken)
    ]
    injection = Injection(tensors, c.windows, fusion, injected, heads.rotation, c.norm_eps)
    return DFlash2Drafter(BlockPass(c, ends, convolved, injection), convolved, selector)


def previous(anchor: mx.array, tokens: mx.array) -> mx.array:
    """Return the candidates before each row of a block, [rows, k], of its candidates.

    Before the first row, the anchor takes the place of all of them.
    """
    return mx.concatenate([mx.broadcast_to(anchor.astype(tokens.dtype)[:, None], (1, tokens.shape[1])), tokens[:-1]])


def largest(values: mx.array, count: int) -> mx.array:
    """Return the unordered indices of each row's largest values, [rows, count] uint32.

    Partitioning entire rows is slow for a large vocabulary. The largest values are all in the spans with the largest maxima.
    """
    rows, n = values.shape
    spans = -(-n // _SPAN)
    if spans <= 2 * count:
        return mx.argpartition(-values, count - 1, axis=-1)[:, :count].astype(mx.uint32)
    padded = mx.pad(values, [(0, 0), (0, spans * _SPAN - n)], constant_values=-mx.inf).reshape(rows, spans, _SPAN)
    best = mx.argpartition(-padded.max(axis=-1), count - 1, axis=-1)[:, :count]
    within = mx.take_along_axis(padded, best[:, :, None], axis=1).reshape(rows, -1)
    found = mx.argpartition(-within, count - 1, axis=-1)[:, :count]
    return (mx.take_along_axis(best, found // _SPAN, axis=-1) * _SPAN + found % _SPAN).astype(mx.uint32)
