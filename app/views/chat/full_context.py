"""Ways to continue a chat that fills the context: a rolling window or a summary."""

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
        self._loader, self._message, self._summary = services.loader, services.message, services.summary
        self._attachments = services.attachments
        session, summary = services.session, services.summary
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.roll = button(tr("Continue with a Rolling Window"), look="bordered", clicked=session.continue_rolling)
        self.roll.setToolTip(tr("Leaves out the oldest messages but keeps them in the chat"))
        self.summarize = button(tr("Start New Chat with Summary"), look="bordered", clicked=summary.start)
        self.cancel = button(tr("Cancel"), tr("Cancel the summary"), "bordered", summary.cancel)
        buttons = Flow(gap=8)
        for made in (self.roll, self.summarize, self.cancel):
            buttons.addWidget(made)
        column(self.label, buttons, spacing=6, margins=(16, 8, 8, 8), parent=self)
        changes = (summary.changed, services.meter.changed, session.settings_changed, services.activity.changed)
        for signal in (*changes, services.attachments.changed):
            signal.connect(self.refresh)
        self.hide()

    @Slot()
    def refresh(self) -> None:
        running = self._summary.running
        self.setVisible(running or self._message.chat_full)
        ways = tr("The model's context is full. Continue here, start a new chat, or edit an earlier message.")
        if too_long := self._too_long:
            ways = tr("The model's context is full, and “{name}” is larger than all of it. Remove the file.", name=too_long)
        self.label.setText(tr("Summarizing the chat…") if running else ways)
        self.roll.setVisible(not running and not too_long)
        can_summarize = not running and not too_long and not self._loader.has_demo  # the demo pair can't write summaries
        self.summarize.setVisible(can_summarize)
        self.cancel.setVisible(running)

    @property
    def _too_long(self) -> str:
        """The name of an attached file that would fill an empty chat, or an empty string."""
        reader = self._attachments
        counts = ((file, reader.counts.get(file)) for file in reader.files)
        return next((shortened(file.name) for file, count in counts if count is not None and count.tokens >= count.limit), "")
