"""The options of `slipstream models`. Apart from its commands, so that help answers without loading them."""

import argparse
from pathlib import Path

from mlx_engine.terminal import arguments


def add_commands(models: argparse.ArgumentParser) -> None:
    """The parser of `slipstream models` and its commands."""
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        added.set_defaults(parser=added)
        arguments.add_json(added)
        return added

    def pair(added: argparse.ArgumentParser, needed: bool = True) -> None:
        added.add_argument(
            "id", nargs="?", help="an id of the catalogue" + ("" if needed else "; without one: all that was fetched")
        )
        added.add_argument("--bits", type=arguments.whole(1, 64), metavar="N", help="which quantisation of the catalogue's target")
        added.add_argument("--target", metavar="OWNER/NAME", help="instead of an id: any target on the hub")
        added.add_argument("--drafter", metavar="OWNER/NAME", help="its drafter; without one it is looked for by name")
        added.add_argument("--plain", action="store_true", help="the target alone, without a drafter")

    listed = command("list", "list the catalogue and what is on this disk")
    listed.add_argument("--add-folder", type=Path, metavar="DIR", help="look for models in this folder too, from now on")
    listed.add_argument("--forget-folder", type=Path, metavar="DIR", help="look there no more; its files stay")
    search = command("search", "search the catalogue; with --hub the model hub too")
    search.add_argument("words", nargs="+")
    search.add_argument("--hub", action="store_true", help="ask the model hub for repos of that name too")
    fitting = command("fit", "show what memory and disk a pair needs, before it is fetched")
    pair(fitting)
    fitting.add_argument("--context", type=arguments.whole(1, 2**24), default=8192, metavar="N", help="tokens (default 8192)")
    pull = command("pull", "fetch a pair; run again, it goes on where it stopped")
    pair(pull)
    pull.add_argument(
        "--limit", type=_megabytes, metavar="MB", help="at most so many megabytes a second (default: the app's limit)"
    )
    pull.add_argument("--connections", type=arguments.whole(1, 32), default=6, metavar="N", help="connections at once (default 6)")
    pair(command("rm", "remove a pair from the hub's cache"))
    check = command("check", "check what was fetched against its checksums")
    pair(check, needed=False)
    check.add_argument(
        "--catalogue", action="store_true", help="ask the hub for every repo of the catalogue, and list what is not there"
    )
    move = command("move", "move the model folder, to another disk perhaps; stopped, the same command goes on")
    move.add_argument("folder", type=Path, metavar="FOLDER", help="where models are to lie; other programs then need HF_HUB_CACHE")
    login = command("login", "keep a token of your hub account in the system's keychain, for gated and private repos")
    login.add_argument("--forget", action="store_true", help="remove it from the keychain")


def _megabytes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"“{text}” is no number of megabytes a second above 0")
    return value * 1e6
