"""Prompts read from disk change nothing but the time, for every kind of cache and of drafter context."""

import dataclasses
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine import generation
from mlx_engine.decoding import prefill
from mlx_engine.drafters import context
from mlx_engine.engine import Engine
from mlx_engine.prefix import disk, store
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.test_prefix import PAIRS, PROMPT, WORDS, sliding
from tests.mlx_engine.test_prefix_store import damage

BLOCK = 8


@pytest.fixture(scope="module", params=list(PAIRS))
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    """An engine with short parts, so that short chats see what long ones do."""
    folder = GOLDEN / PAIRS[request.param]
    drafter = folder / "drafter"
    if request.param == "windows":
        drafter = sliding(drafter, tmp_path_factory.mktemp("windows") / "drafter")
    made = loaded(folder / "target", drafter)
    with pytest.MonkeyPatch.context() as patch:
        for module in (store, disk):
            patch.setattr(module, "BLOCK", BLOCK)
        for module in (generation, disk):
            patch.setattr(module, "STATES_EVERY", 3 * BLOCK)
        patch.setattr(disk, "_LEAST_GAIN", 1)
        patch.setattr(prefill, "CHUNK", BLOCK)
        patch.setattr(context, "_STEP", BLOCK)
        yield made
    made.unload()


def save(engine: Engine) -> None:
    """Save everything."""
    while (wait := engine.save_next()) is not None:
        time.sleep(wait)
    saved = engine.snapshots.disk
    assert saved is not None
    saved._writer.close(60)
    saved._writer._thread = None


def restart(engine: Engine, folder: Path) -> None:
    """Forget what is in memory, and open the store as the next process does."""
    save(engine)
    engine.free_memory()
    engine.save_prompts(folder)


@sampled(2)
@given(data=st.data())
def test_a_chat_is_the_same_after_restarts(engine, data, tmp_path_factory):
    """Turns, edits, regenerations, and chats with the same beginning, with another process that uses the same store."""
    folder = tmp_path_factory.mktemp("store")
    engine.free_memory()
    engine.save_prompts(folder)
    other = store.PrefixStore(folder)
    head = data.draw(WORDS, "head")
    prompt = head + data.draw(WORDS, "first question")
    for turn in range(data.draw(st.integers(2, 5), "turns")):
        request = tokens(
            prompt,
            data.draw(st.sampled_from([0.0, 0.0, 0.8]), "temperature"),
            seed=data.draw(st.integers(0, 99), "seed"),
            mode=data.draw(st.sampled_from(["dflash", "dflash", "plain"]), "mode"),
            width=data.draw(st.sampled_from([engine.pair.info.block_size, 3]), "width"),
            max_tokens=data.draw(st.integers(1, 40), "limit"),
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
    check = store.PrefixStore(folder)
    assert check.verify()[1] == 0
    check.close()
    engine.save_prompts(None)


def test_the_next_turn_after_a_restart_computes_only_new_tokens(engine, tmp_path):
    engine.free_memory()
    engine.save_prompts(tmp_path)
    first = reply(engine, tokens(PROMPT * 7, max_tokens=20, ignore_eos=True, reuse=True))
    restart(engine, tmp_path)
    prompt = [*PROMPT * 7, *first.tokens, 5, 6, 7]
    stats = reply(engine, tokens(prompt, max_tokens=1, reuse=True)).stats
    assert stats.disk_tokens == stats.reused_tokens >= len(prompt) - 4
    engine.save_prompts(None)


def test_a_private_chat_leaves_nothing_on_disk(engine, tmp_path):
    engine.free_memory()
    engine.save_prompts(tmp_path)
    reply(engine, tokens(PROMPT * 7, max_tokens=20, reuse=True, private=True))
    assert engine.save_next() is None
    assert not list(tmp_path.glob("*.safetensors"))
    engine.save_prompts(None)


@sampled(2)
@given(seed=st.integers(0, 999), faults=st.lists(st.sampled_from(["flip", "cut", "delete", "swap"]), min_size=1, max_size=3))
def test_damaged_files_never_change_a_token(engine, seed, faults, tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("store"), random.Random(seed)
    engine.free_memory()
    engine.save_prompts(folder)
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
    engine.save_prompts(None)
    assert store.PrefixStore(folder).verify()[1] <= len(faults) * 2
