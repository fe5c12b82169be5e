"""Completions of raw prompts by the demo pair over HTTP."""

from typing import Any

import pytest
from hypothesis import given

from mlx_engine.api_server.completions import CompletionExchange, CompletionFields
from mlx_engine.api_server.exchanges import CountedReply
from mlx_engine.contract.events import Commit, Finished
from mlx_engine.contract.requests import GenerationRequest, Sampling
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving
from tests.mlx_engine.scripted_engine import stats

PATH = "/v1/completions"


def texts(server: Serving, **body: Any) -> list[str]:
    response = server.post(PATH, **body)
    assert response.status_code == 200, response.text
    return [choice["text"] for choice in response.json()["choices"]]


@pytest.mark.parametrize("dflash", ["auto", "off"])
def test_the_text_is_the_engines_own(demo_server: Serving, dflash: str) -> None:
    own = demo_server.reply(GenerationRequest(prompt_text="The sun is", max_tokens=12, sampling=Sampling(0.5), seed=9))
    body = {"prompt": "The sun is", "max_tokens": 12, "temperature": 0.5, "seed": 9, "slipstream": {"dflash": dflash}}
    chunks = demo_server.streamed(PATH, **body, stream_options={"include_usage": True})
    streamed = "".join(chunk["choices"][0]["text"] for chunk in chunks[:-1])
    assert texts(demo_server, **body) == [streamed] == [own.text]
    assert chunks[-2]["choices"][0]["finish_reason"] in ("stop", "length")
    assert chunks[-1]["usage"]["completion_tokens"] == len(own.tokens)


def test_token_ids_are_a_prompt(demo_server: Serving) -> None:
    own = demo_server.reply(GenerationRequest(prompt_tokens=(5, 9, 12), max_tokens=8))
    assert texts(demo_server, prompt=[5, 9, 12], max_tokens=8, temperature=0) == [own.text]


def test_several_prompts_have_consecutive_replies(demo_server: Serving) -> None:
    options = {"max_tokens": 6, "temperature": 1.0, "seed": 4}
    alone = [text for prompt in ("The sun", "A cat") for text in texts(demo_server, prompt=prompt, n=2, **options)]
    assert texts(demo_server, prompt=["The sun", "A cat"], n=2, **options) == alone
    assert texts(demo_server, prompt=[[5, 9], [7]], **options) == [
        texts(demo_server, prompt=tokens, **options)[0] for tokens in ([5, 9], [7])
    ]
    usage = demo_server.post(PATH, prompt=[[5, 9], [7]], n=2, **options).json()["usage"]
    assert usage["prompt_tokens"] == 3


def test_the_default_token_limit_is_openais(demo_server: Serving) -> None:
    assert demo_server.post(PATH, prompt="A", ignore_eos=True).json()["usage"]["completion_tokens"] == 16


@pytest.mark.parametrize("prompt", [None, "", [], [[]], ["a", 1], [1, "a"], [1.5], [True], {"a": 1}, 7, [-1], [10**9], [["a"]]])
def test_a_prompt_of_another_kind_is_refused(demo_server: Serving, prompt: Any) -> None:
    response = demo_server.post(PATH, prompt=prompt, max_tokens=1)
    assert response.status_code == 400 and response.json()["error"]["message"]


def test_the_number_of_replies_is_limited(demo_server: Serving) -> None:
    error = demo_server.post(PATH, prompt=["a"] * 17, n=2).json()["error"]
    assert error["param"] == "prompt"


def test_progress_of_the_prompt_is_an_ignored_field() -> None:
    fields = CompletionFields.parse({"prompt": "Hi", "return_progress": True})
    assert fields.model_extra == {"return_progress": True}


@given(parts=played.texts, reason=played.reasons)
def test_a_stream_adds_up_to_the_whole_completion(parts: list[Commit], reason: Any) -> None:
    exchange = CompletionExchange({"prompt": "Hi"})
    end = Finished(reason, stats("dflash"))
    chunks = [chunk["choices"][0] for event in (*parts, end) for chunk in exchange.encode(0, event)]
    joined = {channel: "".join(part.text for part in parts if part.channel == channel) for channel in ("answer", "thinking")}
    reply = CountedReply(joined["answer"], joined["thinking"], (), reason, end.stats, parts=tuple(parts))
    [choice] = exchange.whole([reply])["choices"]
    assert choice["text"] == "".join(chunk["text"] for chunk in chunks)
    assert choice["finish_reason"] == chunks[-1]["finish_reason"]
