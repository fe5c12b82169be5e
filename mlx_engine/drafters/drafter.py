"""The interface between decoding and drafters, and batched injection."""

from collections.abc import Sequence
from typing import Protocol

import mlx.core as mx

from mlx_engine.drafters.parts.chooser import ProposalChooser
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.draft_requests import Block, ContextRows
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.kernels.operations import Operations

_INJECTED_ROWS = 64  # rows per injection of a `Backlog`


class Drafter(Protocol):
    """Interface of all drafters."""

    config: DrafterConfig
    operations: Operations

    @property
    def dtype(self) -> mx.Dtype:
        """Dtype of all computations."""
        ...

    @property
    def bits(self) -> int:
        """Bits per weight of the largest matrices; 16 if unquantized."""
        ...

    def context(self) -> DraftContext:
        """Return a new, empty context."""
        ...

    def inject(self, context: DraftContext, features: mx.array, tokens: mx.array) -> None:
        """Append the features [S, taps * H] and tokens [S] of S positions."""
        ...

    def inject_packed(self, parts: Sequence[ContextRows]) -> None:
        """Extend the contexts of one or more streams, which reads weights once."""
        ...

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        """Return the tokens of one stream's block; see `propose_packed`."""
        ...

    def propose_packed(self, blocks: Sequence[Block]) -> list[mx.array]:
        """Build the graph that proposes the tokens of blocks, which reads weights once.

        Args:
            blocks: of one or more streams.

        Returns:
            Token ids of the target for each block, uint32 [rows - 1].
        """
        ...

    def parameters(self) -> list[mx.array]:
        """Return all weights."""
        ...


class Backlog:
    """Features and tokens of plain steps, to be injected in batches.

    Args:
        drafter: injects the features.
        context: the drafter's context; complete except for the positions added here.
    """

    def __init__(self, drafter: Drafter, context: DraftContext) -> None:
        self._drafter, self._context = drafter, context
        self._waiting: list[tuple[mx.array, mx.array]] = []
        self._rows = 0

    def add(self, features: mx.array, tokens: mx.array) -> None:
        """Add the features [S, taps * H] and tokens [S] of the next S positions."""
        self._waiting.append((features, tokens))
        self._rows += features.shape[0]
        if self._rows >= _INJECTED_ROWS:
            self.flush()
            mx.async_eval(self._context.state)

    def flush(self) -> int:
        """Inject all queued features and return their number of rows."""
        rows = self._rows
        if self._waiting:
            features, tokens = map(list, zip(*self._waiting, strict=True))
            self._drafter.inject(self._context, mx.concatenate(features), mx.concatenate(tokens))
            self._waiting, self._rows = [], 0
        return rows
