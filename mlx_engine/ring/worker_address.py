"""Addresses of workers, as users enter them."""

import ipaddress

PORT = 47820  # by default


def read_address(text: str) -> tuple[str, int] | None:
    """Return the host and port of `HOST` or `HOST:PORT`, or None if it is neither."""
    host, _, port = text.strip().partition(":")
    if not host or not host.isprintable() or " " in host or not (port.isdecimal() or not port) or len(port) > 5:
        return None
    try:
        host.encode("idna")  # as a lookup does
    except UnicodeError:
        return None
    return (host, int(port or PORT)) if int(port or PORT) in range(1, 65536) else None


def is_rank_address(text: object) -> bool:
    """Return whether a text is `HOST:PORT` with the address of a host, not its name."""
    host, _, port = str(text).rpartition(":")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return port.isascii() and port.isdecimal() and int(port[:6]) in range(1, 65536)
