"""The Offline switch and what counts as this computer."""

import subprocess
import sys

import pytest

from mlx_engine.contract.files import data_folder
from mlx_engine.network import offline, traffic
from mlx_engine.network.offline import OfflineRefusal


def test_the_switch_holds_in_other_processes() -> None:
    code = "from mlx_engine.network import offline; print(offline.is_offline())"

    def other() -> str:
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    assert not offline.is_offline() and other() == "False"
    offline.set_offline(True)
    assert offline.is_offline() and other() == "True"
    offline.set_offline(False)
    assert not offline.is_offline() and other() == "False"


@pytest.mark.parametrize("content", ["{", "[]", '{"offline": "no"}', "{}"])
def test_a_damaged_switch_is_on(content: str) -> None:
    data_folder().mkdir(parents=True)
    (data_folder() / "offline.json").write_text(content)
    assert offline.is_offline()
    offline.set_offline(False)
    assert not offline.is_offline()


@pytest.mark.parametrize(("value", "on"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_variable_turns_it_on(monkeypatch: pytest.MonkeyPatch, value: str, on: bool) -> None:
    monkeypatch.setenv(offline.VARIABLE, value)
    assert offline.is_offline() is on
    assert offline.refusal("host").text.code == ("offline_command" if on else "offline")
    assert offline.refusal("host").text.code in offline.CODES


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *[
            (host, True)
            for host in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "localhost", "LocalHost.", "0.0.0.0", "::")
        ],
        *[(host, False) for host in ("192.168.1.2", "a.localhost", "fe80::1%lo", "example.org", "localhost.example.org", "")],
    ],
)
def test_what_counts_as_this_computer(host: str, here: bool) -> None:
    assert offline.is_this_computer(host) is here


def test_no_name_is_looked_up_while_it_is_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda host, port: asked.append(host) or [])
    offline.set_offline(True)
    with pytest.raises(OfflineRefusal, match=r"example\.org"):
        traffic.addresses("example.org")
    traffic.addresses("localhost")
    traffic.addresses("192.168.1.2")  # needs no lookup
    assert asked == ["localhost", "192.168.1.2"]
