"""Copies behind a drafter's block, to verify both in one pass.

A block that ends like earlier text is likely to be right, and so is what follows there.
"""

from collections.abc import Sequence
from typing import Protocol

from mlx_engine.decoding.width import WidthChoice, WidthController
from mlx_engine.drafters.lookup import Offer


class Copies(Protocol):
    """A proposer of copies, such as `Lookup`."""

    def add(self, tokens: tuple[int, ...]) -> None: ...

    def offer(self, drafts: Sequence[int] = ()) -> Offer | None: ...

    def propose(self, count: int) -> list[int]: ...


def append_copies(
    choice: WidthChoice, drafts: Sequence[int], copies: Copies, controller: WidthController, depth: int
) -> tuple[WidthChoice, list[int]]:
    """Choose the copies behind drafts, as many as pay.

    Args:
        choice: of a drafter round that appends.
        drafts: the drafter's tokens.
        copies: proposes what follows the last of these drafts in earlier text.
        controller: knows what pays.
        depth: number of cached tokens.

    Returns:
        The choice with the number of copies, and the copies.
    """
    offer = copies.offer(drafts)
    if offer is not None:
        choice = controller.extend(choice, depth, offer)
    return choice, copies.propose(choice.kind.copied)
