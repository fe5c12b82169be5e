"""The table of fields in docs/server.md is what the code supports."""

from pathlib import Path

from mlx_engine.api_server.body import RequestFields
from mlx_engine.api_server.chat_completions import ChatFields
from mlx_engine.api_server.completions import CompletionFields
from mlx_engine.api_server.messages import MessagesFields
from mlx_engine.api_server.responses import ResponseFields

PAGE = Path(__file__).parents[3] / "docs/server.md"
ENDPOINTS: dict[str, type[RequestFields]] = {
    "chat": ChatFields,
    "completions": CompletionFields,
    "responses": ResponseFields,
    "messages": MessagesFields,
}


def mark(name: str, fields: type[RequestFields]) -> str:
    if name in fields.model_fields:
        return "yes"
    other = fields.own_name(name)
    return "refused" if name in fields.refused else f"use `{other}`" if other else "–"


def rows() -> str:
    """The table, from the code."""
    names = list(dict.fromkeys(name for fields in ENDPOINTS.values() for name in fields.model_fields))
    lines = [f"| Field | {' | '.join(ENDPOINTS)} | |", f"|---|{'---|' * len(ENDPOINTS)}---|"]
    for name in names:
        described = [fields.model_fields[name].description for fields in ENDPOINTS.values() if name in fields.model_fields]
        marks = [mark(name, fields) for fields in ENDPOINTS.values()]
        lines.append(f"| `{name}` | {' | '.join(marks)} | {'; '.join(dict.fromkeys(filter(None, described)))} |")
    refused = sorted({name for fields in ENDPOINTS.values() for name in fields.refused} - set(names))
    return "\n".join(lines) + f"\n\nRefused everywhere: {', '.join(f'`{name}`' for name in refused)}.\n"


def test_the_page_lists_the_fields_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = text.partition("<!-- fields -->\n")[2].partition("<!-- /fields -->")[0]
    assert listed == rows(), f"Replace the table in docs/server.md with:\n\n{rows()}"
