"""Grammars of replies: a schema for the answer, and a tool choice."""

from collections.abc import Callable, Sequence

from mlx_engine.contract import exact_json
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import ToolSpec
from mlx_engine.formats.lark import Lark, ReplyRules
from mlx_engine.formats.reply_format import ReplyFormat
from mlx_engine.formats.schemas import BadSchema

_MAX_LENGTH = 1 << 18  # characters of all schemas of a request


def reply_rules(
    form: ReplyFormat | None,
    tools: Sequence[ToolSpec],
    choice: str,
    schema: str | None,
    marker: Callable[[str], str],
    any_arguments: bool = False,
) -> ReplyRules | None:
    """Return the grammars of a reply, or None if the reply is unconstrained.

    Args:
        form: the target's format, or None if the target can't call tools.
        tools: as in `GenerationRequest`.
        choice: as in `GenerationRequest.tool_choice`.
        schema: as in `GenerationRequest`.
        marker: as in `Lark`.
        any_arguments: as in `Lark`.

    Raises:
        UserError: the tool choice can't be followed.
        BadSchema: a schema can't be used.
    """
    names = [tool.name for tool in tools]
    forced = choice not in ("auto", "none")
    if forced and not names:
        raise UserError(
            "no_tools_to_choose", "tool_choice is “{choice}”, but the request has no tools. Add tools, or use auto.", choice=choice
        )
    if forced and choice != "required" and choice not in names:
        template = "tool_choice is “{choice}”, but no tool has this name. Use auto, none, required, or the name of a tool."
        raise UserError("unknown_tool_choice", template, choice=choice)
    is_strict = choice == "auto" and any(tool.strict for tool in tools)
    if schema is None and not is_strict and (choice == "auto" or not names):
        return None
    callable_ = [tool for tool in tools if choice in ("auto", "required", tool.name)] if choice != "none" else []
    if len(schema or "") + sum(len(exact_json.dumps(tool.parameters)) for tool in callable_) > _MAX_LENGTH:
        raise BadSchema(f"the schemas of the request have more than {_MAX_LENGTH:,} characters")
    lark = Lark(callable_, marker, any_arguments, several=choice in ("auto", "required"))
    return (form or ReplyFormat()).grammar(lark, schema, forced, choice)
