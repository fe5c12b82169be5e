"""`slipstream worker`: let another computer run a model together with this one."""

import argparse

from mlx_engine.cli.console import note, say, show_log
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import why_failed
from mlx_engine.ring.model_copy import remove_copies
from mlx_engine.ring.pairing import own_identity
from mlx_engine.ring.worker_models import copies_folder
from mlx_engine.ring.worker_service import WorkerService


def run(args: argparse.Namespace) -> int:
    if args.remove_copies:
        say(f"Deleted {remove_copies(copies_folder()) / 1e9:,.2f} GB.")
        return 0
    identity = own_identity(args.new_code)
    try:
        service = WorkerService(identity, args.host, args.port)
    except OSError as error:
        template = "Can't listen on “{host}”: {reason}. Choose another address."
        raise UserError("cannot_listen", template, host=args.host, reason=why_failed(error)) from None
    if not identity.kept:
        note("No keychain is available, so the pairing code changes at every start.")
    say(
        f"Waiting for another computer on port {service.port}.",
        f"Pairing code: {identity.code}",
        f"There, use ADDRESS:{service.port} with an address of this computer: choose Models ▸ Add… ▸ Another Mac…, or add the",
        "option --workers to a command.",
        "Results of layers are exchanged without encryption and without a check of who sends them, so connect the computers with a",
        "cable, or use a network that you trust.",
        "Stop with Ctrl-C.",
    )
    show_log("mlx_engine.ring")
    service.serve()
    return 0
