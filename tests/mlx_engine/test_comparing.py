"""Where two replies part, and whether that was a tie."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.comparing import first_difference, margin, rounding
from mlx_engine.events import Sampling
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


PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)


def test_a_clear_decision_is_no_tie(tiny):
    request = tokens(PROMPT, max_tokens=20, seed=1)
    got = reply(tiny, request).tokens
    other = (*got[:7], (got[7] + 1) % 128, *got[8:])
    assert margin(tiny.pair, request, got, other, 7) > rounding(tiny.pair)


def test_two_equal_scores_are_a_tie(tiny):
    """A near tie does not come up by chance, so one is built: two tokens get the same row of the head."""
    target = tiny.pair.target
    request = tokens((73, 122, 51), max_tokens=4, seed=1)
    first = reply(tiny, request).tokens[0]
    twin = (first + 1) % 128
    head = target.model.lm_head if hasattr(target.model, "lm_head") else target.model.model.embed_tokens
    kept = head.weight
    try:
        head.weight = kept.at[twin].multiply(0.0).at[twin].add(kept[first])
        assert margin(tiny.pair, request, (first,), (twin,), 0) <= rounding(tiny.pair)
    finally:
        head.weight = kept


def test_a_token_that_the_filter_leaves_out_is_no_tie(tiny):
    request = dataclasses.replace(tokens(PROMPT, max_tokens=4, seed=1), sampling=Sampling(temperature=1.0, top_k=1))
    first = reply(tiny, request).tokens[0]
    assert margin(tiny.pair, request, (first,), ((first + 1) % 128,), 0) is None


def test_a_reply_that_just_ends_has_no_margin(tiny):
    assert margin(tiny.pair, tokens(PROMPT, seed=1), (1, 2), (1, 2, 3), 2) is None
