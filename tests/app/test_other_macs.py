"""Other Macs in the session: pairing, cancelling, the list, and what of it is used for the next pair."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from app.session.model_list import Variant
from app.session.other_macs import OtherMacs
from app.session.pair_survey import Estimator, survey
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import LoadPair
from mlx_engine.hardware import machine
from mlx_engine.models.configs.shardable import SHARDABLE
from mlx_engine.models.library.link_times import record_link
from mlx_engine.ring.pairing import KnownWorker, known_worker
from mlx_engine.ring.ring_plan import paired_plan
from tests.app.conftest import Begin, wait_until
from tests.keychain import keychain
from tests.mlx_engine.models.test_fit import GB
from tests.mlx_engine.models.test_speeds import EVEN, FOUR_BITS

Made = Callable[[], OtherMacs]


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    with keychain():
        yield


class Workers:
    """Workers with the code GOOD, which answer once the gate is open."""

    def __init__(self) -> None:
        self.gate, self.asked, self.paired = threading.Event(), list[str](), list[str]()
        self.gate.set()

    def pair(self, worker: KnownWorker) -> None:
        assert threading.current_thread() is not threading.main_thread(), "the window isn't blocked"
        self.asked.append(worker.name)
        assert self.gate.wait(120)
        if worker.code != "GOOD":
            raise UserError("worker_code_wrong", "The pairing code of “{name}” is wrong.", name=worker.name)
        worker.save()
        self.paired.append(worker.name)


@pytest.fixture
def workers() -> Workers:
    return Workers()


@pytest.fixture
def made(qapp: QApplication, workers: Workers, tmp_path: Path) -> Iterator[Made]:
    """Makes sessions, one after the other, as launches do."""
    found: list[OtherMacs] = []

    def make() -> OtherMacs:
        settings = QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)
        found.append(OtherMacs(settings))
        found[-1].pair = workers.pair
        settings.setParent(found[-1])
        return found[-1]

    yield make
    workers.gate.set()
    for macs in found:
        macs.close()


def add(macs: OtherMacs, address: str, code: str = "GOOD") -> None:
    macs.add(address, code)
    wait_until(lambda: not macs.adding)


def test_macs_are_kept_without_their_codes(made: Made, tmp_path: Path) -> None:
    macs = made()
    add(macs, "10.0.0.2")
    add(macs, " mac.local:5000 ", " GOOD ")
    macs.use("10.0.0.2:47820", False)
    assert (macs.in_use, macs.count) == (("mac.local:5000",), 2)
    assert [worker.code for worker in paired_plan(macs.in_use).workers] == ["GOOD"]
    again = made()
    assert [(mac.name, mac.used) for mac in again.macs] == [("10.0.0.2:47820", False), ("mac.local:5000", True)]
    assert "GOOD" not in (tmp_path / "settings.ini").read_text()
    again.remove("mac.local:5000")
    wait_until(lambda: known_worker("mac.local", 5000) is None)
    assert again.in_use == ()


def test_problems_are_shown_until_the_next_attempt(made: Made, workers: Workers) -> None:
    macs = made()
    for address, code, problem in (
        ("a b", "GOOD", "isn't an address"),
        ("a:0", "GOOD", "isn't an address"),
        ("", "GOOD", "isn't an address"),
        ("a", " ", "Enter the pairing code"),
        ("a", "BAD", "“a:47820” is wrong"),
    ):
        add(macs, address, code)
        assert problem in macs.problem and not macs.macs
    assert workers.asked == ["a:47820"]
    add(macs, "a")
    assert not macs.problem and macs.in_use == ("a:47820",)


def test_a_canceled_mac_is_neither_listed_nor_kept(made: Made, workers: Workers) -> None:
    macs = made()
    workers.gate.clear()
    macs.add("a", "GOOD")
    assert macs.adding == "a:47820"
    macs.cancel()
    assert not macs.adding
    macs.add("b", "GOOD")
    workers.gate.set()
    wait_until(lambda: len(workers.paired) == 2 and not macs.adding)
    wait_until(lambda: known_worker("a", 47820) is None)
    assert macs.in_use == ("b:47820",)


def test_pairs_are_estimated_for_the_macs_in_use(places: None, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, two = ({one.id: one for one in survey(macs).candidates if one.family} for macs in (1, 2))
    assert {id for id in two if two[id].shown.undivided} == {id for id in two if two[id].family not in SHARDABLE}
    fits = [(alone[id].shown.fit, one.shown.fit) for id, one in two.items() if one.shown.fit is not None]
    assert fits and all(one is not None and half.needed < one.needed for one, half in fits if one is None or one.needed > GB)
    monkeypatch.setattr(machine, "load_facts", lambda: EVEN)
    record_link(2, 0.001)
    predicted = Estimator(2).from_files(Variant(), [FOUR_BITS], (5 * GB, 0)).speeds["plain"]
    assert "for 1.00 ms" in str(predicted.reason)
    assert Estimator(4).from_files(Variant(), [FOUR_BITS], (5 * GB, 0)).speeds == {}, "not measured with four"


def test_pairs_are_loaded_on_the_macs_in_use(begin: Begin) -> None:
    app = begin(loaded=False)
    loading: list[LoadPair | None] = []
    app.loader.changed.connect(lambda: loading.append(app.loader.loading_from))
    app.loader.workers = lambda: ("a:47820",)
    app.loader.load(LoadPair())
    app.until(lambda: not app.loader.running)
    assert loading[0] == LoadPair(workers=("a:47820",)) and "no pairing code for “a:47820”" in app.notices[-1]
    app.loader.workers = tuple
    app.load()
    assert app.loader.loaded_from == LoadPair() and app.loader.macs == 1
