"""The config.json of an MTP head: that of its target, alone or nested in a converter's."""

from mlx_engine.models.configs.config_fields import ConfigFields, contradiction, missing

_OWNERS = ("qwen3_5", "qwen3_5_moe", "qwen3_next", "qwen3_5_mtp")
_BLOCK = 8  # most rows of a verify; drafts form a chain of any length, and the width follows their acceptance


def may_have_mtp(config: dict) -> bool:
    """Return whether a config.json belongs to a family with MTP heads."""
    return config.get("model_type") in _OWNERS


def translated(config: dict) -> dict:
    """Return the config of an MTP head in the layout of a flat drafter config.

    Raises:
        UserError: the head isn't supported, or a field is missing.
    """
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, dict) else config
    fields = ConfigFields({"config.json": text})
    for name, supported in {
        "hidden_act": "silu",
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "attention_bias": False,
        "attn_output_gate": True,
    }.items():
        fields.must_be(name, supported)
    layers, rope = fields.optional("num_hidden_layers"), fields.block("rope_parameters")
    if layers is None:
        raise missing("num_hidden_layers")
    if fields.block("rope_scaling"):
        raise contradiction("rope_scaling", text["rope_scaling"], "model_type", text["model_type"])
    experts = fields.whole("num_experts", 0, least=0)
    same = "hidden_size num_attention_heads num_key_value_heads head_dim vocab_size rms_norm_eps quantization quantization_config"
    return {
        **{name: text.get(name) for name in same.split()},
        "num_hidden_layers": 1,
        "num_target_layers": layers,
        "intermediate_size": text.get("shared_expert_intermediate_size" if experts else "intermediate_size"),
        "block_size": _BLOCK,
        "mask_token_id": 0,
        "rope_parameters": {
            "rope_type": "partial" if rope.get("rope_type") in (None, "default") else rope["rope_type"],
            "rope_theta": rope.get("rope_theta", text.get("rope_theta")),
            "partial_rotary_factor": rope.get("partial_rotary_factor", text.get("partial_rotary_factor", 0.25)),
        },
        **({name: text.get(name) for name in ("num_experts_per_tok", "moe_intermediate_size")} if experts else {}),
        "num_experts": experts,
        "norm_topk_prob": text.get("norm_topk_prob", text["model_type"] != "qwen3_next"),
    }
