"""The switch between the local engine, a server, and several computers."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import CompareResult, Event, Failed, Finished, LoadProgress, PairInfo
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    Connect,
    CountTokens,
    Endpoint,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    MeasureMachine,
    Message,
    Request,
    SavePrompts,
    SelectKernels,
    UnloadPair,
)
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.switch import EngineSwitch
from tests.app.scripted_engine import PAIR, ScriptedEngine
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


class ScriptedRing:
    """An engine of several computers, which records its requests.

    Attributes:
        fails_after: the fraction after which loading fails, or None.
        holds_pair: whether it has a pair in memory.
    """

    def __init__(self, workers: tuple[str, ...], fails_after: float | None) -> None:
        self.workers, self.fails_after, self.requests = workers, fails_after, list[Request]()
        self.holds_pair = self.closed = False

    def submit(self, request: Request, deliver: Deliver) -> Run:
        self.requests.append(request)
        if isinstance(request, LoadPair | UnloadPair):
            self.holds_pair = isinstance(request, LoadPair) and self.fails_after is None
        if isinstance(request, LoadPair):
            for fraction in (0.0, 0.05):
                if self.fails_after is None or self.fails_after >= fraction:
                    deliver(LoadProgress(fraction, EngineText("", "")))
            deliver(PAIR if self.holds_pair else Failed("", ""))
        deliver(None)
        return Run(request, deliver)

    def close(self, closed: Callable[[], None] | None = None) -> None:
        self.closed, self.holds_pair = True, False

    def wait(self, seconds: float) -> bool:
        return True


class SwitchOfRings:
    """A switch between a scripted local engine and scripted rings."""

    def __init__(self) -> None:
        self.engine, self.rings = ScriptedEngine(), list[ScriptedRing]()
        self.fails_after: float | None = None
        self.switch = EngineSwitch(EngineHost(lambda: self.engine), self._make)  # type: ignore[arg-type, return-value]

    def _make(self, workers: tuple[str, ...]) -> ScriptedRing:
        self.rings.append(ScriptedRing(workers, self.fails_after))
        return self.rings[-1]

    def load(self, workers: tuple[str, ...], fails_after: float | None) -> bool:
        """Load a pair, and return whether that worked."""
        self.engine.load_error = None if fails_after is None else UserError("", "")
        self.engine.unloaded = bool(workers) and self.engine.unloaded
        for each in (self, *self.rings):
            each.fails_after = fails_after
        return isinstance(run(self.switch, LoadPair(workers=workers))[-1], PairInfo)

    def answers(self, request: Request) -> tuple[str, ...]:
        """Return the workers of the ring that gets a request, () if the local engine gets it."""
        before = [len(ring.requests) for ring in self.rings]
        run(self.switch, request)
        return sum([ring.workers for ring, count in zip(self.rings, before, strict=True) if len(ring.requests) > count], ())


OF_PAIR = (HELLO, replace(HELLO, private=True), Compare((HELLO,)), CountTokens(HELLO), Calibrate(), SelectKernels())
OF_COMPUTER = (MeasureMachine(), SavePrompts(None), KeepPrompts(()))
WORKERS = ((), ("a:1",), ("b:1",), ("a:1", "b:1"))


@given(
    st.lists(st.tuples(st.sampled_from(WORKERS), st.sampled_from([None, None, 0.0, 0.05])), min_size=1, max_size=4),
    st.sampled_from(OF_PAIR),
    st.sampled_from(OF_COMPUTER),
)
@settings(deadline=None, max_examples=25)  # each starts a thread, whose speed isn't tested
def test_requests_go_to_the_computers_of_the_loaded_pair(
    loads: list[tuple[tuple[str, ...], float | None]], of_pair: Request, of_computer: Request
) -> None:
    several, in_use = SwitchOfRings(), ()
    for workers, fails_after in loads:
        is_loaded = several.load(workers, fails_after)
        in_use = workers if is_loaded else in_use
        assert several.answers(of_computer) == (), "also waits until the local engine has freed its pair"
        if is_loaded or fails_after or not workers:  # some files were read
            assert [ring.workers for ring in several.rings if ring.holds_pair] == [workers] * (is_loaded and bool(workers))
            assert several.engine.unloaded or not workers
    assert several.answers(of_pair) == in_use
    assert several.switch.wait(120)
    assert all(ring.closed for ring in several.rings), "no process stays"


def test_prompts_are_forgotten_on_all_computers(monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory on several, and here on disk."""
    several, forgotten = SwitchOfRings(), list[Request]()
    several.load(("a:1",), None)
    request = ForgetPrompts(("chat",))
    submit = several.switch._local.submit

    def noted(request: Request, deliver: Deliver) -> Run:
        forgotten.append(request)
        return submit(request, deliver)

    monkeypatch.setattr(several.switch._local, "submit", noted)
    run(several.switch, request)
    assert forgotten == [request]
    assert several.rings[0].requests[-1] == replace(request, runs=False)
    assert several.switch.wait(120)
