"""Markdown as HTML: what other apps paste, and what is printed."""

import subprocess
import sys
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.rendering.clipboard import copy_markdown
from app.rendering.html_writer import to_html
from app.rendering.markdown import is_safe_link

VOID = {"br", "hr"}
PIECES = st.sampled_from(
    [
        "word ", "*", "**", "`", "\n", "\n\n", "> ", "- ", "1. ", "# ", "$x<y$", "$$\n\\frac12\n$$", "```html\n", "```\n", "~~",
        "<script>", "<img src=x onerror=alert(1)>", "![a\"b](https://x.y/z.png)", "[a](https://x.y/?a=1&b=\"2)", "[b](file:///etc)",
        "[c](javascript:alert(1))", "[d](data:text/html,x)", "&lt;", "&", "| a | b |\n|---|--:|\n| 1 | 2 |\n", "https://x.y",
        '"', "'", "\\",
    ]
)  # fmt: skip


class Checker(HTMLParser):
    """Checks that tags are balanced, and notes what could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(st.lists(PIECES, max_size=30).map("".join))
def test_html_of_any_markdown_is_balanced_and_loads_nothing(source: str) -> None:
    checker = Checker()
    checker.feed(to_html(source))
    checker.close()
    assert checker.open == []
    assert not checker.tags & {"script", "img", "iframe", "object", "style", "link", "svg"}
    assert checker.attributes <= {"href", "align", "class", "start"}
    assert all(map(is_safe_link, checker.links))


def test_the_kinds_of_blocks_stay() -> None:
    html = to_html("# T\n\n*a* **b** ~~c~~ `d` $e$\n\n3. x\n   - y\n\n| A | B |\n|---|--:|\n| 1 | 2 |\n\n```py\nf()\n```\n")
    for part in (
        "<h1>T</h1>", "<em>a</em>", "<strong>b</strong>", "<s>c</s>", "<code>d</code>", "<code>e</code>", '<ol start="3">', "<ul>",
        '<th align="right">B</th>', "<td>1</td>", '<pre><code class="language-py">f()</code></pre>',
    ):  # fmt: skip
        assert part in html


def test_a_copy_is_markdown_and_rich_text(qapp: QApplication) -> None:
    copy_markdown("A **word**\n")
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "A **word**\n" and "<strong>word</strong>" in data.html()


def test_a_process_that_has_copied_ends_without_a_crash() -> None:
    """The clipboard lives longer than Python."""
    program = (
        "from PySide6.QtWidgets import QApplication\nfrom app.rendering.clipboard import copy_markdown\n"
        "import builtins\nbuiltins.app = QApplication([])\ncopy_markdown('word')"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
