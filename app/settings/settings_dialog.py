"""Settings of the whole app. Each holds at once; there is nothing to confirm."""

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QGridLayout, QHBoxLayout, QSlider, QVBoxLayout, QWidget

from app.language import LANGUAGES, tr
from app.settings.preferences import Preferences
from app.widgets.label import Label
from app.widgets.sheet import lay_out
from app.widgets.theme import APPEARANCES, CONTRASTS, SMALL, TEXT_SIZES, Theme, set_look


def _appearance_names() -> dict[str, str]:
    return {"system": tr("As the system"), "light": tr("Light"), "dark": tr("Dark")}


def _contrast_names() -> dict[str, str]:
    return {"system": tr("As the system"), "standard": tr("Standard"), "high": tr("High")}


WIDTH = 420


class SettingsDialog(QDialog):
    """Follows the preferences when the menus change them."""

    def __init__(self, theme: Theme, preferences: Preferences, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._preferences = preferences
        self.setWindowTitle(tr("Settings"))
        self.setAccessibleName(tr("Settings"))
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(14)
        self._grid.setColumnStretch(1, 1)

        self.appearance = QComboBox()
        for appearance in APPEARANCES:
            self.appearance.addItem(_appearance_names()[appearance], appearance)
        self.appearance.activated.connect(self._set_appearance)
        self._row(tr("Appearance"), self.appearance)
        self.contrast = QComboBox()
        for contrast in CONTRASTS:
            self.contrast.addItem(_contrast_names()[contrast], contrast)
        self.contrast.activated.connect(self._set_contrast)
        self._row(tr("Contrast"), self.contrast)
        self.text_size = QSlider(Qt.Orientation.Horizontal)
        self.text_size.setRange(0, len(TEXT_SIZES) - 1)
        self.text_size.setPageStep(1)
        self.text_size.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.text_size.valueChanged.connect(self._set_text_size)
        self.sample = Label()
        self.sample.setMinimumWidth(self.sample.fontMetrics().horizontalAdvance("24 px") + 4)
        set_look(self.sample, "secondary")
        sizes = QHBoxLayout()
        sizes.setSpacing(12)
        sizes.addWidget(self.text_size, 1)
        sizes.addWidget(self.sample)
        self._row(tr("Text size"), self.text_size, sizes)
        self.motion = QCheckBox(tr("Reduce motion"))
        self.motion.setAccessibleName(tr("Reduce motion"))
        self.motion.setAccessibleDescription(tr("Nothing moves by itself. Where the system asks for it, that holds anyway."))
        self.motion.setToolTip(self.motion.accessibleDescription())
        self.motion.toggled.connect(preferences.set_less_motion)
        self._grid.addWidget(self.motion, self._grid.rowCount(), 1)
        self.tint = QCheckBox(tr("Show in replies who supplied each token"))
        self.tint.setAccessibleName(tr("Show in replies who supplied each token"))
        self.tint.setToolTip(tr("A line and a color under drafts that were accepted, copies of earlier text, and the target’s own"))
        self.tint.toggled.connect(preferences.set_tinted)
        self._grid.addWidget(self.tint, self._grid.rowCount(), 1)

        self.language = QComboBox()
        self.language.addItem(tr("As the system"), "system")
        for code, name in LANGUAGES.items():
            self.language.addItem(name, code)
        self.language.activated.connect(self._set_language)
        self._row(tr("Language"), self.language)

        page = QVBoxLayout()
        page.setContentsMargins(24, 22, 24, 22)
        page.addLayout(self._grid)
        page.addStretch(1)
        lay_out(self, page, WIDTH, tr("Close the settings"))
        preferences.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what holds."""
        preferences = self._preferences
        fields: list[QWidget] = [self.appearance, self.contrast, self.text_size, self.motion, self.tint, self.language]
        blockers = [QSignalBlocker(field) for field in fields]
        self.appearance.setCurrentIndex(self.appearance.findData(preferences.appearance))
        self.contrast.setCurrentIndex(self.contrast.findData(preferences.contrast))
        nearest = min(TEXT_SIZES, key=lambda size: abs(size - preferences.text_size))
        self.text_size.setValue(TEXT_SIZES.index(nearest))
        self.sample.setText(f"{preferences.text_size} px")
        self.text_size.setAccessibleDescription(self.sample.text())
        self.motion.setChecked(preferences.less_motion)
        self.tint.setChecked(preferences.tinted)
        self.language.setCurrentIndex(self.language.findData(preferences.language))
        for blocker in blockers:
            blocker.unblock()

    def _row(self, label: str, field: QWidget, content: QHBoxLayout | None = None) -> None:
        row = self._grid.rowCount()
        name = Label(label)
        self._theme.set_font(name, SMALL, bold=True)
        name.setBuddy(field)
        field.setAccessibleName(label)
        self._grid.addWidget(name, row, 0)
        if content is not None:
            self._grid.addLayout(content, row, 1)
        else:
            self._grid.addWidget(field, row, 1)

    @Slot(int)
    def _set_appearance(self, place: int) -> None:
        self._preferences.set_appearance(self.appearance.itemData(place))

    @Slot(int)
    def _set_contrast(self, place: int) -> None:
        self._preferences.set_contrast(self.contrast.itemData(place))

    @Slot(int)
    def _set_language(self, place: int) -> None:
        self._preferences.set_language(self.language.itemData(place))

    @Slot(int)
    def _set_text_size(self, place: int) -> None:
        self._preferences.set_text_size(TEXT_SIZES[place])
