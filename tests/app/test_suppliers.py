"""Suppliers of characters: adding, clipping, and the stored form."""

from hypothesis import given
from hypothesis import strategies as st

from app.storage.reply import Reply, Suppliers
from mlx_engine.contract.events import Commit

sources = st.sampled_from(["prefill", "drafter", "lookup", "target"])
runs = st.lists(st.tuples(sources, st.integers(1, 9)), max_size=12)


def by_character(found: Suppliers) -> list[str]:
    """Return the supplier of each character."""
    return [supplier for first, last, supplier in found.between(0, len(found)) for _ in range(last - first)]


@given(st.lists(runs, max_size=5), st.integers(0, 60), st.integers(0, 60))
def test_every_character_keeps_its_supplier(pieces, begin, end) -> None:  # type: ignore[no-untyped-def]
    found, expected = Suppliers(), []
    for piece in pieces:
        found.add(sum(size for _, size in piece), piece)
        expected += [source for source, size in piece for _ in range(size)]
    assert by_character(found) == expected and len(found) == len(expected)
    cut = [supplier for first, last, supplier in found.between(begin, end) for _ in range(last - first)]
    assert cut == expected[begin:end]
    again = Suppliers.decode(found.encode())
    assert by_character(again) == expected and again.encode() == found.encode()


@given(st.text(max_size=30))
def test_decoding_any_other_text_gives_no_runs(text: str) -> None:
    found = Suppliers.decode(text)
    assert len(found) == 0 or found.encode() == text


def test_text_without_runs_has_an_unknown_supplier_and_shifts_nothing() -> None:
    reply = Reply("dflash", 10)
    reply.accept(Commit("abc", "answer", (1,), ("target",)), 0.0)
    reply.accept(Commit("de", "answer", (2, 3), ("drafter", "target"), (("drafter", 1), ("target", 1))), 0.0)
    assert reply.answer_by.encode() == "u3d1t1"
