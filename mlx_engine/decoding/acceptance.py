"""Estimates of how likely the draft at each position is accepted.

A round of width w shows how many of its w - 1 drafts were accepted, and nothing about what a wider round would have accepted. So
the estimate is of survival: the chance that the draft at position i is accepted once those before it were, over the rounds that
tested it. A position with few tests borrows from the position before it, or from an estimate with a longer memory.
"""

from math import exp, log, sqrt

_SCORE_DECAY = 0.9  # per round, of an estimate's log likelihood
_MIN_LIKELIHOOD = 0.02  # an estimate is never taken to have given less to what happened


class Acceptance:
    """Acceptance chances by position. Older rounds count less.

    Args:
        positions: number of drafts in the widest block.
        memory: rounds after which a round counts for 1/e.
        weight: how many rounds the borrowed chance counts for.
        start: chance assumed before any round, unless there is a longer memory to borrow from.
    """

    def __init__(self, positions: int, memory: float, weight: float, start: float = 0.0) -> None:
        self._decay = 1 - 1 / memory
        self._weight = weight
        self._start = start
        self._accepted = [0.0] * positions
        self._tested = [0.0] * positions

    def record(self, tested: int, accepted: int, rounds: float = 1.0) -> None:
        """Record a round, `rounds` rounds (or as many plain steps) after the last one."""
        decay = self._decay**rounds
        self._accepted = [count * decay for count in self._accepted]
        self._tested = [count * decay for count in self._tested]
        for i in range(tested):
            self._tested[i] += 1
            self._accepted[i] += i < accepted

    def chances(self, longer: list[float] | None = None) -> list[float]:
        """Return each position's chance that its draft is accepted if those before it are.

        Args:
            longer: the chances of an estimate with a longer memory, to borrow from.
        """
        chances, weight, before = [], self._weight, self._start
        for i, accepted in enumerate(self._accepted):
            before = (accepted + weight * (before if longer is None else longer[i])) / (self._tested[i] + weight)
            chances.append(before)
        return chances

    def variances(self, chances: list[float]) -> list[float]:
        """Return the variance of every chance."""
        weight = self._weight + 1
        return [(p * (1 - p) + 0.01) / (tested + weight) for p, tested in zip(chances, self._tested, strict=True)]


class BlendedAcceptance:
    """Several memory lengths, weighted by how well each predicted the last rounds.

    Args:
        memories: in rounds, falling; each estimate borrows from the one before it, the first from `longest`.
        weight: how many rounds the borrowed chance counts for.
        longest: estimate that lasts from reply to reply.
    """

    def __init__(self, positions: int, memories: tuple[float, ...], weight: float, longest: Acceptance) -> None:
        self._estimates = [longest, *(Acceptance(positions, memory, weight) for memory in memories)]
        self._scores = [0.0] * len(self._estimates)  # decayed log likelihoods
        self._refresh()

    def record(self, tested: int, accepted: int, rounds: float) -> None:
        """See `Acceptance.record`; the longest memory counts only rounds."""
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
        """Return each position's chance, as `Acceptance.chances`, and its standard deviation."""
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
    """Return the expected tokens of a round: index w - 1 is for width w."""
    tokens, survival = [1.0], 1.0
    for chance in chances:
        survival *= chance
        tokens.append(tokens[-1] + survival)
    return tokens
