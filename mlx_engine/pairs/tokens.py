"""The token of an account on the hub, typed once and kept in the system's keychain, one for each hub.

It comes after the environment (HF_TOKEN) and the hub's own login, which are looked at first and never written to.
"""

from contextlib import suppress
from urllib.parse import urlsplit

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from mlx_engine.errors import UserError
from mlx_engine.pairs.refusals import explained

_SERVICE = "Slipstream"


def kept_token(endpoint: str) -> str | None:
    """The token that the keychain has for a hub; None when it has none, or this system has no keychain."""
    try:
        import keyring  # slow to load, and of use only where a repo asks for a token

        return keyring.get_password(_SERVICE, _host(endpoint)) or None
    except Exception:  # backends raise what they like; without the keychain the hub's refusal is what a person has to see
        return None


def keep_token(endpoint: str, token: str) -> str:
    """Ask the hub whose token it is, and keep it in the keychain; returns the account's name.

    Raises:
        UserError: it is no token, the hub does not know it, or there is no keychain.
    """
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token or len(token) > 1000:
        raise UserError(f"That is no token. Make one at {endpoint}/settings/tokens and paste it whole.")
    try:
        account = HfApi(endpoint=endpoint).whoami(token=token, cache=False).get("name")
    except Exception as error:  # a mirror that answers nonsense makes the client fail anywhere
        if isinstance(error, HfHubHTTPError) and error.response is not None and error.response.status_code in (401, 403):
            raise UserError(f"{endpoint} does not know that token. Make a new one at {endpoint}/settings/tokens.") from None
        raise explained(error, "", endpoint, True) from None
    import keyring

    try:
        keyring.set_password(_SERVICE, _host(endpoint), token)
    except Exception as error:
        raise UserError(
            f"This system has no keychain that takes the token ({type(error).__name__}). Run “hf auth login”, or set HF_TOKEN."
        ) from None
    return str(account or "an account without a name")


def forget_token(endpoint: str) -> bool:
    """Remove the token of a hub from the keychain; whether there was one."""
    there = kept_token(endpoint) is not None
    if there:
        import keyring

        with suppress(Exception):
            keyring.delete_password(_SERVICE, _host(endpoint))
    return there and kept_token(endpoint) is None


def _host(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return parts.netloc.rpartition("@")[2] or endpoint
