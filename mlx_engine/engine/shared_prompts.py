"""Prompts that are being computed, and requests that wait for their beginnings.

A coding agent starts several agents whose prompts begin with the same thousands of tokens. The second request waits until
the first one has computed them, if that is predicted to be faster than computing them, too. Then it copies them. It holds no
memory while it waits. If the first request ends early, the second computes its own.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from mlx_engine.prefix.branch import Branch, shared_length
from mlx_engine.prefix.snapshots import KnownPrefix, LiveBranch, Snapshots
from mlx_engine.vision.spans import ImageSpan, outside_images

_LEAST_TOKENS = 64  # to wait for; fewer take a pass or two
_PATIENCE = 1024  # turns without progress of the other prompt: its chunk may wait for 64 turns, next to 16 replies


@dataclass(eq=False)
class PromptInProgress:
    """The prompt of a reply in progress.

    Attributes:
        branch: its caches.
        is_valid: returns whether the caches can be trusted.
        computed: number of tokens computed so far.
        stops: positions at which the branch is marked.
    """

    branch: Branch
    is_valid: Callable[[], bool]
    computed: int = 0
    stops: Collection[int] = ()
    keys: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = self.branch.tokens  # a reply in progress appends to another list

    @property
    def is_complete(self) -> bool:
        return self.computed >= len(self.keys) - 1


def live_branches(prompts: Sequence[PromptInProgress]) -> list[LiveBranch]:
    """Return the branches of prompts that can be copied."""
    return [LiveBranch(prompt.branch, prompt.computed) for prompt in prompts if prompt.is_valid()]


class PromptWait:
    """The wait of a request for a prompt that is being computed.

    Args:
        snapshots: snapshots of earlier prompts.
        prompts: the prompts in progress.
        keys: of the request's prompt.
        spans: the prompt's images.
        known: what is known without waiting.
        foreground: whether the request has every second turn.

    Attributes:
        known: as given.
    """

    def __init__(
        self,
        snapshots: Snapshots,
        prompts: Sequence[PromptInProgress],
        keys: Sequence[int],
        spans: Sequence[ImageSpan],
        known: KnownPrefix,
        foreground: bool,
    ) -> None:
        self._snapshots, self._prompts, self._keys, self._spans = snapshots, prompts, keys, spans
        self.known, self._reused, self._foreground = known, known.length, foreground
        self._shared = WeakKeyDictionary[PromptInProgress, int]()  # number of equal tokens
        self._computed = 0  # tokens of all prompts at the latest progress
        self._idle = 0  # turns since

    def pays(self) -> bool:
        """Return whether to wait for another turn."""
        others = [prompt for prompt in self._prompts if prompt.is_valid()]
        computed = sum(prompt.computed for prompt in others)
        self._idle = self._idle + 1 if computed == self._computed else 0
        self._computed = computed
        if self._idle > _PATIENCE:
            return False
        reused = max([self._reused, *(self._goal(prompt, prompt.computed) for prompt in others)])
        going = sum(not prompt.is_complete for prompt in self._prompts)
        for prompt in others:
            goal = self._goal(prompt, len(prompt.keys))
            left, saved = goal - prompt.computed, goal - reused
            is_long = goal - self._reused >= _LEAST_TOKENS
            # Prompts take turns, so that each takes as many times longer as there are
            if left > 0 and is_long and left * going < saved * (2 if self._foreground else going + 1):
                return True
        return False

    def _goal(self, prompt: PromptInProgress, limit: int) -> int:
        """Return how many tokens can be copied once `limit` of a prompt are computed."""
        if prompt not in self._shared:
            equal = min(shared_length(prompt.keys, self._keys), len(self._keys) - 1, len(prompt.keys) - 1)
            self._shared[prompt] = outside_images(self._spans, equal)
        return self._snapshots.goal(min(self._shared[prompt], limit), prompt.stops)
