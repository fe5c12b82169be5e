"""Tools that the user allowed to run without asking again."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import filelock

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import replace_file, why_failed
from mlx_engine.mcp.tool import Tool

log = logging.getLogger(__name__)

Decision = Literal["once", "chat", "always", "deny"]
_VERSION = 1
_LOCK_TIMEOUT_S = 2.0
_LARGEST = 4_000_000  # bytes
_NOT_OURS = (ValueError, TypeError, LookupError, RecursionError)  # content that Slipstream doesn't write
_Entries = dict[tuple[str, str], str]  # fingerprint by server and tool


class Approvals:
    """The tools that are allowed in a chat or always.

    An approval belongs to a tool's fingerprint, so that it ends when the tool changes. Several programs may share the file.

    Args:
        file: stores the permanent approvals; None keeps them in memory. If it is damaged, nothing is approved.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._always: _Entries = {}  # without a file
        self._chats = dict[tuple[str, str, str], str]()  # fingerprint by chat, server, and tool

    def allows(self, tool: Tool, chat: str) -> bool:
        """Return whether the tool may run in a chat without asking."""
        if self._chats.get((chat, tool.server_key, tool.name)) == tool.fingerprint:
            return True
        return self._read().get((tool.server_key, tool.name)) in (tool.fingerprint, tool.earlier_fingerprint)

    def has_changed(self, tool: Tool, chat: str) -> bool:
        """Return whether the tool needs a new approval only because it has changed."""
        known = (chat, tool.server_key, tool.name) in self._chats or (tool.server_key, tool.name) in self._read()
        return known and not self.allows(tool, chat)

    def record(self, tool: Tool, chat: str, decision: Decision) -> None:
        """Keep a decision for the chat or permanently; only for the chat if saving fails."""
        if decision == "always":
            try:
                with self._changed() as entries:
                    entries[tool.server_key, tool.name] = tool.fingerprint
                return
            except UserError as error:
                log.warning("%s", error)
        if decision in ("chat", "always"):
            self._chats[chat, tool.server_key, tool.name] = tool.fingerprint

    def always(self) -> tuple[tuple[str, str], ...]:
        """Return the sorted pairs of server key and name of tools that are always allowed."""
        return tuple(sorted(self._read()))

    def revoke(self, server: str, tool: str) -> None:
        """Ask again before the tool's next call, in all chats.

        Raises:
            UserError: the file can't be written.
        """
        self._chats = {key: value for key, value in self._chats.items() if key[1:] != (server, tool)}
        with self._changed() as entries:
            entries.pop((server, tool), None)

    def _read(self) -> _Entries:
        """Return the permanent approvals, or none if the file can't be read."""
        if self._file is None:
            return self._always
        try:
            return _parsed(self._file)
        except (OSError, *_NOT_OURS):
            return {}

    @contextmanager
    def _changed(self) -> Iterator[_Entries]:
        """Yield the current approvals for changes, then save them."""
        if self._file is None:
            yield self._always
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with filelock.FileLock(self._file.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):
                try:
                    entries = _parsed(self._file)
                except FileNotFoundError:
                    entries = {}
                except _NOT_OURS:
                    os.replace(self._file, self._file.with_suffix(".damaged.json"))
                    entries = {}
                yield entries
                saved = [[server, tool, fingerprint] for (server, tool), fingerprint in sorted(entries.items())]
                replace_file(self._file, json.dumps({"version": _VERSION, "always": saved}, indent=1))
        except (OSError, filelock.Timeout) as error:
            template = "Can't save the list of allowed tools ({reason}). Check the permissions of “{file}”, then try again."
            raise UserError("approvals_not_saved", template, reason=why_failed(error), file=str(self._file)) from None


def _parsed(file: Path) -> _Entries:
    """Return the approvals in a file.

    Raises:
        OSError: the file can't be read.
        Exception: one of `_NOT_OURS`.
    """
    with open(file, "rb") as stream:
        content = json.loads(stream.read(_LARGEST))
    if content["version"] != _VERSION:
        raise ValueError("another version")
    found = {(server, tool): fingerprint for server, tool, fingerprint in content["always"]}
    if not all(isinstance(text, str) for key, value in found.items() for text in (*key, value)):
        raise TypeError("not text")
    return found
