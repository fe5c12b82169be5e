"""Requests and replies in an API's dialect, as JSON or as events."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Receive, Send

from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.content_parts import FileReading, PartReader
from mlx_engine.api_server.pdf_parts import PdfCache
from mlx_engine.api_server.problems import ApiError, ClientGone
from mlx_engine.api_server.sampling_fields import SamplingFields
from mlx_engine.api_server.served_models import ServedModels
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Channel, Commit, CompletedReply, Event, Failed, Finished, PairInfo, PrefillProgress, Round
from mlx_engine.contract.requests import CountTokens, GenerationRequest, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.contract.token_logprobs import PositionLogprobs
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.bridge import to_async

_AT_ONCE = 8  # replies to one request, so that others' fit into the queue
QUIET_S = 10.0  # seconds without an event after which a stream sends a sign of life

Submit = Callable[[GenerationRequest | CountTokens, Deliver], Run]
Limiting = Callable[[Deliver], Deliver]
T = TypeVar("T")


def unlimited(deliver: Deliver) -> Deliver:
    return deliver


class Exchange(Protocol):
    """A request and its replies in an API's dialect.

    Chunks become server-sent events. A chunk's `type`, if any, is the name of its event.

    Attributes:
        fields: the request.
        limiting: returns a `deliver` for replies in which calls of tools that aren't allowed become text.
        files: the reader that has noticed images and documents, which `begin` reads.
    """

    fields: SamplingFields
    limiting: Limiting
    files: PartReader = PartReader()

    def begin(self, pair: PairInfo, reading: FileReading | None = None) -> Sequence[GenerationRequest]:
        """Return the engine's requests, once the pair is known.

        This may take long if the request has files, and runs on any thread.

        Args:
            pair: the loaded pair.
            reading: how files are read.

        Raises:
            ApiError: the pair can't do what is requested.
        """
        ...

    def encode(self, index: int, event: Event) -> Iterable[Chunk]:
        """Return the chunks for an event of reply `index`."""
        ...

    def waiting(self) -> Iterable[Chunk]:
        """Return chunks that keep the connection alive until `begin`, besides comments."""
        return ()

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


@dataclass(frozen=True)
class Dialect:
    """How an endpoint reads requests, and writes replies and errors.

    Attributes:
        path: path of the endpoint. Errors at all paths that begin with it have the dialect's form.
        fields: the fields of a request.
        decode: checks a request; raises an `ApiError` if a field is invalid or not supported.
        error: returns the body of an error.
    """

    path: str
    fields: type[SamplingFields]
    decode: Callable[[Any], Exchange]
    error: Callable[[ApiError], Chunk]


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


async def batches(
    submit: Submit,
    request: GenerationRequest | CountTokens,
    limiting: Limiting = unlimited,
    quiet_s: float | None = None,
) -> AsyncGenerator[list[Event], None]:
    """Yield the events of a reply, or of counting tokens, in batches.

    A batch is empty if `quiet_s` seconds passed without an event. Closing the generator cancels the reply.

    Raises:
        ApiError: the reply failed.
    """
    async with aclosing(to_async(lambda request, deliver: submit(request, limiting(deliver)), request, quiet_s)) as arriving:
        async for batch in arriving:
            found: list[Event] = []
            for event in batch:
                error = _error_of(event)
                if error is not None:
                    if any(isinstance(one, Commit | ToolCall) for one in found):
                        yield found  # the reply's beginning came in the same batch
                    raise error
                found.append(event)
                if isinstance(event, Finished | TokenCount):
                    yield found
                    return
            yield found
    raise _stopped()


def _stopped() -> ApiError:
    return ApiError(503, "The reply was stopped. Try again.", code="reply_stopped")


def _error_of(event: Event) -> ApiError | None:
    if isinstance(event, Finished) and event.reason in ("cancelled", "error"):
        return _stopped()
    return ApiError.because(UserError.of(event)) if isinstance(event, Failed) else None


async def complete(submit: Submit, request: GenerationRequest, limiting: Limiting) -> CountedReply:
    """Return a whole reply."""
    async with aclosing(batches(submit, request, limiting)) as arriving:
        events = [event async for batch in arriving for event in batch]
    parts = tuple(event for event in events if isinstance(event, Commit | ToolCall))
    thinking = sum(len(part.tokens) for part in parts if isinstance(part, Commit) and part.channel == "thinking")
    *_, end = events
    assert isinstance(end, Finished)
    return CountedReply(**vars(fold(events)), thinking_tokens=thinking, parts=parts, stop_string=end.stop_string)


async def _complete_all(submit: Submit, requests: Sequence[GenerationRequest], limiting: Limiting) -> list[CountedReply]:
    """Return whole replies, which are generated at the same time.

    If one fails, the others are canceled.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(request: GenerationRequest) -> CountedReply:
        async with gate:
            return await complete(submit, request, limiting)

    async with _together([one(request) for request in requests]) as tasks:
        return await asyncio.gather(*tasks)


async def _merged(
    submit: Submit, requests: Sequence[GenerationRequest], limiting: Limiting
) -> AsyncGenerator[tuple[int, Sequence[Event]]]:
    """Yield batches of events of replies that are generated at the same time.

    Each batch comes with the index of its reply; see `batches`.
    """
    gate, arrived = asyncio.Semaphore(_AT_ONCE), asyncio.Queue[tuple[int, Sequence[Event]] | asyncio.Task[None]]()

    async def read(index: int, request: GenerationRequest) -> None:
        async with gate, aclosing(batches(submit, request, limiting, QUIET_S)) as events:
            async for batch in events:
                arrived.put_nowait((index, batch))

    async with _together([read(*each) for each in enumerate(requests)]) as tasks:
        for task in tasks:
            task.add_done_callback(arrived.put_nowait)
        ended = 0
        while ended < len(tasks):
            found = await arrived.get()
            if isinstance(found, asyncio.Task):
                found.result()
                ended += 1
            else:
                yield found


@asynccontextmanager
async def _together(works: Sequence[Coroutine[Any, Any, T]]) -> AsyncGenerator[list[asyncio.Task[T]]]:
    """Run all in tasks, which are canceled when the block ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def count(submit: Submit, request: CountTokens) -> TokenCount:
    """Return the number of tokens of a chat."""
    async with aclosing(batches(submit, request)) as events:
        async for batch in events:
            for event in batch:
                if isinstance(event, TokenCount):
                    return event
    raise AssertionError("counting ends with TokenCount or Failed")


class RequestFiles:
    """The reading of images and documents in requests, on threads of its own.

    PDFs are read one after the other. Requests with only images don't wait for them.

    Attributes:
        pdfs: the latest PDFs.
    """

    def __init__(self) -> None:
        self._images = ThreadPoolExecutor(8, "images")
        self._documents = ThreadPoolExecutor(8, "documents")
        self.pdfs = PdfCache()

    async def check(self, exchange: Exchange) -> None:
        """Refuse a request with files that can't be read, before its pair is loaded."""
        if exchange.files.found:
            await self._run(exchange, exchange.files.check)

    async def read(self, exchange: Exchange, work: Callable[[PairInfo, FileReading], T], pair: PairInfo) -> T:
        """Return what `work` returns, which may read the files of a request."""
        if not exchange.files.found:
            return work(pair, FileReading(self.pdfs))
        return await self._run(exchange, partial(work, pair))

    async def explained(self, error: ApiError, submit: Submit, exchange: Exchange, pair: PairInfo) -> ApiError:
        """Return an error that says how many pages of the longest PDF fit.

        Other errors than that of a too long prompt stay as they are."""
        if error.code != "context_length_exceeded" or not exchange.files.found:
            return error
        pages: dict[str, int] = {}

        async def fit(most: Mapping[str, int]) -> bool:
            request, *_ = await self._run(exchange, partial(exchange.begin, pair), most=most, pages=pages)
            found = await count(submit, CountTokens(request, estimate=True))
            return found.tokens < found.limit

        with suppress(ApiError):  # such as of a server that can't count
            if await fit({}) or not pages:
                return error
            where = max(pages, key=lambda name: pages[name])
            fitting, too_many = 0, pages[where]
            while too_many - fitting > 1:
                middle = (fitting + too_many) // 2
                fitting, too_many = (middle, too_many) if await fit({where: middle}) else (fitting, middle)
            if fitting:
                error.message += f" Of “{where}”, the first {fitting:,} of {pages[where]:,} pages fit."
        return error

    async def _run(self, exchange: Exchange, work: Callable[[FileReading], T], **options: Any) -> T:
        reading = FileReading(self.pdfs, cancel := threading.Event(), **options)
        threads = self._documents if exchange.files.found_documents else self._images
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, work, reading)
        finally:
            cancel.set()


async def whole(models: ServedModels, submit: Submit, files: RequestFiles, exchange: Exchange) -> Chunk:
    """Return the body for all replies to a request, once its model is loaded."""
    await files.check(exchange)
    async with models.using(exchange.fields.model) as pair:
        try:
            requests = await files.read(exchange, exchange.begin, pair)
            return exchange.whole(await _complete_all(submit, requests, exchange.limiting))
        except ApiError as error:
            raise _naming_schema(await files.explained(error, submit, exchange, pair), exchange) from None


async def streamed(models: ServedModels, submit: Submit, files: RequestFiles, exchange: Exchange) -> AsyncGenerator[str]:
    """Yield the replies to a request as server-sent events.

    The first text, which may be empty, comes when the engine has accepted the first request, or after `QUIET_S`.

    Raises:
        ApiError: a reply failed before the first text. Later errors are events.
    """
    now, began = asyncio.get_running_loop().time, False
    await files.check(exchange)
    try:
        async with models.entering(exchange.fields.model) as entry:
            while not (await asyncio.wait({entry}, timeout=QUIET_S))[0]:
                began = True
                yield f": {models.progress}\n\n{_server_sent(exchange.waiting())}"
            sent_at = now()
            try:
                requests = await files.read(exchange, exchange.begin, entry.result())
                async with aclosing(_merged(submit, requests, exchange.limiting)) as events:
                    async for index, batch in events:
                        chunks = [chunk for event in batch for chunk in exchange.encode(index, event)]
                        if not chunks and (not batch or now() - sent_at >= QUIET_S):
                            chunks = list(exchange.sign_of_life(index))
                        elif not (began or any(map(is_progress, batch))):
                            continue
                        if chunks or not began:
                            began, sent_at = True, now()
                            yield _server_sent(chunks)
            except ApiError as error:
                raise await files.explained(error, submit, exchange, entry.result()) from None
            yield _server_sent(exchange.end())
    except ApiError as error:
        if not began:
            raise _naming_schema(error, exchange) from None
        yield _server_sent(exchange.failed(error))


def _naming_schema(error: ApiError, exchange: Exchange) -> ApiError:
    """Return an error with the name of the field with the schema, if it is about one."""
    if error.code == "bad_schema":
        error.param = exchange.fields.schema_param
    return error


def is_progress(event: Event) -> bool:
    """Return whether an event shows that the engine has accepted the request."""
    return isinstance(event, PrefillProgress | Round | Commit | ToolCall | Finished)


def _server_sent(chunks: Iterable[str | Chunk]) -> str:
    return "".join(map(_event, chunks))


def _event(chunk: str | Chunk) -> str:
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n"
    name = f"event: {chunk['type']}\n" if "type" in chunk else ""
    return f"{name}data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


class EventStream(StreamingResponse):
    """A response of server-sent events, which ends with the connection."""

    media_type = "text/event-stream"

    def __init__(self, first: str, rest: AsyncGenerator[str]) -> None:
        self._rest = rest
        super().__init__(_chained(first, rest), headers={"cache-control": "no-cache"})

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._rest):
            await super().stream_response(send)


async def _chained(first: str, rest: AsyncGenerator[str]) -> AsyncGenerator[str]:
    yield first
    async for text in rest:
        yield text


async def until_gone(receive: Receive, work: Awaitable[T]) -> T:
    """Return what `work` returns, and cancel it if the client closes the connection.

    Raises:
        ClientGone: the client closed the connection.
    """

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    result, watch = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait((result, watch), return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise ClientGone
        return result.result()
    finally:
        for task in (result, watch):
            task.cancel()
        await asyncio.gather(result, watch, return_exceptions=True)
