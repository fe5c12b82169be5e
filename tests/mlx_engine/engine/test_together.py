"""Comparisons whose contestants reply at the same time: the texts are those that they have one after the other."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompareResult, ContestantEvent, Event, Failed, Finished, NextReply
from mlx_engine.contract.requests import BOTH_MODES, Compare, GenerationRequest, Sampling, with_drafters
from mlx_engine.engine import local_comparison
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import memory
from mlx_engine.models.library.speeds import MeasuredSpeeds, speed_key
from mlx_engine.targets.target import Target
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded, loaded_case
from tests.mlx_engine.prefix.prefix_pairs import PAIRS, PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass

KINDS = ("growing", "rotating", "recurrent", "assistant")
OTHERS = (pytest.param(kind, marks=pytest.mark.long) for kind in ("dspark", "eagle3", "mtp"))
LONG = tokens(PROMPT, max_tokens=30, seed=5, ignore_eos=True)


@pytest.fixture(scope="module", params=[*KINDS, *OTHERS])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = loaded_case(PAIRS[request.param], tmp_path_factory)
    yield engine
    engine.unload()


def outcome(engine: Engine, request: Compare) -> CompareResult:
    *_, result = engine.run(request)
    assert isinstance(result, CompareResult)
    return result


def texts(result: CompareResult) -> list[list[tuple[int, ...]]]:
    return [[reply.tokens for reply in one.replies] for one in result.results]


REQUESTS = st.builds(
    lambda prompt, sampling, **options: GenerationRequest(prompt_tokens=tuple(prompt), sampling=sampling, **options),
    st.lists(st.integers(3, 120), min_size=1, max_size=24),
    st.sampled_from([Sampling(), Sampling(0.8), Sampling(0.8, repetition_penalty=1.2)]),
    width=st.sampled_from([None, 4]),
    seed=st.integers(0, 2**31 - 1),
    max_tokens=st.integers(1, 24),
    ignore_eos=st.booleans(),
)


@sampled(3)
@given(requests=st.lists(REQUESTS, min_size=1, max_size=2), repeats=st.integers(1, 2))
def test_texts_are_those_of_one_after_the_other(engine: Engine, requests: list[GenerationRequest], repeats: int) -> None:
    request = Compare(tuple(requests), repeats=repeats)
    alone, together = outcome(engine, request), outcome(engine, replace(request, together=True))
    assert texts(together) == texts(alone)
    assert [one.verdict for one in together.results] == ["identical"] * 2
    assert [len(one.runs) for one in together.results] == [repeats * len(requests)] * 2


def test_replies_share_passes_and_their_speeds_are_not_compared(engine: Engine) -> None:
    together = outcome(engine, Compare((LONG,), together=True))
    assert together.has_shared_passes and all(run.has_shared_passes for one in together.results for run in one.runs)
    assert together.ratio(together.results[1]) is None and together.fastest is None
    alone = outcome(engine, Compare((LONG,)))
    assert not alone.has_shared_passes and texts(alone) == texts(together)


def test_exact_replies_share_passes(tiny: Engine) -> None:
    found = outcome(tiny, Compare((replace(LONG, exact=True),), together=True))
    assert found.has_shared_passes and found.results[1].difference is None
    assert all(run.exact for one in found.results for run in one.runs)


def test_one_drafter_can_be_loaded_and_its_speed_is_not_saved(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setattr(local_comparison, "calibrate", lambda pair, cancel: iter(()))
    folder = GOLDEN / "e2e_qwen3"
    target, drafter = folder / "target", folder / "drafter"
    request = Compare((replace(LONG, max_tokens=40),), with_drafters(target, (drafter,)), together=True)
    engine = Engine()
    found = outcome(engine, request)
    assert len(set(texts(found)[0] + texts(found)[1] + texts(found)[2])) == 1 and found.has_shared_passes
    assert MeasuredSpeeds().rates(speed_key(target, drafter)) == {}
    outcome(engine, replace(request, together=False))
    assert set(MeasuredSpeeds().rates(speed_key(target, drafter))) == {"plain", "dflash"}
    with pytest.raises(UserError) as refused:
        outcome(engine, replace(request, contestants=with_drafters(target, (drafter, target))))
    assert refused.value.text.code == "pairs_not_together"


@pytest.mark.parametrize("because", ["memory", "family"])
def test_replies_that_cannot_share_passes_take_turns(tiny: Engine, monkeypatch: pytest.MonkeyPatch, because: str) -> None:
    """There is memory for one only, or the target's passes have rows of one."""
    wanted = reply(tiny, LONG).tokens
    if because == "memory":
        monkeypatch.setattr(memory, "working_set", lambda: 0)
    else:
        monkeypatch.setattr(Target, "packs", False)
    found = outcome(tiny, Compare((LONG,), together=True))
    assert texts(found) == [[wanted]] * 2 and not found.has_shared_passes and found.ratio(found.results[1]) is None


def test_a_cancel_ends_both_replies(tiny: Engine) -> None:
    cancel, seen = threading.Event(), list[Event]()
    for event in tiny.run(Compare((replace(LONG, max_tokens=100),), together=True), cancel):
        seen.append(event)
        if isinstance(event, ContestantEvent) and isinstance(event.event, Commit):
            cancel.set()
    parts = [one for one in seen if isinstance(one, ContestantEvent)]
    ends = {one.contestant: one.event.reason for one in parts if isinstance(one.event, Finished)}
    assert ends == dict.fromkeys(BOTH_MODES, "cancelled") and not isinstance(seen[-1], CompareResult)
    assert reply(tiny, LONG).tokens == texts(outcome(tiny, Compare((LONG,))))[0][0]


def test_closing_a_comparison_ends_both_replies(tiny: Engine) -> None:
    steps = tiny.run(Compare((LONG,), together=True))
    while not isinstance(event := next(steps), ContestantEvent) or not isinstance(event.event, Commit):
        pass
    with pytest.raises(UserError, match="still being generated"):
        list(tiny.run(Compare((replace(LONG, exact=True),))))
    steps.close()  # type: ignore[attr-defined]
    assert outcome(tiny, Compare((replace(LONG, exact=True),))).results[1].verdict == "identical"


def test_the_failure_of_one_side_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drafter fails in the middle of the replies."""
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    steps, seen = Engine.steps, list[Event]()

    def failing(self: Engine, request: GenerationRequest, *given: threading.Event) -> Iterator[list[Event]]:
        for number, events in enumerate(steps(self, request, *given)):
            yield list(events)
            if number == 5 and request.mode == "dflash":
                raise UserError("scripted", "The drafter failed.")

    monkeypatch.setattr(Engine, "steps", failing)
    with pytest.raises(UserError, match="The drafter failed"):
        seen.extend(engine.run(Compare((replace(LONG, max_tokens=100),), together=True)))
    monkeypatch.setattr(Engine, "steps", steps)
    assert reply(engine, LONG).tokens
    assert reply(engine, replace(LONG, exact=True)).tokens, "no reply is in progress"


def test_a_request_that_neither_can_answer_fails_with_the_reason(tiny: Engine) -> None:
    seen = list[Event]()
    with pytest.raises(UserError, match="empty"):
        for event in tiny.run(Compare((tokens((), max_tokens=4),), together=True)):
            seen.append(event)
    assert [type(one) for one in seen] == [NextReply, NextReply, ContestantEvent] and isinstance(seen[-1].event, Failed)  # type: ignore[attr-defined]


def test_a_pass_has_the_rows_of_both(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain row and a block in one pass, from one prompt."""
    rows = list[int]()
    before_each_pass(tiny.pair.target, monkeypatch, rows.append)
    outcome(tiny, Compare((replace(LONG, width=6),), together=True))
    assert 7 in rows
