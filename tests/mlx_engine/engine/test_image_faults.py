"""Replies to images that can't be decoded, are canceled, wait, or meet an error of the GPU."""

import gc
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import kernel_selection, saved_calibration
from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import AttachedImage, CountTokens, GenerationRequest, LoadPair, Message
from mlx_engine.contract.whole_replies import fold
from mlx_engine.decoding import prefill
from mlx_engine.decoding.prefill import Pace
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.loading import image_reader
from mlx_engine.media.images import image_size, pixels
from tests.mlx_engine.asking import failure, reply
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.engine.failing_kernels import HANG, INTERACTIVITY, FailingKernels
from tests.mlx_engine.engine.seeing import VISION, asked, picture, seeing
from tests.mlx_engine.engine.test_turns import begin
from tests.mlx_engine.targets.target_passes import before_each_pass

FAMILY = "gemma4_bidirectional"  # whose images must be in one chunk
SHOWN = (Message("user", "Read this:now.", images=(picture("photo", 10),)),)
CUT = AttachedImage(0, picture("photo").data[: len(picture("photo").data) // 2], "chart.png")  # its size can be read


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with seeing(FAMILY, "dflash", tmp_path_factory.mktemp("pair")) as engine:
        yield engine


def other(text: str = "Why?") -> Message:
    return Message("user", text, images=(CUT,))


@pytest.mark.parametrize("ending", ["refused", "canceled"])
def test_an_image_that_was_not_decoded_leaves_no_reference_to_the_pair(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, started = loaded(VISION / FAMILY, None), threading.Event()
    pair = weakref.ref(engine.pair)

    def endless(*args: Any) -> None:
        started.set()
        args[-1].wait()  # the cancel event
        raise WorkCancelled

    gc.collect()
    gc.disable()
    try:
        if ending == "refused":
            assert "chart.png" in failure(engine, asked((other(),)))
        else:
            monkeypatch.setattr(image_reader, "pixels", endless)
            running = begin(engine, asked(SHOWN))
            while not started.is_set():
                running.step()
            running.cancel.set()
            running.finish()
            del running
            for thread in threading.enumerate():
                if thread.name == "image decoding":
                    thread.join()
        engine.unload()
        assert pair() is None
    finally:
        gc.enable()


def test_a_damaged_image_leaves_the_saved_prompt_of_its_chat(engine: Engine) -> None:
    engine.free_memory()
    first = reply(engine, asked(SHOWN, max_tokens=12))
    chat = (*SHOWN, Message("assistant", first.text))
    assert "chart.png" in failure(engine, asked((*chat, other())))
    following = reply(engine, asked((*chat, Message("user", "Why?"))))
    assert following.stats.reused_tokens >= first.stats.prompt_tokens


def test_a_damaged_image_loads_no_tower(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.free_memory()
    monkeypatch.setattr(image_reader, "load_tower", None)
    assert "chart.png" in failure(engine, asked((other(),)))


def test_other_replies_go_on_while_sizes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies and counts that wait for another process don't hold the engine's thread."""
    host, free = EngineHost(Engine), threading.Event()
    list(to_iter(host, LoadPair(VISION / FAMILY)))

    def slow(*args: Any) -> Any:
        assert free.wait(60)
        return image_size(*args)

    monkeypatch.setattr(image_reader, "image_size", slow)
    inboxes = [list[Event](), list[Event]()]
    ended = [threading.Event() for _ in inboxes]

    def deliver(at: int, event: Event | None) -> None:
        if event is None:
            ended[at].set()
        else:
            inboxes[at].append(event)

    for at, request in enumerate((asked(SHOWN, max_tokens=3), CountTokens(GenerationRequest(SHOWN)))):
        host.submit(request, partial(deliver, at))
    text = fold(list(to_iter(host, asked((Message("user", "Hello"),), max_tokens=3))))
    assert len(text.tokens) == 3 and not any(each.is_set() for each in ended)
    free.set()
    for each in ended:
        assert each.wait(60)
    host.close()
    assert len(fold(inboxes[0]).tokens) == 3 and len(inboxes[1]) == 1


def test_a_canceled_count_has_no_result(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def canceled(*_: Any) -> None:
        raise WorkCancelled

    monkeypatch.setattr(image_reader, "image_size", canceled)
    image = AttachedImage(0, b"unknown")
    assert list(engine.run(CountTokens(GenerationRequest((Message("user", "a", images=(image,)),))))) == []


def test_soft_tokens_that_were_forgotten_on_the_way_are_not_kept(engine: Engine) -> None:
    reader = engine.pair.images
    assert reader is not None
    reader.forget()
    (digest,) = [reader.sight().seen(SHOWN[0].images[0])[1]]
    cancel = threading.Event()
    steps = reader.steps(SHOWN[0].images[0], digest, cancel)
    next(steps)
    reader.forget()
    found = [each for each in steps if each is not None]
    again = next(reader.steps(SHOWN[0].images[0], digest, cancel))  # which decodes again
    assert len(found) == 1 and again is None
    kept = [each for each in reader.steps(SHOWN[0].images[0], digest, cancel) if each is not None]
    known = next(reader.steps(SHOWN[0].images[0], digest, cancel))
    assert known is kept[0] and mx.array_equal(found[0], kept[0])


def test_deleted_chats_leave_no_soft_tokens(engine: Engine) -> None:
    reply(engine, asked(SHOWN, max_tokens=2, chat="1"))
    reader = engine.pair.images
    assert reader is not None
    digest = reader.sight().seen(SHOWN[0].images[0])[1]
    known = reader.steps(SHOWN[0].images[0], digest, threading.Event())
    assert next(known) is not None
    engine.forget_prompts(("1",))
    again = reader.steps(SHOWN[0].images[0], digest, threading.Event())
    assert next(again) is None


@pytest.fixture
def kernels(engine: Engine, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(engine.pair, "pace", Pace(32))
    engine.free_memory()
    yield monkeypatch
    engine.pair.suspended = 0
    engine.pair.use(PLAIN)


def test_no_suspected_kernel_runs_after_the_wait_for_an_image(engine: Engine, kernels: pytest.MonkeyPatch) -> None:
    free, started, counted = threading.Event(), threading.Event(), FailingKernels()

    def slow(*args: Any) -> Any:
        started.set()
        assert free.wait(60)
        return pixels(*args)

    kernels.setattr(image_reader, "pixels", slow)
    engine.pair.use(counted.operations)
    running = begin(engine, asked(SHOWN, max_tokens=3, reuse=False))
    while not started.is_set():
        running.step()
    before = counted.calls.total()
    engine.pair.suspended += 1  # as a reply does after an error
    engine._turns.faults += 1
    free.set()
    running.finish()
    assert len(running.whole.tokens) == 3 and counted.calls.total() == before


@pytest.mark.parametrize("chunk", [16, 512])
def test_an_error_of_the_tower_blames_no_kernel(engine: Engine, kernels: pytest.MonkeyPatch, chunk: int) -> None:
    """Even after a chunk with so few rows that kernels may have run it."""
    passes, failed, load = list[int](), list[list[int]](), image_reader.load_tower

    def fail(*arguments: Any) -> Any:
        if not failed:
            failed.append([*passes])
            raise RuntimeError(HANG)
        return load(*arguments)

    kernels.setattr(prefill, "CHUNK", chunk)
    kernels.setattr(engine.pair, "pace", Pace(16))
    kernels.setattr(image_reader, "load_tower", fail)
    before_each_pass(engine.pair.target, kernels, passes.append)
    operations = FailingKernels().operations
    engine.pair.use(operations)
    got = reply(engine, asked(SHOWN, max_tokens=3, reuse=False))
    assert len(got.tokens) == 3 and got.stats.gpu_error and [bool(rows) for rows in failed] == [chunk == 16]
    assert kernel_selection.known(engine.pair) is None and engine.pair.operations is operations


def test_a_chunk_with_an_image_that_took_too_long_is_tried_again(engine: Engine, kernels: pytest.MonkeyPatch) -> None:
    """It has more rows than the pace, so that other chunks are smaller."""
    request, passes = asked(SHOWN, max_tokens=3, reuse=False), list[int]()
    expected = reply(engine, request)
    kernels.setattr(engine.pair, "pace", Pace(32, adapts=True, clock=lambda: 0.0))

    def fail(rows: int) -> None:
        passes.append(rows)
        if rows > 32 and passes.count(rows) == 1:
            raise RuntimeError(INTERACTIVITY)

    before_each_pass(engine.pair.target, kernels, fail)
    got = reply(engine, request)
    assert got.tokens == expected.tokens and got.stats.gpu_error and passes.count(max(passes)) == 2


@given(rows=st.integers(1, 4096), pace=st.sampled_from([16, 32, 64, 128, 512, 2048]))
def test_chunks_never_grow_after_one_that_failed(rows: int, pace: int) -> None:
    """A chunk with an image may have more rows than the pace."""
    found = Pace(pace, adapts=True, clock=lambda: 0.0)
    with pytest.raises(RuntimeError), found.timed(rows):
        raise RuntimeError
    assert found.rows <= min(pace, max(rows / 2, 16))
