"""What is on this disk already: the hub's cache, LM Studio's folder, folders that the user added. Reads configs and sizes only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.checkpoint import read_config, weight_files
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json, write_json

_LM_STUDIO = ("~/.lmstudio/models", "~/.cache/lm-studio/models")
_MOST_FOLDERS = 5000  # looked into per place, so that a whole disk given by mistake ends


@dataclass(frozen=True)
class OnDisk:
    """A checkpoint folder. `place` says where it was found; `complaint` why it cannot be used as it is, empty when it can."""

    folder: Path
    repo: str  # OWNER/NAME, or the folder's own name where that is not known
    place: str  # "hub cache", "LM Studio" or "folder"
    is_drafter: bool
    config: dict
    bytes: int  # of the weights
    complaint: str


def library(cache: Cache | None = None) -> list[OnDisk]:
    """Every checkpoint on this disk, drafters after targets, by name."""
    found: dict[Path, OnDisk] = {}
    for folder, repo, place in _candidates(cache or Cache()):
        if (here := _look(folder, repo, place)) is not None:
            found.setdefault(folder.resolve(), here)
    return sorted(found.values(), key=lambda one: (one.is_drafter, one.repo.lower(), str(one.folder)))


def own_folders() -> list[Path]:
    """The folders that the user added."""
    kept = read_json(_own_file())
    return [Path(name) for name in kept if isinstance(name, str)] if isinstance(kept, list) else []


def add_folder(folder: Path) -> None:
    """Look into a folder from now on.

    Raises:
        UserError: it is none.
    """
    folder = folder.expanduser().absolute()
    if not folder.is_dir():
        raise UserError(f"There is no folder {folder}. Give one that holds models.")
    write_json(_own_file(), [str(one) for one in dict.fromkeys([*own_folders(), folder])])


def forget_folder(folder: Path) -> None:
    """Look into a folder no more; its files stay.

    Raises:
        UserError: it was not among them.
    """
    folder, kept = folder.expanduser().absolute(), own_folders()
    if folder not in kept:
        raise UserError(f"{folder} is not among your folders: {', '.join(map(str, kept)) or 'there are none'}.")
    write_json(_own_file(), [str(one) for one in kept if one != folder])


def _own_file() -> Path:
    return data_folder() / "model-folders.json"


def _candidates(cache: Cache) -> Iterator[tuple[Path, str, str]]:
    """Folders that may hold a checkpoint, with the repo's name and the place."""
    for repo_folder in _folders(cache.root):
        repo = _repo(repo_folder)
        if not repo:
            continue
        try:
            main = (repo_folder / "refs" / "main").read_text(encoding="ascii")[:40]
        except (OSError, ValueError):
            main = ""
        snapshots = _folders(repo_folder / "snapshots")
        for snapshot in [one for one in snapshots if one.name == main] or snapshots:
            yield snapshot, repo, "hub cache"
    for place in _LM_STUDIO:
        for owner in _folders(Path(place).expanduser()):
            for folder in _folders(owner):
                yield folder, f"{owner.name}/{folder.name}", "LM Studio"
    for top in own_folders():
        yield top, top.name, "folder"
        for folder in _folders(top):
            yield folder, folder.name, "folder"
            for inner in _folders(folder):
                # a pair as it comes: PAIR/target and PAIR/drafter; or OWNER/NAME
                yield inner, f"{folder.name}/{inner.name}", "folder"


def repo_of(snapshot: Path) -> str:
    """OWNER/NAME of a snapshot's folder in a hub cache; empty for any other folder."""
    snapshot = snapshot.absolute()
    return _repo(snapshot.parent.parent) if snapshot.parent.name == "snapshots" else ""


def _repo(folder: Path) -> str:
    parts = folder.name.split("--")
    return "/".join(parts[1:]) if parts[0] == "models" and len(parts) == 3 else ""


def _folders(place: Path) -> list[Path]:
    try:
        return sorted(one for one in place.iterdir() if one.is_dir() and not one.name.startswith("."))[:_MOST_FOLDERS]
    except OSError:
        return []


def _look(folder: Path, repo: str, place: str) -> OnDisk | None:
    """What a folder holds; None when it is no checkpoint of a language model at all."""
    if not (folder / "config.json").is_file():
        return None
    try:
        config = read_config(folder, "model")
    except UserError as error:
        return OnDisk(folder, repo, place, False, {}, 0, str(error))
    is_drafter = looks_like_drafter(config)
    complaint, size = "", 0
    try:
        size = sum(file.stat().st_size for file in weight_files(folder, "drafter" if is_drafter else "target"))
    except UserError as error:
        complaint = str(error)
    except OSError as error:
        complaint = f"{folder} cannot be read ({error.strerror})."
    if not is_drafter and not isinstance(config.get("model_type"), str):
        return None
    return OnDisk(folder, repo, place, is_drafter, config, size, complaint)


def looks_like_drafter(config: dict) -> bool:
    """Whether a config.json is a drafter's, of a kind that is supported or not."""
    architectures = config.get("architectures")
    names = " ".join(map(str, architectures)) if isinstance(architectures, list) else ""
    return "dflash_config" in config or "speculators_model_type" in config or "DFlash" in names or "AssistantModel" in names


def base_name(repo: str) -> str:
    """A target's name without its owner and what says how it is stored: mlx-community/Qwen3-8B-MLX-8bit -> Qwen3-8B."""
    name = repo.split("/")[-1]
    return re.sub(r"(?i)(-(mlx|bf16|fp16|\d+bit|mxfp\d|nvfp4|q\d|dwq\w*|optiq|fp8|instruct|it))+$", "", name)
