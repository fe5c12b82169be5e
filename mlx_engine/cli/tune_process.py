"""Tuning in a process of its own, so that replies never wait for it.

It reads one JSON line from standard input: {"target": …, "drafter": …, "prompts": …, "log": a file name}. A prompt is a list of
[role, content]. It writes JSON lines to standard output, where "event" is progress, result, failed, or paused. When standard input
ends, because the window pauses the run or has quit, it saves the run and ends. Another process continues the run.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlx_engine.cli import arguments
from mlx_engine.cli.console import discard_unreadable, flush, print_json
from mlx_engine.cli.prompt_files import Prompts
from mlx_engine.cli.tune import chosen_prompts, general_prompts, request
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, LoadProgress, Tuned, WorkProgress
from mlx_engine.contract.requests import LoadPair, Message, Request
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.host import EngineHost
from mlx_engine.hardware import blas
from mlx_engine.models.downloads.download_queue import text_to_json
from mlx_engine.models.files.tuning_files import delete_runs, run_folder, save_run_progress, save_run_prompts, unfinished_run

_NICENESS = 10
_SAVE_S = 2.0  # between two writes of the progress
_GRACE_S = 5.0  # for the engine to free its models


class PausableHost:
    """An engine whose requests end when a pause is requested."""

    def __init__(self, host: EngineHost) -> None:
        self._host = host
        self._run: Run | None = None
        self.paused = False

    def pause(self) -> None:
        """End all requests. Can be called from any thread and signal handler."""
        self.paused = True  # first, so that `events` sees it even before the run exists
        if self._run is not None:
            self._run.cancel()

    def events(self, request: Request) -> Iterator[Event]:
        """Yield a request's events until a pause."""

        def started(run: Run) -> None:
            self._run = run
            if self.paused:
                run.cancel()

        yield from to_iter(self._host, request, started)


def tune(host: PausableHost, target: Path, drafter: Path, saved: Prompts) -> Iterator[dict[str, Any]]:
    """Tune a drafter, or continue, and yield what the window is to know.

    Args:
        host: the engine.
        target, drafter: folders of the pair.
        saved: the prompts in the saved chats, oldest first.

    Raises:
        UserError: the pair can't be loaded or tuned.
    """
    prompts, folder = chosen_prompts(unfinished_run(target, drafter), saved), run_folder(target, drafter)
    parser = argparse.ArgumentParser()
    arguments.add_tune(parser)
    tuning = request(parser.parse_args([]), prompts, general_prompts(demo=False))
    for event in host.events(LoadPair(target, drafter, tuned=False)):
        if isinstance(event, LoadProgress):
            yield {"event": "progress", "fraction": 0.0, "step": text_to_json(event.step)}
    saved_at = 0.0
    for event in host.events(tuning) if not host.paused else ():
        if isinstance(event, Tuned):
            delete_runs()  # the files below may have been written after the run ended
            yield {"event": "result", **asdict(event)}
            return
        if isinstance(event, WorkProgress):
            if not saved_at:  # now the folder exists and is locked
                save_run_prompts(folder, prompts)
            if time.monotonic() - saved_at > _SAVE_S:
                saved_at = time.monotonic()
                with suppress(UserError):  # the run itself reports a full disk
                    save_run_progress(folder, event.fraction)
            yield {"event": "progress", "fraction": event.fraction, "step": text_to_json(event.step)}
    yield {"event": "paused"}


def main() -> int:
    """Tune until the result, an error, or the end of standard input."""
    os.nice(_NICENESS)
    blas.prepare()
    order = json.loads(sys.stdin.readline())
    engine = EngineHost(log_file=order["log"])
    host = PausableHost(engine)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in the terminal of the window
    signal.signal(signal.SIGTERM, lambda *_: host.pause())

    def watch() -> None:
        while os.read(0, 4096):  # not `sys.stdin`, whose lock would be held when Python ends
            pass
        host.pause()

    threading.Thread(target=watch, daemon=True).start()
    status = 0
    try:
        saved = [tuple(Message(role, content) for role, content in prompt) for prompt in order["prompts"]]
        for message in tune(host, Path(order["target"]), Path(order["drafter"]), saved):
            print_json(message)
            flush()
    except BrokenPipeError:
        pass
    except UserError as error:
        print_json({"event": "failed", "reason": text_to_json(error.text)})
        status = 1
    discard_unreadable()
    if not engine.wait(_GRACE_S):  # MLX aborts the process if Python ends while MLX runs
        os._exit(status)
    return status


if __name__ == "__main__":
    sys.exit(main())
