"""Plain values for tools, their definitions for the model, and call results."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.requests import AttachedImage, ToolSpec

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


@dataclass(frozen=True)
class Tool:
    """A tool as its server describes it. All texts are untrusted.

    Attributes:
        server: name of the server in the configuration.
        name: name of the tool at its server.
        schema: JSON schema of the arguments, as JSON.
        origin: what runs the server: its command with arguments, or its address.
        project: see `ServerConfig.project`.
        builtin: whether the server is built in. Then its texts are Slipstream's own.
    """

    server: str
    name: str
    title: str = ""
    description: str = ""
    schema: str = '{"type": "object"}'
    origin: str = ""
    project: str = ""
    builtin: bool = False

    @property
    def server_key(self) -> str:
        """The key of the tool's server. Approvals for different projects are independent."""
        return server_key(self.server, self.project)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that an approval depends on.

        Updates may reword built-in tools, which then do the same with the same folders.
        """
        return self._hash(("built-in",)) if self.builtin else self.earlier_fingerprint

    @property
    def earlier_fingerprint(self) -> str:
        """The fingerprint that earlier builds stored, also for built-in tools."""
        return self._hash((self.title, self.description, self.schema))

    def _hash(self, texts: tuple[str, ...]) -> str:
        parts = (self.server, self.origin, self.name, *texts)
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def spec(self, name: str) -> ToolSpec:
        """Return the tool under this name for requests."""
        return ToolSpec(name, self.description, json.loads(self.schema))


@dataclass(frozen=True)
class ToolResult:
    """The end of a call.

    Attributes:
        text: the result for the model; untrusted if it comes from the server.
        error: why the server returned no result, or None.
        failed: whether the call failed, at the server or before it.
        images: images in the result, with their places in the text.
    """

    text: str
    error: EngineText | None = None
    failed: bool = False
    images: tuple[AttachedImage, ...] = ()


def server_key(server: str, project: str) -> str:
    """Return the key of a server or, for a project, of its Documents.

    Names have no line breaks, so that no server has such a name.
    """
    return f"{server}\n{project}" if project else server


def is_of_project(key: str) -> bool:
    """Return whether a server's key is the one for a project."""
    return "\n" in key


def named(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return tools by the names that the model sees.

    The names are unique, with only letters, digits, _, and -.
    """
    found: dict[str, Tool] = {}
    for tool in tools:
        name = tool.name
        if not _NAME.fullmatch(name) or name in found:
            name = _OTHER.sub("_", f"{tool.server}-{tool.name}")[:_LONGEST_NAME]
        number = 2
        while name in found:
            name = f"{name[: _LONGEST_NAME - len(str(number)) - 1]}-{number}"
            number += 1
        found[name] = tool
    return found
