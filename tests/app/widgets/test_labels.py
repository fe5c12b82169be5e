"""Labels: markup is never interpreted, text keeps its size, long text is elided."""

import ast
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import Qt, QTextDocument
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from app.rendering.blocks import CodeBlock
from app.rendering.code_view import CodeView
from app.session.attachment_reader import AttachmentReader
from app.storage.reply import Reply
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.views.chat.composer import Composer
from app.views.transcript.stats_line import StatsLine
from app.widgets.controls import ElidedButton, Label, as_tooltip, small_label
from app.widgets.fact_table import FactTable
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.errors import EngineText
from tests.app.scripted_engine import stats

APP = Path(__file__).parents[3] / "app"
MARKUP = "<h1>big</h1><img src='/etc/hostname'>"


@pytest.mark.parametrize("text", [MARKUP, "<qt>x", "<b>bold</b>", "<table><tr><td>x"])
def test_a_label_shows_markup_as_text(qapp: QApplication, text: str) -> None:
    assert Label(text).sizeHint().height() == Label("plain").sizeHint().height()


def test_code_languages_and_imported_replies_cannot_style_the_window(qapp: QApplication) -> None:
    theme = Theme(qapp)
    views = [CodeView(theme, CodeBlock(language, "x")) for language in ("python", "<h1>x</h1>")]
    titles = [view.findChild(QLabel) for view in views]
    assert titles[0].sizeHint().height() == titles[1].sizeHint().height()
    lines = []
    for origin in ("gpt", MARKUP):
        line = StatsLine(theme)
        line.show_reply(Reply("plain", 10, reason="eos", origin=origin, stats=replace(stats(), why_plain=EngineText("", origin))))
        lines.append(line)
    assert lines[0].chip.sizeHint().height() == lines[1].chip.sizeHint().height()


@given(st.text(st.sampled_from("<>&\"' abht1/=!-\n"), max_size=30).map(lambda text: f"<b>{text}"))
def test_a_tooltip_shows_markup_as_text(text: str) -> None:
    tip = as_tooltip(text)
    assert tip == text or Qt.mightBeRichText(tip)
    if tip != text:
        document = QTextDocument()
        document.setHtml(tip)
        assert document.toPlainText().split() == text.split()


def is_ours(node: ast.expr) -> bool:
    """Return whether a text is our own: a literal, or a translation without values."""
    match node:
        case ast.Constant():
            return True
        case ast.IfExp(body=body, orelse=otherwise):
            return is_ours(body) and is_ours(otherwise)
        case ast.BinOp(left=left, right=right):
            return is_ours(left) and is_ours(right)
        case ast.Call(func=ast.Name(id="as_tooltip")):
            return True
        case ast.Call(func=ast.Name(id="tr"), keywords=[]):
            return True
        case ast.Call(func=ast.Attribute(attr="accessibleDescription" | "accessibleName")):
            return True  # of the widget, set from such a text
        case ast.Name(id=name):
            return name == "tip"  # a parameter with a translated text
    return False


def test_all_labels_tooltips_and_message_boxes_show_plain_text() -> None:
    for file in APP.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            where = f"{file.relative_to(APP)}:{node.lineno}"
            if isinstance(node.func, ast.Name) and node.func.id == "QLabel":
                raise AssertionError(f"{where} creates a label that interprets HTML; use Label")
            if isinstance(node.func, ast.Attribute) and node.func.attr == "setToolTip":
                assert is_ours(node.args[-1]), f"{where} shows a tooltip that may contain HTML; use as_tooltip"
        if "QMessageBox(" in source:
            assert source.count("setTextFormat(Qt.TextFormat.PlainText)") >= source.count("QMessageBox("), file.name


def test_a_label_keeps_its_size_when_its_look_changes_after_the_text_size(qapp: QApplication) -> None:
    theme = Theme(qapp)
    label = small_label(theme, "Fits", "chip")
    label.show()
    theme.set_text_size(30)
    set_look(label, "chip-accent")
    assert label.font().pixelSize() == theme.small().pixelSize()
    theme.set_text_size(DEFAULT_TEXT_SIZE)


def test_elided_text_keeps_its_full_text_for_screen_readers(qapp: QApplication) -> None:
    theme = Theme(qapp)
    label, name = small_label(theme, "x" * 100, elided=True), ElidedButton("Models", "pair", opens_menu=True)
    name.setText("Fish & " + "x" * 100)
    for widget in (label, name):
        widget.resize(80, 30)
        assert widget.minimumSizeHint().width() < 200 and not widget.grab().isNull()
        assert widget.text().endswith("x" * 100)


def test_facts_stay_together_in_a_tall_window(qapp: QApplication, qtbot: QtBot) -> None:
    table = FactTable(Theme(qapp))
    qtbot.addWidget(table)
    for count in (9, 3):
        table.show_facts({f"Name {number}": "Text" for number in range(count)})
        table.resize(400, 900)
        table.show()
        qtbot.waitUntil(lambda: table.findChildren(QLabel)[-1].y() > 0)
        labels = table.findChildren(QLabel)
        assert max(label.geometry().bottom() for label in labels) < 900 / 2


@pytest.mark.parametrize("pixels", [DEFAULT_TEXT_SIZE, 2 * DEFAULT_TEXT_SIZE])
def test_the_placeholder_of_the_message_is_elided(qapp: QApplication, qtbot: QtBot, pixels: int) -> None:
    theme = Theme(qapp)
    theme.set_text_size(pixels)
    message = Mock(text="", obstacle="", note="", is_edit=False)
    composer = Composer(theme, message, AttachmentReader(Mock(), lambda: False, lambda: False), ())
    qtbot.addWidget(composer)
    field = composer.field
    for width in (300, 900):
        composer.resize(width, 120)
        composer.show()
        qtbot.waitUntil(lambda: field.viewport().width() > 0)
        assert field.fontMetrics().horizontalAdvance(field.placeholderText()) <= field.viewport().width()
    assert field.placeholderText() == "Message Slipstream"
    composer.close()  # it must not lose the focus while the garbage collector deletes it
    theme.set_text_size(DEFAULT_TEXT_SIZE)
