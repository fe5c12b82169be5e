"""A loaded pair runs the kernels selected for it earlier, warmed up, with the costs calibrated for them."""

import weakref
from dataclasses import replace

import pytest

from mlx_engine.calibration import calibration, kernel_selection, saved_calibration
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.machine_events import KernelRows, KernelsSelected, KernelTrial
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.decoding.stream import Stream
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from mlx_engine.kernels.operations import PLAIN
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PAIR = (GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
SHORT, LONG = KernelRows(256, 2, 16), KernelRows(6144, 2, 16)
USED = KernelTrial("block_verify", EngineText.of("kernel_faster", "faster"), (SHORT, LONG))
UNUSED = KernelTrial("kv_injection", EngineText.of("kernel_not_faster", "not faster"))
SELECTED = KernelsSelected((USED, UNUSED), (256, 6144), saved=True)


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """Rows of every block that the kernel selected on this machine is called with."""
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    kernel_selection.save(loaded(*PAIR).pair, SELECTED)
    asked: list[int] = []

    def kernel(*given):
        asked.append(given[0].shape[0])
        return PLAIN.block_verify(*given)

    made = replace(PLAIN, block_verify=kernel)
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    monkeypatch.setattr(kernel_selection, "with_kernels", lambda kernels: made if any(kernels.values()) else PLAIN)
    return asked


def test_selected_kernels_are_warmed_up_before_the_first_reply(chosen):
    engine = loaded(*PAIR)
    assert 1 in chosen and 8 in chosen
    assert engine.pair.operations.kernels == ["block_verify"]


@pytest.mark.parametrize("pays", [False, True])
def test_warming_up_queues_rounds_ahead_if_replies_will(chosen, monkeypatch, pays):
    calibration.save(loaded(*PAIR).pair, replace(ASSUMED, queued=True))
    monkeypatch.setattr(device, "runs_beside_host", lambda: pays)
    propose, seen = Stream.propose, []

    def watched(stream):
        rows = propose(stream)
        seen.extend([rows] if rows and rows.ahead and rows.span else [])
        return rows

    monkeypatch.setattr(Stream, "propose", watched)
    loaded(*PAIR)
    assert len(seen) == pays


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_a_kernel_that_fails_now_is_switched_off_and_the_pair_runs(chosen, monkeypatch, kind):
    def broken(*_):
        raise kind("[metal::Device] Unable to build metal library\nand a page of it")

    monkeypatch.setattr(kernel_selection, "with_kernels", lambda kernels: replace(PLAIN, block_verify=broken))
    engine = loaded(*PAIR)
    assert engine.pair.operations == PLAIN
    first, second = kernel_selection.known(engine.pair).trials
    assert (first.used_at, str(first.why)) == ((), "failed during generation: [metal::Device] Unable to build metal library")
    assert second == UNUSED
    assert reply(engine, tokens((5, 6, 7), max_tokens=4)).reason == "length"


def test_nothing_of_a_failed_pass_is_held_while_the_pair_warms_up_without_kernels(chosen, monkeypatch):
    class Held:
        """Stands for the arrays of the failed pass."""

    alive: list[bool] = []
    failed: list[weakref.ref[Held]] = []

    def warming(*_):
        if failed:
            alive.append(failed[0]() is not None)
            raise ValueError("another failure")
        held = Held()
        failed.append(weakref.ref(held))
        raise RuntimeError("no such pipeline")

    monkeypatch.setattr(kernel_selection, "warm", warming)
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    monkeypatch.setattr(calibration, "known", lambda pair: replace(ASSUMED, queued=True))
    with pytest.raises(ValueError, match="another failure") as caught:
        list(Engine().load(*PAIR))
    assert alive == [False] and caught.value.__context__ is None


def test_long_contexts_run_their_own_kernels(chosen, tmp_path):
    pair = loaded(*PAIR).pair
    kernel_selection.save(pair, replace(SELECTED, trials=(replace(USED, used_at=(LONG,)), UNUSED), switch=20))
    engine, ran = loaded(*PAIR), []
    chosen.clear()
    for prompt in (range(5, 10), range(5, 30), range(5, 10)):
        reply(engine, tokens(tuple(prompt), max_tokens=4, reuse=False))
        ran.append(engine.pair.operations.kernels)
    assert ran == [[], ["block_verify"], []] and chosen


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
    with pytest.raises(Exception, match="n't enough memory"):
        list(Engine().load(*PAIR))
    assert kernel_selection.known(pair) == SELECTED
