"""Facts from a target's config.json: problems, drafter fit, and cached state."""

from dataclasses import dataclass

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.drafters.parts.layer_settings import full_layers
from mlx_engine.drafters.registry import parse
from mlx_engine.models.configs.families import FAMILIES, Family, family_of

# Quantization formats that mlx-lm reads besides its own (mlx_lm.utils.load_model, 0.32)
_READABLE_FORMATS = ("bitnet", "mxfp4", "mxfp8", "fp8", "compressed-tensors", "modelopt", "awq", "gptq")
MOST_LAYERS = 2048  # of a target; published targets have a few hundred at most
STEP = 256  # rows by which a cache grows
_OTHER = Family("", ())
# Nemotron-H's layers with a state, in its older and newer configs
_MIXERS = {"M": "mamba", "mamba": "mamba", "linear_attention": "mamba"}
_MIXERS |= dict.fromkeys(("*", "attention", "full_attention"), "full_attention")


def with_older_names(config: dict) -> dict:
    """Return a config with the older names of full-attention settings, too."""
    inner = config.get("text_config")
    text = inner if isinstance(inner, dict) else config
    added = {name: value for name, value in (full_layers(text) or {}).items() if text.get(name) is None}
    if not added:
        return config
    return {**config, "text_config": {**text, **added}} if text is inner else {**config, **added}


def text_config(config: dict) -> dict:
    """Return the config of the text model, which multimodal configs nest."""
    config = with_older_names(config)
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def dflash_problem(target: dict) -> EngineText | None:
    """Return why DFlash can't run with a target, or None if it can."""
    if family_of(target) is not None:
        return None
    family, families = str(target.get("model_type")), ", ".join(sorted(FAMILIES))
    template = "DFlash isn't available for the “{family}” family yet (supported: {families})."
    return EngineText.of("family_without_dflash", template, family=family, families=families)


def target_problem(target: dict) -> EngineText | None:
    """Return why a target can't run at all, or None if no problem is known."""
    if not isinstance(target.get("model_type"), str):
        template = "The target's config.json has no “model_type”. Choose a language model."
        return EngineText.of("target_without_model_type", template)
    if "model_file" in target:
        template = "The target requires custom Python code, which Slipstream never runs. Choose another target."
        return EngineText.of("target_needs_code", template)
    layers = _integer(text_config(target), "num_hidden_layers")
    if layers is not None and layers > MOST_LAYERS:
        template = "The target declares more than {most:,} layers. Choose another target."
        return EngineText.of("target_too_many_layers", template, most=MOST_LAYERS)
    quantized = target.get("quantization_config")
    if isinstance(quantized, dict) and not target.get("quantization") and quantized.get("quant_method") not in _READABLE_FORMATS:
        template = "The target's quantization format “{method}” isn't supported. Choose an MLX version, such as mlx-community's."
        return EngineText.of("target_format_unsupported", template, method=str(quantized.get("quant_method")))
    return None


def pair_problem(target: dict, drafter: dict) -> EngineText | None:
    """Return why a drafter doesn't fit a target, or None if it does."""
    text, config = text_config(target), parse(drafter)
    layers, vocabulary = _integer(text, "num_hidden_layers"), _integer(text, "vocab_size")
    for field, expected, actual in (
        ("hidden_size", config.hidden_size, _integer(text, "hidden_size")),
        ("vocab_size", config.vocab_size, vocabulary),
        ("num_hidden_layers", config.target_layers, layers),
    ):
        if expected and actual and expected != actual:
            template = "This drafter needs a target whose “{field}” is {expected:,}, not {actual:,}. Choose another drafter."
            return EngineText.of("drafter_for_other_target", template, field=field, expected=expected, actual=actual)
    if config.reads_target_keys and not text_family(target).global_heads:
        return EngineText.of("assistant_for_gemma", "This drafter needs a Gemma 4 target. Choose another drafter.")
    if config.reads_target_keys:
        rows = {state.window is None: state.row for state in layer_states(target) or ()}
        for window in config.windows:
            if (row := rows.get(window is None)) and row != config.row(window):
                template = "This drafter needs {expected:,} keys and values per token, not {actual:,}. Choose another drafter."
                return EngineText.of("assistant_for_other_keys", template, expected=config.row(window), actual=row)
    if layers and max(taps := config.tapped(layers)) >= layers + config.taps_norm:
        template = "This drafter reads layer {layer:,}, but the target has only {layers:,} layers. Choose another drafter."
        return EngineText.of("drafter_reads_missing_layer", template, layer=max(taps), layers=layers)
    if vocabulary and config.mask_token >= vocabulary:
        template = "This drafter's mask token has ID {token}, but the target has only {tokens:,} tokens. Choose another drafter."
        return EngineText.of("drafter_mask_token_missing", template, token=config.mask_token, tokens=vocabulary)
    return None


def fits(target: dict, drafter: dict) -> bool:
    """Return whether a drafter can be used with a target."""
    try:
        return not (dflash_problem(target) or pair_problem(target, drafter))
    except UserError:
        return False


@dataclass(frozen=True)
class LayerState:
    """The cached state of a layer: K/V rows (`row` > 0) or a recurrent state."""

    row: int = 0  # values per token
    window: int | None = None  # tokens; None: unlimited
    recurrent: int = 0  # values of a fixed-size state, 4 bytes each
    convolution: int = 0  # values of its short convolution's state

    def rows(self, context: int) -> int:
        """Return the cached rows at `context` tokens."""
        if self.window is None:
            return -(-context // STEP) * STEP
        return min(context, self.window - 1 + min(context, PREFILL_ROWS))  # with the rows of the pass that filled it

    def bytes(self, context: int, element: int) -> int:
        """Return the bytes at `context` tokens, with `element` bytes per value."""
        if not self.row:
            return 4 * self.recurrent + element * self.convolution
        return self.row * self.rows(context) * element


def text_family(config: dict) -> Family:
    """Return the family of the text model, or a default one if unknown."""
    return family_of(text_config(config)) or family_of(config) or _OTHER


def layer_states(config: dict) -> list[LayerState] | None:
    """Return the cached state of each layer, or None if the config lacks fields."""
    text = text_config(config)
    layers, hidden, heads = (whole(text, name) for name in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    if not (layers and hidden and heads):
        return None
    if layers > MOST_LAYERS and (problem := target_problem(config)):
        raise UserError.of(problem)
    kinds = _layer_kinds(config, text, layers)
    if kinds is None:
        return None
    if text_family(config).global_heads:
        kinds = kinds[: layers - (whole(text, "num_kv_shared_layers") or 0)]
    states = [_layer_state(kind, config, text, heads, whole(text, "head_dim") or hidden // heads) for kind in kinds]
    return None if any(state is None for state in states) else [state for state in states if state is not None]


def _layer_kinds(config: dict, text: dict, layers: int) -> list[str] | None:
    listed, family = text.get("layer_types"), text_family(config)
    every, other = family.full_every, "sliding_attention"
    if family.recurrent == "conv" and isinstance(attending := text.get("full_attn_idxs"), list):
        return ["full_attention" if number in attending else "conv" for number in range(layers)]
    if family.recurrent == "mixer":
        pattern = text.get("hybrid_override_pattern") or text.get("layers_block_type") or text.get("layer_types")
        return [_MIXERS[kind] for kind in map(str, pattern) if kind in _MIXERS] if isinstance(pattern, str | list) else None
    if family.recurrent == "linear_attn":
        every, other = whole(text, "full_attention_interval") or 4, "linear_attention"
    elif isinstance(listed, list) and len(listed) >= layers:
        return [str(kind) for kind in listed[:layers]]
    elif every:
        every = whole(text, "sliding_window_pattern") or every
    return ["full_attention" if not every or (number + 1) % every == 0 else other for number in range(layers)]


def _layer_state(kind: str, config: dict, text: dict, heads: int, size: int) -> LayerState | None:
    if kind == "conv":
        kernel, hidden = whole(text, "conv_L_cache"), whole(text, "hidden_size")
        return LayerState(convolution=(kernel - 1) * hidden) if kernel and hidden else None
    if kind == "mamba":
        names = ("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel")
        count, dim, groups, state, kernel = (whole(text, name) for name in names)
        if not (count and dim and groups and state and kernel):
            return None
        return LayerState(recurrent=count * dim * state, convolution=(kernel - 1) * (count * dim + 2 * groups * state))
    if kind == "linear_attention":
        names = ("num_value_heads", "num_key_heads", "key_head_dim", "value_head_dim", "conv_kernel_dim")
        values, keys, key, value, kernel = (whole(text, f"linear_{name}") for name in names)
        if not (values and keys and key and value and kernel):
            return None
        return LayerState(recurrent=values * key * value, convolution=(kernel - 1) * (2 * keys * key + values * value))
    if latent := whole(text, "kv_lora_rank"):
        rotary, indexed = whole(text, "qk_rope_head_dim"), whole(text, "index_head_dim")
        # mlx-lm's indexer also caches as many unused values as keys during prefill
        return LayerState(row=latent + (rotary or 0) + 2 * (indexed or 0)) if rotary else None
    kv, family = whole(text, "num_key_value_heads") or heads, text_family(config)
    if kind == "sliding_attention":
        return LayerState(row=2 * kv * size, window=whole(text, "sliding_window") or family.window)
    if family.global_heads:
        kv = (whole(text, "num_global_key_value_heads") if text.get("attention_k_eq_v") else None) or kv
        size = whole(text, "global_head_dim") or 512
    return LayerState(row=2 * kv * size)


def whole(config: dict, name: str) -> int | None:
    """Return a field if it is a usable positive integer, or None."""
    value = _integer(config, name)
    return value if value is not None and 0 < value < 2**40 else None


def _integer(config: dict, name: str) -> int | None:
    value = config.get(name)
    return value if type(value) is int else None
