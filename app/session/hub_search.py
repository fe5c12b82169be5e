"""Search of the hub for models that aren't listed."""

import re
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.background_work import Background
from app.session.model_list import Candidate, Variant
from app.session.other_macs import OtherMacs
from app.session.pair_rows import PairRows
from app.session.pair_survey import check_hub
from app.text.language import sentences, tr
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.models.downloads.hub import FoundRepo, Hub, NoAnswer
from mlx_engine.models.downloads.matching import NotForDFlash, likely_drafters
from mlx_engine.models.library.catalog import load_catalog
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import CustomPair, Pair, add_custom_pair

PAUSE_MS = 400  # after the last keystroke
MOST = 20  # results; each takes up to five requests more
_TEMPORARY = ("no_space", "window")  # codes of problems that the user can solve, or that may not matter
_PERMANENT = (  # codes of errors about the repo itself; others may not recur
    "repo_without_weights",
    "repo_without_tokenizer",
    "repo_disabled",
    "target_is_drafter",
    "file_not_in_repo",
    "file_not_object",
    "file_too_large",
    "files_collide",
    "too_many_files",
    "unsafe_file_name",
)
_ADDRESS = re.compile(r"https?://[^/\s]+/(?:models/)?|(?:www\.)?(?:huggingface\.co|hf\.co)/")
_REPO = re.compile(r"([^/\s]+/[^/\s?#]+)(?:[/?#]\S*)?")


class HubSearch(QObject):
    """A search that follows the Models window while its hub filter is on.

    Names arrive first, then what each model needs. For the selected one, drafters follow. A new search replaces an earlier one.
    """

    changed = Signal()

    def __init__(self, rows: PairRows, macs: OtherMacs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows, self._macs = rows, macs
        self._background = Background(self)
        self.words = ""
        self.searching = False
        self.problem = ""  # why nothing was found, or why checks have ended
        self._number = 0  # of the current search
        self._failed = 0  # number of the search whose checks have ended
        self._checked: dict[str, Candidate] = {}  # by ID, also of earlier searches; replaced for another hub or token
        self._timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._timer.timeout.connect(self._start)
        rows.changed.connect(self._follow)
        rows.picked.connect(self._find_drafters)

    def close(self) -> None:
        self._end()
        self._background.close()

    @Slot()
    def again(self) -> None:
        """Repeat the search after a problem."""
        self._begin(self.words)

    @Slot()
    def forget(self) -> None:
        """Repeat all checks after a change of the hub's address or token."""
        self._checked = {}
        if self.words:
            self.again()

    @Slot()
    def _follow(self) -> None:
        words = search_words(self._rows.search) if self._rows.filter == "hub" else ""
        if words != self.words:
            self._begin(words)

    def _begin(self, words: str) -> None:
        self._end()
        self.words, self.searching = words, bool(words)
        if words:
            self._timer.start()
        self._rows.show_found(())
        self.changed.emit()

    def _end(self) -> None:
        """Forget the current search. Its remaining work is skipped."""
        self._number += 1
        self._timer.stop()
        self.words, self.problem, self.searching = "", "", False

    @Slot()
    def _start(self) -> None:
        number, words = self._number, self.words

        def work() -> list[FoundRepo]:
            return Hub().search(words, MOST) if number == self._number else []

        self._background.run(work, partial(self._show, number), partial(self._fail, number))

    def _show(self, number: int, repos: list[FoundRepo]) -> None:
        if number != self._number:
            return
        self.searching = False
        repos = sorted(repos, key=lambda repo: repo.name.lower() != self.words.lower())
        found = [Candidate.of_repo(repo.name, repo.downloads) for repo in repos]
        self._rows.show_found([self._checked.get(one.id, one) for one in found])
        if found and repos[0].name.lower() == self.words.lower():
            self._rows.show_in_catalog(found[0])
        for one in found:
            if one.id not in self._checked and self._rows.in_catalog(one) is None:
                check = partial(self._check, number, one)
                self._background.run(check, partial(self._put_check, self._checked), partial(self._fail, number))
        self.changed.emit()

    def _check(self, number: int, one: Candidate) -> Candidate | None:
        """Return a row with what the model needs, or why it can't run."""
        if number != self._number or number == self._failed:
            return None
        try:
            variant = check_hub(one.shown, self._macs.count)
        except NoAnswer:
            self._failed = number  # the remaining checks would fail, too
            raise
        except UserError as error:
            if error.text.code in _PERMANENT:
                return replace(one, why_not=error.text)
            return one.with_variant(0, replace(one.shown, problem=error.text))
        if variant.problem is None or variant.problem.code in _TEMPORARY:
            return one.with_variant(0, variant)
        return replace(one, why_not=variant.problem)

    def _put_check(self, known: dict[str, Candidate], one: Candidate | None) -> None:
        """Show a check, unless that of another search came first, and may have drafters."""
        if one is not None and one.id not in known:
            self._put(known, one)

    def _put(self, known: dict[str, Candidate], one: Candidate) -> None:
        """Show a row if the current search has it, and keep it unless it has a problem."""
        if known is not self._checked:
            return  # an answer for an earlier hub or token
        first = one.variants[0]
        if one.why_not or (first.checked and not first.problem):
            known[one.id] = one
        self._rows.replace_found(one)

    def _fail(self, number: int, problem: str) -> None:
        if number == self._number:
            self.searching, self.problem = False, problem
            self._rows.show_found([self._unchecked(one) for one in self._rows.found])
            self.changed.emit()

    def _unchecked(self, one: Candidate) -> Candidate:
        """Return a row that says why it wasn't checked, if it wasn't."""
        if one.why_not or one.shown.checked or one.shown.problem:
            return one
        return one.with_variant(0, replace(one.shown, problem=EngineText("window", self.problem)))

    # Drafters of the selected row

    @Slot()
    def _find_drafters(self) -> None:
        one = self._rows.current
        if one is None or not one.from_hub or one.why_not or not one.shown.checked:
            return
        if one.note or len(one.variants) > 1:
            return  # they were asked for
        target, family, known = one.id.removeprefix("hub:"), one.shown.family, self._checked

        def work() -> tuple[tuple[str, ...], str]:
            try:
                found = likely_drafters(Hub(), load_catalog(), local_models(), target)
            except NotForDFlash:
                return (), tr("DFlash doesn't support the “{family}” family yet, so this model uses plain decoding.", family=family)
            none = tr("No drafter was found in the catalog, on this computer, or on the hub, so this model uses plain decoding.")
            return found, "" if found else none

        def then(answer: tuple[tuple[str, ...], str]) -> None:
            drafters, note = answer
            variants = (one.variants[0], *(Variant(pair=Pair(target, drafter)) for drafter in drafters))
            self._put(known, replace(one, variants=variants, index=len(variants) > 1, note=note))

        def fail(problem: str) -> None:
            self._put(known, replace(one, note=sentences(tr("Drafters couldn't be looked up."), problem)))
            known.pop(one.id, None)  # so that the next search asks again

        self._put(known, replace(one, note=tr("Looking for drafters…")))
        self._background.run(work, then, fail)


def search_words(text: str) -> str:
    """Return the words of a search, or the repo in a pasted address."""
    text = " ".join(text.split())
    rest = _ADDRESS.sub("", text, count=1)
    repo = _REPO.fullmatch(rest)
    return repo[1] if repo and rest != text else text


def list_found(one: Candidate) -> Candidate:
    """Save a model of the hub as a custom pair, and return its row."""
    assert one.shown.pair is not None
    pair = CustomPair(one.shown.pair.target, one.shown.pair.drafter)
    add_custom_pair(pair)
    return Candidate.of_custom(pair, one.shown)
