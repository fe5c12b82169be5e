"""The options of `slipstream models`, separate from its commands so that help doesn't load them."""

import argparse
from pathlib import Path

from mlx_engine.terminal import arguments


def add_commands(models: argparse.ArgumentParser) -> None:
    """Add the commands of `slipstream models` to its parser."""
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        added.set_defaults(parser=added)
        arguments.add_json(added)
        return added

    def pair(added: argparse.ArgumentParser, default: str = "") -> None:
        added.add_argument("id", nargs="?", help="an id from the catalog" + default)
        added.add_argument("--bits", type=arguments.whole(1, 64), metavar="N", help="quantization of the catalog's target")
        added.add_argument("--target", metavar="OWNER/NAME", help="any target on the hub, instead of an id")
        added.add_argument("--drafter", metavar="OWNER/NAME", help="its drafter (default: searched by name)")
        added.add_argument("--plain", action="store_true", help="the target without a drafter")

    listed = command("list", "list the catalog and the models on this disk")
    listed.add_argument("--add-folder", type=Path, metavar="DIR", help="also look for models in this folder from now on")
    listed.add_argument("--forget-folder", type=Path, metavar="DIR", help="stop looking in this folder; its files stay")
    search = command("search", "search the catalog and, with --hub, the model hub")
    search.add_argument("words", nargs="+")
    search.add_argument("--hub", action="store_true", help="also search the model hub by name")
    fit = command("fit", "show the memory, speed and disk space of a pair before downloading it")
    pair(fit)
    fit.add_argument("--context", type=arguments.whole(1, 2**24), default=8192, metavar="N", help="tokens (default 8192)")
    pull = command("pull", "download a pair; run again to resume")
    pair(pull)
    pull.add_argument(
        "--limit", type=_megabytes, metavar="MB", help="megabytes per second (default: the limit set in the app's settings)"
    )
    pull.add_argument("--connections", type=arguments.whole(1, 32), default=6, metavar="N", help="parallel connections (default 6)")
    pair(command("rm", "delete a pair from the hub cache"))
    check = command("check", "check downloaded files against their checksums")
    pair(check, " (default: everything downloaded)")
    check.add_argument(
        "--catalog", "--catalogue", action="store_true", dest="catalogue", help="check that every repo of the catalog is on the hub"
    )
    move = command("move", "move the model folder, such as to another disk; run again to resume")
    move.add_argument("folder", type=Path, metavar="FOLDER", help="the new place; set HF_HUB_CACHE to it for other programs")
    login = command("login", "save a token of your hub account in the keychain, for gated and private repos")
    login.add_argument("--forget", action="store_true", help="remove the token")


def _megabytes(text: str) -> float:
    return 1e6 * arguments.number(text, 1e-6, 1e6, "a number of megabytes per second above 0")
