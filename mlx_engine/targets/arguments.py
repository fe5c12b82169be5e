"""What mlx-lm's model of a family asks of config.json: which field is to blame when it cannot be built.

Asked only after mlx-lm has failed, so that its own judgement decides what runs. mlx-lm checks nothing itself: what is missing or of
another kind shows as whatever Python runs into later.
"""

import dataclasses
import json
import sys
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import mlx.nn as nn
from mlx_lm.models.base import BaseModelArgs
from mlx_lm.utils import _get_classes

_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}
# Fields that are read whatever the family
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
_NEVER_ZERO = ("_heads", "_dim", "_interval")


def fault(config: dict) -> str:
    """What is wrong with the first field of a target's config.json that cannot be right, such as “lacks “hidden_size””.

    It goes on from “The target's config.json”. Empty when no field is seen to be wrong, or mlx-lm has no model for it.
    """
    if said := _misstated(config, _COMMON, frozenset({"model_type"})):
        return said
    try:
        model, whole = _get_classes(config)
    except ValueError:
        return ""
    described = [(config, whole)]
    if isinstance(inner := config.get("text_config"), dict):
        described += [(inner, part) for part in _arguments_of(model) if part is not whole]
    for fields, arguments in described:
        asked = {field.name: field for field in dataclasses.fields(arguments) if field.init and field.name not in _COMMON}
        hints = {name: _may_be_null(hint, asked[name]) for name, hint in get_type_hints(arguments).items() if name in asked}
        needed = frozenset(name for name, field in asked.items() if _has_no_default(field))
        if said := _misstated(fields, hints, needed):
            return said
    return too_small(config)


def too_small(config: dict) -> str:
    """The same of the first size that is 0 or less."""
    inner = config.get("text_config")
    for fields in (config, inner if isinstance(inner, dict) else {}):
        for name, value in fields.items():
            never_zero = name in _SIZES or name.endswith(_NEVER_ZERO)
            size = never_zero or name.startswith("num_") or name.endswith("_size")
            if size and type(value) in (int, float) and (value < 0 or (value == 0 and never_zero)):
                return f"has “{name}” as {_short(value)}; it has to be above 0"
    return ""


def _arguments_of(model: type[nn.Module]) -> list[type[BaseModelArgs]]:
    """The classes in which mlx-lm keeps the fields of a model's parts: those of the modules that it is made from."""
    modules = [sys.modules[each.__module__] for each in model.__mro__ if each.__module__.startswith("mlx_lm.models.")]
    named = [thing for module in modules for thing in vars(module).values()]
    named += [thing.ModelArgs for thing in named if hasattr(thing, "ModelArgs")]
    classes = [thing for thing in named if isinstance(thing, type) and issubclass(thing, BaseModelArgs)]
    return [each for each in dict.fromkeys(classes) if each is not BaseModelArgs]


def _misstated(fields: dict, hints: dict[str, Any], needed: frozenset[str]) -> str:
    for name, hint in hints.items():
        if name not in fields:
            if name in needed:
                return f"lacks “{name}”"
            continue
        value, kinds = fields[name], _kinds(hint)
        if kinds and not any(_is(value, kind) for kind in kinds):
            wanted = " or ".join(_WORDS[kind] for kind in kinds if kind is not NoneType)
            return f"has “{name}” as {_short(value)}; it has to be {wanted}"
    return ""


def _kinds(hint: Any) -> tuple[type, ...]:
    """The kinds of JSON value that a type hint allows; none where it cannot be told."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_kinds(part) for part in get_args(hint)]
        return tuple(dict.fromkeys(kind for part in parts for kind in part)) if all(parts) else ()
    kind = get_origin(hint) or hint
    if dataclasses.is_dataclass(kind):
        return (dict,)
    return (kind,) if kind in _WORDS or kind is NoneType else ()


def _is(value: Any, kind: type) -> bool:
    """Whether a JSON value is of a kind; a whole number will do for a number, and true is none."""
    return type(value) is kind or (kind is float and type(value) is int)


def _may_be_null(hint: Any, field: dataclasses.Field) -> Any:
    return hint | None if field.default is None else hint


def _has_no_default(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"
