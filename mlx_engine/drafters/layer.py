"""The weights of one drafter layer, with fused projections."""

from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.matrix import Matrix
from mlx_engine.drafters.tensors import Tensors
from mlx_engine.models.configs.drafter_config import DrafterConfig


@dataclass(frozen=True)
class Layer:
    """Weights applied to the block's rows. `qkv` stacks query, key, and value heads."""

    input_norm: mx.array
    qkv: Matrix
    qkv_bias: mx.array | None
    head_norm: mx.array  # [heads + kv_heads, D]: RMSNorm weight of each query and key head
    gate: Matrix | None  # scales each head's output: [heads, H], Laguna; [heads * D, H], MTP
    output: Matrix
    output_bias: mx.array | None
    mlp_norm: mx.array
    gate_up: Matrix
    down: Matrix
    after: mx.array | None = None  # [2, H], Gemma: RMSNorm weights of the outputs of attention and MLP
    scale: mx.array | None = None  # [1], Gemma: factor of the layer's output
    sinks: mx.array | None = None  # [heads], DSpark: logit of each head's attention sink

    @property
    def arrays(self) -> list[mx.array]:
        parts = [part for part in vars(self).values() if part is not None]
        return [array for part in parts for array in (part.arrays if isinstance(part, Matrix) else [part])]


@dataclass(frozen=True)
class Injected:
    """Weights that turn fused features into a layer's keys and values."""

    keys_values: Matrix
    bias: mx.array | None
    key_norm: mx.array  # [D]


def take(tensors: Tensors, config: DrafterConfig, index: int) -> tuple[Layer, Injected]:
    """Take one layer's weights.

    Raises:
        UserError: a tensor is missing or of the wrong shape.
    """
    c, at = config, f"layers.{index}."
    attention, mlp = at + "self_attn.", at + "mlp."
    hidden, queries, keys = c.hidden_size, c.heads * c.head_dim, c.kv_heads * c.head_dim
    gemma = c.dspark is not None and c.dspark.gemma
    if f"{attention}qkv_proj.weight" in tensors:
        qkv = tensors.matrix(attention + "qkv_proj", queries + 2 * keys, hidden)
    elif gemma and f"{attention}v_proj.weight" not in tensors:  # keys are values
        q, k = tensors.matrix(f"{attention}q_proj", queries, hidden), tensors.matrix(f"{attention}k_proj", keys, hidden)
        qkv = q.concatenated(k, k)
    else:
        rows_by_name = {"q": queries, "k": keys, "v": keys}
        q, k, v = (tensors.matrix(f"{attention}{name}_proj", rows, hidden) for name, rows in rows_by_name.items())
        qkv = q.concatenated(k, v)
    sizes = (("q", queries), ("k", keys), ("v", keys), ("o", hidden)) if c.attention_bias else ()
    bias = [tensors.take(f"{attention}{name}_proj.bias", size) for name, size in sizes]
    qkv_bias = mx.concatenate(bias[:3]) if bias else None
    q_norm, k_norm = (tensors.take(f"{attention}{name}_norm.weight", c.head_dim) for name in ("q", "k"))
    if c.dspark is not None and c.dspark.neighbors:  # here, pairs are half a head apart
        order = mx.arange(c.head_dim).reshape(-1, 2).T.reshape(-1)
        q_norm, k_norm, rows = q_norm[order], k_norm[order], mx.arange(queries + 2 * keys).reshape(-1, c.head_dim)
        rows = mx.concatenate([rows[: c.heads + c.kv_heads, order], rows[c.heads + c.kv_heads :]]).reshape(-1)
        qkv, qkv_bias = qkv.part(rows), None if qkv_bias is None else qkv_bias[rows]
    after = ("post_attention_layernorm", "post_feedforward_layernorm") if gemma else ()
    norms = [tensors.take(f"{at}{name}.weight", hidden) for name in after]
    gate, up = (tensors.matrix(f"{mlp}{name}_proj", c.intermediate_size, hidden) for name in ("gate", "up"))
    layer = Layer(
        input_norm=tensors.take(at + "input_layernorm.weight", hidden),
        qkv=qkv,
        qkv_bias=qkv_bias,
        head_norm=mx.concatenate([mx.repeat(q_norm[None], c.heads, 0), mx.repeat(k_norm[None], c.kv_heads, 0)]),
        gate=tensors.matrix(attention + "g_proj", c.heads, hidden) if c.laguna else None,
        output=tensors.matrix(attention + "o_proj", hidden, queries),
        output_bias=bias[3] if bias else None,
        mlp_norm=tensors.take(f"{at}{'pre_feedforward' if gemma else 'post_attention'}_layernorm.weight", hidden),
        gate_up=gate.concatenated(up),
        down=tensors.matrix(mlp + "down_proj", hidden, c.intermediate_size),
        after=mx.stack(norms) if norms else None,
        scale=tensors.take(at + "layer_scalar", 1) if gemma else None,
        sinks=tensors.take(attention + "attention_sink_bias", c.heads) if c.dspark is not None and c.dspark.sinks else None,
    )
    keys_values = qkv.part(slice(queries, queries + 2 * keys))
    if c.laguna:  # features also pass each layer's input norm: fold its weights into the matrix
        keys_values = Matrix(keys_values.floating().weight * layer.input_norm).quantized(keys_values.bits)
    return layer, Injected(keys_values, None if qkv_bias is None else qkv_bias[queries:], k_norm)
