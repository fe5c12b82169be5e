"""Tools and schemas in OpenAI's dialects."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mlx_engine.api_server.body import log_ignored
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract import exact_json
from mlx_engine.contract.client import Deliver
from mlx_engine.contract.events import Commit, Event, Finished
from mlx_engine.contract.requests import ToolCall, ToolSpec

_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


@dataclass(frozen=True)
class ClientTool:
    """A tool as the client knows it.

    Attributes:
        namespace: namespace that the client declared the tool in.
        custom: whether the tool takes any text. The model calls it with a JSON object that has only the field `input`.
    """

    name: str
    namespace: str = ""
    custom: bool = False

    @property
    def full_name(self) -> str:
        """The name for the model, unique in all namespaces."""
        return f"{self.namespace.removesuffix('__')}__{self.name}" if self.namespace else self.name

    def text(self, call: ToolCall) -> str:
        """Return what the tool gets: JSON, or any text if the tool is custom."""
        given = json.loads(call.arguments).get("input") if self.custom else None
        return given if isinstance(given, str) else call.arguments


class OfferedTools:
    """The tools of a request, and its tool choice.

    Args:
        given: tools in the format of chats or of responses. If two have the same name, the last one is used.
        kinds: supported types of tools. Others are ignored, and logged by name.
        choice: the field `tool_choice`.

    Attributes:
        declared: the tools that may be called, for the engine.
        choice: the engine's tool choice.
        allowed: names of the tools that may be called, or None if any may be.

    Raises:
        ApiError: a tool has no name, or the choice isn't supported or isn't one of the tools.
    """

    def __init__(self, given: Iterable[Any], kinds: Collection[str], choice: Any = None) -> None:
        self._ignored = set[str]()  # types of tools
        found = {tool.full_name: (tool, spec) for tool, spec in self._read(given, kinds, "tools", "")}
        self._tools = {name: tool for name, (tool, _) in found.items()}
        self.allowed: frozenset[str] | None = None if found else frozenset()
        if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
            self.choice = self._limited(choice, kinds)
        else:
            self.choice = self._choice(choice)
        self.declared = tuple(spec for name, (_, spec) in found.items() if self.allowed is None or name in self.allowed)
        log_ignored("tools of type", self._ignored)

    def _read(
        self, given: Iterable[Any], kinds: Collection[str], where: str, namespace: str
    ) -> Iterator[tuple[ClientTool, ToolSpec]]:
        for at, tool in enumerate(given):
            kind = tool.get("type") if isinstance(tool, dict) else None
            if not isinstance(kind, str):
                raise ApiError(400, f"“{where}.{at}” has no type.", f"{where}.{at}.type", "invalid_value")
            if kind not in kinds:
                self._ignored.add(kind)
                continue
            inner = tool[kind] if isinstance(tool.get(kind), dict) else tool
            name, nested = inner.get("name"), inner.get("tools")
            if not isinstance(name, str) or not name:
                raise ApiError(400, f"“{where}.{at}” has no name.", f"{where}.{at}.name", "invalid_value")
            if kind == "namespace":
                yield from self._read(nested if isinstance(nested, list) else (), kinds, f"{where}.{at}.tools", name)
                continue
            offered = ClientTool(name, namespace, kind == "custom")
            spec = _spec(offered.full_name, inner, offered.custom, f"{where}.{at}")
            yield offered, replace(spec, deferred=tool.get("deferred") is True)

    def _choice(self, value: Any) -> str:
        """Return the engine's tool choice, if the choice doesn't list tools."""
        if value in (None, "auto", "none"):
            return value or "auto"
        if value == "required" and self._tools:
            return "required"
        message = "“tool_choice” must be “auto”, “none”, “required”, a tool, or allowed tools."
        if isinstance(value, dict) and value.get("type") in ("function", "custom"):
            if (name := _named(value)) in self._tools:
                return name
            message = f"“tool_choice” is “{name[:100]}”, but no tool has this name."
        elif value == "required":
            message = "“tool_choice” requires a call, but the request has no tools. Add tools."
        raise ApiError(400, message, "tool_choice", "invalid_value")

    def _limited(self, value: dict[str, Any], kinds: Collection[str]) -> str:
        """Return the engine's tool choice of a list of allowed tools."""
        given = value["allowed_tools"] if isinstance(value.get("allowed_tools"), dict) else value
        mode, listed, names = given.get("mode"), given.get("tools"), set[str]()
        if mode not in ("auto", "required") or not isinstance(listed, list):
            message = "“tool_choice” needs the “mode” “auto” or “required”, and a list of “tools”."
            raise ApiError(400, message, "tool_choice", "invalid_value")
        for at, tool in enumerate(listed):
            kind = tool.get("type") if isinstance(tool, dict) else None
            if isinstance(kind, str) and kind not in kinds:
                self._ignored.add(kind)
                continue
            own = self._nested(tool) if kind == "namespace" else {_named(tool)} if isinstance(kind, str) else set()
            if not own or not own <= self._tools.keys():
                message = f"“tools.{at}” of “tool_choice” isn't one of the request's tools."
                raise ApiError(400, message, "tool_choice", "invalid_value")
            names |= own
        self.allowed = frozenset(names)
        if not names and mode == "required":
            raise ApiError(400, "“tool_choice” requires a call, but allows no tools. Add tools.", "tool_choice", "invalid_value")
        return mode

    def _nested(self, given: dict[str, Any]) -> set[str]:
        """Return the names of the tools in a namespace."""
        return {full for full, tool in self._tools.items() if tool.namespace and tool.namespace == given.get("name")}

    def limiting(self, deliver: Deliver) -> Deliver:
        """Return a `deliver` that turns calls of other tools into text."""
        allowed, called = self.allowed, False

        def limited(event: Event | None) -> None:
            nonlocal called
            if isinstance(event, ToolCall):
                if allowed is None or self.of(event).full_name in allowed:
                    called = True
                else:
                    # Arguments from a remote server may not be JSON
                    text = f'{{"name": {json.dumps(event.name, ensure_ascii=False)}, "arguments": {event.arguments}}}'
                    event = Commit(text, "answer", (), ())
            elif isinstance(event, Finished) and event.reason == "tool_calls" and not called:
                event = replace(event, reason="eos")
            deliver(event)

        return limited

    def of(self, call: ToolCall) -> ClientTool:
        """Return the tool of a call, which may lack the namespace or name an unknown tool."""
        if call.name in self._tools:
            return self._tools[call.name]
        nested = [tool for tool in self._tools.values() if tool.name == call.name]
        return nested[0] if len(nested) == 1 else ClientTool(call.name)


def _named(choice: dict[str, Any]) -> str:
    """Return the full name of the tool that an entry of `tool_choice` refers to."""
    inner = choice[choice["type"]] if isinstance(choice.get(choice["type"]), dict) else choice
    name, namespace = inner.get("name"), inner.get("namespace")
    return ClientTool(str(name), namespace if isinstance(namespace, str) else "").full_name


def nested_fields(path: str) -> dict[str, str]:
    """Return the supported fields of tools for `Fields.nested`.

    Args:
        path: path of the list of tools.
    """
    own = "name description parameters strict format"
    return {
        path: f"type function custom tools deferred {own}",
        f"{path}.function": own,
        f"{path}.custom": own,
        f"{path}.format": "type definition grammar",
        f"{path}.format.grammar": "definition",
        f"{path}.custom.format": "type definition grammar",
        f"{path}.custom.format.grammar": "definition",
    }


def nested_choices(*paths: str) -> dict[str, str]:
    """Return the supported fields of tool choices for `Fields.nested`."""
    found = {}
    for path in paths:
        found[path] = "type function custom name namespace mode tools allowed_tools"
        for tool in (path, f"{path}.tools"):
            found |= {f"{tool}.function": "name namespace", f"{tool}.custom": "name namespace"}
        found[f"{path}.tools"] = "type function custom name namespace"
    return found


def _spec(name: str, given: dict[str, Any], custom: bool, where: str) -> ToolSpec:
    """Return a tool for the engine."""
    description, parameters = given.get("description"), given.get("parameters") or {"type": "object", "properties": {}}
    if custom:
        form, parameters = given.get("format"), _FREE_TEXT
        form = form.get("grammar", form) if isinstance(form, dict) else None
        grammar = form.get("definition") if isinstance(form, dict) else None
        description = f"{description or ''}\n\nThe input matches this grammar:\n{grammar}".strip() if grammar else description
    if not isinstance(parameters, dict) or not isinstance(description, str | None):
        message = f"The parameters of “{where}” must be a JSON schema, and its description a string."
        raise ApiError(400, message, where, "invalid_value")
    return ToolSpec(name, description or None, parameters, given.get("strict") is True)


def past_call(identifier: Any, tool: ClientTool, arguments: Any) -> ToolCall:
    """Return a call in a chat's history, whose parts may have any type."""
    if tool.custom or not arguments or not isinstance(arguments, str):
        arguments = json.dumps({"input": arguments or ""} if tool.custom else arguments or {}, ensure_ascii=False)
    return ToolCall(identifier if isinstance(identifier, str) else "", tool.full_name, arguments)


def schema_of(given: Any, where: str) -> str | None:
    """Return the JSON schema that a response format asks for, or None.

    Args:
        given: the format, as in chats or in responses.
        where: name of the field.

    Raises:
        ApiError: the format isn't supported.
    """
    kind = given.get("type") if isinstance(given, dict) else None
    if given is None or kind == "text":
        return None
    if kind == "json_object":
        return json.dumps({"type": "object"})
    if kind == "json_schema":
        inner = given.get("json_schema", given)
        schema = inner.get("schema") if isinstance(inner, dict) else None
        if isinstance(schema, dict | bool):
            return exact_json.dumps(schema)
        raise ApiError(400, f"“{where}” has no schema.", f"{where}.schema", "invalid_value")
    message = f"“{where}” must have the type “text”, “json_object”, or “json_schema”."
    raise ApiError(400, message, f"{where}.type", "invalid_value")
