"""Access tokens of the hub, kept in the system's keychain, one per hub.

HF_TOKEN and the hub's own login take precedence; neither is ever written.
"""

from contextlib import suppress
from urllib.parse import urlsplit

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from mlx_engine.errors import UserError
from mlx_engine.pairs.hub_errors import explain

_SERVICE = "Slipstream"


def stored_token(endpoint: str) -> str | None:
    """Return the keychain's token for a hub; None if there is no token or no keychain."""
    try:
        import keyring  # slow to import, and needed only for repos that require a token

        return keyring.get_password(_SERVICE, _host(endpoint)) or None
    except Exception:  # backends raise anything; the hub's refusal is what the user needs to see
        return None


def store_token(endpoint: str, token: str) -> str:
    """Check a token with the hub, store it in the keychain, and return the account's name."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token or len(token) > 1000:
        raise UserError("invalid_token", "This isn't an access token. Create one at {endpoint}/settings/tokens.", endpoint=endpoint)
    try:
        account = HfApi(endpoint=endpoint).whoami(token=token, cache=False).get("name")
    except Exception as error:  # an invalid answer makes the hub's client fail anywhere
        if isinstance(error, HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403):
            template = "{endpoint} doesn't know this token. Create a new one at {endpoint}/settings/tokens."
            raise UserError("unknown_token", template, endpoint=endpoint) from None
        raise explain(error, "", endpoint, True) from None
    import keyring

    try:
        keyring.set_password(_SERVICE, _host(endpoint), token)
    except Exception as error:
        template = "This system has no keychain for the token ({reason}). Run “hf auth login”, or set HF_TOKEN."
        raise UserError("no_keychain", template, reason=type(error).__name__) from None
    return str(account or "?")


def delete_token(endpoint: str) -> bool:
    """Remove a hub's token from the keychain; return whether there was one."""
    if stored_token(endpoint) is None:
        return False
    import keyring

    with suppress(Exception):
        keyring.delete_password(_SERVICE, _host(endpoint))
    return stored_token(endpoint) is None


def _host(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return parts.netloc.rpartition("@")[2] or endpoint
