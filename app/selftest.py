"""Self-test of the device, kernels, replies in both modes, and the window.

`--selftest` prints one line of JSON, with the seconds since the previous step. Run it on a Mac before a release.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlx_engine.contract.events import Commit, Failed
from mlx_engine.contract.requests import GenerationRequest, Message, Mode, Sampling
from mlx_engine.engine.host import local_engine
from mlx_engine.models.library.pair import demo_pair

if TYPE_CHECKING:
    from mlx_engine.calibration.self_check import CheckResult

# Qt's plugins, which it finds by name. The bundle contains these only; packaging/qt.py has the same list.
PLUGINS = ("imageformats/libqsvg", "iconengines/libqsvgicon")
MAC_PLUGINS = ("platforms/libqcocoa", "styles/libqmacstyle")
TOKENS = 64
TIMEOUT_S = 120
QUESTION = "Write a Python function that checks if a number is prime."


def run_selftest(arguments: list[str] | None = None) -> int:
    """Return 0 if all checks pass, 1 if one fails, 2 for an unknown argument.

    `--require-metal` fails on a machine without Metal. `--cpu` doesn't use Metal. `--no-window` skips the window.
    """
    arguments = arguments or []
    if unknown := set(arguments) - {"--require-metal", "--cpu", "--no-window"}:
        print(json.dumps({"ok": False, "error": f"unknown arguments of --selftest: {', '.join(sorted(unknown))}"}))
        return 2
    began = before = time.monotonic()
    steps, seconds = list["CheckResult"](), list[float]()
    for check in _checks("--no-window" not in arguments, "--cpu" in arguments):
        for step in _run(*check):
            steps.append(step)
            seconds.append(round((now := time.monotonic()) - before, 2))
            before = now
    has_metal = any(step.name == "device" and step.detail.endswith(", Metal") for step in steps)
    ok = all(step.state != "fail" for step in steps) and (has_metal or "--require-metal" not in arguments)
    report = {
        "ok": ok,
        "metal": has_metal,
        "steps": [asdict(step) | {"seconds": taken} for step, taken in zip(steps, seconds, strict=True)],
        "seconds": round(time.monotonic() - began, 2),
    }
    print(json.dumps(report, ensure_ascii=False))
    return 0 if ok else 1


def _checks(window: bool, cpu: bool) -> Iterator[tuple[str, Callable[[], Iterator["CheckResult"]]]]:
    from mlx_engine.hardware import blas

    blas.prepare()
    if cpu:
        from mlx_engine.hardware import device

        device.use_cpu()
    from mlx_engine.calibration.self_check import check_device, check_kernels

    yield "device", check_device
    yield "conditions", _check_conditions
    yield "kernels", check_kernels
    yield "replies", _check_replies
    if window:
        yield "window", _check_window


def _run(name: str, check: Callable[[], Iterator["CheckResult"]]) -> Iterator["CheckResult"]:
    """Yield the results of a check. An exception is a failure."""
    from mlx_engine.calibration.self_check import CheckResult

    try:
        yield from check()
    except Exception as error:  # a broken build may fail in any way
        yield CheckResult(name, "fail", f"{type(error).__name__}: {error}")


def _check_conditions() -> Iterator["CheckResult"]:
    """Read heat, power, and memory pressure, which a Mac must know."""
    from mlx_engine.calibration.self_check import CheckResult
    from mlx_engine.hardware import sensors

    now = sensors.read()
    values = now.heat, now.saves_power, now.on_battery, now.pressure
    yield CheckResult("conditions", "fail" if sys.platform == "darwin" and None in values else "ok", str(now))


def _check_replies() -> Iterator["CheckResult"]:
    """Compare greedy replies of the demo pair: plain, DFlash, and queued rounds."""
    from mlx_engine.calibration.self_check import CheckResult
    from mlx_engine.decoding import costs
    from mlx_engine.hardware import device

    engine: Any = local_engine()
    *_, pair = engine.load(*demo_pair())
    modes: dict[str, Mode] = {"plain": "plain", "dflash": "dflash"}
    if device.runs_beside_host():
        modes["queued dflash"] = "dflash"
    else:
        yield CheckResult("queued dflash reply", "skipped", "requires a GPU")
    replies: dict[str, tuple[int, str]] = {}
    for name, mode in modes.items():
        queued = name.startswith("queued")
        engine.pair.use_costs(replace(costs.ASSUMED, queued=queued))
        request = GenerationRequest(
            (Message("user", QUESTION),),
            mode=mode,
            max_tokens=TOKENS,
            ignore_eos=True,
            sampling=Sampling(0.0),
            width=pair.block_size if queued else None,  # every round uses the drafter
        )
        tokens, text = 0, ""
        for event in engine.generate(request, threading.Event()):
            if isinstance(event, Commit):
                tokens, text = tokens + len(event.tokens), text + event.text
            elif isinstance(event, Failed):
                yield CheckResult(f"{name} reply", "fail", event.message)
                return
        replies[name] = tokens, text
    engine.unload()
    for name, (tokens, _) in replies.items():
        yield CheckResult(f"{name} reply", "ok" if tokens == TOKENS else "fail", f"{tokens} tokens of {TOKENS}")
    same = len(set(replies.values())) == 1
    yield CheckResult(
        "identical", "ok" if same else "fail", "the replies are the same" if same else f"the replies differ: {replies}"
    )


def _check_plugins() -> "CheckResult":
    from PySide6.QtCore import QLibraryInfo, QPluginLoader

    from mlx_engine.calibration.self_check import CheckResult

    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath))
    names = PLUGINS + MAC_PLUGINS if sys.platform == "darwin" else PLUGINS
    loaders = {name: QPluginLoader(str(folder / name)) for name in names}
    failed = [f"{name}: {loader.errorString()}" for name, loader in loaders.items() if not loader.load()]
    return CheckResult("qt plugins", "fail" if failed else "ok", "; ".join(failed) or f"{len(names)} loaded")


def _check_quick_access() -> "CheckResult":
    """Register shortcuts, read the selected text if that is allowed, find the voice."""
    from app.system.quick_access import SHORTCUTS, MacAccess, keeps_app_active
    from app.system.speech import Speaker
    from mlx_engine.calibration.self_check import CheckResult

    if sys.platform != "darwin":
        return CheckResult("quick chat", "skipped", "requires a Mac")
    access, voice = MacAccess(), Speaker().available
    registered = all(access.set_shortcut(shortcut) for shortcut in (*SHORTCUTS, ""))
    selected = len(access.selected_text())  # 0 without the permission
    detail = f"{registered=}, {voice=}, {selected} characters selected, keeps_app_active={keeps_app_active()}"
    return CheckResult("quick chat", "ok" if registered and voice else "fail", detail)


def _check_window() -> Iterator["CheckResult"]:
    """Open the window, show a reply of the demo pair, and close the window."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from app.application import Slipstream
    from app.system.data_paths import DataPaths
    from mlx_engine.calibration.self_check import CheckResult

    app = QApplication.instance() or QApplication(["slipstream"])
    assert isinstance(app, QApplication)
    yield _check_plugins()
    yield _check_quick_access()
    app.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory() as folder:
        slipstream = Slipstream(app, DataPaths(Path(folder), Path(folder), data=Path(folder)))
        shown: list[int] = []

        def send_when_ready() -> None:
            if slipstream.services.loader.ready and not slipstream.services.session.chat.turns:
                slipstream.services.session.send(QUESTION)

        def close_when_done() -> None:
            turns = slipstream.services.session.chat.turns
            if not slipstream.services.activity.busy and turns and turns[-1].reply.answer:
                shown.append(len(turns[-1].reply.answer))
                slipstream.window.close()

        slipstream.services.loader.changed.connect(send_when_ready)
        slipstream.services.activity.changed.connect(close_when_done)
        slipstream.ended.connect(app.quit)
        QTimer.singleShot(1000 * TIMEOUT_S, app.quit)
        slipstream.start()
        visible = slipstream.window.isVisible()
        app.exec()
        ended = slipstream.services.client.wait(TIMEOUT_S) and slipstream.services.store.wait(TIMEOUT_S)
    platform = os.environ.get("QT_QPA_PLATFORM") or app.platformName()
    passed = visible and bool(shown) and ended
    detail = f"opened on {platform}, showed a reply and closed" if passed else f"{visible=}, {shown=}, {ended=}"
    yield CheckResult("window", "ok" if passed else "fail", detail)
