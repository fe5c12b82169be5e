"""A pair by the names of its two repos."""

from dataclasses import dataclass

from mlx_engine.pairs.repo import check_repo


@dataclass(frozen=True)
class Pair:
    """A target and its drafter on the hub. Without a drafter it decodes plainly."""

    target: str
    drafter: str | None = None

    def __post_init__(self) -> None:
        check_repo(self.target)
        if self.drafter is not None:
            check_repo(self.drafter)

    @property
    def repos(self) -> tuple[str, ...]:
        return (self.target,) if self.drafter is None else (self.target, self.drafter)

    @property
    def name(self) -> str:
        return " + ".join(self.repos)
