"""The state of the Models window, without widgets."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.activity import SessionActivity
from app.session.background_work import Background
from app.session.custom_pairs import add_pair
from app.session.downloads import Downloads, PairDownload, PairState
from app.session.endpoints import Endpoints
from app.session.help_pages import CONNECTING_PAGE
from app.session.hub_search import HubSearch, list_found
from app.session.measurements import RooflineRunner
from app.session.model_list import Candidate, Variant
from app.session.model_storage import Storage
from app.session.notice import Notice
from app.session.other_macs import OtherMacs
from app.session.pair_rows import PairRows
from app.session.pair_session import PairLoader
from app.session.pair_survey import Survey, check_hub, survey
from app.session.reply_runner import ReplyRunner
from app.text.language import tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import LoadPair
from mlx_engine.contract.secrets import is_available
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.library.library import LocalModel, repo_of
from mlx_engine.models.library.pair import Pair, demo_pair, remove_custom_pair
from mlx_engine.models.library.speeds import record_speeds, speed_key
from mlx_engine.remote.saved_endpoints import SavedEndpoint

CHECK_AFTER_MS = 350  # delay between selecting a pair and asking the hub


class Picker(QObject):
    """The state of the Models window. Commands act on the selected pair or endpoint."""

    changed = Signal()
    used = Signal()  # the selected pair is loading, or the selected server is connecting
    message = Signal(str)
    downloaded = Signal(str)  # the name of a pair

    def __init__(
        self,
        loader: PairLoader,
        activity: SessionActivity,
        reply_runner: ReplyRunner,
        roofline_runner: RooflineRunner,
        macs: OtherMacs,
        parent: QObject | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__(parent)
        self._loader, self._activity, self._roofline_runner, self.macs = loader, activity, roofline_runner, macs
        self.background = Background(self)
        self.background.failed.connect(self.message)
        self.downloads = Downloads(self)
        self.downloads.changed.connect(self.changed)
        self.downloads.finished.connect(self._download_finished)
        self.downloads.removed.connect(self.refresh)
        self.storage = Storage(self.background, self.downloads, self)
        self.storage.message.connect(self.message)
        self.storage.changed.connect(self.changed)
        self.storage.files_changed.connect(self.refresh)
        self.storage.moved.connect(self._loader.moved)
        self.endpoints = Endpoints(folder, self)
        self.endpoints.message.connect(self.message)
        self.endpoints.changed.connect(self.changed)
        self.rows = PairRows(self.endpoints, self)
        self.hub_search = HubSearch(self.rows, macs, self)
        self.hub_search.changed.connect(self.changed)
        for estimates_changed in (self.storage.hub_changed, macs.use_changed):
            estimates_changed.connect(self.hub_search.forget)
            estimates_changed.connect(self._forget_answers)
        self._problems: tuple[EngineText, ...] = ()
        self.machine_measured = True
        self._measured_now = False  # in this run, even if the result couldn't be saved
        self.loading = False
        self._surveying, self._survey_again = False, False
        self.checking: set[Pair] = set()
        self._hub_changes = 0  # of its address or token, or of the Macs in use
        self._check_timer = QTimer(self, singleShot=True, interval=CHECK_AFTER_MS)
        self._check_timer.timeout.connect(self.check_hub)
        self.rows.picked.connect(self._check_timer.start)
        self.rows.changed.connect(self.changed)
        roofline_runner.changed.connect(self._machine_changed)
        for signal in (self._loader.loaded, self._loader.changed, activity.changed):
            signal.connect(self.changed)
        self._loader.loaded.connect(self._follow_loaded)
        self._loader.missed.connect(self._follow_missed)
        reply_runner.finished.connect(self._record_speed)

    def start(self) -> None:
        """Continue the downloads of an earlier run."""
        self.background.run(QueueFile().read, self.downloads.load)
        self.storage.start()

    def close(self) -> None:
        """Stop downloads, keeping partial files, and purge deleted pairs."""
        self.endpoints.close()
        self.hub_search.close()
        self.storage.close()
        self.background.close()
        self.downloads.close()

    # The list

    def prepare_forms(self) -> None:
        """Find the keychain before a form needs it. The first call imports much."""
        self.background.run(is_available, lambda _: None)

    @Slot()
    def refresh(self) -> None:
        """Survey all pairs again, one survey at a time to keep results in order."""
        self.loading = not self.rows.pairs
        if self._surveying:
            self._survey_again = True
        else:
            self._surveying = True
            self.background.run(partial(survey, self.macs.count), self._survey_done, lambda reason: self._survey_done(None, reason))
        self.read_disk()
        self.changed.emit()

    @Slot()
    def read_disk(self) -> None:
        """Reread free space and the download queue, which other programs can change."""
        self.storage.read_folder()
        self.background.run(QueueFile().read, self.downloads.follow)

    def _survey_done(self, found: Survey | None, problem: str = "") -> None:
        if problem:
            self.message.emit(problem)
        self.loading = self._surveying = False
        if self._survey_again:
            self._survey_again = False
            self.refresh()
        elif found is not None:
            self._show_survey(found)
        self.changed.emit()

    def _show_survey(self, found: Survey) -> None:
        self.machine_measured = found.facts is not None or self._measured_now
        for problem in set(found.problems) - set(self._problems):
            self.message.emit(translated(problem))
        self._problems = found.problems
        self.rows.put(found.candidates, self._loader.loaded_from, self.in_use)
        idle = not self._activity.busy and not self._loader.running
        if not self.machine_measured and idle and self._loader.pair is not None:
            self._roofline_runner.start()

    @Slot()
    def _follow_loaded(self) -> None:
        """Show the loaded drafter in its row, or Auto if Auto chose it."""
        self.rows.show_loaded(self._loader.loaded_from)

    @Slot()
    def _follow_missed(self) -> None:
        """Survey again if another app has deleted the target that should be loaded."""
        pair = self._loader.loading_from
        if pair is not None and pair.target is not None and not pair.target.is_dir():
            self.refresh()

    def state(self, one: Candidate) -> PairState:
        shown, saved = one.shown, one.endpoint
        if saved is not None:
            if (connecting := self._loader.connecting_to) is not None and connecting.name == saved.name:
                return "loading"
            connected = self._loader.connected_to
            return "loaded" if connected is not None and connected.name == saved.name else "ready"
        if shown.folders:
            if _loads(self._loader.loading_from, one):
                return "loading"
            loaded = self._loader.loaded_from
            is_loaded = loaded is not None and _loads(loaded, one) and loaded.workers == self.macs.in_use
            return "loaded" if is_loaded else "ready"
        if (download := self.download_of(one)) is not None:
            return download.state
        return "unavailable" if one.why_not or shown.pair is None else "absent"

    def in_use(self, one: Candidate) -> bool:
        return self.state(one) in ("loaded", "loading")

    def download_of(self, one: Candidate) -> PairDownload | None:
        return self.downloads.pairs.get(one.shown.pair) if one.shown.pair else None

    # The hub

    @Slot()
    def check_hub(self) -> None:
        """Ask the hub about the selected pair, unless it has already been checked."""
        one = self.rows.current
        if one is None or one.why_not or self.state(one) != "absent":
            return
        shown, pair, macs = one.shown, one.shown.pair, self.macs.count
        if pair is None or shown.checked or pair in self.checking:
            return
        if one.from_hub and pair.drafter is None and shown.problem is None:
            return  # the search checks it

        def work() -> Variant:
            try:
                return check_hub(shown, macs)
            except UserError as error:
                return replace(shown, problem=error.text)

        self.checking.add(pair)
        self.background.run(work, partial(self._checked, self._hub_changes, pair))
        self.changed.emit()

    @Slot()
    def _forget_answers(self) -> None:
        """Ask again after a change of the hub's address or token, or of the Macs in use."""
        self._hub_changes += 1
        self.checking.clear()
        self.rows.forget_answers()
        self.refresh()

    def _checked(self, asked_after: int, pair: Pair, answer: Variant) -> None:
        """Show an answer, unless the hub has changed since the question."""
        if asked_after != self._hub_changes:
            return
        self.checking.discard(pair)
        self.rows.update(pair, lambda variant: answer if variant.folders is None else variant)
        if answer.checked:
            self.rows.picked.emit()  # the search looks for drafters of a model that it couldn't check

    # Commands

    def _may_act(self) -> bool:
        if reason := self.storage.busy_reason:
            self.message.emit(reason)
        return not reason

    @property
    def can_download(self) -> bool:
        """Whether the selected pair can be downloaded; unverified pairs need a check."""
        if (one := self.rows.current) is None or one.shown.pair is None or one.why_not or one.shown.undivided:
            return False
        return not one.shown.problem and (one.confirmed or one.shown.checked)

    @Slot()
    def download(self) -> None:
        """Download the selected pair, resume its download, or restore deleted files."""
        one = self.rows.current
        if one is None or one.shown.pair is None or not (self.state(one) in ("paused", "failed") or self.can_download):
            return
        if not self._may_act():
            return
        if one.from_hub and self.download_of(one) is None:
            self._add_found(one, one.shown.pair)
        else:
            self._restore_or_download(one.shown.pair, one.shown.held)

    def _restore_or_download(self, pair: Pair, held: LocalModel | None = None) -> None:
        deleted = next((deleted for deleted in self.storage.deleted if set(deleted.repos) <= set(pair.repos)), None)
        if deleted is not None:
            self.storage.restore(deleted)
        else:
            self.downloads.add(pair, held.folder if held else None)

    def _add_found(self, one: Candidate, pair: Pair) -> None:
        """List a model of the hub as a custom pair, and restore or download it."""

        def then(added: Candidate) -> None:
            self.rows.add(added)
            self.rows.select(added.id)
            self.refresh()
            self._restore_or_download(pair)

        self.background.run(lambda: list_found(one), then, saves=True)

    @Slot()
    def pause(self) -> None:
        if (one := self.rows.current) is not None and one.shown.pair is not None and self._may_act():
            self.downloads.pause(one.shown.pair)

    @Slot()
    def cancel(self) -> None:
        """Cancel loading, or cancel the download and delete its partial files."""
        one = self.rows.current
        if one is not None and self.state(one) == "loading":
            self._loader.cancel()
        elif one is not None and one.shown.pair is not None and self.download_of(one) is not None and self._may_act():
            self.downloads.cancel(one.shown.pair)
            self.rows.update(one.shown.pair, lambda variant: replace(variant, checked=False))
            self._check_timer.start()

    @Slot()
    def use(self) -> None:
        """Load the selected pair, or connect to the selected server."""
        one = self.rows.current
        if one is None or self.state(one) != "ready":
            return
        if why := self._activity.why_busy:
            self.message.emit(why)
        elif one.endpoint is not None:
            self._activity.connect_to(one.endpoint)
            self.used.emit()
        elif one.shown.undivided is not None:
            self.message.emit(translated(one.shown.undivided))
        elif one.shown.folders is not None and self._may_act():
            folders = one.shown.folders
            auto = one.auto and one.automatic is not None
            self._activity.use(LoadPair() if folders == demo_pair() else LoadPair(*folders, auto=auto))
            self.used.emit()

    @Slot()
    def try_again(self) -> None:
        """Resume the selected pair's download, or ask the hub about the pair again."""
        if (one := self.rows.current) is not None:
            (self.download if self.state(one) == "failed" else self.check_hub)()

    @property
    def deletable(self) -> tuple[str, ...]:
        """The selected pair's repos in the hub cache that no other downloaded pair needs."""
        one = self.rows.current
        if one is None or not one.shown.removable or self.state(one) != "ready":
            return ()
        variants = [variant for each in self.rows.pairs for variant in each.variants if variant.folders]
        needed = {repo for variant in variants if variant.pair and variant.pair != one.shown.pair for repo in variant.pair.repos}
        in_use = [pair for pair in (self._loader.loaded_from, self._loader.loading_from) if pair is not None]
        needed |= {repo_of(folder) for pair in in_use for folder in (pair.target, pair.drafter) if folder}
        return tuple(repo for repo in one.shown.removable if repo not in needed)

    @Slot()
    def delete(self) -> None:
        """Delete the selected pair from disk. It can be restored until the app quits."""
        one, repos = self.rows.current, self.deletable
        if one is not None and one.shown.pair is not None and repos and self._may_act():
            name = tr("Drafter of {name}", name=one.name) if one.shown.held else one.name
            self.storage.delete(name, repos, one.shown.pair)

    @Slot()
    def remove(self) -> None:
        """Remove a custom pair from the list and keep its files."""
        if (one := self.rows.current) is not None and (pair := one.custom) is not None:
            self.background.run(lambda: remove_custom_pair(pair), lambda _: self.refresh(), saves=True)

    def move(self, folder: Path) -> None:
        if self._loader.running:
            self.message.emit(tr("Wait until the pair is loaded before you move models."))
        elif self._may_act():
            self.storage.move(folder)

    # Endpoints

    def put_endpoint(self, new: SavedEndpoint, old: str = "") -> None:
        """Add or replace an endpoint and select it. Reconnect if it is in use."""
        connected = self._loader.connected_to
        self.endpoints.put(new, old)
        self.rows.search, self.rows.filter = "", "all"
        self.rows.select(Candidate.of_endpoint(new).id)
        if connected is not None and connected.name == old:
            self._activity.connect_to(new)

    @Slot(str)
    def connect_to(self, name: str) -> None:
        if (saved := self.endpoints.find(name)) is None:
            return
        if refusal := self.endpoints.refusal(saved.endpoint):
            self._loader.notified.emit(Notice(refusal, "error", help=CONNECTING_PAGE))
        else:
            self._activity.connect_to(saved)

    @Slot()
    def remove_endpoint(self) -> None:
        if (one := self.rows.current) is not None and one.endpoint is not None:
            self.endpoints.remove(one.endpoint.name)
            self.rows.select(self.rows.first(self.in_use))

    # Custom pairs

    def add(self, target: str, drafter: str, name: str = "") -> None:
        """Add a pair of two repos or two folders to the list, and select the pair."""

        def then(added: Candidate) -> None:
            self.rows.add(added)
            self.refresh()

        self.background.run(lambda: add_pair(target, drafter, name), then, saves=True)

    # Events

    @Slot()
    def _machine_changed(self) -> None:
        """Survey again after a measurement, which makes it possible to predict speeds."""
        self._measured_now |= self._roofline_runner.found is not None
        if self._measured_now and not self.machine_measured and self.rows.pairs:
            self.machine_measured = True
            self.refresh()

    @Slot(object, list)
    def _download_finished(self, pair: Pair, notes: list[EngineText]) -> None:
        for note in notes:
            self.message.emit(translated(note))
        names = (one.name for one in self.rows.pairs for variant in one.variants if variant.pair == pair)
        self.downloaded.emit(next(names, pair.name))
        self.refresh()

    @Slot(object, object)
    def _record_speed(self, run: object, stats: Stats) -> None:
        """Record the speed of a finished reply for a pair that this Mac alone runs."""
        loaded = self._loader.loaded_from
        if loaded is None or loaded.workers:
            return
        folders = (loaded.target, loaded.drafter) if loaded.target else demo_pair()
        self.background.run(lambda: record_speeds(speed_key(*folders), (stats,)), saves=True)


def _loads(pair: LoadPair | None, one: Candidate) -> bool:
    folders = one.shown.folders
    if pair is None or folders is None:
        return False
    if pair.auto and one.automatic is not None:
        return one.auto and pair.target == folders[0]
    return folders == (demo_pair() if pair.target is None else (pair.target, pair.drafter))
