"""The DFlash drafter: one pass fills a whole block of masks, conditioned on the target's hidden states.

The target's features enter as keys and values of every layer (`inject`); the block itself is an anchor token and masks, whose own
keys and values are not kept. Embedding table and head are the target's. Source: arXiv 2602.06036 and z-lab's published checkpoints.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import mlx.core as mx

from mlx_engine.drafters.config import DrafterConfig, parse
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Proposals
from mlx_engine.drafters.rope import frequencies
from mlx_engine.errors import UserError
from mlx_engine.kernels import kv_injection
from mlx_engine.pairs.checkpoint import read_config, weight_files


@dataclass(frozen=True)
class _Layer:
    """One layer's weights, projections of the same input fused. Heads below are query heads, then key heads."""

    input_norm: mx.array
    qkv: mx.array
    qkv_bias: mx.array | None
    head_norm: mx.array  # [heads + kv_heads, D]: RMSNorm weight of each query and key head
    output: mx.array
    output_bias: mx.array | None
    mlp_norm: mx.array
    gate_up: mx.array
    down: mx.array


class DFlashDrafter:
    """A DFlash v1 drafter, bound to a target's embedding and head.

    Args:
        config: from `parse`.
        weights: tensors by their published names; all are used, none may be left over.
        dtype: to compute in.
        embed: token ids [1, w] -> embeddings [1, w, H], with the target's own embedding scale.
        head: hidden states [1, w, H] -> logits [1, w, V].

    Raises:
        UserError: a tensor is missing, left over or of the wrong shape.
    """

    def __init__(
        self,
        config: DrafterConfig,
        weights: dict[str, mx.array],
        dtype: mx.Dtype,
        embed: Callable[[mx.array], mx.array],
        head: Callable[[mx.array], mx.array],
    ) -> None:
        self.config = config
        self._embed, self._head = embed, head
        self._frequencies, self._rope_scale = frequencies(config.rope, config.head_dim)
        self._take_weights(_Tensors(weights, dtype))

    def _take_weights(self, tensors: "_Tensors") -> None:
        c = self.config
        hidden, queries, keys = c.hidden_size, c.heads * c.head_dim, c.kv_heads * c.head_dim
        self._fuse = tensors.take("fc.weight", hidden, len(c.taps) * hidden)
        self._fuse_norm = tensors.take("hidden_norm.weight", hidden)
        self._final_norm = tensors.take("norm.weight", hidden)
        self._layers: list[_Layer] = []
        key_norms, injections, injection_biases = [], [], []
        for i in range(c.layers):
            at, attention, mlp = f"layers.{i}.", f"layers.{i}.self_attn.", f"layers.{i}.mlp."
            q = tensors.take(attention + "q_proj.weight", queries, hidden)
            k = tensors.take(attention + "k_proj.weight", keys, hidden)
            v = tensors.take(attention + "v_proj.weight", keys, hidden)
            bias = [tensors.take(f"{attention}{name}_proj.bias", size) for name, size in self._bias_sizes(queries, keys)]
            q_norm = tensors.take(attention + "q_norm.weight", c.head_dim)
            k_norm = tensors.take(attention + "k_norm.weight", c.head_dim)
            self._layers.append(
                _Layer(
                    input_norm=tensors.take(at + "input_layernorm.weight", hidden),
                    qkv=mx.concatenate([q, k, v]),
                    qkv_bias=mx.concatenate(bias[:3]) if bias else None,
                    head_norm=mx.concatenate([mx.repeat(q_norm[None], c.heads, 0), mx.repeat(k_norm[None], c.kv_heads, 0)]),
                    output=tensors.take(attention + "o_proj.weight", hidden, queries),
                    output_bias=bias[3] if bias else None,
                    mlp_norm=tensors.take(at + "post_attention_layernorm.weight", hidden),
                    gate_up=mx.concatenate(
                        [tensors.take(f"{mlp}{name}_proj.weight", c.intermediate_size, hidden) for name in ("gate", "up")]
                    ),
                    down=tensors.take(mlp + "down_proj.weight", hidden, c.intermediate_size),
                )
            )
            key_norms.append(k_norm)
            injections.append(mx.concatenate([k, v]))
            injection_biases.append(mx.concatenate(bias[1:3]) if bias else None)
        tensors.finish()
        # layers of one kind stand together, so that a round's projection splits into one block a kind
        self._kinds = {w: [i for i, window in enumerate(c.windows) if window == w] for w in dict.fromkeys(c.windows)}
        order = [i for members in self._kinds.values() for i in members]
        self._injection = mx.concatenate([injections[i] for i in order])
        biases = [array for i in order if (array := injection_biases[i]) is not None]
        self._injection_bias = mx.concatenate(biases) if biases else None
        self._key_norms = {w: mx.stack([key_norms[i] for i in members]) for w, members in self._kinds.items()}
        self._slot = {i: slot for members in self._kinds.values() for slot, i in enumerate(members)}
        mx.eval(self.parameters())

    def _bias_sizes(self, queries: int, keys: int) -> list[tuple[str, int]]:
        if not self.config.attention_bias:
            return []
        return [("q", queries), ("k", keys), ("v", keys), ("o", self.config.hidden_size)]

    def parameters(self) -> list[mx.array]:
        """Every array that the drafter holds."""
        own = [self._fuse, self._fuse_norm, self._final_norm, self._injection, self._frequencies, *self._key_norms.values()]
        if self._injection_bias is not None:
            own.append(self._injection_bias)
        return own + [array for layer in self._layers for array in vars(layer).values() if array is not None]

    def context(self) -> DraftContext:
        """A fresh, empty context."""
        return DraftContext(self.config.windows)

    def inject(self, context: DraftContext, features: mx.array) -> None:
        """Append features [S, taps * H] of the S positions from `context.position` on to the context."""
        c = self.config
        fused = mx.fast.rms_norm(features @ self._fuse.T, self._fuse_norm, c.norm_eps)
        projected = fused @ self._injection.T
        if self._injection_bias is not None:
            projected = projected + self._injection_bias
        projected = projected.reshape(features.shape[0], c.layers, 2, c.kv_heads, c.head_dim)
        done = 0
        for window, members in self._kinds.items():
            context.kinds[window].append(
                kv_injection.reference(
                    projected[:, done : done + len(members)],
                    self._key_norms[window],
                    self._frequencies,
                    context.position,
                    c.norm_eps,
                    self._rope_scale,
                )
            )
            done += len(members)
        context.position += features.shape[0]

    def propose(self, context: DraftContext, anchor: mx.array, rows: int, chooser: Proposals, noise: mx.array | None) -> mx.array:
        """Proposals, uint32 [rows - 1], for the positions after the anchor; see `Drafter.propose`."""
        return chooser.propose(self.draft(context, anchor, rows), noise)

    def draft(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Logits [width - 1, V] for the positions after the anchor, a token id [1] that stands at `context.position`."""
        return self.logits(self.hidden(context, anchor, width))

    def logits(self, hidden: mx.array) -> mx.array:
        """Logits [rows, V] of final hidden states [rows, H]."""
        logits = self._head(hidden[None])[0]
        if self.config.output_multiplier != 1.0:
            logits = logits * self.config.output_multiplier
        if self.config.softcap:
            logits = mx.tanh(logits / self.config.softcap) * self.config.softcap
        return logits

    def hidden(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Final hidden states [width - 1, H] of the block's masks."""
        c = self.config
        masks = mx.full((width - 1,), c.mask_token, dtype=anchor.dtype)
        x = self._embed(mx.concatenate([anchor, masks])[None])
        if c.embedding_scale != 1.0:
            x = x * c.embedding_scale
        visible = {
            (window, causal): self._mask(context, window, causal, width)
            for window, causal in set(zip(c.windows, c.causal, strict=True))
        }
        for i, layer in enumerate(self._layers):
            held = context.kinds[c.windows[i]].layer(self._slot[i])
            read = 1 if i == c.layers - 1 else 0  # the last layer's first row, the anchor's, is read by nobody
            attended = self._attention(layer, x, held, visible[c.windows[i], c.causal[i]], context.position, read)
            x = x[:, read:] + attended
            gate, up = mx.split(mx.fast.rms_norm(x, layer.mlp_norm, c.norm_eps) @ layer.gate_up.T, 2, axis=-1)
            x = x + (gate * mx.sigmoid(gate) * up) @ layer.down.T
        return mx.fast.rms_norm(x[0], self._final_norm, c.norm_eps)

    def _attention(
        self,
        layer: _Layer,
        x: mx.array,
        held: tuple[mx.array, mx.array] | None,
        mask: mx.array | None,
        position: int,
        read: int,
    ) -> mx.array:
        """Attention of the block's rows from `read` on, [1, width - read, H], over the context and the whole block."""
        c, width = self.config, x.shape[1]
        qkv = mx.fast.rms_norm(x, layer.input_norm, c.norm_eps) @ layer.qkv.T
        if layer.qkv_bias is not None:
            qkv = qkv + layer.qkv_bias
        heads = qkv.reshape(1, width, c.heads + 2 * c.kv_heads, c.head_dim)
        turning = mx.fast.rms_norm(heads[:, :, : c.heads + c.kv_heads], None, c.norm_eps) * layer.head_norm
        if self._rope_scale != 1.0:
            turning = turning * self._rope_scale
        turning = mx.fast.rope(
            turning.transpose(0, 2, 1, 3),
            c.head_dim,
            traditional=False,
            base=None,
            scale=1.0,
            offset=position,
            freqs=self._frequencies,
        )
        queries, keys = turning[:, : c.heads, read:], turning[:, c.heads :]
        values = heads[:, :, c.heads + c.kv_heads :].transpose(0, 2, 1, 3)
        if held is not None:
            keys, values = mx.concatenate([held[0], keys], axis=2), mx.concatenate([held[1], values], axis=2)
        mask = None if mask is None else mask[read:]
        out = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=c.head_dim**-0.5, mask=mask)
        out = out.transpose(0, 2, 1, 3).reshape(1, width - read, -1) @ layer.output.T
        return out if layer.output_bias is None else out + layer.output_bias

    @staticmethod
    def _mask(context: DraftContext, window: int | None, causal: bool, width: int) -> mx.array | None:
        """Which keys (context, then block) each block row sees, [width, keys] bool; None when it sees all."""
        held = context.kinds[window]
        if not causal and (window is None or held.rows + width <= window):
            return None  # the oldest key is still within the last row's window
        query = context.position + mx.arange(width)[:, None]
        key = mx.concatenate([held.first + mx.arange(held.rows), context.position + mx.arange(width)])[None]
        visible = mx.ones((width, held.rows + width), dtype=mx.bool_)
        if causal:
            visible = visible & (key <= query)
        if window is not None:
            visible = visible & (query - key < window)
        return visible


class _Tensors:
    """Hands out a checkpoint's tensors by name, checks their shapes, and knows at the end if any was left over."""

    def __init__(self, weights: dict[str, mx.array], dtype: mx.Dtype) -> None:
        self._weights = {name.removeprefix("model."): array for name, array in weights.items()}
        self._dtype = dtype

    def take(self, name: str, *shape: int) -> mx.array:
        array = self._weights.pop(name, None)
        if array is None:
            raise UserError(f"The drafter's weights lack “{name}”. Download it again, or pick another drafter.")
        if array.shape != shape:
            raise UserError(
                f"The drafter's “{name}” has shape {list(array.shape)}, but its config.json means {list(shape)}. Download it again."
            )
        return array.astype(self._dtype)

    def finish(self) -> None:
        if self._weights:
            name = min(self._weights)
            raise UserError(
                f"The drafter's weights hold “{name}” and {len(self._weights) - 1} more tensors that its config.json does not "
                "account for, so Slipstream would run it wrongly. Pick another drafter, or decode plainly."
            )


def load(
    folder: Path, dtype: mx.Dtype, embed: Callable[[mx.array], mx.array], head: Callable[[mx.array], mx.array]
) -> DFlashDrafter:
    """Read a drafter's folder.

    Raises:
        UserError: files missing, cut short or not a supported drafter.
    """
    config = parse(read_config(folder, "drafter"))
    weights: dict[str, mx.array] = {}
    for file in weight_files(folder, "drafter"):
        try:
            weights.update(cast(dict[str, mx.array], mx.load(str(file))))
        except (RuntimeError, ValueError) as error:
            raise UserError(f"The drafter's {file.name} cannot be read: {str(error).splitlines()[0]}") from error
    return DFlashDrafter(config, weights, dtype, embed, head)
