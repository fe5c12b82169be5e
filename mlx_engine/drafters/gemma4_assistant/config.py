"""The config of a Gemma 4 assistant, nested in one for the target."""

from dataclasses import dataclass
from typing import ClassVar

from mlx_engine.drafters.parts.config_fields import ConfigFields, contradiction, missing, unexpected
from mlx_engine.drafters.parts.drafter_config import DrafterConfig, checked, sizes
from mlx_engine.drafters.parts.kind import DrafterKind
from mlx_engine.drafters.parts.layer_settings import OLDER_NAMES, full_layers
from mlx_engine.drafters.parts.rope_config import RopeConfig, read_rope

_BLOCK = 8  # most rows of a verify; drafts form a chain of any length, and the width follows their acceptance
_ORDERED = ("num_centroids", "centroid_intermediate_top_k")
_ATTENTION = ("sliding_attention", "full_attention")
_MODEL_TYPES = ("gemma4_assistant", "gemma4_unified_assistant")  # the second one for the 12B, which has no vision tower
_FULL_DIM = 512  # unless the config sets it


@dataclass(frozen=True, kw_only=True)
class AssistantConfig(DrafterConfig):
    """The assistant's config. Its context is that of two target layers."""

    kind: ClassVar[str] = "Assistant"
    reads_target_keys: ClassVar[bool] = True
    taps_norm: ClassVar[bool] = True
    vocab_size: int
    own_size: int  # hidden size of its own layers
    sliding: tuple[bool, ...]  # per own layer: whether it reads a sliding layer's keys
    full_heads: int  # of keys in full attention
    full_dim: int
    full_rope: RopeConfig
    centroids: int  # 0: every token is scored
    chosen: int  # centroids whose tokens are scored

    def tapped(self, layers: int) -> tuple[int, ...]:
        return (layers,) * 3  # the inputs of two layers, which depend on the target's weights, and its final norm

    def row(self, window: int | None) -> int:
        return 2 * self.full_heads * self.full_dim if window is None else super().row(window)

    @property
    def injected(self) -> int:
        return 0  # they are the target's


def is_assistant(config: dict) -> bool:
    return config.get("model_type") in _MODEL_TYPES


def read(config: dict) -> AssistantConfig:
    text = config.get("text_config")
    text = text if isinstance(text, dict) else {}
    outer = ConfigFields({"config.json": config})
    if (full := full_layers(text)) is None:
        expected = f"the same {', '.join(OLDER_NAMES)} of every layer with {_ATTENTION[1]}"
        raise unexpected("per_layer_config", text["per_layer_config"], expected)
    fields = ConfigFields({"text_config": text, "per_layer_config": full})
    outer.must_be("tie_word_embeddings", True)
    fields.must_be("hidden_activation", "gelu_pytorch_tanh")
    fields.must_be("use_bidirectional_attention", "vision")
    fields.must_be("hidden_size_per_layer_input", 0)
    for name in ("attention_bias", "enable_moe_block", "use_double_wide_mlp"):
        fields.must_be(name, False)
    layers, types, rope = fields.whole("num_hidden_layers"), fields.list("layer_types", str) or [], fields.block("rope_parameters")
    if len(types) != layers or not {*types} <= {*_ATTENTION}:
        raise unexpected("layer_types", types, ", ".join(_ATTENTION))
    if fields.whole("num_kv_shared_layers", layers) != layers:
        raise contradiction("num_kv_shared_layers", fields.get("num_kv_shared_layers"), "num_hidden_layers", layers)
    if not all(isinstance(rope.get(kind), dict) for kind in _ATTENTION):
        raise missing("rope_parameters")
    centroids, chosen = (outer.whole(name) if outer.flag("use_ordered_embeddings") else 0 for name in _ORDERED)
    if centroids and fields.whole("vocab_size") % centroids:
        raise contradiction(_ORDERED[0], centroids, "vocab_size", fields.get("vocab_size"))
    if chosen > centroids:
        raise contradiction(_ORDERED[1], chosen, _ORDERED[0], centroids)
    heads = fields.whole("num_key_value_heads")
    context = ConfigFields(
        {
            "config.json": {
                **{name: config.get(name) for name in ("quantization", "quantization_config")},
                **{name: fields.get(name) for name in "intermediate_size num_attention_heads head_dim rms_norm_eps".split()},
                "vocab_size": fields.whole("vocab_size"),
                "num_key_value_heads": heads,
                "hidden_size": outer.whole("backbone_hidden_size"),
                "num_hidden_layers": len(_ATTENTION),
            }
        }
    )
    fields.get("final_logit_softcapping")  # has no effect: it keeps the order of the tokens
    outer.refuse_unread()
    fields.refuse_unread()
    ropes = [ConfigFields({kind: {"rope_parameters": rope[kind]}}) for kind in _ATTENTION]
    made = AssistantConfig(
        **sizes(context),
        rope=read_rope(ropes[0]),
        block_size=_BLOCK,
        windows=(fields.whole("sliding_window") + 1, None),  # queries have the position before the anchor's
        own_size=fields.whole("hidden_size"),
        sliding=tuple(kind == _ATTENTION[0] for kind in types),
        full_heads=fields.whole("num_global_key_value_heads", heads) if fields.flag("attention_k_eq_v") else heads,
        full_dim=fields.whole("global_head_dim", _FULL_DIM),
        full_rope=read_rope(ropes[1], "proportional"),
        centroids=centroids,
        chosen=chosen,
    )
    return checked(made, context)


KIND = DrafterKind(
    name=AssistantConfig.kind,
    folder="gemma4_assistant",
    read=read,
    recognizes=is_assistant,
    resembles="Assistant",
    tokens_per_round=None,  # nothing is published
    chains=True,
)
