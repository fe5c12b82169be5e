"""Requests with images to a real pair that sees, over HTTP."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest

from mlx_engine.contract.requests import AttachedImage, GenerationRequest, LoadPair, Message
from mlx_engine.media import media_process
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.media.made_media import pdf, picture, saved

pytestmark = pytest.mark.long
PNG, JPEG = saved(picture(size=(96, 64)), "PNG"), saved(picture(size=(96, 64)), "JPEG")
TEXT = "What is in the picture?"


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving(load=LoadPair(GOLDEN / "vision" / "qwen3_5")) as running:
        yield running
    media_process.stop()


@pytest.fixture
def client(server: Serving) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as found:
        yield found


@pytest.fixture
def own(server: Serving) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as found:
        yield found


def url(data: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"


def shown(data: bytes = PNG) -> list[Any]:
    image = {"type": "image_url", "image_url": {"url": url(data)}}
    return [{"role": "user", "content": [image, {"type": "text", "text": TEXT}]}]


def test_a_chat_gets_the_engines_own_reply(server: Serving, client: openai.OpenAI) -> None:
    assert client.models.list().data[0].to_dict()["vision"] is True
    asked = GenerationRequest((Message("user", TEXT, images=(AttachedImage(0, PNG),)),), max_tokens=12)
    expected = server.reply(asked)
    found = client.chat.completions.create(model="default", messages=shown(), max_tokens=12, temperature=0)
    assert found.choices[0].message.content == expected.text and found.usage is not None
    assert found.usage.prompt_tokens == expected.stats.prompt_tokens
    blind = server.reply(replace(asked, messages=(Message("user", TEXT),)))
    assert expected.stats.prompt_tokens > blind.stats.prompt_tokens + 2


def test_soft_tokens_are_counted(server: Serving, client: openai.OpenAI, own: anthropic.Anthropic) -> None:
    source: Any = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    messages: list[Any] = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": TEXT}]}]
    counted = own.messages.count_tokens(model="default", messages=messages).input_tokens
    reply = own.messages.create(model="default", messages=messages, max_tokens=4)
    assert counted == reply.usage.input_tokens + (reply.usage.cache_read_input_tokens or 0)
    assert server.post("/tokenize", messages=shown()).json()["count"] == counted


def test_the_next_turn_reuses_the_image_and_another_image_does_not(client: openai.OpenAI) -> None:
    def cached(data: bytes) -> int:
        later: list[Any] = [*shown(data), {"role": "assistant", "content": said}, {"role": "user", "content": "Why?"}]
        usage = client.chat.completions.create(model="default", messages=later, max_tokens=2).usage
        assert usage is not None and usage.prompt_tokens_details is not None
        return usage.prompt_tokens_details.cached_tokens or 0

    first = client.chat.completions.create(model="default", messages=shown(), max_tokens=4, temperature=0)
    said = first.choices[0].message.content or ""
    assert first.usage is not None
    other = cached(saved(picture("L", size=(96, 64)), "PNG"))
    assert other < 10 < first.usage.prompt_tokens - 2 < cached(PNG)


def test_a_damaged_image_is_refused_by_its_field(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match=r"messages\.0\.content\.0\.image_url\.url"):
        client.chat.completions.create(model="default", messages=shown(PNG[:60]))


def test_a_scanned_page_is_seen(client: openai.OpenAI) -> None:
    data = base64.b64encode(pdf("q 180 0 0 180 10 10 cm /I Do Q", image=JPEG)).decode()
    part: Any = {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"}}
    messages: list[Any] = [{"role": "user", "content": [part, {"type": "text", "text": TEXT}]}]
    found = client.chat.completions.create(model="default", messages=messages, max_tokens=4)
    assert found.usage is not None and found.usage.prompt_tokens > 64
