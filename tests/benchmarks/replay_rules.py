"""Ways of drafting for `tests.benchmarks.replay`, and what they draft from: a simulated drafter, and copies of a recorded text."""

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mlx_engine.decoding.appending import append_copies
from mlx_engine.decoding.costs import LADDER, CostTable
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.width import AutomaticWidth, PassOutcome
from mlx_engine.drafters.lookup import Lookup

WIDEST = 32
WIDTHS = (*LADDER, 20, 24, 28, 32)
_COPY = 6  # tokens that must match for a token to be a copy
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

    def find(self, end: int, first: bool = False) -> tuple[int, int]:
        """Return the longest match of the tokens before `end`, and where its continuation begins.

        Args:
            first: whether the earliest of the longest matches counts, not the latest one.
        """
        if end in self._found:
            return self._found[end]
        best, source = 0, 0
        for match, place in self.every(end):
            if match > best or (first and match == best):
                best, source = match, place
        self._found[end] = best, source
        return best, source

    def every(self, end: int) -> Iterator[tuple[int, int]]:
        """Yield all matches with their places, the latest first."""
        tail = self.tokens[max(end - min(self._longest, 1024), 0) : end]
        places = self._index.get(tuple(tail[-self._shortest :]), [])
        last = bisect_left(places, end)
        for place in reversed(places[:last] if self._places is None else places[max(last - self._places, 0) : last]):
            match, most = self._shortest, min(self._longest, place, len(tail))
            while match < most and self.tokens[place - match - 1] == tail[-match - 1]:
                match += 1
            yield match, place

    def copy(self, end: int, source: int, count: int) -> list[int]:
        """Return `count` tokens from a place before `end` on, in a loop if it is short."""
        whole = self.tokens[source : min(source + count, end)]
        while len(whole) < count:
            whole.append(whole[len(whole) - (end - source)])
        return whole


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


class Engine:
    """The engine's own controller and lookup.

    Args:
        widest: rows of a pass with copies; 1 to copy nothing.
        lookup_only: whether the drafter isn't used.
    """

    def __init__(self, machine: Machine, widest: int, lookup_only: bool = False) -> None:
        self.machine, self.widest, self.lookup_only = machine, widest, lookup_only
        self.history = PairHistory(machine.block, machine.table)

    def run(self, reply: Reply, tally: Tally) -> None:
        table, host = self.machine.table, self.machine.host
        lookup = Lookup(reply.whole[: reply.begin + 1], self.widest - 1)
        controller, at = AutomaticWidth(self.history, self.lookup_only), 1  # the prompt's last row gives the first token
        while at < len(reply.tokens):
            offer = lookup.offer()
            choice = controller.choose(reply.begin, offer)
            width = choice.kind.width
            block = list[int]()
            if choice.kind.proposer == "lookup":
                block = lookup.propose(width - 1)
            elif width > 1:
                block = drafts(reply, at, width - 1)
            if choice.appends:
                choice, copied = append_copies(choice, block, lookup, controller, reply.begin)
                block, width = block + copied, choice.kind.width
            accepted = common(block, reply, at)
            waits = choice.appends or choice.kind.proposer == "lookup"
            seconds = table.seconds(choice.kind, 0) + (host if waits else 0.0)
            timed = None if choice.appends and host and not choice.kind.copied else seconds
            controller.record(PassOutcome(choice, reply.begin, timed, min(accepted + 1, width - 1), accepted))
            tally.add(accepted + 1, width, seconds, "appended" if choice.kind.copied else choice.kind.proposer)
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
