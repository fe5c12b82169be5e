"""Width control, which keeps DFlash at least as fast as plain decoding.

Before each pass, the loop asks for a `WidthChoice`; it reports the `PassOutcome` after the pass, at most one pass late.
`FixedWidth` always returns the requested width. `AutomaticWidth` maximizes tokens per second. Decisions depend only on the reported
outcomes: equal outcomes give equal choices. The model:

- A pass of width w costs what `PassCosts` expects, and yields one token plus the drafts that `BlendedAcceptance` expects. Plain
  steps compete with rounds.
- While plain steps win, trial rounds check whether that is still true. They may cost a fixed share of the time of all replies at
  similar temperatures, not of one reply. A part of this credit is kept for the start of the next reply, whose text may differ.
- Copies compete with both where there is something to copy. While they lose, trials with a share of their own check it.
- If other streams share the pass, it has their rows and yields their tokens, too. `shared_widths` then sets the width.
- A reply starts with the usual acceptance of earlier replies. If few drafts of the latest reply were accepted and plain steps won,
  they also win at the start of the next reply, until a trial is a success, after which its estimate starts over.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from math import exp
from statistics import median
from typing import Protocol

from mlx_engine.contract.errors import EngineText
from mlx_engine.decoding.acceptance import ASSUMED_ACCEPTANCE, BlendedAcceptance, tokens_by_width
from mlx_engine.decoding.copy_rates import CopyRates
from mlx_engine.decoding.costs import COPY_WIDTHS, LADDER, NOTHING, PLAIN_STEP, PassKind, PassLoad
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.drafters.lookup import Offer

# Costs and credits are in plain steps unless stated otherwise
_TRIAL_SHARE = 0.015  # share of the time for trials of plain steps and rounds
_COPY_TRIAL_SHARE = 0.005  # and of copies
_FIRST_CREDIT = 2.0  # least trial credit at the start of a reply, unless plain decoding won in the latest one
_MAX_CREDIT = 4.0  # limit of saved trial credit
_INTERRUPTION = 0.1  # cost of a trial for the plain step after it, which can't be queued ahead
_HOPELESS = 0.5  # first-draft acceptance below which the next reply starts with plain decoding, too
_SUCCESS = 2  # accepted drafts after which a hopeless reply is forgotten
_MIN_LOSS = 0.05  # minimum charge for a trial, even if it wins
_PARKING_DOUBT = 0.7  # standard deviations of acceptance granted to rounds before plain decoding takes over
_OPTIMISM = 1.0  # standard deviations added to the estimate for a trial
_MIN_GAIN = 1.02  # minimum speed-up that a trial, or a pass with copies, must promise
_PLAIN_TRIAL_STEPS = 2  # two, because the first isn't queued ahead and its time isn't representative
_VAGUE = 0.12  # uncertainty of the plain cost, relative to the best round's, above which plain decoding is timed first
_STEPS_PER_ROUND = 8.0  # plain steps that count as one round for the decay of acceptance
_MEMORIES = (40.0, 10.0)  # of acceptance estimates, in rounds
_HOPED = 0.75  # acceptance assumed for a trial during plain decoding
_BATCH = 8  # plain steps per recorded median
_CONFIDENCE_RATE = 0.05  # correction of a drafter's confidence per tested draft
_REVIEW_EVERY = 32  # plain steps between comparisons of costs

_HOPED_COPIES = CopyRates()  # of trials

FEW_ACCEPTED = EngineText.of("few_drafts_accepted", "few drafts were accepted")
VERIFY_TOO_SLOW = EngineText.of("verify_too_slow", "verifying several tokens in one pass is too slow on this machine")
OTHERS_SHARE = EngineText.of("others_share_passes", "rows of other replies were worth more")
WIDTH_1_REQUESTED = EngineText.of("width_1_requested", "width 1 was requested")
NOTHING_TO_COPY = EngineText.of("nothing_to_copy", "lookup found nothing to copy")
TIMING_PLAIN = EngineText.of("timing_plain_decoding", "plain decoding was being timed")


@dataclass(frozen=True)
class Company:
    """What other streams bring to the next pass.

    Attributes:
        load: their rows.
        tokens: that they should yield.
        own: the stream's pass that yields the most tokens of all streams per second; None without others.
    """

    load: PassLoad = NOTHING
    tokens: float = 0.0
    own: PassKind | None = None


ALONE = Company()


@dataclass(frozen=True)
class WidthChoice:
    """The kind of the next pass.

    Attributes:
        why: reason for a plain step.
        trial: whether it is made to measure its cost or acceptance.
        appends: whether copies follow the drafts if these end like earlier text.
        match: length of the match that copies continue.
        company: other streams in the pass.
        pace: expected seconds per token of the best pass.
    """

    kind: PassKind
    why: EngineText | None = None
    trial: bool = False
    appends: bool = False
    match: int = 0
    company: Company = field(default=ALONE, compare=False)
    pace: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class PassOutcome:
    """The outcome of a pass. `seconds` is None if the time isn't representative."""

    choice: WidthChoice
    depth: int
    seconds: float | None
    tested: int = 0
    accepted: int = 0


class WidthController(Protocol):
    """Chooses the kind of each pass of a reply.

    Attributes:
        company: other streams in the next pass.
        drafted: rows of each draft, if confidence narrows the pass afterwards; otherwise 0.
    """

    company: Company = ALONE
    drafted: int = 0

    def offers(self) -> list[tuple[PassKind, float]]:
        """Return a stream's possible passes in company, by width, and their tokens."""
        ...

    def usual(self, depth: int) -> tuple[PassKind, float]:
        """Return the pass that a stream would have alone, and its tokens."""
        return self.offers()[0]

    def shared_seconds(self, load: PassLoad) -> float | None:
        """Return the expected time of a pass that streams share, or None if unknown."""
        return None

    def record_shared(self, load: PassLoad, seconds: float) -> None:
        """Learn from the time of a pass that streams shared."""
        return None

    def doubts(self, load: PassLoad, steps: PassLoad) -> bool:
        """Return whether plain steps must be timed to know if `load` pays."""
        return False

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        """Return the kind of the next pass.

        Args:
            depth: number of cached tokens.
            offer: what lookup can copy.
        """
        ...

    def widest(self, choice: WidthChoice) -> int:
        """Return the rows to draft before `fit` narrows the choice, or 0 if it can't."""
        return 0

    def fit(self, choice: WidthChoice, depth: int, confidence: list[float]) -> WidthChoice:
        """Return the choice with the width that promises the most for these drafts.

        Args:
            confidence: the drafter's log-odds that each draft is accepted if all earlier ones are.
        """
        return choice

    def extend(self, choice: WidthChoice, depth: int, offer: Offer) -> WidthChoice:
        """Return the choice with as many copies behind its drafts as pay."""
        return choice

    def record(self, outcome: PassOutcome) -> None:
        """Learn from the outcome of a pass."""


class FixedWidth(WidthController):
    """A controller with one width; width 1 is plain decoding, for a reason."""

    def __init__(self, width: int, why: EngineText | None = WIDTH_1_REQUESTED) -> None:
        self._choice = WidthChoice(PLAIN_STEP, why) if width == 1 else WidthChoice(PassKind("drafter", width))

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        return self._choice

    def offers(self) -> list[tuple[PassKind, float]]:
        kind = self._choice.kind
        return [(kind, tokens_by_width([ASSUMED_ACCEPTANCE] * (kind.width - 1))[-1])]

    def record(self, outcome: PassOutcome) -> None: ...


@dataclass(slots=True)
class _Expected:
    """What passes should cost and yield at one depth.

    Attributes:
        seconds: of a plain step, then of each drafter round.
        chances, deviations: acceptance of each draft, and its uncertainty.
        others: tokens of other streams.
        tokens: of passes of 1, 2, … rows, with those of other streams.
        pace: seconds per token.
    """

    seconds: dict[PassKind, float]
    chances: list[float]
    deviations: list[float]
    others: float
    tokens: list[float]
    pace: dict[PassKind, float]

    def hoped(self, deviations: float) -> list[float]:
        """Return the tokens if acceptance is higher by so many standard deviations."""
        return self.yields([min(p + deviations * d, 0.98) for p, d in zip(self.chances, self.deviations, strict=True)])

    def yields(self, chances: list[float]) -> list[float]:
        """Return the tokens of passes of 1, 2, … rows, with those of other streams."""
        return [self.others + tokens for tokens in tokens_by_width(chances)]


@dataclass(frozen=True)
class _Outlook:
    """The best pass with its seconds per token, and the best trial with its price."""

    best: WidthChoice
    pace: float
    company: Company
    trial: PassKind | None = None
    price: float = 0.0


class AutomaticWidth(WidthController):
    """Controller that chooses the fastest width for one reply.

    Args:
        history: costs and acceptance.
        lookup_only: whether to choose no drafter rounds.
        temperature: of the reply.
    """

    def __init__(self, history: PairHistory, lookup_only: bool = False, temperature: float = 0.0) -> None:
        self._history, self._costs, self._band = history, history.costs, history.band(temperature)
        self._block, self.drafted = history.block, history.costs.block
        self._confidence: list[float] = []  # chances of the latest drafts, by the drafter's confidence
        self._kinds = [] if lookup_only else [PassKind("drafter", width) for width in LADDER if 1 < width <= history.block]
        self._hopeless = self._parked = self._band.hopeless is not None  # parked: whether plain decoding has taken over
        self._drafts = self._blend()
        if not self._parked:
            self._band.credit = max(self._band.credit, _FIRST_CREDIT)
        self._outlook: _Outlook | None = None
        self._began = False  # whether a pass was recorded
        self._trial_steps = 0  # remaining plain steps of a trial
        self._pace = 0.0  # seconds per token of the best pass
        self._steps_since_round = 0
        self._batch: list[float] = []  # seconds of unrecorded plain steps
        self._failures = 0  # consecutive trials that accepted nothing

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        """Return the pass with the most tokens per second, or an affordable trial."""
        return replace(self._best(depth, offer), company=self.company, pace=self._pace)

    def _best(self, depth: int, offer: Offer | None) -> WidthChoice:
        if self._trial_steps:
            self._trial_steps -= 1
            return WidthChoice(PLAIN_STEP, TIMING_PLAIN, trial=True)
        if self._outlook is None or self._outlook.company != self.company:
            self._outlook = self._compare(depth)
        outlook = self._outlook
        best, self._pace = outlook.best, outlook.pace
        if offer is not None and (copying := self._with_copies(depth, offer, outlook)) is not None:
            if not self._parked:
                return copying
            best, self._pace = copying, copying.pace  # rounds are still tried: they may yield more than copies
        if outlook.trial is None or not self._began or self._band.credit < outlook.price:
            return best
        if outlook.trial == PLAIN_STEP:
            self._trial_steps = _PLAIN_TRIAL_STEPS - 1
            return WidthChoice(PLAIN_STEP, TIMING_PLAIN, trial=True)
        return WidthChoice(outlook.trial, trial=True)

    def offers(self) -> list[tuple[PassKind, float]]:
        tokens = tokens_by_width(self._drafts.chances()[0])
        return [(kind, tokens[kind.width - 1]) for kind in (PLAIN_STEP, *self._kinds)]

    def usual(self, depth: int) -> tuple[PassKind, float]:
        self.company = ALONE
        if self._outlook is None or self._outlook.company != ALONE:
            self._outlook = self._compare(depth)
        return next(offer for offer in self.offers() if offer[0] == self._outlook.best.kind)

    def shared_seconds(self, load: PassLoad) -> float | None:
        return self._costs.shared_seconds(load)

    def record_shared(self, load: PassLoad, seconds: float) -> None:
        self._costs.record_shared(load, seconds)

    def doubts(self, load: PassLoad, steps: PassLoad) -> bool:
        return self._costs.is_less_known(steps, load, _VAGUE)

    def widest(self, choice: WidthChoice) -> int:
        return 0 if choice.trial else self._block

    def fit(self, choice: WidthChoice, depth: int, confidence: list[float]) -> WidthChoice:
        self._confidence = [1 / (1 + exp(-max(odds + self._history.shift, -50.0))) for odds in confidence]
        tokens = tokens_by_width(self._confidence)
        kinds = [kind for kind in self._kinds if kind.width <= len(tokens)]
        gains = {
            kind: tokens[kind.width - 1] - self._costs.seconds(kind, depth, choice.company.load) / choice.pace for kind in kinds
        }
        return replace(choice, kind=max(gains, key=lambda kind: gains[kind])) if gains else choice

    def extend(self, choice: WidthChoice, depth: int, offer: Offer) -> WidthChoice:
        rates, like = (_HOPED_COPIES, choice.kind) if choice.trial else (self._band.copies, None)
        tokens, (_, accepted) = rates.tokens(offer.match), rates.blocks()
        kinds = choice.kind, *_copies_behind(choice.kind.width, offer.tokens)
        seconds = self._costs.all_seconds(kinds, depth, choice.company.load, like)
        gains = [accepted * tokens[kind.copied] - each / choice.pace for kind, each in zip(kinds, seconds, strict=True)]
        return replace(choice, kind=kinds[gains.index(max(gains))], match=offer.match)

    def record(self, outcome: PassOutcome) -> None:
        """Update costs, acceptance, and trial budget with the outcome of a pass."""
        kind, depth, company = outcome.choice.kind, outcome.depth, outcome.choice.company
        if outcome.seconds is not None:
            self._record_time(outcome.choice, depth, outcome.seconds)
        self._began = True
        plain, seconds = (self._costs.seconds(each, depth, company.load) for each in (PLAIN_STEP, kind))
        earned = seconds / plain / (company.load.streams + 1)  # each stream of a pass records it
        self._band.credit = min(self._band.credit + _TRIAL_SHARE * earned, _MAX_CREDIT)
        self._band.copies.earn(_COPY_TRIAL_SHARE * earned)
        drafts = max(kind.block - 1, 0)
        tested, accepted = min(outcome.tested, drafts), min(outcome.accepted, drafts)
        if outcome.choice.trial:
            if outcome.seconds is not None:
                seconds = min(seconds, outcome.seconds)  # a single pass can take far longer because of other programs
            tokens = outcome.accepted + 1 + company.tokens
            if outcome.choice.appends:  # only the copies are tried
                seconds -= self._costs.seconds(PassKind("drafter", kind.block), depth, company.load)
                tokens = outcome.accepted - accepted
            loss = (seconds - tokens * outcome.choice.pace) / plain
            spent = max(loss + (_INTERRUPTION if self._parked else 0.0), _MIN_LOSS)
            if kind.proposer == "lookup" or outcome.choice.appends:
                self._band.copies.spend(spent, failed=outcome.accepted == accepted)
            else:
                self._band.credit -= spent
        if kind == PLAIN_STEP:
            self._steps_since_round += 1
            if self._steps_since_round % _REVIEW_EVERY == 0 or outcome.choice.trial:
                self._outlook = None
            return
        self._band.copies.record(outcome.choice.match, outcome.tested - tested, outcome.accepted - accepted)
        if kind.proposer == "lookup":
            self._steps_since_round += outcome.accepted + 1
            return
        if outcome.choice.appends and not tested == accepted < drafts:  # otherwise the end of the reply cut the block short
            self._band.copies.record_block(kind.copied > 0, accepted == drafts)
        for at, chance in enumerate(self._confidence[:tested]):
            self._history.shift += _CONFIDENCE_RATE * ((at < accepted) - chance)
        self._confidence = []
        rounds = 1 + self._steps_since_round / _STEPS_PER_ROUND
        self._steps_since_round = 0
        if self._hopeless and accepted >= min(_SUCCESS, drafts):  # the text has changed
            self._hopeless, self._drafts = False, self._blend()
            self._band.hopeless = None
        self._drafts.record(tested, accepted, rounds)
        self._failures = self._failures + 1 if outcome.choice.trial and outcome.accepted == 0 else 0
        self._outlook = None

    def _record_time(self, choice: WidthChoice, depth: int, seconds: float) -> None:
        """Record the time of a pass; for plain steps, the median of each batch."""
        if choice.kind != PLAIN_STEP or choice.trial:
            self._costs.record(choice.kind, depth, seconds)
            return
        self._batch.append(seconds)
        if len(self._batch) == _BATCH:
            self._costs.record(PLAIN_STEP, depth, median(self._batch), _BATCH)
            self._batch.clear()

    def _compare(self, depth: int) -> _Outlook:
        """Compare plain steps, rounds, and trials by what they should cost and yield."""
        chances, deviations = self._drafts.chances()
        company = self.company
        plain, *rounds = self._costs.all_seconds(self._costs.kinds, depth, company.load)
        if not self._kinds:
            return _Outlook(WidthChoice(PLAIN_STEP, NOTHING_TO_COPY), plain / (1 + company.tokens), company)
        seconds = {PLAIN_STEP: plain, **dict(zip(self._kinds, rounds, strict=True))}
        expected = _Expected(seconds, chances, deviations, company.tokens, [], {})
        expected.tokens = expected.yields(chances)
        pace = expected.pace = {kind: each / expected.tokens[kind.width - 1] for kind, each in seconds.items()}
        best = min(pace, key=pace.__getitem__)
        if company.own is not None:
            best = company.own
        elif best == PLAIN_STEP and not self._parked:
            best = self._doubted_round(expected)
        self._parked = best == PLAIN_STEP
        if self._parked:
            self._hopeless = chances[0] < _HOPELESS  # not of the band, which replies at the same time share
            self._band.hopeless = chances if self._hopeless else None
            return self._plain_outlook(expected)
        trial, price = self._trial(best, expected) if self._began and self._band.credit >= _MIN_LOSS else (None, 0.0)
        return _Outlook(WidthChoice(best), pace[best], company, trial, price)

    def _doubted_round(self, expected: _Expected) -> PassKind:
        """Return the best round if acceptance may be high enough, or a plain step."""
        best = min(self._kinds, key=expected.pace.__getitem__)
        wins = expected.hoped(_PARKING_DOUBT)[best.width - 1] / expected.seconds[best] * expected.seconds[PLAIN_STEP] > 1
        return best if wins else PLAIN_STEP

    def _trial(self, best: PassKind, expected: _Expected) -> tuple[PassKind | None, float]:
        """Return the pass that may surprise most while rounds win, and its price."""
        costs, pace, plain, hoped = self._costs, expected.pace[best], expected.seconds[PLAIN_STEP], expected.hoped(_OPTIMISM)
        trial, price, limit = None, 0.0, _MIN_GAIN / pace
        if (
            self.company == ALONE
            and pace < plain
            and costs.counts[PLAIN_STEP] < _PLAIN_TRIAL_STEPS
            and costs.uncertainty(PLAIN_STEP, best) > _VAGUE
        ):
            return PLAIN_STEP, _PLAIN_TRIAL_STEPS * max(1 - pace / plain, _MIN_LOSS)
        for kind, seconds in expected.seconds.items():
            # A narrower round can surprise only by its cost, not by its acceptance
            tokens = (expected.tokens if kind.width < best.width else hoped)[kind.width - 1]
            rate = tokens / seconds * exp(_OPTIMISM * costs.uncertainty(kind, best))
            if kind == best or rate <= limit:
                continue
            loss = seconds - expected.tokens[kind.width - 1] * pace
            cost = max(loss / plain, _MIN_LOSS) * (_PLAIN_TRIAL_STEPS if kind == PLAIN_STEP else 1)
            if cost <= _MAX_CREDIT:  # otherwise a cheaper trial comes first, and also informs about its neighbors
                trial, limit, price = kind, rate, cost
        return trial, price

    def _plain_outlook(self, expected: _Expected) -> _Outlook:
        """Return the outlook while plain decoding wins, with the most promising trial."""
        plain, seconds, company = expected.pace[PLAIN_STEP], expected.seconds, self.company
        step = seconds[PLAIN_STEP]
        hoped = expected.yields([_HOPED] * (self._kinds[-1].width - 1))
        can_pay = any(hoped[kind.width - 1] * plain > seconds[kind] for kind in self._kinds)
        why = FEW_ACCEPTED if can_pay else VERIFY_TOO_SLOW if company.own is None else OTHERS_SHARE
        choice = WidthChoice(PLAIN_STEP, why)
        trial, best_ratio = None, 0.0
        for kind in self._kinds:
            # A round that wasn't timed lately may cost less now
            least = seconds[kind] * exp(-_OPTIMISM * self._costs.uncertainty(kind, PLAIN_STEP))
            gain, loss = hoped[kind.width - 1] * plain - least, max(seconds[kind] - step, _MIN_LOSS * step)
            if gain / loss > best_ratio:
                trial, best_ratio = kind, gain / loss
        if trial is None:
            # All rounds seem too slow, but the machine may have been busy: try rarely
            trial = min(self._kinds, key=lambda kind: seconds[kind])
            return _Outlook(choice, plain, company, trial, 0.9 * _FIRST_CREDIT)
        loss = max((seconds[trial] - expected.tokens[trial.width - 1] * plain) / step, _MIN_LOSS)
        # After a failure, keep enough credit for a trial at the start of the next reply
        return _Outlook(choice, plain, company, trial, min((loss + _INTERRUPTION) * min(1 + self._failures, 3), _MAX_CREDIT))

    def _blend(self) -> BlendedAcceptance:
        return BlendedAcceptance(self._block - 1, _MEMORIES, 3.0, self._band.usual, self._band.hopeless)

    def _with_copies(self, depth: int, offer: Offer, outlook: _Outlook) -> WidthChoice | None:
        """Return a round with copies that should pay, or an affordable trial of one."""
        rates = self._band.copies
        if paying := self._paying_copies(depth, offer, outlook, rates):
            return min(paying, key=lambda choice: choice.pace)
        if rates.credit <= 0 or not (hoped := self._paying_copies(depth, offer, outlook, _HOPED_COPIES)):
            return None
        return replace(hoped[rates.failures % len(hoped)], trial=True, pace=outlook.pace)

    def _paying_copies(self, depth: int, offer: Offer, outlook: _Outlook, rates: CopyRates) -> list[WidthChoice]:
        """Return the best rounds of copies alone and behind a block that should pay."""
        load, others, without = self.company.load, self.company.tokens, outlook.best.kind
        if not (tokens := rates.tokens(offer.match)):
            return []
        like = without if rates is _HOPED_COPIES else None
        alone = _copies_alone(offer.tokens)
        plain, shorter, *seconds = self._costs.all_seconds((PLAIN_STEP, without, *alone), depth, load, like)
        limit = min(outlook.pace, plain / (1 + others))  # a round may be chosen to find out if it's faster than a plain step
        limit /= _MIN_GAIN  # the host reads tokens or drafts first, so that no pass is queued
        paces = [each / (tokens[kind.width - 1] + others) for kind, each in zip(alone, seconds, strict=True)]
        found = []
        if (pace := min(paces, default=limit)) < limit:
            found.append(WidthChoice(alone[paces.index(pace)], match=offer.match, pace=pace))
        if without.block and self._history.appending:
            longer = _copies_behind(without.width, offer.tokens)
            (followed, accepted), tokens = rates.blocks(), rates.tokens(offer.match + without.width - 1)
            drafted = tokens_by_width(self._drafts.chances()[0])[without.width - 1] + others
            paces = [
                (shorter + followed * (each - shorter)) / (drafted + followed * accepted * (tokens[kind.copied] - 1))
                for kind, each in zip(longer, self._costs.all_seconds(longer, depth, load, like), strict=True)
            ]
            if (pace := min(paces, default=limit)) < limit:
                found.append(replace(outlook.best, appends=True, pace=pace))
        return found


@cache
def _copies_alone(most: int) -> tuple[PassKind, ...]:
    """Return the rounds of up to `most` copies."""
    return tuple(PassKind("lookup", width) for width in COPY_WIDTHS if 1 < width <= most + 1)


@cache
def _copies_behind(block: int, most: int) -> tuple[PassKind, ...]:
    """Return the rounds with copies behind a block, of up to `most` drafts together."""
    return tuple(PassKind("drafter", width, width - block) for width in COPY_WIDTHS if block < width <= most + 1)
