"""The local network, for which macOS requires the user's permission."""

import errno
import ipaddress
import sys
from collections.abc import Iterator

from mlx_engine.contract.errors import EngineText
from mlx_engine.network import offline, traffic

HAS_PERMISSION = sys.platform == "darwin"  # whether the system asks for one


def is_private(host: str) -> bool:
    """Return whether a host is this computer or in a private network.

    Looks up names. A name that can't be resolved counts as private: connecting to it fails anyway.

    Raises:
        OfflineRefusal: Offline is on, and the host is a name of another computer.
    """
    try:
        found = traffic.addresses(host)
    except (OSError, UnicodeError):
        return True
    addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in found]
    addresses = [getattr(each, "ipv4_mapped", None) or each for each in addresses]
    return all(each.is_private or each.is_link_local for each in addresses)


def may_be_denied(host: str, error: BaseException) -> bool:
    """Return whether a connection may have failed for lack of the permission.

    macOS doesn't say so. It reports “No route to host”, as for a computer that is off.
    """
    unreachable = any(isinstance(cause, OSError) and cause.errno == errno.EHOSTUNREACH for cause in causes(error))
    return HAS_PERMISSION and unreachable and not offline.is_offline() and is_private(host)


def denied(host: str) -> EngineText:
    """Return the error for a connection that may lack the permission."""
    template = (
        "“{host}” can't be reached. Make sure that it is on, and allow Slipstream in System Settings ▸ "
        "Privacy & Security ▸ Local Network."
    )
    return EngineText.of("remote_local_network", template, host=host)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    found = [error]
    for one in found:
        inner = (*getattr(one, "exceptions", ()), one.__cause__, one.__context__)
        found += [each for each in inner if each is not None and each not in found]
    yield from found
