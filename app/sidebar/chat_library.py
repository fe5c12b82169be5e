"""All chats as the sidebar shows them: the list, folders and presets, and what is done to them. It has no widgets.

The list is kept here and changed at once; the database follows on its own thread.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

from PySide6.QtCore import QObject, Signal, Slot

from app import language
from app.conversations import chat_export, chat_import
from app.conversations.chat_tree import Chat, Node, new_id
from app.conversations.plain_text import clean
from app.conversations.salvage import ImportedChats
from app.conversations.settings import ChatSettings, Preset, built_in
from app.conversations.store import ChatSummary, Contents, Folder, SearchHit, Snapshot, Store
from app.language import tr
from app.store_thread import StoreThread
from mlx_engine.errors import UserError

MOST_UNDO = 50


class ChatLibrary(QObject):
    """What there is. `loaded` once the database was read; `changed` whenever the list is another."""

    loaded = Signal(str)  # the id of the chat that was open last, or nothing
    changed = Signal()
    presets_changed = Signal()
    removed = Signal(object)  # list of ids
    notified = Signal(str)
    undo_changed = Signal()

    def __init__(self, store: StoreThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._store.notice.connect(self.notified)
        self._store.start()
        self.entries: dict[str, ChatSummary] = {}
        self.folders: dict[str, Folder] = {}
        self._presets: dict[str, Preset] = {}
        self._open: WeakValueDictionary[str, Chat] = WeakValueDictionary()
        self._gone: set[str] = set()  # deleted, though one of them may still be written in
        self._undo: list[tuple[str, Callable[[], None]]] = []  # what is undone, and how

    def load(self) -> None:
        """Read the list; `loaded` follows."""
        self._store.read(Store.contents, self._fill)
        self._store.write(Store.recover)  # may fail, and then waits: whoever has a full disk still sees what is there

    def _fill(self, contents: Contents) -> None:
        self.entries = {entry.id: entry for entry in contents.chats} | self.entries
        self.folders = {folder.id: folder for folder in contents.folders}
        self._presets = {preset.name: preset for preset in contents.presets}
        self.changed.emit()
        self.presets_changed.emit()
        self.loaded.emit(contents.open_chat if contents.open_chat in self.entries else "")

    # Chats

    def open(self, chat_id: str, then: Callable[[Chat], None]) -> None:
        """Hand over a chat: the one that is in use already, or read from the database."""
        if (chat := self._open.get(chat_id)) is not None:
            then(chat)
            return

        def opened(chat: Chat | None) -> None:
            if chat is not None:
                self._open.setdefault(chat.id, chat)
                then(self._open[chat.id])

        self._store.read(lambda store: store.load(chat_id), opened)

    def save(self, chat: Chat, nodes: Iterable[Node], then: Callable[[object], None] | None = None) -> None:
        """Save these messages of a chat, each after its parent, and its title and settings. `then` is called when that is done."""
        self._open[chat.id] = chat
        old = self.entries.get(chat.id)
        snapshot = Snapshot.of(chat, nodes, old.folder if old else "", old.pinned if old else False)
        is_new = old is None and chat.id not in self._gone
        if snapshot.summary != old and chat.id not in self._gone:
            self.entries[chat.id] = snapshot.summary
            self.changed.emit()
        self._store.write(lambda store: store.save(snapshot, open_now=is_new), then)

    def note_open(self, chat_id: str) -> None:
        """Which chat the next start shows; empty for a new one."""
        self._store.write(lambda store: store.set_open_chat(chat_id))

    def choose(self, node: Node) -> None:
        """Keep which versions are shown on the way to a message."""
        for one in node.path():
            assert one.parent is not None
            siblings = [child.id for child in one.parent.children]
            if len(siblings) > 1:
                self._store.write(partial(Store.choose, siblings=siblings, chosen=one.id))

    def drop(self, node: Node) -> None:
        """Forget a message."""
        self._store.write(partial(Store.delete_message, message_id=node.id))

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat another title; an empty one changes nothing."""
        title = " ".join(clean(title).split())
        if title and chat_id in self.entries:
            self._update(replace(self.entries[chat_id], title=title))

    def pin(self, chat_id: str, pinned: bool) -> None:
        """Keep a chat above all others."""
        self._update(replace(self.entries[chat_id], pinned=pinned))

    def move(self, chat_id: str, folder_id: str) -> None:
        """Put a chat into a folder, or with an empty id into none."""
        self._update(replace(self.entries[chat_id], folder=folder_id))

    def duplicate(self, chat_id: str, then: Callable[[str], None]) -> None:
        """A copy with all branches; `then` gets its id."""
        title = tr("{title} copy", title=self.entries[chat_id].title)

        def copied(store: Store) -> Chat | None:
            chat = store.load(chat_id)
            if chat is not None:
                fresh_ids(chat)
                chat.title, chat.changed = title, time.time()
                store.save(Snapshot.of(chat, chat.root.below(), entry.folder))
            return chat

        def done(chat: Chat | None) -> None:
            if chat is not None:
                self._open[chat.id] = chat
                self.entries[chat.id] = replace(Snapshot.of(chat, ()).summary, folder=entry.folder)
                self.changed.emit()
                then(chat.id)

        entry = self.entries[chat_id]
        self._store.write(copied, done)

    def delete(self, chat_ids: Sequence[str]) -> None:
        """Take chats out of the list; `undo` brings them back until the app is quit."""
        gone = [self.entries.pop(one) for one in chat_ids if one in self.entries]
        if not gone:
            return
        ids = [entry.id for entry in gone]
        self._gone.update(ids)
        self._store.write(lambda store: store.delete(ids))

        def back() -> None:
            for entry in gone:
                self.entries[entry.id] = entry if entry.folder in self.folders else replace(entry, folder="")
            self._gone.difference_update(ids)
            self._store.write(lambda store: store.delete(ids, deleted=False))

        self._can_undo(
            tr("Deleted “{title}”", title=gone[0].title) if len(gone) == 1 else tr("Deleted {gone} chats", gone=len(gone)), back
        )
        self.changed.emit()
        self.removed.emit(ids)

    # Folders

    def add_folder(self, name: str) -> Folder:
        """A new, empty folder."""
        folder = Folder(new_id(), " ".join(clean(name).split()) or tr("New Folder"), time.time())
        self._save_folder(folder)
        return folder

    def rename_folder(self, folder_id: str, name: str) -> None:
        """Give a folder another name; an empty one changes nothing."""
        if name := " ".join(clean(name).split()):
            self._save_folder(replace(self.folders[folder_id], name=name))

    def delete_folder(self, folder_id: str) -> None:
        """Delete a folder; its chats stay, in none. `undo` brings it back with them."""
        folder = self.folders.pop(folder_id)
        inside = [entry.id for entry in self.entries.values() if entry.folder == folder_id]
        for one in inside:
            self.entries[one] = replace(self.entries[one], folder="")
        self._store.write(lambda store: store.delete_folder(folder_id))

        def back() -> None:
            for one in inside:
                if one in self.entries:
                    self.entries[one] = replace(self.entries[one], folder=folder_id)
            self._save_folder(folder, inside)

        self._can_undo(tr("Deleted the folder “{name}”", name=folder.name), back)
        self.changed.emit()

    # Undo

    @property
    def undoable(self) -> str:
        """What `undo` would take back, in words; empty when nothing."""
        return self._undo[-1][0] if self._undo else ""

    @Slot()
    def undo(self) -> None:
        """Take back the last deletion or import."""
        if self._undo:
            self._undo.pop()[1]()
            self.changed.emit()
            self.undo_changed.emit()

    # Search

    def search(self, words: str, then: Callable[[tuple[SearchHit, ...]], None]) -> None:
        """Messages that hold all the words."""
        self._store.read(lambda store: store.search(words), then)

    # Presets

    @property
    def presets(self) -> tuple[Preset, ...]:
        """Built-in ones, then the user's by name."""
        return (*built_in(), *sorted(self._presets.values(), key=lambda preset: preset.name.casefold()))

    def is_own(self, name: str) -> bool:
        """Whether a preset is the user's, so that it can be deleted."""
        return name in self._presets

    def save_preset(self, name: str, settings: ChatSettings) -> None:
        """Keep settings under a name; the same name again replaces it. The built-in ones keep theirs."""
        name = " ".join(clean(name).split())
        if name and name not in {preset.name for preset in built_in()}:
            preset = self._presets[name] = Preset(name, settings)
            self._store.write(lambda store: store.save_preset(preset))
            self.presets_changed.emit()

    def delete_preset(self, name: str) -> None:
        if self._presets.pop(name, None):
            self._store.write(lambda store: store.delete_preset(name))
            self.presets_changed.emit()

    # Export and import

    def export_chats(self, chat_ids: Sequence[str], to: Path) -> None:
        """Write chats to a file, .md or .json by its name."""
        folders = dict(self.folders)
        entries = [self.entries[one] for one in chat_ids if one in self.entries]

        def work(store: Store) -> str:
            chats = [(chat, entry) for entry in entries if (chat := store.load(entry.id)) is not None]
            return chat_export.export(chats, folders, to)

        self._store.read(work, self.notified.emit)

    def import_file(self, file: Path) -> None:
        """Add the chats of a file: our own JSON or database, or ChatGPT's export. `undo` takes them out again."""
        taken = set(self.entries)

        def work(store: Store) -> ImportedChats:
            found = chat_import.read(file)
            ids = set(taken)
            for chat in (one.chat for one in found.chats):
                own = {chat.id, *(node.id for node in chat.root.below())}
                if not ids.isdisjoint(own) or store.load(chat.id) is not None or store.has_any(chat.root.below()):
                    fresh_ids(chat)
                ids |= own
            snapshots = (Snapshot.of(one.chat, one.chat.root.below(), one.folder, one.pinned) for one in found.chats)
            try:
                store.save_all(snapshots, found.folders)
            except sqlite3.OperationalError as error:
                raise UserError(
                    "import_not_saved", "Can't save the chats of “{name}”: {reason}.", name=file.name, reason=str(error)
                ) from error
            return found

        self._store.read(work, self._imported)

    def _imported(self, found: ImportedChats) -> None:
        self.folders = {folder.id: folder for folder in found.folders} | self.folders  # one that is here keeps its name
        for one in found.chats:
            self.entries[one.chat.id] = Snapshot.of(one.chat, (), one.folder, one.pinned).summary
        ids = [one.chat.id for one in found.chats]
        count = tr("1 chat") if len(ids) == 1 else tr("{count} chats", count=language.number(len(ids)))
        # Deleted like any other: what was said in them since then can be brought back.
        self._can_undo(tr("Imported {count}", count=count), lambda: self.delete(ids))
        self.changed.emit()
        self.notified.emit(tr("Imported {count}.", count=count) + (f" {found.remark}" if found.remark else ""))

    def _update(self, entry: ChatSummary) -> None:
        self.entries[entry.id] = entry
        if (chat := self._open.get(entry.id)) is not None:
            chat.title = entry.title
        self._store.write(lambda store: store.update(entry))
        self.changed.emit()

    def _save_folder(self, folder: Folder, chat_ids: Sequence[str] = ()) -> None:
        self.folders[folder.id] = folder
        self._store.write(lambda store: store.save_folder(folder, chat_ids))
        self.changed.emit()

    def _can_undo(self, words: str, back: Callable[[], None]) -> None:
        self._undo.append((words, back))
        del self._undo[:-MOST_UNDO]
        self.undo_changed.emit()


def fresh_ids(chat: Chat) -> None:
    """Make a chat another one than that it was read from."""
    chat.id = new_id()
    for node in chat.root.below():
        node.id = new_id()
