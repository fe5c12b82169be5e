"""The config.json of published DFlash, DSpark, EAGLE-3, and MTP drafters, and Gemma 4 assistants.

Publishers lay out the fields differently and revise checkpoints in place. So everything is read from the file, and nothing depends
on a repo's name. The field rules follow z-lab's dflash 0.1.0, the loaders in vLLM and speculators, and published configs.
"""

from dataclasses import dataclass
from typing import Any

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.models.configs import assistant_config
from mlx_engine.models.configs.config_fields import ConfigFields, contradiction, missing, unexpected
from mlx_engine.models.configs.mtp_config import may_have_mtp, translated
from mlx_engine.models.configs.rope_config import Rope, read_rope

_GEMMA, _LFM = "Gemma4DSparkModel", "Lfm2DSparkDraftModel"
_KINDS = {
    "DFlashDraftModel": "dflash",
    "DFlash2DraftModel": "dflash2",
    "DFlashLagunaForCausalLM": "laguna",
    "MuseGlimmerAssistantModel": "muse",
    "Qwen3DSparkModel": "dspark",
    _GEMMA: "dspark",
    "DSparkDraftModel": "dspark",
    _LFM: "dspark",
    "LlamaForCausalLMEagle3": "eagle3",
}
# Names of the same architectures in the speculators library
_SPECULATORS = {
    "dflash": {"DFlashSpeculator", "DFlashDraftModel"},
    "dflash2": {"DFlash2Speculator", "DFlash2DraftModel"},
    "dspark": {"DSparkSpeculator", "DSparkDraftModel"},
    "eagle3": {"Eagle3Speculator", "Eagle3DraftModel"},
}
_DSPARK_WINDOW = 4096  # positions that full-attention layers read, because acceptance falls in longer contexts
_LFM_RANK = 256  # of the Markov head, unless the config sets it
_EAGLE3_BLOCK = 8  # rows; published drafters were trained to draft up to 7 tokens
_MOST_LAYERS = 512
_FULL, _SLIDING = "full_attention", "sliding_attention"
# Supported values of fields that change the computation without changing the tensors
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu", "swish"),
    "draft_ffn_type": ("dense",),
    "partial_rotary_factor hc_mult": (1,),
    "is_neox_style rope_is_neox_style use_aux_hidden_state use_qk_norm qk_norm": (True,),
    "sample_from_anchor shift_label mlp_bias attention_sink_bias add_swa_attention_sink_bias": (False,),
    "norm_before_fc norm_before_residual enable_confidence_head fc_bias": (False,),
    "markov_rank attn_logit_softcapping": (0,),
}
# Supported values of DSpark's fields; other fields that its trainer copies from the target have no effect
_DSPARK_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "markov_head_type": ("vanilla",),
    "log_snr_conditioning enable_qwen35_gated_q_proj dspark_backbone_conv_enabled": (False,),
    "attention_mode": ("gqa", "mha"),
    "projector_type": ("dspark",),
    "hidden_activation": ("gelu_pytorch_tanh",),
}
_NOT_FOR_DSPARK = frozenset(
    "sample_from_anchor enable_confidence_head markov_rank partial_rotary_factor rope_is_neox_style attention_sink_bias".split()
)
# Supported values of EAGLE-3's fields, and its own flags
_EAGLE3_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "num_hidden_layers": (1,),
    "use_input_layernorm_in_first_layer use_last_layernorm": (True,),
    "attention_bias use_mtp_layernorm": (False,),
}
_NESTED_TAPS = {"eagle_aux_hidden_state_layer_ids": "target_layer_ids"}
_EAGLE3_NORMS = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")


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
class DSpark:
    """DSpark's heads and layers."""

    rank: int  # of the Markov head
    confidence: int  # inputs of the confidence head; 0 without one
    gemma: bool  # Gemma's layers: four norms, scaled outputs, normalized values
    neighbors: bool  # whether RoPE rotates pairs of neighboring columns, not columns half a head apart
    sinks: bool  # whether attention has one sink per head


@dataclass(frozen=True)
class Eagle3:
    """What EAGLE-3 normalizes in addition to the layer's inputs."""

    residual: bool  # the features in the residual
    taps: bool  # all taps together
    each_tap: bool  # each tap (3.1)
    output: bool  # the output that the next entry takes (3.1)


@dataclass(frozen=True)
class Assistant:
    """A Gemma 4 assistant's own layers. Those of its context are the target's."""

    hidden_size: int
    sliding: tuple[bool, ...]  # per layer: whether it reads a sliding layer's keys
    full_heads: int  # of keys in full attention
    full_dim: int
    full_rope: Rope
    centroids: int  # 0: every token is scored
    chosen: int  # centroids whose tokens are scored


@dataclass(frozen=True)
class Experts:
    """The experts of an MTP head, besides the shared one of size `intermediate_size`."""

    count: int
    chosen: int  # per row
    size: int  # intermediate
    normalized: bool  # whether the weights of the chosen ones add up to 1


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
    block_size: int  # most rows of a verify: the anchor and all proposals
    first_row: int  # first row of the drafter's block that proposes a token; 0: that of the anchor
    taps: tuple[int, ...]  # 0-based target layers whose outputs are the context features; see `tapped`
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
    dspark: DSpark | None
    eagle3: Eagle3 | None
    assistant: Assistant | None  # Gemma 4
    mtp: bool  # one gated layer that proposes tokens one by one, from the target's final norm
    experts: Experts | None  # MTP
    laguna: bool  # a norm per tap, context through each layer's input norm, gated heads
    stored: Stored | None

    @property
    def kind(self) -> str:
        """The published name of the drafter's kind."""
        own = (self.mtp, self.eagle3, self.dspark, self.assistant, self.selector)
        kinds = zip(("MTP", "EAGLE-3", "DSpark", "Assistant", "DFlash 2"), own, strict=True)
        return next((name for name, is_kind in kinds if is_kind), "DFlash")

    def tapped(self, layers: int) -> tuple[int, ...]:
        """Return the taps in a target with this number of layers."""
        return self.taps or (1, max(layers // 2 - 1, 2), max(layers - 4, 3))  # EAGLE-3's default

    @property
    def confident(self) -> bool:
        """Whether the drafter estimates if its proposals are accepted."""
        return self.dspark is not None and self.dspark.confidence > 0

    @property
    def tunable(self) -> bool:
        """Whether the drafter can be trained."""
        others = self.laguna, self.dspark, self.eagle3, self.mtp, self.assistant, self.draft_vocab_size
        return not any(others)

    def row(self, window: int | None) -> int:
        """Return the number of keys and values per token in a layer with this window."""
        heads, dim = self.kv_heads, self.head_dim
        if self.assistant and window is None:
            heads, dim = self.assistant.full_heads, self.assistant.full_dim
        return 2 * heads * dim

    @property
    def windowed(self) -> bool:
        """Whether every layer sees only a window of the context."""
        return None not in self.windows


def parse(config: dict) -> DrafterConfig:
    """Return the validated config of a drafter's config.json.

    Raises:
        UserError: the architecture is unsupported, or a field is unknown, missing, or contradictory.
    """
    kind, speculators, fields = _layout(config)
    layers, heads = fields.whole("num_hidden_layers", most=_MOST_LAYERS), fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    types = _layer_types(fields, layers)
    dspark = _dspark(fields, hidden) if kind == "dspark" else None
    eagle3 = Eagle3(*(bool(fields.flag(name)) for name in _EAGLE3_NORMS)) if kind == "eagle3" else None
    block = _EAGLE3_BLOCK if eagle3 else None
    first_row = _first_row(fields, speculators) if dspark else 1
    partial = "partial" if kind == "mtp" else "proportional" if dspark and dspark.gemma else ""
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
        rope=read_rope(fields, partial, copied=dspark is not None),
        block_size=fields.whole("block_size", block, 1 + first_row, MAX_BLOCK_ROWS - 1 + first_row) + 1 - first_row,
        first_row=first_row,
        taps=(target_layers or 0,) if kind == "mtp" else _taps(fields, kind, speculators, layers, target_layers),
        target_layers=target_layers,
        mask_token=fields.whole("mask_token_id", 0 if eagle3 else None, least=0),
        attention_bias=bool(fields.flag("attention_bias")),
        windows=tuple(window or _DSPARK_WINDOW for window in _windows(fields, types)) if dspark else _windows(fields, types),
        causal=_causality(fields, kind, speculators, types),
        embedding_scale=fields.number("input_embedding_scale", 1.0, above=0.0),
        output_multiplier=fields.number("output_multiplier", 1.0, above=0.0) * fields.number("logit_scale", 1.0, above=0.0),
        softcap=fields.number("final_logit_softcapping", 0.0, above=-1e-9) or None,
        convolution=Convolution(fields.whole("conv_kernel_size"), fields.whole("conv_group_size")) if kind == "dflash2" else None,
        selector=Selector(fields.whole("selector_rank"), fields.whole("selector_top_k")) if kind == "dflash2" else None,
        dspark=dspark,
        eagle3=eagle3,
        assistant=_assistant(fields.block("assistant")) if kind == "assistant" else None,
        mtp=kind == "mtp",
        experts=_experts(fields) if kind == "mtp" else None,
        laguna=kind == "laguna",
        stored=_stored(fields),
    )
    own = _DSPARK_SUPPORTED if dspark else _EAGLE3_SUPPORTED if eagle3 else {}
    exempt = _NOT_FOR_DSPARK if dspark else _EAGLE3_NORMS if eagle3 else ()
    for names, supported in (_SUPPORTED | own).items():
        for name in names.split():
            if name in exempt:
                fields.get(name)
            else:
                fields.must_be(name, *supported)
    fields.must_be("target_hidden_size", hidden)
    fields.must_be("gating", *(["per-head", True] if kind == "laguna" else [False]))
    _refuse_contradictions(result)
    fields.refuse_unread()
    return result


def _layout(config: dict) -> tuple[str, bool, ConfigFields]:
    """Return the drafter kind, whether it uses the speculators layout, and the fields."""
    speculators = config.get("speculators_model_type") is not None or config.get("transformer_layer_config") is not None
    named = config.get("architectures")
    names = [str(name) for name in named] if isinstance(named, list) else []
    levels = {"config.json": _plain_gemma(config) if _GEMMA in names else config}
    for name in ("dflash_config", "transformer_layer_config"):
        inner = config.get(name)
        if inner is not None and not isinstance(inner, dict):
            raise unexpected(name, inner, "object")
        if inner:
            levels[name] = inner
    if isinstance(nested := config.get("eagle_config"), dict):  # lists the taps as other configs list `target_layer_ids`
        levels["eagle_config"] = {_NESTED_TAPS.get(name, name): value for name, value in nested.items()}
    is_spark = any(_KINDS.get(name) == "dspark" for name in names)  # its trainers add fields that have no effect
    fields = ConfigFields(levels, frozenset() if is_spark else frozenset({"dflash_config"}))
    kinds = {_KINDS[name] for name in names if name in _KINDS}
    if not speculators and assistant_config.is_assistant(config):
        return "assistant", False, ConfigFields({"config.json": assistant_config.translated(config)})
    if not (speculators or kinds) and may_have_mtp(config):
        return "mtp", False, ConfigFields({"config.json": translated(config)})
    if speculators:
        kind = config.get("speculators_model_type")
        if isinstance(kind, str) and kind in _SPECULATORS:
            if names and not _SPECULATORS[kind].intersection(names):
                raise contradiction("architectures", names, "speculators_model_type", kind)
            return kind, True, fields
    elif len(kinds) == 1:
        return kinds.pop(), False, fields
    field = "speculators_model_type" if speculators else "architectures"
    raise unexpected(field, config.get(field), "DFlash, DFlash 2, DSpark, EAGLE-3, MTP, Gemma 4 assistant")


def _plain_gemma(config: dict) -> dict:
    """Return a Gemma DSpark config in which the fields of full attention have the usual names."""
    rope = config.get("rope_parameters")
    heads = config.get("num_global_key_value_heads") if config.get("attention_k_eq_v") else None
    plain = {"head_dim": "global_head_dim", "num_key_value_heads": "num_global_key_value_heads" if heads else "num_key_value_heads"}
    full = rope.get(_FULL) if isinstance(rope, dict) else None
    return {**config, **{name: config.get(source) for name, source in plain.items()}, "rope_parameters": full, "rope_theta": None}


def _dspark(fields: ConfigFields, hidden: int) -> DSpark:
    names = fields.list("architectures", str) or []
    rank = fields.whole("markov_rank", _LFM_RANK if _LFM in names else None)
    reads_token = fields.flag("confidence_head_with_markov", True)
    confidence = hidden + (rank if reads_token else 0) if fields.flag("enable_confidence_head", True) else 0
    neighbors, sinks = fields.flag("rope_is_neox_style") is False, fields.flag("attention_sink_bias") is True
    return DSpark(rank, confidence, _GEMMA in names, neighbors, sinks)


def _assistant(own: dict) -> Assistant:
    rope = read_rope(ConfigFields({"full_attention": {"rope_parameters": own["full_rope"]}}), "proportional")
    return Assistant(**{**own, "sliding": tuple(own["sliding"]), "full_rope": rope})


def _experts(fields: ConfigFields) -> Experts | None:
    if not (count := fields.whole("num_experts", 0, least=0)):
        return None
    chosen, size = fields.whole("num_experts_per_tok", most=count), fields.whole("moe_intermediate_size")
    return Experts(count, chosen, size, fields.flag("norm_topk_prob") is True)


def _first_row(fields: ConfigFields, speculators: bool) -> int:
    """Return the first row that proposes a token."""
    if (explicit := fields.flag("sample_from_anchor")) is not None or not speculators:
        return 0 if explicit in (None, True) else 1
    # Older configs tell it only by the number of proposals
    methods = fields.block("speculators_config").get("proposal_methods")
    count = methods[0].get("speculative_tokens") if isinstance(methods, list) and methods and isinstance(methods[0], dict) else None
    return 0 if count == fields.get("block_size") else 1


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
    causal = fields.flag("dflash_query_causal") and fields.get("sliding_window") is not None
    if (causal or fields.flag("use_swa")) and _SLIDING not in types:
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
    if explicit is None and fields.flag("dflash_query_causal"):
        explicit = True
    if explicit is not None:
        return (explicit,) * len(types)
    if kind == "muse" or (fields.flag("use_swa") and fields.get("layer_types") is None):
        return (False,) * len(types)
    if speculators and fields.flag("sliding_window_non_causal", kind == "dflash2"):
        return (False,) * len(types)
    return tuple(name == _SLIDING for name in types)


def _taps(fields: ConfigFields, kind: str, speculators: bool, layers: int, target_layers: int | None) -> tuple[int, ...]:
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
    if not taps and kind in ("eagle3", "assistant"):
        return ()
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
    if c.eagle3 and c.windows != (None,):
        raise unexpected("layer_types", [_SLIDING], _FULL)
    window = min((window for window in c.windows if window is not None), default=c.block_size)
    if window < c.block_size:
        raise contradiction("sliding_window", window, "block_size", c.block_size)
    if c.vocab_size is None and (c.selector or c.dspark or c.eagle3 or c.draft_vocab_size is not None):
        raise missing("vocab_size")
    if c.vocab_size is not None and c.mask_token >= c.vocab_size:
        raise contradiction("mask_token_id", c.mask_token, "vocab_size", c.vocab_size)
    if c.convolution is not None and c.hidden_size % c.convolution.group:
        raise contradiction("hidden_size", c.hidden_size, "conv_group_size", c.convolution.group)
    if c.draft_vocab_size is not None and (c.selector is not None or c.draft_vocab_size > (c.vocab_size or 0)):
        raise contradiction("draft_vocab_size", c.draft_vocab_size, "vocab_size", c.vocab_size)
    if c.selector is not None and c.selector.top_k > (c.vocab_size or 0):
        raise contradiction("selector_top_k", c.selector.top_k, "vocab_size", c.vocab_size)
