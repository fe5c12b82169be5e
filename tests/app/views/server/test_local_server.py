"""The local server in the window: the switch, the pair that is served, and other programs next to the chat."""

import socket
import threading
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from app.session.preferences import Preferences
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.api_server import PORT
from mlx_engine.contract.requests import Endpoint, LoadPair
from mlx_engine.models.library.installed import InstalledPair
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer
from tests.app.tools_in_chat import PRODUCT, ask_for_call, calling, decide, with_tools
from tests.app.views.models.test_endpoint_form import form_for
from tests.app.views.server.conftest import HI, Asking, client, page_of, post, turn_on, words


def test_server_is_off_at_first_and_answers_from_the_windows_pair_when_on(start: Start) -> None:
    engine = ScriptedEngine([answer("Hello from the pair.")])
    app = start(engine)
    server = app.services.server
    assert not server.on and app.window.top_bar.server.isHidden()
    app.services.preferences.server_port = 0
    page = page_of(app)
    page.switch.click()
    assert page.starting.isVisible()
    app.until(lambda: bool(server.url))
    assert page.starting.isHidden() and app.window.top_bar.server.isVisible()
    answered = post(server).json()
    assert answered["choices"][0]["message"]["content"] == "Hello from the pair." and answered["model"] == "demo-pair"
    app.ask("From the chat")
    assert len(engine.requests) == 2 and len(engine.threads) == 1, "one engine, with its weights, for both"
    url = server.url
    page.close()
    assert app.window.top_bar.server.accessibleName() == "The local server is on"
    app.window.top_bar.server.click()
    assert page_of(app).isVisible()
    page_of(app).switch.click()
    app.until(lambda: not server.url)
    assert app.window.top_bar.server.isHidden()
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url, trust_env=False)


def test_the_app_refuses_a_connection_to_its_own_server(begin: Start) -> None:
    app = begin()
    server, saved = turn_on(app), app.services.picker.endpoints
    form, reason = form_for(app), "This is Slipstream's own server, which uses the models loaded here. Enter another address."
    form.url.setText(server.url.replace("127.0.0.1", "localhost") + "/v1")
    for press in (form.test, form.save):
        press.click()
        assert form.verdict.text() == reason and form.test.isEnabled() and saved.saved == ()
    saved.put(SavedEndpoint("Earlier", Endpoint(server.url)))  # from a time when another server used the port
    app.services.picker.connect_to("Earlier")
    assert not app.loader.running and app.notices == [reason]
    message = app.dialog(PickerDialog).message
    assert message.isVisible() and message.text() == reason
    app.services.server.set_on(False)
    app.until(lambda: not server.url)
    assert saved.refusal(saved.saved[0].endpoint) == ""


def test_server_starts_again_with_the_app_if_the_user_wants(begin: Start) -> None:
    first = begin()
    turn_on(first)
    first.quit()
    second = begin()
    assert not second.services.server.on
    page = page_of(second)
    page.switches[Preferences.serve_at_launch].click()
    second.quit()
    third = begin()
    third.until(lambda: bool(third.services.server.url))
    assert post(third.services.server).status_code == 200


def test_a_port_in_use_is_reported_once_with_advice(begin: Start) -> None:
    app = begin()
    page = page_of(app)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page.port.setValue(port)
        page.switch.click()
        app.until(lambda: not app.services.server.on)
    message = f"Port {port} is in use. Choose another port."
    assert page.error.isVisible() and page.error.label.text() == message and not page.switch.isChecked()
    assert app.notices == [f"The local server is off. {message}"]
    app.services.preferences.server_port = 0
    assert not page.error.isVisible() and app.notices == []
    page.switch.click()
    app.until(lambda: bool(app.services.server.url))


def test_server_changes_its_port_at_once_and_after_a_restart(begin: Start) -> None:
    app = begin()
    server = turn_on(app)
    before = server.url
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    page_of(app).port.setValue(port)
    app.until(lambda: server.url not in ("", before))
    assert server.url.endswith(f":{port}") and post(server).status_code == 200
    app.quit()
    assert begin().services.preferences.server_port == port


def test_an_invalid_stored_port_is_the_default_one(begin: Start) -> None:
    preferences = begin(loaded=False).services.preferences
    for stored in ("", "-1", "80000", "http", "9" * 500):
        preferences.file.setValue("server_port", stored)
        assert preferences.server_port == PORT


def test_a_bug_in_the_server_is_reported_and_turns_it_off(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = begin()
    monkeypatch.setattr("mlx_engine.api_server.api_key.stored_key", lambda: 1 / 0)
    app.services.server.set_on(True)
    app.until(lambda: bool(app.services.server.error))
    assert not app.services.server.on and "slipstream.log" in app.services.server.error


def test_without_a_pair_clients_are_told_so_until_one_is_loaded(begin: Start) -> None:
    engine = ScriptedEngine()
    engine.load_gate = threading.Event()
    app = begin(engine, loaded=False)
    server = turn_on(app)
    assert post(server).json()["error"]["code"] == "model_not_loaded"
    app.start()
    assert post(server).status_code == 503
    engine.load_gate.set()
    app.until(lambda: not app.loader.running)
    assert post(server).status_code == 200


def test_server_answers_from_the_pair_that_the_user_switches_to(begin: Start) -> None:
    forever = threading.Event()
    engine = ScriptedEngine([words(forever)])  # type: ignore[list-item]
    app = begin(engine)
    server = turn_on(app)
    asking = Asking(server)
    app.until(lambda: bool(engine.requests))
    engine.load_gate = threading.Event()
    engine.pair = replace(PAIR, name="Other pair")
    app.activity.use(LoadPair())
    asking.thread.join(120)
    assert asking.response is not None and asking.response.status_code == 503, "the reply doesn't delay loading"
    assert post(server).status_code == 503
    engine.load_gate.set()
    app.until(lambda: not app.loader.running)
    assert post(server).json()["model"] == "other-pair"


def test_a_program_loads_another_pair_into_the_window_if_the_user_allows_it(
    begin: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "mlx_engine.api_server.served_models.installed_pairs", lambda: (InstalledPair("Other pair", tmp_path, None),)
    )
    engine = ScriptedEngine()
    app = begin(engine)
    server = turn_on(app)
    assert post(server, model="other-pair").status_code == 404
    page_of(app).switches[Preferences.load_on_request].click()
    engine.pair = replace(PAIR, name="Other pair")
    asking = Asking(server, model="other-pair")
    app.until(lambda: not asking.thread.is_alive())
    assert asking.response is not None and asking.response.json()["model"] == "other-pair"
    assert app.loader.loaded_from == LoadPair(tmp_path, None)
    assert app.loader.pair is not None and app.loader.pair.name == "Other pair"
    asking = Asking(server, model="missing")
    app.until(lambda: not asking.thread.is_alive())
    assert asking.response is not None and asking.response.status_code == 404


def test_a_program_cannot_load_a_pair_while_the_window_loads_one(
    begin: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "mlx_engine.api_server.served_models.installed_pairs", lambda: (InstalledPair("Other pair", tmp_path, None),)
    )
    engine = ScriptedEngine()
    app = begin(engine)
    app.services.preferences.load_on_request = True
    server = turn_on(app)
    engine.load_gate = threading.Event()
    app.activity.use(LoadPair())
    asking = Asking(server, model="other-pair")
    app.until(lambda: not asking.thread.is_alive())
    assert asking.response is not None and asking.response.status_code == 503
    engine.load_gate.set()
    app.until(lambda: not app.loader.running)


def test_a_program_cannot_replace_the_pair_in_the_middle_of_a_reply(
    begin: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While a call waited for the user, no request ran, so another pair was loaded and got the reply's next step."""
    monkeypatch.setattr(
        "mlx_engine.api_server.served_models.installed_pairs", lambda: (InstalledPair("Other pair", tmp_path, None),)
    )
    app, _ = with_tools(begin, [calling(PRODUCT), answer("It is 1,888,264.")], calculator="1888264")
    app.services.preferences.load_on_request = True
    server, pair = turn_on(app), app.loader.pair
    ask_for_call(app)
    asking = Asking(server, model="other-pair")
    app.until(lambda: not asking.thread.is_alive())
    assert asking.response is not None and asking.response.status_code == 503
    assert "The Slipstream window is using the loaded pair." in asking.response.json()["error"]["message"]
    decide(app, "once")
    app.idle()
    assert app.loader.pair is pair and app.reply.answer.endswith("It is 1,888,264.")


def test_the_model_id_does_not_depend_on_the_windows_language(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.pair_session.tr", lambda text, **values: "Demo-Paar")
    app = begin()
    assert app.loader.pair is not None and app.loader.pair.name == "Demo-Paar"
    assert post(turn_on(app)).json()["model"] == "demo-pair"


def test_a_chat_reply_starts_while_programs_get_theirs(begin: Start) -> None:
    forever = threading.Event()
    engine = ScriptedEngine([words(forever), words(forever)])  # type: ignore[list-item]
    app = begin(engine)
    server = turn_on(app)
    asking = [Asking(server), Asking(server)]
    app.until(lambda: len(engine.requests) == 2)
    app.ask("And I?")
    assert engine.requests[-1].foreground and not any(request.foreground for request in engine.requests[:2])
    assert app.session.chat.turns[-1].reply.answer == "Fine."
    assert all(one.thread.is_alive() for one in asking)
    forever.set()
    for one in asking:
        one.thread.join(120)
        assert one.response is not None and one.response.status_code == 200


def test_a_comparison_says_that_it_waits_for_the_programs_replies(begin: Start) -> None:
    forever = threading.Event()
    engine = ScriptedEngine([answer("First."), words(forever)])  # type: ignore[list-item]
    app = begin(engine)
    app.ask("To compare")
    server = turn_on(app)
    asking = Asking(server)
    app.until(lambda: server.programs == 1)
    app.services.comparer.compare()
    notice = "The comparison will start when replies to other programs finish."
    assert app.notices == [notice]
    forever.set()
    app.until(lambda: not app.activity.busy)
    asking.thread.join(120)
    assert asking.response is not None and asking.response.status_code == 200 and notice not in app.notices


def test_turning_it_off_ends_the_requests_in_progress(begin: Start) -> None:
    app = begin(ScriptedEngine([words(threading.Event())]))  # type: ignore[list-item]
    server = turn_on(app)
    asking = Asking(server)
    app.until(lambda: server.programs == 1)
    page_of(app).switch.click()
    app.until(lambda: not server.url and not asking.thread.is_alive())


def test_quitting_asks_while_programs_wait_for_replies(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    engine = ScriptedEngine([words(forever), words(forever)])  # type: ignore[list-item]
    app = start(engine)
    app.window.quits_when_closed = True
    server = turn_on(app)
    questions: list[str] = []

    def ask(*texts: str) -> bool:
        questions.append(texts[2])
        return len(questions) > 1

    monkeypatch.setattr("app.window.main_window.confirm", ask)
    asking = [Asking(server, "claude-cli"), Asking(server, "opencode")]
    app.until(lambda: server.programs == 2)
    assert app.window.top_bar.server.accessibleName() == "2 active requests"
    assert not app.window.quit()
    with client(server) as one:
        assert one.get("/v1/models").status_code == 200
    assert questions == ["2 programs are using the server. If you quit now, all replies will stop."]
    assert app.window.quit() and len(questions) == 2
    app.until(lambda: not any(one_asking.thread.is_alive() for one_asking in asking))


def test_quitting_does_not_ask_while_the_server_is_idle(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    app.window.quits_when_closed = True
    post(turn_on(app))
    monkeypatch.setattr("app.window.main_window.confirm", lambda *_: pytest.fail("asked"))
    assert app.window.quit()


def test_the_mac_stays_awake_while_programs_wait_for_replies(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()
    app = start(ScriptedEngine([words(forever)]))  # type: ignore[list-item]
    held: list[tuple[str, bool]] = []
    monkeypatch.setattr(app.slipstream._activity, "set_held", lambda name, on, reason="": held.append((name, on)))
    server = turn_on(app)
    asking = Asking(server)
    app.until(lambda: server.programs == 1)
    forever.set()
    asking.thread.join(120)
    app.until(lambda: server.programs == 0)
    assert [each for each in held if each[0] == "server"] == [("server", True), ("server", False)]


def test_a_request_is_logged_without_its_content(begin: Start) -> None:
    app = begin()
    server = turn_on(app)
    page = page_of(app)
    post(server)
    app.until(lambda: bool(server.lines))
    assert "POST /v1/chat/completions 200" in page.log.toPlainText()
    secret = HI["messages"][0]["content"]
    assert not any(secret in line for line in server.lines)
