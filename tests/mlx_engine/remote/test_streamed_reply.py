"""Whatever a server streams, the events are valid or there is a clear error."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import dropwhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.api_server.chat_completions import ChatExchange
from mlx_engine.api_server.reply_figures import details
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Finished
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.remote.endpoint import Endpoint, failure, refused
from mlx_engine.remote.streamed_reply import ReplyStream, data_of
from tests.mlx_engine.remote.replay import recorded
from tests.mlx_engine.scripted_engine import stats

CONNECTION = Endpoint("http://127.0.0.1:1", "demo")
WHOLE = recorded("vllm_dflash/stream_thinking").body
NAMES = (
    *("choices", "delta", "content", "text", "reasoning", "reasoning_content", "tool_calls", "index", "id", "function", "name"),
    *(
        "arguments",
        "finish_reason",
        "stop_reason",
        "matched_stop",
        "token_ids",
        "error",
        "message",
        "code",
        "type",
        "usage",
        "timings",
        "metrics",
    ),
    *("completion_tokens", "prompt_tokens", "prompt_tokens_details", "cached_tokens", "predicted_n", "predicted_per_second"),
    *("generation_time_ms", "speculative_decoding", "num_spec_steps", "sglext", "spec_tokens_details", "draft_n", "width"),
    *("per_step_accepted", "unreadable_call", "slipstream", "drafter", "drafter_kind", "images", "count", "ms"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=15,
)
CHUNK = st.fixed_dictionaries({"choices": st.lists(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6), max_size=2)}) | JSON


def check(event: Event) -> None:
    if isinstance(event, Commit):
        assert isinstance(event.text, str)
        assert event.channel in ("thinking", "answer") and type(event.unreadable_call) is bool
        assert all(type(token) is int for token in event.tokens)
    else:
        assert isinstance(event, ToolCall)
        assert all(isinstance(value, str) for value in (event.id, event.name, event.arguments))


@given(st.lists(CHUNK, max_size=4))
@example([{"choices": [{"delta": {"content": 5, "reasoning": [1]}, "token_ids": [True]}]}])
@example(
    [{"choices": [{"delta": {"tool_calls": [{"index": "a", "function": {"name": 1, "arguments": {}}}]}, "finish_reason": "x"}]}]
)
def test_any_chunks_give_events_or_an_error(chunks: list[object]) -> None:
    stream = ReplyStream(CONNECTION, GenerationRequest())
    try:
        for chunk in chunks:
            for event in stream.events(json.dumps(chunk)):
                check(event)
        end = stream.end()
    except UserError as error:
        assert "127.0.0.1" in str(error)
        return
    assert isinstance(end, Finished)
    assert end.stats.tokens >= 0
    assert end.stats.decode_tok_s is None or end.stats.decode_tok_s > 0


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
@example("[" * 100_000)
def test_any_text_gives_an_error(text: str) -> None:
    try:
        list(ReplyStream(CONNECTION, GenerationRequest()).events(text))
    except UserError as error:
        assert "127.0.0.1" in str(error)


@given(JSON, st.integers(100, 599), st.text(max_size=10))
def test_any_error_has_a_message_in_one_line(found: object, status: int, retry_after: str) -> None:
    for error in (refused(CONNECTION, status, json.dumps(found).encode(), retry_after), failure(CONNECTION, found, status)):
        assert "127.0.0.1" in str(error)
        assert str(error).isprintable()
        assert len(str(error)) < 500


@given(st.integers(0, len(WHOLE)), st.lists(st.integers(1, 400), max_size=5))
def test_a_cut_stream_is_a_beginning_of_the_whole(size: int, steps: list[int]) -> None:
    whole, beginning = _text(WHOLE, []), _text(WHOLE[:size], steps)
    assert whole.startswith(beginning)


@given(st.lists(st.integers(1, 400), max_size=30))
def test_the_sizes_of_packets_do_not_matter(steps: list[int]) -> None:
    assert _text(WHOLE, steps) == _text(WHOLE, [])


def _text(body: bytes, steps: list[int]) -> str:
    """Return thinking and answer of a stream that arrives in packets of these sizes, up to the first error."""

    async def packets() -> AsyncIterator[bytes]:
        at = 0
        for step in (*steps, len(body)):
            yield body[at : at + step]
            at += step

    async def collect() -> str:
        stream, found = ReplyStream(CONNECTION, GenerationRequest()), ""
        try:
            async for data in data_of(packets()):
                for event in stream.events(data):
                    found += event.text if isinstance(event, Commit) else ""
        except UserError:
            pass
        return found

    return asyncio.run(collect())


@pytest.mark.parametrize(
    "delta", [{"content": "\ud800"}, {"reasoning": "a\udc00"}, {"tool_calls": [{"function": {"name": "\ud83d"}}]}]
)
def test_half_of_a_surrogate_pair_is_invalid_data(delta: dict[str, object]) -> None:
    stream = ReplyStream(CONNECTION, GenerationRequest())
    with pytest.raises(UserError) as error:
        list(stream.events(json.dumps({"choices": [{"delta": delta}]})))
    assert error.value.text.code == "remote_bad_chunk"


@given(st.lists(st.tuples(st.text(), st.booleans())))
@example([("Let me see.", False), ("<tool_call>", True), ("{", True), (" Hm.", False)])
def test_unreadable_calls_of_slipstream_are_marked(parts: list[tuple[str, bool]]) -> None:
    exchange, stream = ChatExchange({"messages": [{"role": "user", "content": "Hi"}]}), ReplyStream(CONNECTION, GenerationRequest())
    found: list[tuple[str, bool]] = []
    for text, unreadable in parts:
        for chunk in exchange.encode(0, Commit(text, "answer", (1,), ("target",), unreadable_call=unreadable)):
            for event in stream.events(json.dumps(chunk)):
                assert isinstance(event, Commit)
                found += [(character, event.unreadable_call) for character in event.text]
    sent = [(character, unreadable) for text, unreadable in parts for character in text]
    assert found == list(dropwhile(lambda each: each[0].isspace(), sent))


@given(st.text(), st.text())
@example("lab/Qwen3-EAGLE3", "EAGLE-3")
@example("lab/\u202eevil", "EAGLE-3\n" * 100)
def test_the_drafter_of_slipstream_is_named(drafter: str, kind: str) -> None:
    sent = replace(stats("dflash"), drafter=drafter, drafter_kind=kind)
    stream = ReplyStream(CONNECTION, GenerationRequest())
    assert not list(stream.events(json.dumps({"slipstream": details(sent)})))
    found, shown = stream.stats(), drafter and kind.isprintable() and len(kind) <= 100
    assert found.drafter_kind == (kind if shown else "")
    assert found.drafter in (drafter, "") and found.drafter.isprintable()


def test_the_images_of_slipstream_are_reported() -> None:
    sent = replace(stats("dflash"), images=2, image_tokens=128, image_s=0.5)
    stream = ReplyStream(CONNECTION, GenerationRequest())
    assert not list(stream.events(json.dumps({"slipstream": details(sent)})))
    found = stream.stats()
    assert (found.images, found.image_tokens, found.image_s) == (2, 128, 0.5)


@pytest.mark.parametrize("name", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize(("value", "expected"), [("END", ("stop_string", "END")), (151645, ("eos", "")), (None, ("eos", ""))])
def test_a_stop_sequence_is_told_from_an_end_token(name: str, value: object, expected: tuple[str, str]) -> None:
    stream = ReplyStream(CONNECTION, GenerationRequest(stop=("END",)))
    assert [*stream.events(json.dumps({"choices": [{"finish_reason": "stop", name: value}]}))] == []
    end = stream.end()
    assert (end.reason, end.stop_string) == expected


@given(
    st.lists(st.text(max_size=4), min_size=1, max_size=5), st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3)
)
def test_the_pieces_of_a_call_are_joined(arguments: list[str], name: list[str]) -> None:
    stream, events = ReplyStream(CONNECTION, GenerationRequest()), list[Event]()
    pieces = [{"id": "7", "function": {"name": part}} for part in name] + [{"function": {"arguments": part}} for part in arguments]
    for piece in pieces:
        events += stream.events(json.dumps({"choices": [{"delta": {"tool_calls": [{"index": 0, **piece}]}}]}))
    events += stream.events(json.dumps({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
    assert events == [ToolCall("7", "".join(name), "".join(arguments) or "{}")]
