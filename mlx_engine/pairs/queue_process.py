"""The queue in a process of its own, so that a window never waits for it and its end never loses a download.

    python -m mlx_engine.pairs.queue_process

Commands come as JSON lines on standard input: {"do": "add" | "pause" | "resume" | "cancel", "target": ..., "drafter": ...},
{"do": "limit", "bytes_per_s": number or null}, which is kept for later runs too. Events go as JSON lines to standard output, told
apart by "event": queue, progress, ready, failed, error (of a command, with the pair that it named). When standard input ends,
because whoever started it has quit or died, it stops and keeps what came.
"""

import json
import sys
import threading
from contextlib import suppress
from typing import Any

from mlx_engine.errors import UserError
from mlx_engine.pairs.bandwidth import keep_limit, kept_limit
from mlx_engine.pairs.download_queue import PairFailed, PairProgress, PairReady, Queue, QueueChanged, QueueEvent
from mlx_engine.pairs.pair import Pair


def as_json(event: QueueEvent) -> dict[str, Any]:
    """An event as it goes over the pipe."""
    match event:
        case QueueChanged(queue):
            listed = [{"target": one.target, "drafter": one.drafter, "state": one.state, "words": one.words} for one in queue]
            return {"event": "queue", "pairs": listed}
        case PairProgress(pair, progress):
            return {
                "event": "progress",
                **_names(pair),
                "done": progress.done,
                "total": progress.total,
                "bytes_per_s": progress.bytes_per_s,
                "seconds_left": progress.seconds_left,
                "words": progress.words,
            }
        case PairReady(pair, folders, notes):
            return {"event": "ready", **_names(pair), "folders": [str(folder) for folder in folders], "notes": list(notes)}
        case PairFailed(pair, words):
            return {"event": "failed", **_names(pair), "words": words}


def main() -> int:
    """Serve until standard input ends."""
    writing = threading.Lock()

    def say(value: dict[str, Any]) -> None:
        with writing, suppress(OSError):  # the reader has gone; standard input ends with it
            print(json.dumps(value, ensure_ascii=False), flush=True)

    try:
        queue = Queue(lambda event: say(as_json(event)))
    except UserError as error:
        say({"event": "error", "words": str(error)})
        return 1
    queue.limit(kept_limit())
    try:
        for line in sys.stdin:
            try:
                _obey(queue, line)
            except UserError as error:
                say({"event": "error", "words": str(error), **_named_in(line)})
    except KeyboardInterrupt:
        pass
    finally:
        queue.close()
    return 0


def _obey(queue: Queue, line: str) -> None:
    try:
        command = json.loads(line)
        do = command["do"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError("That was no command: a JSON object with “do” is expected.") from None
    if do == "limit":
        rate = command.get("bytes_per_s")
        if rate is not None and (type(rate) not in (int, float) or not rate > 0):
            raise UserError("A limit is a number of bytes a second above 0, or null.")
        queue.limit(rate)
        keep_limit(rate)
        return
    commands = {"add": queue.add, "pause": queue.pause, "resume": queue.resume, "cancel": queue.cancel}
    if do not in commands:
        raise UserError(f"“{do}” is no command; there are {', '.join(commands)} and limit.")
    commands[do](Pair(command.get("target", ""), command.get("drafter")))


def _named_in(line: str) -> dict[str, Any]:
    """The pair that a command is about, as far as it names one."""
    try:
        command = json.loads(line)
        return _names(Pair(command["target"], command.get("drafter")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
        return {}


def _names(pair: Pair) -> dict[str, str | None]:
    return {"target": pair.target, "drafter": pair.drafter}


if __name__ == "__main__":
    sys.exit(main())
