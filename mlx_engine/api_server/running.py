"""A file with the address of the running server, for other programs of this user."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_json, write_json


def _file() -> Path:
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "server.json"


@contextmanager
def announced(url: str) -> Iterator[None]:
    """Let other programs find a server while it runs. They find the latest one."""
    own = {"url": url, "pid": os.getpid()}
    with suppress(UserError):  # the folder isn't writable
        write_json(_file(), own)
    try:
        yield
    finally:
        with suppress(UserError, OSError):
            if read_json(_file()) == own:
                _file().unlink()


def running_server() -> str | None:
    """Return the URL of the server that was started last, or None if it has ended."""
    try:
        found = read_json(_file())
        os.kill(found["pid"], 0)
        return str(found["url"])
    except (UserError, OSError, TypeError, KeyError, OverflowError):
        return None
