"""A request waits for a prompt that begins like its own and is being computed."""

import gc
import random
import weakref
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, Failed, Finished
from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding import prefill
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.shared_prompts import PromptInProgress, PromptWait
from mlx_engine.prefix.branch import Branch
from mlx_engine.prefix.snapshots import KnownPrefix
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import loaded_case
from tests.mlx_engine.engine.test_turns import OTHERS, SAMPLED, Running, begin
from tests.mlx_engine.prefix.prefix_pairs import PAIRS, PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass

HEAD = PROMPT * 10  # 110 tokens


@pytest.fixture(scope="module", params=[*SAMPLED, *OTHERS])
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    engine = loaded_case(PAIRS[request.param], tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill, "CHUNK", 8)
        yield engine
    engine.unload()


@pytest.fixture(autouse=True)
def nothing_kept(request) -> None:
    for name in {"engine", "tiny", "windows"} & set(request.fixturenames):
        request.getfixturevalue(name).free_memory()


def asked(*end: int, **options: Any):
    return tokens((*HEAD, *end), **{"reuse": True, "max_tokens": 8, "ignore_eos": True, **options})


def finish(running: list[Running]) -> None:
    for _ in range(5000):
        if all(one.ended for one in running):
            return
        for one in running:
            if not one.ended:
                one.step()
    pytest.fail("the replies make no progress")


@pytest.mark.parametrize("count", [2, 4])
def test_the_shared_beginning_is_computed_once(tiny, monkeypatch, count):
    monkeypatch.setattr(prefill, "CHUNK", 8)
    requests = [asked(5 + at, 6, mode="plain") for at in range(count)]
    wanted = [reply(tiny, replace(request, reuse=False)).tokens for request in requests]
    rows: list[int] = []
    with monkeypatch.context() as patch:
        before_each_pass(tiny.pair.target, patch, rows.append)
        finish(running := [begin(tiny, request) for request in requests])
    assert [one.whole.tokens for one in running] == wanted
    reused = [one.whole.stats.reused_tokens for one in running]
    assert reused == [0, *[len(HEAD)] * (count - 1)]
    assert rows.count(8) == len(HEAD) // 8 and not tiny._turns.prompts


def test_equal_prompts_are_computed_once(engine):
    """As those of one request for several replies, also if caches can only be copied where they are marked."""
    requests = [replace(asked(5, seed=at), sampling=Sampling(0.9)) for at in range(3)]
    wanted = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    finish(running := [begin(engine, request) for request in requests])
    assert [one.whole.tokens for one in running] == wanted
    assert [one.whole.stats.reused_tokens for one in running] == [0, len(HEAD), len(HEAD)]


def test_a_prompt_is_not_waited_for_if_it_can_not_be_copied(windows, monkeypatch):
    """The drafter's windows have moved beyond the shared beginning, which isn't marked, when a chunk ends."""
    monkeypatch.setattr(prefill, "CHUNK", 8)
    first, second = begin(windows, asked(5, 6, 7)), begin(windows, asked(6, 7, 8))
    first.step()
    second.step()
    assert second.events
    finish([first, second])


def test_a_waiting_request_holds_no_memory(tiny, monkeypatch):
    monkeypatch.setattr(prefill, "CHUNK", 8)
    first, second = begin(tiny, asked(5)), begin(tiny, asked(6))
    for _ in range(4):
        first.step()
        second.step()
    room = tiny._ledger
    assert len(room._taken) == 1 and not room._waiting and not second.events
    finish([first, second])
    assert not room._taken


@pytest.mark.parametrize("how", ["canceled", "closed", "failed"])
def test_if_the_first_ends_early_the_second_goes_on(tiny, monkeypatch, how):
    monkeypatch.setattr(prefill, "CHUNK", 8)
    wanted = reply(tiny, asked(6, reuse=False)).tokens
    first, second = begin(tiny, asked(5)), begin(tiny, asked(6))
    for _ in range(5):
        first.step()
        second.step()
    assert first.events and not second.events
    if how == "canceled":
        first.cancel.set()
    elif how == "closed":
        first.steps.close()  # type: ignore[attr-defined]
        first.ended = True
    else:
        with monkeypatch.context() as patch:
            before_each_pass(tiny.pair.target, patch, lambda rows: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                first.step()
        first.ended = True
    finish([first, second])
    assert second.whole.tokens == wanted
    # Without a failure, the next request continues what the first one had computed
    assert second.whole.stats.reused_tokens in ((0, *range(8, 48)) if how != "failed" else (0,))


def test_a_canceled_wait_ends_at_once(tiny, monkeypatch):
    monkeypatch.setattr(prefill, "CHUNK", 8)
    first, second = begin(tiny, asked(5)), begin(tiny, asked(6))
    for _ in range(4):
        first.step()
        second.step()
    second.cancel.set()
    second.step()
    assert [event.reason for event in second.events if isinstance(event, Finished)] == ["cancelled"]
    finish([first, second])


def test_a_prompt_that_makes_no_progress_is_not_waited_for(tiny, monkeypatch):
    monkeypatch.setattr(prefill, "CHUNK", 8)
    wanted = reply(tiny, asked(6, reuse=False)).tokens
    first, second = begin(tiny, asked(5)), begin(tiny, asked(6))
    for _ in range(4):
        first.step()
    for _ in range(3000):
        if second.ended:
            break
        second.step()
    assert second.whole.tokens == wanted
    first.steps.close()  # type: ignore[attr-defined]


def test_a_reply_in_progress_is_copied_without_waiting(tiny):
    """Its prompt is complete, and it goes on afterwards with the same text."""
    requests = [asked(5, max_tokens=30), asked(6)]
    wanted = [reply(tiny, replace(request, reuse=False)).tokens for request in requests]
    first, second = (begin(tiny, request) for request in requests)
    while not any(isinstance(event, Commit) for event in first.events):
        first.step()
    finish([second])
    assert second.whole.stats.reused_tokens == len(HEAD)
    finish([first])
    assert [first.whole.tokens, second.whole.tokens] == wanted


ENDS = st.lists(st.integers(3, 120), min_size=1, max_size=6).map(tuple)
CUTS = st.sampled_from([0, 40, 80, len(HEAD)])


HOW = st.sampled_from([None, None, "cancel", "close", "fail"])


@sampled(3, 60)
@given(
    wanted=st.lists(st.tuples(CUTS, ENDS, st.integers(0, 40), HOW), min_size=2, max_size=5),
    order=st.integers(0, 1 << 30),
)
def test_texts_are_those_alone_however_requests_arrive_and_end(engine, wanted, order):
    """Requests share beginnings of any length; some are canceled, closed, or fail, at any turn."""
    draw = random.Random(order)
    requests = [tokens((*HEAD[:cut], *end), reuse=True, max_tokens=6, ignore_eos=True) for cut, end, _, _ in wanted]
    engine.free_memory()
    texts = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    engine.free_memory()
    running: dict[int, Running] = {}
    failing: set[int] = set()
    now = [0]
    with pytest.MonkeyPatch.context() as patch:
        before_each_pass(engine.pair.target, patch, lambda rows: 1 / 0 if now[0] in failing else None)
        for turn in range(6000):
            for at, (_, _, begins, _) in enumerate(wanted):
                if begins <= turn and at not in running:
                    running[at] = begin(engine, requests[at])
            going = [at for at, one in running.items() if not one.ended]
            if not going and len(running) == len(wanted):
                break
            if not going:
                continue
            now[0] = at = draw.choice(going)
            one, how = running[at], wanted[at][3]
            if how is not None and turn > wanted[at][2] + 12:
                if how == "cancel":
                    one.cancel.set()
                elif how == "fail":
                    failing.add(at)
                else:
                    one.steps.close()  # type: ignore[attr-defined]
                    one.ended = True
                    continue
            try:
                one.step()
            except ZeroDivisionError:
                one.ended = True
        else:
            pytest.fail("the replies make no progress")
    for at, one in running.items():
        end = one.events[-1] if one.events else None
        if isinstance(end, Finished):
            assert one.whole.tokens == texts[at][: len(one.whole.tokens)]
            assert end.reason == "cancelled" or one.whole.tokens == texts[at]
        else:
            assert wanted[at][3] in ("close", "fail") or any(each[3] == "fail" for each in wanted), end
            assert not isinstance(end, Failed)
    assert not engine._turns.prompts and not engine._turns.replies and engine._ledger is not None and engine._ledger.is_free


class Cutting:
    """Snapshots of a pair whose caches can be cut anywhere."""

    def goal(self, shared: int, stops: Any) -> int:
        return shared


@pytest.mark.parametrize(
    ("computed", "reused", "others", "foreground", "pays"),
    [
        (0, 0, 1, False, True),  # 1,000 to wait for, instead of 1,000 in turns
        (600, 0, 1, False, True),
        (0, 990, 1, False, False),  # all but 10 are known
        (0, 500, 1, False, False),  # 1,000 to wait for, 500 to compute in turns with it
        (0, 400, 1, False, True),
        (0, 0, 3, True, False),  # three take turns, and a foreground reply has every second
        (0, 0, 3, False, True),
        (1000, 0, 1, False, False),  # all are there
    ],
)
def test_waiting_must_be_faster(computed, reused, others, foreground, pays):
    keys = list(range(1001))
    branches = [Branch(None, None, keys if at == 0 else [-1] * 2000) for at in range(others)]  # type: ignore[arg-type]
    prompts = [PromptInProgress(branch, lambda: True, computed if at == 0 else 0) for at, branch in enumerate(branches)]
    wait = PromptWait(Cutting(), prompts, keys, (), KnownPrefix(reused, None), foreground)  # type: ignore[arg-type]
    assert wait.pays() is pays


def test_replies_next_to_an_ended_one_do_not_hold_its_caches(tiny, monkeypatch):
    """Neither one that began next to it, nor one that waited for its prompt."""
    monkeypatch.setattr(prefill, "CHUNK", 8)
    first = begin(tiny, asked(5))
    others = [begin(tiny, tokens(prompt, reuse=True, max_tokens=200, ignore_eos=True)) for prompt in ((17, 18, 19), (*HEAD, 9))]
    branch = None
    while not first.ended:
        for each in (first, *others):
            if not each.ended:
                each.step()
        branch = branch or weakref.ref(tiny._turns.prompts[0].branch)
    del first
    tiny.free_memory()
    gc.collect()
    assert not any(each.ended for each in others)
    assert branch is not None and branch() is None
