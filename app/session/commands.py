"""The commands, as one table that menus, palette, buttons, and tests share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence

from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.compaction import Compactor
from app.session.comparer import Comparer
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.storage.chat_tree import Node, Turn
from app.system.chat_link import link_to
from app.text.language import number, tr

Keys = QKeySequence.StandardKey
Role = QAction.MenuRole


@dataclass(frozen=True)
class Refusal:
    """Why a command can't run now. Without a notice, there is nothing to run it on."""

    notice: Notice | None = None


@dataclass(frozen=True, eq=False)
class Command:
    """Something the user can do.

    Attributes:
        title: the title with its access key; a function if the title depends on the state.
        keys: the shortcuts; the first one is shown. They aren't editing keys: the chat list handles Delete.
        needs: whether there is something to act on, or why not.
        checked: whether the command is on, if it is a switch.
        help: what the command does, in words that its title lacks; the palette finds these, too.
    """

    id: str
    title: str | Callable[[], str]
    act: Callable[[], object]
    keys: Keys | tuple[str, ...] = ()
    needs: Callable[[], object] = lambda: True
    checked: Callable[[], bool] | None = None
    role: Role = Role.NoRole
    visible: bool = True
    in_palette: bool = True
    exclusive: bool = False  # whether it turns off the other switches of its menu
    help: str = ""

    @property
    def text(self) -> str:
        return self.title if isinstance(self.title, str) else self.title()

    @property
    def plain_text(self) -> str:
        return plain_title(self.text)

    @property
    def shortcuts(self) -> list[QKeySequence]:
        return QKeySequence.keyBindings(self.keys) if isinstance(self.keys, Keys) else [QKeySequence(key) for key in self.keys]

    @property
    def shortcut(self) -> str:
        """The first shortcut in the system's notation, or an empty string."""
        return next((keys.toString(QKeySequence.SequenceFormat.NativeText) for keys in self.shortcuts), "")

    def can(self) -> Refusal | None:
        """Return why the command can't run now, or None if it can."""
        needs = self.needs()
        return needs if isinstance(needs, Refusal) else None if needs else Refusal()


@dataclass(frozen=True, eq=False)
class Menu:
    """Commands, menus, and separators (None). They may depend on the state."""

    text: str
    items: Callable[[], Sequence[Command | Menu | None]]
    needs: Callable[[], object] = lambda: True

    def commands(self) -> list[tuple[Command, str]]:
        """Return all commands in the menu's order, with the titles of their menus."""
        found: list[tuple[Command, str]] = []
        for item in self.items():
            if isinstance(item, Command):
                found.append((item, plain_title(self.text)))
            elif item is not None and item.needs():
                found += [(command, f"{plain_title(self.text)} ▸ {where}") for command, where in item.commands()]
        return found


def plain_title(text: str) -> str:
    """Remove access key markers: "&File" and "文件(&F)" lose theirs, "&&" becomes "&"."""
    return re.sub(r"\(&\w\)", "", text).replace("&&", "\0").replace("&", "").replace("\0", "&")


class Commands(QObject):
    """The commands that need no window. They act on the selected or open chats."""

    changed = Signal()  # whether commands can run, their titles, or their switches
    ran = Signal(str)  # id of the command
    rename_requested = Signal(str)  # id of a chat or project

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        library: ChatLibrary,
        loader: PairLoader,
        comparer: Comparer,
        compactor: Compactor,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._library, self._loader = session, activity, library, loader
        self._comparer, self._compactor, self._notices = comparer, compactor, notices
        # Kind ("chat" or "project") and ID of the current row, and the selected chats, while the list has the focus
        self.selection: Callable[[], tuple[str, str, list[str]]] = lambda: ("", "", [])
        self.listed: Callable[[], list[str]] = lambda: list(self._library.entries)  # all chats in the order of the list
        self.copy_text: Callable[[str], object] = QGuiApplication.clipboard().setText
        self.menus: tuple[Menu, ...] = ()  # of the menu bar
        self._commands: dict[str, Command] = {}
        self.add(*self._chats(), *self._replies())
        for signal in (
            activity.changed,
            session.settings_changed,
            session.turns_changed,
            session.turn_added,
            session.chat_changed,
            session.cut_changed,
            loader.loaded,
            self._library.changed,
        ):
            signal.connect(self.changed)

    def __getitem__(self, id: str) -> Command:
        return self._commands[id]

    def __contains__(self, id: str) -> bool:
        return id in self._commands

    def add(self, *commands: Command) -> None:
        self._commands |= {command.id: command for command in commands}

    def run(self, command: str | Command) -> None:
        """Run a command, or say why it can't run."""
        command = self[command] if isinstance(command, str) else command
        if (refusal := command.can()) is None:
            command.act()
            self.ran.emit(command.id)
        elif refusal.notice is not None:
            self._notices.post(refusal.notice)

    def runner(self, id: str) -> Callable[[], None]:
        """Return a function that runs a command, for signals."""
        return lambda: self.run(id)

    @property
    def target(self) -> tuple[str, str]:
        """Kind ("chat", "project", or "") and ID of what commands act on."""
        kind, id, _ = self.selection()
        if kind == "archive":
            return "", ""
        if (kind == "chat" and id in self._library.entries) or (kind == "project" and id in self._library.projects):
            return kind, id
        id = self._session.chat.id
        return ("chat", id) if id in self._library.entries else ("", "")

    @property
    def target_chats(self) -> list[str]:
        """IDs of the chats that Archive, Move, Export, and Delete act on."""
        if len(selected := self.selection()[2]) > 1:
            return [one for one in selected if one in self._library.entries]
        kind, id = self.target
        return [id] if kind == "chat" else []

    @property
    def target_project(self) -> str:
        """ID of the project that commands act on, or an empty string."""
        kind, id = self.target
        if kind == "project" or self.selection()[0] != "chat":
            return id if kind == "project" else self._session.project_id
        return self._library.entries[id].project if kind == "chat" else ""

    # Chats

    def _chats(self) -> tuple[Command, ...]:
        library, session = self._library, self._session

        def single() -> str:
            return self.target_chats[0] if self.target[0] == "chat" and len(self.target_chats) == 1 else ""

        def pinned() -> bool:
            return self.target[0] == "chat" and library.entries[self.target[1]].pinned

        def pin_title() -> str:
            return tr("Un&pin Chat") if pinned() else tr("&Pin Chat")

        def copy_link(chat_id: str) -> None:
            QGuiApplication.clipboard().setText(link_to(chat_id))

        def archived() -> bool:
            return bool(self.target_chats) and all(library.entries[one].archived for one in self.target_chats)

        def archive_title() -> str:
            return tr("Unarchive") if archived() else tr("Archive")

        def archive() -> None:
            library.archive(self.target_chats, archived=not archived())

        def delete_title() -> str:
            count = len(self.target_chats)
            return tr("&Delete {count} Chats", count=number(count)) if count > 1 else tr("&Delete")

        def undo_title() -> str:
            return library.undo_step.title if library.undo_step else tr("Undo &Delete")

        return (
            Command("new_chat", tr("&New Chat"), session.new_chat, Keys.New),
            Command("new_project", tr("New Pr&oject"), self._add_project, ("Ctrl+Shift+N",)),
            Command("undo_delete", undo_title, library.undo, ("Ctrl+Alt+Z",), lambda: library.undo_step),
            Command("rename", tr("Rena&me"), self._rename, ("F2",), lambda: self.target[0] and len(self.target_chats) < 2),
            Command("pin", pin_title, lambda: library.pin(single(), not pinned()), ("Ctrl+Alt+P",), single),
            Command("archive", archive_title, archive, needs=lambda: self.target_chats),
            Command("duplicate", tr("Dupl&icate"), lambda: library.duplicate(single(), session.open_chat), ("Ctrl+D",), single),
            Command("copy_link", tr("Copy Lin&k to Chat"), lambda: copy_link(single()), needs=single),
            Command("delete", delete_title, self._delete, needs=lambda: self.target[0]),
            Command("previous_chat", tr("Previous C&hat"), partial(self._step, -1), ("Ctrl+Alt+Up",), lambda: library.entries),
            Command("next_chat", tr("&Next Chat"), partial(self._step, 1), ("Ctrl+Alt+Down",), lambda: library.entries),
        )

    def _add_project(self) -> None:
        self.rename_requested.emit(self._library.add_project(tr("New Project")).id)

    def _rename(self) -> None:
        self.rename_requested.emit(self.target[1])

    def _delete(self) -> None:
        if chats := self.target_chats:
            self._library.delete(chats)
        else:
            self._library.delete_project(self.target[1])

    def _step(self, by: int) -> None:
        """Open the next or previous chat in the list, but none of the archive."""
        ids = [one for one in self.listed() if not self._library.entries[one].archived]
        place = ids.index(self._session.chat.id) + by if self._session.chat.id in ids else 0
        if 0 <= place < len(ids):
            self._session.open_chat(ids[place])

    def projects(self) -> Menu:
        """Return the menu that moves the target chats to a project."""
        return Menu(tr("Move t&o Project"), self._project_commands, lambda: self.target_chats)

    def _project_commands(self) -> Sequence[Command | None]:
        library, chats = self._library, self.target_chats

        def move_to_new() -> None:
            project = library.add_project(tr("New Project"))
            library.move(chats, project.id)
            self.rename_requested.emit(project.id)

        def command(project: str, name: str) -> Command:
            inside = all(project == library.entries[chat].project for chat in chats)
            move = partial(library.move, chats, project)
            return Command(f"move_to:{project}", name.replace("&", "&&"), move, checked=lambda: inside)

        found = [command(project.id, project.name) for project in library.projects.values()]
        return [command("", tr("None")), *found, None, Command("move_to_new", tr("New Project…"), move_to_new)] if chats else []

    # Replies

    def _replies(self) -> tuple[Command, ...]:
        at, activity, loader, comparer = self._session, self._activity, self._loader, self._comparer
        compactor = self._compactor

        def with_last(act: Callable[[Turn], object]) -> Callable[[], object]:
            return lambda: act(at.chat.turns[-1])

        def on_last(fits: Callable[[Turn], object]) -> Callable[[], object]:
            """Return whether the last turn fits and nothing runs in its chat, or why not."""
            return lambda: Refusal(why) if (why := activity.refusal_here) else at.chat.turns and fits(at.chat.turns[-1])

        def comparable() -> object:
            refusal, why = activity.alone_refusal(), comparer.why_not()
            return Refusal(refusal or Notice(why)) if refusal or why else at.chat.last_comparable

        def another_version(by: int) -> bool:
            place, count = node.place if (node := self._with_versions()) is not None else (1, 1)
            return 1 <= place + by <= count

        def answered() -> object:
            return at.chat.turns and at.chat.turns[-1].reply.answer

        def dflash() -> bool:
            return at.next_mode == "dflash"

        def thinking() -> bool:
            return at.thinking

        def rolling() -> bool:
            return at.chat.settings.rolling

        earlier, later = partial(another_version, -1), partial(another_version, 1)
        edit, regenerate, resume = with_last(at.edit), with_last(at.regenerate), with_last(at.resume)
        copy = with_last(lambda turn: self.copy_text(turn.reply.text))
        asked, cut_off = on_last(lambda turn: turn.asked), on_last(lambda turn: turn.reply.can_continue and loader.can_continue)
        return (
            Command("stop", tr("&Stop"), activity.stop, ("Esc", "Ctrl+."), lambda: activity.replying_here or activity.comparing),
            Command("compare", tr("&Compare Last Prompt"), comparer.compare, ("Ctrl+Shift+K",), comparable),
            Command(
                "dflash",
                "D&Flash",
                lambda: at.change(dflash=not dflash()),
                ("Ctrl+Shift+D",),
                lambda: loader.can_dflash and loader.can_plain,
                dflash,
            ),
            Command(
                "thinking",
                tr("&Thinking"),
                lambda: at.change(thinking=not thinking()),
                ("Ctrl+Shift+T",),
                lambda: loader.can_think,
                thinking,
            ),
            Command("rolling", tr("Rolling &Window"), lambda: at.change(rolling=not rolling()), checked=rolling),
            Command(
                "compact",
                tr("Compact"),
                compactor.start,
                needs=lambda: compactor.can_compact,
                help=tr("Summarize older messages to make room"),
            ),
            Command("undo_compact", tr("Undo Compact"), compactor.undo, needs=lambda: compactor.can_undo),
            Command("edit", tr("&Edit Last Message"), edit, ("Ctrl+Shift+E",), asked),
            Command("regenerate", tr("&Regenerate Reply"), regenerate, ("Ctrl+R",), asked),
            Command("resume", tr("Contin&ue Reply"), resume, ("Ctrl+Shift+R",), cut_off),
            Command("previous_version", tr("Previous &Version"), partial(self._switch, -1), ("Ctrl+Alt+Left",), earlier),
            Command("next_version", tr("Ne&xt Version"), partial(self._switch, 1), ("Ctrl+Alt+Right",), later),
            Command("copy_reply", tr("Copy Last Repl&y"), copy, ("Ctrl+Shift+C",), answered),
        )

    def _with_versions(self) -> Node | None:
        """Return the last message that has versions, or None."""
        nodes = (node for turn in reversed(self._session.chat.turns) for node in (turn.answered, turn.asked))
        return next((node for node in nodes if node is not None and node.place[1] > 1), None)

    def _switch(self, by: int) -> None:
        """Show the next or previous version of the last message that has versions."""
        if (node := self._with_versions()) is not None:
            self._session.switch(node, by)
