"""What one pass adds to a reply."""

from dataclasses import dataclass

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Source
from mlx_engine.formats.logprobs import RowLogprobs


@dataclass(frozen=True)
class Step:
    """The tokens that one pass adds to a reply."""

    tokens: tuple[int, ...]
    sources: tuple[Source, ...]  # one per token
    width: int = 1  # verified rows; 1 for a plain step
    drafted: int = 0
    tested: int = 0  # drafts compared with the target's choices
    accepted: int = 0
    proposer: Source = "target"
    why: EngineText | None = None  # reason for a plain step
    trial: bool = False  # made to measure its cost or acceptance
    copies_tested: int = 0  # of those tested
    copies_accepted: int = 0
    streams: int = 1  # in the pass
    logprobs: tuple[RowLogprobs, ...] = ()  # one per token, if asked for
