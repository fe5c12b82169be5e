"""Comparisons: which contestant replies next, and how the replies differ."""

import secrets
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import median

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    CompareResult,
    CompletedReply,
    ContestantEvent,
    ContestantResult,
    Event,
    Failed,
    Finished,
    NextReply,
    PairInfo,
    TextDifference,
)
from mlx_engine.contract.requests import Compare, Contestant, GenerationRequest, LoadPair
from mlx_engine.contract.whole_replies import first_difference, fold
from mlx_engine.models.library.library import model_name

_NOT_LOADED = EngineText.of("no_drafter_to_compare", "None of the drafters could be loaded, so there is nothing to compare.")
_PAIRS_APART = EngineText.of(
    "pairs_not_together", "Only one drafter can be loaded at a time, so several can't reply at the same time. Choose one of them."
)
_SERVER_APART = EngineText.of("server_not_together", "A server's replies can only be compared one after the other.")

Replies = dict[Contestant, GenerationRequest]  # to generate at the same time
Step = LoadPair | Replies | Event
Steps = Generator[Step, Sequence[Event], None]
Measure = Callable[[GenerationRequest, CompletedReply, CompletedReply, int], TextDifference]


def play(
    steps: Steps,
    load: Callable[[LoadPair], Iterator[Event]],
    generate: Callable[[GenerationRequest], Generator[Sequence[Event], None, None]],
) -> Iterator[Event]:
    """Run a comparison's requests, and yield all events but failures of loading.

    Args:
        steps: of the comparison.
        load: loads a pair.
        generate: yields the events of each step of a reply.
    """
    seen: list[Event] = []
    with suppress(StopIteration):
        while True:
            step = steps.send(seen) if seen else next(steps)
            seen = []
            if not isinstance(step, LoadPair | dict):
                yield step
                continue
            try:
                for event in load(step) if isinstance(step, LoadPair) else _in_turns(step, generate):
                    seen.append(event)
                    if not isinstance(event, Failed):
                        yield event
            except UserError as error:
                seen.append(Failed.because(error))


def _in_turns(
    replies: Replies, generate: Callable[[GenerationRequest], Generator[Sequence[Event], None, None]]
) -> Iterator[ContestantEvent]:
    """Generate replies in turns of one step, in which they can share passes.

    The last reply ends early if all others have failed.
    """
    with ExitStack() as stack:
        running = {one: stack.enter_context(closing(generate(request))) for one, request in replies.items()}
        failed = set[Contestant]()
        while running:
            for contestant, steps in list(running.items()):
                try:
                    events = next(steps, None)
                except UserError as error:
                    events = [Failed.because(error)]
                if events is None:
                    del running[contestant]
                for event in events or ():
                    yield ContestantEvent(contestant, event)
                    if isinstance(event, Failed):
                        failed.add(contestant)
                if failed and len(failed) >= len(replies) - 1:
                    return


@dataclass
class _Entry:
    """A contestant, and its replies to each prompt so far."""

    contestant: Contestant
    result: ContestantResult
    replies: dict[int, list[CompletedReply]] = field(default_factory=dict)


class Comparison:
    """The requests and the outcome of one comparison. Its driver runs them.

    Args:
        request: what to compare.
        cancel: ends the comparison after the step in progress.
        pair: returns the loaded pair, or None if it is unknown.
        measure: returns the difference of two replies to a request that starts at a token.
        is_loaded: returns whether a pair is in use already. It then comes first.
        on_endpoint: whether contestants without a pair are endpoints, whose tokens may be unknown.
    """

    def __init__(
        self,
        request: Compare,
        cancel: threading.Event,
        pair: Callable[[], PairInfo | None] = lambda: None,
        measure: Measure = lambda request, baseline, reply, at: TextDifference(at),
        is_loaded: Callable[[LoadPair], bool] = lambda pair: False,
        on_endpoint: bool = False,
    ) -> None:
        self._request, self._cancel, self._pair, self._measure = request, cancel, pair, measure
        self._is_loaded, self._on_endpoint = is_loaded, on_endpoint
        # 31 bits, for servers; no prompt is reused, so that all runs have the same conditions
        self._prompts = [
            replace(one, seed=secrets.randbits(31) if one.seed is None else one.seed, reuse=False) for one in request.requests
        ]
        self._entries = [_Entry(one, ContestantResult(one)) for one in request.contestants]
        self._baseline = self._entries[0]
        self._left_out: dict[int, EngineText] = {}
        self._worst: dict[int, tuple[CompletedReply, TextDifference]] = {}  # the baseline's reply to each prompt that differs most
        self._done = 0

    def steps(self) -> Steps:
        """Yield requests to run, whose events are sent back, and events.

        The events are a `NextReply` before each reply, a `ContestantResult` after the last reply of each contestant, and a
        `CompareResult` at the end, unless the baseline failed or the comparison was canceled.

        Raises:
            UserError: there is nothing to compare with, or the contestants can't reply at the same time.
        """
        if self._request.together and (self._on_endpoint or len(self._request.pairs) > 1):
            raise UserError.of(_SERVER_APART if self._on_endpoint else _PAIRS_APART)
        waiting = [entry for entry in self._entries if entry.contestant.pair is None]
        first = self._baseline.contestant.pair
        order = sorted(self._request.pairs, key=lambda pair: (pair != first, not self._is_loaded(pair)))
        for pair in order or (None,):
            own = [entry for entry in self._entries if pair is not None and entry.contestant.pair == pair]
            if pair is not None:
                loaded = yield pair
                if self._cancel.is_set():
                    return
                if loaded and isinstance(why := loaded[-1], Failed):
                    for entry in own:
                        yield self._fail(entry, why)
                    continue
            group = [entry for entry in self._entries if entry in waiting or entry in own]
            waiting = []
            if not (yield from self._runs(group)):
                return
            for entry in group:
                if entry.result.problem is None:
                    entry.result = self._result(entry)
                yield entry.result
        if waiting:
            raise UserError.of(_NOT_LOADED)
        yield self._outcome()

    def _fail(self, entry: _Entry, why: Failed) -> ContestantResult:
        """Record why a contestant has no replies.

        Raises:
            UserError: it is the baseline, or no contestant is left to compare with it.
        """
        if entry is self._baseline:
            raise UserError.of(why)
        pair = entry.contestant.pair
        name = model_name(pair.drafter) if pair is not None and pair.drafter is not None else ""
        entry.result = replace(entry.result, drafter=entry.result.drafter or name, problem=why)
        problems = [other.result.problem for other in self._entries if other is not self._baseline]
        if problems[0] is not None and all(problems):
            raise UserError.of(problems[0])
        return entry.result

    def _runs(self, group: list[_Entry]) -> Generator[Step, Sequence[Event], bool]:
        """Generate all replies of some contestants. Return False if canceled."""
        info = self._pair()
        for entry in group:
            if entry.contestant.proposer == "drafter" and info is not None:
                entry.result = replace(entry.result, kind=info.drafter_kind, drafter=info.drafter, bytes=info.drafter_bytes)
        for repeat in range(max(self._request.repeats, 1)):
            for at, prompt in enumerate(self._prompts):
                order = group[::-1] if repeat % 2 else group  # no contestant always comes first
                for entries in [order] if self._request.together else [[entry] for entry in order]:
                    asked = [entry for entry in entries if at not in self._left_out and entry.result.problem is None]
                    if asked and not (yield from self._run(asked, at, prompt)):
                        return False
        if len(self._left_out) == len(self._prompts):
            raise UserError.of(next(iter(self._left_out.values())))
        return True

    def _run(self, entries: Sequence[_Entry], at: int, prompt: GenerationRequest) -> Generator[Step, Sequence[Event], bool]:
        """Generate replies at the same time. Return False if canceled."""
        if self._done:
            self._cancel.wait(self._request.pause_s)  # a cancel also ends the next run
        total = len(self._entries) * len(self._prompts) * max(self._request.repeats, 1)
        for entry in entries:
            yield NextReply(entry.contestant, self._done, total, entry.result.kind)
            self._done += 1
        seen = yield {entry.contestant: entry.contestant.asked(prompt) for entry in entries}
        found = [_outcome_of(entry.contestant, seen or ()) for entry in entries]
        ends = list(zip(entries, found, strict=True))
        failed = [(entry, end) for entry, end in ends if isinstance(end, Failed)]
        if of_baseline := [end for entry, end in failed if entry is self._baseline]:
            self._left_out[at] = of_baseline[0]
            return True
        for entry, end in failed:
            self._fail(entry, end)
        for entry, reply in ends:
            if isinstance(reply, CompletedReply):
                entry.replies.setdefault(at, []).append(reply)
        return None not in found

    def _result(self, entry: _Entry) -> ContestantResult:
        """Return a contestant's result, compared with the baseline."""
        shown: list[CompletedReply] = []
        worst: TextDifference | None = None
        identical, tokens, seconds = 0, 0, 0.0
        for at in self._answered:
            replies = entry.replies[at]
            reply, difference = _median(replies), None
            if entry is not self._baseline:
                reply, difference = self._compared(at, replies)
            shown.append(reply)
            if difference is None:
                identical += 1
            elif worst is None or (worst.tie and not difference.tie):
                worst = replace(difference, prompt=len(shown) - 1)
            if rates := [one.stats.decode_tok_s for one in replies if one.stats.decode_tok_s]:
                tokens += reply.stats.tokens - 1
                seconds += (reply.stats.tokens - 1) / median(rates)
        runs = tuple(reply.stats for at in self._answered for reply in entry.replies[at])
        rate = tokens / seconds if seconds else None
        return replace(entry.result, replies=tuple(shown), runs=runs, tok_s=rate, identical=identical, difference=worst)

    def _compared(self, at: int, replies: Sequence[CompletedReply]) -> tuple[CompletedReply, TextDifference | None]:
        """Return the reply that differs most, or that with the median rate."""
        worst: tuple[CompletedReply, CompletedReply, TextDifference] | None = None
        prompt = self._prompts[at]
        for own, reply in product(self._distinct(self._baseline.replies[at]), self._distinct(replies)):
            start = first_difference(self._text(own), self._text(reply))
            if start is not None and (worst is None or worst[2].tie):
                found = self._measure(prompt, own, reply, start)
                if worst is None or not found.tie:
                    worst = own, reply, found
        if worst is None:
            return _median(replies), None
        own, reply, difference = worst
        difference = replace(difference, tie=difference.tie and not prompt.exact)
        if at not in self._worst or (self._worst[at][1].tie and not difference.tie):
            self._worst[at] = own, difference
        return reply, difference

    def _outcome(self) -> CompareResult:
        own = self._baseline.result
        shown = (self._worst[at][0] if at in self._worst else reply for at, reply in zip(self._answered, own.replies, strict=True))
        self._baseline.result = replace(own, replies=tuple(shown))
        results, left_out = tuple(entry.result for entry in self._entries), tuple(self._left_out.items())
        return CompareResult(results, left_out, self._in_characters, self._request.together)

    @property
    def _answered(self) -> list[int]:
        """Indexes of the prompts that the baseline answered."""
        return [at for at in range(len(self._prompts)) if at not in self._left_out]

    @property
    def _in_characters(self) -> bool:
        """Whether texts are compared, as tokens aren't known or those of other models."""
        replies = (reply for entry in self._entries for each in entry.replies.values() for reply in each)
        return self._on_endpoint and (bool(self._request.pairs) or not all(reply.tokens for reply in replies))

    def _text(self, reply: CompletedReply) -> Sequence[object]:
        return reply.thinking + reply.text if self._in_characters else reply.tokens

    def _distinct(self, replies: Sequence[CompletedReply]) -> list[CompletedReply]:
        """Return one reply per text, preferably the one with the median rate."""
        return list({self._text(reply): reply for reply in (*replies, _median(replies))}.values())


def _outcome_of(contestant: Contestant, seen: Sequence[Event]) -> CompletedReply | Failed | None:
    """Return a contestant's reply, why it failed, or None if it was canceled."""
    events = [one.event for one in seen if isinstance(one, ContestantEvent) and one.contestant == contestant]
    match events[-1] if events else None:
        case Failed() as failed:
            return failed
        case Finished(reason=reason) if reason != "cancelled":
            return fold(events)
    return None


def _median(replies: Sequence[CompletedReply]) -> CompletedReply:
    return sorted(replies, key=lambda reply: reply.stats.decode_tok_s or 0.0)[len(replies) // 2]
