"""The main window: sidebar, top bar, chat, composer, and menus."""

import sys
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QByteArray, QEvent, QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QGuiApplication, QKeyEvent, QMoveEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QTextEdit,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from app.rendering.clipboard import copy_markdown
from app.session.commands import Command, Menu
from app.session.preferences import Preferences
from app.session.recommendation import recommend
from app.session.reply_run import ReplyRun
from app.session.services import Services
from app.storage.chat_tree import Turn
from app.text.language import number, sentences, tr
from app.views.chat.announcer import Announcer
from app.views.chat.dropped import Dropped, DropTarget
from app.views.chat.foot import Foot
from app.views.models.model_menu import ModelMenu
from app.views.sidebar.sidebar import Sidebar
from app.views.tools.server_card import host
from app.views.transcript.transcript import Transcript
from app.widgets.controls import ICON_SIZE, icon_of
from app.widgets.layout import column
from app.widgets.save_dialog import choose, confirm
from app.widgets.theme import Theme
from app.window.chat_files import ChatFiles
from app.window.dialogs import Dialogs
from app.window.focus_keeper import FocusKeeper
from app.window.menus import Menus
from app.window.quick_entry import QuickEntry
from app.window.reading_aloud import read_aloud_command, read_replies_aloud
from app.window.screenshot import Screenshot
from app.window.sidebar_split import SidebarSplit
from app.window.top_bar import TopBar
from app.window.window_commands import choices, dialog_commands, project_commands, setting_commands, text_commands, window_commands
from mlx_engine.contract.requests import LoadPair
from mlx_engine.hardware import machine
from mlx_engine.models.library.catalog import load_catalog

SAVE_MS = 1000  # delay before saving a change of the window or the settings
GRIP_WIDTH, GRIP_HEIGHT = 120, 24  # part of the title bar that must be on a screen


TEXT_FIELDS = (QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox)


class MainWindow(QMainWindow):
    """The main window, which connects the views to the session. Emits `closed` once."""

    closed = Signal()  # the app quits now: `quitting` is True

    def __init__(self, theme: Theme, services: Services) -> None:
        super().__init__()
        self.theme, self.services = theme, services
        self.commands = services.commands
        session, activity, loader, library = services.session, services.activity, services.loader, services.library
        reply_runner, notices = services.reply_runner, services.notices
        self._save_timer = QTimer(self, singleShot=True, interval=SAVE_MS)
        self._save_timer.timeout.connect(self._save_state)
        self.setWindowTitle("Slipstream")
        self.setMinimumSize(440, 420)
        self.resize(1000, 760)
        self.setAcceptDrops(True)
        self.quits_when_closed = sys.platform != "darwin"
        self.quitting = False
        self._in_dock = False  # whether the window is closed while the app keeps running

        # Parents come first: a widget that moves into another one passes the fonts and styles on to all of its children again.
        self.split = SidebarSplit(theme, self)
        self.setCentralWidget(self.split)
        self.sidebar = Sidebar(theme, session, library, reply_runner, services.new_replies, self.split)
        chat = QWidget(self.split)
        self.split.add(self.sidebar, chat)
        self.top_bar = TopBar(theme, session, loader, reply_runner, self.commands, services.server, services.preferences, chat)
        self.transcript = Transcript(theme, chat)
        self.foot = Foot(theme, services, chat)
        self.composer = self.foot.composer
        column(self.top_bar, (self.transcript, 1), self.foot, spacing=0, parent=chat)
        self._focus_keeper = FocusKeeper(self, chat, self.composer)
        self.drop_target = DropTarget(theme, self)
        self.drop_target.dropped.connect(self._attach)
        self.dialogs = Dialogs(self, theme, services)
        read_replies_aloud(self.transcript.message_actions, services)
        self.quick = QuickEntry(self, theme, services, self.transcript.message_actions)
        self.quick.left.connect(self.bring_to_front)
        self.closed.connect(self.quick.close)
        self._add_commands()
        self.quick.start()

        self.top_bar.sidebar.clicked.connect(self.split.toggle_sidebar)
        self.top_bar.settings.clicked.connect(self.dialogs.show_chat_settings)
        self.top_bar.name.clicked.connect(self._show_model_menu)
        self.top_bar.server.clicked.connect(self.dialogs.show_server)
        self.top_bar.offline.clicked.connect(lambda: self.dialogs.show_settings("privacy"))
        self.sidebar.new_chat.connect(self.commands.runner("new_chat"))
        self.sidebar.list.customContextMenuRequested.connect(lambda at: self.menus.show_row_menu(self.sidebar.list, at))
        self.composer.stop_requested.connect(self.commands.runner("stop"))
        self.composer.paged.connect(self.transcript.page)
        self.foot.unsaved.button.clicked.connect(self.commands.runner("export"))
        self.composer.attach_requested.connect(self._choose_attachment)
        self.composer.edit_canceled.connect(session.cancel_edit)
        self.transcript.sample_chosen.connect(session.send)
        self.transcript.welcome.calculation_chosen.connect(partial(session.send, example="calculator"))
        self.transcript.message_actions.retry.connect(session.regenerate)
        self.transcript.message_actions.use_calculator.connect(partial(session.regenerate, example="calculator"))
        self.transcript.message_actions.resume.connect(session.resume)
        self.transcript.message_actions.version_stepped.connect(session.switch)
        self.transcript.message_actions.edit.connect(session.edit)
        self.foot.tools.settings_requested.connect(self.commands.runner("tools"))
        self.transcript.message_actions.decided.connect(reply_runner.decide)
        self.transcript.message_actions.call_canceled.connect(reply_runner.cancel_call)
        reply_runner.asked.connect(lambda: QApplication.alert(self))
        self.foot.notices.choose_models.connect(self.dialogs.show_models)
        self.foot.unread.button.clicked.connect(self.dialogs.show_models)
        self.foot.notices.use_demo.connect(activity.use)
        self.foot.notices.help_requested.connect(self.dialogs.show_help)
        self.foot.notices.connect_again.connect(self.services.picker.connect_to)
        self.transcript.message_actions.compare.connect(services.comparer.compare_turn)
        self.transcript.message_actions.choose_model.connect(self.dialogs.show_models)
        self.transcript.message_actions.help_requested.connect(self.dialogs.show_help)
        self.transcript.message_actions.page_requested.connect(self.dialogs.show_document_page)
        session.turn_added.connect(self.transcript.add_turn)
        session.turns_changed.connect(self.transcript.show_turns)
        session.turns_changed.connect(self._show_cut)
        for signal in (session.cut_changed, session.settings_changed):
            signal.connect(self._show_cut)
        self.transcript.message_actions.summary_edits = services.compactor.edits
        self.transcript.message_actions.summary_edited.connect(session.edit_summary)
        self.transcript.message_actions.compact_undone.connect(services.compactor.undo)
        session.turn_revealed.connect(self.transcript.go_to_node)
        reply_runner.changed.connect(self._refresh_reply)
        reply_runner.started.connect(self._follow_reply)
        session.chat_changed.connect(self.transcript.clear)
        self.transcript.message_actions.make_editor = self.composer.make_editor
        session.editing_changed.connect(self._show_editing)
        session.turns_changed.connect(self._focus_editor)
        for signal in (loader.changed, loader.loaded, activity.changed, session.chat_changed):
            signal.connect(self._show_state)
        for signal in (session.chat_changed, library.changed):
            signal.connect(self._show_title)
        for signal in (session.settings_changed, services.tools.changed, loader.changed, loader.loaded):
            signal.connect(self._show_hosts)
        for signal in (
            self.sidebar.list.chosen,
            self.sidebar.results.opened,
            self.transcript.message_actions.resume,
            self.transcript.message_actions.retry,
        ):
            signal.connect(self.composer.focus)
        session.chat_changed.connect(self._focus_composer)
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.screenRemoved.connect(self.move_onto_screen)
        application.focusChanged.connect(self._watch_typing)
        application.applicationStateChanged.connect(self._reopen)
        self.installEventFilter(self)
        self._announcer = Announcer(session, reply_runner, notices, self)
        self._recommend()
        self._show_state()
        self._restore_state()
        for change in (self.split.splitterMoved, self.split.shown):
            change.connect(self._save_soon)
        for change in (loader.loaded, session.settings_changed, session.chat_changed, services.preferences.changed):
            change.connect(self._save_soon)
        self.composer.focus()

    def _add_commands(self) -> None:
        commands, listed, services = self.commands, self.sidebar.list, self.services
        preferences = services.preferences
        appearances, contrasts = choices(preferences, Preferences.appearance), choices(preferences, Preferences.contrast)
        menus = {
            "appearance": Menu(tr("&Appearance"), lambda: appearances),
            "contrast": Menu(tr("&Contrast"), lambda: contrasts),
            "move_to_project": commands.projects(),
        }
        commands.add(
            *dialog_commands(self.dialogs, services.loader, services.tuning), *text_commands(self.transcript, self.sidebar.undo_bar)
        )
        commands.add(*project_commands(commands, services.projects, self.dialogs))
        commands.add(*setting_commands(preferences, services.updates, services.quiet_mode))
        commands.add(*window_commands(self, self.quit, self.composer.focus, self.split))
        commands.add(read_aloud_command(services))
        commands.add(self.quick.command(), Command("show_window", tr("Show Slipstream"), self.bring_to_front, in_palette=False))
        commands.add(*ChatFiles(self, services.library, services.attachments, commands).commands())
        commands.add(Screenshot(services.attachments, self.composer.focus, self).command())
        commands.add(*appearances, *contrasts)
        self.menus = Menus(self, commands, menus)
        self.theme.changed.connect(self._draw_overflow)
        self._draw_overflow()
        commands.selection = self._selection
        commands.copy_text = copy_markdown
        commands.listed = listed.chat_ids
        commands.rename_requested.connect(self._rename)
        commands.ran.connect(lambda id: self.composer.focus() if id in ("new_chat", "new_project_chat") else None)
        listed.delete_requested.connect(commands.runner("delete"))
        selected = listed.selectionModel().selectionChanged
        for signal in (preferences.changed, services.quiet_mode.changed, self.split.shown, selected):
            signal.connect(self.menus.refresh)

    @Slot()
    def _draw_overflow(self) -> None:
        """Draw the button for menus that don't fit. Qt's own icon is always black."""
        if (more := self.menuBar().findChild(QToolButton)) is not None:
            more.setIcon(icon_of("more", self.theme.colors.text, ICON_SIZE))

    def _selection(self) -> tuple[str, str, list[str]]:
        """Return the row and the chats selected in the list while it has the focus."""
        listed = self.sidebar.list
        return (*listed.current, listed.selected) if self.focusWidget() is listed else ("", "", [])

    @Slot(str)
    def _rename(self, id: str) -> None:
        self.split.show_sidebar()
        self.sidebar.search.clear()
        self.sidebar.list.rename(id)

    def _recommend(self) -> None:
        """Show the recommended pair on the start page."""
        found, picker = recommend(load_catalog(), facts=machine.load_facts()), self.services.picker
        self.transcript.welcome.recommended.show_pair(found)
        if found is not None:
            self.transcript.welcome.recommended.opened.connect(lambda: picker.rows.show_target(found.entry.id, found.target.repo))
        self.transcript.welcome.recommended.opened.connect(self.dialogs.show_models)

    @Slot()
    def _focus_composer(self) -> None:
        """Focus the composer, unless the arrow keys are moving through the list."""
        if not self.sidebar.list.hasFocus():
            self.composer.focus()

    @Slot(QWidget, QWidget)
    def _watch_typing(self, old: QWidget | None, new: QWidget | None) -> None:
        if isValid(self.transcript):  # else the window is being deleted
            self.transcript.message_focus.show(old, new)
        if new is not None and new.window() is self:
            new.installEventFilter(self)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Let Tab reach messages from top to bottom, whenever they were built."""
        self.transcript.message_focus.order()
        return super().focusNextPrevChild(forward)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Send text typed outside a text field to the composer."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and _is_typing(event):
            read_only = isinstance(watched, QPlainTextEdit | QTextEdit) and watched.isReadOnly()
            field = self.composer.active_field
            if watched is not field and (read_only or not isinstance(watched, TEXT_FIELDS)):
                self.composer.focus()
                return QApplication.sendEvent(field, event)
        return super().eventFilter(watched, event)

    @Slot()
    def _show_state(self) -> None:
        self.composer.set_busy(self.services.activity.replying_here)
        loader = self.services.loader
        server = loader.connecting_to or (loader.connected_to if loader.loading_from is None else None)
        demo = server is None and (loader.loading_from or loader.loaded_from or LoadPair()).target is None
        self.transcript.welcome.show_state(loader.progress, loader.pair, demo, has_examples=server is None)
        self.transcript.message_actions.set_can_resume(self.services.loader.can_continue)
        self.transcript.message_actions.set_can_change_summary(self.services.activity.refusal_here is None)

    @Slot(object)
    def _show_editing(self, turn: Turn | None) -> None:
        """Edit a message in its bubble, or show the unsent one again if None."""
        node = turn.asked if turn is not None else None
        if node is None or node is not self.transcript.message_actions.editing:
            self.composer.editor = None  # the bubble makes a new one
        self.transcript.show_editing(node)
        self.composer.focus()

    @Slot()
    def _focus_editor(self) -> None:
        """Focus the editor of an edit that goes on in the chat that was opened."""
        if self.composer.editor is not None:
            self._focus_composer()

    @Slot(object)
    def _follow_reply(self, run: ReplyRun) -> None:
        """Scroll to a reply that starts, perhaps another version of one above."""
        if run.chat.id == self.services.session.chat.id:
            self.transcript.follow()

    @Slot(object)
    def _refresh_reply(self, turn: Turn) -> None:
        """Show what has changed in a reply of the open chat."""
        if self.transcript.shows(turn):
            self._show_cut()
            self.transcript.refresh(turn)

    @Slot()
    def _show_cut(self) -> None:
        self.transcript.show_cut(self.services.session.chat.cut)

    @Slot()
    def _show_hosts(self) -> None:
        chosen = self.services.tools.chosen(self.services.session.chat.settings, self.services.session.project_id)
        self.transcript.welcome.show_hosts([host(config) for config in chosen if config.url], self.services.loader.sent_to)

    @Slot()
    def _show_model_menu(self) -> None:
        menu = ModelMenu(self.theme, self.services.recent_models, self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.all_requested.connect(self.dialogs.show_models)
        menu.open_below(self.top_bar.name)

    @Slot()
    def _show_title(self) -> None:
        chat = self.services.session.chat
        self.setWindowTitle("Slipstream" if chat.empty else chat.title)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self.drop_target.dragEnterEvent(event)

    @Slot()
    def _choose_attachment(self) -> None:
        """Ask for files, or show a menu if there are other ways to attach."""
        if self.commands["screenshot"].visible:
            self.menus.show_above("attach screenshot", self.composer.active_attach_button)
        else:
            self.commands.run("attach")

    @Slot(object)
    def _attach(self, found: Dropped) -> None:
        self.composer.attach(found)
        self.composer.focus()

    @Slot()
    def bring_to_front(self) -> None:
        """Show the window, unless the app quits."""
        if self.quitting:
            return
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    @Slot()
    def move_onto_screen(self) -> None:
        """Keep the window visible when a screen is removed."""
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        frame = self.frameGeometry()
        placed = onto_screen(frame, screens)
        if placed != frame and not self.isFullScreen() and not self.isMaximized():
            self.move(placed.topLeft())
            self.resize(placed.size() - (frame.size() - self.size()))

    @Slot()
    def quit(self) -> bool:
        """Close the window and quit, even on a Mac. Return False if the user cancels."""
        if not self.quitting:
            self.quits_when_closed = True
            self.close()
        return self.quitting

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close the window. On a Mac, the app stays in the Dock and finishes its reply."""
        if self.quitting:
            return
        if self.quits_when_closed:
            self.quitting = self._may_quit()
            event.setAccepted(self.quitting)
            if self.quitting:
                self.theme.pictures.close()
                self.closed.emit()
            else:
                self.quits_when_closed = sys.platform != "darwin"
            return
        self.dialogs.close_all()
        self._save_state()
        self.services.tuning.pause()
        event.ignore()
        self.hide()
        self._in_dock = True

    def _may_quit(self) -> bool:
        """Save everything. Return False if something is left and the user cancels."""
        unsaved = [entry.title for id, entry in self.services.library.entries.items() if id in self.services.library.unsaved]
        draft, programs = self.services.drafts.unsaved, self.services.server.programs
        if (unsaved or draft) and not self._confirm_quitting(unsaved, draft):
            return False
        if programs and not self._confirm_stopping_server(programs):
            return False
        self.dialogs.close_all()
        again, anyway = tr("Try Again"), tr("Quit Anyway")
        while not self._save_state():
            lost = tr("If you quit now, the latest changes of settings will be lost.")
            question = sentences(self.services.settings_refusal, lost)
            if (answer := choose(self, tr("Quit Without Saving?"), question, again, anyway)) != again:
                return answer == anyway
        return True

    @Slot(Qt.ApplicationState)
    def _reopen(self, state: Qt.ApplicationState) -> None:
        """Show the window after a click on the Dock icon."""
        if state == Qt.ApplicationState.ApplicationActive and self._in_dock and not self.services.quick.shown:
            self._in_dock = False
            self.bring_to_front()

    def _confirm_quitting(self, unsaved: Sequence[str], draft: bool) -> bool:
        """Ask whether to quit although something can't be saved.

        Args:
            unsaved: titles of the chats.
            draft: whether it is the draft of a new chat, too.
        """
        questions = []
        if len(unsaved) == 1:
            questions.append(tr("“{title}” can't be saved. If you quit now, its latest changes will be lost.", title=unsaved[0]))
        elif unsaved:
            count = number(len(unsaved))
            questions.append(tr("{count} chats can't be saved. If you quit now, their latest changes will be lost.", count=count))
        if draft:
            questions.append(tr("The message for a new chat can't be saved. If you quit now, it will be lost."))
        return confirm(self, tr("Quit Without Saving?"), sentences(*questions), tr("Quit Anyway"))

    def _confirm_stopping_server(self, programs: int) -> bool:
        using = (
            tr("1 program is using the server.") if programs == 1 else tr("{count} programs are using the server.", count=programs)
        )
        question = sentences(using, tr("If you quit now, all replies will stop."))
        return confirm(self, tr("Quit Slipstream?"), question, tr("Quit Anyway"))

    def moveEvent(self, event: QMoveEvent) -> None:
        super().moveEvent(event)
        self._save_soon()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._save_soon()

    @Slot()
    def _save_soon(self) -> None:
        """Save the state soon, because the app may be killed at any time."""
        if not self._save_timer.isActive():
            self._save_timer.start()

    @Slot()
    def _save_state(self) -> bool:
        self._save_timer.stop()
        self.services.settings.setValue("window", self.saveGeometry())
        self.split.save(self.services.settings)
        return self.services.save_state()

    def _restore_state(self) -> None:
        geometry = self.services.settings.value("window")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        self.move_onto_screen()
        self.split.restore(self.services.settings)


def onto_screen(window: QRect, screens: Sequence[QRect]) -> QRect:
    """Return the frame `window`, moved onto the nearest screen if it is out of reach."""
    if not screens:
        return window
    top = QRect(window.left(), window.top(), window.width(), GRIP_HEIGHT)
    for screen in screens:
        seen = top.intersected(screen)
        if seen.width() >= min(GRIP_WIDTH, window.width()) and seen.height() >= GRIP_HEIGHT:
            return window
    middle = window.center()

    def distance(screen: QRect) -> int:
        across = max(screen.left() - middle.x(), middle.x() - screen.right(), 0)
        return across + max(screen.top() - middle.y(), middle.y() - screen.bottom(), 0)

    screen = min(screens, key=distance)
    placed = QRect(window)
    placed.setSize(window.size().boundedTo(screen.size()))
    placed.moveLeft(min(max(window.left(), screen.left()), screen.left() + screen.width() - placed.width()))
    placed.moveTop(min(max(window.top(), screen.top()), screen.top() + screen.height() - placed.height()))
    return placed


def _is_typing(event: QKeyEvent) -> bool:
    """Whether a key types text. Space presses buttons; Option types text on a Mac."""
    commands = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.MetaModifier
    if sys.platform != "darwin":
        commands |= Qt.KeyboardModifier.AltModifier
    text = event.text().strip()
    return bool(text) and text.isprintable() and not event.modifiers() & commands
