"""Requests that are malformed, unsupported, slow, or abandoned, with a scripted engine."""

import json
import logging
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.api_server import body, exchanges
from mlx_engine.api_server.body import RequestFields
from mlx_engine.api_server.chat_completions import ChatExchange, ChatFields
from mlx_engine.api_server.completions import CompletionExchange, CompletionFields
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.responses import ResponseExchange, ResponseFields
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Failed, Finished, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.network import local_network
from mlx_engine.remote import endpoint
from tests.mlx_engine.api_server.serving import Serving, refused, serving
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

PATH = "/v1/chat/completions"
HI: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}


class TestRoutes:
    def test_health_needs_no_model(self, server: Serving) -> None:
        assert server.client.get("/health").json() == {"status": "ok"}
        assert server.client.head("/health").status_code == 200

    def test_models_are_the_loaded_pair_and_its_alias(self, server: Serving) -> None:
        listed = server.client.get("/v1/models").json()
        assert listed["object"] == "list"
        assert [(model["id"], model["object"]) for model in listed["data"]] == [("tiny", "model"), ("default", "model")]

    def test_while_no_pair_is_loaded_a_client_is_told_to_try_again(self, server: Serving) -> None:
        server.api.models.pair = None
        try:
            response = server.post(PATH, **HI)
            assert refused(response, 503)["code"] == "model_not_loaded" and int(response.headers["retry-after"]) > 0
            assert refused(server.client.get("/v1/models"), 503)["code"] == "model_not_loaded"
        finally:
            server.api.models.pair = server.pair
        assert server.post(PATH, **HI).status_code == 200

    def test_unknown_endpoints_and_methods_are_refused(self, server: Serving) -> None:
        assert refused(server.client.get("/v1/nothing"), 404)["code"] == "unknown_endpoint"
        assert refused(server.client.get(PATH), 405)["code"] == "method_not_allowed"
        assert refused(server.client.delete("/v1/models"), 405)["code"] == "method_not_allowed"

    def test_a_query_does_not_change_the_endpoint(self, server: Serving) -> None:
        assert server.client.post(f"{PATH}?beta=true", json=HI).status_code == 200

    def test_a_reply_has_openais_shape(self, server: Serving) -> None:
        answered = server.post(PATH, **HI).json()
        assert answered["object"] == "chat.completion" and answered["model"] == "tiny"
        [choice] = answered["choices"]
        assert choice["message"] == {"role": "assistant", "content": "Hello there.", "refusal": None}
        assert (choice["index"], choice["finish_reason"]) == (0, "stop")

    def test_thinking_is_reasoning_content(self) -> None:
        with serving(lambda: ScriptedEngine(pieces=(("thinking", "Hm."), ("answer", "Yes.")))) as server:
            answered = server.post(PATH, **HI).json()
            message = answered["choices"][0]["message"]
            assert (message["reasoning_content"], message["content"]) == ("Hm.", "Yes.")
            assert answered["usage"]["completion_tokens_details"]["reasoning_tokens"] == 1
            chunks = server.streamed(PATH, **HI, stream_options={"include_usage": True})
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
            assert deltas == [{"role": "assistant", "content": "", "reasoning_content": "Hm."}, {"content": "Yes."}, {}]
            assert chunks[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 1


class TestFields:
    @pytest.mark.parametrize(
        ("field", "value", "param"),
        [
            ("messages", [], "messages"),
            ("messages", "Hi", "messages"),
            ("messages", [{"content": "x"}], "messages.0.role"),
            ("messages", [{"role": "user", "content": 7}], "messages.0.content"),
            ("messages", [{"role": "user", "content": [{"type": "image_url"}]}], "messages.0.content.0.image_url"),
            ("messages", [{"role": "user", "content": [{"text": "x"}]}], "messages.0.content.0.type"),
            ("tools", [{"function": {"name": "f"}}], "tools.0.type"),
            ("tools", [{"type": "function"}], "tools.0.name"),
            ("tools", [{"type": "function", "function": {"name": "f", "parameters": [1]}}], "tools.0"),
            ("tool_choice", "required", "tool_choice"),
            ("tool_choice", {"type": "function", "function": {"name": "f"}}, "tool_choice"),
            ("response_format", {"type": "xml"}, "response_format.type"),
            ("response_format", {"type": "json_schema", "json_schema": {"schema": 1}}, "response_format.schema"),
            ("response_format", {"type": "json_schema", "json_schema": {"type": "object"}}, "response_format.schema"),
            ("response_format", {"type": "json_schema"}, "response_format.schema"),
            ("reasoning_budget", 100, "reasoning_budget"),
            ("model", "gpt-9", "model"),
            ("temperature", -1, "temperature"),
            ("temperature", "0.5", "temperature"),
            ("temperature", True, "temperature"),
            ("top_p", -0.1, "top_p"),
            ("min_p", 1.5, "min_p"),
            ("top_k", 1.5, "top_k"),
            ("repetition_penalty", 0, "repetition_penalty"),
            ("presence_penalty", 101, "presence_penalty"),
            ("frequency_penalty", "x", "frequency_penalty"),
            ("seed", -(2**63) - 1, "seed"),
            ("seed", 2**64, "seed"),
            ("stop", ["a", ""], "stop.1"),
            ("stop", 3, "stop"),
            ("stop", ["a"] * 17, "stop"),
            ("max_tokens", 0, "max_tokens"),
            ("max_tokens", -2, "max_tokens"),
            ("max_completion_tokens", 1.5, "max_completion_tokens"),
            ("n", 0, "n"),
            ("n", 1000, "n"),
            ("stream", "yes", "stream"),
            ("stream_options", {"include_usage": 1}, "stream_options.include_usage"),
            ("reasoning_effort", "huge", "reasoning_effort"),
            ("chat_template_kwargs", {"other": 1}, "chat_template_kwargs.other"),
            ("slipstream", {"dflash": "on"}, "slipstream.dflash"),
            ("slipstream", {"width": 9}, "slipstream.width"),
            ("slipstream", {"width": 0}, "slipstream.width"),
            ("slipstream", {"wide": 3}, "slipstream.wide"),
        ],
    )
    def test_an_invalid_value_is_refused_by_name(self, server: Serving, field: str, value: Any, param: str) -> None:
        before = len(server.engine.runs)
        status = 404 if field == "model" else 400
        assert refused(server.post(PATH, **HI | {field: value}), status)["param"] == param
        assert len(server.engine.runs) == before

    @pytest.mark.parametrize(
        ("exchange", "fields", "valid"),
        [
            (ChatExchange, ChatFields, HI),
            (CompletionExchange, CompletionFields, {"prompt": "Hi"}),
            (ResponseExchange, ResponseFields, {"input": "Hi"}),
        ],
    )
    def test_what_would_change_the_reply_and_is_not_supported_is_refused_by_name(
        self, exchange: Any, fields: type[RequestFields], valid: dict[str, Any]
    ) -> None:
        for name, harmless in fields.refused.items():
            outer, _, inner = name.rpartition(".")
            for value in (None, *harmless):
                exchange(valid | ({outer: {inner: value}} if outer else {name: value}))
            with pytest.raises(ApiError) as error:
                exchange(valid | ({outer: {inner: "something else"}} if outer else {name: "something else"}))
            assert (error.value.status, error.value.param, error.value.code) == (400, name, "unsupported_parameter")

    @pytest.mark.parametrize(
        ("path", "valid", "name", "value", "other"),
        [
            ("/v1/responses", {"input": "Hi"}, "max_tokens", 5, "max_output_tokens"),
            ("/v1/responses", {"input": "Hi"}, "messages", [{"role": "user", "content": "Hi"}], "input"),
            ("/v1/responses", {}, "messages", [{"role": "user", "content": "Hi"}], "input"),
            ("/v1/responses", {"input": "Hi"}, "response_format", {"type": "json_object"}, "text.format"),
            ("/v1/responses", {"input": "Hi"}, "reasoning_effort", "high", "reasoning.effort"),
            ("/v1/responses", {"input": "Hi"}, "logprobs", True, "top_logprobs"),
            ("/v1/responses", {"input": "Hi"}, "stop_sequences", ["a"], "stop"),
            (PATH, HI, "max_output_tokens", 5, "max_completion_tokens"),
            (PATH, HI, "input", "Hi", "messages"),
            (PATH, HI, "system", "Be brief.", "messages"),
            (PATH, HI, "text", {"format": {"type": "json_object"}}, "response_format"),
            (PATH, HI, "thinking", {"type": "enabled"}, "reasoning_effort"),
            ("/v1/completions", {"prompt": "Hi"}, "max_completion_tokens", 5, "max_tokens"),
            ("/v1/completions", {"prompt": "Hi"}, "messages", [{"role": "user", "content": "Hi"}], "prompt"),
            ("/v1/messages", HI, "max_completion_tokens", 5, "max_tokens"),
            ("/v1/messages", HI, "instructions", "Be brief.", "system"),
            ("/v1/messages", HI, "output_format", {"type": "json_schema", "schema": {}}, "output_config.format"),
            ("/v1/messages", HI, "parallel_tool_calls", True, "tool_choice.disable_parallel_tool_use"),
            ("/v1/messages/count_tokens", HI, "instructions", "Be brief.", "system"),
        ],
    )
    def test_a_field_of_another_endpoint_is_refused_with_the_right_name(
        self, server: Serving, path: str, valid: dict[str, Any], name: str, value: Any, other: str
    ) -> None:
        response = server.post(path, **valid, **{name: value})
        assert response.status_code == 400
        assert response.json()["error"]["message"] == f"“{name}” isn't supported here. Use “{other}”."

    def test_empty_fields_of_another_endpoint_are_ignored(self, server: Serving) -> None:
        assert server.post(PATH, **HI, system="", thinking=None, enable_thinking=False, reasoning={}).status_code == 200

    def test_null_is_a_missing_field(self, server: Serving) -> None:
        nothing = {name: None for name in ChatFields.model_fields if name != "messages"}
        assert server.post(PATH, **HI, **nothing).status_code == 200

    def test_unknown_fields_are_accepted_and_only_their_names_are_logged(
        self, server: Serving, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        with caplog.at_level(logging.INFO):
            for _ in range(2):
                unknown = {"user": "Ann Secret", "store": True, "x\x1b[2J\n": "Secret"}
                assert server.post(PATH, messages=[{"role": "user", "content": "A Secret"}], **unknown).status_code == 200
        assert caplog.text.count("'user'") == caplog.text.count("'store'") == caplog.text.count(r"'x\x1b[2J\n'") == 1
        assert "Secret" not in caplog.text and "\x1b" not in caplog.text

    def test_the_names_of_unknown_fields_do_not_flood_the_log(
        self, server: Serving, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        names = [f"{number:05}{'ä' * 100}" for number in range(20_000)]
        for _ in range(3):
            assert server.post(PATH, **HI, **dict.fromkeys(names, 1)).status_code == 200
        assert len(caplog.records) == 3 and all(len(record.getMessage()) < 1200 for record in caplog.records)
        assert "'00000" in caplog.messages[0] and " more in requests" in caplog.messages[0]

    def test_the_name_of_each_unknown_field_is_logged_at_last(
        self, server: Serving, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        names = [f"field_{number:04}" for number in range(1000)]
        for _ in range(20):
            server.post(PATH, **HI, **dict.fromkeys(names, 1))
        assert all(f"'{name}'" in caplog.text for name in names)

    def test_unknown_fields_inside_others_are_logged_by_path(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
        message = {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "Hi", "annotations": []}], "x": None}
        tool = {"type": "function", "function": {"name": "f", "parameters": {"title": "T"}, "other": 1}}
        ChatExchange({"messages": [message, message], "tools": [tool], "stream_options": {"include_obfuscation": True}})
        paths = ("messages.content.annotations", "messages.name", "stream_options.include_obfuscation", "tools.function.other")
        assert caplog.messages == [f"Ignoring fields {', '.join(map(repr, paths))} in requests"]


class SteppedEngine(ScriptedEngine):
    """Waits for the test before each token of an endless reply."""

    def __init__(self, wait_first: bool = False) -> None:
        super().__init__()
        self.allowed = threading.Semaphore(0)
        self.ended = threading.Event()
        self._wait_first = wait_first

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert cancel is not None
        if not self._wait_first:
            yield PrefillProgress(7, 7, 0)
        while not cancel.is_set():
            if self.allowed.acquire(timeout=0.01):
                yield Commit("x", "answer", (1,), ("drafter",))
        self.ended.set()
        yield Finished("cancelled", stats("dflash"))


class TestReplies:
    @pytest.mark.parametrize("stream", [False, True])
    def test_a_closed_connection_cancels_its_reply(self, stream: bool) -> None:
        engine = SteppedEngine()
        with serving(lambda: engine) as server:
            data = json.dumps(HI | {"stream": stream}).encode()
            head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n"
            with socket.create_connection(server.address, timeout=60) as connection:
                connection.sendall(head.encode() + data)
                if stream:
                    engine.allowed.release()
                    assert connection.recv(100).startswith(b"HTTP/1.1 200")
                else:
                    while len(server.engine.runs) < 2:
                        threading.Event().wait(0.01)
            assert engine.ended.wait(60)
            assert server.client.get("/health").status_code == 200

    def test_a_reply_that_waits_shows_signs_of_life(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.02)
        engine = SteppedEngine(wait_first=True)
        with serving(lambda: engine) as server, server.client.stream("POST", PATH, json=HI | {"stream": True}) as response:
            lines = response.iter_lines()
            chunks = [
                json.loads(line.removeprefix("data: ")) for line, _ in zip((line for line in lines if line), range(3), strict=False)
            ]
        assert [chunk["choices"][0]["delta"] for chunk in chunks] == [{"role": "assistant", "content": ""}, {}, {}]
        assert engine.ended.wait(60)

    def test_a_reply_that_shows_nothing_for_long_shows_signs_of_life(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(exchanges, "QUIET_S", 0.05)

        class Reading(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                assert cancel is not None
                while not cancel.wait(0.01):
                    yield PrefillProgress(1, 7, 0)
                yield Finished("cancelled", stats("dflash"))

        with serving(Reading) as server, server.client.stream("POST", PATH, json=HI | {"stream": True}) as response:
            assert len([line for line, _ in zip(response.iter_lines(), range(3), strict=False)]) == 3

    @pytest.mark.parametrize(
        ("code", "status", "kind"),
        [
            ("too_busy", 429, "rate_limit_error"),
            ("no_pair_loaded", 503, "server_error"),
            ("reply_memory", 503, "server_error"),
            ("memory_full", 503, "server_error"),
            ("memory_ended_reply", 503, "server_error"),
            ("internal", 500, "server_error"),
            ("chat_template_process", 500, "server_error"),
            ("bad_effort", 400, "invalid_request_error"),
            ("remote_busy_until", 429, "rate_limit_error"),
            ("remote_cut", 502, "server_error"),
            ("remote_failed", 502, "server_error"),
            ("remote_nothing_listens", 502, "server_error"),
            ("remote_refused", 400, "invalid_request_error"),
        ],
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_the_engines_errors_have_a_status(self, code: str, status: int, kind: str, stream: bool) -> None:
        class Failing(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield Failed.because(UserError(code, "It failed.", seconds=7))

        with serving(Failing) as server:
            response = server.post(PATH, **HI, stream=stream)
            error = refused(response, status)
            assert (error["type"], error["message"]) == (kind, "It failed.")
            assert response.headers.get("retry-after") == ("7" if status == 429 else None)

    def test_every_error_of_a_remote_server_has_its_status(self) -> None:
        """Clients try again after 429, 500 and 502, and change the request or its model after 400 and 404."""
        statuses = {
            400: "context_exceeded no_continue no_count no_plain no_tools not_here private refused",
            404: "no_model unknown_model",
            429: "busy busy_until",
            500: "internal",
            502: "bad_address bad_ca bad_chunk bad_header certificate certificate_invalid cut failed key line_too_long lost "
            "no_list no_models no_route no_stream not_api not_encrypted nothing_listens password_in_address plain_speculates "
            "redirects timed_out too_slow unknown_host unreachable without_tls local_network",
        }
        table = {code: status for status, codes in statuses.items() for code in codes.split()}
        files = *Path(endpoint.__file__).parent.glob("*.py"), Path(local_network.__file__)
        sources = "".join(file.read_text(encoding="utf-8") for file in files)
        reasons = {"no_speculation", "only_speculation"}  # texts about a connection that works
        assert table.keys() | reasons == set(re.findall(r'(?:UserError|EngineText\.of)\(\s*"remote_(\w+)"', sources))
        others = {"context_exceeded": "context_length_exceeded", "internal": "internal_error"}
        others |= dict.fromkeys(("busy", "busy_until"), "rate_limit_exceeded")
        others |= dict.fromkeys(("no_model", "unknown_model"), "model_not_found")
        for code, status in table.items():
            error = ApiError.because(UserError(f"remote_{code}", "It failed."))
            assert (error.status, error.code) == (status, others.get(code, f"remote_{code}"))

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_bad_schema_is_refused_by_name(self, stream: bool) -> None:
        class Failing(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield Failed.because(UserError("bad_schema", "It failed."))

        tools, form = [{"type": "function", "name": "read"}], {"type": "json_object"}
        with serving(Failing) as server:
            for path, body, param in (
                (PATH, HI | {"response_format": form}, "response_format"),
                (PATH, HI | {"tools": tools}, "tools"),
                (PATH, HI | {"tools": tools, "response_format": form}, None),
                ("/v1/responses", {"input": "Hi", "text": {"format": form}}, "text.format"),
            ):
                assert refused(server.post(path, **body, stream=stream))["param"] == param

    def test_an_error_in_a_stream_is_its_last_event(self) -> None:
        started = threading.Event()

        class Failing(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield Commit("x", "answer", (1,), ("drafter",))
                assert started.wait(60)
                yield Failed.because(UserError("bad_effort", "It failed."))

        with serving(Failing) as server, server.client.stream("POST", PATH, json=HI | {"stream": True}) as response:
            assert response.status_code == 200
            lines = []
            for line in response.iter_lines():
                lines += [json.loads(line.removeprefix("data: "))] if line else []
                started.set()
        assert lines[0]["choices"][0]["delta"]["content"] == "x"
        assert lines[-1]["error"]["message"] == "It failed."

    def test_text_is_kept_if_an_error_follows_at_once(self) -> None:
        class Failing(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield Commit("x", "answer", (1,), ("drafter",))
                yield Failed.because(UserError("bad_effort", "It failed."))

        with serving(Failing) as server:
            response = server.post(PATH, **HI, stream=True)
        lines = [json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line]
        assert lines[0]["choices"][0]["delta"]["content"] == "x"
        assert lines[-1]["error"]["message"] == "It failed."

    def test_a_bug_is_logged_without_the_request(
        self, server: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(*_: Any) -> None:
            raise ValueError("secret".title())  # the log shows lines of code

        monkeypatch.setattr("mlx_engine.api_server.app.model_list", fail)
        error = refused(server.client.get("/v1/models"), 500)
        assert error["code"] == "internal_error" and "Secret" not in error["message"]
        assert "ValueError" in caplog.text and "Secret" not in caplog.text
