"""What a retry after an error of the GPU means for kernels, for other replies, and for the size of chunks."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import kernel_selection, saved_calibration
from mlx_engine.contract.events import Failed, Finished
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.decoding import prefill
from mlx_engine.decoding.prefill import Pace
from mlx_engine.decoding.stream import Stream
from mlx_engine.engine.engine import Engine
from mlx_engine.hardware import memory
from mlx_engine.kernels.operations import KERNELS, PLAIN
from tests.examples import sampled
from tests.mlx_engine.asking import events, reply, tokens
from tests.mlx_engine.engine.failing_kernels import (
    BY_KERNEL,
    HANG,
    INTERACTIVITY,
    THREADS,
    TIMEOUT,
    VICTIM,
    FailingKernels,
    failing,
)
from tests.mlx_engine.engine.test_turns import REQUESTS, Running, begin
from tests.mlx_engine.prefix.prefix_pairs import PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass

_NO_ROOM = "[metal::malloc] Attempting to allocate 1 bytes, out of memory"


@pytest.fixture(autouse=True)
def clean(tiny, tmp_path, monkeypatch) -> Iterator[None]:
    """Keep evidence apart for each test, and leave the pair as it was."""
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)
    tiny.free_memory()
    yield
    assert not tiny.pair.suspended
    forget(tiny)


def asked(prompt=PROMPT, **options) -> GenerationRequest:
    return tokens(prompt, **{"max_tokens": 12, "ignore_eos": True, "width": 4, **options})


def forget(engine: Engine) -> None:
    """Leave nothing of an earlier example."""
    for file in saved_calibration.folder("kernels").glob("*"):
        file.unlink()
    engine.pair.suspended = 0
    engine.pair.use(PLAIN)
    engine.free_memory()


@sampled(10, 60)
@given(request_=REQUESTS, message=st.sampled_from(BY_KERNEL), call=st.integers(0, 9), turns=st.integers(0, 6))
def test_a_reply_that_is_canceled_before_its_retry_has_passed_turns_nothing_off(tiny, request_, message, call, turns) -> None:
    """If a token comes first, the retry has passed."""
    request = replace(request_, prompt_tokens=PROMPT * 3, reuse=False)
    kernels = FailingKernels("block_verify", message, range(call, call + 1))
    forget(tiny)
    tiny.pair.use(kernels.operations)
    with pytest.MonkeyPatch.context() as patch, failing(kernels):
        patch.setattr(prefill, "CHUNK", 8)
        running = begin(tiny, request)
        while not (running.ended or tiny.pair.suspended):
            running.step()
        before = len(running.events)
        for _ in range(turns):
            running.step()
        running.cancel.set()
        running.finish()
    later = [type(event).__name__ for event in running.events[before:]]
    assert (kernel_selection.known(tiny.pair) is not None) == ("Commit" in later and "KernelsSelected" in later)
    assert not tiny.pair.suspended and bool(tiny.pair.operations.kernels) == ("KernelsSelected" not in later)


@sampled(8, 60)
@given(data=st.data(), requests=st.lists(REQUESTS, min_size=2, max_size=3), message=st.sampled_from(BY_KERNEL))
def test_no_reply_of_the_pair_runs_a_kernel_after_it_has_failed_in_one(tiny, data, requests, message) -> None:
    """Replies that are paused, or begin later, leave it off while it is only suspected, too."""
    forget(tiny)
    wanted = [reply(tiny, replace(request, reuse=False)).tokens for request in requests]
    name = data.draw(st.sampled_from(sorted(KERNELS)), "kernel")
    kernels = FailingKernels(name, message, range(data.draw(st.integers(0, 30), "call"), 10**9))
    begins = [data.draw(st.integers(0, 12), "first turn") for _ in requests]
    tiny.pair.use(kernels.operations)
    running: dict[int, Running] = {}
    late = 0
    with pytest.MonkeyPatch.context() as patch, failing(kernels):
        patch.setattr(prefill, "CHUNK", 8)
        for turn in range(1000):
            for at in (at for at, first in enumerate(begins) if first == turn):
                running[at] = begin(tiny, requests[at])
            for one in running.values():
                if not one.ended:
                    calls, was_off = kernels.calls.total(), tiny.pair.suspended or kernel_selection.known(tiny.pair) is not None
                    one.step()
                    late += (kernels.calls.total() - calls) * was_off
            if len(running) == len(requests) and all(one.ended for one in running.values()):
                break
    assert not late
    assert [list(running[at].whole.tokens) for at in range(len(requests))] == [list(tokens) for tokens in wanted]


class FailingRows(FailingKernels):
    """Kernels, one of which fails in passes of 12 rows."""

    def _call(self, name: str, reference: Callable[..., Any], *arguments: Any) -> Any:
        fails = name == self.name and arguments[0].shape[-2] == 12
        return super()._call(name, reference, *arguments) if fails else reference(*arguments)


def test_a_kernel_that_runs_the_rows_of_a_shared_pass_is_blamed(tiny) -> None:
    """Three replies have 12 rows together, more than a block of one."""
    request = asked(max_tokens=24)
    wanted = reply(tiny, request).tokens
    kernels = FailingRows("verify_matmul", HANG, range(10**9))
    counted = replace(kernels.operations, rows=dict.fromkeys(KERNELS, frozenset({4})) | {"verify_matmul": frozenset({12})})
    tiny.pair.use(counted)
    running = [begin(tiny, request) for _ in range(3)]
    with failing(kernels):
        while not all(one.ended for one in running):
            for one in running:
                one.step()
    known = kernel_selection.known(tiny.pair)
    assert kernels.failed and [one.whole.tokens for one in running] == [wanted] * 3
    assert known is not None and "verify_matmul" in {trial.kernel for trial in known.trials}


@pytest.mark.parametrize("fits", [16, 32, 64])
@pytest.mark.parametrize("kernels", [False, True])
def test_a_prompt_whose_chunks_took_too_long_continues_in_smaller_ones(tiny, monkeypatch, fits, kernels) -> None:
    request = asked(PROMPT * 9)
    wanted = reply(tiny, request)
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        if rows > fits:
            raise RuntimeError(INTERACTIVITY)

    monkeypatch.setattr(tiny.pair, "pace", Pace(64, adapts=True, clock=lambda: 0.0))
    if kernels:
        tiny.pair.use(FailingKernels().operations)
    before_each_pass(tiny.pair.target, monkeypatch, fail)
    got = reply(tiny, request)
    assert got.tokens == wanted.tokens and [rows for rows in passes if rows > fits] == [64, 32][: 2 - [16, 32, 64].index(fits)]


@pytest.mark.parametrize(("message", "attempts"), [(TIMEOUT, [64, 32, 16]), (THREADS, [64])])
def test_a_prompt_that_fails_in_chunks_of_every_size_ends_with_an_explanation(tiny, monkeypatch, message, attempts) -> None:
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        raise RuntimeError(message)

    monkeypatch.setattr(tiny.pair, "pace", Pace(64, adapts=True))
    before_each_pass(tiny.pair.target, monkeypatch, fail)
    end = events(tiny, asked(PROMPT * 9))[-1]
    assert isinstance(end, Failed) and end.code == "gpu_failed" and passes == attempts


def test_kernels_are_not_blamed_if_the_retry_fails_without_them(tiny, monkeypatch) -> None:
    """A smaller chunk passes, so it was the size."""
    monkeypatch.setattr(tiny.pair, "pace", Pace(64, adapts=True, clock=lambda: 0.0))

    def fail(rows: int) -> None:
        if rows > 16:
            raise RuntimeError(INTERACTIVITY)

    kernels = FailingKernels().operations
    tiny.pair.use(kernels)
    before_each_pass(tiny.pair.target, monkeypatch, fail)
    end = events(tiny, asked(PROMPT * 9))[-1]
    assert isinstance(end, Finished) and kernel_selection.known(tiny.pair) is None and tiny.pair.operations is kernels


@pytest.mark.parametrize("message", [HANG, VICTIM, _NO_ROOM])
@pytest.mark.parametrize("where", ["put", "close"])
def test_a_complete_reply_ends_well_whatever_fails_after_its_last_token(tiny, monkeypatch, message, where) -> None:
    request = asked(reuse=True)
    wanted = reply(tiny, replace(request, reuse=False))

    def fail(*_: object) -> None:
        raise RuntimeError(message)

    with monkeypatch.context() as patch:
        patch.setattr(*((tiny.snapshots, "put") if where == "put" else (Stream, "close")), fail)
        assert reply(tiny, request).tokens == wanted.tokens
    assert tiny.snapshots.nbytes == 0
    assert reply(tiny, request).tokens == wanted.tokens


def test_an_error_while_a_prompt_is_saved_drops_what_the_failed_work_may_have_computed(tiny, tmp_path, monkeypatch) -> None:
    request = asked(PROMPT * 3, reuse=True, chat="a")
    wanted = reply(tiny, replace(request, reuse=False))
    tiny.save_prompts(tmp_path / "prompts")
    try:
        reply(tiny, request)
        assert tiny.snapshots.nbytes and tiny.snapshots.disk is not None
        faults, forgotten = tiny._turns.faults, list[bool]()

        def fail(*_: object) -> None:
            raise RuntimeError(HANG)

        with monkeypatch.context() as patch:
            patch.setattr(memory, "settle", lambda: forgotten.append(True))
            patch.setattr(tiny.snapshots.disk, "_copy", fail)
            assert tiny.save_next() is None
        assert forgotten and tiny._turns.faults == faults + 1 and tiny.snapshots.nbytes == 0
        again = reply(tiny, request)
        assert again.tokens == wanted.tokens and not again.stats.reused_tokens
    finally:
        tiny.save_prompts(None)
