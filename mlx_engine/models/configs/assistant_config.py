"""The config.json of a Gemma 4 assistant: that of its own layers, nested in one for the target."""

from mlx_engine.models.configs.config_fields import ConfigFields, contradiction, missing, unexpected
from mlx_engine.models.configs.per_layer import OLDER_NAMES, full_layers

_BLOCK = 8  # most rows of a verify; drafts form a chain of any length, and the width follows their acceptance
_ORDERED = ("num_centroids", "centroid_intermediate_top_k")
_KINDS = ("sliding_attention", "full_attention")
_MODEL_TYPES = ("gemma4_assistant", "gemma4_unified_assistant")  # the second one for the 12B, which has no vision tower
_FULL_DIM = 512  # unless the config sets it


def is_assistant(config: dict) -> bool:
    """Return whether a config.json is that of a Gemma 4 assistant."""
    return config.get("model_type") in _MODEL_TYPES


def translated(config: dict) -> dict:
    """Return an assistant's config in the layout of a flat drafter config, with the layers of its context.

    Raises:
        UserError: the assistant isn't supported, or a field is missing.
    """
    text = config.get("text_config")
    text = text if isinstance(text, dict) else {}
    outer = ConfigFields({"config.json": config})
    if (full := full_layers(text)) is None:
        expected = f"the same {', '.join(OLDER_NAMES)} of every layer with {_KINDS[1]}"
        raise unexpected("per_layer_config", text["per_layer_config"], expected)
    fields = ConfigFields({"text_config": text, "per_layer_config": full})
    outer.must_be("tie_word_embeddings", True)
    fields.must_be("hidden_activation", "gelu_pytorch_tanh")
    fields.must_be("use_bidirectional_attention", "vision")
    fields.must_be("hidden_size_per_layer_input", 0)
    for name in ("attention_bias", "enable_moe_block", "use_double_wide_mlp"):
        fields.must_be(name, False)
    layers, types, rope = fields.whole("num_hidden_layers"), fields.list("layer_types", str) or [], fields.block("rope_parameters")
    if len(types) != layers or not {*types} <= {*_KINDS}:
        raise unexpected("layer_types", types, ", ".join(_KINDS))
    if fields.whole("num_kv_shared_layers", layers) != layers:
        raise contradiction("num_kv_shared_layers", fields.get("num_kv_shared_layers"), "num_hidden_layers", layers)
    if not all(isinstance(rope.get(kind), dict) for kind in _KINDS):
        raise missing("rope_parameters")
    centroids, chosen = (outer.whole(name) if outer.flag("use_ordered_embeddings") else 0 for name in _ORDERED)
    if centroids and fields.whole("vocab_size") % centroids:
        raise contradiction(_ORDERED[0], centroids, "vocab_size", fields.get("vocab_size"))
    if chosen > centroids:
        raise contradiction(_ORDERED[1], chosen, _ORDERED[0], centroids)
    heads = fields.whole("num_key_value_heads")
    same = "intermediate_size num_attention_heads num_key_value_heads head_dim vocab_size rms_norm_eps"
    return {
        **{name: fields.get(name) for name in same.split()},
        **{name: config.get(name) for name in ("quantization", "quantization_config")},
        "hidden_size": outer.whole("backbone_hidden_size"),
        "num_hidden_layers": len(_KINDS),
        "layer_types": [*_KINDS],
        "sliding_window": fields.whole("sliding_window") + 1,  # queries have the position before the anchor's
        "block_size": _BLOCK,
        "mask_token_id": 0,
        "rope_parameters": rope[_KINDS[0]],
        "assistant": {
            "hidden_size": fields.whole("hidden_size"),
            "sliding": [kind == _KINDS[0] for kind in types],
            "full_heads": fields.whole("num_global_key_value_heads", heads) if fields.flag("attention_k_eq_v") else heads,
            "full_dim": fields.whole("global_head_dim", _FULL_DIM),
            "full_rope": rope[_KINDS[1]],
            "centroids": centroids,
            "chosen": chosen,
        },
    }
