"""The Local Server window: the switch, the connection settings, and live requests."""

from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QFrame,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.session.local_server import LOG_LINES, LocalServer
from app.session.pair_session import PairLoader
from app.session.preferences import Preferences
from app.session.server_agents import start_agent
from app.storage.wording import rate, tokens
from app.text.language import number, sentences, tr
from app.widgets.controls import button, copy_button, entry, prepare_number_field, small_label
from app.widgets.grouped_form import GroupedForm
from app.widgets.layout import NoticeView, column, fit_content, flow, lay_out, row
from app.widgets.save_dialog import confirm
from app.widgets.theme import Theme, set_look
from app.widgets.toggle import Switch
from mlx_engine.api_server import HOST
from mlx_engine.cli.agents import AGENTS, shell
from mlx_engine.contract.secrets import is_available

if TYPE_CHECKING:
    from mlx_engine.api_server.metrics import LiveRequest

MAX_SHOWN = 8  # live requests
WIDTH = 680
EXAMPLE_LINES = 3
FIELD_MARGINS = 32  # above and below the text, in pixels
LOG_HEIGHT = 7  # lines
HIDDEN_KEY = "••••••••"


class ServerDialog(QDialog):
    """The Local Server window."""

    models_requested = Signal()

    def __init__(
        self, theme: Theme, server: LocalServer, loader: PairLoader, preferences: Preferences, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._server, self._loader, self._preferences = theme, server, loader, preferences
        self._folder = ""  # where an agent was last started
        self.setWindowTitle(tr("Local Server"))
        self.about = small_label(theme, look="secondary", wrap=True)
        self.switch = Switch(theme, "")
        self.switch.clicked.connect(server.set_on)
        self.starting = small_label(theme, tr("Starting…"), "secondary")
        self.error = NoticeView("", "error")
        self.switches = {setting: Switch(theme, "") for setting in (Preferences.serve_at_launch, Preferences.load_on_request)}
        for setting, switch in self.switches.items():
            switch.toggled.connect(partial(setting.write, preferences))
        head = GroupedForm(theme)
        head.add_row(tr("Run local server"), self.switch, below=(self.about, self.starting))
        heading = small_label(theme, tr("Requests"), bold=True)
        self.together = small_label(theme, look="secondary")
        self.none = small_label(theme, tr("No active requests"), "secondary")
        self.requests = [RequestView(theme) for _ in range(MAX_SHOWN)]
        self.more = small_label(theme, look="secondary")
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setMaximumBlockCount(LOG_LINES)
        self.log.setAccessibleName(tr("Request log"))
        self.example = QPlainTextEdit()
        self.example.setReadOnly(True)
        self.example.setAccessibleName(tr("Example request"))
        self.example.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.example.document().documentLayout().documentSizeChanged.connect(self._fit_example)
        for text in (self.log, self.example):
            text.setTabChangesFocus(True)
            text.document().setDocumentMargin(10)
            set_look(text, "field")
        agents = self._make_agents()
        caption = small_label(theme, tr("Example request"), bold=True)
        caption.setBuddy(self.example)
        self.copy_example = copy_button(tr("Copy the example"), lambda: self._example(server.key), "bordered")
        page = column(
            head,
            self.error,
            self._make_form(),
            4,
            row(heading, None, self.together),
            self.none,
            column(*self.requests, self.more, spacing=6),
            self.log,
            4,
            agents,
            4,
            row(caption, None, self.copy_example),
            self.example,
            None,
            spacing=12,
            margins=(24, 20, 24, 16),
        )
        lay_out(self, page, None, button(tr("Close"), look="bordered", clicked=self.accept))
        for each in self.findChildren(QPushButton):
            each.setAutoDefault(False)  # Return in the port field is not a click
        for signal in (server.changed, loader.changed, preferences.changed):
            signal.connect(self.refresh)
        server.activity_changed.connect(self._show_activity)
        server.logged.connect(self._show_line)
        theme.changed.connect(self._set_fonts)
        self.log.setPlainText("\n".join(server.lines))
        self.log.setVisible(bool(server.lines))
        self._set_fonts()
        self.refresh()
        self._show_activity()
        fit_content(self, WIDTH)
        self.switch.setFocus()

    def _make_form(self) -> GroupedForm:
        form = GroupedForm(self._theme)
        self.address, self.key, self.model = (entry(read_only=True) for _ in range(3))
        copy_address = copy_button(tr("Copy the address"), self.address.text, "bordered")
        for_anthropic = tr("For programs that use OpenAI's API. For Anthropic's API, leave out “/v1”.")
        form.add_row(tr("Address"), self.address, copy_address, help=for_anthropic)
        self.port = QSpinBox()
        self.port.setRange(1024, 65535)
        self.port.setKeyboardTracking(False)
        prepare_number_field(self.port)
        self.port.valueChanged.connect(self._set_port)
        form.add_row(tr("Port"), self.port)
        self.show_key = button(tr("Show"), tr("Show the API key"), "bordered", self.refresh)
        self.show_key.setCheckable(True)
        self.copy_key = copy_button(tr("Copy the API key"), lambda: self._server.key, "bordered")
        self.new_key = button(tr("Generate New Key…"), look="bordered", clicked=self._replace_key)
        keys = QWidget()
        keys.setLayout(flow(self.show_key, self.copy_key, self.new_key))
        self.key_note = small_label(self._theme, look="secondary", wrap=True)
        form.add_row(tr("API key"), self.key, below=(keys, self.key_note))
        self.models = button(tr("Models…"), tr("Choose models"), "bordered", self.models_requested.emit)
        form.add_row(tr("Model"), self.model, self.models)
        for setting, switch in self.switches.items():
            form.add_row(setting.label(), switch, help=setting.help() if setting.help is not None else "")
        return form

    def _make_agents(self) -> GroupedForm:
        form = GroupedForm(self._theme)
        self.agent = QComboBox()
        for name, agent in AGENTS.items():
            self.agent.addItem(agent.title, name)
        self.start_agent = button(tr("Start…"), tr("Start the coding agent in a folder"), "bordered", self._start_agent)
        accessible = tr("Copy the commands that start the coding agent")
        self.copy_commands = copy_button(accessible, self._commands, "bordered", tr("Copy Commands"))
        self.not_started = small_label(self._theme, look="danger", wrap=True)
        self.not_started.hide()
        unchanged = tr("The agent uses this server and leaves your own settings unchanged.")
        extra = (self.start_agent, self.copy_commands)
        form.add_row(tr("Coding agent"), self.agent, *extra, below=(self.not_started,), help=unchanged)
        return form

    @Slot()
    def refresh(self) -> None:
        """Show the server's state."""
        server, loader = self._server, self._loader
        self.switch.setChecked(server.on)
        about = tr("Lets coding agents and other programs on this computer use the loaded model.")
        host = loader.pair.remote if loader.pair is not None else ""
        sent = tr("Messages from these programs are sent to {host}.", host=host) if host else ""
        self.about.setText(sentences(about, sent))
        self.starting.setVisible(server.on and not server.url)
        self.error.show_text(server.error, "server#how-do-i-start-it-in-the-app")
        self.error.setVisible(bool(server.error))
        self.address.setText(f"{self._url}/v1")
        with QSignalBlocker(self.port):
            self.port.setValue(self._preferences.server_port)
        for setting, switch in self.switches.items():
            with QSignalBlocker(switch):
                switch.setChecked(setting.read(self._preferences))
        shown = self.show_key.isChecked()
        self.show_key.setText(tr("Hide") if shown else tr("Show"))
        self.show_key.setAccessibleName(tr("Hide the API key") if shown else tr("Show the API key"))
        self.key.setText((server.key if shown else HIDDEN_KEY) if server.key else "")
        self.key.setPlaceholderText(tr("Generated when the server starts"))
        self.key_note.setText(
            tr("Programs need this key, which is stored in the keychain.")
            if (server.key_kept if server.key else is_available())
            else tr("This computer has no keychain, so the key is valid only until you quit Slipstream.")
        )
        for each in (self.show_key, self.copy_key, self.new_key, self.copy_example):
            each.setEnabled(bool(server.key))
        can_connect = server.for_agents is not None
        for each in (self.start_agent, self.copy_commands):
            each.setEnabled(can_connect)
        missing = tr("Loading…") if loader.running else tr("No models are loaded.")
        self.model.setText(missing if loader.running or loader.pair is None else loader.pair.name)
        for field in (self.address, self.key, self.model):
            field.setCursorPosition(0)
        self.example.setPlainText(self._example(server.key if shown else HIDDEN_KEY))

    @property
    def _url(self) -> str:
        return self._server.url or f"http://{HOST}:{self._preferences.server_port}"

    def _example(self, key: str) -> str:
        body = '{"messages": [{"role": "user", "content": "Hello"}]}'
        return f"curl {self._url}/v1/chat/completions \\\n  -H 'Authorization: Bearer {key}' \\\n  -d '{body}'"

    def _commands(self) -> str:
        connection = self._server.for_agents
        return shell(self.agent.currentData(), connection) if connection is not None else ""

    @Slot()
    def _start_agent(self) -> None:
        agent = self.agent.currentText()
        folder = QFileDialog.getExistingDirectory(self, tr("Folder for {agent}", agent=agent), self._folder)
        connection = self._server.for_agents
        if folder and connection is not None:
            self._folder = folder
            started = start_agent(self.agent.currentData(), connection, Path(folder))
            self.not_started.setText(tr("Can't start {agent}. Copy the commands and run them yourself.", agent=agent))
            self.not_started.setVisible(not started)

    @Slot()
    def _show_activity(self) -> None:
        activity = self._server.activity
        for view, live in zip_longest(self.requests, activity[:MAX_SHOWN]):
            view.show_request(live)
        self.more.setText(tr("{count} more", count=number(len(activity) - MAX_SHOWN)))
        self.more.setVisible(len(activity) > MAX_SHOWN)
        self.none.setVisible(not activity)
        writing = sum(live.state == "writing" for live in activity)
        self.together.setVisible(writing > 1 and self._server.tok_s is not None)
        self.together.setText(tr("{count} replies, {rate} together", count=number(writing), rate=rate(self._server.tok_s or 0.0)))

    @Slot(str)
    def _show_line(self, text: str) -> None:
        self.log.appendPlainText(text)
        self.log.show()

    @Slot()
    def _set_fonts(self) -> None:
        for text in (self.log, self.example):
            text.setFont(self._theme.code_font)
        self.log.setFixedHeight(LOG_HEIGHT * self.log.fontMetrics().lineSpacing() + FIELD_MARGINS)
        self._fit_example()

    @Slot()
    def _fit_example(self) -> None:
        """Show all lines of the example, so that only the page scrolls."""
        lines = max(round(self.example.document().size().height()), EXAMPLE_LINES)
        self.example.setFixedHeight(lines * self.example.fontMetrics().lineSpacing() + FIELD_MARGINS)

    @Slot(int)
    def _set_port(self, port: int) -> None:
        self._preferences.server_port = port

    @Slot()
    def _replace_key(self) -> None:
        question = tr("Programs with the current key can't connect until you give them the new one.")
        if confirm(self, tr("Generate New Key?"), question, tr("Generate")):
            self._server.replace_key()


class RequestView(QFrame):
    """A live request: the program, the endpoint, and the reply's progress."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_look(self, "notice")
        self.title = small_label(theme, bold=True, elided=True)
        self.progress = small_label(theme, look="secondary", wrap=True)
        column(self.title, self.progress, spacing=2, margins=(14, 8, 14, 8), parent=self)

    def show_request(self, live: "LiveRequest | None") -> None:
        if live is not None:
            self.title.setText(f"{live.client} · {live.endpoint}" if live.client else live.endpoint)
            self.progress.setText(progress(live))
        self.setVisible(live is not None)


def progress(live: "LiveRequest") -> str:
    """Describe a reply's progress, such as “312 tokens · 45 tok/s”."""
    if live.state == "waiting":
        return tr("Position {position} in the queue", position=live.position) if live.position else tr("Waiting")
    parts = [tokens(live.tokens)]
    if live.state == "reading":
        parts = [
            tr("Reading the prompt: {done} of {total} tokens", done=number(live.read_tokens), total=number(live.prompt_tokens))
        ]
    elif live.tok_s is not None:
        parts.append(rate(live.tok_s))
    if live.cached_tokens:
        cached = tr("{count} of {total} prompt tokens cached", count=number(live.cached_tokens), total=number(live.prompt_tokens))
        parts.append(cached)
    return " · ".join(parts)
