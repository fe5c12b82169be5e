"""Count the calls between the composer's Return key and a Metal kernel.

    python -m tests.benchmarks.prompt_path

The demo pair answers one prompt in the real window, with one kernel at a time in use. Calls are stack frames of Slipstream's own
code: on the window's thread until the message is handed to the store, there again until the request is submitted, and on the
engine's thread until the kernel is called. The run fails at the kernel on purpose, because this machine has no Metal.
"""

import argparse
import os
import sys
import tempfile
import traceback
from pathlib import Path
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
        library: Any = slipstream.conductor.library
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
            if slipstream.conductor.loader.pair is None:
                QTimer.singleShot(50, send)
                return
            QTest.keyClicks(composer.field, "How many divisors does 84 have?")
            QTest.keyClick(composer.field, Qt.Key.Key_Return)

        QTimer.singleShot(0, send)
        QTimer.singleShot(60_000, loop.quit)
        loop.exec()
        slipstream.client.wait(20)
        slipstream.store.wait(20)
    EngineHost.submit = submit  # type: ignore[method-assign]
    return [*parts["save"], *parts["submit"], *parts["kernel"]]


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
