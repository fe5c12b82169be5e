"""Estimates of the acceptance rate at each draft position.

A round of width w shows how many of its w - 1 drafts were accepted, but not how many of a wider round's would have been. The
estimate is therefore conditional: the probability that draft i is accepted given that all earlier drafts were, over the rounds that
tested draft i. A rarely tested position borrows from the previous position or from an estimate with a longer memory.
"""

from math import exp, inf, log, sqrt

ASSUMED_ACCEPTANCE = 0.7  # before any draft is tested
_SCORE_DECAY = 0.9  # decay of an estimate's log likelihood per round
_MIN_LIKELIHOOD = 0.02  # floor, so that one surprise doesn't rule out an estimate
_CHANGED = (0.03, 0.7)  # rates of hopeless and of unknown text
_CHANGE_ODDS = -2.5  # log odds of each of these
_USUAL_ODDS = -2.0  # log odds that text is as usual after a hopeless reply


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
    """A mixture of estimates for a reply, weighted by recent accuracy.

    Some estimates learn: from all replies, and from the latest rounds of this one. Others are fixed: the text may have become
    hopeless or unknown, or it may be like the latest reply. A fixed estimate takes over after one or two rounds that only it
    expected, and so a change of the text is noticed long before the others have learned it.

    Args:
        positions: number of drafts in the widest block.
        memories: memory in rounds of the estimates that learn from this reply, descending. Each borrows from the one before it.
        weight: weight of the borrowed rate, in rounds.
        usual: estimate that learns from all replies.
        latest: rates of the latest reply if it was hopeless, or None. They replace the usual ones, which then learn nothing.
    """

    def __init__(
        self, positions: int, memories: tuple[float, ...], weight: float, usual: Acceptance, latest: list[float] | None = None
    ) -> None:
        self._usual, self._latest = usual, latest
        self._own = [Acceptance(positions, memory, weight) for memory in memories]
        self._fixed = [*([chance] * positions for chance in _CHANGED), *([] if latest is None else [latest])]
        untested = Acceptance(positions, inf, 1.0)
        self._estimates = [*(untested for _ in self._fixed), usual, *self._own]
        self._odds = [
            *(_CHANGE_ODDS for _ in _CHANGED),
            *([0.0] if latest is None else [0.0, _USUAL_ODDS]),
            *(0.0 for _ in memories),
        ]
        self._scores = [0.0] * len(self._estimates)  # decayed log likelihoods
        self._mixed: tuple[list[float], list[float]] | None = None  # `chances`, until a round is recorded
        self._refresh()

    def record(self, tested: int, accepted: int, rounds: float) -> None:
        """Record a round, as in `Acceptance.record`. The usual rates ignore `rounds`."""
        decay = _SCORE_DECAY**rounds
        for i, chances in enumerate(self._chances):
            likelihood = 0.0
            for p in chances[:accepted]:
                likelihood += log(max(p, _MIN_LIKELIHOOD))
            if accepted < tested:
                likelihood += log(max(1 - chances[accepted], _MIN_LIKELIHOOD))
            self._scores[i] = decay * self._scores[i] + likelihood
        if self._latest is None:
            self._usual.record(tested, accepted)
        for estimate in self._own:
            estimate.record(tested, accepted, rounds)
        self._refresh()

    def chances(self) -> tuple[list[float], list[float]]:
        """Return each draft's acceptance rate and its standard deviation."""
        if self._mixed is None:
            self._mixed = self._mix()
        return self._mixed

    def _mix(self) -> tuple[list[float], list[float]]:
        scores = [score + odds for score, odds in zip(self._scores, self._odds, strict=True)]
        top = max(scores)
        shares = [exp(score - top) for score in scores]
        total = sum(shares)
        mean, square = [0.0] * len(self._fixed[0]), [0.0] * len(self._fixed[0])
        for share, estimate, chances in zip(shares, self._estimates, self._chances, strict=True):
            share /= total
            for i, (p, variance) in enumerate(zip(chances, estimate.variances(chances), strict=True)):
                mean[i] += share * p
                square[i] += share * (variance + p * p)
        return mean, [sqrt(max(s - p * p, 0.0)) for p, s in zip(mean, square, strict=True)]

    def _refresh(self) -> None:
        self._mixed = None
        usual = self._usual.chances()
        self._chances = [*self._fixed, usual]
        borrowed = usual if self._latest is None else self._latest
        for estimate in self._own:
            borrowed = estimate.chances(borrowed)
            self._chances.append(borrowed)


def tokens_by_width(chances: list[float]) -> list[float]:
    """Return the expected number of tokens per round; index w - 1 is for width w."""
    tokens, survival = [1.0], 1.0
    for chance in chances:
        survival *= chance
        tokens.append(tokens[-1] + survival)
    return tokens
