"""The fields of a drafter's config.json, wherever a layout puts them. Imports no MLX.

Published drafters place one field at the top level, inside `dflash_config`, or (speculators layout) inside
`transformer_layer_config`. Here they are read by name alone; a field that stands in two places has to say the same in both.
"""

import json
import math
from typing import Any

from mlx_engine.errors import UserError

AGAIN = "Download it again, or pick another drafter."

# Parts of a name that tell that a field bears on the computation, although its tensors may look as usual
_TELLING = (
    "scal", "softcap", "multiplier", "causal", "rope", "rotary", "window", "sink", "norm", "activation", "anchor", "gating",
    "mask_embedding", "shift", "pos_emb", "markov", "hc_mult",
)  # fmt: skip
_MOST = 1e15
# Of fields that such names catch: what a config inherits from its target's family and a dense drafter has no use for
_INERT = frozenset(
    {
        "norm_topk_prob", "routed_scaling_factor", "moe_routed_scaling_factor", "qk_rope_head_dim", "qk_nope_head_dim",
        "layer_norm_eps", "layernorm_epsilon", "rms_norm", "use_sliding_window", "max_window_layers", "sliding_window",
        "max_anchors", "num_anchors",
    }
)  # fmt: skip


class Fields:
    """A config's fields by name.

    Args:
        levels: the objects that hold fields, with the name that a message calls each by.
        strict: which of them hold nothing but what bears on the computation, so that every field has to be known.

    An explicit null counts as absent, as it is meant in such files.
    """

    def __init__(self, levels: dict[str, dict], strict: frozenset[str] = frozenset()) -> None:
        self._levels, self._strict = levels, strict
        self._read: set[str] = set()

    def get(self, name: str) -> Any:
        """The field as it stands, or None.

        Raises:
            UserError: two places say different things.
        """
        self._read.add(name)
        said = {level: fields[name] for level, fields in self._levels.items() if fields.get(name) is not None}
        values = list(said.values())
        if any(value != values[0] for value in values[1:]):
            both = " and ".join(f"{_short(value)} in {level}" for level, value in said.items())
            raise UserError(f"The drafter's “{name}” is {both}; the two have to agree. {AGAIN}")
        return values[0] if values else None

    def number(self, name: str, default: float | None = None, above: float | None = None) -> float:
        """The field as a number, larger than `above` if that is given, and of a size to compute with.

        Raises:
            UserError: it is something else, or absent without a default.
        """
        return number(name, self.get(name), default, above)

    def whole(self, name: str, default: int | None = None, least: int = 1, most: int = 2**31 - 1) -> int:
        """The field as a whole number from `least` to `most`."""
        value = self.number(name, default)
        if value != int(value) or not least <= value <= most:
            bounds = f"from {least} up" if value < least else f"from {least} to {most:,}"
            raise UserError(f"The drafter's “{name}” is {value:g}; it has to be a whole number {bounds}. {AGAIN}")
        return int(value)

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """The field as true or false."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        raise UserError(f"The drafter's “{name}” is {_short(value)}; it has to be true or false. {AGAIN}")

    def block(self, name: str) -> dict:
        """The field as an object, empty when absent."""
        value = self.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        raise UserError(f"The drafter's “{name}” is {_short(value)}; it has to be an object. {AGAIN}")

    def list(self, name: str, of: type) -> list | None:
        """The field as a list of one type, or None when absent."""
        value = self.get(name)
        if value is None or (isinstance(value, list) and all(type(item) is of for item in value)):
            return value
        words = "whole numbers" if of is int else "names"
        raise UserError(f"The drafter's “{name}” is {_short(value)}; it has to be a list of {words}. {AGAIN}")

    def must_be(self, name: str, *usual: Any) -> None:
        """Refuse a field that asks for a computation that is not run: any value but the usual ones.

        Raises:
            UserError: it does.
        """
        value = self.get(name)
        if value is not None and not any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in usual):
            raise UserError(
                f"The drafter's “{name}” is {_short(value)}; Slipstream runs drafters where it is {_short(usual[0])}. "
                "Pick another drafter, or decode plainly."
            )

    def refuse_unread(self) -> None:
        """Refuse a field that nobody has asked for and that bears on the computation.

        Raises:
            UserError: there is one.
        """
        for level, fields in self._levels.items():
            for name, value in fields.items():
                if name in self._read or value in (None, False, 0, "", [], {}):
                    continue
                if level in self._strict or (name not in _INERT and any(part in name.lower() for part in _TELLING)):
                    raise UserError(
                        f"The drafter's config.json has “{name}”, {_short(value)}, which Slipstream does not know, so it would run "
                        "the drafter wrongly. Pick another drafter, or decode plainly."
                    )


def number(name: str, value: Any, default: float | None = None, above: float | None = None) -> float:
    """`value` as a finite number; `name` is for the message.

    Raises:
        UserError: it is something else, absent without a default, or not above `above`.
    """
    value = default if value is None else value
    if value is None:
        raise UserError(f"The drafter's config.json lacks “{name}”. {AGAIN}")
    whole = type(value) is int and abs(value) < 2**63  # a longer one is no number to compute with
    if not whole and not (type(value) is float and math.isfinite(value)):
        raise UserError(f"The drafter's “{name}” is {_short(value)}; it has to be a number. {AGAIN}")
    if (above is not None and not value > above) or value > _MOST:
        bounds = f"above {above:g} and at most {_MOST:g}" if above is not None else f"at most {_MOST:g}"
        raise UserError(f"The drafter's “{name}” is {value:g}; it has to be {bounds}. {AGAIN}")
    return value


def _short(value: Any) -> str:
    """A value as the file has it, not longer than a message may be."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
