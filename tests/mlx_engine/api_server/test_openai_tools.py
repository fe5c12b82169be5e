"""Chat completions with tools, schemas, and the odd histories that clients send."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel

from mlx_engine.api_server import body
from mlx_engine.api_server.chat_completions import ChatExchange
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.responses import ResponseExchange
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving

PATH = "/v1/chat/completions"
USER = {"role": "user", "content": "Hi"}
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters": PARAMETERS}}
READ_SPEC = ToolSpec("read", "Reads a file.", PARAMETERS)
SHELL = {"type": "custom", "custom": {"name": "shell", "description": "Runs a command."}}


class Read(BaseModel):
    path: str


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    return played.PlayedEngine()


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running


def asked(*messages: Any, **fields: Any) -> GenerationRequest:
    """Return the engine's request for a body."""
    return ChatExchange({"messages": list(messages) or [USER], **fields}).begin(played.PAIR)[0]


def refused(*messages: Any, **fields: Any) -> str | None:
    """Return the field that a refusal names."""
    with pytest.raises(ApiError) as error:
        asked(*messages, **fields)
    assert (
        error.value.status == 400 and error.value.param is not None and error.value.param.rpartition(".")[0] in error.value.message
    )
    return error.value.param


class TestRequests:
    def test_tools_reach_the_engine(self) -> None:
        request = asked(tools=[READ, SHELL, {"type": "function", "function": {"name": "now", "strict": True, "parameters": None}}])
        read, shell, now = (tool.declaration for tool in request.tools)
        assert read == READ
        assert shell["function"]["parameters"]["required"] == ["input"]
        assert now["function"] == {"name": "now", "parameters": {"type": "object", "properties": {}}, "strict": True}
        assert (request.tool_choice, request.schema) == ("auto", None)

    def test_unknown_tools_are_accepted_and_logged(self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        with caplog.at_level(logging.INFO):
            for _ in range(2):
                assert asked(tools=[{"type": "web_search"}, READ, {"type": "namespace", "name": "x", "tools": []}]).tools == (
                    READ_SPEC,
                )
        assert caplog.text.count("tools of type 'namespace', 'web_search'") == 1

    @pytest.mark.parametrize(
        ("choice", "expected"),
        [
            *((None, "auto"), ("auto", "auto"), ("none", "none"), ("required", "required")),
            ({"type": "function", "function": {"name": "read"}}, "read"),
            ({"type": "custom", "custom": {"name": "shell"}}, "shell"),
        ],
    )
    def test_the_tool_choice_reaches_the_engine(self, choice: Any, expected: str) -> None:
        assert asked(tools=[READ, SHELL], tool_choice=choice).tool_choice == expected

    @pytest.mark.parametrize(
        "choice", ["any", "read", 7, {}, {"type": "function"}, {"type": "function", "function": {"name": "write"}}, {"type": "x"}]
    )
    def test_another_tool_choice_is_refused(self, choice: Any) -> None:
        assert refused(tools=[READ], tool_choice=choice) == "tool_choice"

    @pytest.mark.parametrize("mode", ["auto", "required"])
    def test_only_allowed_tools_reach_the_engine(self, mode: str) -> None:
        listed = [{"type": "custom", "custom": {"name": "shell"}}, {"type": "web_search"}]
        choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": listed}}
        request = asked(tools=[READ, SHELL], tool_choice=choice)
        assert request.tool_choice == mode
        assert [tool.name for tool in request.tools] == ["shell"]

    @pytest.mark.parametrize(
        "given",
        [
            *({}, {"mode": "auto"}, {"mode": "none", "tools": []}, {"mode": "required", "tools": []}),
            *({"mode": "auto", "tools": [each]} for each in (7, {}, {"type": "function"}, {"type": "function", "name": "write"})),
            {"mode": "required", "tools": [{"type": "web_search"}]},
        ],
    )
    def test_allowed_tools_that_are_not_offered_are_refused(self, given: Any) -> None:
        assert refused(tools=[READ], tool_choice={"type": "allowed_tools", "allowed_tools": given}) == "tool_choice"
        assert refused(tools=[READ], tool_choice={"type": "allowed_tools", **given}) == "tool_choice"

    def test_no_allowed_tools_are_none(self) -> None:
        request = asked(tools=[READ], tool_choice={"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}})
        assert (request.tools, request.tool_choice) == ((), "auto")

    def test_the_grammar_of_a_custom_tool_is_in_its_description(self) -> None:
        for form in ({"grammar": {"definition": 'start: "a"', "syntax": "lark"}}, {"definition": 'start: "a"', "syntax": "lark"}):
            tool = {"type": "custom", "custom": {"name": "x", "format": {"type": "grammar", **form}}}
            assert 'start: "a"' in (asked(tools=[tool]).tools[0].description or "")

    def test_a_response_format_is_a_schema(self) -> None:
        assert asked(response_format={"type": "text"}).schema is None
        assert asked(response_format={"type": "json_object"}).schema == '{"type": "object"}'
        given = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"const": "ü"}}}
        schema = asked(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": given}}).schema
        assert schema == json.dumps(given, ensure_ascii=False)

    def test_calls_are_parallel_unless_the_client_refuses(self) -> None:
        assert [asked(parallel_tool_calls=value).one_call for value in (None, True, False)] == [False, False, True]

    def test_no_budget_for_thinking_turns_it_off(self) -> None:
        assert asked(reasoning_effort="high", reasoning_budget=-1).thinking
        assert not asked(reasoning_effort="high", reasoning_budget=0).thinking
        assert asked(reasoning_effort="max").effort == "high"


class TestHistories:
    def test_calls_and_results_reach_the_engine(self) -> None:
        call = {"id": "abc", "type": "function", "function": {"name": "read", "arguments": '{"path":  "x"}'}}
        free = {"id": "d", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
        request = asked(
            USER,
            {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call, free]},
            {"role": "tool", "tool_call_id": "abc", "content": "text"},
            {"role": "tool", "tool_call_id": "d", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        )
        calls = (ToolCall("abc", "read", '{"path":  "x"}'), ToolCall("d", "shell", '{"input": "ls"}'))
        assert request.messages[1:] == (
            Message("assistant", "", "Hm.", calls),
            Message("tool", "text", call_id="abc"),
            Message("tool", "ab", call_id="d"),
        )

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ({"id": "a", "function": {"name": "f", "arguments": '{"broken": '}}, ToolCall("a", "f", '{"broken": ')),
            ({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}, ToolCall("a", "f", '{"x": 1}')),
            ({"id": "a", "function": {"name": "f", "arguments": ""}}, ToolCall("a", "f", "{}")),
            ({"id": "a", "function": {"name": "f"}}, ToolCall("a", "f", "{}")),
            ({"id": 7, "function": 7}, ToolCall("", "", "{}")),
            ({}, ToolCall("", "", "{}")),
        ],
    )
    def test_malformed_calls_are_accepted(self, call: Any, expected: ToolCall) -> None:
        assert asked(USER, {"role": "assistant", "tool_calls": [call]}).messages[1].calls == (expected,)

    def test_any_roles_in_any_order_are_accepted(self) -> None:
        roles = ["developer", "system", "user", "user", "system", "assistant", "assistant", "tool", "developer", "critic"]
        request = asked(*({"role": role, "content": None} for role in roles))
        assert [message.role for message in request.messages] == [
            {"developer": "system", "critic": "user"}.get(role, role) for role in roles
        ]

    def test_a_chat_without_a_user_asks_its_last_instruction(self) -> None:
        assert [message.role for message in asked({"role": "system", "content": "Hi"}).messages] == ["user"]

    def test_images_are_refused_by_name_if_the_model_should_answer_them_now(self) -> None:
        image = {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "data:,"}}]}
        assert refused(USER, image) == "messages.1.content.1.type"
        assert refused(image, {"role": "system", "content": "Be brief."}) == "messages.0.content.1.type"
        assert refused(USER, {"role": "assistant", "content": "Hello."}, image) == "messages.2.content.1.type"
        for role in ("tool", "assistant"):
            assert asked(USER, {**image, "role": role}, USER).messages[1].content == "x[image]"
        assert asked(image, {"role": "assistant", "content": "Hello."}, USER).messages[0].content == "x[image]"
        assert asked(USER, {"role": "assistant"}, {"role": "tool"}, image).messages[3].content == "x[image]"

    @given(
        messages=st.lists(
            st.fixed_dictionaries(
                {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "x"])},
                optional={
                    "content": st.none()
                    | st.text()
                    | st.lists(st.text() | st.builds(lambda text: {"type": "text", "text": text}, st.text())),
                    "tool_call_id": st.none() | st.text(),
                    "reasoning_content": st.none() | st.text(),
                    "tool_calls": st.none()
                    | st.lists(
                        st.none()
                        | st.fixed_dictionaries(
                            {},
                            optional={
                                "id": st.none() | st.text(),
                                "type": st.sampled_from(["function", "custom", "x"]),
                                "function": st.fixed_dictionaries(
                                    {}, optional={"name": st.text(), "arguments": st.none() | st.text()}
                                ),
                                "custom": st.fixed_dictionaries({}, optional={"name": st.text(), "input": st.none() | st.text()}),
                            },
                        )
                    ),
                },
            ),
            min_size=1,
        )
    )
    def test_no_history_of_texts_and_calls_is_refused(self, messages: list[Any]) -> None:
        assert len(asked(*messages).messages) == len(messages)


class TestReplies:
    @given(parts=played.replies, reason=played.reasons)
    def test_a_stream_adds_up_to_the_whole_reply(
        self, server: Serving, engine: played.PlayedEngine, parts: list[played.Part], reason: Any
    ) -> None:
        engine.parts, engine.reason = parts, reason
        fields = {"messages": [USER], "tools": [READ, SHELL]}
        [choice] = server.post(PATH, **fields).json()["choices"]
        message = choice["message"]
        texts, calls = {"content": "", "reasoning_content": ""}, list[Any]()
        for chunk in server.streamed(PATH, **fields):
            [streamed] = chunk["choices"]
            for name in texts:
                texts[name] += streamed["delta"].get(name) or ""
            for call in streamed["delta"].get("tool_calls", ()):
                assert call.pop("index") == len(calls)
                calls.append(call)
        assert streamed["finish_reason"] == choice["finish_reason"]
        assert (message["content"] or "", message.get("reasoning_content", "")) == tuple(texts.values())
        assert message.get("tool_calls", []) == calls
        expected = [part for part in parts if isinstance(part, ToolCall)]
        assert [call["id"] for call in calls] == [call.id for call in expected]

    def test_openais_client_understands_calls(self, server: Serving, engine: played.PlayedEngine) -> None:
        client = OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
        engine.reason = "tool_calls"
        engine.parts = [played.thought("Hm."), played.said("Let me see."), played.called("read", '{"path": "ü"}')]
        options: Any = {"model": "default", "messages": [USER], "tools": [READ, SHELL]}
        whole = client.chat.completions.create(**options).choices[0]
        with client.chat.completions.stream(**options) as stream:
            streamed = stream.get_final_completion().choices[0]
        for choice in (whole, streamed):
            assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me see.")
            [call] = choice.message.tool_calls or []
            assert (call.type, call.id, call.function.name, call.function.arguments) == ("function", "abc", "read", '{"path": "ü"}')

    def test_a_custom_tool_gets_text(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts, engine.reason = [played.called("shell", '{"input": "ls"}')], "tool_calls"
        message = server.chat("Hi", tools=[SHELL])["choices"][0]["message"]
        assert message["content"] is None
        assert message["tool_calls"] == [{"id": "abc", "type": "custom", "custom": {"name": "shell", "input": "ls"}}]

    def test_openais_client_parses_answers_and_arguments(self, server: Serving, engine: played.PlayedEngine) -> None:
        client = OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
        engine.parts, engine.reason = [played.said('{"path": '), played.said('"x"}')], "eos"
        chat: Any = {"model": "default", "messages": [USER]}
        assert client.chat.completions.parse(**chat, response_format=Read).choices[0].message.parsed == Read(path="x")
        assert json.loads(engine.requests[-1].schema or "")["required"] == ["path"]
        assert client.responses.parse(model="default", input="Hi", text_format=Read).output_parsed == Read(path="x")
        assert json.loads(engine.requests[-1].schema or "")["required"] == ["path"]
        engine.parts, engine.reason = [played.called("Read", '{"path": "x"}')], "tool_calls"
        [call] = client.chat.completions.parse(**chat, tools=[pydantic_function_tool(Read)]).choices[0].message.tool_calls or []
        assert call.function.parsed_arguments == Read(path="x")
        assert engine.requests[-1].tools[0].strict


ONLY_READ = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "read"}]}


class TestAllowedTools:
    """A model may still call a tool that isn't allowed, because it sees its earlier calls."""

    @given(parts=played.replies, streams=st.booleans())
    def test_other_calls_are_text(self, server: Serving, engine: played.PlayedEngine, parts: list[Any], streams: bool) -> None:
        others = [part for part in parts if isinstance(part, ToolCall) and part.name != "read"]
        own = [part for part in parts if isinstance(part, ToolCall) and part.name == "read"]
        engine.parts, engine.reason = parts, "tool_calls" if own or others else "eos"
        text = "".join(
            json.dumps({"name": part.name, "arguments": json.loads(part.arguments)}, ensure_ascii=False)
            if isinstance(part, ToolCall)
            else part.text
            for part in parts
            if part in others or (not isinstance(part, ToolCall) and part.channel == "answer")
        )
        body = {"messages": [USER], "tools": [READ, SHELL], "tool_choice": ONLY_READ}
        if streams:
            chunks = server.streamed(PATH, **body)
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
            names = [call["function"]["name"] for delta in deltas for call in delta.get("tool_calls", ())]
            assert "".join(delta.get("content", "") for delta in deltas) == text
            reason = chunks[-1]["choices"][0]["finish_reason"]
        else:
            [choice] = server.post(PATH, **body).json()["choices"]
            names = [call["function"]["name"] for call in choice["message"].get("tool_calls", ())]
            assert (choice["message"]["content"] or "") == text
            reason = choice["finish_reason"]
        assert names == ["read"] * len(own) and reason == ("tool_calls" if own else "stop")
        flat = [{"type": "function", "name": name} for name in ("read", "write")]
        response = server.post("/v1/responses", input="Hi", tools=flat, tool_choice=ONLY_READ).json()
        calls = [item["name"] for item in response["output"] if item["type"] == "function_call"]
        assert calls == names and response["tool_choice"] == ONLY_READ

    def test_another_call_with_malformed_arguments_is_text(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts, engine.reason = [played.called("write", '{"path": ')], "tool_calls"
        [choice] = server.post(PATH, messages=[USER], tools=[READ], tool_choice=ONLY_READ).json()["choices"]
        assert choice["message"]["content"] == '{"name": "write", "arguments": {"path": }'
        assert choice["finish_reason"] == "stop"

    def test_a_namespace_or_a_tool_in_it_is_allowed(self) -> None:
        space = {"type": "namespace", "name": "files", "tools": [{"type": "function", "name": name} for name in ("read", "list")]}
        plain = {"type": "function", "name": "read"}

        def allowed(*tools: Any) -> Any:
            choice = {"type": "allowed_tools", "mode": "required", "tools": list(tools)}
            body = {"input": "Hi", "tools": [space, plain], "tool_choice": choice}
            return ResponseExchange(body).tools.allowed

        assert allowed({"type": "namespace", "name": "files"}) == {"files__read", "files__list"}
        assert allowed({"type": "function", "name": "list", "namespace": "files"}, plain) == {"files__list", "read"}
