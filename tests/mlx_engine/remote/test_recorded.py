"""A remote engine on recorded responses of real servers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, Event, Failed, Finished, PairInfo, PrefillProgress
from mlx_engine.contract.requests import Calibrate, CountTokens, GenerationRequest, LoadPair, Message, Request, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.remote import statistics
from mlx_engine.remote.endpoint import Endpoint
from mlx_engine.remote.remote_engine import RemoteEngine
from tests.mlx_engine.remote.replay import Replay, Response, recorded, replaying

Responses = dict[tuple[str, str], Response]

HELLO = GenerationRequest((Message("user", "Hello"),))
CHAT = ("POST", "/v1/chat/completions")
MODELS = ("GET", "/v1/models")
VLLM = {
    MODELS: recorded("vllm_dflash/v1_models"),
    ("GET", "/version"): recorded("vllm_dflash/version"),
    ("GET", "/metrics"): recorded("vllm_dflash/metrics_start"),
}
LLAMA = {MODELS: recorded("llama_dflash/v1_models"), ("GET", "/slots"): recorded("llama_dflash/slots")}
JSON = (("content-type", "application/json"),)
MLX_LM = {MODELS: recorded("mlx_lm/v1_models")}
MLX_VLM = {MODELS: recorded("mlx_vlm_plain/v1_models")}


@contextmanager
def connected(responses: Responses, chunk: int = 1 << 16, **options: Any) -> Iterator[tuple[RemoteEngine, Replay]]:
    with replaying(responses, chunk) as replay:
        engine = RemoteEngine(Endpoint(replay.url, **options))
        try:
            yield engine, replay
        finally:
            assert engine.wait(120)


def run(engine: RemoteEngine, request: Request) -> list[Event]:
    found: list[Event] = []
    ended = threading.Event()

    def deliver(event: Event | None) -> None:
        if event is None:
            ended.set()
        else:
            found.append(event)

    engine.submit(request, deliver)
    assert ended.wait(120)
    return found


def json_response(body: dict[str, Any]) -> Response:
    return Response(200, (("content-type", "application/json"),), json.dumps(body).encode())


def text(events: list[Event], channel: str = "answer") -> str:
    return "".join(event.text for event in events if isinstance(event, Commit) and event.channel == channel)


def failed(events: list[Event]) -> Failed:
    assert isinstance(events[-1], Failed)
    return events[-1]


@pytest.mark.parametrize(
    ("server", "recording", "answer", "tokens", "chunk"),
    (
        (VLLM, "vllm_dflash/stream_usage", "I am only a small demo model", 105, 1 << 16),
        (MLX_LM, "mlx_lm/stream_usage", "I am only a small demo model", 105, 1),
        (MLX_VLM, "mlx_vlm_plain/stream_usage", "I am only a small demo model", 105, 17),
        (LLAMA, "llama_dflash/stream_usage", "", 85, 1 << 16),
    ),
)
def test_a_reply_has_its_text_and_tokens(server: Responses, recording: str, answer: str, tokens: int, chunk: int) -> None:
    with connected(server | {CHAT: recorded(recording)}, chunk) as (engine, _):
        events = run(engine, HELLO)
    end = events[-1]
    assert isinstance(end, Finished)
    assert text(events).startswith(answer)
    assert end.stats.tokens == tokens
    assert end.reason == "eos"


def test_vllm_reports_rounds_and_accepted_drafts() -> None:
    with connected(VLLM | {CHAT: recorded("vllm_dflash/stream_usage")}) as (engine, _):
        end = run(engine, HELLO)[-1]
    assert isinstance(end, Finished)
    stats = end.stats
    assert (stats.rounds, stats.drafted, stats.accepted) == (8, 120, 104)
    assert stats.tokens_per_round == (stats.tokens - 1) / 8 == 13.0  # not 14: the last round went past the end
    assert stats.acceptance == pytest.approx(104 / 120)
    assert stats.decode_tok_s == pytest.approx(104 / 0.27168, rel=1e-4)
    assert stats.measured_by == "server"


def test_vllm_reports_each_round_in_detail() -> None:
    body = recorded("vllm_dflash/stream_usage").body
    rounds = {"num_spec_steps": 3, "num_draft_tokens": 45, "num_accepted_draft_tokens": 22}
    rounds |= {"per_step_accepted": [5, 15, 2], "per_step_drafted": [15, 15, 15]}
    last = b'data: {"choices": [], "metrics": {"speculative_decoding": %s}}\n\n' % json.dumps(rounds).encode()
    detailed = replace(recorded("vllm_dflash/stream_usage"), body=body.replace(b"data: [DONE]", last + b"data: [DONE]"))
    with connected(VLLM | {CHAT: detailed}) as (engine, _):
        end = run(engine, HELLO)[-1]
    assert isinstance(end, Finished)
    assert (end.stats.rounds, end.stats.accepted) == (3, 22)
    assert (end.stats.accepted_per_round, end.stats.widths) == ((5, 15, 2), (16, 16, 16))


@example(0, 1, 0)
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_tokens_per_round_are_never_negative(tokens: int, rounds: int, accepted: int) -> None:
    """A server may count a round though its reply is empty."""
    counts = {"spec_verify_ct": rounds, "spec_num_correct_drafts": accepted}
    found = statistics.stats(HELLO, {"sglext": {"spec_tokens_details": counts}}, tokens, 0.1, 1.0).tokens_per_round
    assert (found is None) == (rounds == 0)
    assert found is None or 0 <= found * rounds <= tokens + 1e-9


def test_llama_cpp_reports_no_rounds() -> None:
    with connected(LLAMA | {CHAT: recorded("llama_dflash/stream_usage")}) as (engine, _):
        events = run(engine, HELLO)
    end = events[-1]
    assert isinstance(end, Finished)
    assert (end.stats.rounds, end.stats.drafted, end.stats.accepted) == (0, 375, 59)
    assert end.stats.tokens_per_round is None
    assert end.stats.decode_tok_s == pytest.approx(175.249, rel=1e-4)
    assert end.stats.reused_tokens == 18
    assert text(events, "thinking").startswith("Let us subtract 8")


def test_without_reported_times_the_rate_is_measured_here() -> None:
    with connected(MLX_LM | {CHAT: recorded("mlx_lm/stream_usage")}) as (engine, _):
        end = run(engine, HELLO)[-1]
    assert isinstance(end, Finished)
    assert end.stats.measured_by == "client"
    assert end.stats.acceptance is None


def test_thinking_is_separate() -> None:
    with connected(VLLM | {CHAT: recorded("vllm_dflash/stream_thinking")}) as (engine, _):
        events = run(engine, replace(HELLO, thinking=True))
    assert text(events, "thinking").startswith("To count the divisors of 36")
    assert text(events) == "The number 36 has **9** positive divisors."


def test_token_ids_are_those_of_the_server() -> None:
    with connected(VLLM | {CHAT: recorded("vllm_dflash/stream_ids_logprobs")}) as (engine, replay):
        events = run(engine, HELLO)
    tokens = [token for event in events if isinstance(event, Commit) for token in event.tokens]
    assert len(tokens) == 105
    assert json.loads(replay.seen[-1][3])["return_token_ids"] is True


def test_a_stop_string_and_a_limit_end_a_reply() -> None:
    with connected(VLLM | {CHAT: recorded("vllm_dflash/stream_stop")}) as (engine, replay):
        end = run(engine, HELLO)[-1]
        assert isinstance(end, Finished)
        assert (end.reason, end.stop_string) == ("stop_string", ", 5")
        replay.responses[CHAT] = recorded("vllm_dflash/stream_length")
        end = run(engine, HELLO)[-1]
        assert isinstance(end, Finished)
        assert end.reason == "length"


class TestDiscovery:
    @pytest.mark.parametrize(
        ("responses", "program", "limit"),
        ((VLLM, "vLLM 0.32.0", 2048), (LLAMA, "llama.cpp", 2048), (MLX_LM, "", None), (MLX_VLM, "mlx-vlm 0.7.10", None)),
    )
    def test_servers_are_recognized(self, responses: Responses, program: str, limit: int | None) -> None:
        with connected(responses) as (engine, _):
            info = run(engine, LoadPair())[-1]
        assert isinstance(info, PairInfo)
        assert (info.family, info.context_limit if info.context_known else None) == (program, limit)
        assert info.remote.startswith("127.0.0.1:")

    def test_sglang_reports_its_method_and_whether_it_parses_calls(self) -> None:
        models = Response(200, JSON, b'{"data": [{"id": "demo", "owned_by": "sglang", "max_model_len": 4096}]}')
        for parser, can_call in (("null", False), ('"qwen25"', True)):
            body = f'{{"version": "0.6", "speculative_algorithm": "DFLASH", "tool_call_parser": {parser}}}'.encode()
            with connected({MODELS: models, ("GET", "/server_info"): Response(200, JSON, body)}) as (engine, _):
                info = run(engine, LoadPair())[-1]
            assert isinstance(info, PairInfo)
            assert (info.family, info.drafter, info.why_plain, info.can_call_tools) == ("SGLang 0.6", "DFLASH", None, can_call)

    def test_the_key_and_headers_are_sent(self) -> None:
        with connected(VLLM, key="sk-secret", headers=(("x-team", "blue"),)) as (engine, replay):
            run(engine, LoadPair())
        assert all(headers["authorization"] == "Bearer sk-secret" for _, _, headers, _ in replay.seen)
        assert all(headers["x-team"] == "blue" for _, _, headers, _ in replay.seen)

    def test_a_wrong_key_is_said(self) -> None:
        with connected({MODELS: recorded("vllm_dflash/v1_models_nokey")}) as (engine, _):
            assert failed(run(engine, LoadPair())).code == "remote_key"

    def test_an_unknown_model_is_named_with_the_others(self) -> None:
        with connected(VLLM, model="other") as (engine, _):
            error = failed(run(engine, LoadPair()))
        assert error.code == "remote_unknown_model"
        assert "demo" in error.message

    def test_a_web_page_is_no_api(self) -> None:
        page = Response(200, (("content-type", "text/html"),), b"<html>Welcome</html>")
        with connected({MODELS: page, CHAT: page}) as (engine, _):
            assert failed(run(engine, LoadPair())).code == "remote_no_list"

    def test_tokens_are_counted_where_the_server_can(self) -> None:
        count = CountTokens(GenerationRequest((Message("user", "Hello!"),)))
        with connected(VLLM | {("POST", "/tokenize"): recorded("vllm_dflash/tokenize")}) as (engine, _):
            assert run(engine, count) == [TokenCount(14, 2048)]
        with connected(MLX_LM) as (engine, _):
            assert failed(run(engine, count)).code == "remote_no_count"

    def test_llama_cpp_counts_the_tokens_of_the_rendered_chat(self) -> None:
        rendered = json_response({"prompt": "<|im_start|>user\nHello"})
        counted = json_response({"tokens": [1, 313, 204, 836]})
        pages = LLAMA | {("POST", "/apply-template"): rendered, ("POST", "/tokenize"): counted}
        with connected(pages) as (engine, replay):
            assert run(engine, CountTokens(GenerationRequest(HELLO.messages))) == [TokenCount(4, 2048)]
        assert json.loads(replay.seen[-2][3])["chat_template_kwargs"] == {"enable_thinking": False}
        assert json.loads(replay.seen[-1][3]) == {"content": "<|im_start|>user\nHello", "add_special": True}

    @pytest.mark.parametrize("body", (b"<html>", b"[]", b'{"prompt": ""}', b'{"count": "many"}'))
    @pytest.mark.parametrize("server", (VLLM, LLAMA))
    def test_what_is_no_count_is_refused(self, server: Responses, body: bytes) -> None:
        pages = {("POST", path): Response(200, (), body) for path in ("/apply-template", "/tokenize")}
        with connected(server | pages) as (engine, _):
            assert failed(run(engine, CountTokens(GenerationRequest(HELLO.messages)))).code == "remote_no_count"

    def test_what_concerns_this_computer_is_refused(self) -> None:
        with connected(VLLM) as (engine, _):
            assert failed(run(engine, Calibrate())).code == "remote_not_here"


class TestErrors:
    @pytest.mark.parametrize(
        ("server", "recording", "code"),
        (
            (VLLM, "vllm_dflash/err_too_long", "remote_context_exceeded"),
            (VLLM, "vllm_dflash/err_model", "remote_no_model"),
            (VLLM, "vllm_dflash/min_p", "remote_refused"),
            (LLAMA, "llama_dflash/err_too_long", "remote_context_exceeded"),
            (MLX_LM, "mlx_lm/err_param", "remote_refused"),
            (MLX_LM, "mlx_lm/err_model", "remote_no_model"),
        ),
    )
    def test_recorded_errors_have_clear_messages(self, server: Responses, recording: str, code: str) -> None:
        with connected(server | {CHAT: recorded(recording)}) as (engine, _):
            error = failed(run(engine, HELLO))
        assert error.code == code
        assert "127.0.0.1" in error.message

    @pytest.mark.parametrize(("status", "code"), ((400, "remote_refused"), ("500", "remote_failed"), (None, "remote_failed")))
    def test_an_error_in_a_stream_has_its_own_status(self, status: object, code: str) -> None:
        error = {"message": "min_p isn't supported", "type": "BadRequestError", "code": status}
        stream = replace(recorded("vllm_dflash/stream_usage"), body=b"data: %s\n\n" % json.dumps({"error": error}).encode())
        with connected(VLLM | {CHAT: stream}) as (engine, _):
            assert failed(run(engine, HELLO)).code == code

    def test_done_after_an_error_is_no_success(self) -> None:
        with connected(VLLM | {CHAT: recorded("vllm_2nodes/node1_killed_mid_stream")}) as (engine, _):
            events = run(engine, HELLO)
        assert text(events).startswith("To count the divisors of 1")
        assert failed(events).code == "remote_failed"
        assert not any(isinstance(event, Finished) for event in events)

    def test_a_broken_connection_keeps_what_came(self) -> None:
        with connected(LLAMA | {CHAT: recorded("llama_rpc/worker_killed_mid_stream", cut=True)}) as (engine, _):
            events = run(engine, HELLO)
        assert text(events).startswith("To count")
        assert failed(events).code == "remote_lost"

    @pytest.mark.parametrize("size", (200, 1000, 2500))
    def test_a_stream_that_ends_early_is_no_success(self, size: int) -> None:
        whole = recorded("vllm_dflash/stream_usage")
        with connected(VLLM | {CHAT: replace(whole, body=whole.body[:size])}) as (engine, _):
            assert failed(run(engine, HELLO)).code in ("remote_cut", "remote_bad_chunk")

    def test_the_wait_of_a_busy_server_is_said(self) -> None:
        busy = Response(429, (("content-type", "application/json"), ("retry-after", "7")), b'{"error": "busy"}')
        with connected(VLLM | {CHAT: busy}) as (engine, _):
            assert "7 seconds" in failed(run(engine, HELLO)).message

    @pytest.mark.parametrize("status", (400, 500, 502, 503))
    def test_a_page_in_place_of_an_error_is_not_shown(self, status: int) -> None:
        page = Response(status, (("content-type", "text/html"),), b"<html><script>alert(1)</script></html>")
        with connected(VLLM | {CHAT: page}) as (engine, _):
            error = failed(run(engine, HELLO))
        assert error.code == "remote_not_api"
        assert "<" not in error.message

    def test_nothing_listens(self) -> None:
        with replaying({}) as replay:
            url = replay.url
        engine = RemoteEngine(Endpoint(url))
        assert failed(run(engine, LoadPair())).code == "remote_nothing_listens"
        assert engine.wait(120)

    @pytest.mark.parametrize(
        ("url", "code"),
        (
            ("ftp://127.0.0.1", "remote_bad_address"),
            ("127.0.0.1:port", "remote_bad_address"),
            ("127.0.0.1 8000", "remote_bad_address"),
            ("http://", "remote_bad_address"),
            ("http://[::1", "remote_bad_address"),
            ("http://127.0.0.1:port", "remote_bad_address"),
            ("http://user:secret@127.0.0.1", "remote_password_in_address"),
            ("http://8.8.8.8:8000", "remote_not_encrypted"),
        ),
    )
    def test_bad_addresses_are_refused(self, url: str, code: str) -> None:
        engine = RemoteEngine(Endpoint(url))
        assert failed(run(engine, LoadPair())).code == code
        assert engine.wait(120)


def test_a_plain_reply_goes_to_the_plain_address() -> None:
    plain = replace(HELLO, mode="plain")
    with connected(VLLM | {CHAT: recorded("vllm_dflash/stream_usage")}) as (engine, replay):
        assert failed(run(engine, plain)).code == "remote_no_plain"
        with replaying({CHAT: recorded("vllm_dflash/stream_usage")}) as other:
            both = RemoteEngine(Endpoint(replay.url, plain_url=other.url))
            assert isinstance(run(both, plain)[-1], Finished)
            assert [path for _, path, _, _ in other.seen] == [CHAT[1]]
            assert both.wait(120)


def test_any_request_interrupts_one_that_gives_way() -> None:
    asked, gate = threading.Event(), threading.Event()

    def answer(body: bytes) -> Response:
        if b"title" in body:
            asked.set()
            assert gate.wait(120)
        return recorded("vllm_dflash/stream_usage")

    found: list[Event | None] = []
    with connected(VLLM | {CHAT: answer}) as (engine, _):  # type: ignore[dict-item]
        engine.submit(GenerationRequest((Message("user", "A title"),), gives_way=True), found.append)
        assert asked.wait(120)
        assert isinstance(run(engine, HELLO)[-1], Finished)
        gate.set()
    assert [event.reason for event in found if isinstance(event, Finished)] == ["cancelled"]
    assert found[-1] is None


def test_a_closed_engine_ends_jobs_at_once() -> None:
    with connected(VLLM) as (engine, _):
        pass
    assert run(engine, HELLO) == []


class TestRollingWindow:
    CHAT_OF_TEN = (Message("system", "Be brief."), *(Message("user" if n % 2 == 0 else "assistant", f"{n}") for n in range(11)))

    def sent(self, rolling: int | None, fits: int) -> tuple[list[list[str]], list[Event]]:
        """Return the contents of the messages of each request, and the events, if `fits` messages fit."""
        asked: list[list[str]] = []

        def answer(body: bytes) -> Response:
            asked.append([message["content"] for message in json.loads(body)["messages"]])
            return recorded("vllm_dflash/stream_usage" if len(asked[-1]) <= fits else "vllm_dflash/err_too_long")

        with connected(VLLM | {CHAT: answer}) as (engine, _):  # type: ignore[dict-item]
            return asked, run(engine, GenerationRequest(self.CHAT_OF_TEN, rolling=rolling))

    def test_old_turns_are_left_out_until_the_rest_fits(self) -> None:
        asked, events = self.sent(0, fits=6)
        assert [len(messages) for messages in asked] == [12, 10, 6]
        assert asked[-1] == ["Be brief.", "6", "7", "8", "9", "10"]
        assert events[0] == PrefillProgress(0, 0, 0, left_out=6)
        assert isinstance(events[-1], Finished)

    def test_what_was_left_out_before_stays_left_out(self) -> None:
        asked, events = self.sent(6, fits=6)
        assert asked == [["Be brief.", "6", "7", "8", "9", "10"]]
        assert events[0] == PrefillProgress(0, 0, 0, left_out=6)

    def test_a_message_that_is_too_long_alone_is_refused(self) -> None:
        asked, events = self.sent(0, fits=1)
        assert asked[-1] == ["Be brief.", "10"]
        assert failed(events).code == "remote_context_exceeded"

    def test_without_a_rolling_window_everything_is_sent_once(self) -> None:
        asked, events = self.sent(None, fits=1)
        assert [len(messages) for messages in asked] == [12]
        assert failed(events).code == "remote_context_exceeded"


@pytest.mark.parametrize("rolling", [None, 0])
def test_results_of_tools_are_cut_off_until_they_fit(rolling: int | None) -> None:
    call = ToolCall("call_1", "read", "{}")
    question = (Message("user", "Read it."), Message("assistant", "", calls=(call,)))
    messages = (*question, Message("tool", "x" * 100_000, call_id=call.id))
    asked: list[int] = []

    def answer(body: bytes) -> Response:
        asked.append(len(json.loads(body)["messages"][-1]["content"]))
        return recorded("vllm_dflash/stream_usage" if asked[-1] <= 20_000 else "vllm_dflash/err_too_long")

    request = GenerationRequest(messages, rolling=rolling)
    with connected(VLLM | {CHAT: answer}) as (engine, _):  # type: ignore[dict-item]
        assert failed(run(engine, request)).code == "remote_context_exceeded" and asked == [100_000]
        events = run(engine, replace(request, shorten_results=True))
    assert isinstance(events[0], PrefillProgress) and 8_000 < events[0].result_length < asked[-1] <= 20_000
    assert isinstance(events[-1], Finished) and len(asked) <= 6
