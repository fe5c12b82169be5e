"""Servers of tools over HTTP, and sign-in."""

import asyncio.selector_events
import errno
import resource
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import keyring
import pytest

from mlx_engine.contract import secrets
from mlx_engine.mcp import connection
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.transports import is_secure
from mlx_engine.network import local_network
from tests.keychain import keychain
from tests.mlx_engine.mcp.running_servers import RunningServers, wait_until
from tests.mlx_engine.mcp.web_servers import SignInServer, WebTools, serving


@pytest.fixture(scope="module")
def web() -> Iterator[WebTools]:
    web = WebTools()
    with serving(web.listener, web.app):
        yield web


@pytest.fixture(scope="module")
def servers(web: WebTools) -> Iterator[RunningServers]:
    headers = (("X-Team", "blue"), ("Authorization", "Bearer configured"))
    servers = RunningServers(ServerConfig("web", url=web.url, headers=headers, timeout_s=60))
    yield servers
    servers.close()


def code(result: ToolResult) -> str:
    assert result.error is not None and result.failed
    return result.error.code


def test_a_call_over_http_has_the_configured_headers(servers: RunningServers) -> None:
    assert servers.ask(servers.tool("echo", "web"), '{"text": "Grüße"}').text == "Grüße"
    sent = servers.ask(servers.tool("header", "web")).text
    assert '"x-team": "blue"' in sent and '"authorization": "Bearer configured"' in sent and "gzip" not in sent


def test_a_connection_that_macos_may_have_denied_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    loops, resolvers = set[threading.Thread](), set[threading.Thread]()
    resolve = socket.getaddrinfo

    async def fail(*_: object) -> None:
        loops.add(threading.current_thread())
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    def record(*arguments: Any, **options: Any) -> Any:
        resolvers.add(threading.current_thread())
        return resolve(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", record)
    monkeypatch.setattr(asyncio.selector_events.BaseSelectorEventLoop, "sock_connect", fail)
    monkeypatch.setattr(local_network, "HAS_PERMISSION", True)
    servers = RunningServers(ServerConfig("lab", url="https://192.168.1.20/mcp"))
    try:
        servers.start(["lab"])
        error = servers.wait("lab", "failed").error
        assert error is not None and error.code == "tool_local_network"
        assert resolvers and not resolvers & loops  # a slow lookup would hold up every other server
    finally:
        servers.close()


@pytest.mark.parametrize("tool", ["big", "big_event", "values", "event_values"])
def test_a_body_of_100_mb_or_millions_of_values_ends_the_connection_and_takes_little_memory(
    servers: RunningServers, tool: str
) -> None:
    found = servers.tool(tool, "web")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code(servers.ask(found)) in ("tool_message_too_large", "tool_server_gone")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000
    assert servers.ask(servers.tool("echo", "web"), '{"text": "again"}').text == "again"


def test_events_are_read_and_progress_is_passed_on(servers: RunningServers) -> None:
    shown: list[str] = []
    assert servers.ask(servers.tool("events", "web"), progress=shown.append).text == "the end"
    assert 1 <= len(shown) < 100 and shown[0] == "1"


def test_an_event_whose_text_has_many_commas_is_a_result(servers: RunningServers) -> None:
    assert servers.ask(servers.tool("event_commas", "web")).text.startswith('"a,b","a,b",')


def test_a_compressed_body_is_refused(servers: RunningServers) -> None:
    assert code(servers.ask(servers.tool("compressed", "web"))) in ("tool_answer_compressed", "tool_server_gone")
    assert servers.ask(servers.tool("echo", "web"), '{"text": "again"}').text == "again"


@pytest.mark.parametrize("tool", ["not_json", "error"])
def test_a_wrong_answer_fails_only_its_call(servers: RunningServers, tool: str) -> None:
    changes = len(servers.changes)
    assert code(servers.ask(servers.tool(tool, "web"))) == "tool_failed"
    assert servers.ask(servers.tool("echo", "web"), '{"text": "fine"}').text == "fine"
    assert len(servers.changes) == changes


def test_a_forgotten_session_begins_again(servers: RunningServers) -> None:
    assert servers.ask(servers.tool("forget", "web")).text == "forgotten"
    assert code(servers.ask(servers.tool("echo", "web"), '{"text": "lost"}')) in ("tool_failed", "tool_server_gone")
    assert servers.ask(servers.tool("echo", "web"), '{"text": "again"}').text == "again"


def test_credentials_stay_with_the_configured_host(web: WebTools) -> None:
    other = WebTools()
    web.redirect_to = other.url
    with serving(other.listener, other.app):
        servers = RunningServers(ServerConfig("web", url=f"{web.origin}/elsewhere", headers=(("Authorization", "Bearer secret"),)))
        servers.start(["web"])
        status = servers.wait("web", "failed")
        assert status.error is not None and "not followed" in status.error.message
        servers.close()
    assert other.headers == []


def test_a_server_that_is_not_there_says_so() -> None:
    gone = WebTools()
    gone.listener.close()
    servers = RunningServers(ServerConfig("web", url=gone.url))
    assert code(servers.ask(Tool("web", "echo"))) == "tool_cannot_connect"
    servers.close()


def test_only_this_computer_is_asked_without_tls() -> None:
    assert is_secure("https://example.com/mcp", "https://example.com/mcp")
    assert is_secure("http://localhost:8000/mcp", "http://127.0.0.1:1/mcp")
    assert not is_secure("http://example.com/mcp", "http://example.com/mcp")
    assert not is_secure("http://127.0.0.1:8000/token", "https://example.com/mcp")
    assert not is_secure("http://127.0.0.1.example.com/", "http://127.0.0.1.example.com/")
    assert not is_secure("file:///etc/passwd", "https://example.com/mcp")


def test_closing_does_not_wait_for_a_server_that_hangs() -> None:
    web = WebTools()
    web.never_ends = True
    with serving(web.listener, web.app):
        servers = RunningServers(ServerConfig("web", url=web.url))
        call = servers.begin(servers.tool("never", "web"))
        servers.close()
        assert code(call.result()) == "tool_canceled"
        assert servers._thread is not None and not servers._thread.is_alive()


# --- Sign-in


@pytest.fixture
def guarded() -> Iterator[tuple[WebTools, SignInServer]]:
    """A server of tools, and the server to sign in to, on different hosts."""
    web, sign_in = WebTools(), SignInServer()
    web.signed_in_at, web.tokens = f"{sign_in.origin}/", sign_in.tokens
    with keychain(), serving(web.listener, web.app), serving(sign_in.listener, sign_in.app):
        yield web, sign_in


class Browser:
    """Opens pages without holding up the caller, and remembers them."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def open(self, page: str) -> None:
        self.pages.append(page)
        threading.Thread(target=lambda: httpx2.get(page, follow_redirects=True)).start()


def test_signing_in_calling_renewing_and_signing_out(guarded: tuple[WebTools, SignInServer]) -> None:
    web, sign_in = guarded
    secrets.save("Slipstream tools sign-in", web.url, '{"tokens": 5}')  # damaged
    servers = RunningServers(ServerConfig("web", url=web.url))
    servers.start(["web"])
    assert servers.wait("web", "sign_in").error is None
    assert sign_in.requests == [], "nothing is registered before the user signs in"
    browser = Browser()
    servers.sign_in("web", browser.open)
    servers.wait("web", "ready")
    assert (
        len(browser.pages) == 1
        and browser.pages[0].startswith(f"{sign_in.origin}/authorize?")
        and "code_challenge_method=S256" in browser.pages[0]
    )
    assert servers.ask(servers.tool("echo", "web"), '{"text": "signed in"}').text == "signed in"
    servers.close()

    # The next run of the app
    servers = RunningServers(ServerConfig("web", url=web.url))
    assert servers.ask(servers.tool("echo", "web"), '{"text": "still"}').text == "still"
    assert sign_in.requests == ["/register", "/authorize", "/token"]
    servers.close()

    # The token has expired
    stored = secrets.saved("Slipstream tools sign-in", web.url)
    assert stored is not None and next(iter(sign_in.tokens)) in stored
    secrets.save("Slipstream tools sign-in", web.url, stored.replace('"expires":', '"expires":-'))
    sign_in.tokens.clear()
    servers = RunningServers(ServerConfig("web", url=web.url))
    assert servers.ask(servers.tool("echo", "web"), '{"text": "renewed"}').text == "renewed"
    assert sign_in.requests[3:] == ["/token"]
    assert not [sent for sent in web.headers if "refresh" in str(sent)]

    servers.sign_out("web")
    wait_until(lambda: keyring.get_password("Slipstream tools sign-in", web.url) is None)
    servers.start(["web"])
    servers.wait("web", "sign_in")
    servers.close()


def test_a_revoked_sign_in_asks_again_without_opening_the_browser(guarded: tuple[WebTools, SignInServer]) -> None:
    web, sign_in = guarded
    servers = RunningServers(ServerConfig("web", url=web.url))
    browser = Browser()
    servers.sign_in("web", browser.open)
    servers.wait("web", "ready")
    echo = servers.tool("echo", "web")
    sign_in.tokens.clear()
    sign_in.refresh.clear()
    assert code(servers.ask(echo, '{"text": "no"}')) == "tool_sign_in_needed"
    servers.wait("web", "sign_in")
    refused = servers.ask(echo, '{"text": "no"}')
    assert code(refused) == "tool_sign_in_needed" and "Settings" in refused.text
    assert len(browser.pages) == 1
    servers.close()


def test_a_refused_sign_in_says_so(guarded: tuple[WebTools, SignInServer]) -> None:
    web, sign_in = guarded
    sign_in.refuses = True
    servers = RunningServers(ServerConfig("web", url=web.url))
    servers.sign_in("web", Browser().open)
    status = servers.wait("web", "sign_in")
    assert status.error is not None and status.error.code == "tool_sign_in_failed"
    servers.close()


def test_a_sign_in_that_takes_too_long_says_how_long_it_may_take(
    guarded: tuple[WebTools, SignInServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    web, _ = guarded
    monkeypatch.setattr(connection, "SIGN_IN_S", 2.5)
    servers = RunningServers(ServerConfig("web", url=web.url))
    servers.sign_in("web", lambda page: None)
    error = servers.wait("web", "sign_in").error
    assert error is not None and error.code == "tool_no_answer" and "within 2.5 seconds" in error.message
    servers.close()


def test_other_pages_cannot_end_a_sign_in(guarded: tuple[WebTools, SignInServer]) -> None:
    web, _ = guarded
    answers: list[int] = []

    def attack_then_browse(page: str) -> None:
        def work() -> None:
            callback = httpx2.URL(page).params["redirect_uri"]
            answers.extend(httpx2.get(f"{callback}{query}").status_code for query in ("", "?code=1&state=2", "?code=1&state="))
            answers.append(httpx2.get(f"http://{urlsplit(callback).netloc}/").status_code)
            httpx2.get(page, follow_redirects=True)

        threading.Thread(target=work).start()

    servers = RunningServers(ServerConfig("web", url=web.url))
    servers.sign_in("web", attack_then_browse)
    servers.wait("web", "ready")
    assert answers == [404] * 4
    servers.close()


def test_a_configured_key_that_is_refused_needs_no_sign_in(guarded: tuple[WebTools, SignInServer]) -> None:
    web, _ = guarded
    servers = RunningServers(ServerConfig("web", url=web.url, headers=(("authorization", "Bearer wrong"),)))
    servers.start(["web"])
    assert code(servers.ask(Tool("web", "echo"))) == "tool_rejected"
    servers.close()
