"""The checks before a request is served: host, origin, and API key."""

import hmac
import ipaddress
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.types import Scope

from mlx_engine.api_server.problems import ApiError

OPEN_PATHS = frozenset({"/health"})  # served without a key
MAX_HEADER_BYTES = 32 << 10
_NAMES = re.compile(rb"[\w, -]+", re.ASCII)  # of headers


@dataclass(frozen=True)
class Guard:
    """A filter against requests from other sites' web pages or without the API key.

    A web page can make its own host name resolve to this machine (DNS rebinding), so that its requests reach the server. Their Host
    header still has the page's host name.

    Attributes:
        host: address that the server listens on.
        key: the API key, or None if requests don't need one.
        origins: origins whose web pages may send requests, such as “http://localhost:3000”.
    """

    host: str
    key: str | None = field(repr=False)
    origins: frozenset[str] = frozenset()

    def check(self, scope: Scope) -> None:
        """Refuse a request.

        Raises:
            ApiError: the request's host, origin, or key is not allowed.
        """
        headers = scope["headers"]
        if sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEADER_BYTES:
            raise ApiError(431, f"The headers are larger than {MAX_HEADER_BYTES >> 10} KiB.", code="headers_too_large")
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._is_own(_name_of(hosts[0])):
            raise ApiError(403, "This Host header isn't allowed. Use the address that Slipstream shows.", code="host_not_allowed")
        for name, value in headers:
            own = f"{scope['scheme']}://{hosts[0].lower()}"
            if name == b"origin" and value.decode("latin-1").lower() not in (own, *self.origins):
                message = (
                    "Requests from this web page aren't allowed. Start “slipstream serve” with --allow-origin to allow its origin."
                )
                raise ApiError(403, message, code="origin_not_allowed")
        if scope["method"] not in ("GET", "HEAD") and _comes_from_a_page(headers):
            raise ApiError(403, "Requests from this web page aren't allowed.", code="origin_not_allowed")
        if self.key is None or scope["path"] in OPEN_PATHS or is_preflight(scope):
            return
        given = [value for name, value in headers if name == b"x-api-key"]
        given += [value[7:].strip() for name, value in headers if name == b"authorization" and value[:7].lower() == b"bearer "]
        if not any([hmac.compare_digest(value, self.key.encode()) for value in given]):
            message = "The API key is missing or wrong. Send it as “Authorization: Bearer KEY” or “x-api-key: KEY”."
            raise ApiError(401, message, code="invalid_api_key")

    def sharing_headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Return the headers that let a web page of an allowed origin read the response."""
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"")
        if origin.decode("latin-1").lower() not in self.origins:
            return []
        shared = [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        if is_preflight(scope):
            wanted = headers.get(b"access-control-request-headers", b"")
            shared += [(b"access-control-allow-methods", b"GET, POST"), (b"access-control-max-age", b"600")]
            shared += [(b"access-control-allow-headers", wanted)] if _NAMES.fullmatch(wanted) else []
        return shared

    def _is_own(self, name: str) -> bool:
        """Return whether a host name always means this machine."""
        if name in ("localhost", self.host.lower()):
            return True
        with suppress(ValueError):
            address = ipaddress.ip_address(name)
            return address.is_loopback or not is_loopback(self.host)
        own = socket.gethostname().lower().removesuffix(".local")
        return not is_loopback(self.host) and name in (own, f"{own}.local")


def is_preflight(scope: Scope) -> bool:
    """Return whether a browser is asking if a web page may send a request."""
    names = {name for name, _ in scope["headers"]}
    return scope["method"] == "OPTIONS" and {b"origin", b"access-control-request-method"} <= names


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a host name or address."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"


def _name_of(host: str) -> str:
    """Return the name or address in a Host header, or "" if malformed.

    The port, brackets, and a trailing dot are removed.
    """
    with suppress(ValueError):
        parts = urlsplit(f"//{host}")
        if parts.netloc == host and "@" not in host and not parts.path:
            _ = parts.port
            return (parts.hostname or "").removesuffix(".")
    return ""


def _comes_from_a_page(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a browser hides which page sent a cross-site request."""
    given = dict(headers)
    return b"origin" not in given and given.get(b"sec-fetch-site") in (b"cross-site", b"same-site")
