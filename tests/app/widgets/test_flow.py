"""Lines of widgets that wrap."""

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication, QWidget

from app.widgets.layout import Flow

HEIGHT = 10


def lines_of(widths: list[int], width: int, even: bool) -> list[int]:
    """Return the number of widgets in each line."""
    panel = QWidget()
    layout = Flow(panel, gap=0, even=even)
    made = []
    for one in widths:
        widget = QWidget()
        widget.setFixedSize(one, HEIGHT)
        layout.addWidget(widget)
        made.append(widget)
    layout.setGeometry(QRect(0, 0, width, 500))
    tops = [widget.y() for widget in made]
    assert all(widget.geometry().right() < width for widget in made) and tops == sorted(tops)
    return [tops.count(top) for top in sorted(set(tops))]


def test_no_widget_is_alone_in_the_last_line(qapp: QApplication) -> None:
    assert lines_of([50] * 6, 260, even=False) == [5, 1]
    assert lines_of([50] * 6, 260, even=True) == [3, 3]
    assert lines_of([50] * 6, 300, even=True) == [6]


@given(st.lists(st.integers(10, 100), min_size=1, max_size=12), st.integers(100, 400))
def test_even_lines_are_not_more_than_full_ones(qapp: QApplication, widths: list[int], width: int) -> None:
    assert len(lines_of(widths, width, even=True)) == len(lines_of(widths, width, even=False))
