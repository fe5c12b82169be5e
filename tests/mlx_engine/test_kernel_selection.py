"""A kernel is used only if it is correct and faster in whole replies. Otherwise there is a reason, and the pair runs without it."""

import json
import shutil
import threading
from math import prod
from pathlib import Path

import pytest

from mlx_engine import cli
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import KernelsSelected, KernelTrial
from mlx_engine.kernels.agreement import Agreement
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations
from mlx_engine.requests import SelectKernels
from mlx_engine.tuning import kernel_selection, kernel_trials, saved

TRIALS = (
    KernelTrial("kv_injection", True, EngineText.of("kernel_faster", "{saving:.1%} less time", saving=0.2), 0.010, 0.008),
    KernelTrial("block_verify", False, EngineText.of("kernel_not_called", "not used")),
)


class Machine:
    """Replies with given times, by the names of the kernels in use ("a+b"), and a clock that the replies advance.

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

    def is_tie(self, mode: str, expected: tuple[int, ...], found: tuple[int, ...]) -> bool:
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
        *alone, found = kernel_trials.try_kernels(self, clock=self.clock)
        assert isinstance(found, tuple)
        assert [trial.kernel for trial in alone] == [trial.kernel for trial in found] == list(KERNELS)
        return {trial.kernel: trial for trial in found}

    def used(self) -> set[str]:
        return {name for name, trial in self.trials().items() if trial.used}


def rest(value: float, **others: float | Exception) -> dict[str, float | Exception]:
    return dict.fromkeys(KERNELS, value) | others


def test_the_faster_kernel_is_used_and_the_slower_is_not():
    found = Machine(0.010, **rest(0.010, kv_injection=0.008, block_verify=0.012)).trials()
    assert found["kv_injection"].used and str(found["kv_injection"].why) == "20.0% less time per token"
    assert not found["block_verify"].used and str(found["block_verify"].why) == "not faster: 120.0% of plain MLX's time"
    assert (found["block_verify"].plain_s, found["block_verify"].kernel_s) == (0.010, 0.012)


def test_a_gain_within_noise_does_not_count():
    assert not Machine(0.010, **rest(0.00995)).trials()["block_verify"].used


def test_a_kernel_that_slows_plain_decoding_is_off():
    """Otherwise DFlash would look better next to plain decoding that we made slow ourselves."""
    machine = Machine(0.010, **rest(0.010, verify_matmul=0.005))
    machine.slow["verify_matmul"] = 1.05
    found = machine.trials()["verify_matmul"]
    assert not found.used and str(found.why) == "slows plain decoding: 105.0% of plain MLX's time"


@pytest.mark.parametrize("mode", ["dflash", "plain"])
def test_a_different_text_is_a_near_tie_or_the_kernel_is_off(mode):
    for near in (True, False):
        machine = Machine(0.010, near=near, **rest(0.010, verify_matmul=0.005))
        machine.texts[f"verify_matmul {mode}"] = (1, 2, 4)
        found = machine.trials()["verify_matmul"]
        assert found.used == near and "differs from plain MLX's at token 3" in str(found.why)
        assert found.why.code == ("kernel_faster_near_tie" if near else "kernel_not_exact")


@pytest.mark.parametrize("texts", [{"verify_matmul": (1, 2, 4)}, {"verify_matmul plain": (1, 2)}])
def test_in_float32_only_the_same_text_passes(texts):
    machine = Machine(0.010, exact=True, **rest(0.010, verify_matmul=0.005))
    assert machine.used() == {"verify_matmul"}
    machine.texts = texts
    found = machine.trials()["verify_matmul"]
    assert not found.used and found.why.code == "kernel_not_exact" and "at token 3" in str(found.why)


def test_in_float32_a_kernel_that_sums_differently_in_a_block_than_in_a_plain_step_is_off():
    assert Machine(0.010, exact=True, **rest(0.009)).used() == {"kv_injection", "block_verify", "verify_matmul", "attention_inputs"}
    assert Machine(0.010, **rest(0.009)).used() == set(KERNELS)


def test_kernels_that_won_alone_are_tried_together():
    two = {"kv_injection": 0.008, "block_verify": 0.007}
    both = "kv_injection+block_verify"
    machine = Machine(0.010, **rest(0.010, **two))
    assert machine.used() == set(two) and (both, "plain") in machine.order
    for how in ({both: 0.0075}, {both: 0.011}, {both: RuntimeError("too many buffers")}):
        machine = Machine(0.010, **rest(0.010, **two, **how))
        found = machine.trials()
        assert found["block_verify"].used and not found["kv_injection"].used
        assert str(found["kv_injection"].why).startswith("not used with the other kernels: ")
    machine = Machine(0.010, near=False, **rest(0.010, **two))
    machine.texts[both] = (1, 2, 4)
    found = machine.trials()
    assert found["block_verify"].used and "by more than rounding" in str(found["kv_injection"].why)


def test_both_variants_alternate_for_five_seconds():
    machine = Machine(0.010, **rest(0.010))
    machine.trials()
    end = next(i for i, (name, _) in enumerate(machine.order) if name == "block_verify")
    for mode in ("dflash", "plain"):
        turns = [name for name, each in machine.order[: end - 1] if each == mode]
        plain, kernel = turns.count(""), turns.count("kv_injection")
        assert plain == kernel and (plain + kernel) * 0.64 > 5.0
        assert turns == ["", "kv_injection"] * kernel


def test_a_wrong_or_failing_kernel_is_off_with_its_reason_and_the_others_are_tried():
    machine = Machine(0.010, **rest(0.005, kv_injection=RuntimeError("no such pipeline\nat line 3")))
    machine.seen = {
        "block_verify": Agreement(shapes=2, off=0.3, wrong="off by 0.3"),
        "attention_inputs": RuntimeError("does not compile\nat line 3"),
        "delta_inputs": Agreement(),
    }
    found = machine.trials()
    assert {name: str(found[name].why) for name in (*machine.seen, "kv_injection")} == {
        "block_verify": "wrong results on this machine: off by 0.3",
        "attention_inputs": "fails in use: does not compile",
        "delta_inputs": "this pair does not use it",
        "kv_injection": "fails in use: no such pipeline",
    }
    assert not any(found[name].used or found[name].shapes for name in machine.seen)
    assert (found["kv_injection"].used, found["kv_injection"].off, found["kv_injection"].shapes) == (False, 0.001, 3)
    assert not any(name in each for each, _ in machine.order for name in machine.seen)
    assert found["verify_matmul"].kernel_s == 0.005


def test_trials_of_a_stopped_run_are_not_repeated():
    machine = Machine(0.010, **rest(0.008))
    first = next(kernel_trials.try_kernels(machine, clock=machine.clock))
    machine.order = []
    *_, found = kernel_trials.try_kernels(machine, clock=machine.clock, done=[first])
    assert found[0].kernel == first.kernel and found[0].used
    assert all(name != first.kernel for name, _ in machine.order) and machine.order


def test_a_stop_ends_the_trials():
    with pytest.raises(kernel_trials.Stopped):
        Machine(0.010, **rest(0.010, block_verify=kernel_trials.Stopped())).trials()


def test_running_out_of_memory_is_an_error_and_not_the_kernels_fault():
    with pytest.raises(RuntimeError, match="malloc"):
        Machine(0.010, **rest(0.010, block_verify=RuntimeError("[malloc] Unable to allocate 9 bytes"))).trials()


def test_the_engine_tries_every_kernel_with_its_own_replies(demo, tmp_path, monkeypatch):
    """Without Metal every kernel fails: all are off with saved reasons, and the pair runs as before."""
    monkeypatch.setattr(saved, "folder", lambda kind: tmp_path / kind)
    with pytest.raises(UserError, match="Metal isn't available"):
        list(demo.run(SelectKernels()))
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    monkeypatch.setattr(kernel_trials, "_TRIAL_S", 0.0)
    monkeypatch.setattr(kernel_trials, "_MIN_REPLIES", 1)
    monkeypatch.setattr(kernel_trials, "_TOKENS", 6)
    monkeypatch.setattr(kernel_trials.self_check, "check_kernels", lambda: ())
    cancel = threading.Event()
    found = list(demo.run(SelectKernels(), cancel))[-1]
    assert isinstance(found, KernelsSelected) and found.saved
    assert [trial.kernel for trial in found.trials] == list(KERNELS)
    reasons = {trial.kernel: str(trial.why) for trial in found.trials}
    assert "float32" in reasons["gated_delta_replay"]  # this pair does not call it
    assert "fails in use" in reasons["verify_attention"] and "fails in use" in reasons["verify_matmul"]  # there is no Metal
    assert kernel_selection.known(demo.pair) == found.trials
    assert demo.pair.operations == PLAIN
    events = demo.run(SelectKernels(), cancel)
    next(events)
    cancel.set()
    assert list(events) == [] and demo.pair.operations == PLAIN


def test_a_different_reply_is_a_tie_only_within_rounding(demo):
    replies = kernel_trials.TrialReplies(demo.pair, demo.generate, threading.Event())
    assert replies.exact
    _, tokens = replies.reply(PLAIN, "plain")
    assert replies.is_tie("plain", tokens, tokens)
    assert not replies.is_tie("plain", tokens, (tokens[0] ^ 1, *tokens[1:]))
    assert not replies.is_tie("plain", tokens, tokens[:5])


def test_trials_are_saved_for_the_pair_and_damaged_files_are_ignored(tiny, demo, tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "folder", lambda kind: tmp_path / kind)
    assert kernel_selection.known(tiny.pair) == ()
    assert kernel_selection.save(tiny.pair, TRIALS)
    assert kernel_selection.known(tiny.pair) == TRIALS
    assert kernel_selection.known(demo.pair) == ()
    file = next((tmp_path / "kernels").iterdir())
    good = json.loads(file.read_text())
    for nonsense in (
        "",
        "{}",
        "[1]",
        "[" * 100_000,
        json.dumps({**good, "result": 1}),
        json.dumps({**good, "result": [1]}),
        json.dumps({**good, "result": [{"kernel": "kv_injection"}]}),
        json.dumps({**good, "result": [{"kernel": "kv_injection", "used": True, "why": "faster", "odd": 1}]}),
        json.dumps({**good, "of": {}}),
    ):
        file.write_text(nonsense)
        assert kernel_selection.known(tiny.pair) == ()
    file.write_text(json.dumps(good))
    kernel_selection.restore(tiny.pair)
    assert tiny.pair.operations == PLAIN  # no Metal here


def test_doctor_says_that_there_is_no_metal_here(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["doctor", "--kernels"]) == 0
    printed = capsys.readouterr().out
    for name in KERNELS:
        assert any(line.startswith(name) and "off" in line and "Metal" in line for line in printed.splitlines())
    assert cli.main(["doctor", "--kernels", "--json"]) == 0
    assert [kernel["used"] for kernel in json.loads(capsys.readouterr().out)["kernels"]] == [False] * len(KERNELS)


def test_a_selection_depends_on_every_kernel_source_and_on_the_system(tiny, tmp_path, monkeypatch):
    files = kernel_selection.kernel_files()
    assert {"fragment.metal", "keyed_noise.metal", "operations.py"} <= {path.name for path in files}
    assert {f"{name}.{kind}" for name in KERNELS for kind in ("metal", "py")} <= {path.name for path in files}
    copies = [Path(shutil.copy(path, tmp_path)) for path in files]
    monkeypatch.setattr(kernel_selection, "kernel_files", lambda: copies)
    monkeypatch.setattr(saved, "folder", lambda kind: tmp_path / "saved")
    assert kernel_selection.save(tiny.pair, TRIALS) and kernel_selection.known(tiny.pair) == TRIALS
    for copy in copies:
        text = copy.read_text()
        copy.write_text(text + " ")
        assert kernel_selection.known(tiny.pair) == (), copy.name
        copy.write_text(text)
    assert kernel_selection.known(tiny.pair) == TRIALS
    monkeypatch.setattr(kernel_selection.platform, "release", lambda: "99.0.0")
    assert kernel_selection.known(tiny.pair) == ()
