"""Kernels are used if they are right and save time, as far as paired measurements show. Otherwise there is a reason."""

import json
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path

import mlx.core as mx
import pytest

from mlx_engine.calibration import kernel_selection, kernel_trials, saved_calibration, self_check
from mlx_engine.cli import main
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import CompareResult, TextDifference, WorkProgress
from mlx_engine.contract.machine_events import KernelSaving, KernelsSelected, KernelTrial
from mlx_engine.contract.requests import SelectKernels
from mlx_engine.engine import engine
from mlx_engine.kernels.operations import KERNELS, PLAIN
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.engine.failing_kernels import HANG, VICTIM, FailingKernels, failing

FOUND = KernelsSelected(
    (
        KernelTrial(
            "kv_injection",
            EngineText.of("kernel_faster", "{saving:.1%} less time", saving=0.2),
            (256,),
            (KernelSaving(256, 0.2, 0.01),),
            1e-4,
            3,
        ),
        KernelTrial("block_verify", EngineText.of("kernel_not_called", "not used")),
    ),
    (256,),
    saved=True,
)
DEPTHS, WIDTHS = (256, 6144), (2, 4, 8, 16)
Gain = Callable[[int, int], float]  # share of a round's time that a kernel saves, by width and depth


def always(share: float) -> Gain:
    return lambda width, depth: share


@dataclass
class SimulatedMac(kernel_trials.PairTrials):
    """A cost table: seconds of a round by width, without kernels, and what each kernel saves.

    Each turn is slower or faster as a whole by `drift`, each measurement by `noise`, and one in 100 is disturbed.
    """

    rounds: dict[int, float]
    gains: dict[str, Gain]
    noise: float = 0.004
    drift: float = 0.1
    wrong: dict[str, EngineText] = field(default_factory=dict)
    depths: tuple[int, ...] = DEPTHS
    plain: dict[str, float] = field(default_factory=dict)  # share of a plain step that a kernel costs; empty if it runs none
    fails: Exception | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        self.widths = (*([1] if self.plain else []), *self.rounds)
        self.now, self.calls = 0.0, list[tuple[kernel_trials.Names, int, int]]()
        self.random = random.Random(self.seed)
        self.turn, self.seen = 1.0, set[tuple[kernel_trials.Names, int, int]]()

    def check(self) -> Iterator[KernelTrial]:
        for name in KERNELS:
            reason = kernel_trials._RIGHT if name in self.gains else EngineText.of("kernel_not_called", "not called")
            yield KernelTrial(name, self.wrong.get(name, reason), shapes=int(name in self.gains))

    def seconds(self, names: kernel_trials.Names, width: int, depth: int) -> float:
        if self.fails and len(names) > 1:
            raise self.fails
        call = names, width, depth
        if call in self.seen:
            self.turn, self.seen = self.random.gauss(1.0, self.drift), set()
        self.seen.add(call)
        self.calls.append(call)
        each = (
            self.cost(names, width, depth)
            * max(self.turn, 0.5)
            * self.random.gauss(1.0, self.noise)
            * (1.5 if self.random.random() < 0.01 else 1.0)
        )
        self.now += each
        return each

    def cost(self, names: kernel_trials.Names, width: int, depth: int) -> float:
        if width == 1:
            return 0.02 * prod(1 + self.plain.get(name, 0.0) for name in names)
        return self.rounds[width] * prod(1 - self.gains[name](width, depth) for name in names)

    def select(self, turns: dict | None = None) -> KernelsSelected:
        *progress, found = kernel_trials.try_kernels(self, {} if turns is None else turns, lambda: self.now)
        fractions = [event.fraction for event in progress if isinstance(event, WorkProgress)]
        assert fractions == sorted(fractions) and len(fractions) == len(progress) and fractions[-1] <= 1
        assert isinstance(found, KernelsSelected) and [trial.kernel for trial in found.trials] == list(KERNELS)
        return found

    def used(self) -> dict[int, set[str]]:
        found = self.select()
        return {depth: {trial.kernel for trial in found.trials if depth in trial.used_at} for depth in self.depths}


def m1(**gains: Gain) -> dict[str, Gain]:
    """An M1 or M2: MLX multiplies few rows well, so a matrix kernel for 16 rows loses there and wins at 16."""
    return {
        "verify_matmul": lambda width, depth: 0.25 if width > 8 else -0.2,
        "verify_attention": lambda width, depth: 0.06 if depth > 4000 else -0.01,
        "kv_injection": always(0.02),
        "block_verify": always(0.005),
        **gains,
    }


# Milliseconds of a round by width: the draft, and a verify of so many rows in MLX
M1 = {2: 0.062, 4: 0.066, 8: 0.078, 16: 0.24}
M2 = {2: 0.050, 4: 0.054, 8: 0.063, 16: 0.19}
M4_PRO = {2: 0.025, 4: 0.027, 8: 0.034, 16: 0.062}
M5_MAX = {2: 0.012, 4: 0.0125, 8: 0.014, 16: 0.018}
EVERYTHING_HALF_A_PERCENT = dict.fromkeys(KERNELS, always(0.005))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [M1, M2], ids=["M1", "M2"])
def test_a_kernel_that_wins_only_at_a_width_that_rounds_do_not_use_is_off(rounds: dict[int, float], seed: int) -> None:
    """16 rows cost so much there, even with the kernel, that rounds are narrower. At 16 rows alone it would win by far."""
    used = SimulatedMac(rounds, m1(), seed=seed).used()
    assert used[256] == {"kv_injection", "block_verify"}
    assert used[6144] == {"kv_injection", "block_verify", "verify_attention"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [M4_PRO, M5_MAX], ids=["M4 Pro", "M5 Max"])
def test_a_kernel_that_makes_wide_rounds_worthwhile_is_used(rounds: dict[int, float], seed: int) -> None:
    gains = {
        "verify_matmul": lambda width, depth: 0.4 if width > 8 else 0.0,
        "kv_injection": always(0.02),
        "block_verify": always(-0.02),
    }
    assert SimulatedMac(rounds, gains, seed=seed).used() == {depth: {"verify_matmul", "kv_injection"} for depth in DEPTHS}


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_at_one_row_does_not_turn_a_kernel_off_where_plain_steps_do_not_run_it(seed: int) -> None:
    gains = {"verify_matmul": always(0.15), "block_verify": always(0.01)}
    assert SimulatedMac(M4_PRO, gains, seed=seed).used() == {depth: set(gains) for depth in DEPTHS}
    found = SimulatedMac(M4_PRO, gains, plain={"verify_matmul": 0.2}, seed=seed).select()  # float32
    reasons = {trial.kernel: str(trial.why) for trial in found.trials if not trial.used_at}
    assert reasons.pop("verify_matmul") == "slows down plain decoding"
    assert "block_verify" not in reasons


@pytest.mark.parametrize("seed", range(5))
def test_a_kernel_that_wins_only_in_long_contexts_is_used_there(seed: int) -> None:
    gains = {"verify_attention": lambda width, depth: 0.0015 * (depth - 2000) / 100, "verify_matmul": always(0.1)}
    found = SimulatedMac(M4_PRO, gains, seed=seed).select()
    attention = next(trial for trial in found.trials if trial.kernel == "verify_attention")
    assert attention.used_at == (6144,) and attention.why.code == "kernel_faster_in_long"
    assert abs(found.switch - 2000) < 400
    assert [saving.depth for saving in attention.savings] == list(DEPTHS)
    assert next(trial for trial in found.trials if trial.kernel == "verify_matmul").used_at == DEPTHS


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounds", [M1, M2, M4_PRO, M5_MAX], ids=["M1", "M2", "M4 Pro", "M5 Max"])
def test_savings_of_half_a_percent_are_kept(rounds: dict[int, float], seed: int) -> None:
    """The turns differ by 10%, far more than the kernels, and still agree."""
    found = SimulatedMac(rounds, EVERYTHING_HALF_A_PERCENT, seed=seed).select()
    used = SimulatedMac(rounds, EVERYTHING_HALF_A_PERCENT, seed=seed).used()
    assert all(len(names) >= 6 for names in used.values())
    assert all(abs(saving.share - 0.005) < 4 * saving.error + 0.002 for trial in found.trials for saving in trial.savings)


@pytest.mark.parametrize("seed", range(5))
def test_kernels_that_save_nothing_are_off(seed: int) -> None:
    mac = SimulatedMac(M4_PRO, dict.fromkeys(KERNELS, always(0.0)), seed=seed)
    assert sum(map(len, mac.used().values())) <= 1  # of 14 decisions, at 2.5 standard errors
    mac = SimulatedMac(M4_PRO, dict.fromkeys(KERNELS, always(-0.005)), seed=seed)
    found = mac.select()
    assert not any(trial.used_at for trial in found.trials)
    assert {trial.why.code for trial in found.trials} <= {"kernel_not_faster", "kernel_gain_in_noise"}


@pytest.mark.parametrize("seed", range(5))
def test_a_kernel_counts_by_what_it_adds_to_the_others(seed: int) -> None:
    """Two kernels save the same work. Each would win alone, but next to the better one, the other costs time."""

    class Overlapping(SimulatedMac):
        def cost(self, names: kernel_trials.Names, width: int, depth: int) -> float:
            both = {"verify_attention", "attention_inputs"} <= set(names)
            needed = tuple(name for name in names if not (both and name == "attention_inputs"))
            return super().cost(needed, width, depth) * (1.02 if both else 1.0)

    gains = {"verify_attention": always(0.08), "attention_inputs": always(0.03), "verify_matmul": always(0.1)}
    used = Overlapping(M4_PRO, gains, seed=seed).used()
    assert used == {depth: {"verify_attention", "verify_matmul"} for depth in DEPTHS}


def test_kernels_that_are_wrong_or_not_called_are_not_timed() -> None:
    wrong = {"kv_injection": EngineText.of("kernel_wrong", "wrong results on this machine: {detail}", detail="off by 0.3")}
    mac = SimulatedMac(M4_PRO, m1(kv_injection=always(0.5)), wrong=wrong)
    reasons = {trial.kernel: trial for trial in mac.select().trials}
    assert str(reasons["kv_injection"].why) == "wrong results on this machine: off by 0.3"
    assert reasons["delta_inputs"].why.code == "kernel_not_called"
    assert not any({"kv_injection", "delta_inputs"} & set(names) for names, _, _ in mac.calls)


def test_no_kernel_is_used_if_those_that_are_right_fail_together() -> None:
    found = SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT, fails=RuntimeError("too many buffers\nat line 3")).select()
    assert {str(trial.why) for trial in found.trials} == {"failed during generation: too many buffers"}
    assert not any(trial.used_at for trial in found.trials) and not found.switch
    with pytest.raises(RuntimeError, match="malloc"):  # not the kernels' fault
        SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT, fails=RuntimeError("[malloc] Unable to allocate 9 bytes")).select()


def test_a_stopped_run_continues_with_what_it_has_measured() -> None:
    turns: dict = {}
    first = SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT)
    for event in kernel_trials.try_kernels(first, turns, lambda: first.now):
        if event.step.code == "timing_kernels" and len(turns.get(6144, ())) == 3:
            break
    done = {depth: len(taken) for depth, taken in turns.items()}
    second = SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT)
    second.select(turns)
    assert done[256] >= 12 and not any(depth == 256 and not turns for _, _, depth in second.calls)
    assert len(second.calls) < 0.7 * len(first.calls) + 30 * 8 * 4


def test_a_run_can_be_stopped_after_every_set_of_kernels() -> None:
    mac = SimulatedMac(M1, m1())
    calls, before = [], 0
    for _ in kernel_trials.try_kernels(mac, {}, lambda: mac.now):
        calls.append(len(mac.calls) - before)
        before = len(mac.calls)
    assert max(calls) == len(mac.widths)


def test_a_pairs_kernels_are_checked_and_timed_in_its_own_passes(tiny, monkeypatch) -> None:
    """In the emulator, which shows that the trials run, not which kernels are faster."""
    monkeypatch.setattr(
        kernel_trials, "KERNELS", {name: KERNELS[name] for name in ("kv_injection", "block_verify", "delta_inputs")}
    )
    monkeypatch.setattr(self_check, "check_kernels", lambda build: ())
    trials = kernel_trials.PairTrials(tiny.pair, metal_kernel)
    try:
        assert trials.widths[0] == 1 and trials.widths[-1] == tiny.pair.info.block_size  # float32: plain steps run them too
        checked = {trial.kernel: trial for trial in trials.check()}
        assert str(checked["delta_inputs"].why).startswith(("not used by this pair", "off in float32"))
        assert checked["block_verify"].why is kernel_trials._RIGHT and checked["block_verify"].shapes > 1
        assert all(trials.seconds(("block_verify",), width, trials.depths[0]) > 0 for width in trials.widths)
        assert tiny.pair.operations.kernels == ["block_verify"]
        first = trials._timers[trials.depths[0]]
        for _ in range(45):
            trials.seconds(("block_verify",), trials.widths[-1], trials.depths[0])
            trials.seconds(("block_verify",), 1, trials.depths[0])
        [timer] = trials._timers.values()
        assert timer is not first and timer.position < trials.depths[0] + 300  # passes add tokens, but the depth stays
    finally:
        tiny.pair.use(PLAIN)


def test_a_kernel_that_fails_in_a_pass_does_not_fail_the_next_one(tiny, monkeypatch) -> None:
    monkeypatch.setattr(kernel_trials, "KERNELS", {name: KERNELS[name] for name in ("verify_matmul", "block_verify")})
    monkeypatch.setattr(self_check, "check_kernels", lambda build: ())

    def breaks(*arguments, **options):  # what Metal's compiler refuses fails only when it is evaluated
        return mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu).sum() + KERNELS["verify_matmul"].reference(*arguments)

    monkeypatch.setattr(KERNELS["verify_matmul"], "metal", breaks)
    trials = kernel_trials.PairTrials(tiny.pair, metal_kernel)
    try:
        failed, right = trials.check()
        assert failed.why.code == "kernel_fails" and right.why is kernel_trials._RIGHT
    finally:
        tiny.pair.use(PLAIN)


@pytest.mark.parametrize(("dtype", "rows"), [(mx.float32, 1), (mx.float16, 2), (mx.bfloat16, 2)])
def test_single_rows_are_left_to_mlx_in_half_precision(tiny, dtype, rows) -> None:
    assert kernel_trials.fewest_rows(replace(tiny.pair, dtype=dtype)) == rows


@pytest.fixture
def with_metal(tmp_path, monkeypatch):
    """A machine that seems to have Metal, and trials of which one kernel wins."""
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    monkeypatch.setattr(kernel_selection, "PairTrials", lambda pair: SimulatedMac(M4_PRO, {"kv_injection": always(0.1)}))
    monkeypatch.setattr(
        kernel_selection, "with_kernels", lambda names, fewest_rows: replace(PLAIN, fewest_rows=5) if names else PLAIN
    )
    return tmp_path


def test_the_engine_selects_kernels_and_saves_the_evidence_in_one_readable_file(demo, with_metal) -> None:
    events = list(demo.run(SelectKernels()))
    found = events[-1]
    assert isinstance(found, KernelsSelected) and found.saved and kernel_selection.known(demo.pair) == found
    assert [trial.kernel for trial in found.trials if trial.used_at] == ["kv_injection"]
    assert demo.pair.operations.fewest_rows == 5 and not demo.pair.kernel_turns
    [file] = (with_metal / "kernels").iterdir()
    assert file.name.startswith(demo.pair.info.target.split("/")[-1][:8])
    assert {trial["kernel"] for trial in json.loads(file.read_text())["result"]["trials"]} == set(KERNELS)
    assert list(demo.run(SelectKernels())) == [found]  # known
    again = list(demo.run(SelectKernels(again=True)))
    assert len(again) > 8 and len(list((with_metal / "kernels").iterdir())) == 1
    demo.pair.use(PLAIN)


def test_kernels_with_which_the_texts_differ_are_off(demo, with_metal, monkeypatch) -> None:
    compared = engine.compare

    def differing(*given):
        for event in compared(*given):
            if isinstance(event, CompareResult):
                plain, drafted = event.results
                event = replace(event, results=(plain, replace(drafted, difference=TextDifference(3, tie=True))))
            yield event

    monkeypatch.setattr(engine, "compare", differing)
    found = list(demo.run(SelectKernels()))[-1]  # in float32, a tie is not enough
    assert not any(trial.used_at for trial in found.trials) and found.trials[0].why.code == "kernels_not_exact"
    assert demo.pair.operations == PLAIN and kernel_selection.known(demo.pair) == found


@pytest.mark.parametrize(("message", "used"), [(HANG, []), (VICTIM, ["kv_injection"])])
def test_kernels_that_fail_in_the_compared_replies_are_off(demo, with_metal, monkeypatch, message, used) -> None:
    kernels = FailingKernels("block_verify", message, range(9, 10))
    chosen = kernels.operations
    monkeypatch.setattr(kernel_selection, "with_kernels", lambda names, fewest_rows: chosen if names else PLAIN)
    with failing(kernels):
        found = list(demo.run(SelectKernels()))[-1]
    assert kernels.failed and [trial.kernel for trial in found.trials if trial.used_at] == used
    assert ("took too long" in str(found.trials[0].why)) is not bool(used)
    assert demo.pair.operations.kernels == (chosen.kernels if used else []) and kernel_selection.known(demo.pair) == found
    demo.pair.use(PLAIN)


def test_a_stopped_selection_leaves_the_pair_as_it_was(demo, with_metal) -> None:
    cancel = threading.Event()
    events = demo.run(SelectKernels(), cancel)
    next(events)
    while not demo.pair.kernel_turns:
        next(events)
    cancel.set()
    assert list(events) == [] and demo.pair.operations == PLAIN and kernel_selection.known(demo.pair) is None
    measured = {depth: list(turns) for depth, turns in demo.pair.kernel_turns.items()}
    # stopped again before anything is measured: nothing is forgotten
    events = demo.run(SelectKernels(), cancel)
    next(events)
    events.close()
    assert demo.pair.kernel_turns == measured
    demo.pair.kernel_turns = {}


def test_a_selection_needs_metal(demo) -> None:
    with pytest.raises(UserError, match="Metal isn't available"):
        list(demo.run(SelectKernels()))


def test_evidence_is_saved_for_the_pair_and_damaged_files_are_ignored(tiny, demo, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    assert kernel_selection.known(tiny.pair) is None
    assert kernel_selection.save(tiny.pair, FOUND)
    assert kernel_selection.known(tiny.pair) == FOUND
    assert kernel_selection.known(demo.pair) is None
    file = next((tmp_path / "kernels").iterdir())
    good = json.loads(file.read_text())
    trial = good["result"]["trials"][0]
    for nonsense in (
        "",
        "{}",
        "[1]",
        "[" * 100_000,
        json.dumps({**good, "result": 1}),
        json.dumps({**good, "result": [1]}),
        json.dumps({**good, "result": {**good["result"], "trials": [{"kernel": "kv_injection"}]}}),
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "why": "faster"}]}}),
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "odd": 1}]}}),
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "kernel": "unknown"}]}}),
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "savings": [{"depth": 1}]}]}}),
        json.dumps({**good, "of": {}}),
    ):
        file.write_text(nonsense)
        assert kernel_selection.known(tiny.pair) is None
    file.write_text(json.dumps(good))
    kernel_selection.restore(tiny.pair)
    assert tiny.pair.operations == PLAIN  # no Metal here


def test_doctor_says_that_there_is_no_metal_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["doctor", "--kernels"]) == 0
    printed = capsys.readouterr().out
    for name in KERNELS:
        assert any(line.startswith(name) and "off" in line and "Metal" in line for line in printed.splitlines())
    assert main.main(["doctor", "--kernels", "--json"]) == 0
    assert [kernel["used"] for kernel in json.loads(capsys.readouterr().out)["kernels"]] == [False] * len(KERNELS)


def test_a_selection_depends_on_every_kernel_source_on_mlx_and_on_the_system(tiny, tmp_path, monkeypatch) -> None:
    files = kernel_selection.kernel_files()
    assert {"fragment.metal", "keyed_noise.metal", "operations.py"} <= {path.name for path in files}
    assert {f"{name}.{kind}" for name in KERNELS for kind in ("metal", "py")} <= {path.name for path in files}
    copies = [Path(shutil.copy(path, tmp_path)) for path in files]
    monkeypatch.setattr(kernel_selection, "kernel_files", lambda: copies)
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / "saved")
    assert kernel_selection.save(tiny.pair, FOUND) and kernel_selection.known(tiny.pair) == FOUND
    for copy in copies:
        text = copy.read_text()
        copy.write_text(text + " ")
        assert kernel_selection.known(tiny.pair) is None, copy.name
        copy.write_text(text)
    assert kernel_selection.known(tiny.pair) == FOUND
    with monkeypatch.context() as patch:
        patch.setattr(saved_calibration, "version", lambda name: "99.0.0")
        assert kernel_selection.known(tiny.pair) is None
    monkeypatch.setattr(kernel_selection.platform, "release", lambda: "99.0.0")
    assert kernel_selection.known(tiny.pair) is None
    assert (
        kernel_selection.save(tiny.pair, FOUND) and len(list((tmp_path / "saved").iterdir())) == 1
    )  # the outdated one is replaced
