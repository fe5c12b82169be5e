"""Quiet mode: slower replies that keep the computer cooler and quieter."""

from PySide6.QtCore import QObject, Signal, Slot

from app.session.conditions_watch import ConditionsWatch
from app.session.engine_adapter import EngineAdapter
from app.session.preferences import Preferences
from mlx_engine.contract.requests import Rest

REST_SHARE = 0.5  # of the time of replies, which take twice as long


class QuietMode(QObject):
    """The switch that lets the engine rest. Background work looks at `on`.

    Attributes:
        on: whether quiet mode is on, by the user or because the computer runs on its battery.
    """

    changed = Signal()

    def __init__(
        self, engine: EngineAdapter, preferences: Preferences, watch: ConditionsWatch, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._engine, self._preferences, self._watch = engine, preferences, watch
        self.on = self._on_battery = False
        preferences.changed.connect(self._apply)
        watch.changed.connect(self._apply)
        self._apply()

    @property
    def is_automatic(self) -> bool:
        """Whether the battery is the reason that quiet mode is on."""
        return self.on and not self._preferences.quiet_mode

    @Slot()
    def toggle(self) -> None:
        """Turn quiet mode on, or off, even if the battery is the reason."""
        self._preferences.quiet_mode = not self.on
        if self.is_automatic:
            self._preferences.quiet_on_battery = False

    @Slot()
    def _apply(self) -> None:
        preferences = self._preferences
        self._watch.set_needed("quiet mode", preferences.quiet_on_battery)
        if self._watch.now.on_battery is not None:  # a failed reading changes nothing
            self._on_battery = self._watch.now.on_battery
        on = preferences.quiet_mode or (preferences.quiet_on_battery and self._on_battery)
        if on != self.on:
            self.on = on
            self._engine.submit(Rest(REST_SHARE if on else 0.0), lambda deliveries: None)
            self.changed.emit()
