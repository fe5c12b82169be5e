"""Tiny random models of every family that DFlash supports, built from mlx-lm's config classes, and folders of such pairs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map_with_path
from mlx_lm.utils import _get_classes, quantize_model

from tests.mlx_engine.conftest import GOLDEN

VOCABULARY = 128  # of the tokenizer that these models borrow
WINDOW = 8
MASK = 4

_BASE: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": VOCABULARY,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32}
_MOE = {**EXPERTS, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True}
_DELTA = {
    "num_hidden_layers": 4,
    "full_attention_interval": 2,
    "linear_num_value_heads": 4,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "partial_rotary_factor": 0.5,
}
_SLIDING = {
    "num_hidden_layers": 4,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
}
_GEMMA = {
    **_SLIDING,
    "global_head_dim": 32,
    "num_kv_shared_layers": 0,
    "hidden_size_per_layer_input": 0,
    "use_double_wide_mlp": False,
    "tie_word_embeddings": True,
}
_MLA = {
    "num_key_value_heads": 4,
    "moe_intermediate_size": 32,
    "n_shared_experts": 1,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 32,
    "q_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 32,
    "rope_theta": 10000.0,
    "routed_scaling_factor": 1.0,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "n_group": 2,
    "topk_group": 1,
    "moe_layer_freq": 1,
    "attention_bias": False,
}


def _nested(model_type: str, inner: dict, **outer: Any) -> dict:
    return {"model_type": model_type, "vocab_size": VOCABULARY, "text_config": {**_BASE, **inner}, **outer}


CONFIGS: dict[str, dict] = {
    "qwen3": {**_BASE, "model_type": "qwen3", "tie_word_embeddings": True},
    "qwen3_moe": {**_BASE, **_MOE, "model_type": "qwen3_moe"},
    "qwen3_next": {**_BASE, **_MOE, **_DELTA, "model_type": "qwen3_next"},
    "qwen3_vl": _nested("qwen3_vl", {"model_type": "qwen3_vl_text"}),
    "qwen3_5": _nested("qwen3_5", {**_DELTA, "model_type": "qwen3_5_text", "full_attention_interval": 4}),
    "qwen3_5_moe": _nested("qwen3_5_moe", {**_DELTA, **EXPERTS, "model_type": "qwen3_5_moe_text"}),
    # as the 12B's config says; keys that are values too on the full layers
    "gemma4_unified": _nested(
        "gemma4_unified", {**_GEMMA, "model_type": "gemma4_text", "attention_k_eq_v": True, "num_global_key_value_heads": 1}
    ),
    # as the 26B: experts next to the dense half
    "gemma4": _nested(
        "gemma4",
        {
            **_GEMMA,
            "model_type": "gemma4_text",
            "enable_moe_block": True,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": 32,
        },
    ),
    # as the small ones: the last layers use earlier layers' keys, and each layer has inputs of its own
    "gemma4_text": {
        **_BASE,
        **_GEMMA,
        "model_type": "gemma4_text",
        "num_hidden_layers": 6,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
        "num_kv_shared_layers": 2,
        "hidden_size_per_layer_input": 32,
        "vocab_size_per_layer_input": VOCABULARY,
        "use_double_wide_mlp": True,
    },
    "gpt_oss": {
        **_BASE,
        **_SLIDING,
        "model_type": "gpt_oss",
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
    },
    "llama": {**_BASE, **_SLIDING, "model_type": "llama"},
    "minimax_m2": {
        **_BASE,
        "model_type": "minimax_m2",
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 0,
        "rotary_dim": 8,
    },
    "deepseek_v3": {**_BASE, **_MLA, "model_type": "deepseek_v3"},
    "kimi_k25": {"model_type": "kimi_k25", "text_config": {**_BASE, **_MLA, "model_type": "deepseek_v3", "q_lora_rank": None}},
    "glm_moe_dsa": {
        **_BASE,
        **_MLA,
        "model_type": "glm_moe_dsa",
        "index_head_dim": 32,
        "index_n_heads": 2,
        "index_topk": 12,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    },
    "muse_glimmer": {**_BASE, **_SLIDING, "model_type": "muse_glimmer"},
    "laguna": {
        **_BASE,
        **_SLIDING,
        **EXPERTS,
        "model_type": "laguna",
        "mlp_layer_types": ["dense", "sparse", "sparse", "dense"],
        "num_attention_heads_per_layer": [4, 2, 4, 4],
        "rope_parameters": {"full_attention": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    },
}
_CONV = {
    "num_hidden_layers": 4,
    "norm_eps": 1e-6,
    "conv_bias": False,
    "conv_L_cache": 3,
    "tie_word_embeddings": True,
    "layer_types": ["conv", "conv", "full_attention", "conv"],
}
CONFIGS |= {
    "lfm2": {
        **_BASE,
        **_CONV,
        "model_type": "lfm2",
        "block_dim": 64,
        "block_multiple_of": 32,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": True,
    },
    "lfm2_moe": {
        **_BASE,
        **_CONV,
        **EXPERTS,
        "model_type": "lfm2_moe",
        "num_dense_layers": 1,
        "use_expert_bias": True,
        "norm_topk_prob": True,
    },
}
CONFIGS["nemotron_h"] = {
    **_BASE,
    "model_type": "nemotron_h",
    "num_hidden_layers": 5,
    "hybrid_override_pattern": "ME*-M",
    "head_dim": 16,
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "mamba_proj_bias": False,
    "ssm_state_size": 32,
    "conv_kernel": 4,
    "n_groups": 2,
    "mlp_bias": False,
    "use_bias": False,
    "use_conv_bias": True,
    "attention_bias": False,
    "layer_norm_epsilon": 1e-5,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 32,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "routed_scaling_factor": 1.0,
    "time_step_limit": [0.001, 100.0],
}
FAMILIES = tuple(CONFIGS)
SLIDING = ("gemma4_unified", "gemma4", "gemma4_text", "gpt_oss", "llama", "muse_glimmer", "laguna")
# Their one-row pass is another formula than their pass of several rows, in mlx-lm itself, so the two agree only nearly.
TWO_FORMULAS = ("deepseek_v3", "kimi_k25", "glm_moe_dsa")


def text(name: str) -> dict:
    """The part of a family's config that describes its layers."""
    return {**CONFIGS[name], **CONFIGS[name].get("text_config", {})}


def build(name: str, seed: int = 0) -> nn.Module:
    """A family's model with random float32 weights, the same for the same seed."""
    config = json.loads(json.dumps(CONFIGS[name]))  # mlx-lm writes into it
    make, arguments = _get_classes(config)
    mx.random.seed(seed)  # biases are made random
    model = make(arguments.from_dict(config))
    state = mx.random.key(seed)

    def draw(path: str, old: mx.array) -> mx.array:
        nonlocal state
        state, key = mx.random.split(state)
        noise = mx.random.normal(old.shape, key=key)
        if path.endswith("A_log"):
            return noise
        if old.ndim == 1:  # norms, biases, sinks and the like: as made, and a little besides
            return old + 0.2 * noise
        if "embed_tokens" in path:
            return noise
        return noise * (1.5 / old.shape[-1] ** 0.5 if "conv1d" not in path else 0.5)

    model.update(tree_map_with_path(draw, model.parameters()))
    model.eval()
    mx.eval(model.parameters())
    return model


def save(name: str, folder: Path, bits: int | None = None, change: Callable[[dict], dict] | None = None) -> Path:
    """Write a folder with that model, like a download; quantized if `bits` is given."""
    shutil.copytree(GOLDEN / "e2e_qwen3" / "target", folder)
    model, config = build(name), json.loads(json.dumps(CONFIGS[name]))
    if bits:
        model, config = quantize_model(model, config, group_size=32, bits=bits)
    weights = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), change(weights) if change else weights)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def save_drafter(name: str, folder: Path, block: int = 16, seed: int = 1, dspark: bool = False) -> Path:
    """Write a folder with a random one-layer DFlash or DSpark drafter for the family's model."""
    folder.mkdir()
    layers, hidden = text(name)["num_hidden_layers"], 64
    taps = sorted({0, layers // 2, layers - 1})
    shapes = {
        "fc.weight": (hidden, len(taps) * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
        "layers.0.input_layernorm.weight": (hidden,),
        "layers.0.post_attention_layernorm.weight": (hidden,),
        "layers.0.self_attn.q_proj.weight": (64, hidden),
        "layers.0.self_attn.k_proj.weight": (32, hidden),
        "layers.0.self_attn.v_proj.weight": (32, hidden),
        "layers.0.self_attn.o_proj.weight": (hidden, 64),
        "layers.0.self_attn.q_norm.weight": (32,),
        "layers.0.self_attn.k_norm.weight": (32,),
        "layers.0.mlp.gate_proj.weight": (32, hidden),
        "layers.0.mlp.up_proj.weight": (32, hidden),
        "layers.0.mlp.down_proj.weight": (hidden, 32),
    }
    if dspark:
        shapes |= {f"markov_head.markov_w{number}.weight": (VOCABULARY, 8) for number in (1, 2)}
        shapes |= {"confidence_head.proj.weight": (1, hidden + 8), "confidence_head.proj.bias": (1,)}
    keys = mx.random.split(mx.random.key(seed), len(shapes))
    weights = {
        field: mx.ones(shape) if len(shape) == 1 else mx.random.normal(shape, key=key) / shape[-1] ** 0.5
        for key, (field, shape) in zip(keys, shapes.items(), strict=True)
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": block,
        "hidden_size": hidden,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "vocab_size": VOCABULARY,
        "num_target_layers": layers,
        "dflash_config": {"mask_token_id": MASK, "target_layer_ids": taps},
    }
    if dspark:
        config |= {"architectures": ["DSparkDraftModel"], "sample_from_anchor": False, "markov_rank": 8}
        if name.startswith("lfm"):
            config |= {"architectures": ["Lfm2DSparkDraftModel"], "rope_is_neox_style": False}
        if name == "nemotron_h":
            config |= {"architectures": ["Qwen3DSparkModel"], "dflash_query_causal": True, "sliding_window": 20}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def save_mtp(name: str, folder: Path) -> Path:
    """Write a folder with a random MTP head, whose norms are stored less 1, for the family's model."""
    folder.mkdir()
    fields, at = text(name), "layers.0."
    hidden, heads, keys, size = (fields[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim"))
    shapes = {
        "fc": (hidden, 2 * hidden),
        **{f"pre_fc_norm_{part}": (hidden,) for part in ("embedding", "hidden")},
        "norm": (hidden,),
        **{f"{at}{part}_layernorm": (hidden,) for part in ("input", "post_attention")},
        f"{at}self_attn.q_proj": (2 * heads * size, hidden),
        **{f"{at}self_attn.{part}_proj": (keys * size, hidden) for part in ("k", "v")},
        f"{at}self_attn.o_proj": (hidden, heads * size),
        **{f"{at}self_attn.{part}_norm": (size,) for part in ("q", "k")},
    }
    mlp, inner = f"{at}mlp.", fields["intermediate_size"]
    if count := fields.get("num_experts"):
        shapes |= {f"{mlp}gate": (count, hidden), f"{mlp}shared_expert_gate": (1, hidden)}
        for i in range(count):
            shapes |= {f"{mlp}experts.{i}.{part}_proj": (32, hidden) for part in ("gate", "up")}
            shapes |= {f"{mlp}experts.{i}.down_proj": (hidden, 32)}
        mlp, inner = f"{mlp}shared_expert.", fields["shared_expert_intermediate_size"]
    shapes |= {**{f"{mlp}{part}_proj": (inner, hidden) for part in ("gate", "up")}, f"{mlp}down_proj": (hidden, inner)}
    weights = {
        f"mtp.{module}.weight": mx.zeros(shape) if len(shape) == 1 else mx.random.normal(shape, key=key) / shape[-1] ** 0.5
        for key, (module, shape) in zip(mx.random.split(mx.random.key(1), len(shapes)), shapes.items(), strict=True)
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    (folder / "config.json").write_text(json.dumps(CONFIGS[name]))
    return folder


def save_eagle3(name: str, folder: Path) -> Path:
    """Write a folder with a random EAGLE-3 drafter of 100 tokens for the family's model."""
    folder.mkdir()
    hidden, layers, at = 64, text(name)["num_hidden_layers"], "midlayer."
    taps, count = sorted({0, layers // 2, layers - 1}), 100
    shapes = {
        "fc": (hidden, len(taps) * hidden),
        f"{at}self_attn.q_proj": (64, 2 * hidden),
        **{f"{at}self_attn.{part}_proj": (32, 2 * hidden) for part in ("k", "v")},
        f"{at}self_attn.o_proj": (hidden, 64),
        **{f"{at}mlp.{part}_proj": (32, hidden) for part in ("gate", "up")},
        f"{at}mlp.down_proj": (hidden, 32),
        **{f"{at}{part}": (hidden,) for part in ("hidden_norm", "input_layernorm", "post_attention_layernorm")},
        "norm": (hidden,),
        "lm_head": (count, hidden),
    }
    weights = {
        f"{module}.weight": mx.ones(shape) if len(shape) == 1 else mx.random.normal(shape, key=key) / shape[-1] ** 0.5
        for key, (module, shape) in zip(mx.random.split(mx.random.key(1), len(shapes)), shapes.items(), strict=True)
    }
    weights["d2t"] = mx.arange(count) // 4  # most ids, up to the last one but a few
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "vocab_size": VOCABULARY,
        "draft_vocab_size": count,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": taps, "use_aux_hidden_state": True},
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def save_assistant(name: str, folder: Path) -> Path:
    """Write a folder with a random assistant of two layers for the family's model."""
    shutil.copytree(GOLDEN / "gemma4_assistant_1" / "drafter", folder)
    config, target, own = json.loads((folder / "config.json").read_text()), text(name), 32
    alike = "head_dim global_head_dim num_key_value_heads num_global_key_value_heads attention_k_eq_v sliding_window"
    config["backbone_hidden_size"] = target["hidden_size"]
    config["text_config"] |= {
        **{field: target[field] for field in (*alike.split(), "vocab_size", "rope_parameters")},
        "num_hidden_layers": 2,
        "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    heads, inner = config["text_config"]["num_attention_heads"], config["text_config"]["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (target["vocab_size"], own), "model.norm": (own,)}
    shapes |= {"pre_projection": (own, 2 * target["hidden_size"]), "post_projection": (target["hidden_size"], own)}
    for at, size in enumerate((target["head_dim"], target["global_head_dim"])):
        shapes |= {f"model.layers.{at}.self_attn.q_proj": (heads * size, own)}
        shapes |= {f"model.layers.{at}.self_attn.o_proj": (own, heads * size), f"model.layers.{at}.self_attn.q_norm": (size,)}
        shapes |= {f"model.layers.{at}.mlp.{part}_proj": (inner, own) for part in ("gate", "up")}
        shapes |= {f"model.layers.{at}.mlp.down_proj": (own, inner)}
        for part in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes |= {f"model.layers.{at}.{part}_layernorm": (own,)}
    weights = {
        f"{module}.weight": mx.ones(shape) if len(shape) == 1 else mx.random.normal(shape, key=key) / shape[-1] ** 0.5
        for key, (module, shape) in zip(mx.random.split(mx.random.key(1), len(shapes)), shapes.items(), strict=True)
    }
    weights |= {f"model.layers.{at}.layer_scalar": mx.ones(1) for at in range(2)}
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    (folder / "config.json").write_text(json.dumps(config))
    return folder
