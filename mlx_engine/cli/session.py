"""A command's use of the engine: loading a pair, and requests that Ctrl-C cancels."""

import argparse
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from mlx_engine.cli.console import note, progress, shows_progress
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, LoadProgress, PairInfo, WorkProgress
from mlx_engine.contract.requests import Calibrate, LoadPair, Request, SavePrompts, TuneDrafter
from mlx_engine.drafters.registry import parse
from mlx_engine.engine.bridge import to_iter
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.library.installed import auto_drafters, installed_drafters
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.prefix.part_store import default_folder

_NEED_DRAFTER = ("bench", "calibrate", "compare", "tune")


def folders(args: argparse.Namespace) -> tuple[Path, Path | None]:
    """Return the folders of target and drafter, by default the demo pair's.

    Raises:
        UserError: the drafter is “auto”, and there is none.
    """
    if is_auto(args):
        if not (drafters := auto_drafters(args.target)):
            template = "No drafter for “{target}” was found on this disk. Download one with “slipstream models pull”."
            raise UserError("no_drafter_for_auto", template, target=str(args.target))
        return args.target, drafters[0]
    return (args.target, args.drafter) if args.target else demo_pair()


def is_auto(args: argparse.Namespace) -> bool:
    """Return whether the drafter is chosen by its speed."""
    return bool(args.target) and args.drafter == Path("auto")


def chosen_drafters(args: argparse.Namespace) -> tuple[Path, ...]:
    """Return the drafters that the option `--drafters` names.

    Raises:
        UserError: a name fits none of the installed drafters, or there are none.
    """
    if not (installed := installed_drafters(*folders(args))):
        raise UserError("no_drafter_installed", "No drafter for this target is on this disk. Download one first.")
    if args.drafters == "all":
        return installed
    found: list[Path] = []
    for name in args.drafters.split(","):
        fitting = [drafter for drafter in installed if _plain(name) in _names(drafter)]
        if not fitting:
            template = "No installed drafter is called “{name}”. Choose from: {drafters}."
            listed = ", ".join(map(model_name, installed))
            raise UserError("drafter_not_installed", template, name=name.strip()[:80], drafters=listed)
        found += fitting
    return tuple(dict.fromkeys(found))


def _names(drafter: Path) -> set[str]:
    repo = model_name(drafter)
    return {_plain(name) for name in (str(drafter), repo, repo.split("/")[-1], parse(read_config(drafter)).kind)}


def _plain(name: str) -> str:
    return re.sub(r"[\s-]", "", name.lower())


def cancellable(client: EngineClient, request: Request) -> Iterator[Event]:
    """Yield a request's events.

    The first Ctrl-C cancels the request, and the second one interrupts the command.
    """
    runs: list[Run] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if not runs or runs[0].cancelled.is_set():
            raise KeyboardInterrupt
        runs[0].cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield from to_iter(client, request, runs.append)
    finally:
        signal.signal(signal.SIGINT, before)


def measure(client: EngineClient, request: Request) -> Event | None:
    """Return the last event of a measurement, or None if Ctrl-C stopped it.

    Without a terminal, the progress of tuning, which can take hours, is printed for each phase and each tenth.
    """
    found, printed = None, ("", 0)
    try:
        for event in cancellable(client, request):
            if isinstance(event, WorkProgress):
                progress(line := f"{event.step}… {event.fraction:.0%}")
                part = event.step.code, int(10 * event.fraction)
                if isinstance(request, TuneDrafter) and not shows_progress() and part != printed:
                    note(line)
                    printed = part
            else:
                found = event
    finally:
        progress("")
    return found


def open_pair(client: EngineClient, args: argparse.Namespace, calibrated: bool = False) -> PairInfo:
    """Load the selected pair. If `calibrated`, calibrate it unless already done.

    Raises:
        UserError: the pair can't be loaded, or no drafter for a command that needs one.
    """
    info = None
    if not getattr(args, "no_cache", True):
        quota = args.cache_gb * 10**9 if args.cache_gb else None
        list(to_iter(client, SavePrompts(args.cache_folder or default_folder(), quota)))
    try:
        for event in to_iter(client, LoadPair(*folders(args), args.drafter_bits, is_auto(args), args.tuned)):
            if isinstance(event, PairInfo):
                info = event
            elif isinstance(event, LoadProgress):
                progress(f"{event.step}…")
    finally:
        progress("")
    assert info is not None, "loading ends with a PairInfo"
    if info.why_not_fastest and not info.drafter and args.command in _NEED_DRAFTER:
        raise UserError.of(info.why_not_fastest)
    for why in filter(None, (info.why_not_tuned, info.why_not_fastest)):
        note(str(why))
    if calibrated and not info.calibrated:
        measure(client, Calibrate())  # Ctrl-C skips it
    return info
