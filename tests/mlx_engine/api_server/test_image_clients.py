"""Images and documents from OpenAI's and Anthropic's own Python clients."""

import base64
import io
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from mlx_engine.media import media_process
from tests.mlx_engine.api_server import played_engine as played
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.media.made_media import line, pdf, picture, saved

PNG, JPEG = saved(picture(), "PNG"), saved(picture(), "JPEG")
SCANNED = pdf(line("Costs"), "q 180 0 0 180 10 10 cm /I Do Q", image=JPEG)
SHOT = {"name": "screenshot", "input_schema": {"type": "object"}}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture(scope="module")
def engine() -> played.PlayedEngine:
    found = played.PlayedEngine(can_see=True)
    found.parts = [played.said("A cat.")]
    return found


@pytest.fixture(scope="module")
def server(engine: played.PlayedEngine) -> Iterator[Serving]:
    with serving(lambda: engine) as running:
        yield running
    media_process.stop()


@pytest.fixture(scope="module")
def own(server: Serving) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as found:
        yield found


@pytest.fixture(scope="module")
def client(server: Serving) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as found:
        yield found


def seen(engine: played.PlayedEngine) -> list[tuple[str, str, list[tuple[int, bytes]]]]:
    """Return role, text, and images of the latest request's messages."""
    return [
        (message.role, message.content, [(image.at, image.data) for image in message.images])
        for message in engine.requests[-1].messages
    ]


def test_the_list_of_models_says_that_the_pair_sees(client: openai.OpenAI) -> None:
    assert [model.to_dict()["vision"] for model in client.models.list()] == [True, True]


def test_a_chat_with_an_image_and_a_pdf(client: openai.OpenAI, engine: played.PlayedEngine) -> None:
    content: list[Any] = [
        {"type": "text", "text": "See: "},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{encoded(SCANNED)}"}},
    ]
    reply = client.chat.completions.create(model="default", messages=[{"role": "user", "content": content}])
    assert reply.choices[0].message.content == "A cat."
    [(role, text, images)] = seen(engine)
    assert (role, text) == ("user", "See: \n\n--- a.pdf ---\n\n[Page 1 of 2]\nCosts\n\n[Page 2 of 2]\n\n--- end of a.pdf ---")
    assert images[0] == (5, PNG) and images[1][0] == text.index("[Page 2 of 2]") + len("[Page 2 of 2]")
    assert engine.requests[-1].messages[0].images[0].detail == "low"


def test_a_response_with_a_screenshot_from_a_tool(client: openai.OpenAI, engine: played.PlayedEngine) -> None:
    shot: Any = {"type": "input_image", "image_url": f"data:image/png;base64,{encoded(PNG)}", "detail": "auto"}
    items: list[Any] = [
        {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, shot]},
        {"type": "function_call", "call_id": "a", "name": "screenshot", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "Done."}, shot]},
    ]
    with client.responses.stream(model="default", input=items) as stream:
        assert stream.get_final_response().output_text == "A cat."
    assert seen(engine)[::2] == [("user", "What is this?", [(13, PNG)]), ("tool", "Done.", [(5, PNG)])]


def test_messages_with_images_and_their_tokens(own: anthropic.Anthropic, engine: played.PlayedEngine) -> None:
    source: Any = {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}
    text = {"type": "base64", "media_type": "application/pdf", "data": encoded(SCANNED)}
    messages: list[Any] = [
        {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "screenshot", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": source}]},
                {"type": "document", "title": "a.pdf", "source": text},
            ],
        },
    ]
    asked: dict[str, Any] = {"model": "default", "messages": messages, "tools": [SHOT]}
    with own.messages.stream(**asked, max_tokens=9) as stream:
        assert stream.get_final_text() == "A cat."
    found = seen(engine)
    assert [(role, images[:1]) for role, _, images in found[:3]] == [("user", [(0, PNG)]), ("assistant", []), ("tool", [(0, PNG)])]
    assert found[3][1].startswith("--- a.pdf ---") and len(found[3][2]) == 1


def test_clients_learn_which_field_is_refused(own: anthropic.Anthropic, client: openai.OpenAI) -> None:
    image: Any = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    with pytest.raises(openai.BadRequestError) as refusal:
        client.chat.completions.create(model="default", messages=[{"role": "user", "content": [image]}])
    assert refusal.value.param == "messages.0.content.0.image_url.url"
    block: Any = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    with pytest.raises(anthropic.BadRequestError, match=r"messages\.0\.content\.0\.source\.url"):
        own.messages.create(model="default", max_tokens=9, messages=[{"role": "user", "content": [block]}])


def test_several_screenshots_are_one_request(client: openai.OpenAI, engine: played.PlayedEngine) -> None:
    """More bytes than requests without images may have had."""
    noise = io.BytesIO(PNG + bytes(3_000_000)).getvalue()
    parts: list[Any] = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(noise)}"}}] * 5
    client.chat.completions.create(model="default", messages=[{"role": "user", "content": parts}])
    assert [len(data) for _, data in seen(engine)[0][2]] == [len(noise)] * 5
