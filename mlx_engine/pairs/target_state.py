"""What a target's layers keep of a text, from its config.json alone: keys and values, windows of them, recurrent states.

Follows what mlx-lm's models put into their caches; a test holds it against them, family by family.
"""

from dataclasses import dataclass

from mlx_engine.errors import UserError
from mlx_engine.families import family_of
from mlx_engine.limits import PREFILL_ROWS
from mlx_engine.pairs.compatibility import MOST_LAYERS, text_config, why_not_target

STEP = 256  # rows by which a cache grows


@dataclass(frozen=True)
class LayerState:
    """One layer's. `row` counts the numbers kept of a token, `window` the tokens that they are kept of, None standing for all.

    `recurrent` counts the numbers of a state that does not grow, which is in 4 bytes each, and `convolution` those of its short
    convolution.
    """

    row: int = 0
    window: int | None = None
    recurrent: int = 0
    convolution: int = 0

    def rows(self, context: int) -> int:
        """Tokens that are held of so many: a window still holds what came with the pass that filled it."""
        if self.window is None:
            return -(-context // STEP) * STEP
        return min(context, self.window - 1 + min(context, PREFILL_ROWS))

    def bytes(self, context: int, element: int) -> int:
        """Bytes at a context of so many tokens, `element` of them a number."""
        if not self.row:
            return 4 * self.recurrent + element * self.convolution
        return self.row * self.rows(context) * element


def layer_states(config: dict) -> list[LayerState] | None:
    """What each layer of a target keeps; None where its config does not say enough.

    Raises:
        UserError: it speaks of more layers than any target has.
    """
    text = text_config(config)
    layers, hidden = whole(text, "num_hidden_layers"), whole(text, "hidden_size")
    heads = whole(text, "num_attention_heads")
    if not (layers and hidden and heads):
        return None
    if layers > MOST_LAYERS:
        raise UserError(why_not_target(config))
    kinds = _kinds(config, text, layers)
    if str(text.get("model_type")).startswith("gemma4"):
        kinds = kinds[: layers - (whole(text, "num_kv_shared_layers") or 0)]
    states = [_state(kind, config, text, heads, whole(text, "head_dim") or hidden // heads) for kind in kinds]
    return None if any(state is None for state in states) else [state for state in states if state is not None]


def _kinds(config: dict, text: dict, layers: int) -> list[str]:
    listed = text.get("layer_types")
    family = family_of(config)
    if family is not None and family.recurrent:
        interval = whole(text, "full_attention_interval") or 4
        return ["full_attention" if (number + 1) % interval == 0 else "linear_attention" for number in range(layers)]
    if isinstance(listed, list) and len(listed) >= layers:
        return [str(kind) for kind in listed[:layers]]
    model_type = str(text.get("model_type"))
    every = {"gpt_oss": 2, "muse_glimmer": 4, "gemma4_text": whole(text, "sliding_window_pattern") or 5}.get(model_type)
    if every is None:
        return ["full_attention"] * layers
    return ["full_attention" if (number + 1) % every == 0 else "sliding_attention" for number in range(layers)]


def _state(kind: str, config: dict, text: dict, heads: int, size: int) -> LayerState | None:
    if kind == "linear_attention":
        names = ("num_value_heads", "num_key_heads", "key_head_dim", "value_head_dim", "conv_kernel_dim")
        values, keys, key, value, kernel = (whole(text, f"linear_{name}") for name in names)
        if not (values and keys and key and value and kernel):
            return None
        return LayerState(recurrent=values * key * value, convolution=(kernel - 1) * (2 * keys * key + values * value))
    if latent := whole(text, "kv_lora_rank"):
        rotary, indexed = whole(text, "qk_rope_head_dim"), whole(text, "index_head_dim")
        # an indexer's cache has values that nobody reads, as many as keys while a prompt is read
        return LayerState(row=latent + (rotary or 0) + 2 * (indexed or 0)) if rotary else None
    kv = whole(text, "num_key_value_heads") or heads
    if kind == "sliding_attention":
        window = whole(text, "sliding_window") or {"gpt_oss": 128, "muse_glimmer": 2048}.get(str(text.get("model_type")), 512)
        return LayerState(row=2 * kv * size, window=window)
    if str(text.get("model_type")).startswith("gemma4"):
        kv = (whole(text, "num_global_key_value_heads") if text.get("attention_k_eq_v") else None) or kv
        size = whole(text, "global_head_dim") or 512
    return LayerState(row=2 * kv * size)


def whole(config: dict, name: str) -> int | None:
    """A config's whole number above 0; None where it has none."""
    value = config.get(name)
    return value if type(value) is int and 0 < value < 2**40 else None
