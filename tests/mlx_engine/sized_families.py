"""Random models of every family that are small, but whose prompt chunks need more memory than most of their weights."""

import json
from typing import Any

from mlx_engine.models.configs.families import FAMILIES
from tests.mlx_engine.tiny_families import CONFIGS

VOCABULARY = 16384  # of the demo pair's tokenizer
_SIZES: dict[str, Any] = {
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": VOCABULARY,
    "vocab_size_per_layer_input": VOCABULARY,
    "max_position_embeddings": 8192,
    "sliding_window": 256,
    "global_head_dim": 128,
    "num_global_key_value_heads": 2,
    "hidden_size_per_layer_input": 64,
    "rotary_dim": 32,
    # experts
    "num_experts": 8,
    "n_routed_experts": 8,
    "num_local_experts": 8,
    "moe_intermediate_size": 256,
    "shared_expert_intermediate_size": 256,
    "moe_shared_expert_intermediate_size": 256,
    # latent attention
    "kv_lora_rank": 128,
    "q_lora_rank": 256,
    "qk_rope_head_dim": 32,
    "qk_nope_head_dim": 64,
    "v_head_dim": 64,
    "index_head_dim": 64,
    "index_n_heads": 4,
    "index_topk": 256,
    # recurrent layers
    "linear_num_value_heads": 8,
    "linear_num_key_heads": 4,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "block_dim": 512,
    "block_multiple_of": 64,
    "mamba_num_heads": 16,
    "mamba_head_dim": 64,
    "ssm_state_size": 64,
}
_LIKE = {"kimi_k2": "deepseek_v3", "deepseek_v32": "glm_moe_dsa", "minimax": "minimax_m2"}  # tiny configs for other names
_LISTS = ("layer_types", "mlp_layer_types", "num_attention_heads_per_layer")


def sized(name: str) -> dict[str, Any]:
    """Return the config of a family's model with at least two layers of full attention.

    Nobody needs the results of a last layer that isn't tapped, so its attention alone wouldn't show.
    """
    config = _grown(json.loads(json.dumps(CONFIGS[_LIKE.get(name, name)])))
    if name in _LIKE:
        config = {**config, "model_type": name}
    if name == "deepseek_v32":
        del config["rope_parameters"]
    return config


def _grown(config: dict[str, Any]) -> dict[str, Any]:
    for field, value in config.items():
        if isinstance(value, dict) and field == "text_config":
            config[field] = _grown(value)
        elif value and field in _SIZES:
            config[field] = _SIZES[field]
    if "num_attention_heads_per_layer" in config:
        config["num_attention_heads_per_layer"] = [8, 4, 8, 8]
    if "kv_lora_rank" in config:
        config["num_key_value_heads"] = config["num_attention_heads"]
        del config["head_dim"]
    if config.get("num_hidden_layers") == 4 and config.get("layer_types", ["full_attention"])[-1] == "full_attention":
        config["num_hidden_layers"] = 8
        config |= {field: 2 * config[field] for field in _LISTS if field in config}
    return config


SIZED = {name: sized(name) for name in FAMILIES}
