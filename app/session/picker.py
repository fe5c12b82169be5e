"""The state of the Models window, without widgets."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.conductor import Conductor
from app.session.downloads import Downloads, PairDownload, PairState
from app.session.endpoints import Connections
from app.session.model_list import Candidate, Estimator, Filter, Survey, Variant, check_hub, matching, survey
from app.session.model_storage import Background, Storage
from app.session.notice import Notice
from app.text.language import sentences, tr, translated
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import LoadPair
from mlx_engine.contract.secrets import is_available
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.matching import NoDrafter, NotForDFlash, find_drafter, find_local_drafter
from mlx_engine.models.files.chat_template import folder_template_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.library.catalog import load_catalog
from mlx_engine.models.library.library import local_models, repo_of
from mlx_engine.models.library.pair import CustomPair, Pair, add_custom_pair, demo_pair, remove_custom_pair
from mlx_engine.models.library.speeds import record_speeds, speed_key
from mlx_engine.remote.saved_endpoints import SavedConnection

CHECK_AFTER_MS = 350  # delay between selecting a pair and asking the hub


class Picker(QObject):
    """The state of the Models window. Commands act on the selected pair or connection."""

    changed = Signal()
    message = Signal(str)
    downloaded = Signal(str)  # the name of a pair

    def __init__(self, conductor: Conductor, parent: QObject | None = None, folder: Path | None = None) -> None:
        super().__init__(parent)
        self._conductor, self._loader = conductor, conductor.loader
        self._background = Background(self)
        self._background.failed.connect(self.message)
        self.downloads = Downloads(self)
        self.downloads.changed.connect(self.changed)
        self.downloads.finished.connect(self._download_finished)
        self.downloads.removed.connect(self.refresh)
        self.storage = Storage(self._background, self.downloads, self)
        self.storage.message.connect(self.message)
        self.storage.changed.connect(self.changed)
        self.storage.files_changed.connect(self.refresh)
        self.storage.moved.connect(self._loader.moved)
        self.connections = Connections(folder, self)
        self.connections.message.connect(self.message)
        self.connections.changed.connect(self.changed)
        self._all: tuple[Candidate, ...] = ()
        self._problems: tuple[EngineText, ...] = ()
        self.machine_measured = True
        self._measured_now = False  # in this run, even if the result couldn't be saved
        self.loading = False
        self._surveying, self._survey_again = False, False
        self.checking: set[Pair] = set()
        self.search = ""
        self.filter: Filter = "all"
        self.selected = ""
        self._select_next = ""  # the pair to select once it is listed
        self._target_next = ""  # the variant to show once the selected pair is listed
        self._check_timer = QTimer(self, singleShot=True, interval=CHECK_AFTER_MS)
        self._check_timer.timeout.connect(self.check_hub)
        conductor.roofline_job.changed.connect(self._machine_changed)
        for signal in (self._loader.loaded, self._loader.changed, conductor.busy_changed):
            signal.connect(self.changed)
        self._loader.loaded.connect(self._follow_loaded)
        conductor.reply_run.finished.connect(self._record_speed)

    def start(self) -> None:
        """Continue the downloads of an earlier run."""
        self._background.run(QueueFile().read, self.downloads.load)
        self.storage.start()

    def close(self) -> None:
        """Stop downloads, keeping partial files, and purge deleted pairs."""
        self.connections.close()
        self.storage.close()
        self._background.close()
        self.downloads.close()

    # The list

    def prepare_forms(self) -> None:
        """Find the keychain before a form needs it. The first call imports much."""
        self._background.run(is_available, lambda _: None)

    @Slot()
    def refresh(self) -> None:
        """Survey all pairs again, one survey at a time to keep results in order."""
        self.loading = not self._all
        if self._surveying:
            self._survey_again = True
        else:
            self._surveying = True
            self._background.run(survey, self._survey_done, lambda reason: self._survey_done(None, reason))
        self.read_disk()
        self.changed.emit()

    @Slot()
    def read_disk(self) -> None:
        """Reread free space and the download queue, which other programs can change."""
        self.storage.read_folder()
        self._background.run(QueueFile().read, self.downloads.follow)

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
        before = {one.id: one for one in self._all}
        self._all = tuple(_keep_answers(one, before[one.id]) if one.id in before else one for one in found.candidates)
        if not before:
            self._follow_loaded()
        if any(one.id == self._select_next for one in self._all):
            self.selected, self._select_next = self._select_next, ""
        if self.current is None:
            in_use = [one.id for one in self._listed if self.state(one) in ("loaded", "loading")]
            self.selected = next(iter([*in_use, *(one.id for one in self._all)]), "")
        self._show_next_target()
        self._check_timer.start()
        idle = not self._conductor.busy and not self._loader.running
        if not self.machine_measured and idle and self._loader.pair is not None:
            self._conductor.roofline_job.start()

    @property
    def _listed(self) -> tuple[Candidate, ...]:
        return (*map(Candidate.of_connection, self.connections.saved), *self._all)

    @property
    def rows(self) -> list[Candidate]:
        """The connections and pairs that match the filter and the search."""
        return matching(self._listed, self.filter, self.search)

    @property
    def current(self) -> Candidate | None:
        return next((one for one in self._listed if one.id == self.selected), None)

    @Slot(str)
    def set_search(self, text: str) -> None:
        self.narrow(text, self.filter)

    def narrow(self, search: str, filter: Filter) -> None:
        """Show only matching pairs, and select the best match."""
        self.search, self.filter = search, filter
        rows = self.rows
        if rows and (self.search or not any(one.id == self.selected for one in rows)):
            self.select(rows[0].id)
        self.changed.emit()

    def select(self, id: str) -> None:
        """Select a pair, and check it on the hub after a short delay."""
        if id != self.selected:
            self.selected = id
            self.changed.emit()
        self._check_timer.start()

    def show_variant(self, index: int, auto: bool = False) -> None:
        """Show a variant of the selected pair, or the one that Auto chooses."""
        if (one := self.current) is not None and 0 <= index < len(one.variants):
            self._replace(replace(one, index=index, auto=auto).settled())
            self._check_timer.start()

    @Slot()
    def _follow_loaded(self) -> None:
        """Show the loaded drafter in its row, or Auto if Auto chose it."""
        loaded = self._loader.loaded_from
        for one in self._all:
            for index, variant in enumerate(one.variants):
                if loaded is not None and variant.folders == (loaded.target, loaded.drafter):
                    self._replace(replace(one, index=index, auto=loaded.auto or len(one.variants) == 1).settled())

    def show_target(self, id: str, target: str) -> None:
        """Select a pair and show its variant with this target once the pair is listed."""
        self._target_next = target
        self.select(id)
        self._show_next_target()

    def _show_next_target(self) -> None:
        targets = [variant.pair and variant.pair.target for variant in self.current.variants] if self.current else []
        if self._target_next in targets:
            self.show_variant(targets.index(self._target_next))
            self._target_next = ""

    def state(self, one: Candidate) -> PairState:
        shown, saved = one.shown, one.connection
        if saved is not None:
            if (connecting := self._loader.connecting_to) is not None and connecting.name == saved.name:
                return "loading"
            connected = self._loader.connected_to
            return "loaded" if connected is not None and connected.name == saved.name else "ready"
        if shown.folders:
            if _loads(self._loader.loading_from, one):
                return "loading"
            return "loaded" if _loads(self._loader.loaded_from, one) else "ready"
        if (download := self.download_of(one)) is not None:
            return download.state
        return "unavailable" if one.why_not or shown.pair is None else "absent"

    def download_of(self, one: Candidate) -> PairDownload | None:
        return self.downloads.pairs.get(one.shown.pair) if one.shown.pair else None

    def _update(self, pair: Pair, change: Callable[[Variant], Variant]) -> None:
        for one in self._all:
            for index, variant in enumerate(one.variants):
                if variant.pair == pair:
                    self._replace(one.with_variant(index, change(variant)))
                    return
        self.changed.emit()

    def _replace(self, changed: Candidate) -> None:
        self._all = tuple(changed if one.id == changed.id else one for one in self._all)
        self.changed.emit()

    # The hub

    @Slot()
    def check_hub(self) -> None:
        """Ask the hub about the selected pair, unless it has already been checked."""
        one = self.current
        if one is None or one.why_not or self.state(one) != "absent":
            return
        shown, pair = one.shown, one.shown.pair
        if pair is None or shown.checked or pair in self.checking:
            return

        def work() -> Variant:
            try:
                return check_hub(shown)
            except UserError as error:
                return replace(shown, problem=error.text)

        self.checking.add(pair)
        self._background.run(work, partial(self._checked, pair))
        self.changed.emit()

    def _checked(self, pair: Pair, answer: Variant) -> None:
        self.checking.discard(pair)
        self._update(pair, lambda variant: answer if variant.folders is None else variant)

    # Commands

    def _may_act(self) -> bool:
        if reason := self.storage.busy_reason:
            self.message.emit(reason)
        return not reason

    @property
    def can_download(self) -> bool:
        """Whether the selected pair can be downloaded; unverified pairs need a check."""
        if (one := self.current) is None or one.shown.pair is None or one.why_not:
            return False
        return not one.shown.problem and (one.confirmed or one.shown.checked)

    @Slot()
    def download(self) -> None:
        """Download the selected pair, resume its download, or restore deleted files."""
        one = self.current
        if one is None or one.shown.pair is None or not (self.state(one) in ("paused", "failed") or self.can_download):
            return
        repos = set(one.shown.pair.repos)
        deleted = next((deleted for deleted in self.storage.deleted if set(deleted.repos) <= repos), None)
        if not self._may_act():
            return
        if deleted is not None:
            self.storage.restore(deleted)
        else:
            self.downloads.add(one.shown.pair)

    @Slot()
    def pause(self) -> None:
        if (one := self.current) is not None and one.shown.pair is not None and self._may_act():
            self.downloads.pause(one.shown.pair)

    @Slot()
    def cancel(self) -> None:
        """Cancel loading, or cancel the download and delete its partial files."""
        one = self.current
        if one is not None and self.state(one) == "loading":
            self._loader.cancel()
        elif one is not None and one.shown.pair is not None and self.download_of(one) is not None and self._may_act():
            self.downloads.cancel(one.shown.pair)
            self._update(one.shown.pair, lambda variant: replace(variant, checked=False))
            self._check_timer.start()

    @Slot()
    def use(self) -> None:
        """Load the selected pair, or connect to the selected server."""
        one = self.current
        if one is None or self.state(one) != "ready":
            return
        if self._conductor.busy:
            self.message.emit(tr("To switch models, stop the reply or wait for it to finish."))
        elif one.connection is not None:
            self._conductor.connect_to(one.connection)
        elif one.shown.folders is not None and self._may_act():
            folders = one.shown.folders
            auto = one.auto and one.automatic is not None
            self._conductor.use(LoadPair() if folders == demo_pair() else LoadPair(*folders, auto=auto))

    @property
    def deletable(self) -> tuple[str, ...]:
        """The repos of the selected pair that no other downloaded pair needs."""
        one = self.current
        if one is None or not one.shown.removable or one.shown.pair is None or self.state(one) != "ready":
            return ()
        variants = [variant for each in self._all for variant in each.variants if variant.folders]
        needed = {repo for variant in variants if variant.pair and variant.pair != one.shown.pair for repo in variant.pair.repos}
        in_use = [pair for pair in (self._loader.loaded_from, self._loader.loading_from) if pair is not None]
        needed |= {repo_of(folder) for pair in in_use for folder in (pair.target, pair.drafter) if folder}
        return tuple(repo for repo in one.shown.pair.repos if repo not in needed)

    @Slot()
    def delete(self) -> None:
        """Delete the selected pair from disk. It can be restored until the app quits."""
        one, repos = self.current, self.deletable
        if one is not None and one.shown.pair is not None and repos and self._may_act():
            self.storage.delete(one.name, repos, one.shown.pair)

    @Slot()
    def remove(self) -> None:
        """Remove a custom pair from the list and keep its files."""
        if (one := self.current) is not None and (pair := one.custom) is not None:
            self._background.run(lambda: remove_custom_pair(pair), lambda _: self.refresh())

    def move(self, folder: Path) -> None:
        if self._loader.running:
            self.message.emit(tr("Wait until the pair is loaded before you move models."))
        elif self._may_act():
            self.storage.move(folder)

    # Connections

    def put_connection(self, new: SavedConnection, old: str = "") -> None:
        """Add or replace a connection and select it. Reconnect if it is in use."""
        connected = self._loader.connected_to
        self.connections.put(new, old)
        self.search, self.filter = "", "all"
        self.select(Candidate.of_connection(new).id)
        if connected is not None and connected.name == old:
            self._conductor.connect_to(new)

    @Slot(str)
    def connect_to(self, name: str) -> None:
        if (saved := self.connections.find(name)) is None:
            return
        if refusal := self.connections.refusal(saved.connection):
            self._loader.notified.emit(Notice(refusal, "error"))
        else:
            self._conductor.connect_to(saved)

    @Slot()
    def remove_connection(self) -> None:
        if (one := self.current) is not None and one.connection is not None:
            self.connections.remove(one.connection.name)
            self.select(
                next((each.id for each in self._listed if self.state(each) == "loaded"), self._all[0].id if self._all else "")
            )

    # Custom pairs

    def check(self, target: str, drafter: str, then: Callable[[str, str], object]) -> None:
        """Check two repos or folders, and pass the problems, or "", to `then`."""

        def work() -> list[str]:
            if is_folder(target):
                folder = Path(target).expanduser()
                check_loadable(folder, Path(drafter).expanduser() if drafter else None)
                found = Variant(chat_problem=folder_template_problem(folder, read_config(folder)))
            else:
                found = check_hub(Variant(pair=Pair(target, drafter or None)))
            return [translated(problem) if problem else "" for problem in (found.problem, found.chat_problem)]

        self._background.run(work, lambda found: then(*found), lambda reason: then(reason, ""))

    def find_drafter(self, target: str, then: Callable[[str], object], failed: Callable[[str], object]) -> None:
        """Find a drafter for a target on disk and, if the target is a repo, on the hub."""

        def work() -> str:
            try:
                if is_folder(target):
                    return str(find_local_drafter(local_models(), Path(target).expanduser()))
                return find_drafter(Hub(), load_catalog(), local_models(), target).repos[-1]
            except NoDrafter as error:
                reason, advice = error.text, tr("Enter a drafter, or leave the field empty for plain decoding.")
            except NotForDFlash as error:
                reason, advice = error.text, tr("Leave the drafter empty for plain decoding.")
            raise UserError.of(EngineText("window", sentences(translated(reason), advice)))

        self._background.run(work, then, failed)

    def add(self, target: str, drafter: str, name: str = "") -> None:
        """Add a pair of two repos or two folders to the list, and select the pair."""

        def work() -> Candidate:
            if is_folder(target):
                paths = [str(Path(path).expanduser().absolute()) for path in (target, drafter) if path]
                pair = CustomPair(paths[0], paths[1] if drafter else None, name)
                variant = Estimator().from_folders(pair.folders)
            else:
                pair = CustomPair(target, drafter or None, name)
                variant = check_hub(Variant(pair=pair.pair))
            add_custom_pair(pair)
            return Candidate.of_custom(pair, variant)

        def then(added: Candidate) -> None:
            self._all = (added, *(one for one in self._all if one.id != added.id))
            self._select_next, self.search, self.filter = added.id, "", "all"
            self.refresh()

        self._background.run(work, then)

    # Events

    @Slot()
    def _machine_changed(self) -> None:
        """Survey again after a measurement, which makes it possible to predict speeds."""
        self._measured_now |= self._conductor.roofline_job.found is not None
        if self._measured_now and not self.machine_measured and self._all:
            self.machine_measured = True
            self.refresh()

    @Slot(object, list)
    def _download_finished(self, pair: Pair, notes: list[EngineText]) -> None:
        for note in notes:
            self.message.emit(translated(note))
        names = (one.name for one in self._all for variant in one.variants if variant.pair == pair)
        self.downloaded.emit(next(names, pair.name))
        self.refresh()

    @Slot(object)
    def _record_speed(self, stats: Stats) -> None:
        """Record the speed of a finished reply for the loaded pair."""
        loaded = self._loader.loaded_from
        if loaded is None:
            return
        folders = (loaded.target, loaded.drafter) if loaded.target else demo_pair()
        self._background.run(lambda: record_speeds(speed_key(*folders), (stats,)))


def is_folder(name: str) -> bool:
    """Return whether a name is a folder's path rather than a repo."""
    return name.startswith(("/", "~", "."))


def _loads(pair: LoadPair | None, one: Candidate) -> bool:
    folders = one.shown.folders
    if pair is None or folders is None:
        return False
    if pair.auto and one.automatic is not None:
        return one.auto and pair.target == folders[0]
    return folders == (demo_pair() if pair.target is None else (pair.target, pair.drafter))


def _keep_answers(new: Candidate, old: Candidate) -> Candidate:
    """Keep the shown variant, and the hub's data for variants not on disk."""
    known = {variant.pair: variant for variant in old.variants}
    variants = list(new.variants)
    for index, variant in enumerate(variants):
        before = known.get(variant.pair)
        if before is not None and before.folders is None and variant.folders is None:
            variants[index] = before if before.checked else replace(variant, problem=before.problem)
    names = [variant.pair or variant.folders for variant in (*variants, old.shown)]
    shown = names.index(names[-1]) % len(variants)
    return replace(new, variants=tuple(variants), index=shown, auto=old.auto).settled()
