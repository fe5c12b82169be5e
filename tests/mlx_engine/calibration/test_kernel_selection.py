"""Selecting a pair's kernels: they are checked and timed in its passes, their texts agree, and the evidence is saved."""

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.calibration import kernel_selection, kernel_trials, saved_calibration, self_check
from mlx_engine.cli import main
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import CompareResult, ContestantResult, Failed, PairInfo, TextDifference
from mlx_engine.contract.machine_events import KernelRows, KernelSaving, KernelsSelected, KernelTrial
from mlx_engine.contract.requests import BOTH_MODES, SelectKernels
from mlx_engine.decoding.costs import COPY_WIDTHS, LADDER
from mlx_engine.engine import engine
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from mlx_engine.kernels.operations import KERNELS, PLAIN, SEVERAL_ROWS
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.calibration.simulated_mac import WIDTHS, SimulatedMac
from tests.mlx_engine.engine.failing_kernels import HANG, VICTIM, FailingKernels, failing
from tests.mlx_engine.scripted_engine import stats

FOUND = KernelsSelected(
    (
        KernelTrial(
            "kv_injection",
            EngineText.of("kernel_faster", "{saving:.1%} less time", saving=0.2),
            (KernelRows(256, 9, 16),),
            (KernelSaving(KernelRows(256, 9, 16), 0.2, 0.01),),
            1e-4,
            3,
        ),
        KernelTrial("block_verify", EngineText.of("kernel_not_called", "not used")),
    ),
    (256,),
    saved=True,
)
RUNS = (replace(stats("dflash"), widths=COPY_WIDTHS),)
IDENTICAL = CompareResult(tuple(ContestantResult(contestant, runs=RUNS) for contestant in BOTH_MODES))


def _nothing_wrong(name: str, build: Any) -> Iterator[None]:
    """The check with made-up cases, which takes long in the emulator."""
    yield
    return ""


def test_a_pairs_kernels_are_checked_and_timed_in_its_own_passes(tiny, monkeypatch) -> None:
    """In the emulator, which shows that the trials run, not which kernels are faster."""
    monkeypatch.setattr(
        kernel_trials, "KERNELS", {name: KERNELS[name] for name in ("kv_injection", "block_verify", "delta_inputs")}
    )
    monkeypatch.setattr(self_check, "difference", _nothing_wrong)
    monkeypatch.setattr(kernel_trials, "_DRIFT", 40)
    trials = kernel_trials.PairTrials(tiny.pair, metal_kernel)
    plan = (("block_verify",),)
    try:
        # float32: plain steps run them too, and all widths run the same
        assert trials.widths[0] == 1 and trials.widths[-1] == 32 and len(trials.bands) == 1
        checks: dict[tuple[str, int], kernel_trials.PassCheck] = {}
        assert len(list(trials.check(checks))) >= 3 * len(trials.widths)  # each pass compiles kernels
        excluded = {str(why)[:16] for why in trials.excluded("delta_inputs", checks).values()}
        assert excluded <= {"not used by this", "off in float32: "}
        assert not trials.excluded("block_verify", checks) and checks["block_verify", trials.widths[-1]].shapes
        assert all(trials.seconds(plan, width, trials.depths[0]) > 0 for width in trials.widths)
        assert tiny.pair.operations.kernels == ["block_verify"]
        first = trials._timers[trials.depths[0]]
        for _ in range(8):
            trials.seconds(plan, trials.widths[-1], trials.depths[0])
            trials.seconds(plan, 1, trials.depths[0])
        [timer] = trials._timers.values()
        assert timer is not first and timer.position < trials.depths[0] + 50  # passes add tokens, but the depth stays
    finally:
        tiny.pair.use(PLAIN)


def test_a_kernel_that_fails_in_a_pass_does_not_fail_the_next_one(tiny, monkeypatch) -> None:
    monkeypatch.setattr(kernel_trials, "KERNELS", {name: KERNELS[name] for name in ("verify_matmul", "block_verify")})
    monkeypatch.setattr(self_check, "difference", _nothing_wrong)

    def breaks(*arguments, **options):  # what Metal's compiler refuses fails only when it is evaluated
        return mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu).sum() + KERNELS["verify_matmul"].reference(*arguments)

    monkeypatch.setattr(KERNELS["verify_matmul"], "metal", breaks)
    trials, checks = kernel_trials.PairTrials(tiny.pair, metal_kernel), dict[tuple[str, int], kernel_trials.PassCheck]()
    try:
        list(trials.check(checks))
        assert {why.code for why in trials.excluded("verify_matmul", checks).values()} == {"kernel_fails"}
        assert not trials.excluded("block_verify", checks)
    finally:
        tiny.pair.use(PLAIN)


def test_a_kernel_is_excluded_at_the_widths_at_which_it_is_wrong(tiny, monkeypatch) -> None:
    monkeypatch.setattr(kernel_trials, "KERNELS", {"verify_matmul": KERNELS["verify_matmul"]})
    monkeypatch.setattr(self_check, "difference", _nothing_wrong)

    def half_right(x, *arguments, **options):
        return KERNELS["verify_matmul"].reference(x, *arguments) * (1.5 if x.shape[0] > 4 else 1)

    monkeypatch.setattr(KERNELS["verify_matmul"], "metal", half_right)
    trials = kernel_trials.PairTrials(replace(tiny.pair, dtype=mx.bfloat16), metal_kernel)
    checks = dict[tuple[str, int], kernel_trials.PassCheck]()
    try:
        list(trials.check(checks))
        excluded = trials.excluded("verify_matmul", checks)
        assert excluded.keys() == {width for width in trials.widths if width > 4} != set(trials.widths)
        assert {why.code for why in excluded.values()} == {"kernel_wrong"}
    finally:
        tiny.pair.use(PLAIN)


@pytest.mark.parametrize("name", KERNELS)
def test_the_check_with_made_up_cases_can_be_stopped_after_every_kernel_that_it_compiles(name, monkeypatch) -> None:
    calls: list[int] = []
    reference = KERNELS[name].reference
    monkeypatch.setattr(KERNELS[name], "metal", lambda *given, build: calls.append(1) or reference(*given))
    for done, _ in enumerate(self_check.difference(name, None), 1):
        assert len(calls) == done
    assert len(calls) > 1


@pytest.mark.parametrize("dtype", [mx.float16, mx.bfloat16])
def test_in_half_precision_every_width_of_the_ladder_is_decided_and_single_rows_are_left_to_mlx(tiny, dtype) -> None:
    trials = kernel_trials.PairTrials(replace(tiny.pair, dtype=dtype), metal_kernel)
    block = tiny.pair.info.block_size
    assert trials.bands == tuple((width,) for width in (*(width for width in LADDER if 1 < width <= block), 12, 16, 24, 32))
    used = kernel_trials.rows_by_kernel(trials.bands, (("verify_matmul",),) * len(trials.bands))
    assert used["verify_matmul"] == SEVERAL_ROWS and not used["verify_attention"]


@pytest.fixture
def with_metal(tmp_path, monkeypatch):
    """A machine that seems to have Metal, and trials that one kernel wins."""
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    gains = {"kv_injection": lambda width, depth: 0.1 if width > 3 else -0.1}
    monkeypatch.setattr(kernel_selection, "PairTrials", lambda pair: SimulatedMac(dict.fromkeys(WIDTHS, 0.03), gains))

    def with_kernels(kernels):
        like = {name: partial(getattr(PLAIN, name)) for name, rows in kernels.items() if rows}
        return replace(PLAIN, **like, rows=kernels) if like else PLAIN

    monkeypatch.setattr(kernel_selection, "with_kernels", with_kernels)
    return tmp_path


def test_the_engine_selects_kernels_and_saves_the_evidence_in_one_readable_file(demo, with_metal) -> None:
    events = list(demo.run(SelectKernels()))
    found = events[-1]
    assert isinstance(found, KernelsSelected) and found.saved and kernel_selection.known(demo.pair) == found
    assert [trial.kernel for trial in found.trials if trial.used_at] == ["kv_injection"]
    kernel = demo.pair.operations.kernel("kv_injection")
    assert [bool(kernel.at(rows)) for rows in (1, 3, 4, 5, 16, 20)] == [False, False, True, True, True, True]
    assert demo.pair.kernel_record is None
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
                plain, *drafted = event.results
                event = replace(
                    event, results=(plain, *(replace(each, difference=TextDifference(3, tie=True)) for each in drafted))
                )
            yield event

    monkeypatch.setattr(engine, "compare", differing)
    found = list(demo.run(SelectKernels()))[-1]  # in float32, a tie is not enough
    assert not any(trial.used_at for trial in found.trials) and found.trials[0].why.code == "kernels_not_exact"
    assert demo.pair.operations == PLAIN and kernel_selection.known(demo.pair) == found


@pytest.mark.parametrize("on_gpu", [pytest.param(False, marks=pytest.mark.long), True])
def test_kernels_that_are_wrong_only_in_passes_wider_than_a_block_are_off(demo, with_metal, monkeypatch, on_gpu) -> None:
    """Replies that share a pass run them, and copies, but not in float32 on a GPU."""
    monkeypatch.setattr(device, "runs_beside_host", lambda: on_gpu)

    def verify(logits, *rest):
        verdict = PLAIN.block_verify(logits, *rest)
        return replace(verdict, choices=verdict.choices ^ 1) if logits.shape[0] > demo.pair.info.block_size else verdict

    def with_kernels(kernels):
        used = {name: numbers for name, numbers in kernels.items() if numbers}
        return replace(PLAIN, block_verify=verify, rows={"block_verify": next(iter(used.values()))}) if used else PLAIN

    monkeypatch.setattr(kernel_selection, "with_kernels", with_kernels)
    found = list(demo.run(SelectKernels()))[-1]
    assert not any(trial.used_at for trial in found.trials) and found.trials[0].why.code == "kernels_not_exact"
    assert demo.pair.operations == PLAIN


@pytest.mark.parametrize("widths", [(), (16,)])
def test_kernels_of_wide_passes_are_off_if_no_pass_was_so_wide(demo, with_metal, widths) -> None:
    def compare(request, cancel):
        runs = (replace(stats("dflash"), widths=widths),) if request.requests[0].lookup_only else RUNS
        yield replace(IDENTICAL, results=(IDENTICAL.results[0], replace(IDENTICAL.results[1], runs=runs)))

    found = select(demo.pair, compare)
    assert not any(trial.used_at for trial in found.trials) and found.trials[0].why.code == "kernels_not_compared"


@pytest.mark.parametrize(("message", "used"), [(HANG, []), (VICTIM, ["kv_injection"])])
def test_kernels_that_fail_in_the_compared_replies_are_off(demo, with_metal, monkeypatch, message, used) -> None:
    kernels = FailingKernels("block_verify", message, range(9, 10))
    chosen = kernels.operations
    monkeypatch.setattr(kernel_selection, "with_kernels", lambda used: chosen if any(used.values()) else PLAIN)
    with failing(kernels):
        found = list(demo.run(SelectKernels()))[-1]
    assert kernels.failed and [trial.kernel for trial in found.trials if trial.used_at] == used
    assert ("took too long" in str(found.trials[0].why)) is not bool(used)
    assert demo.pair.operations.kernels == (chosen.kernels if used else []) and kernel_selection.known(demo.pair) == found
    demo.pair.use(PLAIN)


@pytest.mark.parametrize(
    "ends",
    [
        [],
        [None],
        [Failed("gpu_failed", "The GPU failed.")],
        [CompareResult((IDENTICAL.results[0], ContestantResult(BOTH_MODES[1])))],
    ],
)
def test_kernels_whose_replies_were_not_compared_are_off(demo, with_metal, ends) -> None:
    found = select(demo.pair, lambda request, cancel: iter(ends))
    assert not any(trial.used_at for trial in found.trials) and found.trials[0].why.code == "kernels_not_compared"
    assert demo.pair.operations == PLAIN


def select(pair, compare: Any = lambda request, cancel: iter([IDENTICAL]), again: bool = False) -> KernelsSelected:
    *_, found = kernel_selection.select(pair, compare, threading.Event(), again)
    assert isinstance(found, KernelsSelected) and found.complete and found == kernel_selection.known(pair)
    return found


@pytest.mark.parametrize("failed", [{"kv_injection"}, {"verify_matmul", "block_verify"}])
@pytest.mark.parametrize("before", ["not", "in part", "selected"])
def test_a_kernel_that_failed_stays_off_until_it_is_tested_on_request(demo, with_metal, failed, before) -> None:
    pair = demo.pair
    if before == "selected":
        select(pair)
    elif before == "in part":
        for event, _ in zip(kernel_selection.select(pair, engine.compare, threading.Event()), range(40), strict=False):
            assert not isinstance(event, KernelsSelected)
    kernel_selection.turn_off(pair, sorted(failed), "hang")
    evidence = kernel_selection.known(pair)
    assert evidence is not None and evidence.complete is (before == "selected")
    kernel_selection.restore(pair)  # as at the next start
    found = select(pair)
    assert [trial.kernel for trial in found.trials] == list(KERNELS)
    assert {trial.kernel for trial in found.trials if trial.why.code == "kernel_fails"} == failed
    assert bool(pair.operations.kernels) is ("kv_injection" not in failed)
    assert [trial.kernel for trial in select(pair, again=True).trials if trial.used_at] == ["kv_injection"]
    pair.use(PLAIN)


def test_kernels_are_selected_after_one_failed_in_a_reply(tiny, with_metal) -> None:
    *_, info = Engine().load(*tiny.pair.folders)
    assert isinstance(info, PairInfo) and not info.kernels_selected and info.kernels is None
    off = kernel_selection.turn_off(tiny.pair, ["verify_matmul"], "hang")
    *_, info = Engine().load(*tiny.pair.folders)
    assert not info.kernels_selected and info.kernels == off
    select(tiny.pair)
    *_, info = Engine().load(*tiny.pair.folders)
    assert info.kernels_selected
    tiny.pair.use(PLAIN)


def test_problems_of_other_kernels_do_not_count(demo, with_metal) -> None:
    others = {(0, width, ("block_verify",)): EngineText.of("kernels_not_exact", "not exact") for width in LADDER}
    demo.pair.kernel_record = kernel_trials.TrialRecord(problems=others)
    assert [trial.kernel for trial in select(demo.pair).trials if trial.used_at] == ["kv_injection"]
    demo.pair.use(PLAIN)


def test_a_stopped_selection_leaves_the_pair_as_it_was(demo, with_metal) -> None:
    cancel = threading.Event()
    events = demo.run(SelectKernels(), cancel)
    next(events)
    while not any(demo.pair.kernel_record.turns.values()):
        next(events)
    cancel.set()
    assert list(events) == [] and demo.pair.operations == PLAIN and kernel_selection.known(demo.pair) is None
    measured = {depth: list(turns) for depth, turns in demo.pair.kernel_record.turns.items()}
    # stopped again before anything is measured: nothing is forgotten
    assert list(demo.run(SelectKernels(), cancel)) == []
    assert demo.pair.kernel_record.turns == measured
    demo.pair.kernel_record = None


def in_parts(pair, mac: SimulatedMac, seconds: float, compare) -> tuple[KernelsSelected, list[float]]:
    """Return the result of a selection in parts, and the seconds of each part."""
    parts: list[float] = []
    for _ in range(10_000):
        began = mac.now
        *_, event = [None, *kernel_selection.select(pair, compare, threading.Event(), False, seconds, lambda: mac.now)]
        parts.append(mac.now - began)
        if isinstance(event, KernelsSelected):
            return event, parts
    raise AssertionError("it doesn't end")


def test_a_selection_in_parts_ends_with_the_same_result(demo, with_metal, monkeypatch) -> None:
    compared: list[float] = []

    def selected(seconds: float) -> tuple[KernelsSelected, list[float]]:
        gains = {"verify_matmul": lambda width, depth: 0.3 if width > 8 else -0.1}
        mac = SimulatedMac({4: 0.5, 16: 1.0}, gains, noise=0.0, drift=0.0, disturbed=0.0, check_s=2.0)
        monkeypatch.setattr(kernel_selection, "PairTrials", lambda pair: mac)

        def compare(request, cancel):
            compared.append(mac.now)
            mac.now += 8.0
            return iter([IDENTICAL])

        found, parts = in_parts(demo.pair, mac, seconds, compare)
        (with_metal / "kernels").rename(with_metal / f"after parts of {seconds}")
        demo.pair.use(PLAIN)
        return found, parts

    whole, [all_seconds] = selected(1e9)
    found, parts = selected(20.0)
    assert found == whole and max(parts) <= 20 and len(parts) > all_seconds / 20
    hardly, many = selected(0.0)  # each part has at least one result, even on a Mac where that takes longer
    assert hardly == whole and len(many) > len(parts)
    assert compared


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
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "savings": [{"at": trial["used_at"][0]}]}]}}),
        json.dumps({**good, "result": {**good["result"], "trials": [{**trial, "used_at": [256]}]}}),
        json.dumps({**good, "of": {**good["of"], "format": 6}}),  # measured again
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
