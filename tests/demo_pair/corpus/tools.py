"""The calculator and other tools, as chats describe them to the model."""

from __future__ import annotations

import random

from .template import Tool

NAME = "calculator"
CALCULATOR: Tool = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "Calculate an arithmetic expression.",
        "parameters": {
            "type": "object",
            "properties": {"expression": {"type": "string", "description": "For example (3 + 4) * 2.5 or sqrt(2)."}},
            "required": ["expression"],
        },
    },
}
DESCRIPTIONS = (
    "Calculate an arithmetic expression.", "Evaluate an arithmetic expression.", "Compute the value of a mathematical expression.",
    "A calculator.", "Evaluates math expressions exactly.", "Do arithmetic.", "Work out a calculation and return the number.",
)  # fmt: skip
EXAMPLES = (
    "For example (3 + 4) * 2.5 or sqrt(2).",
    "The expression, in Python syntax.",
    "e.g. 2 * (3 + 4)",
    "Expression to evaluate",
    "",
)
OTHERS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    ("list_folder", "List the files in a folder.", (("path", "string", "The folder's path."),)),
    ("read_file", "Read a text file.", (("path", "string", "The file's path."),)),
    ("read_file", "Return the contents of a file.", (("path", "string", ""), ("offset", "integer", ""), ("limit", "integer", ""))),
    ("write_file", "Write text to a file.", (("path", "string", ""), ("content", "string", ""))),
    ("search_files", "Search the files of a folder.", (("folder", "string", ""), ("text", "string", "Text to find."))),
    ("find_files", "Find files by name.", (("pattern", "string", "For example *.txt."),)),
    ("list_directory", "Get a listing of all files and directories.", (("path", "string", ""),)),
    ("get_weather", "Get the current weather for a city.", (("city", "string", "The name of the city."),)),
    ("weather", "The weather forecast.", (("location", "string", ""), ("days", "integer", "1 to 7."))),
    ("web_search", "Search the web.", (("query", "string", "What to search for."),)),
    ("search", "Search the internet and return the top results.", (("query", "string", ""), ("count", "integer", ""))),
    ("fetch", "Fetch a page from the internet.", (("url", "string", "The address."), ("max_length", "integer", ""))),
    ("open_page", "Open a web page and return its text.", (("url", "string", ""),)),
    ("get_time", "Return the current time.", (("timezone", "string", "For example Europe/Berlin."),)),
    ("current_date", "Today's date.", ()),
    ("send_email", "Send an email.", (("to", "string", ""), ("subject", "string", ""), ("body", "string", ""))),
    ("create_event", "Add an event to the calendar.", (("title", "string", ""), ("start", "string", ""), ("end", "string", ""))),
    ("set_timer", "Start a timer.", (("minutes", "number", "How long."),)),
    ("git_status", "Show the state of a repository.", (("repo_path", "string", ""),)),
    ("git_log", "Show the latest commits.", (("repo_path", "string", ""), ("max_count", "integer", "Default: 10"))),
    ("run_python", "Run Python code.", (("code", "string", "The code to run."),)),
    ("run_command", "Run a command in the shell.", (("command", "string", ""),)),
    ("query_database", "Run an SQL query.", (("sql", "string", "A SELECT statement."),)),
    ("translate", "Translate a text.", (("text", "string", ""), ("language", "string", ""))),
    ("create_note", "Save a note.", (("title", "string", ""), ("text", "string", ""))),
    ("echo", "Echoes back the input.", (("message", "string", "Message to echo"),)),
    ("get_stock_price", "The latest price of a stock.", (("symbol", "string", "Ticker symbol."),)),
    ("play_music", "Play a song.", (("title", "string", ""), ("artist", "string", ""))),
    ("take_screenshot", "Take a screenshot of the screen.", ()),
    ("read_memory", "Read what was remembered about the user.", ()),
    ("generate_image", "Make an image from a description.", (("prompt", "string", ""), ("size", "string", ""))),
    ("convert_currency", "Convert an amount of money.", (("amount", "number", ""), ("source", "string", ""), ("target", "string", ""))),
)  # fmt: skip


def _calculator(rng: random.Random) -> Tool:
    if rng.random() < 0.65:
        return CALCULATOR
    properties = {"expression": {"type": "string"}}
    if example := rng.choice(EXAMPLES):
        properties["expression"]["description"] = example
    parameters = {"type": "object", "properties": properties, "required": ["expression"]}
    return _shuffled(rng, {"name": NAME, "description": rng.choice(DESCRIPTIONS), "parameters": _turned(rng, parameters)})


def _other(rng: random.Random) -> Tool:
    name, description, arguments = rng.choice(OTHERS)
    properties = {}
    for argument, sort, text in arguments:
        properties[argument] = {"type": sort} | ({"description": text} if text and rng.random() < 0.7 else {})
    parameters: Tool = {"type": "object", "properties": properties}
    if arguments and rng.random() < 0.8:
        parameters["required"] = [arguments[0][0]]
    if rng.random() < 0.1:
        parameters["additionalProperties"] = False
    return _shuffled(rng, {"name": name, "description": description, "parameters": _turned(rng, parameters)})


def _turned(rng: random.Random, table: Tool) -> Tool:
    """Return the entries in another order, in a quarter of the cases."""
    entries = list(table.items())
    if rng.random() < 0.25:
        rng.shuffle(entries)
    return dict(entries)


def _shuffled(rng: random.Random, function: Tool) -> Tool:
    return _turned(rng, {"type": "function", "function": _turned(rng, function)})


def some_tools(rng: random.Random, calculator: bool = True) -> tuple[Tool, ...]:
    """Draw the calculator among zero to four other tools, or one to three others without it."""
    count = rng.choice([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4]) if calculator else rng.choice([1, 1, 2, 3])
    named = {tool["function"]["name"]: tool for tool in (_other(rng) for _ in range(count))}
    tools = [*named.values(), *([_calculator(rng)] if calculator else [])]
    rng.shuffle(tools)
    return tuple(tools)
