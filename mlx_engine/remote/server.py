"""Detection of a server's program, models, and capabilities."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import httpx2

from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import PairInfo
from mlx_engine.remote.connection import RemoteConnection, address, refused, unreachable

ServerKind = Literal["slipstream", "vllm", "sglang", "llamacpp", "mlx_vlm", "other"]

_MOST_BYTES = 10_000_000
_UNKNOWN_CONTEXT = 1 << 20  # the server itself refuses prompts that are too long
_NO_SPECULATION = EngineText.of("remote_no_speculation", "the server doesn't report speculative decoding")


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
        block_size: most tokens per round; 0 if unknown.
        host: host and port of the server.
    """

    kind: ServerKind
    version: str
    models: tuple[str, ...]
    model: str
    context_limit: int | None = None
    speculates: bool = False
    block_size: int = 0
    host: str = ""

    @property
    def pair(self) -> PairInfo:
        """The description that front ends show."""
        return PairInfo(
            name=self.model,
            target=self.model,
            drafter="",
            family=self.kind,
            block_size=self.block_size,
            context_limit=self.context_limit or _UNKNOWN_CONTEXT,
            target_bytes=0,
            drafter_bytes=0,
            can_think=True,
            can_call_tools=True,
            why_plain=None if self.speculates else _NO_SPECULATION,
            remote=self.host,
        )


async def discover(client: httpx2.AsyncClient, connection: RemoteConnection) -> RemoteServer:
    """Detect a server's program and models.

    Raises:
        UserError: the server can't be reached, refuses the key, has no models, or doesn't have the connection's model.
    """
    status, body, headers = await _get(client, connection, "/v1/models")
    if status != 200:
        raise refused(connection, status, body)
    found = _parsed(body)
    listed = found.get("data") if isinstance(found, dict) else None
    entries = [entry for entry in listed if isinstance(entry, dict) and entry.get("id")] if isinstance(listed, list) else []
    models = tuple(str(entry["id"]) for entry in entries)
    if not isinstance(listed, list):
        template = "“{host}” doesn't respond like an OpenAI-compatible server. Check the address."
        raise UserError("remote_no_list", template, host=connection.host)
    if connection.model and models and connection.model not in models:
        template = "“{host}” doesn't have “{model}”. Available models: {models}."
        names = ", ".join(models[:10])
        raise UserError("remote_unknown_model", template, host=connection.host, model=connection.model, models=names)
    model = connection.model or next(iter(models), "")
    if not model:  # mlx_lm lists only models in the hub's cache
        template = "“{host}” lists no models. Enter the name of the model in the connection."
        raise UserError("remote_no_models", template, host=connection.host)
    entry = next((entry for entry in entries if entry["id"] == model), {})
    return await _details(client, connection, RemoteServer("other", "", models, model), entry, headers)


async def _details(
    client: httpx2.AsyncClient, connection: RemoteConnection, server: RemoteServer, entry: dict[str, Any], headers: httpx2.Headers
) -> RemoteServer:
    owner, meta = str(entry.get("owned_by", "")), entry.get("meta")
    limits = [entry.get("max_model_len"), entry.get("context_length"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    limit = next((value for value in limits if isinstance(value, int) and value > 0), None)

    def known(kind: ServerKind, version: str = "", speculates: bool = False, block_size: int = 0) -> RemoteServer:
        return RemoteServer(kind, version, server.models, server.model, limit, speculates, block_size, connection.host)

    if owner == "slipstream":
        size = entry.get("block_size")
        return known("slipstream", "", entry.get("dflash") is True, size if isinstance(size, int) else 0)
    if owner == "vllm":
        version = _parsed((await _get(client, connection, "/version"))[1])
        metrics = (await _get(client, connection, "/metrics"))[1]
        text = str(version.get("version", "")) if isinstance(version, dict) else ""
        return known("vllm", text, b"\nvllm:spec_decode_num_drafts_total" in metrics)
    if owner == "llamacpp":
        slots = _parsed((await _get(client, connection, "/slots"))[1])
        first = slots[0] if isinstance(slots, list) and slots and isinstance(slots[0], dict) else {}
        return known("llamacpp", "", first.get("speculative") is True)
    if owner == "sglang":
        info = _parsed((await _get(client, connection, "/server_info"))[1])
        info = info if isinstance(info, dict) else {}
        return known("sglang", str(info.get("version", "")), bool(info.get("speculative_algorithm")))
    if headers.get("server", "").startswith("mlx_vlm/"):
        return known("mlx_vlm", headers["server"].removeprefix("mlx_vlm/"))
    return known("other")


async def _get(client: httpx2.AsyncClient, connection: RemoteConnection, path: str) -> tuple[int, bytes, httpx2.Headers]:
    """Return the status, the beginning of the body, and the headers.

    Only the list of models must be reachable.
    """
    try:
        async with client.stream("GET", address(connection.url, path)) as response:
            body = b""
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    break
            return response.status_code, body if response.status_code == 200 or path == "/v1/models" else b"", response.headers
    except httpx2.HTTPError as error:
        if path == "/v1/models":
            raise unreachable(connection, error) from None
        return 0, b"", httpx2.Headers()


def _parsed(body: bytes) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(body)
    return None
