"""Who supplied which character: runs that grow, are cut and are read back."""

from hypothesis import given
from hypothesis import strategies as st

from app.conversations.reply import Reply
from app.conversations.token_sources import Suppliers
from mlx_engine.events import Commit

sources = st.sampled_from(["prefill", "drafter", "lookup", "target"])
runs = st.lists(st.tuples(sources, st.integers(1, 9)), max_size=12)


def letters(found: Suppliers) -> list[str]:
    """The supplier of each character."""
    return [supplier for first, last, supplier in found.between(0, len(found)) for _ in range(last - first)]


@given(st.lists(runs, max_size=5), st.integers(0, 60), st.integers(0, 60))
def test_every_character_has_the_supplier_that_it_came_with(pieces, start, end) -> None:  # type: ignore[no-untyped-def]
    found, expected = Suppliers(), []
    for piece in pieces:
        found.add(sum(size for _, size in piece), piece)
        expected += [source for source, size in piece for _ in range(size)]
    assert letters(found) == expected and len(found) == len(expected)
    cut = [supplier for first, last, supplier in found.between(start, end) for _ in range(last - first)]
    assert cut == expected[start:end]
    again = Suppliers.read(found.written())
    assert letters(again) == expected and again.written() == found.written()


@given(st.text(max_size=30))
def test_what_was_not_written_by_us_tells_of_nothing_or_is_the_same(text: str) -> None:
    found = Suppliers.read(text)
    assert len(found) == 0 or found.written() == text


def test_text_of_which_nothing_is_known_counts_as_unknown_and_moves_nothing_after_it() -> None:
    reply = Reply("dflash", 10)
    reply.accept(Commit("abc", "answer", (1,), ("target",)), 0.0)
    reply.accept(Commit("de", "answer", (2, 3), ("drafter", "target"), (("drafter", 1), ("target", 1))), 0.0)
    assert reply.answer_by.written() == "u3d1t1"
