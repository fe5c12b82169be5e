"""`--selftest`: is this build whole, and does it compute rightly here? The device, every kernel, a reply both ways, the window.

It is what runs on a Mac before a build is let out. Prints one line of JSON and says by its exit status whether all is well.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlx_engine.events import Commit, Failed
from mlx_engine.host import local_engine
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.requests import GenerationRequest, Message, Mode, Sampling

if TYPE_CHECKING:
    from mlx_engine.tuning.self_check import CheckResult

TOKENS = 64
PATIENCE_S = 120
QUESTION = "Write a Python function that checks if a number is prime."


def run_selftest(arguments: list[str] | None = None) -> int:
    """0 when all is well, 1 when something is not, 2 for an argument that means nothing.

    `--require-metal` makes a machine without Metal a failure; `--no-window` leaves the window out, for machines without a screen.
    """
    arguments = arguments or []
    if unknown := set(arguments) - {"--require-metal", "--no-window"}:
        print(json.dumps({"ok": False, "error": f"--selftest does not know {', '.join(sorted(unknown))}."}))
        return 2
    began = time.monotonic()
    steps = [step for part in _parts("--no-window" not in arguments) for step in _tried(*part)]
    has_metal = any(step.name == "device" and step.detail.endswith(", Metal") for step in steps)
    ok = all(step.state != "fail" for step in steps) and (has_metal or "--require-metal" not in arguments)
    report = {
        "ok": ok,
        "metal": has_metal,
        "steps": [asdict(step) for step in steps],
        "seconds": round(time.monotonic() - began, 2),
    }
    print(json.dumps(report, ensure_ascii=False))
    return 0 if ok else 1


def _parts(window: bool) -> Iterator[tuple[str, Callable[[], Iterator["CheckResult"]]]]:
    from mlx_engine import blas

    blas.prepare()
    from mlx_engine.tuning.self_check import check_device, check_kernels

    yield "device", check_device
    yield "kernels", check_kernels
    yield "replies", _check_replies
    if window:
        yield "window", _check_window


def _tried(name: str, part: Callable[[], Iterator["CheckResult"]]) -> Iterator["CheckResult"]:
    """The part's steps; a part that breaks off is a step that failed."""
    from mlx_engine.tuning.self_check import CheckResult

    try:
        yield from part()
    except Exception as error:  # a broken build may fail in any way, and the report must say so
        yield CheckResult(name, "fail", f"{type(error).__name__}: {error}")


def _check_replies() -> Iterator["CheckResult"]:
    """The demo pair answers plainly, with DFlash, and with rounds that are queued ahead, greedily: the same tokens."""
    from mlx_engine import device
    from mlx_engine.decoding import costs
    from mlx_engine.tuning.self_check import CheckResult

    engine: Any = local_engine()  # whose costs no window sets
    *_, pair = engine.load(*demo_pair())
    ways: dict[str, Mode] = {"plain": "plain", "dflash": "dflash"}
    if device.runs_beside_host():  # which calibration decides, on the user's machine
        ways["queued dflash"] = "dflash"
    else:
        yield CheckResult("queued dflash reply", "skipped", "rounds are queued ahead only where there is a GPU")
    replies: dict[str, tuple[int, str]] = {}
    for way, mode in ways.items():
        queued = way.startswith("queued")
        engine.pair.use_costs(replace(costs.ASSUMED, queued=queued))
        request = GenerationRequest(
            (Message("user", QUESTION),),
            mode=mode,
            max_tokens=TOKENS,
            ignore_eos=True,
            sampling=Sampling(0.0),
            width=pair.block_size if queued else None,  # so that every round is the drafter's, which are those that are queued
        )
        tokens, text = 0, ""
        for event in engine.generate(request, threading.Event()):
            if isinstance(event, Commit):
                tokens, text = tokens + len(event.tokens), text + event.text
            elif isinstance(event, Failed):
                yield CheckResult(f"{way} reply", "fail", event.message)
                return
        replies[way] = tokens, text
    engine.unload()
    for way, (tokens, _) in replies.items():
        yield CheckResult(f"{way} reply", "ok" if tokens == TOKENS else "fail", f"{tokens} tokens of {TOKENS}")
    same = len(set(replies.values())) == 1
    yield CheckResult(
        "identical", "ok" if same else "fail", "the replies are the same" if same else f"the replies differ: {replies}"
    )


def _check_window() -> Iterator["CheckResult"]:
    """Open the window, show a reply of the demo pair, and close."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app.application import Slipstream
    from app.data_paths import Places
    from mlx_engine.tuning.self_check import CheckResult

    app = QApplication.instance() or QApplication(["slipstream"])
    assert isinstance(app, QApplication)
    app.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory() as folder:
        slipstream = Slipstream(app, Places(Path(folder), Path(folder), data=Path(folder)))
        shown: list[int] = []

        def note() -> None:
            turns = slipstream.conductor.chat.turns
            if not slipstream.conductor.busy and turns and turns[-1].reply.answer:
                shown.append(len(turns[-1].reply.answer))
                slipstream.window.close()

        slipstream.conductor.loader.loaded.connect(lambda: slipstream.conductor.send(QUESTION))
        slipstream.conductor.busy_changed.connect(note)
        slipstream.ended.connect(app.quit)
        QTimer.singleShot(1000 * PATIENCE_S, app.quit)
        slipstream.start()
        visible = slipstream.window.isVisible()
        app.exec()
        ended = slipstream.host.wait(PATIENCE_S) and slipstream.store.wait(PATIENCE_S)
    platform = os.environ.get("QT_QPA_PLATFORM") or app.platformName()
    well = visible and bool(shown) and ended
    words = f"opened on {platform}, showed a reply and closed" if well else f"{visible=}, {shown=}, {ended=}"
    yield CheckResult("window", "ok" if well else "fail", words)
