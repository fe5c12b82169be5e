"""Whether a target can run, and whether a drafter fits it, judged by their config.json files alone."""

from mlx_engine.errors import EngineText
from mlx_engine.families import FAMILIES, family_of
from mlx_engine.pairs.drafter_config import parse

# Quantization formats that mlx-lm reads besides its own (mlx_lm.utils.load_model, 0.32)
_READABLE_FORMATS = ("bitnet", "mxfp4", "mxfp8", "fp8", "compressed-tensors", "modelopt", "awq", "gptq")
MOST_LAYERS = 2048  # of a target; published targets have a few hundred at most


def text_config(config: dict) -> dict:
    """Return the part of a target's config that describes its text model; multimodal configs nest it."""
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, dict) else config


def dflash_problem(target: dict) -> EngineText | None:
    """Return why DFlash can't run with a target, given its config.json, or None if it can."""
    if family_of(target) is not None:
        return None
    family, families = str(target.get("model_type")), ", ".join(sorted(FAMILIES))
    template = "DFlash isn't available for the “{family}” family yet. Supported families: {families}."
    return EngineText.of("family_without_dflash", template, family=family, families=families)


def target_problem(target: dict) -> EngineText | None:
    """Return why a target can't run at all, given its config.json, or None if no problem is known."""
    if not isinstance(target.get("model_type"), str):
        return EngineText.of(
            "target_without_model_type", "The target's config.json has no “model_type”. Choose the repo of a language model."
        )
    if "model_file" in target:
        return EngineText.of(
            "target_needs_code", "The target needs its own Python code, which Slipstream never runs. Choose another target."
        )
    layers = _integer(text_config(target).get("num_hidden_layers"))
    if layers is not None and layers > MOST_LAYERS:
        return EngineText.of(
            "target_too_many_layers", "The target claims more than {most:,} layers. Choose another target.", most=MOST_LAYERS
        )
    quantized = target.get("quantization_config")
    if isinstance(quantized, dict) and not target.get("quantization") and quantized.get("quant_method") not in _READABLE_FORMATS:
        template = "The target is quantized for other software (“{method}”). Choose its MLX version, such as mlx-community's."
        return EngineText.of("target_format_unsupported", template, method=str(quantized.get("quant_method")))
    return None


def pair_problem(target: dict, drafter: dict) -> EngineText | None:
    """Return why a drafter doesn't fit a target, given both config.json files, or None if it does."""
    text, config = text_config(target), parse(drafter)
    layers, vocabulary = _integer(text.get("num_hidden_layers")), _integer(text.get("vocab_size"))
    for field, expected, actual in (
        ("hidden_size", config.hidden_size, _integer(text.get("hidden_size"))),
        ("vocab_size", config.vocab_size, vocabulary),
        ("num_hidden_layers", config.target_layers, layers),
    ):
        if expected and actual and expected != actual:
            template = "This drafter needs a target with “{field}” {expected:,}; this one has {actual:,}. Choose another drafter."
            return EngineText.of("drafter_for_other_target", template, field=field, expected=expected, actual=actual)
    if layers and max(config.taps) >= layers:
        template = "This drafter reads the target's layer {layer:,}; this target has {layers:,} layers. Choose another drafter."
        return EngineText.of("drafter_reads_missing_layer", template, layer=max(config.taps), layers=layers)
    if vocabulary and config.mask_token >= vocabulary:
        template = "This drafter's mask token is {token:,}; this target has only {tokens:,} tokens. Choose another drafter."
        return EngineText.of("drafter_mask_token_missing", template, token=config.mask_token, tokens=vocabulary)
    return None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
