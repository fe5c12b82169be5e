"""Prediction of the memory that a pair needs on each of several computers."""

from dataclasses import replace

from mlx_engine.models.configs.target_config import text_config, whole
from mlx_engine.models.fit import Fit, FitLine, gigabytes

_OF_DRAFTER = ("Drafter weights", "Drafter context")


def table_bytes(target: dict) -> float:
    """Return the stored bytes of embeddings and head, which aren't divided."""
    text, quantization = text_config(target), target.get("quantization")
    settings = quantization if isinstance(quantization, dict) else {}
    bits = whole(settings, "bits") or 16
    width = (bits + (32 / (whole(settings, "group_size") or 64) if bits < 16 else 0)) / 8
    tables = 1 if text.get("tie_word_embeddings") else 2
    return tables * (whole(text, "hidden_size") or 0) * (whole(text, "vocab_size") or 0) * width


def divided(fit: Fit, target: dict, target_bytes: int, ranks: int) -> tuple[Fit, Fit]:
    """Return the memory on the first computer, and on each of the others.

    All are assumed to have the memory of this one. The workspace counts as on one computer, which is a little too much.

    Args:
        fit: of the pair on one computer, without images.
        target: contents of config.json.
        target_bytes: size of the stored weights.
        ranks: number of computers.
    """
    heads = whole(text_config(target), "num_key_value_heads") or ranks  # keys are repeated if there are fewer heads than computers
    whole_share = min(table_bytes(target) / target_bytes, 1.0) if target_bytes else 1.0
    shares = {
        "Target weights": whole_share + (1 - whole_share) / ranks,
        "Target KV cache": 1 / min(ranks, heads),
        "Recurrent state": 1 / ranks,
    }
    lines = tuple(_part(line, shares.get(line.what, 1.0)) for line in fit.lines)
    others = tuple(line for line in lines if line.what not in _OF_DRAFTER)
    return replace(fit, lines=lines), replace(fit, lines=others, free=None)


def _part(line: FitLine, share: float) -> FitLine:
    if share == 1.0 or line.bytes is None:
        return line
    formula = f"{gigabytes(line.bytes)} × {share:.3g}"
    return FitLine(line.what, round(line.bytes * share), formula)
