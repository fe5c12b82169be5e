"""The store of prompts on disk: damaged files, a damaged index, failing disks, and killed processes."""

import errno
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mlx_engine.prefix import part_store as stores
from mlx_engine.prefix.index import INDEX
from mlx_engine.prefix.part_store import PrefixStore
from tests.examples import SAMPLE
from tests.mlx_engine.prefix.saved_parts import PAIR, ROOMY, damage, files, save, tokens_of


@pytest.fixture
def store(tmp_path) -> PrefixStore:
    return PrefixStore(tmp_path / "store", ROOMY, keep_free=0)


@pytest.mark.parametrize("rebuild", [False, True], ids=["indexed", "rebuilt"])
@pytest.mark.parametrize("how", ["flip", "cut", "empty", "add"])
def test_a_damaged_file_is_deleted_and_never_used(store, how, rebuild):
    rng = random.Random(how)
    for attempt in range(3 if SAMPLE else 10):
        tokens = tokens_of(attempt, 1024)
        save(store, tokens)
        parts = store.whole_parts(PAIR, tokens)
        damage(store.folder / rng.choice(parts).file_name, how, rng)
        if rebuild:
            store.close()
            (store.folder / INDEX).unlink()
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
        Path(f"{store.folder / INDEX}{suffix}").unlink(missing_ok=True)
    change(store.folder / INDEX)
    again = PrefixStore(store.folder, ROOMY, keep_free=0)
    assert [part.key for part in again.whole_parts(PAIR, tokens)] == [part.key for part in parts]
    assert again.verify() == (4, 0)


@pytest.mark.parametrize("suffix", ["", "-wal"])
def test_flipped_bits_in_the_index_are_never_believed(tmp_path, caplog, suffix):
    """What is found is intact and what was saved. The next start works as usual."""
    rng, chats = random.Random(suffix), [tokens_of(chat, 1024) for chat in range(1, 7)]
    original = PrefixStore(tmp_path / "original", ROOMY, keep_free=0)
    for chat in chats[:3]:
        save(original, chat)
    if not suffix:
        original.close()
    saved = {path.name for path in files(original)}
    for attempt in range(8 if SAMPLE else 40):
        folder = tmp_path / str(attempt)
        shutil.copytree(original.folder, folder)
        path = folder / f"{INDEX}{suffix}"
        for _ in range(rng.randint(1, 5)):
            damage(path, "flip", rng)
        for chat in chats[3:]:
            caplog.clear()
            store = PrefixStore(folder, ROOMY, keep_free=0)
            for tokens in chats:
                for at, part in enumerate(store.whole_parts(PAIR, tokens)):
                    if store.path(part) is not None:
                        assert (part.start, part.tokens) == (at * 256, tuple(tokens[at * 256 : at * 256 + 256]))
            for part in store.following([PAIR, *stores.chain(PAIR, chats[0])], False):
                assert store.path(part) is None or part.file_name in saved
            save(store, chat)
            assert len(store.whole_parts(PAIR, chat)) == 4
            assert store.use().bytes == sum(each.stat().st_size for each in files(store))
            assert len(caplog.records) <= 1
            saved |= {each.name for each in files(store)}
            store.close()
        store = PrefixStore(folder, ROOMY, keep_free=0)
        store.clear()
        assert files(store) == []
        store.close()


def test_an_index_with_another_position_is_not_believed(store):
    """A file is used only where its tokens were."""
    parts = save(store, tokens_of(1, 512))
    store._execute("UPDATE parts SET start = start + 1 WHERE key = ?", (parts[1].key,))
    assert [store.path(part) is None for part in store.whole_parts(PAIR, tokens_of(1, 512))] == [False, True]
    assert len(files(store)) == 1


def test_a_file_with_a_strange_header_is_deleted(store):
    store.close()
    deep = b'{"__metadata__":' + b"[" * 100_000
    for at, head in enumerate((b"", b"\xff" * 8, *(len(each).to_bytes(8, "little") + each for each in (b"[1,2]", b"{}", deep)))):
        (store.folder / f"{at:032}-{at:032}.safetensors").write_bytes(head)
    again = PrefixStore(store.folder, ROOMY, keep_free=0)
    assert files(again) == []
    assert again.use().parts == 0


@pytest.mark.parametrize("fault", ["full", "read-only", "read-only index", "gone", "a file"])
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
    elif fault == "read-only index":
        store._execute("PRAGMA query_only = ON", ())
    elif fault == "gone":
        shutil.rmtree(folder)
    for chat in range(2, 6):
        save(store, tokens_of(chat, 512))
        for part in store.whole_parts(PAIR, tokens):
            store.path(part)
        store.forget("chat")
    assert len(caplog.records) <= 1 and "Errno" not in caplog.text
    assert not folder.is_dir() or not list(folder.glob("*.unfinished"))


def test_a_disk_that_fills_up_in_the_middle_of_a_file_leaves_only_good_files(store, caplog):
    """Here a limit of the process plays the full disk, for files and for the index."""
    save(store, tokens_of(1, 512), size=20_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    try:
        for chat in range(2, 12):
            save(store, tokens_of(chat, 512), size=30_000 if chat % 2 else 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(caplog.records) == 1
    assert not list(store.folder.glob("*.unfinished"))
    assert store.verify()[1] == 0
    store.close()
    again = PrefixStore(store.folder, ROOMY, keep_free=0)
    assert len(save(again, tokens_of(20, 512))) == len(again.whole_parts(PAIR, tokens_of(20, 512))) == 2
    assert again.verify() == (len(files(again)), 0)


WRITER = """
import random, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.mlx_engine.prefix.saved_parts import PrefixStore, save, tokens_of
store = PrefixStore(Path(sys.argv[1]), 3_000_000, keep_free=0)
print("ready", flush=True)
chat = int(sys.argv[2])
while True:
    save(store, tokens_of(chat, 4096), size=50_000)
    chat += 1
"""


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.long)])
def test_kills_while_writing_leave_only_good_files(tmp_path, kills):
    """Two processes write, and one of them is killed."""
    rng = random.Random(kills)
    script = WRITER.format(root=str(Path(__file__).parents[3]))

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
