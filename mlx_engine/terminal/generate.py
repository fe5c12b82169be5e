"""`slipstream generate`: one reply."""

import argparse
import sys

from mlx_engine.host import EngineDoor
from mlx_engine.requests import Mode
from mlx_engine.terminal import arguments, reply_printer
from mlx_engine.terminal.console import print_json
from mlx_engine.terminal.session import cancellable, open_pair


def run(given: argparse.Namespace, door: EngineDoor) -> int:
    """Answer one prompt, and return the exit code."""
    mode: Mode = given.mode or ("plain" if given.target and not given.drafter else "dflash")
    request = arguments.request(given, mode)
    open_pair(door, given)
    reply = reply_printer.show(cancellable(door, request), None if given.json else sys.stdout)
    if given.json:
        print_json(reply_printer.as_json(reply))
    else:
        reply_printer.report(reply, sampled=given.temperature > 0)
    return 130 if reply.reason == "cancelled" else 0
