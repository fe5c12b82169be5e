"""A pair, named by its two repos."""

from dataclasses import dataclass

from mlx_engine.pairs.repo import check_repo


@dataclass(frozen=True)
class Pair:
    """A target and its drafter on the hub. Without a drafter, the target decodes plainly."""

    target: str
    drafter: str | None = None

    def __post_init__(self) -> None:
        for repo in self.repos:
            check_repo(repo)

    @property
    def repos(self) -> tuple[str, ...]:
        return (self.target,) if self.drafter is None else (self.target, self.drafter)

    @property
    def name(self) -> str:
        return " + ".join(self.repos)
