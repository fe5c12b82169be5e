"""What a target's layers cache for a text, derived from its config.json: keys and values, windows of them, recurrent states.

Mirrors the caches that mlx-lm's models create; a test compares the two, family by family.
"""

from dataclasses import dataclass

from mlx_engine.errors import UserError
from mlx_engine.families import Family, family_of
from mlx_engine.limits import PREFILL_ROWS
from mlx_engine.pairs.compatibility import MOST_LAYERS, target_problem, text_config

STEP = 256  # rows by which a cache grows
_OTHER = Family("", ())


@dataclass(frozen=True)
class LayerState:
    """The cache of one layer: either growing or a window (`row` > 0), or recurrent."""

    row: int = 0  # numbers per token
    window: int | None = None  # tokens; None: all
    recurrent: int = 0  # numbers of a fixed-size state, 4 bytes each
    convolution: int = 0  # numbers of its short convolution's state

    def rows(self, context: int) -> int:
        """Tokens held out of `context`. A window still holds the rows of the pass that filled it."""
        if self.window is None:
            return -(-context // STEP) * STEP
        return min(context, self.window - 1 + min(context, PREFILL_ROWS))

    def bytes(self, context: int, element: int) -> int:
        """Bytes at a context of `context` tokens, with `element` bytes per number."""
        if not self.row:
            return 4 * self.recurrent + element * self.convolution
        return self.row * self.rows(context) * element


def text_family(config: dict) -> Family:
    """Return the family of a target's text model; a family without special properties if it is unknown."""
    return family_of(text_config(config)) or family_of(config) or _OTHER


def layer_states(config: dict) -> list[LayerState] | None:
    """Return what each layer of a target caches, or None if its config doesn't say enough."""
    text = text_config(config)
    layers, hidden, heads = (whole(text, name) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    if not (layers and hidden and heads):
        return None
    if layers > MOST_LAYERS and (problem := target_problem(config)):
        raise UserError.of(problem)
    kinds = _layer_kinds(config, text, layers)
    if text_family(config).global_heads:
        kinds = kinds[: layers - (whole(text, "num_kv_shared_layers") or 0)]
    states = [_layer_state(kind, config, text, heads, whole(text, "head_dim") or hidden // heads) for kind in kinds]
    return None if any(state is None for state in states) else [state for state in states if state is not None]


def _layer_kinds(config: dict, text: dict, layers: int) -> list[str]:
    listed, family = text.get("layer_types"), text_family(config)
    every, other = family.full_every, "sliding_attention"
    if family.recurrent:
        every, other = whole(text, "full_attention_interval") or 4, "linear_attention"
    elif isinstance(listed, list) and len(listed) >= layers:
        return [str(kind) for kind in listed[:layers]]
    elif every:
        every = whole(text, "sliding_window_pattern") or every
    return ["full_attention" if not every or (number + 1) % every == 0 else other for number in range(layers)]


def _layer_state(kind: str, config: dict, text: dict, heads: int, size: int) -> LayerState | None:
    if kind == "linear_attention":
        names = ("num_value_heads", "num_key_heads", "key_head_dim", "value_head_dim", "conv_kernel_dim")
        values, keys, key, value, kernel = (whole(text, f"linear_{name}") for name in names)
        if not (values and keys and key and value and kernel):
            return None
        return LayerState(recurrent=values * key * value, convolution=(kernel - 1) * (2 * keys * key + values * value))
    if latent := whole(text, "kv_lora_rank"):
        rotary, indexed = whole(text, "qk_rope_head_dim"), whole(text, "index_head_dim")
        # mlx-lm's indexer caches unused values, as many as keys, while it reads a prompt
        return LayerState(row=latent + (rotary or 0) + 2 * (indexed or 0)) if rotary else None
    kv, family = whole(text, "num_key_value_heads") or heads, text_family(config)
    if kind == "sliding_attention":
        return LayerState(row=2 * kv * size, window=whole(text, "sliding_window") or family.window)
    if family.global_heads:
        kv = (whole(text, "num_global_key_value_heads") if text.get("attention_k_eq_v") else None) or kv
        size = whole(text, "global_head_dim") or 512
    return LayerState(row=2 * kv * size)


def whole(config: dict, name: str) -> int | None:
    """Return a field of a config if it is a usable positive integer."""
    value = config.get(name)
    return value if type(value) is int and 0 < value < 2**40 else None
