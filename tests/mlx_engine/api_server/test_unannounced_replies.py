"""Replies of remote engines, which begin without progress, and which may call tools that nobody offered."""

import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from mlx_engine.api_server.app import DIALECTS
from mlx_engine.api_server.exchanges import Dialect
from mlx_engine.contract.events import Commit, Event, Finished
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

TOOLS: dict[str, list[dict[str, Any]]] = {
    "/v1/chat/completions": [{"type": "function", "function": {"name": "read"}}],
    "/v1/responses": [{"type": "function", "name": "read"}],
    "/v1/messages": [{"name": "read", "input_schema": {"type": "object"}}],
}
PROMPTS: dict[str, dict[str, Any]] = {"/v1/responses": {"input": "Hi"}, "/v1/completions": {"prompt": "Hi"}}
CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.path)


class Unannounced(ScriptedEngine):
    """Sends `events`. In a stream, each is sent after the one before it has been encoded."""

    events: tuple[Event, ...] = ()
    encoded: threading.Semaphore | None = None

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        for event in self.events:
            yield event
            assert self.encoded is None or self.encoded.acquire(timeout=60)


@pytest.fixture(scope="module")
def engine() -> Unannounced:
    return Unannounced()


@pytest.fixture(scope="module")
def server(engine: Unannounced) -> Iterator[Serving]:
    with serving(lambda: engine) as found:
        yield found


def replied(
    server: Serving,
    engine: Unannounced,
    monkeypatch: pytest.MonkeyPatch,
    dialect: Dialect,
    stream: bool,
    tools: bool,
    call: ToolCall,
) -> list[dict[str, Any]]:
    """Return the chunks of a reply that is only a call, or its body."""
    engine.events = (call, Finished("tool_calls", stats("plain")))
    engine.encoded = threading.Semaphore(0) if stream else None
    kind = type(dialect.decode(PROMPTS.get(dialect.path, CHAT)))
    encode = kind.encode

    def encoding(self: Any, index: int, event: Event) -> Iterable[Any]:
        chunks = [*encode(self, index, event)]
        assert engine.encoded is not None
        engine.encoded.release()
        return chunks

    monkeypatch.setattr(kind, "encode", encoding)
    body = PROMPTS.get(dialect.path, CHAT) | ({"tools": TOOLS[dialect.path]} if tools else {})
    response = server.post(dialect.path, **body, stream=stream)
    assert response.status_code == 200, response.text
    if not stream:
        return [response.json()]
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@each_dialect
@pytest.mark.parametrize("tools", [True, False])
@pytest.mark.parametrize("stream", [True, False])
def test_a_call_is_never_lost(
    server: Serving, engine: Unannounced, monkeypatch: pytest.MonkeyPatch, dialect: Dialect, stream: bool, tools: bool
) -> None:
    if tools and dialect.path not in TOOLS:
        return
    chunks = replied(server, engine, monkeypatch, dialect, stream, tools, ToolCall("id1", "read", '{"path": "a"}'))
    text = json.dumps(chunks)
    assert "read" in text and "path" in text
    assert any(f'"{name}"' in text for name in ("tool_calls", "function_call", "tool_use")) == tools
    if dialect.path == "/v1/messages" and stream:
        assert [chunk["type"] for chunk in chunks][:2] == ["message_start", "content_block_start"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("arguments", ["path a", "[1]", '{"path": ', "[" * 100_000], ids=range(4))
def test_arguments_that_are_no_object_reach_anthropics_clients(
    server: Serving, engine: Unannounced, monkeypatch: pytest.MonkeyPatch, stream: bool, arguments: str
) -> None:
    dialect = next(each for each in DIALECTS if each.path == "/v1/messages")
    chunks = replied(server, engine, monkeypatch, dialect, stream, True, ToolCall("id1", "read", arguments))
    parts = [chunk["delta"]["partial_json"] for chunk in chunks if "partial_json" in chunk.get("delta", ())]
    found = json.loads("".join(parts)) if stream else chunks[0]["content"][0]["input"]
    assert found == {"arguments": arguments}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stop_sequence_is_reported_as_vllm_does(server: Serving, engine: Unannounced, path: str) -> None:
    engine.encoded = None
    for found, reason in (("END", "stop_string"), ("", "eos")):
        engine.events = (Commit("x", "answer", (1,), ()), Finished(reason, stats("plain"), found))
        body = PROMPTS.get(path, CHAT)
        ends = [server.post(path, **body).json()["choices"][0]]
        ends += [choice for chunk in server.streamed(path, **body) for choice in chunk["choices"] if choice["finish_reason"]]
        assert [(end["finish_reason"], end.get("stop_reason")) for end in ends] == [("stop", found or None)] * 2
