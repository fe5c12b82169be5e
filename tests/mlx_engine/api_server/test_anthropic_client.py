"""Anthropic's own Python client against a scripted engine and the demo pair."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any, Literal

import anthropic
import pydantic
import pytest
from hypothesis import given

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed, PrefillProgress, StopReason
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving

ASK: dict[str, Any] = {"model": "default", "max_tokens": 24, "messages": [{"role": "user", "content": "What is Slipstream?"}]}
WEATHER = {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    return played.PlayedEngine()


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Serving) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as found:
        yield found


@given(parts=played.replies, reason=played.reasons)
def test_a_streamed_message_equals_the_whole_one(
    client: anthropic.Anthropic, engine: played.PlayedEngine, parts: list[played.Part], reason: StopReason
) -> None:
    """The client assembles the streamed message."""
    engine.parts, engine.reason = parts, reason
    whole = client.messages.create(**ASK, tools=[WEATHER])
    with client.messages.stream(**ASK, tools=[WEATHER]) as stream:
        streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert (streamed.stop_reason, streamed.stop_sequence) == (whole.stop_reason, whole.stop_sequence)
    assert streamed.usage == whole.usage and streamed.usage.output_tokens == 5
    assert "".join(block.text for block in whole.content if block.type == "text") == "".join(
        part.text for part in parts if isinstance(part, played.Commit) and part.channel == "answer"
    )
    assert [(block.id, block.name) for block in whole.content if block.type == "tool_use"] == [
        (part.id, part.name) for part in parts if isinstance(part, played.ToolCall)
    ]


def test_a_chat_with_a_tool(client: anthropic.Anthropic, engine: played.PlayedEngine) -> None:
    engine.parts, engine.reason = [played.thought("Rain?"), played.called("weather", '{"city": "Köln"}')], "tool_calls"
    asked = {**ASK, "tools": [WEATHER], "thinking": {"type": "enabled", "budget_tokens": 1024}}
    said = client.beta.messages.create(**asked, betas=["interleaved-thinking-2025-05-14"])
    thought, call = said.content
    assert thought.type == "thinking" and thought.signature
    assert call.type == "tool_use" and call.input == {"city": "Köln"} and said.stop_reason == "tool_use"
    engine.parts, engine.reason = [played.said("Wet.")], "eos"
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    messages = [*ASK["messages"], {"role": "assistant", "content": said.content}, {"role": "user", "content": [result]}]
    answered = client.messages.create(**asked | {"messages": messages})
    assert [block.text for block in answered.content if block.type == "text"] == ["Wet."]
    user, assistant, tool = engine.requests[-1].messages
    assert (user.role, assistant.thinking, assistant.calls[0].arguments) == ("user", "Rain?", '{"city": "Köln"}')
    assert (tool.role, tool.content, tool.call_id) == ("tool", "rain", call.id)


def test_the_clients_own_loop_over_calls(client: anthropic.Anthropic, engine: played.PlayedEngine) -> None:
    """The client asks for a thread on the server first, and then sends whole chats."""

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """Return the weather of a city."""
        engine.parts, engine.reason = [played.said(f"Wet in {city}.")], "eos"
        return "rain"

    engine.parts, engine.reason = [played.called("weather", '{"city": "Ulm"}')], "tool_calls"
    last = client.beta.messages.tool_runner(**ASK, tools=[weather]).until_done()
    assert [block.text for block in last.content if block.type == "text"] == ["Wet in Ulm."]
    assert [message.role for message in engine.requests[-1].messages] == ["user", "assistant", "tool"]


def test_the_client_parses_structured_output(client: anthropic.Anthropic, engine: played.PlayedEngine) -> None:
    class City(pydantic.BaseModel):
        name: str

    engine.parts, engine.reason = [played.said('{"name": "Ulm"}')], "eos"
    assert client.messages.parse(**ASK, output_format=City).parsed_output == City(name="Ulm")
    schema = json.loads(engine.requests[-1].schema or "")
    assert schema["required"] == ["name"]


def test_the_asynchronous_client_streams_several_messages_and_counts_tokens(server: Serving, engine: played.PlayedEngine) -> None:
    engine.parts, engine.reason = [played.said("Hello"), played.said(" there.")], "eos"

    async def ask() -> list[Any]:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="any", max_retries=0) as own:

            async def one() -> str:
                async with own.messages.stream(**ASK) as stream:
                    return "".join([text async for text in stream.text_stream])

            async def count() -> int:
                return (await own.messages.count_tokens(model="default", messages=ASK["messages"], tools=[WEATHER])).input_tokens

            return list(await asyncio.gather(*(one() for _ in range(4)), *(count() for _ in range(25))))

    assert asyncio.run(ask()) == ["Hello there."] * 4 + [7] * 25


def test_models_are_listed_and_found_by_id(client: anthropic.Anthropic) -> None:
    listed = list(client.models.list())
    assert [(model.id, model.display_name, model.max_input_tokens) for model in listed] == [
        ("tiny",) * 2 + (64,),
        ("default",) * 2 + (64,),
    ]
    assert client.models.retrieve("default") == listed[1] and listed[1].created_at.year >= 2024
    with pytest.raises(anthropic.NotFoundError, match="claude-9"):
        client.models.retrieve("claude-9")


def test_errors_are_the_clients_own(client: anthropic.Anthropic, server: Serving) -> None:
    with pytest.raises(anthropic.BadRequestError, match="“temperature” is invalid"):
        client.messages.create(**ASK, extra_body={"temperature": -1})
    with pytest.raises(anthropic.NotFoundError, match="claude-9"):
        client.messages.create(**ASK | {"model": "claude-9"})
    with serving(played.PlayedEngine, key="secret") as locked:
        with pytest.raises(anthropic.AuthenticationError):
            anthropic.Anthropic(base_url=locked.url, api_key="wrong", max_retries=0).messages.create(**ASK)
        for credentials in ({"api_key": "secret"}, {"auth_token": "secret"}):
            assert anthropic.Anthropic(base_url=locked.url, max_retries=0, **credentials).messages.create(**ASK).id


@pytest.mark.parametrize(
    ("code", "error"),
    [
        *(("too_busy", anthropic.RateLimitError), ("internal", anthropic.InternalServerError)),
        *(("reply_memory", anthropic.InternalServerError), ("bad_effort", anthropic.BadRequestError)),
    ],
)
def test_the_engines_errors_are_the_clients_own(code: str, error: type[anthropic.APIStatusError]) -> None:
    class Failing(played.PlayedEngine):
        def generate(self, request: GenerationRequest, cancel: Any = None) -> Iterator[Event]:
            yield Failed.because(UserError(code, "It failed.", seconds=7))

    with serving(Failing) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)
        for stream in (False, True):
            with pytest.raises(error, match="It failed"):
                client.messages.create(**ASK, stream=stream)


def test_an_error_in_a_stream_is_raised() -> None:
    class Failing(played.PlayedEngine):
        def generate(self, request: GenerationRequest, cancel: Any = None) -> Iterator[Event]:
            yield PrefillProgress(7, 7, 0)
            yield played.said("x")
            assert shown.wait(60)
            yield Failed.because(UserError("internal", "It failed."))

    shown = threading.Event()
    with serving(Failing) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)
        with client.messages.stream(**ASK) as stream, pytest.raises(anthropic.APIStatusError, match="It failed"):
            for _ in stream.text_stream:
                shown.set()


@pytest.fixture(scope="module")
def demo_client(demo_server: Serving) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=demo_server.url, api_key="any", max_retries=0) as found:
        yield found


@pytest.mark.long
class TestDemoPair:
    """Messages of the demo pair."""

    @pytest.fixture
    def client(self, demo_client: anthropic.Anthropic) -> anthropic.Anthropic:
        return demo_client

    def test_the_text_is_the_engines_own(self, client: anthropic.Anthropic, demo_server: Serving) -> None:
        messages = (Message("user", ASK["messages"][0]["content"]),)
        options = {"seed": 5, "temperature": 0.9}
        own = demo_server.reply(GenerationRequest(messages, seed=5, sampling=Sampling(0.9), max_tokens=24))
        for dflash in ("auto", "off"):
            extra = options | {"slipstream": {"dflash": dflash}, "top_k": 0, "top_p": 1.0}
            whole = client.messages.create(**ASK, extra_body=extra)
            with client.messages.stream(**ASK, extra_body=extra) as stream:
                assert "".join(stream.text_stream) == own.text
                assert [block.text for block in whole.content if block.type == "text"] == [own.text]
                assert stream.get_final_message().usage.output_tokens == whole.usage.output_tokens == len(own.tokens)

    def test_a_stop_sequence_is_named(self, client: anthropic.Anthropic) -> None:
        greedy = {"temperature": 0}
        [block] = client.messages.create(**ASK, extra_body=greedy).content
        assert block.type == "text"
        stop = block.text.split()[3]
        got = client.messages.create(**ASK, extra_body=greedy, stop_sequences=["\x00", stop])
        assert (got.stop_reason, got.stop_sequence) == ("stop_sequence", stop)
        assert "".join(each.text for each in got.content if each.type == "text") == block.text[: block.text.index(stop)]

    def test_structured_output_satisfies_the_schema(self, client: anthropic.Anthropic) -> None:
        class City(pydantic.BaseModel):
            name: Literal["Ulm", "Bonn"]
            large: bool

        texts = []
        for dflash in ("auto", "off"):
            extra = {"seed": 3, "temperature": 0.8, "slipstream": {"dflash": dflash}}
            got = client.messages.parse(**ASK | {"max_tokens": 99}, output_format=City, extra_body=extra)
            assert isinstance(got.parsed_output, City) and got.stop_reason == "end_turn"
            texts.append([block.text for block in got.content if block.type == "text"])
        assert texts[0] == texts[1]
        with pytest.raises(anthropic.BadRequestError, match="schema"):
            client.messages.create(**ASK, output_config={"format": {"type": "json_schema", "schema": {"$ref": "#/gone"}}})

    def test_prompts_are_counted_and_cached(self, client: anthropic.Anthropic) -> None:
        ask = ASK | {"system": "Be brief. " * 8}
        counted = client.messages.count_tokens(**{name: ask[name] for name in ("model", "messages", "system")}).input_tokens
        first = client.messages.create(**ask)
        messages = [*ask["messages"], {"role": "assistant", "content": first.content}, {"role": "user", "content": "Why?"}]
        second = client.messages.create(**ask | {"messages": messages})
        assert first.usage.input_tokens + (first.usage.cache_read_input_tokens or 0) == counted
        assert second.usage.cache_read_input_tokens is not None and second.usage.cache_read_input_tokens >= 0.9 * counted

    def test_a_prompt_beyond_the_context_is_refused_in_words_that_agents_know(self, client: anthropic.Anthropic) -> None:
        with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > \d+ maximum"):
            client.messages.create(
                **ASK | {"messages": [{"role": "user", "content": "word " * 5000}], "max_tokens": 128_000}, stream=True
            )

    def test_leaving_a_stream_cancels_the_reply(self, client: anthropic.Anthropic, demo_server: Serving) -> None:
        with client.messages.create(**ASK | {"max_tokens": 1900}, stream=True, extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
        assert demo_server.engine.runs[-1].cancelled.wait(60)
