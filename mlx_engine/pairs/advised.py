"""How a target's makers advise to sample from it, by the generation_config.json beside its weights."""

import json
from pathlib import Path

from mlx_engine.requests import Sampling

# field of the file, our field, lowest and highest that make sense
_FIELDS = (
    ("temperature", "temperature", 0.0, 5.0),
    ("top_p", "top_p", 0.0, 1.0),
    ("min_p", "min_p", 0.0, 1.0),
    ("repetition_penalty", "repetition_penalty", 0.5, 3.0),
)


def advised_sampling(folder: Path) -> Sampling:
    """Greedy where the file is missing, broken, or asks for no sampling; a value that makes no sense is left out."""
    try:
        data = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Sampling()
    if not isinstance(data, dict) or data.get("do_sample") is not True:
        return Sampling()
    values = {"temperature": 1.0}  # what transformers takes when none is given
    for theirs, ours, low, high in _FIELDS:
        value = data.get(theirs)
        if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            values[ours] = float(value)
    top_k = data.get("top_k")
    return Sampling(**values, top_k=top_k if type(top_k) is int and top_k > 0 else 0)
