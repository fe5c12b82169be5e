"""The published tensors of MTP heads."""

import mlx.core as mx

from mlx_engine.drafters.mtp.config import Experts, MtpConfig
from mlx_engine.drafters.parts.injection import Injected
from mlx_engine.drafters.parts.layer import AttentionHeads, Layer, sigmoid
from mlx_engine.drafters.parts.matrix import Matrix, arrays_of
from mlx_engine.drafters.parts.tensors import Tensors

LAYER, MLP = "layers.0.", "layers.0.mlp."


def renamed(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    """Return the tensors `mtp.*` without their prefix in a whole model."""
    native = {name.removeprefix("mtp."): array for name, array in weights.items() if name.startswith("mtp.")}
    # In a whole model's files, norms are published as differences from 1
    added = {name: _plus_one(array) for name, array in native.items() if name.endswith("norm.weight") or "_norm_" in name}
    return {_module(name): _flat(array) for name, array in (native | added or weights).items()}


def _plus_one(array: mx.array) -> mx.array:
    return array.astype(mx.float32) + 1.0 if mx.issubdtype(array.dtype, mx.floating) else array


def _module(name: str) -> str:
    return f"{name}.weight" if name.endswith(("experts.gate_up_proj", "experts.down_proj")) else name


def _flat(array: mx.array) -> mx.array:
    """Return the stacked matrices of experts as one matrix."""
    return array.reshape(-1, array.shape[-1]) if array.ndim == 3 else array


def take_layer(tensors: Tensors, config: MtpConfig, heads: AttentionHeads, input_norm: mx.array) -> tuple[Layer, Injected]:
    """Take the weights of the layer."""
    c, attention = config, LAYER + "self_attn."
    hidden, size, queries, keys = c.hidden_size, c.head_dim, c.heads * c.head_dim, c.kv_heads * c.head_dim
    # Pairs rotate across halves of the whole head, as the other drafters' do
    order = _order(size, int(c.rope.share * size) // 2)
    both = mx.arange(2 * queries).reshape(c.heads, 2, size)  # each head's query and gate
    q = tensors.matrix(attention + "q_proj", 2 * queries, hidden)
    k, v = (tensors.matrix(f"{attention}{name}_proj", keys, hidden) for name in ("k", "v"))
    keys_values = k.part(mx.arange(keys).reshape(-1, size)[:, order].reshape(-1)).concatenated(v)
    q_norm, k_norm = (tensors.take(f"{attention}{name}_norm.weight", size)[order] for name in ("q", "k"))
    mlp = MLP + "shared_expert." if c.experts else MLP
    gate, up = (tensors.matrix(f"{mlp}{name}_proj", c.intermediate_size, hidden) for name in ("gate", "up"))
    weights = Layer(
        heads=heads,
        input_norm=input_norm,
        qkv=q.part(both[:, 0][:, order].reshape(-1)).concatenated(keys_values),
        qkv_bias=None,
        head_norm=mx.concatenate([mx.repeat(q_norm[None], c.heads, 0), mx.repeat(k_norm[None], c.kv_heads, 0)]),
        gate=q.part(both[:, 1].reshape(-1)),
        opened=sigmoid,
        output=tensors.matrix(attention + "o_proj", hidden, queries),
        output_bias=None,
        mlp_norm=tensors.take(LAYER + "post_attention_layernorm.weight", hidden),
        gate_up=gate.concatenated(up),
        down=tensors.matrix(mlp + "down_proj", hidden, c.intermediate_size),
    )
    tensors.settle(arrays_of(weights, keys_values))
    return weights, Injected(keys_values, None, k_norm)


def take_experts(tensors: Tensors, experts: Experts, hidden: int) -> list[Matrix]:
    """Take all experts' stacked gate, up, and down matrices, in any layout."""
    c, separate, switch = experts, MLP + "experts.", MLP + "switch_mlp."
    sizes = {"gate_proj": (c.size, hidden), "up_proj": (c.size, hidden), "down_proj": (hidden, c.size)}
    if f"{separate}gate_up_proj.weight" in tensors:
        both = tensors.matrix(separate + "gate_up_proj", c.count * 2 * c.size, hidden)
        rows = mx.arange(c.count * 2 * c.size).reshape(c.count, 2, c.size)
        gate, up = (both.part(rows[:, side].reshape(-1)) for side in (0, 1))
        return [gate, up, tensors.matrix(separate + "down_proj", c.count * hidden, c.size)]
    if f"{separate}0.gate_proj.weight" in tensors:
        each = [[tensors.matrix(f"{separate}{i}.{name}", *size) for i in range(c.count)] for name, size in sizes.items()]
        return [first.concatenated(*others) for first, *others in each]
    return [tensors.matrix(switch + name, c.count * rows, columns) for name, (rows, columns) in sizes.items()]


def _order(size: int, turning: int) -> mx.array:
    """Return the order of a head's columns in which each pair is half a head apart.

    Published heads rotate only the first 2 * turning columns, as pairs `turning` columns apart.
    """
    still = mx.arange(2 * turning, size)
    middle = size // 2 - turning
    return mx.concatenate([mx.arange(turning), still[:middle], mx.arange(turning, 2 * turning), still[middle:]])
