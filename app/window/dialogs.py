"""The app's dialogs, each open at most once."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QFontMetrics, QKeySequence, QShortcut
from PySide6.QtWidgets import QDialog, QFrame, QMainWindow, QPlainTextEdit, QSystemTrayIcon, QWidget

from app.session.compare_run import CompareRun
from app.session.help_pages import CHANGES_PAGE, TUNING_PAGE
from app.session.notice import Notice, NoticeAction
from app.session.preferences import Pane, Preferences, Setting
from app.session.services import Services
from app.session.tuning_survey import loaded_pair
from app.session.updates import Release, licenses
from app.storage.settings import ChatSettings
from app.storage.wording import percent
from app.system.quick_access import has_shortcuts
from app.text.language import tr
from app.views.chat.chat_settings import ChatSettingsDialog, ChatSettingsForm
from app.views.chat.project_settings import ProjectSettingsDialog
from app.views.compare.compare_view import CompareDialog
from app.views.machine.benchmark_dialog import BenchmarkDialog
from app.views.machine.this_mac import ThisMacDialog
from app.views.models.model_settings import ModelSettings
from app.views.models.picker_dialog import PickerDialog
from app.views.server.server_dialog import ServerDialog
from app.views.settings.chat_files_row import ChatFilesRow
from app.views.settings.network_pane import NetworkPane
from app.views.settings.saved_prompt_rows import SavedPromptsRows
from app.views.settings.settings_dialog import SettingsDialog
from app.views.tools.call_log_dialog import CallLogDialog
from app.views.tools.tools_pane import ToolsPane
from app.views.transcript.read_pages import DocumentPageDialog, PageRead
from app.views.tuning.tune_dialog import TuneDialog
from app.widgets.controls import Label, button, small_label, styled_label, window_icon
from app.widgets.layout import SCREEN_SHARE, Form, NoticeView, column, line, row
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme
from app.window.help import HelpDialog, menu_shortcuts
from app.window.palette import Palette, palette_commands
from app.window.report import ReportDialog

ICON_SIZE = 96
LICENSE_LINES = 14  # visible without scrolling
D = TypeVar("D", bound=QDialog)


class Dialogs(QObject):
    """The owner of all dialogs. `find` returns an open dialog."""

    def __init__(self, window: QMainWindow, theme: Theme, services: Services) -> None:
        super().__init__(window)
        self._window, self._theme, self._services = window, theme, services
        self._picker, self._tuning, self._notices = services.picker, services.tuning, services.notices
        self._activity, self._loader = services.activity, services.loader
        self._dialogs: dict[type[QDialog], QDialog] = {}
        services.compare_runner.started.connect(self._show_comparison)
        self._picker.downloaded.connect(self._announce_download)
        self._tuning.ended.connect(self._announce_tuning)
        self._tuning.paused_found.connect(self._announce_paused_run)
        services.updates.updated.connect(self._announce_update)
        self._loader.loaded.connect(self._tuning.forget_result)
        self._loader.loaded.connect(self._find_paused_run)
        self._looked_for_run = False

    def find(self, kind: type[D]) -> D | None:
        return cast(D | None, self._dialogs.get(kind))

    def close_all(self) -> None:
        for dialog in list(self._dialogs.values()):
            dialog.close()

    @Slot()
    def show_models(self) -> None:
        is_new = self.find(PickerDialog) is None
        dialog = self._show(PickerDialog, self._picker, self._activity, self._loader)
        if is_new:
            dialog.settings_requested.connect(self._show_model_settings)
            dialog.card.tune.clicked.connect(self.show_tuning)
            dialog.online_requested.connect(self._turn_off_offline)
            dialog.card.turn_off.clicked.connect(lambda: self._turn_off_offline(self._picker.try_again))
            dialog.turn_off.clicked.connect(lambda: self._turn_off_offline(self._picker.hub_search.again))

    def _turn_off_offline(self, again: Callable[[], None]) -> None:
        """Turn off Offline, and do what it refused."""
        preferences = self._services.preferences
        preferences.offline = False
        if not preferences.offline:
            again()

    @Slot()
    def show_tuning(self) -> None:
        is_new = self.find(TuneDialog) is None
        dialog = self._show(TuneDialog, self._tuning, self._activity, self._loader)
        if is_new:
            dialog.models_requested.connect(self.show_models)
            dialog.help_requested.connect(lambda: self.show_help(TUNING_PAGE))
        else:
            dialog.look()

    @Slot()
    def show_this_mac(self) -> None:
        is_new = self.find(ThisMacDialog) is None
        dialog = self._show(ThisMacDialog, self._services.roofline_runner, self._services.memory, self._activity, self._loader)
        if is_new:
            dialog.benchmark_requested.connect(self.show_benchmark)

    @Slot()
    def show_benchmark(self) -> None:
        self._show(BenchmarkDialog, self._services.benchmark, self._activity, self._loader)

    @Slot()
    def show_server(self) -> None:
        is_new = self.find(ServerDialog) is None
        dialog = self._show(ServerDialog, self._services.server, self._loader, self._services.preferences)
        if is_new:
            dialog.models_requested.connect(self.show_models)

    @Slot(object)
    def show_document_page(self, page: PageRead) -> None:
        """Show the page of a document that a reply has read."""
        text = self._services.tools.text_of_page(page.document, page.page, self._services.session.project_id)
        if text is None:
            self._notices.post(Notice(tr("This page isn't among the documents any more."), until="chat", topic="page"))
        else:
            DocumentPageDialog(self._theme, page, text, self._window).show()

    @Slot()
    def show_compare(self) -> None:
        self._show_compare_dialog().prompt.setFocus()

    @Slot()
    def show_settings(self, pane: Pane | None = None) -> None:
        hidden = {setting.key for setting in self._without_effect()}
        parts: dict[Pane, Callable[[Form], QWidget | None]] = {
            "models": lambda form: ModelSettings(self._theme, self._picker),
            "chats": lambda form: self._new_chat_settings(),
            "tools": lambda form: self._tools_pane(),
            "privacy": self._privacy,
            "network": lambda form: self._network(),
            "advanced": self._advanced,
        }
        dialog = self._show(SettingsDialog, self._services.preferences, parts, hidden=hidden)
        if pane is not None:
            dialog.show_pane(pane)

    def _without_effect(self) -> Iterator[Setting]:
        """Yield the settings that do nothing in this build or on this system."""
        if not self._services.updates.release.has_updates:
            yield Preferences.check_for_updates
        if not has_shortcuts():
            yield Preferences.quick_shortcut
            yield Preferences.quick_selection
        if not QSystemTrayIcon.isSystemTrayAvailable():
            yield Preferences.menu_bar_icon

    @Slot()
    def _show_model_settings(self) -> None:
        self.show_settings("models")

    @Slot()
    def show_calls(self) -> None:
        is_new = self.find(CallLogDialog) is None
        dialog = self._show(CallLogDialog, self._services.calls)
        if is_new:
            dialog.chat_requested.connect(self._open_chat)

    def _open_chat(self, chat_id: str, message_id: str) -> None:
        """Open a chat at a message, in front of the dialogs."""
        self._services.session.open_chat(chat_id, message_id)
        self._window.raise_()
        self._window.activateWindow()

    def _tools_pane(self) -> QWidget:
        pane = ToolsPane(self._theme, self._services.tools)
        pane.show_calls.clicked.connect(self.show_calls)
        return pane

    def _new_chat_settings(self) -> QWidget:
        preferences, loader, page = self._services.preferences, self._loader, QWidget()

        def store(settings: ChatSettings) -> None:
            preferences.new_chats = settings

        form = ChatSettingsForm(self._theme, self._services.library, lambda: preferences.new_chats, store, lambda: loader.sampling)
        preferences.changed.connect(form.refresh)
        loader.loaded.connect(form.refresh)
        note = small_label(self._theme, tr("Used for new chats."), "secondary", wrap=True)
        column(note, form, row(form.reset, None), spacing=16, parent=page)
        return page

    def _privacy(self, form: Form) -> QWidget:
        page = QWidget()
        SavedPromptsRows(self._theme, self._services.saved_prompts, form, page)
        ChatFilesRow(self._theme, self._services.library, form, page)
        text = tr(
            "Your chats stay on this computer unless you connect to a server. Slipstream uses the network only to find and "
            "download models, to connect to servers and tools that you choose, and to check for updates if you turn that on."
        )
        more = button(tr("Learn More"), tr("Learn more about privacy"), "bordered", lambda: self.show_help("privacy"))
        column(line(), small_label(self._theme, text, wrap=True), row(more, None), spacing=12, parent=page)
        return page

    def _network(self) -> QWidget:
        services = self._services

        def programs() -> list[str]:
            return [config.name for config in services.tools.configs if config.command and config.enabled]

        return NetworkPane(self._theme, services.connections, programs)

    def _advanced(self, form: Form) -> None:
        logs = button(tr("Show Logs"), look="bordered", clicked=self.show_logs)
        form.add_row(tr("Logs"), logs, help=tr("Logs don't contain messages from your chats."))
        report = button(tr("Report a Problem…"), look="bordered", clicked=self.show_report)
        form.add_row(tr("Support"), report, help=tr("Collects version and system information without sending it."))
        reset = button(tr("Reset…"), tr("Reset all settings"), "bordered", clicked=self._reset_settings)
        form.add_row(
            tr("All settings"), reset, help=tr("Chats, presets, models, connections, tool servers, and the hub token are kept.")
        )

    @Slot()
    def _reset_settings(self) -> None:
        question = tr(
            "All settings will return to their defaults. Chats, presets, models, connections, tool servers, and the hub token are "
            "kept."
        )
        if confirm(self._window, tr("Reset All Settings?"), question, tr("Reset")):
            self._services.preferences.reset()

    @Slot()
    def show_chat_settings(self) -> None:
        self._show(ChatSettingsDialog, self._services.session, self._services.library, self._loader, sheet=True)

    def show_project_settings(self, project_id: str) -> None:
        services = self._services
        parts = (services.library, self._loader, services.tools, services.recent_models)
        self._show(ProjectSettingsDialog, services.projects, project_id, *parts, sheet=True)

    @Slot()
    def show_about(self) -> None:
        self._show(AboutDialog, self._services.updates.release, sheet=True)

    @Slot()
    def show_palette(self) -> None:
        self._show(Palette, palette_commands(self._services.commands, self._services.session, self._services.library), sheet=True)

    @Slot()
    def show_help(self, page: str = "guide") -> None:
        """Show a page, at a heading if it is named after “#”."""
        name, _, heading = page.partition("#")
        self._show(HelpDialog, menu_shortcuts(self._services.commands)).show_page(name, heading)

    @Slot()
    def show_changes(self) -> None:
        self.show_help(CHANGES_PAGE)

    @Slot(str)
    def _announce_update(self, version: str) -> None:
        action = NoticeAction(tr("What's New"), self.show_changes)
        self._notices.post(Notice(tr("Slipstream is now version {version}.", version=version), topic="update", actions=(action,)))

    @Slot()
    def show_report(self) -> None:
        self._show(ReportDialog, self._services.updates.release.version, str(self._services.paths.logs))

    @Slot()
    def show_logs(self) -> None:
        """Open the log folder."""
        if str(self._services.paths.logs) and not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._services.paths.logs))):
            self._notices.post(tr("Can't open the log folder “{folder}”.", folder=str(self._services.paths.logs)))

    def _show_compare_dialog(self) -> CompareDialog:
        services = self._services
        return self._show(CompareDialog, services.session, self._activity, self._loader, services.comparer, services.comparisons)

    @Slot(object)
    def _show_comparison(self, comparison: CompareRun) -> None:
        self._show_compare_dialog().follow(comparison)

    @Slot(str)
    def _announce_download(self, name: str) -> None:
        if self.find(PickerDialog) is None:
            text = tr("{name} has been downloaded. Choose File ▸ Models to use it.", name=name)
            self._notices.post(Notice(text, stays=True))

    @Slot()
    def _find_paused_run(self) -> None:
        """Look for a run that was paused when Slipstream quit."""
        if not self._looked_for_run and (pair := loaded_pair(self._loader)) is not None:
            self._looked_for_run = True
            self._tuning.find_paused(pair)

    @Slot(str, float)
    def _announce_paused_run(self, name: str, fraction: float) -> None:
        if self.find(TuneDialog) is None:
            share = percent(fraction)
            text = tr("Tuning {name} is paused at {share}. To continue, choose File ▸ Tune Drafter.", name=name, share=share)
            self._notices.post(Notice(text, stays=True))

    @Slot()
    def _announce_tuning(self) -> None:
        """Tell how a run ended if its window is closed."""
        if self.find(TuneDialog) is None and self._tuning.pair is not None:
            name, result = self._tuning.pair.name, self._tuning.result
            if result is None:
                text = tr("Tuning {name} stopped: {reason}", name=name, reason=self._tuning.error)
                self._notices.post(Notice(text, "error", help=TUNING_PAGE))
            elif result.kept:
                text = tr("{name} has been tuned. Choose File ▸ Tune Drafter to see the result.", name=name)
                self._notices.post(Notice(text, stays=True))
            else:
                self._notices.post(Notice(tr("Tuning {name} has ended, and its drafter is unchanged.", name=name), stays=True))

    def _show(self, kind: type[D], *arguments: Any, sheet: bool = False, **options: Any) -> D:
        """Show a dialog. A sheet blocks the window until closed."""
        dialog = self.find(kind)
        if dialog is None:
            make = cast(Callable[..., D], kind)
            dialog = self._dialogs[kind] = make(self._theme, *arguments, self._window, **options)
            dialog.resize(dialog.size().boundedTo(dialog.screen().availableSize() * SCREEN_SHARE))
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.finished.connect(lambda: self._dialogs.pop(kind, None))
            help_key = QShortcut(QKeySequence(QKeySequence.StandardKey.HelpContents), dialog)  # the window's has no effect here
            help_key.activated.connect(self.show_help)
            for notice in dialog.findChildren(NoticeView):
                notice.help_requested.connect(self.show_help)
        if sheet:
            dialog.open()
        else:
            dialog.show()
            dialog.raise_()
            dialog.activateWindow()
        return dialog


class AboutDialog(QDialog):
    """The About window: version and licenses."""

    def __init__(self, theme: Theme, release: Release, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("About Slipstream"))
        icon = Label()
        icon.setPixmap(window_icon().pixmap(ICON_SIZE, ICON_SIZE))
        icon.setFixedSize(ICON_SIZE, ICON_SIZE)
        name = styled_label(theme, "Slipstream", size=1.6, bold=True)
        version = tr("Version {version}", version=release.version) if release.version else tr("Development build")
        self.version = styled_label(theme, version, "secondary", selectable=True)
        about = tr("A small model drafts tokens, and the large one checks them. The output is exactly the large model's.")
        summary = styled_label(theme, about, wrap=True)
        caption = small_label(theme, tr("Licenses"), bold=True)
        self.licenses = QPlainTextEdit(licenses())
        self.licenses.setReadOnly(True)
        self.licenses.setTabChangesFocus(True)
        self.licenses.setFrameShape(QFrame.Shape.NoFrame)
        self.licenses.setFont(theme.code_font)
        self.licenses.setAccessibleName(caption.text())
        metrics = QFontMetrics(theme.code_font)
        self.resize(metrics.averageCharWidth() * 84 + 80, metrics.lineSpacing() * LICENSE_LINES + 240)
        self.setMinimumSize((self.size() * 0.75).boundedTo(self.screen().availableSize() * SCREEN_SHARE))
        caption.setBuddy(self.licenses)
        close = button(tr("Close"), look="bordered", clicked=self.accept)
        close.setDefault(True)
        head = row((icon, 0, Qt.AlignmentFlag.AlignTop), (column(name, self.version, 6, summary, spacing=4), 1), spacing=20)
        column(head, 10, caption, (self.licenses, 1), 4, row(None, close), spacing=10, margins=(28, 26, 28, 18), parent=self)
        close.setFocus()
