"""Images and documents in requests of all dialects, for pairs that see and for those that don't."""

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.api_server import content_parts
from mlx_engine.api_server.chat_completions import ChatExchange
from mlx_engine.api_server.content_parts import FileReading
from mlx_engine.api_server.exchanges import RequestFiles
from mlx_engine.api_server.messages import MessagesExchange
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.responses import ResponseExchange
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.requests import Message
from mlx_engine.media import media_process
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.media.made_media import picture, saved

BLIND = played.PAIR
SEEING = replace(BLIND, can_see=True)
PNG = b"\x89PNG\r\n\x1a\n"
PDF = {"type": "file", "file": {"file_data": base64.b64encode(b"%PDF-1.7").decode()}}
Item = str | tuple[bytes, str]  # a text, or an image with its detail
Asked = Callable[..., tuple[Message, ...]]


@pytest.fixture(scope="module", autouse=True)
def _processes() -> Iterator[None]:
    yield
    media_process.stop()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{encoded(data)}"


def in_chat(items: Sequence[Item]) -> list[Any]:
    return [
        {"type": "text", "text": item}
        if isinstance(item, str)
        else {"type": "image_url", "image_url": {"url": url(item[0]), "detail": item[1]}}
        for item in items
    ]


def in_response(items: Sequence[Item]) -> list[Any]:
    return [
        {"type": "input_text", "text": item}
        if isinstance(item, str)
        else {"type": "input_image", "image_url": url(item[0]), "detail": item[1]}
        for item in items
    ]


def in_message(items: Sequence[Item]) -> list[Any]:
    return [
        {"type": "text", "text": item}
        if isinstance(item, str)
        else {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(item[0])}}
        for item in items
    ]


def chat(content: Any, pair: Any = SEEING, reading: FileReading | None = None) -> tuple[Message, ...]:
    return ChatExchange({"messages": [{"role": "user", "content": content}]}).begin(pair, reading)[0].messages


def chat_result(content: Any, pair: Any = SEEING) -> tuple[Message, ...]:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": content},
    ]
    return ChatExchange({"messages": messages}).begin(pair)[0].messages[2:]


def response(content: Any, pair: Any = SEEING) -> tuple[Message, ...]:
    return ResponseExchange({"input": [{"role": "user", "content": content}]}).begin(pair)[0].messages


def response_output(content: Any, pair: Any = SEEING) -> tuple[Message, ...]:
    items = [
        {"role": "user", "content": "Look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": content},
    ]
    return ResponseExchange({"input": items}).begin(pair)[0].messages[2:]


def message(content: Any, pair: Any = SEEING) -> tuple[Message, ...]:
    body = {"messages": [{"role": "user", "content": content}], "max_tokens": 9}
    return MessagesExchange(body).begin(pair)[0].messages


def message_result(content: Any, pair: Any = SEEING) -> tuple[Message, ...]:
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": content}]},
    ]
    return MessagesExchange({"messages": messages, "max_tokens": 9}).begin(pair)[0].messages[2:]


DIALECTS = {
    "chat": (in_chat, chat, chat_result, ""),
    "responses": (in_response, response, response_output, ""),
    "messages": (in_message, message, message_result, "\n\n"),
}
items = st.lists(
    st.text("ab \n", max_size=4)
    | st.tuples(st.binary(max_size=9).map(lambda tail: PNG + tail), st.sampled_from(["auto", "low", "high"])),
    min_size=1,
    max_size=7,
)


def text_of(found: Sequence[str], between: str) -> str:
    return between.join(text for text in found if text.strip() or not between)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(items=items, in_result=st.booleans())
def test_images_keep_their_order_their_bytes_and_their_places(dialect: str, items: list[Item], in_result: bool) -> None:
    build, asked, asked_result, between = DIALECTS[dialect]
    found = (asked_result if in_result else asked)(build(items))
    if not found:
        assert dialect == "messages" and not any(isinstance(item, tuple) or item.strip() for item in items)
        return
    [message] = found
    assert message.role == ("tool" if in_result else "user")
    images = [item for item in items if not isinstance(item, str)]
    assert message.content == text_of([item for item in items if isinstance(item, str)], between)
    assert [image.data for image in message.images] == [data for data, _ in images]
    if dialect != "messages":
        assert [image.detail for image in message.images] == [detail for _, detail in images]
    before: list[str] = []
    places = iter(message.images)
    for item in items:
        if isinstance(item, str):
            before.append(item)
        else:
            assert message.content[: next(places).at] == text_of(before, between)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_cannot_see_reads_names_in_results_and_refuses_new_images(dialect: str) -> None:
    build, asked, asked_result, between = DIALECTS[dialect]
    content = build(["a", (PNG, "auto"), "b"])
    assert asked_result(content, BLIND)[0].content == between.join(["a", "[image]", "b"])
    assert not asked_result(content, BLIND)[0].images
    with pytest.raises(ApiError, match=r"1” has the type “image”, but the model reads only text\. Remove it") as refusal:
        asked(content, BLIND)
    assert refusal.value.status == 400 and str(refusal.value.param).endswith(".1.type")
    why = EngineText.of("tower_missing", "Its checkpoint has no tower. Download it again.")
    with pytest.raises(ApiError, match=r"only text\. Its checkpoint has no tower\. Download it again\.$"):
        asked(content, replace(BLIND, why_cannot_see=why))


def test_an_image_next_to_a_result_is_as_new_as_one_without() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": in_message([(PNG, "auto")])}
    body = {"messages": [{"role": "user", "content": [result, *in_message([(PNG, "auto")])]}], "max_tokens": 9}
    with pytest.raises(ApiError, match=r"“messages\.0\.content\.1” has the type “image”, but the model reads only text"):
        MessagesExchange(body).begin(BLIND)
    later = [*body["messages"], {"role": "assistant", "content": "Sorry."}, {"role": "user", "content": "Go on."}]
    found = MessagesExchange(body | {"messages": later}).begin(BLIND)[0].messages
    assert [each.content for each in found] == ["[image]", "[image]", "Sorry.", "Go on."]


@pytest.mark.parametrize(("data", "format"), [(b"BM" + bytes(60), "BMP"), (b"\0\0\0\x1cftypavif", "AVIF"), (b"<svg/>", "SVG")])
def test_a_format_that_cannot_be_read_is_named(data: bytes, format: str) -> None:
    with pytest.raises(ApiError, match=f"because {format} isn't supported"):
        chat(in_chat([(data, "auto")]))


HTTP, STORED = "https://example.com/a.png", "file-123"
BROKEN: list[tuple[str, Any, str]] = [
    ("chat", {"type": "image_url", "image_url": {"url": HTTP}}, "image_url.url"),
    ("chat", {"type": "image_url", "image_url": HTTP}, "image_url"),
    ("chat", {"type": "image_url", "image_url": {"url": "data:image/png;base64,!!"}}, "image_url.url"),
    ("chat", {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}, "image_url.url"),
    ("chat", {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}}, "image_url.url"),
    ("chat", {"type": "image_url", "image_url": {"url": url(b"<svg/>", "image/svg+xml")}}, "image_url.url"),
    ("chat", {"type": "image_url", "image_url": {"url": url(PNG), "detail": "best"}}, "image_url.detail"),
    ("chat", {"type": "image_url", "image_url": {"url": url(PNG), "detail": []}}, "image_url.detail"),
    ("chat", {"type": "image_url"}, "image_url"),
    ("chat", {"type": "file", "file": {"file_id": STORED}}, "file.file_id"),
    ("chat", {"type": "file", "file": {"file_data": "?"}}, "file.file_data"),
    ("chat", {"type": "file", "file": {"file_data": url(b"\xff\0", "application/zip")}}, "file.file_data"),
    ("chat", {"type": "file", "file": {"file_data": url(b" ", "text/plain")}}, "file.file_data"),
    ("responses", {"type": "input_image", "file_id": STORED}, "file_id"),
    ("responses", {"type": "input_image", "image_url": HTTP}, "image_url"),
    ("responses", {"type": "input_file", "file_id": STORED}, "file_id"),
    ("responses", {"type": "input_file", "file_url": HTTP}, "file_url"),
    ("messages", {"type": "image", "source": {"type": "url", "url": HTTP}}, "source.url"),
    ("messages", {"type": "image", "source": {"type": "file", "file_id": STORED}}, "source.file_id"),
    ("messages", {"type": "image", "source": {"type": "base64", "data": "?"}}, "source.data"),
    ("messages", {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(b"GIF")}}, ""),
    ("messages", {"type": "image"}, "source.type"),
    ("messages", {"type": "document", "source": {"type": "url", "url": HTTP}}, "source.url"),
    ("messages", {"type": "document", "source": {"type": "content", "content": 7}}, "source.content"),
    (
        "messages",
        {"type": "document", "source": {"type": "text", "data": "x"}, "citations": {"enabled": True}},
        "citations",
    ),
]


@pytest.mark.parametrize(("dialect", "part", "field"), BROKEN)
def test_what_cannot_be_read_is_refused_by_its_field(dialect: str, part: Any, field: str) -> None:
    _, asked, asked_result, _ = DIALECTS[dialect]
    for ask in (asked, asked_result):
        with pytest.raises(ApiError) as refusal:
            ask([part])
        assert refusal.value.status == 400
        assert str(refusal.value.param).endswith(f".0.{field}" if field else ".0"), refusal.value.param
        assert "“" in refusal.value.message and refusal.value.message.endswith(".")


@given(
    data=st.binary(min_size=1, max_size=99), spaces=st.lists(st.tuples(st.integers(0, 150), st.sampled_from(" \t\r\n")), max_size=4)
)
def test_base64_may_have_whitespace_anywhere(data: bytes, spaces: list[tuple[int, str]]) -> None:
    text = encoded(data)
    for at, space in spaces:
        text = text[:at] + space + text[at:]
    assert content_parts.from_base64(text, "data") == data


@pytest.mark.parametrize(
    ("dialect", "part"),
    [
        ("chat", {"type": "file", "file": {"filename": "notes.md", "file_data": url("Ä\n".encode(), "text/markdown")}}),
        ("chat", {"type": "file", "file": {"filename": "notes.md", "file_data": encoded("Ä\n".encode())}}),
        ("responses", {"type": "input_file", "filename": "notes.md", "file_data": url("Ä\n".encode(), "text/plain")}),
        (
            "messages",
            {"type": "document", "title": "notes.md", "source": {"type": "text", "media_type": "text/plain", "data": "Ä\n"}},
        ),
        ("messages", {"type": "document", "title": "notes.md", "source": {"type": "base64", "data": encoded("Ä".encode())}}),
    ],
)
@pytest.mark.parametrize("pair", [BLIND, SEEING])
def test_text_documents_are_read_by_all_models(dialect: str, part: Any, pair: Any) -> None:
    build, asked, asked_result, _ = DIALECTS[dialect]
    for ask in (asked, asked_result):
        [found] = ask([*build(["See:"]), part, *build(["Thanks."])], pair)
        assert found.content == "See:\n\n--- notes.md ---\nÄ\n--- end of notes.md ---\n\nThanks."


def test_a_document_of_blocks_keeps_its_images() -> None:
    source = {"type": "content", "content": in_message(["a", (PNG, "auto"), "b"])}
    [found] = message([{"type": "document", "context": "Old.", "source": source}])
    assert (found.content, found.images[0].at) == ("Old.\n\na\n\nb", len("Old.\n\na"))


def test_failed_results_keep_their_images() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "is_error": True, "content": in_message(["no", (PNG, "auto")])}
    body = {"messages": [{"role": "user", "content": [result]}], "max_tokens": 9}
    found = MessagesExchange(body).begin(SEEING)[0].messages[0]
    assert (found.content, found.images[0].at) == ("Error: no", len("Error: no"))


def test_images_of_earlier_messages_are_passed_to_a_model_that_sees() -> None:
    messages = [{"role": "user", "content": in_chat([(PNG, "auto")])}, {"role": "assistant", "content": "A cat."}]
    question = {"role": "user", "content": "Sure?"}
    found = ChatExchange({"messages": [*messages, question]}).begin(SEEING)[0].messages
    assert [len(each.images) for each in found] == [1, 0, 0]


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_images_in_other_roles_are_refused(role: str) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": role, "content": in_chat([(PNG, "auto")])}]
    with pytest.raises(ApiError, match=f"with the role “{role}”"):
        ChatExchange({"messages": messages}).begin(SEEING)


def test_the_number_of_images_is_limited_in_all_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_parts, "MAX_IMAGES", 2)
    messages = [{"role": "user", "content": in_chat([(PNG, "auto")])}] * 2
    ChatExchange({"messages": messages}).begin(SEEING)
    with pytest.raises(ApiError, match="one image too many") as refusal:
        ChatExchange({"messages": [*messages, {"role": "tool", "content": in_chat([(PNG, "auto")])}]}).begin(SEEING)
    assert refusal.value.param == "messages.2.content.0.image_url.url"


def test_only_requests_with_files_are_read_on_a_thread() -> None:
    def on(content: Any) -> str:
        exchange = ChatExchange({"messages": [{"role": "user", "content": content}]})
        return asyncio.run(RequestFiles().read(exchange, lambda *_: threading.current_thread().name, SEEING))

    assert on("Hi") == on(in_chat(["Hi"])) == threading.current_thread().name
    assert on([PDF]).startswith("documents") and on(in_chat([(PNG, "auto")])).startswith("images")


def test_images_do_not_wait_for_pdfs() -> None:
    """Many PDFs wait for each other."""
    pdf, image = (
        ChatExchange({"messages": [{"role": "user", "content": content}]}) for content in ([PDF], in_chat([(PNG, "auto")]))
    )

    async def read() -> None:
        files, go_on = RequestFiles(), threading.Event()
        waiting = [asyncio.ensure_future(files.read(pdf, lambda *_: go_on.wait(60), SEEING)) for _ in range(40)]
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(files.read(image, lambda *_: "read", SEEING), 60) == "read"
        finally:
            go_on.set()
            await asyncio.gather(*waiting)

    asyncio.run(read())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_no_pair_can_read_is_refused_before_a_pair_is_loaded(dialect: str) -> None:
    make: dict[str, Callable[[Any], Any]] = {
        "chat": lambda content: ChatExchange({"messages": [{"role": "user", "content": content}]}),
        "responses": lambda content: ResponseExchange({"input": [{"role": "user", "content": content}]}),
        "messages": lambda content: MessagesExchange({"messages": [{"role": "user", "content": content}], "max_tokens": 9}),
    }
    whole = saved(picture(), "PNG")
    asyncio.run(RequestFiles().check(make[dialect](DIALECTS[dialect][0]([(whole, "auto"), "a"]))))
    for data, words in ((whole[:20], "is damaged"), (b"BM" + bytes(60), "because BMP isn't supported")):
        with pytest.raises(ApiError, match=words) as refusal:
            asyncio.run(RequestFiles().check(make[dialect](DIALECTS[dialect][0](["a", (data, "auto")]))))
        assert refusal.value.status == 400 and ".content.1" in str(refusal.value.param)
    with pytest.raises(ApiError, match="is damaged"):
        asyncio.run(RequestFiles().check(ChatExchange({"messages": [{"role": "user", "content": [PDF]}]})))


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([url(PNG), HTTP, encoded(PNG), "data:", "base64"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "url", "data", "content", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = ["text", "image", "image_url", "input_image", "file", "input_file", "document", "tool_result", "search_result", "x"]
FIELDS = [
    "text",
    "image_url",
    "file",
    "file_data",
    "file_id",
    "filename",
    "detail",
    "source",
    "content",
    "title",
    "context",
    "citations",
]
hostile = st.dictionaries(st.sampled_from(FIELDS), junk, max_size=4).flatmap(
    lambda fields: st.sampled_from(TYPES).map(lambda kind: {"type": kind} | fields)
)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(parts=st.lists(hostile | junk, max_size=3), pair=st.sampled_from([BLIND, SEEING]), in_result=st.booleans())
def test_hostile_parts_are_refused_or_read(dialect: str, parts: list[Any], pair: Any, in_result: bool) -> None:
    _, asked, asked_result, _ = DIALECTS[dialect]
    try:
        found = (asked_result if in_result else asked)(parts, pair)
    except ApiError as error:
        assert error.status == 400 and error.param and json.dumps(error.message)
        return
    for each in found:
        places = [image.at for image in each.images]
        assert places == sorted(places) and all(0 <= at <= len(each.content) for at in places)
        assert pair.can_see or not each.images
