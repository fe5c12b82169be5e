"""The server's routes, request checks, error responses, and log."""

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from mlx_engine.api_server import anthropic, openai
from mlx_engine.api_server.body import MAX_BYTES, Fields, read_json
from mlx_engine.api_server.call_cache import CallCache
from mlx_engine.api_server.chat_completions import ChatExchange, ChatFields
from mlx_engine.api_server.completions import CompletionExchange
from mlx_engine.api_server.exchanges import Chunk, Dialect, EventStream, Submit, count, streamed, until_gone, whole
from mlx_engine.api_server.guard import Guard, is_preflight
from mlx_engine.api_server.messages import MessagesExchange, MessagesFields, count_request
from mlx_engine.api_server.metrics import Metrics, RequestMeter, prometheus
from mlx_engine.api_server.openapi import document
from mlx_engine.api_server.problems import ApiError, ClientGone
from mlx_engine.api_server.responses import ResponseExchange
from mlx_engine.api_server.served_models import Models, none_loaded
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.requests import CountTokens, GenerationRequest

log = logging.getLogger(__name__)

_MODELS = "/v1/models"
_LOGGED = 100_000  # characters of a request, if content is logged
_CLIENT_GONE = 499  # status in the log if the client left before the reply, as in nginx
_LINGER_S = 1.0  # seconds in which the body of a refused request is discarded

Endpoint = Callable[[RequestMeter, Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Route:
    """An endpoint, and the fields of its request body, if any."""

    serve: Endpoint
    fields: type[Fields] | None = None


class Api:
    """The server as an ASGI application.

    Attributes:
        models: the loaded pair, and those that can be loaded by name.
        guard: the checks before a request is served. Can be set from any thread.
        metrics: counts of requests and replies. Can be read from any thread.

    Args:
        log_content: whether to log the content of requests.
    """

    def __init__(self, models: Models, guard: Guard, log_content: bool = False) -> None:
        self.guard, self.models = guard, models
        self._log_content = log_content
        self.metrics = Metrics()
        self._calls = CallCache()
        self._routes: dict[tuple[str, str], Route] = {
            ("GET", "/health"): Route(self._health),
            ("GET", "/api/hello"): Route(self._health),  # requested by Claude Code
            ("GET", "/metrics"): Route(self._metrics),
            ("GET", "/openapi.json"): Route(self._openapi),
            ("GET", _MODELS): Route(self._models),
            ("POST", "/v1/chat/completions"): self._replies(ChatExchange),
            ("POST", "/v1/completions"): self._replies(CompletionExchange),
            ("POST", "/v1/responses"): self._replies(ResponseExchange),
            ("POST", anthropic.PREFIX): self._replies(MessagesExchange),
            ("POST", f"{anthropic.PREFIX}/count_tokens"): Route(self._count_tokens, MessagesFields),
            ("POST", "/tokenize"): Route(self._tokenize, ChatFields),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Its content is logged only with `log_content`."""
        if scope["type"] != "http":
            return
        shared = self.guard.sharing_headers(scope)
        status, began = 0, time.monotonic()
        known = any(path == scope["path"] for _, path in self._routes)
        meter = RequestMeter(self.metrics, scope["path"] if known else "other", _client(scope))

        async def noting(message: AsgiMessage) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self.metrics.count_request(meter.endpoint, status)
                message = {**message, "headers": [*message["headers"], *shared]}
            await send(message)

        try:
            self.guard.check(scope)
            if shared and is_preflight(scope):
                await Response(status_code=204)(scope, receive, noting)
                return
            await self._endpoint(scope)(meter, scope, receive, noting)
        except ClientGone:
            pass
        except ApiError as error:
            await _refuse(error, scope, receive, noting)
        except asyncio.CancelledError:
            if not status:
                await _refuse(ApiError(503, "Slipstream is quitting.", code="quitting"), scope, receive, noting)
            raise
        except Exception as bug:
            trace = "".join(traceback.format_tb(bug.__traceback__))  # without the message, which may contain text of a request
            log.error("The server failed with %s\n%s", type(bug).__name__, trace)
            if not status:
                await _refuse(ApiError(500, "Something went wrong in Slipstream.", code="internal_error"), scope, receive, noting)
        finally:
            if not status:
                status = _CLIENT_GONE
                self.metrics.count_request(meter.endpoint, status)
            seconds = time.monotonic() - began
            log.info(
                "%s %s %d, %d tokens, %.2f s", scope["method"][:20], ascii(scope["path"][:100])[1:-1], status, meter.tokens, seconds
            )

    def _endpoint(self, scope: Scope) -> Endpoint:
        method, path = "GET" if scope["method"] == "HEAD" else scope["method"], scope["path"]
        if path.startswith(f"{_MODELS}/"):
            path = _MODELS
        if found := self._routes.get((method, path)):
            return found.serve
        if any(path == each for _, each in self._routes):
            raise ApiError(405, f"This endpoint doesn't support {method[:20]}.", code="method_not_allowed")
        raise ApiError(404, "This endpoint doesn't exist.", code="unknown_endpoint")

    async def _health(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        await JSONResponse({"status": "ok"})(scope, receive, send)

    async def _metrics(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        text = prometheus(self.metrics, self.models.pair)
        await PlainTextResponse(text, media_type="text/plain; version=0.0.4")(scope, receive, send)

    async def _openapi(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        await JSONResponse(self._document)(scope, receive, send)

    @cached_property
    def _document(self) -> Chunk:
        return document({key: route.fields for key, route in self._routes.items()})

    async def _models(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        pair, others = self.models.pair, await self.models.listed()
        if pair is None and not others:
            raise none_loaded()
        found = openai.models(pair, others)
        if name := scope["path"].removeprefix(_MODELS).removeprefix("/"):
            if (model := next((each for each in found["data"] if each["id"] == name), None)) is None:
                raise ApiError(404, f"There is no model “{name[:100]}”.", code="model_not_found")
            found = model
        await JSONResponse(found)(scope, receive, send)

    async def _count_tokens(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(scope, receive)
        request = count_request(body)
        async with self.models.using(_model(body), None):
            tokens = await count(self._submitter(meter), request)
        await JSONResponse({"input_tokens": tokens})(scope, receive, send)

    async def _tokenize(self, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        body = await self._body(scope, receive)
        async with self.models.using(_model(body), None) as pair:
            (request, *_) = ChatExchange(pair, body).requests
            tokens = await count(self._submitter(meter), CountTokens(request.messages, request.thinking, tools=request.tools))
            await JSONResponse({"count": tokens, "max_model_len": pair.context_limit})(scope, receive, send)

    def _replies(self, dialect: Dialect) -> Route:
        async def endpoint(meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
            body = await self._body(scope, receive)
            await until_gone(receive, self._answer(dialect, body, meter, scope, receive, send))

        return Route(endpoint, dialect.fields)

    def _submitter(self, meter: RequestMeter, limiting: Callable[[Deliver], Deliver] = lambda deliver: deliver) -> Submit:
        """Return the way of one HTTP request to the engine: calls are restored and kept, and replies counted and limited."""

        def submit(request: GenerationRequest | CountTokens, deliver: Deliver) -> Run:
            if isinstance(request, GenerationRequest):
                deliver = meter.counting(limiting(deliver))
            return self.models.submit(self._calls.restored(request), self._calls.keeping(deliver))

        return submit

    async def _body(self, scope: Scope, receive: Receive) -> Any:
        body = await read_json(scope, receive)
        if self._log_content:
            log.info("%s %s", scope["path"], json.dumps(body, ensure_ascii=False)[:_LOGGED])
        return body

    async def _answer(self, dialect: Dialect, body: Any, meter: RequestMeter, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request once its model is loaded."""
        stream = EventStream(send)
        streams = isinstance(body, dict) and body.get("stream") is True

        async def keep_alive(progress: str) -> None:
            began = stream.started
            await stream.comment(progress)
            if dialect is MessagesExchange:  # some of its clients ignore comments
                start = anthropic.message_start(anthropic.message(_model(body) or openai.ALIAS))
                await stream.send([anthropic.PING if began else start])

        try:
            async with self.models.using(_model(body), keep_alive if streams else None) as pair:
                exchange = dialect(pair, body)
                submit = self._submitter(meter)
                if isinstance(exchange, MessagesExchange):
                    exchange.began = stream.started
                elif isinstance(exchange, ChatExchange | ResponseExchange):
                    submit = self._submitter(meter, exchange.tools.limiting)
                if exchange.streams:
                    await streamed(submit, exchange, stream)
                else:
                    await JSONResponse(await whole(submit, exchange))(scope, receive, send)
        except ApiError as error:
            if error.code == "bad_schema":
                fields = dialect.fields.schema_field, "tools"
                given = [name for name in fields if body.get(name.partition(".")[0])]
                error.param = given[0] if len(given) == 1 else None
            if not stream.started:
                raise
            await stream.send([_error_body(error, scope)], last=True)


def _model(body: Any) -> str | None:
    """Return the model that a request names, or None. Other values are refused later."""
    name = body.get("model") if isinstance(body, dict) else None
    return name if isinstance(name, str) else None


def _client(scope: Scope) -> str:
    """Return the name of the program in the User-Agent header, or ""."""
    agent = dict(scope["headers"]).get(b"user-agent", b"").decode("latin-1")
    return "".join(letter for letter in agent.split("/")[0].split(" ")[0][:40] if letter.isascii() and letter.isprintable())


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {}
    if error.retry_after:
        headers["retry-after"] = str(error.retry_after)
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status in (403, 408, 413):
        headers["connection"] = "close"

    async def lingering(message: AsgiMessage) -> None:
        if message["type"] == "http.response.body" and error.status in (403, 413):
            await send({**message, "more_body": True})
            await _discard_body(receive)
            message = {"type": "http.response.body"}
        await send(message)

    await JSONResponse(_error_body(error, scope), error.status, headers)(scope, receive, lingering)


async def _discard_body(receive: Receive) -> None:
    """Discard the rest of a body.

    Closing a connection with unread data can lose the response.
    """
    left = MAX_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while left > 0 and (message := await receive()).get("more_body", False):
                left -= len(message["body"])


def _error_body(error: ApiError, scope: Scope) -> Chunk:
    dialect = anthropic if scope["path"].startswith(anthropic.PREFIX) else openai
    return dialect.error_body(error)
