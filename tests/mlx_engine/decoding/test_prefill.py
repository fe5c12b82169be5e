"""Chunks of a prompt: short enough for every GPU, as long as this one allows, and of no influence on the text."""

from collections.abc import Iterator
from itertools import accumulate, cycle
from types import SimpleNamespace

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.decoding.prefill import Pace, prefill, safe_rows
from mlx_engine.engine import generation
from mlx_engine.loading import loaded_pair
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PROMPT = [3 + 7 * at % 100 for at in range(150)]


class Chip:
    """A target that computes nothing. Its chunks take as long as reading the weights, or as their arithmetic on a chip.

    Args:
        operations: per row, without attention; twice as many after `depth` tokens.
        speed: of the chip, in those of an M1.
    """

    def __init__(self, operations: float, speed: float, depth: int) -> None:
        self.operations, self.rate, self.bandwidth, self.depth = operations, 2e12 * speed, 60e9 * speed, depth
        self.now = 0.0
        self.chunks = list[tuple[int, float]]()  # rows, seconds

    def seconds(self, rows: int, start: int) -> float:
        """A weight takes 2 operations and half a byte."""
        arithmetic = rows * self.operations * (1 + (start + rows) / self.depth) / self.rate
        return max(self.operations / 4 / self.bandwidth, arithmetic)

    def forward(self, chunk: mx.array, caches: SimpleNamespace, images: None) -> None:
        self.chunks.append((chunk.size, self.seconds(chunk.size, caches.length)))
        self.now += self.chunks[-1][1]
        caches.length += chunk.size

    def prefill(self, pace: Pace, length: int, start: int = 0, stops: tuple[int, ...] = ()) -> list[int]:
        """Return the ends of the chunks."""
        caches = SimpleNamespace(length=start, state=[])
        return list(prefill(self, caches, [0] * length, None, None, stops, pace))


def paced(chip: Chip) -> Pace:
    return Pace(safe_rows(round(chip.operations)), adapts=True, clock=lambda: chip.now)


# Targets of 0.5 to 27 billion parameters, on an M1 and on faster chips
CHIPS = st.builds(Chip, st.sampled_from([1e9, 8e9, 16e9, 54e9]), st.sampled_from([1, 2.5, 7, 40]), st.integers(20_000, 100_000))


@given(chip=CHIPS, prompts=st.lists(st.integers(1, 6000), min_size=1, max_size=4))
def test_no_chunk_takes_much_longer_than_a_second_on_any_chip(chip, prompts):
    """Prompts of one chat, each computed from the end of the one before. 512 tokens further, attention takes slightly longer."""
    pace, start = paced(chip), 0
    for length in prompts:
        chip.prefill(pace, start + length, start)
        start += length - 1
    assert max((seconds for _, seconds in chip.chunks), default=0.0) < 1.25


@given(chip=CHIPS)
def test_chunks_grow_to_the_largest_size_that_takes_at_most_a_second(chip):
    pace = paced(chip)
    chip.prefill(pace, 8193)
    rows, _ = max(chip.chunks[len(chip.chunks) // 2 :])
    assert rows == PREFILL_ROWS or chip.seconds(2 * rows, 8192) > 1
    assert rows >= 16 and rows.bit_count() == 1


def test_short_prompts_do_not_shorten_later_chunks():
    """Their time is that of reading the weights."""
    chip = Chip(1.6e10, 7, 50_000)
    pace = paced(chip)
    chip.prefill(pace, 2049)
    for start in range(2048, 2058, 2):
        chip.prefill(pace, start + 3, start)
    chip.prefill(pace, 4097, 3072)
    assert [rows for rows, _ in chip.chunks[-7:]] == [2, 2, 2, 2, 2, 512, 512]


def test_a_chunk_that_failed_is_shorter_the_next_time():
    pace, exact = Pace(256, adapts=True), Pace(256)
    for each in (pace, exact):
        with pytest.raises(RuntimeError), each.timed(256):
            raise RuntimeError("Impacting Interactivity")
    assert (pace.rows, exact.rows) == (128, 256)


def test_the_first_chunk_is_safe_on_an_m1():
    rows = {27: 32, 8: 64, 4: 128, 1: 512}
    assert {size: safe_rows(int(2e9 * size)) for size in rows} == rows


@given(
    new=st.integers(0, 3000),
    start=st.integers(0, 1000),
    stops=st.sets(st.integers(1, 4000), max_size=4),
    seconds=st.lists(st.floats(0, 5), min_size=1, max_size=8),
    rows=st.sampled_from([16, 64, 512]),
)
def test_chunks_end_at_every_stop_and_every_multiple_of_the_largest_size(new, start, stops, seconds, rows):
    length = start + 1 + new
    chip, times = Chip(1e9, 1, 1000), accumulate(cycle(seconds))
    pace = Pace(rows, adapts=True, clock=lambda: next(times))
    ends = chip.prefill(pace, length, start, tuple(stops))
    assert ends == sorted(set(ends)) and ends[-1:] == ([length - 1] if new else [])
    wanted = {*stops, *range(0, length, PREFILL_ROWS)}
    assert {end for end in wanted if start < end < length} <= set(ends)
    assert all(end - start <= PREFILL_ROWS for start, end in zip([start, *ends], ends, strict=False))


@given(seconds=st.lists(st.floats(0, 5), min_size=1, max_size=8), rows=st.sampled_from([16, 64, 512]))
def test_the_size_of_exact_prompts_chunks_does_not_follow_the_time(seconds, rows):
    times = accumulate(cycle(seconds))
    ends = Chip(1e9, 1, 1000).prefill(Pace(rows, clock=lambda: next(times)), 2000)
    assert ends == [*range(rows, 1999, rows), 1999]


@pytest.fixture(scope="module", params=["tiny", "tiny2"])
def engine(request) -> Iterator:
    engine = request.getfixturevalue(request.param)
    usual = engine.pair.pace
    yield engine
    engine.pair.pace = usual


@sampled(3)
@given(
    seconds=st.lists(st.sampled_from([0.01, 0.1, 0.5, 3.0]), min_size=1, max_size=5),
    temperature=st.sampled_from([0.0, 0.8]),
    mode=st.sampled_from(["dflash", "plain"]),
)
def test_the_text_does_not_depend_on_the_chunks(engine, seconds, temperature, mode):
    asked = tokens(PROMPT, temperature, seed=5, mode=mode, width=8 if mode == "dflash" else None, max_tokens=12, ignore_eos=True)
    engine.pair.pace = Pace()
    want, times = reply(engine, asked), accumulate(cycle(seconds))
    engine.pair.pace = Pace(16, adapts=True, clock=lambda: next(times))
    got = reply(engine, asked)
    assert (got.tokens, got.stats.accepted_per_round) == (want.tokens, want.stats.accepted_per_round)


@pytest.mark.parametrize("exact", [False, True])
def test_a_reply_uses_the_pace_of_its_kind(engine, exact, monkeypatch):
    used = list[Pace]()
    monkeypatch.setattr(generation, "prefill", lambda *given: used.append(given[6]) or prefill(*given))
    reply(engine, tokens(PROMPT[:20], max_tokens=1, exact=exact))
    assert used == [engine.pair.exact_pace if exact else engine.pair.pace]
    assert used[0] is (engine.pair.exact_pace if exact else engine.pair.pace)


@pytest.mark.parametrize("on_gpu", [False, True])
def test_chunks_follow_the_time_only_on_a_gpu(on_gpu, monkeypatch):
    monkeypatch.setattr(loaded_pair, "device", SimpleNamespace(runs_beside_host=lambda: on_gpu))
    monkeypatch.setattr(loaded_pair, "safe_rows", lambda operations: 64)
    pair = loaded(GOLDEN / "e2e_qwen3" / "target", None).pair
    assert (pair.pace.adapts, pair.pace.rows) == (on_gpu, 64 if on_gpu else PREFILL_ROWS)
    assert (pair.exact_pace.adapts, pair.exact_pace.rows) == (False, pair.pace.rows)
