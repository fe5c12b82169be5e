"""Each part that uses the network, with Offline on: nothing is sent, and the message says what to do."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants, set_client_factory

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.models.downloads.hub import Hub, NoAnswer
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from mlx_engine.network import connection_log, offline
from mlx_engine.network.hub_session import hub_client
from mlx_engine.remote.endpoint import checked
from mlx_engine.remote.trial import try_endpoint
from tests.hub.repos import target_files
from tests.hub.server import ServedHub
from tests.keychain import keychain
from tests.mlx_engine.api_server.serving import serving
from tests.mlx_engine.mcp.running_servers import RunningServers
from tests.mlx_engine.mcp.web_servers import WebTools
from tests.mlx_engine.mcp.web_servers import serving as serving_tools
from tests.mlx_engine.models.downloads import download, expect_whole, fetch
from tests.mlx_engine.scripted_engine import ScriptedEngine

TARGET = Pair("owner/target")
HOST = "http://models.example:8000"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServedHub]:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with keychain(), ServedHub() as served:
        served.repo("owner/target", target_files(2_000_000))
        set_client_factory(hub_client)
        yield served
        set_client_factory(hub_client)


@pytest.mark.usefixtures("elsewhere")
def test_a_download_ends_with_a_message_and_is_resumed_later(hub: ServedHub, tmp_path: Path) -> None:
    cache, made = HubCache(tmp_path / "cache"), download(hub, HubCache(tmp_path / "cache"), TARGET)
    hub.allow(1_000_000)  # then the hub sends nothing: only the switch can end the transfer
    with pytest.raises(UserError, match=r"Offline is on.*Settings ▸ Privacy"):
        made.run(threading.Event(), lambda progress: progress.done > 500_000 and offline.set_offline(True))
    hub.allow(None)
    asked = len(hub.asked) + hub.content_requests
    with pytest.raises(UserError, match="Offline is on"):
        fetch(hub, cache, TARGET)
    assert len(hub.asked) + hub.content_requests == asked
    offline.set_offline(False)
    assert fetch(hub, cache, TARGET).downloaded < 2_000_000
    expect_whole(hub, cache, TARGET)
    assert {record.feature for record in connection_log.read()} == {"download"}


@pytest.mark.usefixtures("elsewhere")
def test_searches_are_refused(hub: ServedHub) -> None:
    assert [found.name for found in Hub(hub.url).search("target")] == ["owner/target"]
    asked = len(hub.asked)
    offline.set_offline(True)
    with pytest.raises(NoAnswer) as caught:
        Hub(hub.url).search("target")
    assert caught.value.text.code == "offline" and len(hub.asked) == asked
    record = connection_log.read()[0]
    assert record.feature == "search" and record.outcome in ("cut", "refused")  # the first connection is used again, or a new one


@pytest.mark.usefixtures("elsewhere")
def test_published_sets_are_refused(hub: ServedHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    offline.set_offline(True)
    assert main(["bench", "--set", "gsm8k"], ScriptedEngine) == 1
    assert "Offline is on" in capsys.readouterr().err and hub.asked == []


@pytest.mark.parametrize("url", [HOST, "https://models.example", "http://192.168.1.20:8000"])
def test_endpoints_are_refused_but_can_be_saved(url: str) -> None:
    offline.set_offline(True)
    with pytest.raises(UserError) as caught:
        try_endpoint(Endpoint(url))
    assert caught.value.text.code == "offline"
    assert checked(Endpoint(url)).url


@pytest.mark.usefixtures("elsewhere")
def test_a_tool_server_is_disconnected_with_a_message_and_not_tried_again() -> None:
    web = WebTools()
    with serving_tools(web.listener, web.app):
        servers = RunningServers(ServerConfig("web", url=web.url, timeout_s=60))
        try:
            servers.ready("web")
            offline.set_offline(True)
            error = servers.wait("web", "failed").error
            assert error is not None and error.code == "offline"
            requests = len(web.headers)
            servers.start(["web"])
            servers.wait("web", "failed")
            assert len(web.headers) == requests
        finally:
            servers.close()
    assert {record.feature for record in connection_log.read()} == {"tool"}


def test_the_local_server_serves_this_computer_only(monkeypatch: pytest.MonkeyPatch) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(ScriptedEngine) as server:
        offline.set_offline(True)
        answer = server.raw(request)
        assert answer.startswith(b"HTTP/1.1 200")
        (record,) = connection_log.read()
        assert (record.feature, record.received, record.sent) == ("server", len(request), len(answer))
        monkeypatch.setattr(offline, "is_this_computer", lambda host: False)
        with pytest.raises(OSError):  # reset, or closed without an answer
            if not server.raw(request):
                raise OSError
    assert connection_log.read()[0].outcome == "refused"


def test_the_option_of_a_command_turns_it_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(offline.VARIABLE, "")  # restored afterwards
    assert main(["generate", "Hi", "--remote", "https://models.example", "--offline"]) == 1
    assert "Leave out --offline" in capsys.readouterr().err
    assert [record.outcome for record in connection_log.read()] == ["refused"]
