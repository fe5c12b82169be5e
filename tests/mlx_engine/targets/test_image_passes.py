"""Passes with images, and those after them, of every family that sees: in any chunks, blocks, and queues as in one pass."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, product
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, RotatingKVCache
from mlx_lm.models.rope_utils import YarnRoPE

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding import prompt_images
from mlx_engine.decoding.costs import PassKind
from mlx_engine.decoding.prefill import Pace, chunk_end, prefill
from mlx_engine.decoding.prompt_images import PromptImages
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.stream import Stream
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.kernels.operations import PLAIN, Operations, with_kernels
from mlx_engine.targets import image_rows
from mlx_engine.targets.caches import Caches
from mlx_engine.targets.growing import ShiftedCache
from mlx_engine.targets.image_rows import ImageCache, ImageRows, ThreeRowRope
from mlx_engine.targets.target import Target
from mlx_engine.vision.spans import ImageSpan
from tests.benchmarks import dispatches, tracing
from tests.examples import SAMPLE, sampled
from tests.golden.drafter_case import Differences
from tests.golden.vision_case import prompts
from tests.golden.vision_passes import SeeingTarget, check
from tests.metal_emulator import kernel
from tests.metal_emulator.compiler import compilers
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.decoding.streams import Scripted, SometimesWrong
from tests.mlx_engine.kernels.test_kernels_in_the_loop import Counted
from tests.mlx_engine.targets.test_compiled import LIKE_KERNELS

FAMILIES = ("qwen3_5", "gemma4_bidirectional", "gemma4_causal", "gemma4_unified")
QWEN, VOCABULARY, HIDDEN = FAMILIES[0], 256, 64
FOLLOWING = 6 * 2 * 16  # tokens after a random prompt
TOLERANCE = 1e-3  # of the reference outputs; cached passes differ from one pass by up to 2e-4


@cache
def seeing(family: str) -> SeeingTarget:
    folder = GOLDEN / "vision" / family
    return SeeingTarget(folder, json.loads((folder / "cases.json").read_text()), mx.load(str(folder / "arrays.safetensors")))


def misses(family: str, cases: slice, **changes: Any) -> list[str]:
    """Check the reference outputs with changed images; return what is wrong."""
    folder, found = GOLDEN / "vision" / family, Differences()
    described, one = json.loads((folder / "cases.json").read_text()), seeing(family)
    asked = list(prompts(described))[cases]
    own, one.images = one.images, lambda prompt: replace(own(prompt), **changes)  # type: ignore[method-assign]
    try:
        check(found, one, asked, mx.load(str(folder / "arrays.safetensors")))
    finally:
        del one.images  # type: ignore[method-assign]
    return found.wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_passes_agree_with_the_reference(family: str) -> None:
    assert misses(family, slice(2, 5) if SAMPLE else slice(None)) == []


def moved(order: list[int]) -> Callable[[pytest.MonkeyPatch], None]:
    own = prompt_images.spans.positions
    return lambda patch: patch.setattr(prompt_images.spans, "positions", lambda *given: own(*given)[order])


def in_sequence(pairs: int, sections: tuple[int, ...]) -> np.ndarray:
    return np.repeat(np.arange(3), sections)


def opened(patch: pytest.MonkeyPatch) -> None:
    """Open full layers, too."""
    own = ShiftedCache.make_mask
    patch.setattr(ImageCache, "make_mask", lambda self, rows, **how: self._images.open(own(self, rows, True, how["window_size"])))


def without_window(patch: pytest.MonkeyPatch) -> None:
    own = ImageRows.open
    patch.setattr(ImageRows, "open", lambda self, mask: own(replace(self, mask="all"), mask))


def scaled(patch: pytest.MonkeyPatch) -> None:
    own = ImageRows.place
    patch.setattr(ImageRows, "place", lambda self, embedded: own(replace(self, features=self.features * 8), embedded))


MISTAKES: list[tuple[str, Any]] = [
    (QWEN, moved([0, 2, 1])),
    (QWEN, lambda patch: patch.setattr(PromptImages, "shift", lambda *_: 0)),
    ("gemma4_bidirectional", opened),
    ("gemma4_causal", lambda patch: patch.setattr(ImageRows, "text", lambda self, tokens: tokens)),
    ("gemma4_unified", {"mask": "sliding"}),
    (QWEN, {"sections": None}),
    (QWEN, moved([0, 0, 0])),
    (QWEN, lambda patch: patch.setattr(image_rows, "position_rows", in_sequence)),
    ("gemma4_bidirectional", {"mask": "causal"}),
    ("gemma4_bidirectional", without_window),
    ("gemma4_bidirectional", scaled),
    ("gemma4_causal", {"mask": "sliding"}),
    ("gemma4_causal", {"mask": "all"}),
    ("gemma4_causal", scaled),
    ("gemma4_unified", {"mask": "causal"}),
    ("gemma4_unified", scaled),
]
SAMPLED = 5  # of these


@pytest.mark.parametrize(
    ("family", "mistake"),
    [pytest.param(*each, marks=[] if index < SAMPLED else [pytest.mark.long]) for index, each in enumerate(MISTAKES)],
)
def test_the_reference_detects_mistakes(family: str, mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if callable(mistake):
        mistake(monkeypatch)
        mistake = {}
    assert misses(family, slice(2, 4), **mistake)


@dataclass(frozen=True)
class Chat:
    """A random prompt with images, and what follows."""

    family: str
    tokens: list[int]
    length: int  # of the prompt
    images: PromptImages

    @property
    def target(self) -> Target:
        return seeing(self.family).target

    def logits(self) -> mx.array:
        """Logits of all tokens, in one pass."""
        rows = self.images.rows(0, len(self.tokens))
        return self.target.forward(mx.array(self.tokens), self.target.caches(), images=rows)

    def prefilled(self, pace: Pace | None = None, stops: tuple[int, ...] = ()) -> tuple[Caches, list[int]]:
        """Caches of the prompt without its last token, and where its chunks end."""
        caches = self.target.caches()
        prompt = self.tokens[: self.length]
        return caches, list(prefill(self.target, caches, prompt, None, None, stops, pace, self.images))


def chat(family: str, parts: list[tuple[int, int, int]], after: int, seed: int) -> Chat:
    """Return a random chat.

    Args:
        family: of the target.
        parts: tokens of text, then rows and columns of an image.
        after: tokens after the last image.
        seed: of tokens and features.
    """
    random, spans, at = np.random.default_rng(seed), list[ImageSpan](), 0
    for text, rows, columns in parts:
        spans.append(ImageSpan(at + text, (rows, columns), str(at)))
        at = spans[-1].end
    features = {span.digest: mx.array(random.normal(size=(span.end - span.start, HIDDEN)), mx.float32) for span in spans}
    images = PromptImages(
        tuple(spans), lambda span: features[span.digest], seeing(family).rules.mask, seeing(family).rules.sections
    )
    return Chat(family, random.integers(3, VOCABULARY, at + after + FOLLOWING).tolist(), at + after, images)


PARTS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 7), st.integers(1, 9)), min_size=1, max_size=3)
AFTER, SEEDS, STOPS = st.integers(1, 40), st.integers(0, 99), st.sets(st.integers(1, 300), max_size=3)


def close(found: mx.array, wanted: mx.array) -> None:
    assert found.shape == wanted.shape
    assert mx.abs(found - wanted).max().item() < TOLERANCE


@given(parts=PARTS, after=AFTER, seed=SEEDS, rows=st.sampled_from([16, 32, 64]), stops=STOPS)
@sampled(2, whole=100)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_prompt_in_chunks_gives_the_logits_of_one_pass(family, parts, after, seed, rows, stops):  # type: ignore[no-untyped-def]
    one = chat(family, parts, after, seed)
    caches, ends = one.prefilled(Pace(rows), tuple(stops))
    assert ends[-1:] == [one.length - 1] and caches.shift == one.images.shift(one.length)
    found = one.target.forward(mx.array(one.tokens[one.length - 1 :][:1]), caches)
    close(found, one.logits()[one.length - 1 :][:1])


@given(parts=PARTS, after=AFTER, rows=st.sampled_from([16, 64, 512]), stops=STOPS, mask=st.sampled_from(["causal", "all"]))
def test_chunks_divide_no_image_that_must_be_whole(parts, after, rows, stops, mask):  # type: ignore[no-untyped-def]
    one = chat(QWEN, parts, after, 0)
    images, done, ends, last = replace(one.images, mask=mask), 0, set[int](), one.length - 1
    within = {at for span in images.spans for at in range(span.start + 1, span.end)} if mask == "all" else set()
    while done < last:
        end = chunk_end(done, last, stops, Pace(rows), images)
        assert done < end <= last and (end - done <= rows or {end - 1} & within)
        done = end
        ends.add(end)
    assert not ends & within and {stop for stop in stops if stop <= last} <= ends | within


@pytest.mark.parametrize("way", ["copy", "parts"])
@pytest.mark.parametrize("family", FAMILIES)
def test_kept_caches_continue_with_the_shift_of_their_prompt(family: str, way: str) -> None:
    """As a snapshot in memory, and as one from the disk; and then with a text that diverges before the image."""
    one = chat(family, [(9, 3, 5), (1, 4, 4)], 12, 5)
    target, wanted, tokens = one.target, one.logits(), mx.array(one.tokens)
    kept, _ = one.prefilled()
    caches = target.caches()
    if way == "parts":
        rows = kept.rows(0, kept.length)
        caches.fill([rows], kept.length)
        caches.thaw(kept.freeze())
    else:
        for ours, theirs in zip(caches.adapters, kept.adapters, strict=True):
            ours.thaw(theirs.freeze())
        caches.length = kept.length
    list(prefill(target, caches, one.tokens[: one.length + 10], None, None, images=one.images))
    assert caches.length == one.length + 9
    close(target.forward(tokens[one.length + 9 :][:20], caches), wanted[one.length + 9 :][:20])


def test_a_text_after_a_prompt_with_images_starts_without_a_shift() -> None:
    """Also if it continues the same caches, which a cut has freed of the image."""
    one = chat(QWEN, [(9, 3, 5)], 12, 5)
    caches, _ = one.prefilled()
    assert caches.shift == -10
    caches.cut(0)
    list(prefill(one.target, caches, one.tokens[:9], None, None))
    assert caches.shift == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_drafted_replies_are_the_reference_texts(family: str) -> None:
    """Rounds of all widths, with one draft of each replaced."""
    described, one = json.loads((GOLDEN / "vision" / family / "cases.json").read_text()), seeing(family)
    for number, prompt in enumerate(islice(prompts(described), 2, 5 if SAMPLE else None)):
        asked, text = prompt.described["input_ids"], prompt.described["output_ids"]
        caches, controller = one.target.caches(), Scripted([PassKind("lookup", width) for width in range(2 + number % 3, 17, 3)])
        list(prefill(one.target, caches, asked, None, None, pace=Pace(32), images=one.images(prompt)))
        parts = (caches, one.target.vocabulary, Chooser(Sampling(), 0), Penalties(Sampling(), asked), controller)
        stream = Stream(*parts, asked[-1], len(text), copies=SometimesWrong(text, range(number % 5, 16, 5)))  # type: ignore[arg-type]
        steps = list(decode(stream, one.target))
        assert [token for step in steps for token in step.tokens] == text
        assert {step.accepted < step.drafted for step in steps[1:]} == {False, True}


@given(seed=st.integers(0, 99), start=st.integers(0, 5000), rows=st.integers(1, 20))
@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16], ids=str)
@pytest.mark.parametrize("rope", [nn.RoPE(16, base=1e7), YarnRoPE(16, scaling_factor=4.0)], ids=["plain", "yarn"])
def test_equal_positions_rotate_with_the_modules_bits(rope: Any, dtype: mx.Dtype, seed: int, start: int, rows: int) -> None:
    x = mx.random.normal((1, 3, rows, 32), key=mx.random.key(seed)).astype(dtype)
    positions = np.broadcast_to(np.arange(start, start + rows, dtype=np.int32), (3, rows))
    found = ThreeRowRope(rope, positions, (3, 3, 2))(x)
    assert found.dtype == dtype and mx.array_equal(found, rope(x, offset=start)).item()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_pass_with_images_leaves_the_model_as_it_was(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, tokens = chat(family, [(9, 3, 5)], 12, 5), mx.array([5, 6, 7, 8])
    wanted = one.target.forward(tokens, one.target.caches())
    one.logits()
    with monkeypatch.context() as broken:
        broken.setattr(Caches, "begin", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            one.logits()
    assert np.array_equal(np.array(one.target.forward(tokens, one.target.caches())), np.array(wanted))


def test_a_pass_with_images_counts_the_rows_of_a_shifted_cache() -> None:
    caches = chat(QWEN, [(9, 3, 5)], 12, 5).prefilled()[0]
    images = ImageRows(2, ((0, 2),), mx.zeros((2, HIDDEN)))
    found = [each for each in caches.begin(2, images=images) if isinstance(each, ImageCache)]
    assert caches.shift == -10 and {each.length.item() for each in found} == {caches.length - 2}
    assert {each.offset for each in found} == {caches.length - 2 - 10}


def test_caches_whose_positions_cannot_be_shifted_refuse_a_shift() -> None:
    for layer in (RotatingKVCache(8), CacheList(KVCache(), KVCache())):
        caches = Caches([KVCache(), layer])
        caches.shift = 0
        with pytest.raises(AssertionError, match="can't be shifted"):
            caches.shift = -1
    Caches([KVCache(), ArraysCache(2)]).shift = -1


WAYS: dict[str, tuple[Operations, bool]] = {
    "plain": (PLAIN, False),
    "as with kernels": (LIKE_KERNELS, False),
    "compiled": (PLAIN, True),
    "compiled as with kernels": (LIKE_KERNELS, True),
    "row-exact": (replace(PLAIN, row_exact=True), False),
}
# Every family, and every way with the family whose positions have three rows
SAMPLED_WAYS = [(QWEN, way) for way in WAYS] + list(zip(FAMILIES[1:], ["compiled", "row-exact", "as with kernels"], strict=True))
POINTS = [
    pytest.param(*each, marks=[] if each in SAMPLED_WAYS else [pytest.mark.long])
    for each in product(FAMILIES, WAYS)
    if each != (QWEN, "row-exact")  # such rows can't be shifted; the engine refuses images in exact mode
]
# The kind of a pass, its rows, and how many of them are kept. Queued ones come in pairs.
PASSES = st.lists(
    st.tuples(st.sampled_from(["step", "block", "queue"]), st.integers(2, 16), st.integers(1, 16)), min_size=1, max_size=6
)


def later(one: Chat, caches: Caches, passes: list[tuple[str, int, int]]) -> mx.array:
    """Run passes after a prompt; return the logits of the rows that are kept."""
    found, forward = list[mx.array](), one.target.forward
    at = caches.length

    def run(rows: int, kept: int, place: DevicePosition | None = None) -> None:
        nonlocal at
        block = mx.array([*one.tokens[at : at + kept], *[7] * (rows - kept)])
        found.append(forward(block, caches, place and place.span(rows))[:kept])
        at += kept

    for kind, rows, kept in passes:
        rows, kept = (1, 1) if kind == "step" else (rows, min(rows, kept))
        if kind == "queue":
            run(rows, kept, DevicePosition.known(at))
            run(rows, kept, DevicePosition(mx.array([at]), at - kept + 1, at - kept + rows, mx.array([kept])))
            caches.settle(at - kept)
            caches.settle(at)
        else:
            run(rows, kept)
            caches.rewind(rows - kept)
        assert caches.length == at
    return mx.concatenate(found)


@given(parts=PARTS, after=AFTER, seed=SEEDS, passes=PASSES)
@sampled(3, whole=60)
@pytest.mark.parametrize(("family", "way"), POINTS)
def test_passes_after_images_give_the_logits_of_one_pass(family, way, parts, after, seed, passes):  # type: ignore[no-untyped-def]
    one = chat(family, parts, after, seed)
    wanted, (operations, compiled) = one.logits(), WAYS[way]
    if operations.row_exact:  # never queued
        passes = [("block" if kind == "queue" else kind, rows, kept) for kind, rows, kept in passes]
    one.target.use(operations, compiled)
    try:
        found = later(one, one.prefilled()[0], passes)
    finally:
        one.target.use(PLAIN)
    close(found, wanted[one.length - 1 :][: len(found)])


@pytest.mark.long
def test_kernels_rotate_by_the_shift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])
    monkeypatch.setattr(kernel, "compilers", lambda: compilers()[:1])
    one = chat(QWEN, [(3, 4, 5)], 6, 1)
    wanted, build = one.logits(), Counted()
    one.target.use(with_kernels(("attention_inputs", "verify_attention"), build))
    try:
        found = later(one, one.prefilled()[0], [("step", 1, 1), ("block", 5, 3), ("queue", 4, 2)])
    finally:
        one.target.use(PLAIN)
    assert build.calls["attention_inputs"] == build.calls["verify_attention_part"] == 2 * 4  # layers with attention, passes
    close(found, wanted[one.length - 1 :][: len(found)])


@pytest.mark.parametrize("way", ["plain", "as with kernels"])
@pytest.mark.parametrize("queued", [False, True])
def test_a_shift_costs_one_operation_in_queued_passes_and_none_in_others(queued: bool, way: str) -> None:
    one = chat(QWEN, [(3, 4, 5)], 6, 1)
    one.target.use(*WAYS[way])

    def dispatched(shift: int) -> int:
        caches, _ = one.prefilled()
        caches.shift = shift
        span = DevicePosition.known(caches.length).span(4) if queued else None
        mx.eval(caches.state)
        return dispatches.count(
            tracing.trace(lambda: mx.eval(one.target.forward(mx.array([5, 6, 7, 8]), caches, span)))[1].primitives
        ).dispatches

    try:
        assert dispatched(-15) - dispatched(0) == queued
    finally:
        one.target.use(PLAIN)
