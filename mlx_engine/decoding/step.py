"""What a decoding loop yields."""

from dataclasses import dataclass

from mlx_engine.events import Source


@dataclass(frozen=True)
class Step:
    """Tokens that became final together.

    A round has a `width` (rows verified) and a `proposer`. A plain step has width 1 and tests nothing; `why` says why it was one. A
    `trial` was made to learn from it.
    """

    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    width: int = 1
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    proposer: Source = "target"
    why: str = ""
    trial: bool = False
