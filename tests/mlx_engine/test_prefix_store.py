"""The store of prompts on disk: faults, bounds, chats, and other processes."""

import errno
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.prefix import store as stores
from mlx_engine.prefix.fingerprint import fingerprint
from mlx_engine.prefix.store import BLOCK, Part, PrefixStore
from tests.examples import sampled

PAIR = "f" * 32
ROOMY = 1 << 30


def tokens_of(chat: int, count: int) -> list[int]:
    """Tokens of a chat: 64 that all chats share, then its own."""
    return [*range(64), *(1000 * chat + at for at in range(count - 64))]


def save(store: PrefixStore, tokens: list[int], chat: str = "chat", size: int = 64) -> list[Part]:
    """Save all whole parts of a prompt with random content."""
    parts, parent = list[Part](), PAIR
    keys = stores.chain(PAIR, tokens)
    store.touch(sorted(store.known(keys)), chat)
    for at in range(0, len(tokens) - BLOCK + 1, BLOCK):
        part = Part.of(PAIR, parent, at, tokens[at : at + BLOCK], False)
        if not store.known([part.key]):
            tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
            store.add(part, {"__metadata__": {"rows": "1"}, "rows.0": tensor}, [random.randbytes(size)], chat)
        parts.append(part)
        parent = part.key
    return parts


@pytest.fixture
def store(tmp_path) -> PrefixStore:
    return PrefixStore(tmp_path / "store", ROOMY, keep_free=0)


def files(store: PrefixStore) -> list[Path]:
    return sorted(store.folder.glob("*.safetensors"))


def test_files_are_private_and_complete(store):
    save(store, tokens_of(1, 1024))
    assert len(files(store)) == 4
    assert {path.stat().st_mode & 0o777 for path in store.folder.iterdir() if path.suffix in (".safetensors", ".sqlite")} == {0o600}
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert store.verify() == (4, 0)
    assert not list(store.folder.glob("*.unfinished"))


def test_only_whole_parts_without_a_gap_are_found(store):
    tokens = tokens_of(1, 1024)
    parts = save(store, tokens)
    assert [part.key for part in store.whole_parts(PAIR, tokens)] == [part.key for part in parts]
    assert len(store.whole_parts(PAIR, tokens[:1023])) == 3
    assert len(store.whole_parts(PAIR, [*tokens[:700], 5, *tokens[701:]])) == 2
    assert store.whole_parts("e" * 32, tokens) == []
    store.remove(store.whole_parts(PAIR, tokens)[1:2])
    assert len(store.whole_parts(PAIR, tokens)) == 1


def test_deleting_a_chat_deletes_what_only_it_used(store):
    shared = tokens_of(1, 512)
    save(store, [*shared, *range(5000, 5512)], "one")
    save(store, [*shared, *range(7000, 7512)], "two")
    assert len(files(store)) == 6
    store.forget("one")
    assert len(files(store)) == 4
    assert len(store.whole_parts(PAIR, [*shared, *range(7000, 7512)])) == 4
    store.forget("two")
    assert files(store) == []


def test_the_end_of_a_prompt_is_deleted_before_its_beginning(tmp_path):
    store = PrefixStore(tmp_path, 6 * 6500, keep_free=0)
    for chat in (1, 2):
        save(store, tokens_of(chat, 1024), size=4000)
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 1024))) for chat in (1, 2)] == [2, 4]
    store.touch([part.key for part in store.whole_parts(PAIR, tokens_of(1, 1024))])
    save(store, tokens_of(3, 512), size=4000)
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 1024))) for chat in (1, 2, 3)] == [2, 2, 2]


@sampled(10)
@given(steps=st.lists(st.tuples(st.integers(1, 6), st.integers(256, 1500)), min_size=1, max_size=30))
def test_the_quota_is_held_and_recent_parts_stay(tmp_path_factory, steps):
    folder, size = tmp_path_factory.mktemp("store"), 4000
    store = PrefixStore(folder, 10 * (size + 2500), keep_free=0)
    for chat, count in steps:
        parts = save(store, tokens_of(chat, count), size=size)
        assert sum(path.stat().st_size for path in files(store)) == store.use().bytes <= store.quota
        assert len(store.whole_parts(PAIR, tokens_of(chat, count))) == len(parts)


def test_free_disk_space_is_left(tmp_path, monkeypatch):
    store = PrefixStore(tmp_path, ROOMY, keep_free=1000)
    save(store, tokens_of(1, 1024))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=900))
    save(store, tokens_of(2, 512))
    assert files(store) == []


def damage(path: Path, how: str, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    match how:
        case "flip":
            at = rng.randrange(len(data))
            data[at] ^= 1 << rng.randrange(8)
        case "cut":
            del data[rng.randrange(len(data)) :]
        case "empty":
            data.clear()
        case "add":
            data += b"\0"
    path.write_bytes(data)


@pytest.mark.parametrize("rebuild", [False, True], ids=["indexed", "rebuilt"])
@pytest.mark.parametrize("how", ["flip", "cut", "empty", "add"])
def test_a_damaged_file_is_deleted_and_never_used(store, how, rebuild):
    rng = random.Random(how)
    for attempt in range(10):
        tokens = tokens_of(attempt, 1024)
        save(store, tokens)
        parts = store.whole_parts(PAIR, tokens)
        damage(store.folder / rng.choice(parts).file_name, how, rng)
        if rebuild:
            store.close()
            (store.folder / "index.sqlite").unlink()
            store = PrefixStore(store.folder, ROOMY, keep_free=0)
        good = [store.path(part) for part in parts]
        assert sum(path is None for path in good) == 1
        assert len(store.whole_parts(PAIR, tokens)) < 4
        assert sorted(path for path in good if path) == files(store)
        store.clear()


def test_swapped_files_are_never_used(store):
    tokens = tokens_of(1, 512)
    save(store, tokens)
    first, second = (store.folder / part.file_name for part in store.whole_parts(PAIR, tokens))
    first.rename(store.folder / "kept")
    second.rename(first)
    (store.folder / "kept").rename(second)
    assert [store.path(part) for part in store.whole_parts(PAIR, tokens)] == [None, None]
    assert files(store) == []


def test_a_deleted_file_is_a_miss(store):
    tokens = tokens_of(1, 1024)
    save(store, tokens)
    part = store.whole_parts(PAIR, tokens)[2]
    (store.folder / part.file_name).unlink()
    assert store.path(part) is None
    assert len(store.whole_parts(PAIR, tokens)) == 2


def spoil(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def from_the_future(path: Path) -> None:
    index = sqlite3.connect(path)
    index.execute("DROP TABLE parts")
    index.execute("CREATE TABLE parts (everything TEXT)")
    index.execute("PRAGMA user_version = 99")
    index.commit()
    index.close()


@pytest.mark.parametrize("change", [spoil, from_the_future, Path.unlink, lambda path: path.write_bytes(b"")])
def test_the_index_is_rebuilt_from_the_files(store, change: Callable[[Path], None]):
    tokens = tokens_of(1, 1024)
    parts = save(store, tokens)
    store.close()
    for suffix in ("-wal", "-shm"):
        Path(f"{store.folder / 'index.sqlite'}{suffix}").unlink(missing_ok=True)
    change(store.folder / "index.sqlite")
    again = PrefixStore(store.folder, ROOMY, keep_free=0)
    assert [part.key for part in again.whole_parts(PAIR, tokens)] == [part.key for part in parts]
    assert again.verify() == (4, 0)


def test_a_file_with_a_strange_header_is_deleted(store):
    store.close()
    for at, head in enumerate((b"", b"\xff" * 8, (5).to_bytes(8, "little") + b"[1,2]", (2).to_bytes(8, "little") + b"{}")):
        (store.folder / f"{at}-0.safetensors").write_bytes(head)
    deep = b'{"__metadata__":' + b"[" * 100_000
    (store.folder / "deep-0.safetensors").write_bytes(len(deep).to_bytes(8, "little") + deep)
    again = PrefixStore(store.folder, ROOMY, keep_free=0)
    assert files(again) == []
    assert again.use().parts == 0


@pytest.mark.parametrize("fault", ["full", "read-only", "gone", "a file"])
def test_a_failing_disk_is_reported_once(tmp_path, caplog, monkeypatch, fault):
    folder = tmp_path / "store"
    if fault == "a file":
        folder.write_text("")
    store = PrefixStore(folder, ROOMY, keep_free=0)
    tokens = tokens_of(1, 512)
    save(store, tokens)

    def fail(*given: object) -> None:
        raise OSError(errno.ENOSPC if fault == "full" else errno.EROFS, "it failed")

    if fault in ("full", "read-only"):
        monkeypatch.setattr(os, "open" if fault == "read-only" else "replace", fail)
    elif fault == "gone":
        shutil.rmtree(folder)
    for chat in range(2, 6):
        save(store, tokens_of(chat, 512))
        for part in store.whole_parts(PAIR, tokens):
            store.path(part)
        store.forget("chat")
    assert len(caplog.records) <= 1
    assert not folder.is_dir() or not list(folder.glob("*.unfinished"))


WRITER = """
import random, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.mlx_engine.test_prefix_store import PrefixStore, save, tokens_of
store = PrefixStore(Path(sys.argv[1]), 3_000_000, keep_free=0)
print("ready", flush=True)
chat = int(sys.argv[2])
while True:
    save(store, tokens_of(chat, 4096), size=50_000)
    chat += 1
"""


@pytest.mark.parametrize("kills", [5, pytest.param(100, marks=pytest.mark.long)])
def test_kills_while_writing_leave_only_good_files(tmp_path, kills):
    """Two processes write, and one of them is killed."""
    rng = random.Random(kills)
    script = WRITER.format(root=str(Path(__file__).parents[2]))

    def start(chat: int) -> subprocess.Popen:
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), str(chat)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    neighbor = start(10**6)
    for kill in range(kills):
        process = start(1000 * kill)
        time.sleep(rng.uniform(0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    neighbor.kill()
    neighbor.wait()
    neighbor.stdout.close()
    store = PrefixStore(tmp_path, 3_000_000, keep_free=0)
    good, bad = store.verify()
    assert good
    assert bad == 0
    assert len(files(store)) == good
    assert not list(tmp_path.glob("*.unfinished"))
    assert store.use().bytes <= store.quota


@pytest.mark.long
def test_a_thousand_chats(store):
    """Of 2,000 tokens each. A prompt is looked up with few steps, and without reading a file."""
    for chat in range(1000):
        save(store, tokens_of(chat, 2048))
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    assert store._index is not None
    store._index.set_progress_handler(count, 100)
    for chat in range(0, 1000, 100):
        assert len(store.whole_parts(PAIR, tokens_of(chat, 2048))) == 8
        store.following([PAIR], False)
    assert steps < 10 * 100
    assert store.use().parts == 8000


def test_the_fingerprint_depends_on_every_file_and_setting(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    (tmp_path / "model.safetensors").write_bytes(random.Random(1).randbytes(300_000))
    (tmp_path / "README.md").write_text("notes")
    seen = {fingerprint((tmp_path, None), ("a",)), fingerprint((tmp_path, tmp_path), ("a",)), fingerprint((tmp_path, None), ("b",))}
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 9}))
    seen.add(fingerprint((tmp_path, None), ("a",)))
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(200_000)
        file.write(b"changed")
    seen.add(found := fingerprint((tmp_path, None), ("a",)))
    assert len(seen) == 5
    (tmp_path / "README.md").write_text("other notes")
    assert fingerprint((tmp_path, None), ("a",)) == found


def test_the_default_quota_is_a_tenth_of_the_free_space(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    for free, quota in ((30 * 10**9, 3 * 10**9), (500 * 10**9, stores.DEFAULT_QUOTA)):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        assert PrefixStore(tmp_path / str(free)).quota == quota
