"""Streams that share passes say what they say alone, however they are scheduled."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind, PassLoad
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Penalties
from mlx_engine.decoding.scheduler import Scheduler, decode
from mlx_engine.decoding.stream import Stream, run_pass
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth
from mlx_engine.engine.engine import Engine
from mlx_engine.formats.token_grammar import reply_grammar
from mlx_engine.targets import rotating as windows
from mlx_engine.targets.target import Target
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.conftest import GOLDEN, loaded
from tests.mlx_engine.decoding.streams import Scripted, SometimesWrong, prefilled
from tests.mlx_engine.decoding.test_schedules import PASSES
from tests.mlx_engine.formats.made_schemas import made_schema
from tests.mlx_engine.formats.test_grammar import is_ascii, letters

END = 127  # the end token of `letters`
LONGEST = 10 if SAMPLE else 40  # tokens of a stream


@dataclass(frozen=True)
class Spec:
    """A stream to run alone and next to others.

    Attributes:
        wrong: rows of drafts that lookup gets wrong.
        schema: seed of a schema that the text follows.
        end: position of a token, in the text without it, that ends the text.
        begins: number of turns of all streams before its first.
        stop: number of its steps after which it is closed.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    seed: int
    passes: tuple[Any, ...]
    limit: int
    wrong: tuple[int, ...]
    schema: int | None
    end: int | None
    queued: bool
    begins: int
    stop: int | None

    def stream(self, engine: Engine, text: list[int] | None = None) -> Stream:
        """Return the stream, with its prompt computed.

        Args:
            engine: has the pair.
            text: what the stream says, if known.
        """
        options: dict[str, Any] = {"queue_ahead": self.queued and self.schema is None}
        ends = {END} if self.schema is not None else set()
        if text is not None:
            options["copies"] = SometimesWrong(text, self.wrong)
        if text is not None and self.end is not None:
            ends.add(text[self.end % len(text)])
        options["ends"] = frozenset(ends)
        stream = prefilled(engine.pair, self.prompt, Scripted(self.passes), self.limit, self.sampling, self.seed, **options)
        if self.schema is not None:
            request = GenerationRequest(messages=(Message("user", "Hi"),), schema=json.dumps(made_schema(self.schema)))
            grammar = reply_grammar(letters(), request, (), 0)
            stream.penalties = Penalties(self.sampling, self.prompt, grammar=grammar)
            stream.chooser._grammar = grammar
        return stream


@dataclass
class Playing:
    """A stream that is running next to others."""

    spec: Spec
    stream: Stream
    steps: Iterator[Any]
    said: list[int] = field(default_factory=list)
    count: int = 0
    ended: bool = False

    def turn(self) -> None:
        if self.spec.stop == self.count:  # others may have made its next pass
            self.steps.close()  # type: ignore[attr-defined]
            self.ended = True
            return
        try:
            step = next(self.steps)
        except StopIteration:
            self.ended = True
            return
        if step is not None:
            self.said += step.tokens
            self.count += 1


SCHEMAS = [seed for seed in range(60) if is_ascii(made_schema(seed))]
SPECS = st.builds(
    Spec,
    prompt=st.lists(st.integers(3, 120), min_size=1, max_size=20).map(tuple),
    sampling=st.sampled_from([Sampling(), Sampling(0.7), Sampling(1.0, top_p=0.9), Sampling(0.8, presence_penalty=0.5)]),
    seed=st.integers(0, 2**64 - 1),
    passes=st.lists(PASSES, min_size=1, max_size=4).map(tuple),
    limit=st.integers(1, LONGEST),
    wrong=st.lists(st.integers(0, 8), min_size=1, max_size=3).map(tuple),
    schema=st.none() | st.none() | st.sampled_from(SCHEMAS),
    end=st.none() | st.none() | st.integers(0, LONGEST),
    queued=st.booleans(),
    begins=st.integers(0, 12),
    stop=st.none() | st.none() | st.integers(1, 6),
)


def plain(spec: Spec) -> Spec:
    """Return the stream without drafts, whose text nothing ends but its limit and its schema."""
    return replace(spec, passes=(PLAIN_STEP,), queued=False, end=None)


def said(engine: Engine, stream: Stream) -> list[int]:
    return [token for step in decode(stream, engine.pair.target) if step is not None for token in step.tokens]


@pytest.fixture(scope="module")
def rotating() -> Iterator[Engine]:
    """A pair whose sliding windows move after few tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "_STEP", 2)
        yield loaded(GOLDEN / "e2e_gpt_oss" / "target", GOLDEN / "e2e_gpt_oss" / "drafter")


@pytest.mark.parametrize("pair", ["tiny", "windows", "rotating", "tiny2", "dspark", "eagle3", "mtp", "assistant"])
@sampled(3, 160)
@given(specs=st.lists(SPECS, min_size=1, max_size=8), order=st.integers(0, 1 << 30))
def test_streams_say_what_they_say_alone(pair, request, specs, order):
    """Streams begin, and are closed, at any turn. Then caches and context are where the next turn continues."""
    engine, draw, turn = request.getfixturevalue(pair), random.Random(order), 0
    if pair not in ("tiny", "tiny2"):  # whose vocabulary is that of `letters`
        specs = [replace(spec, schema=None) for spec in specs]
    texts = [said(engine, plain(spec).stream(engine)) for spec in specs]
    wanted = [said(engine, spec.stream(engine, text)) for spec, text in zip(specs, texts, strict=True)]
    scheduler, playing = Scheduler(), list[Playing]()
    waiting = [(spec, spec.stream(engine, text)) for spec, text in zip(specs, texts, strict=True)]
    for spec, stream in waiting:
        playing.append(Playing(spec, stream, decode(stream, engine.pair.target, scheduler, alone=lambda: len(specs) == 1)))
    while going := [each for each in playing if not each.ended]:
        ready = [each for each in going if each.spec.begins <= turn] or going
        draw.choice(ready).turn()
        turn += 1
        assert turn < 10_000
    assert not scheduler._streams
    for each, text, alone in zip(playing, texts, wanted, strict=True):
        assert alone == text[: len(alone)]
        assert each.said == (alone if each.spec.stop is None or each.count < each.spec.stop else alone[: len(each.said)])
        continues(engine, each)


@pytest.mark.parametrize("pair", ["tiny", "rotating", "tiny2", "mtp"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_queued_rounds_share_passes(pair, request, seed):
    """Also a round that follows one that the host hasn't read: only the device knows its positions."""
    engine, draw = request.getfixturevalue(pair), random.Random(seed)
    made = []
    for width in (2, 4, 3):
        prompt, passes = tuple(draw.choices(range(3, 120), k=3 * width)), (PassKind("drafter", width),)
        made.append(Spec(prompt, Sampling(0.7), draw.getrandbits(60), passes, 16, (0,), None, None, True, 0, None))
    texts = [said(engine, plain(spec).stream(engine)) for spec in made]
    shared, forward = [], Target.forward_packed

    def watched(target: Target, streams: list, tapped: bool) -> Any:
        shared.append([part.span is not None and part.span.start.kept is not None for part in streams])
        return forward(target, streams, tapped)

    scheduler, playing = Scheduler(), []
    for spec in made:
        stream = spec.stream(engine)
        playing.append(Playing(spec, stream, decode(stream, engine.pair.target, scheduler, lambda: False)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Target, "forward_packed", watched)
        for turn in count():
            if not (going := [each for each in playing if not each.ended]):
                break
            draw.choice(going).turn()
            assert turn < 10_000
    assert [each.said for each in playing] == texts
    assert any(len(ahead) > 1 and all(ahead) for ahead in shared), "no queued round shared a pass"


@pytest.mark.parametrize("pair", ["tiny", "tiny2", "rotating", "mtp"])
def test_the_context_ends_with_the_caches_after_a_round_that_was_proposed_early(pair, request):
    """Others can read a pass between the proposal of a round and the pass of the round."""
    engine = request.getfixturevalue(pair)
    spec = Spec((9, 8, 7), Sampling(), 1, (PassKind("drafter", 2),), 19, (0,), None, None, True, 0, None)
    stream = spec.stream(engine)
    played = Playing(spec, stream, iter(()))
    for _ in range(2):
        assert run_pass(stream, engine.pair.target)
        played.said += stream.read().tokens
    assert run_pass(stream, engine.pair.target) and stream.propose() is not None
    played.said += stream.read().tokens
    assert run_pass(stream, engine.pair.target)
    stream.close()
    continues(engine, played)


@pytest.mark.parametrize("turns", [1, 2], ids=["in turn", "two turns in a row"])
@pytest.mark.parametrize("number", [2, 4])
def test_plain_streams_make_one_pass_for_each_token(tiny, number, turns):
    """All of them share it, in any stream's turn. One that is early waits until the others have read theirs."""
    made, packed, tapped = [], Target.forward_packed, Target.forward_tapped

    def watched(target: Target, streams: list, wanted: bool) -> Any:
        made.append(len(streams))
        return packed(target, streams, wanted)

    def watched_alone(target: Target, *given: Any) -> Any:  # once the others have ended
        made.append(1)
        return tapped(target, *given)

    scheduler, limit = Scheduler(), 12
    streams = [prefilled(tiny.pair, (5 + i, 9, 30), FixedWidth(1), limit) for i in range(number)]
    playing = [decode(stream, tiny.pair.target, scheduler, lambda: False) for stream in streams]
    for each in playing:  # joins
        next(each)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Target, "forward_packed", watched)
        patch.setattr(Target, "forward_tapped", watched_alone)
        while not all(stream.ended for stream in streams):
            for each in playing:
                for _ in range(turns):
                    next(each, None)
    assert len(made) <= limit and sum(made) <= number * limit


def continues(engine: Engine, played: Playing) -> None:
    """Check that the caches contain the tokens, but perhaps the last, and nothing else."""
    stream, tokens = played.stream, [*played.spec.prompt, *played.said]
    if stream.caches.length == len(tokens) + 1:  # closed while the passes that others have made for it are unread
        return
    assert len(tokens) - 1 <= stream.caches.length <= len(tokens)
    assert stream.context is not None and stream.context.position == stream.caches.length
    rest = mx.array([*tokens[stream.caches.length :], 7], mx.uint32)
    caches, context = engine.pair.target.caches(), engine.pair.drafter.context()
    list(prefill(engine.pair.target, caches, [*tokens, 7], engine.pair.drafter, context))
    logits = [engine.pair.target.forward(rows, held)[-1] for rows, held in ((rest, stream.caches), (rest[-1:], caches))]
    # The caches were filled in passes of other sizes, whose float32 sums differ by rounding.
    np.testing.assert_allclose(*(np.array(each) for each in logits), rtol=0, atol=1e-3)


@pytest.mark.parametrize("pair", ["tiny", "dspark"])
def test_the_load_of_a_shared_pass_has_all_rows_that_were_drafted_for_it(pair, request):
    """A drafter whose confidence narrows rounds has drafted a whole block for each."""
    engine = request.getfixturevalue(pair)
    history = PairHistory(engine.pair.info.block_size, confident=engine.pair.drafter.config.confident)
    loads, drafted, draft = list[PassLoad](), list[int](), engine.pair.drafter.propose_packed

    class Watched(AutomaticWidth):
        def record_shared(self, load: PassLoad, seconds: float) -> None:
            loads.append(load)

    def watched(blocks: Any) -> Any:
        drafted.append(sum(block.rows for block in blocks))
        return draft(blocks)

    scheduler, playing = Scheduler(), []
    for at in range(3):
        stream = prefilled(engine.pair, (9, 8 + at, 7), Watched(history), 40)
        playing.append(decode(stream, engine.pair.target, scheduler, lambda: False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.pair.drafter, "propose_packed", watched)
        for _ in range(8):
            for each in playing:
                next(each)
    for each in playing:
        each.close()
    found = [load.drafted for load in loads if load.drafted]
    assert found and found == drafted[: len(found)]


@pytest.mark.parametrize("pair", ["tiny", "tiny2"])
@sampled(3, 40)
@given(specs=st.lists(SPECS, min_size=2, max_size=6), most=st.integers(1, 20), order=st.integers(0, 1 << 30))
def test_shared_passes_have_limited_logits(pair, request, specs, most, order):
    """Streams whose rows don't fit have their pass in a later turn."""
    engine, draw, made, forward = request.getfixturevalue(pair), random.Random(order), list[list[int]](), Target.forward_packed
    specs = [replace(spec, schema=None, stop=None) for spec in specs]
    texts = [said(engine, plain(spec).stream(engine)) for spec in specs]

    def watched(target: Target, streams: list, tapped: bool) -> Any:
        made.append([each.tokens.size for each in streams])
        return forward(target, streams, tapped)

    scheduler, playing = Scheduler(), list[Playing]()
    for spec, text in zip(specs, texts, strict=True):
        stream = spec.stream(engine, text)
        playing.append(Playing(spec, stream, decode(stream, engine.pair.target, scheduler, lambda: False)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mlx_engine.targets.target.MAX_SHARED_LOGITS", most * engine.pair.target.vocabulary)
        patch.setattr(Target, "forward_packed", watched)
        while going := [each for each in playing if not each.ended]:
            draw.choice(going).turn()
    assert all(sum(rows) <= most for rows in made)
    assert [each.said for each in playing] == [text[: len(each.said)] for text, each in zip(texts, playing, strict=True)]
