"""A whole run in its own process, with a copy of the demo pair: killed, paused, and continued."""

import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.session.tuning_run import TuningRunner
from app.session.tuning_survey import TuningPair
from app.storage.database import FILE
from app.storage.store import Store
from app.system import json_process
from mlx_engine.models.files import tuning_files
from mlx_engine.models.files.tuning_files import run_folder, unfinished_run
from mlx_engine.models.library.pair import demo_pair
from tests.app.conftest import PATIENCE_MS
from tests.app.test_store import chat_of, save

# Tunes for a moment only, and with the priority of the tests
SHORT = """
import dataclasses, os, sys
from mlx_engine.cli import tune_process
os.nice, whole = (lambda niceness: niceness), tune_process.request
few = lambda request: dataclasses.replace(request, general=request.general[:8], epochs=8.0, max_tokens=48)
tune_process.request = lambda *given: few(whole(*given))
sys.exit(tune_process.main())
"""


@pytest.mark.long
def test_a_run_that_is_killed_and_paused_ends_with_a_result(
    qapp: object, qtbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_process.child, "command", lambda module: (sys.executable, ["-c", SHORT]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tuning_files.platformdirs, "user_cache_path", lambda *_, **__: tmp_path / "cache" / "Slipstream")
    target, drafter = (tmp_path / folder.name for folder in demo_pair())
    for folder, copy in zip(demo_pair(), (target, drafter), strict=True):
        shutil.copytree(folder, copy)
    with closing(Store(tmp_path / FILE)) as store:
        for number in range(10):
            save(store, chat_of(f"What is {number} + 3?"))
    runner = TuningRunner(tmp_path / FILE, tmp_path / "tuning.log")

    def until(condition: Callable[[], object]) -> None:
        qtbot.waitUntil(lambda: bool(condition()) or bool(runner.error), timeout=5 * PATIENCE_MS)

    def replies() -> int:
        return len(list(run_folder(target, drafter).glob("*.safetensors")))

    runner.look_at(TuningPair("Copy", target, drafter))
    until(lambda: not runner.reading)
    runner.start()
    until(lambda: replies() >= 3)
    assert runner._process.running
    runner._process.kill()
    qtbot.waitUntil(lambda: not runner.running and not runner.reading, timeout=PATIENCE_MS)
    assert "stopped unexpectedly" in runner.error and replies() >= 3
    assert runner.surveyed is not None and runner.surveyed.paused_at is not None
    runner.start()
    until(lambda: runner.progress and runner.progress.step.code == "tuning_step")
    runner.pause()
    until(lambda: not runner.running and not runner.reading)
    assert not runner.error and runner.surveyed.paused_at is not None and runner.surveyed.paused_at > 0.4
    assert list(run_folder(target, drafter).glob("state-*"))
    runner.start()
    until(lambda: runner.progress and runner.progress.step.code == "tuning_step")
    assert runner.progress is not None and dict(runner.progress.step.values)["step"] > 1  # type: ignore[operator]
    until(lambda: not runner.running and not runner.reading)
    assert not runner.error and runner.result is not None and runner.result.before > 1 and runner.result.general_before > 1
    assert (tmp_path / "tuning.log").read_text() == "" and unfinished_run(target, drafter) is None
    assert runner.surveyed.tuned == runner.result.kept
    runner.close()
    runner.wait(PATIENCE_MS)
