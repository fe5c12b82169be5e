"""Rows of grouped forms."""

from PySide6.QtWidgets import QApplication, QWidget

from app.widgets.grouped_form import GroupedForm
from app.widgets.theme import Theme
from app.widgets.toggle import Switch


def test_a_hidden_row_takes_no_space(qapp: QApplication) -> None:
    theme = Theme(qapp)

    def height(rows: int, shown: int) -> int:
        page = QWidget()
        form = GroupedForm(theme)
        page.setLayout(form)
        for number in range(rows):
            switch = Switch(theme, "")
            form.add_row("Label", switch, help="Help.")
            form.show_row(switch, number < shown)
        page.ensurePolished()
        return page.sizeHint().height()

    assert height(3, 2) == height(2, 2) < height(3, 3)
    theme.deleteLater()
