"""A lack of memory loses no message: it is on the disk before the engine sees it, and can be sent again."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.storage.database import FILE
from mlx_engine.contract.conditions import Pressure
from mlx_engine.contract.machine_events import ReliefStep
from mlx_engine.engine import relief
from mlx_engine.hardware import sensors
from tests.app.conftest import Session
from tests.app.scripted_engine import ScriptedEngine, answer


def saved_texts(folder: Path) -> str:
    """Return everything in the database, as another program reads it."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as opened:
        return "\n".join(opened.iterdump())


@pytest.fixture
def pressure(monkeypatch: pytest.MonkeyPatch) -> list[Pressure]:
    """The memory pressure, which is read at every turn of the engine."""
    level: list[Pressure] = ["normal"]
    monkeypatch.setattr(sensors, "memory_pressure", lambda: level[0])
    monkeypatch.setattr(relief, "INTERVAL_S", 0.0)
    return level


def wait_for_step(app: Session, step: ReliefStep) -> None:
    def reached() -> bool:
        app.services.memory.read()
        found = app.services.memory.found
        return found is not None and (found.step >= step > 0 or found.step == step)

    app.until(reached)


def test_a_message_is_saved_before_its_reply_begins(begin: Callable[..., Session], tmp_path: Path) -> None:
    found: list[bool] = []
    engine = ScriptedEngine([[lambda: found.append("Remember this" in saved_texts(tmp_path)), *answer("Fine.")]])
    app = begin(engine, data=tmp_path)
    app.ask("Remember this")
    assert found == [True] and app.answer == "Fine."


def test_a_refused_message_is_saved_and_can_be_sent_again(
    begin: Callable[..., Session], tmp_path: Path, pressure: list[Pressure]
) -> None:
    app = begin(ScriptedEngine([answer("Better now.")]), data=tmp_path)
    pressure[0] = "critical"
    wait_for_step(app, ReliefStep.REFUSAL)
    app.ask("Remember this")
    assert app.reply.reason == "error" and app.reply.error == "Memory is almost full. Quit other apps, then try again."
    assert "Remember this" in saved_texts(tmp_path)
    pressure[0] = "normal"
    wait_for_step(app, ReliefStep.NONE)
    app.run("regenerate")
    app.idle()
    assert app.texts == [("Remember this", "Better now.")]
