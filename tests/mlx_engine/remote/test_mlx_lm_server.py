"""A remote engine on mlx-lm's own server, with the demo pair's target."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from mlx_engine.cli import generate
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.events import CompletedReply, PairInfo
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Message
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.remote.endpoint import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine

QUESTIONS = ("What is 25 % of 80?", "Say hello.", "What is the capital of France?", "Sort 9, 4, 7.")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("mlx_lm") / "log"
    options = ["--chat-template-args", '{"enable_thinking":false}', "--port", str(port)]
    home = {"HF_HUB_CACHE": str(log.parent), "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "mlx_lm", "server", "--model", str(demo_pair()[0]), *options]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=os.environ | home)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, log.read_text()
            try:
                httpx2.get(f"{url}/v1/models", timeout=1)
                break
            except httpx2.HTTPError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait()


def replies(client: EngineClient, target: Path | None = None) -> list[CompletedReply]:
    (info,) = [event for event in to_iter(client, LoadPair(target)) if isinstance(event, PairInfo)]
    assert info.why_plain is not None
    requests = [GenerationRequest((Message("user", text),), mode="plain", max_tokens=60) for text in QUESTIONS]
    return [generate.show(to_iter(client, request), printing=False) for request in requests]


@pytest.mark.long
def test_greedy_text_equals_local_plain_decoding(server: str) -> None:
    target = demo_pair()[0]
    remote, local = RemoteEngine(Endpoint(server, str(target))), EngineHost()
    there, here = replies(remote), replies(local, target)
    assert [reply.text for reply in there] == [reply.text for reply in here]
    assert [reply.stats.tokens for reply in there] == [reply.stats.tokens for reply in here]
    assert [reply.stats.prompt_tokens for reply in there] == [reply.stats.prompt_tokens for reply in here]
    assert [reply.reason for reply in there] == [reply.reason for reply in here]
    assert remote.wait(120)
    local.wait(120)
