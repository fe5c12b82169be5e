"""A chat's settings: preset, system prompt, sampling, and limits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QInputDialog,
    QPlainTextEdit,
    QWidget,
)

from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.pair_session import PairLoader
from app.storage.settings import ChatSettings, Preset
from app.text.language import tr
from app.text.plain_text import clean
from app.widgets.controls import button, entry, prepare_number_field
from app.widgets.grouped_form import GroupedForm
from app.widgets.layout import column, fit_content, lay_out
from app.widgets.theme import Theme, set_look
from app.widgets.toggle import Switch
from mlx_engine.contract.requests import Sampling

MAX_TOKENS = 1_000_000
WIDTH = 440
DIALOG_WIDTH = 540

NumberField = tuple[str, str, str, float, float, float, int]


def _number_fields() -> tuple[NumberField, ...]:
    """Return each field's name, label, help, minimum, maximum, step, and digits."""
    seen = tr("Penalizes tokens that have already appeared.")
    often = tr("Penalizes tokens more each time they appear.")
    length = tr("Limits the length of a reply.")
    return (
        (
            "temperature",
            tr("Temperature"),
            tr("Higher values add variety; 0 always picks the most likely token."),
            0.0,
            2.0,
            0.05,
            2,
        ),
        ("top_p", "Top-p", tr("Keeps the most likely tokens up to this total probability; 1 keeps all."), 0.01, 1.0, 0.01, 2),
        ("min_p", "Min-p", tr("Drops tokens below this fraction of the top token's probability; 0 keeps all."), 0.0, 1.0, 0.01, 2),
        ("repetition_penalty", tr("Repetition penalty"), tr("Values above 1 make repeated tokens less likely."), 1.0, 2.0, 0.05, 2),
        ("presence_penalty", tr("Presence penalty"), seen, -2.0, 2.0, 0.1, 1),
        ("frequency_penalty", tr("Frequency penalty"), often, -2.0, 2.0, 0.1, 1),
        ("top_k", "Top-k", tr("Keeps only this many of the most likely tokens."), 0, 100_000, 1, 0),
        ("max_tokens", tr("Token limit"), length, 1, MAX_TOKENS, 256, 0),
    )


class ChatSettingsForm(QWidget):
    """A form for a chat's settings. Call `refresh` after changes made elsewhere."""

    def __init__(
        self,
        theme: Theme,
        library: ChatLibrary,
        read: Callable[[], ChatSettings],
        write: Callable[[ChatSettings], object],
        default_sampling: Callable[[], Sampling],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._library, self._read, self._write, self._default_sampling = library, read, write, default_sampling
        self.preset = QComboBox()
        self.preset.setAccessibleName(tr("Preset"))
        self.preset.activated.connect(self._apply_preset)
        self.save_as = button(tr("Save As…"), tr("Save as a preset"), "bordered", self._save_preset)
        self.delete = button(tr("Delete"), tr("Delete this preset"), "bordered", self._delete_preset)

        self.system = QPlainTextEdit()
        self.system.setAccessibleName(tr("System prompt"))
        self.system.setPlaceholderText(tr("Instructions for the model, such as a role, tone, or language"))
        self.system.setTabChangesFocus(True)
        self.system.textChanged.connect(self._change)
        set_look(self.system, "field")

        form = GroupedForm(theme)
        self.numbers: dict[str, QDoubleSpinBox] = {}
        for name, label, tip, low, high, step, digits in _number_fields():
            box = self.numbers[name] = QDoubleSpinBox()
            box.setDecimals(digits)
            box.setRange(low, high)
            box.setSingleStep(step)
            box.setGroupSeparatorShown(True)
            prepare_number_field(box)
            box.valueChanged.connect(self._change)
            form.add_row(label, box, tip=tip)
        self.numbers["top_k"].setSpecialValueText(tr("Off"))
        self.seed = entry("", tr("Random"))
        self.seed.setValidator(_Seed(self.seed))
        self.seed.textChanged.connect(self._change)
        form.add_row(tr("Seed"), self.seed, tip=tr("Leave empty for a random seed."))
        self.thinking, self.private = Switch(theme, ""), Switch(theme, "")
        self.reset = button(tr("Reset"), tr("Reset to defaults"), "bordered", self._reset)

        head = self._head = GroupedForm(theme)
        head.add_row(tr("Preset"), self.preset, self.save_as, self.delete)
        head.add_row(tr("System prompt"), self.system)
        head.add_row(tr("Thinking"), self.thinking, help=tr("The model thinks before it answers."))
        head.add_row(tr("Private chat"), self.private, help=tr("This chat is neither cached nor sent to servers."))
        for switch in (self.thinking, self.private):
            switch.toggled.connect(self._change)
            head.show_row(switch, False)
        column(head, form, spacing=12, parent=self)
        library.presets_changed.connect(self.refresh)
        theme.text_resized.connect(self._fit_prompt)
        self._fit_prompt()
        self.refresh()

    def show_switches(self, *switches: Switch) -> None:
        for switch in switches:
            self._head.show_row(switch, True)

    @Slot()
    def _fit_prompt(self) -> None:
        self.system.setFixedHeight(self._theme.scaled(104))

    @Slot()
    def refresh(self) -> None:
        settings = self._read()
        sampling = settings.sampling or self._default_sampling()
        fields = [self.system, self.seed, self.thinking, self.private, self.preset, *self.numbers.values()]
        blockers = [QSignalBlocker(field) for field in fields]
        if self.system.toPlainText() != settings.system:
            self.system.setPlainText(settings.system)
        for name, box in self.numbers.items():
            box.setValue(settings.max_tokens if name == "max_tokens" else getattr(sampling, name))
        if _seed(self.seed.text()) != settings.seed:
            self.seed.setText("" if settings.seed is None else str(settings.seed))
        self.thinking.setChecked(settings.thinking)
        self.private.setChecked(settings.private)
        self._show_presets(settings)
        for blocker in blockers:
            blocker.unblock()

    def _show_presets(self, settings: ChatSettings) -> None:
        presets = self._library.presets
        here = next((place for place, preset in enumerate(presets) if preset.fits(settings)), None)
        self.preset.clear()
        self.preset.addItems([preset.name for preset in presets])
        if here is None:
            self.preset.addItem(tr("Custom"))
        self.preset.setCurrentIndex(len(presets) if here is None else here)
        self.delete.setVisible(here is not None and self._library.can_delete_preset(presets[here].name))
        self.reset.setEnabled(not presets[0].fits(settings))

    @Slot()
    def _change(self) -> None:
        """Apply edited values."""
        old = self._read()
        shown = old.sampling or self._default_sampling()
        numbers: dict[str, Any] = {name: round(box.value(), box.decimals() or None) for name, box in self.numbers.items()}
        max_tokens = numbers.pop("max_tokens")
        sampling = Sampling(**numbers)
        unchanged = all(numbers[name] == round(getattr(shown, name), self.numbers[name].decimals()) for name in numbers)
        self._write(
            replace(
                old,
                system=clean(self.system.toPlainText()),
                sampling=old.sampling if unchanged else sampling,
                max_tokens=max_tokens,
                seed=_seed(self.seed.text()),
                thinking=self.thinking.isChecked() if self.thinking.isEnabled() else old.thinking,
                private=self.private.isChecked(),
            )
        )

    @Slot(int)
    def _apply_preset(self, place: int) -> None:
        presets = self._library.presets
        if place < len(presets):
            self._write(presets[place].applied_to(self._read()))

    @Slot()
    def _save_preset(self) -> None:
        name, taken = QInputDialog.getText(self, tr("Save Preset"), tr("Name:"))
        if taken and name.strip():
            self._library.save_preset(name, self._read())

    @Slot()
    def _delete_preset(self) -> None:
        self._library.delete_preset(self.preset.currentText())

    @Slot()
    def _reset(self) -> None:
        self._write(Preset("", ChatSettings()).applied_to(self._read()))


class ChatSettingsDialog(QDialog):
    """A sheet with the open chat's settings."""

    def __init__(
        self, theme: Theme, session: ChatSession, library: ChatLibrary, loader: PairLoader, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._loader = session, loader
        self.setWindowTitle(tr("Chat Settings"))
        self.form = ChatSettingsForm(theme, library, lambda: session.chat.settings, session.set_settings, lambda: loader.sampling)
        self.form.setContentsMargins(24, 20, 24, 20)
        self.form.show_switches(self.form.thinking, self.form.private)
        done = button(tr("Done"), tr("Close settings"), "bordered", self.accept)
        done.setDefault(True)
        lay_out(self, self.form, self.form.reset, None, done, width=WIDTH)
        for signal in (session.chat_changed, session.settings_changed, loader.loaded):
            signal.connect(self.refresh)
        session.chat_changed.connect(self._clear_history)
        self.refresh()
        fit_content(self, DIALOG_WIDTH)
        self.form.system.setFocus()

    @Slot()
    def _clear_history(self) -> None:
        self.form.system.document().clearUndoRedoStacks()  # another chat's system prompt may be equal

    @Slot()
    def refresh(self) -> None:
        self.form.refresh()
        with QSignalBlocker(self.form.thinking):
            self.form.thinking.setChecked(self._session.thinking)
        self.form.thinking.setEnabled(self._loader.can_think)


class _Seed(QValidator):
    """A validator that accepts only a seed or empty text, which means a random seed."""

    def validate(self, text: str, at: int) -> tuple[QValidator.State, str, int]:
        fits = not text.strip() or _seed(text) is not None
        return (QValidator.State.Acceptable if fits else QValidator.State.Invalid, text, at)


def _seed(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 20 and int(text) < 2**64 else None
