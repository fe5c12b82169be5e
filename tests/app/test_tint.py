"""The tint: every shown character is traced to the source, and wears the line of whoever supplied it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextCharFormat

from app.conversations.token_sources import Suppliers
from app.rendering.blocks import Rule, Table
from app.rendering.parts import OBJECT, plain
from app.rendering.streaming import StreamingMarkdown
from app.rendering.tint import runs_of
from app.rendering.tracing import Tracing
from mlx_engine.events import Commit
from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine, done
from tests.benchmarks.recorded_engine import RICH

Start = Callable[..., Running]
STYLES = QTextCharFormat.UnderlineStyle


def traced(text: str) -> list[tuple[str, str]]:
    """Each shown character with the character of the source that it is said to come from; empty where nothing is said."""
    source = StreamingMarkdown()
    source.append(text)
    found = []
    origins = source.origins
    for place, origin in enumerate(origins):
        until = origins[place + 1].block if place + 1 < len(origins) else len(source.blocks)
        tracing = Tracing(text, origin.start, origin.end)
        for block in source.blocks[origin.block : until]:
            shown = plain(block)
            told = [""] * len(shown)
            for one in tracing.trace(block):
                told[one.at : one.at + one.length] = text[one.source : one.source + one.length]
            found += zip(shown, told, strict=True)
    return found


def agree(shown: str, source: str) -> bool:
    return shown in (source, OBJECT) or (shown.isspace() and source.isspace())


@pytest.mark.parametrize("text", [RICH, "a [link](https://a.b/c) on **and** on `x*y` &amp; 1 < 2\nnext line\n\n- [x] done\n- two"])
def test_all_words_of_a_real_reply_are_traced_to_themselves(text: str) -> None:
    pairs = traced(text)
    assert all(agree(shown, source) for shown, source in pairs if source)
    visible = [source for shown, source in pairs if not shown.isspace()]
    assert sum(bool(source) for source in visible) >= len(visible) - 1


@given(st.text(st.sampled_from("ab *_`#>-|\n[](x)\\&1.😀é"), max_size=80))
def test_whatever_the_markdown_a_traced_character_is_the_sources(text: str) -> None:
    assert all(agree(shown, source) for shown, source in traced(text) if source)


@given(
    st.lists(st.tuples(st.sampled_from(["drafter", "lookup", "target"]), st.text("ab😀é\n ", min_size=1, max_size=6)), max_size=12)
)
def test_runs_tell_for_each_character_who_supplied_it(pieces) -> None:  # type: ignore[no-untyped-def]
    """In offsets as Qt counts them, two for an emoji."""
    text = "".join(piece for _, piece in pieces)
    suppliers = Suppliers()
    for source, piece in pieces:
        suppliers.add(len(piece), ((source, len(piece)),))
    by = [source for source, piece in pieces for _ in piece]
    source = StreamingMarkdown()
    source.append(text)
    origins = source.origins
    for place, origin in enumerate(origins):
        until = origins[place + 1].block if place + 1 < len(origins) else len(source.blocks)
        tracing = Tracing(text, origin.start, origin.end)
        for block in source.blocks[origin.block : until]:
            if isinstance(block, Rule | Table):
                continue
            stretches = tracing.trace(block)
            expected = {}
            units = [0]
            for char in plain(block):
                units.append(units[-1] + (2 if char > "\uffff" else 1))
            for one in stretches:
                for step in range(one.length):
                    for unit in range(units[one.at + step], units[one.at + step + 1]):
                        expected[unit] = by[one.source + step]
            told = {unit: who for first, last, who in runs_of(block, stretches, suppliers.between) for unit in range(first, last)}
            assert told == expected


def reply(*pieces: tuple[str, str]) -> list[object]:
    return [*(Commit(text, "answer", (1,), (by,), ((by, len(text)),)) for by, text in pieces), done()]  # type: ignore[arg-type]


def lines(app: Running, part: int = 0) -> list[tuple[str, QTextCharFormat.UnderlineStyle]]:
    view = app.reply.blocks.part_view(part)
    return [(one.cursor.selectedText(), one.format.underlineStyle()) for one in view.extraSelections()]


def test_each_supplier_has_a_line_of_its_own_and_the_legend_tells_it(start: Start) -> None:
    app = start(ScriptedEngine([reply(("prefill", "One "), ("drafter", "**two** th"), ("lookup", "ree "), ("target", "four"))]))
    app.ask("Count")
    assert lines(app) == [] and not app.window.foot.legend.isVisible()
    app.window.commands.token_sources.trigger()
    styles = STYLES.DashUnderline, STYLES.SingleUnderline, STYLES.DotLine, STYLES.DashUnderline
    assert lines(app) == list(zip(("One ", "two th", "ree ", "four"), styles, strict=True))
    legend = app.window.foot.legend
    assert legend.isVisible() and legend.toPlainText().split("    ") == ["drafted and accepted", "lookup", "the target’s own"]
    app.window.commands.token_sources.trigger()
    assert lines(app) == [] and not legend.isVisible()


def test_selection_code_and_tables_keep_theirs_under_the_tint(start: Start) -> None:
    text = "Words\n\n```\ncode one\n```\n\n| a | b |\n|---|---|\n| c | dd |"
    at = text.index("one"), text.index("dd")
    pieces = ("drafter", text[: at[0]]), ("target", text[at[0] : at[1]]), ("lookup", text[at[1] :])
    app = start(ScriptedEngine([reply(*pieces)]))
    app.window.preferences.token_sources = True
    app.ask("Go")
    code = app.reply.blocks.part_view(1)
    assert [one.cursor.selectedText() for one in code._lines.extraSelections()] == ["code ", "one"]
    (rows,) = (entry.view for entry in app.reply.blocks.part_view(2)._rows.entries)
    assert [(one.cursor.selectedText(), one.format.underlineStyle()) for one in rows.extraSelections()] == [
        ("a", STYLES.DashUnderline), ("b", STYLES.DashUnderline), ("c", STYLES.DashUnderline), ("dd", STYLES.DotLine),
    ]  # fmt: skip
    app.window.transcript.selectAll()
    assert len(lines(app)) == 2, "the tint and the selection"
    app.window.preferences.token_sources = False


def test_a_reply_that_was_stored_is_tinted_when_it_is_opened_again(start: Start, tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = [
        Commit("Hm.", "thinking", (1,), ("target",), (("target", 3),)), *reply(("drafter", "An answer"), ("target", "."))
    ]  # fmt: skip
    app = start(ScriptedEngine([script]), data=tmp_path)
    app.ask("Hi")
    app.window.close()
    app.until(lambda: app.slipstream.store.wait(0.05))
    again = start(data=tmp_path)
    again.until(lambda: bool(again.window.transcript.reply_views()))
    again.window.preferences.token_sources = True
    assert [text for text, _ in lines(again)] == ["An answer", "."]
    assert again.reply.thinking.header.text().startswith("▸  Thought for ")
    again.window.preferences.token_sources = False


def test_a_reply_of_which_nothing_is_known_wears_no_line(start: Start) -> None:
    app = start(ScriptedEngine([[Commit("Who knows", "answer", (1,), ("target",)), done()]]))
    app.window.preferences.token_sources = True
    app.ask("Hi")
    assert lines(app) == []
    app.window.preferences.token_sources = False


@pytest.mark.parametrize(
    "text",
    [
        "\u05e9\u05dc\u05d5\u05dd **\u05e2\u05d5\u05dc\u05dd**\n\n- \u0645\u0631\u062d\u0628\u0627",
        "e\u0301" * 300 + " \u0300" * 50,
        "a\0b \ud83d c \udc4d\r\nd",
        "> " * 400 + "deep",
        "x" * 50_000,
        "|" * 300 + "\n" + "|-" * 150 + "|\n" + "|y" * 150,
        "```\n" + "y = 1\n" * 5_000,
    ],
)
def test_strange_text_is_tinted_without_harm(start: Start, text: str) -> None:
    app = start(ScriptedEngine([reply(*(("drafter" if at % 2 else "target", text[at * 997 :][:997]) for at in range(52)))]))
    app.window.preferences.token_sources = True
    app.ask("Go")
    app.until(lambda: app.reply.read)
    app.window.grab()
    app.window.preferences.token_sources = False
