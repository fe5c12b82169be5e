"""Rounds that are queued before the previous round is read: the same rounds, and the same caches and context."""

import threading
from dataclasses import replace
from itertools import count

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit
from mlx_engine.contract.requests import GenerationRequest, Sampling
from mlx_engine.decoding.costs import ASSUMED, PLAIN_STEP, PassKind
from mlx_engine.decoding.stream import Stream
from mlx_engine.decoding.width import FixedWidth, WidthChoice, WidthController
from mlx_engine.engine import reply_stream
from mlx_engine.hardware import device
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.kernels.operations import PLAIN as PLAIN_OPERATIONS
from mlx_engine.kernels.operations import with_kernels
from tests import metal_emulator
from tests.examples import sampled
from tests.metal_emulator import kernel
from tests.mlx_engine.asking import events, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.decoding.streams import Run, Scripted, same_state
from tests.mlx_engine.drafters.drafter_cases import block_logits
from tests.mlx_engine.drafters.test_context import FULL, SLIDING
from tests.mlx_engine.prefix.prefix_pairs import SHORT
from tests.mlx_engine.targets.target_passes import before_each_pass

SAMPLING = st.sampled_from([Sampling(), Sampling(0.7), Sampling(1.0, top_k=20, top_p=0.9), Sampling(0.8, min_p=0.05)])
PROMPTS = st.lists(st.integers(3, 120), min_size=1, max_size=40)


def both(engine, prompt, width, sampling, seed) -> list[Run]:
    return [Run(engine, prompt, FixedWidth(width), ahead, sampling, seed) for ahead in (False, True)]


def test_every_round_but_the_first_and_last_is_queued_before_the_previous_one_is_read(tiny, monkeypatch):
    log = []
    accept, read = Stream.accept, Stream.read
    monkeypatch.setattr(Stream, "accept", lambda self, *args: log.append("put") or accept(self, *args))
    monkeypatch.setattr(Stream, "read", lambda self: log.append("read") or read(self))
    limit = 40
    steps = Run(tiny, (9, 8, 7), FixedWidth(4), True, Sampling(), 0).steps(limit)
    assert log[:2] == ["put", "read"]  # the first token
    del log[:2]
    assert log[:2] == ["put", "put"] and log.count("put") == log.count("read") == len(steps)
    left = limit - sum(len(step.tokens) for step in steps[:-1])
    whole = sum(1 for at in range(len(steps)) if limit - sum(len(step.tokens) for step in steps[:at]) >= 7)
    assert whole >= 3 and left > 0
    # a round is queued after every round that always leaves room for a whole one
    assert log[: 2 * whole + 1] == ["put", *["put", "read"] * whole]


def test_arrays_grow_while_rounds_are_queued(windows):
    """Caches grow and windows drop rows while the position of a round is only known on the device."""
    prompt = [3 + at % 120 for at in range(230)]
    runs = both(windows, prompt, 8, Sampling(), 0)
    steps = [run.steps(40) for run in runs]
    assert steps[0] == steps[1]
    same_state(*runs)
    assert runs[1].caches.layers[0].keys.shape[2] > 256
    assert next(iter(runs[1].context.kinds.values())).first > 0


@given(passes=st.lists(st.sampled_from([PLAIN_STEP, PassKind("drafter", 3), PassKind("drafter", 8)]), min_size=1, max_size=6))
@sampled(3)
def test_only_passes_that_were_queued_ahead_are_timed(tiny, passes):
    ticks = count()
    script = Scripted(passes)
    run = Run(tiny, (9, 8, 7), script, True, Sampling(), 0, clock=lambda: float(next(ticks)))
    steps = run.steps(40)
    kinds = [outcome.choice.kind == PLAIN_STEP for outcome in script.outcomes]
    assert len(steps) == len(kinds)
    for at, outcome in enumerate(script.outcomes):
        if at == 0 or kinds[at] != kinds[at - 1]:
            assert outcome.seconds is None  # it had to wait for the previous pass
        elif not kinds[at] and steps[at].width == outcome.choice.kind.width and sum(len(s.tokens) for s in steps[at - 1 :]) > 16:
            assert outcome.seconds is not None


@sampled(4)
@given(data=st.data(), total=st.integers(1, 60), rounds=st.integers(1, 12), seed=st.integers(0, 1000), width=st.integers(2, 8))
@pytest.mark.parametrize("which", [SLIDING, FULL], ids=["sliding", "full"])
def test_a_context_written_at_device_positions_gives_the_same_drafts(which, data, total, rounds, seed, width):
    mx.random.seed(seed)
    size = len(which.config.taps) * which.config.hidden_size
    features = [mx.random.normal((total, size))]
    context = which.context()
    which.inject(context, features[0])
    anchor = mx.array([seed % which.config.vocab_size])
    at = total
    for _ in range(rounds):
        place = DevicePosition(
            mx.array([at], mx.int32), at - data.draw(st.integers(0, min(3, at - 1))), at + data.draw(st.integers(0, 7))
        )
        context.place(place.span(width))
        whole = which.context()
        which.inject(whole, mx.concatenate(features))
        assert mx.abs(block_logits(which, context, anchor, width) - block_logits(which, whole, anchor, width)).max().item() < 1e-3
        rows = mx.random.normal((width, size))
        which.inject(context, rows)
        kept = data.draw(st.integers(1, width))
        features.append(rows[:kept])
        at += kept
    context.settle(at)
    which.inject(whole, features[-1])
    assert context.position == whole.position
    assert mx.abs(block_logits(which, context, anchor, width) - block_logits(which, whole, anchor, width)).max().item() < 1e-3


@pytest.mark.parametrize(
    ("which", "names"),
    [
        pytest.param("tiny", ("kv_injection", "block_verify", "verify_attention"), marks=pytest.mark.long),
        ("tiny2", ("kv_injection", "block_verify", "delta_inputs", "gated_delta_replay")),
        ("dspark", ("kv_injection", "block_verify", "verify_attention", "verify_matmul")),
        pytest.param("eagle3", ("block_verify", "verify_attention", "verify_matmul"), marks=pytest.mark.long),
        pytest.param("mtp", ("kv_injection", "block_verify", "verify_matmul", "gated_delta_replay"), marks=pytest.mark.long),
        pytest.param("assistant", ("kv_injection", "block_verify", "verify_matmul"), marks=pytest.mark.long),
    ],
)
def test_kernels_that_take_a_device_position_in_the_emulator(which, names, request, monkeypatch):
    tiny = request.getfixturevalue(which)
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])
    prompts = {**SHORT, "mtp": (91, 43, 77, 23, 111, 10, 31, 77, 1, 54, 17, 116)}
    prompt = prompts.get(which, (104, 119, 6, 4, 52, 21, 115))
    asked = tokens(prompt, temperature=0.8, seed=11, max_tokens=9, ignore_eos=True, width=8)
    want = reply(tiny, asked)
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    tiny.pair.use_costs(replace(ASSUMED, queued=True))
    tiny.pair.use(with_kernels(names, metal_emulator.metal_kernel))
    try:
        got = reply(tiny, asked)
    finally:
        tiny.pair.use(PLAIN_OPERATIONS)
    assert got.tokens == want.tokens and got.stats.accepted_per_round == want.stats.accepted_per_round
    assert any(got.stats.accepted_per_round)


@pytest.mark.parametrize(
    "which", ["tiny", "tiny2", *(pytest.param(each, marks=pytest.mark.long) for each in ("assistant", "dspark", "eagle3", "mtp"))]
)
def test_a_stopped_reply_costs_at_most_one_more_round(which, request, monkeypatch):
    """Its events are the same, and the next turn continues from its text."""
    tiny = request.getfixturevalue(which)
    asked = tokens((9, 8, 7), max_tokens=40, ignore_eos=True, width=6, reuse=True)
    passes = []
    before_each_pass(tiny.pair.target, monkeypatch, passes.append)

    def stopped_after(rounds: int):
        passes.clear()
        tiny.free_memory()
        cancel, seen = threading.Event(), []
        for event in tiny.generate(asked, cancel):
            seen.append(event)
            if [type(each).__name__ for each in seen].count("Round") == rounds:
                cancel.set()
        made = passes.count(6)
        said = [token for each in seen if type(each).__name__ == "Commit" for token in each.tokens]
        again = tokens((9, 8, 7, *said, 5), max_tokens=10, ignore_eos=True, width=6, reuse=True)
        return [type(each).__name__ for each in seen], said, made, reply(tiny, again)

    kinds, said, made, next_turn = stopped_after(5)
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    tiny.pair.use_costs(replace(ASSUMED, queued=True))
    queued = stopped_after(5)
    assert queued[:2] == (kinds, said)
    assert made == 5 and queued[2] == 6
    assert queued[3].tokens == next_turn.tokens
    assert queued[3].stats.accepted_per_round == next_turn.stats.accepted_per_round
    assert queued[3].stats.reused_tokens == next_turn.stats.reused_tokens > 3
    assert events(tiny, asked)[-1].stats.tokens == 40


class PlainStepFirst(WidthController):
    """Chooses one plain step, then rounds: the step after which a round is queued although nothing waits to be read."""

    def __init__(self, history: object, lookup_only: bool, temperature: float) -> None:
        self.first = True

    def choose(self, depth: int, offer: object = None) -> WidthChoice:
        first, self.first = self.first, False
        return WidthChoice(PLAIN_STEP if first else PassKind("drafter", 4))


@pytest.mark.parametrize("which", ["tiny", "windows"])
def test_a_round_that_is_never_read_leaves_no_row(which, request):
    """The only round is queued behind a plain step, after which the reply is stopped."""
    runs = [
        Run(request.getfixturevalue(which), (9, 8, 7), PlainStepFirst(None, False, 0), ahead, Sampling(), 0)
        for ahead in (False, True)
    ]
    assert runs[0].steps(20, stop=1) == runs[1].steps(20, stop=1)
    same_state(*runs)


@pytest.mark.parametrize("stop", [1, 3, *(pytest.param(stop, marks=pytest.mark.long) for stop in (2, 4, 5))])
def test_a_reply_cancelled_behind_a_queued_round_leaves_its_context_usable(monkeypatch, stop: int) -> None:
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    monkeypatch.setattr(reply_stream, "AutomaticWidth", PlainStepFirst)
    history = engine.pair.history
    history.costs.table, history.lookup = replace(history.costs.table, queued=True), False
    prompt, cancel, written = tuple(range(3, 23)), threading.Event(), []
    request = GenerationRequest(prompt_tokens=prompt, max_tokens=40, ignore_eos=True, seed=1)
    for event in engine.generate(request, cancel):
        if isinstance(event, Commit):
            written += event.tokens
            if len(written) >= stop:
                cancel.set()
    following = replace(request, prompt_tokens=(*prompt, *written, 5, 6, 7), max_tokens=8)
    reused = [event.tokens for event in engine.generate(following, threading.Event()) if isinstance(event, Commit)]
    engine.snapshots.drop()
    fresh = [event.tokens for event in engine.generate(following, threading.Event()) if isinstance(event, Commit)]
    assert sum(reused, ()) == sum(fresh, ())
