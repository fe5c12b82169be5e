"""The published tensors of layers that fill a block."""

from collections.abc import Callable

import mlx.core as mx

from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.injection import Injected
from mlx_engine.drafters.parts.layer import AttentionHeads, Layer
from mlx_engine.drafters.parts.matrix import Matrix, arrays_of
from mlx_engine.drafters.parts.rope import Rotation
from mlx_engine.drafters.parts.tensors import Tensors


def matrices(config: BlockConfig) -> dict[str, tuple[int, int]]:
    """Return the shapes of the matrices, by published name without “.weight”."""
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


def vectors(config: BlockConfig) -> dict[str, int]:
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


def heads_of(config: BlockConfig, scale: float | None = None) -> AttentionHeads:
    """Return the attention's sizes. The scale is the root of the heads' size."""
    c, rotation = config, Rotation.of(config.rope, config.head_dim)
    return AttentionHeads(c.heads, c.kv_heads, c.head_dim, c.norm_eps, c.head_dim**-0.5 if scale is None else scale, rotation)


def take_layers(
    tensors: Tensors, config: BlockConfig, take: Callable[[int], tuple[Layer, Injected]]
) -> tuple[list[Layer], list[Injected]]:
    """Take all layers, one after the other, so that published tensors are freed early."""
    taken = []
    for i in range(config.layers):
        layer, injected = take(i)
        tensors.settle(arrays_of(layer, injected))
        taken.append((layer, injected))
    layers, contexts = zip(*taken, strict=True)
    return [*layers], [*contexts]


def take_layer(
    tensors: Tensors,
    config: BlockConfig,
    heads: AttentionHeads,
    index: int,
    *,
    gemma: bool = False,
    neighbors: bool = False,
    sinks: bool = False,
    gated: bool = False,
) -> tuple[Layer, Injected]:
    """Take one layer's weights.

    Args:
        tensors: the drafter's tensors.
        config: the drafter's config.
        heads: the sizes of its attention.
        index: of the layer.
        gemma: whether the layer has Gemma's norms, and keys may be values.
        neighbors: whether RoPE rotates pairs of neighboring columns.
        sinks: whether attention has one sink per head.
        gated: whether a gate scales each head's output.

    Raises:
        UserError: a tensor is missing or of the wrong shape.
    """
    c, at, shapes = config, f"layers.{index}.", matrices(config)
    attention, mlp = at + "self_attn.", at + "mlp."
    hidden, queries, keys = c.hidden_size, c.heads * c.head_dim, c.kv_heads * c.head_dim

    def matrix(module: str) -> Matrix:
        return tensors.matrix(module, *shapes[module])

    if f"{attention}qkv_proj.weight" in tensors:
        fused = tensors.matrix(attention + "qkv_proj", queries + 2 * keys, hidden)
        edges = (0, queries, queries + keys, queries + 2 * keys)
        q, k, v = (fused.part(slice(*edges[i : i + 2])) for i in range(3))
    else:
        q, k = matrix(attention + "q_proj"), matrix(attention + "k_proj")
        keys_are_values = gemma and f"{attention}v_proj.weight" not in tensors
        v = k if keys_are_values else matrix(attention + "v_proj")
    names = "qkvo" if c.attention_bias else ""
    biases = {name: tensors.take(f"{attention}{name}_proj.bias", shapes[f"{attention}{name}_proj"][0]) for name in names}
    q_norm, k_norm = (tensors.take(f"{attention}{name}_norm.weight", c.head_dim) for name in ("q", "k"))
    if neighbors:  # here, pairs are half a head apart
        order = mx.arange(c.head_dim).reshape(-1, 2).T.reshape(-1)
        q_norm, k_norm = q_norm[order], k_norm[order]
        rows = {"q": mx.arange(queries), "k": mx.arange(keys)}
        rows = {name: each.reshape(-1, c.head_dim)[:, order].reshape(-1) for name, each in rows.items()}
        q, k = q.part(rows["q"]), k.part(rows["k"])
        biases |= {name: biases[name][rows[name]] for name in rows if name in biases}
    after = ("post_attention_layernorm", "post_feedforward_layernorm") if gemma else ()
    norms = [tensors.take(f"{at}{name}.weight", hidden) for name in after]
    layer = Layer(
        heads=heads,
        input_norm=tensors.take(at + "input_layernorm.weight", hidden),
        qkv=q.concatenated(k, v),
        qkv_bias=mx.concatenate([biases[name] for name in "qkv"]) if biases else None,
        head_norm=mx.concatenate([mx.repeat(q_norm[None], c.heads, 0), mx.repeat(k_norm[None], c.kv_heads, 0)]),
        gate=tensors.matrix(attention + "g_proj", c.heads, hidden) if gated else None,
        output=matrix(attention + "o_proj"),
        output_bias=biases.get("o"),
        mlp_norm=tensors.take(f"{at}{'pre_feedforward' if gemma else 'post_attention'}_layernorm.weight", hidden),
        gate_up=matrix(mlp + "gate_proj").concatenated(matrix(mlp + "up_proj")),
        down=matrix(mlp + "down_proj"),
        after=mx.stack(norms) if norms else None,
        factor=tensors.take(at + "layer_scalar", 1) if gemma else None,
        sinks=tensors.take(attention + "attention_sink_bias", c.heads) if sinks else None,
    )
    return layer, Injected(k.concatenated(v), mx.concatenate([biases["k"], biases["v"]]) if biases else None, k_norm)
