"""`slipstream models login`: a token of the hub into the system's keychain, typed unseen or read from standard input."""

import argparse
import getpass
import sys

from mlx_engine.errors import UserError
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.tokens import delete_token, store_token
from mlx_engine.terminal.model_words import print_json

_LONGEST = 10_000  # characters that are read


def login(given: argparse.Namespace) -> int:
    """Keep or forget the token of the hub that is in use; returns the exit status.

    Raises:
        UserError: it is none, or cannot be kept.
    """
    endpoint = Hub().endpoint
    if given.forget:
        there = delete_token(endpoint)
        if given.json:
            print_json({"endpoint": endpoint, "forgotten": there})
        else:
            print(f"The token for {endpoint} is gone." if there else f"The keychain holds no token for {endpoint}.")
        return 0
    account = store_token(endpoint, _read(endpoint))
    if given.json:
        print_json({"endpoint": endpoint, "account": account})
    else:
        print(f"Logged in at {endpoint} as {account}. The token is in the system's keychain.")
    return 0


def _read(endpoint: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read(_LONGEST)
    print(f"Make a token with read access at {endpoint}/settings/tokens and paste it here; it is not shown.", file=sys.stderr)
    try:
        return getpass.getpass("Token: ")
    except EOFError:
        raise UserError("No token was typed.") from None
