"""Detection of a server's program, models, and capabilities."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx2

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import PairInfo
from mlx_engine.remote.endpoint import Endpoint, address, complete_address, reason_of, refused, unreachable

ServerKind = Literal["slipstream", "vllm", "sglang", "llamacpp", "mlx_vlm", "other"]

_MOST_BYTES = 10_000_000
_UNKNOWN_CONTEXT = 1 << 20
_NO_SPECULATION = EngineText.of("remote_no_speculation", "the server doesn't report speculative decoding")
_ONLY_SPECULATION = EngineText.of("remote_only_speculation", "the connection has no address for plain replies")
_PROGRAMS = {"slipstream": "Slipstream", "vllm": "vLLM", "sglang": "SGLang", "llamacpp": "llama.cpp", "mlx_vlm": "mlx-vlm"}


@dataclass(frozen=True)
class RemoteServer:
    """A server and its selected model.

    Attributes:
        kind: the server program, if recognized.
        version: its version; empty if unknown.
        models: all models that it offers.
        model: the selected one.
        context_limit: tokens of context; None if unknown.
        speculates: whether it reports speculative decoding.
        method: its method of speculative decoding, such as “DFLASH”; empty if unknown.
        block_size: most tokens per round; 0 if unknown.
        can_call_tools: False if the server says that it can't.
        can_think: False if the server says that it can't.
        takes_effort: whether it reports that requests can set a reasoning effort.
        can_see: False if the server says that the model takes no images.
    """

    kind: ServerKind
    version: str
    models: tuple[str, ...]
    model: str
    context_limit: int | None = None
    speculates: bool = False
    method: str = ""
    block_size: int = 0
    can_call_tools: bool = True
    can_think: bool = True
    takes_effort: bool = False
    can_see: bool = True

    @property
    def can_continue(self) -> bool:
        """Whether it can continue a reply, with `continue_final_message`."""
        return self.kind in ("slipstream", "vllm", "sglang")

    @property
    def can_count(self) -> bool:
        """Whether the server can count a prompt's tokens before the reply."""
        return self.kind in ("slipstream", "vllm", "llamacpp")

    def pair(self, endpoint: Endpoint) -> PairInfo:
        """Return the description that front ends show."""
        can_switch = self.kind == "slipstream" or bool(endpoint.plain_url)
        return PairInfo(
            name=self.model,
            target=self.model,
            drafter=self.method,
            family=f"{_PROGRAMS.get(self.kind, '')} {self.version}".strip(),
            block_size=self.block_size,
            context_limit=self.context_limit or _UNKNOWN_CONTEXT,
            target_bytes=0,
            drafter_bytes=0,
            can_think=self.can_think,
            takes_effort=self.takes_effort,
            can_call_tools=self.can_call_tools,
            can_continue=self.can_continue,
            why_plain=None if self.speculates else _NO_SPECULATION,
            why_not_plain=_ONLY_SPECULATION if self.speculates and not can_switch else None,
            remote=endpoint.host,
            context_known=self.context_limit is not None,
            can_see=self.can_see,
        )


async def discover(client: httpx2.AsyncClient, endpoint: Endpoint, seconds: float = 20.0) -> RemoteServer:
    """Detect a server's program and models within `seconds`.

    Raises:
        UserError: the server can't be reached, is too slow, refuses the key, has no models, or doesn't have the
            endpoint's model.
    """
    try:
        return await asyncio.wait_for(_discover(client, endpoint), seconds)
    except TimeoutError:
        template = "“{host}” didn't respond within {seconds:g} seconds. Check that the server is running."
        raise UserError("remote_too_slow", template, host=endpoint.host, seconds=seconds) from None


async def _discover(client: httpx2.AsyncClient, endpoint: Endpoint) -> RemoteServer:
    status, body, headers = await _get(client, endpoint, "/v1/models")
    if 300 <= status < 400 and (moved := headers.get("location", "")).startswith("http"):
        template = "“{host}” redirects to “{address}”. Enter that address."
        raise UserError("remote_redirects", template, host=endpoint.host, address=reason_of(complete_address(moved)))
    if status not in (200, 404, 405):
        raise refused(endpoint, status, body)
    found = _parsed(body) if status == 200 else None
    listed = found.get("data") if isinstance(found, dict) else None
    entries = [entry for entry in listed if isinstance(entry, dict) and entry.get("id")] if isinstance(listed, list) else []
    models = tuple(str(entry["id"]) for entry in entries)
    if not isinstance(listed, list):
        raise _no_list(endpoint)
    if endpoint.model and models and endpoint.model not in models:
        template = "“{host}” doesn't have “{model}”. Available models: {models}."
        names = ", ".join(models[:10])
        raise UserError("remote_unknown_model", template, host=endpoint.host, model=endpoint.model, models=names)
    model = endpoint.model or next(iter(models), "")
    if not model:  # mlx_lm lists only models in the hub's cache
        template = "“{host}” lists no models. Enter the name of the model in the connection."
        raise UserError("remote_no_models", template, host=endpoint.host)
    entry = next((entry for entry in entries if entry["id"] == model), {})
    listed = found.get("models") if isinstance(found, dict) else None  # llama.cpp's second list
    also = [one for one in listed if isinstance(one, dict) and one.get("name") == model] if isinstance(listed, list) else []
    if entry.get("owned_by") == "organization_owner":  # LM Studio says it elsewhere
        details = _parsed((await _get(client, endpoint, "/api/v0/models"))[1])
        listed = details.get("data") if isinstance(details, dict) else None
        also += [one for one in listed if isinstance(one, dict) and one.get("id") == model] if isinstance(listed, list) else []
    server = RemoteServer("other", "", models, model, can_see=all(map(_sees, [entry, *also])))
    return await _details(client, endpoint, server, entry, headers)


def _sees(entry: dict[str, Any]) -> bool:
    """Return whether a model takes images. False only if its entry in a list says so."""
    able, parts = entry.get("capabilities"), entry.get("architecture")
    taken = parts.get("input_modalities") if isinstance(parts, dict) else None
    if isinstance(able, dict) and "vision" in able:
        return able["vision"] is True
    if isinstance(able, list):
        return not {"vision", "multimodal", "image"}.isdisjoint(map(str, able))
    if isinstance(taken, list):
        return "image" in taken
    return entry.get("type") != "llm"  # LM Studio's others are “vlm”


def _no_list(endpoint: Endpoint) -> UserError:
    template = "“{host}” doesn't respond like an OpenAI-compatible server. Check the address."
    return UserError("remote_no_list", template, host=endpoint.host)


async def _details(
    client: httpx2.AsyncClient, endpoint: Endpoint, server: RemoteServer, entry: dict[str, Any], headers: httpx2.Headers
) -> RemoteServer:
    """Return the server with all that it reports about itself."""

    async def found_at(path: str) -> dict[str, Any]:
        found = _parsed((await _get(client, endpoint, path))[1])
        found = found[0] if isinstance(found, list) and found else found
        return found if isinstance(found, dict) else {}

    owner, meta = str(entry.get("owned_by", "")), entry.get("meta")
    limits = [entry.get("max_model_len"), entry.get("context_length"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    limit = next((value for value in limits if isinstance(value, int) and value > 0), None)
    server = replace(server, context_limit=limit)
    if owner == "slipstream":
        size = entry.get("block_size")
        return replace(
            server,
            kind="slipstream",
            speculates=entry.get("dflash") is True,
            block_size=size if isinstance(size, int) else 0,
            can_call_tools=entry.get("tools") is not False,
            can_think=entry.get("thinking") is not False,
            takes_effort=entry.get("reasoning_effort") is True,
            can_see=entry.get("vision") is True,
        )
    if owner == "vllm":
        version = (await found_at("/version")).get("version", "")
        metrics = (await _get(client, endpoint, "/metrics"))[1]
        return replace(server, kind="vllm", version=str(version), speculates=b"\nvllm:spec_decode_num_drafts_total" in metrics)
    if owner == "llamacpp":
        caps = (await found_at("/props")).get("chat_template_caps")
        tools = not isinstance(caps, dict) or caps.get("supports_tools") is not False
        return replace(
            server, kind="llamacpp", speculates=(await found_at("/slots")).get("speculative") is True, can_call_tools=tools
        )
    if owner == "sglang":
        info = await found_at("/server_info")
        method = str(info.get("speculative_algorithm") or "")
        tools = "tool_call_parser" not in info or bool(info["tool_call_parser"])
        version = str(info.get("version", ""))
        return replace(server, kind="sglang", version=version, speculates=bool(method), method=method, can_call_tools=tools)
    if headers.get("server", "").startswith("mlx_vlm/"):
        return replace(server, kind="mlx_vlm", version=headers["server"].removeprefix("mlx_vlm/"))
    return server


async def _get(client: httpx2.AsyncClient, endpoint: Endpoint, path: str) -> tuple[int, bytes, httpx2.Headers]:
    """Return the status, the beginning of the body, and the headers.

    Only the list of models must be reachable.
    """
    try:
        async with client.stream("GET", address(endpoint.url, path)) as response:
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    break
            return response.status_code, body if response.status_code == 200 or path == "/v1/models" else b"", response.headers
    except httpx2.HTTPError as error:
        if path == "/v1/models":
            raise (_no_list(endpoint) if isinstance(error, httpx2.RemoteProtocolError) else unreachable(endpoint, error)) from None
        return 0, b"", httpx2.Headers()


def _parsed(body: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(body)
    return None
