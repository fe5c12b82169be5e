"""Memory: what is wired, limited and freed, what is dropped first when it runs out, and when arrays are copied."""

import gc
from dataclasses import replace
from types import SimpleNamespace

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit
from mlx_engine.decoding import prefill
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device, memory
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.loading import loaded_pair
from mlx_engine.models.fit import snapshot_budget
from mlx_engine.prefix.snapshots import MAX_BRANCHES
from mlx_engine.targets import target
from tests.benchmarks.memory import long_prompt
from tests.mlx_engine.asking import events, failure, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.targets.target_passes import before_each_pass

PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)


def pair(name: str = "e2e_qwen3") -> Engine:
    return loaded(GOLDEN / name / "target", GOLDEN / name / "drafter")


@pytest.fixture
def metal(monkeypatch):
    """A device that recommends a working set of 64 GB; records its calls."""
    calls: list = []
    limits = {"wired": 5, "spare": 1 << 40}

    def limit(name):
        def set_limit(value):
            calls.append((name, value))
            limits[name], before = value, limits[name]
            return before

        return set_limit

    fake = SimpleNamespace(
        device_info=lambda: {"max_recommended_working_set_size": 64 << 30},
        set_wired_limit=limit("wired"),
        set_cache_limit=limit("spare"),
        synchronize=lambda: calls.append("synchronize"),
        get_active_memory=mx.get_active_memory,
        get_cache_memory=mx.get_cache_memory,
    )
    monkeypatch.setattr(memory, "mx", fake)
    return SimpleNamespace(calls=calls, limits=limits)


MOST_WIRED = 60 << 30  # of 64 GB that Metal recommends
RESTORED = [("wired", MOST_WIRED), "synchronize", ("wired", 5)]


def test_the_working_set_is_wired_only_during_a_reply(tiny, metal):
    running = tiny.generate(tokens(PROMPT, max_tokens=8))
    assert metal.calls == []
    next(running)
    assert metal.limits["wired"] == MOST_WIRED
    list(running)
    assert metal.calls == RESTORED


def test_nothing_stays_wired_after_a_closed_or_refused_reply(tiny, metal):
    running = tiny.generate(tokens(PROMPT, max_tokens=80))
    next(event for event in running if isinstance(event, Commit))
    running.close()
    assert metal.calls == RESTORED
    metal.calls.clear()
    failure(tiny, tokens((), max_tokens=8))
    assert metal.calls == RESTORED


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_the_working_set_stays_wired_until_the_last_reply_ends(tiny, metal, first_ends_first):
    replies = [tiny.generate(tokens(PROMPT, max_tokens=80)) for _ in range(2)]
    for each in replies:
        next(each)
    for each in replies if first_ends_first else replies[::-1]:
        assert metal.limits["wired"] == MOST_WIRED
        each.close()
    assert metal.limits["wired"] == 5


def test_the_limit_is_restored_if_work_fails_as_the_reply_ends(tiny, metal):
    def fail():
        raise RuntimeError("[METAL] Command buffer execution failed: Caused GPU Hang Error")

    memory.mx.synchronize = fail
    assert reply(tiny, tokens(PROMPT, max_tokens=8)).reason == "length"
    assert metal.calls == [("wired", MOST_WIRED), ("wired", 5)]


def test_without_a_recommended_working_set_nothing_is_wired(metal):
    memory.mx.device_info = dict
    with memory.wired():
        assert metal.limits["wired"] == 5
    assert metal.calls == []


def test_spare_buffers_are_limited_and_a_lower_limit_is_kept(metal):
    memory.bound_spare_buffers()
    assert metal.limits["spare"] == 4 << 30
    metal.limits["spare"] = 1 << 20
    memory.bound_spare_buffers()
    assert metal.limits["spare"] == 1 << 20


def test_snapshots_get_an_eighth_of_the_memory_and_the_latest_half_of_what_weights_leave():
    gigabyte = 1 << 30
    assert snapshot_budget(64 * gigabyte, 24 * gigabyte) == (8 * gigabyte, 20 * gigabyte)
    assert snapshot_budget(64 * gigabyte, 60 * gigabyte) == (2 * gigabyte, 2 * gigabyte)
    assert snapshot_budget(64 * gigabyte, 80 * gigabyte) == (0, 0)
    assert snapshot_budget(int(5.3 * gigabyte), 3 * gigabyte)[0] < 0.7 * gigabyte  # on a Mac with 8 GB


def test_the_loaded_pair_uses_the_budget_of_this_machine(metal):
    engine = pair()
    assert (engine.snapshots.budget, engine.snapshots.limit) == snapshot_budget(64 << 30, engine.pair.held)


def test_the_latest_chat_is_kept_beyond_the_budget_up_to_the_limit():
    engine = pair()
    reply(engine, tokens(PROMPT, max_tokens=4, reuse=True))
    one = engine.snapshots.nbytes
    engine.snapshots.budget, engine.snapshots.limit = one // 2, 2 * one
    reply(engine, tokens(PROMPT[1:] + PROMPT, max_tokens=4, reuse=True))
    assert 0 < engine.snapshots.nbytes <= one  # the earlier one is dropped
    engine.snapshots.limit = one // 2
    reply(engine, tokens(PROMPT, max_tokens=4, reuse=True))
    assert engine.snapshots.nbytes == 0


def test_an_edited_chat_is_kept_longer_than_the_version_before():
    engine = pair()
    engine.snapshots.budget = 1 << 40
    before, edited = tuple(range(3, 63)), (*range(3, 33), *range(63, 93))
    for chat in (before, edited):
        reply(engine, tokens(chat, max_tokens=2, reuse=True))
    engine.snapshots.drop(1)
    left = [engine.snapshots.known(chat).length for chat in (before, edited)]
    assert left[0] < left[1] == len(edited) - 1


def test_many_short_chats_keep_a_limited_number_of_snapshots():
    engine = pair()
    engine.snapshots.budget = 1 << 40
    held = []
    for first in range(3, 3 + 2 * MAX_BRANCHES):
        reply(engine, tokens((first, *PROMPT), max_tokens=2, reuse=True))
        held.append(engine.snapshots.nbytes)
    assert held[MAX_BRANCHES - 1] > held[0] and set(held[MAX_BRANCHES - 1 :]) == {held[MAX_BRANCHES - 1]}
    latest, oldest = (3 + 2 * MAX_BRANCHES - 1, *PROMPT), (3, *PROMPT)
    assert [reply(engine, tokens(chat, max_tokens=2, reuse=True)).stats.reused_tokens > 1 for chat in (latest, oldest)] == [
        True,
        False,
    ]


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Return a function that switches compiled layers and queued rounds on or off."""

    def begin(whether: bool) -> None:
        monkeypatch.setattr(device, "runs_beside_host", lambda: whether)
        monkeypatch.setattr(target, "runs_beside_host", lambda: whether)

    return begin


@pytest.fixture
def no_collector():
    """Without the garbage collector, reference cycles are never freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("gpu", [False, True])
def test_unloading_frees_the_memory(as_on_a_gpu, no_collector, gpu):
    as_on_a_gpu(gpu)
    before = mx.get_active_memory()
    for name in ("e2e_qwen3", "e2e_gpt_oss", "e2e_qwen3_5"):
        engine = pair(name)
        engine.pair.use_costs(replace(ASSUMED, queued=gpu))
        for count in (1, 2):
            reply(engine, tokens(PROMPT * count, max_tokens=20, reuse=True))
        assert engine.snapshots.nbytes > 0
        engine.unload()
        # mlx-lm keeps a few constants
        assert mx.get_active_memory() - before < 1 << 12
        assert mx.get_cache_memory() == 0


@pytest.mark.parametrize("gpu", [False, True])
def test_a_load_that_runs_out_of_memory_leaves_nothing(as_on_a_gpu, no_collector, monkeypatch, gpu):
    def full(*_):
        raise RuntimeError("[malloc] Unable to allocate 9 bytes")

    as_on_a_gpu(gpu)
    before = mx.get_active_memory()
    monkeypatch.setattr(loaded_pair, "warm", full)
    with pytest.raises(UserError, match="n't enough memory"):
        list(Engine().load(GOLDEN / "e2e_qwen3_5" / "target", GOLDEN / "e2e_qwen3_5" / "drafter"))
    assert mx.get_active_memory() - before < 1 << 12


def test_the_least_recently_used_chat_is_dropped_first_and_spare_buffers_last():
    engine = pair()
    chats = [PROMPT[at:] + PROMPT for at in range(3)]
    for chat in (*chats, chats[0]):  # the first is used again
        reply(engine, tokens(chat, max_tokens=4, reuse=True))
    one = engine.snapshots.nbytes // 3
    assert engine.free_memory(one) >= one
    assert mx.get_cache_memory() == 0
    assert [reply(engine, tokens(chat, max_tokens=4, reuse=True)).stats.reused_tokens > 1 for chat in chats] == [True, False, True]
    engine.free_memory()
    assert engine.snapshots.nbytes == 0


def test_snapshots_stay_within_the_budget():
    engine = pair()
    reply(engine, tokens(PROMPT, max_tokens=4, reuse=True))
    engine.snapshots.budget = 2 * engine.snapshots.nbytes
    for at in range(6):
        reply(engine, tokens(PROMPT[at:], max_tokens=4, reuse=True))
        assert 0 < engine.snapshots.nbytes <= engine.snapshots.budget
    engine.snapshots.budget = engine.snapshots.limit = 1
    reply(engine, tokens(PROMPT, max_tokens=4, reuse=True))
    assert engine.snapshots.nbytes == 0


class Exhausted:
    """A target's forward pass that runs out of memory at given passes."""

    def __init__(self, engine: Engine, patch: pytest.MonkeyPatch, *failing: int) -> None:
        self._failing, self._passes = failing, 0
        before_each_pass(engine.pair.target, patch, self)

    def __call__(self, rows: int) -> None:
        self._passes += 1
        if self._passes in self._failing:
            raise RuntimeError("[malloc] Unable to allocate 123 bytes.")


def test_if_memory_runs_out_during_prefill_snapshots_are_dropped_and_prefill_repeats(monkeypatch):
    engine = pair()
    expected = reply(engine, tokens(PROMPT, max_tokens=12))
    reply(engine, tokens(PROMPT[:5], max_tokens=4, reuse=True))
    Exhausted(engine, monkeypatch, 2)
    got = reply(engine, tokens(PROMPT, max_tokens=12, reuse=True))
    assert got.tokens == expected.tokens
    assert got.stats.reused_tokens == 0


@pytest.mark.parametrize("failing", [(1, 2, 3), (4,)], ids=["permanent", "in mid-reply"])
def test_if_memory_stays_short_the_reply_fails_and_the_engine_is_ready(monkeypatch, failing):
    engine = pair()
    with pytest.MonkeyPatch.context() as patch:
        Exhausted(engine, patch, *failing)
        assert "n't enough memory" in failure(engine, tokens(PROMPT, max_tokens=20, reuse=True))
    assert engine.snapshots.nbytes == 0
    assert len(reply(engine, tokens(PROMPT, max_tokens=5, ignore_eos=True, reuse=True)).tokens) == 5


def test_other_errors_are_not_hidden(monkeypatch):
    engine = pair()
    before_each_pass(engine.pair.target, monkeypatch, lambda rows: (_ for _ in ()).throw(RuntimeError("a defect")))
    with pytest.raises(RuntimeError, match="a defect"):
        events(engine, tokens(PROMPT))
    monkeypatch.undo()
    assert reply(engine, tokens(PROMPT, max_tokens=3)).reason == "length"


def test_continuing_a_chat_copies_nothing_and_branching_copies_once():
    """Arrays are updated in place only while nothing else holds them; checked by memory use."""
    engine = pair()
    prompt = (PROMPT * 300)[:2900]
    answered = reply(engine, tokens(prompt, max_tokens=9, reuse=True, ignore_eos=True)).tokens
    whole = engine.snapshots.nbytes

    def grown(request) -> int:
        mx.clear_cache()
        before = mx.get_active_memory()
        assert reply(engine, request).stats.reused_tokens > 1500
        return mx.get_peak_memory() - before  # the engine resets the peak at each request

    going_on = grown(tokens((*prompt, *answered, 5, 6), max_tokens=20, reuse=True, ignore_eos=True))
    assert going_on < whole / 2  # temporary arrays of attention
    leaving = grown(tokens((*prompt[:1700], 5, 6), max_tokens=20, reuse=True, ignore_eos=True))
    assert engine.snapshots.nbytes > 1.5 * whole  # both are there
    assert leaving < 1.4 * whole


def test_a_long_prompt_injects_only_rows_that_windows_will_see(monkeypatch):
    engine = pair("e2e_qwen3_5")
    drafter, injected = engine.pair.drafter, []
    windows = drafter.config.windows
    inject = drafter.inject
    monkeypatch.setattr(drafter, "inject", lambda *given: (injected.append(given[1].shape[0]), inject(*given)))
    monkeypatch.setattr(prefill, "CHUNK", 16)
    request = tokens(PROMPT * 20, max_tokens=1)
    reply(engine, request)
    assert sum(injected) <= max(windows) + 16 + 1
    drafted = reply(engine, tokens(PROMPT * 20, max_tokens=40, width=8, ignore_eos=True))
    monkeypatch.setattr("mlx_engine.drafters.parts.context.DraftContext.reads", lambda *_: True)
    everything = reply(engine, tokens(PROMPT * 20, max_tokens=40, width=8, ignore_eos=True))
    assert sum(injected) > 220
    assert drafted.tokens == everything.tokens
    assert drafted.stats.accepted_per_round == everything.stats.accepted_per_round


@pytest.mark.parametrize("turns", [12, pytest.param(50, marks=pytest.mark.long)])
def test_memory_stays_flat_within_the_budget_over_many_turns(turns):
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    reply(engine, tokens(PROMPT, max_tokens=8))
    weights = mx.get_active_memory()
    engine.snapshots.budget = 1 << 20
    prompt: list[int] = []
    after = []
    for turn in range(turns):
        if turn % (turns // 6) == 0:
            prompt = [turn + 3]  # another chat
        prompt += PROMPT
        prompt += reply(engine, tokens(prompt, mode="plain" if turn % 4 == 3 else "dflash", max_tokens=40, reuse=True)).tokens
        after.append(mx.get_active_memory() - weights)
        assert after[-1] <= engine.snapshots.budget + (64 << 10)
    assert max(after[turns // 2 :]) <= max(after[: turns // 2]) + (64 << 10)
    assert max(after) > engine.snapshots.budget / 2  # the budget is used


def arithmetic(engine: Engine, rows: int) -> int:
    """Return the bytes of keys and values of `rows` rows in all layers of target and drafter, which all grow here."""
    model, config = engine.pair.target.model.args, engine.pair.drafter.config
    target = model.num_hidden_layers * model.num_key_value_heads * model.head_dim
    return 4 * 2 * rows * (target + config.layers * config.kv_heads * config.head_dim)


@pytest.mark.parametrize(
    ("name", "length"), [("tiny", 2048), pytest.param("demo", 8192, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_a_long_prompt_takes_the_memory_of_its_keys_and_values(name, length, request):
    engine: Engine = request.getfixturevalue(name)
    info, budget = engine.pair.info, engine.snapshots.budget
    try:
        half, whole = (long_prompt(engine, size, 40) for size in (length // 2, length))
    finally:
        engine.pair.info, engine.snapshots.budget = info, budget
        engine.free_memory()
    for row in (half, whole):
        # room is made for 256 rows at a time, in a chunk of 512 and while decoding
        assert arithmetic(engine, row["tokens"]) <= row["held"] <= arithmetic(engine, row["tokens"] + 40 + 512)
        assert row["held"] - row["prefilled"] <= arithmetic(engine, 512)
    # a chunk's scores and growing arrays: proportional to the length, not to its square
    assert whole["peak"] - whole["held"] <= 2.2 * (half["peak"] - half["held"])


def test_no_reply_overtakes_those_that_wait_for_memory(monkeypatch):
    monkeypatch.setattr(memory, "working_set", lambda: 100)
    room = MemoryLedger(lambda tokens: (tokens, 0), lambda: 0, None)
    assert room.take("first", 60, 0) and not room.take("large", 90, 0)
    assert not room.take("small", 10, 0), "it fits, but came later"
    room.release("first")
    assert not room.take("small", 10, 0) and room.take("large", 90, 0) and room.take("small", 10, 0)
