"""A local hub for the tests, isolated from this machine's login and cache."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants, set_client_factory

from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.network.hub_session import hub_client
from tests.hub.local_hub import LocalHub
from tests.hub.server import ServedHub
from tests.keychain import keychain


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")  # programs that a test starts
    set_client_factory(hub_client)
    with keychain():
        yield
    set_client_factory(hub_client)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C, here and in child processes, even if the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def local_hub() -> Iterator[LocalHub]:
    with LocalHub() as hub:
        yield hub


@pytest.fixture
def served_hub() -> Iterator[ServedHub]:
    with ServedHub() as hub:
        yield hub


@pytest.fixture
def socket_hub(served_hub: ServedHub) -> ServedHub:
    """For proxies, certificates, and how real connections end: this process uses sockets, too."""
    set_client_factory(hub_client)
    return served_hub


@pytest.fixture
def cache(tmp_path: Path) -> HubCache:
    return HubCache(tmp_path / "cache")
