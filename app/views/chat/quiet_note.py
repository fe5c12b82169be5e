"""A note below the composer that quiet mode is on."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.session.pair_session import PairLoader
from app.session.preferences import Preferences
from app.session.quiet_mode import QuietMode
from app.text.language import tr
from app.widgets.controls import as_tooltip, button, small_label
from app.widgets.layout import row
from app.widgets.theme import SMALL, Theme


class QuietNote(QWidget):
    """A line that says what quiet mode changes, and turns it off.

    It is hidden while messages go to a server, whose replies aren't slower.
    """

    def __init__(self, theme: Theme, quiet: QuietMode, preferences: Preferences, loader: PairLoader) -> None:
        super().__init__()
        self._quiet, self._loader = quiet, loader
        self.label = small_label(theme, look="faint", elided=True)
        self.button = button(tr("Turn Off"), tr("Turn off quiet mode"), "quiet", quiet.toggle)
        theme.set_font(self.button, SMALL)
        row(self.label, self.button, None, spacing=0, parent=self)
        for signal in (quiet.changed, preferences.changed, loader.changed, loader.loaded):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show whether quiet mode is on, and why."""
        on_battery, help = self._quiet.is_automatic, Preferences.quiet_mode.help
        text = tr("Quiet mode: replies take about twice as long")
        if on_battery:
            text = tr("Quiet mode, on battery: replies take about twice as long")
        about = help() if help is not None else ""
        self.label.setText(text)
        self.label.setToolTip(as_tooltip(about))
        self.setAccessibleName(text)
        self.setAccessibleDescription(about)
        self.button.setToolTip(tr("Quiet mode then stays off on battery, too") if on_battery else "")
        self.setVisible(self._quiet.on and not self._loader.sent_to)
