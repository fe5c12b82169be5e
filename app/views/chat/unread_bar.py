"""A note above the composer about files that the model doesn't read."""

from collections.abc import Sequence

from PySide6.QtCore import Slot

from app.session.services import Services
from app.storage.attachments import Unread, shortened
from app.text.language import number, sentences, tr
from app.views.chat.foot_bar import FootBar
from app.widgets.theme import Theme

MOST_NAMES, MOST_PAGES = 3, 5  # that are listed


class UnreadBar(FootBar):
    """A note that the model doesn't read files of the message or of the chat."""

    def __init__(self, theme: Theme, services: Services) -> None:
        super().__init__(theme, tr("Choose Model…"), tr("Choose a model that sees images"))
        self._message, self._session, self._loader = services.message, services.session, services.loader
        session, loader = self._session, self._loader
        changes = (session.chat_changed, session.turn_added, session.turns_changed, session.editing_changed, session.pages_changed)
        for signal in (services.attachments.changed, services.reply_runner.ended, loader.changed, loader.loaded, *changes):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        found = tuple(dict.fromkeys((*self._message.unread, *self._session.unread)))
        self.show_text(not_read(found, self._loader.can_see, self._loader.why_cannot_see) if found else "")
        self.button.setVisible(not self._loader.can_see)


def not_read(found: Sequence[Unread], can_see: bool, why: str) -> str:
    """Return what a model doesn't read, and why.

    Args:
        found: at least one file.
        can_see: whether the model sees images.
        why: why it doesn't see them here, or "".
    """
    names = [_name(one) for one in found]
    if len(names) > MOST_NAMES:
        names[MOST_NAMES - 1 :] = [tr("{count} more", count=number(len(names) - MOST_NAMES + 1))]
    text = tr("Not read: {names}.", names=", ".join(names))
    return text if can_see else sentences(text, why or tr("This model can't see images."))


def _name(one: Unread) -> str:
    name = f"“{shortened(one.name)}”" if one.name else tr("an image from a tool")
    if one.lost:
        return tr("{name} (lost)", name=name)
    if not one.pages:
        return name
    pages = ", ".join(map(number, one.pages[:MOST_PAGES])) + ("…" if len(one.pages) > MOST_PAGES else "")
    return tr("{name} (pages {pages})", name=name, pages=pages)
