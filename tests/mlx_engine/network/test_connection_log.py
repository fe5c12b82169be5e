"""The record of connections: appending, reading, its limit, and damage."""

import json
import os
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.files import data_folder
from mlx_engine.network import connection_log
from mlx_engine.network.connection_log import FEATURES, ConnectionRecord, is_open

RECORDS = st.builds(
    ConnectionRecord,
    id=st.sampled_from(["1", "2", "3", "4"]),
    opened=st.just(1.0),
    host=st.text(max_size=20),
    port=st.integers(0, 65535),
    feature=st.sampled_from(FEATURES),
    outcome=st.sampled_from(["open", "closed", "failed", "refused", "cut"]),
    sent=st.integers(0, 1 << 50),
    received=st.integers(0, 1 << 50),
    proxy=st.booleans(),
)


def record(name: str, opened: float = 1.0) -> ConnectionRecord:
    return ConnectionRecord(name, opened, "host", 443, "hub")


def file() -> Path:
    return data_folder() / "connections.jsonl"


@given(st.lists(RECORDS))
def test_the_last_state_of_each_connection_is_read(records: list[ConnectionRecord]) -> None:
    connection_log.clear()
    for one in records:
        connection_log.append(one)
    assert {one.id: one for one in connection_log.read()} == {one.id: one for one in records}


def test_the_newest_connection_is_first() -> None:
    for name, opened in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        connection_log.append(record(name, opened))
    assert [one.id for one in connection_log.read()] == ["b", "a", "c"]


def test_a_connection_is_open_until_it_or_its_process_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = record(f"{process.pid}-1-1")
        assert is_open(found) and not is_open(replace(found, outcome="closed"))
        process.communicate()
    assert not any(is_open(one) for one in (found, record("a"), record("9" * 30)))


def test_only_the_user_can_read_the_record() -> None:
    connection_log.append(record("a"))
    assert stat.S_IMODE(file().stat().st_mode) == 0o600


@given(st.binary(max_size=200).filter(lambda data: b"\n" not in data), st.integers(0, 400))
def test_damaged_lines_cost_only_themselves(garbage: bytes, cut: int) -> None:
    connection_log.clear()
    connection_log.append(record("a"))
    whole = file().read_bytes()
    connection_log.append(record("cut"))
    file().write_bytes(file().read_bytes()[: len(whole) + cut] + b"\n" + garbage)
    connection_log.append(record("b"))
    assert {"a", "b"} <= {one.id for one in connection_log.read()} <= {"a", "b", "cut"}


@pytest.mark.parametrize(
    "line", [b"{}", b"[]", b"null", b'{"id":1}', b'{"id":"a","opened":"x","host":"h","port":1,"feature":"hub"}']
)
def test_what_is_no_record_is_left_out(line: bytes) -> None:
    connection_log.append(record("a"))
    file().write_bytes(file().read_bytes() + b"\n" + line)
    assert [one.id for one in connection_log.read()] == ["a"]


def test_the_files_stay_bounded_and_keep_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_log, "_FULL", 20_000)
    for number in range(1000):
        connection_log.append(record(str(number), number))
    kept = [int(one.id) for one in connection_log.read()]
    assert kept == list(range(999, 999 - len(kept), -1)) and len(kept) > 100
    assert sum(path.stat().st_size for path in data_folder().glob("connections*")) < 2 * 20_500


def test_a_record_that_cannot_be_written_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    file().mkdir(parents=True)
    connection_log.append(record("a"))
    assert connection_log.read() == [] and "Can't record a connection" in caplog.text


def test_clearing_deletes_both_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_log, "_FULL", 1000)
    for number in range(20):
        connection_log.append(record(str(number)))
    assert len(list(data_folder().glob("connections*"))) == 2
    connection_log.clear()
    assert connection_log.read() == [] and not list(data_folder().glob("connections*"))


def test_a_line_of_the_newer_file_takes_precedence() -> None:
    connection_log.append(record("a"))
    file().replace(file().with_name("connections-older.jsonl"))
    connection_log.append(replace(record("a"), outcome="closed", sent=5))
    assert connection_log.read() == [replace(record("a"), outcome="closed", sent=5)]


LINES = st.one_of(
    RECORDS.map(lambda one: json.dumps(asdict(one)).encode()),
    st.just(b"{}"),
    st.binary(max_size=20).filter(lambda line: b"\n" not in line),
)
STEPS = st.one_of(
    st.tuples(st.just("append"), RECORDS),
    st.tuples(st.sampled_from(["line", "rest of a line", "late line"]), LINES),
    st.tuples(st.sampled_from(["turn over", "clear", "delete", "cut off", "read", "read", "read"]), st.none()),
)


@given(st.lists(STEPS, max_size=30))
def test_reading_what_is_new_finds_what_reading_all_does(steps: list[tuple[str, Any]]) -> None:
    """Also if lines are damaged, incomplete, or come late, and the files change places, are cleared, or are cut off."""
    connection_log.clear()
    older = file().with_name("connections-older.jsonl")
    shown: list[ConnectionRecord] = []
    with closing(connection_log.LogReader()) as reader:
        for kind, given in [*steps, ("read", None)]:
            match kind:
                case "append":
                    connection_log.append(given)
                case "line" | "rest of a line" | "late line":
                    with (older if kind == "late line" else file()).open("ab") as stream:
                        stream.write((b"" if kind == "rest of a line" else b"\n") + given)
                case "turn over" if file().exists():
                    file().replace(older)
                case "clear":
                    connection_log.clear()
                case "delete":
                    file().unlink(missing_ok=True)
                case "cut off" if file().exists():
                    os.truncate(file(), file().stat().st_size // 2)
            if kind in ("read", "cut off"):
                found, whole = reader.read(), connection_log.read()
                shown = shown if found is None else found
                assert shown == whole
                assert reader.read() is None


def test_only_what_is_new_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(connection_log.LogReader()) as reader:
        for number in range(100):
            connection_log.append(record(str(number), number))
        reader.read()
        parsed, parse = list[bytes](), json.loads
        monkeypatch.setattr(connection_log.json, "loads", lambda line: parsed.append(line) or parse(line))
        connection_log.append(record("new", 1000))
        found = reader.read()
    assert found is not None and len(found) == 101 and found[0].id == "new"
    assert len(parsed) == 2, "the last line, which may have been incomplete, and the new one"


def test_several_processes_append_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the file becomes the older one again and again."""
    code = (
        "import sys\nfrom mlx_engine.network import connection_log\n"
        "from mlx_engine.network.connection_log import ConnectionRecord\n"
        "connection_log._FULL = 200_000\n"
        "for n in range(400): connection_log.append(ConnectionRecord(f'{sys.argv[1]}-{n}', n, 'x' * 100, 1, 'hub'))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    monkeypatch.setattr(connection_log, "_FULL", 200_000)
    assert len(connection_log.read()) == 1200  # 280 kB: one change of files, so nothing is dropped


def test_a_process_with_too_many_open_files_still_records() -> None:
    """Otherwise, it could make connections that are in no list."""
    code = (
        "import os, resource\nfrom mlx_engine.network import connection_log, offline\n"
        "from mlx_engine.network.connection_log import ConnectionRecord\n"
        "assert not offline.is_offline()\n"
        "connection_log.append(ConnectionRecord('a', 1.0, 'host', 1, 'hub'))\n"
        "most = os.dup(0) + 1; resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n"
        "connection_log.append(ConnectionRecord('b', 2.0, 'host', 1, 'hub'))\n"
        "assert not offline.is_offline()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [one.id for one in connection_log.read()] == ["b", "a"]
