"""The menu below the model's name: recent models, which fit, and all models."""

from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout, QWidget

from app.session.recent_models import RecentModel, RecentModels
from app.session.recommendation import fit_text
from app.text.language import tr
from app.views.models.fit_dot import DOT, draw_dot, fit_color
from app.widgets.controls import ElidedButton, IconButton, as_tooltip, button, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import Theme, set_look

WIDTH = 300  # at the default text size


class ModelMenu(QFrame):
    """A popover with a row per recent model. A click on a row switches to it."""

    all_requested = Signal()

    def __init__(self, theme: Theme, recent: RecentModels, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._theme, self._recent = theme, recent
        set_look(self, "popover")
        self.setAccessibleName(tr("Recent models"))
        self.rows: list[ModelRow] = []
        self.all = button(tr("All Models…"), look="popover", clicked=self._show_all)
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        heading = small_label(theme, tr("Recent models"), "secondary")
        heading.setContentsMargins(10, 2, 0, 2)
        column(heading, self._list, line(), self.all, spacing=4, margins=(6, 6, 6, 6), parent=self)
        recent.changed.connect(self.refresh)
        self.refresh()
        recent.survey()

    def open_below(self, anchor: QWidget) -> None:
        """Show the menu below the model's name, within the window."""
        self.setFixedWidth(min(self._theme.scaled(WIDTH), anchor.window().width() - 16))
        self.adjustSize()
        window = anchor.window()
        at = anchor.mapTo(window, QPoint(0, anchor.height() + 2))
        at.setX(max(8, min(at.x(), window.width() - self.width() - 8)))
        self.move(window.mapToGlobal(at))
        self.show()
        (self.rows[0].name if self.rows else self.all).setFocus()

    @Slot()
    def refresh(self) -> None:
        listed = self._recent.listed
        if [one.place for one in listed] != [row.model.place for row in self.rows]:
            for row in self.rows:
                self._list.removeWidget(row)
                row.hide()
                row.deleteLater()
            self.rows = [ModelRow(self._theme, self._recent, one, self) for one in listed]
            for row in self.rows:
                row.name.clicked.connect(partial(self._use, row))
                self._list.addWidget(row)
        for row, one in zip(self.rows, listed, strict=True):
            row.show_model(one)
        if self.isVisible():
            self.adjustSize()

    def _use(self, row: "ModelRow") -> None:
        self.close()
        self._recent.use(row.model)

    @Slot()
    def _show_all(self) -> None:
        self.close()
        self.all_requested.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between the rows with the arrow keys."""
        step = (event.key() == Qt.Key.Key_Down) - (event.key() == Qt.Key.Key_Up)
        stops = [*(row.name for row in self.rows), self.all]
        if not step:
            super().keyPressEvent(event)
        elif (focused := self.focusWidget()) in stops:
            stops[(stops.index(focused) + step) % len(stops)].setFocus()
        else:
            stops[0].setFocus()


class ModelRow(QFrame):
    """A recent model: a dot for its fit, its name, its state, and a pin."""

    def __init__(self, theme: Theme, recent: RecentModels, model: RecentModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.model = model
        self.dot = _Dot(theme)
        self.name = ElidedButton(model.name, "popover")
        self.name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.state = small_label(theme, look="secondary")
        self.pin = IconButton(theme, "pin", tr("Pin {name}", name=model.name))
        self.pin.clicked.connect(lambda: recent.pin(self.model, not self.model.pinned))
        self._recent = recent
        row(self.dot, (self.name, 1), self.state, self.pin, spacing=2, margins=(6, 0, 0, 0), parent=self)

    def show_model(self, one: RecentModel) -> None:
        self.model = one
        found = self._recent.variant(one)
        fit = "" if found is None or found.fit is None else fit_text(found.fit.verdict, found.slow)
        state = tr("In use") if self._recent.in_use(one) else ""
        self.dot.color = "" if found is None or found.fit is None else fit_color(found.fit.verdict, found.slow)
        self.dot.setToolTip(as_tooltip(fit))
        self.dot.update()
        self.name.setText(one.name)
        self.name.setAccessibleName(", ".join(filter(None, (one.name, fit, state))))
        self.name.setToolTip(as_tooltip(fit))
        self.state.setText(state)
        self.pin.is_active = one.pinned
        self.pin.set_name(tr("Unpin {name}", name=one.name) if one.pinned else tr("Pin {name}", name=one.name))
        self.pin.update()


class _Dot(QWidget):
    """A dot in the color of a fit, or nothing."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self.color = theme, ""
        self.setFixedSize(QSize(DOT + 4, DOT + 4))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        draw_dot(painter, self._theme, self.color, 2, self.height() / 2)
        painter.end()
