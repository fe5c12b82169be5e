"""Calibration: its results, cancelling it, and that a saved table is only used for its own pair."""

import json
import os
import threading
from dataclasses import replace

import pytest
from mlx_lm.models.cache import RotatingKVCache

from mlx_engine.calibration import calibration, saved_calibration
from mlx_engine.calibration.pass_timer import PassTimer
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import PairInfo, WorkProgress
from mlx_engine.contract.machine_events import Calibrated
from mlx_engine.contract.requests import Calibrate
from mlx_engine.decoding.costs import ASSUMED, LADDER, CostTable, PassKind
from mlx_engine.decoding.stream import Stream
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from mlx_engine.kernels.operations import PLAIN, with_kernels
from mlx_engine.targets import rotating
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PAIR = (GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
PROMPT = (73, 122, 51, 37, 73, 117, 82, 108)


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_calibration.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache"


def _info() -> PairInfo:
    last = list(Engine().load(*PAIR))[-1]
    assert isinstance(last, PairInfo)
    return last


def test_a_calibration_is_used_at_the_next_start(cache_folder):
    engine = loaded(*PAIR)
    events = list(engine.run(Calibrate()))
    assert isinstance(events[-1], Calibrated) and events[-1].saved
    progress = [event.fraction for event in events[:-1] if isinstance(event, WorkProgress)]
    assert progress == sorted(progress) and progress[0] == 0 and progress[-1] == 1
    found = events[-1]
    assert found.widths == (2, 3, 4, 5, 6, 8, 12, 16, 24, 32)  # beyond the block of 8, replies share passes
    assert all(seconds > 0 for row in (found.plain_s, *found.verify_s, *found.draft_s) for seconds in row)
    table = calibration.known(loaded(*PAIR).pair)
    assert table is not None
    assert replace(table, scatter=0.0) == CostTable(found.depths, found.widths, found.plain_s, found.verify_s, found.draft_s)
    # replies are not affected
    plain = reply(engine, tokens(PROMPT, mode="plain", max_tokens=40)).tokens
    assert reply(engine, tokens(PROMPT, max_tokens=40)).tokens == plain


def test_every_width_is_measured_because_costs_rise_in_steps(cache_folder, monkeypatch):
    """A kernel that reads the weights once per 4 rows costs twice as much from 5 rows on. No interpolation would show that."""
    calls: list[int] = []

    def cost(width: int) -> float:
        calls.append(width)
        return 0.01 * -(-width // 4)

    monkeypatch.setattr(PassTimer, "verify", lambda self, width: cost(width))
    monkeypatch.setattr(PassTimer, "draft", lambda self, width: cost(width) / 5)
    monkeypatch.setattr(PassTimer, "plain", lambda self, width: 0.01)
    engine = loaded(*PAIR)
    depths = len(list(engine.run(Calibrate()))[-1].depths)
    table = engine.pair.history.costs.table
    for width in (width for width in LADDER if 1 < width <= 8):
        expected = 1.2 * 0.01 * -(-width // 4)
        assert [table.seconds(PassKind("drafter", width), depth) for depth in table.depths] == pytest.approx([expected] * depths)
    assert len(calls) == depths * 2 * 10 * 5  # of a draft and a verify of each width, 5 each; more would make calibration long


@pytest.mark.parametrize("pays", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(
    "pair", ["e2e_qwen3_5", "mtp_1", *(pytest.param(name, marks=pytest.mark.long) for name in ("e2e_gpt_oss", "eagle3_2"))]
)
def test_rotating_and_recurrent_targets_and_chains_are_calibrated(cache_folder, monkeypatch, pair, pays):
    monkeypatch.setattr(device, "runs_beside_host", lambda: pays)
    engine = loaded(GOLDEN / pair / "target", GOLDEN / pair / "drafter")
    assert isinstance(list(engine.run(Calibrate()))[-1], Calibrated)


@pytest.mark.parametrize("depth", [10, 3000])
def test_windows_and_their_buffers_are_as_full_as_at_the_measured_depth(cache_folder, monkeypatch, depth):
    reserve, rows = rotating._Window.reserve, []
    monkeypatch.setattr(
        rotating._Window, "reserve", lambda window, *given: (reserve(window, *given), rows.append(window.keys.shape[2]))
    )
    pair = loaded(GOLDEN / "e2e_gpt_oss" / "target", GOLDEN / "e2e_gpt_oss" / "drafter").pair
    bench = PassTimer(pair.target, pair.drafter, depth)
    layers = [layer for layer in bench.caches.layers if type(layer) is RotatingKVCache]
    window, held = layers[0].max_size, min(depth, layers[0].max_size)
    assert 10 < window < 3000
    assert {(layer.keys.shape[2], layer._idx, layer.offset) for layer in layers} == {(held, held, depth)}
    for run in (bench.plain, bench.draft, bench.verify, bench.queued, bench.plain):
        assert run(8) > 0
        assert {bench.caches.length} == {layer.offset for layer in layers} == {bench.context.position}
        assert all(layer.keys.shape[2] <= window + 256 for layer in layers)
    assert rows and max(rows) <= window + 256 + 3 * 8


def test_a_table_measured_on_a_busy_machine_is_used_and_measured_again(cache_folder):
    pair = loaded(*PAIR).pair
    table = CostTable((100,), (2, 8), (1.0,), ((1.0, 2.0),), ((0.5, 0.5),), scatter=1.0)
    assert calibration.save(pair, table) and calibration.known(pair) == table
    assert not _info().calibrated
    calibration.save(pair, replace(table, scatter=0.05))
    assert _info().calibrated


@pytest.mark.parametrize("faster", [True, False])
def test_rounds_are_queued_ahead_only_if_that_was_measured_to_be_faster(cache_folder, monkeypatch, faster):
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    monkeypatch.setattr(PassTimer, "queued", lambda self, width: 0.0 if faster else 1e9)
    engine, seen = loaded(*PAIR), []
    propose = Stream.propose

    def watched(stream):
        rows = propose(stream)
        seen.extend([rows] if rows and rows.ahead and rows.span else [])
        return rows

    monkeypatch.setattr(Stream, "propose", watched)
    before = reply(engine, tokens(PROMPT, max_tokens=40, width=8))
    assert not seen  # nothing was measured yet
    list(engine.run(Calibrate()))
    assert reply(engine, tokens(PROMPT, max_tokens=40, width=8)).tokens == before.tokens
    assert bool(seen) == faster
    assert calibration.known(loaded(*PAIR).pair).queued == faster


def test_timing_queued_rounds_leaves_caches_and_context_at_the_same_position(cache_folder):
    pair = loaded(*PAIR).pair
    bench = PassTimer(pair.target, pair.drafter, 32)
    for _ in range(3):
        assert bench.queued(8) > 0 and bench.draft(8) > 0 and bench.verify(8) > 0
        assert bench.caches.length == bench.context.position


def test_cancelling_while_rounds_are_queued_saves_nothing(cache_folder, monkeypatch):
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    cancel, calls = threading.Event(), []

    def queued(self, width):
        calls.append(width)
        cancel.set()
        return 1.0

    monkeypatch.setattr(PassTimer, "queued", queued)
    events = list(loaded(*PAIR).run(Calibrate(), cancel))
    assert len(calls) == 1 and all(isinstance(event, WorkProgress) for event in events)
    assert not cache_folder.exists()


def test_a_table_belongs_to_the_kernels_in_use(cache_folder):
    pair = loaded(*PAIR).pair
    calibration.save(pair, ASSUMED)
    pair.use(with_kernels(("kv_injection",)))
    assert calibration.known(pair) is None
    other = replace(ASSUMED, plain=(2.0,))
    calibration.save(pair, other)
    assert calibration.known(pair).plain == (2.0,)
    pair.use(PLAIN)
    assert calibration.known(pair).plain == ASSUMED.plain


def test_cancelling_saves_nothing(cache_folder):
    engine, cancel, events = loaded(*PAIR), threading.Event(), []
    for event in engine.run(Calibrate(), cancel):
        events.append(event)
        cancel.set()
    assert all(isinstance(event, WorkProgress) for event in events)
    assert not cache_folder.exists()
    assert reply(engine, tokens(PROMPT, max_tokens=5)).reason == "length"


@pytest.mark.parametrize("broken", ["", "{", "[]", "[" * 100_000, '{"of": 1}', '{"result": {}}'], ids=lambda text: text[:12])
def test_a_damaged_file_is_ignored(cache_folder, broken):
    engine = loaded(*PAIR)
    assert calibration.save(engine.pair, ASSUMED)
    assert calibration.known(engine.pair) == CostTable((0,), (1, 16), (1.0,), ((1.05, 2.4),), ((0.25, 0.45),))
    [file] = cache_folder.rglob("*.json")
    file.write_text(broken)
    assert calibration.known(engine.pair) is None


def test_a_table_that_cannot_be_saved_leaves_no_file(cache_folder, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    engine = loaded(*PAIR)
    monkeypatch.setattr(os, "replace", full)
    assert not calibration.save(engine.pair, ASSUMED)
    assert not [place for place in cache_folder.rglob("*") if place.is_file()]


def test_a_table_of_another_pair_or_with_invalid_values_is_not_used(cache_folder):
    engine = loaded(*PAIR)
    calibration.save(engine.pair, ASSUMED)
    [file] = cache_folder.rglob("*.json")
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "of": {**kept["of"], "mlx": "0.1"}}))
    assert calibration.known(engine.pair) is None
    file.write_text(json.dumps({**kept, "result": {**kept["result"], "plain": [-1.0]}}))
    assert calibration.known(engine.pair) is None


def test_a_read_only_folder_is_not_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(saved_calibration.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "file")
    found = list(loaded(*PAIR).run(Calibrate()))[-1]
    assert isinstance(found, Calibrated) and not found.saved


def test_a_pair_that_cannot_be_calibrated_is_refused(tiny):
    with pytest.raises(UserError, match="No model is loaded"):
        list(Engine().run(Calibrate()))
    with pytest.raises(UserError, match="no drafter"):
        list(loaded(PAIR[0], None).run(Calibrate()))
    running = tiny.generate(tokens(PROMPT, max_tokens=30))
    next(running)
    with pytest.raises(UserError, match="still being generated"):
        list(tiny.run(Calibrate()))
    running.close()
