"""Secrets in the system's keychain, and references to them for files."""

import secrets
from collections.abc import Iterable, Set
from contextlib import suppress

from mlx_engine.contract.errors import EngineText

SECRETS_NOT_SAVED = EngineText.of(
    "secrets_not_saved", "The system's keychain isn't available, so secrets are kept only until you quit."
)
_REFERENCE = "keychain:"
_unsaved: dict[tuple[str, str], str] = {}  # secrets by service and name, without a keychain


def save(service: str, name: str, secret: str) -> str | None:
    """Store a secret. Return why the keychain doesn't have it, or None if it has.

    Without a keychain, the secret lasts until the app quits.
    """
    _unsaved[service, name] = secret
    try:
        import keyring  # slow to import

        keyring.set_password(service, name, secret)
        if keyring.get_password(service, name) != secret:
            return "not stored"
    except Exception as error:  # backends raise any type
        return type(error).__name__
    del _unsaved[service, name]
    return None


def saved(service: str, name: str) -> str | None:
    """Return a secret, or None if it is missing."""
    if (service, name) in _unsaved:
        return _unsaved[service, name]
    with suppress(Exception):
        import keyring

        return keyring.get_password(service, name) or None
    return None


def delete(service: str, name: str) -> None:
    """Delete a secret."""
    _unsaved.pop((service, name), None)
    with suppress(Exception):
        import keyring

        keyring.delete_password(service, name)


def is_available() -> bool:
    """Return whether secrets outlive the app, without asking the keychain for one."""
    with suppress(Exception):
        import keyring

        return not _unsaved and keyring.get_keyring().priority > 0
    return False


def is_reference(value: str) -> bool:
    """Return whether a value refers to a secret in the keychain."""
    return value.startswith(_REFERENCE)


def store(service: str, value: str) -> str:
    """Store a secret, and return its reference."""
    reference = _REFERENCE + secrets.token_hex(8)  # random, so that no file can name another secret
    save(service, reference, value)
    return reference


def reveal(service: str, value: str) -> str | None:
    """Return the secret behind a reference, None if missing, or the value."""
    return saved(service, value) if is_reference(value) else value


def forget(service: str, references: Iterable[str]) -> None:
    """Delete the secrets of references."""
    for reference in references:
        delete(service, reference)


def all_saved(names: Set[str]) -> bool:
    """Return whether the keychain, not only this process, has all secrets."""
    return names.isdisjoint(name for _, name in _unsaved)
