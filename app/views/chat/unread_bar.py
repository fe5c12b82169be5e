"""A note above the composer about files that the model doesn't read."""

from PySide6.QtCore import Slot

from app.session.services import Services
from app.storage.wording import not_read
from app.text.language import tr
from app.views.chat.foot_bar import FootBar
from app.widgets.theme import Theme


class UnreadBar(FootBar):
    """A note that the model doesn't read files of the message or of the chat."""

    def __init__(self, theme: Theme, services: Services) -> None:
        super().__init__(theme, tr("Choose Model…"), tr("Choose a model that sees images"))
        self._message, self._session, self._loader = services.message, services.session, services.loader
        session, loader = self._session, self._loader
        turns = (session.chat_changed, session.turn_added, session.turns_changed, session.editing_changed, session.pages_changed)
        changes = (*turns, session.cut_changed, session.settings_changed)
        reader, ended = services.attachments, services.reply_runner.ended
        for signal in (reader.changed, ended, loader.changed, loader.loaded, *changes):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        found = tuple(dict.fromkeys((*self._message.unread, *self._session.unread)))
        self.show_text(not_read(found, self._loader.can_see, self._loader.why_cannot_see) if found else "")
        self.button.setVisible(not self._loader.can_see)
