"""Connections that the user has saved."""

from dataclasses import dataclass

from mlx_engine.requests import RemoteConnection


@dataclass(frozen=True)
class SavedConnection:
    """A connection with a unique name, and without its key while on disk."""

    name: str
    connection: RemoteConnection


def with_secrets(saved: SavedConnection) -> RemoteConnection:
    """Return a connection with its key. Can block while the keychain asks the user."""
    return saved.connection
