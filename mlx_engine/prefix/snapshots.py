"""What a later turn may reuse: the target's caches and the drafter's context of earlier requests, found again by their tokens.

A *branch* is a line of tokens with all that was computed for it, growing arrays in one piece. A request takes the branch that
shares the most with its prompt, cut back to where the two part. Recurrent and rotating caches, and a drafter's sliding windows,
cannot be cut back: a branch carries *marks*, their state at tokens that the chat template will render alike again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext, LayerContext
from mlx_engine.drafters.drafter import Drafter
from mlx_engine.targets.adapter import arrays
from mlx_engine.targets.target import Caches, Target

_LOSS = 1 / 4  # a branch is taken over, not copied, when at most this share of what goes on would be lost with its end


@dataclass
class Mark:
    """What cannot be cut back, as it was at one token: states of target layers by index, and rows of the drafter's windows."""

    layers: dict[int, Any]
    windows: list[LayerContext]
    used: int = 0

    def arrays(self) -> list[mx.array]:
        """Every array that it holds."""
        return arrays([*self.layers.values()]) + [array for kind in self.windows for array in kind.state]


@dataclass
class Branch:
    """A line of tokens. `tokens` may run ahead of what `caches` hold while a reply is written; `reused` were there at its start."""

    caches: Caches
    context: DraftContext | None
    tokens: list[int] = field(default_factory=list)
    marks: dict[int, Mark] = field(default_factory=dict)
    reused: int = 0
    used: int = 0

    def mark(self) -> None:
        """Keep what cannot be cut back as it is now."""
        mark = Mark(self.caches.freeze(), self.context.freeze() if self.context else [])
        mx.eval(mark.arrays())
        self.marks[self.caches.length] = mark

    def arrays(self) -> list[mx.array]:
        """Every array that it holds, marks included."""
        held = self.caches.arrays() + (self.context.state if self.context else [])
        return held + [array for mark in self.marks.values() for array in mark.arrays()]


class Snapshots:
    """The branches of one pair, within a budget; the least recently used goes first.

    Args:
        target: whose caches these are.
        drafter: whose context goes with them, or None.
        budget: bytes for all branches that no request is using.
    """

    def __init__(self, target: Target, drafter: Drafter | None, budget: int) -> None:
        self.budget = budget
        self._target, self._drafter = target, drafter
        self._branches: list[Branch] = []
        self._clock = 0
        fresh = self.fresh()
        self._cuts = fresh.caches.can_cut
        self.marked = not self._cuts or (fresh.context is not None and fresh.context.slides)

    def fresh(self, prompt: Sequence[int] = ()) -> Branch:
        """An empty branch, for a prompt."""
        return Branch(self._target.caches(), self._drafter.context() if self._drafter else None, list(prompt))

    def start(self, prompt: Sequence[int]) -> Branch:
        """A branch that holds as much of the prompt as possible, without its last token, which has to be asked again."""
        found = [(self._reach(branch, prompt), branch.used, at) for at, branch in enumerate(self._branches)]
        length, _, at = max(found, default=(0, 0, 0))
        branch = self._part(self._branches[at], length) if length else self.fresh()
        branch.tokens, branch.reused = list(prompt), length
        return branch

    def keep(self, branch: Branch) -> None:
        """Take a branch back after its request, between two passes. What it holds beyond its known tokens is of no use."""
        length = branch.caches.length
        if not 0 < length <= len(branch.tokens):
            return
        del branch.tokens[length:]
        branch.caches.finish()
        mx.eval(branch.caches.state, branch.context.state if branch.context else [])
        for other in [other for other in self._branches if self._contains(branch, other)]:
            self._branches.remove(other)
            branch.marks = {**other.marks, **branch.marks}
        for mark in branch.marks.values():
            mark.used = mark.used or self._tick()
        branch.used = self._tick()
        self._branches.append(branch)
        self.drop(self.nbytes - self.budget)

    def drop(self, wanted: int | None = None) -> int:
        """Drop what was used least recently until `wanted` bytes are free, None: everything. How many bytes were dropped."""
        before = left = self.nbytes
        while self._branches and (wanted is None or before - left < wanted):
            oldest = min(self._branches, key=lambda branch: branch.used)
            marks = [(mark.used, at, branch) for branch in self._branches for at, mark in branch.marks.items()]
            used, at, branch = min(marks, default=(oldest.used, 0, oldest), key=lambda each: each[0])
            if used < oldest.used:
                del branch.marks[at]
            else:
                self._branches.remove(oldest)
            left = self.nbytes
        return before - left

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays held, each counted once."""
        return sum({id(array): array.nbytes for branch in self._branches for array in branch.arrays()}.values())

    def _reach(self, branch: Branch, prompt: Sequence[int]) -> int:
        """How many tokens of the prompt the branch can serve with nothing missing, neither of the target nor of the drafter."""
        shared, end = min(_shared(branch.tokens, prompt), len(prompt) - 1), len(prompt)
        reached = [at for at in branch.marks if at <= shared]
        live = branch.context.reach(shared, end) if branch.context else shared
        if self._cuts or live == len(branch.tokens):
            reached.append(live)
        return max(reached, default=0)

    def _part(self, branch: Branch, length: int) -> Branch:
        """The first `length` tokens of a branch as one to go on with: itself if little of it would be lost, else a copy."""
        mark = branch.marks.get(length)
        if mark:
            mark.used = self._tick()
        if len(branch.tokens) - length <= _LOSS * length:
            self._branches.remove(branch)
            parted = branch
            parted.caches.cut(length)
        else:
            branch.used = self._tick()
            parted = Branch(self._target.caches(), branch.context.copy(length) if branch.context else None)
            parted.caches.fill(branch.caches, length)
        parted.marks = {at: mark for at, mark in branch.marks.items() if at <= length}
        if mark:
            parted.caches.thaw(mark.layers)
        if parted.context:
            parted.context.cut(length)
            parted.context.thaw(mark.windows if mark else [])
        mx.eval(parted.caches.state, parted.context.state if parted.context else [])
        return parted

    def _contains(self, branch: Branch, other: Branch) -> bool:
        whole = branch.tokens[: len(other.tokens)] == other.tokens
        return whole and (self._cuts or len(branch.tokens) == len(other.tokens))

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _shared(a: Sequence[int], b: Sequence[int]) -> int:
    """How many tokens two lines have in common from their beginning."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
