"""Small SQL queries and shell commands."""

from __future__ import annotations

import random

from .exchange import Exchange
from .wording import one_of

SQL: dict[str, tuple[str, str]] = {
    "(finds|shows|lists) duplicate (emails|emails in a table|email addresses)": (
        "SELECT email, COUNT(*) AS count\nFROM users\nGROUP BY email\nHAVING COUNT(*) > 1;", "finds duplicate emails"),
    "counts (the rows|rows|all rows)( in a table| of a table|)": ("SELECT COUNT(*)\nFROM users;", "counts the rows of a table"),
    "(selects|shows|gets|lists) (all rows|everything|all data|all columns)( from a table| of a table|)": ("SELECT *\nFROM users;", "shows all rows of a table"),
    "joins two tables": ("SELECT users.name, orders.total\nFROM users\nJOIN orders ON orders.user_id = users.id;", "joins two tables"),
    "(inserts|adds) (a row|a new row|a record)( into a table| to a table|)": ("INSERT INTO users (name, email)\nVALUES ('Ada', 'ada@example.com');", "adds a row to a table"),
    "(updates|changes) (a row|a value|a record)( in a table|)": ("UPDATE users\nSET name = 'Ada'\nWHERE id = 1;", "changes a row of a table"),
    "(deletes|removes) (a row|a record)( from a table|)": ("DELETE FROM users\nWHERE id = 1;", "deletes a row of a table"),
    "(creates|makes) a table": ("CREATE TABLE users (\n    id INTEGER PRIMARY KEY,\n    name TEXT,\n    email TEXT\n);", "creates a table"),
    "(sorts|orders) (rows|the rows|a table|results)( by a column| by name|)": ("SELECT *\nFROM users\nORDER BY name;", "sorts the rows of a table"),
    "(finds|gets|shows) the (highest|largest|maximum) (value|value in a column|value of a column)": ("SELECT MAX(total)\nFROM orders;", "finds the largest value of a column"),
}  # fmt: skip
"""What a query does, the query, and how the answer says it. A plain verb is made of the first word for requests like "to count rows"."""
SHELL: dict[str, tuple[str, str]] = {
    "(lists|shows) (files|the files|all files|the files in a folder|files in a directory)": ("ls -la", "lists the files in a folder"),
    "finds (files|a file) by name": ('find . -name "*.txt"', "finds files by name"),
    "(searches|greps) (for text in files|for a word in files|text in files|files for a text)": ('grep -rn "text" .', "searches for text in files"),
    "counts (lines|the lines|lines in a file|the lines of a file)": ("wc -l file.txt", "counts the lines of a file"),
    "(copies) (a file|files)": ("cp file.txt copy.txt", "copies a file"),
    "(moves|renames) a file": ("mv old.txt new.txt", "renames a file"),
    "(deletes|removes) (a file|files)": ("rm file.txt", "deletes a file"),
    "(makes|creates) a (folder|directory|new folder)": ("mkdir new_folder", "makes a folder"),
    "(shows|prints|tells) (the current folder|the current directory|where I am|the working directory)": ("pwd", "shows the current folder"),
    "(shows|checks) (the free disk space|free disk space|disk space|disk usage)": ("df -h", "shows the free disk space"),
}  # fmt: skip
ASK_SQL = (
    "Write a (SQL|sql) query that {x}.", "(SQL|sql) query (that {x}|to {y})", "Write a SQL query to {y}.", "How do I {y} (in|with|using) SQL?",
    "{y} (in|with) (SQL|sql)", "Show me a SQL query that {x}.", "Give me (SQL|sql) (code |)(to {y}|that {x}).", "(SQL|sql) to {y}", "How to {y} in sql",
    "I need a SQL query that {x}.",
)  # fmt: skip
ASK_SHELL = (
    "How do I {y} in (the shell|bash|the terminal|Linux|the command line)?", "(shell|bash|terminal|linux) command (to {y}|that {x})",
    "(Which|What) (command|shell command) {x}?", "Write a (bash|shell) command that {x}.", "How (to|can I) {y} in (bash|the terminal|a shell|linux)",
    "What is the (bash|shell|terminal) command to {y}?", "{y} (in|with) (bash|the shell|the terminal)", "(Show|Give) me a (shell|bash) command to {y}.",
)  # fmt: skip
ASKS = {"SQL": ASK_SQL, "shell": ASK_SHELL}
_PLAIN = {"copies": "copy", "searches": "search"}


def _command(text: str) -> str:
    """Return the request to do what something does: "counts rows" gives "count rows"."""
    verb, rest = text.split(" ", 1)
    return f"{_PLAIN.get(verb, verb[:-1])} {rest}"


def commands(rng: random.Random, topic: str | None = None) -> Exchange:
    """Ask for a small SQL query or a shell command."""
    sort = rng.choice(["SQL", "shell"])
    does, (code, said) = rng.choice(list((SQL if sort == "SQL" else SHELL).items()))
    task = one_of(rng, does)
    question = (
        one_of(rng, rng.choice(ASKS[sort])).format(x=task, y=_command(task)).replace("a SQL", rng.choice(["a SQL", "an SQL"]))
    )
    question = question.replace("an sql", "a sql")
    name, fence = ("SQL query", "sql") if sort == "SQL" else ("shell command", "bash")
    work = f"This asks for a {name} that {said}, one of those that I know."
    result = f"This {name} {said}:\n\n```{fence}\n{code}\n```"
    return Exchange("commands", code, (question,), question, work, result, hidden=True)
