"""The fields of published config.json files, as public sources list them.

A target's record is completed by transformers' config class of its family, and a drafter's by `STAND_INS`: required fields that its
source doesn't list. A pair whose target or drafter has no record is in `NO_TARGET_KNOWN` or `NO_DRAFTER_KNOWN`.
"""

from typing import Any

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

Config = dict[str, Any]

SOURCES = {
    "survey": "the public survey of drafters' config.json files that the catalog cites (2026-05), table 11.2",
    "splash": "GitHub incoai/splash: the fields that it requires of a target's and a drafter's config.json",
    "mlx-vlm": "GitHub Blaizzy/mlx-vlm, tests of Gemma 4's DSpark drafter: “a real DSpark Gemma 4 config”",
    "deepspec": "GitHub deepseek-ai/DeepSpec, config/dspark: training configs; the layers have the sizes of the target",
    "lfm": "a public report on LFM2.5-1.2B-Instruct and its drafter (2026-09-06): both config.json files, abridged",
    "assistants": "a public comparison of the four Gemma 4 assistants' config.json files (2026-05-06)",
    "sizes": "a public table of targets' sizes, for EAGLE-3 drafters",
    "radixark": "tests of an adapter for RadixArk/Qwen3.8-27B-DSpark: “the published config, trimmed”",
    "redhat": "a public course on vLLM: config.json of RedHatAI/Qwen3.8-27B-speculator.dspark-preview",
    "eagle3": "tests of a converter of EAGLE-3 configs in speculators' layout, and notes on RedHatAI/Qwen3-8B-speculator.eagle3",
    "poolside": "tests of two readers of poolside's drafters: “official config”, “poolside config”",
    "jetspec": "public notes on a converter of JetSpec/jetspec-Qwen3.6-35B-A3B at ffb38cf9917e: “observed config essentials”",
    "daocloud": "a public summary of the card of DaoCloud/Qwen3.8-27B-DFlash2-Exp",
    "transformers": "transformers 5.23.0: defaults of the config class",
}
STAND_INS: Config = {"rms_norm_eps": 1e-6, "rope_theta": 10_000_000, "head_dim": 128}

# Drafter, layers, hidden size, feed-forward, heads, K/V heads, block size, window of all layers but the last, taps, target layers
_SURVEY = """
z-lab/gemma-4-31B-it-DFlash 5 5376 10752 64 8 16 2048 1,12,23,35,46,57 60
z-lab/gemma-4-26B-A4B-it-DFlash 5 2816 5632 32 8 16 2048 1,6,11,17,22,27 30
z-lab/Kimi-K2.5-DFlash 6 7168 18432 64 8 8 0 1,12,24,35,47,58 61
z-lab/Qwen3.6-27B-DFlash 5 5120 17408 32 8 16 2048 1,16,31,46,61 64
z-lab/Qwen3.6-35B-A3B-DFlash 6 2048 6144 32 8 16 4096 1,6,11,16,22,27,32,37 40
z-lab/Qwen3.5-4B-DFlash 6 2560 9216 32 8 16 4096 1,5,9,13,17,21,25,29 32
z-lab/Qwen3.5-9B-DFlash 6 4096 12288 32 8 16 4096 1,5,9,13,17,21,25,29 32
z-lab/Qwen3.5-27B-DFlash 6 5120 17408 32 8 16 4096 1,10,18,27,35,44,52,61 64
z-lab/Qwen3.5-35B-A3B-DFlash 6 2048 6144 32 8 16 4096 1,6,11,16,22,27,32,37 40
z-lab/Qwen3.5-122B-A10B-DFlash 6 3072 9216 32 8 16 4096 1,7,14,20,26,32,39,45 48
z-lab/gpt-oss-20b-DFlash 8 2880 7680 64 8 8 0 1,6,11,16,21 24
z-lab/gpt-oss-120b-DFlash 8 2880 7680 64 8 10 0 1,9,17,25,33 36
z-lab/Qwen3-Coder-Next-DFlash 8 2048 6144 32 4 16 0 3,11,23,35,43 48
z-lab/Qwen3-4B-DFlash-b16 5 2560 9728 32 8 16 0 1,9,17,25,33 36
z-lab/Qwen3-8B-DFlash-b16 5 4096 12288 32 8 16 0 1,9,17,25,33 36
z-lab/Qwen3-Coder-30B-A3B-DFlash 8 2048 6144 32 4 16 0 1,12,23,34,45 48
z-lab/LLaMA3.1-8B-Instruct-DFlash-UltraChat 5 4096 12288 32 8 10 0 1,8,15,22,29 32
"""
_MASKS = {"gemma": 4, "Qwen3-4B": 151669, "Qwen3-8B": 151669, "Qwen3.5-4B": 248070, "Qwen3.6-27B": 248070, "gpt-oss": 200000}
_MASKS |= {"Qwen3.5-122B": 248077}  # a stand-in for the others is 3
_SLIDING, _FULL = "sliding_attention", "full_attention"


def _surveyed(row: str) -> tuple[str, Config]:
    repo, *numbers, taps, target_layers = row.split()
    layers, hidden, feed_forward, heads, kv_heads, block, window = map(int, numbers)
    config = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": feed_forward,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "block_size": block,
        "num_target_layers": int(target_layers),
        "dflash_config": {
            "target_layer_ids": [int(tap) for tap in taps.split(",")],
            "mask_token_id": next((mask for name, mask in _MASKS.items() if name in repo), 3),
        },
    }
    if window:
        config |= {"layer_types": [_SLIDING] * (layers - 1) + [_FULL], "sliding_window": window, "use_sliding_window": True}
    return repo, config


def _assistant(kv_heads: int, heads: int, hidden: int, feed_forward: int, backbone: int, shared: int | None, window: int) -> Config:
    text = {
        "model_type": "gemma4_text", "num_hidden_layers": 4, "hidden_size": hidden, "intermediate_size": feed_forward,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "num_global_key_value_heads": shared, "head_dim": 256,
        "global_head_dim": 512, "attention_k_eq_v": shared is not None, "sliding_window": window,
        "layer_types": [_SLIDING] * 3 + [_FULL], "num_kv_shared_layers": 4, "final_logit_softcapping": None, "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True, "vocab_size": 262144, "hidden_activation": "gelu_pytorch_tanh",
        "rope_parameters": {
            _FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1e6, "rope_type": "proportional"},
            _SLIDING: {"rope_theta": 1e4, "rope_type": "default"},
        },
    }  # fmt: skip
    return {
        "architectures": ["Gemma4AssistantForCausalLM"], "model_type": "gemma4_assistant", "backbone_hidden_size": backbone,
        "num_centroids": 2048, "centroid_intermediate_top_k": 32, "use_ordered_embeddings": shared is None,
        "tie_word_embeddings": True, "transformers_version": "5.7.0.dev0", "text_config": text,
    }  # fmt: skip


def _deepspec(hidden: int, feed_forward: int, heads: int) -> Config:
    return {
        "architectures": ["Qwen3DSparkModel"], "model_type": "qwen3", "hidden_size": hidden, "intermediate_size": feed_forward,
        "num_attention_heads": heads, "num_key_value_heads": 8, "num_hidden_layers": 5, "vocab_size": 151936, "block_size": 7,
        "target_layer_ids": [1, 9, 17, 25, 33], "mask_token_id": 151669, "num_anchors": 512, "markov_rank": 256,
        "markov_head_type": "vanilla", "confidence_head_alpha": 1.0, "confidence_head_with_markov": True,
    }  # fmt: skip


def _lfm(vocab: int, mask: int, taps: list[int], target_layers: int) -> Config:
    return {
        "architectures": ["Lfm2DSparkDraftModel"], "model_type": "qwen3", "hidden_act": "silu", "hidden_size": 2048,
        "num_hidden_layers": 5, "intermediate_size": 6144, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
        "vocab_size": vocab, "layer_types": [_FULL] * 5, "block_size": 9, "max_position_embeddings": 128000, "rms_norm_eps": 1e-5,
        "rope_is_neox_style": False, "markov_rank": 256, "markov_head_type": "vanilla", "enable_confidence_head": True,
        "dflash_config": {"mask_token_id": mask, "target_layer_ids": taps, "num_target_layers": target_layers},
    }  # fmt: skip


def _dflash2(layers: int, hidden: int, feed_forward: int, mask: int, taps: list[int], **more: Any) -> Config:
    return {
        "architectures": ["DFlash2DraftModel"], "model_type": "qwen3", "attention_bias": False, "is_causal": False,
        "head_dim": 128, "hidden_act": "silu", "hidden_size": hidden, "intermediate_size": feed_forward,
        "num_hidden_layers": layers, "layer_types": [_SLIDING] * layers, "num_attention_heads": 32,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-6, "rope_parameters": {"rope_theta": 10_000_000, "rope_type": "default"},
        "sliding_window": 2048, "use_sliding_window": True, "tie_word_embeddings": False, "vocab_size": 248320, **more,
        "dflash_config": {
            "block_size": 8, "conv_group_size": 16, "conv_kernel_size": 2, "selector_rank": 256, "selector_top_k": 16,
            "mask_token_id": mask, "target_layer_ids": taps,
        },
    }  # fmt: skip


def _laguna(layers: int, hidden: int, feed_forward: int, heads: int, taps: list[int], target_layers: int, **more: Any) -> Config:
    return {
        "architectures": ["DFlashLagunaForCausalLM"], "model_type": "laguna", "hidden_size": hidden, "head_dim": 128,
        "intermediate_size": feed_forward, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 8,
        "attention_bias": False, "gating": "per-head", "layer_types": [_SLIDING] * layers, "sliding_window": 512, **more,
        "dflash_config": {
            "block_size": 16, "mask_token_id": 12, "num_target_layers": target_layers, "target_layer_ids": taps, "causal": True,
        },
    }  # fmt: skip


def _eagle3(**more: Any) -> Config:
    layer = {"model_type": "llama", "num_hidden_layers": 1, "num_key_value_heads": 8}
    return {"speculators_model_type": "eagle3", "transformer_layer_config": layer | more.pop("layer"), **more}


DRAFTERS: dict[str, tuple[str, Config]] = {
    **{repo: ("survey", config) for repo, config in map(_surveyed, _SURVEY.strip().splitlines())},
    "z-lab/Qwen3.8-27B-DFlash2": (
        "splash", _dflash2(5, 5120, 17408, 248070, [5, 19, 33, 47, 61], num_target_layers=64)
    ),
    "incoai/Qwen3.6-35B-A3B-DFlash2": ("splash", _dflash2(6, 2048, 6144, 248077, [1, 6, 11, 16, 22, 27, 32, 37])),
    "JetSpec/jetspec-Qwen3.6-35B-A3B": ("jetspec", {
        "architectures": ["DFlashDraftModel"], "auto_map": {"AutoModel": "dflash.DFlashDraftModel"}, "block_size": 16,
        "dflash_config": {"causal_head": True, "mask_token_id": 248070, "target_layer_ids": [1, 10, 19, 28, 37]},
        "dtype": "bfloat16", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 8, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_target_layers": 40, "vocab_size": 248320,
        "rope_parameters": {"rope_theta": 10000000, "rope_type": "default"}, "rms_norm_eps": 1e-6,
    }),
    # Stand-ins: the mask token and the names of the layout's own fields
    "DaoCloud/Qwen3.8-27B-DFlash2-Exp": ("daocloud", {
        "architectures": ["DFlash2DraftModel"], "speculators_model_type": "dflash2", "block_size": 7, "sample_from_anchor": True,
        "aux_hidden_state_layer_ids": [6, 20, 34, 48, 62], "mask_token_id": 248070, "draft_vocab_size": 248320,
        "conv_kernel_size": 2, "conv_group_size": 16, "selector_rank": 256, "selector_top_k": 16,
        "sliding_window_non_causal": True, "transformer_layer_config": {
            "model_type": "qwen3", "num_hidden_layers": 5, "hidden_size": 5120, "intermediate_size": 17408,
            "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-6,
            "rope_theta": 10_000_000, "layer_types": [_SLIDING] * 5, "sliding_window": 2048, "vocab_size": 248320,
        },
    }),
    "openbmb/MiniCPM5-2B-DSpark": ("splash", {
        "architectures": ["Qwen3DSparkModel"], "model_type": "qwen3", "hidden_act": "silu", "hidden_size": 2048,
        "num_hidden_layers": 5, "layer_types": [_FULL] * 5, "intermediate_size": 6144, "num_attention_heads": 16,
        "num_key_value_heads": 2, "head_dim": 128, "num_target_layers": 42, "block_size": 7, "vocab_size": 130560,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "attention_bias": False, "tie_word_embeddings": False,
        "attention_mode": "gqa", "mask_token_id": 75982, "target_layer_ids": [1, 10, 20, 30, 39], "projector_type": "dspark",
        "markov_rank": 256, "markov_head_type": "vanilla", "enable_confidence_head": True, "confidence_head_alpha": 1.0,
        "confidence_head_with_markov": True,
    }),
    "LiquidAI/LFM2.5-2.6B-DSpark": ("splash", _lfm(128000, 125017, [2, 9, 17, 21, 27], 30)),
    "LiquidAI/LFM2.5-8B-A1B-DSpark": ("splash", _lfm(128000, 125017, [2, 6, 10, 14, 18], 24) | {"rope_theta": 5_000_000.0}),
    "LiquidAI/LFM2.5-1.2B-Instruct-DSpark": ("lfm", _lfm(65536, 64402, [2, 5, 8, 11, 14], 16)),
    "deepseek-ai/dspark_qwen3_4b_block7": ("deepspec", _deepspec(2560, 9728, 32)),
    "deepseek-ai/dspark_qwen3_8b_block7": ("deepspec", _deepspec(4096, 12288, 32)),
    "deepseek-ai/dspark_qwen3_14b_block7": ("deepspec", _deepspec(5120, 17408, 40)),
    "deepseek-ai/dspark_gemma4_12b_block7": ("mlx-vlm", {
        "architectures": ["Gemma4DSparkModel"], "model_type": "gemma4_text", "hidden_size": 3840, "num_attention_heads": 16,
        "num_global_key_value_heads": 1, "global_head_dim": 512, "intermediate_size": 15360, "num_hidden_layers": 5,
        "rms_norm_eps": 1e-6, "attention_k_eq_v": True, "final_logit_softcapping": 30.0, "block_size": 7, "mask_token_id": 4,
        "markov_rank": 256, "enable_confidence_head": True, "target_layer_ids": [5, 17, 29, 41, 46], "vocab_size": 262144,
        "rope_parameters": {_FULL: {"rope_theta": 1000000.0, "partial_rotary_factor": 0.25}},
    }),
    "RadixArk/Qwen3.8-27B-DSpark": ("radixark", {
        "architectures": ["DSparkDraftModel"], "hidden_size": 5120, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "intermediate_size": 17408, "num_hidden_layers": 5, "num_target_layers": 64, "rms_norm_eps": 1e-6,
        "vocab_size": 248320, "block_size": 7, "markov_rank": 256, "mask_token_id": 248070, "max_position_embeddings": 262144,
        "target_layer_ids": [5, 19, 33, 47, 61], "rope_theta": 10_000_000,
        "rope_scaling": {
            "rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 8192,
        },
        "dspark_config": {"markov_rank": 256, "mask_token_id": 248070, "target_layer_ids": [5, 19, 33, 47, 61]},
    }),
    # Stand-ins: the mask token, the size of feed-forwards, and the vocabulary
    "RedHatAI/Qwen3.8-27B-speculator.dspark": ("redhat", {
        "architectures": ["DSparkDraftModel"], "speculators_model_type": "dspark", "block_size": 8, "markov_rank": 256,
        "markov_head_type": "vanilla", "enable_confidence_head": True, "confidence_head_with_markov": True, "mask_token_id": 3,
        "aux_hidden_state_layer_ids": [4, 12, 20, 28, 36, 44, 52, 60],
        "transformer_layer_config": {
            "hidden_size": 5120, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 256, "num_hidden_layers": 5,
            "layer_types": [_SLIDING] * 5, "sliding_window": 2048, "intermediate_size": 17408, "vocab_size": 248320,
        },
    }),
    "RedHatAI/Qwen3-8B-speculator.eagle3": ("eagle3", _eagle3(
        architectures=["Eagle3Speculator"], draft_vocab_size=32000, norm_before_residual=True,
        eagle_aux_hidden_state_layer_ids=[2, 18, 33], layer={
            "hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
            "rms_norm_eps": 1e-6, "rope_theta": 1_000_000,
        },
    )),
    "RedHatAI/gpt-oss-20b-speculator.eagle3": ("eagle3", _eagle3(
        architectures=["Eagle3DraftModel"], draft_vocab_size=64000, norm_before_fc=True, norm_before_residual=True, layer={
            "hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64, "intermediate_size": 2880, "vocab_size": 201088,
            "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        },
    )),
    # A stand-in: the window of the first one
    "poolside/Laguna-XS-2.1-DFlash": ("poolside", _laguna(5, 2048, 8192, 64, [1, 13, 25, 33, 39], 40)),
    "poolside/Laguna-S-2.1-DFlash": ("poolside", _laguna(
        6, 3072, 12288, 72, [1, 10, 19, 29, 38, 47], 48, hidden_act="silu", max_position_embeddings=1048576, rms_norm_eps=1e-6,
        vocab_size=100352, draft_vocab_size=100352, rope_theta=500000.0, torch_dtype="bfloat16",
        eagle_aux_hidden_state_layer_ids=[2, 11, 20, 30, 39, 48],
    )),
    "google/gemma-4-E2B-it-assistant": ("assistants", _assistant(1, 4, 256, 2048, 1536, None, 512)),
    "google/gemma-4-E4B-it-assistant": ("assistants", _assistant(2, 4, 256, 2048, 2560, None, 512)),
    "google/gemma-4-26B-A4B-it-assistant": ("assistants", _assistant(8, 16, 1024, 8192, 2816, 2, 1024)),
    "google/gemma-4-31B-it-assistant": ("assistants", _assistant(16, 32, 1024, 8192, 5376, 4, 1024)),
    "meta-models/Muse-Glimmer-30B-assistant": ("transformers", {
        **CONFIG_MAPPING["muse_glimmer_assistant"]().to_dict(), "architectures": ["MuseGlimmerAssistantModel"],
    }),
}  # fmt: skip
DRAFTERS["z-lab/gpt-oss-20b-DFlash"][1].update(attention_bias=True, head_dim=64)
DRAFTERS["z-lab/gpt-oss-120b-DFlash"][1].update(attention_bias=True, head_dim=64)

_LLAMA = {"vocab_size": 128256, "head_dim": 128, "num_key_value_heads": 8}
# By catalog ID: source, family, fields of the text model
TARGETS: dict[str, tuple[str, str, Config]] = {
    "qwen3-4b": ("survey", "qwen3", {"hidden_size": 2560, "num_hidden_layers": 36}),
    "qwen3-8b": ("survey", "qwen3", {"hidden_size": 4096, "num_hidden_layers": 36}),
    "qwen3-14b": ("sizes", "qwen3", {"hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 40}),
    "qwen3-32b": ("sizes", "qwen3", {"hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 64}),
    "qwen3-coder-30b-a3b": ("survey", "qwen3_moe", {"hidden_size": 2048, "num_hidden_layers": 48}),
    "qwen3-next-80b-a3b": ("transformers", "qwen3_next", {}),
    "qwen3-coder-next": ("survey", "qwen3_next", {"hidden_size": 2048, "num_hidden_layers": 48}),
    "qwen3.5-4b": ("survey", "qwen3_5", {"hidden_size": 2560, "num_hidden_layers": 32}),
    "qwen3.5-9b": ("survey", "qwen3_5", {"hidden_size": 4096, "num_hidden_layers": 32}),
    "qwen3.5-27b": ("survey", "qwen3_5", {"hidden_size": 5120, "num_hidden_layers": 64}),
    "qwen3.5-35b-a3b": ("survey", "qwen3_5_moe", {"hidden_size": 2048, "num_hidden_layers": 40}),
    "qwen3.5-122b-a10b": ("survey", "qwen3_5_moe", {"hidden_size": 3072, "num_hidden_layers": 48}),
    "qwen3.6-27b": ("survey", "qwen3_5", {"hidden_size": 5120, "num_hidden_layers": 64}),
    "qwen3.6-35b-a3b": (
        "splash", "qwen3_5_moe", {"hidden_size": 2048, "num_hidden_layers": 40, "num_experts": 256, "num_experts_per_tok": 8}
    ),
    "qwen3.8-27b": (
        "splash", "qwen3_5", {"hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 24, "num_key_value_heads": 4}
    ),
    "gemma-4-e2b": ("assistants", "gemma4", {"hidden_size": 1536, "num_key_value_heads": 1}),
    "gemma-4-e4b": ("assistants", "gemma4", {"hidden_size": 2560, "num_key_value_heads": 2}),
    # A stand-in: the number of layers. The drafter reads layer 46
    "gemma-4-12b": ("mlx-vlm", "gemma4_unified", {
        "hidden_size": 3840, "num_hidden_layers": 48, "num_attention_heads": 16, "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
    }),
    "gemma-4-26b-a4b": ("assistants", "gemma4", {
        "hidden_size": 2816, "num_hidden_layers": 30, "num_attention_heads": 16, "num_key_value_heads": 8,
        "attention_k_eq_v": True, "num_global_key_value_heads": 2, "sliding_window": 1024,
    }),
    "gemma-4-31b": ("assistants", "gemma4", {
        "hidden_size": 5376, "num_hidden_layers": 60, "num_attention_heads": 32, "num_key_value_heads": 16,
        "attention_k_eq_v": True, "num_global_key_value_heads": 4, "sliding_window": 1024,
    }),
    "gpt-oss-20b": ("survey", "gpt_oss", {"hidden_size": 2880, "num_hidden_layers": 24}),
    "gpt-oss-120b": ("survey", "gpt_oss", {"hidden_size": 2880, "num_hidden_layers": 36}),
    "llama-3.1-8b": ("sizes", "llama", {**_LLAMA, "hidden_size": 4096, "num_hidden_layers": 32}),
    "llama-3.3-70b": ("sizes", "llama", {**_LLAMA, "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64}),
    "muse-glimmer-30b": ("transformers", "muse_glimmer", {}),
    "minimax-m2.5": ("transformers", "minimax_m2", {}),
    "laguna-xs-2.1": ("poolside", "laguna", {"hidden_size": 2048, "num_hidden_layers": 40}),
    "laguna-s-2.1": ("poolside", "laguna", {"hidden_size": 3072, "num_hidden_layers": 48}),
    "kimi-k2.5": ("survey", "kimi_k25", {"hidden_size": 7168, "num_hidden_layers": 61}),
    "glm-5.1": ("transformers", "glm_moe_dsa", {}),
    "glm-5.3": ("transformers", "glm_moe_dsa", {}),
    "lfm2.5-1.2b": ("lfm", "lfm2", {
        "hidden_size": 2048, "num_hidden_layers": 16, "vocab_size": 65536, "conv_L_cache": 3,
        "layer_types": [_FULL if layer in (2, 5, 8, 10, 12, 14) else "conv" for layer in range(16)],
    }),
    "lfm2.5-2.6b": ("splash", "lfm2", {
        "hidden_size": 2048, "num_hidden_layers": 30, "vocab_size": 128000, "intermediate_size": 10752,
        "layer_types": [_FULL if layer in (2, 5, 9, 13, 17, 21, 24, 27) else "conv" for layer in range(30)],
    }),
    "lfm2.5-8b-a1b": ("splash", "lfm2_moe", {
        "hidden_size": 2048, "num_hidden_layers": 24, "vocab_size": 128000, "intermediate_size": 7168, "num_experts": 32,
        "layer_types": [_FULL if layer in (2, 6, 10, 14, 18, 21) else "conv" for layer in range(24)],
    }),
    "minicpm5-2b": ("splash", "llama", {
        "hidden_size": 2048, "num_hidden_layers": 42, "vocab_size": 130560, "num_attention_heads": 16, "num_key_value_heads": 2,
    }),
}  # fmt: skip

NO_TARGET_KNOWN = {
    *("demo", "qwen3.5-397b-a17b", "qwen3.8-flash-next", "ternary-bonsai-2-27b", "minimax-m2.7", "minimax-m3.1-flash", "kimi-k2.6"),
    *("kimi-k2.7-code", "qwen3-30b-a3b", "glm-5.3-flash", "nemotron-3.5-lightning"),
}
NO_DRAFTER_KNOWN = {
    "DaoCloud/Muse-Glimmer-30B-DSpark", "Fluxmire/Qwen3.6-27B-DFlash2", "JetBrains/Qwen3.6-27B-DFlash2",
    "JetSpec/jetspec-gemma4-26B-A4B0-it", "JetSpec/jetspec-gpt-oss-20b", "JetSpec/jetspec-qwen3-30b-a3b",
    "JetSpec/jetspec-qwen3-8b", "Koopah/Qwen3.6-35B-A3B-NVFP4-DSPARK", "RedHatAI/Llama-3.1-8B-Instruct-speculator.eagle3",
    "RedHatAI/Llama-3.3-70B-Instruct-speculator.eagle3", "RedHatAI/Qwen3-14B-speculator.eagle3",
    "RedHatAI/Qwen3-32B-speculator.eagle3", "RedHatAI/Qwen3.6-35B-A3B-speculator.dspark",
    "RedHatAI/gemma-4-31B-it-speculator.dflash", "RedHatAI/gemma-4-31B-it-speculator.eagle3",
    "RedHatAI/gpt-oss-120b-speculator.eagle3", "deepseek-ai/eagle3_qwen3_14b_ttt7", "deepseek-ai/eagle3_qwen3_4b_ttt7",
    "deepseek-ai/eagle3_qwen3_8b_ttt7", "google/gemma-4-12B-it-assistant", "incoai/GLM-5.3-DFlash2",
    "incoai/GLM-5.3-Flash-DFlash2", "incoai/MiniMax-M3.1-Flash-DFlash2", "incoai/Qwen3.8-Flash-Next-DFlash2",
    "makora-ai/gemma4-26b-a4b-dspark", "mlx-community/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-DSpark-bf16",
    "mlx-community/Qwen3.6-35B-A3B-DFlash2-4bit", "naklitechie/Qwen3.8-27B-DFlash2-ternary-bonsai2",
    "nvidia/Kimi-K2.7-Code-DFlash", "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4-DFlash",
    "prince-canuma/Qwen3.5-4B-DFlash-VL", "rasyosef/gemma-4-E2B-it-dflash2", "satgeze/Qwen3.6-27B-DSpark",
    "seabit-ai/Qwen3.8-27B-DFlash2-4bit", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "z-lab/GLM-5.1-FP8-DFlash",
    "z-lab/Kimi-K2.6-DFlash", "z-lab/MiniMax-M2.5-DFlash", "z-lab/MiniMax-M2.7-DFlash", "z-lab/Muse-Glimmer-30B-DFlash2",
    "z-lab/Qwen3.5-397B-A17B-DFlash", "z-lab/gemma4-12B-it-DFlash",
}  # fmt: skip


def target_config(id: str) -> Config:
    """Return a target's config as transformers writes it."""
    _, family, fields = TARGETS[id]
    kind = CONFIG_MAPPING[family]
    nested = "text_config" in kind.sub_configs
    return kind(**({"text_config": fields} if nested else fields)).to_dict()


def drafter_config(repo: str) -> Config:
    """Return a drafter's config with stand-ins for missing fields."""
    config = DRAFTERS[repo][1]
    layer = config.get("transformer_layer_config")
    if layer is not None:
        return {**config, "transformer_layer_config": {**_missing(layer), **layer}}
    return config if "text_config" in config else {**_missing(config), **config}


def _missing(config: Config) -> Config:
    given = {*config, *(["rope_theta"] if "rope_parameters" in config else [])}
    return {name: value for name, value in STAND_INS.items() if name not in given}
