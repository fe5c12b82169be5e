"""Code is colored while it grows, at a cost that doesn't depend on its length."""

import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.rendering import highlighting
from app.rendering.highlighting import COMMON, PIECE, ColorRun, Highlighter, color_of, find_lexer
from tests.examples import SAMPLE

PYTHON = '''
def one(x):
    """A text
over lines."""
    return f"{x}" + 'y'  # why


@decorated
class Two(Base):
    value = 0x1F
'''


def colors(highlighter: Highlighter) -> list[list[str | None]]:
    """Return the color of each character, by line."""
    found = []
    for line in highlighter.lines:
        chars: list[str | None] = []
        for run in line:
            chars += [None] * (run.start - len(chars)) + [run.color] * run.length
        found.append(chars)
    return found


def colored_at_once(language: str, code: str) -> list[list[str | None]]:
    """Return the colors that Pygments gives to the whole code."""
    chars: list[str | None] = []
    for kind, value in find_lexer(language).get_tokens(code):
        chars += [color_of(kind)] * len(value)
    lines, at = [], 0
    for line in code.split("\n"):
        found = chars[at : at + len(line)]
        while found and found[-1] is None:
            found.pop()
        lines.append(found)
        at += len(line) + 1
    return lines


def grown(language: str, code: str, step: int) -> Highlighter:
    highlighter = Highlighter(language)
    for end in range(step, len(code) + step, step):
        highlighter.update(code[:end])
    return highlighter


def test_growing_code_gets_the_colors_of_the_whole() -> None:
    code = PYTHON * 40
    highlighter = grown("python", code, 31)
    assert colors(highlighter) == colored_at_once("python", code)
    assert len(highlighter.lines) == code.count("\n") + 1


METHOD = '''
    def method(self, x: int = 0x1F) -> str:
        """A text

        over lines, with code: `return "x"`."""
        if x:
            return f"{x}" + 'y'  # why
'''
PAGE = """
  <section class="card" id=one>
    <!-- what is
    here --><h2>Title &amp; more</h2>
    <p>Some <em>words</em>, 3 < 4 and "quoted".</p>
  </section>
"""
STYLE = ".card { color: #333; margin: 0 auto; }\n\n@media (max-width: 9em) {\n  .card > p { width: 50%; }\n}\n"
LOOP = '  for (let i = 0; i < a.length; i++) { a[i] = `<p class="x">${i > 2}</p>`; }\n'
SCRIPT = 'function f(a) {\n  // of "all"\n' + LOOP + "}\n\nf([1, 2]);\n"
LONG = {
    "python": ("python", "class All:\n" + METHOD * 120),
    "json": ("json", json.dumps([{"name": f"n{i}", "values": [i, True, None, 'a"b']} for i in range(300)], indent=2)),
    "swift": (
        "swift",
        "class All {\n"
        + '    func f(_ x: Int) -> String {\n        /* of\n        lines */ return "\\(x)" // y\n    }\n' * 200
        + "}\n",
    ),
    "yaml": ("yaml", "all:\n" + "  - name: one\n    text: |\n      of # lines\n      - two\n    on: true # y\n" * 200),
    "html": ("html", "<!DOCTYPE html>\n<html>\n<body>" + PAGE * 100 + "</body>\n</html>\n"),
    "html style": ("html", "<html>\n<style>\n" + STYLE * 200 + "</style>\n" + PAGE * 20),
    "html script": ("html", "<html>\n<body>\n" + PAGE * 20 + "<script>\n" + SCRIPT * 150 + "</script>\n</body>\n" + PAGE * 20),
    "html comment": (
        "html",
        "<html>\n<!--\n" + PAGE.replace("-->", "").replace("<!--", "") * 100 + "-->\n" + PAGE * 20,
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_block_gets_the_colors_of_the_whole_at_a_bounded_cost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    language, code = LONG[name]
    assert language in COMMON and len(code) > 12_000
    read: list[int] = []
    highlighter = Highlighter(language)
    real = highlighter._lexer.get_tokens
    monkeypatch.setattr(highlighter._lexer, "get_tokens", lambda text: read.append(len(text)) or real(text))
    updates = range(200, len(code) + 200, 200)
    for end in updates:
        highlighter.update(code[:end])
    assert sum(read) < len(updates) * 6000
    assert colors(highlighter) == colored_at_once(language, code)


@pytest.mark.parametrize("line", ["<p>a</p>", '<a href="', '{"a": [1, "b"]}, ', "x = 'y' + "])
def test_a_huge_line_is_colored_at_a_bounded_cost(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, read = line * ((20_000 if SAMPLE else 60_000) // len(line)), []
    highlighter = Highlighter("html" if "<" in line else "javascript")
    real = highlighter._lexer.get_tokens
    monkeypatch.setattr(highlighter._lexer, "get_tokens", lambda text: read.append(len(text)) or real(text))
    for end in range(500, len(code) + 500, 500):
        read.clear()
        highlighter.update(code[:end])
        assert sum(read) < 4 * PIECE
    (runs,) = highlighter.lines
    assert runs[-1].start + runs[-1].length > len(code) - 20
    assert all(one.start + one.length <= other.start for one, other in itertools.pairwise(runs))


TAGS = ["<p>", "</p>", "<script>", "<script src='a'>", "</script>", "< / script >", "<style>", "</style>", "<scripture>"]
TORN = [*"<>/&;!?=\"'", "&amp;", "--", "</scr", "ipt>", '<a href="', "<a b='", "<a b=", "/*", "*/"]
OTHER = ["<!--", "-->", "<![CDATA[", "]]>", "<?php", "?>", "<!DOCTYPE html>", " ", "\n", "\n\n", "\n  ", "word", "𝔸"]
CODE = ["if (a < b && c > d) {", "}\n", "color: red;", "x = `<b>`;\n"]


@given(st.lists(st.sampled_from([*TAGS, *TORN, *OTHER, *CODE]), max_size=40), st.data())
@example(["<script>\n", "a\n", "b\n", "</scr", "ipt>", "\n", "c"], None)
@example(["\n", '<a href="', "x", "\n", "<p>", "\n", '"', ">"], None)
@example(["\n<", "!", "--", "\n", "\n", "-->"], None)
@example(["\n&", "word", "<p>", "\n<p>", ";", "\n"], None)
def test_html_has_the_same_colors_however_it_arrives(pieces: list[str], data: st.DataObject | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.rendering.highlighting.PIECE", 40)
        patch.setattr("app.rendering.highlighting.MAX_PIECE", 160)
        patch.setattr("app.rendering.highlighting.LOOKAHEAD", 15)
        growing, text = Highlighter("html"), ""
        while pieces:
            count = data.draw(st.integers(1, 4)) if data is not None else 1
            text += "".join(pieces[:count])
            del pieces[:count]
            growing.update(text)
            whole = Highlighter("html")
            whole.update(text)
            assert growing.lines == whole.lines


@given(
    st.one_of(
        st.lists(st.sampled_from([*TAGS, *TORN, *OTHER, *CODE]), max_size=40).map("".join),
        st.text("<>/&;!-='\" \nabé", max_size=300),
    )
)
@example("</ script><\nscript>a</script>")
def test_html_has_the_colors_that_pygments_gives_to_it(text: str) -> None:
    """An element that is still open is colored as if its closing tag followed."""
    highlighter = Highlighter("html")
    highlighter.update(text)
    closing = highlighting._closing_tags.get(highlighting._open_element(text), "")
    expected = colored_at_once("html", text + closing)[: text.count("\n") + 1]
    expected[-1] = expected[-1][: len(text) - text.rfind("\n") - 1]
    while expected[-1] and expected[-1][-1] is None:
        expected[-1].pop()
    assert colors(highlighter) == expected


def test_a_comment_longer_than_a_piece_is_one_color() -> None:
    code = "/*\n" + " * A line of a license.\n" * 200 + " */\n" + "int x = 'y';\n" * 300
    assert colors(grown("c", code, 100)) == colored_at_once("c", code)


def test_update_reports_the_lines_whose_colors_changed() -> None:
    highlighter = Highlighter("c")
    highlighter.update("int x;\nret")
    assert highlighter.update("int x;\nreturn 1;\nint y;") == [1]


def test_keywords_strings_and_comments_differ_in_color() -> None:
    highlighter = Highlighter("python")
    highlighter.update("return 'x'  # note")
    assert highlighter.lines == [(ColorRun(0, 6, "keyword"), ColorRun(7, 3, "string"), ColorRun(12, 6, "comment"))]


def test_code_in_an_unknown_language_has_one_color() -> None:
    assert find_lexer("klingon") is None
    highlighter = Highlighter("klingon")
    highlighter.update("a\nb")
    highlighter.update("a\nb\nc")
    assert highlighter.lines == [(), (), ()]


@pytest.mark.parametrize(
    ("language", "before", "after"), [("python", "'open string", "return"), ("html", "<p>\n<!-- a\n", "\n<b>\n")]
)
def test_replaced_code_is_colored_from_the_start(language: str, before: str, after: str) -> None:
    highlighter = Highlighter(language)
    highlighter.update(before)
    highlighter.update(after)
    assert colors(highlighter) == colored_at_once(language, after)
