"""What there is to pick from: the catalogue, this disk, and what is known of each pair's fit and speed. Slow; done off the window's
thread."""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from app.language import tr, translated
from app.models.candidate import Candidate, Choice, of_entry, order
from app.models.recommendation import USABLE, fastest, needed_bytes, without_gpu
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import MachineFacts
from mlx_engine.pairs import machine
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import BUILT_IN, Catalog, CatalogEntry, TargetRepo, load_catalog
from mlx_engine.pairs.checkpoint import read_config, weight_bytes
from mlx_engine.pairs.compatibility import dflash_problem, pair_problem, target_problem, text_config
from mlx_engine.pairs.custom_pairs import CustomPair, custom_pairs
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.pairs.drafter_config import parse
from mlx_engine.pairs.fit import CONTEXT, Fit, FitLine, predict_fit
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.inspection import inspect_pair
from mlx_engine.pairs.library import LocalModel, local_models
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.speeds import MeasuredSpeeds, SpeedRange, measured_speeds, predict_speeds, speed_key
from mlx_engine.pairs.target_state import whole
from mlx_engine.requests import Mode

log = logging.getLogger(__name__)


def _found_in() -> dict[str, str]:
    return {
        "hub cache": tr("Found in the hub’s cache."),
        "LM Studio": tr("Found among LM Studio’s models."),
        "folder": tr("Found in the folder of models."),
    }


@dataclass(frozen=True)
class Survey:
    """All pairs, those that suit this machine first, and sentences about what could not be read."""

    candidates: tuple[Candidate, ...]
    complaints: tuple[str, ...]
    facts: MachineFacts | None


def survey(context: int = CONTEXT) -> Survey:
    """Look through catalogue and disk; asks no network."""
    known, here, facts = load_catalog(), local_models(), machine.load_facts()
    judge = Judge(facts, context, MeasuredSpeeds())
    found = [of_entry(entry, _choices(entry, here, judge)) for entry in known.entries]
    own = [_own(pair, here, judge) for pair in custom_pairs()]
    mine = {choice.folders for one in own for choice in one.choices}
    found += own + [one for one in _others(known, here, judge) if one.shown.folders not in mine]
    found = [_with_pace(one, facts) for one in found]
    return Survey(tuple(order(found)), tuple(map(translated, known.problems)), facts)


def _with_pace(one: Candidate, facts: MachineFacts | None) -> Candidate:
    """With a note of which choices are too slow here: by the speed that is foretold or, where a pair's files were not seen yet, by
    its size and name."""
    return replace(one, choices=tuple(replace(choice, slow=_too_slow(one.name, choice, facts)) for choice in one.choices))


def _too_slow(name: str, choice: Choice, facts: MachineFacts | None) -> bool:
    if choice.speeds:
        return max(speed.high for speed in choice.speeds.values()) < USABLE
    if not choice.size or choice.folders:
        return False
    return without_gpu(facts) if facts is None else fastest(name, choice.size, facts) < USABLE


class Judge:
    """Fit and speed on this machine, at one context."""

    def __init__(self, facts: MachineFacts | None, context: int, measured: MeasuredSpeeds) -> None:
        self._facts, self._context, self._measured = facts, context, measured
        self._free = machine.free_memory()

    def judged(self, choice: Choice, configs: tuple[dict, ...], sizes: tuple[int, int]) -> Choice:
        """With fit and speed from config.json files and weight sizes. No folder's oddity takes the others' place in the list."""
        try:
            return self._judged(choice, configs, sizes)
        except UserError as error:
            trouble = error.text
        except Exception:
            log.exception("A pair cannot be judged: %s", choice.folders or choice.pair)
            trouble = EngineText("window", tr("Its config.json is so unusual that Slipstream cannot judge it."))
        return replace(choice, trouble=trouble, size=sum(sizes), estimated=False)

    def _judged(self, choice: Choice, configs: tuple[dict, ...], sizes: tuple[int, int]) -> Choice:
        target, drafter = configs[0], configs[1] if len(configs) > 1 else None
        text = text_config(target)
        name = speed_key(choice.pair.target, choice.pair.drafter) if choice.pair else folders_key(choice.folders)
        speeds: dict[Mode, SpeedRange] = {}
        limit = whole(text, "max_position_embeddings")
        context = min(self._context, limit or self._context)
        fitting = predict_fit(target, drafter, *sizes, context, self._facts, free=self._free)
        if self._facts is not None:
            parsed = parse(drafter) if drafter else None
            generation = 2 if parsed and parsed.selector else 1
            speeds = predict_speeds(self._facts, target, parsed, sizes, context, generation)
        speeds |= measured_speeds(self._measured.rates(name))
        return replace(choice, fit=fitting, speeds=speeds, size=sum(sizes), estimated=False, context=limit or choice.context)

    def guessed(self, choice: Choice, size: int) -> Choice:
        """With what the size alone says, before the hub was asked."""
        how = EngineText.of("fit_estimated", "From the catalog, or from the number of weights in the name")
        lines = (FitLine("weights of both", size, how),)
        told = Fit(lines, self._context, machine.working_set(self._facts), machine.allocation_limit(self._facts), self._free)
        speeds = measured_speeds(self._measured.rates(speed_key(choice.pair.target, choice.pair.drafter))) if choice.pair else {}
        return replace(choice, size=size, fit=told if size else None, speeds=speeds)


def folders_key(folders: tuple[Path, Path | None] | None) -> str:
    """What the speeds of two folders are kept under."""
    return speed_key(str(folders[0]), str(folders[1]) if folders[1] else None) if folders else ""


def ask_hub(choice: Choice, context: int = CONTEXT) -> Choice:
    """What the hub says of a pair: whether it is there, its exact size, fit and speed, and whether the disk has room.

    Raises:
        UserError: it cannot be reached, does not know the pair, or does not give it to this account.
    """
    assert choice.pair is not None
    cache = Cache()
    found = inspect_pair(Hub(), cache, choice.pair)
    sizes = found.weight_sizes
    judge = Judge(machine.load_facts(), context, MeasuredSpeeds())
    license = found.listings[0].license or ""
    told = replace(choice, asked=True, missing=found.size - found.on_disk, license=license, trouble=None)
    told = judge.judged(told, found.configs, sizes)
    return replace(told, trouble=told.trouble or found.problem or found.space_problem(cache))


def check_folders(target: Path, drafter: Path | None) -> str:
    """Why two folders do not go together; empty when they do.

    Raises:
        UserError: one of them cannot be read.
    """
    config = read_config(target)
    problem = target_problem(config)
    if problem is None and drafter is not None:
        problem = dflash_problem(config) or pair_problem(config, read_config(drafter))
    return translated(problem) if problem else ""


def own_id(pair: CustomPair) -> str:
    """What a pair of the user's own is called in the list."""
    return f"{'folder' if pair.is_local else 'own'}:{speed_key(pair.target, pair.drafter)}"


def of_repos(pair: CustomPair, choice: Choice) -> Candidate:
    """A pair of two repos."""
    return Candidate(own_id(pair), pair.target.split("/")[-1], (choice,), note=tr("A pair of your own."), own=pair)


def of_folders(pair: CustomPair, judge: Judge) -> Candidate:
    """A pair of two folders.

    Raises:
        UserError: one of them cannot be read.
    """
    target, drafter = pair.folders
    configs = tuple(read_config(folder) for folder in (target, drafter) if folder)
    sizes = (weight_bytes(target), weight_bytes(drafter) if drafter else 0)
    choice = judge.judged(Choice("", None, (target, drafter)), configs, sizes)
    return replace(_unseen(pair), choices=(choice,), family=str(configs[0].get("model_type") or ""))


def _own(pair: CustomPair, here: list[LocalModel], judge: Judge) -> Candidate:
    """As far as it is known without the hub; one whose folders cannot be read is listed with the reason."""
    if pair.is_local:
        try:
            return of_folders(pair, judge)
        except UserError as error:
            return replace(_unseen(pair), why_not=error.text)
    halves = [_whole(here, repo) for repo in pair.pair.repos]
    if None in halves:
        return of_repos(pair, judge.guessed(Choice("", pair.pair), 0))
    target, *drafter = [one for one in halves if one is not None]
    return of_repos(pair, _from_disk("", pair.pair, target, drafter[0] if drafter else None, judge))


def _unseen(pair: CustomPair) -> Candidate:
    target, _ = pair.folders
    name = target.parent.name if target.name == "target" else target.name
    return Candidate(own_id(pair), name, (Choice("", None),), note=tr("A pair of your own."), own=pair)


def _choices(entry: CatalogEntry, here: list[LocalModel], judge: Judge) -> tuple[Choice, ...]:
    if BUILT_IN in entry.tags:
        folders = demo_pair()
        with suppress(UserError):
            configs = (read_config(folders[0]), read_config(folders[1]))
            sizes = (weight_bytes(folders[0]), weight_bytes(folders[1]))
            return (judge.judged(Choice("", None, folders), configs, sizes),)
        return (Choice("", None, folders),)
    made = [_choice(entry, target, here, judge) for target in entry.targets]
    made.sort(key=lambda one: one.folders is None)  # what is here first; else as listed
    context = int(entry.context.value) if entry.context else None
    return tuple(replace(one, context=one.context or context) for one in made) or (Choice("", None),)


def _choice(entry: CatalogEntry, target: TargetRepo, here: list[LocalModel], judge: Judge) -> Choice:
    label = tr("{bits} bits", bits=target.bits) if target.bits else target.repo.split("/")[-1]
    if entry.drafter is None:
        return Choice(label, None)
    pair = Pair(target.repo, str(entry.drafter.value))
    halves = [_whole(here, repo) for repo in pair.repos]
    size, _ = needed_bytes(entry, target)
    if halves[0] is None or halves[1] is None:
        return judge.guessed(Choice(label, pair), size)
    return _from_disk(label, pair, halves[0], halves[1], judge)


def _from_disk(label: str, pair: Pair | None, target: LocalModel, drafter: LocalModel | None, judge: Judge) -> Choice:
    halves = [target] if drafter is None else [target, drafter]
    removable = all(one.place == "hub cache" for one in halves)
    choice = Choice(label, pair, (target.folder, drafter.folder if drafter else None), removable=removable and pair is not None)
    return judge.judged(choice, tuple(one.config for one in halves), (target.bytes, drafter.bytes if drafter else 0))


def _whole(here: Iterable[LocalModel], repo: str) -> LocalModel | None:
    return next((one for one in here if one.repo.lower() == repo.lower() and not one.problem), None)


def _others(known: Catalog, here: list[LocalModel], judge: Judge) -> list[Candidate]:
    """Targets on this disk that no entry names, each with the first drafter here that goes with it, or alone."""
    listed = {target.repo.lower() for entry in known.entries for target in entry.targets}
    found = []
    for target in here:
        if target.is_drafter or target.problem or target.repo.lower() in listed or target_problem(target.config):
            continue
        drafter = next((one for one in here if one.is_drafter and not one.problem and _goes_with(target.config, one.config)), None)
        pair = None
        if target.place == "hub cache" and (drafter is None or drafter.place == "hub cache"):
            with suppress(UserError):
                pair = Pair(target.repo, drafter.repo if drafter else None)
        choice = _from_disk("", pair, target, drafter, judge)
        note = _found_in().get(target.place, "")
        if drafter is None:
            note = f"{note} {tr('No drafter for it is on this disk, so it decodes plainly.')}".strip()
        family = str(target.config.get("model_type") or "")
        name = target.repo.split("/")[-1]
        found.append(Candidate(f"disk:{target.folder}", name, (choice,), note=note, family=family))
    return found


def _goes_with(target: dict, drafter: dict) -> bool:
    try:
        return not (dflash_problem(target) or pair_problem(target, drafter))
    except UserError:
        return False
