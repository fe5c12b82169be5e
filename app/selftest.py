"""`--selftest`: does this build answer at all? Loads the demo pair and writes five tokens, without a window."""

import json
import threading
import time

from app.door import demo_pair, real_engine
from mlx_engine.errors import UserError
from mlx_engine.events import Failed, Finished, GenerationRequest, Message

TOKENS = 5


def run_selftest() -> int:
    """Prints one line of JSON; 0 when all is well."""
    began = time.monotonic()
    report: dict[str, object] = {"ok": False}
    try:
        engine = real_engine()
        for _ in engine.load(*demo_pair()):
            pass
        request = GenerationRequest(messages=(Message("user", "What can you do?"),), max_tokens=TOKENS, ignore_eos=True)
        for event in engine.generate(request, threading.Event()):
            match event:
                case Finished(stats=stats):
                    report.update(ok=stats.tokens == TOKENS, tokens=stats.tokens, mode=stats.mode)
                case Failed(error=error):
                    report["error"] = error
        engine.unload()
    except UserError as error:
        report["error"] = str(error)
    report["seconds"] = round(time.monotonic() - began, 2)
    print(json.dumps(report))
    return 0 if report["ok"] else 1
