"""Models that requests name: which are listed, which are loaded, and when."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.api_server import exchanges, served_models
from mlx_engine.api_server.served_models import ServedModels
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Commit, Event, Finished, LoadProgress, PairInfo, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Request
from mlx_engine.models.library.installed import InstalledPair
from tests.mlx_engine.api_server.played_engine import PAIR
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.api_server.test_requests_over_http import HI, PATH, refused
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

INSTALLED = (
    InstalledPair("Demo pair", Path("demo"), None),
    InstalledPair("Small-8B-4bit", Path("small"), Path("drafter"), ("owner/Small-8B-4bit", "small"), auto=True),
    InstalledPair("Large 70B", Path("large"), None),
    InstalledPair("Broken", Path("broken"), None),
    InstalledPair("Missing", Path("missing"), None),
)


class Shelf(ScriptedEngine):
    """An engine that loads the installed pairs, and answers with the name of the loaded one."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.may_load = threading.Event()
        self.may_load.set()
        self.writes = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self.searched = threading.Event()  # for an installed pair
        self._name: str | None = None

    def installed(self) -> tuple[InstalledPair, ...]:
        self.searched.set()
        return INSTALLED

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        name = next((pair.name for pair in INSTALLED if pair.target == target), "Demo pair")
        self.loads.append(name)
        yield LoadProgress(0.0, EngineText("checking_files", "Checking files"))
        if name == "Missing":
            raise UserError("no_file", "The file is missing.")
        self._name = None
        yield LoadProgress(0.5, EngineText("reading_target", "Reading the target"))
        assert self.may_load.wait(60)
        if name == "Broken":
            raise UserError("bad_file", "The file is damaged.")
        self._name = name
        why = EngineText("", "The drafter X isn't used.") if name == "Small-8B-4bit" else None
        yield PairInfo(name, "target", "drafter", "qwen3", 8, 64, 10, 5, False, why_not_fastest=why)

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert self._name is not None and cancel is not None
        yield PrefillProgress(7, 7, 0)
        yield Commit(self._name, "answer", (1,), ("drafter",))
        self.writes.set()
        while not self.may_end.wait(0.01) and not cancel.is_set():
            yield Commit("", "answer", (), ())
        yield Finished("eos", replace(stats("dflash"), tokens=1))


@contextmanager
def shelf(monkeypatch: pytest.MonkeyPatch, may_load: bool = True) -> Iterator[tuple[Serving, Shelf]]:
    engine = Shelf()
    monkeypatch.setattr(served_models, "installed_pairs", engine.installed)
    with serving(lambda: engine, may_load=may_load) as server:
        engine.loads.clear()
        yield server, engine


def answered(server: Serving, model: str | None = None) -> tuple[str, str]:
    """Return the name in a response, and the pair that the engine used."""
    found = server.chat("Hi", **({"model": model} if model else {}))
    return found["model"], found["choices"][0]["message"]["content"]


def test_a_named_pair_is_loaded_once_and_answers(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with shelf(monkeypatch) as (server, engine):
        for name in ("small-8b-4bit", "Small-8B-4bit", "owner/Small-8B-4bit", "small", "default", None):
            assert answered(server, name) == ("small-8b-4bit", "Small-8B-4bit")
        assert engine.loads == ["Small-8B-4bit"]
        load = next(run.request for run in server.engine.runs[1:] if isinstance(run.request, LoadPair))
        assert load == LoadPair(Path("small"), Path("drafter"), auto=True)
        assert answered(server, "demo-pair") == ("demo-pair", "Demo pair")
        said = [record.getMessage().partition(" for a request")[0] for record in caplog.records]
        assert [text for text in said if text.startswith("Loaded")] == [
            "Loaded small-8b-4bit in place of demo-pair",
            "Loaded demo-pair in place of small-8b-4bit",
        ]
        assert said.count("The drafter X isn't used.") == 1


def test_pairs_that_can_be_loaded_are_listed_after_the_loaded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for may_load, others in ((True, ["small-8b-4bit", "large-70b", "broken", "missing"]), (False, [])):
        with shelf(monkeypatch, may_load) as (server, _):
            listed = server.client.get("/v1/models").json()["data"]
            assert [model["id"] for model in listed] == ["demo-pair", "default", *others]
            assert ["context_length" in model for model in listed] == [True, True, *[False] * len(others)]


def test_the_list_says_whether_the_loaded_pair_sees() -> None:
    pair = PairInfo("Demo pair", "target", "drafter", "qwen3", 8, 64, 10, 5, False)
    for can_see in (False, True):
        listed = served_models.model_list(replace(pair, can_see=can_see), INSTALLED)["data"]
        assert [model.get("vision") for model in listed][:3] == [can_see, can_see, None]


def test_other_pairs_are_refused_unless_loading_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with shelf(monkeypatch, may_load=False) as (server, engine):
        error = refused(server.post(PATH, **HI, model="small"), 404)
        assert (error["param"], error["code"]) == ("model", "model_not_found")
        for words in ("“demo-pair” or “default”", "--load-by-name", "“small-8b-4bit”", "“large-70b”"):
            assert words in error["message"]
        assert engine.loads == []


def test_an_unknown_pair_is_refused_with_the_installed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with shelf(monkeypatch) as (server, engine):
        message = refused(server.post(PATH, **HI, model="gpt-9"), 404)["message"]
        assert message.startswith("The model “gpt-9” isn't installed. Use one of “demo-pair”, “small-8b-4bit”")
        assert engine.loads == []


def test_an_invalid_request_loads_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    with shelf(monkeypatch) as (server, engine):
        assert refused(server.post(PATH, **HI, model="small", temperature=-1))["param"] == "temperature"
        assert engine.loads == []


def test_models_that_cannot_be_searched_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise UserError("bad_file", "The list of folders is damaged.")

    with shelf(monkeypatch) as (server, _):
        monkeypatch.setattr(served_models, "installed_pairs", fail)
        assert refused(server.post(PATH, **HI, model="small"))["message"] == "The list of folders is damaged."
        assert answered(server) == ("demo-pair", "Demo pair")


@pytest.mark.parametrize(("broken", "loads"), [("broken", ["Broken", "Demo pair"]), ("missing", ["Missing"])])
def test_a_pair_that_cannot_be_loaded_leaves_the_previous_one(
    monkeypatch: pytest.MonkeyPatch, broken: str, loads: list[str]
) -> None:
    with shelf(monkeypatch) as (server, engine):
        error = refused(server.post(PATH, **HI, model=broken), 503)
        assert error["message"].startswith(f"“{broken}” can't be loaded. The file is ")
        assert answered(server) == ("demo-pair", "Demo pair")
        assert engine.loads == loads


def test_replies_in_progress_end_before_another_pair_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with shelf(monkeypatch) as (server, engine), ThreadPoolExecutor() as pool:
        engine.may_end.clear()
        first = pool.submit(answered, server)
        assert engine.writes.wait(60)
        other = pool.submit(answered, server, "small")
        assert engine.searched.wait(60)
        later = pool.submit(answered, server, "demo-pair")  # after the switch, although its pair is still loaded
        assert engine.loads == []
        engine.may_end.set()
        assert first.result() == ("demo-pair", "Demo pair")
        assert other.result() == ("small-8b-4bit", "Small-8B-4bit")
        assert later.result() == ("demo-pair", "Demo pair")
        assert engine.loads == ["Small-8B-4bit", "Demo pair"]


def test_pairs_are_loaded_one_at_a_time_and_every_reply_is_its_own_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"demo-pair": "Demo pair", "small-8b-4bit": "Small-8B-4bit", "large-70b": "Large 70B"}
    with shelf(monkeypatch) as (server, engine), ThreadPoolExecutor(12) as pool:
        asked = [name for _ in range(4) for name in names]
        for name, reply in zip(asked, pool.map(lambda name: answered(server, name), asked), strict=True):
            assert reply == (name, names[name])
        assert len(engine.loads) <= len(asked)


def test_a_stream_that_waits_for_its_model_shows_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
    with shelf(monkeypatch) as (server, engine):
        engine.may_load.clear()
        with server.client.stream("POST", PATH, json={**HI, "stream": True, "model": "small"}) as response:
            assert response.status_code == 200
            lines = []
            for line in response.iter_lines():
                lines.append(line)
                if lines.count(": loading small-8b-4bit, 50%") > 1:
                    engine.may_load.set()
        text = [json.loads(line[6:])["choices"] for line in lines if line.startswith("data: {")]
        assert text[0][0]["delta"]["content"] == "Small-8B-4bit" and lines[-2] == "data: [DONE]"


def test_a_message_that_waits_for_its_model_starts_once_and_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
    with shelf(monkeypatch) as (server, engine):
        engine.may_load.clear()
        body = {**HI, "stream": True, "model": "small", "max_tokens": 9}
        with server.client.stream("POST", "/v1/messages", json=body) as response:
            kinds = []
            for line in response.iter_lines():
                if line.startswith("event: "):
                    kinds.append(line.removeprefix("event: "))
                    if kinds[-1] == "ping":
                        engine.may_load.set()
        others = [kind for kind in kinds if kind != "ping"]
        assert kinds[:2] == ["message_start", "ping"] and others.count("message_start") == 1
        assert others[1] == "content_block_start" and others[-1] == "message_stop"


def test_an_error_after_waiting_is_the_streams_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
    with shelf(monkeypatch) as (server, engine):
        engine.may_load.clear()
        with server.client.stream("POST", PATH, json={**HI, "stream": True, "model": "broken"}) as response:
            events: list[Any] = []
            for line in response.iter_lines():
                engine.may_load.set()
                events += [json.loads(line[6:])] if line.startswith("data: ") else []
        assert events[-1]["error"]["message"] == "“broken” can't be loaded. The file is damaged."


def test_a_client_that_leaves_does_not_stop_the_load(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
    with shelf(monkeypatch) as (server, engine), caplog.at_level(logging.INFO):
        engine.may_load.clear()
        with server.client.stream("POST", PATH, json={**HI, "stream": True, "model": "small"}) as response:
            assert next(response.iter_lines()).startswith(":")
        engine.may_load.set()
        assert answered(server) == ("small-8b-4bit", "Small-8B-4bit")
        assert engine.loads == ["Small-8B-4bit"]


def test_a_run_is_canceled_if_its_pair_is_replaced_during_its_submission() -> None:
    """The window begins to load a pair between the server's check of a request and the end of its submission."""

    class Client:
        def submit(self, request: Request, deliver: Deliver) -> Run:
            if loads:
                models.pair = None
            return Run(request, deliver)

    models = ServedModels(Client(), PAIR)  # type: ignore[arg-type]
    hello, ignore = GenerationRequest(), lambda event: None
    loads = True
    assert models.submit(hello, ignore).cancelled.is_set(), "loading would wait for it forever"
    loads = False
    assert models.submit(hello, ignore).cancelled.is_set(), "it was checked for the previous pair"
    models.pair = PAIR
    later = models.submit(hello, ignore)
    assert not later.cancelled.is_set()
    models.pair = None
    assert later.cancelled.is_set()


def test_a_pair_is_loaded_in_place_of_the_client_and_its_load_cannot_be_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_models, "installed_pairs", lambda: INSTALLED)
    loads: list[LoadPair] = []

    def load(wanted: LoadPair, deliver: Deliver) -> None:
        loads.append(wanted)
        deliver(replace(PAIR, name="Large 70B"))
        deliver(None)

    async def use() -> str:
        async with ServedModels(None, PAIR, may_load=True, load=load).using("large-70b") as pair:  # type: ignore[arg-type]
            return pair.name

    assert asyncio.run(use()) == "Large 70B" and loads == [LoadPair(Path("large"), None)]
