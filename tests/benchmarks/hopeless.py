"""Measure how much DFlash mode loses on text that no drafter predicts: total time of plain decoding over that of DFlash mode.

    python -m tests.benchmarks.hopeless [--replies 20] [--tokens 95] [--temperatures 0.8,1.0,1.2,1.5] [--wall] [--json]

Each reply is generated in both modes with the same seed, in alternating order. Times are of decoding alone, in processor time of
the process with one BLAS thread, so that other programs matter less; --wall measures the clock instead, on a quiet machine. What
one reply teaches the controller is used by the next, as in a chat. A ratio below 1 is a loss; the goal is at least 0.97.
"""

import argparse
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("SLIPSTREAM_THREADS", "1")

from mlx_engine.hardware import blas

IN_USE = blas.prepare()  # before MLX is imported

from mlx_engine.calibration.calibration import calibrate  # noqa: E402
from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.events import Commit, Finished, Stats  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling  # noqa: E402
from mlx_engine.decoding.pair_history import PairHistory  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402

_UNUSUAL = (
    "Zyx qwv blorft, ünd nun? 9#9#",
    "Write a dialogue between a glacier and a tax form, in rhyme.",
    "ᚠᚢᚦ ᚨᚱᚲ ¿¡ ∮∇∂ ⟨x|y⟩ ~~~",
    "List twelve words that don't exist, with their opposites.",
    "asdf jkl; asdf jkl; sdfa lkj; dfas",
)


def decode(engine: Engine, request: GenerationRequest, clock: Callable[[], float]) -> tuple[float, list[int], Stats]:
    """Return the time of decoding after the first token, the reply's tokens, and its statistics."""
    tokens, began, ended = list[int](), 0.0, 0.0
    for event in engine.generate(request):
        ended = clock()
        if isinstance(event, Commit):
            began = began or ended
            tokens += event.tokens
        if isinstance(event, Finished):
            return ended - began, tokens, event.stats
    raise RuntimeError("The reply failed.")


def measure(engine: Engine, requests: list[GenerationRequest], clock: Callable[[], float]) -> dict[str, Any]:
    """Return the ratio of total times, that of each reply, and what the controller did."""
    history = engine.pair.history
    engine.pair.history = PairHistory(history.block, history.costs.table)
    decode(engine, replace(requests[0], mode="plain"), clock)  # warm-up
    plain, dflash = list[float](), list[float]()
    widths, same, steps, accepted = Counter[int](), 0, 0, 0
    for turn, request in enumerate(requests):
        texts = dict[str, list[int]]()
        for mode in ("plain", "dflash") if turn % 2 else ("dflash", "plain"):
            took, texts[mode], stats = decode(engine, replace(request, mode=mode), clock)
            (plain if mode == "plain" else dflash).append(took)
            if mode == "dflash":
                widths.update(stats.widths)
                steps, accepted = steps + stats.plain_steps, accepted + stats.accepted
        same += texts["plain"] == texts["dflash"]
    return {
        "ratio": sum(plain) / sum(dflash),
        "median": median(a / b for a, b in zip(plain, dflash, strict=True)),
        "ratios": [a / b for a, b in zip(plain, dflash, strict=True)],
        "seconds": [sum(plain), sum(dflash)],
        "plain_steps": steps,
        "widths": dict(sorted(widths.items())),
        "accepted": accepted,
        "identical": same,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.hopeless", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--replies", type=int, default=20, help="replies of each kind (default 20)")
    parser.add_argument("--tokens", type=int, default=95, help="tokens of a reply (default 95)")
    parser.add_argument("--temperatures", default="0.8,1.0,1.2,1.5", help="comma-separated (default 0.8,1.0,1.2,1.5)")
    parser.add_argument("--prompts", choices=("random", "unusual", "own"), help="one kind of prompts (default: random and unusual)")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--wall", action="store_true", help="measure the clock instead of processor time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    engine, before = Engine(), os.getloadavg()[0]
    for _ in engine.load(*((asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair())):
        pass
    for _ in calibrate(engine.pair, threading.Event(), for_later=False):
        pass
    draw, vocabulary = random.Random(0), engine.pair.target.vocabulary
    count = range(asked.replies)
    kinds = {
        "random": [GenerationRequest(prompt_tokens=tuple(draw.randrange(vocabulary) for _ in range(40))) for _ in count],
        "unusual": [GenerationRequest((Message("user", _UNUSUAL[i % len(_UNUSUAL)]),)) for i in count],
        "own": [GenerationRequest((Message("user", PROMPTS[i % len(PROMPTS)].text),)) for i in count],
    }
    clock = time.perf_counter if asked.wall else time.process_time
    report = dict[str, Any]()
    for kind in [asked.prompts] if asked.prompts else ["random", "unusual"]:
        for temperature in map(float, asked.temperatures.split(",")):
            facts = {"max_tokens": asked.tokens, "ignore_eos": kind != "own", "reuse": False}
            requests = [replace(each, **facts, sampling=Sampling(temperature), seed=i) for i, each in enumerate(kinds[kind])]
            found = report[f"{kind}, T {temperature:g}"] = measure(engine, requests, clock)
            if not asked.json:
                print(
                    f"{kind:8} T {temperature:g}: plain / DFlash {found['ratio']:.3f}, median {found['median']:.3f};"
                    f" same text {found['identical']} of {asked.replies}; {found['plain_steps']} plain steps,"
                    f" rounds by width {found['widths']}, {found['accepted']} accepted",
                    flush=True,
                )
    machine = {**asdict(IN_USE), "load": [before, os.getloadavg()[0]], "clock": "wall" if asked.wall else "processor"}
    report["machine"] = machine
    print(json.dumps(report) if asked.json else machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
