"""Other Macs in the Models window, and a pair on two Macs from its loading to the loss of one."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.session.compare_run import CompareRun, ComparisonOptions
from app.views.models.macs_dialog import MacsDialog
from app.views.models.picker_dialog import PickerDialog
from mlx_engine.contract.errors import UserError
from mlx_engine.ring.pairing import KnownWorker
from mlx_engine.ring.ring_plan import paired_plan
from tests.app.conftest import Running, Start
from tests.app.views.models.picker_page import card, look_at, opened, state
from tests.keychain import keychain
from tests.mlx_engine.ring.conftest import woken_quickly  # noqa: F401
from tests.mlx_engine.ring.workers import running_workers

QUESTION = "Count from 1 to 60."


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with keychain():
        yield


def adding(app: Running) -> MacsDialog:
    opened(app)
    app.dialog(PickerDialog).mac.trigger()
    return next(dialog for dialog in app.dialog(PickerDialog).findChildren(MacsDialog) if dialog.isVisible())


def test_a_mac_is_added_used_and_removed(begin: Start, qtbot: QtBot) -> None:
    gate, app = threading.Event(), begin()

    def pair(worker: KnownWorker) -> None:
        assert gate.wait(120)
        if worker.code != "GOOD":
            raise UserError("worker_code_wrong", "The pairing code of “{name}” is wrong.", name=worker.name)

    app.services.macs.pair = pair
    form = adding(app)
    look_at(app, "demo")
    assert state(app) == "loaded" and card(app).macs.isHidden()
    qtbot.keyClicks(form.address, "10.0.0.2")
    qtbot.keyClicks(form.code, "BAD")
    form.add.click()
    assert form.verdict.text() == "Connecting…" and not form.add.isEnabled()
    form.cancel.click()
    assert not form.verdict.text() and form.code.text() == "BAD" and form.cancel.isHidden()
    gate.set()
    form.add.click()
    app.until(form.add.isEnabled)
    assert "code of “10.0.0.2:47820” is wrong" in form.verdict.text() and not form.rows
    form.code.setText("GOOD")
    form.add.click()
    app.until(lambda: bool(form.rows))
    assert form.verdict.text() == "The Mac was added." and not form.code.text()
    app.until(lambda: card(app).macs.isVisible())
    assert card(app).macs.text() == "On 2 Macs" and state(app) == "ready", "the pair can be loaded again"
    form.rows[0].used.click()
    app.until(lambda: card(app).macs.isHidden())
    assert state(app) == "loaded"
    form.rows[0].remove.click()
    assert not form.rows and not app.services.macs.macs
    form.close()


@pytest.mark.long
def test_a_reply_of_two_macs_ends_when_one_is_lost_and_the_next_one_reconnects(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = lambda names: replace(paired_plan(names), silent_s=120.0, pass_s=600.0)  # noqa: E731  a busy computer isn't lost
    monkeypatch.setattr("mlx_engine.remote.switch.paired_plan", patient)
    app = start()
    with running_workers(1) as (worker,):
        form = adding(app)
        form.address.setText(worker.known.name)
        form.code.setText(worker.known.code)
        form.add.click()
        app.until(form.add.isEnabled)
        assert form.rows, form.verdict.text()
        form.close()
        look_at(app, "demo")
        card(app).main.click()
        app.until(lambda: not app.loader.running)
        assert app.window.top_bar.name.text() == "Demo pair on 2 Macs", app.notices
        app.ask(QUESTION)
        assert app.session.chat.turns[0].reply.stats is not None and not app.engine.requests, "the local engine isn't asked"
        app.send(QUESTION)
        app.until(lambda: bool(app.session.chat.turns[1].reply.answer))
        assert worker.kill_rank()
        app.idle()
        lost = app.session.chat.turns[1].reply
        assert lost.answer and "Try again to" in lost.error
        app.ask(QUESTION)
        again = app.session.chat.turns[2].reply
        assert again.answer and not again.error
        comparisons: list[CompareRun] = []
        app.services.compare_runner.started.connect(comparisons.append)
        app.services.comparer.compare_turns(app.session.chat.turns[:1], ComparisonOptions(exact=True))
        app.idle()
        assert comparisons[0].error == "Exact mode isn't available on several computers. Turn it off."
        app.services.macs.use(worker.known.name, False)
        app.activity.use()
        app.until(lambda: not app.loader.running)
        app.ask(QUESTION)
        assert app.answer == "Fine." and app.loader.macs == 1 and not worker.kill_rank()
