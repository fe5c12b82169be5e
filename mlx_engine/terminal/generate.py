"""`slipstream generate`: one reply."""

import argparse
import json
import sys

from mlx_engine.requests import Mode
from mlx_engine.terminal import arguments, interrupt, reply_printer
from mlx_engine.terminal.pair import MakeEngine, open_pair


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Answer one prompt; 130 when it was interrupted."""
    mode: Mode = given.mode or ("plain" if given.target and not given.drafter else "dflash")
    request = arguments.request(given, mode)
    engine, _ = open_pair(make_engine, given)
    with interrupt.stops_reply() as cancel:
        answer = reply_printer.show(engine.generate(request, cancel), None if given.json else sys.stdout)
    if given.json:
        print(json.dumps(reply_printer.as_json(answer), ensure_ascii=False))
    else:
        reply_printer.report(answer, sampled=given.temperature > 0)
    return 130 if answer.reason == "cancelled" else 0
