"""The prompts of `slipstream bench --set`: built in, in a file, or published."""

import argparse
import threading
from functools import partial
from pathlib import Path

from mlx_engine.cli.bench_prompts import SETS, BenchPrompt, from_file, from_texts
from mlx_engine.cli.console import ProgressLine, note, print_json, say
from mlx_engine.cli.model_pull import in_background
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS
from mlx_engine.prompt_sets.set_download import download_set, find_set, read_set, remove_set


def load(name: str | Path, args: argparse.Namespace) -> tuple[BenchPrompt, ...]:
    """Return the prompts of a set.

    A published one is downloaded first, and cut to `args.limit` prompts.

    Raises:
        UserError: the set can't be downloaded or read.
    """
    if isinstance(name, Path):
        return from_file(name)
    if name in SETS:
        return SETS[name]
    chosen = PUBLISHED_SETS[name]
    return from_texts(name, read_set(find_set(chosen) or _download(name, args.json), chosen, args.limit))


def _download(name: str, quiet: bool) -> Path:
    chosen, line, stop = PUBLISHED_SETS[name], ProgressLine(quiet), threading.Event()
    line.say(f"Downloading {name} from {chosen.repo}, revision {chosen.revision[:7]}, license: {chosen.license}")
    done = (0, 0)

    def report(received: int, size: int) -> None:
        nonlocal done
        done = received, size

    def show() -> None:
        line.show(f"Downloading {name}: {done[0] / 1e6:,.1f} of {done[1] / 1e6:,.1f} MB")

    try:
        found = in_background(partial(download_set, chosen, stop, report), stop, show)
    except KeyboardInterrupt:
        line.end()
        note("Partial download kept. Run the command again to resume.")
        raise
    finally:
        line.end()
    assert isinstance(found, Path), "only Ctrl-C stops the download"
    return found


def remove(name: str, as_json: bool) -> int:
    """Delete a downloaded set, and return the exit code."""
    freed = remove_set(PUBLISHED_SETS[name])
    print_json({"removed": name, "bytes": freed}) if as_json else say(f"Removed {name}: {freed / 1e6:,.1f} MB freed.")
    return 0
