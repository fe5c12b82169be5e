"""OpenAI's own Python client against the demo pair."""

import asyncio

import openai
import pytest

from tests.mlx_engine.api_server.serving import Serving

pytestmark = pytest.mark.long
MESSAGES = [{"role": "user", "content": "What is Slipstream?"}]


@pytest.fixture
def client(demo_server: Serving) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{demo_server.url}/v1", api_key="any", max_retries=0)


def test_whole_and_streamed_chats_agree(client: openai.OpenAI, demo_server: Serving) -> None:
    options = {"model": "default", "messages": MESSAGES, "max_tokens": 24, "seed": 3, "temperature": 0.7}
    whole = client.chat.completions.create(**options)
    chunks = list(client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert whole.choices[0].message.content == text != ""
    assert chunks[-1].usage is not None and whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert chunks[-1].usage.completion_tokens_details.accepted_prediction_tokens is not None
    plain = client.chat.completions.create(**options, extra_body={"slipstream": {"dflash": "off"}})
    assert plain.choices[0].message.content == text


def test_a_response_has_the_text_of_a_chat(client: openai.OpenAI) -> None:
    chat = client.chat.completions.create(model="default", messages=MESSAGES, max_tokens=24, seed=3, temperature=0.7)
    options = {"model": "default", "input": MESSAGES, "max_output_tokens": 24, "temperature": 0.7, "extra_body": {"seed": 3}}
    whole = client.responses.create(**options)
    with client.responses.stream(**options) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert whole.output_text == text == chat.choices[0].message.content
    assert whole.usage is not None and chat.usage is not None
    assert whole.usage.total_tokens == chat.usage.total_tokens
    assert (whole.status == "incomplete") == (chat.choices[0].finish_reason == "length")


def test_the_asynchronous_client_runs_several_chats_at_once(client: openai.OpenAI, demo_server: Serving) -> None:
    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{demo_server.url}/v1", api_key="any", max_retries=0) as own:

            async def one(seed: int) -> str:
                stream = await own.chat.completions.create(
                    model="demo-pair", messages=MESSAGES, seed=seed, temperature=1, max_tokens=16, stream=True
                )
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            return list(await asyncio.gather(*map(one, range(6))))

    alone = [
        client.chat.completions.create(model="default", messages=MESSAGES, seed=seed, temperature=1, max_tokens=16)
        for seed in range(6)
    ]
    assert asyncio.run(ask()) == [each.choices[0].message.content for each in alone]


def test_completions_and_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["demo-pair", "default"]
    options = {"model": "demo-pair", "prompt": "The sun is", "max_tokens": 8, "temperature": 0}
    whole = client.completions.create(**options)
    assert "".join(chunk.choices[0].text for chunk in client.completions.create(**options, stream=True)) == whole.choices[0].text


def test_errors_are_the_clients_own(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="default", messages=MESSAGES, top_logprobs=3)
    assert refused.value.param == "top_logprobs"
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-9", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError) as too_long:
        client.chat.completions.create(model="default", messages=[{"role": "user", "content": "word " * 5000}])
    assert too_long.value.code == "context_length_exceeded"


def test_leaving_a_stream_cancels_the_reply(client: openai.OpenAI, demo_server: Serving) -> None:
    with client.chat.completions.create(
        model="default", messages=MESSAGES, stream=True, extra_body={"ignore_eos": True}, max_tokens=1900
    ) as stream:
        next(iter(stream))
    assert demo_server.engine.runs[-1].cancelled.wait(60)
