"""Count the calls between the composer's Return key and a Metal kernel.

    python -m tests.benchmarks.prompt_path

The demo pair answers one prompt in the real window, with one kernel at a time in use. Calls are stack frames of Slipstream's own
code: on the window's thread until the message is handed to the store, there again until the request is submitted, and on the
engine's thread until the kernel is called. The run fails at the kernel on purpose, because this machine has no Metal.

The second count is of the way from `POST /v1/messages` with a tool to the engine's queue, in the window. A function of Slipstream's
own code counts once if the prompt or the tool is in its arguments or its result. Private functions that call no other own function,
and comprehensions, belong to their callers.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ("kv_injection", "attention_inputs", "verify_matmul", "verify_attention", "block_verify")


class ReachedKernel(Exception):
    """Ends the reply where the kernel would run."""


def own_calls(skip: int = 1) -> list[str]:
    """The frames of app/ and mlx_engine/ on this thread's stack, outermost first."""
    frames = traceback.extract_stack()[:-skip]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT / "app") or "/mlx_engine/" in frame.filename]
    return [f"{Path(frame.filename).relative_to(ROOT)}:{frame.name}" for frame in own if "__main__" not in frame.filename]


def record_path(kernel: str) -> list[str]:
    """Answer one prompt in the window; the calls on its way to `kernel`."""
    from PySide6.QtCore import QEventLoop, Qt, QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from app.application import Slipstream
    from app.system.data_paths import DataPaths
    from mlx_engine.engine.engine import Engine
    from mlx_engine.engine.host import EngineHost
    from mlx_engine.kernels.operations import with_kernels

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    parts: dict[str, list[str]] = {}
    loop = QEventLoop()

    def build(*arguments: Any, **options: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            parts.setdefault("kernel", own_calls(2))
            raise ReachedKernel

        return call

    class Traced(Engine):
        def steps(self, *arguments: Any) -> Any:
            self.pair.use(with_kernels((kernel,), build))
            yield from super().steps(*arguments)

    submit = EngineHost.submit

    def traced_submit(self: Any, request: Any, deliver: Any) -> Any:
        if type(request).__name__ == "GenerationRequest":
            parts.setdefault("submit", own_calls(2))
        return submit(self, request, deliver)

    EngineHost.submit = traced_submit  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        slipstream = Slipstream(app, DataPaths(Path(folder), Path(folder), data=Path(folder)), Traced)
        library: Any = slipstream.services.library
        save = library.save

        def traced_save(*arguments: Any, **options: Any) -> Any:
            parts.setdefault("save", [*own_calls(2), "library:save"])
            return save(*arguments, **options)

        library.save = traced_save
        slipstream.start()
        timer = QTimer()
        timer.timeout.connect(lambda: loop.quit() if "kernel" in parts else None)
        timer.start(20)
        composer = slipstream.window.composer

        def send() -> None:
            if slipstream.services.loader.pair is None:
                QTimer.singleShot(50, send)
                return
            QTest.keyClicks(composer.field, "How many divisors does 84 have?")
            QTest.keyClick(composer.field, Qt.Key.Key_Return)

        QTimer.singleShot(0, send)
        QTimer.singleShot(60_000, loop.quit)
        loop.exec()
        slipstream.services.client.wait(20)
        slipstream.services.store.wait(20)
    EngineHost.submit = submit  # type: ignore[method-assign]
    return [*parts["save"], *parts["submit"], *parts["kernel"]]


MARK = "zebra"


def marked(value: Any, depth: int = 7) -> bool:
    """Return whether a value contains the prompt or the tool."""
    if isinstance(value, str | bytes | bytearray):
        return (MARK if isinstance(value, str) else MARK.encode()) in value
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inner = value
    elif frame := next((found for name in ("cr", "ag", "gi") if (found := getattr(value, f"{name}_frame", None))), None):
        inner = frame.f_locals.values()
    elif type(value).__module__.startswith("mlx_engine.") and hasattr(value, "__dict__"):
        inner = vars(value).values()
    return depth > 0 and any(marked(each, depth - 1) for each in inner)


class Recorder:
    """Records the own functions that take part until the request is in the engine's queue."""

    def __init__(self) -> None:
        self._names: dict[CodeType, str] = {}
        self._callers: set[CodeType] = set()
        self._ended = False

    def __call__(self, frame: FrameType, event: str, result: Any) -> None:
        code, own = frame.f_code, str(ROOT / "mlx_engine")
        if self._ended or event not in ("call", "return") or not code.co_filename.startswith(own) or "<" in code.co_name:
            return
        above = frame.f_back
        while above and (not above.f_code.co_filename.startswith(own) or "<" in above.f_code.co_name):
            above = above.f_back
        if above and above.f_code is not code:
            self._callers.add(above.f_code)
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        if code not in self._names and (marked(given) or (event == "return" and marked(result))):
            self._names[code] = f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_name}"
            self._ended = self._names[code] == "mlx_engine/engine/host.py:submit"

    @property
    def calls(self) -> list[str]:
        return [
            name
            for code, name in self._names.items()
            if code in self._callers or not code.co_name.startswith("_") or code.co_name.startswith("__")
        ]


def record_request() -> list[str]:
    """Serve one request for a message; the calls on its way to the engine."""
    from mlx_engine.api_server.app import Api
    from mlx_engine.api_server.guard import Guard
    from mlx_engine.api_server.served_models import ServedModels
    from mlx_engine.contract.requests import LoadPair
    from mlx_engine.engine.bridge import to_iter
    from mlx_engine.engine.host import EngineHost
    from mlx_engine.remote.switch import EngineSwitch
    from tests.mlx_engine.scripted_engine import ScriptedEngine

    client = EngineSwitch(EngineHost(ScriptedEngine))  # type: ignore[arg-type]
    *_, pair = to_iter(client, LoadPair())
    api = Api(ServedModels(client, pair), Guard("127.0.0.1", None))  # type: ignore[arg-type]
    tool = {"name": "read", "description": MARK, "input_schema": {"type": "object"}}
    body = json.dumps({"max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": MARK}], "tools": [tool]}).encode()
    scope = {"type": "http", "method": "POST", "scheme": "http", "path": "/v1/messages", "headers": [(b"host", b"localhost")]}
    statuses: list[int] = []

    async def serve() -> None:
        received = iter([{"type": "http.request", "body": body}])

        async def receive() -> Any:
            return next(received, None) or await asyncio.Event().wait()

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        await api(scope, receive, send)

    recorder = Recorder()
    sys.setprofile(recorder)
    try:
        asyncio.run(serve())
    finally:
        sys.setprofile(None)
        client.wait(20)
    assert statuses[0] == 200
    return recorder.calls


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.prompt_path", description=__doc__.split("\n", 1)[0])
    parser.add_argument("kernel", nargs="*", help=f"{', '.join(KERNELS)} (default: all)")
    kernels = parser.parse_args().kernel or KERNELS
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    paths = {kernel: record_path(kernel) for kernel in kernels}
    for kernel, path in paths.items():
        print(f"{kernel}: {len(path)} calls in {len({call.split(':')[0] for call in path})} files")
    longest = max(paths.values(), key=len)
    print("\n".join(["", "The longest:", *longest]))
    request = record_request()
    print(f"\nPOST /v1/messages: {len(request)} calls in {len({call.split(':')[0] for call in request})} files")
    print("\n".join(request))
    return 0


if __name__ == "__main__":
    sys.exit(main())
