"""The roofline: what counts for a pass, what is saved of a machine, and that damaged files are ignored."""

import json
import os
import re
import threading
from dataclasses import asdict, replace

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.switch_layers import SwitchLinear

from mlx_engine.calibration import roofline
from mlx_engine.cli.bench import roofline_table
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import MachineFacts, Phase, Roofline
from mlx_engine.contract.requests import MeasureMachine
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import machine
from mlx_engine.targets.weights import Weights
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.tiny_families import FAMILIES, save, save_drafter, text

FACTS = MachineFacts("chip", "CPU", 2, 8 << 30, 6 << 30, 10e9, 1e12, "float32", "wheel", "0.32.4", "2026-11-20")


@pytest.fixture
def kept_in(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(roofline, "_STREAM_BYTES", 1 << 20)
    monkeypatch.setattr(roofline, "_LONG_ENOUGH_S", 0.0)
    monkeypatch.setattr(roofline, "CHUNK", 32)
    return tmp_path / "cache"


@pytest.mark.parametrize("case", ["e2e_qwen3", "e2e_qwen3_5"])
def test_a_measured_pair_gives_the_same_replies(kept_in, case):
    engine = loaded(GOLDEN / case / "target", GOLDEN / case / "drafter")
    before = reply(engine, tokens((73, 122, 51), max_tokens=24, width=8)).tokens
    events = list(engine.run(MeasureMachine()))
    found = events[-1]
    assert isinstance(found, Roofline) and all(isinstance(event, WorkProgress) for event in events[:-1])
    progress = [event.fraction for event in events[:-1] if isinstance(event, WorkProgress)]
    assert progress == sorted(progress) and progress[-1] == 1
    assert [phase.name for phase in found.phases] == ["prefill", "plain", "verify", "draft"]
    assert all(phase.seconds > 0 and phase.bytes > 0 and phase.operations > 0 for phase in found.phases)
    assert machine.load_facts() == found.facts
    assert reply(engine, tokens((73, 122, 51), max_tokens=24, width=8)).tokens == before
    assert "reached" in roofline_table(found)
    # the second time the machine's limits are known; a target alone has two phases
    alone = loaded(GOLDEN / case / "target", None)
    again = list(alone.run(MeasureMachine()))[-1]
    assert again.facts == found.facts and [phase.name for phase in again.phases] == ["prefill", "plain"]


def test_a_cancelled_measurement_has_no_result_and_none_runs_without_a_pair(kept_in):
    with pytest.raises(UserError, match="No model"):
        Engine().run(MeasureMachine())
    cancel = threading.Event()
    cancel.set()
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", None)
    assert all(isinstance(event, WorkProgress) for event in engine.run(MeasureMachine(), cancel))


@pytest.mark.parametrize("change", [{"cores": 99}, {"mlx": "0.1"}, {"bandwidth": 0}, {"compute": float("nan")}, {"bandwidth": "x"}])
def test_facts_of_another_machine_or_invalid_ones_are_ignored(kept_in, change):
    own = replace(FACTS, cores=machine.os.cpu_count(), mlx=machine.version("mlx"))
    assert machine.save_facts(own) and machine.load_facts() == own
    machine.facts_file().write_text(json.dumps(asdict(own) | change))
    assert machine.load_facts() is None


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "{}", '{"name": 1}'], ids=lambda text: text[:12])
def test_damaged_files_are_ignored(kept_in, text):
    machine.facts_file().parent.mkdir(parents=True)
    machine.facts_file().write_text(text)
    assert machine.load_facts() is None


def test_a_full_disk_leaves_no_file(kept_in, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert not machine.save_facts(FACTS) and list(machine.facts_file().parent.iterdir()) == []


def test_the_floor_is_the_longer_of_both_times():
    slow = Phase("plain", 1, 10, seconds=0.5, bytes=int(1e9), operations=int(2e9))
    wide = Phase("prefill", 512, 0, seconds=4.0, bytes=int(1e9), operations=int(1e12))
    found = Roofline(FACTS, (wide, slow))
    assert (found.bound(slow), found.floor_s(slow), found.reached(slow)) == ("memory", 0.1, 0.2)
    assert (found.bound(wide), found.floor_s(wide), found.reached(wide)) == ("compute", 1.0, 0.25)
    assert found.plain_ceiling == 10
    assert Roofline(FACTS, (wide,)).plain_ceiling is None


class _Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.args = {"num_experts_per_tok": 2}
        self.embed_tokens = nn.Embedding(100, 8)
        self.gate = nn.Linear(8, 16, bias=False)
        self.experts = SwitchLinear(8, 4, 16, bias=False)
        self.lm_head = nn.Linear(8, 100, bias=False)


def test_the_bytes_of_a_pass_are_counted_from_the_weights():
    model = _Mixture()
    load = Weights(model)
    dense, expert = 4 * (8 * 16 + 8 * 100), 4 * 8 * 4
    assert load.bytes(1) == dense + 2 * expert  # the embedding is not the head here, and one of its rows does not count
    assert load.bytes(10_000) == dense + 16 * expert
    assert load.operations(3) == 3 * 2 * (8 * 16 + 8 * 100 + 2 * 8 * 4)
    assert load.head_bytes == 4 * 8 * 100
    before = load.operations(1)
    nn.quantize(model, group_size=32, bits=4, class_predicate=lambda name, _: False)
    assert Weights(model).operations(1) == before


@pytest.mark.parametrize("name", FAMILIES)
def test_a_loaded_target_reads_exactly_the_bytes_of_its_file(tmp_path, name):
    """In float32, like the tiny files. Replaced parts are neither counted twice nor left out."""
    folder = save(name, tmp_path / "target")
    engine = Engine()
    list(engine.load(folder, save_drafter(name, tmp_path / "drafter")))
    pair = engine.pair
    file = {path: array.nbytes for path, array in mx.load(str(folder / "model.safetensors")).items()}
    tied = not any("lm_head" in path for path in file)
    tables = sum(
        size for path, size in file.items() if re.search("embed(_tokens|dings)", path) and (not tied or "per_layer" in path)
    )
    experts = sum(size for path, size in file.items() if "switch_" in path or ".experts." in path)
    config = text(name)
    among = next((config[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if config.get(key)), 1)
    chosen = next((config[key] for key in ("num_experts_per_tok", "top_k_experts") if config.get(key)), 1)
    read = sum(file.values()) - tables
    assert pair.weights.held == sum(file.values())
    assert pair.weights.bytes(10**6) == read
    assert pair.weights.bytes(1) == read - experts + (round(experts * chosen / among) if experts else 0)
    assert pair.held == sum(file.values()) + sum(array.nbytes for array in pair.drafter.parameters())
    engine.unload()


def test_a_quantized_layer_reads_less_and_computes_the_same():
    linear = nn.Linear(64, 64, bias=False)
    plain = Weights(linear)
    packed = Weights(nn.QuantizedLinear.from_linear(linear, group_size=64, bits=4))
    assert packed.operations(5) == plain.operations(5) == 5 * 2 * 64 * 64
    assert packed.bytes(1) == 64 * 64 // 2 + 2 * 64 * mx.float32.size


def test_a_tied_table_is_the_head():
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed_tokens = nn.Embedding(100, 8)

    load = Weights(Tied())
    assert load.bytes(1) == load.head_bytes == 4 * 800
