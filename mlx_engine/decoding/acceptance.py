"""How likely drafts are kept, position by position, as far as it was seen.

A round of width w shows how many of its w - 1 drafts were kept, and nothing of what a wider one would have kept. So it is survival
that is estimated: the chance that the draft at position i is kept once those before it were, from the rounds that put it to the
test. A position that was hardly tested borrows from the one before it, or from a longer memory.
"""

from math import exp, log, sqrt

_MERIT = 0.9  # by which a memory's merit fades from round to round
_LEAST = 0.02  # chance that a memory is held to have given to whatever happened


class Acceptance:
    """Chances by position, older rounds counting less and less.

    Args:
        positions: drafts of the widest block.
        memory: rounds after which a round counts for 1/e.
        weight: how many rounds what is borrowed counts for.
        start: chance assumed before anything is seen, where there is no longer memory to borrow from.
    """

    def __init__(self, positions: int, memory: float, weight: float, start: float = 0.0) -> None:
        self._fading = 1 - 1 / memory
        self._weight = weight
        self._start = start
        self._kept = [0.0] * positions
        self._tried = [0.0] * positions

    def saw(self, tested: int, accepted: int, rounds: float = 1.0) -> None:
        """A round kept `accepted` of `tested` drafts, `rounds` rounds (or their like in plain steps) after the last one."""
        fading = self._fading**rounds
        self._kept = [kept * fading for kept in self._kept]
        self._tried = [tried * fading for tried in self._tried]
        for i in range(tested):
            self._tried[i] += 1
            self._kept[i] += i < accepted

    def chances(self, longer: list[float] | None = None) -> list[float]:
        """For every position, that its draft is kept if those before it are; `longer` is what a longer memory says."""
        out, weight, before = [], self._weight, self._start
        for i, kept in enumerate(self._kept):
            before = (kept + weight * (before if longer is None else longer[i])) / (self._tried[i] + weight)
            out.append(before)
        return out

    def variances(self, chances: list[float]) -> list[float]:
        """How uncertain every chance is: its variance."""
        weight = self._weight + 1
        return [(p * (1 - p) + 0.01) / (tried + weight) for p, tried in zip(chances, self._tried, strict=True)]


class Blend:
    """Several memories at once, each weighed by how well it foretold the last rounds: even text favours long ones.

    Args:
        memories: in rounds, falling; each borrows from the one before it, the first from `longest`.
        weight: how many rounds what is borrowed counts for.
        longest: kept from reply to reply.
    """

    def __init__(self, positions: int, memories: tuple[float, ...], weight: float, longest: Acceptance) -> None:
        self._all = [longest, *(Acceptance(positions, memory, weight) for memory in memories)]
        self._merits = [0.0] * len(self._all)  # faded log likelihoods
        self._look()

    def saw(self, tested: int, accepted: int, rounds: float) -> None:
        """See `Acceptance.saw`; the longest memory counts rounds alone."""
        for i, chances in enumerate(self._chances):
            told = 0.0
            for p in chances[:accepted]:
                told += log(max(p, _LEAST))
            if accepted < tested:
                told += log(max(1 - chances[accepted], _LEAST))
            self._merits[i] = _MERIT * self._merits[i] + told
            self._all[i].saw(tested, accepted, rounds if i else 1.0)
        self._look()

    def chances(self) -> tuple[list[float], list[float]]:
        """For every position, that its draft is kept if those before it are, and the standard deviation of that."""
        top = max(self._merits)
        shares = [exp(merit - top) for merit in self._merits]
        whole = sum(shares)
        mean, square = [0.0] * len(self._chances[0]), [0.0] * len(self._chances[0])
        for share, each, chances in zip(shares, self._all, self._chances, strict=True):
            share /= whole
            for i, (p, variance) in enumerate(zip(chances, each.variances(chances), strict=True)):
                mean[i] += share * p
                square[i] += share * (variance + p * p)
        return mean, [sqrt(max(s - p * p, 0.0)) for p, s in zip(mean, square, strict=True)]

    def _look(self) -> None:
        self._chances: list[list[float]] = []
        for each in self._all:
            self._chances.append(each.chances(self._chances[-1] if self._chances else None))


def tokens_by_width(chances: list[float]) -> list[float]:
    """Expected tokens of a round by its width: index w - 1 holds those of width w."""
    out, survive = [1.0], 1.0
    for chance in chances:
        survive *= chance
        out.append(out[-1] + survive)
    return out
