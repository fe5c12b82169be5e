"""Rolling windows: what is sent of a chat that is longer than the context."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.contract.events import PrefillProgress
from mlx_engine.contract.limits import rolling_window, shorten_results, shrinking_windows
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, ToolCall
from mlx_engine.formats import chat_prompt
from tests.mlx_engine.formats.made_calls import tokenizer_of

LIMIT, OVERHEAD = 400, 5  # tokens: of the context, and what a template adds to a message


def count(messages: Sequence[Message]) -> int:
    return sum(OVERHEAD + len(message.content) for message in messages)


texts = st.integers(0, 150).map("x".__mul__)


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns in order, perhaps after a system prompt and an imported answer, up to a message that is to be answered."""
    messages = [Message("system", draw(texts))] if draw(st.booleans()) else []
    messages += [Message("assistant", draw(texts))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 12))):
        messages += [Message("user", draw(texts)), Message("assistant", draw(texts))]
    return (*messages, Message("user", draw(texts)))


@given(messages=conversations(), left_out=st.integers(0, 30), max_tokens=st.integers(1, 1000))
@example(messages=(Message("user", "x" * 350),), left_out=0, max_tokens=1000)
def test_what_is_sent_fits_and_keeps_the_system_prompt_and_the_last_message(
    messages: tuple[Message, ...], left_out: int, max_tokens: int
) -> None:
    sent = rolling_window(messages, left_out, LIMIT, max_tokens, count)
    head = messages[:1] if messages[0].role == "system" else ()
    reserve = min(max_tokens, LIMIT // 4)
    assert sent[: len(head)] == head and sent[-1] is messages[-1]
    rest = sent[len(head) :]
    assert rest == messages[len(messages) - len(rest) :], "only the oldest messages are left out"
    assert len(rest) == len(messages) - len(head) or rest[0].role == "user", "turns are left out as a whole"
    alone = count((*head, messages[-1]))
    assert count(sent) <= max(LIMIT - reserve, alone)
    if count(messages) <= LIMIT - reserve and not left_out:
        assert sent == messages
    left = len(messages) - len(sent)
    assert left >= min(left_out, len(messages) - len(head) - 1)
    more = (*messages, Message("assistant", ""), Message("user", ""))
    if left > 0 and count(sent) <= LIMIT - reserve - LIMIT // 4:
        assert len(more) - len(rolling_window(more, left, LIMIT, max_tokens, count)) == left, "the next prompt begins like this one"


@given(messages=conversations(), left_out=st.integers(0, 30))
@example(messages=(Message("assistant", "Hi."), Message("user", "Hi.")), left_out=0)
@example(messages=(Message("system", ""), Message("assistant", "")), left_out=3)
def test_a_server_gets_the_same_windows(messages: tuple[Message, ...], left_out: int) -> None:
    windows = list(shrinking_windows(GenerationRequest(messages, rolling=left_out)))
    first, last = windows[0][0], windows[-1][0]
    assert left_out or first == messages
    assert first == rolling_window(messages, left_out, count(messages) + 1, 1, count), "if everything fits"
    assert last == rolling_window(messages, left_out, 0, 1, count), "if nothing fits"
    lengths = [len(window) for window, _ in windows]
    assert lengths == sorted(set(lengths), reverse=True)
    assert all(left == len(messages) - length for (_, left), length in zip(windows, lengths, strict=True))


def test_a_chat_longer_than_the_context_is_answered_in_a_rolling_window(demo) -> None:  # type: ignore[no-untyped-def]
    limit = demo.pair.info.context_limit
    turns = [(Message("user", f"What is {at} + 2?"), Message("assistant", f"{at} + 2 = {at + 2}. " * 8)) for at in range(60)]
    messages = (Message("system", "Be brief."), *(message for turn in turns for message in turn), Message("user", "What is 2 + 2?"))
    assert demo.count_tokens(CountTokens(GenerationRequest(messages))).tokens > limit
    request = GenerationRequest(messages, max_tokens=100, rolling=0, reuse=False)
    sent, *_ = chat_prompt.fitting(demo.pair.tokenizer, request, limit)
    assert (
        demo.count_tokens(CountTokens(GenerationRequest(messages, rolling=0, max_tokens=100))).tokens
        == demo.count_tokens(CountTokens(GenerationRequest(sent))).tokens
    )
    with closing(demo.generate(request)) as reply:
        started = next(reply)
    assert isinstance(started, PrefillProgress) and started.total <= limit - 100
    left_out = started.left_out
    assert left_out == len(messages) - len(sent) > 0
    again, *_ = chat_prompt.fitting(demo.pair.tokenizer, GenerationRequest(messages, max_tokens=100, rolling=left_out), limit)
    assert again == sent
    *_, end = demo.generate(replace(request, max_tokens=1))
    whole = demo.count_tokens(CountTokens(GenerationRequest(messages))).tokens
    assert end.stats.cut_tokens == whole - end.stats.prompt_tokens > 0
    *_, end = demo.generate(GenerationRequest(sent[-1:], max_tokens=1))
    assert end.stats.cut_tokens == 0


# --- Long results of tools


@st.composite
def with_results(draw: st.DrawFn) -> tuple[Message, ...]:
    """A question, and steps with results of up to 5,000 characters."""
    messages = [Message("user", draw(texts))]
    for number in range(draw(st.integers(0, 6))):
        call = ToolCall(str(number), "read", "{}")
        messages += [Message("assistant", "", calls=(call,)), Message("tool", "x" * draw(st.integers(0, 5_000)), call_id=call.id)]
    return tuple(messages)


@given(messages=with_results(), limit=st.integers(100, 40_000), max_tokens=st.integers(1, 1000))
def test_results_are_cut_off_no_more_than_needed(messages: tuple[Message, ...], limit: int, max_tokens: int) -> None:
    sent, length = shorten_results(messages, limit, max_tokens, count)
    room = limit - min(max_tokens, limit // 4)
    if count(messages) <= room:
        assert (sent, length) == (messages, 0)
    for old, new in zip(messages, sent, strict=True):
        if old.role != "tool" or not length or len(old.content) <= length:
            assert old == new
        else:
            assert new.content.startswith(old.content[:length] + "\n[The rest") and new.call_id == old.call_id
    if length > 500:
        assert count(sent) <= room
        longer, more = shorten_results(messages, limit + limit // 2 + 1_000, max_tokens, count)
        assert more >= length or (more, longer) == (0, messages)


def test_a_result_that_exceeds_the_context_is_cut_off(monkeypatch, demo) -> None:  # type: ignore[no-untyped-def]
    tokenizer, limit = tokenizer_of("qwen3"), 2_000
    call = ToolCall("call_1", "read", "{}")
    question = (Message("user", "What is 2 + 2?"), Message("assistant", "", calls=(call,)))
    messages = (*question, Message("tool", "Two and two are four. " * 4_000, call_id=call.id))
    request = GenerationRequest(messages, max_tokens=100, shorten_results=True, rolling=0)
    sent, length, whole = chat_prompt.fitting(tokenizer, request, limit)
    assert sent[:2] == question and 500 <= length < 88_000
    assert limit / 2 < len(chat_prompt.template(tokenizer, sent)) <= limit - 100
    assert 80_000 < whole < 100_000, "an estimate of all messages"
    cut_only = GenerationRequest(messages, max_tokens=100, shorten_results=True)
    assert chat_prompt.fitting(tokenizer, cut_only, limit)[:2] == (sent, length)
    assert chat_prompt.fitting(tokenizer, replace(request, shorten_results=False, rolling=None), limit) == (messages, 0, 0)
    monkeypatch.setattr(chat_prompt, "fitting", lambda *_: (question[:1], length, 0))
    with closing(demo.generate(replace(request, reuse=False))) as reply:
        started = next(reply)
    assert isinstance(started, PrefillProgress) and started.result_length == length
