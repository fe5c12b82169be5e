"""Does this drafter go with this target? Decided from the two config.json files alone. Imports no MLX."""

from mlx_engine.families import FAMILIES, family_of
from mlx_engine.pairs.drafter_config import parse

# how a target may be quantised besides mlx-lm's own way (mlx_lm.utils.load_model, 0.32)
_QUANTISED_BY = ("bitnet", "mxfp4", "mxfp8", "fp8", "compressed-tensors", "modelopt", "awq", "gptq")


MOST_LAYERS = 2048  # of a target: published ones have some hundred


def text_config(config: dict) -> dict:
    """The part of a target's config that describes its text model; multimodal configs nest it."""
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def why_not_dflash(target: dict) -> str:
    """Why DFlash cannot run with a target of this config.json at all; empty when it can."""
    if family_of(target) is None:
        known = ", ".join(sorted(FAMILIES))
        return f"DFlash is not available for the family “{target.get('model_type')}” yet; it is for: {known}."
    return ""


def why_not_target(target: dict) -> str:
    """Why a target of this config.json cannot be run at all; empty when nothing speaks against it."""
    if not isinstance(target.get("model_type"), str):
        return "The target's config.json names no model_type, so it is no language model that Slipstream can run."
    if "model_file" in target:
        return "The target needs Python code of its own, which is never fetched and never run. Pick another target."
    layers = _whole(text_config(target).get("num_hidden_layers"))
    if layers is not None and layers > MOST_LAYERS:
        return f"The target's config.json speaks of more than {MOST_LAYERS:,} layers, which no model has. Pick another target."
    quantised = target.get("quantization_config")
    if isinstance(quantised, dict) and not target.get("quantization") and quantised.get("quant_method") not in _QUANTISED_BY:
        method = quantised.get("quant_method")
        return f"The target is quantised for other programs (“{method}”). Pick its MLX version, such as one of mlx-community's."
    return ""


def misfit(target: dict, drafter: dict) -> str:
    """Why this drafter does not fit this target; empty when it does. Both are config.json contents.

    Raises:
        UserError: the drafter's config is not one that Slipstream runs.
    """
    text, config = text_config(target), parse(drafter)
    for field, theirs, words in (
        ("hidden_size", config.hidden_size, "hidden size"),
        ("vocab_size", config.vocab_size, "a vocabulary of"),
    ):
        ours = _whole(text.get(field))
        if theirs and ours and theirs != ours:
            return f"This drafter was trained for a target with {words} {theirs:,}; the target you chose has {ours:,}. {_WAY_OUT}"
    layers, expected, taps = _whole(text.get("num_hidden_layers")), config.target_layers, config.taps
    if layers and expected and layers != expected:
        return f"This drafter was trained for a target with {expected} layers; the target you chose has {layers}. {_WAY_OUT}"
    if layers and max(taps) >= layers:
        return f"This drafter reads the target's layers {sorted(taps)}; the target you chose has {layers}, from 0 on. {_WAY_OUT}"
    vocabulary = _whole(text.get("vocab_size"))
    if vocabulary and config.mask_token >= vocabulary:
        return f"This drafter's mask token is {config.mask_token:,}; the target you chose has {vocabulary:,} tokens. {_WAY_OUT}"
    return ""


def _whole(value: object) -> int | None:
    """A config's whole number; what is none says nothing about the fit."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_WAY_OUT = "Pick the drafter that was trained for this target, or decode plainly without one."
