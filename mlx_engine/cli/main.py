"""The parser of the `slipstream` command, and the module of each subcommand.

Exit codes: 0: success, 1: error, 2: usage error, 130: interrupted.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, NoReturn

from mlx_engine.cli import arguments, bench_arguments, console, values, worker_options
from mlx_engine.cli.console import note, print_json
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.visible import visible
from mlx_engine.engine.host import EngineHost
from mlx_engine.network import offline

if TYPE_CHECKING:
    from mlx_engine.engine.engine import Engine
    from mlx_engine.remote.remote_engine import RemoteEngine

_ABOUT = "Chat with a large language model, faster: a small drafter proposes tokens, and the model verifies them in blocks."
_GRACE_S = 5.0  # seconds for the engine to free its models
_WITHOUT_ENGINE = ("models", "launch", "cache", "worker")
_MODULES = {"bench": "mlx_engine.cli.bench", "kernels": "mlx_engine.cli.kernels"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = _Parser(prog="slipstream", description=_ABOUT, epilog="Run `slipstream COMMAND --help` for the options of a command.")
    top.add_argument("--version", action="version", version=f"slipstream {version('slipstream')}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        arguments.add_offline(added, False)
        added.set_defaults(parser=added)
        return added

    generate = command("generate", "answer one prompt")
    arguments.add_prompt(generate)
    arguments.add_images(generate)
    arguments.add_pair(generate)
    arguments.add_remote(generate)
    arguments.add_reply(generate)
    generate.add_argument("--raw", action="store_true", help="print control characters of the reply to a pipe as they are")
    arguments.add_json(generate)

    chat = command("chat", "chat in the terminal; type /help there for commands")
    arguments.add_pair(chat)
    arguments.add_remote(chat)
    arguments.add_reply(chat)
    arguments.add_tools(chat)
    arguments.add_cache(chat)

    compare = command("compare", "answer one prompt with and without DFlash, and compare speed and text")
    arguments.add_prompt(compare)
    arguments.add_images(compare)
    arguments.add_pair(compare)
    arguments.add_remote(compare)
    arguments.add_reply(compare, mode=False)
    compare.add_argument("--repeats", type=values.whole(1), default=1, metavar="N", help="replies per mode (default 1)")
    compare.add_argument(
        "--drafters",
        metavar="all|NAMES",
        help="compare plain decoding, lookup, and these drafters of the target: all on this disk, or repos or kinds such as "
        "dspark,mtp",
    )
    compare.add_argument(
        "--together",
        action="store_true",
        help="compute the replies together, in shared passes; only their texts can be compared then",
    )
    arguments.add_prompts(compare)
    arguments.add_json(compare)

    bench = command("bench", "measure plain and DFlash decoding, interleaved over a set of prompts, and report medians")
    arguments.add_pair(bench)
    arguments.add_remote(bench)
    bench_arguments.add_bench(bench)
    arguments.add_json(bench)

    serve = command("serve", "serve a pair to other programs, through OpenAI's and Anthropic's HTTP APIs")
    arguments.add_pair(serve)
    arguments.add_remote(serve)
    arguments.add_server(serve)
    arguments.add_cache(serve)
    arguments.add_json(serve)

    for each in (generate, chat, compare, bench, serve):
        worker_options.add_workers(each)

    worker = command("worker", "let another computer run a model together with this one")
    worker_options.add_worker(worker)

    launch = command("launch", "start a coding agent with the running server or its own; arguments after -- go to the agent")
    arguments.add_launch(launch)
    arguments.add_pair(launch, "that of the running server, if any, or the demo pair")

    calibrate = command("calibrate", "measure the cost of a pair's passes on this machine to choose block widths")
    arguments.add_pair(calibrate)
    arguments.add_json(calibrate)

    tune = command("tune", "tune a drafter to its target and your prompts, or train a new one; run again to continue")
    arguments.add_pair(tune)
    arguments.add_tune(tune)
    arguments.add_json(tune)

    models = command("models", "list, search, download, check, move, and delete pairs")
    arguments.add_models(models)

    cache = command("cache", "list, clear, or verify the prompts saved on disk")
    cache.add_argument("cache_command", choices=("list", "clear", "verify"), metavar="list|clear|verify")
    cache.add_argument(
        "--folder", type=values.path, metavar="DIR", help="folder with saved prompts (default: in your cache folder)"
    )
    arguments.add_json(cache)

    doctor = command("doctor", "check your setup and suggest fixes")
    arguments.add_pair(doctor)
    doctor.add_argument("--kernels", action="store_true", help="test the Metal kernels with the pair, and select the faster ones")
    arguments.add_json(doctor)
    return top


def main(argv: Sequence[str] | None = None, make_engine: "Callable[[], Engine] | None" = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    at = words.index("--") if words[:1] == ["launch"] and "--" in words else len(words)
    args = parser().parse_args(words[:at])
    args.agent_arguments = words[at + 1 :]
    if args.offline:
        os.environ[offline.VARIABLE] = "1"  # for child processes, too
    if args.command not in ("models", "cache", "worker"):  # `models` takes repos, the others no pair
        needs_drafter = args.command in ("compare", "bench", "calibrate") and not getattr(args, "drafters", None)
        arguments.check_pair(args.parser, args, needs_drafter or (args.command == "tune" and not args.new))
    if args.command == "tune":
        arguments.check_tune(args.parser, args)
    if args.command == "serve":
        arguments.check_server(args.parser, args)
    if args.command == "bench":
        bench_arguments.check_bench(args.parser, args)
    if args.command in ("generate", "compare"):
        arguments.check_prompt(args.parser, args)
    if args.command in ("generate", "chat", "compare"):
        arguments.check_reply(args.parser, args)
    console.prepare()
    clients: list[EngineClient] = []
    status = _report(args, make_engine, clients)
    if not all(client.wait(0) for client in clients):  # MLX aborts the process if Python ends while MLX runs
        from mlx_engine.network import traffic  # most commands start without it

        traffic.close()
        os._exit(status)
    return status


def _report(args: argparse.Namespace, make_engine: "Callable[[], Engine] | None", clients: "list[EngineClient]") -> int:
    """Run the command, and turn its errors into messages and exit codes."""
    try:
        try:
            _check_current_folder()
            status = _run(args, make_engine, clients)
        except UserError as error:
            note(str(error))
            if getattr(args, "json", False):
                print_json({"error": str(error)})
            status = 1
        console.flush()
        return status
    except KeyboardInterrupt:
        with suppress(BrokenPipeError):
            note("Stopped.")
        return 130
    except BrokenPipeError:
        return 1
    finally:
        console.discard_unreadable()


def _check_current_folder() -> None:
    """Refuse a deleted current folder, where relative paths and many libraries fail."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError(
            "current_folder_gone", "The current folder was deleted. Change to another folder, then try again."
        ) from None


def _host(args: argparse.Namespace, make_engine: "Callable[[], Engine] | None") -> EngineHost:
    """Return this computer's engine."""
    if getattr(args, "streams", None):  # measured together even if they are slower together
        return EngineHost(make_engine, min_active=max(args.streams))
    return EngineHost(make_engine)


def _run(args: argparse.Namespace, make_engine: "Callable[[], Engine] | None", clients: "list[EngineClient]") -> int:
    """Import a command's module and run it.

    The late import keeps help and usage errors fast.
    """
    name = "kernels" if args.command == "doctor" and args.kernels else args.command
    module = import_module(_MODULES.get(name, f"mlx_engine.cli.{name}"))
    status: int
    if name in _WITHOUT_ENGINE:
        status = module.run(args)
        return status
    client = _client(args, make_engine)
    clients.append(client)
    try:
        status = module.run(args, client)
        return status
    finally:
        client.wait(_GRACE_S)


def _client(args: argparse.Namespace, make_engine: "Callable[[], Engine] | None") -> EngineClient:
    """Return the engine that the options select."""
    if getattr(args, "workers", None):
        if args.remote:
            args.parser.error("--workers can't be used with --remote.")
        return worker_options.ring_engine(args)
    return _remote(args) if getattr(args, "remote", None) else _host(args, make_engine)


def _remote(args: argparse.Namespace) -> "RemoteEngine":
    from mlx_engine.remote.endpoint import Endpoint
    from mlx_engine.remote.remote_engine import RemoteEngine

    key = args.remote_key or os.environ.get("SLIPSTREAM_REMOTE_KEY", "")
    return RemoteEngine(Endpoint(args.remote, args.model, key, args.remote_plain, ca_file=args.remote_ca))
