"""Requests in OpenAI's format."""

import base64
import json
from typing import Any

from mlx_engine.contract.attached_images import image_type
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import check_images
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message, Sampling
from mlx_engine.remote.server import RemoteServer


def body_of(request: GenerationRequest, server: RemoteServer) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of a request for a reply.

    Settings that have no effect are left out.

    Raises:
        UserError: the server can't do what the request asks.
    """
    body: dict[str, Any] = {"model": server.model, "stream": True, "stream_options": {"include_usage": True}}
    body |= {"max_tokens": request.max_tokens, "temperature": request.sampling.temperature}
    default = Sampling()
    for name in ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"):
        if (value := getattr(request.sampling, name)) != getattr(default, name):
            body["repeat_penalty" if name == "repetition_penalty" and server.kind == "llamacpp" else name] = value
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    if request.logit_bias:
        body["logit_bias"] = {str(token): bias for token, bias in request.logit_bias}
    if request.ignore_eos:
        body["ignore_eos"] = True
    if server.kind == "vllm":
        body["return_token_ids"] = True
    if server.kind == "sglang":
        body["return_spec_tokens_details"] = True
    if server.kind == "slipstream":
        body["slipstream"] = {"dflash": "auto" if request.mode == "dflash" else "off"}
        if request.width and request.mode == "dflash":
            body["slipstream"]["width"] = request.width
    if request.prompt_tokens is not None or request.prompt_text is not None:
        prompt = list(request.prompt_tokens) if request.prompt_tokens is not None else request.prompt_text
        return "/v1/completions", body | {"prompt": prompt}
    check_images(request.messages, server.can_see)
    body |= {"messages": [_message(message) for message in request.messages]}
    body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
    if request.effort:
        body["reasoning_effort"] = request.effort
    if request.continue_from or request.continue_thinking:
        if not server.can_continue or (request.continue_thinking and server.kind != "slipstream"):
            raise UserError("remote_no_continue", "This server can't continue a reply. Regenerate the reply instead.")
        body["messages"].append(_message(Message("assistant", request.continue_from, request.continue_thinking)))
        body["continue_final_message"] = True
        if server.kind != "slipstream":
            body["add_generation_prompt"] = False
    if request.tools:
        body |= {"tools": [tool.declaration for tool in request.tools], "tool_choice": _choice(request.tool_choice)}
        if request.one_call:
            body["parallel_tool_calls"] = False
    if request.schema is not None:
        schema = {"name": "answer", "schema": json.loads(request.schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return "/v1/chat/completions", body


def _message(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {"role": message.role, "content": _parts(message) if message.images else message.content}
    if message.role == "assistant" and message.thinking:
        found["reasoning_content"] = message.thinking
    if message.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        found["tool_call_id"] = message.call_id
    return found


def _parts(message: Message) -> list[dict[str, Any]]:
    """Return a message's texts and images, in order."""
    return [{"type": "text", "text": part} if isinstance(part, str) else _image(part) for part in message.parts if part]


def _image(image: AttachedImage) -> dict[str, Any]:
    url = f"data:{image_type(image.data) or 'image/png'};base64,{base64.b64encode(image.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url, "detail": image.detail}}


def _choice(choice: str) -> Any:
    known = choice in ("auto", "none", "required")
    return choice if known else {"type": "function", "function": {"name": choice}}
