"""Model families as plain data, read both when choosing a pair and when running one. Imports no MLX.

A family is what `model_type` in a target's config.json names. The table says which of mlx-lm's cache classes its layers use, since
each kind of cache rewinds in its own way, and where in mlx-lm's module tree the layers, the embedding table and the head are.
A family that is not in the table decodes plainly; DFlash is refused by name. `NOT_RUNNABLE` are those with published drafters for
which mlx-lm has no model, so that they can be shown with the reason.
"""

from dataclasses import dataclass
from typing import Any

from mlx_engine.errors import EngineText


@dataclass(frozen=True)
class Family:
    """Where mlx-lm keeps the parts of a target. Paths are attribute names below the model, joined by dots."""

    model_type: str
    caches: tuple[str, ...]  # names of mlx-lm's cache classes that its layers use, parts of a CacheList included
    backbone: str = "model"  # holds `layers` and `embed_tokens`
    head: str = "lm_head"  # absent on the instance when tied to the embedding
    embedding_scale: str = ""  # the backbone's attribute by which embeddings are multiplied before they reach a drafter
    recurrent: str = ""  # the attribute of a layer that holds its gated delta net
    full_every: int = 0  # one layer in this many has full attention, unless the config lists the layers; 0: all have
    window: int = 512  # tokens, unless the config says
    global_heads: bool = False  # full attention has heads of its own, and some layers share their K/V
    sinks: bool = False  # attention has a sink per head


_KV, _SLIDING, _DELTA = ("KVCache",), ("KVCache", "RotatingKVCache"), ("KVCache", "ArraysCache")
_INSIDE: dict[str, Any] = {"backbone": "language_model.model", "head": "language_model.lm_head"}  # models with a vision half

FAMILIES: dict[str, Family] = {
    family.model_type: family
    for family in (
        Family("qwen3", _KV),
        Family("qwen3_moe", _KV),
        Family("qwen3_next", _DELTA, recurrent="linear_attn"),
        Family("qwen3_5", _DELTA, **_INSIDE, recurrent="linear_attn"),
        Family("qwen3_5_moe", _DELTA, **_INSIDE, recurrent="linear_attn"),
        # Gemma's drafters were trained on scaled embeddings
        Family("gemma4", _SLIDING, **_INSIDE, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gemma4_unified", _SLIDING, **_INSIDE, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gemma4_text", _SLIDING, embedding_scale="embed_scale", full_every=5, global_heads=True),
        Family("gpt_oss", _SLIDING, full_every=2, window=128, sinks=True),
        Family("llama", _SLIDING),
        Family("minimax", _KV),
        Family("minimax_m2", _KV),
        Family("deepseek_v3", _KV),
        Family("kimi_k2", _KV),
        Family("kimi_k25", _KV, **_INSIDE),
        Family("deepseek_v32", ("CacheList", "KVCache")),
        Family("glm_moe_dsa", ("CacheList", "KVCache")),
        # Muse normalises its embeddings on the way to its first layer; its drafters read them raw
        Family("muse_glimmer", _SLIDING, full_every=4, window=2048),
        Family("laguna", _SLIDING),
    )
}

NOT_RUNNABLE: dict[str, str] = {
    "deepseek_v4": "DeepSeek V4",
    "glm5_next": "GLM-5.3",
    "mimo_v2": "MiMo V2.5",
    "minimax_m3": "MiniMax M3",
    "qwen3_5_text": "The text-only Qwen3.5",
    "alpamayo": "Alpamayo",
}


def family_of(config: dict) -> Family | None:
    """The family of a target's config.json, or None when it is not in the table."""
    return FAMILIES.get(str(config.get("model_type")))


def why_not_runnable(config: dict) -> EngineText | None:
    """Return why a target with this config.json can't run at all, as far as is known beforehand."""
    family = str(config.get("model_type"))
    if (name := NOT_RUNNABLE.get(family)) is None:
        return None
    template = "{name} (“{family}”) can't run: the installed mlx-lm has no model for it."
    return EngineText.of("no_mlx_lm_model", template, name=name, family=family)
