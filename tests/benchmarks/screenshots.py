"""Take the pictures of the running app for the README and the docs, with the demo pair.

python -m tests.benchmarks.screenshots                 into resources/pictures/
python -m tests.benchmarks.screenshots --out FOLDER
python -m tests.benchmarks.screenshots --scenes FOLDER    scenes at 700x500, in all languages, without the engine
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

QUESTIONS = (
    "How many positive whole-number divisors does 196 have?",
    "Write a Python function that checks if a number is prime.",
    "And 5120 × 77?",
)
SHORTEST = 40  # tokens in the picture of a growing reply
VLLM = {"/v1/models": "v1_models", "/version": "version", "/metrics": "metrics_start"}
LAYOUT_MS = 15  # until the layout has settled


def main(arguments: list[str] | None = None) -> int:
    """Write window.png, window-dark.png, compare.png, tools.png, quick.png, and connection.png."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.screenshots", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[2] / "resources" / "pictures")
    parser.add_argument("--scenes", type=Path)
    options = parser.parse_args(arguments)
    out: Path = options.out
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ.setdefault("QT_SCALE_FACTOR", "2")  # Retina resolution; read when Qt starts
    if options.scenes is not None:
        return _take_scenes(options.scenes.absolute())
    out.mkdir(parents=True, exist_ok=True)
    return _take(out)


def _take_scenes(out: Path) -> int:
    """Run a process per language, because the language is chosen at the start."""
    from app.text.language import LANGUAGES, VARIABLE
    from tests.hub.repos import drafter_files, target_files
    from tests.hub.server import ServedHub

    failed = 0
    with ServedHub() as hub:
        hub.repo("Qwen/Qwen3-8B-MLX-4bit", target_files(400_000), tags=("license:apache-2.0",))
        hub.repo("maker/Qwen3-Coder-30B-A3B-Instruct-4bit-DWQ", target_files(900_000), tags=("license:mit",))
        hub.repo("z-lab/Qwen3-8B-DFlash", drafter_files(100_000))
        hub.repo("maker/qwen3-8b-gguf", {"qwen3.gguf": b"GGUF"})
        hub.repo("maker/Qwen-Secret", target_files(100_000), gated=True)
        for code in LANGUAGES:
            with tempfile.TemporaryDirectory() as home:
                own = {"HOME": home, "XDG_DATA_HOME": home, "XDG_CACHE_HOME": home, "HF_HUB_OFFLINE": "0"}
                environment = {**os.environ, **own, "HF_ENDPOINT": hub.url, VARIABLE: code}
                command = (sys.executable, "-m", "tests.benchmarks.scenes", str(out))
                failed += subprocess.run(command, env=environment, cwd=Path(__file__).parents[2]).returncode != 0
    return failed


def _take(out: Path) -> int:
    from app.text import language

    language.use("en")

    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

    from app.application import Slipstream
    from app.storage.chat_tree import Turn
    from app.system.data_paths import DataPaths
    from app.views.compare.compare_view import DEFAULT_SIZE, CompareDialog
    from app.views.models.endpoint_form import EndpointForm
    from app.views.quick.quick_window import HEIGHT, WIDTH
    from tests.mlx_engine.remote.replay import recorded, replaying

    def until(condition: Callable[[], bool]) -> None:
        loop, watch = QEventLoop(), QTimer()
        watch.timeout.connect(lambda: loop.quit() if condition() else None)
        watch.start(20)
        loop.exec()

    def settle(milliseconds: int = 200) -> None:
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def allow_once() -> QAbstractButton:
        settle()
        (button,) = [button for button in window.transcript.findChildren(QAbstractButton) if button.text() == "Allow Once"]
        until(button.isEnabled)
        return button

    def save(picture: QWidget | QPixmap, name: str) -> None:
        pixmap = picture.grab() if isinstance(picture, QWidget) else picture
        pixmap.save(str(out / name))
        print(out / name)

    app = QApplication(sys.argv[:1])
    app.setQuitOnLastWindowClosed(False)
    with tempfile.TemporaryDirectory() as folder:
        slipstream = Slipstream(app, DataPaths(Path(folder), Path(folder)))
        window = slipstream.window
        slipstream.theme.set_appearance("light")
        window.resize(960, 720)
        slipstream.start()
        until(lambda: slipstream.services.loader.progress is None)
        if slipstream.services.loader.pair is None:
            print("\n".join(window.services.notices.texts), file=sys.stderr)
            slipstream.services.client.wait(20)
            return 1
        growing: list[QPixmap] = []

        def grab_soon(turn: Turn) -> None:
            if turn.reply.tokens >= SHORTEST and turn.reply.rate.tok_s is not None:
                QTimer.singleShot(LAYOUT_MS, lambda: grab(turn))

        def grab(turn: Turn) -> None:
            if turn.reply.running:
                growing.append(window.grab())

        settle()
        slipstream.services.session.send(QUESTIONS[0])
        until(lambda: not slipstream.services.activity.busy)
        settle()
        slipstream.services.reply_runner.changed.connect(grab_soon)
        for _ in range(20):  # a short reply may end before enough of it is visible
            if len(slipstream.services.session.chat.turns) == 1:
                slipstream.services.session.send(QUESTIONS[1])
            else:
                slipstream.services.session.regenerate(slipstream.services.session.chat.turns[-1])
            until(lambda: not slipstream.services.activity.busy)
            if growing:
                break
        settle()
        if growing:
            save(growing[-1], "window.png")
        slipstream.theme.set_appearance("dark")
        settle()
        save(window, "window-dark.png")
        slipstream.theme.set_appearance("light")
        slipstream.services.comparer.compare()
        until(lambda: not slipstream.services.activity.busy)
        settle()
        dialog = window.dialogs.find(CompareDialog)
        if dialog is not None:
            dialog.resize(DEFAULT_SIZE)  # which is larger than the screen that Qt simulates
            settle()
            save(dialog, "compare.png")
            dialog.close()
        slipstream.services.session.new_chat()
        settle()
        window.transcript.welcome.calculation.click()
        until(lambda: bool(slipstream.services.reply_runner.asking))
        allow_once().click()
        until(lambda: not slipstream.services.activity.busy)
        slipstream.services.session.send(QUESTIONS[2])
        until(lambda: bool(slipstream.services.reply_runner.asking))
        allow_once()
        settle()
        save(window, "tools.png")
        slipstream.services.reply_runner.interrupt_all()
        until(lambda: not slipstream.services.activity.busy)
        quick, small = slipstream.services.quick, window.quick
        small.open("")
        quick.write(QUESTIONS[0])
        quick.send()
        until(lambda: bool(quick.chat.turns) and not quick.running)
        if small.view is not None:
            small.view.resize(WIDTH, HEIGHT)
            settle(1000)
            save(small.view, "quick.png")
            small.view.close()
        with replaying({("GET", path): recorded(f"vllm_dflash/{name}") for path, name in VLLM.items()}) as server:
            form = EndpointForm(slipstream.theme, slipstream.services.picker.endpoints, None, window)
            form.name.setText("Lab")
            form.url.setText(server.url)
            form.show()
            form.test.click()
            until(form.test.isEnabled)
            form.resize(form.sizeHint())
            form.save.setFocus()
            settle()
            save(form, "connection.png")
            form.close()
        window.close()
        slipstream.services.client.wait(20)
    return 0 if growing else 1


if __name__ == "__main__":
    sys.exit(main())
