"""Find the field of a config.json because of which mlx-lm cannot build a target.

Used only after mlx-lm has failed, so that mlx-lm decides what runs. mlx-lm checks nothing itself: a missing or wrong field shows
as whatever Python error comes later.
"""

import dataclasses
import json
import sys
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import mlx.nn as nn
from mlx_lm.models.base import BaseModelArgs
from mlx_lm.utils import _get_classes

from mlx_engine.errors import EngineText

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
# Fields that are read for every family
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
_INDICES = ("_size", "_dim", "_topk", "_window")  # fields that MLX takes as 32-bit integers, and `num_…`
_NEVER_ZERO = ("_heads", "_dim", "_interval")


def fault(config: dict) -> EngineText | None:
    """Return the first fault in a target's config.json, as a phrase that follows “The config.json of “NAME””.

    None if no fault is found, or if mlx-lm has no model for the family.
    """
    if found := _type_fault(config, _COMMON, frozenset({"model_type"})):
        return found
    try:
        model, model_arguments = _get_classes(config)
    except ValueError:
        return None
    checked = [(config, model_arguments)]
    if isinstance(inner := config.get("text_config"), dict):
        checked += [(inner, part) for part in _argument_classes(model) if part is not model_arguments]
    for fields, arguments in checked:
        known = {field.name: field for field in dataclasses.fields(arguments) if field.init and field.name not in _COMMON}
        hints = {
            name: hint | None if known[name].default is None else hint
            for name, hint in get_type_hints(arguments).items()
            if name in known
        }
        required = frozenset(name for name, field in known.items() if field.default is field.default_factory is dataclasses.MISSING)
        if found := _type_fault(fields, hints, required):
            return found
    return size_fault(config)


def size_fault(config: dict) -> EngineText | None:
    """Return the same for the first size that is too small."""
    inner = config.get("text_config")
    for fields in (config, inner if isinstance(inner, dict) else {}):
        for name, value in fields.items():
            never_zero = name in _SIZES or name.endswith(_NEVER_ZERO)
            size = never_zero or name.startswith("num_") or name.endswith("_size")
            if size and type(value) in (int, float) and (value < 0 or (value == 0 and never_zero)):
                template = "has “{field}” as {value}; it must be above 0"
                return EngineText.of("config_field_too_small", template, field=name, value=_shortened(value))
    return None


def value_fault(config: dict) -> EngineText | None:
    """Return the same for the first value that no forward can run with, however mlx-lm reads it."""
    inner = config.get("text_config")
    fields = {**config, **inner} if isinstance(inner, dict) else config
    for name, value in fields.items():
        if (name.endswith(_INDICES) or name.startswith("num_")) and type(value) is int and value >= 1 << 31:
            return EngineText.of(
                "config_field_too_large", "has “{field}” as {value}, which is too large", field=name, value=str(value)[:40]
            )
    pairs = [(chosen, of) for chosen in _CHOSEN_EXPERTS for of in _EXPERTS]
    for name, of in (*pairs, ("topk_group", "n_group"), ("n_group", "n_routed_experts")):
        value, most = fields.get(name), fields.get(of)
        if type(value) is int and type(most) is int and 1 < most < value:
            template = "has “{field}” as {value}, but “{other}” is only {most}"
            return EngineText.of("config_field_above", template, field=name, value=str(value), other=of, most=str(most))
    quantization = config.get("quantization")
    layers = [quantization, *quantization.values()] if isinstance(quantization, dict) else []
    for name, value in ((name, each.get(name)) for each in layers if isinstance(each, dict) for name in ("group_size", "bits")):
        if value is not None and (type(value) is not int or not 1 <= value <= 1024):
            template = "has a quantization with “{field}” as {value}"
            return EngineText.of("config_quantization", template, field=name, value=_shortened(value))
    return None


def _argument_classes(model: type[nn.Module]) -> list[type[BaseModelArgs]]:
    """The classes that list the fields of a model's parts, from the modules that mlx-lm builds it from."""
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
            expected = " or ".join(_JSON_TYPES[each] for each in types if each is not NoneType)
            template = "has “{field}” as {value}; expected type: {expected}"
            return EngineText.of("config_field_type", template, field=name, value=_shortened(value), expected=expected)
    return None


def _json_types(hint: Any) -> tuple[type, ...]:
    """The JSON types that a type hint allows; none if that is unknown."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_json_types(part) for part in get_args(hint)]
        return tuple(dict.fromkeys(each for part in parts for each in part)) if all(parts) else ()
    plain = get_origin(hint) or hint
    if dataclasses.is_dataclass(plain):
        return (dict,)
    return (plain,) if plain in _JSON_TYPES or plain is NoneType else ()


def _is(value: Any, expected: type) -> bool:
    """Whether a JSON value is of a type. An integer is a number too; a boolean is not."""
    return type(value) is expected or (expected is float and type(value) is int)


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
