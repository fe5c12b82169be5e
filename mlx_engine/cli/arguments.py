"""Options that several commands share, and requests built from them."""

import argparse
import json
import os
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mlx_engine.api_server import HOST, PORT
from mlx_engine.api_server.guard import is_loopback
from mlx_engine.cli import values
from mlx_engine.cli.agents import AGENTS
from mlx_engine.cli.session import folders
from mlx_engine.cli.values import KEY_VARIABLE
from mlx_engine.contract import limits
from mlx_engine.contract.attached_images import read_image
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read
from mlx_engine.contract.requests import GenerationRequest, Message, Mode, Sampling
from mlx_engine.drafters.registry import parse
from mlx_engine.mcp.tool_turn import MOST_STEPS
from mlx_engine.models.configs.shardable import MOST_RANKS
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.network import offline

PROMPT_FILE = "file with one prompt per line; .jsonl for strings, messages, or objects with prompt or messages"


def add_pair(parser: argparse.ArgumentParser, default: str = "the demo pair") -> None:
    group = parser.add_argument_group(f"pair (default: {default})")
    group.add_argument("--target", type=values.path, metavar="DIR", help="folder of the target model")
    group.add_argument(
        "--drafter",
        type=values.path,
        metavar="DIR",
        help="folder of the drafter, or “auto” for the one on this disk that was fastest here (default: plain decoding)",
    )
    group.add_argument(
        "--drafter-bits",
        type=int,
        choices=(4, 8, 16),
        help="bits per drafter weight; 16 keeps the published weights (default: 4 for large drafters on a GPU, otherwise 16)",
    )
    group.add_argument("--untuned", action="store_false", dest="tuned", help="use the drafter as it was before “slipstream tune”")


def add_tune(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prompts")
    group.add_argument("--prompts", type=values.file, metavar="FILE", help=PROMPT_FILE)
    group.add_argument("--chats", action="store_true", help="use the chats saved in the app")
    group.add_argument(
        "--most", type=values.whole(10), metavar="N", help="use only the last N prompts (default: 200, or all with --new)"
    )
    group.add_argument(
        "--general",
        type=values.file,
        metavar="FILE",
        help="other prompts, on which the drafter must stay as fast (default: built in)",
    )
    group = parser.add_argument_group("replies to learn from")
    group.add_argument("--max-tokens", type=values.whole(8), default=512, metavar="N", help="token limit (default 512)")
    group.add_argument(
        "--temperature", type=values.TEMPERATURE, default=0.0, metavar="T", help="randomness; 0 is greedy (default 0)"
    )
    group.add_argument("--thinking", action="store_true", help="let the model think before it answers, if it can")
    group = parser.add_argument_group("training")
    group.add_argument(
        "--epochs",
        type=values.number(float, 0.1, 1000, "a number from 0.1 to 1000"),
        metavar="N",
        help="passes over the replies (default: 8, or 20 with --new)",
    )
    group.add_argument("--seed", type=values.whole(0, 2**32 - 1), default=1, metavar="S", help="random seed (default 1)")
    group = parser.add_argument_group("a new drafter, instead of tuning one")
    group.add_argument("--new", type=values.path, metavar="DIR", help="train a new drafter from scratch, and save it in DIR")
    group.add_argument("--layers", type=values.whole(1, 64), default=2, metavar="N", help="layers of the drafter (default 2)")
    group.add_argument("--mlp", type=values.whole(1), metavar="N", help="width of its MLPs (default: the target's)")
    group.add_argument(
        "--taps", type=values.whole(1, 32), default=3, metavar="N", help="layers of the target that it reads (default 3)"
    )
    group.add_argument("--block", type=values.whole(2, 32), default=16, metavar="N", help="tokens per block (default 16)")
    group.add_argument(
        "--mask-token", type=values.whole(0), metavar="ID", help="a token that no text contains (default: the last one)"
    )
    parser.add_argument(
        "--remove", action="store_true", help="remove the result, so that the drafter is as it was, and stopped runs"
    )


def check_tune(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit with a usage error if prompts are missing, or options are in conflict."""
    if args.new and (args.drafter or not args.target):
        parser.error("--new needs --target, and can't be used with --drafter.")
    if args.new and args.remove:
        parser.error("--remove needs --drafter instead of --new.")
    if not args.remove and not args.prompts and not args.chats:
        parser.error("Specify prompts with --prompts FILE or --chats.")


def add_remote(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("remote server (instead of a pair)")
    group.add_argument(
        "--remote",
        type=values.nonempty,
        metavar="URL",
        help="address of a server with OpenAI's API, such as http://192.168.1.20:8000",
    )
    group.add_argument("--model", default="", metavar="NAME", help="model of the server (default: its first)")
    group.add_argument("--remote-plain", default="", metavar="URL", help="address of the same model without speculation")
    group.add_argument("--remote-key", default="", metavar="K", help="key of the server (default: $SLIPSTREAM_REMOTE_KEY)")
    group.add_argument("--remote-ca", type=values.path, metavar="FILE", help="certificate authority to trust, as a PEM file")


def add_prompt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", help="prompt; “-” reads standard input")
    parser.add_argument(
        "--tokens",
        type=values.path,
        metavar="FILE",
        help="JSON list of prompt token IDs to use instead of text, without a chat template",
    )


def add_images(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        type=values.path,
        metavar="FILE",
        help="show the model an image before the prompt, if it can see; can be repeated",
    )


def add_prompts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("several prompts (with --drafters)")
    group.add_argument("--prompts", type=values.file, metavar="FILE", help=PROMPT_FILE)
    group.add_argument("--chats", action="store_true", help="use your messages in the chats saved in the app")
    group.add_argument("--most", type=values.whole(1), default=20, metavar="N", help="use only the last N prompts (default 20)")


def add_reply(parser: argparse.ArgumentParser, mode: bool = True) -> None:
    group = parser.add_argument_group("reply")
    group.add_argument("--max-tokens", type=values.whole(1), default=1024, metavar="N", help="token limit (default 1024)")
    group.add_argument(
        "--temperature", type=values.TEMPERATURE, default=0.0, metavar="T", help="randomness; 0 is greedy (default 0)"
    )
    group.add_argument("--seed", type=values.whole(0, 2**64 - 1), metavar="S", help="random seed for temperatures above 0")
    group.add_argument(
        "--width",
        type=lambda text: None if text == "auto" else values.whole(1)(text),
        metavar="N",
        help="tokens to verify per pass, or auto for the fastest width (default auto)",
    )
    if mode:
        group.add_argument("--mode", choices=("dflash", "plain"), help="decoding mode (default: dflash if there is a drafter)")
    group.add_argument("--exact", action="store_true", help="guarantee identical output with and without DFlash; slower")
    group.add_argument("--ignore-eos", action="store_true", help="continue to --max-tokens after the end of the reply")
    group.add_argument("--stop", action="append", default=[], metavar="TEXT", help="stop before TEXT; can be repeated")
    group.add_argument("--thinking", action="store_true", help="let the model think before it answers, if it can")
    group.add_argument("--effort", metavar="LEVEL", help="reasoning effort (low, medium, high), if the model supports it")
    group.add_argument("--system", default="", metavar="TEXT", help="system prompt")
    group = parser.add_argument_group("sampling (applied in the order penalties, temperature, top-k, top-p, min-p)")
    for name, metavar, words in (
        ("top-k", "N", "sample from the N most likely tokens (default 0: off)"),
        ("top-p", "P", "sample from the most likely tokens with total probability P (default 1: off)"),
        ("min-p", "P", "drop tokens less likely than P times the most likely one (default 0: off)"),
        ("repetition-penalty", "R", "divide the logits of tokens in the prompt or reply by R (default 1: off)"),
        ("presence-penalty", "X", "subtract X from the logits of tokens in the reply (default 0: off)"),
        ("frequency-penalty", "X", "subtract X from the logit of a token for each time it is in the reply (default 0: off)"),
    ):
        default = getattr(Sampling(), name.replace("-", "_"))
        group.add_argument(f"--{name}", type=type(default), default=default, metavar=metavar, help=words)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print only a JSON object")


def add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument("--host", default=HOST, metavar="H", help=f"address to listen on (default {HOST}: this computer only)")
    group.add_argument(
        "--port", type=values.whole(0, 65535), default=PORT, metavar="P", help=f"port; 0 selects a free one (default {PORT})"
    )
    group.add_argument(
        "--key",
        type=values.key,
        metavar="K",
        default=os.environ.get(KEY_VARIABLE) or None,
        help=f"API key that requests need, or none on this computer (default: ${KEY_VARIABLE}, or a generated one in the keychain)",
    )
    group.add_argument("--load-by-name", action="store_true", help="load other installed pairs when requests name them")
    group.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        type=values.origin,
        metavar="URL",
        help="let web pages of this origin send requests, such as http://localhost:3000; can be repeated",
    )
    group.add_argument("--log-requests", action="store_true", help="also log the content of requests")


def add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", choices=tuple(AGENTS), help="agent to start")
    parser.add_argument("--print", action="store_true", help="print commands to copy instead of starting the agent")
    parser.add_argument(
        "--key",
        type=values.key,
        metavar="K",
        default=os.environ.get(KEY_VARIABLE) or None,
        help=f"API key of the server (default: ${KEY_VARIABLE}, or the one in the keychain)",
    )


def add_cache(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prompts saved on disk, so that later chats start faster")
    group.add_argument("--no-cache", action="store_true", help="don't save or read prompts")
    group.add_argument("--cache-folder", type=values.path, metavar="DIR", help="where to save (default: in your cache folder)")
    group.add_argument(
        "--cache-gb",
        type=values.whole(1),
        metavar="N",
        help="space in GB (default: as set last, or else 10 or a tenth of the free disk space, whichever is less)",
    )


def add_tools(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("tools, which the model may call with your approval")
    group.add_argument("--calculator", action="store_true", help="use the built-in calculator")
    group.add_argument(
        "--files",
        action="append",
        default=[],
        type=values.folder,
        metavar="FOLDER",
        help="let the model read FOLDER; can be repeated",
    )
    group.add_argument(
        "--documents",
        action="append",
        default=[],
        type=values.folder,
        metavar="FOLDER",
        help="let the model search FOLDER's documents, and cite them; can be repeated",
    )
    group.add_argument("--mcp", type=values.file, metavar="FILE", help="use the MCP servers in FILE, such as mcp.json")
    group.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="TOOL",
        help="run TOOL (or SERVER/TOOL) without asking; can be repeated, and is needed if standard input isn't a terminal",
    )
    group.add_argument(
        "--steps",
        type=values.whole(1),
        default=MOST_STEPS,
        metavar="N",
        help=f"end a reply after N steps; a step ends with tool calls, the last one with the answer (default {MOST_STEPS})",
    )


def add_offline(parser: argparse.ArgumentParser, default: Any) -> None:
    words = f"connect to no other computer; the same as {offline.VARIABLE}=1"
    parser.add_argument("--offline", action="store_true", default=default, help=words)


def add_models(models: argparse.ArgumentParser) -> None:
    """Add the subcommands of `slipstream models`."""
    commands = models.add_subparsers(dest="models_command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        added.set_defaults(parser=added)
        add_json(added)
        add_offline(added, argparse.SUPPRESS)  # a default would replace that of `slipstream models --offline`
        return added

    def pair(added: argparse.ArgumentParser, default: str = "") -> None:
        added.add_argument("id", nargs="?", help="pair ID from the catalog" + default)
        added.add_argument("--bits", type=values.whole(1, 64), metavar="N", help="bits per weight of the catalog's target")
        added.add_argument("--target", metavar="OWNER/NAME", help="target on the hub, instead of a pair ID")
        added.add_argument("--drafter", metavar="OWNER/NAME", help="drafter on the hub (default: searched by name)")
        added.add_argument("--plain", action="store_true", help="use the target without a drafter")

    listed = command("list", "list the catalog and the models on this disk")
    listed.add_argument("--add-folder", type=values.path, metavar="DIR", help="also search this folder for models from now on")
    listed.add_argument("--forget-folder", type=values.path, metavar="DIR", help="stop searching this folder; its files are kept")
    search = command("search", "search the catalog and, with --hub, the model hub")
    search.add_argument("words", nargs="+", help="words to search for")
    search.add_argument("--hub", action="store_true", help="also search the model hub by name")
    fit = command("fit", "predict the memory, speed, and disk space of a pair")
    pair(fit)
    fit.add_argument(
        "--context", type=values.whole(1, 2**24), default=8192, metavar="N", help="context length in tokens (default 8192)"
    )
    fit.add_argument(
        "--macs",
        type=values.whole(1, MOST_RANKS),
        default=1,
        metavar="N",
        help="number of equal Macs that run the pair (--workers)",
    )
    pull = command("pull", "download a pair; run again to resume")
    pair(pull)
    pull.add_argument(
        "--limit", type=values.MEGABYTES, metavar="MB", help="limit in MB per second (default: the limit set in the app)"
    )
    pull.add_argument("--connections", type=values.whole(1, 32), default=6, metavar="N", help="parallel connections (default 6)")
    pair(command("rm", "delete a pair from the hub cache"))
    check = command("check", "verify the checksums of downloaded files")
    pair(check, " (default: everything downloaded)")
    command("audit", "compare the catalog with the hub: repos, revisions, sizes, and whether they can be used")
    move = command("move", "move the model folder, for example to another disk; run again to resume")
    move.add_argument("folder", type=values.path, metavar="FOLDER", help="new location; set HF_HUB_CACHE to it for other programs")
    login = command("login", "save a hub access token in the keychain, for gated and private repos")
    login.add_argument("--forget", action="store_true", help="remove the token")


def check_pair(parser: argparse.ArgumentParser, args: argparse.Namespace, needs_drafter: bool = False) -> None:
    """Exit with a usage error if options of the pair or the server are in conflict."""
    if getattr(args, "remote", None):
        if args.target or args.drafter:
            parser.error("--remote can't be used with --target and --drafter.")
        if getattr(args, "drafters", None):
            parser.error("--remote can't be used with --drafters.")
        return
    if any(getattr(args, name, None) for name in ("model", "remote_plain", "remote_key", "remote_ca")):
        parser.error("--model and the options of a remote server need --remote.")
    if args.drafter and not args.target:
        parser.error("--drafter needs --target.")
    if args.target and not args.drafter and (needs_drafter or getattr(args, "mode", None) == "dflash"):
        parser.error("DFlash needs a drafter. Specify its folder with --drafter.")
    several = getattr(args, "drafters", None)
    if args.target and not args.drafter and not several and getattr(args, "exact", False):
        parser.error("--exact needs --drafter.")
    if args.drafter_bits and args.target and not args.drafter and not several:
        parser.error("--drafter-bits needs --drafter.")


def check_server(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit with a usage error if other computers could use the server without a key."""
    if args.key == "none" and not is_loopback(args.host):
        parser.error(f"Other computers can reach {args.host}, so requests need a key other than none in --key or {KEY_VARIABLE}.")


def check_prompt(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit unless there is exactly one prompt, or several for drafters."""
    several = getattr(args, "prompts", None) or getattr(args, "chats", False)
    if several and not args.drafters:
        parser.error("--prompts and --chats need --drafters.")
    if several and (args.text is not None or args.tokens is not None):
        parser.error("--prompts and --chats can't be used with another prompt.")
    if not several and (args.text is None) == (args.tokens is None):
        parser.error(
            "specify a prompt (“-” reads standard input), --tokens FILE, or, with --drafters, --prompts FILE or --chats."
            if hasattr(args, "drafters")
            else "specify either a prompt (“-” reads standard input) or --tokens FILE."
        )
    if args.tokens and args.system:
        parser.error("--system can't be used with --tokens, which skips the chat template.")
    if args.image and args.text is None:
        parser.error("--image needs a prompt.")


def check_reply(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Exit with a usage error if an option is out of range."""
    try:
        limits.check_choices(options(args, "dflash"), _block_size(args))
    except UserError as error:
        parser.error(str(error))


def _block_size(args: argparse.Namespace) -> int | None:
    """Return the drafter's block size, or None without a valid drafter."""
    try:
        _, drafter = folders(args)
        return parse(read_config(drafter)).block_size if drafter else None
    except UserError:
        return None


def request(args: argparse.Namespace, mode: Mode) -> GenerationRequest:
    """Return the request of a command line."""
    if args.tokens is not None:
        return replace(options(args, mode), prompt_tokens=_tokens(args.tokens))
    system = (Message("system", check_text(args.system)),) if args.system else ()
    text = _text(args.text)
    if not text.strip():
        raise UserError("empty_message", "The message is empty. Write something first.")
    return replace(options(args, mode), messages=(*system, Message("user", text, images=tuple(map(read_image, args.image)))))


def options(args: argparse.Namespace, mode: Mode) -> GenerationRequest:
    return GenerationRequest(
        mode=mode,
        width=args.width,
        sampling=Sampling(**{field.name: getattr(args, field.name) for field in fields(Sampling)}),
        seed=args.seed,
        max_tokens=args.max_tokens,
        ignore_eos=args.ignore_eos,
        thinking=args.thinking,
        effort=args.effort,
        stop=tuple(args.stop),
        exact=args.exact,
    )


def check_text(text: str) -> str:
    """Return a command-line text after checking that it is valid UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError("prompt_not_utf8", "The prompt isn't valid UTF-8 text. Convert it to UTF-8, then try again.") from None
    return text


def _text(args: str) -> str:
    if args != "-":
        return check_text(args)
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UserError("stdin_not_utf8", "Standard input isn't valid UTF-8 text. Convert it to UTF-8, then try again.") from None


def _tokens(path: Path) -> tuple[int, ...]:
    try:
        ids = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise UserError("tokens_invalid", "“{file}” isn't a JSON list of integers. Use a list such as [1, 2, 3].", file=str(path))
    return tuple(ids)
