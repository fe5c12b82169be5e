"""What a pair runs once it is loaded: the kernels that were proved for it, warmed up, and what passes cost with those."""

from dataclasses import replace

import pytest

from mlx_engine.decoding import queued_rounds
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.engine import Engine
from mlx_engine.events import KernelTrial
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.tuning import calibration, kernel_trials, readiness
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PAIR = (GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
PROVED = (KernelTrial("block_verify", True, "quicker", 0.010, 0.008), KernelTrial("kv_injection", False, "not quicker"))


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A machine on which one kernel was proved; what it is asked to choose."""
    monkeypatch.setattr(calibration, "folder", lambda: tmp_path / "calibration")
    monkeypatch.setattr(kernel_trials, "folder", lambda: tmp_path / "kernels")
    kernel_trials.keep(loaded(*PAIR).pair, PROVED)
    asked: list[int] = []

    def kernel(*given):
        asked.append(given[0].shape[0])
        return PLAIN.block_verify(*given)

    made = replace(PLAIN, block_verify=kernel)
    monkeypatch.setattr(kernel_trials, "operations", lambda pair: made)
    return asked


def test_what_was_proved_is_warmed_up_before_the_first_reply(chosen):
    engine = loaded(*PAIR)
    assert 1 in chosen and 8 in chosen
    assert engine.pair.operations.kernels == ["block_verify"]


@pytest.mark.parametrize("pays", [False, True])
def test_rounds_are_queued_ahead_while_warming_if_they_will_be(chosen, monkeypatch, pays):
    calibration.keep(loaded(*PAIR).pair, replace(ASSUMED, queued=True))
    monkeypatch.setattr(queued_rounds, "pays", lambda: pays)
    put_after, seen = queued_rounds.Queue.put_after, []
    monkeypatch.setattr(queued_rounds.Queue, "put_after", lambda *given: seen.append(given) or put_after(*given))
    loaded(*PAIR)
    assert len(seen) == pays


@pytest.mark.parametrize("kind", [RuntimeError, ValueError])
def test_a_kernel_that_fails_now_is_off_with_its_reason_and_the_pair_runs(chosen, monkeypatch, kind):
    def broken(*_):
        raise kind("[metal::Device] Unable to build metal library\nand a page of it")

    monkeypatch.setattr(kernel_trials, "operations", lambda pair: replace(PLAIN, block_verify=broken))
    engine = loaded(*PAIR)
    assert engine.pair.operations == PLAIN
    first, second = kernel_trials.known(engine.pair)
    assert (first.used, first.why) == (False, "fails in use: [metal::Device] Unable to build metal library")
    assert second == PROVED[1]
    assert reply(engine, tokens((5, 6, 7), max_tokens=4)).reason == "length"


def test_a_failure_that_is_there_without_kernels_too_is_none_of_theirs(chosen, monkeypatch):
    def broken(*_):
        raise ValueError("whatever it is")

    pair = loaded(*PAIR).pair
    monkeypatch.setattr(queued_rounds, "pays", lambda: True)
    monkeypatch.setattr(calibration, "known", lambda pair: replace(ASSUMED, queued=True))
    monkeypatch.setattr(readiness, "warm", broken)
    with pytest.raises(ValueError, match="whatever"):
        list(Engine().load(*PAIR))
    assert kernel_trials.known(pair) == PROVED


def test_memory_that_runs_out_is_no_fault_of_the_kernels(chosen, monkeypatch):
    def full(*_):
        raise RuntimeError("[malloc_or_wait] Unable to allocate 9 bytes")

    pair = loaded(*PAIR).pair
    monkeypatch.setattr(readiness, "warm", full)
    with pytest.raises(Exception, match="not enough memory"):
        list(Engine().load(*PAIR))
    assert kernel_trials.known(pair) == PROVED
