"""Prompts read from disk change nothing but the time, for every kind of cache and of drafter context."""

import dataclasses
import gc
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import PromptsSaved
from mlx_engine.contract.requests import ForgetPrompts
from mlx_engine.drafters.gemma4_assistant.config import AssistantConfig
from mlx_engine.engine.engine import Engine
from mlx_engine.prefix import disk
from mlx_engine.prefix.branch import Branch
from mlx_engine.prefix.part import SavedPart
from mlx_engine.prefix.part_store import PrefixStore
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.engine.test_turns import begin as start
from tests.mlx_engine.prefix.prefix_pairs import LONGEST, PAIRS, PROMPT, STATES_EVERY, WORDS, begin, on, restart, running, save
from tests.mlx_engine.prefix.prefix_process import QUOTA
from tests.mlx_engine.prefix.saved_parts import damage

# What depends little on the kind of caches and contexts is tested with some of them
in_few = on("engine", "growing", "rotating", "recurrent", "dspark", "assistant")
in_two = on("engine", "growing", "recurrent")
in_one = on("engine", "recurrent")


@pytest.fixture(scope="module", params=list(PAIRS))
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as engine:
        yield engine


@sampled(2)
@given(data=st.data())
def test_a_chat_is_the_same_after_restarts(engine, data, tmp_path_factory):
    """Turns, edits, regenerations, and chats with the same beginning, with another process that uses the same store."""
    folder = tmp_path_factory.mktemp("store")
    begin(engine, folder)
    other = PrefixStore(folder)
    head = data.draw(WORDS, "head")
    prompt = head + data.draw(WORDS, "first question")
    for turn in range(data.draw(st.integers(2, 5), "turns")):
        request = tokens(
            prompt,
            data.draw(st.sampled_from([0.0, 0.0, 0.8]), "temperature"),
            seed=data.draw(st.integers(0, 99), "seed"),
            mode=data.draw(st.sampled_from(["dflash", "dflash", "plain"]), "mode"),
            width=data.draw(st.sampled_from([engine.pair.info.block_size, 3]), "width"),
            max_tokens=data.draw(st.integers(1, LONGEST), "limit"),
            ignore_eos=True,
        )
        expected, got = reply(engine, request), reply(engine, dataclasses.replace(request, reuse=True, chat=str(turn % 2)))
        assert got.tokens == expected.tokens
        assert got.stats.accepted_per_round == expected.stats.accepted_per_round
        assert got.stats.widths == expected.stats.widths
        match data.draw(st.sampled_from(["restart", "restart", "keep", "clear", "forget"]), "then"):
            case "restart":
                restart(engine, folder)
            case "clear":
                other.clear()
            case "forget":
                other.forget("0")
        match data.draw(st.sampled_from(["next turn", "next turn", "edit", "regenerate", "another chat"]), "then ask"):
            case "next turn":
                prompt = prompt + list(got.tokens) + data.draw(WORDS, "question")
            case "edit":
                prompt = prompt[: data.draw(st.integers(1, len(prompt)), "kept")] + data.draw(WORDS, "edited")
            case "another chat":
                prompt = head + data.draw(WORDS, "another question")
    save(engine)
    other.close()
    check = PrefixStore(folder)
    assert check.verify()[1] == 0
    check.close()


@in_two
def test_what_is_left_of_a_prompt_is_read_if_a_part_was_deleted_since_it_was_found(engine, tmp_path):
    begin(engine, tmp_path)
    reply(engine, tokens(PROMPT * 6, max_tokens=3, reuse=True, chat="one", ignore_eos=True))
    restart(engine, tmp_path)
    keys = [*PROMPT * 6, 5]
    known = engine.snapshots.known(keys, "one")
    engine.snapshots.disk._store.remove([known.stored.parts[-1]])
    found = engine.snapshots.take(keys, "one", known=known)
    assert 0 < found.reused < known.length and found.reused == engine.snapshots.take(keys, "one").reused


@in_two
@pytest.mark.parametrize("declined", [False, True])
def test_the_disk_is_searched_once_for_a_request_next_to_others(engine, tmp_path, monkeypatch, declined):
    begin(engine, tmp_path)
    request = tokens(PROMPT * 4, max_tokens=3, reuse=True, chat="one", ignore_eos=True)
    expected = reply(engine, request)
    restart(engine, tmp_path)
    searched: list[Any] = []

    def find(self: disk.DiskPrefixes, *args: Any) -> disk.StoredPrefix | None:
        searched.append(None if declined else search(self, *args))
        return searched[-1]

    search = disk.DiskPrefixes.find
    monkeypatch.setattr(disk.DiskPrefixes, "find", find)
    other = start(engine, tokens(PROMPT[::-1] * 4, max_tokens=3, reuse=True, private=True, ignore_eos=True))
    other.step()
    again = start(engine, request)
    while not (other.ended and again.ended):
        other.step()
        again.step()
    assert again.whole.tokens == expected.tokens
    assert len(searched) == 1 and (again.whole.stats.disk_tokens > 0) != declined


@on("engine", "growing", "rotating", "recurrent")
@sampled(2)
@given(data=st.data())
def test_restarts_leave_no_old_ends_on_disk(engine, data, tmp_path_factory):
    head, kept = data.draw(WORDS, "head"), list[set[str]]()
    turns = data.draw(st.lists(st.tuples(WORDS, st.booleans()), min_size=2, max_size=6), "questions, and what restarts follow")
    for restarts in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(disk.DiskPrefixes, "_measure", lambda *amount: None)  # what is stored is read, however long that takes
            begin(engine, folder := tmp_path_factory.mktemp("store"))
            prompt = head
            for question, is_restart in turns:
                prompt = prompt + question
                # With one width, the end that is stored doesn't depend on the time of passes
                got = reply(engine, tokens(prompt, max_tokens=5, width=4, ignore_eos=True, reuse=True, chat="chat"))
                prompt = prompt + list(got.tokens)
                save(engine)
                if restarts and is_restart:
                    begin(engine, folder)
        kept.append({path.name[:32] for path in folder.glob("*.safetensors")})
    # The position that was read has a mark in memory, so that it can be one of the two ends that stay
    assert len(kept[1] - kept[0]) <= engine.snapshots.needs_marks


@in_few
def test_turns_that_follow_before_anything_is_saved_leave_no_old_ends_on_disk(engine, tmp_path):
    kept = list[set[str]]()
    for name, saved in (("each", True), ("last", False)):
        begin(engine, folder := tmp_path / name)
        prompt = PROMPT * 3
        for turn in range(4):
            got = reply(engine, tokens(prompt, max_tokens=5, width=4, ignore_eos=True, reuse=True, chat="chat"))
            prompt = [*prompt, *got.tokens, 5 + turn, 6]
            if saved or turn in (0, 3):
                save(engine)
        kept.append({path.name[:32] for path in folder.glob("*.safetensors")})
    assert kept[1] <= kept[0]


@in_few
def test_the_next_turn_after_a_restart_computes_only_new_tokens(engine, tmp_path):
    begin(engine, tmp_path)
    first = reply(engine, tokens(PROMPT * 7, max_tokens=20, ignore_eos=True, reuse=True))
    restart(engine, tmp_path)
    prompt = [*PROMPT * 7, *first.tokens, 5, 6, 7]
    stats = reply(engine, tokens(prompt, max_tokens=1, reuse=True)).stats
    assert stats.disk_tokens == stats.reused_tokens >= len(prompt) - 4


@on("engine", "rotating", "recurrent")
def test_states_that_memory_no_longer_holds_are_not_saved(engine, tmp_path):
    begin(engine, tmp_path)
    prompt = PROMPT * 7
    reply(engine, tokens(prompt, max_tokens=9, ignore_eos=True, reuse=True))
    (branch,) = engine.snapshots._branches
    positions = {*branch.marks, len(prompt)}
    while branch.marks:
        engine.free_memory(1)
    save(engine)
    for at in positions:
        begin(engine, tmp_path)
        request = tokens([*prompt[:at], 5, 6, 7], width=4, max_tokens=9, ignore_eos=True)
        expected, got = reply(engine, request), reply(engine, dataclasses.replace(request, reuse=True))
        assert got.tokens == expected.tokens
        assert got.stats.accepted_per_round == expected.stats.accepted_per_round


@in_one
def test_a_private_chat_leaves_nothing_on_disk(engine, tmp_path):
    begin(engine, tmp_path)
    reply(engine, tokens(PROMPT * 7, max_tokens=20, reuse=True, private=True))
    assert engine.save_next() is None
    assert not list(tmp_path.glob("*.safetensors"))


@in_two
def test_only_the_shared_beginning_of_a_chat_is_read(engine, tmp_path):
    """Of 32 parts, the first three. All others are damaged, and would be deleted if they were read."""
    begin(engine, tmp_path)
    prompt = list(PROMPT * 24)[: 32 * 8]
    reply(engine, tokens(prompt, max_tokens=1, reuse=True))
    save(engine)
    parts = list(engine.snapshots.disk._store._all())
    later = [part for part in parts if part.end > STATES_EVERY]
    for part in later:
        damage(tmp_path / part.file_name, "flip", random.Random(part.key))
    restart(engine, tmp_path)
    request = tokens([*prompt[:STATES_EVERY], 5, 6, 7], max_tokens=9, ignore_eos=True)
    expected, got = reply(engine, request), reply(engine, dataclasses.replace(request, reuse=True))
    assert got.tokens == expected.tokens
    assert got.stats.disk_tokens == STATES_EVERY
    assert all((tmp_path / part.file_name).exists() for part in later)


@on("engine", "recurrent", "assistant")
def test_reading_takes_hardly_more_memory_than_what_is_read(engine, tmp_path):
    begin(engine, tmp_path)
    prompt = PROMPT * 40
    reply(engine, tokens(prompt, max_tokens=1, reuse=True))
    restart(engine, tmp_path)
    branch, saved = engine.snapshots.new_branch(prompt), engine.snapshots.disk
    found = saved.find(prompt, 0)
    gc.collect()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    assert saved.load(found, branch)
    # Of an assistant's pair, one array is almost half of all
    most = 1.65 if isinstance(engine.pair.drafter.config, AssistantConfig) else 1.5
    assert mx.get_peak_memory() - before <= most * (mx.get_active_memory() - before)


@in_one
def test_a_prompt_is_read_only_if_that_is_faster_than_computing_it(engine, tmp_path):
    begin(engine, tmp_path)
    request = tokens(PROMPT * 7, max_tokens=9, ignore_eos=True, reuse=True)
    first, count = reply(engine, request), len(PROMPT * 7) - 1
    save(engine)
    store = PrefixStore(tmp_path)

    def read_tokens() -> int:
        """Return how many tokens are read after a restart."""
        restart(engine, tmp_path)
        got = reply(engine, request)
        assert got.tokens == first.tokens
        return got.stats.disk_tokens

    assert read_tokens() == count  # nothing is measured yet
    store.note(disk._READ_RATE, 1e15)
    size = sum(part.bytes for part in engine.snapshots.disk.find(request.prompt_tokens, 0).parts)
    for computed_per_s, expected in ((0.5 * count, count), (2.0 * count, 0), (1.05 * count, 0)):
        store.note(disk._READ_RATE, size)  # reading takes a second
        store.note(engine.snapshots.disk._prefill_fact, computed_per_s)
        assert read_tokens() == expected
    store.note(engine.snapshots.disk._prefill_fact, 1.05 * count)
    assert read_tokens() == count  # a disk that was a little too slow is tried again


def test_states_at_the_end_of_a_long_system_prompt_are_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(disk, "BLOCK", 256)  # other tests' engines have small ones
    monkeypatch.setattr(disk, "STATES_EVERY", 4096)
    marks = dict.fromkeys((4096, 5000, 5500, 6000, 6100))  # 5000 is the end of the system prompt
    caches = SimpleNamespace(length=6100)
    branch: Any = SimpleNamespace(caches=caches, context=None, tokens=list(range(6100)), marks=marks, first_states=0)
    parts, ends = disk.DiskPrefixes(PrefixStore(tmp_path, 10**9), "f" * 32, True)._parts(branch)
    states = [part for part in parts if part.has_states]
    assert [part.end for part in states] == [4096, 5000, 6000, 6100]
    assert ends == tuple(part.key for part in states[2:])


@pytest.mark.parametrize("dtype", disk._DTYPES)
def test_every_number_is_stored_as_it_is(tmp_path, dtype):
    raw = mx.array(list(random.Random(1).randbytes(2 * 3 * 8 * 8 * 8)), mx.uint8)
    array = (raw > 127 if dtype == mx.bool_ else raw.view(dtype)).reshape(2, 3, 8, -1)
    caches = SimpleNamespace(rows=lambda start, end: [array[:, :, start:end], array[:, 1:, start:end]])
    part = SavedPart.of("f" * 32, "f" * 32, 2, (1, 2, 3), False)
    store = PrefixStore(tmp_path, 10**9, keep_free=0)
    saved = disk.DiskPrefixes(store, part.pair, False)
    assert store.add(part, *saved._copy(cast(Branch, SimpleNamespace(caches=caches, context=None)), part))
    [path] = tmp_path.glob("*.safetensors")
    found: Any = mx.load(str(path))
    for name, expected in zip(("rows.0", "rows.1"), caches.rows(2, 5), strict=True):
        assert found[name].dtype == dtype and found[name].shape == expected.shape
        assert mx.array_equal(*(mx.contiguous(each).view(mx.uint8) for each in (found[name], expected))).item()


@on("engine", "growing", "rotating", "recurrent")
@sampled(2)
@given(seed=st.integers(0, 999), faults=st.lists(st.sampled_from(["flip", "cut", "delete", "swap"]), min_size=1, max_size=3))
def test_damaged_files_never_change_a_token(engine, seed, faults, tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("store"), random.Random(seed)
    begin(engine, folder)
    first = reply(engine, tokens(PROMPT * 5, max_tokens=20, ignore_eos=True, reuse=True))
    restart(engine, folder)
    for fault in faults:
        path, other = (rng.choice(sorted(folder.glob("*.safetensors"))) for _ in range(2))
        match fault:
            case "delete":
                path.unlink()
            case "swap":
                both = path.read_bytes(), other.read_bytes()
                other.write_bytes(both[0])
                path.write_bytes(both[1])
            case _:
                damage(path, fault, rng)
    request = tokens([*PROMPT * 5, *first.tokens, 5, 6, 7], max_tokens=20, ignore_eos=True)
    expected, got = reply(engine, request), reply(engine, dataclasses.replace(request, reuse=True))
    assert got.tokens == expected.tokens
    save(engine)
    assert PrefixStore(folder).verify()[1] <= len(faults) * 2


@pytest.mark.long
@pytest.mark.parametrize("kind", PAIRS)
def test_two_processes_use_a_store_at_the_same_time(kind, tmp_path):
    """They write, read, delete what doesn't fit, and forget chats, and their replies are those of fresh runs."""
    folder, processes = tmp_path / "store", []
    for seed in ("1", "2"):
        (pair := tmp_path / seed).mkdir()
        words = [sys.executable, "-m", "tests.mlx_engine.prefix.prefix_process", kind, str(pair), str(folder), seed]
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=Path(__file__).parents[3]))
    assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        happened = json.loads(output)
        assert happened["read"] and happened["forgotten"]
        assert happened["seen"] > QUOTA
        assert not errors
    store = PrefixStore(folder, QUOTA, keep_free=0)
    assert store.use().bytes == sum(path.stat().st_size for path in folder.glob("*.safetensors")) <= QUOTA
    assert store.verify()[1] == 0


@in_two
def test_a_private_chat_that_continues_a_branch_writes_nothing_of_it(engine, tmp_path):
    """It comes before the other chat is saved, and its rows replace some of that chat's."""
    public, own = [*PROMPT * 6, *range(30, 42)], [*PROMPT * 6, *range(60, 72)]
    names = list[set[str]]()
    for interrupted in (False, True):
        begin(engine, folder := tmp_path / str(interrupted))
        reply(engine, tokens(public, max_tokens=1, reuse=True, chat="public"))
        if interrupted:
            reply(engine, tokens(own, max_tokens=1, reuse=True, private=True))
        save(engine)
        names.append({path.name for path in folder.glob("*.safetensors")})  # they contain checksums
    assert names[1] <= names[0]


def test_what_is_not_written_yet_of_a_deleted_chat_never_is():
    started, goes_on, written = threading.Event(), threading.Event(), list[str]()

    def add(part: object, header: object, buffers: object, chat: str, replaces: object, use: int) -> bool:
        started.set()
        assert goes_on.wait(60)
        written.append(chat)
        return True

    writer = disk._Writer(cast(PrefixStore, SimpleNamespace(add=add)))
    for chat in ("gone", "kept", "gone", "kept"):
        writer.write(disk._Written(SavedPart.of("f" * 32, "f" * 32, 0, (1,), False), {}, [b"x"], chat, (), 1, threading.Event()))
    assert started.wait(60)
    deleting = threading.Thread(target=writer.forget, args=({"gone"},))
    deleting.start()
    deleting.join(0.05)
    assert deleting.is_alive()  # the first part is being written
    goes_on.set()
    deleting.join(60)
    writer.close(60)
    assert written == ["gone", "kept", "kept"]


@in_one
def test_deleting_a_chat_leaves_nothing_that_waited_to_be_written(engine, tmp_path, monkeypatch):
    began, goes_on, add = threading.Event(), threading.Event(), PrefixStore.add

    def slow(*given: Any) -> bool:
        began.set()
        assert goes_on.wait(60)
        return add(*given)

    begin(engine, tmp_path)
    monkeypatch.setattr(PrefixStore, "add", slow)
    reply(engine, dataclasses.replace(tokens([*PROMPT * 4], max_tokens=1, reuse=True), chat="gone"))
    while engine.save_next() is not None:
        pass
    assert began.wait(60) and engine.snapshots.disk is not None
    later = threading.Timer(0.1, goes_on.set)  # deleting waits for the part that is being written
    later.start()
    engine.forget_prompts(("gone",))
    engine.snapshots.disk._writer.flush(60)
    assert not list(tmp_path.glob("*.safetensors"))
    later.join()


@in_two
def test_a_chat_larger_than_the_quota_is_not_written_again_each_turn(engine, tmp_path, monkeypatch):
    prompt, written, add = [*PROMPT * 12], list[str](), PrefixStore.add
    begin(engine, tmp_path / "all")
    reply(engine, tokens(prompt, max_tokens=1, reuse=True))
    save(engine)
    quota = sum(path.stat().st_size for path in (tmp_path / "all").glob("*.safetensors")) // 2

    def note(store: PrefixStore, part: SavedPart, *about: Any) -> bool:
        if stored := add(store, part, *about):
            written.append(part.key)
        return stored

    monkeypatch.setattr(PrefixStore, "add", note)
    begin(engine, tmp_path / "half", quota)
    for turn in range(4):
        got = reply(engine, tokens(prompt, max_tokens=3, ignore_eos=True, reuse=True))
        prompt += [*got.tokens, *range(20 + turn, 30)]
        save(engine)
    assert len(written) == len(set(written))
    begin(engine, tmp_path / "half")
    assert reply(engine, tokens(prompt, max_tokens=1, reuse=True)).stats.disk_tokens >= STATES_EVERY


@in_one
def test_the_last_turn_of_another_chat_stays_on_disk(engine, tmp_path):
    """A second chat with a common beginning continues the first one's branch in memory."""
    begin(engine, tmp_path)
    first, second = [*PROMPT * 6, *range(30, 42)], [*PROMPT * 6, *range(60, 72)]
    reply(engine, tokens(first, max_tokens=1, reuse=True, chat="first"))
    save(engine)
    before = set(tmp_path.glob("*.safetensors"))
    reply(engine, tokens(second, max_tokens=1, reuse=True, chat="second"))
    save(engine)
    assert before <= set(tmp_path.glob("*.safetensors"))


@in_one
@pytest.mark.parametrize("deleted", ["first", "second"])
def test_a_beginning_saved_for_two_chats_at_once_outlives_either(engine, tmp_path, deleted):
    """Both replies end before anything is saved."""
    begin(engine, tmp_path)
    prompts = {"first": [*PROMPT * 6, *range(30, 70)], "second": [*PROMPT * 6, *range(70, 110)]}
    for chat, prompt in prompts.items():
        reply(engine, tokens(prompt, max_tokens=1, reuse=True, chat=chat))
    save(engine)
    engine.forget_prompts((deleted,))
    begin(engine, tmp_path)
    (kept,) = prompts.keys() - {deleted}
    assert reply(engine, tokens(prompts[kept], max_tokens=1, reuse=True)).stats.disk_tokens == len(prompts[kept]) - 1


def test_the_engine_reports_that_not_everything_could_be_deleted(tmp_path):
    engine, folder = Engine(), tmp_path / "store"

    def undeleted(chats: tuple[str, ...] | None) -> bool:
        (event,) = engine.run(ForgetPrompts(chats), threading.Event())
        assert isinstance(event, PromptsSaved)
        return event.undeleted

    assert not undeleted(None)
    engine.save_prompts(folder)
    assert not undeleted(None)
    folder.rename(tmp_path / "disconnected")
    assert undeleted(None) and not undeleted(())
    engine.save_prompts(None)
