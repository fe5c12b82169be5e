"""The MTP head of Qwen3.5, 3.6, 3.8, and Next: one layer that proposes a chain of tokens.

An entry combines a token's embedding with the target's final hidden state at the position before it. The layer's output takes the
place of that state in the next entry. The context keeps the keys and values of entries with the target's own states. Entries of
drafts are dropped after each round.

Sources: the checkpoints' `mtp.*` tensors and the implementations in vLLM and mlx-vlm.
"""

from collections.abc import Callable

import mlx.core as mx

from mlx_engine.drafters import layer
from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.dflash import DFlashDrafter, LayerView
from mlx_engine.drafters.drafter import ProposalChooser
from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.models.configs.drafter_config import DrafterConfig, Experts

_LAYER, _MLP = "layers.0.", "layers.0.mlp."


class MtpDrafter(DFlashDrafter):
    """An MTP head, with the arguments and errors of `DFlashDrafter`.

    If the weights are those of a whole model, only its `mtp.*` tensors are used.
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
        native = {name.removeprefix("mtp."): array for name, array in weights.items() if name.startswith("mtp.")}
        self._added = 1.0 if native else 0.0  # to norms, which are published as differences from 1
        own = {_module(name): _flat(array) for name, array in (native or weights).items()}
        weights.clear()
        super().__init__(config, own, dtype, embed, head, bits)

    def _take_context(self, tensors: Tensors) -> None:
        hidden = self.config.hidden_size
        self._fuse = tensors.matrix("fc", hidden, 2 * hidden)
        self._pair_norms = [self._norm(tensors, f"pre_fc_norm_{name}", hidden) for name in ("embedding", "hidden")]
        self._fuse_norm = self._norm(tensors, _LAYER + "input_layernorm", hidden)
        self._tap_norms = None

    def _norm(self, tensors: Tensors, module: str, size: int) -> mx.array:
        return tensors.take(f"{module}.weight", size) + self._added

    def _take_ends(self, tensors: Tensors) -> None:
        super()._take_ends(tensors)
        self._final_norm = self._final_norm + self._added

    def _take_layer(self, tensors: Tensors, index: int) -> tuple[layer.Layer, layer.Injected]:
        c, attention = self.config, _LAYER + "self_attn."
        hidden, size, queries, keys = c.hidden_size, c.head_dim, c.heads * c.head_dim, c.kv_heads * c.head_dim
        # Pairs rotate across halves of the whole head, as the other drafters' do
        order = _order(size, int(c.rope.share * size) // 2)
        both = mx.arange(2 * queries).reshape(c.heads, 2, size)  # each head's query and gate
        q = tensors.matrix(attention + "q_proj", 2 * queries, hidden)
        k, v = (tensors.matrix(f"{attention}{name}_proj", keys, hidden) for name in ("k", "v"))
        keys_values = k.part(mx.arange(keys).reshape(-1, size)[:, order].reshape(-1)).concatenated(v)
        q_norm, k_norm = (self._norm(tensors, f"{attention}{name}_norm", size)[order] for name in ("q", "k"))
        mlp = _MLP + "shared_expert." if c.experts else _MLP
        gate, up = (tensors.matrix(f"{mlp}{name}_proj", c.intermediate_size, hidden) for name in ("gate", "up"))
        weights = layer.Layer(
            input_norm=self._fuse_norm,
            qkv=q.part(both[:, 0][:, order].reshape(-1)).concatenated(keys_values),
            qkv_bias=None,
            head_norm=mx.concatenate([mx.repeat(q_norm[None], c.heads, 0), mx.repeat(k_norm[None], c.kv_heads, 0)]),
            gate=q.part(both[:, 1].reshape(-1)),
            output=tensors.matrix(attention + "o_proj", hidden, queries),
            output_bias=None,
            mlp_norm=self._norm(tensors, _LAYER + "post_attention_layernorm", hidden),
            gate_up=gate.concatenated(up),
            down=tensors.matrix(mlp + "down_proj", hidden, c.intermediate_size),
        )
        self._experts = _RoutedExperts(tensors, c.experts, hidden) if c.experts else None
        return weights, layer.Injected(keys_values, None, k_norm)

    def parameters(self) -> list[mx.array]:
        return [*super().parameters(), *self._pair_norms, *(self._experts.arrays if self._experts else ())]

    def context(self) -> DraftContext:
        return DraftContext(self.config.windows, self.config.block_size)

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array | None = None) -> None:
        assert tokens is not None
        super().inject(context, self._entries(tokens, context.pair(features)))

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        c = self.config
        state = context.before(c.hidden_size).astype(self.dtype)
        held = context.kinds[None].layer(0)
        keys_values = None if held is None else (held[0][:, :, 1:], held[1][:, :, 1:])  # position 0 has no entry
        filled = 0 if held is None else held[0].shape[2] - 1
        visible = self._mask(context, None, False, rows - 1)

        def logits(row: int, before: mx.array) -> mx.array:
            nonlocal state, keys_values
            weights, mask = self._layers[0], None if visible is None else visible[row : row + 1, 1 : filled + row + 2]
            x = self._fuse(self._entries(before, state), self._multiply)[None]
            normed = mx.fast.rms_norm(x, weights.input_norm, c.norm_eps)
            queries, keys, values = self._project(weights, normed, LayerView(keys_values, None, context.start + row, 0))
            keys_values = keys, values
            x = x + self._attend(weights, normed, queries, keys, values, mask)
            x = x + self._feed_forward(weights, mx.fast.rms_norm(x, weights.mlp_norm, c.norm_eps))
            state = mx.fast.rms_norm(x[0], self._final_norm, c.norm_eps)
            return self.logits(state)

        return chooser.propose_chain(anchor, rows - 1, logits, None if noise is None else noise[:, : c.vocab_size])

    def _entries(self, tokens: mx.array, states: mx.array) -> mx.array:
        """Return tokens [S] joined with the states [S, H] before them, [S, 2 * H]."""
        embedded = self._embed(tokens[None])[0]
        pairs = zip((embedded, states), self._pair_norms, strict=True)
        return mx.concatenate([mx.fast.rms_norm(x, weight, self.config.norm_eps) for x, weight in pairs], axis=-1)

    def _open(self, gate: mx.array, out: mx.array) -> mx.array:
        return mx.sigmoid(gate).reshape(out.shape)

    def _feed_forward(self, weights: layer.Layer, x: mx.array) -> mx.array:
        out = super()._feed_forward(weights, x)
        return out if self._experts is None else self._experts(x, out)


class _RoutedExperts:
    """A layer of experts: a few chosen for each row, and one shared by all rows."""

    def __init__(self, tensors: Tensors, config: Experts, hidden: int) -> None:
        c = self._config = config
        self._router = tensors.matrix(_MLP + "gate", c.count, hidden, quantize=False)
        self._shared_gate = tensors.matrix(_MLP + "shared_expert_gate", 1, hidden, quantize=False)
        experts, switch = _MLP + "experts.", _MLP + "switch_mlp."
        sizes = {"gate_proj": (c.size, hidden), "up_proj": (c.size, hidden), "down_proj": (hidden, c.size)}
        if f"{experts}gate_up_proj.weight" in tensors:
            both = tensors.matrix(experts + "gate_up_proj", c.count * 2 * c.size, hidden)
            rows = mx.arange(c.count * 2 * c.size).reshape(c.count, 2, c.size)
            matrices = [both.part(rows[:, side].reshape(-1)) for side in (0, 1)]
            matrices.append(tensors.matrix(experts + "down_proj", c.count * hidden, c.size))
        elif f"{experts}0.gate_proj.weight" in tensors:
            each = [[tensors.matrix(f"{experts}{i}.{name}", *size) for i in range(c.count)] for name, size in sizes.items()]
            matrices = [first.concatenated(*others) for first, *others in each]
        else:
            matrices = [tensors.matrix(switch + name, c.count * rows, columns) for name, (rows, columns) in sizes.items()]
        self._gate, self._up, self._down = matrices
        tensors.settle(self.arrays)

    @property
    def arrays(self) -> list[mx.array]:
        matrices = (self._router, self._shared_gate, self._gate, self._up, self._down)
        return [array for matrix in matrices for array in matrix.arrays]

    def __call__(self, x: mx.array, shared: mx.array) -> mx.array:
        """Return the weighted sum of the experts' outputs [1, n, H], given that of the shared one."""
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


def _order(size: int, turning: int) -> mx.array:
    """Return the order of a head's columns in which each pair is half a head apart.

    Published heads rotate only the first 2 * turning columns, as pairs `turning` columns apart.
    """
    still = mx.arange(2 * turning, size)
    middle = size // 2 - turning
    return mx.concatenate([mx.arange(turning), still[:middle], mx.arange(turning, 2 * turning), still[middle:]])


def _module(name: str) -> str:
    return f"{name}.weight" if name.endswith(("experts.gate_up_proj", "experts.down_proj")) else name


def _flat(array: mx.array) -> mx.array:
    """Return the stacked matrices of experts as one matrix."""
    return array.reshape(-1, array.shape[-1]) if array.ndim == 3 else array
