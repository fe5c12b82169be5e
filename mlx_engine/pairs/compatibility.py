"""Does this drafter go with this target? Decided from the two config.json files alone. Imports no MLX."""

from mlx_engine.families import FAMILIES, family_of
from mlx_engine.pairs.drafter_config import parse


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
