"""The DFlash drafter: one pass fills a whole block of masks, conditioned on the target's hidden states.

The target's features enter as keys and values of every layer (`inject`); the block itself is an anchor token and masks, whose own
keys and values are not kept. Embedding table and head are the target's, unless the checkpoint brings its own. Source: arXiv
2602.06036 and z-lab's published checkpoints; for Laguna's, vLLM's reader of them.
"""

from collections.abc import Callable

import mlx.core as mx

from mlx_engine.drafters import layer
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Proposals
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.rope import frequencies
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.errors import UserError
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.pairs.drafter_config import DrafterConfig


class DFlashDrafter:
    """A DFlash v1 drafter, bound to a target's embedding and head.

    Args:
        config: from `parse`.
        weights: tensors by their published names; all are used, none may be left over. Taken over: the dict is empty afterwards.
        dtype: to compute in.
        embed: token ids [1, w] -> embeddings [1, w, H], with the target's own embedding scale.
        head: hidden states [1, w, H] -> logits [1, w, V].
        bits: what matrices stored in floating point are quantised to: 4, 8, or 16 for not at all.

    Raises:
        UserError: a tensor is missing, left over, of the wrong shape or holds numbers that are none.
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
        tensors = Tensors(weights, dtype, config.stored, bits)
        weights.clear()  # else the published form of every tensor would stay in memory until the last is taken
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
        """The final norm, and the table, the head and the choice of tokens that a checkpoint may bring."""
        c = self.config
        self._final_norm = tensors.take("norm.weight", c.hidden_size)
        self._own_table: Matrix | None = None
        self._own_head: Matrix | None = None
        self._proposable: mx.array | None = None
        if c.vocab_size is None:
            return
        if "embed_tokens.weight" in tensors:
            self._own_table = tensors.table("embed_tokens", c.vocab_size, c.hidden_size)
        if "lm_head.weight" in tensors:
            self._own_head = tensors.matrix("lm_head", c.draft_vocab_size or c.vocab_size, c.hidden_size)
        if c.draft_vocab_size is not None:
            self._proposable = _target_tokens(tensors.whole_numbers("d2t", c.draft_vocab_size), c.vocab_size)
        elif "d2t" in tensors:  # the whole vocabulary: it can only say that token i is token i
            tensors.whole_numbers("d2t", c.vocab_size)

    def _take_layers(self, tensors: Tensors) -> None:
        c = self.config
        self._layers: list[layer.Layer] = []
        injected = []
        for i in range(c.layers):
            weights, context = layer.take(tensors, c, i)
            tensors.settle(weights.arrays + context.keys_values.arrays)
            self._layers.append(weights)
            injected.append(context)
        # layers of one kind stand together, so that a round's projection splits into one block a kind
        self._kinds = {w: [i for i, window in enumerate(c.windows) if window == w] for w in dict.fromkeys(c.windows)}
        order = [injected[i] for members in self._kinds.values() for i in members]
        self._injection = order[0].keys_values.below(*(context.keys_values for context in order[1:]))
        biases = [context.bias for context in order if context.bias is not None]
        self._injection_bias = mx.concatenate(biases) if biases else None
        self._key_norms = {w: mx.stack([injected[i].key_norm for i in members]) for w, members in self._kinds.items()}
        self._slot = {i: slot for members in self._kinds.values() for slot, i in enumerate(members)}
        tensors.settle(self._injection.arrays)

    def parameters(self) -> list[mx.array]:
        """Every array that the drafter holds."""
        matrices = [part for part in (self._fuse, self._injection, self._own_table, self._own_head) if part is not None]
        vectors = [self._fuse_norm, self._final_norm, self._frequencies, self._tap_norms, self._injection_bias, self._proposable]
        own = [array for matrix in matrices for array in matrix.arrays] + [array for array in vectors if array is not None]
        return own + [*self._key_norms.values()] + [array for weights in self._layers for array in weights.arrays]

    @property
    def bits(self) -> int:
        """Bits of a weight of its largest matrices: 16 stands for floating point."""
        return self._layers[0].gate_up.bits

    def context(self) -> DraftContext:
        """A fresh, empty context."""
        return DraftContext(self.config.windows)

    def inject(self, context: DraftContext, features: mx.array) -> None:
        """Append features [S, taps * H] of the S positions from `context.position` on to the context."""
        c, rows = self.config, features.shape[0]
        if self._tap_norms is not None:
            taps = mx.fast.rms_norm(features.reshape(rows, len(c.taps), c.hidden_size), None, c.norm_eps) * self._tap_norms
            features = taps.reshape(rows, -1)
        fused = mx.fast.rms_norm(self._times(self._fuse, features), self._fuse_norm, c.norm_eps)
        if c.laguna:
            fused = mx.fast.rms_norm(fused, None, c.norm_eps)
        projected = self._times(self._injection, fused)
        if self._injection_bias is not None:
            projected = projected + self._injection_bias
        projected = projected.reshape(rows, c.layers, 2, c.kv_heads, c.head_dim)
        done = 0
        for window, members in self._kinds.items():
            context.kinds[window].append(
                self.operations.kv_injection(
                    projected[:, done : done + len(members)],
                    self._key_norms[window],
                    self._frequencies,
                    context.start,
                    c.norm_eps,
                    self._rope_scale,
                )
            )
            done += len(members)
        if context.span is None:
            context.position += rows

    def propose(self, context: DraftContext, anchor: mx.array, rows: int, chooser: Proposals, noise: mx.array | None) -> mx.array:
        """Proposals, uint32 [rows - 1], for the positions after the anchor; see `Drafter.propose`."""
        logits = self.draft(context, anchor, rows)
        if noise is not None:
            noise = noise[: rows - 1, : logits.shape[-1]] if self._proposable is None else noise[: rows - 1, self._proposable]
        chosen = chooser.propose(logits, noise)
        return chosen if self._proposable is None else self._proposable[chosen]

    def draft(self, context: DraftContext, anchor: mx.array, width: int) -> mx.array:
        """Logits [width - 1, V] for the positions after the anchor, a token id [1] that stands at `context.position`."""
        return self.logits(self.hidden(context, anchor, width))

    def logits(self, hidden: mx.array) -> mx.array:
        """Logits [rows, V] of final hidden states [rows, H]; with a reduced vocabulary, of the tokens that can be proposed."""
        c = self.config
        if self._own_head is not None:
            logits = self._times(self._own_head, hidden)
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
        """Final hidden states [width - 1, H] of the block's masks."""
        c = self.config
        masks = mx.full((width - 1,), c.mask_token, dtype=anchor.dtype)
        tokens = mx.concatenate([anchor, masks])[None]
        x = self._embed(tokens) if self._own_table is None else self._own_table.rows(tokens)
        if c.embedding_scale != 1.0:
            x = x * c.embedding_scale
        visible = {
            (window, causal): self._mask(context, window, causal, width)
            for window, causal in set(zip(c.windows, c.causal, strict=True))
        }
        for i in range(c.layers):
            held = context.kinds[c.windows[i]].layer(self._slot[i])
            read = 1 if i == c.layers - 1 else 0  # the last layer's first row, the anchor's, is read by nobody
            x = self._through(i, x, held, visible[c.windows[i], c.causal[i]], context.start, read)
        return mx.fast.rms_norm(x[0], self._final_norm, c.norm_eps)

    def _through(
        self,
        index: int,
        x: mx.array,
        held: tuple[mx.array, mx.array] | None,
        mask: mx.array | None,
        position: int | mx.array,
        read: int,
    ) -> mx.array:
        """One layer: the block's rows [1, w, H] -> those from `read` on, over the context's keys and values `held`."""
        weights, eps = self._layers[index], self.config.norm_eps
        x = x[:, read:] + self._attention(weights, mx.fast.rms_norm(x, weights.input_norm, eps), held, mask, position, read)
        return x + self._feed_forward(weights, mx.fast.rms_norm(x, weights.mlp_norm, eps))

    def _attention(
        self,
        weights: layer.Layer,
        x: mx.array,
        held: tuple[mx.array, mx.array] | None,
        mask: mx.array | None,
        position: int | mx.array,
        read: int,
    ) -> mx.array:
        """Attention of the block's rows from `read` on, [1, w - read, H], over the context and the whole block."""
        c, width = self.config, x.shape[1]
        qkv = self._times(weights.qkv, x)
        if weights.qkv_bias is not None:
            qkv = qkv + weights.qkv_bias
        heads = qkv.reshape(1, width, c.heads + 2 * c.kv_heads, c.head_dim)
        turning = mx.fast.rms_norm(heads[:, :, : c.heads + c.kv_heads], None, c.norm_eps) * weights.head_norm
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
        out = out.transpose(0, 2, 1, 3)
        if weights.gate is not None:
            gate = weights.gate(x[:, read:]).astype(mx.float32)
            out = out * mx.logaddexp(gate, 0.0).astype(out.dtype)[..., None]  # softplus
        out = self._times(weights.output, out.reshape(1, width - read, -1))
        return out if weights.output_bias is None else out + weights.output_bias

    def _feed_forward(self, weights: layer.Layer, x: mx.array) -> mx.array:
        multiply = self.operations.verify_matmul
        if multiply is not PLAIN.verify_matmul:
            return weights.down.through(multiply, weights.gate_up.through(multiply, x, gated=True))
        gate, up = mx.split(weights.gate_up(x), 2, axis=-1)
        return weights.down(gate * mx.sigmoid(gate) * up)

    def _times(self, matrix: Matrix, x: mx.array) -> mx.array:
        """A product, by a kernel where one is in use."""
        multiply = self.operations.verify_matmul
        return matrix(x) if multiply is PLAIN.verify_matmul else matrix.through(multiply, x)

    @staticmethod
    def _mask(context: DraftContext, window: int | None, causal: bool, width: int) -> mx.array | None:
        """Which keys (context, then block) each block row sees, [width, keys] bool; None when it sees all."""
        held, start, placed = context.kinds[window], context.start, context.span is not None
        if not placed and not causal and (window is None or held.rows + width <= window):
            return None  # the oldest key is still within the last row's window
        query = start + mx.arange(width)[:, None]
        key = mx.concatenate([held.first + mx.arange(held.rows), start + mx.arange(width)])[None]
        visible = mx.ones((width, held.rows + width), dtype=mx.bool_)
        if placed:  # rows of the context from its own position on are none yet
            visible = visible & ((key < start) | (mx.arange(held.rows + width) >= held.rows))
        if causal:
            visible = visible & (key <= query)
        if window is not None:
            visible = visible & (query - key < window)
        return visible


def _target_tokens(offsets: mx.array, vocabulary: int) -> mx.array:
    """The target's ids, uint32, of a reduced vocabulary: `d2t` [n] holds how far each lies above its own index.

    Raises:
        UserError: they are not distinct ids of the vocabulary.
    """
    ids = mx.arange(offsets.size) + offsets
    ordered = mx.sort(ids)
    outside = mx.any((ordered < 0) | (ordered >= vocabulary)).item()
    if outside or mx.any(ordered[1:] == ordered[:-1]).item():
        raise UserError(
            f"The drafter's “d2t” does not name {offsets.size:,} different tokens out of {vocabulary:,}. "
            "Download it again, or pick another drafter."
        )
    return ids.astype(mx.uint32)
