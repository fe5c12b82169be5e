"""What a decoding loop yields."""

from dataclasses import dataclass

from mlx_engine.errors import EngineText
from mlx_engine.events import Source


@dataclass(frozen=True)
class Step:
    """Tokens that became final together.

    A round has a `width` (rows verified) and a `proposer`. A plain step has width 1 and tests nothing; `why` is the reason that
    it was plain. A `trial` was made to learn what it costs or yields.
    """

    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    width: int = 1
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    proposer: Source = "target"
    why: EngineText | None = None
    trial: bool = False
