"""The form that adds or edits an endpoint."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, count

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QComboBox, QCompleter, QDialog, QFileDialog, QLineEdit, QSpinBox, QWidget
from shiboken6 import isValid

from app.session.endpoints import Endpoints
from app.session.model_list import MAX_NAME
from app.text.language import sentences, tr, translated
from app.views.models.endpoint_card import tested_facts
from app.widgets.controls import announce, button, entry, prepare_number_field, small_label
from app.widgets.fact_table import FactTable
from app.widgets.layout import Form, column, fit_content, lay_out, row
from app.widgets.pairs_field import HIDDEN, PairsField
from app.widgets.save_dialog import confirm
from app.widgets.secret_texts import secret_kept, secrets_kept
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import home_path
from mlx_engine.contract.requests import Endpoint
from mlx_engine.network.offline import CODES
from mlx_engine.remote.endpoint import checked, open_host
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from mlx_engine.remote.server import RemoteServer

WIDTH = 520
MAX_CHARACTERS = 2000
MAX_SECONDS = 3600


class EndpointForm(QDialog):
    """A form for an endpoint, with a test."""

    saved = Signal(object)  # SavedEndpoint
    online_requested = Signal(object)  # what to do once Offline is off

    def __init__(self, theme: Theme, endpoints: Endpoints, old: SavedEndpoint | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._endpoints, self._old = endpoints, old
        self._tested: SavedEndpoint | None = None  # being tested, or with a shown result
        self._found: RemoteServer | None = None  # what the test has found
        endpoint = old.endpoint if old else Endpoint("")
        self.setWindowTitle(tr("Edit Connection") if old else tr("Add Connection"))
        self.name = entry(old.name if old else "", tr("Shown in the list (optional)"), MAX_NAME)
        self.url = entry(endpoint.url, "https://models.example.com", MAX_CHARACTERS)
        self.key = entry(HIDDEN if endpoint.key else "", tr("Only if the server needs one"), MAX_CHARACTERS)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.model, model = QComboBox(), QLineEdit()
        self.model.setLineEdit(model)
        self.model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.model.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.model.setMinimumContentsLength(18)
        self.model.setEditText(endpoint.model)
        model.setPlaceholderText(tr("The server's first model"))
        model.setMaxLength(MAX_CHARACTERS)
        completer = QCompleter(self.model.model(), self.model)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.model.setCompleter(completer)
        self.plain_url = entry(endpoint.plain_url, tr("Optional"), MAX_CHARACTERS)
        self.headers = PairsField(endpoint.headers, "X-Name: …", ": ")
        self.ca_file = entry(str(endpoint.ca_file or ""), tr("System default"), MAX_CHARACTERS)
        choose = button(tr("Choose…"), tr("Choose a certificate file"), "bordered", self._choose_file)
        self.timeout = QSpinBox()
        self.timeout.setRange(1, MAX_SECONDS)
        self.timeout.setValue(round(endpoint.timeout_s))
        prepare_number_field(self.timeout)
        self.understood = small_label(theme, look="secondary", wrap=True)
        self.listed = small_label(theme, look="secondary", wrap=True)
        form = self._form = Form(theme)
        form.add_row(tr("Address"), self.url, below=(self.understood,))
        form.add_row(tr("Name"), self.name)
        form.add_row(tr("Key"), self.key, help=secret_kept(endpoint.key))
        form.add_row(tr("Model"), self.model, below=(self.listed,))
        self.advanced = button(tr("Show Advanced"), look="disclosure")
        self.advanced.setCheckable(True)
        form.add_row("", self.advanced)
        plain = tr("A server with the same model but no speculative decoding. Also used for comparisons.")
        form.add_row(tr("Address for plain replies"), self.plain_url, help=plain)
        form.add_row(tr("Headers"), self.headers, help=sentences(tr("One header per line."), secrets_kept()))
        form.add_row(
            tr("Certificate authority"), self.ca_file, choose, help=tr("A PEM file, for servers that the system doesn't trust.")
        )
        form.add_row(tr("Timeout"), self.timeout, small_label(theme, tr("seconds")))
        self.verdict = small_label(theme, wrap=True, selectable=True)
        self.verdict.setAccessibleName(tr("Test result"))
        self.verdict.setMinimumWidth(120)  # long words don't widen the window
        self.facts = FactTable(theme)
        self.turn_off = button(tr("Turn Off"), tr("Turn off Offline"), "bordered", lambda: self.online_requested.emit(self._test))
        self.turn_off.hide()
        self.test = button(tr("Test"), tr("Test the connection"), "bordered", self._test)
        self.save = button(tr("Save"), look="primary", clicked=self._save)
        self.save.setDefault(True)
        cancel = button(tr("Cancel"), look="bordered", clicked=self.reject)
        # The dialog grows for what a test finds, which would move a button in the footer.
        self._result = column(row(self.test, (self.verdict, 1), self.turn_off, spacing=12), self.facts, spacing=10)
        page = column(form, self._result, None, spacing=14, margins=(24, 20, 24, 16))
        self._page = lay_out(self, page, None, cancel, self.save, width=WIDTH)
        for field in (self.url, self.key, model, self.plain_url, self.ca_file):
            field.textEdited.connect(self._forget_test)
        self.url.textChanged.connect(self._show_understood)
        self.url.textEdited.connect(self._forget_models)
        self._forget_models()
        self._show_understood()
        self.advanced.toggled.connect(self._show_advanced)
        self._show_advanced(False)
        self.advanced.setChecked(self._has_advanced)
        self.headers.textChanged.connect(self._forget_test)
        self.timeout.valueChanged.connect(self._forget_test)
        self.model.activated.connect(self._forget_test)
        self.url.setFocus()

    @property
    def _has_advanced(self) -> bool:
        texts = self.plain_url.text(), self.headers.toPlainText(), self.ca_file.text()
        return any(map(str.strip, texts)) or self.timeout.value() != Endpoint("").timeout_s

    @Slot(bool)
    def _show_advanced(self, shown: bool) -> None:
        self.advanced.setText(tr("Hide Advanced") if shown else tr("Show Advanced"))
        self.advanced.setAccessibleName(self.advanced.text())
        for field in (self.plain_url, self.headers, self.ca_file, self.timeout):
            self._form.show_row(field, shown)
        if self.isVisible():
            self._page.updateGeometry()
            fit_content(self)

    @Slot()
    def _show_understood(self) -> None:
        """Show where messages go once the address is complete."""
        text = tr("Your messages are sent to this server.")
        with suppress(UserError):
            if self.url.text().strip():
                text = tr("Your messages are sent to {address}.", address=checked(Endpoint(self.url.text())).url)
        self.understood.setText(text)
        self.url.setAccessibleDescription(text)

    def read(self) -> SavedEndpoint:
        """Return the endpoint that was entered.

        Raises:
            ValueError: something is missing or invalid; the message is for the user.
        """
        before, key, file = self._old, self.key.text(), self.ca_file.text().strip()
        endpoint = Endpoint(
            self.url.text().strip(),
            model=self.model.currentText().strip(),
            key=before.endpoint.key if before and key == HIDDEN else key.strip(),
            plain_url=self.plain_url.text().strip(),
            headers=self.headers.read(),
            ca_file=home_path(file) if file else None,
            timeout_s=float(self.timeout.value()),
        )
        if not endpoint.url:
            raise ValueError(tr("Enter an address."))
        try:
            endpoint = checked(endpoint)
        except UserError as error:
            raise ValueError(translated(error.text)) from None
        if refusal := self._endpoints.refusal(endpoint):
            raise ValueError(refusal)
        others = {saved.name for saved in self._endpoints.saved if before is None or saved.name != before.name}
        names = chain([endpoint.host], (f"{endpoint.host} {number}" for number in count(2)))
        name = self.name.text().strip() or next(name for name in names if name not in others)
        if not name.isprintable() or not endpoint.model.isprintable():
            raise ValueError(tr("The name or the model contains control characters. Remove them."))
        if name in others:
            raise ValueError(tr("Another connection has this name. Enter a different one."))
        return SavedEndpoint(name, endpoint)

    def _checked(self) -> SavedEndpoint | None:
        """Return the endpoint, or None after showing what is missing."""
        try:
            return self.read()
        except ValueError as error:
            self.advanced.setChecked(self.advanced.isChecked() or self._has_advanced)  # the mistake may be there
            self._say(str(error), "danger")
            return None

    @Slot()
    def _save(self) -> None:
        if (new := self._checked()) is None:
            return
        host = open_host(new.endpoint)
        if host and host != (open_host(self._old.endpoint) if self._old else ""):
            question = tr("Messages to “{host}” won't be encrypted. Others on the network can read them.", host=host)
            if not confirm(self, tr("Save Unencrypted Connection?"), question, tr("Save Anyway")):
                return
        self._endpoints.tested.pop(new.name, None)
        if self._found is not None:
            self._endpoints.tested[new.name] = self._found
        self.saved.emit(new)
        self.accept()

    @Slot()
    def _test(self) -> None:
        if (new := self._checked()) is not None:
            self._tested = new
            self.test.setEnabled(False)
            self._say(tr("Connecting…"), "secondary")
            self._endpoints.test(new, lambda found: self._show_result(new, found) if isValid(self) else None)

    def _show_result(self, tested: SavedEndpoint, found: RemoteServer | EngineText) -> None:
        if tested is not self._tested:
            return  # edited in the meantime
        self.test.setEnabled(True)
        if isinstance(found, EngineText):
            is_offline = found.code in CODES
            self._say(translated(found), "secondary" if is_offline else "danger")
            self.turn_off.setVisible(found.code == "offline")
            return
        self._found = found
        facts = tested_facts(tested.endpoint, found)
        unencrypted = tr("No") if open_host(tested.endpoint) else tr("Not needed on this computer")
        facts[tr("Encrypted")] = tr("Yes") if tested.endpoint.is_encrypted else unencrypted
        listed = [model for model in found.models if model.isprintable() and len(model) <= MAX_CHARACTERS]
        self._list_models(listed, tr("The list has the server's models.") if listed else tr("The server lists no models."))
        self._say(tr("The connection works."), "secondary", facts)

    @Slot()
    def _forget_models(self) -> None:
        self._list_models([], tr("To list the server's models, test the connection."))

    def _list_models(self, models: Sequence[str], about: str) -> None:
        text = self.model.currentText()
        self.model.clear()
        self.model.addItems(models)
        self.model.setEditText(text)
        self.listed.setText(about)
        self.model.setAccessibleDescription(about)

    @Slot()
    def _forget_test(self) -> None:
        self._tested = self._found = None
        self.test.setEnabled(True)
        self._say("", "secondary")

    def _say(self, text: str, look: str, facts: dict[str, str] | None = None) -> None:
        set_look(self.verdict, look)
        self.verdict.setText(text)
        self.turn_off.hide()
        self.facts.show_facts(facts or {})
        self.facts.setVisible(bool(facts))
        if text:
            announce(self, sentences(text, *(f"{name}: {value}" for name, value in (facts or {}).items())))
            if self.isVisible():
                fit_content(self)
            self._page.show_end()

    @Slot()
    def _choose_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Choose a Certificate File"), "", "PEM (*.pem *.crt *.cer)")
        if name:
            self.ca_file.setText(name)
            self._forget_test()
