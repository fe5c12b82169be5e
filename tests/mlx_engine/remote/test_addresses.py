"""Addresses of servers as users write them, and why a server can't be reached."""

import asyncio.selector_events
import errno
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.network import local_network
from mlx_engine.remote.endpoint import address, checked, complete_address, unreachable
from mlx_engine.remote.trial import try_endpoint
from tests.mlx_engine.remote.replay import Response, replaying

MODELS = ("GET", "/v1/models")
near = st.sampled_from(
    [
        "localhost",
        "127.0.0.1",
        "127.3.4.5",
        "192.168.1.20",
        "10.0.0.7",
        "169.254.1.1",
        "::1",
        "fe80::1",
        "fd00::7",
        "lab",
        "Lab.local",
    ]
)
far = st.sampled_from(["models.example.com", "8.8.8.8", "2606:4700::1111"])
paths = st.sampled_from(["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/models/", "/proxy/v1"])


@given(host=st.one_of(near, far), port=st.none() | st.integers(1, 65535), path=paths, space=st.sampled_from(["", " ", "\n"]))
@example(host="127.0.0.1", port=8484, path="", space="")
@example(host="::1", port=None, path="", space="")
def test_a_missing_scheme_is_completed(host: str, port: int | None, path: str, space: str) -> None:
    bracketed = f"[{host}]" if ":" in host and (port or path) else host
    text = f"{bracketed}{f':{port}' if port else ''}{path}"
    found = httpx2.URL(checked(Endpoint(complete_address(space + text + space))).url)
    assert (found.host, found.port) == (host.lower(), port)
    assert found.scheme == ("https" if host in ("models.example.com", "8.8.8.8", "2606:4700::1111") else "http")
    expected = "/proxy/v1/models" if path == "/proxy/v1" else "/v1/models"
    assert httpx2.URL(address(str(found), "/v1/models")).path == expected


@given(scheme=st.sampled_from(["http://", "https://"]), host=st.one_of(near, far).filter(lambda host: ":" not in host), path=paths)
def test_a_given_scheme_is_kept(scheme: str, host: str, path: str) -> None:
    once = complete_address(scheme + host + path)
    assert once.startswith(scheme + host) and complete_address(once) == once


@given(text=st.text(max_size=30))
@example(text="javascript:alert(1)")
@example(text="fe80::1%en0")
@example(text="//")
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        url = checked(Endpoint(text)).url
    except UserError as error:
        assert error.text.code in ("remote_bad_address", "remote_password_in_address", "remote_not_encrypted")
    else:
        assert url.startswith(("http://", "https://")) and checked(Endpoint(url)).url == url


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """Serve a program that says the same to everyone."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.sendall(reply)
                    client.recv(10_000)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def why_not(url: str) -> UserError:
    with pytest.raises(UserError) as refused:
        try_endpoint(Endpoint(url))
    return refused.value


def test_a_refused_connection_is_no_silence() -> None:
    assert (
        str(why_not("http://127.0.0.1:9")) == "Nothing listens at “127.0.0.1:9”. Start the server, or check the address and port."
    )


@pytest.mark.parametrize(
    ("system_asks", "host", "number", "code"),
    [
        (True, "192.168.1.20", errno.EHOSTUNREACH, "remote_local_network"),
        (True, "[fd00::7]", errno.EHOSTUNREACH, "remote_local_network"),
        (True, "192.168.1.20", errno.ENETUNREACH, "remote_no_route"),
        (True, "8.8.8.8", errno.EHOSTUNREACH, "remote_no_route"),
        (False, "192.168.1.20", errno.EHOSTUNREACH, "remote_no_route"),
    ],
)
def test_a_connection_that_macos_may_have_denied_names_the_setting(
    monkeypatch: pytest.MonkeyPatch, system_asks: bool, host: str, number: int, code: str
) -> None:
    async def fail(*_: object) -> None:
        raise OSError(number, "No route to host")

    monkeypatch.setattr(asyncio.selector_events.BaseSelectorEventLoop, "sock_connect", fail)
    monkeypatch.setattr(local_network, "HAS_PERMISSION", system_asks)
    error = why_not(f"https://{host}:8000")
    assert error.text.code == code
    assert ("Local Network" in str(error)) is (code == "remote_local_network")


def test_an_unknown_host_is_named() -> None:
    assert why_not("http://no-such-host.invalid:8000").text.code == "remote_unknown_host"


def test_another_service_is_recognized() -> None:
    with answering(b"SSH-2.0-OpenSSH_9.6\r\n") as host:
        assert why_not(f"http://{host}").text.code == "remote_no_list"
        assert why_not(f"https://{host}").text.code == "remote_without_tls"
    for status in (404, 405):
        with replaying({MODELS: Response(status, (), b'{"detail": "Not Found"}')}) as server:
            assert why_not(server.url).text.code == "remote_no_list"


def test_a_redirect_names_its_target() -> None:
    headers = (("location", "https://models.example.com/v1/models"),)
    with replaying({MODELS: Response(301, headers, b"")}) as server:
        assert "Enter that address." in str(why_not(server.url)) and "“https://models.example.com/v1”" in str(why_not(server.url))


def test_a_silent_host_is_not_a_refusal() -> None:
    error = unreachable(Endpoint("http://lab:8000"), httpx2.ConnectTimeout(""))
    assert str(error) == "“lab:8000” isn't responding. Check the address, and make sure that the server is running."


@pytest.mark.parametrize(
    ("code", "expected"), ((10, "remote_certificate_invalid"), (62, "remote_certificate_invalid"), (18, "remote_certificate"))
)
def test_an_expired_certificate_needs_no_authority(code: int, expected: str) -> None:
    cause = ssl.SSLCertVerificationError(1, "CERTIFICATE_VERIFY_FAILED")
    cause.verify_code, cause.verify_message = code, "certificate has expired"
    error = httpx2.ConnectError("")
    error.__cause__ = cause
    assert unreachable(Endpoint("https://lab"), error).text.code == expected


@pytest.mark.parametrize("url", ["http://8.8.8.8", "8.8.8.8:8000/v1", "http://[2606:4700::1111]:80"])
def test_public_addresses_are_only_reached_encrypted(url: str) -> None:
    open_url = url if "://" in url else f"http://{url}"
    for endpoint in (Endpoint(open_url, "demo"), Endpoint("https://8.8.8.8", "demo", plain_url=open_url)):
        with pytest.raises(UserError, match="isn't encrypted"):
            checked(endpoint)
    assert checked(Endpoint(open_url.replace("http", "https"), "demo")).url.startswith("https")
