"""Markdown parsed in pieces gives the same blocks as the whole text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rendering import streaming
from app.rendering.blocks import Block, CodeBlock, MathBlock, RuleBlock, TableBlock, TextBlock, TextSpan, plain_text
from app.rendering.markdown import parse_blocks
from app.rendering.streaming import MAX_HELD, StreamingMarkdown, held_back
from app.widgets.formulas import typeset
from tests.benchmarks.recorded_engine import TEXT

# Pieces of Markdown syntax, so that random texts contain much of it.
_words = st.text(st.sampled_from("ab *_`~[]()<>!#\\|1.-:\n\t é👍\u2028"), max_size=12)
_marks = st.sampled_from(
    [
        "\n", "\n\n", "# ", "## x\n", "- ", "* ", "1. ", "2) ", "  - ", "    ", "> ", "```\n", "```python\n", "~~~\n",
        "---\n", "===\n",
        "| a | b |\n", "|---|:-:|\n", "a | b\n", "**b**", "*i*", "`c`", "[l](http://a.b)", "![p](http://a.b/p.png)", "[r]: http://x\n",
        "[r]", "<b>", "\\\n", "  \n", "&amp;", "\r\n", "~~s~~",
        "$x$", "$", "$$", "$$\n", "$$y$$\n", "\\(z\\)", "\\[", "\\]\n", "- [ ] ", "- [x] t\n", "| 1 | 2 |\n", "> q\n", "\0",
        "https://a.b/c_d", "[^1]", "[^2]: ", "\\begin{align}\n", "\\end{align}\n",
    ]
)  # fmt: skip
markdown = st.lists(st.one_of(_marks, _words), max_size=30).map("".join)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def stream(parts: list[str]) -> tuple[tuple[Block, ...], StreamingMarkdown]:
    """Return what a view that applies every change finally shows."""
    streaming, shown = StreamingMarkdown(), []
    for part in parts:
        frozen = len(streaming._frozen)
        before = tuple(shown[:frozen])
        change = streaming.append(part)
        assert change.first >= frozen, "a frozen block changed"
        shown[change.first :] = change.blocks
        assert tuple(shown[:frozen]) == before
        assert tuple(shown) == streaming.blocks
    return tuple(shown), streaming


@given(markdown, st.lists(st.integers(0, 10_000), max_size=20))
def test_random_chunks_give_the_same_blocks_as_the_whole_text(text: str, cuts: list[int]) -> None:
    shown, _ = stream(pieces(text, cuts))
    assert shown == parse_blocks(text)


@given(markdown)
def test_single_characters_give_the_same_blocks_as_the_whole_text(text: str) -> None:
    shown, _ = stream(list(text))
    assert shown == parse_blocks(text)


@pytest.mark.parametrize("body", ["```python\n" + "x = 1\n" * 200, "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100, "- a\n" * 300])
def test_a_long_block_after_empty_lines(body: str) -> None:
    """Models start an answer this way after thinking."""
    shown, _ = stream(pieces("\n\n" + body, [7 * i for i in range(300)]))
    assert shown == parse_blocks("\n\n" + body)


@given(markdown, st.lists(st.integers(0, 10_000), max_size=20))
def test_partly_frozen_lists_tables_and_code_equal_the_whole(text: str, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "SHORT_TAIL", 0)
        shown, _ = stream(pieces(text, cuts))
    assert shown == parse_blocks(text)


@given(markdown, st.lists(st.integers(0, 10_000), max_size=20), st.sampled_from([2, 5, 500]))
def test_a_long_tail_is_split_the_same_way_however_it_arrives(text: str, cuts: list[int], lines: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MAX_TAIL", 25)
        patch.setattr(streaming, "MAX_TAIL_LINES", lines)
        patch.setattr(streaming, "SHORT_TAIL", 10)
        assert stream(pieces(text, cuts))[0] == stream([text])[0]


@pytest.mark.parametrize(
    "text", ["a\n```x`y\nb", "a\n\n# b\n```c`d\n", "- a\n- - -\nb", "a\n-\n- b\n", "> a\n>\nb\n---\n", "a\n1.\n1. b\n"]
)
def test_a_completed_line_can_change_the_block_above_it(text: str) -> None:
    shown, _ = stream(list(text))
    assert shown == parse_blocks(text)


@pytest.mark.parametrize("lines", [[""], ["x = 1", "y = 2"], ["x = 1"] * 100])
def test_a_very_long_line_of_code_stays_in_its_block(lines: list[str]) -> None:
    """The rest of a long first line, such as JSON in one line, became text, and the text after it became code."""
    text = "\n".join(["```json", *lines, '{"a": 1}, ' * 2000, "```", "", "after", ""]).replace("json\n\n", "json\n")
    for parts in ([text], pieces(text, list(range(0, len(text), 997)))):
        assert stream(parts)[0] == parse_blocks(text)


@pytest.mark.parametrize("indent", ["", " ", "   "])
@pytest.mark.parametrize("unit", ["a b", "a  ", " x```", "\tb~"])
def test_a_very_long_line_of_an_indented_fence_keeps_its_spaces(indent: str, unit: str) -> None:
    text = f"{indent}```py\n" + f"{indent}{unit * 7000}\n" * 2 + f"{indent}```\nEnd\n"
    for step in (1000, 3331, len(text)):
        reply = StreamingMarkdown()
        for at in range(0, len(text), step):
            reply.append(text[at : at + step])
        assert reply.blocks == parse_blocks(text)


def test_a_very_long_cell_keeps_the_rows_above_it() -> None:
    rows = "".join(f"| row {number} | {'y' * 20} |\n" for number in range(40))
    shown, _ = stream(["| a | b |\n|---|---|\n" + rows, "| " + "z " * 6000 + "| end |\n"])
    text = "\n".join(map(plain_text, shown))
    assert all(f"row {number}\n" in text for number in range(40)) and text.count("z") == 6000


def test_finished_blocks_are_frozen_while_the_reply_grows() -> None:
    shown, streaming = stream([TEXT[at : at + 7] for at in range(0, len(TEXT), 7)])
    assert len(streaming._frozen) >= len(shown) - 1


def test_the_cost_of_a_reply_is_proportional_to_its_length() -> None:
    def rendered(copies: int) -> int:
        streaming, count = StreamingMarkdown(), 0
        for at in range(0, len(TEXT) * copies, 20):
            count += len(streaming.append((TEXT * copies)[at : at + 20]).blocks)
        return count

    assert rendered(8) <= 9 * rendered(1)


def test_all_kinds_of_blocks_are_recognized() -> None:
    kinds = {type(block) for block in parse_blocks(TEXT + "\n---\n")}
    assert kinds == {TextBlock, CodeBlock, TableBlock, RuleBlock}


def test_nested_lists_keep_their_numbers_and_depth() -> None:
    found = parse_blocks("3. three\n   - inner\n4. four\n\n   more of four")
    marks = [(block.marker, block.indent) for block in found if isinstance(block, TextBlock)]
    assert marks == [("3.", 1), ("◦", 2), ("4.", 1), ("", 1)]


def test_a_list_can_start_at_zero() -> None:
    first = parse_blocks("0. nought")[0]
    assert isinstance(first, TextBlock) and first.marker == "0."


def test_code_in_a_list_is_a_separate_block() -> None:
    found = parse_blocks("1. run\n   ```bash\n   ls\n   ```\n2. done")
    assert found[1] == CodeBlock("bash", "ls", indent=1)


def test_only_web_links_are_links() -> None:
    for address in ("javascript:alert(1)", "file:///etc/passwd", "ftp://a.b", "mailto:a@b.c", "//a.b", "/etc", "data:text/html,x"):
        (block,) = parse_blocks(f"[x]({address})")
        assert isinstance(block, TextBlock) and not any(span.link for span in block.spans)
    assert parse_blocks("[x](https://a.b)") == (TextBlock((TextSpan("x", link="https://a.b"),)),)


def test_an_image_becomes_a_link() -> None:
    assert parse_blocks("![a cat](https://a.b/cat.png)") == (TextBlock((TextSpan("a cat", link="https://a.b/cat.png"),)),)


def test_html_is_shown_as_written() -> None:
    (block,) = parse_blocks("<script>alert(1)</script>")
    assert isinstance(block, TextBlock) and "".join(span.text for span in block.spans) == "<script>alert(1)</script>"


# Cost

LONG = {
    "prose": "A sentence with *some* marks in it, and another one.\n\n",
    "a list": "- an item with `code` and a [link](https://a.b)\n",
    "a numbered list": "1. an item\n   in two lines\n",
    "a quote": "> A quoted line.\n>\n",
    "code": "    x = compute(y)\n",
    "a table": "| one | two |\n",
    "math": "$$\n\\frac{a}{b}\n$$\n\nwhere $a = 1$.\n\n",
    "one line": "word ",
}
BEFORE = {"code": "```python\n", "a table": "| a | b |\n|---|---|\n"}


@pytest.mark.parametrize("kind", LONG)
def test_the_cost_of_an_update_does_not_grow_with_the_reply(kind: str) -> None:
    text = BEFORE.get(kind, "") + LONG[kind] * (16_000 // len(LONG[kind]))
    streaming_, costs = StreamingMarkdown(), []
    for at in range(0, len(text), 40):
        before = streaming_.parsed_chars
        streaming_.append(text[at : at + 40])
        costs.append(streaming_.parsed_chars - before)
    quarter = len(costs) // 4
    assert sum(costs[-quarter:]) <= 1.2 * sum(costs[quarter : 2 * quarter])


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_is_parsed_at_most_three_times(kind: str) -> None:
    text = BEFORE.get(kind, "") + LONG[kind] * (20_000 // len(LONG[kind]))
    streaming_ = StreamingMarkdown()
    streaming_.append(text)
    assert streaming_.parsed_chars <= 3 * len(text)


def test_bare_addresses_are_links() -> None:
    source = "See https://a.b/c_d?e=f. (https://en.org/x_(y)), **http://g.h**! `https://code` ftp://i.j"
    (block,) = parse_blocks(source)
    assert isinstance(block, TextBlock)
    assert [span.text for span in block.spans if span.link] == ["https://a.b/c_d?e=f", "https://en.org/x_(y)", "http://g.h"]
    assert all(span.link == span.text for span in block.spans if span.link)


def test_footnotes_are_superscripts() -> None:
    assert parse_blocks("Yes.[^1]\n\n[^1]: Or `[^1]`.") == (
        TextBlock((TextSpan("Yes.¹"),)),
        TextBlock((TextSpan("¹ Or "), TextSpan("[^1]", code=True), TextSpan("."))),
    )


def test_each_footnote_starts_a_line() -> None:
    texts = [span.text for block in parse_blocks("A[^1], b[^note].\n\n[^1]: One\n[^note]: Two") for span in block.spans]
    assert texts == ["A¹, b[note].", "¹ One\u2028[note] Two"]


def test_bold_italic_text() -> None:
    assert parse_blocks("***both***") == (TextBlock((TextSpan("both", bold=True, italic=True),)),)


# MathBlock and tasks


@pytest.mark.parametrize(
    ("source", "latex"), [("$x^2$", "x^2"), ("\\(a_1\\)", "a_1"), ("$$y$$ too", "y"), ("is $\\$5$ ok", "\\$5"), ("$a$-b", "a")]
)
def test_inline_math(source: str, latex: str) -> None:
    (block,) = parse_blocks(source)
    assert isinstance(block, TextBlock)
    assert [span.text for span in block.spans if span.math] == [latex]


@pytest.mark.parametrize("source", ["It costs $5 and $10.", "$ x $", "US$ 3$", "\\$x\\$", "`$x$`", "$x", "\\(x", "$$", "$$$$"])
def test_prices_and_single_dollars_are_not_math(source: str) -> None:
    assert not [span for block in parse_blocks(source) if isinstance(block, TextBlock) for span in block.spans if span.math]


@pytest.mark.parametrize("source", ["$$x$$", "$$\nx\n$$", "\\[x\\]", "\\[\nx\n\\]", "$$ x\n$$"])
def test_display_math(source: str) -> None:
    assert parse_blocks(source) == (MathBlock("x"),)


def test_environments_are_display_math() -> None:
    source = "\\begin{align*}\na &= b \\\\\nc &= d\n\\end{align*}"
    assert parse_blocks(f"so\n{source}\n\nEnd.")[1] == MathBlock("\\begin{align*}a &= b \\\\\nc &= d\\end{align*}")
    for inverse in ("\\begin{pmatrix}1&2\\end{pmatrix}^{-1}", "\\begin{pmatrix}\n1&2\n\\end{pmatrix}^{-1}"):
        assert parse_blocks(inverse) == (MathBlock("\\begin{pmatrix}1&2\\end{pmatrix}^{-1}"),)


@pytest.mark.parametrize(
    "latex", ["\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}^{-1}", "\\begin{align}a&=b\\end{align}", "\\ce{Ca(OH)2 <=> Ca^2+ + 2OH^-}"]
)
def test_matrices_with_exponents_and_chemical_formulas_are_typeset(latex: str) -> None:
    assert typeset(latex, True, 16.0) is not None


def test_unclosed_math_is_shown_as_written() -> None:
    first, second = parse_blocks("$$\nx = \\frac\n\nMore.")
    assert first == TextBlock((TextSpan("$$\u2028x = \\frac", code=True),))
    assert second == TextBlock((TextSpan("More."),))


def test_task_list_items_are_checked_or_unchecked() -> None:
    found = parse_blocks("- [ ] open\n- [x] **done**\n- [y] neither\n\n[x] no item")
    assert [block.done for block in found if isinstance(block, TextBlock)] == [False, True, None, None]
    assert isinstance(found[1], TextBlock) and found[1].spans == (TextSpan("done", bold=True),)


# Strange input


@pytest.mark.parametrize(
    "text", ["> " * 5000 + "deep", "- " * 3000 + "deep", "[" * 5000, "*" * 5000 + "deep", "`" * 5000, "$" * 5000, "|" * 5000]
)
def test_deep_nesting_keeps_the_text(text: str) -> None:
    found = parse_blocks(text)
    words = "".join(span.text for block in found if isinstance(block, TextBlock) for span in block.spans)
    assert "deep" in words or "deep" not in text
    assert found


def test_lists_can_be_fifteen_levels_deep() -> None:
    text = "".join("  " * level + f"- level {level}\n" for level in range(15))
    assert [block.indent for block in parse_blocks(text) if isinstance(block, TextBlock)] == list(range(1, 16))


def test_nul_and_lone_surrogates_become_the_replacement_character() -> None:
    (block,) = parse_blocks("a\0b\ud800c\udfffd")
    assert block == TextBlock((TextSpan("a\ufffdb\ufffdc\ufffdd"),))
    assert StreamingMarkdown().append("\ud83d").blocks == (TextBlock((TextSpan("\ufffd"),)),)


@pytest.mark.parametrize(
    "text",
    ["The number 84 has **12** positive divisors.", "Use `x ** 2`, then **that**.", "- **One**: `a`\n- **Two**"],
)
def test_a_growing_text_never_shows_markers_that_will_disappear(text: str) -> None:
    whole = "".join(map(plain_text, parse_blocks(text)))
    for size in range(len(text) + 1):
        start = text[: size - held_back(text[:size])]
        shown = "".join(map(plain_text, parse_blocks(start)))
        assert whole.startswith(shown.rstrip()), start


@given(markdown)
def test_little_text_is_held_back_and_none_of_an_earlier_line(text: str) -> None:
    held = held_back(text)
    assert 0 <= held <= MAX_HELD and "\n" not in text[len(text) - held :]
    assert not held_back(text + "\n")


def test_a_long_text_after_a_marker_is_shown() -> None:
    assert held_back("2 ** " + "x" * MAX_HELD) == 0 and held_back("2 ** " + "x" * 20) == 23
