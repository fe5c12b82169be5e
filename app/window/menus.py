"""The menu bar: every command of the app, with its shortcut."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPlainTextEdit, QTextEdit

from app.language import tr
from app.machine.this_mac import machine_title
from app.transcript.transcript import Transcript
from app.widgets.theme import Appearance, Contrast

if TYPE_CHECKING:
    from app.window.main_window import MainWindow

Keys = QKeySequence.StandardKey


class Menus(QObject):
    """Builds the menus and keeps their states true."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        conductor = window.conductor
        bar = window.menuBar()

        file = bar.addMenu(tr("&File"))
        chats = window.commands
        self.new_chat = chats.new
        file.addActions([chats.new, chats.new_folder])
        file.addSeparator()
        self.models = self._add(file, tr("&Models…"), window.show_models, QKeySequence("Ctrl+Shift+M"))
        self._add(file, tr("&Attach Files…"), window.attach_files, QKeySequence("Ctrl+Shift+A"))
        file.addSeparator()
        file.addActions([chats.import_, chats.export, chats.export_all])
        file.addSeparator()
        self._add(file, tr("&Close Window"), window.close, Keys.Close)
        # On macOS these three move into the app's own menu, by their roles.
        self._add(file, tr("Settings…"), window.show_settings, QKeySequence("Ctrl+,"), QAction.MenuRole.PreferencesRole)
        self._add(file, tr("About Slipstream"), window.show_about, role=QAction.MenuRole.AboutRole)
        self._add(file, tr("&Quit Slipstream"), window.close, Keys.Quit, QAction.MenuRole.QuitRole)

        edit = bar.addMenu(tr("&Edit"))
        for text, name, keys in (
            (tr("&Undo"), "undo", Keys.Undo),
            (tr("&Redo"), "redo", Keys.Redo),
            (tr("Cu&t"), "cut", Keys.Cut),
            (tr("&Copy"), "copy", Keys.Copy),
            (tr("&Paste"), "paste", Keys.Paste),
            (tr("Select &All"), "selectAll", Keys.SelectAll),
        ):
            if name in ("cut", "selectAll"):
                edit.addSeparator()
            self._add(edit, text, self._edit, keys).setData(name)
        edit.addSeparator()
        self.copy_reply = self._add(edit, tr("Copy Last &Reply"), window.copy_last_reply, QKeySequence("Ctrl+Shift+C"))

        edit.addSeparator()
        self.find = self._add(edit, tr("&Find in Chat…"), window.transcript.finding.open, Keys.Find)
        self._add(edit, tr("Find Ne&xt"), window.transcript.finding.forward, Keys.FindNext)
        self._add(edit, tr("Find Pre&vious"), window.transcript.finding.back, Keys.FindPrevious)
        self._add(edit, tr("Next &Link"), window.transcript.links.forward, QKeySequence("Ctrl+J"))
        self._add(edit, tr("Previous Lin&k"), window.transcript.links.back, QKeySequence("Ctrl+Shift+J"))
        edit.addActions([chats.search, chats.undo])

        view = bar.addMenu(tr("&View"))
        view.addAction(chats.sidebar)
        appearance = view.addMenu(tr("&Appearance"))
        group = QActionGroup(self)
        for text, value in ((tr("&System"), "system"), (tr("&Light"), "light"), (tr("&Dark"), "dark")):
            action = self._add(appearance, text, self._set_appearance)
            action.setCheckable(True)
            action.setData(value)
            group.addAction(action)
        contrast = view.addMenu(tr("&Contrast"))
        contrasts = QActionGroup(self)
        for text, one in ((tr("&System"), "system"), (tr("S&tandard"), "standard"), (tr("&High"), "high")):
            action = self._add(contrast, text, self._set_contrast)
            action.setCheckable(True)
            action.setData(one)
            contrasts.addAction(action)
        self._groups = (group, contrasts)
        preferences = window.preferences
        larger = self._add(view, tr("&Larger Text"), preferences.larger_text)
        larger.setShortcuts([QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")])
        self._add(view, tr("S&maller Text"), preferences.smaller_text, QKeySequence("Ctrl+-"))
        self._add(view, tr("&Usual Text Size"), preferences.reset_text_size, QKeySequence("Ctrl+0"))
        self.tint = self._add(view, tr("Show Who Supplied Each To&ken"), self._set_token_sources, QKeySequence("Ctrl+Shift+U"))
        self.tint.setCheckable(True)
        preferences.changed.connect(self._check_looks)
        self._check_looks()
        view.addSeparator()
        palette = self._add(view, tr("&Command Palette…"), window.show_palette, QKeySequence("Ctrl+Shift+P"))
        palette.setProperty("palette", False)  # it is open already
        view.addActions([chats.focus_message, chats.focus_list])
        self._add(view, tr("Go to the &End"), window.transcript.follow, QKeySequence("Ctrl+End"))

        chat = bar.addMenu(tr("&Chat"))
        self.stop = self._add(chat, tr("&Stop"), conductor.stop)
        self.stop.setShortcuts([QKeySequence("Esc"), QKeySequence("Ctrl+.")])
        self.compare = self._add(chat, tr("&Compare Last Prompt"), conductor.compare, QKeySequence("Ctrl+Shift+K"))
        self.compare_prompt = self._add(chat, tr("Compare a &Prompt…"), window.ask_comparison, QKeySequence("Ctrl+Alt+K"))
        chat.addSeparator()
        self.dflash = self._add(chat, "&DFlash", None, QKeySequence("Ctrl+Shift+D"))
        self.dflash.setCheckable(True)
        self.dflash.triggered.connect(conductor.set_dflash)
        self.thinking = self._add(chat, tr("&Thinking"), None, QKeySequence("Ctrl+Shift+T"))
        self.thinking.setCheckable(True)
        self.thinking.triggered.connect(conductor.set_thinking)

        chat.addSeparator()
        chat.addActions([chats.edit, chats.again, chats.more, chats.version_before, chats.version_after])
        chat.addSeparator()
        chat.addAction(chats.settings)
        chat.addSeparator()
        chat.addActions([chats.rename, chats.pin])
        chat.addMenu(chats.move)
        chat.addActions([chats.duplicate, chats.delete])
        chat.addSeparator()
        chat.addActions([chats.before, chats.after])

        self._window_menu = bar.addMenu(tr("&Window"))
        self._add(self._window_menu, tr("&Minimize"), window.showMinimized, QKeySequence("Ctrl+M"))
        self._add(self._window_menu, tr("&Zoom"), self._zoom)

        help_menu = bar.addMenu(tr("&Help"))
        self.this_mac = self._add(help_menu, f"&{machine_title()}", window.show_this_mac)
        self.logs = self._add(help_menu, tr("Show &Logs"), window.show_logs)
        if window.updates.possible:
            help_menu.addSeparator()
            self._add(help_menu, tr("Look for a &New Version"), window.updates.ask)
            at_launch = self._add(help_menu, tr("Look at &Every Start"), self._set_check_for_updates)
            at_launch.setCheckable(True)
            at_launch.setChecked(preferences.check_for_updates)
        for signal in (conductor.settings_changed, conductor.busy_changed, conductor.loader.loaded):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Enable what can be done now."""
        state = self._window.conductor
        self.stop.setEnabled(state.replying_here or state.comparison_job.running)
        self.compare.setEnabled(state.can_compare_last)
        self.copy_reply.setEnabled(bool(state.chat.turns) and bool(state.chat.turns[-1].reply.answer))
        self.dflash.setEnabled(state.can_dflash)
        self.dflash.setChecked(state.next_mode == "dflash")
        self.thinking.setEnabled(state.can_think)
        self.thinking.setChecked(state.thinking)

    def _add(
        self,
        menu: QMenu,
        text: str,
        slot: Callable[..., object] | None,
        keys: QKeySequence | Keys | None = None,
        role: QAction.MenuRole = QAction.MenuRole.NoRole,
    ) -> QAction:
        action = QAction(text, self._window)
        action.setMenuRole(role)
        if isinstance(keys, QKeySequence.StandardKey):
            action.setShortcuts(keys)
        elif keys is not None:
            action.setShortcut(keys)
        if slot is not None:
            action.triggered.connect(slot)
        menu.addAction(action)
        return action

    @Slot()
    def _edit(self) -> None:
        """Edit commands go to whatever has the focus."""
        action, target = self.sender(), QApplication.focusWidget()
        kinds = QPlainTextEdit | QTextEdit | QLineEdit | Transcript
        if isinstance(action, QAction) and isinstance(target, kinds) and hasattr(target, action.data()):
            getattr(target, action.data())()

    @Slot()
    def _set_appearance(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            value: Appearance = action.data()
            self._window.preferences.appearance = value

    @Slot()
    def _set_contrast(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            value: Contrast = action.data()
            self._window.preferences.contrast = value

    @Slot(bool)
    def _set_token_sources(self, shown: bool) -> None:
        self._window.preferences.token_sources = shown

    @Slot(bool)
    def _set_check_for_updates(self, wanted: bool) -> None:
        self._window.preferences.check_for_updates = wanted

    @Slot()
    def _check_looks(self) -> None:
        preferences = self._window.preferences
        for group, value in zip(self._groups, (preferences.appearance, preferences.contrast), strict=True):
            for action in group.actions():
                action.setChecked(action.data() == value)
        self.tint.setChecked(preferences.token_sources)

    @Slot()
    def _zoom(self) -> None:
        if self._window.isMaximized():
            self._window.showNormal()
        else:
            self._window.showMaximized()
