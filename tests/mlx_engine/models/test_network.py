"""Proxies from the environment, and the system's certificates."""

import errno
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from mlx_engine.contract.errors import UserError
from mlx_engine.models.downloads.hub import Hub, Unreachable
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from mlx_engine.network import local_network
from tests.hub.repos import target_files
from tests.hub.server import ServedHub
from tests.mlx_engine.models.downloads import expect_whole, fetch

TARGET = Pair("owner/target")
Secure = tuple[ServedHub, Path]


def test_a_proxy_from_the_environment_is_used(socket_hub: ServedHub, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    """The local hub acts as the proxy; nothing else can resolve hub.example."""
    socket_hub.repo("owner/target", target_files(100_000))
    monkeypatch.setenv("HTTP_PROXY", socket_hub.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    close_session()
    there, socket_hub.url = socket_hub.url, "http://hub.example"
    fetch(socket_hub, cache, TARGET)
    socket_hub.url = there
    expect_whole(socket_hub, cache, TARGET)


@pytest.fixture
def secure(socket_hub: ServedHub, tmp_path: Path) -> Iterator[Secure]:
    """The local hub over HTTPS, with a self-signed certificate."""
    if shutil.which("openssl") is None:
        # Only the test's own server needs it, the program does not; a made certificate that were kept here would run out
        pytest.skip("openssl, which makes the certificate, is not installed; to get it: apt-get install openssl")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    for server in socket_hub.servers:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    socket_hub.url = socket_hub.url.replace("http:", "https:")
    socket_hub.content_url = socket_hub.content_url.replace("http:", "https:")
    yield socket_hub, certificate


def test_a_trusted_certificate_is_accepted(secure: Secure, cache: HubCache, monkeypatch: pytest.MonkeyPatch) -> None:
    local, certificate = secure
    local.repo("owner/target", target_files(100_000))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    close_session()
    fetch(local, cache, TARGET)
    expect_whole(local, cache, TARGET)


def test_an_untrusted_certificate_is_reported(secure: Secure) -> None:
    local, _ = secure
    with pytest.raises(UserError, match="isn't trusted"):
        Hub(local.url).listing("owner/target")


@pytest.mark.parametrize("system_asks", [True, False])
def test_a_mirror_that_macos_may_have_denied_names_the_setting(monkeypatch: pytest.MonkeyPatch, system_asks: bool) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EHOSTUNREACH, "No route to host")

    monkeypatch.setattr(socket, "create_connection", fail)
    monkeypatch.setattr(local_network, "HAS_PERMISSION", system_asks)
    with pytest.raises(Unreachable) as caught:
        Hub("http://192.168.1.20:8080").listing("owner/target")
    assert caught.value.text.code == ("remote_local_network" if system_asks else "hub_unreachable")
    assert ("Local Network" in str(caught.value)) is system_asks
