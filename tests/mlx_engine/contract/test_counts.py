"""Counts of several replies."""

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.counts import NO_REPLIES, Counts
from mlx_engine.contract.events import Stats

COUNTS = st.lists(st.builds(Counts, *[st.integers(0, 9) for _ in fields(Counts)]), max_size=4)
STATS = Stats("plain", 1, 0, 1, None, None, None, 0, 0, 0, 0, (), (), 0, 0, 1)


@given(COUNTS, COUNTS)
def test_counts_add_up_in_any_groups(some: list[Counts], others: list[Counts]) -> None:
    replies = [replace(STATS, **vars(each)) for each in (*some, *others)]
    together = Counts.of(*replies)
    assert together == Counts.of(*replies[: len(some)]) + Counts.of(*replies[len(some) :])
    for name in vars(NO_REPLIES):
        assert getattr(together, name) == sum(getattr(each, name) for each in replies)
