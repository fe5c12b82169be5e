"""The app with its local server, and a client of it."""

import logging
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from app.session.local_server import LocalServer
from app.views.server.server_dialog import ServerDialog
from mlx_engine.contract.events import Event
from tests.app.conftest import Running
from tests.app.scripted_engine import commit, done
from tests.keychain import keychain

CHAT = "/v1/chat/completions"
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "A secret question"}]}


@pytest.fixture(autouse=True)
def key_store(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A keychain in memory, and the app's level of the log."""
    caplog.set_level(logging.INFO, "mlx_engine.api_server")
    with keychain():
        yield


def page_of(app: Running) -> ServerDialog:
    app.run("local_server")
    page = app.window.dialogs.find(ServerDialog)
    assert page is not None
    return page


def turn_on(app: Running) -> LocalServer:
    """Start the server, on a free port."""
    app.services.preferences.server_port = 0
    app.services.server.set_on(True)
    app.until(lambda: bool(app.services.server.url))
    return app.services.server


def client(server: LocalServer, name: str = "agent") -> httpx2.Client:
    headers = {"authorization": f"Bearer {server.key}", "user-agent": f"{name}/1.0"}
    return httpx2.Client(base_url=server.url, headers=headers, timeout=120, trust_env=False)


def post(server: LocalServer, name: str = "agent", **body: Any) -> httpx2.Response:
    with client(server, name) as one:
        return one.post(CHAT, json={**HI, **body})


def words(until: threading.Event) -> Iterator[Event]:
    """The script of a reply that grows until an event is set."""
    while not until.wait(0.002):
        yield commit("word ")
    yield done()


class Asking:
    """A program that waits for a reply on a thread of its own."""

    def __init__(self, server: LocalServer, name: str = "agent", **body: Any) -> None:
        self.response: httpx2.Response | None = None
        self.thread = threading.Thread(target=self._ask, args=(server, name), kwargs=body)
        self.thread.start()

    def _ask(self, server: LocalServer, name: str, **body: Any) -> None:
        self.response = post(server, name, **body)
