"""Endpoints in the Models window: adding, testing, using, deleting, restarting, and hostile input and servers."""

import json
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event, Timer

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeychain
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from app.session.background_work import Background
from app.views.chat.notice_bar import NoticeBar
from app.views.models import endpoint_card, endpoint_form
from app.views.models.endpoint_form import EndpointForm
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.requests import Endpoint
from mlx_engine.contract.secrets import is_reference
from mlx_engine.remote import server as remote_server
from mlx_engine.remote.saved_endpoints import SavedEndpoint, read_endpoints, write_endpoints
from tests.app.conftest import Running, Start
from tests.app.views.models.picker_page import look_at, opened, reopened, state
from tests.keychain import keychain
from tests.mlx_engine.remote.replay import Replay, Response, recorded, replaying

MODELS = ("GET", "/v1/models")
JSON = (("content-type", "application/json"),)


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with keychain():
        yield


@pytest.fixture
def vllm() -> Iterator[Replay]:
    found = {"/v1/models": "v1_models", "/version": "version", "/metrics": "metrics_start"}
    with replaying({("GET", path): recorded(f"vllm_dflash/{name}") for path, name in found.items()}) as server:
        yield server


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that were asked and confirmed."""
    questions: list[str] = []
    for module in (endpoint_card, endpoint_form):
        monkeypatch.setattr(module, "confirm", lambda parent, title, question, action: not questions.append(question))
    return questions


def listing(*names: str) -> Response:
    return Response(200, JSON, json.dumps({"data": [{"id": name} for name in names]}).encode())


def picker_of(app: Running) -> PickerDialog:
    dialog = app.dialog(PickerDialog)
    return dialog


def form_of(app: Running) -> EndpointForm:
    return next(form for form in picker_of(app).findChildren(EndpointForm) if form.isVisible())


def adding(app: Running, url: str, name: str = "") -> EndpointForm:
    """Open the form for a new endpoint and fill it in."""
    opened(app)
    picker_of(app).server.trigger()
    form = form_of(app)
    form.url.setText(url)
    form.name.setText(name)
    return form


def verdict(app: Running, form: EndpointForm) -> str:
    """Test an endpoint and return the result."""
    form.test.click()
    app.until(form.test.isEnabled)
    return form.verdict.text()


def reply_of(app: Running, form: EndpointForm) -> dict[str, str]:
    assert verdict(app, form) == "The connection works."
    return form.facts.shown


def notices(app: Running) -> str:
    return "\n".join(app.notices)


def test_add_test_use_edit_and_delete(
    begin: Start, vllm: Replay, asked: list[str], qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole path by keyboard."""
    announced: list[str] = []
    monkeypatch.setattr(endpoint_form, "announce", lambda source, text: announced.append(text))
    app = begin(data=tmp_path)
    opened(app)
    dialog = picker_of(app)
    qtbot.keyClick(dialog.add, Qt.Key.Key_Space)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    qtbot.keyClick(menu, Qt.Key.Key_Up)
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    form = form_of(app)
    assert form.focusWidget() is form.url
    qtbot.keyClicks(form.url, vllm.url)
    qtbot.keyClicks(form.key, "sk-123")
    qtbot.keyClick(form.test, Qt.Key.Key_Space)
    app.until(form.test.isEnabled)
    assert form.facts.shown == {
        "Server": "vLLM 0.32.0",
        "Model": "demo",
        "Context": "2,048 tokens",
        "Speculative decoding": "Yes",
        "Not available": "Turning off DFlash (add an address for plain replies)",
        "Encrypted": "Not needed on this computer",
    }
    assert announced[0] == "Connecting…" and announced[1].startswith("The connection works. Server: vLLM 0.32.0. Model: demo.")
    assert vllm.seen[0][2]["authorization"] == "Bearer sk-123"
    qtbot.keyClick(form.url, Qt.Key.Key_Return)
    host = vllm.url.removeprefix("http://")
    assert state(app) == "ready" and dialog.endpoint.title.text() == host and not asked
    assert dialog.endpoint.isVisible() and not dialog.card.isVisible()
    app.until(lambda: is_reference(app.services.picker.endpoints.saved[0].endpoint.key))
    assert "sk-123" not in (tmp_path / "connections.json").read_text()
    dialog.list.setFocus()
    qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
    qtbot.keyClick(dialog.endpoint.main, Qt.Key.Key_Return)
    dialog = reopened(app)
    assert dialog.endpoint.facts.shown["Server"] == "vLLM 0.32.0" and dialog.endpoint.main.text() == "In use"
    assert vllm.seen[-1][2]["authorization"] == "Bearer sk-123"
    dialog.endpoint.edit.click()
    form = form_of(app)
    assert form.key.text() == "••••••••" and form.key.echoMode() == QLineEdit.EchoMode.Password
    form.name.setText("Lab")
    seen = len(vllm.seen)
    form.save.click()
    app.until(lambda: len(vllm.seen) > seen and state(app) == "loaded")
    assert dialog.endpoint.title.text() == "Lab", "a connection in use connects again after a change"
    assert vllm.seen[-1][2]["authorization"] == "Bearer sk-123"
    dialog.endpoint.delete.click()
    assert asked == ["“Lab” will be deleted along with its key."]
    assert not app.services.picker.endpoints.saved and dialog.card.isVisible() and not dialog.endpoint.isVisible()
    app.until(lambda: read_endpoints(tmp_path / "connections.json") == ())


def test_connections_are_listed_found_and_read_aloud(begin: Start) -> None:
    app = begin()
    put = app.services.picker.endpoints.put
    put(SavedEndpoint("Lab", Endpoint("https://lab.example", model="qwen3-32b")))
    put(SavedEndpoint("Home", Endpoint("http://192.168.1.20:8000")))
    opened(app)
    app.until(lambda: len(app.services.picker.rows.matching) > 2)
    assert [one.name for one in app.services.picker.rows.matching[:2]] == ["Lab", "Home"], "before the pairs"
    model = picker_of(app).list.model()
    assert model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole) == "Lab, lab.example, qwen3-32b"
    app.services.picker.rows.narrow("192.168", "all")
    assert [one.name for one in app.services.picker.rows.matching] == ["Home"]
    assert picker_of(app).endpoint.chip.text() == "Not encrypted"
    app.services.picker.rows.narrow("qwen3-32b lab", "all")
    assert [one.name for one in app.services.picker.rows.matching] == ["Lab"]
    assert picker_of(app).endpoint.chip.text() == "Encrypted"
    app.services.picker.rows.narrow("", "on disk")
    assert not any(one.endpoint for one in app.services.picker.rows.matching)


BAD_ADDRESSES = (
    ("", "Enter an address."),
    ("192.168.1.20 8000", "isn't a valid address"),
    ("192.168.1.20:port", "isn't a valid address"),
    ("ftp://host", "isn't a valid address"),
    ("http://", "isn't a valid address"),
    ("http://host:99999999", "isn't a valid address"),
    ("http://host/v1?key=1", "isn't a valid address"),
    ("http://me:secret@host", "contains a password"),
    ("ftp://me:secret@host", "contains a password"),
    ("http://ho\nst", "isn't a valid address"),
    ("http://ho\u202est", "isn't a valid address"),
    ("http://" + "a" * 1900, "isn't a valid address"),
    ("http://[::1", "isn't a valid address"),
    ("javascript:alert(1)", "isn't a valid address"),
    ("http://8.8.8.8", "isn't encrypted"),
    ("http://[::ffff:8.8.8.8]", "isn't encrypted"),
)


def test_bad_addresses_are_refused_in_the_form(begin: Start, asked: list[str]) -> None:
    app = begin(loaded=False)
    opened(app)
    for url, problem in BAD_ADDRESSES:
        form = adding(app, url)
        assert form.verdict.text() == ""
        form.save.click()
        assert problem in form.verdict.text() and form.isVisible() and not asked, url
        assert "secret" not in form.verdict.text() and "\u202e" not in form.verdict.text()
        form.test.click()
        assert problem in form.verdict.text() and form.test.isEnabled(), url
        form.close()


def test_a_host_in_other_letters_is_shown_as_it_is_looked_up(begin: Start) -> None:
    app = begin(loaded=False)
    form = adding(app, "https://exаmple.com")  # with a Cyrillic а
    form.save.click()
    (saved,) = app.services.picker.endpoints.saved
    assert saved.endpoint.host == "xn--exmple-4nf.com" == saved.name


BAD_FIELDS = (
    ("a\u202eb", "", "", "control characters"),
    ("", "sk-\n1", "", "doesn't allow"),
    ("", "sk-1\n", "", ""),
    ("", "sk-é", "", "doesn't allow"),
    ("", "", "X-A: é", "doesn't allow"),
    ("", "", "X A: b", "doesn't allow"),
    ("", "", "no colon", "needs a name"),
    ("Taken", "", "", "Another connection has this name. Enter a different one."),
)


def test_bad_names_keys_and_headers(begin: Start) -> None:
    app = begin(loaded=False)
    app.services.picker.endpoints.put(SavedEndpoint("Taken", Endpoint("http://localhost")))
    for name, key, headers, problem in BAD_FIELDS:
        form = adding(app, "http://localhost", name)
        assert form.verdict.text() == ""
        form.key.setText(key)
        form.headers.setPlainText(headers)
        form.save.click()
        assert problem in form.verdict.text() and form.isVisible() == bool(problem), (name, key, headers)
        form.close()


def test_names_for_several_models_of_a_server(begin: Start) -> None:
    app = begin(loaded=False)
    for model in ("a", "b", "c"):
        form = adding(app, "https://lab.example")
        form.model.setEditText(model)
        form.save.click()
    assert [saved.name for saved in app.services.picker.endpoints.saved] == ["lab.example", "lab.example 2", "lab.example 3"]


def test_unencrypted_connections_are_confirmed(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin(loaded=False)
    answers, asked = [False, True], []
    monkeypatch.setattr(endpoint_form, "confirm", lambda *texts: (asked.append(texts[2]), answers.pop(0))[1])
    form = adding(app, "http://192.168.1.20:8000", "Home")
    form.save.click()
    assert asked == ["Messages to “192.168.1.20” won't be encrypted. Others on the network can read them."]
    assert form.isVisible() and not app.services.picker.endpoints.saved
    form.save.click()
    assert app.services.picker.endpoints.saved and not answers
    picker_of(app).endpoint.edit.click()
    form = form_of(app)
    form.model.setEditText("other")
    form.save.click()
    assert app.services.picker.endpoints.saved[0].endpoint.model == "other", "asked once per host"


def test_ten_thousand_models(begin: Start, vllm: Replay) -> None:
    app = begin(loaded=False)
    bad = ["x" * 100_000, "a\nb", "a\u202eb"]
    vllm.responses[MODELS] = listing(*(f"model-{number}" for number in range(10_000)), *bad)
    form = adding(app, vllm.url)
    assert reply_of(app, form)["Model"] == "model-0 (1 of 10,003)"
    assert form.model.count() == 10_000 and form.model.currentText() == ""
    form.model.setEditText("model-9999")
    assert reply_of(app, form)["Model"] == "model-9999 (1 of 10,003)"
    form.model.setEditText("model-10000")
    assert "doesn't have “model-10000”" in verdict(app, form) and len(form.verdict.text()) < 1000
    form.close()


def test_a_server_with_hostile_texts(start: Start, vllm: Replay) -> None:
    app = start(loaded=False)
    vllm.responses[MODELS] = listing("<b>a</b>\n\u202e" + 100_000 * "x")
    form = adding(app, vllm.url, "z" * 300)
    model = reply_of(app, form)["Model"]
    assert "\n" not in model and "\u202e" not in model and len(model) < 500
    form.save.click()
    width = app.window.width()
    app.services.picker.use()
    reopened(app)
    name = app.window.top_bar.name.text()
    assert "\n" not in name and "\u202e" not in name and len(name) < 500
    assert app.window.width() == width and picker_of(app).minimumSizeHint().width() < 1000


UNUSABLE = (
    (recorded("vllm_dflash/v1_models_nokey"), "rejected the key"),
    (Response(200, (), b"<html>Welcome</html>"), "doesn't respond like an OpenAI-compatible server"),
    (Response(404, (), b"Not Found"), "doesn't respond like an OpenAI-compatible server"),
    (Response(302, (("location", "http://elsewhere.example"),), b""), "Enter that address."),
    (listing(), "lists no models"),
    (Response(200, JSON, b"[" * 100_000), "doesn't respond like an OpenAI-compatible server"),
    (Response(200, JSON, b"x" * 10_100_000), "doesn't respond like an OpenAI-compatible server"),
    (Response(200, JSON, b'{"data": [', cut=True), "doesn't respond like an OpenAI-compatible server"),
)


def test_servers_that_cannot_be_used(begin: Start, vllm: Replay) -> None:
    app = begin(loaded=False)
    for response, problem in UNUSABLE:
        vllm.responses[MODELS] = response
        form = adding(app, vllm.url)
        assert problem in verdict(app, form) and not form.facts.isVisible(), problem
        form.close()


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that accepts endpoints and never answers, with a short time limit."""
    monkeypatch.setattr(remote_server, "discover", partial(remote_server.discover, seconds=0.5))
    monkeypatch.setattr("mlx_engine.remote.trial.discover", remote_server.discover)
    monkeypatch.setattr("mlx_engine.remote.remote_engine.discover", remote_server.discover)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_never_answers(begin: Start, silent: str) -> None:
    app = begin(loaded=False)
    form = adding(app, silent)
    form.test.click()
    assert form.verdict.text() == "Connecting…" and not form.test.isEnabled()
    app.until(form.test.isEnabled)
    assert "didn't respond within 0.5 seconds" in form.verdict.text()
    form.close()


def test_a_result_that_is_out_of_date_is_not_shown(begin: Start, silent: str, qtbot: QtBot) -> None:
    app = begin(loaded=False)
    results: list[object] = []
    form = adding(app, silent)
    endpoints = app.services.picker.endpoints
    real = endpoints.test

    def follow(saved: SavedEndpoint, then: Callable) -> None:
        real(saved, lambda found: (then(found), results.append(found)))

    endpoints.test = follow  # type: ignore[method-assign]
    form.test.click()
    qtbot.keyClicks(form.url, "9")
    assert form.test.isEnabled() and not form.verdict.text()
    app.until(lambda: bool(results))
    assert not form.verdict.text()
    form.url.setText(silent)
    form.test.click()
    form.close()
    app.until(lambda: len(results) == 2)


def test_the_address_without_speculation_is_tested_too(begin: Start, vllm: Replay) -> None:
    app = begin(loaded=False)
    form = adding(app, vllm.url)
    form.plain_url.setText(vllm.url)
    assert "uses speculative decoding too" in verdict(app, form)
    with replaying({MODELS: recorded("vllm_dflash/v1_models")}) as plain:
        form.plain_url.setText(plain.url)
        assert "Not available" not in reply_of(app, form)
    assert "Nothing listens at" in verdict(app, form)
    form.close()


def test_what_a_plain_server_cannot_do(begin: Start) -> None:
    app = begin(loaded=False)
    with replaying({MODELS: recorded("mlx_lm/v1_models")}) as server:
        form = adding(app, server.url)
        form.model.setEditText("demo")
        server.responses[MODELS] = listing("demo", "other")
        facts = reply_of(app, form)
    assert facts["Server"] == "OpenAI-compatible" and facts["Speculative decoding"] == "Not reported"
    assert facts["Context"] == "Unknown"
    assert facts["Not available"] == (
        "Speculative decoding (the server doesn't report it); Continuing a stopped reply (not in the server's API); "
        "Counting tokens before a reply (not in the server's API)"
    )
    form.close()


def test_the_connection_in_use_is_open_at_the_next_start(begin: Start, vllm: Replay, tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.services.picker.put_endpoint(SavedEndpoint("Lab", Endpoint(vllm.url, key="sk-1")))
    opened(app)
    picker_of(app).endpoint.main.click()
    app.until(lambda: state(app) == "loaded")
    app.quit()
    again = begin(data=tmp_path)
    connected = again.loader.connected_to
    assert connected is not None and connected.name == "Lab"
    again.activity.use()
    again.until(lambda: again.loader.has_demo)
    again.quit()
    assert begin(data=tmp_path).loader.has_demo


def test_a_server_that_is_gone_at_the_next_start(begin: Start, vllm: Replay, tmp_path: Path) -> None:
    write_endpoints(tmp_path / "connections.json", [SavedEndpoint("Lab", Endpoint("http://127.0.0.1:9"))])
    (tmp_path / "settings.ini").write_text("[General]\nconnection=Lab\n")
    app = begin(data=tmp_path)
    bar = NoticeBar(app.theme, app.services.notices)
    bar.connect_again.connect(app.services.picker.connect_to)
    assert notices(app) == "Nothing listens at “127.0.0.1:9”. Start the server, or check the address and port."
    assert bar.choose.isVisible() and bar.again.isVisible() and app.loader.pair is None
    app.services.picker.put_endpoint(SavedEndpoint("Lab", Endpoint(vllm.url)), "Lab")
    bar.again.click()
    app.until(lambda: app.loader.connected_to is not None)
    assert not notices(app)


def test_a_server_that_never_answers_at_the_next_start(start: Start, silent: str, tmp_path: Path) -> None:
    write_endpoints(tmp_path / "connections.json", [SavedEndpoint("Lab", Endpoint(silent))])
    (tmp_path / "settings.ini").write_text("[General]\nconnection=Lab\n")
    app = start(data=tmp_path)
    assert "didn't respond within 0.5 seconds" in notices(app) and app.window.foot.notices.again.isVisible()
    app.window.foot.notices.again.click()
    app.until(lambda: app.loader.progress is not None)
    host = silent.removeprefix("http://")
    assert app.window.foot.goes_to.text() == f"Messages go to a server on this computer ({host})", (
        "messages wait for the connection"
    )
    assert app.window.transcript.welcome.private.isHidden()
    app.window.close()  # while it connects
    assert app.services.client.wait(120)


def test_a_connection_that_is_gone_opens_the_last_pair(begin: Start, tmp_path: Path) -> None:
    (tmp_path / "settings.ini").write_text("[General]\nconnection=Lab\n")
    assert begin(data=tmp_path).loader.has_demo


@pytest.mark.parametrize("content", ["{ not JSON", '{"version": 99}'])
def test_a_file_that_cannot_be_used_is_reported_once_and_kept(begin: Start, content: str, tmp_path: Path) -> None:
    (tmp_path / "connections.json").write_text(content)
    app = begin(data=tmp_path)
    assert len(app.notices) == 1 and ("was damaged" in notices(app) or "newer version" in notices(app))
    opened(app)
    app.services.picker.endpoints.put(SavedEndpoint("Lab", Endpoint("http://localhost")))
    assert [saved.name for saved in app.services.picker.endpoints.saved] == ["Lab"]
    app.services.picker.close()
    assert content in [file.read_text() for file in tmp_path.glob("connections*.json")]


def test_without_a_keychain_the_window_says_how_long_keys_are_kept(begin: Start, vllm: Replay, tmp_path: Path) -> None:
    keyring.set_keyring(NoKeychain())
    app = begin(data=tmp_path)
    form = adding(app, vllm.url, "Lab")
    form.key.setText("sk-1")
    form.save.click()
    app.until(lambda: "until you quit" in picker_of(app).message.text())
    look_at(app, "connection:Lab")
    picker_of(app).endpoint.main.click()
    app.until(lambda: state(app) == "loaded")
    assert vllm.seen[-1][2]["authorization"] == "Bearer sk-1"


def test_a_missing_key_is_reported(begin: Start, vllm: Replay, tmp_path: Path) -> None:
    write_endpoints(tmp_path / "connections.json", [SavedEndpoint("Lab", Endpoint(vllm.url, key="sk-1"))])
    with keychain():
        app = begin(data=tmp_path)
        app.services.picker.connect_to("Lab")
        app.until(lambda: "no key for “Lab”" in notices(app))
    assert not vllm.seen and app.loader.has_demo


def test_closing_waits_for_what_is_being_saved_and_not_for_the_rest(qapp: QApplication) -> None:
    background, forever, slow = Background(qapp), Event(), Event()  # with a parent, the thread that ends last can't delete it
    saved: list[str] = []
    background.run(forever.wait)
    background.run(lambda: (slow.wait(), saved.append("all")), saves=True)
    Timer(1.5, slow.set).start()  # longer than closing waits for other work
    background.close()
    assert saved == ["all"]
    forever.set()
