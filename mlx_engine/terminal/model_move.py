"""`slipstream models move`: the model folder to another place, with a line of progress; Ctrl-C keeps what was copied."""

import argparse
import sys
import threading

from mlx_engine.pairs.model_folder import model_folder
from mlx_engine.pairs.model_move import ModelMove
from mlx_engine.terminal.model_pull import in_background
from mlx_engine.terminal.model_words import print_json


def move(given: argparse.Namespace) -> int:
    """Move the model folder; returns the exit status.

    Raises:
        UserError: why it cannot be moved. The models lie where they lay.
    """
    folder = given.folder.expanduser().absolute() if given.folder.parts else given.folder  # an empty name is a slip, not “here”
    made, before, stop = ModelMove(folder), model_folder(), threading.Event()
    shown = sys.stderr.isatty() and not given.json

    def tell(done: int, total: int) -> None:
        if shown:
            text = f"\r\033[K{done / total if total else 1.0:4.0%} of {total / 1e9:,.2f} GB"
            print(text, end="", file=sys.stderr, flush=True)

    try:
        in_background(lambda: made.run(stop, tell), stop)
    except KeyboardInterrupt:
        words = f"Models lie in {model_folder()}. What was copied is kept; the same command goes on from there."
        print(f"\n{words}" if shown else words, file=sys.stderr)
        raise
    if shown:
        print("\r\033[K", end="", file=sys.stderr)
    now = model_folder()
    if given.json:
        print_json({"from": str(before), "to": str(now), "bytes": made.total, "notes": list(map(str, made.notes))})
        return 0
    for note in made.notes:
        print(note, file=sys.stderr)
    print(f"Models lie in {now} now. Other programs find them there with HF_HUB_CACHE={now}.")
    return 0
