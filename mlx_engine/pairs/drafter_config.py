"""The config.json of published DFlash drafters.

Publishers lay out the fields differently and revise checkpoints in place. So everything is read from the file, and nothing depends
on a repo's name. The field rules follow z-lab's dflash 0.1.0, the loaders in vLLM and speculators, and published configs.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

from mlx_engine.errors import UserError
from mlx_engine.limits import MAX_BLOCK_ROWS

_KINDS = {
    "DFlashDraftModel": "dflash",
    "DFlash2DraftModel": "dflash2",
    "DFlashLagunaForCausalLM": "laguna",
    "MuseGlimmerAssistantModel": "muse",
}
# Names of the same architectures in the speculators library
_SPECULATORS = {"dflash": {"DFlashSpeculator", "DFlashDraftModel"}, "dflash2": {"DFlash2Speculator", "DFlash2DraftModel"}}
_MOST_LAYERS = 512
_FULL, _SLIDING = "full_attention", "sliding_attention"
# Supported values of fields that change the computation without changing the tensors
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu", "swish"),
    "draft_ffn_type": ("dense",),
    "partial_rotary_factor hc_mult": (1,),
    "is_neox_style use_aux_hidden_state use_qk_norm qk_norm": (True,),
    "sample_from_anchor shift_label mlp_bias attention_sink_bias add_swa_attention_sink_bias": (False,),
    "norm_before_fc norm_before_residual enable_confidence_head fc_bias": (False,),
    "markov_rank attn_logit_softcapping": (0,),
}
# Parts of field names that suggest a change of the computation
_SIGNIFICANT = (
    "scal", "softcap", "multiplier", "causal", "rope", "rotary", "window", "sink", "norm", "activation", "anchor", "gating",
    "mask_embedding", "shift", "pos_emb", "markov", "hc_mult",
)  # fmt: skip
# Fields with such names that configs inherit from the target, and that dense drafters ignore
_INERT = frozenset(
    {
        "norm_topk_prob", "routed_scaling_factor", "moe_routed_scaling_factor", "qk_rope_head_dim", "qk_nope_head_dim",
        "layer_norm_eps", "layernorm_epsilon", "rms_norm", "use_sliding_window", "max_window_layers", "sliding_window",
        "max_anchors", "num_anchors",
    }
)  # fmt: skip
_LARGEST = 1e15


@dataclass(frozen=True)
class Rope:
    """Rotary embedding settings. `kind` is default, linear, llama3, or yarn."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    original: float = 0.0  # positions of the unscaled model
    beta_fast: float = 32.0  # yarn: turns over `original`; llama3: high_freq_factor
    beta_slow: float = 1.0  # llama3: low_freq_factor
    truncate: bool = True  # yarn: round the range of partly scaled pairs outwards
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0


@dataclass(frozen=True)
class Convolution:
    """DFlash 2's grouped dynamic convolution."""

    taps: int  # block rows per kernel
    group: int  # channels that share a dynamic kernel


@dataclass(frozen=True)
class Selector:
    """DFlash 2's candidate selector, with edges from factors of size `rank`."""

    rank: int
    top_k: int  # likeliest tokens per row


@dataclass(frozen=True)
class Stored:
    """The quantization of published weights, in MLX's affine scheme."""

    bits: int
    group: int
    exceptions: dict[str, tuple[int, int]]  # module -> bits, group


@dataclass(frozen=True)
class DrafterConfig:
    """The validated config of a drafter."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int | None  # of the target; None if unknown
    draft_vocab_size: int | None  # if the drafter proposes only some of the target's tokens
    norm_eps: float
    rope: Rope
    block_size: int
    taps: tuple[int, ...]  # 0-based target layers whose outputs are the context features
    target_layers: int | None  # number of target layers
    mask_token: int
    attention_bias: bool
    windows: tuple[int | None, ...]  # per layer: query position - key position < window; None: full attention
    causal: tuple[bool, ...]  # per layer: whether a block row sees only earlier block rows
    embedding_scale: float
    output_multiplier: float
    softcap: float | None
    convolution: Convolution | None  # DFlash 2
    selector: Selector | None  # DFlash 2
    laguna: bool  # a norm per tap, context through each layer's input norm, gated heads
    stored: Stored | None

    @property
    def windowed(self) -> bool:
        """Whether every layer sees only a window of the context."""
        return None not in self.windows


class ConfigFields:
    """The fields of a config by name. An explicit null counts as absent.

    Published drafters keep a field at the top level, in `dflash_config`, or (speculators layout) in `transformer_layer_config`. A
    field that appears in two places must have the same value in both.

    Args:
        levels: the objects that hold fields, by their names in error messages.
        strict: the levels in which unknown fields are refused.
    """

    def __init__(self, levels: dict[str, dict], strict: frozenset[str] = frozenset()) -> None:
        self._levels, self._strict = levels, strict
        self._read: set[str] = set()

    def get(self, name: str) -> Any:
        self._read.add(name)
        found = [(level, fields[name]) for level, fields in self._levels.items() if fields.get(name) is not None]
        for level, value in found[1:]:
            if value != found[0][1]:
                raise contradiction(name, found[0][1], f"{level}.{name}", value)
        return found[0][1] if found else None

    def number(self, name: str, default: float | None = None, above: float = -_LARGEST) -> float:
        return number(name, self.get(name), default, above)

    def whole(self, name: str, default: int | None = None, least: int = 1, most: int = 2**31 - 1) -> int:
        value = self.number(name, default)
        if value != int(value) or not least <= value <= most:
            raise unexpected(name, value, f"{least}, …, {most:,}")
        return int(value)

    def optional(self, name: str) -> int | None:
        return None if self.get(name) is None else self.whole(name)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        value = self.get(name)
        return default if value is None else self._checked(name, value, bool, "boolean")

    def block(self, name: str) -> dict:
        """Return a field that holds an object, or {} if it is absent."""
        value = self.get(name)
        return {} if value is None else self._checked(name, value, dict, "object")

    def list(self, name: str, of: type) -> list | None:
        """Return a field that holds a list of `of`, or None if it is absent."""
        value = self.get(name)
        if value is None or (isinstance(value, list) and all(type(item) is of for item in value)):
            return value
        raise unexpected(name, value, "array of integers" if of is int else "array of strings")

    def _checked(self, name: str, value: Any, kind: type, expected: str) -> Any:
        if not isinstance(value, kind):
            raise unexpected(name, value, expected)
        return value

    def must_be(self, name: str, *supported: Any) -> None:
        """Refuse values that would need an unsupported computation."""
        value = self.get(name)
        if value is not None and not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in supported):
            raise unexpected(name, value, _short(supported[0]))

    def refuse_unread(self) -> None:
        """Refuse unread fields that could affect the computation."""
        for level, fields in self._levels.items():
            for name, value in fields.items():
                if name in self._read or value in (None, False, 0, "", [], {}):
                    continue
                if level in self._strict or (name not in _INERT and any(part in name.lower() for part in _SIGNIFICANT)):
                    template = "Can't use this drafter: its config.json has an unknown “{field}” ({value}). Choose another drafter."
                    raise UserError("drafter_field_unknown", template, field=name, value=_short(value))


def parse(config: dict) -> DrafterConfig:
    """Return the validated config of a drafter's config.json.

    Raises:
        UserError: the architecture is unsupported, or a field is unknown, missing, or contradictory.
    """
    kind, speculators, fields = _layout(config)
    layers, heads = fields.whole("num_hidden_layers", most=_MOST_LAYERS), fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    types = _layer_types(fields, layers)
    target_layers, vocab, draft_vocab = map(fields.optional, ("num_target_layers", "vocab_size", "draft_vocab_size"))
    result = DrafterConfig(
        hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=fields.whole("num_key_value_heads", heads),
        head_dim=fields.whole("head_dim", max(hidden // heads, 1)),
        vocab_size=vocab,
        draft_vocab_size=draft_vocab if draft_vocab != vocab else None,
        norm_eps=fields.number("rms_norm_eps", above=0.0),
        rope=_rope(fields),
        block_size=fields.whole("block_size", least=2, most=MAX_BLOCK_ROWS),
        taps=_taps(fields, speculators, layers, target_layers),
        target_layers=target_layers,
        mask_token=fields.whole("mask_token_id", least=0),
        attention_bias=bool(fields.flag("attention_bias")),
        windows=_windows(fields, types),
        causal=_causality(fields, kind, speculators, types),
        embedding_scale=fields.number("input_embedding_scale", 1.0, above=0.0),
        output_multiplier=fields.number("output_multiplier", 1.0, above=0.0) * fields.number("logit_scale", 1.0, above=0.0),
        softcap=fields.number("final_logit_softcapping", 0.0, above=-1e-9) or None,
        convolution=Convolution(fields.whole("conv_kernel_size"), fields.whole("conv_group_size")) if kind == "dflash2" else None,
        selector=Selector(fields.whole("selector_rank"), fields.whole("selector_top_k")) if kind == "dflash2" else None,
        laguna=kind == "laguna",
        stored=_stored(fields),
    )
    for names, supported in _SUPPORTED.items():
        for name in names.split():
            fields.must_be(name, *supported)
    fields.must_be("target_hidden_size", hidden)
    fields.must_be("gating", *(["per-head", True] if kind == "laguna" else [False]))
    _refuse_contradictions(result)
    fields.refuse_unread()
    return result


def _layout(config: dict) -> tuple[str, bool, ConfigFields]:
    """Return the drafter kind, whether it uses the speculators layout, and the fields."""
    speculators = config.get("speculators_model_type") is not None or config.get("transformer_layer_config") is not None
    levels = {"config.json": config}
    for name in ("dflash_config", "transformer_layer_config"):
        inner = config.get(name)
        if inner is not None and not isinstance(inner, dict):
            raise unexpected(name, inner, "object")
        if inner:
            levels[name] = inner
    fields = ConfigFields(levels, strict=frozenset({"dflash_config"}))
    named = config.get("architectures")
    names = [str(name) for name in named] if isinstance(named, list) else []
    kinds = {_KINDS[name] for name in names if name in _KINDS}
    if speculators:
        kind = config.get("speculators_model_type")
        if kind in ("dflash", "dflash2"):
            if names and not _SPECULATORS[kind].intersection(names):
                raise contradiction("architectures", names, "speculators_model_type", kind)
            return kind, True, fields
    elif len(kinds) == 1:
        return kinds.pop(), False, fields
    field = "speculators_model_type" if speculators else "architectures"
    raise unexpected(field, config.get(field), "DFlash, DFlash 2")


def _layer_types(fields: ConfigFields, layers: int) -> list[str]:
    types = fields.list("layer_types", str)
    sliding = fields.flag("use_sliding_window")
    if types is None:
        first = layers
        if fields.flag("use_swa"):
            first = 0
        elif sliding and fields.get("sliding_window") is not None:
            first = fields.whole("max_window_layers", layers, least=0)
        types = [_SLIDING if i >= first else _FULL for i in range(layers)]
    elif sliding is False and _SLIDING in types:
        raise contradiction("use_sliding_window", False, "layer_types", types)
    if len(types) != layers:
        raise contradiction("layer_types", types, "num_hidden_layers", layers)
    for name in types:
        if name not in (_FULL, _SLIDING):
            raise unexpected("layer_types", name, f"{_FULL}, {_SLIDING}")
    return types


def _windows(fields: ConfigFields, types: list[str]) -> tuple[int | None, ...]:
    if fields.flag("use_swa") and _SLIDING not in types:
        types = [_SLIDING] * len(types)
    if _SLIDING not in types:
        return (None,) * len(types)
    window = fields.whole("swa_window_size" if fields.get("swa_window_size") is not None else "sliding_window")
    return tuple(window if kind == _SLIDING else None for kind in types)


def _causality(fields: ConfigFields, kind: str, speculators: bool, types: list[str]) -> tuple[bool, ...]:
    """Return per layer whether attention within the block is causal."""
    explicit, older = fields.flag("is_causal"), fields.flag("causal")
    if explicit is not None and older is not None and explicit != older:
        raise contradiction("is_causal", explicit, "causal", older)
    explicit = older if explicit is None else explicit
    if explicit is not None:
        return (explicit,) * len(types)
    if kind == "muse" or (fields.flag("use_swa") and fields.get("layer_types") is None):
        return (False,) * len(types)
    if speculators and fields.flag("sliding_window_non_causal", kind == "dflash2"):
        return (False,) * len(types)
    return tuple(name == _SLIDING for name in types)


def _taps(fields: ConfigFields, speculators: bool, layers: int, target_layers: int | None) -> tuple[int, ...]:
    """Return the tapped target layers, 0-based."""
    taps = fields.list("target_layer_ids", int)
    # speculators and vLLM count layer inputs, so their numbers are higher by one
    inputs = fields.list("aux_hidden_state_layer_ids", int) or fields.list("eagle_aux_hidden_state_layer_ids", int)
    if inputs:
        if 0 in inputs:
            raise unexpected("aux_hidden_state_layer_ids", inputs, "1, 2, …")
        if taps and [tap + 1 for tap in taps] != inputs:
            raise contradiction("target_layer_ids", taps, "aux_hidden_state_layer_ids", inputs)
        taps = [layer - 1 for layer in inputs]
    if not taps:
        if target_layers is None or speculators:
            raise missing("aux_hidden_state_layer_ids" if speculators else "target_layer_ids")
        evenly = [round(1 + i * (target_layers - 4) / (layers - 1)) for i in range(layers)] if layers > 1 else []
        taps = evenly or [target_layers // 2]
    if min(taps) < 0:
        raise unexpected("target_layer_ids", taps, "0, 1, …")
    if target_layers is not None and max(taps) >= target_layers:
        raise contradiction("target_layer_ids", taps, "num_target_layers", target_layers)
    return tuple(taps)


def _rope(fields: ConfigFields) -> Rope:
    parameters, scaling = fields.block("rope_parameters"), fields.block("rope_scaling")
    for name in scaling.keys() & parameters.keys() - {"rope_theta"}:
        if scaling[name] != parameters[name]:
            raise contradiction(name, scaling[name], f"rope_parameters.{name}", parameters[name])
    both = {**parameters, **scaling}
    theta, inner = fields.get("rope_theta"), parameters.get("rope_theta")
    if theta is not None and inner is not None and theta != inner:
        raise contradiction("rope_theta", theta, "rope_parameters.rope_theta", inner)
    theta = number("rope_theta", inner if theta is None else theta, above=1.0)
    kind = both.get("rope_type") or both.get("type") or "default"
    if kind not in ("default", "linear", "llama3", "yarn"):
        raise unexpected("rope_type", kind, "default, linear, llama3, yarn")
    if both.get("partial_rotary_factor") not in (None, 1):
        raise unexpected("partial_rotary_factor", both["partial_rotary_factor"], "1")
    if kind == "default":
        return Rope(theta)

    def value(name: str, default: float | None = None, above: float = 1e-6) -> float:
        return number(name, both.get(name), default, above)

    factor = value("factor")
    if kind == "linear":
        return Rope(theta, kind, factor)
    original = value("original_max_position_embeddings", fields.number("max_position_embeddings", 4096, above=0.0))
    names = ("high_freq_factor", "low_freq_factor") if kind == "llama3" else ("beta_fast", "beta_slow")
    defaults = (None, None) if kind == "llama3" else (32.0, 1.0)
    fast, slow = (value(name, default) for name, default in zip(names, defaults, strict=True))
    if fast <= slow:
        raise contradiction(names[0], fast, names[1], slow)
    truncate = both.get("truncate")
    if truncate is not None and not isinstance(truncate, bool):
        raise unexpected("truncate", truncate, "boolean")
    attention = None if both.get("attention_factor") is None else value("attention_factor")
    scales = (value(name, 0.0, -1e15) for name in ("mscale", "mscale_all_dim"))
    return Rope(theta, kind, factor, original, fast, slow, truncate is not False, attention, *scales)


def _stored(fields: ConfigFields) -> Stored | None:
    block, other = fields.block("quantization"), fields.block("quantization_config")
    if not block:
        if other and ("quant_method" in other or "bits" not in other):
            raise unexpected("quantization_config", other.get("quant_method"), "MLX")
        block = other
    if not block:
        return None
    if block.get("mode") not in (None, "affine"):
        raise unexpected("quantization", block["mode"], "affine")

    def width(settings: dict) -> tuple[int, int]:
        bits, group = settings.get("bits"), settings.get("group_size")
        if bits not in (2, 3, 4, 5, 6, 8) or group not in (32, 64, 128):
            raise unexpected("quantization", [bits, group], "bits 2–6, 8; group_size 32, 64, 128")
        return bits, group

    bits, group = width(block)
    return Stored(bits, group, {name: width(value) for name, value in block.items() if isinstance(value, dict)})


def _refuse_contradictions(c: DrafterConfig) -> None:
    if c.heads % c.kv_heads:
        raise contradiction("num_attention_heads", c.heads, "num_key_value_heads", c.kv_heads)
    if c.head_dim % 2:
        raise unexpected("head_dim", c.head_dim, "2, 4, 6, …")
    window = min((window for window in c.windows if window is not None), default=c.block_size)
    if window < c.block_size:
        raise contradiction("sliding_window", window, "block_size", c.block_size)
    if c.vocab_size is None and (c.selector or c.draft_vocab_size is not None):
        raise missing("vocab_size")
    if c.vocab_size is not None and c.mask_token >= c.vocab_size:
        raise contradiction("mask_token_id", c.mask_token, "vocab_size", c.vocab_size)
    if c.convolution is not None and c.hidden_size % c.convolution.group:
        raise contradiction("hidden_size", c.hidden_size, "conv_group_size", c.convolution.group)
    if c.draft_vocab_size is not None and (c.selector is not None or c.draft_vocab_size > (c.vocab_size or 0)):
        raise contradiction("draft_vocab_size", c.draft_vocab_size, "vocab_size", c.vocab_size)
    if c.selector is not None and c.selector.top_k > (c.vocab_size or 0):
        raise contradiction("selector_top_k", c.selector.top_k, "vocab_size", c.vocab_size)


def number(name: str, value: Any, default: float | None = None, above: float = -_LARGEST) -> float:
    """Return `value` (the default if None) as a finite number greater than `above`."""
    value = default if value is None else value
    if value is None:
        raise missing(name)
    usable = (type(value) is int and abs(value) < 2**63) or (type(value) is float and math.isfinite(value))
    if not usable or not above < value <= _LARGEST:
        raise unexpected(name, value, f"> {above:g}, ≤ {_LARGEST:g}")
    return value


def missing(field: str) -> UserError:
    template = "Can't use this drafter: its config.json has no “{field}”. Download it again, or choose another drafter."
    return UserError("drafter_field_missing", template, field=field)


def unexpected(field: str, value: Any, expected: str) -> UserError:
    template = "Can't use this drafter: it sets “{field}” to {value}; expected: {expected}. Choose another drafter."
    return UserError("drafter_field_unexpected", template, field=field, value=_short(value), expected=expected)


def contradiction(first: str, value: Any, second: str, other: Any) -> UserError:
    """Return the error for two fields with contradictory values."""
    template = "Can't use this drafter: “{first}” ({value}) contradicts “{second}” ({other}). Choose another drafter."
    return UserError("drafter_fields_contradict", template, first=first, value=_short(value), second=second, other=_short(other))


def _short(value: Any) -> str:
    """Return a value as JSON, shortened for error messages."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
