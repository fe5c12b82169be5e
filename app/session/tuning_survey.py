"""What the Tune Drafter window knows before a run."""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from app.session.pair_session import PairLoader
from app.storage.wording import size
from app.text.language import number, tr
from mlx_engine.cli.prompt_files import Prompts
from mlx_engine.cli.tune import chosen_prompts, general_prompts, saved_prompts
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import FEWEST_PROMPTS
from mlx_engine.drafters.registry import parse
from mlx_engine.hardware import machine
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.tuning_files import LoraRecord, UnfinishedRun, lora_path, read_record, run_folder, unfinished_run
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.models.tuning_needs import TuningNeeds, predict_needs

_FEWEST_CHATS = 2


@dataclass(frozen=True)
class TuningPair:
    """A pair on this disk whose drafter can be tuned, with the name shown."""

    name: str
    target: Path
    drafter: Path


@dataclass(frozen=True)
class TuningSurvey:
    """What is known about tuning a pair.

    Attributes:
        why_not: why the drafter can't be tuned, or an empty string.
        prompts: those in the saved chats that a run would use, or the paused run uses, oldest first.
        chats: number of chats that they come from.
        general: number of built-in prompts.
        needs: memory and disk space of a run.
        free_memory: bytes available now, or None if unknown.
        free_disk: bytes.
        tuned: whether the result of an earlier run is stored.
        record: what that run gained, unless its file is damaged.
        paused_at: progress of a paused run from 0 to 1, or None if there is none.
    """

    why_not: str = ""
    prompts: Prompts = field(default_factory=list)
    chats: int = 0
    general: int = 0
    needs: TuningNeeds | None = None
    free_memory: int | None = None
    free_disk: int = 0
    tuned: bool = False
    record: LoraRecord | None = None
    paused_at: float | None = None

    @property
    def short_of_memory(self) -> str:
        """Why memory doesn't suffice, or an empty string."""
        needed, free = self.needs.memory if self.needs else None, self.free_memory
        if needed is None or free is None or needed <= free:
            return ""
        return tr(
            "Tuning needs about {needed} of memory, but only {free} is free. Quit other apps, then try again.",
            needed=size(needed),
            free=size(free),
        )


def loaded_pair(loader: PairLoader) -> TuningPair | None:
    """Return the loaded pair, or None if its drafter can't be tuned."""
    pair, info, here = loader.pair, loader.info, loader.loaded_from
    if pair is None or info is None or pair.remote or here is None or here.target is None or info.drafter_folder is None:
        return None
    if here.workers:
        return None
    return None if _has_demo_drafter(loader) else TuningPair(pair.name, here.target, info.drafter_folder)


def why_not_tunable(loader: PairLoader) -> str:
    """Return why no loaded pair can be tuned, or an empty string."""
    if loaded_pair(loader) is not None:
        return ""
    if loader.pair is None:
        return tr("Load a pair to tune its drafter.")
    if loader.pair.remote:
        return tr("A server is in use, and its drafter can't be tuned from here. To tune one, load a model on this computer.")
    if loader.macs > 1:
        return tr("This pair runs on several Macs. To tune its drafter, turn off the other Macs in Models, and load it again.")
    if _has_demo_drafter(loader):
        return tr(
            "The demo pair is part of Slipstream, so its drafter can't be changed. Load another pair, or copy the demo pair's "
            "folder and add the copy in Models."
        )
    return tr("This pair has no drafter to tune. Choose a pair with a DFlash drafter.")


def _has_demo_drafter(loader: PairLoader) -> bool:
    return loader.has_demo or (loader.info is not None and loader.info.drafter_folder == demo_pair()[1])


def survey(pair: TuningPair, chats: Path | None) -> TuningSurvey:
    """Read what is known about tuning a pair, which takes a moment.

    Args:
        pair: the pair.
        chats: the database of the saved chats, or None if chats aren't saved.

    Raises:
        UserError: the pair's files can't be read.
    """
    target, drafter = pair.target, pair.drafter
    config = parse(read_config(drafter))
    if not config.tunable:
        return TuningSurvey(tr("Only DFlash and DFlash 2 drafters can be tuned. This one is of the kind {kind}.", kind=config.kind))
    if not os.access(drafter, os.W_OK):
        return TuningSurvey(tr("The drafter's folder can't be changed. Copy the pair to another folder, then add it in Models."))
    folder, run = run_folder(target, drafter), unfinished_run(target, drafter)
    prompts, why_not = _prompts(chats, run)
    firsts = {next(message.content for message in prompt if message.role == "user") for prompt in prompts}  # one per chat
    count, general = len(firsts), len(general_prompts(demo=False))
    if not why_not and len(prompts) < FEWEST_PROMPTS:
        why_not = tr(
            "Tuning needs at least {fewest} different messages in saved chats, but there are only {count}. Chat some more first.",
            fewest=number(FEWEST_PROMPTS),
            count=number(len(prompts)),
        )
    elif not why_not and count < _FEWEST_CHATS:
        why_not = tr("All saved messages are from one chat. Start another chat, then try again.")
    return TuningSurvey(
        why_not,
        prompts,
        count,
        general,
        predict_needs(target, drafter, prompts, general, machine.load_facts()),
        machine.free_memory(),
        shutil.disk_usage(next(one for one in folder.parents if one.is_dir())).free,
        *_stored(lora_path(drafter, target)),
        run.fraction if run else None,
    )


def _prompts(chats: Path | None, run: UnfinishedRun | None) -> tuple[Prompts, str]:
    """Return the prompts that a run would use, and why there are none."""
    if chats is None or not chats.exists():
        return [], tr("Chats aren't saved, so tuning has no messages to use.") if chats is None else ""
    try:
        return chosen_prompts(run, saved_prompts(chats)), ""
    except UserError:
        return [], tr("Can't read the saved chats. Restart Slipstream, then try again.")


def _stored(file: Path) -> tuple[bool, LoraRecord | None]:
    """Return whether LoRA weights exist, and their record."""
    with suppress(UserError):
        return file.exists(), read_record(file) if file.exists() else None
    return True, None
