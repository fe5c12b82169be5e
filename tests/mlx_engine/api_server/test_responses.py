"""OpenAI's Responses: input items, the sequence of events, and OpenAI's own client."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIError, AsyncOpenAI, OpenAI

from mlx_engine.api_server import body, exchanges
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.responses import ResponseExchange
from mlx_engine.api_server.responses_input import encrypted
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

PATH = "/v1/responses"
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"type": "function", "name": "read", "description": "Reads a file.", "parameters": PARAMETERS, "strict": False}
PATCH = {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}}
FILES = {"type": "namespace", "name": "files__", "description": "", "tools": [READ, {**READ, "name": "list"}]}
VARYING = {"id", "created_at", "timings", "sequence_number", "item_id"}


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    return played.PlayedEngine()


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Serving) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)


def asked(given: Any = "Hi", **fields: Any) -> GenerationRequest:
    """Return the engine's request for a body."""
    return ResponseExchange({"input": given, **fields}).begin(played.PAIR)[0]


def refused(given: Any = "Hi", **fields: Any) -> str | None:
    """Return the field that a refusal names."""
    with pytest.raises(ApiError) as error:
        asked(given, **fields)
    assert error.value.status == 400
    return error.value.param


def streamed(server: Serving, **fields: Any) -> list[dict[str, Any]]:
    """Return the events of a stream, whose names are their types."""
    response = server.post(PATH, stream=True, **fields)
    assert response.status_code == 200, response.text
    events = []
    for block in response.text.removesuffix("\n\n").split("\n\n"):
        name, _, data = block.partition("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def without_ids(value: Any) -> Any:
    """Return a value without what differs between two equal replies."""
    if isinstance(value, dict):
        return {name: without_ids(each) for name, each in value.items() if name not in VARYING}
    return [without_ids(each) for each in value] if isinstance(value, list) else value


class TestRequests:
    def test_options_reach_the_engine(self) -> None:
        request = asked(
            instructions="Be brief.",
            max_output_tokens=1000,
            temperature=0.5,
            top_p=0.9,
            seed=3,
            store=True,
            reasoning={"effort": "minimal", "summary": "auto"},
            text={"verbosity": "medium", "format": {"type": "json_schema", "name": "x", "schema": PARAMETERS}},
            tools=[READ],
            tool_choice={"type": "function", "name": "read"},
            parallel_tool_calls=False,
            include=["reasoning.encrypted_content"],
        )
        assert request.logprobs is None and request.one_call
        assert request.messages == (Message("system", "Be brief."), Message("user", "Hi"))
        assert (request.sampling.temperature, request.sampling.top_p, request.seed) == (0.5, 0.9, 3)
        assert (request.max_tokens, request.thinking, request.effort) == (played.PAIR.context_limit, True, "low")
        assert request.schema == json.dumps(PARAMETERS)
        assert request.tool_choice == "read"
        assert request.tools == (ToolSpec("read", "Reads a file.", PARAMETERS),)

    def test_truncation_leaves_out_what_does_not_fit_only_if_wanted(self) -> None:
        for truncation, rolling in (("auto", 0), ("disabled", None)):
            request = asked(truncation=truncation)
            assert request.rolling == rolling and request.shorten_results == (truncation == "auto")
        assert asked().rolling is None

    def test_tools_of_all_kinds_are_functions_for_the_model(self) -> None:
        added = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
        request = asked([{"role": "user", "content": "Hi"}, added, added], tools=[READ, PATCH, FILES])
        assert [tool.name for tool in request.tools] == ["read", "patch", "files__read", "files__list", "exec"]
        assert (request.tools[1].description or "").endswith('start: "a"')
        choice = {"type": "function", "name": "list", "namespace": "files__"}
        assert asked(tools=[FILES], tool_choice=choice).tool_choice == "files__list"

    def test_unknown_tools_and_items_are_accepted_and_logged(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        items = [{"type": "web_search_call", "id": "Secret"}, {"role": "user", "content": "Hi"}, {"type": "compaction"}]
        with caplog.at_level(logging.INFO):
            request = asked(items, tools=[{"type": "web_search"}, {"type": "image_generation"}])
        assert (request.messages, request.tools) == ((Message("user", "Hi"),), ())
        for names in ("items of type 'compaction', 'web_search_call'", "tools of type 'image_generation', 'web_search'"):
            assert names in caplog.text
        assert "Secret" not in caplog.text

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"previous_response_id": "resp_1"}, "previous_response_id"),
            ({"conversation": "conv_1"}, "conversation"),
            ({"given": [{"type": "item_reference", "id": "msg_1"}]}, "input.0"),
            ({"given": ["Hi"]}, "input.0"),
            ({"given": 7}, "input"),
            ({"given": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]}, "input.0.content.0.type"),
            ({"given": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input.0.content.0.file_data"),
            ({"top_logprobs": 21}, "top_logprobs"),
            ({"tools": [{"type": "namespace", "name": "a", "tools": [{"type": "function"}]}]}, "tools.0.tools.0.name"),
            ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
            ({"text": {"format": {"type": "x"}}}, "text.format.type"),
            ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
            ({"max_output_tokens": 0}, "max_output_tokens"),
        ],
    )
    def test_what_is_not_supported_is_refused_by_name(self, fields: dict[str, Any], param: str) -> None:
        assert refused(**fields) == param


class TestItems:
    def test_a_turn_of_the_model_is_one_message(self) -> None:
        items = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": encrypted("Hm. ü")},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"path": '},
            {"type": "function_call", "call_id": "b", "name": "list", "namespace": "files", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "text"},
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [{"type": "input_text", "text": "x"}, {"type": "input_image"}],
            },
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "a"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
            {"type": "reasoning", "id": "rs_2", "summary": [{"type": "summary_text", "text": "Good."}]},
            {"role": "assistant", "content": "Done."},
            {"role": "assistant", "content": "Really."},
        ]
        calls = ToolCall("a", "read", '{"path": '), ToolCall("b", "files__list", "{}")
        assert asked(items).messages == (
            Message("system", "Be brief."),
            Message("user", "Hi"),
            Message("assistant", "Let me see.", "Hm. ü", calls),
            Message("tool", "text", call_id="a"),
            Message("tool", "x[image]", call_id="b"),
            Message("assistant", "", calls=(ToolCall("c", "patch", '{"input": "a"}'),)),
            Message("tool", "ok", call_id="c"),
            Message("assistant", "Done.", "Good."),
            Message("assistant", "Really."),
        )

    def test_images_of_earlier_turns_and_after_results_are_named(self) -> None:
        image = {"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}
        assert (
            asked([image, {"role": "assistant", "content": "Nice."}, {"role": "user", "content": "Hi"}]).messages[0].content
            == "[image]"
        )
        assert asked([{"type": "function_call_output", "call_id": "a", "output": "x"}, image]).messages[1].content == "[image]"
        assert refused([{"role": "assistant", "content": "Hello."}, image]) == "input.1.content.0.type"

    @pytest.mark.parametrize("content", [None, "", "not base64", "gAAAAABk", 7, "////"])
    def test_thinking_of_another_server_is_its_summary(self, content: Any) -> None:
        item = {"type": "reasoning", "summary": [{"text": "A"}, {"text": "B"}, {}], "encrypted_content": content}
        assert asked([item, {"role": "user", "content": "Hi"}]).messages[0].thinking == "A\n\nB"

    @given(
        items=st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "type": st.sampled_from(
                        ["message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "other", None]
                    ),
                    "role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "x", None]),
                    "content": st.none()
                    | st.text()
                    | st.lists(st.builds(lambda text: {"type": "input_text", "text": text}, st.text())),
                    "output": st.none() | st.text(),
                    "arguments": st.none() | st.text() | st.dictionaries(st.text(), st.integers()),
                    "input": st.none() | st.text(),
                    "call_id": st.none() | st.text() | st.integers(),
                    "name": st.none() | st.text(),
                    "summary": st.none() | st.lists(st.none()),
                    "encrypted_content": st.none() | st.text(),
                },
            ),
            min_size=1,
        )
    )
    def test_no_history_of_texts_and_calls_is_refused(self, items: list[Any]) -> None:
        asked(items)


class TestEvents:
    def test_the_sequence_is_openais(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts = [played.thought("H"), played.thought("m."), played.said("Yes."), played.called("read")]
        engine.reason = "tool_calls"
        events = streamed(server, input="Hi", tools=[READ])
        assert [event["type"].removeprefix("response.") for event in events] == [
            *("created", "in_progress"),
            *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.delta"),
            *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
            *("output_item.added", "content_part.added", "output_text.delta"),
            *("output_text.done", "content_part.done", "output_item.done"),
            *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
            "completed",
        ]
        assert events[0]["response"]["status"] == "in_progress" and events[0]["response"]["output"] == []
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        assert [item["type"] for item in done] == ["reasoning", "message", "function_call"]
        assert done[0]["summary"] == [{"type": "summary_text", "text": "Hm."}] and done[0]["encrypted_content"] == encrypted("Hm.")
        assert (done[2]["call_id"], done[2]["name"], done[2]["arguments"]) == ("abc", "read", "{}")
        response = events[-1]["response"]
        assert response["output"] == done and response["status"] == "completed"
        usage = response["usage"]
        assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
        assert (usage["input_tokens_details"]["cached_tokens"], usage["output_tokens_details"]["reasoning_tokens"]) == (0, 2)
        again = [*done, {"type": "function_call_output", "call_id": "abc", "output": "text"}]
        assert asked(again).messages[0] == Message("assistant", "Yes.", "Hm.", (ToolCall("abc", "read", "{}"),))

    @given(parts=played.replies, reason=played.reasons)
    def test_a_stream_adds_up_to_the_whole_response(
        self, server: Serving, engine: played.PlayedEngine, parts: list[played.Part], reason: Any
    ) -> None:
        engine.parts, engine.reason = parts, reason
        fields = {"input": "Hi", "tools": [READ]}
        whole = server.post(PATH, **fields).json()
        events = streamed(server, **fields)
        last = events[-1]["response"]
        assert without_ids(last) == without_ids(whole)
        assert events[-1]["type"] == ("response.incomplete" if reason == "length" else "response.completed")
        texts: dict[str, str] = {}
        for event in events:
            if event["type"].endswith(".delta"):
                texts[event["item_id"]] = texts.get(event["item_id"], "") + event["delta"]
                assert last["output"][event["output_index"]]["id"] == event["item_id"]
        shown = {
            item["id"]: item["arguments"] if "arguments" in item else (item.get("summary") or item["content"])[0]["text"]
            for item in last["output"]
        }
        assert texts == shown
        calls = [part.id for part in parts if isinstance(part, ToolCall)]
        assert [item["call_id"] for item in last["output"] if item["type"] == "function_call"] == calls
        said = "".join(item["content"][0]["text"] for item in last["output"] if item["type"] == "message")
        assert said == "".join(part.text for part in parts if not isinstance(part, ToolCall) and part.channel == "answer")

    def test_calls_name_what_the_client_declared(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.reason = "tool_calls"
        engine.parts = [
            played.called("files__list", "{}", "a"),
            played.called("patch", '{"input": "a\\n"}', "b"),
            played.called("patch", '{"text": 1}', "c"),
            played.called("unknown", "{}", "d"),
            played.called("list", "{}", "e"),
        ]
        output = streamed(server, input="Hi", tools=[PATCH, FILES])[-1]["response"]["output"]
        assert [(item["type"], item["call_id"], item["name"], item.get("namespace")) for item in output] == [
            ("function_call", "a", "list", "files__"),
            ("custom_tool_call", "b", "patch", None),
            ("custom_tool_call", "c", "patch", None),
            ("function_call", "d", "unknown", None),
            ("function_call", "e", "list", "files__"),
        ]
        assert (output[1]["input"], output[2]["input"]) == ("a\n", '{"text": 1}')

    def test_a_response_says_what_was_cut(self) -> None:
        class Cutting(played.PlayedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                cut = 0 if request.rolling is None else 50
                yield Finished("eos", replace(stats(request.mode), cut_tokens=cut))

        with serving(Cutting) as server:
            for fields, said, cut in (({"truncation": "auto"}, "auto", 50), ({}, "disabled", 0)):
                whole, last = server.post(PATH, input="Hi", **fields).json(), streamed(server, input="Hi", **fields)[-1]["response"]
                assert whole["truncation"] == last["truncation"] == said
                assert whole["slipstream"]["cut_tokens"] == last["slipstream"]["cut_tokens"] == cut

    def test_a_response_that_waits_sends_real_events(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.02)

        class Waiting(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                assert cancel is not None and cancel.wait(60)
                yield from ()

        with serving(Waiting) as server, server.client.stream("POST", PATH, json={"input": "Hi", "stream": True}) as response:
            lines = [line for line, _ in zip(filter(None, response.iter_lines()), range(6), strict=False)]
        assert lines[::2] == ["event: response.created", *["event: response.in_progress"] * 2]

    @pytest.mark.parametrize(
        ("code", "expected"), [("internal", "server_error"), ("too_busy", "rate_limit_exceeded"), ("other", "other")]
    )
    def test_an_error_in_a_stream_is_a_failed_response(self, code: str, expected: str) -> None:
        class Failing(played.PlayedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield played.said("x")
                threading.Event().wait(0.2)  # a batch of its own
                yield Failed.because(UserError(code, "It failed."))

        with serving(Failing) as server:
            events = streamed(server, input="Hi")
        assert events[-1]["type"] == "response.failed"
        response = events[-1]["response"]
        assert (response["status"], response["error"]) == ("failed", {"code": expected, "message": "It failed."})

    def test_an_error_before_the_first_event_has_a_status(self, server: Serving) -> None:
        error = server.post(PATH, input="Hi", previous_response_id="resp_1", stream=True).json()["error"]
        assert (error["param"], error["type"]) == ("previous_response_id", "invalid_request_error")


class TestClient:
    def test_whole_and_streamed_responses_agree(self, client: OpenAI, engine: played.PlayedEngine) -> None:
        engine.parts = [played.thought("Hm."), played.said("Let "), played.said("me see."), played.called("read", '{"path": "ü"}')]
        engine.reason = "tool_calls"
        options: Any = {"model": "default", "input": "Hi", "tools": [READ]}
        whole = client.responses.create(**options)
        with client.responses.stream(**options) as stream:
            final = stream.get_final_response()
        for response in (whole, final):
            assert (response.status, response.output_text) == ("completed", "Let me see.")
            reasoning, _, call = response.output
            assert reasoning.type == "reasoning" and reasoning.summary[0].text == "Hm."
            assert call.type == "function_call" and (call.call_id, call.arguments) == ("abc", '{"path": "ü"}')
            assert response.usage is not None and response.usage.output_tokens_details.reasoning_tokens == 1

    def test_the_output_is_the_next_input(self, client: OpenAI, engine: played.PlayedEngine) -> None:
        engine.parts, engine.reason = [played.thought("Hm."), played.called("read")], "tool_calls"
        first = client.responses.create(model="default", input="Hi", tools=[READ])  # type: ignore[list-item]
        items: Any = [{"role": "user", "content": "Hi"}, *first.output]
        items.append({"type": "function_call_output", "call_id": "abc", "output": "text"})
        client.responses.create(model="default", input=items)
        assert engine.requests[-1].messages[1:] == (
            Message("assistant", "", "Hm.", (ToolCall("abc", "read", "{}"),)),
            Message("tool", "text", call_id="abc"),
        )

    def test_the_asynchronous_client_streams(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts, engine.reason = [played.said("Hello"), played.said(".")], "eos"

        async def ask() -> str:
            async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as own:
                stream = await own.responses.create(model="default", input="Hi", stream=True)
                return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])

        assert asyncio.run(ask()) == "Hello."

    def test_errors_are_the_clients_own(self, client: OpenAI) -> None:
        with pytest.raises(APIError) as error:
            client.responses.create(model="default", input="Hi", previous_response_id="resp_1")
        assert error.value.param == "previous_response_id" and "Send the whole conversation" in error.value.message
