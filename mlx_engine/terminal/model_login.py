"""`slipstream models login`: save a hub token in the keychain, typed without echo or read from standard input."""

import argparse
import getpass
import sys

from mlx_engine.errors import UserError
from mlx_engine.pairs.hub import Hub, delete_token, store_token
from mlx_engine.terminal.console import note, print_json

_MAX_LENGTH = 10_000  # characters


def login(given: argparse.Namespace) -> int:
    """Save or remove the token of the hub in use, and return the exit code.

    Raises:
        UserError: the token is not valid or can't be saved.
    """
    endpoint = Hub().endpoint
    if given.forget:
        removed = delete_token(endpoint)
        if given.json:
            print_json({"endpoint": endpoint, "forgotten": removed})
        else:
            print(f"Removed the token for {endpoint}." if removed else f"There is no token for {endpoint} in the keychain.")
        return 0
    account = store_token(endpoint, _read(endpoint))
    if given.json:
        print_json({"endpoint": endpoint, "account": account})
    else:
        print(f"Logged in to {endpoint} as {account}. The token is in the keychain.")
    return 0


def _read(endpoint: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read(_MAX_LENGTH)
    note(f"Create a token with read access at {endpoint}/settings/tokens and paste it here. It won't be shown.")
    try:
        return getpass.getpass("Token: ")
    except EOFError:
        raise UserError("no_token_typed", "No token was entered.") from None
