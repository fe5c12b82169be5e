"""Preparing a reply without its models."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.requests import AttachedImage, CountTokens, GenerationRequest, Message, Sampling, ToolCall
from mlx_engine.engine.prepare import prepare
from mlx_engine.formats import chat_text

CHAT = (Message("system", "Be brief."), Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "Count to 3"))

SHOWN = (Message("user", "Read this.", images=(AttachedImage(0, b"PNG", "chart.png"),)),)


@pytest.fixture(scope="module")
def described(demo: Any) -> Any:
    """The demo pair without a model: what is known of it without its arrays."""
    target = SimpleNamespace(rows=demo.pair.target.rows, vocabulary=demo.pair.target.vocabulary)
    return SimpleNamespace(target=target, tokenizer=demo.pair.tokenizer, info=demo.pair.info, images=None)


def test_a_request_is_prepared_without_the_models(described: Any) -> None:
    request = GenerationRequest(CHAT, max_tokens=10**6, schema='{"type": "integer"}')
    prepared = prepare(described, request, 8, with_boundaries=True)
    length = len(prepared.prompt.tokens)
    assert 0 < prepared.prompt.boundaries[0] < prepared.prompt.boundaries[-1] < length
    assert prepared.limit == described.info.context_limit - length
    assert prepared.grammar is not None and prepared.ends == frozenset(described.tokenizer.eos_token_ids)
    assert (prepared.request, prepared.left_out, prepared.cut) == (request, 0, 0)


def test_messages_that_do_not_fit_are_left_out(described: Any) -> None:
    long = (*CHAT[:3], *(Message(role, "word " * 150) for _ in range(40) for role in ("user", "assistant")), CHAT[-1])
    prepared = prepare(described, GenerationRequest(long, rolling=0), 8, with_boundaries=False)
    assert prepared.left_out > 0 and prepared.prompt.boundaries == ()
    assert prepared.request.messages == (long[0], *long[1 + prepared.left_out :])


def test_messages_that_earlier_prompts_left_out_are_not_rendered(described: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as calls of another model."""
    monkeypatch.setattr(chat_text, "call_format", lambda tokenizer: None)
    call = ToolCall("1", "read", "{}")
    called = (Message("assistant", "", calls=(call,)), Message("tool", "text", call_id="1"), Message("assistant", "Done."))
    request = GenerationRequest((CHAT[0], Message("user", "Read it"), *called, *CHAT[1:]), rolling=4)
    prepared = prepare(described, request, 8, with_boundaries=False)
    assert (prepared.left_out, prepared.cut_tokens) == (4, 0) and prepared.request.messages == CHAT


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (GenerationRequest(SHOWN), "sees_no_images"),
        (GenerationRequest(CHAT, width=9), "integer_out_of_range"),
        (GenerationRequest(prompt_tokens=(10**9,)), "unknown_prompt_token"),
        (GenerationRequest(CHAT, logit_bias=((10**9, 1.0),)), "unknown_bias_token"),
        (GenerationRequest(CHAT, schema='{"type": "nothing"}'), "bad_schema"),
        (GenerationRequest(prompt_tokens=(5,) * 10**5), "context_full"),
        (GenerationRequest(CHAT, sampling=Sampling(-1.0)), "number_out_of_range"),
    ],
)
def test_every_refusal_comes_before_the_models(described: Any, request_: GenerationRequest, code: str) -> None:
    with pytest.raises(UserError) as refusal:
        prepare(described, request_, 8, with_boundaries=True)
    assert refusal.value.text.code == code


def test_images_are_refused_before_tokens_are_counted(demo: Any) -> None:
    with pytest.raises(UserError, match=r"chart\.png"):
        demo.count_tokens(CountTokens(GenerationRequest(SHOWN)))


def test_a_set_signal_ends_the_preparation(described: Any) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(WorkCancelled):
        prepare(described, GenerationRequest(CHAT), 8, with_boundaries=True, cancel=cancel)
