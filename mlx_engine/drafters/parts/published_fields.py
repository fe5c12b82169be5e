"""The fields of drafters that have a repository of their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from mlx_engine.drafters.parts.config_fields import ConfigFields, contradiction, missing, unexpected
from mlx_engine.drafters.parts.drafter_config import sizes
from mlx_engine.drafters.parts.rope_config import read_rope

FULL, SLIDING = "full_attention", "sliding_attention"
# Supported values of fields that change the computation without changing the tensors
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("silu", "swish"),
    "draft_ffn_type": ("dense",),
    "partial_rotary_factor hc_mult": (1,),
    "is_neox_style rope_is_neox_style use_aux_hidden_state use_qk_norm qk_norm": (True,),
    "shift_label mlp_bias attention_sink_bias add_swa_attention_sink_bias": (False,),
    "norm_before_fc norm_before_residual enable_confidence_head fc_bias": (False,),
    "markov_rank attn_logit_softcapping": (0,),
    "gating": (False,),
}


def architectures(config: dict) -> list[str]:
    """Return the architectures of a config.json."""
    named = config.get("architectures")
    return [str(name) for name in named] if isinstance(named, list) else []


def is_speculators(config: dict) -> bool:
    """Return whether a config.json has the layout of the speculators library."""
    return config.get("speculators_model_type") is not None or config.get("transformer_layer_config") is not None


class PublishedFields(ConfigFields):
    """The fields of a config.json in one of the published layouts.

    Args:
        config: the contents of config.json.
        strict: whether unknown fields in `dflash_config` are refused.
        more: more levels, by name.
    """

    def __init__(self, config: dict, strict: bool = True, more: Mapping[str, dict] | None = None) -> None:
        levels = {"config.json": config}
        for name in ("dflash_config", "transformer_layer_config"):
            inner = config.get(name)
            if inner is not None and not isinstance(inner, dict):
                raise unexpected(name, inner, "object")
            if inner:
                levels[name] = inner
        super().__init__({**levels, **(more or {})}, frozenset({"dflash_config"}) if strict else frozenset())
        self.speculators = is_speculators(config)
        self.architectures = architectures(config)

    def common(self, partial: str = "", copied: bool = False) -> dict[str, Any]:
        """Return the arguments that all published `DrafterConfig`s have."""
        size = sizes(self)
        target_layers, draft_vocab = self.optional("num_target_layers"), self.optional("draft_vocab_size")
        multipliers = [self.number(name, 1.0, above=0.0) for name in ("output_multiplier", "logit_scale")]
        self.must_be("target_hidden_size", size["hidden_size"])
        return {
            **size,
            "draft_vocab_size": draft_vocab if draft_vocab != size["vocab_size"] else None,
            "rope": read_rope(self, partial, copied),
            "target_layers": target_layers,
            "output_multiplier": multipliers[0] * multipliers[1],
            "softcap": self.number("final_logit_softcapping", 0.0, above=-1e-9) or None,
        }

    def causality(self, types: list[str], usual: bool | None = None) -> tuple[bool, ...]:
        """Return per layer whether attention within the block is causal.

        Args:
            types: the layers' kinds of attention.
            usual: what holds for all layers unless a field says otherwise; None if only sliding layers are causal.
        """
        explicit, named = None, ""
        for name in ("is_causal", "causal", "causal_head"):  # z-lab's, vLLM's, and JetSpec's
            if (value := self.flag(name)) is None:
                continue
            if explicit is not None and explicit != value:
                raise contradiction(named, explicit, name, value)
            explicit, named = value, name
        if explicit is None and self.flag("dflash_query_causal"):
            explicit = True
        if explicit is None and self.flag("use_swa") and self.get("layer_types") is None:
            explicit = False
        if explicit is None and self.speculators:
            non_causal = self.flag("sliding_window_non_causal", None if usual is None else not usual)
            explicit = False if non_causal else None
        elif explicit is None:
            explicit = usual
        return tuple(name == SLIDING if explicit is None else explicit for name in types)

    def layer_types(self, layers: int) -> list[str]:
        """Return the kind of attention of each layer."""
        types = self.list("layer_types", str)
        sliding = self.flag("use_sliding_window")
        if types is None:
            first = layers
            if self.flag("use_swa"):
                first = 0
            elif sliding and self.get("sliding_window") is not None:
                first = self.whole("max_window_layers", layers, least=0)
            types = [SLIDING if i >= first else FULL for i in range(layers)]
        elif sliding is False and SLIDING in types:
            raise contradiction("use_sliding_window", False, "layer_types", types)
        if len(types) != layers:
            raise contradiction("layer_types", types, "num_hidden_layers", layers)
        for name in types:
            if name not in (FULL, SLIDING):
                raise unexpected("layer_types", name, f"{FULL}, {SLIDING}")
        return types

    def windows(self, types: list[str]) -> tuple[int | None, ...]:
        causal = self.flag("dflash_query_causal") and self.get("sliding_window") is not None
        if (causal or self.flag("use_swa")) and SLIDING not in types:
            types = [SLIDING] * len(types)
        if SLIDING not in types:
            return (None,) * len(types)
        window = self.whole("swa_window_size" if self.get("swa_window_size") is not None else "sliding_window")
        return tuple(window if kind == SLIDING else None for kind in types)

    def taps(self, layers: int, target_layers: int | None, needed: bool = True) -> tuple[int, ...]:
        """Return the tapped target layers, 0-based. They may be absent unless `needed`."""
        taps = self.list("target_layer_ids", int)
        # speculators and vLLM count layer inputs, so their numbers are higher by one
        inputs = self.list("aux_hidden_state_layer_ids", int) or self.list("eagle_aux_hidden_state_layer_ids", int)
        if inputs:
            if 0 in inputs:
                raise unexpected("aux_hidden_state_layer_ids", inputs, "1, 2, …")
            if taps and [tap + 1 for tap in taps] != inputs:
                raise contradiction("target_layer_ids", taps, "aux_hidden_state_layer_ids", inputs)
            taps = [layer - 1 for layer in inputs]
        if not taps and not needed:
            return ()
        if not taps:
            if target_layers is None or self.speculators:
                raise missing("aux_hidden_state_layer_ids" if self.speculators else "target_layer_ids")
            evenly = [round(1 + i * (target_layers - 4) / (layers - 1)) for i in range(layers)] if layers > 1 else []
            taps = evenly or [target_layers // 2]
        if min(taps) < 0:
            raise unexpected("target_layer_ids", taps, "0, 1, …")
        if target_layers is not None and max(taps) >= target_layers:
            raise contradiction("target_layer_ids", taps, "num_target_layers", target_layers)
        return tuple(taps)

    def refuse_unsupported(self, own: Mapping[str, tuple[Any, ...]] | None = None, exempt: Iterable[str] = ()) -> None:
        """Refuse fields that would need an unsupported computation.

        Args:
            own: supported values of fields of one kind.
            exempt: fields that have no effect, or that the kind reads itself.
        """
        for names, supported in (_SUPPORTED | dict(own or {})).items():
            for name in names.split():
                if name in exempt:
                    self.get(name)
                else:
                    self.must_be(name, *supported)
