"""The server's routes, request checks, error responses, and log."""

import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from mlx_engine.events import PairInfo
from mlx_engine.host import EngineDoor
from mlx_engine.server import anthropic, openai
from mlx_engine.server.body import read_json
from mlx_engine.server.chat_completions import ChatExchange
from mlx_engine.server.completions import CompletionExchange
from mlx_engine.server.guard import Guard
from mlx_engine.server.problems import ApiError, ClientGone
from mlx_engine.server.replies import Exchange, answer

log = logging.getLogger(__name__)

LOADING_S = 5  # seconds after which a client may try again, if no pair is loaded

Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]


class Api:
    """The server as an ASGI application.

    Attributes:
        pair: the pair that the engine has loaded, or None while it has none. Can be set from any thread, like `guard`.
        guard: the checks before a request is served.
    """

    def __init__(self, door: EngineDoor, pair: PairInfo | None, guard: Guard) -> None:
        self.pair, self.guard = pair, guard
        self._door = door
        self._routes: dict[tuple[str, str], Endpoint] = {
            ("GET", "/health"): self._health,
            ("GET", "/api/hello"): self._health,  # asked by Claude Code
            ("GET", "/v1/models"): self._models,
            ("POST", "/v1/chat/completions"): self._replies(ChatExchange),
            ("POST", "/v1/completions"): self._replies(CompletionExchange),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request. Its content is never logged."""
        if scope["type"] != "http":
            return
        started = False

        async def noting(message: AsgiMessage) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            self.guard.check(scope)
            await self._endpoint(scope)(scope, receive, noting)
        except ClientGone:
            pass
        except ApiError as error:
            await _refuse(error, scope, receive, send)
        except Exception as bug:
            trace = "".join(traceback.format_tb(bug.__traceback__))  # without the message, which may contain text of a request
            log.error("The server failed with %s\n%s", type(bug).__name__, trace)
            if not started:
                await _refuse(ApiError(500, "Something went wrong in Slipstream.", code="internal_error"), scope, receive, send)

    def _endpoint(self, scope: Scope) -> Endpoint:
        method, path = "GET" if scope["method"] == "HEAD" else scope["method"], scope["path"]
        if found := self._routes.get((method, path)):
            return found
        if any(path == each for _, each in self._routes):
            raise ApiError(405, f"This endpoint doesn't support {method[:20]}.", code="method_not_allowed")
        raise ApiError(404, "This endpoint doesn't exist.", code="unknown_endpoint")

    async def _health(self, scope: Scope, receive: Receive, send: Send) -> None:
        await JSONResponse({"status": "ok"})(scope, receive, send)

    async def _models(self, scope: Scope, receive: Receive, send: Send) -> None:
        await JSONResponse(openai.models(self._loaded()))(scope, receive, send)

    def _loaded(self) -> PairInfo:
        if (pair := self.pair) is None:
            message = "No models are loaded. Load a pair in Slipstream, or wait until the models have loaded."
            raise ApiError(503, message, code="model_not_loaded", retry_after=LOADING_S)
        return pair

    def _replies(self, dialect: Callable[[PairInfo, Any], Exchange]) -> Endpoint:
        async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
            body = await read_json(scope, receive)
            exchange = dialect(self._loaded(), body)
            await answer(self._door, exchange, scope, receive, send)

        return endpoint


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {}
    if error.retry_after:
        headers["retry-after"] = str(error.retry_after)
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status in (403, 408, 413):
        headers["connection"] = "close"  # the rest of the body isn't read
    dialect = anthropic if scope["path"].startswith(anthropic.PREFIX) else openai
    await JSONResponse(dialect.error_body(error), error.status, headers)(scope, receive, send)
