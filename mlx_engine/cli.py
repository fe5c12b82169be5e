"""The console script `slipstream`: the parser, and from each command to its file.

Exit codes: 0 done, 1 a failure that a sentence on standard error tells, 2 a mistake of usage, 130 interrupted.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from mlx_engine.errors import UserError
from mlx_engine.terminal import arguments, controls, model_arguments
from mlx_engine.terminal.pair import MakeEngine, local_engine

ABOUT = "Chat with a large language model, faster: a small drafter proposes blocks of tokens, the model itself confirms every one."


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(prog="slipstream", description=ABOUT, epilog="`slipstream COMMAND --help` tells more.")
    top.add_argument("--version", action="version", version=f"slipstream {version('slipstream')}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, words: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        added.set_defaults(parser=added)
        return added

    generate = command("generate", "answer one prompt")
    arguments.add_prompt(generate)
    arguments.add_pair(generate)
    arguments.add_reply(generate)
    arguments.add_json(generate)

    chat = command("chat", "chat in the terminal; /help there lists its commands")
    arguments.add_pair(chat)
    arguments.add_reply(chat)

    compare = command("compare", "answer one prompt plainly and with DFlash, one after the other, and compare speed and text")
    arguments.add_prompt(compare)
    arguments.add_pair(compare)
    arguments.add_reply(compare, mode=False)
    compare.add_argument("--repeats", type=arguments.whole(1), default=1, metavar="N", help="times to answer each way")
    arguments.add_json(compare)

    bench = command("bench", "measure plain and DFlash decoding in turn over a set of prompts, and report medians")
    arguments.add_pair(bench)
    arguments.add_bench(bench)
    arguments.add_json(bench)

    calibrate = command("calibrate", "measure what passes cost for a pair on this machine, so that widths are chosen well at once")
    arguments.add_pair(calibrate)
    arguments.add_json(calibrate)

    models = command("models", "list, search, fetch, check and remove pairs")
    model_arguments.add_commands(models)

    doctor = command("doctor", "look over this machine and this installation, and say what to do about what is amiss")
    arguments.add_pair(doctor)
    doctor.add_argument(
        "--kernels", action="store_true", help="try our Metal kernels with the pair instead, and use the quicker ones"
    )
    arguments.add_json(doctor)
    return top


def main(argv: Sequence[str] | None = None, make_engine: MakeEngine = local_engine) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(argv)
    if given.command != "models":  # its pairs are repos, not folders
        arguments.check_pair(given.parser, given, needs_drafter=given.command in ("compare", "bench", "calibrate"))
    if given.command in ("generate", "compare"):
        arguments.check_prompt(given.parser, given)
    if given.command in ("generate", "chat", "compare"):
        arguments.check_reply(given.parser, given)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a test's stand-in for a stream may lack it
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that lacks a sign shows “?”
    try:
        status = _dispatch(given, make_engine)
        sys.stdout.flush()
        return status
    except UserError as error:
        print(controls.visible(str(error)), file=sys.stderr)
        if getattr(given, "json", False):
            print(json.dumps({"error": str(error)}, ensure_ascii=False))
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has gone, as `head` does; what Python still wants to flush goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Commands are imported when they are called: help and mistakes of usage answer at once."""
    match given.command:
        case "generate":
            from mlx_engine.terminal import generate

            return generate.run(given, make_engine)
        case "chat":
            from mlx_engine.terminal import chat

            return chat.run(given, make_engine)
        case "compare":
            from mlx_engine.terminal import compare

            return compare.run(given, make_engine)
        case "bench":
            from mlx_engine.bench import speed

            return speed.run(given, make_engine)
        case "calibrate":
            from mlx_engine.terminal import calibrate

            return calibrate.run(given, make_engine)
        case "models":
            from mlx_engine.terminal import models

            return models.run(given)
        case _:
            from mlx_engine.terminal import doctor, kernels

            return (kernels if given.kernels else doctor).run(given, make_engine)


if __name__ == "__main__":
    sys.exit(main())
