"""Token sources: every character shown is mapped to the Markdown and underlined by where its token came from."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from app.rendering.blocks import OBJECT, Block, RuleBlock, TableBlock, plain_text
from app.rendering.streaming import StreamingMarkdown
from app.rendering.text_marks import MappedText, map_blocks, underline_block
from app.storage.reply import Suppliers
from mlx_engine.contract.events import Commit
from tests.app.conftest import Running, Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, done
from tests.benchmarks.recorded_engine import RICH

STYLES = QTextCharFormat.UnderlineStyle


def mapped_blocks(text: str) -> Iterator[tuple[Block, tuple[MappedText, ...]]]:
    markdown = StreamingMarkdown(text)
    mapped: dict[int, tuple[MappedText, ...]] = {}
    for number, block in enumerate(markdown.blocks):
        if number not in mapped:
            mapped.update(map_blocks(text, markdown, number))
        yield block, mapped[number]


def mapped_chars(text: str) -> list[tuple[str, str]]:
    """Return each character shown and the character of the source that it is mapped to, or empty."""
    found = []
    for block, mapping in mapped_blocks(text):
        shown = plain_text(block)
        sources = [""] * len(shown)
        for one in mapping:
            sources[one.start : one.start + one.length] = text[one.source : one.source + one.length]
        found += zip(shown, sources, strict=True)
    return found


def agree(shown: str, source: str) -> bool:
    return shown in (source, OBJECT) or (shown.isspace() and source.isspace())


@pytest.mark.parametrize("text", [RICH, "a [link](https://a.b/c) on **and** on `x*y` &amp; 1 < 2\nnext line\n\n- [x] done\n- two"])
def test_all_words_of_a_real_reply_are_mapped_to_themselves(text: str) -> None:
    pairs = mapped_chars(text)
    assert all(agree(shown, source) for shown, source in pairs if source)
    visible = [source for shown, source in pairs if not shown.isspace()]
    assert sum(bool(source) for source in visible) >= len(visible) - 1


@given(st.text(st.sampled_from("ab *_`#>-|\n[](x)\\&1.😀é"), max_size=80))
def test_a_mapped_character_is_the_one_in_the_source(text: str) -> None:
    assert all(agree(shown, source) for shown, source in mapped_chars(text) if source)


@given(
    st.lists(st.tuples(st.sampled_from(["drafter", "lookup", "target"]), st.text("ab😀é\n ", min_size=1, max_size=6)), max_size=12)
)
def test_underlines_give_the_source_of_each_character(pieces) -> None:  # type: ignore[no-untyped-def]
    """Offsets are Qt's, in which an emoji counts as two."""
    text = "".join(piece for _, piece in pieces)
    suppliers = Suppliers()
    for source, piece in pieces:
        suppliers.add(len(piece), ((source, len(piece)),))
    by = [source for source, piece in pieces for _ in piece]
    for block, mapping in mapped_blocks(text):
        if isinstance(block, RuleBlock | TableBlock):
            continue
        expected = {}
        units = [0]
        for char in plain_text(block):
            units.append(units[-1] + (2 if char > "\uffff" else 1))
        for one in mapping:
            for step in range(one.length):
                for unit in range(units[one.start + step], units[one.start + step + 1]):
                    expected[unit] = by[one.source + step]
        underlines = underline_block(block, mapping, suppliers.between)
        assert {unit: kind for first, last, kind in underlines for unit in range(first, last)} == expected


def reply(*pieces: tuple[str, str]) -> list[object]:
    return [*(Commit(text, "answer", (1,), (by,), ((by, len(text)),)) for by, text in pieces), done()]  # type: ignore[arg-type]


def underlined(app: Running, part: int = 0) -> list[tuple[str, QTextCharFormat.UnderlineStyle]]:
    view = app.reply.blocks.part_view(part)
    return [(one.cursor.selectedText(), one.format.underlineStyle()) for one in view.extraSelections()]


def test_each_source_has_an_underline_and_the_legend_explains_it(start: Start) -> None:
    pieces = ("prefill", "One "), ("drafter", "**two** th"), ("lookup", "ree "), ("target", "four")
    unknown = [Commit("Who knows", "answer", (1,), ("target",)), done()]
    app = start(ScriptedEngine([reply(*pieces), unknown]))
    app.ask("Count")
    assert underlined(app) == [] and not app.window.foot.legend.isVisible()
    app.run("token_sources")
    styles = STYLES.DashUnderline, STYLES.SingleUnderline, STYLES.DotLine, STYLES.DashUnderline
    assert underlined(app) == list(zip(("One ", "two th", "ree ", "four"), styles, strict=True))
    legend = app.window.foot.legend
    assert legend.isVisible() and legend.toPlainText().split("    ") == [
        "Drafted and accepted",
        "Copied from earlier text",
        "From the target model",
    ]
    for width in range(200, 700, 40):
        legend.resize(width, legend.height())
        block = legend.document().firstBlock()
        starts = [block.layout().lineAt(number).textStart() for number in range(1, block.layout().lineCount())]
        assert all(block.text()[start - 1] == " " for start in starts), "lines break between entries only"
    app.run("token_sources")
    assert underlined(app) == [] and not legend.isVisible()
    app.run("token_sources")
    app.ask("Without known sources")
    assert underlined(app) == []
    app.run("token_sources")


def test_code_tables_and_selections_are_underlined_too(start: Start) -> None:
    text = "Words\n\n```\ncode one\n```\n\n| a | b |\n|---|---|\n| c | dd |"
    at = text.index("one"), text.index("dd")
    pieces = ("drafter", text[: at[0]]), ("target", text[at[0] : at[1]]), ("lookup", text[at[1] :])
    app = start(ScriptedEngine([reply(*pieces)]))
    app.services.preferences.token_sources = True
    app.ask("Go")
    code = app.reply.blocks.part_view(1)
    lines = code.findChild(QPlainTextEdit)
    assert [one.cursor.selectedText() for one in lines.extraSelections()] == ["code ", "one"]
    (rows,) = (entry.view for entry in app.reply.blocks.part_view(2).entries)
    assert [(one.cursor.selectedText(), one.format.underlineStyle()) for one in rows.extraSelections()] == [
        ("a", STYLES.DashUnderline), ("b", STYLES.DashUnderline), ("c", STYLES.DashUnderline), ("dd", STYLES.DotLine),
    ]  # fmt: skip
    app.window.transcript.selectAll()
    assert len(underlined(app)) == 2, "an underline and the selection"
    app.services.preferences.token_sources = False


def test_a_stored_reply_is_underlined_when_it_is_opened_again(start: Start, tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = [
        Commit("Hm.", "thinking", (1,), ("target",), (("target", 3),)), *reply(("drafter", "An answer"), ("target", "."))
    ]  # fmt: skip
    app = start(ScriptedEngine([script]), data=tmp_path)
    app.ask("Hi")
    app.quit()
    app.until(lambda: app.services.store.wait(0.05))
    again = start(data=tmp_path)
    again.until(lambda: bool(reply_views(again.window.transcript)))
    again.services.preferences.token_sources = True
    assert [text for text, _ in underlined(again)] == ["An answer", "."]
    assert again.reply.thinking.header.text().startswith("▸  Thought for ")
    again.services.preferences.token_sources = False


STRANGE = [
    "\u05e9\u05dc\u05d5\u05dd **\u05e2\u05d5\u05dc\u05dd**\n\n- \u0645\u0631\u062d\u0628\u0627",
    "e\u0301" * 300 + " \u0300" * 50,
    "a\0b \ud83d c \udc4d\r\nd",
    "> " * 400 + "deep",
    "x" * 10_000,
    "|" * 300 + "\n" + "|-" * 150 + "|\n" + "|y" * 150,
    "```\n" + "y = 1\n" * 1_000,
]


def test_strange_text_is_underlined_by_its_sources(start: Start) -> None:
    def replied(text: str) -> list[object]:
        return reply(*(("drafter" if at % 2 else "target", text[at * 997 :][:997]) for at in range(11)))

    app = start(ScriptedEngine([replied(text) for text in STRANGE]))
    app.services.preferences.token_sources = True
    for text in STRANGE:
        app.session.new_chat()
        app.ask("Go")
        app.until(lambda: app.reply.complete)
        app.window.grab()
        views = [*app.reply.blocks.findChildren(QPlainTextEdit), *app.reply.blocks.findChildren(QTextEdit)]
        styles = {mark.format.underlineStyle() for view in views for mark in view.extraSelections()}
        expected = {STYLES.DashUnderline, STYLES.SingleUnderline} if len(text) > 997 else {STYLES.DashUnderline}
        assert styles == (set() if "\0" in text else expected), "text that was cleaned has other lengths than its sources"
    app.services.preferences.token_sources = False
