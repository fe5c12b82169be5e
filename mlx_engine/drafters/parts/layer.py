"""A drafter's layer: attention to a context and to its own rows, then an MLP."""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.drafters.parts.matrix import Matrix
from mlx_engine.drafters.parts.rope import Rotation

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


@dataclass(frozen=True)
class View:
    """What a layer's rows attend to: B blocks of w rows over N contexts.

    Attributes:
        held: the contexts' keys and values, [N, H, rows, D] each.
        mask: visible keys of each row, context first, bool [w, keys] or [N, 1, B / N * w, keys]; None if every key is visible.
        start: position of the first row; [B] int32 in training.
        read: first row of a block whose output is needed.
        blocks: B / N; more than 1 only in training.
    """

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

    def __call__(self, x: mx.array, view: View, multiply: Multiply) -> mx.array:
        """Run the layer on [B, w, H], and return the rows from `view.read` on."""
        attended = self.attention(mx.fast.rms_norm(x, self.input_norm, self.heads.eps), view, multiply)
        return self.finish(x[:, view.read :], attended, multiply)

    def finish(self, x: mx.array, attended: mx.array, multiply: Multiply) -> mx.array:
        """Return the layer's output for rows x and the output of their attention."""
        eps = self.heads.eps
        if self.after is None or self.factor is None:
            x = x + attended
            return x + self.feed_forward(mx.fast.rms_norm(x, self.mlp_norm, eps), multiply)
        x = x + mx.fast.rms_norm(attended, self.after[0], eps)
        fed = self.feed_forward(mx.fast.rms_norm(x, self.mlp_norm, eps), multiply)
        return (x + mx.fast.rms_norm(fed, self.after[1], eps)) * self.factor

    def attention(self, x: mx.array, view: View, multiply: Multiply) -> mx.array:
        """Return the attention output [B, w - read, H] from `view.read` on."""
        return self.attend(x[:, view.read :], *self.project(x, view, multiply), view, multiply)

    def project(self, x: mx.array, view: View, multiply: Multiply) -> tuple[mx.array, mx.array, mx.array]:
        """Return the queries from `view.read` on, and all keys and values."""
        h = self.heads
        qkv = self.qkv(x, multiply)
        if self.qkv_bias is not None:
            qkv = qkv + self.qkv_bias
        heads = qkv.reshape(*x.shape[:2], h.count + 2 * h.keys, h.dim)
        normed = mx.fast.rms_norm(heads[:, :, : h.count + h.keys], None, h.eps) * self.head_norm
        rotated = h.rotation(normed.transpose(0, 2, 1, 3), view.start)
        queries, keys = view.join(rotated[:, : h.count, view.read :]), view.join(rotated[:, h.count :])
        values = heads[:, :, h.count + h.keys :]
        values = view.join((values if self.after is None else mx.fast.rms_norm(values, None, h.eps)).transpose(0, 2, 1, 3))
        if view.held is not None:
            keys, values = mx.concatenate([view.held[0], keys], axis=2), mx.concatenate([view.held[1], values], axis=2)
        return queries, keys, values

    def attend(self, x: mx.array, queries: mx.array, keys: mx.array, values: mx.array, view: View, multiply: Multiply) -> mx.array:
        """Return the attention output [B, n, H] of the rows x [B, n, H]."""
        mask = view.mask
        if mask is not None and view.read:
            mask = mask[view.read :]
        scale = self.heads.scale
        out = view.part(mx.fast.scaled_dot_product_attention(queries, keys, values, scale=scale, mask=mask, sinks=self.sinks))
        if self.gate is not None:
            out = out * self.opened(self.gate(x), out)
        out = self.output(out, multiply)
        return out if self.output_bias is None else out + self.output_bias

    def feed_forward(self, x: mx.array, multiply: Multiply) -> mx.array:
        if self.after is None:
            return self.down(self.gate_up(x, multiply, gated=True), multiply)
        gate, up = mx.split(self.gate_up(x, multiply), 2, axis=-1)
        return self.down(nn.gelu_approx(gate) * up, multiply)
