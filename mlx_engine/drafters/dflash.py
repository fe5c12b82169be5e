"""The DFlash drafter, which fills a block of masks in one pass.

The target's features become keys and values of every drafter layer (`inject`). The block is an anchor token followed by masks,
whose own keys and values are discarded. Embedding and head are the target's unless the checkpoint has its own.

Sources: arXiv 2602.06036 and z-lab's published checkpoints; for Laguna, vLLM's loader.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters import layer
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.rope import frequencies
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.models.configs.drafter_config import DrafterConfig


@dataclass(frozen=True)
class LayerView:
    """The attention inputs of one layer."""

    held: tuple[mx.array, mx.array] | None  # the context's keys and values, [1, H, rows, D] each
    mask: mx.array | None  # visible keys of each row, context first, [w, keys] bool; None if every key is visible
    start: int | mx.array  # position of the anchor
    read: int  # first row whose output is needed


class DFlashDrafter:
    """A DFlash v1 drafter with a target's embedding and head.

    Args:
        config: from `parse`.
        weights: tensors by published name, all of which must be used. The dict is emptied.
        dtype: dtype of all computations.
        embed: token ids [1, w] -> embeddings [1, w, H], with the target's scale.
        head: hidden states [1, w, H] -> logits [1, w, V].
        bits: bits per weight of floating-point matrices: 4, 8, or 16 (unquantized).

    Raises:
        UserError: a tensor is missing, unexpected, misshapen, or not finite.
    """

    def __init__(
        self,
        config: DrafterConfig,
        weights: dict[str, mx.array],
        dtype: mx.Dtype,
        embed: Callable[[mx.array], mx.array],
        head: Callable[[mx.array], mx.array],
        bits: int = 16,
    ) -> None:
        self.config = config
        self.operations = PLAIN
        self._embed, self._head = embed, head
        self._frequencies, self._rope_scale = frequencies(config.rope, config.head_dim)
        self._scale = config.head_dim**-0.5
        tensors = Tensors(weights, dtype, config.stored, bits)
        weights.clear()  # frees each published tensor once it is taken
        self._take_context(tensors)
        self._take_ends(tensors)
        self._take_layers(tensors)
        tensors.finish()
        mx.eval(self.parameters())

    def _take_context(self, tensors: Tensors) -> None:
        c = self.config
        self._fuse = tensors.matrix("fc", c.hidden_size, len(c.taps) * c.hidden_size)
        self._fuse_norm = tensors.take("hidden_norm.weight", c.hidden_size)
        norms = [tensors.take(f"aux_hidden_norms.{i}.weight", c.hidden_size) for i in range(len(c.taps))] if c.laguna else []
        self._tap_norms = mx.stack(norms) if norms else None

    def _take_ends(self, tensors: Tensors) -> None:
        """Take the final norm and any embedding, head, and reduced vocabulary."""
        c = self.config
        self._final_norm = tensors.take("norm.weight", c.hidden_size)
        self._own_table: Matrix | None = None
        self._own_head: Matrix | None = None
        self._proposable: mx.array | None = None
        if c.vocab_size is None:
            return
        if "embed_tokens.weight" in tensors:
            self._own_table = tensors.matrix("embed_tokens", c.vocab_size, c.hidden_size)
        if "lm_head.weight" in tensors:
            self._own_head = tensors.matrix("lm_head", c.draft_vocab_size or c.vocab_size, c.hidden_size)
        if c.draft_vocab_size is not None:
            offsets = tensors.integers("d2t", c.draft_vocab_size)  # id - index
            self._proposable = distinct_tokens("d2t", mx.arange(offsets.size) + offsets, c.vocab_size)
        elif "d2t" in tensors:  # over the full vocabulary, `d2t` can only be the identity
            tensors.integers("d2t", c.vocab_size)

    def _take_layers(self, tensors: Tensors) -> None:
        c = self.config
        self._layers: list[layer.Layer] = []
        injected = []
        for i in range(c.layers):
            weights, context = self._take_layer(tensors, i)
            tensors.settle(weights.arrays + context.keys_values.arrays)
            self._layers.append(weights)
            injected.append(context)
        # Group layers by window, so that the injection splits into one slice per window
        self._kinds = {w: [i for i, window in enumerate(c.windows) if window == w] for w in dict.fromkeys(c.windows)}
        order = [injected[i] for members in self._kinds.values() for i in members]
        self._injection = order[0].keys_values.concatenated(*(context.keys_values for context in order[1:]))
        biases = [context.bias for context in order if context.bias is not None]
        self._injection_bias = mx.concatenate(biases) if biases else None
        self._key_norms = {w: mx.stack([injected[i].key_norm for i in members]) for w, members in self._kinds.items()}
        self._slot = {i: slot for members in self._kinds.values() for slot, i in enumerate(members)}
        tensors.settle(self._injection.arrays)

    def _take_layer(self, tensors: Tensors, index: int) -> tuple[layer.Layer, layer.Injected]:
        return layer.take(tensors, self.config, index)

    def parameters(self) -> list[mx.array]:
        matrices = [part for part in (self._fuse, self._injection, self._own_table, self._own_head) if part is not None]
        vectors = [self._fuse_norm, self._final_norm, self._frequencies, self._tap_norms, self._injection_bias, self._proposable]
        own = [array for matrix in matrices for array in matrix.arrays] + [array for array in vectors if array is not None]
        return own + [*self._key_norms.values()] + [array for weights in self._layers for array in weights.arrays]

    @property
    def bits(self) -> int:
        return self._layers[0].gate_up.bits

    @property
    def dtype(self) -> mx.Dtype:
        """Dtype of all computations."""
        return self._final_norm.dtype

    @property
    def _multiply(self) -> Callable[..., mx.array] | None:
        """The `verify_matmul` kernel, or None if it isn't used."""
        return None if self.operations.verify_matmul is PLAIN.verify_matmul else self.operations.verify_matmul

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows)

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        c, rows, multiply = self.config, features.shape[0], self._multiply
        if self._tap_norms is not None:
            taps = mx.fast.rms_norm(features.reshape(rows, len(c.taps), c.hidden_size), None, c.norm_eps) * self._tap_norms
            features = taps.reshape(rows, -1)
        fused = mx.fast.rms_norm(self._fuse(features, multiply), self._fuse_norm, c.norm_eps)
        if c.laguna:
            fused = mx.fast.rms_norm(fused, None, c.norm_eps)
        projected = self._injection(fused, multiply)
        if self._injection_bias is not None:
            projected = projected + self._injection_bias
        projected = projected.reshape(rows, c.layers, 2, c.kv_heads, c.head_dim)
        rotation = (self._frequencies, context.start, c.norm_eps, self._rope_scale)
        done = 0
        for window, members in self._kinds.items():
            own = projected[:, done : done + len(members)]
            context.kinds[window].append(self._finish(self.operations.kv_injection(own, self._key_norms[window], *rotation)))
            done += len(members)
        if context.span is None:
            context.position += rows

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        logits = self.draft(context, anchor, rows)
        if noise is not None:
            noise = noise[: rows - 1, : logits.shape[-1]] if self._proposable is None else noise[: rows - 1, self._proposable]
        return chooser.propose_path(logits, noise, self._proposable)

    def draft(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Return the logits [width - 1, V] of the positions after `anchor`, [1] uint32."""
        return self.logits(self.hidden(context, anchor, width))

    def logits(self, hidden: mx.array) -> mx.array:
        """Return the logits [rows, V or reduced vocabulary] of hidden states [rows, H]."""
        c = self.config
        if self._own_head is not None:
            logits = self._own_head(hidden, self._multiply)
        else:
            logits = self._head(hidden[None])[0]
            if self._proposable is not None:
                logits = logits[:, self._proposable]
            elif c.vocab_size is not None and logits.shape[-1] > c.vocab_size:
                logits = logits[:, : c.vocab_size]  # the target's head is padded
        if c.output_multiplier != 1.0:
            logits = logits * c.output_multiplier
        return mx.tanh(logits / c.softcap) * c.softcap if c.softcap else logits

    def hidden(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Return the final hidden states [width - 1, H] of the rows that propose tokens."""
        c = self.config
        width += c.first_row - 1  # of the drafter's block
        masks = mx.full((width - 1,), c.mask_token, dtype=anchor.dtype)
        x = self._embedded(mx.concatenate([anchor, masks])[None])
        if c.embedding_scale != 1.0:
            x = x * c.embedding_scale
        visible = {
            (window, causal): self._mask(context, window, causal, width)
            for window, causal in set(zip(c.windows, c.causal, strict=True))
        }
        for i, (window, causal) in enumerate(zip(c.windows, c.causal, strict=True)):
            held = context.kinds[window].layer(self._slot[i])
            read = c.first_row if i == c.layers - 1 else 0
            x = self._run_layer(i, x, LayerView(held, visible[window, causal], context.start, read))
        return mx.fast.rms_norm(x[0], self._final_norm, c.norm_eps)

    def _embedded(self, tokens: mx.array) -> mx.array:
        return self._embed(tokens) if self._own_table is None else self._own_table.rows(tokens)

    def _values(self, values: mx.array) -> mx.array:
        """Return values [.., D] as the layers attend to them."""
        return values

    def _finish(self, keys_values: mx.array) -> mx.array:
        """Return keys and values [2, L, H, S, D] for the context."""
        return keys_values

    def _run_layer(self, index: int, x: mx.array, view: LayerView) -> mx.array:
        """Run a layer on the block [1, w, H], and return its rows starting at `view.read`."""
        weights, eps = self._layers[index], self.config.norm_eps
        x = x[:, view.read :] + self._attention(weights, mx.fast.rms_norm(x, weights.input_norm, eps), view)
        return x + self._feed_forward(weights, mx.fast.rms_norm(x, weights.mlp_norm, eps))

    def _attention(self, weights: layer.Layer, x: mx.array, view: LayerView) -> mx.array:
        """Return the attention output [1, w - read, H] of the rows starting at `view.read`."""
        mask = None if view.mask is None else view.mask[view.read :]
        return self._attend(weights, x[:, view.read :], *self._project(weights, x, view), mask)

    def _project(self, weights: layer.Layer, x: mx.array, view: LayerView) -> tuple[mx.array, mx.array, mx.array]:
        """Return the queries of the rows starting at `view.read`, and the keys and values of context and block."""
        c, width = self.config, x.shape[1]
        qkv = weights.qkv(x, self._multiply)
        if weights.qkv_bias is not None:
            qkv = qkv + weights.qkv_bias
        heads = qkv.reshape(1, width, c.heads + 2 * c.kv_heads, c.head_dim)
        rotated = mx.fast.rms_norm(heads[:, :, : c.heads + c.kv_heads], None, c.norm_eps) * weights.head_norm
        if self._rope_scale != 1.0:
            rotated = rotated * self._rope_scale
        rotated, freqs = rotated.transpose(0, 2, 1, 3), self._frequencies
        rotated = mx.fast.rope(rotated, c.head_dim, traditional=False, base=None, scale=1.0, offset=view.start, freqs=freqs)
        queries, keys = rotated[:, : c.heads, view.read :], rotated[:, c.heads :]
        values = self._values(heads[:, :, c.heads + c.kv_heads :]).transpose(0, 2, 1, 3)
        if view.held is not None:
            keys, values = mx.concatenate([view.held[0], keys], axis=2), mx.concatenate([view.held[1], values], axis=2)
        return queries, keys, values

    def _attend(
        self, weights: layer.Layer, x: mx.array, queries: mx.array, keys: mx.array, values: mx.array, mask: mx.array | None
    ) -> mx.array:
        """Return the attention output [1, n, H] of the rows x [1, n, H]."""
        out = mx.fast.scaled_dot_product_attention(queries, keys, values, scale=self._scale, mask=mask, sinks=weights.sinks)
        out = out.transpose(0, 2, 1, 3)
        if weights.gate is not None:
            out = out * self._open(weights.gate(x), out)
        out = weights.output(out.reshape(*x.shape[:2], -1), self._multiply)
        return out if weights.output_bias is None else out + weights.output_bias

    def _open(self, gate: mx.array, out: mx.array) -> mx.array:
        """Return the factors of the heads' outputs [1, n, heads, D]."""
        return mx.logaddexp(gate.astype(mx.float32), 0.0).astype(out.dtype)[..., None]  # softplus

    def _feed_forward(self, weights: layer.Layer, x: mx.array) -> mx.array:
        multiply = self._multiply
        return weights.down(weights.gate_up(x, multiply, gated=True), multiply)

    @staticmethod
    def _mask(context: DraftContext, window: int | None, causal: bool, width: int) -> mx.array | None:
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
