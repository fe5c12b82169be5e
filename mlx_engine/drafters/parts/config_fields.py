"""The fields of a drafter's config.json, checked for type and range."""

import json
import math
from typing import Any

from mlx_engine.contract.errors import UserError

# Parts of field names that suggest a change of the computation
_SIGNIFICANT = (
    "scal", "softcap", "multiplier", "causal", "rope", "rotary", "window", "sink", "norm", "activation", "anchor", "gating",
    "mask_embedding", "shift", "pos_emb", "markov", "hc_mult",
)  # fmt: skip
# Fields with such names that configs inherit from the target, and that dense drafters ignore
_INERT = frozenset(
    {
        "norm_topk_prob", "routed_scaling_factor", "moe_routed_scaling_factor", "qk_rope_head_dim", "qk_nope_head_dim",
        "layer_norm_eps", "layernorm_epsilon", "rms_norm", "use_sliding_window", "max_window_layers", "sliding_window",
        "max_anchors", "num_anchors",
    }
)  # fmt: skip
_LARGEST = 1e15


class ConfigFields:
    """The fields of a config by name. An explicit null counts as absent.

    Published drafters keep a field at the top level, in `dflash_config`, or (speculators layout) in `transformer_layer_config`. A
    field that appears in two places must have the same value in both.

    Args:
        levels: the objects that hold fields, by their names in error messages.
        strict: the levels in which unknown fields are refused.
    """

    def __init__(self, levels: dict[str, dict], strict: frozenset[str] = frozenset()) -> None:
        self._levels, self._strict = levels, strict
        self._read: set[str] = set()

    def get(self, name: str) -> Any:
        self._read.add(name)
        found = [(level, fields[name]) for level, fields in self._levels.items() if fields.get(name) is not None]
        for level, value in found[1:]:
            if value != found[0][1]:
                raise contradiction(name, found[0][1], f"{level}.{name}", value)
        return found[0][1] if found else None

    def number(self, name: str, default: float | None = None, above: float = -_LARGEST) -> float:
        return number(name, self.get(name), default, above)

    def whole(self, name: str, default: int | None = None, least: int = 1, most: int = 2**31 - 1) -> int:
        value = self.number(name, default)
        if value != int(value) or not least <= value <= most:
            raise unexpected(name, value, f"{least}, …, {most:,}")
        return int(value)

    def optional(self, name: str) -> int | None:
        return None if self.get(name) is None else self.whole(name)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        value = self.get(name)
        return default if value is None else self._checked(name, value, bool, "boolean")

    def block(self, name: str) -> dict:
        """Return a field that holds an object, or {} if it is absent."""
        value = self.get(name)
        return {} if value is None else self._checked(name, value, dict, "object")

    def list(self, name: str, of: type) -> list | None:
        """Return a field that holds a list of `of`, or None if it is absent."""
        value = self.get(name)
        if value is None or (isinstance(value, list) and all(type(item) is of for item in value)):
            return value
        raise unexpected(name, value, "array of integers" if of is int else "array of strings")

    def _checked(self, name: str, value: Any, kind: type, expected: str) -> Any:
        if not isinstance(value, kind):
            raise unexpected(name, value, expected)
        return value

    def must_be(self, name: str, *supported: Any) -> None:
        """Refuse values that would need an unsupported computation."""
        value = self.get(name)
        if value is not None and not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in supported):
            raise unexpected(name, value, _short(supported[0]))

    def refuse_unread(self) -> None:
        """Refuse unread fields that could affect the computation."""
        for level, fields in self._levels.items():
            for name, value in fields.items():
                if name in self._read or value in (None, False, 0, "", [], {}):
                    continue
                if level in self._strict or (name not in _INERT and any(part in name.lower() for part in _SIGNIFICANT)):
                    template = "Can't use this drafter: its config.json has an unknown “{field}” ({value}). Choose another drafter."
                    raise UserError("drafter_field_unknown", template, field=name, value=_short(value))


def number(name: str, value: Any, default: float | None = None, above: float = -_LARGEST) -> float:
    """Return `value` (the default if None) as a finite number greater than `above`."""
    value = default if value is None else value
    if value is None:
        raise missing(name)
    usable = (type(value) is int and abs(value) < 2**63) or (type(value) is float and math.isfinite(value))
    if not usable or not above < value <= _LARGEST:
        raise unexpected(name, value, f"> {above:g}, ≤ {_LARGEST:g}")
    return value


def missing(field: str) -> UserError:
    template = "Can't use this drafter: its config.json has no “{field}”. Download it again, or choose another drafter."
    return UserError("drafter_field_missing", template, field=field)


def unexpected(field: str, value: Any, expected: str) -> UserError:
    template = "Can't use this drafter: it sets “{field}” to {value} (expected: {expected}). Choose another drafter."
    return UserError("drafter_field_unexpected", template, field=field, value=_short(value), expected=expected)


def contradiction(first: str, value: Any, second: str, other: Any) -> UserError:
    """Return the error for two fields with contradictory values."""
    template = "Can't use this drafter: “{first}” ({value}) conflicts with “{second}” ({other}). Choose another drafter."
    return UserError("drafter_fields_contradict", template, first=first, value=_short(value), second=second, other=_short(other))


def _short(value: Any) -> str:
    """Return a value as JSON, shortened for error messages."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
