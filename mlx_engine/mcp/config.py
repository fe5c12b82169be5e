"""The tool servers in mcp.json, in the format that other apps use."""

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_read, write_json
from mlx_engine.contract.secrets import SECRETS_NOT_SAVED, all_saved, forget, is_reference, reveal, store
from mlx_engine.mcp.tool import server_key

Builtin = Literal["", "calculator", "files", "documents"]
Values = tuple[tuple[str, str], ...]

_SERVICE = "Slipstream tools"
_LARGEST = 1_000_000  # bytes
_LONGEST_NAME = 64
_TIMEOUT_S, _LONGEST_TIMEOUT_S = 60.0, 3600.0
_STRING = r'("(?:\\.|[^"\\])*")'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|private|session|dsn", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"://[^/@\s]+@|^(sk-|gh[a-z]_|github_pat_|glpat-|xox|hf_|AKIA|eyJ|Bearer )")
_KINDS = ("calculator", "files", "documents")
_EXAMPLES: dict[str, Any] = {  # of the fields of an entry; others are kept as they are
    "builtin": "calculator",
    "command": "npx",
    "args": ["-y", "name-of-server"],
    "env": {"NAME": "value"},
    "cwd": "/path/to/folder",
    "url": "https://example.com/mcp",
    "headers": {"Name": "value"},
    "folders": ["/path/to/folder"],
    "enabled": True,
    "disabled": False,
    "timeoutSeconds": 60,
}


@dataclass(frozen=True)
class ServerConfig:
    """A tool server: built-in, a program (stdio), or an address (Streamable HTTP).

    Attributes:
        env: environment variables of the program. Their values may be references to the keychain; see `resolved`.
        cwd: folder in which the program runs; empty for the user's home folder.
        headers: headers of all requests, with values as in `env`.
        folders: absolute paths of the folders that the built-in Files or Documents may read.
        index: file with the index of Documents; empty for a temporary one. It isn't stored in mcp.json.
        project: ID of the project whose chats use the server; empty for all chats. It isn't stored in mcp.json.
        timeout_s: time limit of a call in seconds.
        other: unknown fields of the entry, as a JSON object.
    """

    name: str
    builtin: Builtin = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Values = field(default=(), repr=False)
    cwd: str = ""
    url: str = ""
    headers: Values = field(default=(), repr=False)
    folders: tuple[str, ...] = ()
    index: str = ""
    project: str = ""
    enabled: bool = True
    timeout_s: float = _TIMEOUT_S
    other: str = "{}"

    @property
    def origin(self) -> str:
        """A hash of what runs and how, on which approvals depend.

        References stand for the secrets in the keychain. A secret that is replaced gets another reference.
        """
        settings = () if self.builtin else (sorted(self.env), sorted(self.headers))  # built-in servers don't use them
        return hashlib.sha256(json.dumps((*self._runs, *settings)).encode()).hexdigest()

    @property
    def key(self) -> str:
        """What the server is found by."""
        return server_key(self.name, self.project)

    @property
    def takes_folders(self) -> bool:
        return self.builtin in ("files", "documents")

    @property
    def _runs(self) -> tuple[Any, ...]:
        return self.builtin, self.command, self.args, self.cwd, self.url, self.folders


BUILTINS = (
    ServerConfig("Calculator", "calculator", enabled=False),
    ServerConfig("Files", "files", enabled=False),
    ServerConfig("Documents", "documents", enabled=False),
)


def read_config(file: Path) -> tuple[ServerConfig, ...]:
    """Return the built-in servers and those in a file, which may be missing.

    Raises:
        UserError: the file can't be read, or an entry is invalid.
    """
    configs = _servers(_read(file))
    missing = [builtin for builtin in BUILTINS if builtin.builtin not in [config.builtin for config in configs]]
    return (*configs, *renamed(missing, configs))


def write_config(file: Path, configs: Sequence[ServerConfig]) -> EngineText | None:
    """Replace the servers of a file. Its other content is kept, except comments.

    Secrets go to the keychain, and the file refers to them.

    Returns:
        why secrets are kept only until the app quits, or None if all are saved.

    Raises:
        UserError: the file can't be read or written, or a server is invalid.
    """
    content = _read(file)
    old = _references(_servers(content))
    key = "servers" if "servers" in content and "mcpServers" not in content else "mcpServers"
    content[key] = {config.name: _entry(config) for config in configs}
    if len(content[key]) < len(configs):
        raise UserError("server_named_twice", "Two servers have the same name. Rename one of them.")
    _servers(content)  # refuses what couldn't be read again
    stored = [replace(config, env=_stored(config.env), headers=_stored(config.headers, all_secret=True)) for config in configs]
    content[key] = {config.name: _entry(config) for config in stored}
    write_json(file, content)
    new = _references(stored)
    forget(_SERVICE, old - new)
    return None if all_saved(new) else SECRETS_NOT_SAVED


def resolved(config: ServerConfig) -> ServerConfig:
    """Return a server with its secrets from the keychain.

    Raises:
        UserError: a secret is missing, or a value contains a placeholder such as ${input:token}.
    """
    for text in (config.command, *config.args, config.url, *(value for _, value in (*config.env, *config.headers))):
        if found := _PLACEHOLDER.search(text):
            template = "“{server}” contains the placeholder “{text}”. Replace it with the actual value."
            raise UserError("placeholder_in_server", template, server=config.name, text=found[0])
    return replace(config, env=_revealed(config.name, config.env), headers=_revealed(config.name, config.headers))


def import_config(source: Path | str, configs: Sequence[ServerConfig] = ()) -> tuple[ServerConfig, ...]:
    """Return the servers of another app that `configs` lacks, with unique names.

    Built-in servers and references to the keychain are left out.

    Args:
        source: the other app's file, or its text.
        configs: the servers that exist.

    Raises:
        UserError: the source can't be read, or an entry is invalid.
    """
    content = _read(source) if isinstance(source, Path) else _parsed(source)
    if content and not {"mcpServers", "servers"} & set(content):
        content = {"mcpServers": content}  # the entries only, as in many READMEs
    known = {config._runs for config in configs}
    found = [
        replace(config, env=_plain(config.env), headers=_plain(config.headers))
        for config in _servers(content)
        if not config.builtin and config._runs not in known
    ]
    return renamed(found, configs)


def other_apps() -> dict[str, Path]:
    """Return the server lists of other apps on this computer, by app name."""
    home = Path.home()
    support = home / ("Library/Application Support" if sys.platform == "darwin" else ".config")
    files = {
        "Claude Desktop": support / "Claude/claude_desktop_config.json",
        "Cursor": home / ".cursor/mcp.json",
        "LM Studio": home / ".lmstudio/mcp.json",
        "VS Code": support / "Code/User/mcp.json",
    }
    return {app: file for app, file in files.items() if file.is_file()}


def _read(file: Path) -> dict[str, Any]:
    try:
        with open(file, "rb") as stream:
            data = stream.read(_LARGEST)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise cannot_read(file, error) from None
    return _parsed(data.decode("utf-8-sig", errors="replace"))


def _parsed(text: str) -> dict[str, Any]:
    """Parse a JSON object that may have comments and trailing commas."""
    reason = "no object"
    for variant in (text, _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(lambda found: found[1] or " ", text))):
        try:
            content = json.loads(variant, object_pairs_hook=_unique, parse_constant=_refuse)
            json.dumps(content, ensure_ascii=False).encode()  # refuses halves of characters
            if isinstance(content, dict):
                return content
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
    raise UserError(
        "servers_not_json", "The list of servers isn't valid JSON ({reason}). Correct it, then try again.", reason=reason
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"“{key}” appears twice")
        found[key] = value
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} isn't a number")


def _servers(content: dict[str, Any]) -> tuple[ServerConfig, ...]:
    entries = content.get("mcpServers", content.get("servers", {}))
    if (content and not {"mcpServers", "servers"} & set(content)) or not isinstance(entries, dict):
        raise UserError("no_servers", "The file has no “mcpServers” object. Add it, or choose another file.")
    return tuple(_server(name, entry) for name, entry in entries.items())


def _server(name: str, entry: Any) -> ServerConfig:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name != name.strip():
        template = "“{server}” isn't a valid server name. Use up to 64 characters, without control characters."
        raise UserError("bad_server_name", template, server=name[:_LONGEST_NAME])
    rest, found = dict(entry) if isinstance(entry, dict) else {}, dict[str, Any]()
    for key, example in _EXAMPLES.items():
        if (value := rest.pop(key, None)) is not None:
            found[key] = value
            if not _is_like(value, example) or (key == "url" and not _is_address(value)):
                template = "“{field}” of “{server}” isn't valid. Use a value such as {example}."
                raise UserError("bad_server_field", template, field=key, server=name, example=json.dumps(example))
    if [bool(found.get(key)) for key in ("builtin", "command", "url")].count(True) != 1:
        template = "“{server}” needs either a command or a URL. Correct its entry, then try again."
        raise UserError("server_incomplete", template, server=name)
    enabled = found.pop("enabled", True) and not found.pop("disabled", False)
    seconds = float(min(max(found.pop("timeoutSeconds", _TIMEOUT_S), 1), _LONGEST_TIMEOUT_S))
    fields = {key: _frozen(value) for key, value in found.items()}
    return ServerConfig(name, enabled=enabled, timeout_s=seconds, other=json.dumps(rest), **fields)


def _entry(config: ServerConfig) -> dict[str, Any]:
    """Return the inverse of `_server`."""
    fields = {key: getattr(config, key) for key in ("builtin", "command", "cwd", "url")}
    fields |= {"args": list(config.args), "folders": list(config.folders), "disabled": not config.enabled}
    fields |= {"env": dict(config.env), "headers": dict(config.headers)}
    if config.timeout_s != _TIMEOUT_S:
        fields["timeoutSeconds"] = config.timeout_s
    return {key: value for key, value in fields.items() if value} | json.loads(config.other)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, str(text)) for key, text in value.items())
    return tuple(value) if isinstance(value, list) else value


def _is_like(value: Any, example: Any) -> bool:
    """Return whether a value has the same type as an example."""
    if isinstance(example, dict):  # apps accept numbers here too
        return isinstance(value, dict) and all(_is_like(text, "") or _is_like(text, 0) for pair in value.items() for text in pair)
    if isinstance(example, list):
        return isinstance(value, list) and all(_is_like(text, "") for text in value)
    if isinstance(example, str):
        return isinstance(value, str) and "\0" not in value and (example not in _KINDS or value in _KINDS)
    return isinstance(value, bool) == isinstance(example, bool) and isinstance(value, int | float)


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", value)
    except ValueError:
        return False


def renamed(added: Sequence[ServerConfig], configs: Sequence[ServerConfig]) -> tuple[ServerConfig, ...]:
    """Return the added servers with names that no server of `configs` has."""
    taken, found = {config.name for config in configs}, list[ServerConfig]()
    for config in added:
        names = (config.name, *(f"{config.name[: _LONGEST_NAME - 5].strip()} {number}" for number in range(2, 10_000)))
        name = next(name for name in names if name not in taken)
        taken.add(name)
        found.append(replace(config, name=name))
    return tuple(found)


def _stored(values: Values, all_secret: bool = False) -> Values:
    """Move secrets to the keychain, and return the values with references to them."""
    found = []
    for name, value in values:
        is_secret = all_secret or _SECRET_NAME.search(name) or _SECRET_VALUE.search(value)
        if value and is_secret and not is_reference(value) and not _PLACEHOLDER.search(value):
            value = store(_SERVICE, value)
        found.append((name, value))
    return tuple(found)


def _revealed(server: str, values: Values) -> Values:
    found = []
    for name, value in values:
        if (secret := reveal(_SERVICE, value)) is None:
            template = "The system's keychain has no “{name}” for “{server}”. Enter it again in Settings."
            raise UserError("secret_missing", template, name=name, server=server)
        found.append((name, secret))
    return tuple(found)


def _plain(values: Values) -> Values:
    return tuple((name, value) for name, value in values if not is_reference(value))


def _references(configs: Iterable[ServerConfig]) -> set[str]:
    return {value for config in configs for _, value in (*config.env, *config.headers) if is_reference(value)}
