"""Ways of drafting for `tests.benchmarks.replay`, and what they draft from: a simulated drafter, and copies of a recorded text."""

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from mlx_engine.decoding.acceptance import Acceptance, BlendedAcceptance, tokens_by_width
from mlx_engine.decoding.costs import LADDER, PLAIN_STEP, CostTable, PassKind
from mlx_engine.decoding.width import AutomaticWidth, PairHistory, PassOutcome
from mlx_engine.drafters.lookup import Lookup

WIDEST = 32
WIDTHS = (*LADDER, 20, 24, 28, 32)
_CLASSES = {3: 0.5, 6: 0.75, 12: 0.9, 24: 0.95}  # match length -> acceptance assumed
_COPY = 6  # tokens that must match for a token to be a copy
_RANKS = (0.45, 0.2, 0.1)  # chances that a slot's second, third, and fourth token is right if those before aren't
_SPREAD = 1.2  # of the drafter's confidence; the smaller, the more slots are certain or hopeless


@dataclass(frozen=True)
class Machine:
    """A pair on a chip. `host` is what a round costs that isn't queued."""

    name: str
    block: int
    table: CostTable
    host: float


class Copies:
    """Finds what followed earlier occurrences of a suffix in a recorded text.

    Args:
        tokens: the prompt and the reply.
        shortest: tokens that must match.
        places: latest occurrences to compare, or None for all.
        longest: limit of the measured match length.
    """

    def __init__(self, tokens: list[int], shortest: int = 3, places: int | None = 16, longest: int = 32) -> None:
        self.tokens, self._shortest, self._places, self._longest = tokens, shortest, places, longest
        self._index: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for end in range(shortest, len(tokens)):
            self._index[tuple(tokens[end - shortest : end])].append(end)
        self._found: dict[int, tuple[int, int]] = {}

    def find(self, end: int, more: Sequence[int] = (), first: bool = False) -> tuple[int, int]:
        """Return the longest match of the tokens before `end` and `more`, and where its continuation begins.

        Args:
            first: whether the earliest of the longest matches counts, not the latest one.
        """
        if not more and end in self._found:
            return self._found[end]
        best, source = 0, 0
        for match, place in self.every(end, more):
            if match > best or (first and match == best):
                best, source = match, place
        if not more:
            self._found[end] = best, source
        return best, source

    def every(self, end: int, more: Sequence[int] = ()) -> Iterator[tuple[int, int]]:
        """Yield all matches with their places, the latest first."""
        tail = [*self.tokens[max(end - min(self._longest, 1024), 0) : end], *more]
        places = self._index.get(tuple(tail[-self._shortest :]), [])
        last = bisect_left(places, end)
        for place in reversed(places[:last] if self._places is None else places[max(last - self._places, 0) : last]):
            match, most = self._shortest, min(self._longest, place, len(tail))
            while match < most and self.tokens[place - match - 1] == tail[-match - 1]:
                match += 1
            yield match, place

    def copy(self, end: int, source: int, count: int, more: Sequence[int] = ()) -> list[int]:
        """Return `count` tokens from a place before `end` on, in a loop if it is short."""
        whole = [*self.tokens[source : min(source + count, end)]]
        if len(whole) < count:
            whole += more
        period = end + len(more) - source
        while len(whole) < count:
            whole.append(whole[len(whole) - period])
        return whole[:count]


def kind_of(match: int) -> int:
    return max(length for length in _CLASSES if length <= match)


@dataclass
class Reply:
    """A recorded reply: its tokens, and for each what the drafter would make of it.

    Attributes:
        begin: tokens of the prompt.
        copies: of the prompt and the reply.
        chance: confidence that the slot is right; `luck` is below it if it is.
    """

    begin: int
    copies: Copies
    tokens: list[int]
    chance: list[float]
    luck: list[float]

    @property
    def whole(self) -> list[int]:
        return self.copies.tokens


def replies(turns: Iterable[tuple[list[int], list[int]]], chance: float, copied_chance: float, seed: int) -> list[Reply]:
    draw, found = random.Random(seed), []
    for prompt, tokens in turns:
        whole, begin = [*prompt, *tokens], len(prompt)
        copies = Copies(whole, _COPY, places=1, longest=_COPY)
        chances = []
        for t, token in enumerate(tokens):
            match, source = copies.find(begin + t)
            mean = copied_chance if match and whole[source] == token else chance
            chances.append(draw.betavariate(mean * _SPREAD, (1 - mean) * _SPREAD))
        found.append(Reply(begin, Copies(whole), tokens, chances, [draw.random() for _ in tokens]))
    return found


def drafts(reply: Reply, at: int, count: int) -> list[int]:
    """Return the drafter's block. A wrong slot has any token of the text before it."""
    out, end = list[int](), reply.begin + at
    for i in range(count):
        t = at + i
        if t < len(reply.tokens) and reply.luck[t] < reply.chance[t]:
            out.append(reply.tokens[t])
            continue
        wrong = reply.whole[hash((t, end)) % end]
        out.append(wrong if t >= len(reply.tokens) or wrong != reply.tokens[t] else -1)
    return out


def common(drafted: Sequence[int], reply: Reply, at: int) -> int:
    """Return how many drafts are the recorded text."""
    count = 0
    for i, token in enumerate(drafted[: len(reply.tokens) - at - 1]):
        if reply.tokens[at + i] != token:
            break
        count += 1
    return count


@dataclass
class Tally:
    """What a rule needed for its texts."""

    tokens: int = 0
    rounds: int = 0
    rows: int = 0
    seconds: float = 0.0
    used: Counter[str] = field(default_factory=Counter)

    def add(self, tokens: int, rows: int, seconds: float, what: str) -> None:
        self.tokens += tokens
        self.rounds += 1
        self.rows += rows
        self.seconds += seconds
        self.used[what] += 1


class Rule:
    """A way of drafting that knows the costs and learns acceptance.

    Args:
        widest: rows of a pass with copies; 0 to copy nothing.
        drafting: whether the drafter is used.
        append: whether copies continue drafts: "offered" if there is a copy at the anchor, too, or "always".
        branch: rows of a second branch with a copy, next to the drafter's.
        scores: what uses perfect confidence: "chain" for the width, "tree" for a tree.
    """

    def __init__(
        self,
        machine: Machine,
        widest: int = 0,
        drafting: bool = True,
        append: str = "",
        branch: int = 0,
        scores: str = "",
    ) -> None:
        self.machine, self.widest, self.drafting = machine, widest, drafting
        self.append, self.branch, self.scores = append, branch, scores
        self.usual = Acceptance(machine.block - 1, memory=200, weight=1.0, start=0.7)
        self.copied = {length: Acceptance(WIDEST - 1, memory=50, weight=1.0, start=chance) for length, chance in _CLASSES.items()}
        self.follows = {length: Acceptance(WIDEST - 1, memory=50, weight=1.0, start=0.5 + length / 60) for length in _CLASSES}
        self.exists = 0.5  # that drafts end in a match
        self.cost = {width: machine.table.seconds(PassKind("lookup", width), 0) for width in WIDTHS if width > 1}
        self.cost[1] = machine.table.seconds(PLAIN_STEP, 0)
        blocks = [width for width in WIDTHS if 1 < width <= machine.block]
        self.draft = {width: machine.table.seconds(PassKind("drafter", width), 0) - self.cost[width] for width in blocks}
        self.drafted = [width for width in LADDER if 1 < width <= machine.block] if drafting else []

    def verify(self, rows: int) -> float:
        return self.cost[min(width for width in WIDTHS if width >= rows)] if rows <= WIDEST else 1e9

    def run(self, reply: Reply, tally: Tally) -> None:
        chances = BlendedAcceptance(self.machine.block - 1, (40.0, 10.0), 3.0, self.usual)
        at = 1  # the prompt's last row gives the first token
        while at < len(reply.tokens):
            at += self._round(reply, at, chances, tally)

    def _round(self, reply: Reply, at: int, chances: BlendedAcceptance, tally: Tally) -> int:
        end = reply.begin + at
        match, source = reply.copies.find(end) if self.widest else (0, 0)
        yields = tokens_by_width(chances.chances()[0])
        options = [(1 / self.cost[1], "plain", 1)]
        options += [(yields[w - 1] / (self.verify(w) + self.draft[w]), "drafter", w) for w in self.drafted]
        if match:
            copied = tokens_by_width(self.copied[kind_of(match)].chances())
            options += [(copied[w - 1] / (self.verify(w) + self.machine.host), "lookup", w) for w in WIDTHS if 1 < w <= self.widest]
        appends = self.drafting and (self.append == "always" or (self.append == "offered" and match > 0))
        if appends:
            follows = tokens_by_width(self.follows[kind_of(match or 3)].chances())
            w = self.machine.block
            for rows in (r for r in WIDTHS if r > w):
                tokens = yields[w - 1] + self.exists * (yields[w - 1] - yields[w - 2]) * (follows[rows - w] - 1)
                seconds = self.exists * self.verify(rows) + (1 - self.exists) * self.verify(w) + self.draft[w] + self.machine.host
                options.append((tokens / seconds, "appended", w))
        if self.branch and match and self.drafting:
            return self._branches(reply, at, source, chances, tally, match)
        _, what, width = max(options)
        if self.scores and what in ("plain", "drafter") and self.drafting:
            return self._scored(reply, at, chances, tally)
        if what == "plain":
            tally.add(1, 1, self.cost[1], what)
            return 1
        if what == "lookup":
            copied_tokens = reply.copies.copy(end, source, width - 1)
            accepted = common(copied_tokens, reply, at)
            self.copied[kind_of(match)].record(min(accepted + 1, width - 1), accepted)
            tally.add(accepted + 1, width, self.verify(width) + self.machine.host, what)
            return accepted + 1
        block = drafts(reply, at, width - 1)
        if what == "drafter":
            accepted = common(block, reply, at)
            chances.record(min(accepted + 1, width - 1), accepted, 1.0)
            tally.add(accepted + 1, width, self.verify(width) + self.draft[width], what)
            return accepted + 1
        return self._appended(reply, at, block, yields, chances, tally)

    def _appended(
        self, reply: Reply, at: int, block: list[int], yields: list[float], chances: BlendedAcceptance, tally: Tally
    ) -> int:
        width = len(block) + 1
        end = reply.begin + at
        match, source = reply.copies.find(end, block)
        self.exists += 0.05 * ((match > 0) - self.exists)
        rows = width
        if match:
            follows = tokens_by_width(self.follows[kind_of(match)].chances())
            last = yields[width - 1] - yields[width - 2]
            fixed = self.draft[width] + self.machine.host
            rows = max(
                (r for r in WIDTHS if r >= width),
                key=lambda r: (yields[width - 1] + last * (follows[r - width] - 1)) / (self.verify(r) + fixed),
            )
        whole = block + reply.copies.copy(end, source, rows - width, block) if rows > width else block
        accepted = common(whole, reply, at)
        mine = min(accepted, width - 1)
        chances.record(min(mine + 1, width - 1), mine, 1.0)
        if accepted >= width - 1 and rows > width:
            beyond = accepted - width + 1
            self.follows[kind_of(match)].record(min(beyond + 1, rows - width), beyond)
        tally.add(
            accepted + 1, rows, self.verify(rows) + self.draft[width] + self.machine.host, "appended" if rows > width else "drafter"
        )
        return accepted + 1

    def _branches(self, reply: Reply, at: int, source: int, chances: BlendedAcceptance, tally: Tally, match: int) -> int:
        """Verify a block, and next to it a copy. Rows of a common prefix count once."""
        width = min(self.machine.block, 8)
        block, span = drafts(reply, at, width - 1), reply.copies.copy(reply.begin + at, source, self.branch)
        shared = 0
        while shared < min(len(block), len(span)) and block[shared] == span[shared]:
            shared += 1
        rows = 1 + len(block) + len(span) - shared
        mine, theirs = common(block, reply, at), common(span, reply, at)
        chances.record(min(mine + 1, len(block)), mine, 1.0)
        self.copied[kind_of(match)].record(min(theirs + 1, len(span)), theirs)
        accepted = max(mine, theirs)
        tally.add(accepted + 1, rows, self.verify(rows) + self.draft[width] + self.machine.host, "branches")
        return accepted + 1

    def _scored(self, reply: Reply, at: int, chances: BlendedAcceptance, tally: Tally) -> int:
        """Verify the chain or tree with the most tokens per second, by the drafter's true confidence in each slot."""
        known = [reply.chance[t] if t < len(reply.tokens) else 0.0 for t in range(at, at + self.machine.block - 1)]
        fixed = self.draft[self.machine.block]
        most = 16 if self.scores == "tree" else self.machine.block
        nodes, tokens = list[tuple[int, ...]](), 1.0
        best = (1 / self.cost[1], 0)
        waiting: list[tuple[float, tuple[int, ...]]] = [(-known[0], (0,))]
        while waiting and len(nodes) < most - 1:
            value, path = heappop(waiting)
            nodes.append(path)
            tokens -= value
            rows = len(nodes) + 1
            if rows in WIDTHS and tokens / (self.verify(rows) + fixed) > best[0]:
                best = (tokens / (self.verify(rows) + fixed), len(nodes))
            depth = len(path)
            if depth < len(known):
                heappush(waiting, (value * known[depth], (*path, 0)))
            if self.scores == "tree" and path[-1] < len(_RANKS):
                before = value / self._rank(known[depth - 1], path[-1]) if value else 0.0
                heappush(waiting, (before * self._rank(known[depth - 1], path[-1] + 1), (*path[:-1], path[-1] + 1)))
        if not best[1]:
            tally.add(1, 1, self.cost[1], "plain")
            return 1
        chosen, right = {*nodes[: best[1]]}, tuple[int, ...]()
        while len(right) < len(known) and at + len(right) < len(reply.tokens) - 1:
            right = (*right, self._right(reply, at + len(right)))
            if right not in chosen:
                right = right[:-1]
                break
        rows = best[1] + 1
        tally.add(len(right) + 1, rows, self.verify(rows) + fixed, self.scores)
        return len(right) + 1

    @staticmethod
    def _rank(chance: float, rank: int) -> float:
        return chance if rank == 0 else max((1 - chance) * _RANKS[rank - 1], 1e-12)

    @staticmethod
    def _right(reply: Reply, t: int) -> int:
        """Return which of a slot's tokens is the recorded one, by its rank."""
        luck, chance = reply.luck[t], reply.chance[t]
        if luck < chance:
            return 0
        rest = (luck - chance) / max(1 - chance, 1e-12)
        for rank, share in enumerate(_RANKS, 1):
            if rest < share:
                return rank
            rest -= share
        return len(_RANKS) + 1


class Engine:
    """The engine's own controller and lookup, with copies of at most `widest` - 1 tokens."""

    def __init__(self, machine: Machine, widest: int) -> None:
        self.machine, self.widest = machine, widest
        self.history = PairHistory(machine.block, machine.table)

    def run(self, reply: Reply, tally: Tally) -> None:
        table, host = self.machine.table, self.machine.host
        lookup = Lookup(reply.whole[: reply.begin + 1], self.widest - 1)
        controller, at = AutomaticWidth(self.history), 1
        while at < len(reply.tokens):
            offer = lookup.offer()
            choice = controller.choose(reply.begin, offer)
            width = choice.kind.width
            block = list[int]()
            if choice.kind.proposer == "lookup":
                block = lookup.propose(width - 1)
            elif width > 1:
                block = drafts(reply, at, width - 1)
            accepted = common(block, reply, at)
            seconds = table.seconds(choice.kind, 0) + (host if choice.kind.proposer == "lookup" else 0.0)
            match = offer.match if offer else 0
            controller.record(PassOutcome(choice, reply.begin, seconds, min(accepted + 1, width - 1), accepted, match))
            tally.add(accepted + 1, width, seconds, choice.kind.proposer)
            lookup.add(reply.tokens[at : at + accepted + 1])
            at += accepted + 1


Source = Callable[[int], tuple[int, int]]  # of an end: the match before it, and where its continuation begins


def earliest(copies: Copies) -> Source:
    """Return the earliest occurrence instead of the latest one."""
    return lambda end: copies.find(end, first=True)


def longest_of(*lengths: int) -> Callable[[list[int]], Source]:
    """Return the latest occurrence of the longest n-gram of these lengths, descending."""

    def make(tokens: list[int]) -> Source:
        every = [Copies(tokens, length, places=1, longest=length) for length in lengths]
        return lambda end: next((found for copies in every if (found := copies.find(end))[0]), (0, 0))

    return make


def most_frequent(tokens: list[int]) -> Source:
    """Return the latest of the occurrences that are followed by the most frequent token."""
    copies = Copies(tokens, places=None)

    def find(end: int) -> tuple[int, int]:
        best, _ = copies.find(end)
        places = [place for match, place in copies.every(end) if match >= min(best, 8)] if best else []
        if not places:
            return 0, 0
        [(token, _)] = Counter(tokens[place] for place in places).most_common(1)
        return best, next(place for place in places if tokens[place] == token)

    return find


SOURCES: dict[str, Callable[[list[int]], Source]] = {
    "in use": lambda tokens: Copies(tokens).find,
    "whole context": lambda tokens: Copies(tokens, places=None, longest=1 << 20).find,
    "most frequent": most_frequent,
    "mlx-dspark": longest_of(4, 3),
    "vLLM": lambda tokens: earliest(Copies(tokens, 5, places=None, longest=5)),
    "llama.cpp": longest_of(12),
}


def copy_alone(source: Source, reply: Reply, span: int, tally: Tally) -> None:
    """Decode a reply with copies alone: always the whole span where there is a match, otherwise a plain step."""
    at = 1
    while at < len(reply.tokens):
        end = reply.begin + at
        match, place = source(end)
        accepted = common(reply.copies.copy(end, place, span), reply, at) if match else 0
        tally.add(accepted + 1, span + 1 if match else 1, 1.0, "lookup" if match else "plain")
        at += accepted + 1
