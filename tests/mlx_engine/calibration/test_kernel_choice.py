"""Kernels are used for the rows for which they are right and save time, as far as paired measurements show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import kernel_choice
from mlx_engine.calibration.kernel_trials import Names, TrialRecord, band_rows, numbers, rows_by_kernel
from mlx_engine.contract.machine_events import KernelRows, row_ranges
from mlx_engine.kernels.operations import ALL_ROWS, KERNELS, SEVERAL_ROWS
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.calibration.simulated_mac import CHIPS, DEPTHS, WIDTHS, ChipMac, Gain, SimulatedMac, always

# Seconds of a round by width
M1 = {2: 0.15, 3: 0.2, 4: 0.24, 5: 0.28, 6: 0.29, 8: 0.29, 12: 0.29, 16: 0.3}
M4_PRO = {2: 0.025, 3: 0.025, 4: 0.027, 5: 0.031, 6: 0.032, 8: 0.034, 12: 0.05, 16: 0.062}
M5_MAX = {2: 0.012, 3: 0.0122, 4: 0.0125, 5: 0.013, 6: 0.0135, 8: 0.014, 12: 0.017, 16: 0.018}
SEEDS = range(1 if SAMPLE else 4)
EVERYTHING_HALF_A_PERCENT = dict.fromkeys(KERNELS, always(0.005))


@pytest.mark.parametrize("noise", [0.004, 0.03])
@pytest.mark.parametrize("chip", CHIPS.values(), ids=CHIPS)
def test_each_chip_runs_the_kernels_that_its_costs_favor(chip, noise: float) -> None:
    for seed in range(1 if SAMPLE else 2):
        mac = ChipMac(chip, noise=noise, seed=seed)
        found = mac.select()
        used = mac.used(found)
        for depth in DEPTHS:
            rows = [at for trial in found.trials if trial.kernel == "verify_matmul" for at in trial.used_at if at.depth == depth]
            assert row_ranges(rows) == chip.matmul_rows
            for width in WIDTHS:
                names, best = tuple(used[depth][width]), tuple(mac.cheapest(width, depth))
                # 8 turns can't show less: 2.5 standard errors of their difference are about 2 * noise
                assert mac.cost(names, width, depth) < (1 + 2 * noise) * mac.cost(best, width, depth)
                attention = mac.cost(("verify_attention",), width, depth) / mac.cost((), width, depth) - 1
                if abs(attention) > 2 * noise:
                    assert ("verify_attention" in names) == (attention < 0)


@given(
    base=st.lists(st.floats(0.005, 0.2), min_size=len(WIDTHS), max_size=len(WIDTHS)),
    gains=st.dictionaries(
        st.sampled_from(["verify_matmul", "verify_attention", "attention_inputs"]),
        st.lists(st.tuples(st.floats(0.04, 0.4), st.booleans(), st.booleans()), min_size=2 * len(WIDTHS), max_size=2 * len(WIDTHS)),
    ),
    seed=st.integers(0, 99),
)
@sampled(8)
def test_the_choice_is_the_cheapest_correct_set_for_every_width(base: list[float], gains: dict[str, list], seed: int) -> None:
    """Gains and losses of at least 4%, in any order, and wrong results at any widths."""

    def gain(name: str) -> Gain:
        def share(width: int, depth: int) -> float:
            size, saves, _ = gains[name][WIDTHS.index(width) + len(WIDTHS) * DEPTHS.index(depth)]
            return size if saves else -size

        return share

    wrong = {
        name: tuple(width for width, (_, _, is_wrong) in zip(WIDTHS, each, strict=False) if is_wrong)
        for name, each in gains.items()
    }
    rounds = dict(zip(WIDTHS, base, strict=True))
    mac = SimulatedMac(rounds, {name: gain(name) for name in gains}, noise=0.003, disturbed=0.0, wrong=wrong, seed=seed)
    used = mac.used()
    assert used == {depth: {width: mac.cheapest(width, depth) for width in WIDTHS} for depth in DEPTHS}
    assert not any(set(names) - set(mac.right(width)) for names, width, _ in mac.calls)  # wrong kernels aren't timed, either


def test_wrong_results_for_some_rows_exclude_only_these() -> None:
    mac = ChipMac(CHIPS["M4 Max"], wrong={"verify_matmul": (12, 16)})
    found = mac.select()
    trial = next(trial for trial in found.trials if trial.kernel == "verify_matmul")
    assert row_ranges(trial.used_at) == "5–8"
    assert str(trial.why).endswith("less time in passes of 5–8 tokens; wrong results or errors in passes of 9–16 tokens")
    assert "verify_attention" in mac.used(found)[6144][16]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_at_one_row_does_not_turn_a_kernel_off_where_plain_steps_do_not_run_it(seed: int) -> None:
    gains = {"verify_matmul": always(0.15), "block_verify": always(0.01)}
    assert SimulatedMac(M4_PRO, gains, seed=seed).used() == {depth: {width: set(gains) for width in WIDTHS} for depth in DEPTHS}
    found = SimulatedMac(M4_PRO, gains, plain={"verify_matmul": 0.2}, seed=seed).select()  # float32
    reasons = {trial.kernel: str(trial.why) for trial in found.trials if not trial.used_at}
    assert reasons.pop("verify_matmul") == "slows down plain decoding"
    assert "block_verify" not in reasons


@pytest.mark.parametrize("seed", SEEDS)
def test_in_float32_a_kernel_runs_any_number_of_rows_or_none(seed: int) -> None:
    """A row must have the same sums alone and in every block. The time per token counts, at the widths that rounds choose."""
    gains = {"verify_matmul": lambda width, depth: 0.3 if width > 4 else -0.1, "verify_attention": lambda width, depth: -0.05}
    found = SimulatedMac(M4_PRO, gains, plain={"verify_matmul": -0.05, "verify_attention": -0.05}, seed=seed).select()
    used = {trial.kernel: trial.used_at for trial in found.trials if trial.used_at}
    assert used == {"verify_matmul": tuple(KernelRows(depth, 1, 16) for depth in DEPTHS)}
    assert numbers(used["verify_matmul"][:1], 16) == ALL_ROWS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kernel_that_wins_only_in_long_contexts_is_used_there(seed: int) -> None:
    gains = {"verify_attention": lambda width, depth: 0.0015 * (depth - 2000) / 100, "verify_matmul": always(0.1)}
    found = SimulatedMac(M4_PRO, gains, seed=seed).select()
    attention = next(trial for trial in found.trials if trial.kernel == "verify_attention")
    assert {at.depth for at in attention.used_at} == {6144} and attention.why.code == "kernel_faster_in_long"
    assert abs(found.switch - 2000) < 400
    assert {saving.at.depth for saving in attention.savings} == set(DEPTHS)
    assert row_ranges(next(trial for trial in found.trials if trial.kernel == "verify_matmul").used_at) == "2–16"


@pytest.mark.parametrize("seed", range(1 if SAMPLE else 3))
@pytest.mark.parametrize("rounds", [M1, M4_PRO, M5_MAX], ids=["M1", "M4 Pro", "M5 Max"])
def test_savings_of_half_a_percent_are_kept(rounds: dict[int, float], seed: int) -> None:
    """The turns differ by 10%, far more than the kernels, and still agree."""
    found = SimulatedMac(rounds, EVERYTHING_HALF_A_PERCENT, seed=seed).select()
    used = SimulatedMac(rounds, EVERYTHING_HALF_A_PERCENT, seed=seed).used(found)
    assert sum(len(names) for at in used.values() for names in at.values()) >= 0.85 * len(KERNELS) * len(WIDTHS) * len(DEPTHS)
    off = [abs(saving.share - 0.005) < 4 * saving.error + 0.002 for trial in found.trials for saving in trial.savings]
    assert sum(off) > 0.95 * len(off)


@pytest.mark.parametrize("seed", SEEDS)
def test_kernels_that_save_nothing_are_off(seed: int) -> None:
    def share(gain: float) -> float:
        mac = SimulatedMac(M4_PRO, dict.fromkeys(KERNELS, always(gain)), seed=seed)
        used = mac.used()
        return sum(len(names) for at in used.values() for names in at.values()) / (len(KERNELS) * len(WIDTHS) * len(DEPTHS))

    assert share(0.0) < 0.15
    assert share(-0.005) < 0.03
    assert share(-0.02) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kernel_counts_by_what_it_adds_to_the_others(seed: int) -> None:
    """Two kernels save the same work. Each would win alone, but next to the better one, the other costs time."""

    class Overlapping(SimulatedMac):
        def cost(self, names: Names, width: int, depth: int) -> float:
            both = {"verify_attention", "attention_inputs"} <= set(names)
            needed = tuple(name for name in names if not (both and name == "attention_inputs"))
            return super().cost(needed, width, depth) * (1.02 if both else 1.0)

    gains = {"verify_attention": always(0.08), "attention_inputs": always(0.03), "verify_matmul": always(0.1)}
    used = Overlapping(M4_PRO, gains, seed=seed).used()
    assert used == {depth: {width: {"verify_attention", "verify_matmul"} for width in WIDTHS} for depth in DEPTHS}


def test_kernels_that_are_wrong_or_not_called_are_not_timed() -> None:
    mac = SimulatedMac(M4_PRO, {"kv_injection": always(0.5), "block_verify": always(0.02)}, wrong={"kv_injection": WIDTHS})
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
    record, first = TrialRecord(), SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT)
    for event in kernel_choice.try_kernels(first, record):
        if event.step.code == "timing_kernels" and len(record.turns.get(6144, ())) == 3:
            break
    assert {name for name, _ in record.checks} == set(KERNELS)
    second = SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT)
    found = second.select(record)
    assert not any(depth == 256 for _, _, depth in second.calls)
    third = SimulatedMac(M4_PRO, EVERYTHING_HALF_A_PERCENT)
    assert third.select(record) == found and not third.calls  # all is known


def test_kernels_are_not_checked_again_by_a_continued_run() -> None:
    record, mac = TrialRecord(), SimulatedMac(M5_MAX, {"verify_matmul": always(0.2)})
    steps = kernel_choice.try_kernels(mac, record)
    for _ in range(20):
        next(steps)
    mac.select(record)
    assert len(set(mac.checked)) == len(mac.checked) == len(KERNELS) * (1 + len(WIDTHS))


def test_a_run_can_be_stopped_after_every_pass() -> None:
    mac = SimulatedMac(M1, {"verify_matmul": always(0.2), "block_verify": always(0.01)})
    before = 0
    for _ in kernel_choice.try_kernels(mac, TrialRecord()):
        assert len(mac.calls) - before <= 1
        before = len(mac.calls)


def test_the_number_of_timed_passes_is_bounded() -> None:
    """Docs and the wait on a slow Mac depend on it: two depths, of 5 kernels that are right."""
    mac = ChipMac(CHIPS["M1"])
    mac.select()
    assert len(mac.calls) <= 2 * (16 * 6 * 4 + 2 * 16 * 2 * 4)


@given(last=st.lists(st.integers(2, 16), min_size=1, unique=True).map(sorted), data=st.data())
def test_every_number_of_rows_belongs_to_the_next_measured_width(last: list[int], data: st.DataObject) -> None:
    bands = tuple((width,) for width in last)
    plan = tuple(("verify_matmul",) if data.draw(st.booleans()) else () for _ in bands)
    rows = rows_by_kernel(bands, plan)["verify_matmul"]
    assert rows <= ALL_ROWS
    for row in SEVERAL_ROWS:
        if row >= last[0]:
            band = next((index for index, width in enumerate(last) if row <= width), len(last) - 1)
            assert (row in rows) == bool(plan[band])


@pytest.mark.parametrize(
    ("bands", "text"),
    [
        ([], ""),
        ([(2, 2)], "2"),
        ([(2, 2), (3, 3), (5, 6)], "2–3, 5–6"),
        ([(9, 12), (13, 16), (9, 12)], "9–16"),
        ([(1, 16)], "1–16"),
    ],
)
def test_ranges_of_rows_as_text(bands: list[tuple[int, int]], text: str) -> None:
    assert row_ranges(KernelRows(256, *band) for band in bands) == text
    assert band_rows(((2,), (3,), (8,)), 256)[-1] == KernelRows(256, 4, 8)
