"""The settings of single layers in newer Gemma 4 configs.

Newer configs list what full-attention layers have different from the others, where older ones have a field for all of them.
"""

from typing import Any

_FULL = "full_attention"
OLDER_NAMES = {"head_dim": "global_head_dim", "num_key_value_heads": "num_global_key_value_heads"}


def full_layers(text: dict) -> dict[str, Any] | None:
    """Return the settings of all full-attention layers by their older names.

    Returns:
        {} without `per_layer_config`, and None if it sets anything else.
    """
    listed, types = text.get("per_layer_config"), text.get("layer_types")
    if listed is None:
        return {}
    full = [layer for layer, kind in enumerate(types) if kind == _FULL] if isinstance(types, list) else []
    if not isinstance(listed, dict) or not all(key.isdecimal() and len(key) < 9 for key in listed):  # such as “5” and “05”
        return None
    settings = list(listed.values())
    if sorted(map(int, listed)) != full or not full or not isinstance(settings[0], dict):
        return None
    if not settings[0].keys() <= OLDER_NAMES.keys() or any(one != settings[0] for one in settings):
        return None
    return {OLDER_NAMES[name]: value for name, value in settings[0].items()}
