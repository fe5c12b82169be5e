"""Servers of tools over HTTP that misbehave on request, and a server to sign in to."""

import asyncio
import json
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from inspect import isawaitable
from typing import Any

import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, AuthorizationParams, RefreshToken, construct_redirect_uri
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route


@contextmanager
def serving(listener: socket.socket, app: Any) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    yield
    server.should_exit = True
    thread.join()


def listening() -> tuple[socket.socket, str]:
    """Return a bound socket and its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


class WebTools:
    """A server of tools. Each method is a tool, which returns a text or a response.

    Attributes:
        headers: headers of each request.
        tokens: tokens of which one is required, or None if none is.
        signed_in_at: address of the server to sign in to.
        redirect_to: where /elsewhere leads.
        never_ends: whether the end of a session is never answered.
    """

    def __init__(self) -> None:
        self.listener, self.origin = listening()
        self.url = f"{self.origin}/mcp"
        self.headers: list[dict[str, str]] = []
        self.sessions: set[str] = set()
        self.tokens: dict[str, Any] | None = None
        self.signed_in_at = ""
        self.redirect_to = ""
        self.never_ends = False
        routes = [
            Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"]),
            Route("/elsewhere", self._redirect, methods=["GET", "POST"]),
            Route("/.well-known/oauth-protected-resource/mcp", self._resource),
        ]
        self.app = Starlette(routes=routes)

    def echo(self, message: dict) -> str:
        return message["params"]["arguments"]["text"]

    def header(self, message: dict) -> str:
        return json.dumps(self.headers[-1])

    def big(self, message: dict) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b" " * 1_000_000

        return StreamingResponse(parts(), media_type="application/json")

    def big_event(self, message: dict) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"data: "
            for _ in range(100):
                yield b" " * 1_000_000

        return StreamingResponse(parts(), media_type="text/event-stream")

    def values(self, message: dict) -> Response:
        return Response(b'{"result": [' + b"[]," * 1_000_000 + b"[]]}", media_type="application/json")

    def event_values(self, message: dict) -> Response:
        return Response(b"data: [" + b"[]," * 300_000 + b"[]]\n\n", media_type="text/event-stream")

    def event_commas(self, message: dict) -> Response:
        result = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": '"a,b",' * 60_000}]}}
        return Response(f"data: {json.dumps(result)}\n\n", media_type="text/event-stream")

    def events(self, message: dict) -> Response:
        """Progress as fast as it can be sent, and then the result."""
        token = message["params"]["_meta"]["progressToken"]
        step = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
        result = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": "the end"}]}}

        async def parts() -> AsyncIterator[bytes]:
            for _ in range(15):
                yield f"data: {json.dumps(step)}\r\n\r\n".encode() * 100
            yield f"data: {json.dumps(result)}\r\n\r\n".encode()

        return StreamingResponse(parts(), media_type="text/event-stream")

    def compressed(self, message: dict) -> Response:
        return Response(b"\x1f\x8b", headers={"content-encoding": "gzip", "content-type": "application/json"})

    def not_json(self, message: dict) -> Response:
        return Response("{", media_type="application/json")

    def error(self, message: dict) -> Response:
        return Response("no", 500)

    async def never(self, message: dict) -> Response:
        await asyncio.sleep(600)
        return Response()

    def forget(self, message: dict) -> str:
        self.sessions.clear()
        return "forgotten"

    async def _answer(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        if self.tokens is not None and request.headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            metadata = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
            return Response("", 401, {"www-authenticate": f'Bearer resource_metadata="{metadata}"'})
        if request.method == "DELETE" and self.never_ends:
            await asyncio.sleep(600)
        if request.method != "POST":
            return Response("", 405)
        message = await request.json()
        if "id" not in message:
            return Response("", 202)
        if message["method"] == "initialize":
            session = secrets.token_hex()
            self.sessions.add(session)
            result = {
                "protocolVersion": message["params"]["protocolVersion"],
                "serverInfo": {"name": "web", "version": "1"},
                "capabilities": {"tools": {}},
            }
            return self._result(message, result, {"mcp-session-id": session})
        if request.headers.get("mcp-session-id") not in self.sessions:
            return Response("", 404)
        if message["method"] == "tools/list":
            names = [name for name, value in vars(WebTools).items() if not name.startswith("_") and callable(value)]
            return self._result(message, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]})
        found = getattr(self, message["params"]["name"])(message)
        if isawaitable(found):
            found = await found
        return self._result(message, {"content": [{"type": "text", "text": found}]}) if isinstance(found, str) else found

    def _result(self, message: dict, result: dict, headers: dict[str, str] | None = None) -> Response:
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers)

    async def _redirect(self, request: Request) -> Response:
        return RedirectResponse(self.redirect_to, 307)

    async def _resource(self, request: Request) -> Response:
        return JSONResponse({"resource": self.url, "authorization_servers": [self.signed_in_at]})


class SignInServer:
    """A server to sign in to. It approves everything immediately, unless `refuses`.

    Attributes:
        tokens: valid tokens.
        requests: the paths of all requests, except those for metadata.
    """

    def __init__(self) -> None:
        self.listener, self.origin = listening()
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.requests: list[str] = []
        self.refuses = False
        registration = ClientRegistrationOptions(enabled=True)
        routes = create_auth_routes(self, AnyHttpUrl(self.origin), client_registration_options=registration)  # type: ignore[arg-type]
        app = Starlette(routes=routes)

        async def noting(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and not scope["path"].startswith("/.well-known"):
                self.requests.append(scope["path"])
            await app(scope, receive, send)

        self.app = noting

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        if self.refuses:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", state=params.state)
        code = secrets.token_hex()
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=[],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._tokens(client)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        with suppress(KeyError):
            del self.tokens[token.token]

    def _tokens(self, client: OAuthClientInformationFull) -> OAuthToken:
        access, refresh = secrets.token_hex(), secrets.token_hex()
        self.tokens.clear()
        self.tokens[access] = AccessToken(token=access, client_id=client.client_id, scopes=[])
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=[])
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=3600, refresh_token=refresh)
