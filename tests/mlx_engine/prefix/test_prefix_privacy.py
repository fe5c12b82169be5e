"""Deleted and private chats leave nothing on disk, and shared parts stay: kills, damage, and upgrades at any moment."""

import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from mlx_engine.prefix.index import INDEX
from mlx_engine.prefix.part import BLOCK, chain
from mlx_engine.prefix.part_store import PrefixStore
from tests.examples import sampled
from tests.mlx_engine.prefix.prefix_killer import act
from tests.mlx_engine.prefix.saved_parts import PAIR, ROOMY, files, save

OLD = Path(__file__).parent / "stores" / "version_1"  # written by the version of commit 29bfecef; see `upgraded`
ROOT = Path(__file__).parents[3]


def prompt(*blocks: int) -> list[int]:
    """A prompt of blocks with tokens that no other block has."""
    return [token for block in blocks for token in range(1000 * block, 1000 * block + BLOCK)]


def blocks_on_disk(folder: Path, blocks: set[int]) -> set[int]:
    """Return the blocks that share four tokens in a row with any file."""
    contents = [path.read_bytes() for path in folder.iterdir() if path.is_file() and not path.name.endswith("-shm")]
    found = set[int]()
    for block in blocks:
        pieces = [struct.pack("<4I", *prompt(block)[at : at + 4]) for at in range(0, BLOCK, 36)]
        if any(piece in content or piece.hex().encode() in content for piece in pieces for content in contents):
            found.add(block)
    return found


def open_store(folder: Path) -> PrefixStore:
    return PrefixStore(folder, ROOMY, keep_free=0)


@pytest.fixture
def store(tmp_path) -> Iterator[PrefixStore]:
    store = open_store(tmp_path / "store")
    yield store
    store.close()


class Killer:
    """Kills processes that change a store."""

    def __init__(self) -> None:
        words = [sys.executable, "-m", "tests.mlx_engine.prefix.prefix_killer"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def run(self, folder: Path, lines: int, what: str, chats: list[str], tokens: list[int]) -> int:
        """Let a process change a store, and kill it before a line of code. Return the lines that ran, -1 if it was killed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([str(folder), lines, what, chats, tokens]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    killer = Killer()
    yield killer
    killer.close()


def spoil_index(folder: Path, how: str, rng: random.Random) -> None:
    index, log = folder / INDEX, folder / f"{INDEX}-wal"
    match how:
        case "deleted":
            index.unlink(missing_ok=True)
        case "all deleted":
            for path in folder.glob(f"{INDEX}*"):
                path.unlink()
        case "first bytes":
            if index.exists():
                with index.open("r+b") as file:
                    file.write(rng.randbytes(100))
        case "log" if log.exists() and log.stat().st_size:
            with log.open("r+b") as file:
                file.seek(rng.randrange(log.stat().st_size))
                file.write(rng.randbytes(50))
        case "log cut":
            if log.exists():
                os.truncate(log, rng.randrange(log.stat().st_size + 1))
        case "another version":
            for path in folder.glob(f"{INDEX}*"):
                path.unlink()
            database = sqlite3.connect(index)
            database.execute("PRAGMA user_version = 99")
            database.close()


SPOILED = ("deleted", "all deleted", "first bytes", "log", "log cut", "another version")


class Privacy(RuleBasedStateMachine):
    """Two programs use a store. Chats share first blocks; chat 0 stands for prompts without a chat."""

    killer: Killer
    folders: pytest.TempPathFactory

    def __init__(self) -> None:
        super().__init__()
        self.folder = self.folders.mktemp("privacy") / "store"
        self.stores = [open_store(self.folder), open_store(self.folder)]
        self.sure = dict[int, set[tuple[int, ...]]]()  # prompts that are saved, by chat
        self.tried = dict[int, set[int]]()  # blocks that may be saved, by living chat
        self.dead = set[int]()  # blocks of deleted chats, maybe shared
        self.next_chat, self.next_block = 1, 10
        self.must_open = False  # before the promise holds again

    def teardown(self) -> None:
        for store in self.stores:
            store.close()

    def _name(self, chat: int) -> str:
        return f"chat {chat}" if chat else ""

    def _new_prompt(self, shared: int) -> tuple[int, ...]:
        self.next_block += 1
        return (shared, self.next_block)

    def _die(self, chats: list[int]) -> None:
        for chat in chats:
            self.dead |= self.tried.pop(chat, set())
            self.sure.pop(chat, None)

    def _living(self) -> list[str]:
        return [self._name(chat) for chat in self.tried if chat]

    @initialize(upgrade=st.booleans())
    def begin(self, upgrade: bool) -> None:
        if upgrade:
            for store in self.stores:
                store.close()
            shutil.rmtree(self.folder)
            shutil.copytree(OLD, self.folder)
            self.stores = [open_store(self.folder), open_store(self.folder)]
            self.sure = {0: {(5,)}, -1: {(1, 3), (1, 6)}, -2: {(1, 4)}}
            self.tried = {0: {5}, -1: {1, 3, 6}, -2: {1, 4}}
            self.dead = {2}
            self._name = lambda chat: {-1: "kept", -2: "deleted later"}.get(chat, f"chat {chat}" if chat else "")  # type: ignore[method-assign]

    @rule(data=st.data(), at=st.integers(0, 1), shared=st.integers(0, 2))
    def save(self, data: st.DataObject, at: int, shared: int) -> None:
        chat = data.draw(st.sampled_from([self.next_chat, 0, *self.tried]))
        self.next_chat += chat == self.next_chat
        blocks = self._new_prompt(shared)
        save(self.stores[at], prompt(*blocks), self._name(chat))
        self.tried.setdefault(chat, set()).update(blocks)
        self.sure.setdefault(chat, set()).add(blocks)

    def _some(self, data: st.DataObject) -> list[int]:
        return data.draw(st.lists(st.sampled_from([chat for chat in self.tried if chat]), min_size=1, max_size=3, unique=True))

    @precondition(lambda self: any(self.tried))
    @rule(data=st.data(), at=st.integers(0, 1), by_the_others=st.booleans())
    def forget(self, data: st.DataObject, at: int, by_the_others: bool) -> None:
        chats = self._some(data)
        gone = [self._name(chat) for chat in chats]
        self._die(chats)
        if by_the_others:
            self.stores[at].keep_only(self._living())
        else:
            self.stores[at].forget(*gone)

    @rule(at=st.integers(0, 1))
    def clear(self, at: int) -> None:
        self.stores[at].clear()
        self._die(list(self.tried))
        self.must_open = False
        assert {path.name for path in self.folder.iterdir()} <= {INDEX, f"{INDEX}-wal", f"{INDEX}-shm"}

    @rule(data=st.data(), what=st.sampled_from(["save", "forget", "clear"]), lines=st.integers(1, 450), shared=st.integers(0, 2))
    def kill(self, data: st.DataObject, what: str, lines: int, shared: int) -> None:
        blocks = self._new_prompt(shared)
        if what == "forget" and any(self.tried):
            chats = self._some(data)
        elif what == "clear":
            chats = list(self.tried)
        else:
            what, chats = "save", [data.draw(st.sampled_from([self.next_chat, *self.tried]))]
            self.next_chat += chats == [self.next_chat]
            self.tried.setdefault(chats[0], set()).update(blocks)
        self.killer.run(self.folder, lines, what, [self._name(chat) for chat in chats], prompt(*blocks))
        if what == "clear":
            self.sure.clear()  # some of it is still there, and belongs to living chats
        elif what == "forget":
            self._die(chats)
        self.must_open |= what != "clear"

    @rule(how=st.sampled_from([None, None, *SPOILED]), seed=st.integers(0, 99))
    def restart(self, how: str | None, seed: int) -> None:
        """Both programs end, maybe without closing the index, and the window opens the store first."""
        if how is not None:
            copy = self.folder.with_name(f"{self.folder.name} copy")
            shutil.copytree(self.folder, copy)  # as it is while programs use it
        for store in self.stores:
            store.close()
        if how is not None:
            shutil.rmtree(self.folder)
            copy.rename(self.folder)
            spoil_index(self.folder, how, random.Random(seed))
        self.stores = [open_store(self.folder), open_store(self.folder)]
        self.stores[0].keep_only(self._living())
        self.must_open = False

    @invariant()
    def nothing_is_left_of_deleted_chats(self) -> None:
        if not self.must_open:
            living = set().union(*self.tried.values())
            assert not blocks_on_disk(self.folder, self.dead - living)

    @invariant()
    def living_chats_keep_their_prompts(self) -> None:
        for blocks in (each for prompts in self.sure.values() for each in prompts):
            for store in self.stores:
                found = store.whole_parts(PAIR, prompt(*blocks))
                assert len(found) == len(blocks)
                assert all(store.path(part) for part in found)


@pytest.mark.parametrize("examples", [pytest.param(6, id="sample"), pytest.param(150, id="many", marks=pytest.mark.long)])
def test_deleted_chats_leave_nothing_and_others_keep_everything(examples, killer, tmp_path_factory):
    class Machine(Privacy):
        pass

    Machine.killer, Machine.folders = killer, tmp_path_factory
    run_state_machine_as_test(Machine, settings=sampled(examples, examples))


@pytest.mark.parametrize("how", SPOILED)
def test_owners_survive_the_loss_of_the_index(store, how):
    save(store, prompt(1, 2), "one")
    save(store, prompt(1, 3), "two")
    store.close()
    spoil_index(store.folder, how, random.Random(1))
    store = open_store(store.folder)
    store.forget("one")
    assert blocks_on_disk(store.folder, {1, 2, 3}) == {1, 3}
    store.close()


def test_an_upgrade_keeps_what_chats_own(tmp_path):
    """The old index was rebuilt once after a chat had saved blocks 1 and 2, so nobody owns block 2."""
    folder = tmp_path / "store"
    shutil.copytree(OLD, folder)
    assert blocks_on_disk(folder, {1, 2, 3, 4, 5, 6}) == {1, 2, 3, 4, 5, 6}
    store = open_store(folder)
    assert blocks_on_disk(folder, {1, 2, 3, 4, 5, 6}) == {1, 3, 4, 5, 6}
    store.forget("deleted later")
    assert blocks_on_disk(folder, {1, 2, 3, 4, 5, 6}) == {1, 3, 5, 6}
    store.forget("kept")
    assert blocks_on_disk(folder, {1, 2, 3, 4, 5, 6}) == {5}
    store.close()


def test_without_the_old_index_nobody_owns_old_files(tmp_path):
    folder = tmp_path / "store"
    shutil.copytree(OLD, folder)
    spoil_index(folder, "all deleted", random.Random(1))
    store = open_store(folder)
    assert not files(store)
    store.close()


@pytest.mark.parametrize("what", ["save", "forget", "keep_only"])
def test_a_kill_at_any_line(tmp_path, killer, what):
    """A sample of the lines of code that run. The last one leaves the process alive."""
    lines, left = 0, 1
    rng = random.Random(what)
    while left:
        lines += rng.randint(1, 40)
        folder = tmp_path / str(lines)
        store = open_store(folder)
        save(store, prompt(1, 2), "deleted")
        save(store, prompt(1, 3), "kept")
        store.close()
        chats = ["kept"] if what == "keep_only" else ["deleted"]
        left = killer.run(folder, lines, what, chats, prompt(1, 4)) == -1
        again = open_store(folder)
        again.forget("deleted")
        assert blocks_on_disk(folder, {1, 2, 3, 4}) == {1, 3}
        assert not list(folder.glob("*.unfinished"))
        again.close()


def test_opening_completes_a_deletion_that_has_begun(tmp_path, killer):
    """Without help from anyone who knows which chats were deleted."""
    store = open_store(tmp_path)
    save(store, prompt(1, 2), "deleted")
    save(store, prompt(1, 3), "kept")
    owners = set(tmp_path.glob("*.owner"))
    store.close()
    for lines in range(1, 1000):  # pragma: no branch
        assert killer.run(tmp_path, lines, "forget", ["deleted"], []) == -1
        if owners - set(tmp_path.glob("*.owner")):
            break
    assert blocks_on_disk(tmp_path, {2}) == {2}
    open_store(tmp_path).close()
    assert blocks_on_disk(tmp_path, {1, 2, 3}) == {1, 3}


@pytest.mark.parametrize("what", ["forget", "clear"])
def test_a_running_program_saves_again_what_a_killed_one_deleted(tmp_path, killer, what):
    """Files are deleted before the index is changed. Here the process is killed at a sample of the lines of code."""
    lines, left, gone = 0, 1, 0
    rng = random.Random(what)
    while left:
        lines += rng.randint(1, 20)
        store = open_store(tmp_path / str(lines))
        save(store, prompt(1, 2, 3), "deleted")
        left = killer.run(store.folder, lines, what, ["deleted"], []) == -1
        gone += left and len(files(store)) < 3
        save(store, prompt(1, 2, 3), "kept")
        found = store.whole_parts(PAIR, prompt(1, 2, 3))
        assert [store.path(part) is not None for part in found] == [True] * 3
        store.close()
    assert gone


def leftovers(folder: Path) -> list[Path]:
    names = [f"{'a' * 32}.{pid}.unfinished" for pid in (os.getpid(), 1, 0, 10**30, "x y", "owner")]
    names += [f"{'a' * 32}.{'b' * 32}-12345678.unfinished"]
    for name in names:
        (folder / name).write_bytes(struct.pack(f"<{BLOCK}I", *prompt(7)))
    return [folder / name for name in names]


@pytest.mark.parametrize("delete", ["open", "clear", "forget"])
def test_unfinished_files_of_killed_processes_are_deleted(store, delete):
    """Even if another process has the number of the killed one now."""
    save(store, prompt(1), "kept")
    if delete == "open":
        store.close()
    left = leftovers(store.folder)
    if delete == "open":
        open_store(store.folder).close()
    else:
        act(store, delete, ["deleted"], [])
    assert not [path for path in left if path.exists()]
    assert len(files(store)) == (delete != "clear")


def test_a_file_that_a_running_process_writes_is_finished(store, monkeypatch):
    """Opening the store, or deleting another chat, doesn't disturb it. Deleting its own chat, or everything, discards it."""
    change, happened = store._change, list[str]()

    def meanwhile(action, *given: Any) -> bool:
        if happened and list(store.folder.glob("*.unfinished")):
            other = open_store(store.folder)
            act(other, happened.pop(), ["one"], [])
            other.close()
        return change(action, *given)

    monkeypatch.setattr(store, "_change", meanwhile)
    for block, (what, chat, kept) in enumerate(
        [("nothing", "one", True), ("forget", "two", True), ("forget", "one", False), ("clear", "two", False)]
    ):
        happened.append(what)
        save(store, prompt(block), chat)
        assert not happened
        assert bool(blocks_on_disk(store.folder, {block})) is kept
        assert bool(store.whole_parts(PAIR, prompt(block))) is kept
        assert not list(store.folder.glob("*.unfinished"))


def test_chat_ids_are_not_on_disk(store):
    save(store, prompt(1), "0f8fad5b-d9cb-469f-a165-70867728950e")
    assert not any(b"0f8fad5b" in path.read_bytes() or "0f8fad5b" in path.name for path in store.folder.iterdir())


def test_a_chat_deleted_while_the_folder_is_read_only_is_deleted_later(store, monkeypatch):
    save(store, prompt(1, 2), "one")
    save(store, prompt(1, 3), "two")
    save(store, prompt(4), "")

    def fail(*given: object, **options: object) -> None:
        raise PermissionError("read-only")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fail)
        store.forget("one")
        assert not store.clear()
    assert blocks_on_disk(store.folder, {1, 2, 3, 4}) == {1, 2, 3, 4}
    store.keep_only(["two"])
    assert blocks_on_disk(store.folder, {1, 2, 3, 4}) == {1, 3, 4}


def test_an_index_deleted_under_a_running_process_is_built_again(store):
    save(store, prompt(1, 2), "one")
    for path in store.folder.glob(f"{INDEX}*"):
        path.unlink()
    save(store, prompt(1, 3), "two")
    store.forget("one")
    assert blocks_on_disk(store.folder, {1, 2, 3}) == {1, 3}
    assert len(store.whole_parts(PAIR, prompt(1, 3))) == 2


def test_a_closed_store_changes_nothing(store):
    save(store, prompt(1), "one")
    store.close()
    store.forget("one")
    save(store, prompt(2), "one")
    assert blocks_on_disk(store.folder, {1, 2}) == {1}


def test_owner_files_list_only_stored_parts(store):
    for block in range(5):
        save(store, prompt(block), "one")
    store.remove(store.whole_parts(PAIR, prompt(2)))
    store.close()
    again = open_store(store.folder)
    [owner] = store.folder.glob("*.owner")
    assert set(owner.read_text().split()) == {chain(PAIR, prompt(block))[0] for block in (0, 1, 3, 4)}
    again.clear()
    again.close()


@pytest.mark.long
def test_kills_at_any_time(tmp_path):
    """Real processes write, delete, and are killed at random moments, next to one that isn't killed."""
    rng = random.Random(7)
    code = """
import random, sys
from tests.mlx_engine.prefix.test_prefix_privacy import *
store, rng, number = open_store(Path(sys.argv[1])), random.Random(int(sys.argv[2])), int(sys.argv[2])
print("ready", flush=True)
while True:
    number += 1
    print("save", number, flush=True)
    save(store, prompt(0, number), f"{number}")
    if rng.random() < 0.5:
        print("forget", number, flush=True)
        store.forget(f"{number}")
        print("forgotten", number, flush=True)
"""
    words, living, dead, maybe = [sys.executable, "-c", code, str(tmp_path)], set[int](), set[int](), set[int]()
    neighbor = open_store(tmp_path)
    save(neighbor, prompt(0, 1), "neighbor")
    for attempt in range(30):
        process = subprocess.Popen([*words, str(100 + attempt * 10_000)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        for line in process.communicate()[0].splitlines():
            what, number = (*line.split(), "")[:2]
            if number.isdigit():
                block = int(number)
                for each in (living, dead, maybe):
                    each.discard(block)
                {"save": living, "forget": maybe, "forgotten": dead}[what].add(block)
        assert not blocks_on_disk(tmp_path, set(rng.sample(sorted(dead), min(len(dead), 30))))
        if attempt % 3 == 0:
            spoil_index(tmp_path, rng.choice(SPOILED), rng)
        again = open_store(tmp_path)  # the neighbor's index may have been spoiled under it, so it may find nothing
        assert not blocks_on_disk(tmp_path, set(rng.sample(sorted(dead), min(len(dead), 30))))
        assert again.path(again.whole_parts(PAIR, prompt(0, 1))[1])
        again.close()
    neighbor.keep_only([str(number) for number in living] + ["neighbor"])
    assert not blocks_on_disk(tmp_path, dead | maybe)
    assert neighbor.verify()[1] == 0
    neighbor.close()
