"""Locate the config.json field that makes mlx-lm fail to build a target.

Runs only after mlx-lm has failed, so mlx-lm alone decides what is supported. mlx-lm doesn't validate configs: a missing or wrong
field surfaces as an arbitrary Python error.
"""

import dataclasses
import json
import sys
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import mlx.nn as nn
from mlx_lm.models.base import BaseModelArgs
from mlx_lm.utils import _get_classes

from mlx_engine.contract.errors import EngineText
from mlx_engine.models.configs.target_config import text_config

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
# Fields of every family
_COMMON: dict[str, Any] = {
    "model_type": str,
    "architectures": list | str | None,
    "eos_token_id": int | list | None,
    "dtype": str | None,
    "torch_dtype": str | None,
    "text_config": dict | None,
    "rope_scaling": dict | None,
    "rope_parameters": dict | None,
    "quantization": dict | None,
    "quantization_config": dict | None,
}
_SIZES = (
    "hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "rms_norm_eps",
)  # fmt: skip
_CHOSEN_EXPERTS = ("num_experts_per_tok", "top_k_experts", "moe_topk", "num_experts_per_token")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_INDICES = ("_size", "_dim", "_topk", "_window")  # suffixes of 32-bit integer fields; `num_…` are too
_NEVER_ZERO = ("_heads", "_dim", "_interval")
# Fields whose type in mlx-lm is narrower than what it accepts
_WIDER: dict[str, Any] = {"rope_theta": float, "q_lora_rank": int | None}
_AT_MOST = (("rotary_dim", "head_dim"), ("num_kv_shared_layers", "num_hidden_layers"))
_DIVISORS = (
    ("num_key_value_heads", "num_attention_heads"), ("n_group", "n_routed_experts"),
    ("linear_num_key_heads", "linear_num_value_heads"),
)  # fmt: skip
_ATTENTION = ("full_attention", "sliding_attention", "linear_attention", "chunked_attention")
_PER_LAYER: dict[str, tuple[str, ...]] = {"layer_types": _ATTENTION, "mlp_layer_types": ("dense", "sparse")}
_GROUP_SIZES, _BITS = (16, 32, 64, 128), (2, 3, 4, 5, 6, 8)  # supported by MLX


def fault(config: dict) -> EngineText | None:
    """Return the first fault in a target's config.json as a predicate, or None.

    The caller prepends the subject, `The config.json of “NAME”`. Families that mlx-lm doesn't know are not checked.
    """
    if found := _type_fault(config, _COMMON, frozenset({"model_type"})):
        return found
    if isinstance(named := config.get("architectures"), list) and (wrong := [one for one in named if not isinstance(one, str)]):
        return _wrong_type("architectures", wrong[0], (str,))
    try:
        model, model_arguments = _get_classes(config)
    except Exception:  # also for a module of mlx-lm that has no model, such as “cache”
        return None
    checked = [(config, model_arguments)]
    if isinstance(inner := config.get("text_config"), dict):
        checked += [(inner, part) for part in _argument_classes(model) if part is not model_arguments]
    for fields, arguments in checked:
        known = {field.name: field for field in dataclasses.fields(arguments) if field.init and field.name not in _COMMON}
        hints = {
            name: hint | None if known[name].default is None else hint
            for name, hint in (get_type_hints(arguments) | _WIDER).items()
            if name in known
        }
        required = frozenset(name for name, field in known.items() if field.default is field.default_factory is dataclasses.MISSING)
        if found := _type_fault(fields, hints, required):
            return found
    return size_fault(config)


def size_fault(config: dict) -> EngineText | None:
    """Return the first size that is too small or contradicts another, or None."""
    inner = config.get("text_config")
    for fields in (config, inner if isinstance(inner, dict) else {}):
        for name, value in fields.items():
            never_zero = name in _SIZES or name.endswith(_NEVER_ZERO)
            size = never_zero or name.startswith("num_") or name.endswith(_INDICES)
            if size and type(value) in (int, float) and (value < 0 or (value == 0 and never_zero)):
                template = "sets “{field}” to {value}, but it must be above 0"
                return EngineText.of("config_field_too_small", template, field=name, value=_shortened(value))
    return _relation_fault(text_config(config)) or _quantization_fault(config.get("quantization"))


def _relation_fault(fields: dict) -> EngineText | None:
    """Return the first contradiction between the fields of a flat config, or None."""
    heads, layers = fields.get("num_attention_heads"), fields.get("num_hidden_layers")
    if type(heads) is int and type(hidden := fields.get("hidden_size")) is int and heads > 0:
        fields = {"head_dim": hidden // heads, **fields}
    if found := _above(fields, _AT_MOST):
        return found
    for name, of in _DIVISORS:
        value, total = fields.get(name), fields.get(of)
        if type(value) is int and type(total) is int and value > 0 and total % value:
            template = "sets “{field}” to {value}, which doesn't divide “{other}” ({total})"
            return EngineText.of("config_field_not_divisor", template, field=name, value=str(value), other=of, total=str(total))
    for name, allowed in _PER_LAYER.items():
        entries = fields.get(name)
        if not isinstance(entries, list):
            continue
        if wrong := [entry for entry in entries if entry not in allowed]:
            template = "sets “{field}” to {value}; allowed: {allowed}"
            shown = ", ".join(allowed)
            return EngineText.of("config_entry_unknown", template, field=name, value=_shortened(wrong[0]), allowed=shown)
        if type(layers) is int and len(entries) < layers:
            template = "has “{field}” for only {count} of {layers} layers"
            return EngineText.of("config_entries_missing", template, field=name, count=len(entries), layers=layers)
    return None


def _quantization_fault(quantization: Any) -> EngineText | None:
    for layer in [quantization, *quantization.values()] if isinstance(quantization, dict) else ():
        for name, allowed in (("group_size", _GROUP_SIZES), ("bits", _BITS)) if isinstance(layer, dict) else ():
            if layer.get(name) not in allowed:
                template = "sets “{field}” to {value} in its quantization settings; allowed: {allowed}"
                shown, values = _shortened(layer.get(name)), ", ".join(map(str, allowed))
                return EngineText.of("config_quantization_value", template, field=name, value=shown, allowed=values)
    return None


def _above(fields: dict, pairs: Iterable[tuple[str, str]]) -> EngineText | None:
    for name, of in pairs:
        value, most = fields.get(name), fields.get(of)
        if type(value) is int and type(most) is int and 1 < most < value:
            template = "sets “{field}” to {value}, but “{other}” is only {most}"
            return EngineText.of("config_field_above", template, field=name, value=str(value), other=of, most=str(most))
    return None


def value_fault(config: dict) -> EngineText | None:
    """Return the first fault of a value that makes a forward pass impossible, or None."""
    fields = text_config(config)
    nested = [part for part in fields.values() if isinstance(part, dict)]
    for name, value in (item for part in (fields, *nested) for item in part.items()):
        is_index = name.endswith(_INDICES) or name.startswith("num_")
        if type(value) is int and not -(1 << 63) <= value < (1 << (31 if is_index else 63)):
            return EngineText.of(
                "config_field_too_large", "sets “{field}” to {value}, which is too large", field=name, value=str(value)[:40]
            )
    experts = [(chosen, of) for chosen in _CHOSEN_EXPERTS for of in _EXPERTS]
    if found := _above(fields, (*experts, ("topk_group", "n_group"), ("n_group", "n_routed_experts"))):
        return found
    quantization = config.get("quantization")
    layers = [quantization, *quantization.values()] if isinstance(quantization, dict) else []
    for name, value in ((name, each.get(name)) for each in layers if isinstance(each, dict) for name in ("group_size", "bits")):
        if value is not None and (type(value) is not int or not 1 <= value <= 1024):
            template = "sets “{field}” to {value} in its quantization settings, which isn't valid"
            return EngineText.of("config_quantization", template, field=name, value=_shortened(value))
    return None


def _argument_classes(model: type[nn.Module]) -> list[type[BaseModelArgs]]:
    """Return mlx-lm's argument dataclasses for all parts of a model."""
    modules = [sys.modules[each.__module__] for each in model.__mro__ if each.__module__.startswith("mlx_lm.models.")]
    named = [thing for module in modules for thing in vars(module).values()]
    named += [thing.ModelArgs for thing in named if hasattr(thing, "ModelArgs")]
    classes = [thing for thing in named if isinstance(thing, type) and issubclass(thing, BaseModelArgs)]
    return [each for each in dict.fromkeys(classes) if each is not BaseModelArgs]


def _type_fault(fields: dict, hints: dict[str, Any], required: frozenset[str]) -> EngineText | None:
    for name, hint in hints.items():
        if name not in fields:
            if name in required:
                return EngineText.of("config_field_missing", "lacks “{field}”", field=name)
            continue
        value, types = fields[name], _json_types(hint)
        if types and not any(_is(value, each) for each in types):
            return _wrong_type(name, value, types)
    return None


def _wrong_type(name: str, value: Any, types: Iterable[type]) -> EngineText:
    expected = " or ".join(_JSON_TYPES[each] for each in types if each is not NoneType)
    template = "sets “{field}” to {value}; expected type: {expected}"
    return EngineText.of("config_field_type", template, field=name, value=_shortened(value), expected=expected)


def _json_types(hint: Any) -> tuple[type, ...]:
    """Return the JSON types that a type hint allows, or an empty tuple if unknown."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_json_types(part) for part in get_args(hint)]
        return tuple(dict.fromkeys(each for part in parts for each in part)) if all(parts) else ()
    plain = get_origin(hint) or hint
    if dataclasses.is_dataclass(plain):
        return (dict,)
    return (plain,) if plain in _JSON_TYPES or plain is NoneType else ()


def _is(value: Any, expected: type) -> bool:
    """Return whether a JSON value has a type; an integer also counts as a float."""
    return type(value) is expected or (expected is float and type(value) is int)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
