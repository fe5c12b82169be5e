"""Sign-in to remote servers with OAuth.

Credentials are kept in the system's keychain.

This module takes most of a second to import.
"""

import asyncio
import logging
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel

from mlx_engine.contract import secrets
from mlx_engine.contract.errors import UserError
from mlx_engine.mcp.transports import is_secure
from mlx_engine.network import traffic

log = logging.getLogger(__name__)

SIGN_IN_S = 300.0  # for the user, in the browser
_SERVICE = "Slipstream tools sign-in"
_LOOPBACK = "127.0.0.1"
_ANSWER = """HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n\r\n\
<!doctype html><title>Slipstream</title><p style="font: 16px system-ui; margin: 3em">{text}</p>"""


class SignInNeeded(Exception):
    """The server needs a sign-in, and the user hasn't asked for one."""


class _Stored(BaseModel):
    """What is stored for an address: tokens, app registration, and sign-in addresses."""

    tokens: OAuthToken | None = None
    expires: float | None = None
    client: OAuthClientInformationFull | None = None
    server: OAuthMetadata | None = None


class _Credentials:
    """The stored data of an address. Damaged data needs a new sign-in."""

    def __init__(self, url: str) -> None:
        self.url, self.stored = url, _Stored()

    async def load(self) -> None:
        stored = await asyncio.to_thread(secrets.saved, _SERVICE, self.url)
        with suppress(ValueError):
            self.stored = _Stored.model_validate_json(stored or "{}")

    async def save(self, **values: Any) -> None:
        self.stored = self.stored.model_copy(update=values)
        await asyncio.to_thread(secrets.save, _SERVICE, self.url, self.stored.model_dump_json())

    async def get_tokens(self) -> OAuthToken | None:
        return self.stored.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self.save(tokens=tokens, expires=None if tokens.expires_in is None else time.time() + tokens.expires_in)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.stored.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.save(client=client_info)


class _Provider(OAuthClientProvider):
    """The SDK's sign-in, which can also renew a token from an earlier run of the app."""

    def __init__(self, credentials: _Credentials, **arguments: Any) -> None:
        super().__init__(credentials.url, storage=credentials, **arguments)
        self._credentials = credentials

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.token_expiry_time = self._credentials.stored.expires
        self.context.oauth_metadata = self._credentials.stored.server or self.context.oauth_metadata


@asynccontextmanager
async def authorization(url: str, open_browser: Callable[[str], None] | None) -> AsyncIterator[OAuthClientProvider | None]:
    """Yield the authentication for an address, or None without credentials.

    Args:
        open_browser: called with the address of the sign-in page. None if the user hasn't asked for a sign-in; then a missing or
            expired sign-in raises `SignInNeeded`.
    """
    credentials = _Credentials(url)
    if open_browser is None:
        await credentials.load()
        yield _provider(credentials, "http://127.0.0.1/callback", _refuse, None) if credentials.stored.tokens else None
        return
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    state = ""

    async def answered(reader: StreamReader, writer: StreamWriter) -> None:
        status, text = "404 Not Found", "This isn't a page of Slipstream."
        made = traffic.AcceptedConnection(writer.transport, "sign_in")
        with suppress(ValueError, IndexError, OSError, TimeoutError):
            async with asyncio.timeout(10):
                line = await reader.readline()
                made.add(received=len(line))
                target = urlsplit(line.decode("ascii").split()[1])
            values = {name: found[0] for name, found in parse_qs(target.query).items()}
            if target.path == "/callback" and state and values.get("state") == state and not answer.done():
                answer.set_result(AuthorizationCodeResult(code=values.get("code", ""), state=state, iss=values.get("iss")))
                status, text = "200 OK", "You can close this window and return to Slipstream."
            made.write(_ANSWER.format(status=status, text=text).encode())
            await writer.drain()
        writer.close()
        made.end()

    async def redirect(page: str) -> None:
        nonlocal state
        if state:
            raise SignInNeeded  # the sign-in has expired since
        if not is_secure(page, url):
            raise UserError(
                "tool_url_not_secure", "“{url}” must start with https://. Change the address.", url=page.partition("?")[0]
            )
        state = parse_qs(urlsplit(page).query)["state"][0]
        await credentials.save(server=provider.context.oauth_metadata)
        open_browser(page)

    async def callback() -> AuthorizationCodeResult:
        try:
            return await answer
        finally:
            listener.close()

    listener = await asyncio.start_server(answered, _LOOPBACK, 0, limit=1 << 16)
    try:
        port = listener.sockets[0].getsockname()[1]
        provider = _provider(credentials, f"http://{_LOOPBACK}:{port}/callback", redirect, callback)
        yield provider
    finally:
        listener.close()


def _provider(credentials: _Credentials, callback: str, redirect: Any, answer: Any) -> _Provider:
    metadata = OAuthClientMetadata(client_name="Slipstream", redirect_uris=[AnyUrl(callback)], token_endpoint_auth_method="none")
    return _Provider(credentials, client_metadata=metadata, redirect_handler=redirect, callback_handler=answer)


async def _refuse(page: str) -> None:
    raise SignInNeeded


def forget(url: str) -> None:
    """Forget the credentials of an address."""
    secrets.delete(_SERVICE, url)
