"""The text equals plain decoding's for every family, drafter, width, way to sample, and way to run rounds.

`make test` tries a few points for each pair, which together cover every two values. `make test-all` tries every width with every
way to sample, and copies with every family. The tests use the reference BLAS of MLX's wheel, with which passes of 1 and of n rows
agree bit for bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.costs import ASSUMED, PLAIN_STEP, PassKind
from mlx_engine.drafters.parts.draft_requests import Block
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import device
from mlx_engine.kernels import operations
from tests.examples import SAMPLE
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.decoding.test_schedules import check
from tests.mlx_engine.engine.test_turns import together
from tests.mlx_engine.targets.test_families import draw
from tests.mlx_engine.tiny_families import CONFIGS, FAMILIES, VOCABULARY, save, save_drafter, save_eagle3, save_mtp, text

WIDTHS = (16, 8, 5, 2)
# Each filter and penalty alone, and all together
SAMPLINGS = {
    "greedy": Sampling(),
    "sampled": Sampling(1.5),
    "top p": Sampling(1.0, top_p=0.8),
    "top k": Sampling(0.6, top_k=12),
    "min p": Sampling(0.3, min_p=0.05),
    "repetition": Sampling(0.6, repetition_penalty=1.3),
    "presence": Sampling(1.0, presence_penalty=0.7),
    "frequency": Sampling(0.3, frequency_penalty=0.4),
    "all": Sampling(1.5, top_p=0.9, top_k=40, min_p=0.02, repetition_penalty=1.1, presence_penalty=-0.2, frequency_penalty=0.2),
}
LENGTHS = (45, 19, 3, 1)  # of prompts; windows are shorter than the first
LIMIT = 16 if SAMPLE else 24
GUESSED = 7 if SAMPLE else LIMIT  # tokens with a random drafter, whose drafts are all rejected: one per round
ROUNDS = ("read", "queued", "compiled")
SMALLEST = 121  # tokens of a target
QUICK = ("gemma4", "gpt_oss", "lfm2", "qwen3_5")  # one for each kind of caches
REFERENCES = ("tiny", "tiny2", "dspark", "eagle3", "mtp", "assistant")  # trained to be right now and then
SAVED = {"dflash": save_drafter, "eagle3": save_eagle3, "mtp": save_mtp}


@dataclass(frozen=True)
class Point:
    """How one reply is asked for and run."""

    width: int
    sampling: str
    rounds: str  # read one by one by the host, or queued ahead, with operations or compiled layers
    foreseen: bool  # whether the drafter foresees the text, but for some positions; otherwise it is the pair's own
    length: int


Row = tuple[str, str]  # a family, or a reference, and its drafter
POINTS = tuple(Point(*values) for values in product(WIDTHS, SAMPLINGS, ROUNDS, (True, False), LENGTHS))
CANDIDATES = POINTS[::5]  # enough to choose from, and to cover every two values
ROWS: tuple[Row, ...] = (
    *((name, name) for name in REFERENCES),
    *((name, "dflash") for name in FAMILIES),
    *((name, kind) for kind in ("dspark", "eagle3") for name in QUICK),
    *(("qwen3_5", "mtp"), ("qwen3_5_moe", "mtp"), ("qwen3_5", "4 bits"), ("gpt_oss", "8 bits")),
)
OTHERS = (
    *((name, kind) for kind in ("dspark", "eagle3") for name in FAMILIES if name not in QUICK),
    *(("qwen3_next", "mtp"), ("qwen3_next", "4 bits")),
)

BRIEF = {row for row in ROWS if row[0] in REFERENCES or (row[0] in QUICK and "dflash" in row)}
BRIEFER = {("tiny2", "tiny2"), *((name, "dflash") for name in QUICK)}


def cases(brief: set[Row]) -> list[Any]:
    """Return all rows. `make test` tries only `brief`."""
    return [pytest.param(row, marks=[] if row in brief else pytest.mark.long, id=" ".join(row)) for row in ROWS]


def pairs(row: Row, point: Point) -> set[tuple[Any, Any]]:
    """Every two values that meet in a point."""
    return set(combinations([*zip(("family", "drafter"), row, strict=True), *vars(point).items()], 2))


@cache
def sample() -> dict[Row, list[Point]]:
    """Choose two points for each row, each with the most pairs that no other has covered."""
    covered: set[tuple[Any, Any]] = set()
    chosen: dict[Row, list[Point]] = {row: [] for row in ROWS}
    for _, row in product(range(2), ROWS):
        point = max(CANDIDATES, key=lambda each: len(pairs(row, each) - covered))
        covered |= pairs(row, point)
        chosen[row].append(point)
    return chosen


def points(row: Row) -> list[Point]:
    """The sample of this row, or every width with every way to sample, and the other values in turn."""
    if SAMPLE:
        return sample()[row]
    others = list(product(ROUNDS, (True, False), LENGTHS))
    whole = product(WIDTHS, SAMPLINGS)
    return [Point(*first, *others[(7 * at + len(row[0])) % len(others)]) for at, first in enumerate(whole)]


def test_the_sample_covers_every_two_values():
    """But not every way to sample and length with every family: both are the same code for all."""
    covered = set().union(*(pairs(row, point) for row, chosen in sample().items() for point in chosen))
    wanted = set().union(*(pairs(row, point) for row in ROWS for point in POINTS))
    missing = {pair for pair in wanted - covered if pair[0][0] not in ("family", "drafter")}
    assert not missing
    for name in FAMILIES:
        chosen = [point for row, each in sample().items() if row[0] == name for point in each]
        assert len({point.width for point in chosen}) >= 2
        assert len({point.rounds for point in chosen}) >= 2 and {point.foreseen for point in chosen} == {False, True}


class Foresight:
    """A drafter that proposes the true continuation, except at some positions: `errors` of 11."""

    def __init__(self, drafter: Any, truth: list[int], errors: int = 3) -> None:
        self._drafter, self._truth, self._errors = drafter, truth, errors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drafter, name)

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        return [self._proposed(block) for block in blocks]

    def _proposed(self, block: Block) -> mx.array:
        at = block.context.start + mx.arange(1, block.rows)  # a number, or an array where only the device knows it
        ahead = mx.take(mx.array([*self._truth, *[0] * 64], mx.uint32), at)
        return mx.where(at * 7919 % 11 < self._errors, (ahead + 1) % VOCABULARY, ahead)


@pytest.fixture(scope="module")
def pair(tmp_path_factory, request) -> Callable[[str, str], Engine]:
    """Return a function that loads a row's pair."""
    place = tmp_path_factory.mktemp("families")

    @cache
    def load(name: str, kind: str) -> Engine:
        if name in REFERENCES:
            return request.getfixturevalue(name)
        folder = place / f"{name}-{kind}"
        bits = int(kind[0]) if "bits" in kind else None
        target = save(name, folder / "target", bits)
        if kind in ("dflash", "dspark") or bits:
            return loaded(target, save_drafter(name, folder / "drafter", dspark=kind == "dspark"))
        return loaded(target, SAVED[kind](name, folder / "drafter"))

    return load


@pytest.mark.parametrize(("name", "kind"), [*ROWS, *(pytest.param(*row, marks=pytest.mark.long) for row in OTHERS)])
def test_the_text_is_plain_decodings(pair, name, kind, monkeypatch):
    engine = pair(name, kind)
    own, target = engine.pair.drafter, engine.pair.target
    assert name in REFERENCES or (engine.pair.info.family == CONFIGS[name]["model_type"] and not engine.pair.info.why_plain)
    for point in points((name, kind)):
        prompt = [token % SMALLEST for token in draw(point.length, 11)]
        limit = LIMIT if point.foreseen or name in REFERENCES else GUESSED
        asked = tokens(prompt, seed=point.width, max_tokens=limit, width=min(point.width, engine.pair.info.block_size))
        asked = replace(asked, sampling=SAMPLINGS[point.sampling], ignore_eos=name not in REFERENCES)
        plain = reply(engine, replace(asked, mode="plain", width=None))
        if point.foreseen:
            engine.pair.drafter = Foresight(own, [*prompt, *plain.tokens])
        monkeypatch.setattr(device, "runs_beside_host", lambda queued=point.rounds != "read": queued)
        engine.pair.use_costs(replace(ASSUMED, queued=point.rounds != "read"))
        target.use(operations.PLAIN, compiled=point.rounds == "compiled")
        got = reply(engine, asked)
        assert (got.tokens, got.reason) == (plain.tokens, plain.reason), point
        if point.foreseen and len(plain.tokens) == LIMIT:
            assert 0 < got.stats.accepted < got.stats.drafted, point
        engine.pair.drafter = own
        target.use(operations.PLAIN)
        engine.pair.use_costs(ASSUMED)


def assert_lossless(engine: Engine, prompt: list[int], limit: int, guessed: int) -> None:
    """Check `limit` tokens with a foreseeing drafter, and the first `guessed` with the pair's own, at every width."""
    plain = reply(engine, tokens(prompt, mode="plain", max_tokens=limit, ignore_eos=True)).tokens
    assert len(plain) == limit
    own = engine.pair.drafter
    for width in WIDTHS:
        engine.pair.drafter = Foresight(own, [*prompt, *plain])
        got = reply(engine, tokens(prompt, width=width, max_tokens=limit, ignore_eos=True))
        engine.pair.drafter = own
        assert got.tokens == plain
        assert 0 < got.stats.accepted < got.stats.drafted
        if guessed:
            got = reply(engine, tokens(prompt, width=width, max_tokens=guessed, ignore_eos=True))
            assert got.tokens == plain[:guessed]
            assert got.stats.accepted < got.stats.drafted


@pytest.mark.long
@pytest.mark.parametrize("kind", ["dflash", "4 bits", "8 bits"])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_long_reply_is_the_familys_plain_text(pair, name, kind):
    engine = pair(name, kind)
    assert_lossless(engine, draw(45, 21), 260, 260 if kind == "dflash" else 32)
    assert_lossless(engine, draw(1, 22), 260, 0)


@pytest.mark.parametrize("name", ["qwen3_5", "llama"])
def test_the_features_of_a_loaded_pair_are_its_layers_outputs(pair, name):
    target = pair(name, "dflash").pair.target
    features = target.forward_tapped(mx.array(draw(9, 1)), target.caches())[1]
    assert features.shape == (9, 64 * len({0, text(name)["num_hidden_layers"] // 2, text(name)["num_hidden_layers"] - 1}))


@pytest.mark.long  # test_turns.py has more, with the reference pairs
@pytest.mark.parametrize("name", FAMILIES)
def test_a_familys_replies_at_the_same_time_have_their_own_texts(pair, name):
    engine = pair(name, "dflash")
    options = ({"width": 5}, {}, {"mode": "plain"}, {"width": 16, "temperature": 0.8, "seed": 3})
    requests = [tokens(draw(11 + 4 * at, at), max_tokens=10, ignore_eos=True, **each) for at, each in enumerate(options)]
    wanted = [reply(engine, request).tokens for request in requests]
    assert [got.tokens for got in together(engine, requests)] == wanted


@pytest.mark.parametrize("row", cases(BRIEFER))
def test_copies_wider_than_a_block_give_the_plain_text(pair, row):
    passes = [PassKind("lookup", 32), PassKind("lookup", 24), PLAIN_STEP, PassKind("drafter", 4), PassKind("lookup", 32)]
    prompt = [token % SMALLEST for token in draw(20, 5)]
    for sampling in (Sampling(), Sampling(1.0)):
        check(pair(*row), prompt, sampling, 3, 70, passes, [31, 5, 0, 17])


@pytest.mark.parametrize("row", cases(BRIEF))
def test_copies_behind_drafts_give_the_plain_text(pair, row):
    """Blocks and copies have right and wrong tokens."""
    both = [PassKind("drafter", width, copied) for width, copied in ((32, 29), (24, 22), (12, 9))]
    passes = [*both, PassKind("drafter", 4), PLAIN_STEP]
    engine, prompt = pair(*row), [token % SMALLEST for token in draw(20, 5)]
    own = engine.pair.drafter
    both_ways = (Sampling(), Sampling(1.0))
    for sampling in [both_ways[ROWS.index(row) % 2]] if SAMPLE else both_ways:
        asked = tokens(prompt, seed=3, max_tokens=70, mode="plain")
        plain = reply(engine, replace(asked, sampling=sampling)).tokens
        engine.pair.drafter = Foresight(own, [*prompt, *plain])
        steps = check(engine, prompt, sampling, 3, 70, passes, [31, 5, 0, 17])
        engine.pair.drafter = own
        assert len(plain) < 70 or 0 < sum(step.copies_accepted for step in steps) < sum(step.copies_tested for step in steps)
