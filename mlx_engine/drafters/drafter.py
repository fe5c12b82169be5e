"""The interface between decoding and drafters, and batched injection."""

from collections.abc import Callable
from typing import Protocol

import mlx.core as mx

from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.kernels.operations import Operations

_INJECTED_ROWS = 64  # rows per injection of a `Backlog`


class ProposalChooser(Protocol):
    """Interface for choosing proposals, implemented by `decoding.sampling.Chooser`."""

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Return the chosen indices, uint32 [rows].

        Args:
            logits: [rows, n].
            noise: [rows, n], or None for greedy choice.
        """
        ...

    def propose_path(self, logits: mx.array, noise: mx.array | None, tokens: mx.array | None = None) -> mx.array:
        """Return the chosen tokens of consecutive positions, uint32 [rows].

        Args:
            logits: [rows, n].
            noise: [rows, n], or None for greedy choice.
            tokens: token id of each column, uint32 [n]; None for the ids from 0 on.
        """
        chosen = self.propose(logits, noise)
        return chosen if tokens is None else tokens[chosen]

    def propose_chain(
        self,
        anchor: mx.array,
        rows: int,
        logits: Callable[[int, mx.array], mx.array],
        noise: mx.array | None,
        tokens: mx.array | None = None,
    ) -> mx.array:
        """Return the chosen tokens of consecutive positions, uint32 [rows].

        Args:
            anchor: the token before them, [1] uint32.
            rows: number of tokens.
            logits: returns the logits [1, n] of a row, given the row and the token before it, [1] uint32.
            noise: [rows, n], or None for greedy choice.
            tokens: as in `propose_path`.
        """
        chain = [anchor]
        for row in range(rows):
            chosen = self.propose(logits(row, chain[-1]), None if noise is None else noise[row : row + 1])
            chain.append(chosen if tokens is None else tokens[chosen])
        return mx.concatenate(chain[1:])


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

    def propose(
        self, context: DraftContext, anchor: mx.array, rows: int, chooser: ProposalChooser, noise: mx.array | None
    ) -> mx.array:
        """Build the graph that proposes tokens for the positions after the anchor.

        Args:
            context: contains all positions before the anchor, whose position is `context.start`.
            anchor: the last token, [1] uint32.
            rows: rows of the block, including the anchor: 2 to the block size.
            chooser: chooses tokens from scores.
            noise: Gumbel noise for the tokens after the anchor, [at least rows - 1, V] float32; None for greedy choice.

        Returns:
            Token ids of the target, uint32 [rows - 1].
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
