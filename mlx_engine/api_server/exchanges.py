"""Replies for asyncio, and their delivery as JSON or as server-sent events."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Send

from mlx_engine.api_server.body import Fields
from mlx_engine.api_server.problems import ApiError, ClientGone
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import (
    Channel,
    Commit,
    CompletedReply,
    Event,
    Failed,
    Finished,
    PairInfo,
    PositionLogprobs,
    PrefillProgress,
    Round,
    TokenCount,
)
from mlx_engine.contract.requests import CountTokens, GenerationRequest, ToolCall
from mlx_engine.engine.host import BATCH_S

QUIET_S = 10.0  # seconds without an event after which a stream sends a sign of life
_NEVER = 3600.0

Chunk = dict[str, Any]
Submit = Callable[[GenerationRequest | CountTokens, Deliver], Run]


class Exchange(Protocol):
    """A request and its replies in an API's dialect.

    Chunks become server-sent events. A chunk's `type`, if any, is the name of its event.
    """

    requests: Sequence[GenerationRequest]
    streams: bool

    def chunks(self, index: int, event: Event) -> Iterable[Chunk]:
        """Return the chunks for an event of reply `index`."""
        ...

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        """Return chunks that keep the connection alive."""
        ...

    def end(self) -> Iterable[str | Chunk]:
        """Return the data of the last server-sent events."""
        ...

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        """Return the last chunks, for an error after the first event."""
        ...

    def whole(self, replies: "Sequence[CountedReply]") -> Chunk:
        """Return the body for complete replies."""
        ...


class Dialect(Protocol):
    """The class of an exchange."""

    @property
    def fields(self) -> type[Fields]:
        """The fields of a request."""
        ...

    def __call__(self, pair: PairInfo, body: Any) -> Exchange:
        """Check a request for a pair.

        Raises:
            ApiError: a field is invalid or not supported.
        """
        ...


@dataclass(frozen=True)
class CountedReply(CompletedReply):
    """A whole reply.

    Attributes:
        parts: the reply's text and tool calls, in order.
        stop_string: the stop sequence that ended the reply, or "".
    """

    thinking_tokens: int = 0
    parts: tuple[Commit | ToolCall, ...] = ()
    stop_string: str = ""

    def logprobs(self, channel: Channel) -> list[PositionLogprobs]:
        return [each for part in self.commits if part.channel == channel for each in part.logprobs]

    @property
    def commits(self) -> tuple[Commit, ...]:
        return tuple(part for part in self.parts if isinstance(part, Commit))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class _Inbox:
    """A queue of events from the engine's thread to the event loop.

    The loop wakes once per batch.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: deque[Event | None] = deque()
        self._arrived = asyncio.Event()
        self._waking = False

    def put(self, event: Event | None) -> None:
        self._events.append(event)
        if not self._waking:
            self._waking = True
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._arrived.set)

    async def batch(self, seconds: float) -> list[Event | None]:
        """Wait for an event for up to `seconds`, and return all since the last call."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        self._arrived.clear()
        self._waking = False
        return [self._events.popleft() for _ in range(len(self._events))]


async def batches(
    submit: Submit, request: GenerationRequest | CountTokens, quiet_s: float = _NEVER
) -> AsyncGenerator[list[Event], None]:
    """Yield the events of a reply, or of counting tokens, in batches.

    A batch is empty if `quiet_s` seconds passed without an event. Closing the generator cancels the reply.

    Raises:
        ApiError: the reply failed.
    """
    inbox = _Inbox()
    run = submit(request, inbox.put)
    try:
        while True:
            batch = await inbox.batch(quiet_s)
            found: list[Event] = []
            for event in batch:
                error = _error_of(event)
                if error is not None:
                    if any(isinstance(one, Commit | ToolCall) for one in found):
                        yield found  # the reply's beginning came in the same batch
                    raise error
                assert event is not None
                found.append(event)
                if isinstance(event, Finished | TokenCount):
                    yield found
                    return
            yield found
            if batch:
                await asyncio.sleep(BATCH_S)  # waking for every event would slow decoding
    finally:
        run.cancel()


def _error_of(event: Event | None) -> ApiError | None:
    if event is None or (isinstance(event, Finished) and event.reason in ("cancelled", "error")):
        return ApiError(503, "The reply was stopped. Try again.", code="reply_stopped")
    return ApiError.because(UserError.of(event)) if isinstance(event, Failed) else None


async def complete(submit: Submit, request: GenerationRequest) -> CountedReply:
    """Return a whole reply."""
    texts, tokens, thinking_tokens = {"answer": "", "thinking": ""}, list[int](), 0
    parts: list[Commit | ToolCall] = []
    async with aclosing(batches(submit, request)) as events:
        async for batch in events:
            for event in batch:
                if isinstance(event, Commit | ToolCall):
                    parts.append(event)
                if isinstance(event, Commit):
                    texts[event.channel] += event.text
                    tokens += event.tokens
                    thinking_tokens += len(event.tokens) if event.channel == "thinking" else 0
                elif isinstance(event, Finished):
                    found = (texts["answer"], texts["thinking"], tuple(tokens), event.reason, event.stats)
                    return CountedReply(*found, thinking_tokens, tuple(parts), event.stop_string)
    raise AssertionError("a reply ends with Finished or Failed")


async def count(submit: Submit, request: CountTokens) -> int:
    """Return the number of tokens of a chat."""
    async with aclosing(batches(submit, request)) as events:
        async for batch in events:
            for event in batch:
                if isinstance(event, TokenCount):
                    return event.tokens
    raise AssertionError("counting ends with TokenCount or Failed")


class EventStream:
    """Server-sent events for a client.

    Attributes:
        started: whether the headers were sent, which happens before the first event.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def send(self, chunks: Iterable[str | Chunk], last: bool = False) -> None:
        await self._write("".join(map(_server_sent, chunks)), last)

    async def comment(self, text: str) -> None:
        """Send a line that clients ignore."""
        await self._write(f": {text}\n\n", last=False)

    async def _write(self, text: str, last: bool) -> None:
        if not self.started:
            self.started = True
            await self._send(_START)
        await self._send({"type": "http.response.body", "body": text.encode(), "more_body": not last})


async def whole(submit: Submit, exchange: Exchange) -> Chunk:
    """Return the body for all replies to a request."""
    return exchange.whole([await complete(submit, request) for request in exchange.requests])


async def streamed(submit: Submit, exchange: Exchange, stream: EventStream) -> None:
    """Send the replies to a request, one after the other.

    Headers are sent when the engine has accepted the first request, or after `QUIET_S`. An earlier error has its own status.
    """
    now = asyncio.get_running_loop().time
    sent_at = now()
    try:
        for index, request in enumerate(exchange.requests):
            async with aclosing(batches(submit, request, QUIET_S)) as events:
                async for batch in events:
                    chunks = [chunk for event in batch for chunk in exchange.chunks(index, event)]
                    if not chunks and (not batch or now() - sent_at >= QUIET_S):
                        chunks = list(exchange.sign_of_life(index))
                    elif not (stream.started or any(map(_is_progress, batch))):
                        continue
                    if chunks or not stream.started:
                        await stream.send(chunks)
                        sent_at = now()
        await stream.send(exchange.end(), last=True)
    except ApiError as error:
        if not stream.started:
            raise
        await stream.send(exchange.failed(error), last=True)


def _is_progress(event: Event) -> bool:
    return isinstance(event, PrefillProgress | Round | Commit | Finished)


_START: AsgiMessage = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")],
}


def _server_sent(chunk: str | Chunk) -> str:
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n"
    name = f"event: {chunk['type']}\n" if "type" in chunk else ""
    return f"{name}data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


async def until_gone(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, and cancel it if the client closes the connection.

    Raises:
        ClientGone: the client closed the connection.
    """

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise ClientGone
        tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
