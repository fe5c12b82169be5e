"""`slipstream bench`: plain decoding, DFlash with its own choice of widths, and fixed widths in turn over a set of prompts.

A machine's speed drifts with heat and load, so plain and DFlash take turns prompt by prompt, alternating which comes first, with
the fixed widths after every few prompts; between two runs the machine rests. A ratio is formed within a run before the median is
taken over runs. Rates are of decoding alone: prefill is never folded in.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from mlx_engine import blas
from mlx_engine.bench import comparison, picture, results, roofline
from mlx_engine.bench.energy import Meter
from mlx_engine.bench.general_prompts import GENERAL
from mlx_engine.bench.prompts import LONG, PROMPTS, Prompt
from mlx_engine.events import CompletedReply
from mlx_engine.pairs import machine
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.requests import GenerationRequest
from mlx_engine.terminal import interrupt, reply_printer
from mlx_engine.terminal.pair import Engine, MakeEngine, folders, open_pair

SETS = {"mixed": PROMPTS, "long": LONG, "general": GENERAL}
AUTO: tuple[results.Way, ...] = (results.PLAIN, results.DFLASH)
_USUAL_WIDTHS = (4, 8, 16)
_BESIDE = 4  # prompts after which the fixed widths have their turn


@dataclass(frozen=True)
class Plan:
    """What is to be measured. `cool_down_s`: seconds of rest between two runs."""

    prompts: Sequence[Prompt]
    runs: int
    max_tokens: int
    widths: tuple[int, ...] = ()
    cool_down_s: float = 0.0
    rest: Callable[[float], None] = time.sleep


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Measure and report; 130 when interrupted, with nothing reported."""
    if given.compare:
        return comparison.run(given.compare[0], given.compare[1], given.json)
    if given.host:
        from tests.benchmarks import host  # it needs MLX at once

        return host.run(given.json)
    if given.roofline:
        return roofline.run(given, make_engine)
    engine, info = open_pair(make_engine, given, calibrated=True)
    chosen = given.set or ("mixed" if folders(given) == demo_pair() else "general")
    plan = Plan(
        prompts=SETS[chosen][: given.prompts],
        runs=given.runs,
        max_tokens=given.max_tokens,
        widths=_widths(given, info.block_size),
        cool_down_s=given.cool_down,
    )
    before, meter = _load(), Meter()
    measured = measure(engine, plan, meter)
    if measured is None:
        print("Stopped; nothing is reported.", file=sys.stderr)
        return 130
    result = {
        "pair": {"name": info.name, "family": info.family, "block_size": info.block_size, "drafter_weights": info.drafter_weights},
        "machine": _machine((before, _load())),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "set": chosen,
        "max_tokens": given.max_tokens,
        "cool_down_s": given.cool_down,
        "energy": "powercap" if meter.known else "unknown",
        **results.summarise(measured),
    }
    for path, text in ((given.out, json.dumps(result, ensure_ascii=False)), (given.picture, picture.svg(result))):
        if path is not None:
            results.write(path, text)
    print(json.dumps(result, ensure_ascii=False) if given.json else results.table(result))
    return 0


def measure(engine: Engine, plan: Plan, meter: Meter) -> list[results.Measured] | None:
    """Every prompt in every way, `runs` times; None when it was interrupted.

    Raises:
        UserError: the engine could not answer.
    """
    measured: list[results.Measured] = []
    fixed = tuple(results.Way("dflash", width) for width in plan.widths)
    with interrupt.stops_reply() as cancel:

        def answer(prompt: Prompt, way: results.Way) -> tuple[CompletedReply, float | None]:
            request = GenerationRequest(prompt.messages, mode=way.mode, width=way.width, max_tokens=plan.max_tokens, reuse=False)
            meter.joules()
            return reply_printer.show(engine.generate(request, cancel), None), meter.joules()

        for number in range(-1, plan.runs):  # the first run, of one prompt, warms up and is not kept
            chosen = list(plan.prompts if number >= 0 else plan.prompts[:1])
            if number > 0 and plan.cool_down_s:
                _progress(f"resting before run {number + 1} of {plan.runs}")
                plan.rest(plan.cool_down_s)
            for index, prompt, way in turns(chosen, number, fixed if number >= 0 else ()):
                _progress(f"run {number + 1} of {plan.runs}, prompt {index + 1} of {len(chosen)}" if number >= 0 else "warming up")
                answered, joules = answer(prompt, way)
                if answered.reason == "cancelled":
                    _progress("")
                    return None
                if number >= 0:
                    measured.append(results.Measured(number, prompt, way, answered, joules))
    _progress("")
    return measured


def turns(prompts: list[Prompt], number: int, fixed: tuple[results.Way, ...]) -> list[tuple[int, Prompt, results.Way]]:
    """The order of one run: index of the prompt, prompt, way."""
    order = []
    for start in range(0, len(prompts), _BESIDE):
        few = list(enumerate(prompts))[start : start + _BESIDE]
        for index, prompt in few:
            order += [(index, prompt, way) for way in (AUTO if (number + index) % 2 else AUTO[::-1])]
        for index, prompt in few if fixed else ():
            first = (number + index) % len(fixed)
            order += [(index, prompt, way) for way in fixed[first:] + fixed[:first]]
    return order


def _widths(given: argparse.Namespace, block: int) -> tuple[int, ...]:
    if given.widths is None:
        return tuple(sorted({*(width for width in _USUAL_WIDTHS if width < block), block} - {1}))
    if too_wide := [width for width in given.widths if width > block]:
        given.parser.error(f"a width of {too_wide[0]} is more than this drafter's block of {block}; give widths from 2 to {block}.")
    return given.widths


def _load() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def _machine(load: tuple[Any, Any]) -> dict[str, Any]:
    in_use, facts = blas.prepare(), machine.load_facts()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "device": "Metal" if in_use.name == "metal" else f"CPU, {os.cpu_count()} cores, {platform.machine()}",
        "blas": in_use.name,
        "threads": in_use.threads,
        "load_before": load[0],
        "load_after": load[1],
        "python": platform.python_version(),
        "mlx": version("mlx"),
        "mlx_lm": version("mlx-lm"),
        "facts": asdict(facts) if facts else None,
    }


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
