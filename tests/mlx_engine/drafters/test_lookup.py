"""Lookup drafting compared with an exhaustive search."""

from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.drafters.lookup import Lookup, Offer

TOKENS = st.lists(st.integers(0, 3), max_size=60)


def longest_match(tokens: list[int]) -> int:
    """Length, up to 32, of the longest suffix that occurs earlier; 0 if shorter than 3."""
    end = len(tokens)
    best = 0
    for place in range(end - 1, 2, -1):
        match = 0
        while match < min(32, place) and tokens[place - match - 1] == tokens[end - match - 1]:
            match += 1
        best = max(best, match)
    return best if best >= 3 else 0


@given(prompt=TOKENS, pieces=st.lists(TOKENS, max_size=4), count=st.integers(1, 15))
def test_an_offer_continues_an_earlier_occurrence_of_the_last_tokens(prompt, pieces, count):
    lookup, whole = Lookup(prompt, 15), list(prompt)
    for piece in ([], *pieces):
        lookup.add(tuple(piece))
        whole += piece
        offer = lookup.offer()
        best = longest_match(whole)
        assert (offer is None) == (best == 0)
        if offer is None:
            continue
        assert offer.tokens == 15 and 3 <= offer.match <= best
        proposed = lookup.propose(count)
        assert len(proposed) == count
        # some earlier place has this match before it, and after it what is proposed, going round where it meets its own copy
        extended = whole + proposed
        end = len(whole)
        assert any(
            extended[place : place + count] == proposed and whole[place - offer.match : place] == whole[end - offer.match :]
            for place in range(offer.match, end)
        )


@given(text=TOKENS, drafts=st.lists(st.integers(0, 3), max_size=6), count=st.integers(1, 15))
def test_copies_behind_drafts_continue_a_match_before_them(text, drafts, count):
    """As if the drafts were text, but nothing is copied of places in them."""
    lookup, whole = Lookup(text, 15), [*text, *drafts]
    lookup.offer()
    offer = lookup.offer(drafts)
    if offer is None:
        return
    assert 3 <= offer.match <= longest_match(whole)
    proposed = lookup.propose(count)
    extended, end = whole + proposed, len(whole)
    assert len(proposed) == count and any(
        extended[place : place + count] == proposed and whole[place - offer.match : place] == whole[end - offer.match :]
        for place in range(offer.match, len(text))
    )


def test_drafts_choose_among_matches():
    """The latest match disagrees with them."""
    lookup = Lookup([1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 7, 7, 9, 1, 2, 3], 4)
    assert lookup.offer() == Offer(4, 4) and lookup.propose(2) == [7, 7]
    assert lookup.offer([4, 5]) == Offer(4, 5) and lookup.propose(2) == [6, 9]
    assert lookup.offer([4, 4]) is None
    assert lookup.offer() == Offer(4, 4) and lookup.propose(2) == [7, 7]


def test_the_longest_of_the_latest_matches_wins():
    lookup = Lookup([1, 2, 3, 4, 5, 9, 9, 3, 4, 5, 7, 7, 1, 2, 3, 4, 5], 4)
    assert lookup.offer() == Offer(4, 5)
    assert lookup.propose(2) == [9, 9]


def test_of_equal_matches_the_latest_wins():
    text = [token for after in range(10, 20) for token in (1, 2, 3, after)]
    lookup = Lookup([*text, 1, 2, 3], 4)
    assert lookup.offer() == Offer(4, 3)
    assert lookup.propose(2) == [19, 1]


def test_a_loop_is_continued():
    lookup = Lookup([8, 1, 2, 3, 1, 2, 3], 7)
    lookup.offer()
    assert lookup.propose(7) == [1, 2, 3, 1, 2, 3, 1]


def test_new_text_gives_no_offer():
    assert Lookup([1, 2], 5).offer() is None
    assert Lookup([1, 2, 3, 4, 5], 5).offer() is None
