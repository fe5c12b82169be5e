"""The connection to a tool server. This module takes most of a second to import."""

import asyncio
import base64
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import mcp_types
from httpx2 import HTTPError
from mcp import Client, MCPError
from mcp.client.auth import OAuthFlowError
from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult, InputRequiredResult, PaginatedRequestParams
from pydantic import TypeAdapter

from mlx_engine.contract.attached_images import check_image
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.requests import AttachedImage
from mlx_engine.mcp import builtin_tools
from mlx_engine.mcp.config import ServerConfig, resolved
from mlx_engine.mcp.oauth import SIGN_IN_S, SignInNeeded, authorization
from mlx_engine.mcp.server_status import ServerState, ServerStatus, failed, gone
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.transports import Link, kill, stdio, streamable_http
from mlx_engine.network import local_network, offline

_DELAYS_S = (1, 2, 4, 8, 16)  # before each attempt to reconnect
_STABLE_S = 60.0  # after which the attempts are counted again
_LIST_EVERY_S = 1.0
_PROGRESS_EVERY_S = 0.1
_MOST_TOOLS, _MOST_PAGES = 500, 100
_LONGEST_NAME, _LONGEST_DESCRIPTION, _LONGEST_SCHEMA, _DEEPEST_SCHEMA = 200, 10_000, 100_000, 50
_LONGEST_RESULT, _LONGEST_MESSAGE = 100_000, 500
_MOST_IMAGES = 20  # of a result
_CLIENT = mcp_types.Implementation(name="Slipstream", version="1")
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


class McpConnection:
    """A server, its tools, and calls of them.

    Belongs to the servers' thread, except `status`.

    A server's requests to its client (sampling, elicitation, and roots) are refused.
    """

    def __init__(self, config: ServerConfig, changed: Callable[[], None]) -> None:
        self.config = config
        self._changed = changed
        self._status = ServerStatus(config.key, "off")
        self._link = Link()
        self._client: Client | None = None
        self._outdated = False  # whether the server has other tools now
        self._listing = asyncio.Lock()
        self._wanted = asyncio.Event()  # a call waits for the connection
        self._was_ready = False
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def status(self) -> ServerStatus:
        return replace(self._status, log=self._link.log)

    def start(self, open_browser: Callable[[str], None] | None = None) -> None:
        """Connect, unless connected."""
        if self._task is None or self._task.done():
            self._was_ready = False
            self._set("connecting")
            self._task = asyncio.create_task(self._run(open_browser))

    def stop(self) -> asyncio.Task[None] | None:
        """Disconnect. Returns the task that does so."""
        self._settled.set()  # a task that hasn't started yet never does
        if self._task is not None:
            self._task.cancel()
        return self._task

    def kill(self) -> None:
        """Kill the server's program, if it hasn't ended."""
        process = self._link.process
        if process is not None and process.returncode is None:  # otherwise another program may have its ID
            kill(process)

    async def call(self, tool: Tool, arguments: str, progress: Callable[[str], None], started: Callable[[], None]) -> ToolResult:
        """Call a tool, after connecting if needed.

        Args:
            started: called once there is a connection.
        """
        try:
            values = json.loads(arguments)
        except ValueError:
            values = None
        if not isinstance(values, dict):
            return failed(EngineText.of("tool_bad_arguments", "The arguments aren't a JSON object."))
        self.start()
        self._wanted.set()
        await self._settled.wait()
        client, link = self._client, self._link
        if client is None:
            return failed(self._why_ended(link))
        started()
        try:
            await self._update_tools(client)
            if tool.fingerprint not in [current.fingerprint for current in self._status.tools]:
                template = "“{server}” changed “{tool}” after it was offered to the model. The tool wasn't called."
                return failed(EngineText.of("tool_changed", template, server=tool.server, tool=tool.name))
            request = CallToolRequest(params=CallToolRequestParams(name=tool.name, arguments=values))
            # Not Client.call_tool: it checks results against the server's own patterns, which may take forever
            result = await client.session.send_request(request, _RESULT, progress_callback=_paced(progress))
        except MCPError as error:
            if error.code == mcp_types.CONNECTION_CLOSED:
                link.end()
                return failed(self._why_ended(link))
            reason = _cut(str(error), _LONGEST_MESSAGE)
            return failed(EngineText.of("tool_failed", "“{tool}” failed ({reason}).", tool=tool.name, reason=reason))
        except ValueError:
            return failed(EngineText.of("tool_bad_result", "“{tool}” didn't return a valid result.", tool=tool.name))
        if isinstance(result, InputRequiredResult):
            template = "“{tool}” requested data that Slipstream doesn't share with servers."
            return failed(EngineText.of("tool_asked", template, tool=tool.name))
        text, images = _content(result)
        return ToolResult(text, failed=bool(result.is_error), images=images)

    def _why_ended(self, link: Link) -> EngineText:
        """Return why a call has no connection."""
        if self._status.state == "sign_in" or (link.unauthorized and not self._has_key):
            template = "“{server}” requires you to sign in. Choose Sign In in Settings under Tools."
            return EngineText.of("tool_sign_in_needed", template, server=self.config.name)
        return link.problem or self._status.error or gone(self.config.name)

    @property
    def _has_key(self) -> bool:
        """Whether the user has configured a key in place of a sign-in."""
        return any(name.lower() == "authorization" for name, _ in self.config.headers)

    def _set(self, state: ServerState, error: EngineText | None = None, tools: tuple[Tool, ...] = ()) -> None:
        self._status = ServerStatus(self.config.key, state, error, tools)
        self._was_ready = self._was_ready or state == "ready"
        if state == "connecting":
            self._settled.clear()
        else:
            self._settled.set()
        self._changed()

    async def _run(self, open_browser: Callable[[str], None] | None) -> None:
        attempt = 0
        state: ServerState = "off"
        problem: EngineText | None = None
        try:
            while True:
                began = time.monotonic()
                link = self._link = Link()
                self._wanted.clear()
                try:
                    await self._connect(open_browser)
                    problem = link.problem or gone(self.config.name)
                except Exception as error:
                    signing_in = bool(open_browser) and not self._was_ready
                    limit_s = SIGN_IN_S if signing_in else self.config.timeout_s
                    problem = link.problem or await asyncio.to_thread(_problem, error, self.config, limit_s)
                    if signing_in or link.unauthorized or isinstance(next(_causes(error)), SignInNeeded):
                        state, problem = "sign_in", problem if signing_in else None
                        if self._has_key:
                            template = "“{server}” rejected the Authorization header. Change it in Settings."
                            state, problem = "failed", EngineText.of("tool_rejected", template, server=self.config.name)
                        return
                attempt = 0 if time.monotonic() - began > _STABLE_S else attempt
                if not self._was_ready or attempt == len(_DELAYS_S) or (problem and problem.code in offline.CODES):
                    state = "failed"
                    return
                self._set("connecting", problem)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_DELAYS_S[attempt]):
                        await self._wanted.wait()
                attempt, open_browser = attempt + 1, None
        finally:
            self._set(state, problem)

    async def _connect(self, open_browser: Callable[[str], None] | None) -> None:
        """Connect, and return when the connection has ended."""
        link = self._link
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(SIGN_IN_S if open_browser else self.config.timeout_s):
                    config = await asyncio.to_thread(resolved, self.config)
                    server: Any
                    if config.builtin:
                        server = builtin_tools.server(config)
                    elif config.command:
                        server = stdio(config, link)
                    else:
                        auth = await stack.enter_async_context(authorization(config.url, open_browser))
                        server = streamable_http(config, link, auth)
                    client = Client(server, cache=None, client_info=_CLIENT, message_handler=self._received)
                    self._client = await stack.enter_async_context(client)
                    await self._list_tools(client)
                stack.callback(asyncio.create_task(_subscribe(client)).cancel)
                while not link.lost:
                    await link.woken.wait()
                    link.woken.clear()
                    if self._outdated:
                        async with asyncio.timeout(self.config.timeout_s):
                            await self._update_tools(client)
                        await asyncio.sleep(_LIST_EVERY_S)
            finally:  # before the program ends, which takes time
                self._client = None
                self._set("connecting", link.problem)

    async def _received(self, message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._outdated = True
            self._link.woken.set()

    async def _update_tools(self, client: Client) -> None:
        async with self._listing:
            if self._outdated:
                try:
                    await self._list_tools(client)
                except BaseException:
                    self._outdated = True  # nothing is called by the old list
                    raise

    async def _list_tools(self, client: Client) -> None:
        self._outdated = False
        found: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            for listed in page.tools:
                if listed.name not in found and (tool := _tool(listed, self.config)):
                    found[tool.name] = tool
            cursor = page.next_cursor
            if not cursor or len(found) >= _MOST_TOOLS:
                break
        tools = tuple(found.values())[:_MOST_TOOLS]
        if self._status.state != "ready" or self._status.tools != tools:
            self._set("ready", tools=tools)


async def _subscribe(client: Client) -> None:
    """Ask servers with the newer protocol to announce changes of their tools."""
    with suppress(Exception):  # other servers do so anyway
        async with client.listen(tools_list_changed=True):
            await asyncio.Event().wait()


def _problem(error: Exception, config: ServerConfig, limit_s: float) -> EngineText:
    """Return why the server isn't connected after at most `limit_s` seconds.

    May look up a name, which takes time.
    """
    cause = next(_causes(error))
    reason = _cut(str(cause) or type(cause).__name__, _LONGEST_MESSAGE)
    if isinstance(cause, UserError):
        return cause.text
    if isinstance(cause, TimeoutError):
        template = "“{server}” didn't respond within {seconds:g} seconds."
        return EngineText.of("tool_no_answer", template, server=config.name, seconds=limit_s)
    if isinstance(cause, OAuthFlowError):
        template = "Can't sign in to “{server}” ({reason}). Try again."
        return EngineText.of("tool_sign_in_failed", template, server=config.name, reason=reason)
    if isinstance(cause, HTTPError | OSError):
        if config.url and local_network.may_be_denied(urlsplit(config.url).hostname or "", cause):
            template = (
                "Can't connect to “{server}”. Make sure that it is on, and allow Slipstream in System Settings ▸ "
                "Privacy & Security ▸ Local Network."
            )
            return EngineText.of("tool_local_network", template, server=config.name)
        template = "Can't connect to “{server}” ({reason}). Check the address and the network."
        return EngineText.of("tool_cannot_connect", template, server=config.name, reason=reason)
    if isinstance(cause, MCPError) and cause.code == mcp_types.CONNECTION_CLOSED:
        return EngineText.of("tool_ended", "“{server}” exited before it responded. Check its output.", server=config.name)
    template = "“{server}” returned an error ({reason})."
    return EngineText.of("tool_server_error", template, server=config.name, reason=reason)


def _causes(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error


def _tool(listed: mcp_types.Tool, config: ServerConfig) -> Tool | None:
    """Return a listed tool, or None if it exceeds the limits."""
    try:
        schema = json.dumps(listed.input_schema, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return None
    if not 0 < len(listed.name) <= _LONGEST_NAME or len(schema) > _LONGEST_SCHEMA or _depth(listed.input_schema) > _DEEPEST_SCHEMA:
        return None
    title, description = _cut(listed.title or "", _LONGEST_NAME), _cut(listed.description or "", _LONGEST_DESCRIPTION)
    return Tool(config.name, listed.name, title, description, schema, config.origin, config.project, bool(config.builtin))


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _paced(report: Callable[[str], None]) -> Any:
    """Return a callback for the SDK that passes progress on, but not too often."""
    last = -math.inf

    async def show(progress: float, total: float | None, message: str | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_EVERY_S:
            last = now
            report(_cut(message or (f"{progress:g}/{total:g}" if total else f"{progress:g}"), _LONGEST_MESSAGE))

    return show


def _content(result: CallToolResult) -> tuple[str, tuple[AttachedImage, ...]]:
    """Return a result as text for the model, and its images in lines of their own."""
    parts, images = list[str](), list[AttachedImage]()
    for content in result.content:
        if len(images) < _MOST_IMAGES and (data := _image(content)):
            images.append(AttachedImage(len("\n".join([*parts, ""])), data, f"image {len(images) + 1}"))
            parts.append("")
        elif content.type == "text":
            parts.append(content.text)
        elif content.type == "resource" and isinstance(content.resource, mcp_types.TextResourceContents):
            parts.append(content.resource.text)
        elif content.type == "resource":
            parts.append(f"[{content.resource.mime_type or 'file'}: {content.resource.uri}]")
        elif content.type == "resource_link":
            parts.append(f"[link: {content.uri}]")
        else:
            parts.append(f"[{content.mime_type}]")
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(parts)
    if len(text) > _LONGEST_RESULT:
        images = [replace(image, at=min(image.at, _LONGEST_RESULT)) for image in images]
        text = f"{text[:_LONGEST_RESULT]}\n[The result is cut off here. It has {len(text):,} characters.]"
    return text, tuple(images)


def _image(content: mcp_types.ContentBlock) -> bytes | None:
    """Return an image's file, or None for other content and unreadable files."""
    if isinstance(content, mcp_types.EmbeddedResource):
        encoded = content.resource.blob if isinstance(content.resource, mcp_types.BlobResourceContents) else ""
    else:
        encoded = content.data if isinstance(content, mcp_types.ImageContent) else ""
    try:
        data = base64.b64decode(encoded, validate=True)
        check_image(data, "image")
    except (ValueError, UserError):
        return None
    return data


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
