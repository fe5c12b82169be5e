"""Pairs with the depth of real ones and random weights, otherwise tiny.

The host's work per layer is that of a large pair. Head dimensions, grouped heads and taps are realistic, because MLX picks its
kernels by them; hidden sizes and vocabulary are not.
"""

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlx_engine.models.library.pair import demo_pair

BLOCK = 16
_HIDDEN, _WIDE, _VOCABULARY, _LAYERS = 128, 256, 1536, 5
_DENSE = {
    "model_type": "qwen3", "hidden_size": _HIDDEN, "intermediate_size": _WIDE, "num_attention_heads": 4, "num_key_value_heads": 1,
    "head_dim": 128, "rms_norm_eps": 1e-6, "vocab_size": _VOCABULARY, "rope_theta": 1e6, "max_position_embeddings": 4096,
    "tie_word_embeddings": True, "eos_token_id": 2,
}  # fmt: skip
_DELTA = {
    **_DENSE, "head_dim": 256, "linear_num_value_heads": 4, "linear_num_key_heads": 4, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
}  # fmt: skip
_PARTLY = {
    "rope_type": "default", "type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10],
    "mrope_interleaved": True,
}  # fmt: skip
MIDDLING = {
    **_DENSE, "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 8, "num_key_value_heads": 2,
    "num_hidden_layers": 12, "max_position_embeddings": 40960,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {
    "qwen3, 32 layers": {**_DENSE, "num_hidden_layers": 32},
    "qwen3_5, 32 layers": {
        "model_type": "qwen3_5", "tie_word_embeddings": True, "eos_token_id": 2,
        "text_config": {**_DELTA, "model_type": "qwen3_5_text", "num_hidden_layers": 32, "rope_parameters": _PARTLY},
    },
    "qwen3_5, 64 layers": {
        "model_type": "qwen3_5", "tie_word_embeddings": True, "eos_token_id": 2,
        "text_config": {**_DELTA, "model_type": "qwen3_5_text", "num_hidden_layers": 64, "rope_parameters": _PARTLY},
    },
    "qwen3_next, 32 layers": {
        **_DELTA, "model_type": "qwen3_next", "num_hidden_layers": 32, "num_experts": 8, "num_experts_per_tok": 2,
        "decoder_sparse_step": 1, "shared_expert_intermediate_size": 64, "mlp_only_layers": [], "moe_intermediate_size": 64,
        "partial_rotary_factor": 0.25, "norm_topk_prob": True, "tie_word_embeddings": False,
    },
}  # fmt: skip


def write(config: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write a pair with this config.json, one of `KINDS` or `MIDDLING`, and a five-layer drafter.

    Returns:
        The folders of target and drafter.
    """
    text = config.get("text_config", config)
    target, drafter = folder / "target", folder / "drafter"
    for place in (target, drafter):
        place.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(demo_pair()[0] / name, target / name)
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")
    module = import_module(f"mlx_lm.models.{config['model_type']}")
    mx.random.seed(0)
    model = module.Model(module.ModelArgs.from_dict(config))
    weights: list[tuple[str, mx.array]] = tree_flatten(model.parameters())  # type: ignore[assignment]
    mx.save_safetensors(str(target / "model.safetensors"), dict(weights), metadata={"format": "mlx"})
    layers = text["num_hidden_layers"]
    hidden = text["hidden_size"]
    own = {
        **_DENSE, "hidden_size": hidden, "max_position_embeddings": text["max_position_embeddings"],
        "architectures": ["DFlashDraftModel"], "num_hidden_layers": _LAYERS, "num_target_layers": layers,
        "block_size": BLOCK,
        "layer_types": ["full_attention"] * _LAYERS, "attention_bias": False, "hidden_act": "silu", "rope_scaling": None,
        "dflash_config": {"target_layer_ids": [1 + n * (layers - 4) // 4 for n in range(5)], "mask_token_id": 3},
    }  # fmt: skip
    (drafter / "config.json").write_text(json.dumps(own), encoding="utf-8")
    mx.save_safetensors(str(drafter / "model.safetensors"), _drafter_weights(5, hidden), metadata={"format": "pt"})
    return target, drafter


def _drafter_weights(taps: int, hidden: int) -> dict[str, mx.array]:
    heads, kv = 4 * 128, 128
    shapes: dict[str, tuple[int, ...]] = {"fc": (hidden, taps * hidden), "hidden_norm": (hidden,), "norm": (hidden,)}
    for layer in range(_LAYERS):
        parts = {
            "input_layernorm": (hidden,), "post_attention_layernorm": (hidden,), "self_attn.q_norm": (128,),
            "self_attn.k_norm": (128,),
            "self_attn.q_proj": (heads, hidden), "self_attn.k_proj": (kv, hidden), "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, heads), "mlp.gate_proj": (_WIDE, hidden), "mlp.up_proj": (_WIDE, hidden),
            "mlp.down_proj": (hidden, _WIDE),
        }  # fmt: skip
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in parts.items()}
    return {
        f"{name}.weight": mx.random.normal(shape) * shape[-1] ** -0.5 if len(shape) > 1 else mx.ones(shape)
        for name, shape in shapes.items()
    }
