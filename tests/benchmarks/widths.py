"""Measure the width controller: automatic width against every fixed one and plain decoding, on three kinds of text.

    python -m tests.benchmarks.widths [--runs 3] [--prompts 24] [--cold] [--json]

The kinds: the pair's own prompts; hopeless text (prompts of random tokens, and a random drafter); and copies (a question repeated
after its answer, where lookup applies). All modes run on every prompt in random order. A rate is all tokens of a run over its
decoding seconds. Costs are calibrated first; with --cold they are learned on the way.
"""

import argparse
import dataclasses
import json
import os
import random
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from mlx_engine.hardware import blas

IN_USE = blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402

from mlx_engine.calibration.calibration import calibrate  # noqa: E402
from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.cli.bench_ratio import paired_ratio  # noqa: E402
from mlx_engine.contract.events import CompletedReply, Finished  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.decoding.costs import LADDER  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402

_LONG = 256  # tokens in a hopeless reply
_COPIED = ("table", "list", "function", "counting", "divisors", "talk", "sorting")


def random_drafter(folder: Path, into: Path) -> Path:
    """Return a drafter of the same shape with random matrices."""
    mx.random.seed(0)
    (into / "config.json").write_bytes((folder / "config.json").read_bytes())
    for file in folder.glob("*.safetensors"):
        weights = mx.load(str(file))
        assert isinstance(weights, dict)
        noise = {
            name: mx.random.normal(array.shape) * 0.02 if array.ndim > 1 else array.astype(mx.float32)
            for name, array in weights.items()
        }
        mx.save_safetensors(str(into / file.name), noise)
    return into


def loaded(target: Path, drafter: Path, cold: bool, lookup: bool = True) -> Engine:
    """Return an engine with the pair, calibrated unless `cold`."""
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    if not cold:
        for _ in calibrate(engine.pair, threading.Event(), for_later=False):
            pass
    engine.pair.history.lookup = lookup
    return engine


def answer(engine: Engine, request: GenerationRequest) -> CompletedReply:
    """Return one reply."""
    events = list(engine.generate(request))
    ended = events[-1]
    assert isinstance(ended, Finished), ended
    return fold(events)


Mode = tuple[str, Engine, dict[str, Any]]  # name, engine, changes to the request


def measure(
    modes: list[Mode], requests: list[GenerationRequest], runs: int, draw: random.Random
) -> dict[str, list[list[CompletedReply]]]:
    """Run every mode on every request, [requests][runs], interleaved after a warm-up."""
    out: dict[str, list[list[CompletedReply]]] = {name: [[] for _ in requests] for name, _, _ in modes}
    for _, engine, changes in modes:
        answer(engine, dataclasses.replace(requests[0], **changes))
    for _ in range(runs):
        for index, request in enumerate(requests):
            for name, engine, changes in draw.sample(modes, len(modes)):
                out[name][index].append(answer(engine, dataclasses.replace(request, **changes)))
    return out


def rates(replies: list[list[CompletedReply]]) -> list[float]:
    """Return tokens per second of every run, all requests together."""
    out = []
    for run in zip(*replies, strict=True):
        timed = [(reply.stats.tokens - 1, reply.stats.decode_tok_s) for reply in run]
        out.append(sum(n for n, rate in timed if rate) / sum(n / rate for n, rate in timed if rate))
    return out


def summary(measured: dict[str, list[list[CompletedReply]]], auto: str, others: list[str]) -> dict[str, Any]:
    """Return median rates, and the automatic mode over the best of the others: by medians and by prompt."""
    by_mode = {name: rates(replies) for name, replies in measured.items()}
    best = max(others, key=lambda name: median(by_mode[name]))
    single = {
        name: [[reply.stats.decode_tok_s or 0.0 for reply in runs] for runs in measured[name] if runs[0].stats.tokens > 2]
        for name in (auto, best)
    }
    stats = [reply.stats for runs in measured[auto] for reply in runs]
    because = Counter[str]()
    for each in stats:
        because.update({str(why): steps for why, steps in each.plain_because})
    same = [runs[0].tokens for runs in measured[others[0]]]
    return {
        "tok_s": {name: median(found) for name, found in by_mode.items()},
        "best": best,
        "ratio": median(a / b for a, b in zip(by_mode[auto], by_mode[best], strict=True)),
        "ratios": [a / b for a, b in zip(by_mode[auto], by_mode[best], strict=True)],
        "paired": dataclasses.asdict(paired_ratio(single[auto], single[best])),
        "widths": dict(sorted(Counter(width for each in stats for width in each.widths).items())),
        "plain_because": dict(because),
        "lookup_rounds": sum(each.lookup_rounds for each in stats),
        "trials": sum(each.trials for each in stats),
        "identical": sum(reply.tokens == same[i] for i, runs in enumerate(measured[auto]) for reply in runs),
        "replies": len(stats),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.widths", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=3, help="counted runs (default 3)")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), help="the first N of each sort")
    parser.add_argument("--cold", action="store_true", help="learn costs on the way")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--only", choices=("own", "random tokens", "random drafter", "copies"), help="one sort of text")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    before, draw = os.getloadavg()[0], random.Random(0)
    engine = loaded(target, drafter, asked.cold)
    block, vocabulary = engine.pair.info.block_size, engine.pair.target.vocabulary
    plain: Mode = ("plain", engine, {"mode": "plain"})
    auto: Mode = ("auto", engine, {})
    fixed: list[Mode] = [(f"width {width}", engine, {"width": width}) for width in LADDER if 1 < width <= block]
    prompts = PROMPTS[: asked.prompts]
    own = [GenerationRequest((Message("user", each.text),), max_tokens=_LONG, reuse=False) for each in prompts]
    report: dict[str, Any] = {}

    def wanted(name: str) -> bool:
        return asked.only in (None, name)

    if wanted("own"):
        report["own"] = summary(measure([plain, auto, *fixed], own, asked.runs, draw), "auto", [name for name, _, _ in fixed])
    if wanted("random tokens"):
        lines = [tuple(draw.randrange(vocabulary) for _ in range(40)) for _ in range(min(8, asked.prompts))]
        requests = [GenerationRequest(prompt_tokens=each, max_tokens=_LONG, ignore_eos=True, reuse=False) for each in lines]
        report["random tokens"] = summary(measure([plain, auto], requests, asked.runs, draw), "auto", ["plain"])
    if wanted("random drafter"):
        with tempfile.TemporaryDirectory() as folder:
            noisy = loaded(target, random_drafter(drafter, Path(folder)), asked.cold, lookup=False)
        long = [dataclasses.replace(each, ignore_eos=True) for each in own[:8]]
        modes: list[Mode] = [("plain", noisy, {"mode": "plain"}), ("auto", noisy, {})]
        report["random drafter"] = summary(measure(modes, long, asked.runs, draw), "auto", ["plain"])
    if wanted("copies"):
        without = loaded(target, drafter, asked.cold, lookup=False)
        again = []
        for each in [each for each in prompts if each.kind in _COPIED][:8]:
            question = Message("user", each.text)
            said = answer(engine, GenerationRequest((question,), mode="plain", max_tokens=_LONG, reuse=False)).text
            again.append(GenerationRequest((question, Message("assistant", said), question), max_tokens=_LONG, reuse=False))
        modes = [plain, ("auto with lookup", engine, {}), ("auto, drafter alone", without, {})]
        report["copies"] = summary(measure(modes, again, asked.runs, draw), "auto with lookup", ["auto, drafter alone"])
    report["machine"] = {**dataclasses.asdict(IN_USE), "load": [before, os.getloadavg()[0]], "runs": asked.runs, "cold": asked.cold}
    print(json.dumps(report) if asked.json else table(report))
    return 0


def table(report: dict[str, Any]) -> str:
    """Format the report as text."""
    machine = report["machine"]
    load = " to ".join(f"{value:.1f}" for value in machine["load"])
    lines = [f"float32, {machine['name']}, {machine['threads']} threads, load {load}, {machine['runs']} runs"]
    for name, found in report.items():
        if name == "machine":
            continue
        paired, low, high = found["paired"], min(found["ratios"]), max(found["ratios"])
        lines += [
            "",
            f"{name}: automatic / {found['best']} {found['ratio']:.3f}, runs {low:.3f} to {high:.3f}",
            f"  prompt by prompt {paired['value']:.3f} (95 %: {paired['low']:.3f} to {paired['high']:.3f})",
            "  tok/s: " + ", ".join(f"{mode} {rate:.0f}" for mode, rate in found["tok_s"].items()),
            f"  widths {found['widths']}, lookup rounds {found['lookup_rounds']}, trials {found['trials']},"
            f" same text {found['identical']} of {found['replies']}",
            *(f"  plain steps because {why}: {count}" for why, count in found["plain_because"].items()),
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
