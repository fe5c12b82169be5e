"""Values and fields of the official clients' request types, in all dialects."""

import json
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given
from hypothesis import strategies as st
from openai.types import completion_create_params
from openai.types.chat import completion_create_params as chat_create_params
from openai.types.responses import response_create_params
from typing_extensions import is_typeddict

from mlx_engine.api_server import body
from mlx_engine.api_server.app import DIALECTS
from mlx_engine.api_server.body import RequestFields
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.requests import GenerationRequest, Message
from tests.examples import sampled
from tests.mlx_engine.api_server.played_engine import PAIR
from tests.mlx_engine.api_server.serving import Serving

QUESTION = "Why is the sky blue?"
ASKED = [{"role": "user", "content": QUESTION}]
# Path, prompt, and the name of the token limit
ASKING: dict[str, tuple[str, dict[str, Any], str]] = {
    "chat": ("/v1/chat/completions", {"messages": ASKED}, "max_completion_tokens"),
    "completions": ("/v1/completions", {"prompt": QUESTION}, "max_tokens"),
    "responses": ("/v1/responses", {"input": QUESTION}, "max_output_tokens"),
    "messages": ("/v1/messages", {"messages": ASKED}, "max_tokens"),
}
KNOWN = dict(zip(ASKING, DIALECTS, strict=True))
OFFICIAL: dict[str, Any] = {
    "chat": chat_create_params.CompletionCreateParamsNonStreaming,
    "completions": completion_create_params.CompletionCreateParamsNonStreaming,
    "responses": response_create_params.ResponseCreateParamsNonStreaming,
    "messages": MessageCreateParamsNonStreaming,
}
dialects = pytest.mark.parametrize("dialect", ASKING)


def reply(server: Serving, dialect: str, limit: int = 12, **fields: Any) -> dict[str, Any]:
    path, prompt, name = ASKING[dialect]
    response = server.post(path, **prompt, **{name: limit}, **fields)
    assert response.status_code == 200, response.text
    return response.json()


def text_of(found: dict[str, Any]) -> str:
    if "choices" in found:
        [choice] = found["choices"]
        return choice["text"] if "text" in choice else choice["message"]["content"]
    parts = [part for item in found["output"] for part in item["content"]] if "output" in found else found["content"]
    return "".join(part["text"] for part in parts)


def asked(dialect: str, prompt: dict[str, Any] | None = None, **fields: Any) -> GenerationRequest:
    """Return the engine's request for a body."""
    return KNOWN[dialect].decode((prompt or ASKING[dialect][1]) | fields).begin(PAIR)[0]


@dialects
@given(seed=st.integers(-(2**63), 2**64 - 1) | st.sampled_from([-1, 0, -(2**63), 2**63, 2**63 - 1, 2**64 - 1]))
@sampled(2)
def test_the_reported_seed_gives_the_same_reply_again(demo_server: Serving, dialect: str, seed: int) -> None:
    first = reply(demo_server, dialect, temperature=1.0, seed=seed)
    reported = first["slipstream"]["seed"]
    assert -(2**63) <= reported < 2**63 and (reported - seed) % 2**64 == 0
    assert text_of(reply(demo_server, dialect, temperature=1.0, seed=reported)) == text_of(first)
    assert asked(dialect, seed=seed).seed == seed % 2**64


@dialects
def test_a_top_p_of_0_leaves_the_most_likely_token(demo_server: Serving, dialect: str) -> None:
    greedy = reply(demo_server, dialect, temperature=0)
    found = reply(demo_server, dialect, temperature=1.5, top_p=0, top_k=40, min_p=0.1)
    assert text_of(found) == text_of(greedy)
    if dialect == "responses":
        assert (found["top_p"], found["temperature"]) == (0, 1.5)


@dialects
def test_a_token_limit_of_minus_1_is_none(dialect: str) -> None:
    name = ASKING[dialect][2]
    assert asked(dialect, **{name: -1}).max_tokens == PAIR.context_limit
    with pytest.raises(ApiError, match=f"“{name}” is invalid: use 1 or more, or -1 for no limit"):
        asked(dialect, **{name: 0})


def test_the_newer_token_limit_takes_precedence_without_a_limit() -> None:
    assert asked("chat", max_tokens=5, max_completion_tokens=-1).max_tokens == PAIR.context_limit
    assert asked("chat", max_tokens=-1, max_completion_tokens=5).max_tokens == 5


@pytest.mark.parametrize("content", ["", " ", [], [{"type": "text", "text": ""}]])
@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_an_empty_message_is_answered(demo_server: Serving, dialect: str, content: Any) -> None:
    path, _, limit = ASKING[dialect]
    name = "input" if dialect == "responses" else "messages"
    for before in ([], [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]):
        chat = [*before, {"role": "user", "content": content}]
        assert asked(dialect, {name: chat}).messages[-1].role == "user"
        response = demo_server.post(path, **{name: chat, limit: 1})
        assert response.status_code == 200, response.text
    if dialect == "responses":
        assert demo_server.post(path, input="", max_output_tokens=1).status_code == 200


def test_results_of_tools_are_not_followed_by_an_empty_message() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "4"}]}
    assert asked("messages", {"messages": [*ASKED, result]}).messages == (
        Message("user", QUESTION),
        Message("tool", "4", call_id="a"),
    )


@dialects
def test_a_byte_order_mark_is_skipped(demo_server: Serving, dialect: str) -> None:
    path, prompt, limit = ASKING[dialect]
    content = b"\xef\xbb\xbf" + json.dumps({**prompt, limit: 1}).encode()
    assert demo_server.client.post(path, content=content).status_code == 200


def test_metadata_of_a_response_is_returned(demo_server: Serving) -> None:
    assert reply(demo_server, "responses", metadata={"a": "ü"})["metadata"] == {"a": "ü"}
    assert reply(demo_server, "responses", metadata=None)["metadata"] == {}


@pytest.mark.parametrize("value", [None, "medium", "low", "high", "x", 7])
def test_verbosity_is_treated_alike(value: Any) -> None:
    def refused(dialect: str, **fields: Any) -> tuple[int, str | None] | None:
        try:
            asked(dialect, **fields)
        except ApiError as error:
            return error.status, error.code
        return None

    assert refused("chat", verbosity=value) == refused("responses", text={"verbosity": value})


def test_values_of_include_are_logged_if_ignored(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "_logged", set[tuple[str, str]]())
    asked("responses", include=["message.output_text.logprobs", "reasoning.encrypted_content", "file_search_call.results"])
    assert caplog.messages == ["Ignoring values of include 'file_search_call.results' in requests"]


def official_paths(kind: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the fields of a request type, without positions in lists."""
    for name, hint in get_type_hints(kind).items() if path.count(".") < 4 else ():
        inner_path = f"{path}.{name}".lstrip(".")
        yield inner_path
        for inner in typed_dicts(hint):
            yield from official_paths(inner, inner_path)


def typed_dicts(hint: Any) -> Iterator[Any]:
    if is_typeddict(hint):
        yield hint
        return
    for inner in get_args(hint):
        yield from typed_dicts(inner)


def is_effective(fields: type[RequestFields], path: str) -> bool:
    """Return whether a field is neither refused nor logged by name, by itself or with one that contains it."""
    names = path.split(".")
    paths = [".".join(names[: count + 1]) for count in range(len(names))]
    if any(each in fields.refused or fields.own_name(each) for each in paths) or names[0] not in fields.model_fields:
        return False
    value: Any = "something"
    for name in reversed(names[1:]):
        value = [{name: value}]
    return names[0] not in fields.nested or not set(paths) & set(fields._ignored(value, names[0]))


# The official fields inside others that have an effect, or none by their meaning, such as the name of a schema
EFFECTIVE = {
    "chat": """
        messages.content messages.content.file messages.content.file.file_data messages.content.file.file_id
        messages.content.file.filename messages.content.image_url messages.content.image_url.detail messages.content.image_url.url
        messages.content.refusal messages.content.text messages.content.type messages.role messages.tool_call_id messages.tool_calls
        messages.tool_calls.custom messages.tool_calls.custom.input messages.tool_calls.custom.name messages.tool_calls.function
        messages.tool_calls.function.arguments messages.tool_calls.function.name messages.tool_calls.id messages.tool_calls.type
        response_format.json_schema response_format.json_schema.name response_format.json_schema.schema
        response_format.json_schema.strict response_format.type stream_options.include_usage tool_choice.allowed_tools
        tool_choice.allowed_tools.mode tool_choice.allowed_tools.tools tool_choice.custom tool_choice.custom.name
        tool_choice.function tool_choice.function.name tool_choice.type tools.custom tools.custom.description tools.custom.format
        tools.custom.format.grammar tools.custom.format.grammar.definition tools.custom.format.type tools.custom.name tools.function
        tools.function.description tools.function.name tools.function.parameters tools.function.strict tools.type
    """,
    "completions": """
        stream_options.include_usage
    """,
    "responses": """
        input.arguments input.call_id input.content input.content.detail input.content.file_data input.content.file_id
        input.content.file_url input.content.filename input.content.image_url input.content.refusal input.content.text
        input.content.type input.encrypted_content input.input input.name input.namespace input.output input.output.detail
        input.output.file_data input.output.file_id input.output.file_url input.output.filename input.output.image_url
        input.output.text input.output.type input.role input.summary input.summary.text input.summary.type input.tools
        input.tools.description input.tools.format input.tools.format.definition input.tools.format.type input.tools.name
        input.tools.parameters input.tools.strict input.tools.tools input.tools.tools.description input.tools.tools.format
        input.tools.tools.format.definition input.tools.tools.format.type input.tools.tools.name input.tools.tools.parameters
        input.tools.tools.strict input.tools.tools.type input.tools.type input.type reasoning.effort text.format text.format.name
        text.format.schema text.format.strict text.format.type tool_choice.mode tool_choice.name tool_choice.tools tool_choice.type
        tools.description tools.format tools.format.definition tools.format.type tools.name tools.parameters tools.strict
        tools.tools tools.tools.description tools.tools.format tools.tools.format.definition tools.tools.format.type
        tools.tools.name tools.tools.parameters tools.tools.strict tools.tools.type tools.type
    """,
    "messages": """
        messages.content messages.content.citations messages.content.citations.enabled messages.content.content
        messages.content.content.citations messages.content.content.citations.enabled messages.content.content.content
        messages.content.content.content.citations messages.content.content.content.context messages.content.content.content.source
        messages.content.content.content.text messages.content.content.content.title messages.content.content.content.type
        messages.content.content.context messages.content.content.source messages.content.content.source.content
        messages.content.content.source.data messages.content.content.source.file_id messages.content.content.source.media_type
        messages.content.content.source.type messages.content.content.source.url messages.content.content.text
        messages.content.content.title messages.content.content.tool_name messages.content.content.type messages.content.context
        messages.content.id messages.content.input messages.content.is_error messages.content.name messages.content.source
        messages.content.source.content messages.content.source.content.source messages.content.source.content.text
        messages.content.source.content.type messages.content.source.data messages.content.source.file_id
        messages.content.source.media_type messages.content.source.type messages.content.source.url messages.content.text
        messages.content.thinking messages.content.title messages.content.tool_use_id messages.content.type messages.role
        output_config.effort output_config.format output_config.format.schema output_config.format.type system.text system.type
        thinking.type tool_choice.disable_parallel_tool_use tool_choice.name tool_choice.type tools.defer_loading tools.description
        tools.input_schema tools.input_schema.properties tools.input_schema.required tools.input_schema.type tools.name tools.strict
        tools.type
    """,
}


@dialects
def test_every_official_field_has_an_effect_or_is_refused_or_logged(dialect: str) -> None:
    fields = KNOWN[dialect].fields
    nested = {path for path in official_paths(OFFICIAL[dialect]) if "." in path and is_effective(fields, path)}
    assert nested == set(EFFECTIVE[dialect].split())
