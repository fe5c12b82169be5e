"""The form for an endpoint: the address as it is understood, advanced fields, and where secrets are kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from keyring.backends.fail import Keyring as NoKeychain
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QLabel

from app.session import endpoints
from app.views.models.endpoint_form import EndpointForm
from app.views.models.model_settings import ModelSettings
from app.views.models.picker_dialog import PickerDialog
from app.views.server.server_dialog import ServerDialog
from app.views.tools.server_form import ServerForm
from app.widgets.layout import ScrollingPage
from mlx_engine.contract import secrets
from mlx_engine.contract.requests import Endpoint
from mlx_engine.contract.secrets import is_reference
from mlx_engine.network import offline
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Running, Start
from tests.app.views.models.picker_page import look_at, opened
from tests.keychain import Keychain, keychain
from tests.mlx_engine.remote.replay import recorded, replaying


@pytest.fixture(params=[True, False], ids=["keychain", "no keychain"])
def has_keychain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    monkeypatch.setattr(secrets, "_unsaved", {})
    with keychain(Keychain() if request.param else NoKeychain()):
        yield request.param


def form_for(app: Running, saved: SavedEndpoint | None = None) -> EndpointForm:
    opened(app)
    picker = app.dialog(PickerDialog)
    if saved is None:
        picker.server.trigger()
    else:
        app.services.picker.endpoints.put(saved)
        look_at(app, f"connection:{saved.name}")
        picker.endpoint.edit.click()
    (form,) = [form for form in picker.findChildren(EndpointForm) if form.isVisible()]
    return form


def claims(*widgets: object) -> list[str]:
    """Return the shown texts about where secrets are kept."""
    labels = [label for widget in widgets for label in widget.findChildren(QLabel)]  # type: ignore[attr-defined]
    return [label.text() for label in labels if "keychain" in label.text() and not label.isHidden()]


def test_an_address_without_a_scheme_is_completed_and_shown(begin: Start) -> None:
    app = begin(loaded=False)
    with replaying({("GET", "/v1/models"): recorded("mlx_lm/v1_models")}) as server:
        form = form_for(app)
        assert form.understood.text() == "Your messages are sent to this server."
        form.url.setText(server.url.removeprefix("http://") + "/v1/chat/completions ")
        assert form.understood.text() == f"Your messages are sent to {server.url}/v1."
        assert form.listed.text() == "To list the server's models, test the connection."
        form.test.click()
        app.until(form.test.isEnabled)
        assert form.verdict.text() == "The connection works."
        assert form.listed.text() == "The list has the server's models." and form.model.count()
        assert form.model.accessibleDescription() == form.listed.text()
        page = form.findChild(ScrollingPage)
        assert page is not None
        app.until(lambda: page.verticalScrollBar().maximum() == 0)  # the dialog has grown
        form.save.click()
    assert app.services.picker.endpoints.saved[0].endpoint.url == f"{server.url}/v1"


def test_offline_can_be_turned_off_where_it_refuses_a_test(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal was red, and had no button."""
    real = endpoints.try_endpoint

    def test(endpoint: Endpoint) -> object:  # Offline has no effect on servers of this computer
        if offline.is_offline():
            raise offline.refusal("lab.example")
        return real(endpoint)

    monkeypatch.setattr(endpoints, "try_endpoint", test)
    offline.set_offline(True)
    app = begin(loaded=False)
    with replaying({("GET", "/v1/models"): recorded("mlx_lm/v1_models")}) as server:
        form = form_for(app)
        form.url.setText(server.url)
        form.test.click()
        app.until(form.turn_off.isVisible)
        assert "Offline is on" in form.verdict.text() and form.verdict.property("look") == "secondary"
        form.turn_off.click()
        app.until(lambda: form.verdict.text() == "The connection works.")
    assert not offline.is_offline() and not form.turn_off.isVisible()


def test_what_a_test_found_stays_after_saving(begin: Start) -> None:
    """The details of the connection showed only its address."""
    app = begin(loaded=False)
    with replaying({("GET", "/v1/models"): recorded("mlx_lm/v1_models")}) as server:
        form = form_for(app)
        form.url.setText(server.url)
        place = form.test.mapToGlobal(QPoint())
        form.test.click()
        app.until(form.test.isEnabled)
        assert form.facts.isVisible() and form.test.mapToGlobal(QPoint()) == place, "the dialog has grown below it"
        form.save.click()
    (saved,) = app.services.picker.endpoints.saved
    look_at(app, f"connection:{saved.name}")
    facts = app.dialog(PickerDialog).endpoint.facts
    assert {"Server", "Speculative decoding"} <= facts.shown.keys()
    app.services.picker.endpoints.put(SavedEndpoint("Other", Endpoint("http://127.0.0.1:9")))
    look_at(app, "connection:Other")
    assert "Speculative decoding" not in facts.shown, "it wasn't tested"


def test_the_models_of_another_address_are_not_listed(begin: Start) -> None:
    """After a test, the form still said to test the connection, and its list stayed when the address changed."""
    app = begin(loaded=False)
    with replaying({("GET", "/v1/models"): recorded("mlx_lm/v1_models")}) as server:
        form = form_for(app)
        form.url.setText(server.url)
        form.test.click()
        app.until(form.test.isEnabled)
        form.model.lineEdit().textEdited.emit("mine")
        assert form.verdict.text() == "" and form.model.count(), "they are the server's, even if another one is entered"
        form.url.textEdited.emit("localhost:1")
    assert not form.model.count() and form.listed.text() == "To list the server's models, test the connection."


def test_an_address_that_is_no_address_is_not_completed(begin: Start) -> None:
    form = form_for(begin(loaded=False))
    for text in ("ftp://host", "a b", "http://"):
        form.url.setText(text)
        assert form.understood.text() == "Your messages are sent to this server."


def test_rare_fields_are_under_advanced(begin: Start) -> None:
    app = begin(loaded=False)
    form = form_for(app)
    rare = form.plain_url, form.headers, form.ca_file, form.timeout
    assert not any(field.isVisible() for field in rare) and form.url.isVisible() and form.focusWidget() is form.url
    QApplication.sendPostedEvents()
    height = form.height()
    assert height == form.sizeHint().height(), "no empty space"
    form.advanced.click()
    assert all(field.isVisible() for field in rare) and form.height() > height
    form.url.setText("localhost:1")
    form.headers.setPlainText("no colon")
    form.advanced.click()
    assert not form.headers.isVisible()
    form.save.click()
    assert form.headers.isVisible() and "needs a name" in form.verdict.text(), "a mistake in a hidden field is shown"
    form.close()
    again = form_for(app, SavedEndpoint("Lab", Endpoint("http://localhost", headers=(("X-Team", "blue"),))))
    assert again.headers.isVisible() and again.focusWidget() is again.url


def test_all_windows_agree_on_where_secrets_are_kept(begin: Start, has_keychain: bool, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    form = form_for(app)
    form.advanced.click()
    server = ServerForm(app.theme, app.tools, None, app.window)
    models = ModelSettings(app.theme, app.services.picker)
    app.window.dialogs.show_server()
    local = app.dialog(ServerDialog)
    found = claims(form, server, models, local)
    assert len(found) == 6
    assert all(("no keychain" in text) != has_keychain for text in map(str.lower, found)), found
    form.url.setText("localhost:1")
    form.key.setText("sk-1")
    form.save.click()
    endpoints = app.services.picker.endpoints
    app.until(lambda: bool(endpoints.saved) and is_reference(endpoints.saved[0].endpoint.key))
    picker = app.dialog(PickerDialog)
    kept = "Stored in the keychain." if has_keychain else "Kept only until you quit, because no keychain is available."
    app.until(lambda: picker.endpoint.facts.shown.get("Key") == kept)
