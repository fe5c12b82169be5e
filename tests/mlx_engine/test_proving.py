"""A kernel is used only where it is right and quicker in whole replies; else there is a reason, and the pair runs without it."""

import json

import pytest

from mlx_engine import cli, proving
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations
from mlx_engine.proving import Trial


class Machine:
    """Replies whose time is given, by name of the kernel in use; a clock that they move on."""

    def __init__(self, plain: float, **kernels: float | Exception) -> None:
        self.now, self.plain, self.kernels = 0.0, plain, kernels
        self.order: list[str] = []

    def clock(self) -> float:
        return self.now

    def replies(self, operations: Operations) -> tuple[float, tuple[int, ...]]:
        name = next((name for name in KERNELS if getattr(operations, name) != getattr(PLAIN, name)), "")
        self.order.append(name)
        seconds = self.kernels[name] if name else self.plain
        if isinstance(seconds, Exception):
            raise seconds
        self.now += 64 * seconds
        return seconds, (1, 2, 3 + (name == "kv_injection"))

    def trials(self, wrong: dict[str, str] | None = None) -> dict[str, Trial]:
        found = proving.prove(lambda name: (wrong or {}).get(name, ""), self.replies, clock=self.clock)
        return {trial.kernel: trial for trial in found}


def rest(value: float, **others: float | Exception) -> dict[str, float | Exception]:
    return dict.fromkeys(KERNELS, value) | others


def test_the_quicker_kernel_is_used_and_the_slower_is_not():
    found = Machine(0.010, **rest(0.010, kv_injection=0.008, block_verify=0.012)).trials()
    assert found["kv_injection"].used and "20.0 % less time a token" in found["kv_injection"].why
    assert "parts from plain MLX's at token 3" in found["kv_injection"].why
    assert not found["block_verify"].used and "not quicker: 20.0 % more" in found["block_verify"].why
    assert (found["block_verify"].plain_s, found["block_verify"].kernel_s) == (0.010, 0.012)


def test_a_gain_within_noise_is_none():
    assert not Machine(0.010, **rest(0.00995)).trials()["block_verify"].used


def test_both_ways_take_turns_for_five_seconds():
    machine = Machine(0.010, **rest(0.010))
    machine.trials()
    turns = machine.order[: machine.order.index("block_verify")] if "block_verify" in machine.order else machine.order
    plain, kernel = turns.count(""), turns.count("kv_injection")
    assert 0 <= plain - kernel <= 1 and (plain + kernel) * 0.64 > 5.0


def test_what_is_wrong_or_fails_is_off_with_its_reason_and_the_others_are_tried():
    machine = Machine(0.010, **rest(0.005, kv_injection=RuntimeError("no such pipeline\nat line 3")))
    found = machine.trials({"block_verify": "differs by 0.3"})
    assert found["kv_injection"] == Trial("kv_injection", False, "fails in use: no such pipeline")
    assert found["block_verify"] == Trial("block_verify", False, "not right here: differs by 0.3")
    assert "block_verify" not in machine.order


def test_trials_are_kept_for_the_pair_and_what_cannot_be_read_counts_for_nothing(tiny, demo, tmp_path, monkeypatch):
    monkeypatch.setattr(proving, "folder", lambda: tmp_path / "kernels")
    trials = (Trial("kv_injection", True, "quicker", 0.010, 0.008), Trial("block_verify", False, "not quicker"))
    assert proving.known(tiny.pair) == ()
    assert proving.keep(tiny.pair, trials)
    assert proving.known(tiny.pair) == trials
    assert proving.known(demo.pair) == ()
    for nonsense in ("", "{}", "[1]", '[{"kernel": "kv_injection"}]', '[{"kernel": "kv_injection", "used": true, "odd": 1}]'):
        next((tmp_path / "kernels").iterdir()).write_text(nonsense)
        assert proving.known(tiny.pair) == ()
    assert proving.operations(tiny.pair) == PLAIN  # no Metal here


def test_doctor_says_that_there_is_no_metal_here(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["doctor", "--kernels"]) == 0
    printed = capsys.readouterr().out
    for name in KERNELS:
        assert any(line.startswith(name) and "off" in line and "no Metal here" in line for line in printed.splitlines())
    assert cli.main(["doctor", "--kernels", "--json"]) == 0
    assert [kernel["used"] for kernel in json.loads(capsys.readouterr().out)["kernels"]] == [False] * len(KERNELS)
