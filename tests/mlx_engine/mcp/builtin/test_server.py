"""The built-in servers speak MCP."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from mlx_engine.mcp.builtin_tools import server
from mlx_engine.mcp.config import ServerConfig

CALCULATOR = ServerConfig("Calculator", "calculator")


def asked(config: ServerConfig, name: str, arguments: dict[str, Any] | None) -> tuple[str, bool]:
    """Return the text of a result, and whether it is an error."""

    async def ask() -> tuple[str, bool]:
        async with Client(server(config)) as client:
            result = await client.call_tool(name, arguments)
            return "".join(part.text for part in result.content), result.is_error

    return anyio.run(ask)


def tools_of(config: ServerConfig) -> list:
    async def ask() -> list:
        async with Client(server(config)) as client:
            return (await client.list_tools()).tools

    return anyio.run(ask)


def test_the_calculator_is_defined_as_the_demo_pair_learned_it() -> None:
    [tool] = tools_of(CALCULATOR)
    assert (tool.name, tool.description) == ("calculator", "Calculate an arithmetic expression.")
    assert json.dumps(tool.input_schema) == (
        '{"type": "object", "properties": {"expression": {"type": "string", "description": '
        '"For example (3 + 4) * 2.5 or sqrt(2)."}}, "required": ["expression"]}'
    )


def test_results_are_values_and_errors_are_sentences() -> None:
    assert asked(CALCULATOR, "calculator", {"expression": "4817 * 392"}) == ("1888264", False)
    assert asked(CALCULATOR, "calculator", {"expression": "1/0"}) == ("Division by zero", True)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("calculator", None, "“expression” is missing"),
        ("calculator", {"expression": 3}, "“expression” isn't of the type string"),
        ("calculator", {"expression": "1", "more": 1}, "“more” isn't an argument"),
        ("eval", {}, "Unknown tool “eval”"),
    ],
)
def test_wrong_calls_are_errors(name: str, arguments: dict[str, Any] | None, message: str) -> None:
    assert asked(CALCULATOR, name, arguments) == (message, True)


def test_files_reads_the_chosen_folders(tmp_path: Path) -> None:
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "a.txt").write_text("One\nTwo\n")
    config = ServerConfig("Files", "files", folders=(str(tmp_path / "Notes"),))
    assert [tool.name for tool in tools_of(config)] == ["list_folder", "read_file", "search_files"]
    assert asked(config, "list_folder", None) == ("Notes/", False)
    assert asked(config, "read_file", {"path": "Notes/a.txt", "first_line": 2}) == ("Two\n", False)
    assert asked(config, "search_files", {"text": "one"}) == ("Notes/a.txt:1: One", False)
    assert asked(config, "read_file", {"path": "/etc/passwd"})[1]
