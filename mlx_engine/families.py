"""Model families as plain data, read both when choosing a pair and when running one. Imports no MLX.

A family is what `model_type` in a target's config.json names. The table says which of mlx-lm's cache classes its layers use, since
each kind of cache rewinds in its own way, and where in mlx-lm's module tree the layers, the embedding table and the head are.
A family that is not in the table decodes plainly; DFlash is refused by name.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """Where mlx-lm keeps the parts of a target. Paths are attribute names below the model, joined by dots."""

    model_type: str
    caches: tuple[str, ...]  # names of mlx-lm's cache classes that its layers use
    backbone: str = "model"  # holds `layers` and `embed_tokens`
    head: str = "lm_head"  # absent on the instance when tied to the embedding


FAMILIES: dict[str, Family] = {family.model_type: family for family in (Family("qwen3", ("KVCache",)),)}


def family_of(config: dict) -> Family | None:
    """The family of a target's config.json, or None when it is not in the table."""
    return FAMILIES.get(str(config.get("model_type")))
