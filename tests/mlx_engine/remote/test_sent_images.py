"""Images for endpoints: which models take them, and how they are sent."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Failed, PairInfo
from mlx_engine.contract.requests import AttachedImage, CountTokens, GenerationRequest, LoadPair, Message
from mlx_engine.remote.request_body import body_of
from mlx_engine.remote.server import RemoteServer
from tests.mlx_engine.remote.replay import Response
from tests.mlx_engine.remote.test_recorded import CHAT, JSON, LLAMA, MLX_LM, MODELS, VLLM, connected, run

PNG = b"\x89PNG\r\n\x1a\n"
SHOWN = GenerationRequest((Message("user", "Look: ", images=(AttachedImage(6, PNG, "a.png"),)),))


def listing(**entry: Any) -> dict[tuple[str, str], Response]:
    return {MODELS: Response(200, JSON, json.dumps({"data": [{"id": "m", **entry}]}).encode())}


LM_STUDIO = listing(owned_by="organization_owner")


def lm_studio(kind: str) -> dict[tuple[str, str], Response]:
    details = json.dumps({"data": [{"id": "m", "type": kind}]}).encode()
    return LM_STUDIO | {("GET", "/api/v0/models"): Response(200, JSON, details)}


@pytest.mark.parametrize(
    ("responses", "can_see"),
    [
        (VLLM, True),  # doesn't say
        (MLX_LM, True),
        (LLAMA, False),
        (LM_STUDIO, True),
        (lm_studio("vlm"), True),
        (lm_studio("llm"), False),
        (listing(owned_by="slipstream"), False),
        (listing(owned_by="slipstream", vision=False), False),
        (listing(owned_by="slipstream", vision=True), True),
        (listing(capabilities={"vision": False}), False),
        (listing(capabilities={"vision": True}), True),
        (listing(capabilities=["completion", "multimodal"]), True),
        (listing(capabilities=[{}, None]), False),
        (listing(architecture={"input_modalities": ["text"]}), False),
        (listing(architecture={"input_modalities": ["text", "image"]}), True),
        (listing(architecture=7, capabilities=7, type=[]), True),
    ],
)
def test_images_are_refused_if_the_list_says_that_the_model_takes_none(
    responses: dict[tuple[str, str], Response], can_see: bool
) -> None:
    with connected(responses) as (engine, replay):
        (info,) = [event for event in run(engine, LoadPair()) if isinstance(event, PairInfo)]
        assert info.can_see is can_see
        end = run(engine, SHOWN)[-1]
        assert isinstance(end, Failed) and (end.code == "sees_no_images") is not can_see
        sent = [json.loads(body) for method, path, _, body in replay.seen if (method, path) == CHAT]
        assert bool(sent) is can_see
        for body in sent:
            url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
            image = {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}
            assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Look: "}, image]}]


@given(
    texts=st.lists(st.text(max_size=3), min_size=2, max_size=5),
    details=st.lists(st.sampled_from(["auto", "low", "high"]), min_size=4, max_size=4),
)
def test_images_stay_where_they_are_between_the_texts(texts: list[str], details: list[Any]) -> None:
    places = [len("".join(texts[: count + 1])) for count in range(len(texts) - 1)]
    images = tuple(AttachedImage(at, PNG + bytes([at]), "", detail) for at, detail in zip(places, details, strict=False))
    request = GenerationRequest((Message("tool", "".join(texts), call_id="a", images=images),))
    [message] = body_of(request, RemoteServer("other", "", (), "m"))[1]["messages"]
    assert (message["role"], message["tool_call_id"]) == ("tool", "a")
    before, found = "", []
    for part in message["content"]:
        if part["type"] == "text":
            before += part["text"]
        else:
            data = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
            found.append(AttachedImage(len(before), data, "", part["image_url"]["detail"]))
    assert (before, tuple(found)) == ("".join(texts), images)


def test_the_tokens_of_images_are_not_counted_as_text() -> None:
    seeing = json.loads(LLAMA[MODELS].body) | {"models": [{"name": "demo", "capabilities": ["completion", "multimodal"]}]}
    responses = LLAMA | {MODELS: Response(200, JSON, json.dumps(seeing).encode())}
    with connected(responses) as (engine, _):
        end = run(engine, CountTokens(GenerationRequest(SHOWN.messages)))[-1]
        assert isinstance(end, Failed) and end.code == "remote_no_count"
