"""An engine on another computer, with the interface of the local engine."""

import asyncio
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

import httpx2

from mlx_engine.contract.client import Deliver, EngineClient, Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import ContestantEvent, Event, Failed, Finished, LoadProgress, PrefillProgress, PromptsSaved
from mlx_engine.contract.limits import cut_results, result_lengths, shrinking_windows
from mlx_engine.contract.requests import (
    Compare,
    Connect,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    Message,
    Request,
    SavePrompts,
    UnloadPair,
)
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_async
from mlx_engine.engine.comparison import Comparison
from mlx_engine.remote.endpoint import Endpoint, address, client_of, complete_address, refused, unreachable
from mlx_engine.remote.request_body import body_of
from mlx_engine.remote.server import RemoteServer, discover
from mlx_engine.remote.streamed_reply import ReplyStream, data_of

log = logging.getLogger(__name__)

_ERROR_BYTES = 100_000
_NOT_HERE = EngineText.of("remote_not_here", "This isn't available with a remote server.")
_END_S = 2.0  # for response bodies that are closed at the end


class _RemoteRun(Run):
    """A request to a server.

    Attributes:
        wake: interrupts the request; set once it has started.
    """

    wake: Callable[[], None] | None = None

    def cancel(self) -> None:
        super().cancel()
        if self.wake is not None:
            self.wake()


class RemoteEngine:
    """An `EngineClient` of a server with OpenAI's API.

    One thread with an event loop serves all requests at the same time; the server decides how many of them run. `LoadPair` and
    `Connect` connect to the server given to the constructor. Requests that only concern this computer, such as calibration, fail
    with the code `remote_not_here`.

    Args:
        endpoint: the server.
        local: this computer's engine, for comparisons with it.
    """

    def __init__(self, endpoint: Endpoint, local: EngineClient | None = None) -> None:
        url, plain_url = complete_address(endpoint.url), complete_address(endpoint.plain_url)
        self._endpoint, self._local = replace(endpoint, url=url, plain_url=plain_url), local
        self._client: httpx2.AsyncClient | None = None  # this and the following are used only on the loop's thread
        self._server: RemoteServer | None = None
        self._tasks: dict[asyncio.Task[None], _RemoteRun] = {}
        self._closing = False
        self._closed: Callable[[], None] | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="remote engine", daemon=True)
        self._thread.start()

    def submit(self, request: Request, deliver: Deliver) -> _RemoteRun:
        """Send a request. If the engine is closed, the run ends immediately."""
        run = _RemoteRun(request, deliver)
        try:
            self._loop.call_soon_threadsafe(self._begin, run)
        except RuntimeError:  # the loop has ended
            run.deliver(None)
        return run

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all runs and disconnect, then call `closed`, without blocking."""
        try:
            self._loop.call_soon_threadsafe(self._end, closed)
        except RuntimeError:
            if closed is not None:
                closed()

    def wait(self, seconds: float) -> bool:
        """Close the engine, and return whether its thread ended within `seconds`."""
        self.close()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            left = (*asyncio.all_tasks(self._loop), self._loop.shutdown_asyncgens())  # response bodies that weren't read to the end
            with suppress(TimeoutError):
                self._loop.run_until_complete(asyncio.wait_for(asyncio.gather(*left, return_exceptions=True), _END_S))
            self._loop.close()
            if self._closed is not None:
                self._closed()

    def _begin(self, run: _RemoteRun) -> None:
        if self._closing:
            run.deliver(None)
            return
        for other in self._tasks.values():
            if other.request.gives_way:
                other.cancel()
        task = self._loop.create_task(self._run(run))
        self._tasks[task] = run
        task.add_done_callback(self._tasks.pop)
        task.add_done_callback(lambda _: run.deliver(None))  # not in the task, which may be canceled before it starts
        run.wake = lambda: self._wake(task)
        if run.cancelled.is_set():
            task.cancel()

    def _wake(self, task: asyncio.Task[None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(task.cancel)

    def _end(self, closed: Callable[[], None] | None) -> None:
        self._closed = closed or self._closed
        if self._closing:
            return
        self._closing = True

        async def end() -> None:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._client is not None:
                await self._client.aclose()
            self._loop.stop()

        self._ending = self._loop.create_task(end())

    async def _run(self, run: _RemoteRun) -> None:
        """Deliver the events of a run. No exception leaves this method."""
        try:
            match run.request:
                case LoadPair() | Connect():
                    await self._connect(run)
                case GenerationRequest():
                    await _forward(run, self._fitting_reply(run.request))
                case Compare():
                    await _forward(run, self._compare(run.request, run.cancelled))
                case CountTokens():
                    await self._count(run, run.request)
                case SavePrompts() | ForgetPrompts() | KeepPrompts():
                    run.deliver(PromptsSaved())
                case _:
                    raise UserError.of(_NOT_HERE)
        except UserError as error:
            run.deliver(Failed.because(error))
        except httpx2.HTTPError as error:
            run.deliver(Failed.because(unreachable(self._endpoint, error)))
        except asyncio.CancelledError:
            pass
        except Exception:
            log.exception("The remote engine failed on %s", type(run.request).__name__)
            bug = UserError("remote_internal", "Something went wrong in Slipstream while using the remote server. Try again.")
            run.deliver(Failed.because(bug))

    async def _connect(self, run: _RemoteRun) -> None:
        host = self._endpoint.host
        run.deliver(LoadProgress(0.0, EngineText.of("connecting", "Connecting to {host}", host=host)))
        self._server = None
        run.deliver((await self._connected()).pair(self._endpoint))

    async def _connected(self) -> RemoteServer:
        if self._client is None:
            self._client = client_of(self._endpoint)
        if self._server is None:
            self._server = await discover(self._client, self._endpoint)
        return self._server

    async def _fitting_reply(self, request: GenerationRequest) -> AsyncIterator[Event]:
        """Generate a reply, with old turns left out until the chat fits.

        Old turns are left out, or results of tools are cut off, as requested.
        """
        for messages, left_out, length in _attempts(request):
            began = False
            try:
                async for event in self._reply(replace(request, messages=messages)):
                    if (left_out or length) and not began:
                        yield PrefillProgress(0, 0, 0, left_out, length)
                    began = True
                    yield event
                return
            except UserError as error:
                if began or error.text.code != "remote_context_exceeded":
                    raise
                too_long = error
        raise too_long

    async def _reply(self, request: GenerationRequest) -> AsyncIterator[Event]:
        server = await self._connected()
        assert self._client is not None
        endpoint = replace(self._endpoint, model=server.model)
        url = endpoint.url
        if request.mode == "plain" and server.speculates and server.kind != "slipstream":
            url = endpoint.plain_url
            if not url:
                template = "“{host}” can't turn off speculative decoding. Add an address for plain replies to the connection."
                raise UserError("remote_no_plain", template, host=endpoint.host)
        elif not server.speculates:
            request = replace(request, mode="plain")
        if request.seed is None and server.kind != "slipstream":  # which reports the seed that it draws
            request = replace(request, seed=secrets.randbits(31))
        path, body = body_of(request, server)
        stream = ReplyStream(endpoint, request)
        try:
            async with self._client.stream("POST", address(url, path), json=body) as response:
                if response.status_code != 200:
                    beginning = await _beginning(response)
                    raise refused(endpoint, response.status_code, beginning, response.headers.get("retry-after", ""))
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    template = "“{host}” doesn't respond like an OpenAI-compatible server. Check the address."
                    raise UserError("remote_no_stream", template, host=endpoint.host)
                async for data in data_of(response.aiter_bytes()):
                    for event in stream.events(data):
                        yield event
        except asyncio.CancelledError:
            yield Finished("cancelled", stream.stats())
            raise
        yield stream.end()

    async def _compare(self, request: Compare, cancel: threading.Event) -> AsyncIterator[Event]:
        """Compare the server's two modes, or the server with pairs here; see `play`."""
        steps = Comparison(replace(request, pause_s=0.0), cancel, on_endpoint=True).steps()
        local, seen = self._local, list[Event]()
        try:
            with suppress(StopIteration):
                while True:
                    step = steps.send(seen) if seen else next(steps)
                    seen = []
                    if not isinstance(step, LoadPair | dict):
                        yield step
                        continue
                    contestant, asked = next(iter(step.items())) if isinstance(step, dict) else (None, step)
                    try:
                        if isinstance(asked, GenerationRequest) and contestant is not None and contestant.pair is None:
                            events = self._reply(asked)
                        elif local is not None:
                            events = _events(local, asked)
                        else:
                            raise UserError.of(_NOT_HERE)
                        async for event in events:
                            seen.append(event if contestant is None else ContestantEvent(contestant, event))
                            yield seen[-1]
                    except UserError as error:
                        failed = Failed.because(error)
                        seen.append(failed if contestant is None else ContestantEvent(contestant, failed))
                        if contestant is not None:
                            yield seen[-1]
        finally:
            if local is not None and request.pairs:
                local.submit(UnloadPair(), lambda _: None)

    async def _count(self, run: _RemoteRun, request: CountTokens) -> None:
        server = await self._connected()
        _, body = body_of(request.request, server)
        names = ("model", "messages", "chat_template_kwargs", "tools")
        chat = {name: body[name] for name in body if name in names}
        found: Any = None
        if server.kind in ("slipstream", "vllm"):
            found = (await self._posted("/tokenize", chat)).get("count")
        elif any(message.images for message in request.messages):
            pass  # only these servers count the tokens of images
        elif server.kind == "llamacpp" and (prompt := (await self._posted("/apply-template", chat)).get("prompt")):
            tokens = (await self._posted("/tokenize", {"content": prompt, "add_special": True})).get("tokens")
            found = len(tokens) if isinstance(tokens, list) else None
        if not isinstance(found, int):
            raise UserError("remote_no_count", "The server can't count tokens before a reply.")
        run.deliver(TokenCount(found, server.pair(self._endpoint).context_limit))

    async def _posted(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON object in a response; an empty one if there is none."""
        assert self._client is not None
        response = await self._client.post(address(self._endpoint.url, path), json=body)
        with suppress(ValueError):
            if response.status_code == 200 and isinstance(found := response.json(), dict):
                return found
        return {}


def _attempts(request: GenerationRequest) -> Iterator[tuple[tuple[Message, ...], int, int]]:
    """Yield what to send in each attempt, from most to least.

    Yields:
        Messages, the number of oldest messages left out, and the maximum length of tool results (0 for no limit).
    """
    messages, left_out = request.messages, 0
    for messages, left_out in shrinking_windows(request):
        yield messages, left_out, 0
    for length in result_lengths(messages)[::-4] if request.shorten_results else ():  # about half as long each time
        yield cut_results(messages, length), left_out, length


async def _events(client: EngineClient, request: Request) -> AsyncIterator[Event]:
    """Submit a request, and yield its events.

    Raises:
        UserError: the request failed.
    """
    async with aclosing(to_async(client.submit, request)) as batches:
        async for batch in batches:
            for event in batch:
                if isinstance(event, Failed):
                    raise UserError.of(event)
                yield event


async def _forward(run: Run, events: AsyncIterator[Event]) -> None:
    async for event in events:
        run.deliver(event)


async def _beginning(response: httpx2.Response) -> bytes:
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _ERROR_BYTES:
            break
    return body
