"""The Settings window: panes with a row for each setting of the table."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QSlider, QStackedWidget, QWidget

from app.session.preferences import SETTINGS, Pane, Preferences, Setting
from app.text.language import sentences, tr
from app.widgets.controls import Label, button
from app.widgets.grouped_form import GroupedForm
from app.widgets.layout import SCREEN_SHARE, Form, Item, PageList, ScrollingPage, column, line, row
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import Theme, set_look
from app.widgets.toggle import Switch

DEFAULT_SIZE, MOST_HEIGHT = QSize(760, 540), 800
PANE_ICONS: dict[Pane, str] = {
    "general": "sliders",
    "appearance": "eye",
    "models": "layers",
    "chats": "new",
    "tools": "tools",
    "privacy": "lock",
    "network": "server",
    "advanced": "more",
}


def pane_names() -> dict[Pane, str]:
    return {
        "general": tr("General"),
        "appearance": tr("Appearance"),
        "models": tr("Models"),
        "chats": tr("New Chats"),
        "tools": tr("Tools"),
        "privacy": tr("Privacy"),
        "network": tr("Network"),
        "advanced": tr("Advanced"),
    }


class SettingsDialog(QDialog):
    """The Settings window. Changes take effect immediately."""

    def __init__(
        self,
        theme: Theme,
        preferences: Preferences,
        parts: Mapping[Pane, Callable[[Form], QWidget | None]],  # add rows to a pane's form, and make what is below the form
        parent: QWidget | None = None,
        hidden: Collection[str] = (),  # keys of settings without an effect in this build
    ) -> None:
        super().__init__(parent)
        self._theme, self._preferences = theme, preferences
        self._settings = [setting for setting in SETTINGS if setting.pane and setting.key not in hidden]
        self.fields: dict[str, QWidget] = {}
        self.parts: dict[Pane, QWidget] = {}
        self.resize(DEFAULT_SIZE)
        self._fitted = self.height()  # as long as the user leaves it
        self.size_label = Label()
        set_look(self.size_label, "secondary")
        self.restart = button(tr("Restart"), tr("Restart Slipstream"), "bordered")
        self.restart.clicked.connect(preferences.restart_requested)
        self.list = PageList(theme, tr("Panes"))
        self._stack = QStackedWidget()
        for pane, name in pane_names().items():
            self.list.add_page(name, PANE_ICONS[pane])
            self._stack.addWidget(ScrollingPage(self._make_pane(pane, parts.get(pane))))
        self.list.currentRowChanged.connect(self._open_pane)
        row(self.list.side, line("upright"), (self._stack, 1), spacing=0, parent=self)
        self.list.fit()
        theme.text_resized.connect(self._set_width)
        preferences.changed.connect(self.refresh)
        self._set_width()
        self.refresh()
        self.show_pane("general")

    @Slot(int)
    def _open_pane(self, place: int) -> None:
        self._stack.setCurrentIndex(place)
        if self.isVisible():
            self._fit()
        self.setWindowTitle(tr("Settings – {pane}", pane=self.list.item(place).text()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Grow to the height of a pane, unless the user has resized the window."""
        if self.height() != self._fitted:
            return
        shown = self._stack.currentWidget()
        assert isinstance(shown, ScrollingPage)
        most = min(MOST_HEIGHT, round(self.screen().availableSize().height() * SCREEN_SHARE))
        needed = shown.page.heightForWidth(self.width() - self.list.side.width() - SCROLL_BAR)
        self._fitted = max(self._fitted, min(needed, most))
        self.resize(self.width(), self._fitted)

    def show_pane(self, pane: Pane) -> None:
        self.list.setCurrentRow(list(pane_names()).index(pane))
        self.list.setFocus()

    def _make_pane(self, pane: Pane, part: Callable[[Form], QWidget | None] | None) -> QWidget:
        page, form = QWidget(), GroupedForm(self._theme)
        for setting in self._settings:
            if setting.pane == pane:
                self._add_row(form, setting)
        below: list[QWidget] = []
        if part is not None and (made := part(form)) is not None:
            below = [self.parts.setdefault(pane, made)]
        parts: list[Item] = [*([form] if form.count() else []), *below]
        if pane == "tools":
            parts.reverse()
        if pane != "network":  # its table takes the space
            parts.append(None)
        column(*parts, spacing=18, margins=(20, 20, 20, 20), parent=page)
        return page

    def _add_row(self, form: Form, setting: Setting) -> None:
        label, help = setting.label(), setting.help() if setting.help is not None else ""
        field = self.fields[setting.key] = self._make_field(setting)
        if reason := setting.locked():
            field.setEnabled(False)
            help = sentences(help, reason)
        extra: list[QWidget] = [self.size_label] if isinstance(field, QSlider) else []
        if setting is Preferences.language:
            extra.append(self.restart)
        form.add_row(label, field, *extra, help=help)

    def _make_field(self, setting: Setting) -> QWidget:
        def store(value: Any) -> None:
            setting.write(self._preferences, value)

        if setting.choices is None:
            switch = Switch(self._theme, "")
            switch.toggled.connect(store)
            return switch
        choices = setting.choices()
        values = list(choices)
        if isinstance(setting.default, int):
            slider = QSlider(Qt.Orientation.Horizontal)
            slider.setRange(0, len(values) - 1)
            slider.setPageStep(1)
            slider.setTickPosition(QSlider.TickPosition.TicksBelow)
            slider.valueChanged.connect(lambda place: store(values[place]))
            return slider
        combo = QComboBox()
        combo.addItems(list(choices.values()))
        combo.activated.connect(lambda place: store(values[place]))
        return combo

    @Slot()
    def _set_width(self) -> None:
        self.size_label.setMinimumWidth(self.size_label.fontMetrics().horizontalAdvance("200 %") + 4)

    @Slot()
    def refresh(self) -> None:
        """Show the current values."""
        for setting in self._settings:
            field, value = self.fields[setting.key], setting.read(self._preferences)
            choices = setting.choices() if setting.choices is not None else {}
            with QSignalBlocker(field):
                if isinstance(field, QAbstractButton):
                    field.setChecked(value)
                elif isinstance(field, QComboBox):
                    field.setCurrentIndex(list(choices).index(value))
                elif isinstance(field, QSlider):
                    field.setValue(list(choices).index(value))
                    self.size_label.setText(choices[value])
                    field.setAccessibleDescription(choices[value])
        self.restart.setVisible(self._preferences.needs_restart)
