"""Logit bias and log-probabilities of the demo pair, read by OpenAI's own client."""

from typing import Any

import openai
import pytest

from mlx_engine.api_server.logprob_fields import CompletionLogprobs, of_chat
from mlx_engine.contract.token_logprobs import PositionLogprobs, TokenLogprob
from tests.mlx_engine.api_server.serving import Serving

CHAT = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "What is Slipstream?"}]


@pytest.fixture(scope="module")
def client(demo_server: Serving) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{demo_server.url}/v1", api_key="any", max_retries=0)


def position(text: bytes, hidden: bool = False) -> PositionLogprobs:
    return PositionLogprobs(TokenLogprob(1, text, -0.5), (TokenLogprob(2, b"other", float("-inf")),), hidden)


def test_a_chat_reports_each_token_of_the_answer(client: openai.OpenAI) -> None:
    options: dict[str, Any] = {"model": "default", "messages": MESSAGES, "max_tokens": 8, "seed": 3, "temperature": 0.7}
    options |= {"logprobs": True, "top_logprobs": 2}
    whole = client.chat.completions.create(**options).choices[0]
    assert whole.logprobs is not None and whole.logprobs.content
    assert b"".join(bytes(each.bytes or ()) for each in whole.logprobs.content).decode() == whole.message.content
    for each in whole.logprobs.content:
        assert each.token == bytes(each.bytes or ()).decode() and each.logprob <= 0
        assert [top.logprob for top in each.top_logprobs] == sorted((top.logprob for top in each.top_logprobs), reverse=True)
        assert len(each.top_logprobs) == 2
    chunks = [chunk.choices[0] for chunk in client.chat.completions.create(**options, stream=True)]
    streamed = [each for chunk in chunks if chunk.logprobs for each in chunk.logprobs.content or ()]
    assert streamed == whole.logprobs.content
    response: Any = client.responses.create(
        input=MESSAGES[0]["content"],
        include=["message.output_text.logprobs"],
        **{name: options[name] for name in ("model", "temperature", "top_logprobs")},
        extra_body={"seed": 3, "max_output_tokens": 8},
    )
    in_response = response.output[0].content[0].logprobs
    assert [each.to_dict() for each in in_response] == [each.to_dict() for each in whole.logprobs.content]
    plain = client.chat.completions.create(**options, extra_body={"slipstream": {"dflash": "off"}}).choices[0]
    assert plain.logprobs is not None and plain.logprobs.content
    assert [each.logprob for each in plain.logprobs.content] == pytest.approx([each.logprob for each in streamed], abs=1e-5)


def test_a_completion_reports_tokens_with_their_offsets(client: openai.OpenAI) -> None:
    options: dict[str, Any] = {"model": "default", "prompt": "The sun is", "max_tokens": 8, "temperature": 0}
    whole = client.completions.create(**options, logprobs=2).choices[0]
    assert client.completions.create(**options).choices[0].logprobs is None
    found = whole.logprobs
    assert found is not None and found.tokens and found.text_offset and found.token_logprobs and found.top_logprobs
    assert "".join(found.tokens) == whole.text and whole.text.startswith(" ")
    ends = [*found.text_offset[1:], len(whole.text)]
    assert [whole.text[at:end] for at, end in zip(found.text_offset, ends, strict=True)] == found.tokens
    for token, logprob, top in zip(found.tokens, found.token_logprobs, found.top_logprobs, strict=True):
        assert top[token] == logprob and len(top) in (2, 3)
    parts = [chunk.choices[0].logprobs for chunk in client.completions.create(**options, logprobs=2, stream=True)]
    assert [token for part in parts if part for token in part.tokens or ()] == found.tokens
    assert [offset for part in parts if part for offset in part.text_offset or ()] == found.text_offset


def test_a_bias_forbids_a_token(client: openai.OpenAI, demo_server: Serving) -> None:
    options: dict[str, Any] = {"model": "default", "messages": MESSAGES, "max_tokens": 4, "temperature": 0}
    first = demo_server.chat("What is Slipstream?", max_tokens=4, temperature=0, logprobs=True)
    client.chat.completions.create(**options, logit_bias={"5": -100})
    request: Any = demo_server.engine.runs[-1].request
    assert request.logit_bias == ((5, -100.0),) and first["choices"][0]["logprobs"]["content"][0]["top_logprobs"] == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"logit_bias": {"x": 1}}, "logit_bias"),
        ({"logit_bias": {"5": 101}}, "logit_bias.5"),
        ({"logit_bias": {"9" * 5000: 1}}, "logit_bias"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 1}, "top_logprobs"),
        ({"logprobs": 5}, "logprobs"),
    ],
)
def test_an_invalid_value_is_refused_by_name(demo_server: Serving, fields: dict[str, Any], param: str) -> None:
    response = demo_server.post(CHAT, messages=MESSAGES, **fields)
    assert response.status_code == 400 and response.json()["error"]["param"] == param


def test_a_bias_of_an_unknown_token_is_refused(demo_server: Serving) -> None:
    response = demo_server.post(CHAT, messages=MESSAGES, logit_bias={"999999999": 1})
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "logit_bias") and "999999999" in error["message"]


def test_parts_of_characters_and_hidden_tokens() -> None:
    euro = "€".encode()
    found = [position(b" a"), position(euro[:2]), position(euro[2:]), position(b"b"), position(b"<|end|>", hidden=True)]
    assert [each["token"] for each in of_chat(found)["content"]] == [" a", "\ufffd", "\ufffd", "b"]
    assert b"".join(bytes(each["bytes"]) for each in of_chat(found)["content"]).decode() == " a€b"
    completion = CompletionLogprobs()
    parts = [completion.of(found[:2]), completion.of(found[2:])]
    assert parts[0]["tokens"] + parts[1]["tokens"] == [" a", r"bytes:\xe2\x82", r"bytes:\xac", "b"]
    assert parts[0]["text_offset"] + parts[1]["text_offset"] == [0, 2, 2, 3]
    assert parts[0]["top_logprobs"][0] == {"other": -9999.0, " a": -0.5}
    broken = PositionLogprobs(TokenLogprob(1, b"x", float("nan")), ())
    assert of_chat([broken])["content"][0]["logprob"] == -9999.0
