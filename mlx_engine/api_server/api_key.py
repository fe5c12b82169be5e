"""The server's API key, in the system's keychain."""

from secrets import token_urlsafe

from mlx_engine.contract.secrets import all_saved, save, saved

_SERVICE, _ACCOUNT = "Slipstream", "local API server"


def stored_key() -> tuple[str, bool]:
    """Return the API key, and whether it is stored in the keychain.

    The key is created on first use.
    """
    key = saved(_SERVICE, _ACCOUNT)
    return (key, all_saved({_ACCOUNT})) if key else new_key()


def new_key() -> tuple[str, bool]:
    """Replace the stored API key. Returns the same as `stored_key`."""
    key = f"sk-slipstream-{token_urlsafe(24)}"
    return key, save(_SERVICE, _ACCOUNT, key) is None
