"""Width control, which keeps DFlash at least as fast as plain decoding.

Before each pass, the loop asks for a `WidthChoice`; it reports the `PassOutcome` after the pass, at most one pass late.
`FixedWidth` always returns the requested width. `AutomaticWidth` maximizes tokens per second, from pass costs (`PassCosts`) and
recent acceptance (`Acceptance`). Plain steps compete with rounds. While plain steps win, occasional trial rounds check whether that
is still true. Trials have a small time budget. Decisions depend only on the reported outcomes: equal outcomes give equal choices.
"""

from dataclasses import dataclass, replace
from math import exp, inf
from statistics import median

from mlx_engine.decoding.acceptance import Acceptance, BlendedAcceptance, tokens_by_width
from mlx_engine.decoding.costs import ASSUMED, LADDER, PLAIN_STEP, CostTable, PassCosts, PassKind
from mlx_engine.drafters.lookup import Offer
from mlx_engine.errors import EngineText

# Costs and credits are in plain steps unless stated otherwise
_TRIAL_SHARE = 0.015  # share of the time for trials
_FIRST_CREDIT = 2.0  # trial credit at the start of a reply
_HOPELESS = 0.25  # first-draft acceptance below which the first credit must be paid back
_MAX_CREDIT = 4.0  # limit of saved trial credit
_MIN_LOSS = 0.05  # minimum charge for a trial, even if it wins
_PARKING_DOUBT = 0.7  # standard deviations of acceptance granted to rounds before plain decoding takes over
_OPTIMISM = 1.0  # standard deviations added to the estimate for a trial
_MIN_GAIN = 1.02  # minimum speed-up that a trial must promise
_PLAIN_TRIAL_STEPS = 2  # two, because the first isn't queued ahead and its time isn't representative
_VAGUE = 0.12  # uncertainty of the plain cost, relative to the best round's, above which plain decoding is timed first
_STEPS_PER_ROUND = 8.0  # plain steps that count as one round for the decay of acceptance
_MEMORIES = (40.0, 10.0)  # of this reply's acceptance estimates, in rounds
_UNKNOWN = 0.7  # acceptance assumed before any draft is tested
_HOPED = 0.75  # acceptance assumed for a trial during plain decoding
_COPIES = {3: 0.5, 6: 0.75, 12: 0.9}  # match length -> acceptance assumed for a copied token
_BATCH = 8  # plain steps per recorded median
_CONFIDENCE_RATE = 0.05  # correction of a drafter's confidence per tested draft
_REVIEW_EVERY = 32  # plain steps between comparisons of costs

FEW_ACCEPTED = EngineText.of("few_drafts_accepted", "few drafts were accepted")
VERIFY_TOO_SLOW = EngineText.of("verify_too_slow", "verifying several tokens in one pass is too slow on this machine")
WIDTH_1_REQUESTED = EngineText.of("width_1_requested", "width 1 was requested")
NOTHING_TO_COPY = EngineText.of("nothing_to_copy", "lookup found nothing to copy")
TIMING_PLAIN = EngineText.of("timing_plain_decoding", "plain decoding was being timed")


@dataclass(frozen=True)
class WidthChoice:
    """The kind of the next pass."""

    kind: PassKind
    why: EngineText | None = None  # reason for a plain step
    trial: bool = False  # made to measure its cost or acceptance


@dataclass(frozen=True)
class PassOutcome:
    """The outcome of a pass. `seconds` is None if the time isn't representative."""

    choice: WidthChoice
    depth: int
    seconds: float | None
    tested: int = 0
    accepted: int = 0
    match: int = 0


class FixedWidth:
    """Controller that always chooses the same width; width 1 is plain decoding."""

    def __init__(self, width: int) -> None:
        self._choice = WidthChoice(PLAIN_STEP, WIDTH_1_REQUESTED) if width == 1 else WidthChoice(PassKind("drafter", width))

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        return self._choice

    def record(self, outcome: PassOutcome) -> None: ...


class PairHistory:
    """Costs and acceptance of a pair on this machine, kept across replies.

    Args:
        block: the drafter's block size.
        table: calibrated costs, or assumed ones to be corrected.

    Attributes:
        lookup: whether lookup may propose copies of prompt and reply.
        shift: correction of the drafter's confidence, in log-odds.
    """

    def __init__(self, block: int, table: CostTable = ASSUMED) -> None:
        self.block = block
        self.lookup = True
        self.shift = 0.0
        self.costs = PassCosts(table, block)
        self.drafts = Acceptance(block - 1, memory=200, weight=1.0, start=_UNKNOWN)
        self.copies = {length: Acceptance(block - 1, memory=50, weight=1.0, start=chance) for length, chance in _COPIES.items()}


@dataclass(frozen=True)
class _Outlook:
    """The best drafter pass with its seconds per token, and the best trial."""

    best: WidthChoice
    pace: float
    trial: PassKind | None
    price: float


class AutomaticWidth:
    """Controller that chooses the fastest width for one reply.

    Args:
        history: costs and acceptance.
        lookup_only: whether to choose no drafter rounds.
    """

    def __init__(self, history: PairHistory, lookup_only: bool = False) -> None:
        self._history, self._costs, self._copies = history, history.costs, history.copies
        self.block = history.block
        self._expected: list[float] = []  # chances of the latest drafts, by the drafter's confidence
        self._kinds = [] if lookup_only else [PassKind("drafter", width) for width in LADDER if 1 < width <= history.block]
        self._drafts = BlendedAcceptance(history.block - 1, _MEMORIES, 3.0, history.drafts)
        self._outlook: _Outlook | None = None
        self._credit: float | None = None  # seconds
        self._advance = history.drafts.chances()[0] < _HOPELESS
        self._debt = 0.0  # seconds of credit still to be paid back
        self._trial_steps = 0  # remaining plain steps of a trial
        self._pace = 0.0  # seconds per token of the best pass
        self._parked = False  # whether plain decoding has taken over
        self._steps_since_round = 0
        self._batch: list[float] = []  # seconds of unrecorded plain steps
        self._failures = 0  # consecutive trials that accepted nothing

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        """Return the pass with the most tokens per second, or an affordable trial."""
        if self._trial_steps:
            self._trial_steps -= 1
            return WidthChoice(PLAIN_STEP, TIMING_PLAIN, trial=True)
        if self._outlook is None:
            self._outlook = self._compare(depth)
        outlook = self._outlook
        self._pace = outlook.pace
        if offer is not None and (copy := self._lookup(depth, offer, outlook)) is not None:
            return copy
        if outlook.trial is None or self._credit is None or self._credit < outlook.price:
            return outlook.best
        if outlook.trial == PLAIN_STEP:
            self._trial_steps = _PLAIN_TRIAL_STEPS - 1
            return WidthChoice(PLAIN_STEP, TIMING_PLAIN, trial=True)
        return WidthChoice(outlook.trial, trial=True)

    def fit(self, choice: WidthChoice, depth: int, confidence: list[float]) -> WidthChoice:
        """Return the choice with the width that promises the most for these drafts.

        Args:
            confidence: the drafter's log-odds that each draft is accepted if all earlier ones are.
        """
        self._expected = [1 / (1 + exp(-max(odds + self._history.shift, -50.0))) for odds in confidence]
        tokens = tokens_by_width(self._expected)
        kinds = [kind for kind in self._kinds if kind.width <= len(tokens)]
        gains = {kind: tokens[kind.width - 1] - self._costs.seconds(kind, depth) / self._pace for kind in kinds}
        return replace(choice, kind=max(gains, key=lambda kind: gains[kind])) if gains else choice

    def record(self, outcome: PassOutcome) -> None:
        """Update costs, acceptance, and trial budget with the outcome of a pass."""
        kind, depth = outcome.choice.kind, outcome.depth
        if outcome.seconds is not None:
            self._record_time(outcome.choice, depth, outcome.seconds)
        seconds = self._costs.seconds(kind, depth) if outcome.seconds is None else outcome.seconds
        plain = self._costs.seconds(PLAIN_STEP, depth)
        if self._credit is None:
            self._credit = _FIRST_CREDIT * plain
            self._debt = self._credit if self._advance else 0.0
        earned = _TRIAL_SHARE * seconds
        paid = min(earned, self._debt)
        self._debt -= paid
        self._credit = min(self._credit + earned - paid, _MAX_CREDIT * plain)
        if outcome.choice.trial:
            self._credit -= max(seconds - (outcome.accepted + 1) * self._pace, _MIN_LOSS * plain)
        if kind == PLAIN_STEP:
            self._steps_since_round += 1
            if self._steps_since_round % _REVIEW_EVERY == 0 or outcome.choice.trial:
                self._outlook = None
            return
        if kind.proposer == "lookup":
            self._copies[_match_class(outcome.match)].record(outcome.tested, outcome.accepted)
            self._steps_since_round += outcome.accepted + 1
            return
        for at, chance in enumerate(self._expected[: outcome.tested]):
            self._history.shift += _CONFIDENCE_RATE * ((at < outcome.accepted) - chance)
        self._expected = []
        rounds = 1 + self._steps_since_round / _STEPS_PER_ROUND
        self._steps_since_round = 0
        self._drafts.record(outcome.tested, outcome.accepted, rounds)
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
        costs = self._costs
        chances, deviations = self._drafts.chances()
        tokens = tokens_by_width(chances)
        plain, *rounds = costs.all_seconds(depth)
        if not self._kinds:
            return _Outlook(WidthChoice(PLAIN_STEP, NOTHING_TO_COPY), plain, None, 0.0)
        seconds = dict(zip(self._kinds, rounds, strict=True))
        best, pace = PLAIN_STEP, plain
        for kind, each in seconds.items():
            if each / tokens[kind.width - 1] < pace:
                best, pace = kind, each / tokens[kind.width - 1]
        if best == PLAIN_STEP:
            if not self._parked:  # give rounds the benefit of the doubt
                parking = tokens_by_width([min(p + _PARKING_DOUBT * d, 0.98) for p, d in zip(chances, deviations, strict=True)])
                rates = {kind: parking[kind.width - 1] / seconds[kind] for kind in self._kinds}
                best = max(rates, key=lambda kind: tokens[kind.width - 1] / seconds[kind])
                if rates[best] * plain > 1:
                    pace = seconds[best] / tokens[best.width - 1]
            if pace == plain:
                self._parked = True
                return self._plain_outlook(plain, seconds, tokens)
        self._parked = False
        if self._credit is None or self._credit < _MIN_LOSS * plain:
            return _Outlook(WidthChoice(best), pace, None, 0.0)
        trial, limit = None, _MIN_GAIN / pace
        if pace < plain and costs.counts[PLAIN_STEP] < _PLAIN_TRIAL_STEPS and costs.uncertainty(PLAIN_STEP, best) > _VAGUE:
            trial, limit = PLAIN_STEP, inf
        hoped = tokens_by_width([min(p + _OPTIMISM * d, 0.98) for p, d in zip(chances, deviations, strict=True)])
        price = _PLAIN_TRIAL_STEPS * max(plain - pace, _MIN_LOSS * plain)
        for kind in (PLAIN_STEP, *self._kinds):
            # A narrower round can surprise only by its cost, not by its acceptance
            yields = tokens if kind.width < best.width else hoped
            each = plain if kind == PLAIN_STEP else seconds[kind]
            rate = yields[kind.width - 1] / each * exp(_OPTIMISM * costs.uncertainty(kind, best))
            if kind == best or rate <= limit:
                continue
            loss = each - tokens[kind.width - 1] * pace
            cost = max(loss, _MIN_LOSS * plain) * (_PLAIN_TRIAL_STEPS if kind == PLAIN_STEP else 1)
            if cost <= _MAX_CREDIT * plain:  # otherwise a cheaper trial comes first, and also informs about its neighbors
                trial, limit, price = kind, rate, cost
        return _Outlook(WidthChoice(best), pace, trial, price)

    def _plain_outlook(self, plain: float, seconds: dict[PassKind, float], tokens: list[float]) -> _Outlook:
        """Return the outlook while plain decoding wins, with the most promising trial."""
        hoped = tokens_by_width([_HOPED] * (self._kinds[-1].width - 1))
        can_pay = any(hoped[kind.width - 1] * plain > seconds[kind] for kind in self._kinds)
        choice = WidthChoice(PLAIN_STEP, FEW_ACCEPTED if can_pay else VERIFY_TOO_SLOW)
        trial, best_ratio = None, 0.0
        for kind in self._kinds:
            # A round that wasn't timed lately may cost less now
            least = seconds[kind] * exp(-_OPTIMISM * self._costs.uncertainty(kind, PLAIN_STEP))
            gain, loss = hoped[kind.width - 1] * plain - least, max(seconds[kind] - plain, _MIN_LOSS * plain)
            if gain / loss > best_ratio:
                trial, best_ratio = kind, gain / loss
        if trial is None:
            # All rounds seem too slow, but the machine may have been busy: try once per reply, then rarely
            trial = min(self._kinds, key=lambda kind: seconds[kind])
            return _Outlook(choice, plain, trial, 0.9 * _FIRST_CREDIT * plain)
        price = 0.0
        if trial is not None:
            price = max(seconds[trial] - plain * tokens[trial.width - 1], _MIN_LOSS * plain) * min(1 + self._failures / 4, 3.0)
        return _Outlook(choice, plain, trial, price)

    def _lookup(self, depth: int, offer: Offer, outlook: _Outlook) -> WidthChoice | None:
        """Return a lookup round if it should beat the best drafter pass."""
        if offer.match < min(_COPIES):
            return None
        tokens = tokens_by_width(self._copies[_match_class(offer.match)].chances())
        best, pace = None, outlook.pace
        for width in LADDER:
            if 1 < width <= min(offer.tokens + 1, len(tokens)):
                kind = PassKind("lookup", width)
                each = self._costs.seconds(kind, depth) / tokens[width - 1]
                if each < pace:
                    best, pace = kind, each
        return None if best is None else WidthChoice(best)


def _match_class(match: int) -> int:
    return max(length for length in _COPIES if length <= match)


WidthController = FixedWidth | AutomaticWidth
