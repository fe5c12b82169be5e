"""A DFlash drafter as a differentiable function of its tensors, for many blocks in one pass.

Decoding runs one block over its context. Training runs the blocks of many anchors over one context, and each block sees only the
positions before its anchor.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.lora import LOW_RANK
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.rope import frequencies
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.models.configs.drafter_config import DrafterConfig

DECAY = 7.0  # positions after the anchor over which a token's weight falls by a factor of e
_HIDDEN = -1e9  # score of a key that a row doesn't see

Trained = dict[str, mx.array]  # by published name; an adapter's matrices have the suffixes of `LOW_RANK`


@dataclass(frozen=True)
class Batch:
    """Blocks of N sequences, padded to the same length S.

    Attributes:
        features: the target's, [N, S, taps * H].
        blocks: the anchor and the tokens after it, [N, A, block size] uint32.
        anchors: positions of the anchors, [N, A] int32.
        weights: weight of each token after the anchor, [N, A, block size - 1] float32; 0 past the end of a reply.
    """

    features: mx.array
    blocks: mx.array
    anchors: mx.array
    weights: mx.array


def matrices(config: DrafterConfig) -> dict[str, tuple[int, int]]:
    """Return the shapes of the matrices that can be trained, by published name without “.weight”."""
    c = config
    queries, keys = c.heads * c.head_dim, c.kv_heads * c.head_dim
    shapes = {"fc": (c.hidden_size, len(c.taps) * c.hidden_size)}
    for i in range(c.layers):
        attention, mlp = f"layers.{i}.self_attn.", f"layers.{i}.mlp."
        shapes |= {f"{attention}q_proj": (queries, c.hidden_size), f"{attention}o_proj": (c.hidden_size, queries)}
        shapes |= {f"{attention}{name}_proj": (keys, c.hidden_size) for name in ("k", "v")}
        shapes |= {f"{mlp}{name}_proj": (c.intermediate_size, c.hidden_size) for name in ("gate", "up")}
        shapes[f"{mlp}down_proj"] = c.hidden_size, c.intermediate_size
    return shapes


def vectors(config: DrafterConfig) -> dict[str, int]:
    """Return the sizes of all norms and biases, by published name."""
    c = config
    sizes = {"hidden_norm.weight": c.hidden_size, "norm.weight": c.hidden_size}
    for i in range(c.layers):
        at = f"layers.{i}."
        sizes |= {f"{at}{name}_layernorm.weight": c.hidden_size for name in ("input", "post_attention")}
        sizes |= {f"{at}self_attn.{name}_norm.weight": c.head_dim for name in ("q", "k")}
        if c.attention_bias:
            rows = {name: matrices(c)[f"{at}self_attn.{name}_proj"][0] for name in "qkvo"}
            sizes |= {f"{at}self_attn.{name}_proj.bias": size for name, size in rows.items()}
    return sizes


class BlockModel:
    """A DFlash or DFlash 2 drafter with a target's embedding and head.

    Args:
        config: the drafter's config.
        weights: its tensors by published name. The dict is emptied.
        dtype: dtype of all computations.
        embed: token ids [N, w] -> embeddings [N, w, H].
        head: hidden states [N, w, H] -> logits [N, w, V].
        bits: bits per weight of the frozen matrices; 16 for as stored.

    Raises:
        UserError: the drafter is of another kind, or a tensor is missing or unexpected.
    """

    def __init__(
        self,
        config: DrafterConfig,
        weights: Trained,
        dtype: mx.Dtype,
        embed: Callable[[mx.array], mx.array],
        head: Callable[[mx.array], mx.array],
        bits: int = 16,
    ) -> None:
        c = self.config = config
        if not c.tunable:
            raise UserError("drafter_not_tunable", "Only DFlash and DFlash 2 drafters can be tuned. Choose another drafter.")
        self.dtype, self._embed, self._head = dtype, embed, head
        self._frequencies, self._rope_scale = frequencies(c.rope, c.head_dim)
        tensors = Tensors(weights, dtype, c.stored, bits)
        weights.clear()
        self._vectors = {name: tensors.take(name, size) for name, size in vectors(c).items()}
        self._matrices = {name: tensors.matrix(name, *shape) for name, shape in matrices(c).items()}
        if c.convolution is not None:
            taps, groups = c.convolution.taps, c.hidden_size // c.convolution.group
            for at in (f"layers.{i}.{name}_conv." for i in range(c.layers) for name in ("attention", "mlp")):
                self._vectors[f"{at}base_kernel"] = tensors.take(f"{at}base_kernel", 2, taps, c.hidden_size)
                name = f"{at}kernel_projection"
                self._matrices[name] = tensors.matrix(name, 2 * taps * groups, c.hidden_size, quantize=False)
        if c.selector is not None and c.vocab_size is not None:
            at = "candidate_selector."
            self._predecessors, self._successors = (
                tensors.table(f"{at}{name}_codebook", c.vocab_size, c.selector.rank) for name in ("predecessor", "successor")
            )
            name = f"{at}hidden_projection"
            self._matrices[name] = tensors.matrix(name, c.selector.rank, c.hidden_size, quantize=False)
        tensors.finish()
        tensors.settle([array for matrix in self._matrices.values() for array in matrix.arrays])

    def loss(self, trained: Trained, batch: Batch) -> mx.array:
        """Return the weighted cross-entropy of the tokens after the anchors."""
        labels = batch.blocks[:, :, 1:].astype(mx.int32)
        logits = self.logits(trained, batch).astype(mx.float32)
        losses = mx.logsumexp(logits, axis=-1) - mx.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
        return (losses * batch.weights).sum() / mx.maximum(batch.weights.sum(), 1e-9)

    def logits(self, trained: Trained, batch: Batch) -> mx.array:
        """Return the logits [N, A, block size - 1, V] of the tokens after the anchors.

        DFlash 2's include the edges from the true tokens before them.
        """
        c = self.config
        hidden = self._hidden(trained, batch)[:, 1:]
        logits = self._head(hidden)
        if c.vocab_size is not None and logits.shape[-1] > c.vocab_size:
            logits = logits[..., : c.vocab_size]
        if c.output_multiplier != 1.0:
            logits = logits * c.output_multiplier
        if c.softcap:
            logits = mx.tanh(logits / c.softcap) * c.softcap
        if c.selector is not None:
            before = self._predecessors.rows(batch.blocks[:, :, :-1]).reshape(*hidden.shape[:2], -1)
            logits = logits + self._successors(before * self._linear(trained, "candidate_selector.hidden_projection", hidden))
        return logits.reshape(*batch.blocks.shape[:2], c.block_size - 1, -1)

    def _hidden(self, trained: Trained, batch: Batch) -> mx.array:
        """Return the final hidden states [N * A, block size, H]."""
        c, (count, anchors, width) = self.config, batch.blocks.shape
        masks = mx.full((count * anchors, width - 1), c.mask_token, dtype=batch.blocks.dtype)
        x = self._embed(mx.concatenate([batch.blocks[:, :, :1].reshape(-1, 1), masks], axis=1)) * c.embedding_scale
        features = batch.features.astype(self.dtype)
        fused = self._norm(trained, "hidden_norm", self._linear(trained, "fc", features))
        sees = {
            (window, causal): _visible(batch.anchors, features.shape[1], width, window, causal)
            for window, causal in set(zip(c.windows, c.causal, strict=True))
        }
        offsets = batch.anchors.reshape(-1)
        for i, sight in enumerate(zip(c.windows, c.causal, strict=True)):
            at = f"layers.{i}."
            h = self._norm(trained, f"{at}input_layernorm", x)
            x = x + self._convolved(f"{at}attention_conv.", h, self._attention(trained, at, fused, offsets, sees[sight]), trained)
            h = self._norm(trained, f"{at}post_attention_layernorm", x)
            x = x + self._convolved(f"{at}mlp_conv.", h, self._feed_forward(trained, f"{at}mlp."), trained)
        return self._norm(trained, "norm", x)

    def _convolved(self, at: str, x: mx.array, sublayer: Callable[[mx.array], mx.array], trained: Trained) -> mx.array:
        """Return a sublayer's output, between DFlash 2's two convolutions along the block."""
        c = self.config.convolution
        if c is None:
            return sublayer(x)
        count, width, hidden = x.shape
        base = self._vectors[f"{at}base_kernel"].reshape(2, c.taps, -1, c.group)
        kernels = self._linear(trained, f"{at}kernel_projection", x).reshape(count, width, 2, c.taps, hidden // c.group, 1) + base
        kernels = kernels.reshape(count, width, 2, c.taps, hidden)

        def convolve(side: int, x: mx.array) -> mx.array:
            out = kernels[:, :, side, 0] * x
            for tap in range(1, min(c.taps, width)):
                out = out + kernels[:, :, side, tap] * mx.pad(x[:, :-tap], [(0, 0), (tap, 0), (0, 0)])
            return out

        return convolve(1, sublayer(convolve(0, x)))

    def _attention(
        self, trained: Trained, at: str, context: mx.array, offsets: mx.array, sees: tuple[mx.array, mx.array]
    ) -> Callable[[mx.array], mx.array]:
        """Return the attention of a layer's blocks [N * A, w, H] to the context [N, S, H] and themselves."""
        c, (count, length, _) = self.config, context.shape
        groups, name = c.heads // c.kv_heads, f"{at}self_attn."

        def split(module: str, x: mx.array, norm: str = "", offset: mx.array | int = 0) -> mx.array:
            """Return a projection's heads, [N, heads, rows, D], normalized and rotated if `norm`."""
            heads = self._linear(trained, f"{name}{module}", x).reshape(*x.shape[:2], -1, c.head_dim)
            if not norm:
                return heads.transpose(0, 2, 1, 3)
            heads = (self._norm(trained, f"{name}{norm}", heads) * self._rope_scale).transpose(0, 2, 1, 3)
            return mx.fast.rope(heads, c.head_dim, traditional=False, base=None, scale=1.0, offset=offset, freqs=self._frequencies)

        def attend(x: mx.array) -> mx.array:
            width = x.shape[1]
            queries = split("q_proj", x, "q_norm", offsets) * c.head_dim**-0.5
            keys, values = split("k_proj", x, "k_norm", offsets), split("v_proj", x)
            held_keys, held_values = split("k_proj", context, "k_norm"), split("v_proj", context)
            own = queries.reshape(-1, c.kv_heads, groups * width, c.head_dim)  # [N * A, kv, g * w, D]
            far = own.reshape(count, -1, c.kv_heads, groups * width, c.head_dim).transpose(0, 2, 1, 3, 4)
            rows = (count, c.kv_heads, -1, groups, width)
            far = far.reshape(count, c.kv_heads, -1, c.head_dim) @ held_keys.swapaxes(-1, -2)
            near = (own @ keys.swapaxes(-1, -2)).reshape(count, -1, c.kv_heads, groups * width, width).swapaxes(1, 2)
            scores = mx.concatenate([far.reshape(*rows, length) + sees[0], near.reshape(*rows, width) + sees[1]], axis=-1)
            shares = mx.softmax(scores, axis=-1, precise=True)
            far, near = shares[..., :length], shares[..., length:]
            out = (far.reshape(count, c.kv_heads, -1, length) @ held_values).reshape(
                count, c.kv_heads, -1, groups * width, c.head_dim
            )
            near = near.reshape(count, c.kv_heads, -1, groups * width, width).swapaxes(1, 2)
            out = out.swapaxes(1, 2).reshape(-1, c.heads, width, c.head_dim)
            near = near.reshape(-1, c.kv_heads, groups * width, width) @ values
            out = (out + near.reshape(-1, c.heads, width, c.head_dim)).transpose(0, 2, 1, 3)
            return self._linear(trained, f"{name}o_proj", out.reshape(*x.shape[:2], -1))

        return attend

    def _feed_forward(self, trained: Trained, at: str) -> Callable[[mx.array], mx.array]:
        def feed(x: mx.array) -> mx.array:
            gate = self._linear(trained, f"{at}gate_proj", x)
            return self._linear(trained, f"{at}down_proj", gate * mx.sigmoid(gate) * self._linear(trained, f"{at}up_proj", x))

        return feed

    def _linear(self, trained: Trained, name: str, x: mx.array) -> mx.array:
        weight = trained.get(f"{name}.weight")
        y = (self._matrices[name] if weight is None else Matrix(weight.astype(x.dtype)))(x)
        a, b = (trained.get(name + suffix) for suffix in LOW_RANK)
        if a is not None and b is not None:
            y = y + (x @ a.astype(x.dtype).T) @ b.astype(x.dtype).T
        bias = trained.get(f"{name}.bias", self._vectors.get(f"{name}.bias"))
        return y if bias is None else y + bias.astype(x.dtype)

    def _norm(self, trained: Trained, name: str, x: mx.array) -> mx.array:
        weight = trained.get(f"{name}.weight", self._vectors[f"{name}.weight"])
        return mx.fast.rms_norm(x, weight.astype(x.dtype), self.config.norm_eps)


def _visible(anchors: mx.array, length: int, width: int, window: int | None, causal: bool) -> tuple[mx.array, mx.array]:
    """Return what to add to the scores of context keys, [N, 1, A, 1, w, S], and of the block's own keys, [w, w]."""
    row, key, own = mx.arange(width)[:, None], mx.arange(length), mx.arange(width)
    start = anchors[:, None, :, None, None, None]
    far, near = key < start, mx.ones((width, width), dtype=mx.bool_)
    if causal:
        near = near & (own <= row)
    if window is not None:
        far, near = far & (start + row - key < window), near & (row - own < window)
    return mx.where(far, 0.0, _HIDDEN), mx.where(near, 0.0, _HIDDEN)
