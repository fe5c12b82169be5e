"""Pairs of hub repos, and custom pairs that the user added."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

import resources
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import data_folder, read_json, write_json
from mlx_engine.models.files.repo import check_repo

_MOST = 200  # custom pairs
_LONGEST_NAME = 80  # characters


@dataclass(frozen=True)
class Pair:
    """A target and a drafter, or MTP head, on the hub, or a target alone."""

    target: str
    drafter: str | None = None

    def __post_init__(self) -> None:
        for repo in self.repos:
            check_repo(repo)

    @property
    def repos(self) -> tuple[str, ...]:
        return (self.target,) if self.drafter in (None, self.target) else (self.target, self.drafter)

    @property
    def name(self) -> str:
        return " + ".join(self.repos)


@dataclass(frozen=True)
class CustomPair:
    """A pair of repos (OWNER/NAME) or absolute folders that the user added."""

    target: str
    drafter: str | None = None
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", " ".join(self.name.split())[:_LONGEST_NAME])
        if not self.is_local:
            Pair(self.target, self.drafter)
            return
        for name in filter(None, (self.target, self.drafter)):
            if not os.path.isabs(name) or not name.isprintable():
                template = "“{path}” isn't a full path. Enter a path that starts with /."
                raise UserError("path_not_absolute", template, path=name[:200])

    @property
    def is_local(self) -> bool:
        return os.path.isabs(self.target)

    @property
    def folders(self) -> tuple[Path, Path | None]:
        return Path(self.target), Path(self.drafter) if self.drafter else None

    @property
    def pair(self) -> Pair:
        return Pair(self.target, self.drafter)


def demo_pair() -> tuple[Path, Path]:
    """Return the folders of the target and drafter that ship with Slipstream."""
    folder = Path(resources.__file__).parent / "demo_pair"
    return folder / "target", folder / "drafter"


def custom_pairs() -> tuple[CustomPair, ...]:
    """Return the saved pairs, latest first. Invalid entries are ignored."""
    try:
        raw = read_json(_file())
    except UserError:
        return ()
    return tuple(dict.fromkeys(pair for item in raw[:_MOST] if (pair := _parse(item)))) if isinstance(raw, list) else ()


def add_custom_pair(pair: CustomPair) -> None:
    _save((pair, *(one for one in custom_pairs() if one != pair)))


def remove_custom_pair(pair: CustomPair) -> None:
    """Remove a pair from the list. Its files are kept."""
    _save(tuple(one for one in custom_pairs() if one != pair))


def _save(pairs: tuple[CustomPair, ...]) -> None:
    write_json(_file(), [asdict(pair) for pair in pairs[:_MOST]])


def _file() -> Path:
    return data_folder() / "own-pairs.json"


def _parse(raw: object) -> CustomPair | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("target"), str) or not isinstance(raw.get("drafter"), str | None):
        return None
    try:
        return CustomPair(raw["target"], raw.get("drafter"), str(raw.get("name") or ""))
    except UserError:
        return None
