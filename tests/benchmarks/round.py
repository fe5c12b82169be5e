"""Measure where a round's time goes: draft, verify and the rest, next to a plain step.

    python -m tests.benchmarks.round [--width 16] [--json]

Each part finishes before the next begins. A real round overlaps them and is slightly shorter than their sum.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402

from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.requests import Message, Sampling  # noqa: E402
from mlx_engine.decoding.prefill import prefill  # noqa: E402
from mlx_engine.decoding.sampling import Chooser  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.formats import chat_prompt  # noqa: E402
from mlx_engine.loading.loaded_pair import LoadedPair  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402


class Clock:
    """Collects seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        """Run the work and record its duration."""
        start = time.perf_counter()
        result = work()
        self.seconds[name].append(time.perf_counter() - start)
        return result


def measure(pair: LoadedPair, prompt: list[int], width: int, rounds: int, clock: Clock) -> None:
    """Run rounds and plain steps after one prompt. Every round keeps half of its rows, whatever was drafted."""
    target, drafter = pair.target, pair.drafter
    assert drafter is not None
    caches, context = target.caches(), drafter.context()
    for _ in prefill(target, caches, prompt, drafter, context):
        pass
    greedy = Chooser(Sampling(), 0)
    anchor, kept = mx.array([prompt[-1]], dtype=mx.uint32), max(width // 2, 1)
    mx.eval(caches.state, context.state)
    for _ in range(rounds):
        drafts = clock.time("build the draft", lambda: drafter.propose(context, anchor, width, greedy, None))
        clock.time("run the draft", lambda: mx.eval(drafts))  # noqa: B023  # called immediately
        block = mx.concatenate([anchor, drafts])
        logits, features = clock.time("build the verify", lambda: target.forward_tapped(block, caches))  # noqa: B023
        clock.time("run the verify", lambda: mx.eval(mx.argmax(logits, axis=-1)))  # noqa: B023
        clock.time("rewind and inject", lambda: _keep(pair, caches, context, features, width, kept))  # noqa: B023
        clock.time("(a plain step)", lambda: mx.eval(mx.argmax(target.forward(anchor, caches), axis=-1)))
        caches.rewind(1)


def _keep(pair: LoadedPair, caches: Any, context: Any, features: mx.array, width: int, kept: int) -> None:
    assert pair.drafter is not None
    caches.rewind(width - kept)
    pair.drafter.inject(context, features[:kept])
    mx.eval(context.state)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.round", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--width", type=int, help="rows of a verify (default: the drafter's block)")
    parser.add_argument("--rounds", type=int, default=12, help="after each prompt (default 12)")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    engine = Engine()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    for _ in engine.load(target, drafter):
        pass
    width = asked.width or engine.pair.info.block_size
    clock = Clock()
    for prompt in PROMPTS[:8]:
        tokens = chat_prompt.template(engine.pair.tokenizer, [Message("user", prompt.text)])
        measure(engine.pair, tokens, width, asked.rounds, clock)
    medians = {name: 1000 * median(seconds) for name, seconds in clock.seconds.items()}
    whole = sum(ms for name, ms in medians.items() if not name.startswith("("))
    if asked.json:
        print(json.dumps({"width": width, "milliseconds": medians, "round": whole}))
        return 0
    print(f"width {width}, medians in milliseconds")
    for name, ms in medians.items():
        print(f"  {name:<20}{ms:7.2f}")
    print(f"  {'a round':<20}{whole:7.2f}   pays from {whole / medians['(a plain step)']:.1f} tokens a round on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
