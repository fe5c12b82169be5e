"""Only what changed is drawn."""

import re
from itertools import pairwise

import pytest
from PySide6.QtGui import QFontMetrics, QTextCharFormat
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.rendering import blocks
from app.rendering.blocks import OBJECT, CodeBlock
from app.rendering.blocks_view import BlocksView
from app.rendering.code_view import CodeView
from app.rendering.text_view import MARKER_GAP, TextView
from app.widgets.theme import Theme
from tests.benchmarks.recorded_engine import TEXT


def contents(view: BlocksView) -> list[str]:
    return [shown(view.part_view(index)) for index in range(len(view.parts))]


def shown(view: object) -> str:
    if isinstance(view, TextView):
        return view.toPlainText()
    return view.text if isinstance(view, CodeView) else str(view.block)  # type: ignore[attr-defined]


def streamed(qapp: QApplication, text: str, step: int) -> BlocksView:
    view = BlocksView(Theme(qapp, "light"))
    for at in range(0, len(text), step):
        view.append(text[at : at + step])
    return view


def test_a_streamed_reply_equals_one_drawn_at_once(qapp: QApplication, qtbot: QtBot) -> None:
    whole = streamed(qapp, TEXT, len(TEXT))
    for step in (5, 40, 333):
        view = streamed(qapp, TEXT, step)
        assert view.blocks == whole.blocks
        assert contents(view) == contents(whole)


def test_finished_blocks_are_not_drawn_again(qapp: QApplication, qtbot: QtBot) -> None:
    once, twice = (streamed(qapp, TEXT * copies, 40) for copies in (2, 4))
    assert twice.drawn <= 2.2 * once.drawn


def test_a_growing_code_block_keeps_its_widget(qapp: QApplication, qtbot: QtBot) -> None:
    view = BlocksView(Theme(qapp, "light"))
    view.append("```python\nx = 1\n")
    (code,) = view.findChildren(CodeView)
    view.append("y = 2\n```\nend")
    assert view.findChildren(CodeView) == [code]
    assert code.text == "x = 1\ny = 2"


def test_redrawing_keeps_the_content(qapp: QApplication, qtbot: QtBot) -> None:
    view = streamed(qapp, TEXT, 50)
    before = contents(view)
    view.redraw()
    assert contents(view) == before


def test_code_in_a_list_has_its_own_view(qapp: QApplication, qtbot: QtBot) -> None:
    view = streamed(qapp, "1. run\n   ```bash\n   ls\n   ```\n2. done", 3)
    assert CodeBlock("bash", "ls", indent=1) in view.blocks
    assert [code.text for code in view.findChildren(CodeView) if code.isVisibleTo(view)] == ["ls"]


@pytest.mark.parametrize("text", ["144.", "1969. Armstrong", "> 1969. c", "100) d\n101) e"])
def test_no_digit_of_a_long_number_is_left_of_the_text_area(text: str, qapp: QApplication, qtbot: QtBot) -> None:
    view = streamed(qapp, text, 50)
    (entry,) = view.entries
    assert isinstance(entry.view, TextView)
    paragraph = entry.view.document().lastBlock()
    (number,) = re.findall(r"\d+", text.splitlines()[-1])
    assert paragraph.blockFormat().leftMargin() >= QFontMetrics(Theme(qapp).text_font).horizontalAdvance(number) + MARKER_GAP


def tops(view: BlocksView) -> list[float]:
    """Return the top of the text of each paragraph."""
    found = []
    for entry in view.entries:
        assert isinstance(entry.view, TextView)
        document = entry.view.document()
        paragraph = document.begin()
        while paragraph.isValid():
            layout = document.documentLayout()
            found.append(entry.top + layout.blockBoundingRect(paragraph).top() + paragraph.layout().lineAt(0).y())
            paragraph = paragraph.next()
    return found


@pytest.mark.parametrize(
    "source", ["One.\n\n", "# Title\n\nText.\n\n", "---\n\nText.\n\n", "- a\n- b\n\nText.\n\n", "$$\nx\n$$\n\nText.\n\n"]
)
def test_paragraphs_are_equally_far_apart_at_the_end_of_a_part(
    source: str, qapp: QApplication, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = []
    for most in (1000, 12, 1):
        monkeypatch.setattr(blocks, "MAX_PART_BLOCKS", most)
        view = BlocksView(Theme(qapp, "light"))
        view.append(source * 20)
        view.fit(600)
        qtbot.waitUntil(lambda view=view: not any(text.formulas_pending for text in view.findChildren(TextView)), timeout=120_000)
        view.fit(600)
        places.append(tops(view))
    steps = [[b - a for a, b in pairwise(found)] for found in places]
    assert steps[1] == pytest.approx(steps[0], abs=1)  # the height of a part is a whole number of pixels
    assert steps[2] == pytest.approx(steps[0], abs=1)


def test_a_deep_formula_after_an_emoji_is_aligned_once_it_is_typeset(qapp: QApplication, qtbot: QtBot) -> None:
    """Qt counts an emoji as two characters."""
    view = streamed(qapp, "👍 😀 is $\\frac{\\frac{a}{b}}{\\frac{c}{d}}$ and $\\frac{1}{\\frac{2}{3}}$", 80)
    text = view.part_view(0)
    assert isinstance(text, TextView)
    qtbot.waitUntil(lambda: not text.formulas_pending, timeout=120_000)
    formula, alignments = text.document().find(OBJECT), []
    while not formula.isNull():
        alignments.append(formula.charFormat().verticalAlignment())
        formula = text.document().find(OBJECT, formula)
    assert alignments == [QTextCharFormat.VerticalAlignment.AlignMiddle] * 2


def darkness(qapp: QApplication, qtbot: QtBot, source: str) -> int:
    view = streamed(qapp, source, 80)
    qtbot.addWidget(view)
    view.resize(300, 40)
    image = view.grab().toImage()
    return sum(255 - image.pixelColor(x, y).lightness() for x in range(image.width()) for y in range(image.height()))


def test_bold_italic_text_is_bolder_than_italic_text(qapp: QApplication, qtbot: QtBot) -> None:
    plain, bold, italic, both = (darkness(qapp, qtbot, f"{sign}Weight{sign}") for sign in ("", "**", "*", "***"))
    assert bold > plain and both > 1.1 * italic
