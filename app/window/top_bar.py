"""The bar above the chat: the loaded pair, and how the next reply will be decoded."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.chat.conductor import Conductor
from app.conversations.wording import mode_names, number, size
from app.language import tr, translated
from app.widgets.controls import IconButton, Switch, as_tooltip, button, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import MARGIN, SMALL, Theme

SPACING = 10
NAME_PADDING = 18  # of the button with the pair's name
PENDING_WIDTH = 640  # hides the note about the next reply below this width


class TopBar(QWidget):
    """The tooltip of a disabled switch says why."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._pair_name = ""
        self.name = button("", tr("Choose models"), "pair")
        theme.set_font(self.name, SMALL, bold=True)
        self.name.setMinimumWidth(40)
        self.sidebar = IconButton(theme, "sidebar", tr("Show or hide the sidebar"))
        self.settings = IconButton(theme, "sliders", tr("Chat settings"))
        self.pending = small_label(theme, look="faint")
        self.pending.setAccessibleName(tr("For the next reply"))
        self.compare = button(tr("Compare"), tr("Compare both modes on the last prompt"), "bordered", conductor.compare)
        self.compare.setToolTip(tr("Answer the last prompt with and without DFlash, side by side"))
        self.thinking = Switch(theme, tr("Thinking"))
        self.thinking.clicked.connect(conductor.set_thinking)
        self.dflash = Switch(theme, "DFlash")
        self.dflash.clicked.connect(conductor.set_dflash)
        self._items = (self.pending, self.compare, self.settings, self.thinking, self.dflash)
        bar = row(self.sidebar, self.name, None, *self._items, spacing=SPACING, margins=(10, 7, 16, 7))
        column(bar, line(), spacing=0, parent=self)
        for signal in (conductor.loader.loaded, conductor.loader.changed, conductor.busy_changed, conductor.settings_changed):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        state = self._conductor
        pair = state.loader.pair
        if pair is not None:
            self._pair_name = pair.name
            drafter = (
                tr("Drafter: {name} ({size})", name=pair.drafter, size=size(pair.drafter_bytes))
                if pair.drafter
                else tr("No drafter")
            )
            target = tr("Target: {name} ({size})", name=pair.target, size=size(pair.target_bytes))
            context = tr("Context: {count} tokens", count=number(pair.context_limit))
            self.name.setToolTip(as_tooltip("\n".join((target, drafter, context))))
        else:
            self._pair_name = tr("Loading…") if state.loader.running else tr("No models loaded")
        self._elide()
        self.dflash.setChecked(state.next_mode == "dflash")
        self.dflash.setEnabled(state.can_dflash)
        if pair is not None and pair.why_plain is not None:
            self.dflash.setToolTip(as_tooltip(tr("Not available: {why_plain}", why_plain=translated(pair.why_plain))))
        else:
            self.dflash.setToolTip(tr("Use the small model to speed up the large one, starting with the next reply."))
        self.thinking.setChecked(state.thinking)
        self.thinking.setEnabled(state.can_think)
        self.thinking.setToolTip(
            tr("Let the model think before its next reply")
            if state.can_think or pair is None
            else tr("This model can't think before it answers.")
        )
        self.compare.setEnabled(state.can_compare_last)
        running = state.reply_job.turn
        differs = running is not None and running.reply.mode != state.next_mode
        self.pending.setText(tr("Next reply: {mode}", mode=mode_names()[state.next_mode]) if differs else "")
        self.pending.setVisible(differs and self.width() >= PENDING_WIDTH)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        taken = sum(item.sizeHint().width() + SPACING for item in (self.sidebar, *self._items) if not item.isHidden())
        room = max(40, self.width() - taken - 2 * MARGIN - NAME_PADDING)
        self.name.setText(self.name.fontMetrics().elidedText(self._pair_name, Qt.TextElideMode.ElideRight, room))
        self.name.setAccessibleName(tr("Models: {pair_name}", pair_name=self._pair_name))
