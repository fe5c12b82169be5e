"""A loaded pair runs the kernels selected for it earlier, warmed up, with the costs calibrated for them."""

from dataclasses import replace

import pytest

from mlx_engine import device
from mlx_engine.decoding import queued_rounds
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.engine import Engine
from mlx_engine.errors import EngineText
from mlx_engine.events import KernelTrial
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.tuning import calibration, kernel_selection, saved
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PAIR = (GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
SELECTED = (
    KernelTrial("block_verify", True, EngineText.of("kernel_faster", "faster"), 0.010, 0.008),
    KernelTrial("kv_injection", False, EngineText.of("kernel_not_faster", "not faster")),
)


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """Rows of every block that the kernel selected on this machine is called with."""
    monkeypatch.setattr(saved, "folder", lambda kind: tmp_path / kind)
    kernel_selection.save(loaded(*PAIR).pair, SELECTED)
    asked: list[int] = []

    def kernel(*given):
        asked.append(given[0].shape[0])
        return PLAIN.block_verify(*given)

    made = replace(PLAIN, block_verify=kernel)
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    monkeypatch.setattr(kernel_selection, "with_kernels", lambda names: made)
    return asked


def test_selected_kernels_are_warmed_up_before_the_first_reply(chosen):
    engine = loaded(*PAIR)
    assert 1 in chosen and 8 in chosen
    assert engine.pair.operations.kernels == ["block_verify"]


@pytest.mark.parametrize("pays", [False, True])
def test_warming_up_queues_rounds_ahead_if_replies_will(chosen, monkeypatch, pays):
    calibration.save(loaded(*PAIR).pair, replace(ASSUMED, queued=True))
    monkeypatch.setattr(device, "runs_beside_host", lambda: pays)
    put, seen = queued_rounds.RoundQueue.put, []

    def watched(queue, *given, after=None):
        seen.extend([after] if after else [])
        return put(queue, *given, after=after)

    monkeypatch.setattr(queued_rounds.RoundQueue, "put", watched)
    loaded(*PAIR)
    assert len(seen) == pays


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_a_kernel_that_fails_now_is_switched_off_and_the_pair_runs(chosen, monkeypatch, kind):
    def broken(*_):
        raise kind("[metal::Device] Unable to build metal library\nand a page of it")

    monkeypatch.setattr(kernel_selection, "with_kernels", lambda names: replace(PLAIN, block_verify=broken))
    engine = loaded(*PAIR)
    assert engine.pair.operations == PLAIN
    first, second = kernel_selection.known(engine.pair)
    assert (first.used, str(first.why)) == (False, "fails in use: [metal::Device] Unable to build metal library")
    assert second == SELECTED[1]
    assert reply(engine, tokens((5, 6, 7), max_tokens=4)).reason == "length"


def test_a_failure_without_kernels_is_not_blamed_on_them(chosen, monkeypatch):
    def broken(*_):
        raise ValueError("whatever it is")

    pair = loaded(*PAIR).pair
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    monkeypatch.setattr(calibration, "known", lambda pair: replace(ASSUMED, queued=True))
    monkeypatch.setattr(kernel_selection, "warm", broken)
    with pytest.raises(ValueError, match="whatever"):
        list(Engine().load(*PAIR))
    assert kernel_selection.known(pair) == SELECTED


def test_running_out_of_memory_is_not_blamed_on_kernels(chosen, monkeypatch):
    def full(*_):
        raise RuntimeError("[malloc_or_wait] Unable to allocate 9 bytes")

    pair = loaded(*PAIR).pair
    monkeypatch.setattr(kernel_selection, "warm", full)
    with pytest.raises(Exception, match="not enough memory"):
        list(Engine().load(*PAIR))
    assert kernel_selection.known(pair) == SELECTED
