"""A pair or a connection as the window remembers it."""

from dataclasses import dataclass, replace
from pathlib import Path

from mlx_engine.models.library.pair import demo_pair


@dataclass(frozen=True)
class RecentModel:
    """A pair or a connection.

    Attributes:
        name: as the window showed it.
        target, drafter: the folders; empty for the demo pair, a connection, or no drafter.
        auto: whether Slipstream chose the drafter.
        connection: the connection's name.
        pinned: whether it stays listed.
    """

    name: str
    target: str = ""
    drafter: str = ""
    auto: bool = False
    connection: str = ""
    pinned: bool = False

    @property
    def place(self) -> tuple[str, str, str | None]:
        """Key of the model. All drafters that Auto chooses for a target share one."""
        return self.connection, self.target, None if self.auto else self.drafter

    @property
    def folders(self) -> tuple[Path, Path | None]:
        return (Path(self.target), Path(self.drafter) if self.drafter else None) if self.target else demo_pair()

    def moved(self, old: Path, new: Path) -> "RecentModel":
        """Return the pair after the model folder was moved."""

        def follow(folder: str) -> str:
            path = Path(folder)
            return str(new / path.relative_to(old)) if folder and path.is_relative_to(old) else folder

        return replace(self, target=follow(self.target), drafter=follow(self.drafter))
