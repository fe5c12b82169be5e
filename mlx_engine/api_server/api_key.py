"""The server's API key, in the system's keychain."""

import secrets

_SERVICE, _ACCOUNT = "Slipstream", "local API server"


def stored_key() -> tuple[str, bool]:
    """Return the API key, and whether it is stored in the keychain.

    The key is created on first use.
    """
    try:
        import keyring  # slow to import

        if stored := keyring.get_password(_SERVICE, _ACCOUNT):
            return stored, True
    except Exception:  # backends raise any type
        pass
    return new_key()


def new_key() -> tuple[str, bool]:
    """Replace the stored API key. Returns the same as `stored_key`."""
    key = f"sk-slipstream-{secrets.token_urlsafe(24)}"
    try:
        import keyring

        keyring.set_password(_SERVICE, _ACCOUNT, key)
        return key, keyring.get_password(_SERVICE, _ACCOUNT) == key
    except Exception:
        return key, False
