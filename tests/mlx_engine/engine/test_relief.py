"""Memory pressure at any step of replies changes no text, and ends no reply that a user waits for."""

import gc
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import roofline
from mlx_engine.contract.conditions import Pressure
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Commit, CompareResult, Event, Failed, Finished, PromptsSaved, WorkProgress
from mlx_engine.contract.machine_events import MemoryUse, ReliefStep
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    ForgetPrompts,
    GenerationRequest,
    LoadPair,
    MeasureMachine,
    Message,
    ReadMemory,
    Request,
    Rest,
    Sampling,
    SavePrompts,
    ToolCall,
)
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.engine.relief import CALM_READINGS, GRACE_READINGS, Relief
from mlx_engine.hardware import cgroup, ledger
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.prefix import disk
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.engine.test_turns import begin
from tests.mlx_engine.hardware.test_cgroup import version_1
from tests.mlx_engine.prefix.prefix_pairs import PROMPT
from tests.sensors_double import write_files

IN_MLX = ("target", "drafter", "images", "replies", "snapshots", "workspace", "buffers")
PRESSURES: tuple[Pressure, ...] = ("normal", "warning", "critical")


def relieved(readings: Sequence[Pressure], then: Pressure = "normal") -> Relief:
    """Return a relief that reads the pressure at every turn."""
    left = iter(readings)
    return Relief(lambda: next(left, then), clock=lambda: 0.0, interval=0.0)


def steps_of(readings: Sequence[Pressure]) -> list[ReliefStep]:
    relief = relieved(readings)
    found = []
    for _ in readings:
        assert relief.look()
        found.append(relief.step)
    return found


def test_the_steps_come_in_their_order_and_a_reply_ends_last_after_some_time() -> None:
    found = steps_of(["critical"] * (ReliefStep.REFUSAL + GRACE_READINGS + 1))
    assert found == [*list(ReliefStep)[1:6], *[ReliefStep.REFUSAL] * GRACE_READINGS, ReliefStep.ENDING]
    assert steps_of(["critical"] * 60).count(ReliefStep.ENDING) == 5, "each lasts for one reading, as it ends one reply"
    assert steps_of(["warning"] * 9) == [1, 2, 3, 3, 3, 3, 3, 3, 3], "every reply goes on"


@given(st.lists(st.sampled_from(PRESSURES), max_size=60))
def test_the_steps_follow_the_pressure(readings: list[Pressure]) -> None:
    found = steps_of([*readings, *["normal"] * CALM_READINGS])  # type: ignore[list-item]
    assert found[-1] == ReliefStep.NONE, "they end with the pressure"
    for before, after, pressure in zip([ReliefStep.NONE, *found], found, [*readings, *["normal"] * CALM_READINGS], strict=False):
        assert after <= before + 1, "no step is left out"
        if after > before:
            assert after <= ReliefStep.CACHES if pressure == "warning" else pressure == "critical"


def test_the_pressure_is_read_once_in_an_interval() -> None:
    now, readings = [0.0], []
    relief = Relief(lambda: readings.append(now[0]) or "normal", lambda: now[0], 1.0)  # type: ignore[func-returns-value]
    for at in (0.0, 0.5, 0.9, 1.0, 1.5, 7.0, 7.5, 8.0):
        now[0] = at
        assert relief.look() == (readings[-1:] == [at])
    assert readings == [0.0, 1.0, 7.0, 8.0]


class Pressed:
    """A host with the tiny pair, which reads the pressure from a script at every turn."""

    def __init__(self) -> None:
        self.script: Iterator[Pressure] = iter(())
        self.relief = Relief(self._read, clock=lambda: 0.0, interval=0.0)
        self.host = EngineHost(Engine, relief=self.relief)
        list(to_iter(self.host, LoadPair(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")))

    def _read(self) -> Pressure:
        return next(self.script, "normal")

    def ask(self, *requests: Request) -> list[list[Event]]:
        """Return the events of requests that run next to each other."""
        events: list[queue.SimpleQueue[Event | None]] = [queue.SimpleQueue() for _ in requests]
        for request, own in zip(requests, events, strict=True):
            self.host.submit(request, own.put)
        return [list(iter(lambda own=own: own.get(timeout=60), None)) for own in events]  # type: ignore[misc]

    def recover(self) -> None:
        """End the pressure, and wait until all steps have ended."""
        self.script = iter(())
        while self.relief.step:
            self.ask(Rest())  # a turn

    def together(self, requests: Sequence[Request], readings: Iterable[Pressure] = ()) -> list[list[Event]]:
        """Return the events of requests that run next to each other under pressure, which ends."""
        self.script = iter(readings)
        found = self.ask(*requests)
        self.recover()
        return found


@pytest.fixture(scope="module")
def pressed() -> Iterator[Pressed]:
    made = Pressed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger, "POLL_S", 0.0)  # the script counts turns
        yield made
        assert made.host.wait(60)


def written(events: Sequence[Event]) -> list[int]:
    return [token for event in events if isinstance(event, Commit) for token in event.tokens]


LONG = tuple(PROMPT) * 20
REQUESTS = (
    tokens(PROMPT, max_tokens=24, ignore_eos=True, reuse=True, foreground=True, chat="a"),
    tokens(LONG, max_tokens=16, ignore_eos=True, reuse=True, chat="b"),
    tokens(PROMPT[2:], 0.9, max_tokens=24, ignore_eos=True, seed=7, chat="c", private=True, reuse=True),
    tokens((*LONG[:200], 9), max_tokens=12, mode="plain", ignore_eos=True, gives_way=True),
)


@pytest.fixture(scope="module")
def wanted(pressed: Pressed) -> list[list[int]]:
    return [written(pressed.together([replace(request, reuse=False)])[0]) for request in REQUESTS]


@given(
    readings=st.lists(st.tuples(st.sampled_from(PRESSURES), st.integers(1, 60)), max_size=8),
    on_disk=st.booleans(),
)
@sampled(12, 300)
def test_pressure_at_any_step_changes_no_text(
    pressed: Pressed,
    wanted: list[list[int]],
    tmp_path_factory: pytest.TempPathFactory,
    readings: list[tuple[Pressure, int]],
    on_disk: bool,
) -> None:
    folder = tmp_path_factory.mktemp("prompts") if on_disk else None
    pressed.together([SavePrompts(folder, 1 << 30)])
    ended = pressed.together(REQUESTS, [pressure for pressure, count in readings for _ in range(count)])
    for request, events, text in zip(REQUESTS, ended, wanted, strict=True):
        last, own = events[-1], written(events)
        if isinstance(last, Finished):
            assert own == text
        else:
            assert isinstance(last, Failed) and own == text[: len(own)], "its text so far is kept"
            assert last.code == "memory_ended_reply" if own else last.code in ("memory_full", "memory_ended_reply")
            assert not request.foreground or last.code == "memory_full", "new work may be refused, but no reply ended"
    assert [written(events) for events in pressed.together(REQUESTS)] == wanted, "all is as before when the pressure has ended"


KINDS: dict[str, dict[str, Any]] = {
    "drafted": {"chat": "a"},
    "plain": {"chat": "a", "mode": "plain"},
    "sampled": {"chat": "a", "seed": 7, "sampling": Sampling(0.9)},
    "private": {"chat": "a", "private": True},
    "not reused": {"reuse": False},
    "exact": {"exact": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["tiny", *(pytest.param(name, marks=pytest.mark.long) for name in ("tiny2", "windows"))])
def test_a_reply_pauses_at_every_step_and_has_the_same_text(
    request: pytest.FixtureRequest, name: str, kind: str, tmp_path: Path
) -> None:
    engine: Engine = request.getfixturevalue(name)
    asked = tokens(PROMPT * 4, **{"max_tokens": 12, "ignore_eos": True, "reuse": True})
    asked = replace(asked, **KINDS[kind])
    expected = reply(engine, replace(asked, reuse=False)).tokens
    engine.save_prompts(tmp_path, 1 << 30)
    at, pauses = 0, True
    try:
        while pauses:
            engine.free_memory()
            running, at = begin(engine, asked), at + 1
            for _ in range(at):
                running.step()
            pauses = not running.ended
            engine.give_back(ReliefStep.BACKGROUND)
            held = len(running.events)
            for _ in range(4):  # to notice, to save, and to wait
                running.step()
            paused = len(running.events) == held and memory_of(engine)["replies"] == 0
            assert paused or running.ended, "only a reply that has its whole text goes on"
            engine.give_back(ReliefStep.NONE)
            running.finish()
            assert running.whole.tokens == expected, f"paused after {at} steps"
    finally:
        engine.give_back(ReliefStep.NONE)
        engine.save_prompts(None)
        engine.free_memory()
    assert at > 4


def memory_of(engine: Engine) -> dict[str, int]:
    """Return what the ledger says of each part, and of what MLX holds in all."""
    use = engine.memory_use(Relief(lambda: None), None)
    return {**dict(use.parts), "reserved": use.reserved}


def saved_prompts(engine: Engine) -> PromptsSaved:
    (found,) = engine.run(ForgetPrompts(()))
    assert isinstance(found, PromptsSaved)
    return found


def test_each_step_gives_back_more_and_the_replies_go_on(tiny: Engine, tmp_path: Path) -> None:
    requests = [tokens(LONG[at:], max_tokens=20, ignore_eos=True, reuse=True, chat=f"{at}") for at in range(3)]
    requests[0] = replace(requests[0], foreground=True)
    expected = [reply(tiny, replace(request, reuse=False)).tokens for request in requests]
    tiny.save_prompts(tmp_path, 1 << 30)
    try:
        reply(tiny, tokens(PROMPT[::-1], max_tokens=4, reuse=True))
        running = [begin(tiny, request) for request in requests]
        for _ in range(12):
            for each in running:
                each.step()
        before = memory_of(tiny)
        assert before["snapshots"] > 0 and before["buffers"] > 0
        tiny.give_back(ReliefStep.SNAPSHOTS)
        idle = memory_of(tiny)
        assert idle["snapshots"] == 0 and idle["replies"] == before["replies"] and idle["buffers"] > 0
        tiny.give_back(ReliefStep.BUFFERS)
        assert memory_of(tiny)["buffers"] == 0 and memory_of(tiny)["replies"] == before["replies"]

        def let_pause(step: ReliefStep) -> list[int]:
            """Return the numbers of events that the replies get while this step lasts."""
            tiny.give_back(step)
            counts = [len(each.events) for each in running]
            for _ in range(6):
                for each in running:
                    each.step()
            return [len(each.events) - count for each, count in zip(running, counts, strict=True)]

        saved = saved_prompts(tiny).bytes
        assert [count > 0 for count in let_pause(ReliefStep.CACHES)] == [True, False, False]
        assert 0 < memory_of(tiny)["replies"] < before["replies"] / 2 and memory_of(tiny)["reserved"] < before["reserved"]
        assert saved_prompts(tiny).bytes > saved, "the caches of the others are on disk"
        running[0].cancel.set()
        running[0].finish()
        assert [count > 0 for count in let_pause(ReliefStep.CACHES)] == [False, True, False], "the next one goes on"
        assert let_pause(ReliefStep.BACKGROUND) == [0, 0, 0]
        assert memory_of(tiny)["replies"] == 0
        tiny.give_back(ReliefStep.NONE)
        for each in running[1:]:
            each.finish()
        assert [each.whole.tokens for each in running[1:]] == expected[1:]
    finally:
        tiny.give_back(ReliefStep.NONE)
        tiny.save_prompts(None)


def code(events: Sequence[Event]) -> str:
    last = events[-1]
    assert isinstance(last, Failed), last
    return last.code


class SubmittedReply:
    """A reply of the host that has written some text."""

    def __init__(self, pressed: Pressed, request: GenerationRequest, ended: list["SubmittedReply"]) -> None:
        self._own: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._ended = ended
        self.events: list[Event] = []
        self.run = pressed.host.submit(request, self._deliver)
        while not written(self.events):
            self.events.append(self._own.get(timeout=60))  # type: ignore[arg-type]

    def _deliver(self, event: Event | None) -> None:
        if event is None:
            self._ended.append(self)
        self._own.put(event)

    def finish(self) -> list[Event]:
        self.events += iter(lambda: self._own.get(timeout=60), None)  # type: ignore[arg-type]
        return self.events


def test_a_reply_that_holds_no_memory_outlasts_any_pressure(pressed: Pressed) -> None:
    requests = [tokens(PROMPT[at:], max_tokens=300, ignore_eos=True) for at in range(2)]
    expected = [written(events) for events in pressed.together([replace(request, foreground=True) for request in requests])]
    ended: list[SubmittedReply] = []
    replies = [SubmittedReply(pressed, request, ended) for request in requests]
    pressed.script = iter(["critical"] * (ReliefStep.REFUSAL + 4 * GRACE_READINGS))
    assert [written(each.finish()) for each in replies] == expected
    pressed.recover()


def test_background_replies_whose_caches_take_long_to_save_end_one_by_one(
    pressed: Pressed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = tokens(PROMPT, max_tokens=100_000, ignore_eos=True, reuse=True, chat="a")
    pressed.ask(SavePrompts(tmp_path, 1 << 30))
    monkeypatch.setattr(disk._Writer, "has_room", False)
    ended: list[SubmittedReply] = []
    older = SubmittedReply(pressed, endless, ended)
    younger = SubmittedReply(pressed, replace(endless, prompt_tokens=tuple(PROMPT[1:]), chat="b"), ended)
    pressed.script = repeat("critical")
    for each in (younger, older):
        assert code(each.finish()) == "memory_ended_reply" and written(each.events)
    assert ended == [younger, older]
    pressed.recover()
    pressed.ask(SavePrompts(None))


def test_under_critical_pressure_new_work_is_refused_or_waits(pressed: Pressed) -> None:
    short = tokens(PROMPT, max_tokens=3, ignore_eos=True)
    pressed.script = repeat("critical")
    while pressed.relief.step < ReliefStep.REFUSAL:
        pressed.ask(Rest())
    assert code(pressed.ask(short)[0]) == code(pressed.ask(replace(short, foreground=True))[0]) == "memory_full"
    assert code(pressed.ask(MeasureMachine())[0]) == "memory_full"
    call, result = Message("assistant", "", calls=(ToolCall("1", "now", "{}"),)), Message("tool", "5", call_id="1")
    (next_step,) = pressed.ask(GenerationRequest((Message("user", "Go on."), call, result), foreground=True, max_tokens=2))
    assert getattr(next_step[-1], "code", "") != "memory_full", "it continues a reply"
    title: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    measurement: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    pressed.host.submit(replace(short, gives_way=True), title.put)
    pressed.host.submit(Calibrate(), measurement.put)
    for _ in range(3):
        assert isinstance(pressed.ask(ReadMemory())[0][0], MemoryUse)
    assert measurement.empty(), "what gives way waits"
    pressed.recover()
    assert measurement.get(timeout=60) is None, "until another request comes"
    events = list(iter(lambda: title.get(timeout=60), None))
    assert isinstance(events[-1], Finished) and not any(isinstance(event, Failed) for event in events)
    assert isinstance(pressed.ask(short)[0][-1], Finished)


def test_the_latest_prompt_stays_in_memory_during_a_warning(tiny: Engine) -> None:
    chats = [tokens(LONG[at:], max_tokens=4, ignore_eos=True, reuse=True) for at in range(2)]
    for request in chats:
        reply(tiny, request)
    tiny.give_back(ReliefStep.CACHES)
    try:
        assert reply(tiny, chats[1]).stats.reused_tokens > len(LONG) / 2
        tiny.give_back(ReliefStep.CACHES)
        assert reply(tiny, chats[0]).stats.reused_tokens == 0, "earlier prompts are dropped"
        tiny.give_back(ReliefStep.BACKGROUND)
        assert memory_of(tiny)["snapshots"] == 0
    finally:
        tiny.give_back(ReliefStep.NONE)


def test_the_host_saves_prompts_while_work_is_held(pressed: Pressed, monkeypatch: pytest.MonkeyPatch) -> None:
    saves: queue.SimpleQueue[None] = queue.SimpleQueue()
    measurement: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    monkeypatch.setattr(Engine, "save_next", lambda _: saves.put(None))
    pressed.script = repeat("critical")
    while pressed.relief.step < ReliefStep.BACKGROUND:
        pressed.ask(Rest())
    pressed.host.submit(Calibrate(), measurement.put)
    pressed.ask(ReadMemory())  # now it is held
    while not saves.empty():
        saves.get()
    saves.get(timeout=60)
    pressed.recover()
    assert measurement.get(timeout=60) is None, "another request cancels it"


def test_the_latest_prompt_is_dropped_while_a_measurement_runs(pressed: Pressed, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(_: LoadedPair, cancel: threading.Event, again: bool) -> Iterator[WorkProgress]:
        while not cancel.is_set():
            yield WorkProgress(0.0, EngineText.of("measuring_memory", "Measuring memory"))

    def snapshots() -> int:
        (use,) = pressed.ask(ReadMemory())[0]
        assert isinstance(use, MemoryUse)
        return dict(use.parts)["snapshots"]

    monkeypatch.setattr(roofline, "measure", measure)
    pressed.ask(REQUESTS[0])
    events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    run = pressed.host.submit(MeasureMachine(), events.put)
    assert isinstance(events.get(timeout=60), WorkProgress)
    stages: tuple[tuple[Pressure, ReliefStep], ...] = (("warning", ReliefStep.CACHES), ("critical", ReliefStep.BACKGROUND))
    for pressure, step in stages:
        pressed.script = repeat(pressure)
        while pressed.relief.step < step:
            snapshots()
        assert (snapshots() > 0) == (step < ReliefStep.BACKGROUND), step
    run.cancel()
    assert list(iter(lambda: events.get(timeout=60), None))
    pressed.recover()


@pytest.mark.parametrize("together", [False, True])
def test_a_comparison_goes_on_because_nothing_looks_at_the_pressure_meanwhile(pressed: Pressed, together: bool) -> None:
    pressed.script = iter(["critical"] * ReliefStep.BACKGROUND)
    while pressed.relief.step < ReliefStep.BACKGROUND:
        pressed.ask(Rest())
    (events,) = pressed.ask(Compare((tokens(PROMPT, max_tokens=6),), together=together))
    assert isinstance(events[-1], CompareResult)
    pressed.recover()


def test_weights_that_exceed_a_groups_limit_are_refused_and_the_pair_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    monkeypatch.setattr(cgroup, "ROOT", write_files(tmp_path, version_1(300_000, 1000)))
    with pytest.raises(UserError) as refused:
        list(engine.load(GOLDEN / "e2e_qwen3_5" / "target", GOLDEN / "e2e_qwen3_5" / "drafter"))
    assert refused.value.text.code == "no_memory_to_load"
    assert len(reply(engine, tokens(PROMPT, max_tokens=3, ignore_eos=True)).tokens) == 3
    engine.unload()


@pytest.mark.parametrize("name", ["e2e_qwen3", "e2e_qwen3_5", "e2e_gpt_oss"])
def test_the_parts_are_what_mlx_holds(name: str) -> None:
    gc.collect()  # what earlier tests left
    before = mx.get_active_memory()  # of pairs that other tests still use
    engine = loaded(GOLDEN / name / "target", GOLDEN / name / "drafter")

    def parts() -> tuple[int, int]:
        """Return the bytes that have an owner, and those of the workspace."""
        use = dict(engine.memory_use(Relief(lambda: None), None).parts)
        assert sum(use[part] for part in IN_MLX) == mx.get_active_memory() + mx.get_cache_memory()
        return sum(use[part] for part in ("target", "drafter", "replies", "snapshots")), use["workspace"] - before

    for at in range(3):
        reply(engine, tokens(LONG[at:], max_tokens=12, reuse=True))
    reply(engine, tokens((*LONG[:100], 7), max_tokens=12, reuse=True))
    owned, others = parts()
    assert owned > 1 << 20 and 0 <= others < 64 << 10, "constants of the models, and convolutions' inputs, which marks share"
    running = [begin(engine, tokens(LONG[at:], max_tokens=30, ignore_eos=True, reuse=True)) for at in range(3)]
    for _ in range(9):
        for each in running:
            each.step()
    owned, others = parts()
    assert 0 <= others < owned / 10, "the results of passes that aren't read yet"
    assert engine.memory_use(Relief(lambda: None), None).reserved > 0
    for each in running:
        each.finish()
    assert engine.memory_use(Relief(lambda: None), None).reserved == 0
    engine.unload()
