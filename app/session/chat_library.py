"""The library of chats, projects, and presets, without widgets.

The list changes immediately; the database follows on its own thread.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from PySide6.QtCore import QObject, Signal, Slot

from app.session.imports import RunningImport, told
from app.session.notice import Notice, NoticeAction, exported
from app.storage import chat_export, chat_import, wording
from app.storage.chat_import import ImportOutcome
from app.storage.chat_search import SearchHit
from app.storage.chat_tree import Chat, Node, new_id
from app.storage.project import Project
from app.storage.recognition import add_missing
from app.storage.records import chat_from_json, chat_to_json, files_in, fill
from app.storage.settings import ChatSettings, Preset, built_in
from app.storage.store import ChatSummary, Contents, FileUsage, Growth, Snapshot, Store
from app.storage.store_thread import Pause, StoreThread
from app.text.language import tr, translated
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError

_EXPORTS = "guide#how-do-i-export-or-import-chats"  # in Help
MAX_UNDO = 50


@dataclass(frozen=True)
class UndoStep:
    """A deletion, import, or archiving that can be undone."""

    message: str  # what happened, for the undo bar; empty if a notice tells it
    title: str  # title of the menu command
    undo: Callable[[], None]


class ChatLibrary(QObject):
    """The library behind the sidebar. Emits `loaded` once the database is read."""

    drafts_read = Signal(object)  # tuple of StoredDraft, before `loaded`
    loaded = Signal(str)  # id of the chat that was open last, or ""
    changed = Signal()
    presets_changed = Signal()
    removed = Signal(object)  # list of ids
    restored = Signal(object)  # list of ids
    became_private = Signal(object)  # list of ids
    revealed = Signal(str)  # id of a chat to open
    moved = Signal(list, set, str)  # ids of chats, those of the projects that they were in or "", and that of the new one or ""
    access_offered = Signal(object, list)  # Project that was imported without what gives models access, ids of its imported chats
    messages_added = Signal(object)  # Chat that an import added messages or files to
    notified = Signal(object)  # Notice or str
    undo_offered = Signal(object)  # the UndoStep to show, which was just added, or None
    unsaved_changed = Signal()
    import_changed = Signal()  # `importing`
    _import_progressed = Signal()  # from the store's thread

    def __init__(self, store: StoreThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._store.notice.connect(lambda text, page: self.notified.emit(Notice(text, "error", topic=text, help=page)))
        self._store.saved_again.connect(self._report_saved)
        self._store.unsaved_changed.connect(self._set_unsaved)
        self._store.start()
        self.entries: dict[str, ChatSummary] = {}
        self.projects: dict[str, Project] = {}
        self._presets: dict[str, Preset] = {}
        self.read = False  # whether the database has been read
        self.began_empty = False  # whether it had no chats and projects then, maybe because it was damaged
        self.unsaved: frozenset[str] = frozenset()  # ids of chats with unsaved changes, and `drafts.NEXT_CHAT`
        self.refusal = ""  # why the changes can't be saved
        self._kept: list[Chat] = []  # keeps unsaved chats in memory; the disk lacks their changes
        self._open: WeakValueDictionary[str, Chat] = WeakValueDictionary()
        self._deleted: set[str] = set()  # a reply may still be running in one
        self._undo_steps: list[UndoStep] = []
        self._imports: list[RunningImport] = []
        self._searches = 0  # started so far
        self._import_progressed.connect(self.import_changed)

    def load(self) -> None:
        """Read the list, then emit `loaded`."""
        self._store.read(Store.contents, self._fill)
        self._store.write(Store.recover)  # after reading: a full disk must not hide the chats

    def _fill(self, contents: Contents) -> None:
        self.read, self.began_empty = True, not (contents.chats or contents.projects)
        # Keep what was added after the read began
        self.entries = {entry.id: entry for entry in contents.chats} | self.entries
        self.projects = {project.id: project for project in contents.projects} | self.projects
        self._presets = {preset.name: preset for preset in contents.presets} | self._presets
        self.changed.emit()
        self.presets_changed.emit()
        self.drafts_read.emit(contents.drafts)
        self.loaded.emit(contents.open_chat if contents.open_chat in self.entries else "")

    @Slot(str)
    def _report_saved(self, problem: str) -> None:
        self.notified.emit(Notice(tr("Your chats are being saved again."), topic=problem))

    @Slot(frozenset, str)
    def _set_unsaved(self, unsaved: frozenset[str], refusal: str) -> None:
        self.unsaved, self.refusal = unsaved, refusal
        self._kept = [chat for one in unsaved if (chat := self._open.get(one)) is not None]
        self.unsaved_changed.emit()

    # Chats

    def cached_chats(self) -> tuple[str, ...]:
        """Return the ids of the chats whose prompts may be saved."""
        return tuple(one for one, entry in self.entries.items() if not entry.private)

    def open(self, chat_id: str, then: Callable[[Chat], None]) -> None:
        """Call `then` with a chat, from memory if it is open, else from the database."""
        if (chat := self._open.get(chat_id)) is not None:
            then(chat)
            return

        def opened(chat: Chat | None) -> None:
            if chat is not None:
                then(self._open.setdefault(chat.id, chat))

        self._store.read(lambda store: store.load(chat_id), opened)

    def save(self, chat: Chat, nodes: Iterable[Node], then: Callable[[object], None] | None = None) -> None:
        """Save a chat and the given messages, parents first, then call `then`."""
        self._open[chat.id] = chat
        old = self.entries.get(chat.id)
        snapshot = Snapshot.of(chat, nodes, self.project_of(chat), *(old.pinned, old.archived) if old else ())
        is_new = old is None and chat.id not in self._deleted
        if snapshot.summary != old and chat.id not in self._deleted:
            self.entries[chat.id] = snapshot.summary
            self.changed.emit()
            if old and snapshot.summary.private and not old.private:
                self.became_private.emit([chat.id])
        self._store.write(lambda store: store.save(snapshot, open_now=is_new), then, chat.id)

    def save_growth(self, chat: Chat, node: Node) -> None:
        """Save the text of a running reply, whose message is saved already."""
        growth = Growth.of(node)
        self._store.write(lambda store: store.save_growth(growth), chat_id=chat.id)

    def set_open_chat(self, chat_id: str) -> None:
        """Set the chat to open at the next launch; an empty id means a new chat."""
        self._store.write(lambda store: store.set_open_chat(chat_id))

    def choose(self, node: Node) -> None:
        """Save the chosen versions on the path to a message."""
        for one in node.path():
            assert one.parent is not None
            siblings = [child.id for child in one.parent.children]
            if len(siblings) > 1:
                self._store.write(partial(Store.choose, siblings=siblings, chosen=one.id))

    def delete_message(self, node: Node) -> None:
        self._store.write(partial(Store.delete_message, message_id=node.id))

    def rename(self, chat_id: str, title: str) -> None:
        """Rename a chat. An empty title is ignored."""
        title = " ".join(clean(title).split())
        if title and chat_id in self.entries:
            self._update(replace(self.entries[chat_id], title=title))

    def pin(self, chat_id: str, pinned: bool) -> None:
        """Pin a chat, which then isn't archived, or unpin it."""
        archived = self.entries[chat_id].archived and not pinned
        self._update(replace(self.entries[chat_id], pinned=pinned, archived=archived))

    def archive(self, chat_ids: Sequence[str], archived: bool = True) -> None:
        """Move chats to the archive, where none is pinned, which can be undone, or back."""
        before = [self.entries[one] for one in chat_ids if one in self.entries and self.entries[one].archived != archived]
        for one in before:
            self._update(replace(one, archived=archived, pinned=False))

        def undo() -> None:
            for one in before:
                if (now := self.entries.get(one.id)) is not None:
                    self._update(replace(now, archived=False, pinned=one.pinned))

        if before and archived:
            count, title = len(before), before[0].title
            message = tr("Archived “{title}”", title=title) if count == 1 else tr("Archived {count} chats", count=count)
            self._add_undo(UndoStep(message, tr("Undo &Archive"), undo))

    def project_of(self, chat: Chat) -> str:
        """Return the ID of a chat's project, or an empty string."""
        entry = self.entries.get(chat.id)
        one = entry.project if entry is not None else chat.project
        return one if one in self.projects else ""

    def move(self, chat_ids: Sequence[str], project_id: str) -> None:
        """Move chats to a project, or out of their projects if `project_id` is empty."""
        moved = [one for one in chat_ids if one in self.entries and self.entries[one].project != project_id]
        if moved and (not project_id or project_id in self.projects):
            before = {self.entries[one].project for one in moved}
            for one in moved:
                self._update(replace(self.entries[one], project=project_id))
            self.moved.emit(moved, before, project_id)

    def duplicate(self, chat_id: str, then: Callable[[str], None]) -> None:
        """Copy a chat with all branches and call `then` with the copy's id."""
        entry, unsaved = self.entries[chat_id], self._unsaved_copy(chat_id)

        def copied(chat: Chat | None) -> None:
            if chat is not None:
                chat.renew_ids()
                chat.title, chat.changed = tr("{title} copy", title=entry.title), time.time()
                chat.project = entry.project
                self.save(chat, chat.root.below())  # retried if the disk is full
                then(chat.id)

        self._store.read(lambda store: unsaved or store.load(chat_id), copied)

    def _unsaved_copy(self, chat_id: str) -> Chat | None:
        """Return a copy of a chat with unsaved changes, or None for any other chat."""
        chat = self._open.get(chat_id) if chat_id in self.unsaved else None
        return chat_from_json(chat_to_json(chat), files_in(chat)) if chat is not None else None

    def delete(self, chat_ids: Sequence[str]) -> None:
        """Delete chats. They can be restored until the app quits."""
        deleted = [self.entries.pop(one) for one in chat_ids if one in self.entries]
        if not deleted:
            return
        ids = [entry.id for entry in deleted]
        self._deleted.update(ids)
        self._store.write(lambda store: store.delete(ids))

        def restore() -> None:
            for entry in deleted:
                self.entries[entry.id] = entry if entry.project in self.projects else replace(entry, project="")
            self._deleted.difference_update(ids)
            self._store.write(lambda store: store.delete(ids, deleted=False))
            self.restored.emit(ids)

        count = len(deleted)
        message = tr("Deleted “{title}”", title=deleted[0].title) if count == 1 else tr("Deleted {count} chats", count=count)
        self._add_undo(UndoStep(message, tr("Undo &Delete"), restore))
        self.changed.emit()
        self.removed.emit(ids)

    # Projects

    def add_project(self, name: str) -> Project:
        project = Project(new_id(), " ".join(clean(name).split()) or tr("New Project"), time.time())
        self._save_project(project)
        return project

    def change_project(self, project_id: str, **changes: Any) -> None:
        """Change fields of a project. An empty name is ignored."""
        old = self.projects[project_id]
        new = replace(old, **changes)
        new = replace(new, name=" ".join(clean(new.name).split()) or old.name)
        if new != old:
            self._save_project(new)

    def delete_project(self, project_id: str) -> None:
        """Delete a project but not its chats."""
        project = self.projects.pop(project_id)
        inside = [entry.id for entry in self.entries.values() if entry.project == project_id]
        for one in inside:
            self.entries[one] = replace(self.entries[one], project="")
        self._store.write(lambda store: store.delete_project(project_id))

        def restore() -> None:
            for one in inside:
                if one in self.entries:
                    self.entries[one] = replace(self.entries[one], project=project_id)
            self._save_project(project, inside)

        self._add_undo(UndoStep(tr("Deleted the project “{name}”", name=project.name), tr("Undo &Delete"), restore))
        self.changed.emit()

    # Undo

    @property
    def undo_step(self) -> UndoStep | None:
        """The step that `undo` reverts."""
        return self._undo_steps[-1] if self._undo_steps else None

    @Slot()
    def undo(self) -> None:
        if self._undo_steps:
            self._undo_steps.pop().undo()
            self.changed.emit()
            self.undo_offered.emit(None)

    def _add_undo(self, step: UndoStep) -> None:
        """Add a step. Others drop import steps, so repeated undo never reaches them."""
        imports = tr("Undo &Import")
        kept = [one for one in self._undo_steps if one.title != imports or step.title == imports]
        self._undo_steps = [*kept, step][-MAX_UNDO:]
        self.undo_offered.emit(step if step.message else None)

    def measure_files(self, then: Callable[[FileUsage], None]) -> None:
        """Call `then` with the number and size of the images and PDFs in chats."""
        self._store.read(Store.usage, then)

    # Search

    def search(self, words: str, then: Callable[[tuple[SearchHit, ...]], None]) -> None:
        """Call `then` with the messages that contain all words.

        A search that begins later replaces this one.
        """
        number = self._searches = self._searches + 1

        def find(store: Store, pause: Pause) -> tuple[SearchHit, ...]:
            return store.search(words, pause) if number == self._searches else ()

        def show(hits: tuple[SearchHit, ...]) -> None:
            if number == self._searches:
                then(hits)

        self._store.read_long(find, show)

    # Presets

    @property
    def presets(self) -> tuple[Preset, ...]:
        """The built-in presets, followed by the user's in alphabetical order."""
        return (*built_in(), *sorted(self._presets.values(), key=lambda preset: preset.name.casefold()))

    def can_delete_preset(self, name: str) -> bool:
        return name in self._presets

    def save_preset(self, name: str, settings: ChatSettings) -> None:
        """Save settings as a preset, unless a built-in preset has the name."""
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

    def export_chats(self, chat_ids: Sequence[str], to: Path, project_id: str = "") -> None:
        """Export chats to a file as JSON (.json) or Markdown, and a project even without."""
        projects = dict(self.projects)
        unsaved = {one: self._unsaved_copy(one) for one in chat_ids}
        entries = [self.entries[one] for one in chat_ids if one in self.entries]

        def export(store: Store, pause: Pause) -> Notice:
            as_json, chats = chat_export.is_json(to), []
            try:
                if as_json:
                    chat_export.check_size(store.usage([entry.id for entry in entries]).bytes)
                for entry in entries:
                    pause()
                    if chat := unsaved.get(entry.id) or store.load(entry.id, as_json):
                        chats.append((chat, entry))
                return exported(chat_export.export(chats, projects, to, pause, projects.get(project_id)), to)
            except UserError as error:
                return Notice(translated(error.text), "error", topic="export", help=_EXPORTS)

        self._store.read_long(export, self.notified.emit)

    def read_markdown(self, chat_id: str, then: Callable[[str], None]) -> None:
        """Call `then` with the Markdown of a chat's shown branch, without thoughts."""
        unsaved = self._unsaved_copy(chat_id)

        def read(store: Store) -> str:
            chat = unsaved or store.load(chat_id, False)
            return chat_export.to_markdown(chat, False) if chat is not None else ""

        self._store.read(read, then)

    @property
    def importing(self) -> RunningImport | None:
        """The import that is running, or None."""
        return self._imports[0] if self._imports else None

    @Slot(object)
    def import_file(self, file: Path) -> None:
        """Import chats from a file or a folder of Slipstream or another app."""
        self.import_files([file])

    def import_files(self, files: Sequence[Path]) -> None:
        """Import chats from several files as one."""
        name = files[0].name if len(files) == 1 else tr("{count} files", count=len(files))
        taken, run = set(self.entries), RunningImport(name)

        def report(pause: Pause, share: float) -> None:
            pause()
            if run.canceled:
                raise chat_import.ImportCanceled
            if share >= run.share + 0.01:
                run.share = share
                self._import_progressed.emit()

        def work(store: Store, pause: Pause) -> ImportOutcome | Notice:
            try:
                return chat_import.import_into(store, files, taken, partial(report, pause))
            except UserError as error:
                return Notice(translated(error.text), "error", topic="import", help=_EXPORTS)
            except chat_import.ImportCanceled:
                return Notice(tr("Import canceled. No chats were added."), topic="import")

        def end(_: object) -> None:
            self._imports.remove(run)
            self.import_changed.emit()

        self._imports.append(run)
        self.import_changed.emit()
        self._store.read_long(work, self._imported)
        self._store.read_long(lambda store, pause: None, end)  # on its own: `work` may fail, or be done again

    @Slot()
    def cancel_imports(self) -> None:
        for run in self._imports:
            run.canceled = True

    def _imported(self, found: ImportOutcome | Notice) -> None:
        if isinstance(found, Notice):
            self.notified.emit(found)
            return
        for chat in [chat for one in found.filled if (chat := self._open.get(one)) is not None]:
            self._store.read(partial(Store.load, chat_id=chat.id), partial(self._fill_in, chat))
        text = told(found, known=self.projects)
        untrusted = [project for project in found.untrusted if project.id not in self.projects]
        self.projects = {project.id: project for project in found.projects} | self.projects  # existing projects stay as they are
        for one in found.chats:
            self.entries[one.chat.id] = Snapshot.of(one.chat, (), one.project, one.pinned, one.archived).summary
        ids = [one.chat.id for one in found.chats]
        actions = []
        if ids:
            # Undo deletes the chats, so that messages added since can still be restored.
            self._add_undo(UndoStep("", tr("Undo &Import"), lambda: self.delete(ids)))
            newest = max(found.chats, key=lambda one: one.chat.changed).chat.id
            actions.append(NoticeAction(tr("Show"), partial(self.revealed.emit, newest)))
            actions.append(NoticeAction(tr("Undo"), partial(self.delete, ids)))
        if found.grown:
            actions.append(NoticeAction(tr("Add Messages"), partial(self._add_messages, found), needed=True))
        self.changed.emit()
        self.notified.emit(Notice(text, topic="import", actions=tuple(actions)))
        for project in untrusted:
            self.access_offered.emit(project, [one.chat.id for one in found.chats if one.project == project.id])

    def _fill_in(self, chat: Chat, stored: Chat | None) -> None:
        """Give an open chat the images and PDFs that an import stored."""
        nodes = {node.id: node for node in stored.root.below()} if stored is not None else {}
        for node in chat.root.below():
            if node.role == "user" and (twin := nodes.get(node.id)) is not None:
                node.text, node.attachments = twin.text, twin.attachments
        self.messages_added.emit(chat)

    def _add_messages(self, found: ImportOutcome) -> None:
        """Add the messages of a file's chats to the same chats in the library."""
        grown = found.grown
        waiting = {chat_id for chat_id, _ in grown if chat_id in self.entries}
        count = len(waiting)

        def add(chat_id: str, other: Chat, chat: Chat) -> None:
            if added := add_missing(chat, other):
                self.save(chat, added)
                self.choose(chat.turns[-1].last)
                self.messages_added.emit(chat)
            waiting.discard(chat_id)
            if not waiting:
                self.notified.emit(Notice(tr("Added the new messages to {chats}.", chats=wording.chats(count)), topic="import"))

        def read(other: Chat, store: Store) -> None:
            with closing(found.files):
                fill(other.root.below(), found.files)

        def add_to(chat_id: str, other: Chat, _: None) -> None:
            self.open(chat_id, partial(add, chat_id, other))

        for chat_id, other in grown:
            if chat_id in waiting:
                self._store.read(partial(read, other), partial(add_to, chat_id, other))

    def _update(self, entry: ChatSummary) -> None:
        self.entries[entry.id] = entry
        if (chat := self._open.get(entry.id)) is not None:
            chat.title = entry.title
        self._store.write(lambda store: store.update(entry), chat_id=entry.id)
        self.changed.emit()

    def _save_project(self, project: Project, chat_ids: Sequence[str] = ()) -> None:
        self.projects[project.id] = project
        self._store.write(lambda store: store.save_project(project, chat_ids))
        self.changed.emit()
