"""The commands that need the window: dialogs, text fields, and appearance."""

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtWidgets import QApplication, QLineEdit, QMainWindow, QPlainTextEdit, QTextEdit

from app.session.commands import Command, Commands, Keys, Refusal, Role
from app.session.notice import Notice
from app.session.pair_session import PairLoader
from app.session.preferences import Preferences, Setting
from app.session.projects import Projects
from app.session.quiet_mode import QuietMode
from app.session.tuning_run import TuningRunner
from app.session.tuning_survey import why_not_tunable
from app.session.updates import Updates
from app.text.language import tr
from app.views.machine.this_mac import machine_title
from app.views.sidebar.chat_list import ChatList
from app.views.sidebar.sidebar import UndoBar
from app.views.transcript.transcript import Transcript
from app.window.dialogs import Dialogs
from app.window.help import SHORTCUTS
from app.window.sidebar_split import SidebarSplit


def dialog_commands(dialogs: Dialogs, loader: PairLoader, tuning: TuningRunner) -> tuple[Command, ...]:
    def tunable() -> object:
        why_not = why_not_tunable(loader)
        return tuning.running or (Refusal(Notice(why_not)) if why_not else True)

    show_tools, show_shortcuts = partial(dialogs.show_settings, "tools"), partial(dialogs.show_help, SHORTCUTS)
    return (
        Command("models", tr("&Models…"), dialogs.show_models, ("Ctrl+Shift+M",), help=tr("Add a pair, a Mac, or a connection")),
        Command("tune", tr("Tune &Drafter…"), dialogs.show_tuning, needs=tunable),
        Command("tools", tr("&Tools…"), show_tools),
        Command("tool_calls", tr("Tool Calls…"), dialogs.show_calls),
        # macOS moves settings, about, and quit to the app menu.
        Command("settings", tr("Settings…"), dialogs.show_settings, ("Ctrl+,",), role=Role.PreferencesRole),
        Command("about", tr("About Slipstream"), dialogs.show_about, role=Role.AboutRole),
        Command("palette", tr("Command &Palette…"), dialogs.show_palette, ("Ctrl+Shift+P",), in_palette=False),
        Command("compare_prompt", tr("Comp&are Prompt…"), dialogs.show_compare, ("Ctrl+Alt+K",)),
        Command("chat_settings", tr("Chat Settin&gs…"), dialogs.show_chat_settings, ("Ctrl+I",)),
        Command("local_server", tr("&Local Server"), dialogs.show_server, ("Ctrl+Shift+L",)),
        Command("guide", tr("&User Guide"), dialogs.show_help, Keys.HelpContents),
        Command("shortcuts", tr("&Keyboard Shortcuts"), show_shortcuts, ("Ctrl+/",)),
        Command("changes", tr("What's &New"), dialogs.show_changes),
        Command("report", tr("&Report a Problem…"), dialogs.show_report),
        Command("this_mac", f"&{machine_title()}", dialogs.show_this_mac),
        Command("logs", tr("Show &Logs"), dialogs.show_logs),
    )


def project_commands(commands: Commands, projects: Projects, dialogs: Dialogs) -> tuple[Command, ...]:
    def target() -> str:
        return commands.target_project

    def new_title() -> str:
        project = projects.get(target())
        return tr("Ne&w Chat in “{project}”", project=project.name.replace("&", "&&")) if project else tr("Ne&w Chat in Project")

    return (
        Command("new_project_chat", new_title, lambda: projects.new_chat(target()), ("Ctrl+Alt+N",), target),
        Command("project_settings", tr("Pro&ject Settings…"), lambda: dialogs.show_project_settings(target()), needs=target),
    )


def text_commands(transcript: Transcript, undo_bar: UndoBar) -> tuple[Command, ...]:
    find, links = transcript.find_bar, transcript.links
    return (
        Command("undo", tr("&Undo"), partial(_undo, undo_bar), Keys.Undo),
        Command("redo", tr("&Redo"), partial(_edit, "redo"), Keys.Redo),
        Command("cut", tr("Cu&t"), partial(_edit, "cut"), Keys.Cut),
        Command("copy", tr("&Copy"), partial(_edit, "copy"), Keys.Copy),
        Command("paste", tr("&Paste"), partial(_edit, "paste"), Keys.Paste),
        Command("select_all", tr("Select &All"), partial(_edit, "selectAll"), Keys.SelectAll),
        Command("find", tr("&Find in Chat…"), find.open_search, Keys.Find),
        Command("find_next", tr("Find Ne&xt"), find.find_next, Keys.FindNext),
        Command("find_previous", tr("Find Pre&vious"), find.find_previous, Keys.FindPrevious),
        Command("next_link", tr("Next &Link"), links.go_to_next, ("Ctrl+J",)),
        Command("previous_link", tr("Previous Lin&k"), links.go_to_previous, ("Ctrl+Shift+J",)),
        Command("scroll_to_end", tr("Scroll to &End"), transcript.follow, ("Ctrl+End",)),
    )


def _undo(undo_bar: UndoBar) -> None:
    """Undo what the undo bar offers, unless the focused text has changes to undo."""
    target = QApplication.focusWidget()
    changed = target.document().isUndoAvailable() if isinstance(target, QPlainTextEdit | QTextEdit) else False
    if undo_bar.isHidden() or changed or (isinstance(target, QLineEdit) and target.isUndoAvailable()):
        _edit("undo")
    else:
        undo_bar.undo.emit()


def _edit(method: str) -> None:
    """Call a method of the focused text or list."""
    target = QApplication.focusWidget()
    if isinstance(target, QPlainTextEdit | QTextEdit | QLineEdit | Transcript | ChatList) and hasattr(target, method):
        getattr(target, method)()


def window_commands(
    window: QMainWindow, quit_app: Callable[[], object], focus_message: Callable[[], object], split: SidebarSplit
) -> tuple[Command, ...]:
    def zoom() -> None:
        if window.isMaximized():
            window.showNormal()
        else:
            window.showMaximized()

    def has_sidebar() -> bool:
        return not split.sidebar.isHidden()

    return (
        Command("close_window", tr("&Close Window"), window.close, Keys.Close),
        Command("quit", tr("&Quit Slipstream"), quit_app, Keys.Quit, role=Role.QuitRole),
        Command("minimize", tr("&Minimize"), window.showMinimized, ("Ctrl+M",)),
        Command("zoom", tr("&Zoom"), zoom),
        Command("sidebar", tr("Show &Sidebar"), split.toggle_sidebar, ("Ctrl+Alt+S",), checked=has_sidebar),
        Command("search", tr("&Search All Chats"), split.focus_search, ("Ctrl+Shift+F",)),
        Command("focus_list", tr("Go to Chat L&ist"), split.focus_list, ("Ctrl+Alt+1",)),
        Command("focus_message", tr("&Go to Message Field"), focus_message, ("Ctrl+L",)),
    )


def setting_commands(preferences: Preferences, updates: Updates, quiet: QuietMode) -> tuple[Command, ...]:
    shown = updates.release.has_updates

    def switch(setting: Setting[bool], id: str, title: str, keys: tuple[str, ...] = (), visible: bool = True) -> Command:
        def toggle() -> None:
            setting.write(preferences, not setting.read(preferences))

        return Command(id, title, toggle, keys, checked=partial(setting.read, preferences), visible=visible)

    return (
        Command("larger_text", tr("&Larger Text"), preferences.larger_text, ("Ctrl++", "Ctrl+=")),
        Command("smaller_text", tr("S&maller Text"), preferences.smaller_text, ("Ctrl+-",)),
        Command("actual_size", tr("Actual Si&ze"), preferences.reset_text_size, ("Ctrl+0",)),
        switch(Preferences.token_sources, "token_sources", tr("Show To&ken Sources"), ("Ctrl+Shift+U",)),
        Command("quiet_mode", tr("&Quiet Mode"), quiet.toggle, checked=lambda: quiet.on),
        Command("check_for_updates", tr("&Check for Updates…"), updates.check, visible=shown),
        switch(Preferences.check_for_updates, "check_at_launch", tr("Check for Updates &at Launch"), visible=shown),
    )


def choices(preferences: Preferences, setting: Setting[Any]) -> tuple[Command, ...]:
    """Return one command for each value of a setting."""

    def choice(value: Any, name: str) -> Command:
        def is_chosen() -> bool:
            return bool(setting.read(preferences) == value)

        return Command(
            f"{setting.key}:{value}", name, partial(setting.write, preferences, value), checked=is_chosen, exclusive=True
        )

    return tuple(choice(value, name) for value, name in (setting.choices or dict)().items())
