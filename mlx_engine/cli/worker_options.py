"""Options for models on several computers, and the engine that they select."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from mlx_engine.cli import values
from mlx_engine.cli.console import ask, note
from mlx_engine.contract.errors import UserError
from mlx_engine.ring.worker_address import PORT, read_address

if TYPE_CHECKING:
    from mlx_engine.ring.pairing import KnownWorker
    from mlx_engine.ring.ring_engine import RingEngine

_CODE = "SLIPSTREAM_WORKER_CODE"


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects other computers."""
    parser.add_argument(
        "--workers",
        type=_addresses,
        metavar="HOST[:PORT],…",
        help=f"run the target together with these computers, where “slipstream worker” runs (pairing code: ${_CODE}, or asked for)",
    )


def add_worker(parser: argparse.ArgumentParser) -> None:
    """Add the options of `slipstream worker`."""
    parser.add_argument("--host", type=values.nonempty, default="0.0.0.0", metavar="H", help="address to wait on (default: all)")
    parser.add_argument(
        "--port", type=values.whole(0, 65535), default=PORT, metavar="P", help=f"port; 0 selects a free one (default {PORT})"
    )
    parser.add_argument(
        "--remove-copies", action="store_true", help="delete the models that other computers have copied here, and exit"
    )
    parser.add_argument("--new-code", action="store_true", help="replace the pairing code, so that no computer can use the old one")


def _addresses(text: str) -> list[tuple[str, int]]:
    found = []
    for part in text.split(","):
        if (address := read_address(part)) is None:
            raise argparse.ArgumentTypeError(f"“{part}” isn't an address such as 192.168.1.2 or mac.local:{PORT}")
        found.append(address)
    return found


def ring_engine(args: argparse.Namespace) -> "RingEngine":
    """Return the engine of this computer and its workers.

    Workers that aren't paired yet are paired first.

    Raises:
        UserError: a worker can't be reached or paired.
    """
    from mlx_engine.ring.ring_engine import RingEngine
    from mlx_engine.ring.ring_plan import RingPlan

    codes = [*os.environ.get(_CODE, "").split(","), *[""] * len(args.workers)]
    plan = RingPlan(tuple(_worker(host, port, code) for (host, port), code in zip(args.workers, codes, strict=False)))
    return RingEngine(lambda: plan)


def _worker(host: str, port: int, code: str) -> "KnownWorker":
    from mlx_engine.ring.links import pair
    from mlx_engine.ring.pairing import KnownWorker, known_worker

    asks = sys.stdin.isatty()
    if not code and (known := known_worker(host, port)) is not None:
        try:
            return pair(known)
        except UserError as error:
            if error.text.code not in ("worker_code_wrong", "worker_certificate_changed") or not asks:
                raise
            note(str(error))
    elif not code and not asks:
        template = "“{name}” isn't paired yet. Set {variable} to the code that “slipstream worker” shows there."
        raise UserError("worker_not_paired", template, name=f"{host}:{port}", variable=_CODE)
    worker = pair(KnownWorker(host, port, code or ask(f"Pairing code of {host}: ")))
    note(f"Paired with {host}.")
    return worker
