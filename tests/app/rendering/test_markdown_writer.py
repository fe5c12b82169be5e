"""A copied selection parses to what was selected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rendering import blocks
from app.rendering.blocks import (
    Block,
    CodeBlock,
    MathBlock,
    RuleBlock,
    TableBlock,
    TextBlock,
    TextSpan,
    document_parts,
    last_offset,
    line_blocks,
    plain_text,
    plain_text_blocks,
)
from app.rendering.markdown import parse_blocks
from app.rendering.markdown_writer import selected_markdown, selected_plain_text, to_markdown
from app.rendering.streaming import StreamingMarkdown
from tests.benchmarks.recorded_engine import RICH

_word = st.text(st.sampled_from("abc*_`[]<>#$~1.-+|\\"), min_size=1, max_size=6)
_words = st.lists(_word, min_size=1, max_size=4).map(" ".join)


@given(_words, st.integers(0, 3))
def test_text_with_markdown_syntax_survives_a_round_trip(text: str, heading: int) -> None:
    block = TextBlock((TextSpan(text),), heading)
    if not heading or not text.rstrip().endswith("#"):  # trailing signs close a heading
        assert parse_blocks(to_markdown([block])) == (block,)


@given(st.text(st.sampled_from("ab` \n~"), max_size=20))
def test_code_survives_a_round_trip(text: str) -> None:
    block = CodeBlock("python", text)
    assert parse_blocks(to_markdown([block])) == (block,)


def test_all_kinds_of_blocks_survive_a_round_trip() -> None:
    cells = ((TextSpan("a|b"),), (TextSpan("c", code=True),))
    found: list[Block] = [
        TextBlock((TextSpan("Head"),), 2),
        TextBlock(
            (
                TextSpan("a "),
                TextSpan("bold", bold=True),
                TextSpan(" and "),
                TextSpan("x_1", math=True),
                TextSpan(" "),
                TextSpan("c`d", code=True),
            )
        ),
        TextBlock((TextSpan("link", link="https://a.b/c"), TextSpan(" and "), TextSpan("both", bold=True, italic=True))),
        TextBlock((TextSpan("item"),), indent=1, marker="•"),
        TextBlock((TextSpan("ticked"),), indent=1, marker="•", done=True),
        TextBlock((TextSpan("deeper"),), indent=2, marker="◦"),
        RuleBlock(),
        MathBlock("a + b"),
        TextBlock((TextSpan("quoted"),), quote=1),
        TableBlock((cells, cells), ("left", "right")),
        TextBlock((TextSpan("third"),), indent=1, marker="3."),
    ]
    assert parse_blocks(to_markdown(found)) == tuple(found)


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_copied_selection_contains_the_selected_words(one: int, other: int) -> None:
    source = StreamingMarkdown()
    source.append(RICH)
    there = document_parts(source.blocks)
    sizes = [last_offset(source.blocks[part.first : part.first + part.count]) + 1 for part in there]
    places = []
    for pick in (one, other):
        pick %= sum(sizes)
        part = 0
        while pick >= sizes[part]:
            pick -= sizes[part]
            part += 1
        places.append((part, pick))
    start, end = sorted(places)
    copied = parse_blocks(selected_markdown(RICH, source, start, end))
    text = " ".join(plain_text(block) for block in copied)
    whole = [block for block in source.blocks if plain_text(block) in text]
    inside = source.blocks[there[start[0]].first + there[start[0]].count : there[end[0]].first]
    assert all(block in whole for block in inside)


def test_a_fully_selected_reply_is_copied_as_written() -> None:
    source = StreamingMarkdown()
    source.append(RICH)
    assert selected_markdown(RICH, source, (0, 0), (1 << 30, 0)) == RICH.strip("\n")


@given(st.text("ab \n", max_size=80), st.integers(1, 9))
def test_long_lines_end_behind_spaces_and_are_copied_whole(text: str, most: int) -> None:
    """They were broken within words, and copies had the breaks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MAX_LINE_CHARS", most)
        parts = document_parts(found := plain_text_blocks(text))
        assert selected_plain_text(text, (0, 0), (len(parts) - 1, last_offset(found[parts[-1].first : parts[-1].end]))) == text
        for line in text.split("\n"):
            pieces = [plain_text(block) for block in line_blocks(line)]
            assert "".join(pieces) == line
            assert all(piece.endswith(" ") or (" " not in piece and len(piece) == most) for piece in pieces[:-1])
