"""A reply continues with the same text after an error of the GPU, and kernels that failed stay off."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import kernel_selection, saved_calibration
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Commit, Failed, Finished, PrefillProgress
from mlx_engine.contract.machine_events import KernelRows, KernelsSelected, KernelTrial
from mlx_engine.contract.requests import Calibrate, GenerationRequest
from mlx_engine.decoding import prefill
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.decoding.stream import Stream
from mlx_engine.engine import generation
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.hardware import device, memory
from mlx_engine.kernels.operations import KERNELS, PLAIN
from tests.engine_double import EngineDouble
from tests.examples import sampled
from tests.mlx_engine.api_server.serving import serving
from tests.mlx_engine.asking import events, question, reply, tokens
from tests.mlx_engine.conftest import loaded, loaded_case
from tests.mlx_engine.engine.failing_kernels import (
    BY_KERNEL,
    HANG,
    INNOCENT,
    INTERACTIVITY,
    THREADS,
    VICTIM,
    FailingKernels,
    failing,
)
from tests.mlx_engine.engine.test_turns import REQUESTS, begin, together
from tests.mlx_engine.prefix.prefix_pairs import PAIRS, PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass

SAMPLED = ("growing", "rotating", "recurrent")
OTHERS = (pytest.param(kind, marks=pytest.mark.long) for kind in ("assistant", "dspark", "eagle3", "mtp"))


@pytest.fixture(scope="module", params=[*SAMPLED, *OTHERS])
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    engine = loaded_case(PAIRS[request.param], tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill, "CHUNK", 8)
        yield engine
    engine.unload()


@pytest.fixture(autouse=True)
def evidence(tmp_path, monkeypatch) -> None:
    """Keep evidence apart for each test."""
    monkeypatch.setattr(saved_calibration, "folder", lambda kind: tmp_path / kind)


def asked(prompt=PROMPT, **options) -> GenerationRequest:
    return tokens(prompt, **{"max_tokens": 12, "ignore_eos": True, "width": 4, **options})


def forget(engine: Engine) -> None:
    for file in saved_calibration.folder("kernels").glob("*"):
        file.unlink()
    engine.pair.use(PLAIN)


def run_with(engine: Engine, kernels: FailingKernels, request: GenerationRequest) -> list:
    engine.pair.use(kernels.operations)
    with failing(kernels):
        return events(engine, request)


@sampled(8, 40)
@given(
    request_=REQUESTS,
    queued=st.booleans(),
    kernel=st.integers(0, 99),
    call=st.integers(0, 9999),
    message=st.sampled_from([*BY_KERNEL, *INNOCENT]),
)
def test_the_text_is_the_same_whichever_kernel_fails_at_whichever_call(engine, request_, queued, kernel, call, message) -> None:
    """In the prompt or in any round, of any drafter, greedy or sampled, queued ahead or not."""
    with pytest.MonkeyPatch.context() as patch:
        if queued:
            patch.setattr(device, "runs_beside_host", lambda: True)
            engine.pair.use_costs(replace(ASSUMED, queued=True))
        else:
            engine.pair.use_costs(ASSUMED)
        engine.pair.use(PLAIN)
        wanted = reply(engine, replace(request_, reuse=False))
        counted = FailingKernels()
        engine.pair.use(counted.operations)
        engine.free_memory()
        assert reply(engine, request_).tokens == wanted.tokens
        engine.free_memory()
        name = sorted(counted.calls)[kernel % len(counted.calls)]
        first = call % counted.calls[name]  # the number of calls depends on the widths that earlier examples taught
        kernels = FailingKernels(name, message, range(first, first + 1))
        found = run_with(engine, kernels, request_)
        end = found[-1]
        assert isinstance(end, Finished), end
        assert [token for event in found if isinstance(event, Commit) for token in event.tokens] == list(wanted.tokens)
        known = kernel_selection.known(engine.pair)
        if end.stats.gpu_error is None:  # the kernel wasn't called so often, or only for what no token needed
            assert known is None
        elif end.stats.gpu_error.code == "kernels_turned_off":
            assert message in BY_KERNEL and known is not None and name in {trial.kernel for trial in known.trials}
            assert name not in engine.pair.operations.kernels
        else:
            assert known is None and engine.pair.operations.kernels
        follow = replace(request_, prompt_tokens=(*request_.prompt_tokens, *wanted.tokens, 9), reuse=True, max_tokens=4)
        kernels.at = range(0)  # if the reply made fewer calls, the next one must not fail
        after = reply(engine, follow)  # from what the reply has left, by the kernels that are left
        engine.pair.use(PLAIN)
        assert after.tokens == reply(engine, replace(follow, reuse=False)).tokens
    forget(engine)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["growing"], indirect=True)
@pytest.mark.parametrize("message", [*BY_KERNEL, *INNOCENT], ids=lambda message: message.split()[-1])
def test_every_kernel_may_fail_in_every_pass(engine, message) -> None:
    """In each chunk of the prompt, and in each round."""
    engine.pair.use_costs(ASSUMED)
    request, counted = asked(temperature=0.8, seed=5), FailingKernels()
    wanted = reply(engine, request).tokens
    before: list[Counter[str]] = []  # calls before each pass
    with pytest.MonkeyPatch.context() as patch:
        before_each_pass(engine.pair.target, patch, lambda rows: before.append(Counter(counted.calls)))
        run_with(engine, counted, request)
    passes = [*before, Counter(counted.calls)]
    assert len(passes) > 6
    for name in counted.calls:
        survived = 0
        calls = [this[name] for this, following in pairwise(passes) if following[name] > this[name]]
        for call in calls:
            kernels = FailingKernels(name, message, range(call, call + 1))
            found = run_with(engine, kernels, request)
            got = [token for event in found if isinstance(event, Commit) for token in event.tokens]
            assert kernels.failed and got == list(wanted)
            has_failed = found[-1].stats.gpu_error is not None
            assert (kernel_selection.known(engine.pair) is not None) == (has_failed and message in BY_KERNEL)
            survived += has_failed
            forget(engine)
        assert survived >= len(calls) - 1 > 0, "only the last draft isn't needed"


@sampled(4, 20)
@given(data=st.data(), requests=st.lists(REQUESTS, min_size=2, max_size=3))
def test_an_error_in_one_reply_leaves_the_others_as_they_are(engine, data, requests) -> None:
    """Plain passes are queued beyond the end of a turn, so an error may belong to another reply."""
    engine.pair.use(PLAIN)
    wanted = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    name = data.draw(st.sampled_from(sorted(KERNELS)), "kernel")
    first = data.draw(st.integers(0, 60), "call")
    kernels = FailingKernels(name, data.draw(st.sampled_from([*BY_KERNEL, *INNOCENT]), "error"), range(first, first + 1))
    engine.pair.use(kernels.operations)
    with failing(kernels):
        found = together(engine, requests)
    assert [one.tokens for one in found] == wanted
    for one, request in zip(found, requests, strict=True):
        follow = replace(request, prompt_tokens=(*request.prompt_tokens, *one.tokens, 9), reuse=True, max_tokens=3)
        engine.pair.use(PLAIN)
        assert reply(engine, follow).tokens == reply(engine, replace(follow, reuse=False)).tokens
    forget(engine)


def test_what_another_reply_has_queued_is_computed_again(tiny, monkeypatch) -> None:
    """MLX raises the error in one reply, and lets the other one read anything."""
    streams: list[Stream] = []
    made = generation.reply_stream
    monkeypatch.setattr(generation, "reply_stream", lambda *given: streams.append(made(*given)) or streams[-1])
    requests = [asked(mode="plain", width=None), asked(PROMPT * 2)]
    wanted = [reply(tiny, request).tokens for request in requests]
    streams.clear()
    queued, failed = begin(tiny, requests[0]), begin(tiny, requests[1])
    while len(streams) < 1 or not streams[0].unread:
        queued.step()
    with monkeypatch.context() as patch:
        before_each_pass(tiny.pair.target, patch, lambda rows: (_ for _ in ()).throw(RuntimeError(VICTIM)))
        patch.setattr(memory, "settle", patch.undo)  # the retry passes
        failed.step()
        failed.step()
    for unread in streams[0]._unread:
        unread.verdict = replace(unread.verdict, choices=mx.array([7], mx.uint32))
    failed.finish()
    queued.finish()
    assert [queued.whole.tokens, failed.whole.tokens] == wanted
    assert queued.whole.stats.gpu_error is None and failed.whole.stats.gpu_error is not None


def test_the_next_reply_and_the_next_start_leave_failed_kernels_off(tiny, monkeypatch) -> None:
    kernels, pair = FailingKernels("block_verify"), tiny.pair
    used = KernelTrial("block_verify", EngineText.of("kernel_faster", "faster"), (KernelRows(256, 2, 16),))
    assert kernel_selection.save(pair, KernelsSelected((used, replace(used, kernel="kv_injection")), (256,)))
    monkeypatch.setattr(kernel_selection, "available", lambda: True)
    monkeypatch.setattr(kernel_selection, "with_kernels", lambda used: kernels.operations if any(used.values()) else PLAIN)
    engine = loaded(*pair.folders)
    assert engine.pair.operations.kernels
    wanted = reply(tiny, asked())
    kernels.calls.clear()
    kernels.at = range(3, 4)
    with failing(kernels):
        found = events(engine, asked())
    end = found[-1]
    assert isinstance(end, Finished) and end.stats.gpu_error is not None
    assert end.stats.gpu_error.code == "kernels_turned_off" and kernels.failed
    [told] = [event for event in found if isinstance(event, KernelsSelected)]
    assert told == kernel_selection.known(pair) and told.saved
    assert [(trial.used_at, trial.why.code) for trial in told.trials if trial.kernel in ("block_verify", "kv_injection")] == [
        ((), "kernel_fails")
    ] * 2
    assert HANG in str(told.trials[0].why)
    kernels.calls.clear()
    assert reply(engine, asked()).tokens == reply(loaded(*pair.folders), asked()).tokens == wanted.tokens
    assert not kernels.calls


def test_a_kernel_that_runs_only_passes_of_few_rows_is_blamed(tiny) -> None:
    kernels = FailingKernels("block_verify", at=range(3, 4))
    few = replace(kernels.operations, rows=dict.fromkeys(KERNELS, frozenset({2, 3, 4})))
    tiny.pair.use(few)
    try:
        with failing(kernels):
            found = events(tiny, asked())
        assert kernels.failed and found[-1].stats.gpu_error.code == "kernels_turned_off"
        known = kernel_selection.known(tiny.pair)
        assert known is not None and "block_verify" in {trial.kernel for trial in known.trials}
    finally:
        forget(tiny)


def test_an_error_of_other_work_blames_no_kernel(tiny) -> None:
    kernels = FailingKernels("block_verify", VICTIM, range(3, 4))
    wanted = reply(tiny, asked())
    try:
        found = run_with(tiny, kernels, asked())
        assert found[-1].stats.gpu_error.code == "gpu_error_survived" and kernels.failed
        assert kernel_selection.known(tiny.pair) is None
        calls = kernels.calls["block_verify"]
        assert reply(tiny, asked()).tokens == wanted.tokens
        assert kernels.calls["block_verify"] > calls  # the next reply runs them again
    finally:
        tiny.pair.use(PLAIN)


def test_a_prompt_that_takes_too_long_blames_no_kernel_of_rounds(tiny, monkeypatch) -> None:
    """The passes of a long prompt have too many rows for these kernels."""
    monkeypatch.setattr(prefill, "CHUNK", 80)
    kernels, failed = FailingKernels(), []

    def fail(rows: int) -> None:
        if rows > 64 and not failed:
            failed.append(rows)
            raise RuntimeError(INTERACTIVITY)

    before_each_pass(tiny.pair.target, monkeypatch, fail)
    try:
        found = run_with(tiny, kernels, asked(PROMPT * 12))
        assert failed and isinstance(found[-1], Finished)
        known = kernel_selection.known(tiny.pair)
        assert known is not None and [trial.kernel for trial in known.trials] == ["kv_injection"]
        assert [event.done for event in found if isinstance(event, PrefillProgress)].count(0) == 2
    finally:
        forget(tiny)


@pytest.mark.parametrize("message", [HANG, VICTIM, THREADS])
@pytest.mark.parametrize("kernels", [False, True])
def test_an_error_without_kernels_ends_the_reply_with_an_explanation(tiny, monkeypatch, message, kernels) -> None:
    wanted = reply(tiny, asked())
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        if len(passes) > 4:
            raise (ValueError if message is THREADS else RuntimeError)(message)

    with monkeypatch.context() as patch:
        before_each_pass(tiny.pair.target, patch, fail)
        found = run_with(tiny, FailingKernels(), asked()) if kernels else events(tiny, asked())
    end = found[-1]
    assert isinstance(end, Failed) and end.code == "gpu_failed" and "Try again" in end.message
    assert len(passes) == 5 + (kernels or message is VICTIM)
    assert kernel_selection.known(tiny.pair) is None
    tiny.pair.use(PLAIN)
    assert reply(tiny, asked()).tokens == wanted.tokens


def test_a_reply_survives_several_errors_of_other_work(tiny, monkeypatch) -> None:
    wanted = reply(tiny, asked(max_tokens=20, temperature=0.8, seed=4))
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        if len(passes) in (3, 9, 15):
            raise RuntimeError(VICTIM)

    before_each_pass(tiny.pair.target, monkeypatch, fail)
    got = reply(tiny, asked(max_tokens=20, temperature=0.8, seed=4))
    assert got.tokens == wanted.tokens and got.text == wanted.text and len(passes) > 15


def test_a_reply_can_be_canceled_while_it_is_computed_again(tiny, monkeypatch) -> None:
    monkeypatch.setattr(prefill, "CHUNK", 8)
    request = asked(PROMPT * 3, max_tokens=30, reuse=True)
    wanted = reply(tiny, replace(request, reuse=False))
    tiny.free_memory()
    kernels = FailingKernels("block_verify", HANG, range(4, 5))
    tiny.pair.use(kernels.operations)
    try:
        with failing(kernels):
            running = begin(tiny, request)
            while not kernels.failed:
                running.step()
            before = len(running.events)
            while tiny.pair.operations.kernels:
                running.step()
            running.cancel.set()
            running.finish()
        got = running.whole
        assert got.reason == "cancelled" and got.tokens == wanted.tokens[: len(got.tokens)]
        assert not any(isinstance(event, Commit) for event in running.events[before:])
        assert kernel_selection.known(tiny.pair) is None  # the retry hasn't passed
        assert tiny.pair.operations.kernels and got.stats.gpu_error.code == "gpu_error_survived"
        assert reply(tiny, request).tokens == wanted.tokens
    finally:
        forget(tiny)
        tiny.free_memory()


def test_a_reply_that_is_complete_ends_well_if_its_snapshot_fails(tiny, monkeypatch) -> None:
    request = asked(reuse=True)
    wanted = reply(tiny, replace(request, reuse=False))
    tiny.free_memory()

    def fail(branch: object) -> None:
        raise RuntimeError(HANG)

    with monkeypatch.context() as patch:
        patch.setattr(tiny.snapshots, "put", fail)
        assert reply(tiny, request).tokens == wanted.tokens
    assert tiny.snapshots.nbytes == 0
    assert reply(tiny, request).tokens == wanted.tokens


def test_exact_replies_continue_but_are_no_longer_called_exact(tiny, monkeypatch) -> None:
    request = asked(exact=True, temperature=0.7, seed=3)
    wanted = reply(tiny, request)
    kernels = FailingKernels("block_verify", HANG, range(5, 6))
    monkeypatch.setattr(tiny.pair, "exact_operations", replace(kernels.operations, row_exact=True))
    monkeypatch.setattr(tiny.pair, "exact_history", tiny.pair.exact_history)
    with failing(kernels):
        got = reply(tiny, request)
    assert wanted.stats.exact and not got.stats.exact and got.tokens == wanted.tokens and kernels.failed
    assert not tiny.pair.exact_operations.kernels  # for the next exact reply
    again = reply(tiny, request)
    assert again.stats.exact and again.tokens == wanted.tokens


def test_exact_replies_run_without_kernels_if_these_fail_in_the_check(tiny, monkeypatch) -> None:
    request = asked(exact=True)
    wanted = reply(tiny, request)
    kernels = FailingKernels("verify_attention", THREADS, range(3, 4))
    only = replace(PLAIN, verify_attention=kernels.operations.verify_attention, row_exact=True)
    monkeypatch.setattr(tiny.pair, "exact_operations", only)
    monkeypatch.setattr(tiny.pair, "exact_history", None)
    got = reply(tiny, request)
    assert kernels.failed and not tiny.pair.exact_operations.kernels
    assert got.tokens == wanted.tokens and got.stats.exact


def test_exact_replies_stay_exact_if_no_kernel_was_used(tiny, monkeypatch) -> None:
    """The prompt is computed in the same chunks, and the reply in exact passes."""
    monkeypatch.setattr(prefill, "CHUNK", 32)
    request = asked(PROMPT * 4, exact=True, max_tokens=24)
    wanted = reply(tiny, request)
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        if len(passes) == 14:
            raise RuntimeError(VICTIM)

    before_each_pass(tiny.pair.target, monkeypatch, fail)
    got = reply(tiny, request)
    assert got.stats.exact and got.stats.gpu_error is not None and got.tokens == wanted.tokens
    assert passes[:2] == [32, 11] and passes[14:16] == [32, 11] and max(passes[16:]) <= 16


def test_a_grammar_follows_the_reply_through_an_error(demo, monkeypatch) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "word": {"type": "string", "maxLength": 6}}}
    schema |= {"required": ["n", "word"], "additionalProperties": False}
    request = question("Name a number and a word.", schema=json.dumps(schema), max_tokens=40, seed=1)
    monkeypatch.setattr(prefill, "CHUNK", 512)
    wanted = reply(demo, request)
    passes: list[int] = []

    def fail(rows: int) -> None:
        passes.append(rows)
        if len(passes) in (4, 8):
            raise RuntimeError(VICTIM)

    before_each_pass(demo.pair.target, monkeypatch, fail)
    got = reply(demo, request)
    assert got.text == wanted.text and got.stats.gpu_error is not None


def test_another_request_that_the_gpu_fails_is_explained(monkeypatch) -> None:
    """The error is forgotten, so that the next reply isn't the one that gets it."""
    forgotten: list[bool] = []

    class Broken(EngineDouble):
        def run(self, request: object, cancel: threading.Event) -> Iterator[Finished]:
            raise RuntimeError(HANG)

    monkeypatch.setattr(memory, "settle", lambda: forgotten.append(True))
    host = EngineHost(Broken)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="The GPU failed"):
        list(to_iter(host, Calibrate()))
    assert forgotten
    assert host.wait(60)


class Loaded(Engine):
    """An engine that runs these kernels."""

    def __init__(self, kernels: FailingKernels) -> None:
        super().__init__()
        self._kernels = kernels

    def load(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        yield from super().load(*arguments, **options)
        self.pair.use(self._kernels.operations)


def test_a_reply_of_the_api_server_goes_on() -> None:
    kernels = FailingKernels("block_verify")
    asked = {"messages": [{"role": "user", "content": "Count from 3 to 9."}], "max_tokens": 24, "temperature": 0}
    with serving(lambda: Loaded(kernels)) as server, failing(kernels):
        wanted = server.chat("Count from 3 to 9.", max_tokens=24, temperature=0)["choices"][0]["message"]["content"]
        first = kernels.calls["block_verify"] + 5
        kernels.at = range(first, first + 1)
        chunks = server.streamed("/v1/chat/completions", **asked)
        assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == wanted and kernels.failed
        calls = kernels.calls["block_verify"]
        assert server.chat("Count from 3 to 9.", max_tokens=24, temperature=0)["choices"][0]["message"]["content"] == wanted
        assert kernels.calls["block_verify"] == calls
