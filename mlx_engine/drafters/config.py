"""What a published DFlash config.json says, in one shape.

Checkpoints are revised in place and place their fields differently, so everything is read from the file and nothing is tied to a
repository's name. Source of the field rules: z-lab's dflash 0.1.0 and the published configs.
"""

from dataclasses import dataclass
from typing import Any

from mlx_engine.errors import UserError


@dataclass(frozen=True)
class Rope:
    """Rotary embedding: `theta`, and the scaling block of the config (None for plain)."""

    theta: float
    scaling: dict | None
    max_positions: int


@dataclass(frozen=True)
class DrafterConfig:
    """A DFlash v1 drafter. One entry of `windows` and `causal` per layer; a window of None means full attention."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    norm_eps: float
    rope: Rope
    block_size: int
    taps: tuple[int, ...]  # target layers, 0-based, whose outputs are the context features
    mask_token: int
    attention_bias: bool
    windows: tuple[int | None, ...]  # a key is visible while query position - key position < window
    causal: tuple[bool, ...]  # whether a block row sees only the block rows before it
    embedding_scale: float
    output_multiplier: float
    softcap: float | None


class _Fields:
    """A config's fields, those inside `dflash_config` first. An explicit null counts as absent, as it is meant in such files."""

    def __init__(self, config: dict) -> None:
        inner = config.get("dflash_config")
        if inner is not None and not isinstance(inner, dict):
            raise UserError(f"The drafter's “dflash_config” is {inner!r}; it has to be an object. {_AGAIN}")
        self._config, self._inner = config, inner or {}

    def get(self, name: str) -> Any:
        """The field as it stands, or None."""
        value = self._inner.get(name)
        return self._config.get(name) if value is None else value

    def number(self, name: str, default: float | None = None) -> float:
        """The field as a number.

        Raises:
            UserError: it is something else, or absent without a default.
        """
        return _number(name, self.get(name), default)

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        """The field as a whole number, at least `least`."""
        value = self.number(name, default)
        if value != int(value) or value < least:
            raise UserError(f"The drafter's “{name}” is {value:g}; it has to be a whole number from {least} up. {_AGAIN}")
        return int(value)

    def block(self, name: str) -> dict:
        """The field as an object, empty when absent."""
        value = self.get(name)
        if value is None or isinstance(value, dict):
            return value or {}
        raise UserError(f"The drafter's “{name}” is {value!r}; it has to be an object. {_AGAIN}")

    def list(self, name: str, of: type) -> list | None:
        """The field as a list of one type, or None when absent."""
        value = self.get(name)
        if value is None or (isinstance(value, list) and all(type(item) is of for item in value)):
            return value
        raise UserError(f"The drafter's “{name}” is {value!r}; it has to be a list. {_AGAIN}")


_AGAIN = "Download it again, or pick another drafter."


def _number(name: str, value: Any, default: float | None = None) -> float:
    value = default if value is None else value
    if value is None:
        raise UserError(f"The drafter's config.json lacks “{name}”. {_AGAIN}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"The drafter's “{name}” is {value!r}; it has to be a number. {_AGAIN}")
    return value


def parse(config: dict) -> DrafterConfig:
    """Read a drafter's config.json.

    Raises:
        UserError: the architecture is not supported, or a field is missing or contradictory; the sentence names it.
    """
    fields = _Fields(config)
    architectures = fields.get("architectures")
    if not isinstance(architectures, list) or "DFlashDraftModel" not in architectures:
        name = ", ".join(map(str, architectures)) if isinstance(architectures, list) and architectures else "not given"
        raise UserError(
            f"This drafter's architecture is {name}; Slipstream runs DFlashDraftModel. Pick a DFlash drafter, or decode plainly."
        )
    if fields.get("quantization") or fields.get("quantization_config"):
        raise UserError("This drafter is stored quantised, which Slipstream does not run yet. Pick the unquantised one.")
    layers, heads = fields.whole("num_hidden_layers"), fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    windows = _windows(fields, layers)
    is_causal = fields.get("is_causal")
    taps = fields.list("target_layer_ids", int)
    if not taps:
        raise UserError(f"The drafter's config.json lacks “target_layer_ids”, so it has nothing to condition on. {_AGAIN}")
    softcap = fields.get("final_logit_softcapping")
    return DrafterConfig(
        hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        layers=layers,
        heads=heads,
        kv_heads=fields.whole("num_key_value_heads", heads),
        head_dim=fields.whole("head_dim", hidden // heads),
        vocab_size=fields.whole("vocab_size"),
        norm_eps=fields.number("rms_norm_eps"),
        rope=_rope(fields),
        block_size=fields.whole("block_size", least=2),
        taps=tuple(taps),
        mask_token=fields.whole("mask_token_id", least=0),
        attention_bias=bool(fields.get("attention_bias")),
        windows=windows,
        causal=tuple(bool(is_causal) if is_causal is not None else window is not None for window in windows),
        embedding_scale=fields.number("input_embedding_scale", 1.0),
        output_multiplier=fields.number("output_multiplier", 1.0),
        softcap=None if softcap is None else _number("final_logit_softcapping", softcap),
    )


def _windows(fields: _Fields, layers: int) -> tuple[int | None, ...]:
    types = fields.list("layer_types", str) or ["full_attention"] * layers
    if len(types) != layers:
        raise UserError(f"The drafter's “layer_types” names {len(types)} layers, but “num_hidden_layers” is {layers}.")
    unknown = sorted(set(types) - {"full_attention", "sliding_attention"})
    if unknown:
        raise UserError(f"The drafter's “layer_types” has “{unknown[0]}”; Slipstream knows full_attention and sliding_attention.")
    window = fields.whole("sliding_window") if "sliding_attention" in types else None
    return tuple(window if kind == "sliding_attention" else None for kind in types)


def _rope(fields: _Fields) -> Rope:
    parameters = fields.block("rope_parameters")
    theta = fields.get("rope_theta")
    theta = _number("rope_theta", parameters.get("rope_theta") if theta is None else theta)
    scaling = fields.block("rope_scaling") or parameters
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if kind not in ("default", "yarn"):
        raise UserError(f"The drafter's rope type is “{kind}”; Slipstream knows default and yarn.")
    if kind == "yarn":
        _number("factor", scaling.get("factor"))
        for name in ("original_max_position_embeddings", "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim"):
            _number(name, scaling.get(name), 0.0)
    return Rope(theta, scaling if kind == "yarn" else None, fields.whole("max_position_embeddings", 4096))
