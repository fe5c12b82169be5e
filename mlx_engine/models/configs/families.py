"""Model families as plain data, without MLX.

A family is the `model_type` in a target's config.json. DFlash supports the families in `FAMILIES`; others decode plainly.
`NOT_RUNNABLE` lists families with published drafters for which mlx-lm has no model, and which wait for a later release. Most differ
from mlx-lm's models in more than names: deepseek_v4 and glm5_next by hyper connections and pooled indexers, qwen4_exp by tables of
n-grams.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from mlx_engine.contract.errors import EngineText


@dataclass(frozen=True)
class Family:
    """Facts about a family. Paths are dotted attribute names in mlx-lm's model."""

    model_type: str
    caches: tuple[str, ...]  # names of mlx-lm's cache classes, including those in a CacheList
    backbone: str = "model"  # holds `layers` and `embed_tokens`
    head: str = "lm_head"  # absent if tied to the embedding
    embedding_scale: str = ""  # backbone attribute that scales embeddings for a drafter
    embedding: str = "embed_tokens"  # backbone attribute
    recurrent: str = ""  # layer attribute that holds the gated delta net, short convolution, or Mamba-2 mixer
    full_every: int = 0  # every n-th layer has full attention unless the config lists layers; 0: all layers
    window: int = 512  # tokens, unless the config sets it
    global_heads: bool = False  # full attention has its own head count and size, and some layers share K/V
    sinks: bool = False  # attention has one sink per head
    slow_norms: bool = False  # whether mlx-lm's norms consist of many operations
    row_exact: bool = True  # whether mlx-lm computes one row and several with the same formula


_KV, _SLIDING, _DELTA = ("KVCache",), ("KVCache", "RotatingKVCache"), ("KVCache", "ArraysCache")
_INSIDE: dict[str, Any] = {"backbone": "language_model.model", "head": "language_model.lm_head"}  # multimodal models

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (
        Family("qwen3", _KV),
        Family("qwen3_moe", _KV),
        Family("qwen3_next", _DELTA, recurrent="linear_attn"),
        Family("qwen3_vl", _KV, **_INSIDE),
        Family("qwen3_5", _DELTA, **_INSIDE, recurrent="linear_attn"),
        Family("qwen3_5_moe", _DELTA, **_INSIDE, recurrent="linear_attn"),
        # Gemma drafters are trained on scaled embeddings
        Family("gemma4", _SLIDING, **_INSIDE, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gemma4_unified", _SLIDING, **_INSIDE, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gemma4_text", _SLIDING, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gpt_oss", _SLIDING, full_every=2, window=128, sinks=True),
        Family("llama", _SLIDING),
        Family("minimax", _KV),
        Family("minimax_m2", _KV),
        Family("deepseek_v3", _KV, row_exact=False),
        Family("kimi_k2", _KV, row_exact=False),
        Family("kimi_k25", _KV, **_INSIDE, row_exact=False),
        Family("deepseek_v32", ("CacheList", "KVCache"), row_exact=False),
        Family("glm_moe_dsa", ("CacheList", "KVCache"), row_exact=False),
        # Muse normalizes embeddings before its first layer, but its drafters use raw ones
        Family("muse_glimmer", _SLIDING, full_every=4, window=2048, slow_norms=True),
        Family("laguna", _SLIDING),
        Family("lfm2", _DELTA, recurrent="conv"),
        Family("lfm2_moe", _DELTA, recurrent="conv"),
        Family("nemotron_h", _DELTA, backbone="backbone", embedding="embeddings", recurrent="mixer", row_exact=False),
    )
}

NOT_RUNNABLE: dict[str, str] = {
    "deepseek_v4": "DeepSeek V4",
    "glm5_next": "GLM-5.3",
    "mimo_v2": "MiMo V2.5",
    "minimax_m3": "MiniMax M3",
    "qwen3_5_text": "The text-only Qwen3.5",
    "qwen4_exp": "Qwen3.8-Flash-Next",
    "alpamayo": "Alpamayo",
}


# Families that mlx-lm reads as another one (`mlx_lm.utils.MODEL_REMAPPING`, 0.32)
_READ_AS_ANOTHER = (
    *("deepseek_v41_text", "falcon_mamba", "gemma4_unified", "iquestcoder", "joyai_llm_flash", "kimi_k2", "llava"),
    *("minimax_m2", "mistral", "phi-msft", "qwen2_5_vl", "xverse"),
)


def family_of(config: dict) -> Family | None:
    """Return the family of a target's config.json, or None without DFlash support."""
    return FAMILIES.get(str(config.get("model_type")))


@cache
def mlx_lm_families() -> frozenset[str]:
    """Return the families that mlx-lm has models for, without importing it.

    Empty if its files aren't found.
    """
    spec = find_spec("mlx_lm")
    folders = [str(Path(folder) / "models") for folder in (spec and spec.submodule_search_locations) or ()]
    found = [module.name for module in iter_modules(folders)]
    return frozenset((*found, *_READ_AS_ANOTHER) if found else ())


def missing_family(config: dict) -> EngineText | None:
    """Return that mlx-lm has no model for a target's family, or None if it has."""
    family, known = str(config.get("model_type")), mlx_lm_families()
    if problem := why_not_runnable(config):
        return problem
    if family in known or not known:
        return None
    template = "The installed mlx-lm doesn't support the “{family}” family, so this model can't run. Choose another one."
    return EngineText.of("family_not_in_mlx_lm", template, family=family)


def why_not_runnable(config: dict) -> EngineText | None:
    """Return why a target can't run at all, or None if no problem is known."""
    family = str(config.get("model_type"))
    if (name := NOT_RUNNABLE.get(family)) is None:
        return None
    template = "{name} can't run: mlx-lm {version} doesn't support the “{family}” family. It needs a later release."
    return EngineText.of("no_mlx_lm_model", template, name=name, version=_mlx_lm_version(), family=family)


def _mlx_lm_version() -> str:
    try:
        return version("mlx-lm")
    except PackageNotFoundError:
        return ""
