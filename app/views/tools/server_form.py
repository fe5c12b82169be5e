"""The forms that add, edit, and import servers."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QDialog, QSpinBox, QWidget
from shiboken6 import isValid

from app.session.tool_box import ToolBox
from app.text.language import sentences, tr
from app.text.plain_text import one_line
from app.views.tools.server_card import LOG_LINES, MAX_LINE, MAX_NAME, MAX_TARGET, server_title, state_text, target
from app.widgets.controls import button, entry, prepare_number_field, small_label
from app.widgets.layout import Form, column, lay_out
from app.widgets.pairs_field import PairsField
from app.widgets.secret_texts import secrets_kept
from app.widgets.theme import Theme, set_look
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus

WIDTH = 480


class ServerForm(QDialog):
    """A form for a server: a program on this computer, or an address."""

    saved = Signal(object)  # ServerConfig

    def __init__(self, theme: Theme, box: ToolBox, config: ServerConfig | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box, self._old = box, config or ServerConfig("")
        self._tested: ServerConfig | None = None  # being tested, or with a shown result
        self.setWindowTitle(tr("Edit Server") if config else tr("Add Server"))
        form = Form(theme)
        self.name = entry(self._old.name, limit=MAX_NAME)
        self.target = entry(target(self._old), "npx -y @modelcontextprotocol/server-everything")
        self.target.textChanged.connect(self._enable_fields)
        self.env = PairsField(self._old.env, "API_KEY=…", "=")
        self.headers = PairsField(self._old.headers, "Authorization: …", ": ")
        self.timeout = QSpinBox()
        self.timeout.setRange(1, 3600)
        self.timeout.setValue(round(self._old.timeout_s))
        prepare_number_field(self.timeout)
        trust = tr("Commands run with your permissions. Add only servers that you trust.")
        form.add_row(tr("Name"), self.name)
        form.add_row(tr("Command or address"), self.target, help=trust)
        form.add_row(tr("Environment"), self.env, help=sentences(tr("One variable per line."), secrets_kept()))
        form.add_row(tr("Headers"), self.headers, help=sentences(tr("One header per line."), secrets_kept()))
        form.add_row(tr("Timeout"), self.timeout, small_label(theme, tr("seconds")))
        self.verdict = small_label(theme, wrap=True, selectable=True)
        self.verdict.setAccessibleName(tr("Test result"))
        self.test = button(tr("Test"), tr("Test the server"), "bordered", self._test)
        self.save = button(tr("Save"), look="primary", clicked=self._save)
        self.save.setDefault(True)
        cancel = button(tr("Cancel"), look="bordered", clicked=self.reject)
        page = column(form, self.verdict, None, spacing=14, margins=(24, 20, 24, 16))
        self._page = lay_out(self, page, self.test, None, cancel, self.save, width=WIDTH)
        self._page.verticalScrollBar().rangeChanged.connect(self._scroll_to_verdict)  # with the height of the verdict
        for field in (self.name, self.target):
            field.textEdited.connect(self._forget_test)
        for pairs in (self.env, self.headers):
            pairs.textChanged.connect(self._forget_test)
        self.timeout.valueChanged.connect(self._forget_test)
        self._enable_fields()
        self.name.setFocus()

    @property
    def _is_address(self) -> bool:
        return self.target.text().strip().startswith(("http://", "https://"))

    @Slot()
    def _enable_fields(self) -> None:
        self.env.setEnabled(not self._is_address)
        self.headers.setEnabled(self._is_address)

    def read(self) -> ServerConfig:
        """Return the server that was entered.

        Raises:
            ValueError: something is missing or invalid; the message is for the user.
        """
        name, text = self.name.text().strip(), self.target.text().strip()
        if not name:
            raise ValueError(tr("Enter a name."))
        if name != self._old.name and name in self._box.status:
            raise ValueError(tr("Another server has this name."))
        if not text:
            raise ValueError(tr("Enter a command or an address."))
        new = replace(self._old, name=name, env=self.env.read(), headers=self.headers.read(), timeout_s=float(self.timeout.value()))
        if self._is_address:
            return replace(new, url=text, command="", args=())
        try:
            command, *words = shlex.split(text)
        except ValueError:
            raise ValueError(tr("A quotation mark isn't closed.")) from None
        return replace(new, url="", command=command, args=tuple(words))

    def _checked(self) -> ServerConfig | None:
        """Return the server, or None after showing what is missing."""
        try:
            return self.read()
        except ValueError as error:
            self._say(str(error), failed=True)
            return None

    @Slot()
    def _forget_test(self) -> None:
        self._tested = None
        self.test.setEnabled(True)
        self._say("")

    def _say(self, text: str, failed: bool = False) -> None:
        set_look(self.verdict, "danger" if failed else "secondary")
        self.verdict.setText(text)
        self._scroll_to_verdict()

    @Slot()
    def _scroll_to_verdict(self) -> None:
        if self.verdict.text():
            self._page.verticalScrollBar().setValue(self.verdict.y())

    @Slot()
    def _save(self) -> None:
        if (config := self._checked()) is not None:
            self.saved.emit(config)
            self.accept()

    @Slot()
    def _test(self) -> None:
        if (config := self._checked()) is not None:
            self._tested = config
            self.test.setEnabled(False)
            self._say(tr("Connecting…"))
            self._box.test(replace(config, enabled=True), lambda status: self._show_verdict(config, status))

    def _show_verdict(self, tested: ServerConfig, status: ServerStatus) -> None:
        if not isValid(self) or tested is not self._tested:
            return  # closed or edited in the meantime
        self.test.setEnabled(True)
        failed = status.state == "failed"
        lines = [state_text(replace(self._old, builtin=""), status, on=True)]
        lines += [one_line(line, MAX_LINE) for line in status.log[-LOG_LINES:]] if failed else []
        lines += [one_line(", ".join(tool.name for tool in status.tools), MAX_TARGET)] if status.tools else []
        self._say("\n".join(lines), failed)


class ImportDialog(QDialog):
    """A list of servers to import from another app, without starting them."""

    def __init__(self, theme: Theme, source: str, found: Sequence[ServerConfig], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Import Servers"))
        about = tr("Choose the servers to add from {source}. They stay off until you turn them on.", source=source)
        self._boxes: list[tuple[QCheckBox, ServerConfig]] = []
        page = column(small_label(theme, about, wrap=True), spacing=10, margins=(24, 20, 24, 16))
        for config in found:
            box = QCheckBox(server_title(config).replace("&", "&&"))
            box.setAccessibleName(server_title(config))
            box.setChecked(True)
            self._boxes.append((box, config))
            runs = small_label(theme, one_line(target(config), MAX_TARGET), "secondary", wrap=True)
            box.setAccessibleDescription(runs.text())
            page.addLayout(column(box, runs, spacing=2))
        page.addStretch()
        add = button(tr("Add"), tr("Add the selected servers"), "primary", self.accept)
        add.setDefault(True)
        cancel = button(tr("Cancel"), look="bordered", clicked=self.reject)
        lay_out(self, page, None, cancel, add, width=WIDTH)

    @property
    def chosen(self) -> list[ServerConfig]:
        """The checked servers, turned off."""
        return [replace(config, enabled=False) for box, config in self._boxes if box.isChecked()]
