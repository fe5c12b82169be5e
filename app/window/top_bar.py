"""Above the chat: which pair answers, and how the next reply will be decoded."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.conversations.wording import mode_names, number, size
from app.language import tr, translated
from app.widgets.button import button
from app.widgets.icon_button import IconButton
from app.widgets.label import Label, as_tooltip
from app.widgets.switch import Switch
from app.widgets.theme import MARGIN, SMALL, Theme, set_look

SPACING = 10
NAME_PADDING = 18  # of the button around the pair's name


class TopBar(QWidget):
    """The pair's name, Compare, and the switches. A switch that cannot be used says why."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._pair_name = ""
        self.name = button("", tr("Choose models"), "pair")
        theme.set_font(self.name, SMALL, bold=True)
        self.name.setMinimumWidth(40)
        self.sidebar = IconButton(theme, "sidebar", tr("Show or hide the list of chats"))
        self.settings = IconButton(theme, "sliders", tr("Chat settings"))
        self.pending = Label()
        theme.set_font(self.pending, SMALL)
        self.pending.setAccessibleName(tr("From the next reply on"))
        set_look(self.pending, "faint")
        self.compare = button(tr("Compare"), tr("Compare both modes on the last prompt"), "bordered")
        self.compare.clicked.connect(conductor.compare)
        self.thinking = Switch(theme, tr("Thinking"))
        self.thinking.clicked.connect(conductor.set_thinking)
        self.dflash = Switch(theme, "DFlash")
        self.dflash.clicked.connect(conductor.set_dflash)
        row = QHBoxLayout()
        row.setContentsMargins(10, 7, 16, 7)
        row.setSpacing(SPACING)
        row.addWidget(self.sidebar)
        row.addWidget(self.name)
        row.addStretch(1)
        row.addWidget(self.pending)
        row.addWidget(self.compare)
        row.addWidget(self.settings)
        row.addWidget(self.thinking)
        row.addWidget(self.dflash)
        line = QFrame()
        set_look(line, "hairline")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(row)
        layout.addWidget(line)
        for signal in (conductor.loader.loaded, conductor.loader.changed, conductor.busy_changed, conductor.settings_changed):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the conductor's state."""
        state = self._conductor
        pair = state.loader.pair
        if pair is not None:
            self._pair_name = pair.name
            self.name.setToolTip(
                as_tooltip(
                    tr("Target: {target} ({target_bytes})\n", target=pair.target, target_bytes=size(pair.target_bytes))
                    + (
                        tr("Drafter: {drafter} ({drafter_bytes})\n", drafter=pair.drafter, drafter_bytes=size(pair.drafter_bytes))
                        if pair.drafter
                        else tr("No drafter\n")
                    )
                    + tr("Context: {context_limit} tokens", context_limit=number(pair.context_limit))
                )
            )
        else:
            self._pair_name = tr("Loading…") if state.loader.running else tr("No models loaded")
        self._elide()
        self.dflash.setChecked(state.next_mode == "dflash")
        self.dflash.setEnabled(state.can_dflash)
        self.dflash.setToolTip(
            tr("Draft with the small model, check with the large one. Holds from the next reply on.")
            if state.can_dflash or pair is None or pair.why_plain is None
            else as_tooltip(tr("Not available: {why_plain}", why_plain=translated(pair.why_plain)))
        )
        self.thinking.setChecked(state.thinking)
        self.thinking.setEnabled(state.can_think)
        self.thinking.setToolTip(
            tr("Let the model think before it answers. Holds from the next reply on.")
            if state.can_think or pair is None
            else tr("This model does not think before it answers.")
        )
        self.compare.setEnabled(state.can_compare_last)
        self.compare.setToolTip(tr("Answer the last prompt again, plainly and with DFlash, side by side"))
        running = state.reply_job.turn
        differs = running is not None and running.reply.mode != state.next_mode
        self.pending.setText(tr("{next_mode} from the next reply on", next_mode=mode_names()[state.next_mode]) if differs else "")
        self.pending.setVisible(differs and self.width() >= 640)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        others = (self.sidebar, self.pending, self.compare, self.settings, self.thinking, self.dflash)
        taken = sum(each.sizeHint().width() + SPACING for each in others if not each.isHidden())
        room = max(40, self.width() - taken - 2 * MARGIN - NAME_PADDING)
        self.name.setText(self.name.fontMetrics().elidedText(self._pair_name, Qt.TextElideMode.ElideRight, room))
        self.name.setAccessibleName(tr("Models: {pair_name}", pair_name=self._pair_name))
