"""The Offline switch, which all processes of this user follow.

A file in the data folder holds it, so that it also reaches processes that are already running. The variable SLIPSTREAM_OFFLINE
turns it on for one process and its children, except programs that the user adds as tools.
"""

import ipaddress
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import DamagedFile, data_folder, read_json, write_json

VARIABLE = "SLIPSTREAM_OFFLINE"
CODES = ("offline", "offline_command")  # of refusals
_last = True  # until it is read for the first time
_listeners: list[Callable[[], None]] = []


class OfflineRefusal(UserError):
    """An error for a connection that wasn't made, or was ended, because of Offline."""


def is_forced() -> bool:
    """Return whether the environment turns Offline on."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def is_offline() -> bool:
    """Return whether Offline is on. If its file is damaged, it is."""
    global _last
    if is_forced():
        return True
    try:
        found = read_json(_file())
    except DamagedFile:
        return True
    except UserError:  # too many files may be open
        return _last
    _last = found is not None and not (isinstance(found, dict) and found.get("offline") is False)
    return _last


def set_offline(on: bool) -> None:
    """Turn Offline on or off, in all processes. Connections that are open are ended.

    Raises:
        UserError: the switch can't be saved.
    """
    write_json(_file(), {"offline": on})
    for listener in _listeners:
        listener()


def on_change(listener: Callable[[], None]) -> None:
    """Call `listener` after each change by this process, on the thread that makes it."""
    _listeners.append(listener)


def refusal(host: str) -> OfflineRefusal:
    """Return the error for a host that isn't contacted while Offline is on."""
    if is_forced():
        template = "Offline is on for this command, so “{host}” can't be reached. Leave out --offline, or unset {variable}."
        return OfflineRefusal("offline_command", template, host=host, variable=VARIABLE)
    template = "Offline is on, so “{host}” can't be reached. Turn it off in Settings ▸ Privacy, then try again."
    return OfflineRefusal("offline", template, host=host)


def is_this_computer(host: str) -> bool:
    """Return whether a name or address always means this computer. Looks up nothing."""
    with suppress(ValueError):
        found = ipaddress.ip_address(host.partition("%")[0])
        found = getattr(found, "ipv4_mapped", None) or found
        return found.is_loopback or found.is_unspecified  # as a destination, it is this computer, too
    return host.lower().removesuffix(".") == "localhost"  # other names below it may be looked up elsewhere


def _file() -> Path:
    return data_folder() / "offline.json"
