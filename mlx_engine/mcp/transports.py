"""Transports to tool servers: stdio for programs, Streamable HTTP for addresses.

They limit what a server can send, because the SDK doesn't: the size of messages, and how fast they are read. This module takes most
of a second to import.
"""

import asyncio
import os
import re
import shutil
import signal
import threading
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import partial
from glob import glob
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import why_failed
from mlx_engine.hardware.background import in_background
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.processes import kill_all, started_by
from mlx_engine.network import traffic

Streams = tuple[Any, Any]  # of messages from and to the server, as the SDK's `Transport` yields them
LARGEST_MESSAGE = 4 << 20  # bytes
_MOST_VALUES = 100_000  # of a message. Parsing more would hold up the other threads
_STRING = re.compile(rb'"(?:[^"\\\r\n]|\\[^\r\n])*+"?')  # JSON's strings are in one line
_EVENT_END = re.compile(rb"\n\r?\n|\r\r")
_EVENTS = re.compile(rb".*(?:\n\r?\n|\r\r)", re.DOTALL)  # to the last end
_MESSAGES_PER_S, _BYTES_PER_S = 1_000, 8 << 20
_LOG_LINES, _LONGEST_LINE = 100, 1_000
_CONNECT_S = 10.0
_SHELL_S, _SHELL_POLL_S = 5.0, 0.05
_SHELL_PATH = re.compile(rb"^slipstream-path:(.*)\n", re.MULTILINE)
_asking = threading.Lock()
_shell_paths: dict[str, Future[str]] = {}  # PATH of each shell
_EXIT_S, _TERMINATE_S = 0.8, 0.25  # together less than the time that quitting may take
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Where package managers install programs
_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin", "~/.local/bin", "~/.cargo/bin", "~/.volta/bin", "~/.bun/bin", "~/.deno/bin")


class Link:
    """What a transport reports about its connection.

    Attributes:
        lost: whether the connection has ended.
        problem: why it ended, if the transport ended it.
        unauthorized: whether the server's last response was that the user must sign in.
        woken: set when `lost` or the tools change.
        log: the last lines of the program's output; untrusted.
        process: the program.
    """

    def __init__(self) -> None:
        self.lost = False
        self.problem: EngineText | None = None
        self.unauthorized = False
        self.woken = asyncio.Event()
        self.log: tuple[str, ...] = ()
        self.process: Process | None = None

    def add(self, text: str) -> None:
        """Add complete lines to the log."""
        lines = [line[:_LONGEST_LINE] for line in text.splitlines()[-_LOG_LINES:]]
        self.log = (*self.log, *lines)[-_LOG_LINES:]

    def end(self) -> None:
        self.lost = True
        self.woken.set()

    def fail(self, problem: EngineText) -> UserError:
        """Return the error with which the transport ends the connection."""
        self.problem = problem
        self.end()
        return UserError.of(problem)


class _Pace:
    """Slows down reading from a server that sends too much.

    It keeps the rest of the app responsive.
    """

    def __init__(self) -> None:
        self._spent_until = 0.0

    async def spend(self, messages: int, size: int) -> None:
        now = time.monotonic()
        self._spent_until = max(self._spent_until, now - 1) + messages / _MESSAGES_PER_S + size / _BYTES_PER_S
        await asyncio.sleep(max(0, self._spent_until - now))


def _too_large(server: str) -> EngineText:
    template = "“{server}” was disconnected because it sent a message that was too large."
    return EngineText.of("tool_message_too_large", template, server=server)


def _values(data: bytes | bytearray) -> int:
    """Estimate how many values JSON text has, counting strings that look like values."""
    return sum(map(data.count, (b",", b"[", b"{")))


def _has_too_many_values(message: bytes | bytearray) -> bool:
    found = _values(message)
    if found <= _MOST_VALUES or found + message.count(b'"') > 10 * _MOST_VALUES:
        return found > _MOST_VALUES
    return _values(_STRING.sub(b"", message)) > _MOST_VALUES


# --- Programs ---------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def stdio(config: ServerConfig, link: Link) -> AsyncIterator[Streams]:
    """Run a program, and yield streams of its messages.

    Raises:
        UserError: the program can't be started.
    """
    process = link.process = await _started(config)
    assert process.stdin and process.stdout and process.stderr
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    to_session, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        pace = _Pace()
        async with to_session:
            while True:
                try:
                    line = await stdout.readline()
                except ValueError:  # longer than the limit
                    raise link.fail(_too_large(config.name)) from None
                if not line:
                    break
                if _has_too_many_values(line):
                    raise link.fail(_too_large(config.name))
                await pace.spend(1, len(line))
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    link.add(line[:_LONGEST_LINE].decode(errors="replace"))
                    continue
                await to_session.send(SessionMessage(message))
        link.end()

    async def send() -> None:
        async with from_session:
            async for message in from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()
                except OSError:
                    break
        link.end()

    async def read_log() -> None:
        pace, rest = _Pace(), b""
        while chunk := await stderr.read(1 << 16):
            lines, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline or len(rest) > _LONGEST_LINE:
                link.add((lines or rest).decode(errors="replace"))
                rest = rest if newline else b""
            await pace.spend(1, len(chunk))
        link.add(rest.decode(errors="replace"))

    async with anyio.create_task_group() as tasks:
        for work in (receive, send, read_log):
            tasks.start_soon(work)
        try:
            yield received, sent
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
            tasks.cancel_scope.cancel()


async def _started(config: ServerConfig) -> Process:
    environment = {**get_default_environment(), **dict(config.env)}
    path = await search_path(config)
    program = shutil.which(os.path.expanduser(config.command), path=path)
    if program is None and (shell := await _shell_path()):
        path += os.pathsep + shell
        program = shutil.which(config.command, path=path)
    if program is None:
        template = "Can't find “{program}”. Install it, or enter its full path."
        raise UserError("tool_command_not_found", template, program=config.command)
    try:
        return await asyncio.create_subprocess_exec(
            program,
            *config.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            limit=LARGEST_MESSAGE,
            cwd=os.path.expanduser(config.cwd) or Path.home(),
            env={**environment, "PATH": path},
            start_new_session=True,
        )
    except OSError as error:
        template = "Can't start “{program}” ({reason})."
        raise UserError("tool_command_failed", template, program=config.command, reason=why_failed(error)) from None


async def search_path(config: ServerConfig) -> str:
    """Return a program's PATH: the server's own, or the one of the user's shell.

    An app that the Finder started has a PATH of macOS's folders only. There, `python3` and `git` are stubs that offer to install
    Apple's tools, so these folders come last if the shell doesn't tell its PATH.
    """
    own, inherited = dict(config.env).get("PATH"), os.environ.get("PATH", os.defpath)
    folders = [*map(os.path.expanduser, _FOLDERS), *glob(os.path.expanduser("~/.nvm/versions/node/*/bin"))]
    if own is not None or "SHLVL" in os.environ:  # a shell started Slipstream, with its PATH
        return os.pathsep.join((own or inherited, *folders))
    shell = await _shell_path()
    return os.pathsep.join((shell, inherited, *folders) if shell else (*folders, inherited))


async def _shell_path() -> str:
    """Return the PATH of the user's shell, or "".

    The shell is asked until it has answered once, because profiles such as nvm's take seconds.
    """
    shell = os.environ.get("SHELL", "/bin/sh")
    with _asking:
        answer = _shell_paths.get(shell)
        if answer is None or (answer.done() and (answer.exception() or not answer.result())):
            answer = _shell_paths[shell] = in_background(partial(_ask_shell, shell), "shell path")
    return await asyncio.wrap_future(answer)


def _ask_shell(shell: str) -> str:
    output, until = b"", time.monotonic() + _SHELL_S
    with (
        suppress(OSError),
        Popen(
            (shell, "-ilc", "printf '\\nslipstream-path:%s\\n' \"$PATH\""),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=True,
        ) as process,
    ):
        # The output may have no end: a program that the profile started may hold it open
        while not _SHELL_PATH.search(output) and time.monotonic() < until:
            try:
                output, _ = process.communicate(timeout=_SHELL_POLL_S)
                break
            except TimeoutExpired as error:
                output = error.output or b""
        kill(process)
    found = _SHELL_PATH.search(output)
    return found[1].decode(errors="replace") if found else ""


async def _end(process: Process) -> None:
    """End a program and everything that it started."""
    assert process.stdin
    started = started_by(process.pid)
    process.stdin.close()
    if not await _exits(process, _EXIT_S):
        kill(process, signal.SIGTERM)
        await _exits(process, _TERMINATE_S)
    kill(process)
    kill_all(started)
    await _exits(process, _TERMINATE_S)
    # Another process may still have the pipes open
    getattr(process, "_transport").close()  # noqa: B009


async def _exits(process: Process, seconds: float) -> bool:
    """Return whether the program ends within this time.

    `Process.wait` would also wait for the pipes.
    """
    until = time.monotonic() + seconds
    while process.returncode is None and time.monotonic() < until:
        await asyncio.sleep(0.01)
    return process.returncode is not None


def kill(process: Process | Popen[bytes], number: int = signal.SIGKILL) -> None:
    """Send a signal to a program and the rest of its process group."""
    with suppress(OSError):
        os.killpg(process.pid, number)


# --- Web addresses ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def streamable_http(config: ServerConfig, link: Link, auth: httpx2.Auth | None) -> AsyncIterator[Streams]:
    """Yield streams of messages to and from a web address.

    The SDK doesn't follow redirects to other hosts.
    """
    pace, loop, own = _Pace(), asyncio.get_running_loop(), str(httpx2.URL(config.url))

    def refused(refusal: UserError) -> None:
        with suppress(RuntimeError):  # the loop has ended, and so has the link
            loop.call_soon_threadsafe(link.fail, refusal.text)

    async def check(request: httpx2.Request) -> None:
        traffic.use_for("tool" if str(request.url) == own else "sign_in")
        if not is_secure(str(request.url), config.url):
            template = "“{url}” must start with https://. Change the address."
            raise link.fail(EngineText.of("tool_url_not_secure", template, url=str(request.url.copy_with(query=None))))

    async def bound(response: httpx2.Response) -> None:
        if str(response.request.url) == own:
            link.unauthorized = response.status_code == 401
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            link.end()  # the session has ended
        if response.headers.get("content-encoding", "identity") != "identity":
            template = "“{server}” sent a compressed response that wasn't requested."
            raise link.fail(EngineText.of("tool_answer_compressed", template, server=config.name))
        response.stream = _BoundedStream(response, link, pace, config.name)

    headers = {"accept-encoding": "identity", **dict(config.headers)}
    timeout = httpx2.Timeout(_CONNECT_S, read=None)  # calls have their own limit
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [check], "response": [bound]}
    async with (
        traffic.async_client("tool", refused, headers=headers, timeout=timeout, auth=auth, event_hooks=hooks) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams


def is_secure(url: str, server: str) -> bool:
    """Return whether an address is safe: it uses TLS, or is local like the server."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in _LOOPBACK and urlsplit(server).hostname in _LOOPBACK
    )


class _BoundedStream(httpx2.AsyncByteStream):
    """A response body that ends the connection if a message is too large.

    Event streams may have any length. Their events are passed on when they are complete.
    """

    def __init__(self, response: httpx2.Response, link: Link, pace: _Pace, server: str) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream, self._link, self._pace, self._server = response.stream, link, pace, server
        self._has_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._stream:
            await self._pace.spend(max(1, chunk.count(b"data:")), len(chunk))
            body += chunk
            # An end may have begun in the previous chunk
            if self._has_events and (found := _EVENTS.match(body, max(0, len(body) - len(chunk) - 2))):
                events = body[: found.end()]
                del body[: found.end()]
                yield self._checked(events)
            if len(body) > LARGEST_MESSAGE:
                raise self._link.fail(_too_large(self._server))
        if body:
            yield self._checked(body)

    def _checked(self, data: bytearray) -> bytes:
        """Return messages, none of which has too many values."""
        if _has_too_many_values(data) and any(map(_has_too_many_values, _EVENT_END.split(data) if self._has_events else [data])):
            raise self._link.fail(_too_large(self._server))
        return bytes(data)

    async def aclose(self) -> None:
        await self._stream.aclose()
