"""A shareable image of a comparison."""

import platform

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QFrame, QWidget

from app.storage.comparison_record import ComparisonRecord, verdict_on
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.text.language import figures, tr
from app.views.compare.compare_side import CompareFigures
from app.widgets.controls import Label, small_label, styled_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme

WIDTH, HEIGHT = 2400, 1350  # an aspect ratio that most sites show without cropping
SCALE = 4  # image pixels per window pixel at the default text size
MAX_PROMPT = 400  # characters
LINE = 520  # window pixels at the default text size


def card(theme: Theme, record: ComparisonRecord) -> QImage:
    """Draw the image in the current colors, regardless of the text size."""
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    image.fill(QColor(theme.colors.window))
    scale = SCALE * DEFAULT_TEXT_SIZE / theme.text_pixels
    image.setDevicePixelRatio(scale)
    page = _page(theme, record)
    page.resize(QSize(round(WIDTH / scale), round(HEIGHT / scale)))
    page.render(image, QPoint(), renderFlags=QWidget.RenderFlag.DrawChildren)
    return image


def _page(theme: Theme, record: ComparisonRecord) -> QWidget:
    headline, verdict = verdict_on(record)
    table = CompareFigures(theme, record.rows, not record.together)
    edge = QFrame()
    edge.setFixedWidth(5)
    edge.setStyleSheet(f"background: {theme.colors.accent}")
    content = column(
        row(styled_label(theme, "Slipstream", bold=True), None, _line(theme, record.pair, LINE * 3 // 4)),
        None,
        styled_label(theme, headline, size=1.6, bold=True, wrap=True),
        _line(theme, tr("“{quoted}”", quoted=" ".join(record.prompt[:MAX_PROMPT].split())), LINE),
        None,
        table,
        None,
        styled_label(theme, verdict, wrap=True),
        small_label(theme, _conditions(record), "faint", wrap=True),
        spacing=8,
        margins=(28, 24, 32, 24),
    )
    page = QWidget()
    row(edge, (content, 1), spacing=0, parent=page)
    return page


def _line(theme: Theme, text: str, width: int) -> Label:
    """Return a one-line label, elided to a width for the default text size."""
    label = small_label(theme, look="secondary")
    width = width * theme.text_pixels // DEFAULT_TEXT_SIZE
    label.setText(label.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, width))
    return label


def _conditions(record: ComparisonRecord) -> str:
    temperature = record.sampling.temperature
    return tr(
        "{runs}, {order} · same seed ({seed}) and settings · {sampling} · {machine}",
        runs=tr("One run each") if record.repeats == 1 else tr("Median of {repeats} runs each", repeats=record.repeats),
        order=tr("at the same time") if record.together else tr("one after the other"),
        seed=record.seed,
        sampling=tr("temperature {temperature}", temperature=figures(temperature)) if temperature else tr("greedy"),
        machine=f"{platform.system()}, {platform.machine()}",
    )
