"""The download queue as it survives quitting: pairs in order, their state, and the commits that their halves are pinned to."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from mlx_engine.errors import UserError
from mlx_engine.pairs import locks
from mlx_engine.pairs.checkpoint_paths import Damaged, data_folder, read_json, write_json
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.repo import is_commit

State = Literal["waiting", "running", "paused", "failed"]


@dataclass(frozen=True)
class Queued:
    """One pair on its way. What is finished or cancelled leaves the queue."""

    target: str
    drafter: str | None
    state: State = "waiting"
    pins: dict[str, str] = field(default_factory=dict)  # repo -> commit
    words: str = ""  # why it failed

    @property
    def pair(self) -> Pair:
        return Pair(self.target, self.drafter)


class QueueFile:
    """The file; several processes may use it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_folder() / "downloads.json"

    def read(self) -> tuple[Queued, ...]:
        """The queue; empty where the file is damaged or cannot be read: what was fetched is in the cache all the same."""
        try:
            return self.known()
        except UserError:
            return ()

    def known(self) -> tuple[Queued, ...]:
        """The queue.

        Raises:
            UserError: the file is damaged or cannot be read.
        """
        raw = read_json(self.path)
        if raw is not None and not isinstance(raw, list):
            raise Damaged(f"{self.path} is damaged: it holds no list. Repair it or move it away.")
        return tuple(one for item in (raw or ())[:1000] if (one := _queued(item)))

    def change(self, how: Callable[[tuple[Queued, ...]], tuple[Queued, ...]]) -> tuple[Queued, ...]:
        """Read, change and write in one turn. A damaged file is set aside as downloads.damaged.json.

        Raises:
            UserError: it cannot be read or written; it stays as it is.
        """
        place = self.path.with_suffix(".lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = locks.acquire(place, timeout=10.0)
        except OSError as error:
            raise UserError(f"{self.path} cannot be written ({error.strerror}).") from None
        if lock is None:
            raise UserError(f"Another program holds {place}. Quit it and try again.")
        try:
            try:
                before = self.known()
            except Damaged:
                os.replace(self.path, self.path.with_suffix(".damaged.json"))
                before = ()
            queue = how(before)
            if queue != before:
                write_json(self.path, [asdict(one) for one in queue])
            return queue
        except OSError as error:
            raise UserError(f"{self.path} is damaged and cannot be set aside ({error.strerror}). Move it away.") from None
        finally:
            lock.release()

    def find(self, pair: Pair) -> Queued | None:
        return next((one for one in self.read() if one.pair == pair), None)

    def put(self, pair: Pair, **fields: object) -> None:
        """Add a pair at the end, or change the one that is there."""

        def how(queue: tuple[Queued, ...]) -> tuple[Queued, ...]:
            known = queue if any(one.pair == pair for one in queue) else (*queue, Queued(pair.target, pair.drafter))
            return tuple(replace(one, **fields) if one.pair == pair else one for one in known)  # type: ignore[arg-type]

        self.change(how)

    def amend(self, pair: Pair, **fields: object) -> bool:
        """Change a pair that is there; one that has left the queue meanwhile stays out. Returns whether it is there."""
        changed = self.change(lambda queue: tuple(replace(one, **fields) if one.pair == pair else one for one in queue))  # type: ignore[arg-type]
        return any(one.pair == pair for one in changed)

    def drop(self, pair: Pair) -> None:
        self.change(lambda queue: tuple(one for one in queue if one.pair != pair))


def _queued(raw: object) -> Queued | None:
    if not isinstance(raw, dict):
        return None
    try:
        pair = Pair(raw.get("target", ""), raw.get("drafter"))
    except UserError:
        return None
    pins = raw.get("pins")
    kept = {repo: pin for repo, pin in pins.items() if repo in pair.repos and is_commit(pin)} if isinstance(pins, dict) else {}
    state: State = raw["state"] if raw.get("state") in ("waiting", "paused", "failed") else "waiting"  # "running": it was killed
    return Queued(pair.target, pair.drafter, state, kept, str(raw.get("words", ""))[:500])
