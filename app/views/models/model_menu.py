"""The menu below the model's name: recent models, which fit, and all models."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QCursor, QEnterEvent, QHideEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QFrame, QSizePolicy, QVBoxLayout, QWidget

from app.session.model_list import Candidate
from app.session.recent_models import RecentModels
from app.session.recommendation import fit_text
from app.storage.recent_model import RecentModel
from app.text.language import tr
from app.views.models.fit_dot import DOT, draw_dot, fit_color
from app.views.models.pair_facts import drafter_names
from app.widgets.controls import ICON_SIZE, ElidedButton, IconButton, as_tooltip, button, draw_icon, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import Theme, set_look
from mlx_engine.models.library.library import model_name

LEAST_WIDTH, MOST_WIDTH = 300, 480  # at the default text size


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
        self.why_not = small_label(theme, look="secondary", wrap=True)
        self.why_not.setContentsMargins(10, 0, 10, 4)
        self.all.installEventFilter(self)
        self._anchor = parent
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        heading = small_label(theme, tr("Recent models"), "secondary")
        heading.setContentsMargins(10, 2, 0, 2)
        column(heading, self.why_not, self._list, line(), self.all, spacing=4, margins=(6, 6, 6, 6), parent=self)
        recent.changed.connect(self.refresh)
        self.refresh()
        recent.survey()

    def open_below(self, anchor: QWidget) -> None:
        """Show the menu below the model's name, within the window."""
        self._anchor = anchor
        self._arrange()
        self.show()
        self._focus_model()

    def hideEvent(self, event: QHideEvent) -> None:
        """Tell the name that the pointer has left it. With a popover open, Qt doesn't."""
        super().hideEvent(event)
        if not self._anchor.rect().contains(self._anchor.mapFromGlobal(QCursor.pos())):
            QApplication.sendEvent(self._anchor, QEvent(QEvent.Type.Leave))
            self._anchor.update()

    def _focus_model(self) -> None:
        """Focus the model in use, or else the first one that can be chosen."""
        choices = [row for row in self.rows if row.name.isEnabled()]
        in_use = [row for row in choices if self._recent.in_use(row.model)]
        [*(row.name for row in (*in_use, *choices)), self.all][0].setFocus()

    def _arrange(self) -> None:
        """Make the menu as wide as its names, within limits, and keep it in the window."""
        anchor, window, scaled = self._anchor, self._anchor.window(), self._theme.scaled
        self.setFixedWidth(min(max(self.sizeHint().width(), scaled(LEAST_WIDTH)), scaled(MOST_WIDTH), window.width() - 16))
        self.adjustSize()
        at = anchor.mapTo(window, QPoint(0, anchor.height() + 2))
        at.setX(max(8, min(at.x(), window.width() - self.width() - 8)))
        self.move(window.mapToGlobal(at))

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
                for stop in (row.name, row.pin):
                    stop.installEventFilter(self)
                self._list.addWidget(row)
                row.show()  # otherwise, the layout counts it only after the next event
        why_not = self._recent.why_not
        for row, one, name in zip(self.rows, listed, row_names(listed, self._recent.surveyed), strict=True):
            row.show_model(one, name, why_not)
        self.why_not.setText(why_not)
        self.why_not.setVisible(bool(why_not))
        if self.isVisible():
            self._arrange()

    def _use(self, row: "ModelRow") -> None:
        self.close()
        self._recent.use(row.model)

    @Slot()
    def _show_all(self) -> None:
        self.close()
        self.all_requested.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle keys before a button, which would move the focus to its neighbor."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and isinstance(watched, QAbstractButton):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                watched.click()
                return True
            return self._move_focus(watched, event.key())
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Give the focus back to a model, if a row that had it is gone."""
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._focus_model()
        else:
            super().keyPressEvent(event)

    def _move_focus(self, focused: QAbstractButton, key: int) -> bool:
        """Move the focus with an arrow key. Return whether the key is one.

        Up and Down move between the models, or between their pins. Left and Right move within a row.
        """
        by_row = (key == Qt.Key.Key_Down) - (key == Qt.Key.Key_Up)
        by_column = (key == Qt.Key.Key_Right) - (key == Qt.Key.Key_Left)
        buttons: list[list[QAbstractButton]] = [[row.name, row.pin] if row.name.isEnabled() else [row.pin] for row in self.rows]
        buttons.append([self.all])
        number = next(number for number, row in enumerate(buttons) if focused in row)
        target = buttons[(number + by_row) % len(buttons)]
        target[max(0, min(buttons[number].index(focused) + by_column, len(target) - 1))].setFocus()
        return bool(by_row or by_column)


class ModelRow(QFrame):
    """A recent model: marks for its fit and images, its name, its state, and a pin.

    A click anywhere but on the pin chooses the model.
    """

    def __init__(self, theme: Theme, recent: RecentModels, model: RecentModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.model = model
        self.dot = _Dot(theme)
        self.name = ElidedButton(model.name, "popover")
        self.name.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.eye = _Eye(theme)
        self.state = small_label(theme, look="secondary")
        self.pin = IconButton(theme, "pin", tr("Pin {name}", name=model.name))
        self.pin.clicked.connect(lambda: recent.pin(self.model, not self.model.pinned))
        self._recent = recent
        row(self.dot, (self.name, 1), self.eye, self.state, self.pin, spacing=4, margins=(6, 0, 0, 0), parent=self)
        self.name.installEventFilter(self)
        self._highlight()

    def _highlight(self) -> None:
        """Highlight the whole row under the pointer, or with the focus."""
        chosen, pointed = self.name.hasFocus(), self.name.isEnabled() and self.underMouse()
        set_look(self, "popover-row-chosen" if chosen else "popover-row-pointed" if pointed else "popover-row")

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._highlight()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._highlight()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut, QEvent.Type.EnabledChange):
            self._highlight()
        return super().eventFilter(watched, event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.name.click()

    def show_model(self, one: RecentModel, name: str, why_not: str) -> None:
        """Show a model.

        Args:
            name: what tells it from others.
            why_not: why it can't be switched to now, or an empty string.
        """
        self.model = one
        row = self._recent.surveyed(one)
        found = row.shown if row is not None else None
        fit = "" if found is None or found.fit is None else fit_text(found.fit.verdict, found.slow)
        sees = "" if row is None else row.sees
        state, macs = tr("In use") if self._recent.in_use(one) else "", self._recent.macs_to_load_on(one)
        if macs:
            state = tr("Load on {count} Macs", count=macs) if macs > 1 else tr("Load on this Mac only")
        self.dot.color = "" if found is None or found.fit is None else fit_color(found.fit.verdict, found.slow)
        self.dot.is_server = bool(one.connection)
        self.dot.setToolTip(as_tooltip(tr("Connection") if one.connection else fit))
        self.dot.update()
        self.name.setText(name)
        self.name.setAccessibleName(", ".join(filter(None, (name, fit, sees, state))))
        self.name.setAccessibleDescription(why_not)
        self.name.setToolTip(as_tooltip("\n".join(filter(None, (name, fit, sees, why_not)))))
        self.name.setEnabled(not why_not)
        self.eye.setVisible(bool(sees))
        self.eye.setToolTip(as_tooltip(sees))
        self.state.setText(state)
        self.pin.is_active = one.pinned
        self.pin.set_name(tr("Unpin {name}", name=name) if one.pinned else tr("Pin {name}", name=name))
        self.pin.update()


def row_names(listed: Sequence[RecentModel], found: Callable[[RecentModel], Candidate | None]) -> list[str]:
    """Return the models' names, with what differs where names are equal.

    Args:
        found: returns the surveyed row that shows a model, if it is known.
    """

    def in_words(one: RecentModel) -> tuple[str, str] | None:
        if (row := found(one)) is None or row.shown.folders is None:
            return None
        return row.shown.label, drafter_names(row)[row.index] if row.shown.folders[1] else ""

    def by_model(one: RecentModel) -> tuple[str, str]:
        target, drafter = one.folders
        return model_name(target), model_name(drafter) if drafter else ""

    def by_folder(one: RecentModel) -> tuple[str, str]:
        target, drafter = one.folders
        return str(target), str(drafter or "")

    def parts(one: RecentModel, describe: Callable[[RecentModel], tuple[str, str] | None]) -> tuple[str, str] | None:
        if one.connection or (described := describe(one)) is None:
            return (one.connection, "") if one.connection else None
        target, drafter = described[0], described[1] or tr("No drafter")
        return target, tr("Auto: {drafter}", drafter=drafter) if one.auto else drafter

    names = [one.name for one in listed]
    for name in [name for name, count in Counter(names).items() if count > 1]:
        alike = [at for at, one in enumerate(listed) if one.name == name]
        for describe in (in_words, by_model, by_folder):  # the first that tells all apart
            told = [described for at in alike if (described := parts(listed[at], describe)) is not None]
            if len(set(told)) == len(alike):
                break
        differs = [len(set(column)) > 1 for column in zip(*told, strict=True)]
        for at, described in zip(alike, told, strict=True):
            names[at] = " · ".join((name, *(part for part, is_shown in zip(described, differs, strict=True) if part and is_shown)))
    return names


class _Dot(QWidget):
    """A dot in the color of a fit, the mark of a connection, or nothing."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self.color, self.is_server = theme, "", False
        self.setFixedSize(QSize(DOT + 4, DOT + 4))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.is_server:
            draw_icon(painter, "server", QColor(self._theme.colors.secondary), self.width())
        else:
            draw_dot(painter, self._theme, self.color, 2, self.height() / 2)
        painter.end()


class _Eye(QWidget):
    """The mark of a model that sees images."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFixedSize(QSize(1, 1) * theme.scaled(ICON_SIZE))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_icon(painter, "eye", QColor(self._theme.colors.secondary), self.width())
        painter.end()
