"""Estimates of the acceptance rate at each draft position.

A round of width w shows how many of its w - 1 drafts were accepted, but not how many of a wider round's would have been. The
estimate is therefore conditional: the probability that draft i is accepted given that all earlier drafts were, over the rounds that
tested draft i. A rarely tested position borrows from the previous position or from an estimate with a longer memory.
"""

from math import exp, log, sqrt

_SCORE_DECAY = 0.9  # decay of an estimate's log likelihood per round
_MIN_LIKELIHOOD = 0.02  # floor, so that one surprise doesn't rule out an estimate


class Acceptance:
    """Conditional acceptance rates by draft position, with exponential decay.

    Args:
        positions: number of drafts in the widest block.
        memory: number of rounds after which a round's weight falls to 1/e.
        weight: weight of the borrowed rate, in rounds.
        start: initial rate of the first position, unless there is a longer memory.
    """

    def __init__(self, positions: int, memory: float, weight: float, start: float = 0.0) -> None:
        self._decay = 1 - 1 / memory
        self._weight = weight
        self._start = start
        self._accepted = [0.0] * positions
        self._tested = [0.0] * positions

    def record(self, tested: int, accepted: int, rounds: float = 1.0) -> None:
        """Record a round that tested `tested` drafts and accepted `accepted` of them.

        Older rounds decay as if `rounds` rounds had passed, because plain steps age them too.
        """
        decay = self._decay**rounds
        self._accepted = [count * decay for count in self._accepted]
        self._tested = [count * decay for count in self._tested]
        for i in range(tested):
            self._tested[i] += 1
            self._accepted[i] += i < accepted

    def chances(self, longer: list[float] | None = None) -> list[float]:
        """Return each draft's acceptance rate, given that earlier ones were accepted.

        Args:
            longer: the rates of an estimate with a longer memory, to borrow from.
        """
        chances, weight, before = [], self._weight, self._start
        for i, accepted in enumerate(self._accepted):
            before = (accepted + weight * (before if longer is None else longer[i])) / (self._tested[i] + weight)
            chances.append(before)
        return chances

    def variances(self, chances: list[float]) -> list[float]:
        """Return the variance of each acceptance rate."""
        weight = self._weight + 1
        return [(p * (1 - p) + 0.01) / (tested + weight) for p, tested in zip(chances, self._tested, strict=True)]


class BlendedAcceptance:
    """A mixture of acceptance estimates, weighted by their recent accuracy.

    Args:
        memories: memory of each estimate in rounds, descending. Each estimate borrows from the one before it, and the first
            borrows from `longest`.
        weight: weight of the borrowed rate, in rounds.
        longest: estimate that persists across replies.
    """

    def __init__(self, positions: int, memories: tuple[float, ...], weight: float, longest: Acceptance) -> None:
        self._estimates = [longest, *(Acceptance(positions, memory, weight) for memory in memories)]
        self._scores = [0.0] * len(self._estimates)  # decayed log likelihoods
        self._refresh()

    def record(self, tested: int, accepted: int, rounds: float) -> None:
        """Record a round, as in `Acceptance.record`. The longest memory ignores `rounds`."""
        for i, chances in enumerate(self._chances):
            likelihood = 0.0
            for p in chances[:accepted]:
                likelihood += log(max(p, _MIN_LIKELIHOOD))
            if accepted < tested:
                likelihood += log(max(1 - chances[accepted], _MIN_LIKELIHOOD))
            self._scores[i] = _SCORE_DECAY * self._scores[i] + likelihood
            self._estimates[i].record(tested, accepted, rounds if i else 1.0)
        self._refresh()

    def chances(self) -> tuple[list[float], list[float]]:
        """Return each draft's acceptance rate and its standard deviation."""
        top = max(self._scores)
        shares = [exp(score - top) for score in self._scores]
        total = sum(shares)
        mean, square = [0.0] * len(self._chances[0]), [0.0] * len(self._chances[0])
        for share, estimate, chances in zip(shares, self._estimates, self._chances, strict=True):
            share /= total
            for i, (p, variance) in enumerate(zip(chances, estimate.variances(chances), strict=True)):
                mean[i] += share * p
                square[i] += share * (variance + p * p)
        return mean, [sqrt(max(s - p * p, 0.0)) for p, s in zip(mean, square, strict=True)]

    def _refresh(self) -> None:
        self._chances: list[list[float]] = []
        for estimate in self._estimates:
            self._chances.append(estimate.chances(self._chances[-1] if self._chances else None))


def tokens_by_width(chances: list[float]) -> list[float]:
    """Return the expected number of tokens per round; index w - 1 is for width w."""
    tokens, survival = [1.0], 1.0
    for chance in chances:
        survival *= chance
        tokens.append(tokens[-1] + survival)
    return tokens
