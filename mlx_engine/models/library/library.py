"""Models on this disk: the hub's cache, LM Studio's folder, and added folders."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_read, data_folder, home_path, read_json, write_json
from mlx_engine.drafters.registry import looks_like_drafter
from mlx_engine.models.configs.target_config import fits
from mlx_engine.models.files.checkpoint import read_config, weight_files
from mlx_engine.models.files.hub_cache import HubCache, client_folder
from mlx_engine.models.files.lm_studio import lm_studio_folders
from mlx_engine.models.files.mtp_head import head_bytes
from mlx_engine.models.files.repo import is_head
from mlx_engine.models.library.pair import demo_pair

_MOST_FOLDERS = 5000  # per searched folder, in case the user adds a whole disk


@dataclass(frozen=True)
class LocalModel:
    """A checkpoint folder on this disk."""

    folder: Path
    repo: str  # OWNER/NAME, or the folder's name if unknown
    place: str  # "hub cache", "shared cache" if that is another one, "LM Studio", or "folder"
    is_drafter: bool
    config: dict
    bytes: int  # of the weights
    problem: EngineText | None  # why it can't be used
    head: int = 0  # of the bytes, those of a target's own MTP head


def local_models(cache: HubCache | None = None) -> list[LocalModel]:
    """Return all checkpoints on this disk, targets first, then by name."""
    found: dict[Path, LocalModel] = {}
    for folder, repo, place in _candidates(cache or HubCache()):
        if (model := _inspect(folder, repo, place)) is not None:
            found.setdefault(folder.resolve(), model)
    return sorted(found.values(), key=lambda model: (model.is_drafter, model.repo.lower(), str(model.folder)))


def fitting_drafters(target: dict, local: list[LocalModel]) -> list[LocalModel]:
    """Return the local drafters that fit a target with this config."""
    return [model for model in local if model.is_drafter and not model.problem and fits(target, model.config)]


def added_folders() -> list[Path]:
    saved = read_json(_file())
    return [Path(name) for name in saved if isinstance(name, str)] if isinstance(saved, list) else []


def add_folder(folder: Path) -> None:
    folder = home_path(folder).absolute()
    if not folder.is_dir():
        raise UserError("no_such_folder", "Can't find the folder “{path}”. Choose another folder.", path=str(folder))
    _save([*added_folders(), folder])


def remove_folder(folder: Path) -> None:
    """Stop searching a folder. Its files are kept."""
    folder, saved = home_path(folder).absolute(), added_folders()
    if folder not in saved:
        template = "“{path}” isn't one of the folders you added. Choose from: {folders}."
        raise UserError("folder_not_added", template, path=str(folder), folders=", ".join(map(str, saved)) or "none")
    _save([one for one in saved if one != folder])


def _save(folders: list[Path]) -> None:
    write_json(_file(), [str(folder) for folder in dict.fromkeys(folders)])


def _file() -> Path:
    return data_folder() / "model-folders.json"


def _candidates(cache: HubCache) -> Iterator[tuple[Path, str, str]]:
    """Yield folders that may hold a checkpoint, with repo name and where it was found."""
    yield from ((snapshot, repo, "hub cache") for snapshot, repo in _snapshots(cache))
    if (shared := client_folder()) != cache.root:  # the user has moved Slipstream's models
        yield from ((snapshot, repo, "shared cache") for snapshot, repo in _snapshots(HubCache(shared)))
    for place in lm_studio_folders():
        for owner in _subfolders(place):
            for folder in _subfolders(owner):
                yield folder, f"{owner.name}/{folder.name}", "LM Studio"
    for top in added_folders():
        yield top, top.name, "folder"
        for folder in _subfolders(top):
            yield folder, folder.name, "folder"
            for inner in _subfolders(folder):  # PAIR/target and PAIR/drafter, or OWNER/NAME
                yield inner, f"{folder.name}/{inner.name}", "folder"


def _snapshots(cache: HubCache) -> Iterator[tuple[Path, str]]:
    """Yield the folder and the repo of each downloaded model."""
    for repo_folder in _subfolders(cache.root):
        if repo := _repo(repo_folder):
            main, snapshots = cache.main_commit(repo), _subfolders(repo_folder / "snapshots")
            yield from ((one, repo) for one in [one for one in snapshots if one.name == main] or snapshots)


def repo_of(snapshot: Path) -> str:
    """Return OWNER/NAME for a snapshot folder in a hub cache, or "" for other folders."""
    snapshot = snapshot.absolute()
    return _repo(snapshot.parent.parent) if snapshot.parent.name == "snapshots" else ""


def _repo(folder: Path) -> str:
    parts = folder.name.split("--")
    return "/".join(parts[1:]) if parts[0] == "models" and len(parts) == 3 else ""


def _subfolders(place: Path) -> list[Path]:
    try:
        return sorted(one for one in place.iterdir() if one.is_dir() and not one.name.startswith("."))[:_MOST_FOLDERS]
    except OSError:
        return []


def _inspect(folder: Path, repo: str, place: str) -> LocalModel | None:
    """Describe a checkpoint folder. Return None if it isn't a language model's."""
    if not (folder / "config.json").is_file():
        return None
    try:
        config = read_config(folder)
    except UserError as error:
        return LocalModel(folder, repo, place, False, {}, 0, error.text)
    is_drafter = is_head(repo) or looks_like_drafter(config)
    if not is_drafter and not isinstance(config.get("model_type"), str):
        return None
    size, head, problem = 0, 0, None
    try:
        size = sum(file.stat().st_size for file in weight_files(folder))
        head = 0 if is_drafter else head_bytes(folder)
    except UserError as error:
        problem = error.text
    except OSError as error:
        problem = cannot_read(folder, error).text
    return LocalModel(folder, repo, place, is_drafter, config, size, problem, head)


def pair_name(target: Path) -> str:
    """Return the name of the pair with this target folder, such as `PAIR/target`."""
    if target == demo_pair()[0]:
        return "Demo pair"
    return target.parent.name if target.name == "target" else model_name(target).split("/")[-1]


def model_name(folder: Path) -> str:
    """Return the repo of a folder in the hub's cache, or else the folder's name."""
    return repo_of(folder) or folder.name


def base_name(repo: str) -> str:
    """Return a repo's name without owner and format, such as Qwen3-8B."""
    name = repo.split("/")[-1]
    return re.sub(r"(?i)(-(mlx|bf16|fp16|\d+bit|mxfp\d|nvfp4|q\d|dwq\w*|optiq|fp8|instruct|it))+$", "", name)
