"""Built-in tool servers.

They speak MCP like any other server, but run in this process.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlx_engine.mcp.calculator import calculate
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.document_tools import Documents
from mlx_engine.mcp.file_tools import Files

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_KINDS = {"string": str, "integer": int}
_PATH = {"type": "string", "description": "For example Documents/notes.txt. It begins with the name of a chosen folder."}


def server(config: ServerConfig) -> "Server[Any]":
    """Return the MCP server for a built-in server's configuration."""
    import anyio.to_thread  # slow to import
    from mcp import types
    from mcp.server.lowlevel import Server

    documents: Documents | None = None
    match config.builtin:
        case "calculator":
            tools = _calculator()
        case "documents":
            documents = Documents(config.folders, Path(config.index) if config.index else None)
            tools = _documents(documents)
        case _:
            tools = _files(Files(config.folders))

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[None]:
        if documents is not None:
            documents.start()
        try:
            yield
        finally:
            if documents is not None:
                documents.close()

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name=run.__name__, description=words, input_schema=schema) for run, words, schema in tools]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await anyio.to_thread.run_sync(_call, tools, params.name, params.arguments or {}, abandon_on_cancel=True)
        except (ValueError, OSError) as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server(config.name, lifespan=lifespan, on_list_tools=list_tools, on_call_tool=call_tool)


_Tool = tuple[Callable[..., str], str, dict[str, Any]]  # function with the tool's name, description, and schema


def _calculator() -> list[_Tool]:
    def calculator(expression: str) -> str:
        return calculate(expression)

    return [
        (
            calculator,
            "Calculate an arithmetic expression.",
            _schema({"expression": {"type": "string", "description": "For example (3 + 4) * 2.5 or sqrt(2)."}}, "expression"),
        )
    ]


def _files(files: Files) -> list[_Tool]:
    first = {"type": "integer", "description": "Line to begin with. Default: 1."}
    text = {"type": "string", "description": "Text to find. The case of letters is ignored."}
    folder = {"type": "string", "description": "For example Documents. Without a folder, all chosen folders."}
    return [
        (files.list_folder, "List a folder, or the folders that the user chose.", _schema({"path": folder})),
        (files.read_file, "Read a text file.", _schema({"path": _PATH, "first_line": first}, "path")),
        (
            files.search_files,
            "Find files by a text in their names or contents.",
            _schema({"text": text, "folder": folder}, "text"),
        ),
    ]


def _documents(documents: Documents) -> list[_Tool]:
    query = {
        "type": "string",
        "description": "A question, or words that the text probably contains, in the language of the document.",
    }
    others = {
        "type": "string",
        "description": "Always give 10 to 20 other words that the passage itself may contain, in the language of the document: "
        "synonyms, names, things, what an answer would say, older and technical terms, and other forms of a word, such as find and "
        "found. For “How does bread rise?”: yeast dough ferment leaven rose risen gas bubbles swell bake oven loaf.",
    }
    name = {"type": "string", "description": "Name of the document, as in the results of search_documents."}
    page = {"type": "integer", "description": "Number of the page, from 1."}
    place = _schema({"document": name, "page": page}, "document", "page")
    return [
        (
            documents.search_documents,
            "Search the user's documents. Returns passages with their document and page. The search compares words, not meanings: "
            "it finds a passage only by words that are in it. So put words that the document may use instead of yours into "
            "other_words. If the passages don't answer the question, search again with different words, or read the page with "
            "open_page.",
            _schema({"query": query, "other_words": others}, "query"),
        ),
        (documents.open_page, "Read a page of one of the user's documents.", place),
    ]


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": list(required)} if required else {})


def _call(tools: list[_Tool], name: str, arguments: dict[str, Any]) -> str:
    """Return the result of a tool.

    Raises:
        ValueError: the tool is unknown, or the arguments are wrong.
    """
    run, _, schema = next((tool for tool in tools if tool[0].__name__ == name), (None, "", {}))
    if run is None:
        raise ValueError(f"Unknown tool “{name}”")
    for missing in set(schema.get("required", ())) - set(arguments):
        raise ValueError(f"“{missing}” is missing")
    for key, value in arguments.items():
        kind = schema["properties"].get(key, {}).get("type")
        if kind is None or type(value) is not _KINDS[kind]:
            raise ValueError(f"“{key}” isn't {'an argument' if kind is None else f'of the type {kind}'}")
    return run(**arguments)
