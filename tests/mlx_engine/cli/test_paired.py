"""Paired ratios: noise in both cancels, and noise in one run matters little."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.cli.bench_ratio import paired_ratio

rates = st.lists(st.lists(st.floats(1, 1000), min_size=3, max_size=3), min_size=2, max_size=12)


@given(rates, st.floats(0.1, 10))
def test_a_constant_factor_is_found_on_any_machine(table, factor):
    ratio = paired_ratio([[rate * factor for rate in runs] for runs in table], table)
    assert ratio.value == pytest.approx(factor) and ratio.low == pytest.approx(factor) and ratio.high == pytest.approx(factor)


@given(rates, st.data())
def test_swapping_the_sides_inverts_the_ratio(table, data):
    other = [[data.draw(st.floats(1, 1000)) for _ in runs] for runs in table]
    there, back = paired_ratio(table, other), paired_ratio(other, table)
    assert there.value == pytest.approx(1 / back.value)
    assert there.low <= there.value * (1 + 1e-9) and there.value <= there.high * (1 + 1e-9)


def test_one_disturbed_run_of_three_does_not_matter():
    quiet = [[100.0, 100.0, 100.0]] * 8
    disturbed = [[200.0, 200.0, 20.0]] * 8
    assert paired_ratio(disturbed, quiet).value == pytest.approx(2.0)


def test_prompts_that_disagree_widen_the_interval():
    ours = [[100.0], [200.0], [50.0], [400.0]]
    ratio = paired_ratio(ours, [[100.0]] * 4)
    assert ratio.low < 1.0 < ratio.high
