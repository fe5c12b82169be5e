"""A process that starts others, which change a store and are killed at any line; see `test_prefix_privacy`.

python -m tests.mlx_engine.prefix.prefix_killer

It reads lines of JSON: folder, number of lines of code until the kill, and what to do. It answers each with the number of lines
that ran, or with -1 if the process was killed.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from mlx_engine.prefix import part_store as stores
from mlx_engine.prefix.part_store import PrefixStore
from tests.mlx_engine.prefix.saved_parts import ROOMY, save

_CODE = str(Path(stores.__file__).parent)


def act(store: PrefixStore, what: str, chats: list[str], tokens: list[int]) -> None:
    match what:
        case "save":
            save(store, tokens, chats[0])
        case "forget":
            store.forget(*chats)
        case "keep_only":
            store.keep_only(chats)
        case "clear":
            store.clear()


def _run(folder: str, lines: int, what: str, chats: list[str], tokens: list[int]) -> int:
    """Fork, act in the child, and return how many lines of code ran there."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        count = 0

        def trace(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal count
            if not frame.f_code.co_filename.startswith(_CODE):
                return None
            count += event == "line"
            if count == lines:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        store = PrefixStore(Path(folder), ROOMY, keep_free=0)
        sys.settrace(trace)
        act(store, what, chats, tokens)
        sys.settrace(None)
        os.write(writing, str(count).encode())
        os._exit(0)
    os.close(writing)
    count = os.read(reading, 99)
    os.close(reading)
    return int(count) if os.waitpid(child, 0)[1] == 0 else -1


if __name__ == "__main__":
    for asked in sys.stdin:
        print(_run(*json.loads(asked)), flush=True)
