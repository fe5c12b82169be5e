"""Texts from other apps go into a message field, and are never sent.

They come from links, from macOS's Services menu, and with the shortcut of the quick chat.
"""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.session.notice import Notice
from app.system.chat_link import MAX_TEXT, read_link, too_long
from app.text.language import tr, translated
from app.text.plain_text import clean
from app.window.main_window import MainWindow
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.visible import visible

MAX_DRAFT = 5 * MAX_TEXT  # characters of a draft that other apps may add to


class OutsideText(QObject):
    """The way of texts from other apps into a new chat or the quick chat.

    Those that come before the chats are read wait, because the chat that was open last is then opened. Those that come while
    the app quits are saved as a draft.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._services = window, window.services
        self._early: list[Callable[[], None]] = []
        for signal in (self._services.library.loaded, window.closed):
            signal.connect(self._use_early)
        window.quick.text_selected.connect(self.ask_quickly)

    @Slot(str)
    def open_link(self, link: str) -> None:
        """Open what a link names, or say what is wrong with the link."""
        if self._too_early:
            self._early.append(partial(self.open_link, link))
            return
        try:
            found = read_link(link)
        except UserError as error:
            self._refuse(translated(error.text))
            return
        if found.place == "chat":
            self._open_chat(found.chat)
        elif found.place == "quick":
            self.ask_quickly(found.text)
        else:
            self.ask(found.text)

    @Slot(str)
    def ask_quickly(self, text: str) -> None:
        """Open the quick window with a text in its message field, below what is there.

        While the app quits, the text becomes a draft.
        """
        if self._too_early:
            self._early.append(partial(self.ask_quickly, text))
            return
        if self._window.quitting:
            self.ask(text)
            return
        quick, shown = self._services.quick, visible(clean(text)).strip()
        if len(quick.text) > MAX_DRAFT:
            self._refuse(translated(too_long().text))
            return
        self._window.quick.open(shown)
        quick.pause()
        if shown:
            quick.notices.post(Notice(_ask_to_read(), topic="link"))

    def _open_chat(self, chat_id: str) -> None:
        if chat_id in self._services.library.entries:
            self._services.session.open_chat(chat_id)
            self._come_forward()
        else:
            self._refuse(tr("The chat of this link isn't here. It was deleted, or it is on another computer."))

    @Slot(str)
    def ask(self, text: str) -> None:
        """Open a new chat with a text in the message field, below a draft.

        An empty chat that is open stays: it may have been made private.
        """
        if self._too_early:
            self._early.append(partial(self.ask, text))
            return
        session, message, shown = self._services.session, self._services.message, visible(clean(text)).strip()
        if not session.in_new_chat:
            session.new_chat()
        if shown and len(message.draft) > MAX_DRAFT:
            self._refuse(translated(too_long().text))
            return
        if shown:
            message.put_back()
            message.add(shown)
            self._services.notices.post(Notice(_ask_to_read(), topic="link"))
        self._come_forward()
        self._window.composer.focus()
        if self._window.quitting:
            self._services.save_state()

    @property
    def _too_early(self) -> bool:
        return not self._services.library.read and not self._window.quitting

    def _refuse(self, why: str) -> None:
        page = "guide#how-do-i-ask-about-text-in-another-app"
        self._services.notices.post(Notice(why, "error", topic="link", help=page))
        self._come_forward()

    def _come_forward(self) -> None:
        """Show the window, without sending anything on keys meant for another app."""
        self._services.message.pause()
        self._window.bring_to_front()

    @Slot()
    def _use_early(self) -> None:
        early, self._early = self._early, []
        for use in early:
            use()


def _ask_to_read() -> str:
    return tr("This text comes from another app. Read it before you send it.")
