"""The store of prompts on disk: look-up, bounds, and chats."""

import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.prefix import fingerprint as fingerprints
from mlx_engine.prefix import index
from mlx_engine.prefix import part_store as stores
from mlx_engine.prefix.fingerprint import fingerprint
from mlx_engine.prefix.index import INDEX
from mlx_engine.prefix.part import BLOCK, SavedPart
from mlx_engine.prefix.part_store import PrefixStore, default_folder
from tests.examples import sampled
from tests.mlx_engine.prefix.saved_parts import PAIR, ROOMY, files, save, tokens_of


@pytest.fixture
def store(tmp_path) -> PrefixStore:
    return PrefixStore(tmp_path / "store", ROOMY, keep_free=0)


def test_files_are_private_and_complete(store):
    save(store, tokens_of(1, 1024))
    assert len(files(store)) == 4
    assert {path.stat().st_mode & 0o777 for path in store.folder.iterdir()} == {0o600}
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


def test_a_chat_replaces_only_what_no_other_chat_owns(store):
    """Two chats had the same text and continue differently, one after the other."""

    def end(*tokens: int) -> SavedPart:
        return SavedPart.of(PAIR, PAIR, 0, tokens, False)

    def add(part: SavedPart, chat: str, *replaces: SavedPart) -> None:
        tensor = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
        assert store.add(part, {"rows.0": tensor}, [b"rows"], chat, [each.key for each in replaces])

    add(shared := end(1, 2), "one")
    assert store.own(shared.key, "two")
    add(first := end(1, 2, 3), "one", shared)
    assert store.known([shared.key, first.key]) == {shared.key, first.key}
    store.forget("one")
    assert store.known([shared.key, first.key]) == {shared.key}
    add(second := end(1, 2, 4), "two", shared)
    assert store.known([shared.key, second.key]) == {second.key}
    assert len(files(store)) == 1


def test_a_part_of_a_chat_that_is_deleted_meanwhile_is_not_stored(store, monkeypatch):
    change = store._change

    def then_forget(*action: Any) -> bool:
        monkeypatch.undo()
        done = change(*action)
        store.forget("chat")
        return done

    monkeypatch.setattr(store, "_change", then_forget)
    tensor = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    assert not store.add(SavedPart.of(PAIR, PAIR, 0, (1, 2), False), {"rows.0": tensor}, [b"rows"], "chat")
    assert not files(store)


@pytest.mark.parametrize("delete", [lambda store: store.forget("chat"), PrefixStore.clear])
def test_no_file_contains_a_deleted_prompt(store, delete):
    secret = [*range(5000, 5256)]
    pieces = [struct.pack("<4I", *secret[at : at + 4]) for at in range(0, 256, 4)]

    def found() -> set[str]:
        contents = {path.suffix: path.read_bytes() for path in store.folder.iterdir()}
        return {
            name for name, content in contents.items() for piece in pieces if piece in content or piece.hex().encode() in content
        }

    save(store, secret)
    assert {".safetensors", ".sqlite-wal"} <= found()
    delete(store)
    assert found() == set()


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    names = ("model.safetensors", "a-b.safetensors", "index.sqlite", "f" * 64, f"{'f' * 32}.unfinished")
    for name in names:
        (tmp_path / name).write_bytes(b"the user's")
    for _ in range(2):
        store = PrefixStore(tmp_path, ROOMY, keep_free=0)
        save(store, tokens_of(1, 512))
        store.clear()
        store.close()
    assert {path.name for path in tmp_path.iterdir()} == {*names, INDEX}
    assert all((tmp_path / name).read_bytes() == b"the user's" for name in names)


def test_the_end_of_a_prompt_is_deleted_before_its_beginning(tmp_path):
    store = PrefixStore(tmp_path, 6 * 6500, keep_free=0)
    for chat in (1, 2):
        save(store, tokens_of(chat, 1024), size=4000)
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 1024))) for chat in (1, 2)] == [2, 4]
    store.touch([part.key for part in store.whole_parts(PAIR, tokens_of(1, 1024))])
    save(store, tokens_of(3, 512), size=4000)
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 1024))) for chat in (1, 2, 3)] == [2, 2, 2]


def test_the_clock_does_not_matter(tmp_path, monkeypatch):
    """Neither times of files in the future nor a clock that is set back change which prompts are deleted first."""
    store, now = PrefixStore(tmp_path, 4 * 6500, keep_free=0), time.time()
    for chat, jump in ((1, 10**8), (2, -(10**8)), (3, 0)):
        monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
        for part in save(store, tokens_of(chat, 512), size=4000):
            os.utime(next(tmp_path.glob(f"{part.key}-*")), (now + jump, now + jump))
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 512))) for chat in (1, 2, 3)] == [0, 2, 2]
    store.close()
    store = PrefixStore(tmp_path, 4 * 6500, keep_free=0)
    store.touch([part.key for part in store.whole_parts(PAIR, tokens_of(2, 512))])
    save(store, tokens_of(4, 512), size=4000)
    assert [len(store.whole_parts(PAIR, tokens_of(chat, 512))) for chat in (2, 3, 4)] == [2, 0, 2]


@sampled(10)
@given(steps=st.lists(st.tuples(st.integers(1, 6), st.integers(256, 5000)), min_size=1, max_size=30))
def test_the_quota_is_held_and_recent_parts_stay(tmp_path_factory, steps):
    """A chat that doesn't fit is saved up to the quota, and not written again in its next turn."""
    store = PrefixStore(tmp_path_factory.mktemp("store"), 10 * 6500, keep_free=0)
    for chat, count in steps:
        save(store, tokens_of(chat, count), size=4000)
        assert sum(path.stat().st_size for path in files(store)) == store.use().bytes <= store.quota
        saved = store.whole_parts(PAIR, tokens_of(chat, count))
        assert len(saved) == min(count // BLOCK, 10)
        save(store, tokens_of(chat, count + 600), size=4000)
        assert store.whole_parts(PAIR, tokens_of(chat, count)) == saved


def test_a_chat_deletes_neither_its_own_parts_nor_later_used_ones_to_write_more(tmp_path):
    """Two chats are written at the same time."""
    store, tensor = PrefixStore(tmp_path, 4 * 6500, keep_free=0), {"dtype": "U8", "shape": [4000], "data_offsets": [0, 4000]}
    uses = {chat: store.touch([], chat) for chat in ("one", "two")}
    parents, stored = dict.fromkeys(uses, PAIR), dict.fromkeys(uses, 0)
    for at in range(6):
        for number, chat in enumerate(uses):
            part = SavedPart.of(PAIR, parents[chat], at * BLOCK, [number] * BLOCK, False)
            parents[chat] = part.key
            stored[chat] += store.add(part, {"rows.0": tensor}, [bytes(4000)], chat, use=uses[chat])
    assert stored == {"one": 2, "two": 4}
    assert len(store.whole_parts(PAIR, [1] * BLOCK * 6)) == 4


def test_free_disk_space_is_left(tmp_path, monkeypatch):
    store = PrefixStore(tmp_path, ROOMY, keep_free=1000)
    save(store, tokens_of(1, 1024))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=900))
    save(store, tokens_of(2, 512))
    assert files(store) == []


def test_the_tests_have_their_own_cache_folder():
    """Neither tests nor their child processes use what the user has saved."""
    code = "from mlx_engine.prefix.part_store import default_folder; print(default_folder())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert child == str(default_folder())
    assert default_folder().is_relative_to(tempfile.gettempdir())


@pytest.mark.long
def test_a_thousand_chats(tmp_path):
    """Of 2,000 tokens each. A prompt is looked up with few steps, and without reading a file; memory and disk use stay bounded."""
    store, peaks = PrefixStore(tmp_path, 8000 * 2500, keep_free=0), list[int]()
    for chat in range(2000):
        save(store, tokens_of(chat, 2048))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        if chat % 100 == 0:
            assert sum(path.stat().st_size for path in files(store)) <= store.quota
    assert peaks[-1] - peaks[999] <= 0.05 * peaks[999]
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    assert store._index is not None
    store._index.set_progress_handler(count, 100)
    for chat in range(1999, 1000, -100):
        assert len(store.whole_parts(PAIR, tokens_of(chat, 2048))) == 8
        store.following([PAIR], False)
    assert steps < 10 * 100
    assert 7900 <= store.use().parts <= 9000
    assert store.use().bytes <= store.quota


def test_the_fingerprint_depends_on_every_file_library_and_setting(tmp_path, monkeypatch):
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
    for library in ("mlx", "mlx-lm"):
        monkeypatch.setattr(fingerprints, "version", lambda name, library=library: "0" if name == library else version(name))
        seen.add(fingerprint((tmp_path, None), ("a",)))
    assert len(seen) == 7


def test_the_default_quota_is_a_tenth_of_the_free_space(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    for free, quota in ((30 * 10**9, 3 * 10**9), (500 * 10**9, stores.DEFAULT_QUOTA)):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        assert PrefixStore(tmp_path / str(free)).quota == quota


quotas = st.sampled_from([None, stores.AUTOMATIC_QUOTA, 3 * 6500, 6 * 6500, 10**9, 10**30])


@sampled(10)
@given(steps=st.lists(st.tuples(quotas, st.integers(0, 6), st.booleans()), min_size=1, max_size=12))
def test_every_process_respects_the_last_quota(tmp_path_factory, steps):
    """Some of them while others are open, or after the index was lost."""
    folder = tmp_path_factory.mktemp("store")
    automatic, last, opened = 4 * 6500, None, list[PrefixStore]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "DEFAULT_QUOTA", automatic)
        for chat, (quota, count, is_lost) in enumerate(steps):
            last = quota if quota is not None else last
            before = files(opened[-1]) if opened else []
            opened.append(PrefixStore(folder, quota, keep_free=0))
            if quota is None:
                assert files(opened[-1]) == before
            expected = min(last, 2**53 - 1) if last else automatic
            for store in opened:
                save(store, tokens_of(chat, 256 * count), size=4000)
                assert store.quota == store.use().quota == expected
                assert store.use().bytes == sum(path.stat().st_size for path in files(store)) <= expected
            if is_lost and quota is not None:
                index.delete(folder)
                opened[-1].touch([])
    for store in opened:
        store.close()


def test_several_programs_can_create_a_store_at_the_same_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(10):
        folder, together = tmp_path / str(number), threading.Barrier(6)

        def create(folder: Path = folder, together: threading.Barrier = together) -> None:
            together.wait()
            PrefixStore(folder, 600_000, keep_free=0).close()

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not caplog.records


def test_a_part_with_a_changed_byte_is_deleted(store):
    save(store, tokens_of(1, 1024))
    first, *others = store.whole_parts(PAIR, tokens_of(1, 1024))
    file = store.path(first)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1  # a value of an array, which its header doesn't tell
    file.write_bytes(data)
    assert store.path(first) is None and not file.exists()
    assert all(store.path(part) is not None for part in others)
