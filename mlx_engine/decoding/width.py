"""How wide the next pass is: the controller that is to keep DFlash from being slower than plain decoding.

Before each pass the loop asks for a `Choice`, and afterwards says what came of it. `Fixed` always answers the same. `Automatic`
picks the kind of pass that yields the most tokens a second, from what passes cost here (`Costs`) and how many drafts were kept
lately (`Acceptance`); a plain step is one of the kinds. Where plain decoding wins it stays there and tries a round now and then;
what trials may lose is a small share of the time, of which account is kept. Nothing here knows tensors or clocks, and equal
observations give equal choices.
"""

from dataclasses import dataclass
from math import exp, inf
from statistics import median
from typing import Protocol

from mlx_engine.decoding.acceptance import Acceptance, Blend, tokens_by_width
from mlx_engine.decoding.costs import ASSUMED, LADDER, PLAIN, Costs, Pass, Table
from mlx_engine.drafters.lookup import Offer

_TRIAL_SHARE = 0.015  # of the time: what trials may lose
_FIRST_CREDIT = 2.0  # plain steps' worth that trials may lose at once, at the beginning of a reply
_HOPELESS = 0.25  # chance that the first draft is kept, from all replies before, below which that is an advance on the share
_MOST_CREDIT = 4.0  # plain steps' worth that may be saved up for trials
_LEAST_LOSS = 0.05  # plain steps that a trial is held to cost, even if it wins
_PARTING = 0.7
_HOPE = 1.0  # standard deviations by which a trial's prospects may exceed what is believed
_WORTH = 1.02  # a trial must promise to be faster by this factor
_SPELL = 2  # plain steps in a trial of plain decoding; the first is not queued ahead and tells little
_VAGUE = 0.12  # doubt about plain decoding's cost, relative to the best round's, from which on a trial of it comes first
_AGE = 8.0  # plain steps that make older rounds fade as one round does
_MEMORIES = (40.0, 10.0)  # rounds that this reply's acceptance is judged by
_UNKNOWN = 0.7  # chance of a draft before any was seen
_AGAIN = 0.75  # chance of a draft that a trial out of plain decoding hopes for
_COPIES = {3: 0.5, 6: 0.75, 12: 0.9}  # chance of a copied token at first, by the length of the match that it continues
_BUNCH = 8  # plain steps whose times are told together
_LOOK_AGAIN = 32  # plain steps after which costs are weighed afresh

FEW_ACCEPTED = "few drafts were accepted"
TOO_DEAR = "checking several tokens at once is too slow here"
ASKED = "width 1 was asked for"
TRIAL = "plain decoding was to be timed"


@dataclass(frozen=True)
class Choice:
    """The next pass. `why` is set for plain steps; `trial` marks a pass that is made to learn from it."""

    kind: Pass
    why: str = ""
    trial: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a pass gave after `depth` tokens. `seconds` is None where its time means nothing."""

    choice: Choice
    depth: int
    seconds: float | None
    tested: int = 0
    accepted: int = 0
    match: int = 0


class Controller(Protocol):
    """Asked before every pass; may hear of the outcome one pass late."""

    def choose(self, depth: int, offer: Offer | None = None) -> Choice:
        """The next pass, after `depth` tokens; lookup's offer as far as there is one."""
        ...

    def saw(self, outcome: Outcome) -> None:
        """A pass is over."""
        ...


class Fixed:
    """Always the same width, proposed by the drafter; width 1 is plain decoding."""

    def __init__(self, width: int) -> None:
        self._choice = Choice(PLAIN, ASKED) if width == 1 else Choice(Pass("drafter", width))

    def choose(self, depth: int, offer: Offer | None = None) -> Choice:
        """The width that was asked for."""
        return self._choice

    def saw(self, outcome: Outcome) -> None:
        """Nothing is learnt."""


class Experience:
    """What is known of a pair on this machine, kept from reply to reply.

    Args:
        block: the drafter's block size.
        table: measured costs, or what is assumed until the clock says better.
        lookup: whether copies of prompt and reply may be proposed too.
    """

    def __init__(self, block: int, table: Table = ASSUMED, lookup: bool = True) -> None:
        self.block, self.lookup = block, lookup
        self.costs = Costs(table, block)
        self.drafts = Acceptance(block - 1, memory=200, weight=1.0, start=_UNKNOWN)
        self.copies = {least: Acceptance(block - 1, memory=50, weight=1.0, start=chance) for least, chance in _COPIES.items()}


@dataclass(frozen=True)
class _View:
    """What the drafter's evidence says: the best pass and its seconds a token, and the trial most worth making with its price."""

    best: Choice
    pace: float
    trial: Pass | None
    price: float


class Automatic:
    """The controller of one reply."""

    def __init__(self, experience: Experience) -> None:
        self._costs, self._copies = experience.costs, experience.copies
        self._kinds = [Pass("drafter", width) for width in LADDER if 1 < width <= experience.block]
        self._drafts = Blend(experience.block - 1, _MEMORIES, 3.0, experience.drafts)
        self._view: _View | None = None
        self._credit: float | None = None
        self._advanced = experience.drafts.chances()[0] < _HOPELESS
        self._owed = 0.0  # of the advance
        self._spell = 0  # plain steps still to come in a trial of plain decoding
        self._pace = 0.0  # seconds a token of the best pass, which a trial is measured against
        self._parked = False
        self._plainly = 0  # plain steps since the last round
        self._bunch: list[float] = []  # seconds of plain steps not yet told to the costs
        self._failed = 0  # trials out of plain decoding that failed one after the other

    def choose(self, depth: int, offer: Offer | None = None) -> Choice:
        """The kind of pass that yields most tokens a second, or a trial of one that might."""
        if self._spell:
            self._spell -= 1
            return Choice(PLAIN, TRIAL, trial=True)
        if self._view is None:
            self._view = self._weigh(depth)
        view = self._view
        self._pace = view.pace
        if offer is not None and (copy := self._copy(depth, offer, view)) is not None:
            return copy
        if view.trial is None or self._credit is None or self._credit < view.price:
            return view.best
        if view.trial == PLAIN:
            self._spell = _SPELL - 1
            return Choice(PLAIN, TRIAL, trial=True)
        return Choice(view.trial, trial=True)

    def saw(self, outcome: Outcome) -> None:
        """Learn from a pass."""
        kind, depth = outcome.choice.kind, outcome.depth
        if outcome.seconds is not None:
            self._time(outcome.choice, depth, outcome.seconds)
        seconds = self._costs.seconds(kind, depth) if outcome.seconds is None else outcome.seconds
        plain = self._costs.seconds(PLAIN, depth)
        if self._credit is None:
            self._credit = _FIRST_CREDIT * plain
            self._owed = self._credit if self._advanced else 0.0
        earned = _TRIAL_SHARE * seconds
        paid = min(earned, self._owed)
        self._owed -= paid
        self._credit = min(self._credit + earned - paid, _MOST_CREDIT * plain)
        if outcome.choice.trial:
            self._credit -= max(seconds - (outcome.accepted + 1) * self._pace, _LEAST_LOSS * plain)
        if kind == PLAIN:
            self._plainly += 1
            if self._plainly % _LOOK_AGAIN == 0 or outcome.choice.trial:
                self._view = None
            return
        if kind.proposer == "lookup":
            self._copies[_class(outcome.match)].saw(outcome.tested, outcome.accepted)
            self._plainly += outcome.accepted + 1
            return
        rounds = 1 + self._plainly / _AGE
        self._plainly = 0
        self._drafts.saw(outcome.tested, outcome.accepted, rounds)
        self._failed = self._failed + 1 if outcome.choice.trial and outcome.accepted == 0 else 0
        self._view = None

    def _time(self, choice: Choice, depth: int, seconds: float) -> None:
        """Tell the costs, of plain steps by the bunch."""
        if choice.kind != PLAIN or choice.trial:
            self._costs.saw(choice.kind, depth, seconds)
            return
        self._bunch.append(seconds)
        if len(self._bunch) == _BUNCH:
            self._costs.saw(PLAIN, depth, median(self._bunch), _BUNCH)
            self._bunch.clear()

    def _weigh(self, depth: int) -> _View:
        costs = self._costs
        chances, doubts = self._drafts.chances()
        tokens = tokens_by_width(chances)
        plain, *rounds = costs.all_seconds(depth)
        seconds = dict(zip(self._kinds, rounds, strict=True))
        best, pace = PLAIN, plain
        for kind, each in seconds.items():
            if each / tokens[kind.width - 1] < pace:
                best, pace = kind, each / tokens[kind.width - 1]
        if best == PLAIN:
            if not self._parked:  # believed, but is it certain?
                parting = tokens_by_width([min(p + _PARTING * d, 0.98) for p, d in zip(chances, doubts, strict=True)])
                hopes = {kind: parting[kind.width - 1] / seconds[kind] for kind in self._kinds}
                best = max(hopes, key=lambda kind: tokens[kind.width - 1] / seconds[kind])
                if hopes[best] * plain > 1:
                    pace = seconds[best] / tokens[best.width - 1]
            if pace == plain:
                self._parked = True
                return self._plain_view(plain, seconds, tokens)
        self._parked = False
        if self._credit is None or self._credit < _LEAST_LOSS * plain:  # which no trial is held to cost less than
            return _View(Choice(best), pace, None, 0.0)
        trial, most = None, _WORTH / pace
        if pace < plain and costs.seen[PLAIN] < _SPELL and costs.doubt(PLAIN, best) > _VAGUE:
            trial, most = PLAIN, inf
        hoped = tokens_by_width([min(p + _HOPE * d, 0.98) for p, d in zip(chances, doubts, strict=True)])
        price = _SPELL * max(plain - pace, _LEAST_LOSS * plain)
        for kind in (PLAIN, *self._kinds):
            # a narrower round teaches nothing of drafts that the best one does not: only what it costs is to be learnt
            yields = tokens if kind.width < best.width else hoped
            each = plain if kind == PLAIN else seconds[kind]
            hope = yields[kind.width - 1] / each * exp(_HOPE * costs.doubt(kind, best))
            if kind == best or hope <= most:
                continue
            loss = each - tokens[kind.width - 1] * pace
            asked = max(loss, _LEAST_LOSS * plain) * (_SPELL if kind == PLAIN else 1)
            if asked <= _MOST_CREDIT * plain:  # else one that can be afforded comes first, and tells something of its neighbours
                trial, most, price = kind, hope, asked
        return _View(Choice(best), pace, trial, price)

    def _plain_view(self, plain: float, seconds: dict[Pass, float], tokens: list[float]) -> _View:
        """Plain decoding is fastest. The trial is the round that would win most for what it may lose, were drafts kept again."""
        hoped = tokens_by_width([_AGAIN] * (len(self._kinds) and self._kinds[-1].width - 1))
        pays = any(hoped[kind.width - 1] * plain > seconds[kind] for kind in self._kinds)
        why = FEW_ACCEPTED if pays else TOO_DEAR
        trial, most = None, 0.0
        for kind in self._kinds:
            # what was not timed lately may have become cheaper
            least = seconds[kind] * exp(-_HOPE * self._costs.doubt(kind, PLAIN))
            gain, loss = hoped[kind.width - 1] * plain - least, max(seconds[kind] - plain, 0.05 * plain)
            if gain / loss > most:
                trial, most = kind, gain / loss
        if trial is None and self._kinds:
            # too dear as it seems, but a machine that was busy with something else may be free again: once a reply, and seldom
            trial = min(self._kinds, key=lambda kind: seconds[kind])
            return _View(Choice(PLAIN, why), plain, trial, 0.9 * _FIRST_CREDIT * plain)
        price = 0.0
        if trial is not None:
            price = max(seconds[trial] - plain * tokens[trial.width - 1], _LEAST_LOSS * plain) * min(1 + self._failed / 4, 3.0)
        return _View(Choice(PLAIN, why), plain, trial, price)

    def _copy(self, depth: int, offer: Offer, view: _View) -> Choice | None:
        """A round of lookup's drafts where it beats the drafter's, or might."""
        if offer.match < min(_COPIES):
            return None
        chances = self._copies[_class(offer.match)].chances()
        tokens = tokens_by_width(chances)
        best, pace = None, view.pace
        for width in LADDER:
            if 1 < width <= min(offer.tokens + 1, len(tokens)):
                kind = Pass("lookup", width)
                each = self._costs.seconds(kind, depth) / tokens[width - 1]
                if each < pace:
                    best, pace = kind, each
        return None if best is None else Choice(best)


def _class(match: int) -> int:
    return max(least for least in _COPIES if least <= match)
