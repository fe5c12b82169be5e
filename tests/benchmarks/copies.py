"""Measure what copies behind a drafter's block gain, against the drafter or copies alone and against plain decoding.

    python -m tests.benchmarks.copies [--seconds 400] [--pair FOLDER] [--json]

The kinds of prompts: *repeat*, a question again after its answer; *edit*, a question whose answer is nearly the one before it;
*mixed*, those of `slipstream bench`; and *hopeless*, random tokens. The modes: *both*, as in use; *either*, where no copies follow
a block (`PairHistory.appending`); and *plain*. *Both* and *either* have a pair each, so that they learn from their own replies.

All modes run on every prompt, in random order, in rounds until the time is over. A ratio is the time of one reply after its first
token over that in mode *both*. The first round only teaches. Times are
of the clock, with one BLAS thread by default.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

os.environ.setdefault("SLIPSTREAM_THREADS", "1")

from mlx_engine.hardware import blas

IN_USE = blas.prepare()  # before MLX is imported

from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.counts import Counts  # noqa: E402
from mlx_engine.contract.events import Stats  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from tests.benchmarks.hopeless import decode  # noqa: E402
from tests.benchmarks.widths import answer, loaded  # noqa: E402

_LONG = 256  # tokens of a reply, at most
_REPEATED = ("table", "list", "function", "counting", "divisors", "talk", "sorting")
_EDITED = (
    ("Give me a table of 8 times 1 to 10.", "Give me a table of 8 times 1 to 12."),
    ("Please count from 47 to 80 by 3.", "Please count from 47 to 98 by 3."),
    ("Can you count down from 63 to 51?", "Can you count down from 63 to 41?"),
    ("List the first 9 multiples of 6.", "List the first 14 multiples of 6."),
    ("Give me Python code that finds the factorial of a number.", "I need a Python function that finds the factorial of a number."),
    ("How many positive whole-number divisors does 196 have?", "What is the number of divisors of 196?"),
)
_KINDS = {"repeat": 0.3, "edit": 0.2, "mixed": 0.25, "hopeless": 0.25}  # kind -> share of the time
_OTHERS = {"repeat": ("either", "plain"), "edit": ("either", "plain"), "mixed": ("either",), "hopeless": ("plain",)}


@dataclass
class Mode:
    """A way to decode, with its times and statistics.

    Attributes:
        seconds: of each reply, by prompt.
        tokens: of the latest reply, by prompt.
    """

    engine: Engine
    changes: dict[str, Any] = field(default_factory=dict)
    seconds: list[list[float]] = field(default_factory=list)
    tokens: list[list[int]] = field(default_factory=list)
    stats: list[Stats] = field(default_factory=list)

    def begin(self, prompts: int) -> None:
        self.seconds, self.tokens, self.stats = [[] for _ in range(prompts)], [[] for _ in range(prompts)], []

    def run(self, index: int, request: GenerationRequest) -> None:
        took, self.tokens[index], stats = decode(self.engine, replace(request, **self.changes), time.perf_counter)
        self.seconds[index].append(took)
        self.stats.append(stats)


def requests_of(kind: str, engine: Engine, draw: random.Random) -> list[GenerationRequest]:
    """Return the prompts of a kind."""
    if kind == "hopeless":
        vocabulary = engine.pair.target.vocabulary
        lines = [tuple(draw.randrange(vocabulary) for _ in range(40)) for _ in range(6)]
        return [GenerationRequest(prompt_tokens=each, max_tokens=_LONG, ignore_eos=True, reuse=False) for each in lines]
    if kind == "mixed":
        chats = [(Message("user", each.text),) for each in PROMPTS]
    else:
        again = [(each.text, each.text) for each in PROMPTS if each.kind in _REPEATED]
        chats = [_after(engine, *pair) for pair in (_EDITED if kind == "edit" else again)]
    return [GenerationRequest(chat, max_tokens=_LONG, reuse=False) for chat in chats]


def _after(engine: Engine, question: str, later: str) -> tuple[Message, ...]:
    """Return a chat that asks `later` after `question` and the reply to it."""
    asked = (Message("user", question),)
    said = answer(engine, GenerationRequest(asked, mode="plain", max_tokens=_LONG, reuse=False)).text
    return (*asked, Message("assistant", said), Message("user", later))


def measure(modes: dict[str, Mode], requests: list[GenerationRequest], seconds: float, draw: random.Random) -> dict[str, Any]:
    """Return the ratios of the first mode, after rounds of all modes."""
    for mode in modes.values():
        mode.begin(len(requests))
    rounds, ends = 0, time.monotonic() + seconds
    while rounds < 2 or time.monotonic() < ends:
        for index, request in enumerate(requests):
            for mode in draw.sample([*modes.values()], len(modes)):
                mode.run(index, request)
        if rounds == 0:
            for mode in modes.values():
                mode.begin(len(requests))
        rounds += 1
    both, *others = modes
    return {
        "rounds": rounds - 1,
        "prompts": len(requests),
        "ratios": {name: _ratio(modes[name].seconds, modes[both].seconds) for name in others},
        "same_text": {name: sum(a == b for a, b in zip(modes[name].tokens, modes[both].tokens, strict=True)) for name in others},
        "used": {name: _used(mode.stats) for name, mode in modes.items()},
    }


def _ratio(theirs: list[list[float]], ours: list[list[float]]) -> dict[str, float]:
    """Return the ratio of the sums of medians, percentiles of single ratios, and the least ratio of a prompt's medians."""
    each = [a / b for x, y in zip(theirs, ours, strict=True) for a, b in zip(x, y, strict=True) if b > 0]
    tenths = quantiles(each, n=10, method="inclusive")
    by_prompt = [median(a) / median(b) for a, b in zip(theirs, ours, strict=True) if median(b) > 0]
    totals = sum(map(median, theirs)) / sum(map(median, ours))
    return {"all": totals, "median": median(each), "p10": tenths[0], "p90": tenths[-1], "least_prompt": min(by_prompt)}


def _used(stats: Sequence[Stats]) -> dict[str, float]:
    counts = Counts.of(*stats)
    tested, accepted = counts.lookup_tested, counts.lookup_accepted
    tokens_per_pass = counts.tokens / max(counts.rounds + counts.plain_steps, 1)
    return {"tokens_per_pass": tokens_per_pass, "copies_tested": tested, "copies_accepted": accepted, "trials": counts.trials}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.copies", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=400.0, help="of all replies together, about (default 400)")
    parser.add_argument("--kinds", default=",".join(_KINDS), help="comma-separated")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    folders = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    before, draw = os.getloadavg()[0], random.Random(0)
    modes = {name: Mode(loaded(*folders, cold=False)) for name in ("both", "either")}
    modes["either"].engine.pair.history.appending = False
    modes["plain"] = Mode(modes["both"].engine, {"mode": "plain"})
    kinds = asked.kinds.split(",")
    report = dict[str, Any]()
    for kind in kinds:
        requests = requests_of(kind, modes["both"].engine, draw)
        seconds = asked.seconds * _KINDS[kind] / sum(_KINDS[each] for each in kinds)
        chosen = {name: modes[name] for name in ("both", *_OTHERS[kind])}
        found = report[kind] = measure(chosen, requests, seconds, draw)
        if not asked.json:
            print(table(kind, found), flush=True)
    report["machine"] = {**asdict(IN_USE), "load": [before, os.getloadavg()[0]]}
    print(json.dumps(report) if asked.json else report["machine"])
    return 0


def table(kind: str, found: dict[str, Any]) -> str:
    """Format what was measured for a kind of prompts."""
    lines = [f"{kind}: {found['prompts']} prompts, {found['rounds']} rounds"]
    for name, ratio in found["ratios"].items():
        shown = ", ".join(f"{what} {value:.3f}" for what, value in ratio.items())
        lines.append(f"  {name} / both: {shown}; same text {found['same_text'][name]} of {found['prompts']}")
    for name, used in found["used"].items():
        lines.append(f"  {name}: " + ", ".join(f"{what} {value:.4g}" for what, value in used.items()))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
