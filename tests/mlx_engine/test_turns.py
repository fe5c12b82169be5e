"""Replies that are generated at the same time have the texts that they have alone, and fair turns."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine import device, memory
from mlx_engine.comparison import collect
from mlx_engine.decoding import prefill
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.engine import Engine
from mlx_engine.events import Commit, CompletedReply, Event, Failed, Finished, Queued, TokenCount
from mlx_engine.host import EngineHost, Job
from mlx_engine.kernels.operations import PLAIN, with_kernels
from mlx_engine.requests import Calibrate, CountTokens, GenerationRequest, Message, Request, Sampling
from tests.engine_double import EngineDouble
from tests.examples import sampled
from tests.mlx_engine.asking import question, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)
PAIRS = {"growing": "e2e_qwen3", "rotating": "e2e_gpt_oss", "recurrent": "e2e_qwen3_5"}


@dataclass
class Running:
    """A reply whose steps a test takes."""

    steps: Iterator[Sequence[Event]]
    cancel: threading.Event
    events: list[Event] = field(default_factory=list)
    ended: bool = False

    def step(self) -> None:
        events = next(self.steps, None)
        self.ended = events is None
        self.events += events or ()

    @property
    def whole(self) -> CompletedReply:
        end = self.events[-1]
        assert isinstance(end, Finished), end
        return collect(self.events, end)


def begin(engine: Engine, request: GenerationRequest) -> Running:
    cancel = threading.Event()
    return Running(engine.steps(request, cancel), cancel)


def together(engine: Engine, requests: Sequence[GenerationRequest]) -> list[CompletedReply]:
    """Return the replies to requests that begin at once and take turns."""
    running = [begin(engine, request) for request in requests]
    while going := [one for one in running if not one.ended]:
        for one in going:
            one.step()
    return [one.whole for one in running]


@pytest.fixture(scope="module", params=list(PAIRS))
def engine(request) -> Iterator[Engine]:
    engine = loaded(GOLDEN / PAIRS[request.param] / "target", GOLDEN / PAIRS[request.param] / "drafter")
    engine.snapshots.budget = 6 << 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill, "CHUNK", 8)
        yield engine
    engine.unload()


HEADS = st.sampled_from([(), PROMPT, PROMPT * 3])
REQUESTS = st.builds(
    lambda head, prompt, sampling, **options: GenerationRequest(
        prompt_tokens=(*head, *prompt), sampling=sampling, ignore_eos=True, **options
    ),
    HEADS,
    st.lists(st.integers(3, 120), min_size=1, max_size=24),
    st.sampled_from([Sampling(), Sampling(0.8), Sampling(0.8, repetition_penalty=1.2)]),
    mode=st.sampled_from(["dflash", "dflash", "plain"]),
    width=st.sampled_from([None, None, 1, 4, 8]),
    seed=st.integers(0, 2**64 - 1),
    max_tokens=st.integers(1, 40),
    reuse=st.booleans(),
)


@sampled(12)
@given(data=st.data())
def test_text_does_not_depend_on_other_replies(engine, data):
    """Replies of any mode begin at any step; some are canceled, and some share a prefix. Rounds are queued ahead or not."""
    requests = data.draw(st.lists(REQUESTS, min_size=2, max_size=4), "requests")
    begins = [data.draw(st.integers(0, 30), "first turn") for _ in requests]
    stops = [data.draw(st.sampled_from([None, None, 3, 9]), "steps before it is canceled") for _ in requests]
    queued = data.draw(st.booleans(), "queued ahead")
    wanted = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    engine.pair.use_costs(replace(ASSUMED, queued=queued))
    running: dict[int, Running] = {}
    with pytest.MonkeyPatch.context() as patch:
        if queued:
            patch.setattr(device, "runs_beside_host", lambda: True)
        turn = 0
        while len(running) < len(requests) or any(not one.ended for one in running.values()):
            for at, request in enumerate(requests):
                if at not in running and begins[at] <= turn:
                    running[at] = begin(engine, request)
                if at in running and not running[at].ended:
                    running[at].step()
                    if stops[at] == turn - begins[at]:
                        running[at].cancel.set()
            turn += 1
    for at, one in running.items():
        got = one.whole
        assert got.tokens == wanted[at][: len(got.tokens)]
        assert got.reason == "cancelled" or len(got.tokens) == len(wanted[at])
    assert not engine._turns.replies
