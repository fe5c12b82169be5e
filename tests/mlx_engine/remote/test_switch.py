"""The switch between the local engine and a server."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mlx_engine.contract.events import CompareResult, Event, Failed, Finished, PairInfo
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    Connect,
    CountTokens,
    Endpoint,
    GenerationRequest,
    LoadPair,
    Message,
    Request,
)
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.switch import EngineSwitch
from tests.app.scripted_engine import ScriptedEngine
from tests.mlx_engine.remote.replay import Replay, recorded, replaying
from tests.mlx_engine.remote.test_recorded import CHAT, MODELS, VLLM

HELLO = GenerationRequest((Message("user", "Hello"),))


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def switch(engine: ScriptedEngine) -> Iterator[EngineSwitch]:
    found = EngineSwitch(EngineHost(lambda: engine))  # type: ignore[arg-type, return-value]
    run(found, LoadPair())
    yield found
    assert found.wait(120)


@pytest.fixture
def server() -> Iterator[Replay]:
    with replaying(
        VLLM | {CHAT: recorded("vllm_dflash/stream_usage"), ("POST", "/tokenize"): recorded("vllm_dflash/tokenize")}
    ) as found:
        yield found


def run(switch: EngineSwitch, request: Request) -> list[Event]:
    found: list[Event] = []
    ended = threading.Event()
    switch.submit(request, lambda event: found.append(event) if event is not None else ended.set())
    assert ended.wait(120)
    return found


def connect(switch: EngineSwitch, server: Replay) -> Event:
    return run(switch, Connect(Endpoint(server.url)))[-1]


def posted(server: Replay) -> int:
    return sum(method == "POST" for method, *_ in server.seen)


def test_replies_come_from_the_server_until_a_pair_is_loaded(switch: EngineSwitch, engine: ScriptedEngine, server: Replay) -> None:
    info = connect(switch, server)
    assert isinstance(info, PairInfo) and info.remote == server.url.removeprefix("http://")
    assert isinstance(run(switch, HELLO)[-1], Finished)
    assert isinstance(run(switch, CountTokens(GenerationRequest(HELLO.messages)))[-1], TokenCount)
    assert (posted(server), engine.requests, engine.counted) == (2, [], [])
    assert isinstance(run(switch, Calibrate())[-1], Calibrated), "calibration concerns this computer"
    assert engine.unloaded
    run(switch, LoadPair())
    run(switch, HELLO)
    assert (posted(server), len(engine.requests)) == (2, 1)


def test_a_failed_connection_changes_nothing(switch: EngineSwitch, engine: ScriptedEngine, server: Replay) -> None:
    server.responses = {MODELS: recorded("vllm_dflash/v1_models_nokey")}
    assert isinstance(connect(switch, server), Failed)
    assert not engine.unloaded
    run(switch, HELLO)
    assert len(engine.requests) == 1


def test_a_failed_load_keeps_the_connection(switch: EngineSwitch, engine: ScriptedEngine, server: Replay) -> None:
    connect(switch, server)
    engine.load_error = ValueError("broken")
    assert isinstance(run(switch, LoadPair())[-1], Failed)
    run(switch, HELLO)
    assert (posted(server), engine.requests) == (1, [])


def test_a_second_connection_replaces_the_first(switch: EngineSwitch, server: Replay) -> None:
    connect(switch, server)
    with replaying(server.responses) as other:
        connect(switch, other)
        run(switch, HELLO)
    assert (posted(server), posted(other)) == (0, 1)


@pytest.mark.parametrize("compared", (False, True))
def test_private_text_is_not_sent(switch: EngineSwitch, engine: ScriptedEngine, server: Replay, compared: bool) -> None:
    private = replace(HELLO, private=True)
    request = Compare((private,)) if compared else private
    assert isinstance(run(switch, request)[-1], CompareResult if compared else Finished)
    connect(switch, server)
    (failed,) = run(switch, request)
    assert isinstance(failed, Failed) and failed.code == "remote_private"
    assert posted(server) == 0
