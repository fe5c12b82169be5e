"""Pairs on two and four ranks: the texts are those of one computer."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from mlx_engine.calibration import saved_calibration
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompareResult, CompletedReply, Event, PairInfo
from mlx_engine.contract.requests import (
    AttachedImage,
    Calibrate,
    Compare,
    CountTokens,
    GenerationRequest,
    LoadPair,
    Message,
    Request,
    SelectKernels,
    with_drafters,
)
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.models.configs.shardable import SHARDABLE
from mlx_engine.models.library.link_times import link_seconds
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.models.library.speeds import MeasuredSpeeds, speed_key
from mlx_engine.network.channel import free_address
from mlx_engine.ring.pairing import KnownWorker
from mlx_engine.ring.ring_engine import RingEngine
from mlx_engine.ring.ring_plan import RingPlan
from tests.mlx_engine import tiny_families
from tests.mlx_engine.asking import question, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.ring.workers import HOST, RunningWorker, plan, running_workers

PROMPT = range(5, 45)


def ring_reply(engine: RingEngine, request: GenerationRequest) -> CompletedReply:
    return fold(list(to_iter(engine, request)))


def load(engine: RingEngine, target: Path, drafter: Path | None) -> PairInfo:
    *_, info = to_iter(engine, LoadPair(target, drafter))
    assert isinstance(info, PairInfo)
    return info


def failure(engine: RingEngine, request: Request) -> str:
    with pytest.raises(UserError) as raised:
        list(to_iter(engine, request))
    return raised.value.text.code


@pytest.fixture(scope="module")
def workers() -> Iterator[list[RunningWorker]]:
    with running_workers(1) as found:
        yield found


@pytest.fixture(scope="module")
def demo_ring(workers: list[RunningWorker]) -> Iterator[RingEngine]:
    engine = RingEngine(lambda: plan(workers))
    assert load(engine, *demo_pair()).computers == 2
    yield engine
    assert engine.wait(60)


SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false}'
REQUESTS = (
    tokens(PROMPT, 0.8, seed=7, max_tokens=6),
    tokens(PROMPT, mode="plain", max_tokens=3),
    tokens(PROMPT, lookup_only=True, max_tokens=4),
    tokens(PROMPT, logprobs=2, logit_bias=((7, 5.0),), stop=("zzz",), max_tokens=4),
    question("Give n as JSON.", schema=SCHEMA, max_tokens=12),
)


@pytest.mark.parametrize("request_", REQUESTS)
def test_the_demo_pair_writes_the_same_text_on_two_ranks(demo_ring: RingEngine, demo: Engine, request_: GenerationRequest) -> None:
    found = ring_reply(demo_ring, request_)
    assert found.tokens == reply(demo, request_).tokens
    assert found.stats.mode == request_.mode


def test_what_needs_one_computer_is_refused(demo_ring: RingEngine) -> None:
    assert failure(demo_ring, Calibrate()) == failure(demo_ring, SelectKernels()) == "not_sharded"
    assert failure(demo_ring, tokens(PROMPT, exact=True)) == "sharded_not_exact"
    picture = Message("user", "What is this?", images=(AttachedImage(0, b""),))
    assert failure(demo_ring, GenerationRequest(messages=(picture,))) == "sees_no_images"


def test_the_link_is_measured(demo_ring: RingEngine) -> None:
    seconds = link_seconds(2)
    assert seconds is not None and seconds > 0


def test_tokens_are_counted(demo_ring: RingEngine, demo: Engine) -> None:
    request = CountTokens(GenerationRequest(messages=(Message("user", "Hello"),)))
    assert list(to_iter(demo_ring, request)) == [demo.count_tokens(request)]


def test_speeds_of_several_computers_are_not_saved_as_those_of_this_one(demo_ring: RingEngine) -> None:
    """Auto would choose a drafter for one computer by them."""
    target, drafter = demo_pair()

    def saved() -> object:
        return MeasuredSpeeds().rates(speed_key(target, drafter)), *saved_calibration.folder("calibration").glob("*")

    before = saved()
    request = tokens(PROMPT, max_tokens=33, ignore_eos=True)
    *_, end = to_iter(demo_ring, Compare((request,), with_drafters(target, (drafter,))))
    assert isinstance(end, CompareResult) and all(one.verdict == "identical" for one in end.results)
    assert saved() == before


def ranks_agree(target: Path, ranks: int) -> bool:
    """Return whether the layers of all ranks return the same bits in every pass."""
    command = [sys.executable, "-m", "tests.mlx_engine.ring.rank_outputs"]
    addresses = [free_address(HOST) for _ in range(ranks)]
    running = [
        subprocess.Popen([*command, str(rank), str(target), *addresses], stdout=subprocess.PIPE, text=True) for rank in range(ranks)
    ]
    try:
        printed = [each.communicate(timeout=300)[0].split() for each in running]
    finally:
        for each in running:
            each.kill()
    return len(printed[0]) == 4 and all(lines == printed[0] for lines in printed)


def test_ranks_are_bit_identical() -> None:
    assert ranks_agree(demo_pair()[0], 2)


def test_a_killed_rank_ends_the_reply_with_what_it_has(demo_ring: RingEngine, workers: list[RunningWorker]) -> None:
    """Last, because later requests load the pair again."""
    written: list[int] = []
    with pytest.raises(UserError, match=r"(T|t)ry again"):
        for event in to_iter(demo_ring, tokens(PROMPT, max_tokens=2000, ignore_eos=True)):
            if isinstance(event, Commit):
                if not written:
                    workers[0].kill_rank()
                written += event.tokens
    assert 0 < len(written) < 2000


def test_other_models_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    engine = RingEngine(lambda: RingPlan((KnownWorker("127.0.0.1", 1, ""),)))  # a port that refuses connections
    assert failure(engine, tokens(PROMPT)) == "no_pair_loaded"
    assert failure(engine, LoadPair(tiny_families.save("gemma4_text", tmp_path / "gemma"))) == "family_not_shardable"
    assert failure(engine, LoadPair(GOLDEN / "e2e_qwen3" / "target")) == "size_not_shardable"
    assert failure(engine, LoadPair(*demo_pair())) == "worker_unreachable"
    assert engine.wait(60)


@pytest.mark.long
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("family", SHARDABLE)
def test_texts_are_those_of_one_computer(family: str, ranks: int, tmp_path: Path) -> None:
    """With DFlash and without, greedy and seeded, a second turn, and two replies that share passes."""

    def for_ranks(config: dict) -> dict:
        """As many heads as ranks, because Qwen3 and others don't repeat keys."""
        inner = config.get("text_config", config)
        inner["num_key_value_heads"] = max(
            inner["num_key_value_heads"], ranks if family in ("llama", "qwen3", "qwen3_moe", "gpt_oss") else 2
        )
        if "linear_num_key_heads" in inner:
            inner["linear_num_key_heads"] = 4
        return config

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_families.CONFIGS, family, for_ranks(deepcopy(tiny_families.CONFIGS[family])))
        target = tiny_families.save(family, tmp_path / "target")
    drafter = tiny_families.save_drafter(family, tmp_path / "drafter", block=8)
    alone = loaded(target, drafter)
    requests = [
        tokens(PROMPT, heat, seed=3, mode=mode, max_tokens=12, ignore_eos=True)
        for mode in ("plain", "dflash")
        for heat in (0.0, 0.8)
    ]
    assert ranks_agree(target, ranks)
    with running_workers(ranks - 1, *[target][: ranks - 2]) as workers:  # of two, the other one gets a copy
        engine = RingEngine(lambda: plan(workers))
        assert load(engine, target, drafter).drafter == "drafter"
        for request in requests:
            assert ring_reply(engine, request).tokens == reply(alone, request).tokens
        first = tokens(PROMPT, max_tokens=8, ignore_eos=True, reuse=True)
        found = ring_reply(engine, first)
        second = tokens([*PROMPT, *found.tokens, 9, 8, 7], max_tokens=8, ignore_eos=True, reuse=True)
        again = ring_reply(engine, second)
        assert again.tokens == reply(alone, replace(second, reuse=False)).tokens
        assert again.stats.reused_tokens > len(PROMPT) or "qwen3_5" in family
        both = [replace(request, foreground=False) for request in requests[2:]]
        ended = [threading.Event() for _ in both]
        seen: list[list[Event]] = [[] for _ in both]
        for request, events, end in zip(both, seen, ended, strict=True):
            engine.submit(request, partial(_collect, events, end))
        for request, events, end in zip(both, seen, ended, strict=True):
            assert end.wait(300)
            assert fold(events).tokens == reply(alone, request).tokens
        assert engine.wait(60)


def _collect(events: list[Event], ended: threading.Event, event: Event | None) -> None:
    if event is None:
        ended.set()
    else:
        events.append(event)
