"""Secrets in the system's keychain, and references to them for files."""

import secrets
from collections.abc import Iterable, Set
from contextlib import suppress

from mlx_engine.contract.errors import EngineText

SECRETS_NOT_SAVED = EngineText.of(
    "secrets_not_saved", "The system's keychain isn't available, so secrets are kept only until you quit."
)
_REFERENCE = "keychain:"
_unsaved: dict[str, str] = {}  # secrets by reference, while there is no keychain


def is_reference(value: str) -> bool:
    """Return whether a value refers to a secret in the keychain."""
    return value.startswith(_REFERENCE)


def is_available() -> bool:
    """Return whether secrets outlive the app, without asking the keychain for one."""
    with suppress(Exception):
        import keyring

        return not _unsaved and keyring.get_keyring().priority > 0
    return False


def store(service: str, value: str) -> str:
    """Store a secret, and return its reference. Without a keychain, the secret lasts until the app quits."""
    reference = _REFERENCE + secrets.token_hex(8)  # random, so that no file can name another secret
    _unsaved[reference] = value
    with suppress(Exception):  # backends raise any type
        import keyring  # slow to import

        keyring.set_password(service, reference, value)
        if keyring.get_password(service, reference) == value:
            del _unsaved[reference]
    return reference


def reveal(service: str, value: str) -> str | None:
    """Return the secret that a reference stands for, or None if it is missing. Other values are returned as they are."""
    if not is_reference(value) or value in _unsaved:
        return _unsaved.get(value, value)
    with suppress(Exception):
        import keyring

        return keyring.get_password(service, value)
    return None


def forget(service: str, references: Iterable[str]) -> None:
    """Delete secrets."""
    for reference in references:
        _unsaved.pop(reference, None)
        with suppress(Exception):
            import keyring

            keyring.delete_password(service, reference)


def all_saved(references: Set[str]) -> bool:
    """Return whether the keychain has all these secrets, rather than only this process."""
    return references.isdisjoint(_unsaved)
