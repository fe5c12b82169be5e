"""Ways to continue a chat that fills the context: a summary or a rolling window."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame

from app.session.services import Services
from app.storage.attachments import shortened
from app.text.language import tr
from app.widgets.controls import button, small_label
from app.widgets.layout import Flow, column
from app.widgets.theme import Theme, set_look


class FullContextBar(QFrame):
    """A bar that offers ways to continue while the chat fills the context."""

    def __init__(self, theme: Theme, services: Services) -> None:
        super().__init__()
        set_look(self, "notice")
        self._message, self._compactor = services.message, services.compactor
        self._attachments = services.attachments
        session, compactor = services.session, services.compactor
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.roll = button(tr("Continue with a Rolling Window"), look="bordered", clicked=session.continue_rolling)
        self.roll.setToolTip(tr("Leaves out the oldest messages but keeps them in the chat"))
        self.compact = button(tr("Compact"), look="bordered", clicked=compactor.start)
        self.compact.setToolTip(tr("Lets the model summarize the older messages, which stay in the chat"))
        self.cancel = button(tr("Cancel"), tr("Cancel the summary"), "bordered", compactor.cancel)
        buttons = Flow(gap=8)
        for made in (self.compact, self.roll, self.cancel):
            buttons.addWidget(made)
        column(self.label, buttons, spacing=6, margins=(16, 8, 8, 8), parent=self)
        changes = (
            compactor.changed,
            session.cut_changed,
            services.meter.changed,
            session.settings_changed,
            services.activity.changed,
        )
        for signal in (*changes, services.attachments.changed):
            signal.connect(self.refresh)
        self.hide()

    @Slot()
    def refresh(self) -> None:
        running, too_long = self._compactor.running, self._too_long
        self.setVisible(running or self._message.chat_full)
        if self.isHidden():
            return
        text = tr("The model's context is full. Continue here, or edit an earlier message.")
        if too_long:
            text = tr("The model's context is full, and “{name}” is larger than all of it. Remove the file.", name=too_long)
        self.label.setText(tr("Summarizing older messages…") if running else text)
        self.roll.setVisible(not running and not too_long)
        self.compact.setVisible(not running and not too_long and self._compactor.can_compact)
        self.cancel.setVisible(running)

    @property
    def _too_long(self) -> str:
        """The name of an attached file that would fill an empty chat, or an empty string."""
        reader = self._attachments
        counts = ((file, reader.counts.get(file)) for file in reader.files)
        return next((shortened(file.name) for file, count in counts if count is not None and count.tokens >= count.limit), "")
