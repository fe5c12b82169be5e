"""The pass of blocks: anchors and masks, through all layers over their contexts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.ends import TargetEnds
from mlx_engine.drafters.parts.injection import Injection
from mlx_engine.drafters.parts.layer import Multiply, View
from mlx_engine.drafters.parts.row_packing import pack

BlockLayer = Callable[[mx.array, Sequence[View], Multiply], mx.array]


@dataclass(frozen=True)
class BlockPass:
    """Runs one block over a context, or in training many over several."""

    config: BlockConfig
    ends: TargetEnds
    layers: Sequence[BlockLayer]
    injection: Injection

    def hidden(self, blocks: Sequence[tuple[DraftContext, mx.array, int]], multiply: Multiply) -> mx.array:
        """Return the final hidden states [R, H] of the proposing rows of all blocks.

        Args:
            blocks: of one or more streams: the context, the anchor, [1] uint32, and the width, one more than the rows that propose.
            multiply: the `verify_matmul` kernel, or None.
        """
        views = [self._views(context, width + self.config.first_row - 1) for context, _, width in blocks]
        tokens = [self._tokens(anchor[None], layers[0].rows) for (_, anchor, _), layers in zip(blocks, views, strict=True)]
        return self._run(pack(tokens, axis=1), [*zip(*views, strict=True)], multiply)[0]

    def _views(self, context: DraftContext, width: int) -> list[View]:
        """Return what the rows of a block attend to in each layer."""
        c = self.config
        kinds = list(zip(c.windows, c.causal, strict=True))
        visible = {kind: block_mask(context, *kind, width) for kind in set(kinds)}
        read = (0,) * (c.layers - 1) + (c.first_row,)
        start, held = context.start, self.injection.held
        return [View(width, held(context, i), visible[kind], start, read[i]) for i, kind in enumerate(kinds)]

    def _tokens(self, anchors: mx.array, width: int) -> mx.array:
        """Return blocks [B, width] of anchors [B, 1] and masks."""
        masks = mx.full((anchors.shape[0], width - 1), self.config.mask_token, dtype=anchors.dtype)
        return mx.concatenate([anchors, masks], axis=1)

    def trained(self, features: mx.array, anchors: mx.array, positions: mx.array) -> mx.array:
        """Return the final hidden states [N, A, block size - 1, H].

        Args:
            features: of N sequences, [N, S, taps * H].
            anchors: A tokens in each, [N, A] uint32.
            positions: their positions, [N, A] int32. A block sees only the features before its anchor.
        """
        c, (count, blocks) = self.config, anchors.shape
        kinds = list(zip(c.windows, c.causal, strict=True))
        width = c.block_size + c.first_row - 1
        visible = {kind: _training_mask(positions, features.shape[1], *kind, width) for kind in set(kinds)}
        held, start = self.injection.held_by_layer(features), positions.reshape(-1)
        views = [[View(width, held[i], visible[kind], start, blocks=blocks)] for i, kind in enumerate(kinds)]
        x = self._run(self._tokens(anchors.reshape(-1, 1), width), views, None)
        return x[:, c.first_row :].reshape(count, blocks, c.block_size - 1, -1)

    def _run(self, tokens: mx.array, views: Sequence[Sequence[View]], multiply: Multiply) -> mx.array:
        """Return the final hidden states of blocks, with the views of each layer."""
        x = self.ends.embed(tokens)
        if self.config.embedding_scale != 1.0:
            x = x * self.config.embedding_scale
        for layer, own in zip(self.layers, views, strict=True):
            x = layer(x, own, multiply)
        return self.ends.finish(x)


def block_mask(context: DraftContext, window: int | None, causal: bool, width: int) -> mx.array | None:
    """Return the visible keys of each row, [width, keys] bool, or None for all."""
    held, start, queued = context.kinds[window], context.start, context.span is not None
    if not queued and not causal and (window is None or held.rows + width <= window):
        return None  # the last row's window includes the oldest key
    query = start + mx.arange(width)[:, None]
    key = mx.concatenate([held.first + mx.arange(held.rows), start + mx.arange(width)])[None]
    visible = mx.ones((width, held.rows + width), dtype=mx.bool_)
    if queued:  # hide the context's unfilled rows
        visible = visible & ((key < start) | (mx.arange(held.rows + width) >= held.rows))
    if causal:
        visible = visible & (key <= query)
    if window is not None:
        visible = visible & (query - key < window)
    return visible


def _training_mask(positions: mx.array, length: int, window: int | None, causal: bool, width: int) -> mx.array:
    """Return the visible keys [N, 1, A * width, length + A * width], bool.

    The keys are the context's, then those of all blocks.
    """
    count, blocks = positions.shape
    start = mx.repeat(positions, width, axis=1)[:, :, None]  # of each row's block
    row, block = mx.arange(blocks * width) % width, mx.arange(blocks * width) // width
    key = mx.arange(length)
    far, near = key < start, block[:, None] == block
    if causal:
        near = near & (row <= row[:, None])
    if window is not None:
        far, near = far & (start + row[:, None] - key < window), near & (row[:, None] - row < window)
    return mx.concatenate([far, mx.broadcast_to(near, (count, *near.shape))], axis=2)[:, None]
