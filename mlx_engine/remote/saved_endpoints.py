"""Endpoints that the user has saved."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_read, cannot_write, write_json
from mlx_engine.contract.requests import Endpoint
from mlx_engine.contract.secrets import SECRETS_NOT_SAVED, all_saved, forget, is_reference, reveal, store

_SERVICE = "Slipstream connections"
_VERSION = 1
_LARGEST = 1_000_000  # bytes


@dataclass(frozen=True)
class SavedEndpoint:
    """An endpoint with a unique name.

    Once saved, its key and the values of its headers are references to the keychain.
    """

    name: str
    endpoint: Endpoint


def read_endpoints(file: Path) -> tuple[SavedEndpoint, ...]:
    """Return the endpoints in a file. A missing file is empty.

    Raises:
        UserError: the file can't be read, comes from a newer version, or is damaged. A damaged file is renamed first.
    """
    try:
        with open(file, "rb") as stream:
            data = stream.read(_LARGEST)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise cannot_read(file, error) from None
    try:
        return _parsed(data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        kept = _set_aside(file)
        template = "The list of connections was damaged and renamed to “{file}”. Add your connections again."
        raise UserError("connections_damaged", template, file=kept.name) from None


def write_endpoints(file: Path, endpoints: Sequence[SavedEndpoint]) -> EngineText | None:
    """Replace the endpoints of a file. Keys and headers go to the keychain.

    Returns:
        why secrets are kept only until the app quits, or None if all are saved.

    Raises:
        UserError: the file can't be read or written.
    """
    old = _references(read_endpoints(file))
    stored = [SavedEndpoint(saved.name, _with(saved.endpoint, _stored)) for saved in endpoints]
    content = {"version": _VERSION, "connections": [_entry(saved) for saved in stored]}
    write_json(file, content)
    new = _references(stored)
    forget(_SERVICE, old - new)
    return None if all_saved(new) else SECRETS_NOT_SAVED


def with_secrets(saved: SavedEndpoint) -> Endpoint:
    """Return an endpoint with its key. Can block while the keychain asks the user.

    Raises:
        UserError: the keychain doesn't have the key or a header.
    """

    def revealed(value: str) -> str:
        if (secret := reveal(_SERVICE, value)) is None:
            template = "The system's keychain has no key for “{connection}”. Choose File ▸ Models and enter it again."
            raise UserError("connection_secret_missing", template, connection=saved.name)
        return secret

    return _with(saved.endpoint, revealed)


def _stored(value: str) -> str:
    return store(_SERVICE, value) if value and not is_reference(value) else value


def _with(endpoint: Endpoint, change: Callable[[str], str]) -> Endpoint:
    """Return an endpoint with its secrets changed."""
    headers = tuple((name, change(value)) for name, value in endpoint.headers)
    return replace(endpoint, key=change(endpoint.key), headers=headers)


def _references(endpoints: Iterable[SavedEndpoint]) -> set[str]:
    values = (value for saved in endpoints for value in (saved.endpoint.key, *dict(saved.endpoint.headers).values()))
    return {value for value in values if is_reference(value)}


def _entry(saved: SavedEndpoint) -> dict[str, Any]:
    """Return the inverse of `_saved`."""
    fields = {"name": saved.name, **vars(saved.endpoint)}
    return fields | {"headers": dict(saved.endpoint.headers), "ca_file": str(saved.endpoint.ca_file or "")}


def _parsed(data: bytes) -> tuple[SavedEndpoint, ...]:
    content = json.loads(data)
    if type(version := content["version"]) is int and version > _VERSION:
        raise UserError(
            "connections_newer", "Your connections were saved by a newer version of Slipstream. Update Slipstream to use them."
        )
    found = tuple(_saved(**entry) for entry in content["connections"])
    if version != _VERSION or len({saved.name for saved in found}) < len(found):
        raise ValueError
    return found


def _saved(*, name: str, headers: dict[str, str], ca_file: str, timeout_s: float, **texts: str) -> SavedEndpoint:
    """Return an endpoint.

    Raises:
        ValueError, TypeError, AttributeError: a value is missing or invalid.
    """
    are_texts = all(type(text) is str for text in (name, ca_file, *headers.values(), *texts.values()))
    if not are_texts or not name or not name.isprintable() or not 0 < timeout_s < 1e6:
        raise ValueError
    json.dumps([name, headers, texts], ensure_ascii=False).encode()  # refuses halves of characters
    file = Path(ca_file) if ca_file else None
    endpoint = Endpoint(headers=tuple(headers.items()), ca_file=file, timeout_s=float(timeout_s), **texts)
    return SavedEndpoint(name, endpoint)


def _set_aside(file: Path) -> Path:
    """Rename a file to a name that isn't used, and return the new path."""
    names = (file.with_name(f"{file.stem}-damaged{number or ''}{file.suffix}") for number in range(1000))
    kept = next((name for name in names if not name.exists()), file)
    try:
        file.rename(kept)
    except OSError as error:
        raise cannot_write(file, error) from None
    return kept
