"""Prefixes of prompts with images, in memory and on disk: matched by what images show, and never continued inside one."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.prefill import prefill
from mlx_engine.engine.engine import Engine
from mlx_engine.prefix.branch import shared_length
from mlx_engine.vision.spans import ImageSpan, keys, outside_images
from tests.examples import sampled
from tests.mlx_engine.prefix.prefix_pairs import PAIRS, begin, on, restart, running

IMAGE = 7  # the image token of these prompts


@pytest.fixture(scope="module", params=list(PAIRS))
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as engine:
        yield engine


def on_few(*kinds: str) -> pytest.MarkDecorator:
    return on("engine", *kinds)


@st.composite
def prompts(draw: st.DrawFn) -> tuple[list[int], list[ImageSpan]]:
    """Text with images of up to 30 soft tokens, which are longer than parts and chunks."""
    tokens, spans = draw(st.lists(st.integers(10, 90), min_size=1, max_size=9)), list[ImageSpan]()
    for _ in range(draw(st.integers(1, 3))):
        spans.append(ImageSpan(len(tokens), (draw(st.integers(1, 3)), draw(st.integers(1, 10))), draw(st.sampled_from("abc"))))
        tokens += [IMAGE] * (spans[-1].end - spans[-1].start)
        tokens += draw(st.lists(st.integers(10, 90), min_size=1, max_size=20))
    return tokens, spans


def compute(engine: Engine, tokens: list[int], spans: list[ImageSpan], marks: Sequence[int], chunks: int) -> None:
    """Compute the first chunks of a new prompt, and keep them."""
    pair, stops = engine.pair, engine.snapshots.stops(marks, len(tokens), spans)
    branch = engine.snapshots.take(keys(tokens, spans), "chat", spans)
    assert branch.reused == 0
    for done in prefill(pair.target, branch.caches, tokens, pair.drafter, branch.context, stops, pair.pace):
        if done in stops:
            branch.mark()
        chunks -= 1
        if not chunks:
            break
    engine.snapshots.put(branch)


@on_few("growing", "recurrent", "rotating")
@sampled(8)
@given(data=st.data())
def test_no_prompt_continues_inside_an_image_or_after_another_one(engine, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    begin(engine, folder)
    tokens, spans = data.draw(prompts(), "prompt")
    last = len(tokens) - 1
    places = data.draw(st.lists(st.integers(1, last), max_size=3), "boundaries") if last else []
    marks = sorted({outside_images(spans, at) for at in places} - {0})
    compute(engine, tokens, spans, marks, data.draw(st.integers(1, 20), "chunks"))
    done = len(engine.snapshots._branches[0].tokens) if engine.snapshots._branches else 0
    if data.draw(st.booleans(), "restart"):
        restart(engine, folder)
    changed = data.draw(st.sampled_from([None, *range(len(spans))]), "other pixels")
    other = [ImageSpan(span.start, span.grid, span.digest + "'") if at == changed else span for at, span in enumerate(spans)]
    longer = [*tokens, 5, 6, 8]
    again = engine.snapshots.take(keys(longer, other), "chat", other)
    limit = shared_length(keys(tokens, spans), keys(longer, other))
    if changed is not None:
        assert limit == spans[changed].start
    assert again.reused == outside_images(other, again.reused) <= min(limit, done)
    if not engine.snapshots.needs_marks:
        assert again.reused == outside_images(other, min(limit, done)) or again.from_disk or not done
    elif not engine.snapshots._can_cut:  # otherwise, it depends on the rows that a drafter's windows have dropped
        assert again.reused in {0, *engine.snapshots.stops(marks, len(tokens), spans), done}


@on_few("growing", "recurrent")
def test_the_same_image_is_reused_and_a_chat_with_images_is_deleted(engine, tmp_path):
    begin(engine, tmp_path)
    tokens = [11, 12, *[IMAGE] * 24, *range(20, 60)]
    spans = [ImageSpan(2, (4, 6), "a")]
    compute(engine, tokens, spans, [30], -1)
    last = len(tokens) - 1
    assert engine.snapshots.take(keys([*tokens, 5], spans), "chat", spans).reused == last
    begin(engine, tmp_path)
    compute(engine, tokens, spans, [30], -1)
    restart(engine, tmp_path)
    found = engine.snapshots.take(keys([*tokens, 5], spans), "chat", spans)
    assert found.from_disk == found.reused >= 30
    engine.forget_prompts(("chat",))
    assert not list(tmp_path.glob("*.safetensors"))
    assert engine.snapshots.take(keys([*tokens, 5], spans), "chat", spans).reused == 0
