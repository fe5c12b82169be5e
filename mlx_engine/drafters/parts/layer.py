"""A drafter's layer: attention to a context and to its own rows, then an MLP.

Its rows are those of one or more streams. Attention runs per stream, everything else once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.row_packing import pack, unpack

Multiply = Callable[..., mx.array] | None
"""The `verify_matmul` kernel, or None for MLX's products."""


@dataclass(frozen=True)
class AttentionHeads:
    """The sizes of a layer's attention. `scale` is the factor of its scores."""

    count: int
    keys: int
    dim: int
    eps: float
    scale: float
    rotation: Rotation


Heads = tuple[mx.array, mx.array, mx.array]
"""A stream's queries, and the keys and values they attend to, [N, heads, rows, D] each."""


@dataclass(frozen=True)
class View:
    """What the rows of a stream attend to: B blocks of w rows over N contexts.

    Attributes:
        rows: w.
        held: the contexts' keys and values, [N, H, rows, D] each.
        mask: visible keys of each row, context first, bool [w, keys] or [N, 1, B / N * w, keys]; None if every key is visible.
        start: position of the first row; [B] int32 in training.
        read: first row of a block whose output is needed.
        blocks: B / N; more than 1 only in training.
    """

    rows: int
    held: tuple[mx.array, mx.array] | None
    mask: mx.array | None
    start: int | mx.array
    read: int = 0
    blocks: int = 1

    def join(self, heads: mx.array) -> mx.array:
        """Return heads [B, heads, w, D] as [N, heads, B / N * w, D]."""
        if self.blocks == 1:
            return heads
        _, count, width, dim = heads.shape
        return heads.reshape(-1, self.blocks, count, width, dim).swapaxes(1, 2).reshape(-1, count, self.blocks * width, dim)

    def part(self, heads: mx.array) -> mx.array:
        """Return the rows [B, w, heads * D] of heads from `join`."""
        _, count, width, dim = heads.shape
        rows = heads.transpose(0, 2, 1, 3)
        return rows.reshape(-1, width // self.blocks, count * dim)


def softplus(gate: mx.array, out: mx.array) -> mx.array:
    """Return the factors of heads [.., heads * D], one per head."""
    factors = mx.logaddexp(gate.astype(mx.float32), 0.0).astype(out.dtype)
    return mx.repeat(factors, out.shape[-1] // gate.shape[-1], axis=-1)


def sigmoid(gate: mx.array, out: mx.array) -> mx.array:
    return mx.sigmoid(gate)


@dataclass(frozen=True)
class Layer:
    """The weights of a layer, with query, key, and value fused, and its pass."""

    heads: AttentionHeads
    input_norm: mx.array
    qkv: Matrix
    qkv_bias: mx.array | None
    head_norm: mx.array  # [heads + keys, D]: RMSNorm weight of each query and key head
    output: Matrix
    output_bias: mx.array | None
    mlp_norm: mx.array
    gate_up: Matrix
    down: Matrix
    gate: Matrix | None = None  # input of `opened`
    opened: Callable[[mx.array, mx.array], mx.array] = softplus  # factors of the heads' outputs
    after: mx.array | None = None  # [2, H], Gemma: RMSNorm weights of the outputs of attention and MLP
    factor: mx.array | None = None  # [1], Gemma: of the layer's output
    sinks: mx.array | None = None  # [heads], DSpark: logit of each head's attention sink

    def __call__(self, x: mx.array, views: Sequence[View], multiply: Multiply) -> mx.array:
        """Run the layer on [B, w, H], or on all streams' rows [1, R, H].

        Returns:
            The rows from `View.read` on.
        """
        attended = self.attention(mx.fast.rms_norm(x, self.input_norm, self.heads.eps), views, multiply)
        return self.finish(needed(x, views), attended, multiply)

    def finish(self, x: mx.array, attended: mx.array, multiply: Multiply) -> mx.array:
        """Return the layer's output for rows x and the output of their attention."""
        eps = self.heads.eps
        if self.after is None or self.factor is None:
            x = x + attended
            return x + self.feed_forward(mx.fast.rms_norm(x, self.mlp_norm, eps), multiply)
        x = x + mx.fast.rms_norm(attended, self.after[0], eps)
        fed = self.feed_forward(mx.fast.rms_norm(x, self.mlp_norm, eps), multiply)
        return (x + mx.fast.rms_norm(fed, self.after[1], eps)) * self.factor

    def attention(self, x: mx.array, views: Sequence[View], multiply: Multiply) -> mx.array:
        """Return the attention output of the rows from `View.read` on."""
        return self.attend(needed(x, views), self.project(x, views, multiply), views, multiply)

    def project(self, x: mx.array, views: Sequence[View], multiply: Multiply) -> list[Heads]:
        """Return each stream's queries from `View.read` on, and all its keys and values."""
        h = self.heads
        qkv = self.qkv(x, multiply)
        if self.qkv_bias is not None:
            qkv = qkv + self.qkv_bias
        heads = qkv.reshape(*x.shape[:2], h.count + 2 * h.keys, h.dim)
        turning = mx.fast.rms_norm(heads[:, :, : h.count + h.keys], None, h.eps) * self.head_norm
        values = heads[:, :, h.count + h.keys :]
        values = values if self.after is None else mx.fast.rms_norm(values, None, h.eps)
        rows = [view.rows for view in views]
        parts = zip(views, unpack(turning, rows, axis=1), unpack(values, rows, axis=1), strict=True)
        return [self._turned(view, own, own_values) for view, own, own_values in parts]

    def _turned(self, view: View, turning: mx.array, values: mx.array) -> Heads:
        """Return a stream's heads, of queries and keys [B, w, heads + keys, D]."""
        count = self.heads.count
        rotated = self.heads.rotation(turning.transpose(0, 2, 1, 3), view.start)
        queries, keys = view.join(rotated[:, :count, view.read :]), view.join(rotated[:, count:])
        values = view.join(values.transpose(0, 2, 1, 3))
        if view.held is not None:
            keys, values = mx.concatenate([view.held[0], keys], axis=2), mx.concatenate([view.held[1], values], axis=2)
        return queries, keys, values

    def attend(self, x: mx.array, heads: Sequence[Heads], views: Sequence[View], multiply: Multiply) -> mx.array:
        """Return the attention output [B, n, H] of the rows x [B, n, H]."""
        out = pack([self._attended(view, *own) for view, own in zip(views, heads, strict=True)], axis=1)
        if self.gate is not None:
            out = out * self.opened(self.gate(x), out)
        out = self.output(out, multiply)
        return out if self.output_bias is None else out + self.output_bias

    def _attended(self, view: View, queries: mx.array, keys: mx.array, values: mx.array) -> mx.array:
        mask = view.mask
        if mask is not None and view.read:
            mask = mask[view.read :]
        scale = self.heads.scale
        return view.part(mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=self.sinks))

    def feed_forward(self, x: mx.array, multiply: Multiply) -> mx.array:
        if self.after is None:
            return self.down(self.gate_up(x, multiply, gated=True), multiply)
        gate, up = mx.split(self.gate_up(x, multiply), 2, axis=-1)
        return self.down(nn.gelu_approx(gate) * up, multiply)


def needed(x: mx.array, views: Sequence[View]) -> mx.array:
    """Return the rows of x [B, w, H] or [1, R, H] from `View.read` on."""
    if not any(view.read for view in views):
        return x
    parts = unpack(x, [view.rows for view in views], axis=1)
    return pack([own[:, view.read :] for view, own in zip(views, parts, strict=True)], axis=1)
