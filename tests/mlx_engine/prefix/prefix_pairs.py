"""Pairs of every kind of cache and drafter context, for tests of prompts kept in memory and on disk."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st

from mlx_engine.decoding import prefill
from mlx_engine.drafters.parts import context
from mlx_engine.engine.engine import Engine
from mlx_engine.prefix import disk, part
from tests.examples import SAMPLE
from tests.mlx_engine.conftest import GOLDEN, loaded, save_dspark, sliding

PROMPT = (73, 119, 51, 37, 73, 117, 82, 108, 70, 73, 52)
# Prompts that these pairs answer with a short text
SHORT = {
    "growing": (79, 78, 113, 48, 38, 41, 40, 102, 107),
    "dspark": (52, 22, 1, 57, 93, 9, 28, 41, 47),
    "eagle3": (67, 4, 101, 62, 16, 49, 78, 101, 64),
    "mtp": (45, 34, 58, 67, 33, 62, 70, 78, 70),
    "assistant": (13, 82, 83, 14, 34, 30, 81, 90, 90),
}
WORDS = st.lists(st.integers(3, 120), min_size=1, max_size=24)
# The recurrent target's drafter has windows alone, the others' layers are full but for "windows", where they are made to slide.
PAIRS = {
    "growing": "e2e_qwen3",
    "windows": "e2e_qwen3",
    "rotating": "e2e_gpt_oss",
    "recurrent": "e2e_qwen3_5",
    "dspark": "dspark_3",
    "eagle3": "eagle3_2",
    "mtp": "mtp_1",
    "assistant": "gemma4_assistant_2",
}
BLOCK = 8
LONGEST = 6 if SAMPLE else 40  # tokens of a drawn reply
STATES_EVERY = 3 * BLOCK


def on(fixture: str, *kinds: str) -> pytest.MarkDecorator:
    """Run a test on these kinds of pairs, and in `make test-all` on all of them."""
    params = [pytest.param(kind, marks=[] if kind in kinds else [pytest.mark.long]) for kind in PAIRS]
    return pytest.mark.parametrize(fixture, params, indirect=True, scope="module")


@contextmanager
def running(kind: str, folder: Path) -> Iterator[Engine]:
    """Run an engine with a tiny pair. Chunks, parts, and contexts are short, so that short chats see what long ones do.

    Args:
        kind: one of `PAIRS`.
        folder: for files of the pair.
    """
    pair = GOLDEN / PAIRS[kind]
    changed = {"windows": partial(sliding, pair / "drafter"), "dspark": save_dspark}.get(kind)
    drafter = changed(folder / "drafter") if changed else pair / "drafter"
    engine = loaded(pair / "target", drafter)
    with pytest.MonkeyPatch.context() as patch:
        for module in (part, disk):
            patch.setattr(module, "BLOCK", BLOCK)
        patch.setattr(disk, "STATES_EVERY", STATES_EVERY)
        patch.setattr(disk, "_LEAST_GAIN", 1)
        patch.setattr(prefill, "CHUNK", BLOCK)
        patch.setattr(context, "_STEP", BLOCK)
        yield engine
    engine.unload()


def save(engine: Engine) -> None:
    """Save everything."""
    while (wait := engine.save_next()) is not None:
        time.sleep(wait)
    saved = engine.snapshots.disk
    assert saved is not None
    saved._writer.flush(60)


def begin(engine: Engine, folder: Path, quota: int | None = None) -> None:
    """Forget what is in memory, and open the store as the next process does."""
    engine.free_memory()
    engine.save_prompts(folder, quota)


def restart(engine: Engine, folder: Path) -> None:
    """Save everything, then begin with nothing in memory."""
    save(engine)
    begin(engine, folder)
