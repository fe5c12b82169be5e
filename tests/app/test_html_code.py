"""HTML is colored while it grows, whatever it holds, and without being read again and again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pygments.lexers.html import HtmlLexer  # type: ignore[import-untyped]

from app.rendering.highlight import Highlighter
from app.rendering.html_code import HtmlCode

TAGS = ["<p>", "</p>", "<script>", "<script src='a'>", "</script>", "< / script >", "<style>", "</style>", "<scripture>"]
TORN = [
    "<",
    ">",
    "/",
    "&",
    ";",
    "&amp;",
    "!",
    "?",
    "--",
    "</scr",
    "ipt>",
    '<a href="',
    "<a b='",
    "<a b=",
    '"',
    "'",
    "=",
    "/*",
    "*/",
]
OTHER = ["<!--", "-->", "<![CDATA[", "]]>", "<?php", "?>", "<!DOCTYPE html>", " ", "\n", "\n\n", "\n  ", "word", "𝔸"]
CODE = ["if (a < b && c > d) {", "}\n", "color: red;", "x = `<b>`;\n"]
PIECES = [*TAGS, *TORN, *OTHER, *CODE]
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
PAGES = {
    "markup": "<!DOCTYPE html>\n<html>\n<body>" + PAGE * 100 + "</body>\n</html>\n",
    "style": "<html>\n<style>\n" + STYLE * 200 + "</style>\n" + PAGE * 20,
    "script": "<html>\n<body>\n" + PAGE * 20 + "<script>\n" + SCRIPT * 150 + "</script>\n</body>\n" + PAGE * 20,
    "comment": "<html>\n<!--\n" + PAGE.replace("-->", "").replace("<!--", "") * 100 + "-->\n" + PAGE * 20,
}


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("<!-->")
@example("<script")
def test_its_tokens_are_those_of_pygments_whatever_the_text(text: str) -> None:
    options = {"stripnl": False, "ensurenl": False}
    assert list(HtmlCode(**options).get_tokens(text)) == list(HtmlLexer(**options).get_tokens(text))


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.data())
@example(["<script>\n", "a\n", "b\n", "</scr", "ipt>", "\n", "c"], None)
@example(["\n", '<a href="', "x", "\n", "<p>", "\n", '"', ">"], None)
@example(["\n<", "!", "--", "\n", "\n", "-->"], None)
@example(["\n&", "word", "<p>", "\n<p>", ";", "\n"], None)
def test_growing_html_always_has_the_colors_of_the_whole(pieces: list[str], data: st.DataObject | None) -> None:
    growing, text = Highlighter("html"), ""
    while pieces:
        count = data.draw(st.integers(1, 4)) if data is not None else 1
        text += "".join(pieces[:count])
        del pieces[:count]
        growing.update(text)
        whole = Highlighter("html")
        whole.update(text)
        assert growing.lines == whole.lines


@pytest.mark.parametrize("page", PAGES)
def test_a_long_page_is_read_a_few_times_at_most(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, read = PAGES[page], []
    assert len(code) > 15_000
    growing, whole = Highlighter("html"), Highlighter("html")
    real = growing._lexer.get_tokens
    monkeypatch.setattr(growing._lexer, "get_tokens", lambda text: read.append(len(text)) or real(text))
    updates = range(200, len(code) + 200, 200)
    for end in updates:
        growing.update(code[:end])
    whole.update(code)
    assert growing.lines == whole.lines
    assert sum(read) < 4 * len(code)


def test_a_page_that_was_replaced_is_read_anew() -> None:
    growing, whole = Highlighter("html"), Highlighter("html")
    growing.update("<p>\n<!-- a\n")
    growing.update("\n<b>\n</b>\n")
    whole.update("\n<b>\n</b>\n")
    assert growing.lines == whole.lines
