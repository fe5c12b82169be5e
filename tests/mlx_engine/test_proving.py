"""A kernel is used only where it is right and quicker in whole replies; else there is a reason, and the pair runs without it."""

import json
import shutil
import threading
from math import prod
from pathlib import Path

import pytest

from mlx_engine import cli
from mlx_engine.errors import UserError
from mlx_engine.events import KernelsSelected, KernelTrial
from mlx_engine.kernels.agreement import Agreement
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations
from mlx_engine.tuning import kernel_trials, trial_bench


class Machine:
    """Replies whose time is given, by names of the kernels in use ("a+b"); a clock that they move on.

    `texts` are by the same names, or by names and mode ("a plain"); `slow` is how much longer plain decoding takes.
    """

    def __init__(self, plain: float, exact: bool = False, near: bool = True, **kernels: float | Exception) -> None:
        self.now, self.plain, self.kernels = 0.0, plain, kernels
        self.exact, self.near = exact, near
        self.seen: dict[str, Agreement | Exception] = {}
        self.texts: dict[str, tuple[int, ...]] = {}
        self.slow: dict[str, float] = {}
        self.order: list[tuple[str, str]] = []

    def clock(self) -> float:
        return self.now

    def agreement(self, name: str) -> Agreement:
        found = self.seen.get(name, Agreement(shapes=3, off=0.001))
        if isinstance(found, Exception):
            raise found
        return found

    def tie(self, mode: str, wanted: tuple[int, ...], found: tuple[int, ...]) -> bool:
        return self.near

    def reply(self, operations: Operations, mode: str) -> tuple[float, tuple[int, ...]]:
        names = [name for name in KERNELS if getattr(operations, name) != getattr(PLAIN, name)]
        name = "+".join(names)
        self.order.append((name, mode))
        if name in self.kernels or not names:
            seconds = self.kernels[name] if names else self.plain
        else:  # each takes its share of what the others leave
            seconds = self.plain * prod(each / self.plain for n in names if isinstance(each := self.kernels[n], float))
        if isinstance(seconds, Exception):
            raise seconds
        seconds = self.plain * self.slow.get(name, 1.0) if mode == "plain" else seconds
        self.now += 64 * seconds
        return seconds, self.texts.get(f"{name} {mode}", self.texts.get(name, (1, 2, 3)))

    def trials(self) -> dict[str, KernelTrial]:
        *alone, found = kernel_trials.prove(self, clock=self.clock)
        assert isinstance(found, tuple)
        assert [trial.kernel for trial in alone] == [trial.kernel for trial in found] == list(KERNELS)
        return {trial.kernel: trial for trial in found}

    def used(self) -> set[str]:
        return {name for name, trial in self.trials().items() if trial.used}


def rest(value: float, **others: float | Exception) -> dict[str, float | Exception]:
    return dict.fromkeys(KERNELS, value) | others


def test_the_quicker_kernel_is_used_and_the_slower_is_not():
    found = Machine(0.010, **rest(0.010, kv_injection=0.008, block_verify=0.012)).trials()
    assert found["kv_injection"].used and "20.0 % less time a token" in found["kv_injection"].why
    assert not found["block_verify"].used and "not quicker: 20.0 % more" in found["block_verify"].why
    assert (found["block_verify"].plain_s, found["block_verify"].kernel_s) == (0.010, 0.012)


def test_a_gain_within_noise_is_none():
    assert not Machine(0.010, **rest(0.00995)).trials()["block_verify"].used


def test_a_kernel_that_slows_plain_decoding_is_off():
    """Else DFlash would look better beside plain decoding that we made slow ourselves."""
    machine = Machine(0.010, **rest(0.010, verify_matmul=0.005))
    machine.slow["verify_matmul"] = 1.05
    found = machine.trials()["verify_matmul"]
    assert not found.used and found.why == "slows plain decoding: 5.0 % more time a token"


@pytest.mark.parametrize("mode", ["dflash", "plain"])
def test_another_text_is_a_near_tie_or_the_kernel_is_off(mode):
    for near in (True, False):
        machine = Machine(0.010, near=near, **rest(0.010, verify_matmul=0.005))
        machine.texts[f"verify_matmul {mode}"] = (1, 2, 4)
        found = machine.trials()["verify_matmul"]
        assert found.used == near and "parts from plain MLX's at token 3" in found.why
        assert ("a near tie" in found.why) == near and ("by more than rounding" in found.why) != near


@pytest.mark.parametrize("texts", [{"verify_matmul": (1, 2, 4)}, {"verify_matmul plain": (1, 2)}])
def test_in_float32_no_other_text_will_do(texts):
    machine = Machine(0.010, exact=True, **rest(0.010, verify_matmul=0.005))
    assert machine.used() == {"verify_matmul"}
    machine.texts = texts
    found = machine.trials()["verify_matmul"]
    assert not found.used and found.why.startswith("not exact: ") and "at token 3, in float32" in found.why


def test_in_float32_what_sums_otherwise_in_a_block_than_in_a_plain_step_is_off():
    assert Machine(0.010, exact=True, **rest(0.009)).used() == {"kv_injection", "block_verify", "verify_matmul", "attention_inputs"}
    assert Machine(0.010, **rest(0.009)).used() == set(KERNELS)


def test_what_won_alone_is_tried_together():
    two = {"kv_injection": 0.008, "block_verify": 0.007}
    both = "kv_injection+block_verify"
    machine = Machine(0.010, **rest(0.010, **two))
    assert machine.used() == set(two) and (both, "plain") in machine.order
    for how in ({both: 0.0075}, {both: 0.011}, {both: RuntimeError("too many buffers")}):
        machine = Machine(0.010, **rest(0.010, **two, **how))
        found = machine.trials()
        assert found["block_verify"].used and not found["kv_injection"].used
        assert found["kv_injection"].why.startswith("not with the others: ")
    machine = Machine(0.010, near=False, **rest(0.010, **two))
    machine.texts[both] = (1, 2, 4)
    found = machine.trials()
    assert found["block_verify"].used and "by more than rounding" in found["kv_injection"].why


def test_both_ways_take_turns_for_five_seconds():
    machine = Machine(0.010, **rest(0.010))
    machine.trials()
    end = next(i for i, (name, _) in enumerate(machine.order) if name == "block_verify")
    for mode in ("dflash", "plain"):
        turns = [name for name, each in machine.order[: end - 1] if each == mode]
        plain, kernel = turns.count(""), turns.count("kv_injection")
        assert plain == kernel and (plain + kernel) * 0.64 > 5.0
        assert turns == ["", "kv_injection"] * kernel


def test_what_is_wrong_or_fails_is_off_with_its_reason_and_the_others_are_tried():
    machine = Machine(0.010, **rest(0.005, kv_injection=RuntimeError("no such pipeline\nat line 3")))
    machine.seen = {
        "block_verify": Agreement(shapes=2, off=0.3, wrong="off by 0.3"),
        "attention_inputs": RuntimeError("does not compile\nat line 3"),
        "delta_inputs": Agreement(),
    }
    found = machine.trials()
    assert found["kv_injection"] == KernelTrial("kv_injection", False, "fails in use: no such pipeline", off=0.001, shapes=3)
    assert found["block_verify"] == KernelTrial("block_verify", False, "not right here: off by 0.3")
    assert found["attention_inputs"] == KernelTrial("attention_inputs", False, "fails in use: does not compile")
    assert found["delta_inputs"] == KernelTrial("delta_inputs", False, "not called: this pair has nothing for it to do")
    assert not any(name in each for each, _ in machine.order for name in machine.seen)
    assert found["verify_matmul"].kernel_s == 0.005


def test_trials_of_a_stopped_run_are_not_made_again():
    machine = Machine(0.010, **rest(0.008))
    first = next(kernel_trials.prove(machine, clock=machine.clock))
    machine.order = []
    *_, found = kernel_trials.prove(machine, clock=machine.clock, done=[first])
    assert found[0].kernel == first.kernel and found[0].used
    assert all(name != first.kernel for name, _ in machine.order) and machine.order


def test_whoever_wants_the_engine_ends_the_trials():
    with pytest.raises(kernel_trials.Stopped):
        Machine(0.010, **rest(0.010, block_verify=kernel_trials.Stopped())).trials()


def test_memory_that_runs_out_is_told_and_no_fault_of_a_kernel():
    with pytest.raises(RuntimeError, match="malloc"):
        Machine(0.010, **rest(0.010, block_verify=RuntimeError("[malloc] Unable to allocate 9 bytes"))).trials()


def test_the_engine_tries_every_kernel_with_its_own_replies(demo, tmp_path, monkeypatch):
    """Where none can be called: all are off with their reasons, which are kept, and the pair runs as before."""
    monkeypatch.setattr(kernel_trials, "folder", lambda: tmp_path / "kernels")
    with pytest.raises(UserError, match="no Metal"):
        list(demo.prove())
    monkeypatch.setattr(kernel_trials, "possible", lambda: True)
    monkeypatch.setattr(kernel_trials, "_ENOUGH_S", 0.0)
    monkeypatch.setattr(kernel_trials, "_TIMES", 1)
    monkeypatch.setattr(trial_bench, "_TOKENS", 6)
    monkeypatch.setattr(trial_bench.self_check, "check_kernels", lambda: ())
    cancel = threading.Event()
    found = list(demo.prove(cancel))[-1]
    assert isinstance(found, KernelsSelected) and found.kept
    assert [trial.kernel for trial in found.trials] == list(KERNELS)
    reasons = {trial.kernel: trial.why for trial in found.trials}
    assert "float32" in reasons["gated_delta_replay"]  # which this pair does not call
    assert "fails in use" in reasons["verify_attention"] and "fails in use" in reasons["verify_matmul"]  # no Metal to call it with
    assert kernel_trials.known(demo.pair) == found.trials
    assert demo.pair.operations == PLAIN
    events = demo.prove(cancel)
    next(events)
    cancel.set()
    assert list(events) == [] and demo.pair.operations == PLAIN


def test_a_pair_says_a_reply_that_parts_is_a_tie_only_within_rounding(demo):
    bench = trial_bench.Bench(demo.pair, demo.generate, threading.Event())
    assert bench.exact
    _, said = bench.reply(PLAIN, "plain")
    assert bench.tie("plain", said, said)
    assert not bench.tie("plain", said, (said[0] ^ 1, *said[1:]))
    assert not bench.tie("plain", said, said[:5])


def test_trials_are_kept_for_the_pair_and_what_cannot_be_read_counts_for_nothing(tiny, demo, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_trials, "folder", lambda: tmp_path / "kernels")
    trials = (KernelTrial("kv_injection", True, "quicker", 0.010, 0.008), KernelTrial("block_verify", False, "not quicker"))
    assert kernel_trials.known(tiny.pair) == ()
    assert kernel_trials.keep(tiny.pair, trials)
    assert kernel_trials.known(tiny.pair) == trials
    assert kernel_trials.known(demo.pair) == ()
    for nonsense in (
        "",
        "{}",
        "[1]",
        "[" * 100_000,
        '[{"kernel": "kv_injection"}]',
        '[{"kernel": "kv_injection", "used": true, "odd": 1}]',
    ):
        next((tmp_path / "kernels").iterdir()).write_text(nonsense)
        assert kernel_trials.known(tiny.pair) == ()
    assert kernel_trials.operations(tiny.pair) == PLAIN  # no Metal here


def test_doctor_says_that_there_is_no_metal_here(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["doctor", "--kernels"]) == 0
    printed = capsys.readouterr().out
    for name in KERNELS:
        assert any(line.startswith(name) and "off" in line and "no Metal here" in line for line in printed.splitlines())
    assert cli.main(["doctor", "--kernels", "--json"]) == 0
    assert [kernel["used"] for kernel in json.loads(capsys.readouterr().out)["kernels"]] == [False] * len(KERNELS)


def test_a_proof_is_of_every_file_that_a_kernel_is_made_of_and_of_the_system(tiny, tmp_path, monkeypatch):
    files = kernel_trials.kernel_files()
    assert {"fragment.metal", "keyed_noise.metal", "operations.py"} <= {path.name for path in files}
    assert {f"{name}.{kind}" for name in KERNELS for kind in ("metal", "py")} <= {path.name for path in files}
    copies = [Path(shutil.copy(path, tmp_path)) for path in files]
    monkeypatch.setattr(kernel_trials, "kernel_files", lambda: copies)
    trials = (KernelTrial("kv_injection", True, "quicker", 0.010, 0.008),)
    monkeypatch.setattr(kernel_trials, "folder", lambda: tmp_path / "kept")
    assert kernel_trials.keep(tiny.pair, trials) and kernel_trials.known(tiny.pair) == trials
    for copy in copies:
        text = copy.read_text()
        copy.write_text(text + " ")
        assert kernel_trials.known(tiny.pair) == (), copy.name
        copy.write_text(text)
    assert kernel_trials.known(tiny.pair) == trials
    monkeypatch.setattr(kernel_trials.platform, "release", lambda: "99.0.0")
    assert kernel_trials.known(tiny.pair) == ()
