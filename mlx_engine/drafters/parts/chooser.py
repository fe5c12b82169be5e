"""How drafters choose their proposals: by a chooser, and token by token in chains."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

import mlx.core as mx

from mlx_engine.drafters.parts.row_packing import pack, unpack

Chain = Generator[mx.array, mx.array, mx.array]
"""Yields the token before each row, [1] uint32, receives the row's logits, [1, n], and returns all chosen tokens, uint32 [rows]."""


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

    def chain(self, anchor: mx.array, rows: int, noise: mx.array | None, tokens: mx.array | None = None) -> Chain:
        """Choose tokens of consecutive positions, each depending on the one before it.

        Args:
            anchor: the token before them, [1] uint32.
            rows: number of tokens.
            noise: [rows, n], or None for greedy choice.
            tokens: as in `propose_path`.
        """
        chosen = [anchor]
        for row in range(rows):
            logits = yield chosen[-1]
            index = self.propose(logits, None if noise is None else noise[row : row + 1])
            chosen.append(index if tokens is None else tokens[index])
        return mx.concatenate(chosen[1:])


def run_chains(chains: Sequence[Chain], logits: Callable[[Sequence[int], int, mx.array], mx.array]) -> list[mx.array]:
    """Run chains side by side, and return the tokens of each.

    Args:
        chains: that have no row yet.
        logits: returns the logits [n, V] of a row of n chains, given the chains' indices, ascending, the row, and the tokens before
            it, [n] uint32.
    """
    before = {index: next(chain) for index, chain in enumerate(chains)}
    ended: dict[int, mx.array] = {}
    row = 0
    while before:
        going = [*before]
        found = unpack(logits(going, row, pack([*before.values()])), [1] * len(going))
        for index, own in zip(going, found, strict=True):
            try:
                before[index] = chains[index].send(own)
            except StopIteration as end:
                ended[index] = end.value
                del before[index]
        row += 1
    return [ended[index] for index in range(len(chains))]
