"""What a published DFlash config.json says, in one shape. Imports no MLX: what fits what is decided before weights are there.

Checkpoints are revised in place and place their fields differently, so everything is read from the file and nothing is tied to a
repository's name. Source of the field rules: z-lab's dflash 0.1.0, vLLM's and speculators' readers, and the published configs.
"""

from dataclasses import dataclass

from mlx_engine.errors import UserError
from mlx_engine.limits import MOST_ROWS
from mlx_engine.pairs.drafter_fields import AGAIN, Fields, number

_KINDS = {
    "DFlashDraftModel": "dflash",
    "DFlash2DraftModel": "dflash2",
    "DFlashLagunaForCausalLM": "laguna",
    "MuseGlimmerAssistantModel": "muse",
}
# Speculators' own names of the same architectures
_SPECULATORS = {"dflash": {"DFlashSpeculator", "DFlashDraftModel"}, "dflash2": {"DFlash2Speculator", "DFlash2DraftModel"}}
_MOST_LAYERS = 512
_FULL, _SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class Rope:
    """Rotary embedding. `kind` default, linear, llama3 or yarn; the rest belongs to the last three."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    original: float = 0.0  # positions of the unstretched model
    beta_fast: float = 32.0  # yarn: turns over `original`; llama3 calls its like high and low frequency factor
    beta_slow: float = 1.0
    truncate: bool = True  # yarn: whether the range of pairs that are stretched in part is rounded outwards
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0


@dataclass(frozen=True)
class Convolution:
    """DFlash 2's grouped dynamic convolution: `taps` block rows deep, one dynamic kernel for `group` channels."""

    taps: int
    group: int


@dataclass(frozen=True)
class Selector:
    """DFlash 2's candidate selector: the `top_k` likeliest tokens of a row, edges from factors of size `rank`."""

    rank: int
    top_k: int


@dataclass(frozen=True)
class Stored:
    """How weights are stored that were published quantised, in MLX's affine scheme; `exceptions` by module name."""

    bits: int
    group: int
    exceptions: dict[str, tuple[int, int]]  # module -> bits, group


@dataclass(frozen=True)
class DrafterConfig:
    """A DFlash drafter. One entry of `windows` and `causal` per layer; a window of None means full attention."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int | None  # of the target; None where the config does not say
    draft_vocab_size: int | None  # when smaller: the drafter proposes only some of the target's tokens
    norm_eps: float
    rope: Rope
    block_size: int
    taps: tuple[int, ...]  # target layers, 0-based, whose outputs are the context features
    target_layers: int | None  # how many the target has
    mask_token: int
    attention_bias: bool
    windows: tuple[int | None, ...]  # a key is visible while query position - key position < window
    causal: tuple[bool, ...]  # whether a block row sees only the block rows before it
    embedding_scale: float
    output_multiplier: float
    softcap: float | None
    convolution: Convolution | None  # DFlash 2
    selector: Selector | None  # DFlash 2
    laguna: bool  # a norm for each tap, context through each layer's input norm, gated heads
    stored: Stored | None


def parse(config: dict) -> DrafterConfig:
    """Read a drafter's config.json.

    Raises:
        UserError: the architecture is not supported, or a field is unknown, missing or contradictory; the sentence names it.
    """
    kind, speculators, fields = _layout(config)
    layers, heads = fields.whole("num_hidden_layers", most=_MOST_LAYERS), fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    types = _layer_types(fields, layers)
    windows = _windows(fields, types)
    target_layers = fields.whole("num_target_layers") if fields.get("num_target_layers") is not None else None
    vocab = fields.whole("vocab_size") if fields.get("vocab_size") is not None else None
    softcap = fields.number("final_logit_softcapping", 0.0, above=-1e-9)
    mask = fields.whole("mask_token_id", least=0)
    result = DrafterConfig(
        hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=fields.whole("num_key_value_heads", heads),
        head_dim=fields.whole("head_dim", max(hidden // heads, 1)),
        vocab_size=vocab,
        draft_vocab_size=_draft_vocabulary(fields, vocab),
        norm_eps=fields.number("rms_norm_eps", above=0.0),
        rope=_rope(fields),
        block_size=fields.whole("block_size", least=2, most=MOST_ROWS),
        taps=_taps(fields, speculators, layers, target_layers),
        target_layers=target_layers,
        mask_token=mask,
        attention_bias=bool(fields.flag("attention_bias")),
        windows=windows,
        causal=_causality(fields, kind, speculators, types),
        embedding_scale=fields.number("input_embedding_scale", 1.0, above=0.0),
        output_multiplier=fields.number("output_multiplier", 1.0, above=0.0) * fields.number("logit_scale", 1.0, above=0.0),
        softcap=softcap or None,
        convolution=Convolution(fields.whole("conv_kernel_size"), fields.whole("conv_group_size")) if kind == "dflash2" else None,
        selector=Selector(fields.whole("selector_rank"), fields.whole("selector_top_k")) if kind == "dflash2" else None,
        laguna=kind == "laguna",
        stored=_stored(fields),
    )
    _refuse_what_is_not_run(fields, kind, result)
    _refuse_contradictions(result)
    fields.refuse_unread()
    return result


def _layout(config: dict) -> tuple[str, bool, Fields]:
    """What kind of drafter it is, whether it is in speculators' layout, and its fields."""
    speculators = config.get("speculators_model_type") is not None or config.get("transformer_layer_config") is not None
    levels = {"config.json": config}
    for name in ("dflash_config", "transformer_layer_config"):
        inner = config.get(name)
        if inner is not None and not isinstance(inner, dict):
            raise UserError(f"The drafter's “{name}” is {inner!r:.60}; it has to be an object. {AGAIN}")
        if inner:
            levels[name] = inner
    fields = Fields(levels, strict=frozenset({"dflash_config"}))
    named = config.get("architectures")
    names = [str(name) for name in named] if isinstance(named, list) else []
    said = ", ".join(names)[:60] or "not given"
    known = "Slipstream runs DFlash and DFlash 2 drafters. Pick one of those, or decode plainly."
    if speculators:
        kind = config.get("speculators_model_type")
        if kind not in ("dflash", "dflash2"):
            raise UserError(f"This drafter's “speculators_model_type” is {kind!r:.60}; {known}")
        if names and not _SPECULATORS[kind].intersection(names):
            raise UserError(f"This drafter's “architectures” is {said}, but its “speculators_model_type” is {kind}. {AGAIN}")
        return kind, True, fields
    kinds = {_KINDS[name] for name in names if name in _KINDS}
    if len(kinds) != 1:
        raise UserError(f"This drafter's architecture (“architectures”) is {said}; {known}")
    return kinds.pop(), False, fields


def _layer_types(fields: Fields, layers: int) -> list[str]:
    types = fields.list("layer_types", str)
    sliding = fields.flag("use_sliding_window")
    if types is None:
        if fields.flag("use_swa"):
            types = [_SLIDING] * layers
        elif sliding and fields.get("sliding_window") is not None:
            first = fields.whole("max_window_layers", layers, least=0)
            types = [_SLIDING if i >= first else _FULL for i in range(layers)]
        else:
            types = [_FULL] * layers
    elif sliding is False and _SLIDING in types:
        raise UserError(f"The drafter's “use_sliding_window” is false, but its “layer_types” has {_SLIDING}. {AGAIN}")
    if len(types) != layers:
        raise UserError(f"The drafter's “layer_types” names {len(types)} layers, but “num_hidden_layers” is {layers}. {AGAIN}")
    unknown = sorted(set(types) - {_FULL, _SLIDING})
    if unknown:
        raise UserError(f"The drafter's “layer_types” has “{unknown[0]:.60}”; Slipstream knows {_FULL} and {_SLIDING}.")
    return types


def _windows(fields: Fields, types: list[str]) -> tuple[int | None, ...]:
    if fields.flag("use_swa") and _SLIDING not in types:
        types = [_SLIDING] * len(types)
    if _SLIDING not in types:
        return (None,) * len(types)
    window = fields.whole("swa_window_size" if fields.get("swa_window_size") is not None else "sliding_window")
    return tuple(window if kind == _SLIDING else None for kind in types)


def _causality(fields: Fields, kind: str, speculators: bool, types: list[str]) -> tuple[bool, ...]:
    """Per layer: what the config says outright; else sliding layers only, unless the format means otherwise."""
    said = fields.flag("is_causal")
    older = fields.flag("causal")
    if said is not None and older is not None and said != older:
        raise UserError(f"The drafter's “is_causal” and “causal” say different things. {AGAIN}")
    said = older if said is None else said
    if said is not None:
        return (said,) * len(types)
    if kind == "muse" or (fields.flag("use_swa") and fields.get("layer_types") is None):
        return (False,) * len(types)
    if speculators and fields.flag("sliding_window_non_causal", kind == "dflash2"):
        return (False,) * len(types)
    return tuple(name == _SLIDING for name in types)


def _taps(fields: Fields, speculators: bool, layers: int, target_layers: int | None) -> tuple[int, ...]:
    """The target's layers, 0-based. Speculators and vLLM number what enters a layer, which is one more."""
    taps = fields.list("target_layer_ids", int)
    entered = fields.list("aux_hidden_state_layer_ids", int) or fields.list("eagle_aux_hidden_state_layer_ids", int)
    if entered:
        if 0 in entered:
            raise UserError(
                f"The drafter's “aux_hidden_state_layer_ids” asks for the target's embeddings (0), which are not read. {AGAIN}"
            )
        if taps and [tap + 1 for tap in taps] != entered:
            raise UserError(f"The drafter's “target_layer_ids” and “aux_hidden_state_layer_ids” name different layers. {AGAIN}")
        taps = [layer - 1 for layer in entered]
    if not taps:
        if target_layers is None or speculators:
            name = "aux_hidden_state_layer_ids" if speculators else "target_layer_ids"
            raise UserError(f"The drafter's config.json lacks “{name}”, so it has nothing to condition on. {AGAIN}")
        evenly = [round(1 + i * (target_layers - 4) / (layers - 1)) for i in range(layers)] if layers > 1 else []
        taps = evenly or [target_layers // 2]
    if min(taps) < 0 or (target_layers is not None and max(taps) >= target_layers):
        raise UserError(
            f"The drafter's “target_layer_ids” names the layers {taps}, but its target has {target_layers}, from 0 on. {AGAIN}"
        )
    return tuple(taps)


def _draft_vocabulary(fields: Fields, vocab: int | None) -> int | None:
    if fields.get("draft_vocab_size") is None:
        return None
    size = fields.whole("draft_vocab_size")
    if vocab is not None and size > vocab:
        raise UserError(f"The drafter's “draft_vocab_size” is {size:,}, but its “vocab_size” is only {vocab:,}. {AGAIN}")
    return size if size != vocab else None


def _rope(fields: Fields) -> Rope:
    parameters, scaling = fields.block("rope_parameters"), fields.block("rope_scaling")
    if scaling and parameters:
        for name in {*scaling, *parameters} - {"rope_theta"}:
            if name in scaling and name in parameters and scaling[name] != parameters[name]:
                raise UserError(f"The drafter's “rope_scaling” and “rope_parameters” differ in “{name:.60}”. {AGAIN}")
    both = {**parameters, **scaling}
    theta = fields.get("rope_theta")
    inner = parameters.get("rope_theta")
    if theta is not None and inner is not None and theta != inner:
        raise UserError(f"The drafter's “rope_theta” is given twice, with different values. {AGAIN}")
    theta = number("rope_theta", inner if theta is None else theta, above=1.0)
    kind = both.get("rope_type") or both.get("type") or "default"
    if kind not in ("default", "linear", "llama3", "yarn"):
        raise UserError(
            f"The drafter's rope type (“rope_type”) is {kind!r:.60}; Slipstream knows default, linear, llama3 and yarn."
        )
    if both.get("partial_rotary_factor") not in (None, 1):
        raise UserError("The drafter's “partial_rotary_factor” is not 1; Slipstream rotates whole heads. Pick another drafter.")
    if kind == "default":
        return Rope(theta)

    def value(name: str, default: float | None = None, above: float | None = 1e-6) -> float:
        return number(name, both.get(name), default, above)

    factor = value("factor")
    if kind == "linear":
        return Rope(theta, kind, factor)
    original = value("original_max_position_embeddings", fields.number("max_position_embeddings", 4096, above=0.0))
    if kind == "llama3":
        fast, slow = value("high_freq_factor"), value("low_freq_factor")
    else:
        fast, slow = value("beta_fast", 32.0), value("beta_slow", 1.0)
    if fast <= slow:
        names = "“high_freq_factor” and “low_freq_factor”" if kind == "llama3" else "“beta_fast” and “beta_slow”"
        raise UserError(f"The drafter's {names} are {fast:g} and {slow:g}; the first has to be the larger. {AGAIN}")
    truncate = both.get("truncate")
    if truncate is not None and not isinstance(truncate, bool):
        raise UserError(f"The drafter's “truncate” is {truncate!r:.60}; it has to be true or false. {AGAIN}")
    return Rope(
        theta,
        kind,
        factor,
        original,
        fast,
        slow,
        truncate is not False,
        None if both.get("attention_factor") is None else value("attention_factor"),
        value("mscale", 0.0, None),
        value("mscale_all_dim", 0.0, None),
    )


def _stored(fields: Fields) -> Stored | None:
    block = fields.block("quantization")
    other = fields.block("quantization_config")
    if not block:
        if other and ("quant_method" in other or "bits" not in other):
            how = str(other.get("quant_method") or "an unknown format")[:40]
            raise UserError(
                f"This drafter is stored quantised as {how} (“quantization_config”), which Slipstream does not read. "
                "Pick the unquantised one, or one in MLX's own format."
            )
        block = other
    if not block:
        return None
    if block.get("mode") not in (None, "affine"):
        raise UserError(
            f"This drafter is stored quantised in the mode {block['mode']!r:.60} (“quantization”), which Slipstream does not read. "
            "Pick the unquantised one."
        )

    def width(settings: dict) -> tuple[int, int]:
        bits, group = settings.get("bits"), settings.get("group_size")
        if bits not in (2, 3, 4, 5, 6, 8) or group not in (32, 64, 128):
            raise UserError(
                f"The drafter's “quantization” has bits {bits!r:.20} and group_size {group!r:.20}, which MLX does not read. {AGAIN}"
            )
        return bits, group

    bits, group = width(block)
    return Stored(bits, group, {name: width(value) for name, value in block.items() if isinstance(value, dict)})


def _refuse_what_is_not_run(fields: Fields, kind: str, config: DrafterConfig) -> None:
    """Fields that change the computation although the tensors may look as usual."""
    fields.must_be("hidden_act", "silu", "swish")
    fields.must_be("target_hidden_size", config.hidden_size)
    fields.must_be("gating", *(["per-head", True] if kind == "laguna" else [False]))
    fields.must_be("draft_ffn_type", "dense")
    fields.must_be("partial_rotary_factor", 1)
    fields.must_be("is_neox_style", True)
    for name in ("use_aux_hidden_state", "use_qk_norm", "qk_norm"):
        fields.must_be(name, True)
    for name in (
        "sample_from_anchor", "shift_label", "mlp_bias", "attention_sink_bias", "add_swa_attention_sink_bias", "norm_before_fc",
        "norm_before_residual", "enable_confidence_head", "fc_bias",
    ):  # fmt: skip
        fields.must_be(name, False)
    for name in ("markov_rank", "attn_logit_softcapping"):
        fields.must_be(name, 0)
    fields.must_be("hc_mult", 1)


def _refuse_contradictions(config: DrafterConfig) -> None:
    """Fields that cannot all be meant."""
    c = config
    if c.heads % c.kv_heads:
        raise UserError(
            f"The drafter's “num_attention_heads”, {c.heads}, is no multiple of “num_key_value_heads”, {c.kv_heads}. {AGAIN}"
        )
    if c.head_dim % 2:
        raise UserError(f"The drafter's “head_dim” is {c.head_dim}; positions are rotated in pairs, so it has to be even. {AGAIN}")
    window = min((window for window in c.windows if window is not None), default=c.block_size)
    if window < c.block_size:
        raise UserError(
            f"The drafter's window is {window} tokens, but its “block_size” is {c.block_size}; a window has to hold a block. "
            f"{AGAIN}"
        )
    if c.vocab_size is not None and c.mask_token >= c.vocab_size:
        raise UserError(f"The drafter's “mask_token_id” is {c.mask_token:,}, but its “vocab_size” is {c.vocab_size:,}. {AGAIN}")
    if c.convolution is not None and c.hidden_size % c.convolution.group:
        raise UserError(
            f"The drafter's “hidden_size”, {c.hidden_size}, is no multiple of “conv_group_size”, {c.convolution.group}. {AGAIN}"
        )
    if c.selector is not None:
        if c.vocab_size is None:
            raise UserError(f"The drafter's config.json lacks “vocab_size”. {AGAIN}")
        if c.draft_vocab_size is not None:
            raise UserError(
                f"The drafter's “draft_vocab_size” is smaller than its “vocab_size”, which DFlash 2 has no place for. {AGAIN}"
            )
        if c.selector.top_k > c.vocab_size:
            raise UserError(
                f"The drafter's “selector_top_k” is {c.selector.top_k:,}, but its “vocab_size” is {c.vocab_size:,}. {AGAIN}"
            )
    if c.draft_vocab_size is not None and c.vocab_size is None:
        raise UserError(f"The drafter's config.json lacks “vocab_size”, of which “draft_vocab_size” is a part. {AGAIN}")
