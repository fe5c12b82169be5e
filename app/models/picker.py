"""The picker's state: which pairs there are, which one is looked at, and what is being done with each. It has no widgets."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chat.conductor import Conductor
from app.language import tr, translated
from app.models.background import Background
from app.models.candidate import Candidate, Choice, Filter, State, passes
from app.models.downloads import Downloads, Transfer, left_in_queue
from app.models.storage import Storage
from app.models.survey import Judge, Survey, ask_hub, check_folders, folders_key, of_folders, of_repos, survey
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import Stats
from mlx_engine.pairs import machine
from mlx_engine.pairs.catalog import load_catalog
from mlx_engine.pairs.custom_pairs import CustomPair, add_custom_pair, remove_custom_pair
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.pairs.fit import CONTEXT
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.library import local_models
from mlx_engine.pairs.matching import NoDrafter, NotForDFlash, find_drafter, find_local_drafter
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.speeds import MeasuredSpeeds, speed_key
from mlx_engine.requests import LoadPair

ASK_AFTER_MS = 350  # that a pair was looked at before the hub is asked about it


class Picker(QObject):
    """Commands act on the pair that is selected, in the quantisation that is shown."""

    listed = Signal()  # other rows, or another order
    changed = Signal()  # what is shown of them
    told = Signal(str)  # a sentence for the window
    fetched = Signal(str)  # the name of a pair that is complete

    def __init__(self, conductor: Conductor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._background = Background(self)
        self.downloads = Downloads(self)
        self.downloads.changed.connect(self.changed)
        self.downloads.ready.connect(self._ready)
        self.downloads.left.connect(self.refresh)
        self.storage = Storage(self._background, self.downloads, self)
        self.storage.told.connect(self.told)
        self.storage.changed.connect(self.changed)
        self.storage.rearranged.connect(self.refresh)
        self.storage.moved.connect(conductor.loader.moved)
        self._all: tuple[Candidate, ...] = ()
        self.measured_machine = True
        self._measured_now = False  # in this run, for whichever pair
        self.complaints: tuple[str, ...] = ()
        self.loading = False
        self._looking, self._look_again = False, False
        self.asking: set[Pair] = set()
        self.words = ""
        self.filter: Filter = "all"
        self.selected = ""
        self._wanted_after = ""  # a pair that is to be selected once it is listed
        self._speeds: MeasuredSpeeds | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(ASK_AFTER_MS)
        self._soon.timeout.connect(self._ask)
        conductor.roofline_job.changed.connect(self._note_machine)
        conductor.loader.loaded.connect(self.changed)
        conductor.loader.changed.connect(self.changed)
        conductor.busy_changed.connect(self.changed)  # while a reply is written nothing else is loaded
        conductor.reply_job.finished.connect(self._note_speed)

    def start(self) -> None:
        """Go on with downloads that an earlier run left."""
        self._background.run(left_in_queue, self.downloads.resume_queue, self.told.emit)
        self.storage.start()

    def close(self) -> None:
        """Let downloads end where they are; what came is kept. What was deleted goes for good."""
        self.storage.close()
        self._background.close()
        self.downloads.close()

    # What is shown

    @Slot()
    def refresh(self) -> None:
        """Look through catalogue and disk anew. One look at a time: of two at once the earlier may end last, and what it saw would
        stand."""
        self.loading = not self._all
        if self._looking:
            self._look_again = True
        else:
            self._looking = True
            self._background.run(survey, self._surveyed, self._failed)
        self.storage.look()
        self.changed.emit()

    def _outdated(self) -> bool:
        """A look has ended; whether another was asked for meanwhile, which then begins."""
        self.loading = self._looking = False
        again, self._look_again = self._look_again, False
        if again:
            self.refresh()
        return again

    def _failed(self, sentence: str) -> None:
        self._outdated()
        self.told.emit(sentence)
        self.changed.emit()

    def _surveyed(self, found: Survey) -> None:
        if self._outdated():
            return
        # what was measured in this run counts also where it could not be stored; else it would be measured again and again
        self.measured_machine = found.facts is not None or self._measured_now
        self.complaints = found.complaints
        known = {(one.id, choice.pair): choice for one in self._all for choice in one.choices if choice.asked or choice.trouble}
        chosen = {one.id: one.shown.pair for one in self._all}
        fresh = []
        for one in found.candidates:
            choices = tuple(self._keep_answer(choice, known.get((one.id, choice.pair))) for choice in one.choices)
            place = next((at for at, choice in enumerate(choices) if choice.pair == chosen.get(one.id, choices[0].pair)), 0)
            fresh.append(replace(one, choices=choices, choice=place))
        self._all = tuple(fresh)
        if any(one.id == self._wanted_after for one in self._all):  # not in a list that was begun before it was added
            self.selected, self._wanted_after = self._wanted_after, ""
        if not any(one.id == self.selected for one in self._all):
            loaded = next((one.id for one in self._all if self.state(one) in ("loaded", "loading")), "")
            self.selected = loaded or (self._all[0].id if self._all else "")
        self.listed.emit()
        self.changed.emit()
        self._soon.start()
        idle = not self._conductor.busy and self._conductor.loader.progress is None
        if not self.measured_machine and idle and self._conductor.loader.pair is not None:
            self._conductor.roofline_job.start()

    @Slot()
    def _note_machine(self) -> None:
        """This machine has been measured: speeds can be foretold now."""
        if self._conductor.roofline_job.found is not None:
            self._measured_now = True
        if self._measured_now and not self.measured_machine and self._all:
            self.measured_machine = True
            self.refresh()

    @staticmethod
    def _keep_answer(choice: Choice, before: Choice | None) -> Choice:
        """What the hub said of a pair that is still not here stands, be it an answer or a refusal."""
        if before is None or before.folders != choice.folders:
            return choice
        return before if before.asked else replace(choice, trouble=before.trouble)

    @property
    def rows(self) -> list[Candidate]:
        """The pairs that filter and search let through."""
        return [one for one in self._all if passes(one, self.filter, self.words)]

    @property
    def current(self) -> Candidate | None:
        """The pair that is looked at."""
        return next((one for one in self._all if one.id == self.selected), None)

    def search(self, words: str) -> None:
        self.words = words
        self._narrow()

    def set_filter(self, which: Filter) -> None:
        self.filter = which
        self._narrow()

    def _narrow(self) -> None:
        rows = self.rows
        if rows and not any(one.id == self.selected for one in rows):
            self.select(rows[0].id)
        self.listed.emit()
        self.changed.emit()

    def select(self, id: str) -> None:
        """Look at a pair; after a moment the hub is asked about one that is not here."""
        if id != self.selected:
            self.selected = id
            self.changed.emit()
        self._soon.start()

    def choose(self, number: int) -> None:
        """Show another quantisation of the pair."""
        if (one := self.current) is not None and 0 <= number < len(one.choices):
            self._put(replace(one, choice=number))
            self._soon.start()

    def state(self, one: Candidate) -> State:
        """What is being done with it."""
        shown = one.shown
        if shown.folders:
            if _same(self._conductor.loader.loading_from, shown.folders):
                return "loading"
            return "loaded" if _same(self._conductor.loader.loaded_from, shown.folders) else "ready"
        transfer = self.transfer(one)
        if transfer is not None:
            return transfer.state  # type: ignore[return-value]
        return "unavailable" if one.why_not or shown.pair is None else "absent"

    def transfer(self, one: Candidate) -> Transfer | None:
        """How far its download is."""
        return self.downloads.transfers.get(one.shown.pair) if one.shown.pair else None

    @property
    def loaded(self) -> Candidate | None:
        """The pair that is loaded, if it is listed."""
        return next((one for one in self._all if self.state(one) == "loaded"), None)

    # The hub

    @Slot()
    def _ask(self) -> None:
        """Ask about the pair that is looked at, unless it is here, cannot run, or was asked about."""
        one = self.current
        if one is None or one.why_not or self.state(one) != "absent":
            return
        shown = one.shown
        if shown.pair is None or shown.asked or shown.pair in self.asking:
            return
        self.asking.add(shown.pair)

        def work() -> Choice:
            try:
                return ask_hub(shown)
            except UserError as error:
                return replace(shown, trouble=error.text)

        self._background.run(work, partial(self._answered, shown.pair), self.told.emit)
        self.changed.emit()

    @Slot()
    def ask_again(self) -> None:
        self._ask()

    def _answered(self, pair: Pair, told: Choice) -> None:
        self.asking.discard(pair)
        self._update(pair, lambda choice: told if choice.folders is None else choice)

    def _update(self, pair: Pair, how: Callable[[Choice], Choice]) -> None:
        for one in self._all:
            for number, choice in enumerate(one.choices):
                if choice.pair == pair:
                    self._put(one.with_choice(number, how(choice)))
                    return
        self.changed.emit()

    def _put(self, fresh: Candidate) -> None:
        self._all = tuple(fresh if one.id == fresh.id else one for one in self._all)
        self.changed.emit()

    # Commands

    @property
    def may_download(self) -> bool:
        """A pair whose repos nobody vouches for is asked about first; one that does not fit the disk is not begun."""
        one = self.current
        if one is None or one.shown.pair is None or one.why_not:
            return False
        return not one.shown.trouble and (one.confirmed or one.shown.asked)

    @Slot()
    def download(self) -> None:
        """Fetch the pair, or go on with it."""
        one = self.current
        if one is None or one.shown.pair is None or not (self.state(one) in ("paused", "failed") or self.may_download):
            return
        aside = next((each for each in self.storage.deleted if set(each.repos) <= set(one.shown.pair.repos)), None)
        if self._free_to_act() and aside is not None:
            self.storage.bring_back(aside)  # quicker than fetching it again
        elif self._free_to_act():
            self.downloads.add(one.shown.pair)

    @Slot()
    def pause(self) -> None:
        if (one := self.current) is not None and one.shown.pair is not None and self._free_to_act():
            self.downloads.pause(one.shown.pair)

    @Slot()
    def cancel(self) -> None:
        """Stop loading or fetching; what came of a download is removed."""
        one = self.current
        if one is None:
            return
        if self.state(one) == "loading":
            self._conductor.loader.cancel()
        elif one.shown.pair is not None and self.transfer(one) is not None and self._free_to_act():
            self.downloads.cancel(one.shown.pair)
            self._update(one.shown.pair, lambda choice: replace(choice, asked=False))
            self._soon.start()

    @Slot()
    def use(self) -> None:
        """Load the pair in place of the present one."""
        one = self.current
        if one is not None and one.shown.folders is not None and self.state(one) == "ready":
            if self._conductor.busy:
                self.told.emit(tr("A reply is still being written. Stop it, or wait for its end, before you switch models."))
                return
            if not self._free_to_act():
                return
            folders = one.shown.folders
            self._conductor.use(LoadPair() if folders == demo_pair() else LoadPair(*folders))

    @property
    def deletable(self) -> tuple[str, ...]:
        """The repos that deleting the pair would remove: not those that another pair on this disk needs."""
        one = self.current
        if one is None or not one.shown.removable or one.shown.pair is None or self.state(one) != "ready":
            return ()
        others = {
            repo for each in self._all for choice in each.choices if choice.folders and choice.pair for repo in choice.pair.repos
            if choice.pair != one.shown.pair
        }  # fmt: skip
        return tuple(repo for repo in one.shown.pair.repos if repo not in others)

    @Slot()
    def delete(self) -> None:
        """Remove the pair from this disk. It can be brought back until the app is quit."""
        one, repos = self.current, self.deletable
        if one is not None and one.shown.pair is not None and repos and self._free_to_act():
            self.storage.delete(one.name, repos, one.shown.pair)

    @Slot()
    def forget(self) -> None:
        """Take a pair of the user's own out of the list; its files stay."""
        if (one := self.current) is not None and (pair := one.own) is not None:
            self._background.run(lambda: remove_custom_pair(pair), lambda _: self.refresh(), self.told.emit)

    def move(self, folder: Path) -> None:
        """Move the model folder."""
        if self._conductor.loader.progress is not None:
            self.told.emit(tr("A pair is being loaded. Wait for its end before you move the models."))
        elif self._free_to_act():
            self.storage.move(folder)

    def log_in(self, token: str, then: Callable[[str], None], failed: Callable[[str], None]) -> None:
        """Keep a token of the hub; what it refused before is asked for once more."""

        def kept(account: str) -> None:
            then(account)
            self._ask()

        self.storage.log_in(token, kept, failed)

    def _free_to_act(self) -> bool:
        if words := self.storage.in_the_way:
            self.told.emit(words)
        return not words

    def check(self, target: str, drafter: str, then: Callable[[str], None]) -> None:
        """Whether a pair that the user names goes together: the sentence, empty when it does. Repos or folders."""

        def work() -> str:
            if is_folder(target):
                return check_folders(Path(target).expanduser(), Path(drafter).expanduser() if drafter else None)
            told = ask_hub(Choice("", Pair(target, drafter or None)))
            return translated(told.trouble) if told.trouble else ""

        self._background.run(work, then, then)

    def find_drafter(self, target: str, then: Callable[[str], None], failed: Callable[[str], None]) -> None:
        """Look for the drafter of a target that the user names: on this disk, and that of a repo on the hub too."""

        def work() -> str:
            try:
                if is_folder(target):
                    return str(find_local_drafter(local_models(), Path(target).expanduser()))
                return find_drafter(Hub(), load_catalog(), local_models(), target).repos[-1]
            except NoDrafter as error:
                text = tr("{reason} Name one, or take the target alone: it decodes plainly.", reason=translated(error.text))
                raise UserError.of(EngineText("window", text)) from None
            except NotForDFlash as error:
                text = tr("{reason} Take the target alone: it decodes plainly.", reason=translated(error.text))
                raise UserError.of(EngineText("window", text)) from None

        self._background.run(work, then, failed)

    def add(self, target: str, drafter: str) -> None:
        """List a pair that the user named, and look at it."""

        def folders() -> Candidate:
            names = [str(Path(name).expanduser().absolute()) for name in (target, drafter) if name]
            pair = CustomPair(*names)
            found = of_folders(pair, Judge(machine.load_facts(), CONTEXT, MeasuredSpeeds()))
            add_custom_pair(pair)
            return found

        def repos() -> Candidate:
            pair = CustomPair(target, drafter or None)
            found = of_repos(pair, ask_hub(Choice("", pair.pair)))
            add_custom_pair(pair)
            return found

        def then(one: Candidate) -> None:
            self._all = (one, *(each for each in self._all if each.id != one.id))
            self._wanted_after, self.words, self.filter = one.id, "", "all"
            self.refresh()

        self._background.run(folders if is_folder(target) else repos, then, self.told.emit)

    # What happens meanwhile

    @Slot(object, list)
    def _ready(self, pair: Pair, notes: list[EngineText]) -> None:
        name = next((one.name for one in self._all for choice in one.choices if choice.pair == pair), pair.name)
        for note in notes:
            self.told.emit(translated(note))
        self.fetched.emit(name)
        self.refresh()

    @Slot(object)
    def _note_speed(self, stats: Stats) -> None:
        """A reply has ended: its speed is this pair's, on this machine."""
        loaded = self._conductor.loader.loaded_from
        if loaded is None:
            return
        folders = (loaded.target, loaded.drafter) if loaded.target else demo_pair()
        known = next((one.shown.pair for one in self._all if one.shown.folders == folders), None)
        name = speed_key(known.target, known.drafter) if known else folders_key(folders)

        def work() -> None:
            self._speeds = self._speeds or MeasuredSpeeds()
            if self._speeds.record(name, stats):
                self._speeds.save()

        self._background.run(work, lambda _: None, self.told.emit)


def is_folder(name: str) -> bool:
    """Whether what the user wrote names a folder rather than a repo."""
    return name.startswith(("/", "~", "."))


def _same(asked: LoadPair | None, folders: tuple[Path, Path | None]) -> bool:
    if asked is None:
        return False
    return folders == (demo_pair() if asked.target is None else (asked.target, asked.drafter))
