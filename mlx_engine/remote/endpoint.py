"""The HTTP client for a server with OpenAI's API, and messages for its errors."""

import ipaddress
import json
import re
import socket
import ssl
from contextlib import suppress
from dataclasses import replace
from typing import Any

import httpx2

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Endpoint
from mlx_engine.network import local_network, traffic
from mlx_engine.network.offline import is_this_computer

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LOCAL_NAME = re.compile(r"[^.]+|.*\.(local|localhost|lan|home|internal|home\.arpa)\.?", re.IGNORECASE)
_ENDPOINT = re.compile(r"/v1/(chat/completions|completions|models|responses)/*$")
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|::1", re.IGNORECASE)
_LONGEST_HOST = 253  # characters of a name in the domain name system
_LONGEST_REASON = 300  # characters of a server's own message
_INVALID_CERTIFICATES = (9, 10, 62, 64)  # OpenSSL's codes: not yet valid, expired, another host or address
_CONTEXT_CODES = ("context_length_exceeded", "exceed_context_size_error", "context_exceeded")
_CONTEXT_WORDS = ("maximum context length", "context size", "context window", "longer than the maximum")


def client_of(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Return an HTTP client for an endpoint.

    Raises:
        UserError: the address or the certificate file can't be used, or Offline is on.
    """
    endpoint = checked(endpoint)
    for url in filter(None, (endpoint.url, endpoint.plain_url)):
        _require_encryption(_parsed(url).host, url)
    verify: ssl.SSLContext | bool = True
    if endpoint.ca_file is not None:
        try:
            verify = ssl.create_default_context(cafile=endpoint.ca_file)
        except (OSError, ssl.SSLError) as error:
            template = "The certificate file “{file}” can't be used: {reason}. Choose a PEM file."
            raise UserError("remote_bad_ca", template, file=str(endpoint.ca_file), reason=str(error)) from None
    headers = [*endpoint.headers, *([("Authorization", f"Bearer {endpoint.key}")] if endpoint.key else [])]
    timeout = httpx2.Timeout(endpoint.timeout_s, connect=min(10.0, endpoint.timeout_s))
    limits = httpx2.Limits(max_keepalive_connections=0)  # servers close idle connections just when they are used again
    options: dict[str, Any] = {"headers": headers, "verify": verify, "timeout": timeout, "limits": limits}
    return traffic.async_client("endpoint", **options, trust_env=False)


def checked(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with its host names in ASCII, as lookups need them.

    Raises:
        UserError: an address, the key, or a header is invalid.
    """
    values = (endpoint.key, *(value for _, value in endpoint.headers))
    if not all(_HEADER_NAME.fullmatch(name) for name, _ in endpoint.headers) or not all(map(_is_header_value, values)):
        raise UserError("remote_bad_header", "The key or a header contains characters that HTTP doesn't allow. Correct it.")
    plain_url = _checked_url(endpoint.plain_url) if endpoint.plain_url else ""
    return replace(endpoint, url=_checked_url(endpoint.url), plain_url=plain_url)


def complete_address(text: str) -> str:
    """Return an address as a user means it.

    A missing scheme is http for this computer and private networks, where servers rarely have certificates, and otherwise https. An
    path such as “/v1/chat/completions” is left out.
    """
    text = text.strip()
    if text and "://" not in text:
        host, slash, path = text.removeprefix("//").partition("/")
        with suppress(ValueError):
            host = f"[{ipaddress.IPv6Address(host)}]"
        scheme = "http" if _is_near(_parsed(f"http://{host}").host) else "https"
        text = f"{scheme}://{host}{slash}{path}"
    return _ENDPOINT.sub("/v1", text)


def _is_near(host: str) -> bool:
    """Return whether a host looks local, without looking up its name."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return _LOCAL_NAME.fullmatch(host) is not None
    return found.is_private or found.is_link_local


def _checked_url(url: str) -> str:
    parts = _parsed(complete_address(url))
    if parts.username or parts.password:
        raise UserError("remote_password_in_address", "The address contains a password. Enter the key in its own field.")
    is_name = "%" not in parts.host or ":" in parts.host  # spaces are quoted, but so are the zones of IPv6 addresses
    is_host = is_name and 0 < len(parts.host) <= _LONGEST_HOST and (parts.port or 1) < 1 << 16
    if parts.scheme not in ("http", "https") or not is_host or parts.query or parts.fragment:
        template = "“{url}” isn't a valid address. Enter one such as http://192.168.1.20:8000."
        raise UserError("remote_bad_address", template, url=_shortened(url))
    with suppress(ValueError):  # the host is a name
        _require_encryption(str(ipaddress.ip_address(parts.host)), str(parts))
    return str(parts)


def open_host(endpoint: Endpoint) -> str:
    """Return a host that is reached over a network unencrypted, or ""."""
    parts = [_parsed(url) for url in (endpoint.url, endpoint.plain_url)]
    return next((part.host for part in parts if part.scheme == "http" and not _LOOPBACK.fullmatch(part.host)), "")


def other_computers(endpoint: Endpoint) -> str:
    """Return the hosts of other computers that get an endpoint's messages, or ""."""
    urls = [complete_address(url) for url in (endpoint.url, endpoint.plain_url) if url]
    return ", ".join(dict.fromkeys(Endpoint(url).host or url for url in urls if not is_this_computer(_parsed(url).host)))


def reaches(endpoint: Endpoint, server_url: str) -> bool:
    """Return whether an endpoint reaches a server on this computer."""
    port = _parsed(server_url).port
    parts = [_parsed(url) for url in (endpoint.url, endpoint.plain_url)]
    return any(part.port == port and _LOOPBACK.fullmatch(part.host) for part in parts if server_url)


def address(url: str, path: str) -> str:
    """Return the address of a path such as “/v1/models”."""
    return url.rstrip("/").removesuffix("/v1") + path


def _require_encryption(host: str, url: str) -> None:
    """Refuse unencrypted connections to public networks. Looks up names."""
    if _parsed(url).scheme == "http" and not local_network.is_private(host):
        template = "The connection to “{host}” isn't encrypted. Use https, or an address on your own network."
        raise UserError("remote_not_encrypted", template, host=host)


def _is_header_value(text: str) -> bool:
    return text.isascii() and text.isprintable() and text == text.strip()


def _parsed(url: str) -> httpx2.URL:
    """Return the parts of an address, which are empty if it isn't one."""
    try:
        return httpx2.URL(url)
    except httpx2.InvalidURL:
        return httpx2.URL("")


def unreachable(endpoint: Endpoint, error: Exception) -> UserError:
    """Return the error for a failed connection."""
    host, causes = endpoint.host, list(local_network.causes(error))
    if refusal := next((cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None):
        if refusal.verify_code in _INVALID_CERTIFICATES:
            template = "The certificate for “{host}” isn't valid: {reason}. Check the address, or renew the certificate."
            return UserError("remote_certificate_invalid", template, host=host, reason=_shortened(refusal.verify_message))
        template = "The certificate for “{host}” isn't trusted. Add its certificate authority to the connection."
        return UserError("remote_certificate", template, host=host)
    if isinstance(error, httpx2.ConnectError):
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            template = "“{host}” doesn't accept encrypted connections. Check the port, or enter the address with http://."
            return UserError("remote_without_tls", template, host=host)
        if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
            template = "Nothing listens at “{host}”. Start the server, or check the address and port."
            return UserError("remote_nothing_listens", template, host=host)
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            template = "“{host}” wasn't found. Check the spelling and your network connection."
            return UserError("remote_unknown_host", template, host=host)
        if local_network.may_be_denied(_parsed(endpoint.url).host, error):
            return UserError.of(local_network.denied(host))
        template = "“{host}” can't be reached. Check the address and your network connection."
        return UserError("remote_no_route", template, host=host)
    if isinstance(error, httpx2.ConnectTimeout):
        template = "“{host}” isn't responding. Check the address, and make sure that the server is running."
        return UserError("remote_unreachable", template, host=host)
    if isinstance(error, httpx2.TimeoutException):
        template = "“{host}” sent nothing for {seconds:g} seconds. Try again."
        return UserError("remote_timed_out", template, host=host, seconds=endpoint.timeout_s)
    return UserError("remote_lost", "The connection to “{host}” was lost. Try again.", host=host)


def refused(endpoint: Endpoint, status: int, body: bytes, retry_after: str = "") -> UserError:
    """Return the error for an HTTP status.

    Args:
        body: beginning of the response.
        retry_after: value of the `Retry-After` header.
    """
    host = endpoint.host
    found = _json(body)
    if status in (401, 403):
        return UserError("remote_key", "“{host}” rejected the key. Enter the correct key for this connection.", host=host)
    if status == 429:
        if retry_after.isdecimal() and len(retry_after) < 6:
            template = "“{host}” is busy. Try again in {seconds} seconds."
            return UserError("remote_busy_until", template, host=host, seconds=int(retry_after))
        return UserError("remote_busy", "“{host}” is busy. Try again in a moment.", host=host)
    if found is None:
        template = "“{host}” responded with HTTP status {status} and no message. Check the address."
        return UserError("remote_not_api", template, host=host, status=status)
    return failure(endpoint, found, status)


def failure(endpoint: Endpoint, found: Any, status: int = 0) -> UserError:
    """Return the error for a server's error object.

    Args:
        status: HTTP status; 0 for errors in a stream, which contain their own.
    """
    host, reason, codes = endpoint.host, reason_of(found), _codes_of(found)
    status = status or next((int(code) for code in codes if code.isdecimal() and len(code) == 3), 0)
    if any(code in _CONTEXT_CODES for code in codes) or any(words in reason for words in _CONTEXT_WORDS):
        template = "The chat is too long for the model on “{host}”: {reason}"
        return UserError("remote_context_exceeded", template, host=host, reason=reason)
    if "tool-call-parser" in reason:
        return UserError("remote_no_tools", "“{host}” isn't set up for tool calls. Turn off tools in this chat.", host=host)
    if status == 404 and endpoint.model:
        template = "“{host}” doesn't offer “{model}” anymore: {reason}"
        return UserError("remote_no_model", template, host=host, model=endpoint.model, reason=reason)
    if 400 <= status < 500:
        return UserError("remote_refused", "“{host}” refused the request: {reason}", host=host, reason=reason)
    return UserError("remote_failed", "“{host}” failed: {reason}", host=host, reason=reason)


def reason_of(found: Any) -> str:
    """Return the message of an error response. Servers use different fields for it."""
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(name):
            return reason_of(found[name])
    return _shortened(found if isinstance(found, str) else json.dumps(found))


def _shortened(text: str) -> str:
    """Return untrusted text in one line, without hidden characters."""
    text = "".join(char if char.isprintable() else " " for char in text).strip()
    return text if len(text) <= _LONGEST_REASON else text[:_LONGEST_REASON] + "…"


def _codes_of(found: Any) -> list[str]:
    error = found.get("error", found) if isinstance(found, dict) else {}
    return [str(error.get(name, "")) for name in ("type", "code")] if isinstance(error, dict) else []


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
