"""Downloads in the picker, also those of other programs and with errors of the hub."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub import constants
from PySide6.QtCore import QProcess
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.session import model_storage, pair_survey
from app.session.downloads import Downloads, PairDownload
from app.session.model_list import Variant
from app.window.help import HelpDialog
from mlx_engine.contract.errors import EngineText
from mlx_engine.models.downloads.download_queue import QueuedPair, QueueFile
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.pair import Pair
from mlx_engine.network import offline
from tests.app.conftest import Start
from tests.app.views.models.picker_page import PAIR, card, look_at, opened, state
from tests.hub.local_hub import LocalHub
from tests.hub.repos import target_files
from tests.mlx_engine.models.downloads import fetch

MB = 1_000_000


def test_a_slow_survey_does_not_hide_what_was_downloaded_since(
    begin: Start, hub: LocalHub, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    real, began, proceed = pair_survey.survey, threading.Event(), threading.Event()

    def slow(macs: int) -> pair_survey.Survey:
        found = real(macs)
        if not began.is_set():
            began.set()
            assert proceed.wait(60)
        return found

    monkeypatch.setattr("app.session.picker.survey", slow)
    app.services.picker.refresh()
    app.until(began.is_set)
    fetch(hub, HubCache())
    app.services.picker.refresh()
    qtbot.wait(300)
    proceed.set()
    app.until(lambda: state(app) == "ready")
    qtbot.wait(300)
    assert state(app) == "ready"


def test_pause_resume_and_cancel(begin: Start, hub: LocalHub) -> None:
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: app.services.picker.can_download)
    hub.rate = 300_000
    card(app).main.click()
    app.until(lambda: state(app) == "running" and app.services.picker.downloads.pairs[PAIR].done > 100_000)
    assert card(app).pause.isVisible() and not card(app).main.isVisible()
    assert "of 2 MB" in card(app).progress.text()
    card(app).pause.click()
    app.until(lambda: state(app) == "paused")
    assert card(app).main.text() == "Resume" and "Paused" in card(app).progress.text()
    card(app).main.click()
    app.until(lambda: state(app) in ("waiting", "running"))
    card(app).cancel.click()
    app.until(lambda: state(app) == "absent")
    hub.rate = None
    app.until(lambda: not list((Path(constants.HF_HUB_CACHE) / "models--owner--target" / "blobs").glob("*")))


def test_a_download_continues_after_a_token_was_saved(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process restarts. Commands during the restart are not lost."""
    monkeypatch.setattr(model_storage, "store_token", lambda endpoint, token: "anna")
    hub.repo("owner/other", target_files(400_000, seed=5))
    other = Pair("owner/other", "owner/drafter")
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: app.services.picker.can_download)
    hub.rate = 300_000
    card(app).main.click()
    downloads = app.services.picker.downloads
    app.until(lambda: state(app) == "running" and downloads.pairs[PAIR].done > 0)
    accounts: list[str] = []
    app.services.picker.storage.log_in("hf_mine", accounts.append, accounts.append)
    app.until(lambda: accounts == ["anna"])
    downloads.add(other)
    assert set(downloads.pairs) == {PAIR, other}
    hub.rate = None
    app.until(lambda: state(app) == "ready")
    app.until(lambda: not downloads.pairs)
    assert (HubCache().folder("owner/other") / "refs/main").is_file()


def test_a_restart_of_the_process_does_not_forget_a_move_of_the_models(qapp: QApplication) -> None:
    """A hub that was changed while the process was ending replaced the move, which then never began."""
    downloads, done = Downloads(), list[str]()
    process = SimpleNamespace(running=True, finish=lambda ms: None, send=lambda message: None)
    process.start = lambda: (done.append("process"), setattr(process, "running", True))
    downloads.process = process  # type: ignore[assignment]
    downloads.suspend(lambda: done.append("move"))
    downloads.suspend(downloads.resume)
    process.running = False
    downloads._follow_end(True)
    downloads.add(PAIR)
    assert done == ["move"], "no process runs during the move"
    downloads.resume()
    assert done == ["move", "process"]


def test_the_reason_of_a_failed_download_is_known_after_a_restart(qapp: QApplication) -> None:
    reason = EngineText.of("disk_full", "The disk is full.")
    downloads = Downloads()
    downloads.load((QueuedPair(PAIR, "failed", reason=reason),))
    assert downloads.pairs == {PAIR: PairDownload("failed", note=reason)}


def test_downloads_of_another_program_are_shown(begin: Start, hub: LocalHub) -> None:
    QueueFile().put(PAIR, state="paused")
    QueueFile().put(Pair("owner/gone"))  # starts the process, which watches the queue
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: state(app) == "paused")
    fetch(hub, HubCache())  # as `slipstream models pull` does
    QueueFile().remove(PAIR)
    app.until(lambda: PAIR not in app.services.picker.downloads.pairs)
    app.until(lambda: state(app) == "ready")


@pytest.fixture
def soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends soon after its last download."""
    monkeypatch.setattr("app.session.downloads.IDLE_MS", 200)


def test_a_download_of_an_earlier_run_continues(begin: Start, hub: LocalHub, soon_idle: None) -> None:
    QueueFile().put(PAIR)
    app = begin()
    app.until(lambda: any("has been downloaded" in notice for notice in app.notices))
    opened(app)
    look_at(app, "zebra-1b")
    assert state(app) == "ready"
    app.until(lambda: not app.services.picker.downloads.findChildren(QProcess))  # nothing is left to download


def test_a_download_can_start_after_the_process_has_ended(begin: Start, hub: LocalHub, soon_idle: None) -> None:
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: app.services.picker.can_download)
    downloads = app.services.picker.downloads
    hub.rate = 300_000
    downloads.add(PAIR)
    app.until(lambda: state(app) == "running")
    downloads.pause(PAIR)
    app.until(lambda: not downloads.findChildren(QProcess))
    assert state(app) == "paused" and not downloads.running
    hub.rate = None
    downloads.add(PAIR)
    app.until(lambda: state(app) == "ready")


def test_a_gated_repo_shows_its_page_and_offers_no_download(begin: Start, hub: LocalHub) -> None:
    hub.repos["owner/target"].gated = True
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: bool(app.services.picker.rows.current and app.services.picker.rows.current.shown.problem))
    assert f"Accept its conditions at {hub.url}/owner/target" in card(app).problem.label.text() and not card(app).main.isEnabled()
    assert card(app).token.isVisible() and card(app).problem.help.isVisible()
    card(app).problem.help.click()
    assert app.dialog(HelpDialog).page == "models" and app.dialog(HelpDialog).text.verticalScrollBar().value() > 0
    hub.repos["owner/target"].gated = False
    card(app).again.click()
    app.until(lambda: app.services.picker.can_download)


def test_without_a_network_local_pairs_can_be_used(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(lambda: bool(app.services.picker.rows.current and app.services.picker.rows.current.shown.problem))
    problem = card(app).problem.label
    assert "without access to the model hub" in problem.text() and not card(app).main.isEnabled()
    assert problem.property("look") == "secondary" and not {"Context", "License"} & set(card(app).facts.shown)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.example")  # has no server
    card(app).again.click()
    app.until(lambda: problem.text() == "Can't fetch details. Check your network connection.")
    assert problem.property("look") == "secondary" and card(app).again.isVisible()
    downloads = app.services.picker.downloads
    downloads.pairs[PAIR] = PairDownload("failed", note=EngineText("hub_unreachable", "Can't reach the hub."))
    downloads.changed.emit()
    assert problem.property("look") == "danger" and problem.text() != "Can't fetch details. Check your network connection."
    look_at(app, "demo")
    assert state(app) == "loaded" and card(app).isVisible() and not card(app).delete.isVisible()
    assert len(app.engine.measured) <= 1  # even though the result is not saved here


def test_turning_off_offline_does_what_it_refused(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    real = pair_survey.check_hub

    def check(variant: Variant, macs: int) -> Variant:  # the hub of the test is on this computer, where Offline has no effect
        if offline.is_offline():
            raise offline.refusal("hub.example")
        return real(variant, macs)

    monkeypatch.setattr("app.session.picker.check_hub", check)
    offline.set_offline(True)
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.until(card(app).turn_off.isVisible)
    assert "Offline is on" in card(app).problem.label.text()
    card(app).turn_off.click()
    app.until(lambda: app.services.picker.can_download)
    assert not offline.is_offline() and not card(app).problem.isVisible()
    app.services.preferences.offline = True
    downloads = app.services.picker.downloads
    downloads.pairs[PAIR] = PairDownload("failed", note=offline.refusal("hub.example").text)
    downloads.changed.emit()
    card(app).turn_off.click()
    app.until(lambda: state(app) == "ready")
    assert not offline.is_offline()
