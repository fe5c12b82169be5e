"""Pairs that the user put together: two repos, or two folders. Kept in the data folder, the latest first."""

import os
from dataclasses import dataclass
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json, write_json
from mlx_engine.pairs.pair import Pair

_MOST = 200


@dataclass(frozen=True)
class OwnPair:
    """Two repos, OWNER/NAME, or two folders by their whole path. Without a drafter the target decodes plainly.

    Raises:
        UserError: a name is neither, or one of each was given.
    """

    target: str
    drafter: str | None = None

    def __post_init__(self) -> None:
        if not self.of_folders:
            Pair(self.target, self.drafter)
            return
        for name in filter(None, (self.target, self.drafter)):
            if not os.path.isabs(name) or not name.isprintable():
                raise UserError(f"“{name[:200]}” does not say where on this machine. Give two folders by their whole path.")

    @property
    def of_folders(self) -> bool:
        return os.path.isabs(self.target)

    @property
    def folders(self) -> tuple[Path, Path | None]:
        return Path(self.target), Path(self.drafter) if self.drafter else None

    @property
    def repos(self) -> Pair:
        return Pair(self.target, self.drafter)


def own_pairs() -> tuple[OwnPair, ...]:
    """Those that are kept. What makes no sense there counts as not there."""
    try:
        raw = read_json(_file())
    except UserError:
        return ()
    return tuple(dict.fromkeys(one for item in raw[:_MOST] if (one := _pair(item)))) if isinstance(raw, list) else ()


def add_own_pair(pair: OwnPair) -> None:
    """Keep a pair, before the others.

    Raises:
        UserError: it cannot be kept.
    """
    _keep((pair, *(one for one in own_pairs() if one != pair)))


def forget_own_pair(pair: OwnPair) -> None:
    """Keep a pair no more; its files stay.

    Raises:
        UserError: the rest cannot be kept.
    """
    _keep(tuple(one for one in own_pairs() if one != pair))


def _keep(pairs: tuple[OwnPair, ...]) -> None:
    write_json(_file(), [{"target": one.target, "drafter": one.drafter} for one in pairs[:_MOST]])


def _file() -> Path:
    return data_folder() / "own-pairs.json"


def _pair(raw: object) -> OwnPair | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("target"), str) or not isinstance(raw.get("drafter"), str | None):
        return None
    try:
        return OwnPair(raw["target"], raw.get("drafter"))
    except UserError:
        return None
