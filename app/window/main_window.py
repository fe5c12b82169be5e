"""The window: top bar, chat, composer, menus."""

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings, Qt, QUrl, Signal, Slot
from PySide6.QtGui import QCloseEvent, QDesktopServices, QDragEnterEvent, QDropEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QMainWindow, QSplitter, QVBoxLayout, QWidget

from app.chat.announcer import Announcer
from app.chat.chat_settings import ChatSettingsDialog
from app.chat.composer import files_in
from app.chat.conductor import Conductor
from app.chat.drafts import Drafts
from app.chat.foot import Foot
from app.chat.introduction import Introduction
from app.compare.compare_view import CompareDialog
from app.compare.comparison_job import Comparison
from app.language import tr
from app.machine.this_mac import ThisMacDialog
from app.models.picker import Picker
from app.models.picker_dialog import PickerDialog
from app.models.recommendation import recommend, without_gpu
from app.release import this_release
from app.settings.preferences import Preferences
from app.settings.settings_dialog import SettingsDialog
from app.sidebar.sidebar import NARROWEST, USUAL, WIDEST, Sidebar
from app.transcript.transcript import Transcript
from app.updates import Updates
from app.widgets.theme import Theme
from app.window.about import AboutDialog
from app.window.chat_commands import ChatCommands
from app.window.menus import Menus
from app.window.palette import Palette, choices_of
from app.window.placement import onto_screen
from app.window.top_bar import TopBar
from mlx_engine.pairs import machine
from mlx_engine.pairs.catalog import load_catalog

NARROWEST_CHAT = 440


class MainWindow(QMainWindow):
    """Shows what the conductor says. `closed` is sent once, when the user is done."""

    closed = Signal()

    def __init__(
        self,
        theme: Theme,
        conductor: Conductor,
        settings: QSettings,
        log_folder: str = "",
        picker: Picker | None = None,
    ) -> None:
        super().__init__()
        self.theme = theme
        self.conductor = conductor
        self._settings = settings
        self.picker = picker or Picker(conductor, self)
        self.preferences = Preferences(theme, settings, self)
        self._log_folder = log_folder
        self.release = this_release()
        self.updates = Updates(self.release, self.preferences, self)
        self.updates.told.connect(conductor.notify)
        self.setWindowTitle("Slipstream")
        self.setMinimumSize(440, 420)
        self.resize(1000, 760)
        self.setAcceptDrops(True)

        self.top_bar = TopBar(theme, conductor)
        self.transcript = Transcript(theme)
        self.foot = Foot(theme, conductor)
        self.composer = self.foot.composer
        chat = QWidget()
        layout = QVBoxLayout(chat)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.top_bar)
        layout.addWidget(self.transcript, 1)
        layout.addWidget(self.foot)
        chat.setMinimumWidth(NARROWEST_CHAT)
        self.sidebar = Sidebar(theme, conductor)
        self.split = QSplitter(Qt.Orientation.Horizontal)
        self.split.setHandleWidth(1)
        self.split.setChildrenCollapsible(False)
        self.split.addWidget(self.sidebar)
        self.split.addWidget(chat)
        self.split.setStretchFactor(1, 1)
        self.split.splitterMoved.connect(self._note_width)
        self.setCentralWidget(self.split)
        self._wants_sidebar = True
        self._sidebar_width = USUAL  # as the user last drew it; a hidden one has none, and a narrow window may have squeezed it
        self.commands = ChatCommands(self)
        self.menus = Menus(self)
        self._introduce()
        self.settings_dialog: ChatSettingsDialog | None = None
        self.compare_dialog: CompareDialog | None = None
        self.this_mac: ThisMacDialog | None = None
        self.models: PickerDialog | None = None

        self.top_bar.sidebar.clicked.connect(self.toggle_sidebar)
        self.top_bar.settings.clicked.connect(self.show_chat_settings)
        self.top_bar.name.clicked.connect(self.show_models)
        self.picker.downloaded.connect(self._tell_fetched)
        self.sidebar.new_chat.connect(self.commands.new.trigger)
        self.sidebar.list.customContextMenuRequested.connect(self.commands.show_menu)
        conductor.chat_changed.connect(self._show_title)
        conductor.library.changed.connect(self._show_title)
        self.composer.send_requested.connect(self._send)
        self.composer.stop_requested.connect(conductor.stop)
        self.composer.paged.connect(self.transcript.page)
        self.composer.attach_requested.connect(self.attach_files)
        self.transcript.sample_chosen.connect(conductor.send)
        self.composer.edit_cancelled.connect(conductor.cancel_edit)
        self.transcript.retry.connect(conductor.regenerate)
        self.transcript.resume.connect(conductor.resume)
        self.transcript.stepped.connect(conductor.switch)
        self.transcript.edit.connect(conductor.edit)
        self.transcript.load.connect(conductor.use)
        conductor.turn_added.connect(self.transcript.add_turn)
        conductor.turns_changed.connect(self.transcript.show_turns)
        conductor.turn_revealed.connect(self.transcript.point)
        conductor.reply_job.changed.connect(self.transcript.refresh)
        conductor.chat_changed.connect(self.transcript.clear)
        conductor.notified.connect(self.transcript.add_notice)
        conductor.editing_changed.connect(self.composer.show_editing)
        conductor.comparison_job.started.connect(self._show_comparison)
        self.transcript.compare.connect(conductor.compare_turn)
        conductor.loader.changed.connect(self._show_state)
        conductor.loader.loaded.connect(self._show_state)
        conductor.busy_changed.connect(self._show_state)
        conductor.chat_changed.connect(self._show_state)
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.screenRemoved.connect(self.come_onto_screen)
        self._announcer = Announcer(conductor, self)
        self._drafts = Drafts(conductor, self.composer, settings, self)
        self._show_state()
        self._restore()
        self.composer.field.setFocus()

    def _introduce(self) -> None:
        """At the first start, say what this is."""
        if self._settings.value("welcomed", False, bool) is True:
            return
        facts = machine.load_facts()
        page = Introduction(self.theme, recommend(load_catalog(), facts=facts), without_gpu(facts))
        page.begun.connect(self.begin)
        page.choose.connect(self.show_models)
        self.transcript.welcome.introduce(page)
        self.conductor.turn_added.connect(self.begin)
        self.conductor.chat_changed.connect(self.begin)

    @Slot()
    def begin(self) -> None:
        """The user has begun: the first page is not shown again."""
        self.conductor.turn_added.disconnect(self.begin)
        self.conductor.chat_changed.disconnect(self.begin)
        self._settings.setValue("welcomed", True)
        self.transcript.welcome.end_introduction()
        self.composer.field.setFocus()

    @Slot()
    def _send(self) -> None:
        editing = self.conductor.editing is not None  # the draft comes back after an edit
        if self.conductor.send(self.composer.text, self.conductor.attachments.files) and not editing:
            self.composer.clear()

    @Slot()
    def _show_state(self) -> None:
        self.composer.set_busy(self.conductor.replying_here)
        if not self.conductor.busy:
            self.transcript.clear_notices("idle")
        if not self.conductor.loader.running:
            self.transcript.clear_notices("loaded")
        self.menus.refresh()
        self.transcript.welcome.show_state(self.conductor.loader.progress, self.conductor.loader.pair)

    @Slot()
    def ask_comparison(self) -> None:
        """Open Compare for a prompt that is still to be written."""
        dialog = self._open_compare()
        dialog.raise_()
        dialog.prompt.setFocus()

    @Slot(object)
    def _show_comparison(self, comparison: Comparison) -> None:
        self._open_compare().follow(comparison)

    def _open_compare(self) -> CompareDialog:
        if self.compare_dialog is None:
            self.compare_dialog = CompareDialog(self.theme, self.conductor, self)
            self.compare_dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.compare_dialog.finished.connect(self._forget_comparison)
            self.compare_dialog.show()
        return self.compare_dialog

    @Slot()
    def _forget_comparison(self) -> None:
        self.compare_dialog = None

    @Slot()
    def toggle_sidebar(self) -> None:
        self.set_sidebar(not self.sidebar.isVisible())

    def set_sidebar(self, shown: bool) -> None:
        """Show or hide the list of chats. A window too narrow for it grows."""
        self._wants_sidebar = shown
        room = self.sidebar.minimumWidth() + NARROWEST_CHAT + 1
        if shown and self.width() < room:
            self.resize(room, self.height())
        self._fit_sidebar()

    @Slot()
    def _note_width(self) -> None:
        self._sidebar_width = self.split.sizes()[0]

    def _fit_sidebar(self) -> None:
        """A narrow window has no room for the list; it comes back with the room."""
        visible = self._wants_sidebar and self.width() >= self.sidebar.minimumWidth() + NARROWEST_CHAT + 1
        self.sidebar.setVisible(visible)
        self.commands.sidebar.setChecked(visible)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_sidebar()

    @Slot()
    def focus_search(self) -> None:
        self.set_sidebar(True)
        self.sidebar.focus_search()

    @Slot()
    def focus_list(self) -> None:
        self.set_sidebar(True)
        self.sidebar.list.setFocus()

    @Slot()
    def focus_message(self) -> None:
        self.composer.field.setFocus()

    @Slot()
    def show_chat_settings(self) -> None:
        if self.settings_dialog is None:
            self.settings_dialog = ChatSettingsDialog(self.theme, self.conductor, self)
        self.settings_dialog.open()

    @Slot()
    def _show_title(self) -> None:
        chat = self.conductor.chat
        self.setWindowTitle("Slipstream" if chat.empty else chat.title)

    @Slot()
    def copy_last_reply(self) -> None:
        """Put the last reply on the clipboard as Markdown."""
        if self.conductor.chat.turns:
            QGuiApplication.clipboard().setText(self.conductor.chat.turns[-1].reply.answer.strip())

    @Slot()
    def show_logs(self) -> None:
        """Open the folder with the logs, or say where it is."""
        if self._log_folder and not QDesktopServices.openUrl(QUrl.fromLocalFile(self._log_folder)):
            self.conductor.notify(
                tr("The folder with the logs could not be opened here. It is {folder}", folder=str(Path(self._log_folder)))
            )

    @Slot()
    def come_onto_screen(self) -> None:
        """A screen that is gone must not take the window with it."""
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        frame = self.frameGeometry()
        placed = onto_screen(frame, screens)
        if placed != frame and not self.isFullScreen() and not self.isMaximized():
            self.move(placed.topLeft())
            self.resize(placed.size() - (frame.size() - self.size()))

    @Slot()
    def attach_files(self) -> None:
        """Choose files that go with the next message."""
        files, _ = QFileDialog.getOpenFileNames(self, tr("Attach Files"), "", tr("Text, code and PDF (*)"))
        self.conductor.attachments.attach([Path(file) for file in files])

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if files_in(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Files dropped anywhere in the window go with the next message."""
        if files := files_in(event.mimeData()):
            event.acceptProposedAction()
            self.conductor.attachments.attach(files)
            self.composer.field.setFocus()

    @Slot()
    def show_palette(self) -> None:
        """Find a command, a chat or a preset by a few letters."""
        self.commands.refresh()
        Palette(self.theme, choices_of(self), self).open()

    @Slot()
    def show_settings(self) -> None:
        """Of the whole app."""
        dialog = SettingsDialog(self.theme, self.preferences, self, hidden=() if self.updates.possible else ("look_for_versions",))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def show_models(self) -> None:
        """Choose among pairs of models."""
        if self.models is None:
            self.models = PickerDialog(self.theme, self.picker, self.conductor, self)
            self.models.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.models.finished.connect(self._forget_models)
        self.models.show()
        self.models.raise_()
        self.models.activateWindow()

    @Slot()
    def _forget_models(self) -> None:
        self.models = None

    @Slot(str)
    def _tell_fetched(self, name: str) -> None:
        """Whoever has left the picker hears of it in the chat."""
        if self.models is None:
            self.conductor.notify(tr("{name} is complete and checked. Use it from File ▸ Models.", name=name))

    @Slot()
    def show_this_mac(self) -> None:
        """What this machine can do, and what the loaded pair makes of it."""
        if self.this_mac is None:
            self.this_mac = ThisMacDialog(self.theme, self.conductor, self)
            self.this_mac.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            self.this_mac.finished.connect(self._forget_this_mac)
        self.this_mac.show()
        self.this_mac.raise_()

    @Slot()
    def _forget_this_mac(self) -> None:
        self.this_mac = None

    @Slot()
    def show_about(self) -> None:
        """What this is, which version, and whose work is in it."""
        dialog = AboutDialog(self.theme, self.release, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    @Slot()
    def show_again(self) -> None:
        """Come to the front: a second start asked for it."""
        if self.isMinimized():
            self.showNormal()
        self.show()
        self.raise_()
        self.activateWindow()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.compare_dialog is not None:
            self.compare_dialog.close()
        self._save_state()
        event.accept()
        self.closed.emit()

    def _save_state(self) -> None:
        self._settings.setValue("window", self.saveGeometry())
        self._settings.setValue("sidebar", self._wants_sidebar)
        self._drafts.save()
        self._settings.setValue("sidebar_width", self._sidebar_width)
        if (loaded := self.conductor.loader.loaded_from) is not None:
            self._settings.setValue("target", str(loaded.target or ""))
            self._settings.setValue("drafter", str(loaded.drafter or ""))
        self._settings.setValue("dflash", self.conductor.chat.settings.dflash)
        self._settings.setValue("thinking", self.conductor.chat.settings.thinking)

    def _restore(self) -> None:
        shape = self._settings.value("window")
        if isinstance(shape, QByteArray):
            self.restoreGeometry(shape)
        self.come_onto_screen()
        self._wants_sidebar = self._settings.value("sidebar", True, bool) is not False
        width = self._settings.value("sidebar_width", USUAL, int)
        if isinstance(width, int):
            self._sidebar_width = min(max(NARROWEST, width), WIDEST)
        self.split.setSizes([self._sidebar_width, max(NARROWEST_CHAT, self.width() - self._sidebar_width)])
        self._fit_sidebar()
        self.conductor.set_dflash(self._settings.value("dflash", True, bool) is not False)
        self.conductor.set_thinking(self._settings.value("thinking", False, bool) is True)
