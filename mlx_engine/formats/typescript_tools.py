"""Tools in TypeScript, which templates of Kimi K2.5 take as `tools_ts_str`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_INDENT = "  "
_CONSTRAINTS = {
    "string": ("maxLength", "minLength", "pattern"),
    "number": ("maximum", "minimum"),
    "integer": ("maximum", "minimum"),
    "array": ("maxItems", "minItems"),
}
_UNIONS = {
    **{"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"},
    **{"object": "{}", "array": "Array<any>"},
}
_VALUES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,)}
_SELF = "parameters"  # the interface to which the reference "#" leads
_DEFINITION = "#/$defs/"


def typescript(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the declarations of tools in OpenAI's format.

    Raises:
        Exception: a schema can't be written, such as one with a reference to another file.
    """
    functions = "\n".join(_function(in_order(tool["function"])) for tool in tools)
    return f"# Tools\n\n## functions\nnamespace functions {{\n{functions}\n}}\n"


def in_order(value: Any) -> Any:
    """Return a JSON value with the names of all objects in order."""
    if isinstance(value, dict):
        return {name: in_order(inner) for name, inner in sorted(value.items())}
    return [in_order(inner) for inner in value] if isinstance(value, list) else value


def _function(function: dict[str, Any]) -> str:
    schema = function.get("parameters") or {}
    references = _References()
    references.read_object(schema)
    lines, argument = list[str](), _object(schema)
    if references.to_itself:
        argument = _SELF
        fields = ",\n".join(_fields(schema, _INDENT))
        lines.append(f"interface {_SELF} {{" + (f"\n{fields}\n" if fields else "") + "}")
    for name, definition in list(references.definitions.items()):
        references.read(definition)
        lines += [*_comment(definition.get("description", "")), f"interface {name} {_type(definition)}"]
    lines += _comment(function.get("description") or "")
    return "\n".join([*lines, f"type {function['name']} = (_: {argument}) => any;"])


class _References:
    """The definitions of a schema, in the order in which they are found.

    Attributes:
        to_itself: whether a reference leads to the whole schema.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self.to_itself = False

    def read_object(self, schema: dict[str, Any]) -> None:
        self.definitions |= schema.get("$defs") or {}
        if isinstance(more := schema.get("additionalProperties"), dict):
            self.read(more)
        for inner in schema.get("properties", {}).values():
            self.read(inner)

    def read(self, schema: Any) -> None:
        """Add the definitions of a schema, and check that those it refers to are known."""
        if isinstance(schema, bool):
            return
        if "$ref" in schema:
            target = schema["$ref"]
            self.to_itself |= target == "#"
            known = target.startswith(_DEFINITION) and isinstance(self.definitions.get(target.split("/")[-1]), dict)
            if target != "#" and not known:
                raise ValueError(target)
        elif "anyOf" in schema:
            for inner in schema["anyOf"]:
                self.read(inner)
        elif "enum" not in schema and schema.get("type") == "object":
            self.read_object(schema)
        elif "enum" not in schema and schema.get("type") == "array" and schema.get("items"):
            self.read(schema["items"])


def _type(schema: Any, indent: str = "") -> str:
    """Return a schema as a type, whose further lines begin with `indent`."""
    if isinstance(schema, bool):
        return "any" if schema else "null"
    if "$ref" in schema:
        return _SELF if schema["$ref"] == "#" else schema["$ref"].split("/")[-1]
    if "anyOf" in schema:
        return " | ".join(_type(inner, indent) for inner in schema["anyOf"])
    if "enum" in schema:
        return _enumeration(schema)
    if not schema:
        return "any"
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(_UNIONS[each] for each in kind)
    if kind == "object":
        return _object(schema, indent)
    if kind == "array":
        return _array(schema.get("items") or True, indent)
    return "number" if kind == "integer" else kind


def _enumeration(schema: dict[str, Any]) -> str:
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if len(kinds) > 2 or (len(kinds) == 2 and "null" not in kinds):
        raise ValueError(kinds)
    kind = next((each for each in kinds if each != "null"), "null")
    for value in schema["enum"]:
        if value is not None and kind in _VALUES and not isinstance(value, _VALUES[kind]):
            raise ValueError(value)
    return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in schema["enum"])


def _array(items: Any, indent: str) -> str:
    if comments := _notes(items, indent + _INDENT):
        inner = f"{indent}{_INDENT}{_type(items, indent + _INDENT)}"
        return "\n".join(["Array<", *comments, inner, f"{indent}>"])
    return f"Array<{_type(items, indent)}>"


def _object(schema: dict[str, Any], indent: str = "") -> str:
    """Return an object with its required fields first, each part by name."""
    inside = indent + _INDENT
    required = schema.get("required", [])
    properties = sorted(schema.get("properties", {}).items(), key=lambda each: (each[0] not in required, each[0]))
    fields = [*_fields({**schema, "properties": dict(properties)}, inside)]
    if (more := schema.get("additionalProperties")) is not None:
        kind = "never" if more is False else _type(more, inside)
        fields.append(f"{inside}[k: string]: {kind}")
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}" if fields else "{}"


def _fields(schema: dict[str, Any], indent: str) -> Iterator[str]:
    required = schema.get("required", [])
    for name, inner in schema.get("properties", {}).items():
        default = inner.get("default") if isinstance(inner, dict) else None
        notes = _notes(inner, indent)
        if default is not None:
            shown = repr(default) if isinstance(default, int | float) else json.dumps(default, ensure_ascii=False)
            notes.append(f"{indent}// Default: {shown}")
        yield "\n".join([*notes, f"{indent}{name}{'' if name in required else '?'}: {_type(inner, indent)}"])


def _notes(schema: Any, indent: str) -> list[str]:
    """Return the comments above a field: its description and constraints."""
    if isinstance(schema, bool):
        return []
    kind = None if {"$ref", "anyOf", "enum"} & schema.keys() else schema.get("type")
    names = _CONSTRAINTS.get(kind, ()) if isinstance(kind, str) else ()
    limits = ", ".join(f"{name}: {schema[name]}" for name in names if name in schema)
    return [*_comment(schema.get("description", ""), indent), *([f"{indent}// {limits}"] if limits else [])]


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}// {line}" if line else "" for line in text.split("\n")] if text else []
