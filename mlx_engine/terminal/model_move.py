"""`slipstream models move`: move the model folder. Ctrl-C keeps what was copied."""

import argparse
import sys
import threading

from mlx_engine.pairs.cache import model_folder
from mlx_engine.pairs.model_move import ModelMove
from mlx_engine.terminal.console import note, print_json, progress
from mlx_engine.terminal.model_pull import in_background


def move(given: argparse.Namespace) -> int:
    """Move the model folder, and return the exit code.

    Raises:
        UserError: the models can't be moved, and stay where they are.
    """
    folder = given.folder.expanduser().absolute() if given.folder.parts else given.folder  # an empty name is a mistake
    made, before, stop = ModelMove(folder), model_folder(), threading.Event()
    shown = sys.stderr.isatty() and not given.json

    def show(done: int, total: int) -> None:
        if shown:
            progress(f"{done / total if total else 1.0:4.0%} of {total / 1e9:,.2f} GB")

    try:
        in_background(lambda: made.run(stop, show), stop)
    except KeyboardInterrupt:
        note(f"{chr(10) if shown else ''}The models are still in {model_folder()}. Run the command again to resume.")
        raise
    if shown:
        progress("")
    now = model_folder()
    if given.json:
        print_json({"from": str(before), "to": str(now), "bytes": made.total, "notes": list(map(str, made.notes))})
        return 0
    for line in made.notes:
        note(str(line))
    print(f"The models are now in {now}. Set HF_HUB_CACHE={now} for other programs.")
    return 0
