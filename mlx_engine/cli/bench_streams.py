"""`slipstream bench --streams`: measure several replies at the same time.

For each number of streams, the same prompts are answered in groups of that size, with the same number of tokens each. A group is
measured while all of its replies are being written, so prefill is excluded. Numbers and modes take turns. Ratios are computed
within a run, then the median is taken over runs. Each text is compared with the text of the same reply alone.
"""

import argparse
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from mlx_engine.cli.bench_prompts import BenchPrompt
from mlx_engine.cli.bench_results import heading, words
from mlx_engine.cli.console import progress
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Failed, Finished, Stats
from mlx_engine.contract.requests import GenerationRequest, Mode

_MODES: tuple[Mode, Mode] = ("plain", "dflash")
_WAKE_S = 0.5  # so that Ctrl-C interrupts a wait
_ENOUGH_COMMITS = 8  # of a reply in the measured time: with fewer, when it began and ended decides its rate


@dataclass
class _Playing:
    """A submitted reply, and when its tokens arrived."""

    clock: Callable[[], float]
    arrived: deque[tuple[float, int]] = field(default_factory=deque)  # time, number of tokens
    tokens: list[int] = field(default_factory=list)
    end: Finished | Failed | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def receive(self, event: Event | None) -> None:
        if isinstance(event, Commit) and event.tokens:
            self.arrived.append((self.clock(), len(event.tokens)))
            self.tokens += event.tokens
        elif isinstance(event, Finished | Failed):
            self.end = event
        elif event is None:
            self.ended.set()

    def between(self, start: float, end: float) -> int:
        """Return the number of tokens that arrived after `start` and until `end`."""
        return sum(count for at, count in self.arrived if start < at <= end)


@dataclass(frozen=True)
class StreamGroup:
    """The replies of a group, measured while all of them were being written.

    Attributes:
        counts: tokens of each reply in this time.
        seconds: length of this time.
        texts: all tokens of each reply.
        stats: statistics of each reply.
        together: most replies that were being written at the same time.
        commits: fewest commits of a reply in this time.
    """

    counts: tuple[int, ...]
    seconds: float
    texts: tuple[tuple[int, ...], ...]
    stats: tuple[Stats, ...]
    together: int = 1
    commits: int = _ENOUGH_COMMITS


def play(
    client: EngineClient, requests: Sequence[GenerationRequest], clock: Callable[[], float] = time.perf_counter
) -> StreamGroup:
    """Return replies that are generated at the same time.

    Raises:
        KeyboardInterrupt: the user stopped them.
        UserError: a reply failed, or has no tokens.
    """
    playing, runs = [_Playing(clock) for _ in requests], list[Run]()
    try:
        runs += [client.submit(request, each.receive) for request, each in zip(requests, playing, strict=True)]
        for each in playing:
            while not each.ended.wait(_WAKE_S):
                _check(playing)
    finally:
        for run in runs:
            run.cancel()
    _check(playing)
    if not all(each.tokens for each in playing):
        raise UserError("no_token_ids", "The server doesn't report token IDs, so its replies can't be counted and compared.")
    times = [(each.arrived[0][0], each.arrived[-1][0]) for each in playing]
    start, end = max(first for first, _ in times), min(last for _, last in times)
    return StreamGroup(
        tuple(each.between(start, end) for each in playing),
        max(end - start, 0.0),
        tuple(tuple(each.tokens) for each in playing),
        tuple(each.end.stats for each in playing if isinstance(each.end, Finished)),
        max(sum(first <= at <= last for first, last in times) for at, _ in times),
        min(sum(start < at <= end for at, _ in each.arrived) for each in playing),
    )


def _check(playing: Sequence[_Playing]) -> None:
    for each in playing:
        if isinstance(each.end, Failed):
            raise UserError.of(each.end)


@dataclass(frozen=True)
class StreamPlan:
    """The numbers of streams, prompts, and runs to measure."""

    streams: tuple[int, ...]  # 1 among them
    prompts: Sequence[BenchPrompt]
    runs: int
    max_tokens: int
    cool_down_s: float = 0.0  # pause between runs
    rest: Callable[[float], None] = time.sleep

    def groups(self, streams: int) -> Iterator[Sequence[BenchPrompt]]:
        """Yield the prompts in groups of `streams`."""
        return (self.prompts[at : at + streams] for at in range(0, len(self.prompts) - streams + 1, streams))


Measured = dict[tuple[Mode, int], list[list[StreamGroup]]]  # groups by run


def measure(client: EngineClient, plan: StreamPlan) -> Measured | None:
    """Return the groups by mode and number of streams, or None after Ctrl-C.

    Raises:
        UserError: a reply failed, or replies of a group weren't written at the same time.
    """
    sides = [(mode, count) for count in plan.streams for mode in _MODES]
    measured: Measured = {side: [] for side in sides}
    try:
        for number in range(-1, plan.runs):  # the first run warms up, and is not reported
            if number > 0 and plan.cool_down_s:
                progress(f"Pausing before run {number + 1} of {plan.runs}")
                plan.rest(plan.cool_down_s)
            turned = max(number, 0) % len(sides)
            for mode, count in sides[turned:] + sides[:turned]:
                progress(f"Run {number + 1} of {plan.runs}, streams {count}" if number >= 0 else "Warming up")
                groups = list(plan.groups(count))
                played = [
                    play(client, _requests(group, mode, plan.max_tokens)) for group in (groups if number >= 0 else groups[:1])
                ]
                if not all(group.seconds for group in played):
                    template = "Only {most} of {count} replies were written at the same time. Choose fewer streams or more tokens."
                    raise UserError("streams_apart", template, most=min(group.together for group in played), count=count)
                if number >= 0:
                    measured[mode, count].append(played)
    except KeyboardInterrupt:
        return None
    finally:
        progress("")
    return measured


def _requests(prompts: Sequence[BenchPrompt], mode: Mode, max_tokens: int) -> list[GenerationRequest]:
    options: dict[str, Any] = {"mode": mode, "max_tokens": max_tokens, "reuse": False, "ignore_eos": True}
    return [GenerationRequest(prompt.messages, **options) for prompt in prompts]


def summarize(measured: Measured) -> dict[str, Any]:
    """Return the report by mode and number of streams."""
    found: dict[str, Any] = {mode: {} for mode in _MODES}
    rates = {side: [_rate(groups) for groups in runs] for side, runs in measured.items()}
    for (mode, count), runs in measured.items():
        groups = [group for run in runs for group in run]
        ones = [_rate(alone[: sum(len(group.texts) for group in run)]) for run, alone in zip(runs, measured[mode, 1], strict=True)]
        ratios = [total / one for total, one in zip(rates[mode, count], ones, strict=True) if one]
        pairs = [pair for run, alone in zip(runs, measured[mode, 1], strict=True) for pair in _pairs(run, alone)]
        passes = sum(stats.passes for group in groups for stats in group.stats)
        own = sum(stats.own_passes for group in groups for stats in group.stats)
        rows = sum(stats.rows for group in groups for stats in group.stats)
        found[mode][str(count)] = {
            "tok_s": median(rates[mode, count]),
            "runs_tok_s": rates[mode, count],
            "each_tok_s": median(rates[mode, count]) / count,
            "slowest_tok_s": min((min(group.counts) / group.seconds for group in groups if group.seconds), default=0.0),
            "ratio": median(ratios) if ratios else None,
            "ratios": ratios,
            "equal": sum(ours == theirs for ours, theirs in pairs),
            "compared": len(pairs),
            "streams_per_pass": own / passes if passes else None,
            "rows_per_pass": rows / passes if passes else None,
            "fewest_commits": min(group.commits for group in groups),
        }
    all_runs = next(iter(measured.values()))
    prompts = max(sum(len(group.texts) for group in run) for run in all_runs)
    return {"runs": len(all_runs), "prompts": prompts, "streams": found}


def _rate(groups: Sequence[StreamGroup]) -> float:
    """Return tokens per second of all replies of a group together, over all groups."""
    seconds = sum(group.seconds for group in groups)
    return sum(sum(group.counts) for group in groups) / seconds if seconds else 0.0


def _pairs(groups: Sequence[StreamGroup], alone: Sequence[StreamGroup]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the texts of each prompt, together and alone."""
    ours, theirs = ([text for group in each for text in group.texts] for each in (groups, alone))
    return list(zip(ours, theirs, strict=False))


def table(report: dict[str, Any]) -> str:
    """Return the report as text."""
    lines = [
        *heading(report),
        f"{'':14}{'tok/s':>8}{'each':>8}{'ratio':>8}{'streams/pass':>15}{'rows/pass':>12}{'equal to alone':>18}",
    ]
    for mode, sides in report["streams"].items():
        for count, side in sides.items():
            ratio = words(side["ratio"], ".2f")
            streams, rows = words(side["streams_per_pass"], ".1f"), words(side["rows_per_pass"], ".1f")
            equal = f"{side['equal']} of {side['compared']}"
            title = f"{'DFlash' if mode == 'dflash' else mode}, {count}"
            lines.append(f"{title:14}{side['tok_s']:>8.0f}{side['each_tok_s']:>8.0f}{ratio:>8}{streams:>15}{rows:>12}{equal:>18}")
    fewest = min(side["fewest_commits"] for sides in report["streams"].values() for side in sides.values())
    if fewest < _ENOUGH_COMMITS:
        lines.append(f"Too short: only {fewest} passes of a reply were measured. Use more --max-tokens for reliable rates.")
    return "\n".join(lines)


def plan_of(args: argparse.Namespace, prompts: Sequence[BenchPrompt]) -> StreamPlan:
    """Return the plan that the arguments describe."""
    most = max(args.streams)
    count = max(args.limit or most, most)
    repeated = [prompts[at % len(prompts)] for at in range(count - count % most)]
    return StreamPlan(args.streams, repeated, args.runs, args.max_tokens, args.cool_down)
