"""Caches and drafter contexts of earlier requests, looked up by their keys.

A *branch* is a sequence of tokens with everything computed for it. Its keys are the tokens, and for images what they show
(`vision.spans.keys`); no branch is continued inside an image. A request continues the branch that shares the most with its
prompt, cut back to the shared tokens. Recurrent and rotating caches, and a drafter's sliding windows, cannot be cut back. For
these, a branch has *marks*: states saved at tokens that the chat template will render the same way again.
"""

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.drafter import Drafter
from mlx_engine.prefix.branch import Branch, shared_length
from mlx_engine.prefix.disk import DiskPrefixes, StoredPrefix
from mlx_engine.prefix.part_store import PrefixStore
from mlx_engine.targets.target import Target
from mlx_engine.vision.spans import ImageSpan, outside_images

MAX_BRANCHES = 32  # every prompt is compared with all of them
_CLOSE_S = 2.0  # seconds for parts that are being written
_MAX_LOSS = 1 / 4  # a branch is continued itself, not copied, if this share of the kept tokens or less would be lost


@dataclass(frozen=True)
class LiveBranch:
    """The branch of a reply in progress. Its first `computed` tokens can be copied."""

    branch: Branch
    computed: int


@dataclass(frozen=True)
class KnownPrefix:
    """How much of a prompt is known.

    Attributes:
        in_memory: number of its tokens that branches in memory have.
        stored: more of its tokens on disk, or None if there aren't any or computing them is faster.
    """

    in_memory: int
    stored: StoredPrefix | None

    @property
    def length(self) -> int:
        """Number of known tokens."""
        return self.in_memory if self.stored is None else self.stored.length


class Snapshots:
    """The branches of one pair, within a budget and at most `MAX_BRANCHES`.

    The least recently used branches are dropped first.

    Args:
        target: the target that the caches belong to.
        drafter: the drafter that the contexts belong to, or None.
        budget: bytes for all branches that are not in use.
        limit: bytes that the latest branch may take alone, if it needs more than the budget.
    """

    def __init__(self, target: Target, drafter: Drafter | None, budget: int, limit: int = 0) -> None:
        self.budget, self.limit = budget, limit
        self._target, self._drafter = target, drafter
        self._branches: list[Branch] = []
        self._leaving: list[Branch] = []  # of replies that pause, until they are saved on disk
        self._clock = 0
        empty = self.new_branch()
        self._can_cut = empty.caches.can_cut
        self.needs_marks = not self._can_cut or (empty.context is not None and empty.context.slides)
        self.disk: DiskPrefixes | None = None

    def use_store(self, store: PrefixStore | None, pair: str) -> None:
        """Also read and write branches on disk.

        Args:
            store: the store, or None for no store.
            pair: fingerprint of the pair; "" for no store.
        """
        if self.disk is not None:
            self.disk.close(_CLOSE_S)
        self.disk = DiskPrefixes(store, pair, self.needs_marks) if store is not None and pair else None

    def prefilled(self, tokens: int, seconds: float) -> None:
        """Record how long it took to compute prompt tokens."""
        if self.disk is not None:
            self.disk.prefilled(tokens, seconds)

    def forget(self, chats: Collection[str] | None) -> None:
        """Drop the branches last used by these chats; None drops all.

        Branches in use are kept.
        """
        self._branches = [branch for branch in self._branches if chats is not None and branch.chat not in chats]
        if self.disk is not None:
            self.disk.forget(chats)

    def save_next(self) -> float | None:
        """Save a part of a branch on disk; see `DiskPrefixes.save_next`."""
        return self.disk.save_next(self._is_unused) if self.disk else None

    def new_branch(self, prompt: Sequence[int] = ()) -> Branch:
        """Return an empty branch for a prompt."""
        return Branch(self._target.caches(), self._drafter.context() if self._drafter else None, list(prompt))

    def known(
        self, prompt: Sequence[int], chat: str | None = None, spans: Sequence[ImageSpan] = (), live: Sequence[LiveBranch] = ()
    ) -> KnownPrefix:
        """Return what `take` would find."""
        _, length = self._longest(prompt, spans, live)
        return KnownPrefix(length, self.disk.find(prompt, length, spans) if self.disk and chat is not None else None)

    def goal(self, shared: int, stops: Collection[int]) -> int:
        """Return how many tokens of a branch can be copied for another prompt.

        Args:
            shared: number of tokens that are equal and computed.
            stops: positions at which the branch is marked.
        """
        return max((at for at in stops if at <= shared), default=0) if self.needs_marks else shared

    def _longest(self, prompt: Sequence[int], spans: Sequence[ImageSpan], live: Sequence[LiveBranch]) -> tuple[Branch | None, int]:
        """Return the branch with the most prompt tokens, and their number."""
        length, longest = 0, None
        for branch in sorted(self._branches, key=lambda branch: -branch.last_used):
            if (reach := self._reach(branch, prompt, spans)) > length:
                length, longest = reach, branch
        for each in live:
            if (reach := self._reach(each.branch, prompt, spans, each.computed)) > length:
                length, longest = reach, each.branch
        return longest, length

    def take(
        self,
        prompt: Sequence[int],
        chat: str | None = None,
        spans: Sequence[ImageSpan] = (),
        live: Sequence[LiveBranch] = (),
        known: KnownPrefix | None = None,
    ) -> Branch:
        """Return a branch with the most prompt tokens, but never the last token.

        Args:
            prompt: keys of the prompt.
            chat: the chat that the branch belongs to on disk; None neither reads nor writes disk.
            spans: the prompt's images.
            live: branches of replies in progress, which are only copied.
            known: what was found before, so that the disk isn't searched again.
        """
        longest, length = self._longest(prompt, spans, live)
        # Stored tokens that weren't worth reading aren't either if memory has more
        outdated = known is None or length < known.in_memory or (known.stored is not None and length > known.in_memory)
        if known is None or outdated:
            known = self.known(prompt, chat, spans, live)
        stored = known.stored
        branch, from_disk = self.new_branch(), 0
        if stored is not None and self.disk is not None and self.disk.load(stored, branch):
            length = from_disk = stored.length
        elif stored is not None and not outdated:  # a part is gone by now, but earlier ones may be left
            return self.take(prompt, chat, spans, live)
        else:
            branch = self._cut(longest, length) if longest is not None else self.new_branch()
        branch.tokens, branch.reused, branch.from_disk, branch.chat = list(prompt), length, from_disk, chat
        return branch

    def stops(self, boundaries: Sequence[int], length: int, spans: Sequence[ImageSpan] = ()) -> Sequence[int]:
        """Return the counts of prompt tokens after which to mark a branch.

        Args:
            boundaries: counts of tokens that other prompts will share.
            length: of the prompt.
            spans: the prompt's images.
        """
        if not self.disk or not boundaries:
            return boundaries
        return sorted({*boundaries, *(outside_images(spans, at) for at in self.disk.regular_states(length))} - {0})

    def save(self, branch: Branch) -> Generator[float, None, None]:
        """Save the branch of a reply that pauses on disk, a part in each step.

        Afterward, none of its arrays are in memory.

        Yields:
            The seconds after which to continue.
        """
        if self.disk is None or branch.chat is None or not _complete(branch):
            return
        self._leaving.append(branch)
        self.disk.keep(branch)
        try:
            while (seconds := self.save_next()) is not None:
                yield seconds
        finally:
            self._leaving.remove(branch)
            self._prune()

    def put(self, branch: Branch) -> None:
        """Put a branch back after its request, replacing branches that it contains."""
        if not _complete(branch):
            return
        for other in [other for other in self._branches if self._contains(branch, other)]:
            self._branches.remove(other)
            branch.marks = {**other.marks, **branch.marks}
        for mark in branch.marks.values():
            mark.last_used = mark.last_used or self._tick()
        branch.last_used = self._tick()
        self._branches.append(branch)
        if len(self._branches) > MAX_BRANCHES:
            self._branches.remove(min(self._branches, key=lambda branch: branch.last_used))
        if self.disk is not None:
            self.disk.keep(branch)
        latest = sum(array.nbytes for array in branch.arrays())
        self.drop(self.nbytes - max(self.budget, min(latest, self.limit)))

    def drop(self, count: int | None = None) -> None:
        """Drop branches and marks until `count` bytes are free; None drops all."""
        before = left = self.nbytes
        while self._branches and (count is None or before - left < count):
            oldest = min(self._branches, key=lambda branch: branch.last_used)
            marks = [(mark.last_used, at, branch) for branch in self._branches for at, mark in branch.marks.items()]
            last_used, at, branch = min(marks, default=(oldest.last_used, 0, oldest), key=lambda mark: mark[0])
            if last_used < oldest.last_used:
                del branch.marks[at]
            else:
                self._branches.remove(oldest)
            left = self.nbytes
        self._prune()

    def drop_older(self) -> None:
        """Drop all branches but the one used last."""
        self._branches = sorted(self._branches, key=lambda branch: branch.last_used)[-1:]
        self._prune()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, each counted once."""
        return sum({id(array): array.nbytes for array in self.arrays()}.values())

    def arrays(self) -> list[mx.array]:
        """Return the arrays of all branches, and of those that are being saved."""
        return [array for branch in (*self._branches, *self._leaving) for array in branch.arrays()]

    def _is_unused(self, branch: Branch) -> bool:
        """Return whether a branch is complete, in memory, and not taken."""
        return any(branch is each for each in (*self._branches, *self._leaving))

    def _prune(self) -> None:
        """Let the disk hold no other branches, whose memory would stay in use."""
        if self.disk is not None:
            self.disk.prune(self._is_unused)

    def _reach(self, branch: Branch, prompt: Sequence[int], spans: Sequence[ImageSpan], computed: int | None = None) -> int:
        """Return how many prompt tokens the branch covers for both models.

        Args:
            branch: the branch.
            prompt: keys of the prompt.
            spans: the prompt's images.
            computed: number of tokens of a live branch that can be copied; None for a stored branch.
        """
        equal = shared_length(branch.tokens, prompt)
        shared, end = outside_images(spans, min([equal, len(prompt) - 1, *([] if computed is None else [computed])])), len(prompt)
        lengths = [at for at in branch.marks if at <= shared]
        live = branch.context.reach(outside_images(spans, branch.context.reach(shared, end)), end) if branch.context else shared
        if self._can_cut or (computed is None and live == len(branch.tokens)):
            lengths.append(live)
        return max(lengths, default=0)

    def _cut(self, branch: Branch, length: int) -> Branch:
        """Return a branch of the first `length` tokens, as a copy if much would be lost."""
        mark = branch.marks.get(length)
        if mark:
            mark.last_used = self._tick()
        is_stored = any(branch is each for each in self._branches)
        if is_stored and len(branch.tokens) - length <= _MAX_LOSS * length:
            self._branches.remove(branch)
            cut = branch
            cut.caches.cut(length)
        else:
            branch.last_used = self._tick()
            cut = Branch(self._target.caches(), branch.context.copy(length) if branch.context else None)
            cut.first_states = branch.first_states
            cut.caches.copy(branch.caches, length)
        cut.marks = {at: mark for at, mark in branch.marks.items() if at <= length}
        if mark:
            cut.caches.thaw(mark.layers)
        if cut.context:
            cut.context.cut(length)
            cut.context.thaw(mark.windows if mark else [])
        mx.eval(cut.caches.state, cut.context.state if cut.context else [])
        return cut

    def _contains(self, branch: Branch, other: Branch) -> bool:
        is_prefix = branch.tokens[: len(other.tokens)] == other.tokens
        return is_prefix and (self._can_cut or len(branch.tokens) == len(other.tokens))

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def _complete(branch: Branch) -> bool:
    """Compute what the caches hold, and remove the tokens that they don't have.

    Returns:
        Whether any tokens are left.
    """
    length = branch.caches.length
    if not 0 < length <= len(branch.tokens):
        return False
    del branch.tokens[length:]
    branch.caches.finish()
    mx.eval(branch.caches.state, branch.context.state if branch.context else [])
    return True
