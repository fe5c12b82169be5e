"""Chat completions of the demo pair over HTTP: texts, streams, fields, and statistics."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI
from pydantic import BaseModel

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Message, Sampling
from mlx_engine.models.library.pair import demo_pair
from tests.examples import sampled
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine

PATH = "/v1/chat/completions"
QUESTION = "What is Slipstream?"


def asked(**options: Any) -> GenerationRequest:
    return GenerationRequest(messages=(Message("user", QUESTION),), max_tokens=24, **options)


def whole_of(chunks: list[dict[str, Any]], index: int = 0) -> str:
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return "".join(delta.get("content", "") for delta in deltas)


@pytest.mark.parametrize("dflash", ["auto", "off"])
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_the_text_is_the_engines_own(demo_server: Serving, dflash: str, temperature: float) -> None:
    own = demo_server.reply(asked(seed=5, sampling=Sampling(temperature), mode="dflash" if dflash == "auto" else "plain"))
    body = {"max_tokens": 24, "seed": 5, "temperature": temperature, "slipstream": {"dflash": dflash}}
    answered = demo_server.chat(QUESTION, **body)
    streamed = demo_server.streamed(PATH, messages=[{"role": "user", "content": QUESTION}], **body)
    assert answered["choices"][0]["message"]["content"] == whole_of(streamed) == own.text
    assert answered["slipstream"]["mode"] == ("dflash" if dflash == "auto" else "plain")
    assert answered["usage"]["completion_tokens"] == len(own.tokens)


@given(seed=st.integers(0, 2**64 - 1), width=st.integers(1, 8), top_k=st.integers(0, 40), min_p=st.floats(0, 0.3))
@sampled(4)
def test_dflash_and_its_width_do_not_change_the_text(demo_server: Serving, seed: int, width: int, top_k: int, min_p: float) -> None:
    body = {"max_tokens": 16, "seed": seed, "temperature": 0.8, "top_k": top_k, "min_p": min_p}
    with_dflash = demo_server.chat(QUESTION, **body, slipstream={"width": width})
    without = demo_server.chat(QUESTION, **body, slipstream={"dflash": "off"})
    assert with_dflash["choices"] == without["choices"]


def test_all_sampling_fields_reach_the_engine(demo_server: Serving) -> None:
    fields = {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "min_p": 0.05, "repetition_penalty": 1.1}
    fields |= {"presence_penalty": 0.3, "frequency_penalty": -0.2}
    demo_server.chat(QUESTION, **fields, seed=3, stop=["X", "Y"], max_completion_tokens=7, max_tokens=9, ignore_eos=True)
    request = demo_server.engine.runs[-1].request
    assert isinstance(request, GenerationRequest)
    assert request.sampling == Sampling(**fields)
    assert (request.seed, request.stop, request.max_tokens, request.ignore_eos) == (3, ("X", "Y"), 7, True)


def test_missing_sampling_fields_are_the_pairs(demo_server: Serving) -> None:
    demo_server.chat(QUESTION, max_tokens=1, top_k=3)
    request = demo_server.engine.runs[-1].request
    assert isinstance(request, GenerationRequest)
    assert request.sampling == replace(demo_server.pair.sampling, top_k=3)


def test_messages_reach_the_engine(demo_server: Serving) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "!"}], "name": "Ann"},
        {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting.", "tool_calls": []},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "Bye", "reasoning_content": "not a user's"},
    ]
    response = demo_server.post(PATH, messages=messages, max_tokens=2, model="default")
    assert response.status_code == 200, response.text
    request = demo_server.engine.runs[-1].request
    assert isinstance(request, GenerationRequest)
    expected = [Message("system", "Be brief."), Message("user", "Hi!"), Message("assistant", "Hello.", "A greeting.")]
    assert list(request.messages) == [*expected, Message("assistant", ""), Message("user", "Bye")]


@pytest.mark.parametrize(
    ("fields", "thinking", "effort"),
    [
        ({}, False, None),
        ({"reasoning_effort": "low"}, True, "low"),
        ({"reasoning_effort": "minimal"}, True, "low"),
        ({"reasoning_effort": "xhigh"}, True, "high"),
        ({"reasoning_effort": "none"}, False, None),
        ({"chat_template_kwargs": {"enable_thinking": True}}, True, None),
        ({"reasoning_effort": "high", "chat_template_kwargs": {"enable_thinking": False}}, False, "high"),
    ],
)
def test_thinking_and_effort_reach_the_engine(demo_server: Serving, fields: Any, thinking: bool, effort: str | None) -> None:
    demo_server.chat(QUESTION, max_tokens=1, **fields)
    request = demo_server.engine.runs[-1].request
    assert isinstance(request, GenerationRequest)
    assert (request.thinking, request.effort) == (thinking, effort)


def test_a_stop_string_ends_the_reply(demo_server: Serving) -> None:
    text = demo_server.chat(QUESTION, max_tokens=24, temperature=0)["choices"][0]["message"]["content"]
    stop = text.split()[3]
    choice = demo_server.chat(QUESTION, max_tokens=24, temperature=0, stop=stop)["choices"][0]
    assert choice["message"]["content"] == text[: text.index(stop)]
    assert choice["finish_reason"] == "stop"


def test_several_replies_differ_by_seed_and_the_first_is_that_of_one(demo_server: Serving) -> None:
    body = {"max_tokens": 12, "seed": 2**64 - 1, "temperature": 1.0}
    three = demo_server.chat(QUESTION, **body, n=3)
    texts = [choice["message"]["content"] for choice in three["choices"]]
    assert [choice["index"] for choice in three["choices"]] == [0, 1, 2]
    assert texts[0] == demo_server.chat(QUESTION, **body)["choices"][0]["message"]["content"]
    assert texts[1] == demo_server.chat(QUESTION, **body | {"seed": 0})["choices"][0]["message"]["content"]
    chunks = demo_server.streamed(PATH, messages=[{"role": "user", "content": QUESTION}], **body, n=3)
    assert [whole_of(chunks, index) for index in range(3)] == texts
    alone = demo_server.chat(QUESTION, **body)["usage"]
    assert three["usage"]["prompt_tokens"] == alone["prompt_tokens"]
    assert three["usage"]["completion_tokens"] > alone["completion_tokens"]


class Meeting(ScriptedEngine):
    """Replies end only after three have started. The second one may fail."""

    def __init__(self, fails: bool = False) -> None:
        super().__init__()
        self.started, self.canceled, self._fails = 0, 0, fails

    def steps(
        self, request: GenerationRequest, cancel: threading.Event, submitted: float | None = None
    ) -> Iterator[Sequence[Event]]:
        self.started += 1
        number = self.started
        while self.started < 3:
            yield []
        if self._fails:
            if number == 2:
                raise UserError("code", "It failed.")
            while not cancel.is_set():
                yield []
            self.canceled += 1
        yield from super().steps(request, cancel, submitted)


def test_several_replies_are_generated_at_the_same_time() -> None:
    with serving(Meeting) as server:
        assert len(server.chat("Hi", n=3)["choices"]) == 3
    with serving(Meeting) as server:
        chunks = server.streamed(PATH, messages=[{"role": "user", "content": "Hi"}], n=3)
        assert len({whole_of(chunks, index) for index in range(3)}) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_if_one_of_several_replies_fails_the_others_are_canceled(stream: bool) -> None:
    engine = Meeting(fails=True)
    with serving(lambda: engine) as server:
        response = server.post(PATH, messages=[{"role": "user", "content": "Hi"}], n=3, stream=stream)
        assert response.status_code == 400 and response.json()["error"]["message"] == "It failed."
    assert engine.canceled == 2


def test_usage_counts_cached_and_proposed_tokens(demo_server: Serving) -> None:
    first = demo_server.chat("Count to ten, please.", max_tokens=24, temperature=0)
    again = demo_server.chat("Count to ten, please.", max_tokens=24, temperature=0)
    usage, timings = again["usage"], again["timings"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == timings["cache_n"] > 0
    assert usage["prompt_tokens"] == first["usage"]["prompt_tokens"] == timings["cache_n"] + timings["prompt_n"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    details = usage["completion_tokens_details"]
    assert details["accepted_prediction_tokens"] == timings["draft_n_accepted"] > 0
    assert details["rejected_prediction_tokens"] == timings["draft_n"] - timings["draft_n_accepted"]
    assert 1 < timings["tokens_per_round"] <= (usage["completion_tokens"] - 1) / timings["rounds"]
    assert timings["width"] > 1


def test_accepted_tokens_are_at_most_the_replys_tokens(demo_server: Serving) -> None:
    for stop in ([], [" is"]):  # the last round may accept tokens past the end
        reply = demo_server.chat("What is the capital of Italy?", temperature=0, stop=stop, slipstream={"width": 16})
        usage, timings = reply["usage"], reply["timings"]
        details = usage["completion_tokens_details"]
        assert 0 < details["accepted_prediction_tokens"] < usage["completion_tokens"]
        assert details["accepted_prediction_tokens"] + details["rejected_prediction_tokens"] == timings["draft_n"]


def test_without_dflash_nothing_was_proposed(demo_server: Serving) -> None:
    plain = demo_server.chat(QUESTION, max_tokens=8, slipstream={"dflash": "off"})
    details = plain["usage"]["completion_tokens_details"]
    assert (details["accepted_prediction_tokens"], details["rejected_prediction_tokens"]) == (0, 0)
    assert (plain["timings"]["rounds"], plain["timings"]["width"]) == (0, None)
    assert plain["slipstream"]["why_plain"] == "DFlash is off"


def test_a_stream_has_the_shape_that_clients_need(demo_server: Serving) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    chunks = demo_server.streamed(PATH, messages=messages, max_tokens=8, stream_options={"include_usage": True})
    assert {(chunk["object"], chunk["id"], chunk["model"]) for chunk in chunks} == {
        ("chat.completion.chunk", chunks[0]["id"], "demo-pair")
    }
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 2) + ["length"]
    assert chunks[-2]["timings"]["predicted_n"] == 8
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 8
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert all("usage" not in chunk for chunk in demo_server.streamed(PATH, messages=messages, max_tokens=8))


def test_progress_of_the_prompt_is_streamed_on_request(demo_server: Serving) -> None:
    messages = [{"role": "user", "content": "Say a word. " * 25}]
    chunks = demo_server.streamed(PATH, messages=messages, max_tokens=2, return_progress=True)
    progress = [chunk["prompt_progress"] for chunk in chunks if "prompt_progress" in chunk]
    assert (
        progress[-1]["processed"] == progress[-1]["total"] == chunks[-1]["timings"]["prompt_n"] + chunks[-1]["timings"]["cache_n"]
    )
    assert [each["processed"] for each in progress] == sorted(each["processed"] for each in progress)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("words", "part"), [(3000, ""), (200_000, ", counting only its beginning")])
def test_a_prompt_that_is_too_long_names_both_numbers(demo_server: Serving, words: int, part: str, stream: bool) -> None:
    messages = [{"role": "user", "content": "word " * words}]
    response = demo_server.post(PATH, messages=messages, stream=stream)
    error = response.json()["error"]
    assert response.status_code == 400 and error["code"] == "context_length_exceeded"
    limit = demo_server.pair.context_limit
    assert re.fullmatch(
        rf"The prompt is too long: \d+ tokens > {limit - 1} maximum{part}\. "
        rf"This model's maximum context length is {limit} tokens\.",
        error["message"],
    )


def test_a_prompt_that_fills_the_context_is_too_long_by_a_token(demo_server: Serving) -> None:
    limit = demo_server.pair.context_limit
    message = demo_server.post("/v1/completions", prompt=[5] * limit).json()["error"]["message"]
    assert f"{limit} tokens > {limit - 1} maximum. " in message


def test_a_token_limit_beyond_the_context_is_clamped(demo_server: Serving) -> None:
    assert demo_server.chat("Hi", max_tokens=128_000, temperature=0)["choices"][0]["finish_reason"] == "stop"


class Verdict(BaseModel):
    topic: Literal["speed", "memory"]
    sure: bool


def test_an_answer_has_the_schema_that_openais_client_asks_for_with_and_without_dflash(demo_server: Serving) -> None:
    client = OpenAI(base_url=f"{demo_server.url}/v1", api_key="any", max_retries=0)
    choice = client.chat.completions.parse(
        model="default",
        messages=[{"role": "user", "content": QUESTION}],
        response_format=Verdict,
        max_tokens=80,
        temperature=0.8,
        seed=3,
    ).choices[0]
    plain: Any = {"seed": 3, "slipstream": {"dflash": "off"}}
    response = client.responses.parse(
        model="default", input=QUESTION, text_format=Verdict, max_output_tokens=80, temperature=0.8, extra_body=plain
    )
    assert response.output_parsed == choice.message.parsed is not None
    assert response.output_text == choice.message.content


def test_a_schema_that_is_not_supported_is_refused(demo_server: Serving) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "strange"}}}
    response = demo_server.post(PATH, messages=[{"role": "user", "content": "Hi"}], response_format=form)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "bad_schema", "response_format")
    response = demo_server.post("/v1/responses", input="Hi", text={"format": form["json_schema"] | {"type": "json_schema"}})
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, "bad_schema", "text.format")


def test_tools_that_may_not_be_called_need_no_model_that_calls_tools(tmp_path: Path) -> None:
    target = copytree(demo_pair()[0], tmp_path / "target")
    config = json.loads((target / "tokenizer_config.json").read_text())
    template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    (target / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": template}))
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    options: dict[str, Any] = {"max_tokens": 12, "temperature": 0}
    with serving(load=LoadPair(target)) as server:
        without, answered = (server.chat("Hi", **options, **more) for more in ({}, {"tools": tools, "tool_choice": "none"}))
        assert answered["choices"] == without["choices"]
        refused = server.post(PATH, messages=[{"role": "user", "content": "Hi"}], tools=tools)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "takes_no_tools")


def test_tokens_of_a_chat_are_counted(demo_server: Serving) -> None:
    body = {"messages": [{"role": "user", "content": QUESTION}], "chat_template_kwargs": {"enable_thinking": True}}
    counted = demo_server.post("/tokenize", **body).json()
    assert counted["count"] == demo_server.post(PATH, **body, max_tokens=1).json()["usage"]["prompt_tokens"]
    assert counted["max_model_len"] == demo_server.pair.context_limit
    assert demo_server.post("/tokenize", messages=[]).status_code == 400
