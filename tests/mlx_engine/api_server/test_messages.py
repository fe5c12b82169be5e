"""Anthropic's dialect: what reaches the engine, and what clients receive."""

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.api_server import anthropic, body, exchanges
from mlx_engine.api_server.messages import MessagesExchange
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.events import Event, Finished, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall, ToolSpec
from mlx_engine.formats.chat_prompt import render, template
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.formats import made_calls
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

PATH = "/v1/messages"
USER = {"role": "user", "content": "Hi"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "read", "description": "Reads a file.", "input_schema": SCHEMA}
FETCH = {"name": "fetch", "type": "custom", "input_schema": {"type": "object"}, "defer_loading": True}
SEARCH = {"name": "search", "input_schema": {"type": "object"}, "defer_loading": True}
CACHED = {"cache_control": {"type": "ephemeral"}}


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    return played.PlayedEngine()


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running


def text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def asked(*messages: Any, **fields: Any) -> GenerationRequest:
    """Return the engine's request for a body."""
    return MessagesExchange({"messages": list(messages) or [USER], "max_tokens": 9, **fields}).begin(played.PAIR)[0]


def tool_names(request: GenerationRequest) -> list[str]:
    return [tool.name for tool in request.tools]


def answered(response: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    return response.json()


def events(response: Any) -> list[dict[str, Any]]:
    """Return the data of a stream, whose events have the data's type as their name."""
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/event-stream")
    found = []
    for event in response.text.removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def refused(response: Any, status: int = 400) -> dict[str, Any]:
    """Check a refusal's shape, and return its error."""
    assert response.status_code == status, response.text
    refusal = response.json()
    assert set(refusal) == {"type", "error", "request_id"} and refusal["type"] == "error"
    assert set(refusal["error"]) <= {"type", "message", "details"} and refusal["error"]["message"]
    return refusal["error"]


class ReadingEngine(ScriptedEngine):
    """Reads the prompt until the reply is canceled."""

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert cancel is not None
        while not cancel.wait(0.01):
            yield PrefillProgress(1, 7, 0)


class TestChats:
    def test_a_chat_with_tools_reaches_the_engine(self) -> None:
        request = asked(
            USER,
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "A file.", "signature": "x"},
                    {"type": "redacted_thinking", "data": "abc"},
                    text("Reading."),
                    {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "ä"}},
                    {"type": "tool_use", "id": "t2", "name": "read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": [text("two"), {"type": "image", "source": {}}]},
                    {"type": "tool_result", "tool_use_id": "t3", "is_error": True, "content": "no such file"},
                    {"type": "tool_result", "tool_use_id": "t4"},
                    text("Go on.", **CACHED),
                ],
            },
            {"role": "system", "content": "Be quick."},
            system=[text("Be brief."), text("Be kind.")],
            tools=[READ],
        )
        assert request.messages == (
            Message("system", "Be brief.\n\nBe kind."),
            Message("user", "Hi"),
            Message("assistant", "Reading.", "A file.", (ToolCall("t1", "read", '{"path": "ä"}'), ToolCall("t2", "read", "{}"))),
            Message("tool", "one", call_id="t1"),
            Message("tool", "two\n\n[image]", call_id="t2"),
            Message("tool", "Error: no such file", call_id="t3"),
            Message("tool", "", call_id="t4"),
            Message("user", "Go on."),
            Message("system", "Be quick."),
        )
        assert request.tools == (ToolSpec("read", "Reads a file.", SCHEMA),)

    @pytest.mark.parametrize(("kind", "field"), [("image", "type"), ("document", "source.type")])
    def test_images_and_unreadable_documents_of_the_user_are_refused_by_name(self, kind: str, field: str) -> None:
        with pytest.raises(ApiError, match=r"“messages.1.content.1(.source)?”") as refusal:
            asked(USER, {"role": "user", "content": [text("Look:"), {"type": kind, "source": {}}]})
        assert (refusal.value.status, refusal.value.param) == (400, f"messages.1.content.1.{field}")

    def test_images_and_documents_of_earlier_turns_and_of_tools_are_named(self) -> None:
        image, document = {"type": "image", "source": {}}, {"type": "document", "source": {}}
        result = {"type": "tool_result", "tool_use_id": "t", "content": "see below"}
        answered = {"role": "assistant", "content": "A cat."}
        request = asked({"role": "user", "content": [image]}, answered, {"role": "user", "content": [result, document]})
        assert [message.content for message in request.messages] == ["[image]", "A cat.", "see below", "[document]"]

    def test_unknown_blocks_and_server_tools_are_skipped_and_logged(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        unknown = {"type": "web_search_tool_result", "content": {"type": "secret"}, "text": 7}
        server_tool = {"type": "web_search_20260318", "name": "web_search", "max_uses": 5}
        with caplog.at_level(logging.INFO):
            request = asked({"role": "user", "content": [text("Hi"), unknown]}, tools=[server_tool, READ], betas=["x"])
        assert (request.messages, tool_names(request)) == ((Message("user", "Hi"),), ["read"])
        assert "'web_search_tool_result'" in caplog.text and "'web_search_20260318'" in caplog.text and "'betas'" in caplog.text
        assert "secret" not in caplog.text

    @pytest.mark.parametrize(
        ("given", "arguments"),
        [
            ({"__unparsedToolInput": '{"path": "a'}, '{"path": "a'),
            ({"__unparsedToolInput": {"raw": 1}}, '{"raw": 1}'),
            ('{"path": 1}', '{"path": 1}'),
            ("not JSON", "not JSON"),
            (None, "{}"),
            ([1], "[1]"),
        ],
    )
    def test_malformed_past_calls_are_accepted(self, given: Any, arguments: str) -> None:
        call = {"type": "tool_use", "id": "t", "name": "read", "input": given}
        request = asked(USER, {"role": "assistant", "content": [call]}, USER)
        assert request.messages[1].calls == (ToolCall("t", "read", arguments),)

    def test_a_last_message_of_the_assistant_is_continued(self) -> None:
        thought = {"type": "thinking", "thinking": "Hm.", "signature": "x"}
        request = asked(USER, {"role": "assistant", "content": [thought, text("The answer is (")]})
        assert request.messages == (Message("user", "Hi"),)
        assert (request.continue_thinking, request.continue_from) == ("Hm.", "The answer is (")
        call = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
        for last in ([text("x"), call], [text(" ")], ""):
            assert asked(USER, {"role": "assistant", "content": last}).continue_from == ""

    @pytest.mark.parametrize("family", made_calls.FAMILIES)
    def test_chat_templates_render_odd_histories(self, family: str) -> None:
        def called(**fields: Any) -> dict[str, Any]:
            return {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {}} | fields]}

        def result(identifier: str) -> dict[str, Any]:
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identifier, "content": "one"}]}

        system = {"role": "system", "content": "Be quick."}
        odd = [
            called(input=[1]),
            system,
            called(name="", input="ls"),
            result("t"),
            result("gone"),
            USER,
            system,
            USER,
            called(),
            USER,
        ]
        for chat in ([called(), result("t")], odd, odd[1:]):
            rendered = render(made_calls.tokenizer_of(family), asked(*chat, tools=[READ]))
            assert rendered.tokens

    @given(data=st.data())
    def test_no_history_is_refused(self, data: st.DataObject) -> None:
        """Any order of roles, empty blocks, unknown blocks, calls without results, and results without calls."""
        words, junk = st.sampled_from(["", " ", "\n", "Hi", "ü"]), st.sampled_from([None, 1, "x", [], {}, {"a": [None]}])
        name = st.sampled_from(["a", "b", ""])
        simple = st.builds(text, words) | st.fixed_dictionaries({"type": st.just("server_tool_use"), "input": junk, "id": junk})
        result_parts = simple | st.sampled_from([{"type": "image"}, {"type": "tool_reference", "tool_name": "fetch"}])
        block = st.one_of(
            simple,
            st.fixed_dictionaries({"type": st.just("thinking"), "thinking": words}, optional={"signature": words}),
            st.fixed_dictionaries({"type": st.just("tool_use"), "id": name, "name": name, "input": junk}),
            st.fixed_dictionaries(
                {"type": st.just("tool_result"), "tool_use_id": name},
                optional={"content": words | st.lists(result_parts, max_size=2) | st.none(), "is_error": st.booleans()},
            ),
        )
        message = st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "system"]), "content": words | st.lists(block, max_size=3)}
        )
        messages = data.draw(st.lists(message, min_size=1, max_size=5))
        request = asked(*messages, tools=[READ, FETCH])
        assert all(json.dumps(call.arguments) for each in request.messages for call in each.calls)
        as_blocks = [
            each | {"content": [text(each["content"], **CACHED)]} if isinstance(each["content"], str) else each for each in messages
        ]
        assert asked(*as_blocks, tools=[READ | CACHED, FETCH]) == request


class TestNormalization:
    def test_the_billing_header_is_removed(self) -> None:
        for number in range(2):
            header = f"x-anthropic-billing-header: cc_version=2.1.{number}; cch={number};"
            plain = asked(system="Be brief.")
            assert asked(system=[text(header), text("Be brief.", **CACHED)]) == plain
            assert asked(system=f"{header}\n\nBe brief.") == plain
            assert asked(system=header) == asked()

    def test_deferred_tools_are_defined_where_a_result_refers_to_them(self) -> None:
        def result(*names: str) -> dict[str, Any]:
            parts = [{"type": "tool_reference", "tool_name": name} for name in names]
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": parts}]}

        tools = [FETCH, READ, SEARCH]
        assert tool_names(asked(USER, tools=tools)) == ["read"]
        referenced = asked(USER, result("search"), tools=tools)
        assert tool_names(referenced) == ["read", "search"]
        definition = {"name": "search", "description": "", "parameters": {"type": "object"}}
        assert referenced.messages[-1].content == f"The tool search is available now.\n{json.dumps(definition)}"
        assert tool_names(asked(USER, result("search"), result("gone", "fetch", "search"), tools=tools)) == [
            "read",
            "search",
            "fetch",
        ]
        tokenizer = made_calls.tokenizer_of("qwen3")
        before, after = (
            template(tokenizer, request.messages, tools=request.tools, reply=False)
            for request in (asked(USER, tools=tools), referenced)
        )
        assert after[: len(before)] == before and json.dumps(definition) in tokenizer.decode(after)
        server_search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
        assert tool_names(asked(USER, tools=[*tools, server_search])) == ["fetch", "read", "search"]


class TestFields:
    @pytest.mark.parametrize(
        ("choice", "expected"),
        [
            *((None, "auto"), ({"type": "auto"}, "auto"), ({"type": "any"}, "required"), ({"type": "none"}, "none")),
            ({"type": "tool", "name": "read", "disable_parallel_tool_use": True}, "read"),
        ],
    )
    def test_the_tool_choice_reaches_the_engine(self, choice: Any, expected: str) -> None:
        assert asked(tools=[READ], tool_choice=choice).tool_choice == expected

    def test_the_first_call_ends_the_reply_on_request(self) -> None:
        assert [asked(tool_choice={"type": "auto", "disable_parallel_tool_use": one}).one_call for one in (True, False)] == [
            True,
            False,
        ]
        assert not asked().one_call

    def test_a_choice_without_its_tool_is_refused_in_words_of_this_dialect(self, server: Serving) -> None:
        for choice, tools, message in (
            ({"type": "tool", "name": "gone"}, [READ], "“tool_choice” is “gone”, but no tool has this name."),
            ({"type": "any"}, [], "“tool_choice” requires a call, but the request has no tools. Add tools."),
        ):
            response = server.post(PATH, messages=[USER], max_tokens=9, tools=tools, tool_choice=choice)
            assert refused(response)["message"] == message

    @pytest.mark.parametrize(
        ("given", "thinks"),
        [
            *((None, False), ({"type": "disabled"}, False), ({"type": "adaptive", "display": "omitted"}, True)),
            *(({"type": "enabled", "budget_tokens": 31999}, True), ({"type": "between_tools"}, True)),
        ],
    )
    def test_thinking_reaches_the_engine(self, given: Any, thinks: bool) -> None:
        assert asked(thinking=given).thinking is thinks

    def test_output_settings_reach_the_engine(self) -> None:
        form = {"type": "json_schema", "schema": SCHEMA}
        request = asked(output_config={"effort": "max", "format": form})
        assert (request.effort, request.schema) == ("high", json.dumps(SCHEMA))
        assert asked(output_config={"effort": "low", "format": None}).effort == "low"

    def test_sampling_and_stop_sequences_reach_the_engine(self) -> None:
        request = asked(temperature=0.5, top_p=0.9, top_k=7, stop_sequences=["X", "\n"], slipstream={"dflash": "off"}, seed=3)
        assert (request.sampling.temperature, request.sampling.top_p, request.sampling.top_k) == (0.5, 0.9, 7)
        assert (request.stop, request.mode, request.seed) == (("X", "\n"), "plain", 3)

    def test_a_token_limit_beyond_the_context_is_clamped(self) -> None:
        assert asked(max_tokens=128_000).max_tokens == asked(max_tokens=None).max_tokens == played.PAIR.context_limit

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({"messages": []}, "messages"),
            ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role"),
            ({"messages": [{"role": "user", "content": 7}]}, "messages.0.content"),
            ({"messages": [{"role": "user", "content": [{"text": "x"}]}]}, "messages.0.content.0.type"),
            ({"messages": [{"role": "user", "content": [text(7)]}]}, "messages.0.content.0.text"),  # type: ignore[arg-type]
            ({"system": 7}, "system"),
            ({"max_tokens": 0}, "max_tokens"),
            ({"temperature": "hot"}, "temperature"),
            ({"stop_sequences": [""]}, "stop_sequences.0"),
            ({"tools": [{"name": "", "input_schema": {}}]}, "tools.0"),
            ({"tool_choice": {"type": "tool", "name": "gone"}}, "tool_choice"),
            ({"tool_choice": {"type": "some"}}, "tool_choice.type"),
            ({"output_config": {"format": {"type": "xml"}}}, "output_config.format"),
            ({"output_config": {"effort": 3}}, "output_config.effort"),
            ({"mcp_servers": [{"url": "x"}]}, "mcp_servers"),
            ({"thread": {"id": "x"}}, "thread"),
            ({"slipstream": {"width": 99}}, "slipstream.width"),
        ],
    )
    def test_an_invalid_value_is_refused_by_name(self, server: Serving, fields: dict[str, Any], name: str) -> None:
        refusal = refused(server.post(PATH, **{"messages": [USER], "max_tokens": 9} | fields))
        assert refusal["type"] == "invalid_request_error" and f"“{name}" in refusal["message"]

    @given(data=st.data())
    def test_any_other_body_is_refused_cleanly(self, data: st.DataObject) -> None:
        """Any part of a valid body is replaced with something else."""
        body: Any = {
            "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [text("x")]}]},
            ],
            "system": [text("Be brief.")],
            "tools": [READ, FETCH],
            "tool_choice": {"type": "tool", "name": "read"},
            "thinking": {"type": "enabled"},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
            "stop_sequences": ["X"],
            "thread": None,
        }
        body = json.loads(json.dumps(body))
        part, junk = body, st.sampled_from([None, True, 7, -0.5, "", "text", [], [[]], {}, {"type": "text"}, [None], {"type": []}])
        while True:
            keys = list(part) if isinstance(part, dict) else range(len(part))
            key = data.draw(st.sampled_from(keys))
            if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.booleans()):
                part[key] = data.draw(junk)
                break
            part = part[key]
        try:
            MessagesExchange(body).begin(played.PAIR)
        except ApiError as error:
            assert error.status == 400 and error.param is not None and error.param.split(".")[0] in error.message


class TestReplies:
    def test_a_message_has_anthropics_shape(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts = [played.thought("Hm."), played.said("Rea"), played.said("ding."), played.called("read", '{"path": "a"}')]
        engine.reason = "tool_calls"
        got = answered(server.post(f"{PATH}?beta=true", messages=[USER], max_tokens=9, tools=[READ]))
        assert {name: got[name] for name in ("type", "role", "model", "stop_reason", "stop_sequence")} == {
            **{"type": "message", "role": "assistant", "model": "tiny"},
            **{"stop_reason": "tool_use", "stop_sequence": None},
        }
        assert got["content"] == [
            {"type": "thinking", "thinking": "Hm.", "signature": "slipstream"},
            {"type": "text", "text": "Reading."},
            {"type": "tool_use", "id": "abc", "name": "read", "input": {"path": "a"}},
        ]
        assert (got["usage"]["input_tokens"], got["usage"]["cache_read_input_tokens"], got["usage"]["output_tokens"]) == (7, 0, 5)
        assert got["usage"]["output_tokens_details"] == {"thinking_tokens": 1}
        assert got["slipstream"]["seed"] == 11 and got["timings"]["draft_n"] == 7

    def test_a_stream_has_anthropics_events(self, server: Serving, engine: played.PlayedEngine) -> None:
        engine.parts = [played.thought("Hm."), played.said("Yes."), played.said(""), played.called("read", '{"a": 1}')]
        engine.reason = "tool_calls"
        got = events(server.post(PATH, messages=[USER], max_tokens=9, stream=True, tools=[READ]))
        start, *blocks, end, stop = got
        assert start["message"]["usage"]["input_tokens"] == 7 and start["message"]["content"] == []
        assert start["message"]["stop_reason"] is None
        kinds = [(each["type"], each["index"], each.get("content_block", each.get("delta"))) for each in blocks]
        assert kinds == [
            ("content_block_start", 0, {"type": "thinking", "thinking": "", "signature": ""}),
            ("content_block_delta", 0, {"type": "thinking_delta", "thinking": "Hm."}),
            ("content_block_delta", 0, {"type": "signature_delta", "signature": "slipstream"}),
            ("content_block_stop", 0, None),
            ("content_block_start", 1, {"type": "text", "text": ""}),
            ("content_block_delta", 1, {"type": "text_delta", "text": "Yes."}),
            ("content_block_stop", 1, None),
            ("content_block_start", 2, {"type": "tool_use", "id": "abc", "name": "read", "input": {}}),
            ("content_block_delta", 2, {"type": "input_json_delta", "partial_json": '{"a": 1}'}),
            ("content_block_stop", 2, None),
        ]
        assert (end["type"], end["delta"]) == ("message_delta", {"stop_reason": "tool_use", "stop_sequence": None})
        assert end["usage"]["output_tokens"] == 5 and stop == {"type": "message_stop"}

    @pytest.mark.parametrize(
        ("reason", "expected"),
        [("eos", "end_turn"), ("length", "max_tokens"), ("tool_calls", "tool_use"), ("stop_string", "stop_sequence")],
    )
    def test_stop_reasons(self, server: Serving, engine: played.PlayedEngine, reason: Any, expected: str) -> None:
        engine.parts, engine.reason = [played.called("read")] * (reason == "tool_calls"), reason
        got = answered(server.post(PATH, messages=[USER], max_tokens=9, tools=[READ]))
        assert (got["stop_reason"], len(got["content"])) == (expected, len(engine.parts))

    def test_pings_keep_a_quiet_stream_alive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.05)
        with (
            serving(ReadingEngine) as server,
            server.client.stream("POST", PATH, json={"messages": [USER], "max_tokens": 9, "stream": True}) as response,
        ):
            lines = [line for line, _ in zip(response.iter_lines(), range(5), strict=False)]
        assert lines[0] == "event: message_start" and lines[3:] == ["event: ping", 'data: {"type": "ping"}']

    def test_a_message_that_waits_starts_before_its_pings(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.05)
        pinged = threading.Event()

        class Waiting(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                assert pinged.wait(60)
                yield PrefillProgress(7, 7, 0)
                yield Finished("eos", stats(request.mode))

        with (
            serving(Waiting) as server,
            server.client.stream("POST", PATH, json={"messages": [USER], "max_tokens": 9, "stream": True}) as response,
        ):
            events = []
            for line in response.iter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                    if events[-1]["type"] == "ping":
                        pinged.set()
        kinds = [event["type"] for event in events if event["type"] != "ping"]
        assert kinds == ["message_start", "message_delta", "message_stop"] and events[1] == {"type": "ping"}
        assert events[0]["message"]["usage"]["input_tokens"] == 0 and events[-2]["usage"]["input_tokens"] > 0


class TestErrors:
    def test_errors_of_this_dialects_paths_have_its_shape(self, server: Serving) -> None:
        assert refused(server.client.get(PATH), 405)["type"] == "invalid_request_error"
        assert refused(server.client.get(f"{PATH}/batches"), 404)["type"] == "not_found_error"
        assert refused(server.client.get(PATH, headers={"origin": "http://evil.example"}), 403)["type"] == "permission_error"
        refusal = refused(server.post(PATH, messages=[USER], max_tokens=9, model="claude-9"), 404)
        assert refusal["type"] == "not_found_error" and "claude-9" in refusal["message"]

    def test_a_missing_key_is_an_authentication_error(self) -> None:
        with serving(ScriptedEngine, key="secret") as server:
            refusal = server.client.post(PATH, headers={"authorization": "Bearer wrong"})
            assert refused(refusal, 401)["type"] == "authentication_error"

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            *((400, "invalid_request_error"), (401, "authentication_error"), (403, "permission_error"), (404, "not_found_error")),
            *((413, "request_too_large"), (429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")),
        ],
    )
    def test_each_status_has_anthropics_type(self, status: int, kind: str) -> None:
        assert anthropic.error_body(ApiError(status, "Why."))["error"] == {"type": kind, "message": "Why."}

    def test_claude_code_can_ask_whether_the_server_runs(self, server: Serving) -> None:
        assert server.client.head("/api/hello").status_code == 200
        assert server.client.get("/api/hello").status_code == 200
