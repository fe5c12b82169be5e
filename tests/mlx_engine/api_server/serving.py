"""A server in this process, on a real socket."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from mlx_engine.api_server.app import Api
from mlx_engine.api_server.guard import Guard
from mlx_engine.api_server.listener import Listener
from mlx_engine.api_server.served_models import ServedModels
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.events import Commit, CompletedReply, Event, Finished, PairInfo
from mlx_engine.contract.requests import GenerationRequest, LoadPair
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost


class WatchedClient:
    """An `EngineClient` that keeps its runs."""

    def __init__(self, client: EngineClient) -> None:
        self._client = client
        self.runs: list[Run] = []

    def submit(self, request: Any, deliver: Any) -> Run:
        run = self._client.submit(request, deliver)
        self.runs.append(run)
        return run

    def close(self, closed: Any = None) -> None:
        self._client.close(closed)

    def wait(self, seconds: float) -> bool:
        return self._client.wait(seconds)


@dataclass
class Serving:
    """A running server, and a client of it."""

    engine: WatchedClient
    pair: PairInfo
    api: Api
    url: str
    client: httpx2.Client

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    def post(self, path: str, **body: Any) -> httpx2.Response:
        return self.client.post(path, json=body)

    def chat(self, text: str, **body: Any) -> dict[str, Any]:
        """Return a chat completion."""
        response = self.post("/v1/chat/completions", messages=[{"role": "user", "content": text}], **body)
        assert response.status_code == 200, response.text
        return response.json()

    def streamed(self, path: str, **body: Any) -> list[dict[str, Any]]:
        """Return the chunks of a stream, which must end as OpenAI's do."""
        response = self.post(path, stream=True, **body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.text.split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def reply(self, request: GenerationRequest) -> CompletedReply:
        """Return the engine's own reply to a request."""
        texts, tokens = {"answer": "", "thinking": ""}, list[int]()
        for event in to_iter(self.engine, request):
            if isinstance(event, Commit):
                texts[event.channel] += event.text
                tokens += event.tokens
            elif isinstance(event, Finished):
                return CompletedReply(texts["answer"], texts["thinking"], tuple(tokens), event.reason, event.stats)
        raise AssertionError

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return what the server sends until it closes the connection."""
        with socket.create_connection(self.address, timeout=60) as connection:
            connection.sendall(data)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received


@contextmanager
def serving(
    make_engine: Any = None,
    key: str | None = None,
    may_load: bool = False,
    origins: Sequence[str] = (),
    log_content: bool = False,
    load: LoadPair | None = None,
) -> Iterator[Serving]:
    """Serve a pair, by default the demo pair, or what a scripted engine loads."""
    host = EngineHost(make_engine)
    engine = WatchedClient(host)
    loaded: list[Event] = list(to_iter(engine, load or LoadPair()))
    pair = loaded[-1]
    assert isinstance(pair, PairInfo)
    listener = Listener("127.0.0.1", 0)
    ready, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    guard = Guard("127.0.0.1", key, frozenset(origins))
    api = Api(ServedModels(engine, pair, may_load), guard, log_content)
    thread = threading.Thread(target=lambda: loop.run_until_complete(listener.serve(api, stop, ready.set)), daemon=True)
    thread.start()
    assert ready.wait(60)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx2.Client(base_url=listener.url, headers=headers, timeout=120, trust_env=False) as client:
            yield Serving(engine, pair, api, listener.url, client)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
        host.wait(60)


def refused(response: Any, status: int = 400) -> dict[str, Any]:
    """Check a refusal's shape, and return its error."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"] and error["type"]
    return error
