"""Saved endpoints: the file, the keychain, and damaged or newer files."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backends.fail import Keyring as NoKeychain

from mlx_engine.contract import secrets as stored_secrets
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.contract.secrets import is_reference
from mlx_engine.remote.saved_endpoints import SavedEndpoint, read_endpoints, with_secrets, write_endpoints
from tests.keychain import keychain

LAB = SavedEndpoint(
    "Lab 实验室",
    Endpoint(
        "https://lab.example/v1",
        model="org/model",
        key="sk-123",
        plain_url="https://lab.example:444",
        headers=(("X-Team", "blue"), ("X-Zone", "eu")),
        ca_file=Path("/etc/lab.pem"),
        timeout_s=9.5,
    ),
)
HOME = SavedEndpoint("Home", Endpoint("http://192.168.1.20:8000"))


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with keychain():
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "connections.json"


def secrets(saved: SavedEndpoint) -> SavedEndpoint:
    return SavedEndpoint(saved.name, with_secrets(saved))


def test_written_connections_are_read_again(file: Path) -> None:
    assert read_endpoints(file) == ()
    assert write_endpoints(file, [LAB, HOME]) is None
    assert tuple(map(secrets, read_endpoints(file))) == (LAB, HOME)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_keys_and_headers_are_in_the_keychain_and_not_in_the_file(file: Path) -> None:
    write_endpoints(file, [LAB])
    text = file.read_text()
    assert "sk-123" not in text and "blue" not in text and "X-Team" in text
    (lab,) = stored = read_endpoints(file)
    assert is_reference(lab.endpoint.key) and all(is_reference(value) for _, value in lab.endpoint.headers)
    write_endpoints(file, stored)
    assert read_endpoints(file) == stored, "references are kept"


def test_secrets_of_deleted_connections_leave_the_keychain(file: Path) -> None:
    write_endpoints(file, [LAB, HOME])
    lab, home = read_endpoints(file)
    write_endpoints(file, [home])
    with pytest.raises(UserError, match="no key for “Lab 实验室”"):
        with_secrets(lab)


def test_without_a_keychain_secrets_last_until_the_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.set_keyring(NoKeychain())
    problem = write_endpoints(file, [LAB])
    assert problem is not None and "until you quit" in problem.message
    assert "sk-123" not in file.read_text()
    (lab,) = read_endpoints(file)
    assert secrets(lab) == LAB
    monkeypatch.setattr(stored_secrets, "_unsaved", {})
    with pytest.raises(UserError, match="enter it again"):
        with_secrets(lab)
    assert write_endpoints(file, [HOME]) is None


def entry(**changes: object) -> str:
    fields = {"name": "x", "url": "http://localhost", "model": "", "key": "", "plain_url": ""}
    fields |= {"headers": {}, "ca_file": "", "timeout_s": 1.0} | changes
    return json.dumps({"version": 1, "connections": [fields]})


def test_an_entry(file: Path) -> None:
    file.parent.mkdir()
    file.write_text(entry())
    assert read_endpoints(file) == (SavedEndpoint("x", Endpoint("http://localhost", timeout_s=1.0)),)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{ not JSON",
        b"\xff\xfe\x00",
        b"[]",
        b'{"version": 1}',
        b'{"version": 1, "connections": 5}',
        b'{"version": 1, "connections": ["x"]}',
        b'{"version": "1", "connections": []}',
        b'{"version": 0, "connections": []}',
        b'{"version": 1, "connections": [{"name": "x"}]}',
        b"[" * 100_000,
        entry(url=5).encode(),
        entry(name="").encode(),
        entry(name="a\u202eb").encode(),
        entry(headers=["x"]).encode(),
        entry(headers={"x": 5}).encode(),
        entry(timeout_s="1").encode(),
        entry(timeout_s=float("nan")).encode(),
        entry(timeout_s=0).encode(),
        entry(ca_file=None).encode(),
        entry(model="\ud800").encode(),
        entry(unknown="x").encode(),
        json.dumps({"version": 1, "connections": 2 * json.loads(entry())["connections"]}).encode(),
    ],
)
def test_a_damaged_file_is_kept_under_another_name(content: bytes, file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"renamed to “connections-damaged\.json”"):
        read_endpoints(file)
    assert file.with_name("connections-damaged.json").read_bytes() == content
    assert read_endpoints(file) == ()
    file.write_bytes(content)
    with pytest.raises(UserError, match=r"renamed to “connections-damaged1\.json”"):
        write_endpoints(file, [HOME])
    assert write_endpoints(file, [HOME]) is None and read_endpoints(file) == (HOME,)


def test_a_newer_file_is_neither_read_nor_changed(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"version": 2, "connections": {"of": "another kind"}}')
    before = file.read_bytes()
    for action in (lambda: read_endpoints(file), lambda: write_endpoints(file, [HOME])):
        with pytest.raises(UserError, match="Update Slipstream"):
            action()
    assert file.read_bytes() == before


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    folder = tmp_path / "connections.json"
    folder.mkdir()
    with pytest.raises(UserError, match=r"Can't read “.*connections\.json”"):
        read_endpoints(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"Can't (read|write to) “"):
        write_endpoints(tmp_path / "file" / "connections.json", [HOME])


@given(st.binary(max_size=60) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda x: json.dumps(x).encode()))
def test_any_content_is_read_or_reported(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "connections.json"
    file.write_bytes(content)
    with pytest.raises(UserError):
        read_endpoints(file)
