"""The server's routes, request checks, error responses, and log."""

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, Router
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from mlx_engine.api_server import chat_completions, completions, messages, responses
from mlx_engine.api_server.body import RequestFields, read_json
from mlx_engine.api_server.call_cache import CallCache
from mlx_engine.api_server.exchanges import Chunk, Dialect, EventStream, RequestFiles, Submit, count, streamed, until_gone, whole
from mlx_engine.api_server.guard import Guard, is_preflight
from mlx_engine.api_server.metrics import Metrics, RequestMeter, prometheus
from mlx_engine.api_server.openapi import document
from mlx_engine.api_server.problems import ApiError, ClientGone
from mlx_engine.api_server.served_models import ServedModels, model_list, none_loaded
from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.limits import MAX_REQUEST_BYTES
from mlx_engine.contract.requests import CountTokens, GenerationRequest

log = logging.getLogger(__name__)

DIALECTS = (chat_completions.DIALECT, completions.DIALECT, responses.DIALECT, messages.DIALECT)
_CLIENT_GONE = 499  # status in the log if the client left before the reply, as in nginx
_LINGER_S = 1.0  # seconds in which the body of a refused request is discarded

Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """The server as an ASGI application.

    Attributes:
        models: the loaded pair, and those that can be loaded by name.
        guard: the checks before a request is served. Can be set from any thread.
        metrics: counts of requests and replies. Can be read from any thread.
        files: reads images and documents.

    Args:
        log_content: whether to log the content of requests.
    """

    def __init__(self, models: ServedModels, guard: Guard, log_content: bool = False) -> None:
        self.guard, self.models = guard, models
        self._log_content = log_content
        self.metrics = Metrics()
        self._calls = CallCache()
        self.files = RequestFiles()
        endpoints: dict[tuple[str, str], tuple[Handler, type[RequestFields] | None]] = {
            ("GET", "/health"): (self._health, None),
            ("GET", "/api/hello"): (self._health, None),  # requested by Claude Code
            ("GET", "/metrics"): (self._metrics, None),
            ("GET", "/openapi.json"): (self._openapi, None),
            ("GET", "/v1/models"): (self._models, None),
            **{("POST", each.path): (partial(self._reply, each), each.fields) for each in DIALECTS},
            ("POST", f"{messages.DIALECT.path}/count_tokens"): (self._count_tokens, messages.MessagesFields),
            ("POST", "/tokenize"): (self._tokenize, chat_completions.ChatFields),
        }
        self._fields = {key: fields for key, (_, fields) in endpoints.items()}
        self._paths = {path for _, path in endpoints}
        routes = [Route(path, endpoint, methods=[method]) for (method, path), (endpoint, _) in endpoints.items()]
        self._router = Router([*routes, Route("/v1/models/{name:path}", self._models)], redirect_slashes=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Its content is logged only with `log_content`."""
        if scope["type"] != "http":
            return
        shared = self.guard.sharing_headers(scope)
        status, began = 0, time.monotonic()
        meter = RequestMeter(self.metrics, scope["path"] if scope["path"] in self._paths else "other", _client(scope))
        scope.update({"app": self, "state": {"meter": meter}})

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
            else:
                await self._router(scope, receive, noting)
        except ClientGone:
            pass
        except (ApiError, HTTPException) as error:
            await _refuse(error if isinstance(error, ApiError) else _no_route(error, scope), scope, receive, noting)
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

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _metrics(self, request: Request) -> Response:
        return PlainTextResponse(prometheus(self.metrics, self.models.pair), media_type="text/plain; version=0.0.4")

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(self._document)

    @cached_property
    def _document(self) -> Chunk:
        return document(self._fields)

    async def _models(self, request: Request) -> Response:
        pair, others = self.models.pair, await self.models.listed()
        if pair is None and not others:
            raise none_loaded()
        found = model_list(pair, others)
        if name := request.path_params.get("name"):
            if (model := next((each for each in found["data"] if each["id"] == name), None)) is None:
                raise ApiError(404, f"There is no model “{name[:100]}”.", code="model_not_found")
            found = model
        return JSONResponse(found)

    async def _count_tokens(self, request: Request) -> Response:
        exchange = messages.MessagesExchange(await read_json(request.scope, request.receive, self._log_content))
        await self.files.check(exchange)
        async with self.models.using(exchange.fields.model) as pair:
            (message, *_) = await self.files.read(exchange, exchange.begin, pair)
            return JSONResponse({"input_tokens": (await count(self._submit_for(request), CountTokens(message))).tokens})

    async def _tokenize(self, request: Request) -> Response:
        exchange = chat_completions.ChatExchange(await read_json(request.scope, request.receive, self._log_content))
        await self.files.check(exchange)
        async with self.models.using(exchange.fields.model) as pair:
            (chat, *_) = await self.files.read(exchange, exchange.begin, pair)
            found = await count(self._submit_for(request), CountTokens(chat))
            return JSONResponse({"count": found.tokens, "max_model_len": pair.context_limit})

    async def _reply(self, dialect: Dialect, request: Request) -> Response:
        exchange = dialect.decode(await read_json(request.scope, request.receive, self._log_content))
        submit = self._submit_for(request)
        if not exchange.fields.stream:
            return JSONResponse(await until_gone(request.receive, whole(self.models, submit, self.files, exchange)))
        events = streamed(self.models, submit, self.files, exchange)
        return EventStream(await until_gone(request.receive, anext(events)), events)

    def _submit_for(self, http: Request) -> Submit:
        """Return how a request reaches the engine: with its calls, and counted."""
        meter: RequestMeter = http.state.meter

        def submit(request: GenerationRequest | CountTokens, deliver: Deliver) -> Run:
            if isinstance(request, GenerationRequest):
                deliver, request = meter.counting(deliver), self._calls.restored(request)
            else:
                request = replace(request, request=self._calls.restored(request.request))
            return self.models.submit(request, self._calls.keeping(deliver))

        return submit


def _client(scope: Scope) -> str:
    """Return the name of the program in the User-Agent header, or ""."""
    agent = dict(scope["headers"]).get(b"user-agent", b"").decode("latin-1")
    return "".join(letter for letter in agent.split("/")[0].split(" ")[0][:40] if letter.isascii() and letter.isprintable())


def _no_route(error: HTTPException, scope: Scope) -> ApiError:
    if error.status_code == 405:
        return ApiError(405, f"This endpoint doesn't support {scope['method'][:20]}.", code="method_not_allowed")
    return ApiError(404, "This endpoint doesn't exist.", code="unknown_endpoint")


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

    dialect = next((each for each in DIALECTS if scope["path"].startswith(each.path)), DIALECTS[0])
    await JSONResponse(dialect.error(error), error.status, headers)(scope, receive, lingering)


async def _discard_body(receive: Receive) -> None:
    """Discard the rest of a body.

    Closing a connection with unread data can lose the response.
    """
    left = MAX_REQUEST_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            while left > 0 and (message := await receive()).get("more_body", False):
                left -= len(message["body"])
