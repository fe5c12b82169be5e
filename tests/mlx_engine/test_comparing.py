"""Where two replies part, and whether that was a tie."""

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.comparing import first_difference, margin
from tests.mlx_engine.asking import reply, tokens

some = st.lists(st.integers(0, 3), max_size=8)


@given(some, some)
def test_the_first_difference_is_the_length_of_what_they_share(a, b):
    at = first_difference(a, b)
    if at is None:
        assert a == b
    else:
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]


def test_a_reply_that_ends_sooner_differs_where_it_ends():
    assert first_difference((1, 2), (1, 2, 3)) == 2


def test_a_clear_decision_is_no_tie_and_its_margin_is_that_of_the_scores(tiny):
    request = tokens((73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52), max_tokens=20, seed=1)
    got = reply(tiny, request)
    gap, tie = margin(tiny.pair, request, got.tokens[:7])
    assert gap > 1e-3 and not tie


def test_two_equal_scores_are_a_tie(tiny):
    """A near tie does not come up by chance, so one is built: two tokens get the same row of the head."""
    target = tiny.pair.target
    request = tokens((73, 122, 51), max_tokens=4, seed=1)
    first = reply(tiny, request).tokens[0]
    head = target.model.lm_head if hasattr(target.model, "lm_head") else target.model.model.embed_tokens
    kept = head.weight
    try:
        head.weight = kept.at[(first + 1) % kept.shape[0]].multiply(0.0).at[(first + 1) % kept.shape[0]].add(kept[first])
        gap, tie = margin(tiny.pair, request, ())
    finally:
        head.weight = kept
    assert gap < 1e-3 and tie
