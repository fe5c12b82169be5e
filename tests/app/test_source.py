"""What is copied out of a reply reads as what was selected."""

from hypothesis import given
from hypothesis import strategies as st

from app.rendering.blocks import Block, Code, Maths, Rule, Span, Table, Text
from app.rendering.markdown import blocks
from app.rendering.parts import length, parts, plain
from app.rendering.source import between, markdown
from app.rendering.streaming import StreamingMarkdown
from tests.benchmarks.recorded_engine import RICH

_word = st.text(st.sampled_from("abc*_`[]<>#$~1.-+|\\"), min_size=1, max_size=6)
_words = st.lists(_word, min_size=1, max_size=4).map(" ".join)


@given(_words, st.integers(0, 3))
def test_text_with_signs_of_markdown_in_it_reads_back_as_itself(text: str, heading: int) -> None:
    block = Text((Span(text),), heading)
    if not heading or not text.rstrip().endswith("#"):  # trailing signs close a heading
        assert blocks(markdown([block])) == (block,)


@given(st.text(st.sampled_from("ab` \n~"), max_size=20))
def test_code_reads_back_as_itself(text: str) -> None:
    block = Code("python", text)
    assert blocks(markdown([block])) == (block,)


def test_all_kinds_of_blocks_read_back_as_themselves() -> None:
    cells = ((Span("a|b"),), (Span("c", code=True),))
    found: list[Block] = [
        Text((Span("Head"),), 2),
        Text((Span("a "), Span("bold", bold=True), Span(" and "), Span("x_1", math=True), Span(" "), Span("c`d", code=True))),
        Text((Span("link", link="https://a.b/c"), Span(" and "), Span("both", bold=True, italic=True))),
        Text((Span("item"),), indent=1, marker="•"),
        Text((Span("ticked"),), indent=1, marker="•", done=True),
        Text((Span("deeper"),), indent=2, marker="◦"),
        Rule(),
        Maths("a + b"),
        Text((Span("quoted"),), quote=1),
        Table((cells, cells), ("left", "right")),
        Text((Span("third"),), indent=1, marker="3."),
    ]
    assert blocks(markdown(found)) == tuple(found)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_what_is_copied_from_a_reply_holds_the_words_selected(one: int, other: int) -> None:
    source = StreamingMarkdown()
    source.append(RICH)
    there = parts(source.blocks)
    sizes = [length(source.blocks[part.first : part.first + part.count]) + 1 for part in there]
    places = []
    for pick in (one, other):
        pick %= sum(sizes)
        part = 0
        while pick >= sizes[part]:
            pick -= sizes[part]
            part += 1
        places.append((part, pick))
    start, end = sorted(places)
    copied = blocks(between(RICH, source, start, end))
    text = " ".join(plain(block) for block in copied)
    whole = [block for block in source.blocks if plain(block) in text]
    inside = source.blocks[there[start[0]].first + there[start[0]].count : there[end[0]].first]
    assert all(block in whole for block in inside)


def test_everything_selected_is_copied_as_it_was_written() -> None:
    source = StreamingMarkdown()
    source.append(RICH)
    assert between(RICH, source, (0, 0), (1 << 30, 0)) == RICH.strip("\n")
