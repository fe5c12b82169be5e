"""A keychain in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import keyring
from keyring.backend import KeyringBackend

from mlx_engine.contract import secrets


class Keychain(KeyringBackend):
    """A keychain in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


@contextmanager
def keychain(backend: KeyringBackend | None = None) -> Iterator[None]:
    """Use a keychain, by default one in memory, as a process that has just started."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend or Keychain())
    try:
        with patch.dict(secrets._unsaved, clear=True):
            yield
    finally:
        keyring.set_keyring(before)
