"""The Settings window: one row for each setting of the table."""

from collections.abc import Collection
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QSlider, QVBoxLayout, QWidget

from app.language import tr
from app.settings.preferences import SETTINGS, Preferences, Setting
from app.widgets.controls import Label, button
from app.widgets.layout import Form, lay_out
from app.widgets.theme import Theme, set_look

WIDTH = 420


class SettingsDialog(QDialog):
    """`hidden` lists the keys of settings that have no effect in this build."""

    def __init__(self, theme: Theme, preferences: Preferences, parent: QWidget | None = None, hidden: Collection[str] = ()) -> None:
        super().__init__(parent)
        self._theme, self._preferences = theme, preferences
        self._settings = [setting for setting in SETTINGS if setting.key not in hidden]
        self.fields: dict[str, QWidget] = {}
        self.setWindowTitle(tr("Settings"))
        self.setAccessibleName(tr("Settings"))
        self.size_label = Label()
        self.size_label.setMinimumWidth(self.size_label.fontMetrics().horizontalAdvance("24 px") + 4)
        set_look(self.size_label, "secondary")
        self.restart = button(tr("Restart"), tr("Restart Slipstream"), "bordered")
        self.restart.clicked.connect(preferences.restart_requested)
        form = Form(theme)
        for section, heading in (("general", tr("General")), ("appearance", tr("Display"))):
            form.add_heading(heading)
            for setting in self._settings:
                if setting.section == section:
                    self._add_row(form, setting)
        page = QVBoxLayout()
        page.setContentsMargins(24, 22, 24, 22)
        page.addLayout(form)
        page.addStretch(1)
        lay_out(self, page, WIDTH, tr("Close settings"))
        preferences.changed.connect(self.refresh)
        self.refresh()

    def _add_row(self, form: Form, setting: Setting) -> None:
        label = setting.label()
        field = self.fields[setting.key] = self._make_field(setting, label)
        extra: list[QWidget] = [self.size_label] if isinstance(field, QSlider) else []
        if setting.takes_effect == "after restart":
            extra.append(self.restart)
        form.add_row(label if setting.choices is not None else "", field, *extra)
        if setting.help is not None:
            form.add_help(setting.help())
            field.setAccessibleDescription(setting.help())

    def _make_field(self, setting: Setting, label: str) -> QWidget:
        def store(value: Any) -> None:
            setting.write(self._preferences, value)

        if setting.choices is None:
            box = QCheckBox(label)
            box.setAccessibleName(label)
            box.toggled.connect(store)
            return box
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
    def refresh(self) -> None:
        """Show the current values."""
        for setting in self._settings:
            field, value = self.fields[setting.key], setting.read(self._preferences)
            choices = setting.choices() if setting.choices is not None else {}
            with QSignalBlocker(field):
                if isinstance(field, QCheckBox):
                    field.setChecked(value)
                elif isinstance(field, QComboBox):
                    field.setCurrentIndex(list(choices).index(value))
                elif isinstance(field, QSlider):
                    field.setValue(list(choices).index(value))
                    self.size_label.setText(choices[value])
                    field.setAccessibleDescription(choices[value])
        self.restart.setVisible(any(map(self._preferences.needs_restart, self._settings)))
