"""The bar above the chat: the loaded pair, and how the next reply is decoded."""

from PySide6.QtCore import QEvent, QPoint, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QMenu, QWidget

from app.session.chat_session import ChatSession
from app.session.commands import Commands
from app.session.local_server import LocalServer, active_requests
from app.session.pair_session import PairLoader
from app.session.preferences import Preferences
from app.session.reply_runner import ReplyRunner
from app.storage.wording import mode_names, number, percent, size, without_dflash
from app.text.language import tr, translated
from app.text.plain_text import one_line
from app.widgets.controls import ElidedButton, IconButton, as_tooltip, button, small_label
from app.widgets.layout import column, line, row
from app.widgets.theme import SMALL, Theme
from app.widgets.toggle import Switch
from mlx_engine.contract.events import PairInfo

SPACING = 10
PROJECT_WIDTH, MAX_PROJECT = 150, 100  # pixels at the default text size; letters
NAME_WIDTH = 220  # minimum width of a long name, before controls move into the menu
MARGINS = (10, 7, 16, 7)


class TopBar(QWidget):
    """The bar above the chat. Controls that don't fit move into a menu."""

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        loader: PairLoader,
        reply_runner: ReplyRunner,
        commands: Commands,
        server: LocalServer,
        preferences: Preferences,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._session, self._loader, self._reply_runner = session, loader, reply_runner
        self._commands, self._server, self._preferences = commands, server, preferences
        self.name = ElidedButton(tr("Choose models"), "pair", opens_menu=True)
        theme.set_font(self.name, SMALL, bold=True)
        self.sidebar = IconButton(theme, "sidebar", tr("Show or hide the sidebar"))
        self.project = ElidedButton(tr("Project Settings"), "quiet")
        self.project.clicked.connect(commands.runner("project_settings"))
        self.offline = button(tr("Offline"), tr("Offline is on. Open Settings"), "sign")
        self.offline.setToolTip(tr("Slipstream connects to no other computer. Servers on this computer can be used."))
        self.server = IconButton(theme, "server", tr("The local server is on"))
        self.settings = IconButton(theme, "sliders", tr("Chat settings"))
        self.state = small_label(theme, look="faint")
        self.compare = IconButton(theme, "columns", tr("Compare both modes on the last prompt"))
        self.compare.setToolTip(tr("Answer the last prompt with and without DFlash, side by side"))
        self.compare.clicked.connect(commands.runner("compare"))
        self.dflash = Switch(theme, "DFlash", quiet=True)
        self.dflash.clicked.connect(commands.runner("dflash"))
        self.more = IconButton(theme, "more", tr("More"))
        self.more.clicked.connect(self._show_menu)
        self._items: tuple[QWidget, ...] = (self.state, self.project, self.compare, self.settings, self.dflash)
        left, right = (self.sidebar, self.name, self.project), (self.state, self.compare, self.settings, self.dflash)
        bar = row(*left, None, self.offline, self.server, *right, self.more, spacing=SPACING, margins=MARGINS)
        column(bar, line(), spacing=0, parent=self)
        for signal in (loader.changed, commands.changed):
            signal.connect(self.refresh)
        loader.calibration.changed.connect(self._show_state)
        for signal in (server.changed, server.activity_changed):
            signal.connect(self._show_server)
        preferences.changed.connect(self._show_offline)
        theme.text_resized.connect(self._arrange)
        self._show_server()
        self._show_offline()
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        session, loader = self._session, self._loader
        pair = loader.pair
        if pair is not None:
            name, macs = pair.name, loader.macs
            self.name.setText(tr("{name} on {count} Macs", name=name, count=macs) if macs > 1 else name)
            self.name.setToolTip(as_tooltip("\n".join(about(pair))))
        else:
            self.name.setText(tr("Loading…") if loader.running else tr("No models loaded"))
        self.name.setAccessibleName(tr("Models: {pair_name}", pair_name=self.name.text()))
        self.dflash.setChecked(session.next_mode == "dflash")
        self.dflash.setEnabled(self._commands["dflash"].can() is None)
        if pair is not None and pair.why_plain is not None:
            self.dflash.setToolTip(as_tooltip(without_dflash(pair.why_plain)))
        elif pair is not None and pair.why_not_plain is not None:
            self.dflash.setToolTip(as_tooltip(tr("Can't be turned off: {why}", why=translated(pair.why_not_plain))))
        elif loader.sent_to:
            self.dflash.setToolTip(tr("Let the server draft tokens, starting with the next reply"))
        else:
            self.dflash.setToolTip(tr("Use the small model to speed up the large one, starting with the next reply"))
        self.compare.setEnabled(self._commands["compare"].can() is None)
        project = session.project
        name = one_line(project.name, MAX_PROJECT) if project is not None else ""
        self.project.setText(name)
        self.project.setToolTip(as_tooltip(tr("Project “{name}”. Open its settings", name=name)))
        self.project.setAccessibleName(tr("Project: {name}", name=name))
        self._show_state()

    @Slot()
    def _show_state(self) -> None:
        self.state.setText(self._state())
        self._arrange()

    def _state(self) -> str:
        """Return how the next reply differs, or how far the measurement is."""
        run, calibration = self._reply_runner.of(self._session.chat.id), self._loader.calibration
        if run is not None and run.turn.reply.mode != self._session.next_mode:
            return tr("Next reply: {mode}", mode=mode_names()[self._session.next_mode])
        if not calibration.running or calibration.progress is None:
            return ""
        return f"{tr('Measuring speed')} · {percent(calibration.progress.fraction)}"

    @Slot()
    def _show_server(self) -> None:
        active = len(self._server.activity)
        self.server.is_active = bool(active)
        self.server.set_name(active_requests(active) if active else tr("The local server is on"))
        self.server.setVisible(self._server.on)
        self.server.update()
        self._arrange()

    @Slot()
    def _show_offline(self) -> None:
        self.offline.setVisible(self._preferences.offline)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        """Read Offline when the window becomes active: other programs can change it."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange:
            self._show_offline()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Move controls into the menu until the rest and a readable name fit."""
        name = min(self.name.sizeHint().width(), self._theme.scaled(NAME_WIDTH))
        room = self.width() - MARGINS[0] - MARGINS[2] - self.sidebar.sizeHint().width() - name - SPACING
        for sign in (self.offline, self.server):
            room -= 0 if sign.isHidden() else sign.sizeHint().width() + SPACING
        self.project.setMaximumWidth(self._theme.scaled(PROJECT_WIDTH))
        shown: list[QWidget] = [self.state] if self.state.text() else []
        shown += [self.compare, self.settings]  # removed in this order
        drafts = self.dflash.isEnabled() or not self._loader.sent_to  # a server that can't switch has no use for it
        shown += [self.project] if self.project.text() else []
        shown += [self.dflash] if drafts else []
        self.more.hide()
        while shown and sum(min(item.sizeHint().width(), item.maximumWidth()) + SPACING for item in shown) > room:
            if shown.pop(0) is not self.state and self.more.isHidden():
                self.more.show()
                room -= self.more.sizeHint().width() + SPACING
        for item in self._items:
            item.setVisible(item in shown)

    @Slot()
    def _show_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for item in self._items:
            applies = item.isEnabled() if item is self.dflash else item is not self.project or bool(self.project.text())
            if isinstance(item, QAbstractButton) and item.isHidden() and applies:
                title = item.text() or item.accessibleName()
                action = menu.addAction(title.replace("&", "&&"), item.click)
                action.setCheckable(item.isCheckable())
                action.setChecked(item.isChecked())
                action.setEnabled(item.isEnabled())
        menu.popup(self.more.mapToGlobal(QPoint(0, self.more.height())))


def about(pair: PairInfo) -> list[str]:
    """Return lines that describe a pair or a server."""
    if pair.remote:
        program = tr("Server: {host} ({program})", host=pair.remote, program=pair.family)
        lines = [program if pair.family else tr("Server: {host}", host=pair.remote), tr("Model: {name}", name=pair.target)]
        lines += [tr("Speculative decoding: {method}", method=pair.drafter)] if pair.drafter else []
    else:
        drafter = tr("Drafter: {name} ({size})", name=pair.drafter, size=size(pair.drafter_bytes))
        target = tr("Target: {name} ({size})", name=pair.target, size=size(pair.target_bytes))
        lines = [target, drafter if pair.drafter else tr("No drafter")]
    lines += [tr("Context: {count} tokens", count=number(pair.context_limit))] if pair.context_known else []
    if pair.can_see or pair.why_cannot_see is None:
        return [*lines, tr("Sees images") if pair.can_see else tr("Can't see images")]
    return [*lines, tr("Can't see images: {why}", why=translated(pair.why_cannot_see))]
