"""`slipstream bench`: plain and DFlash decoding in turn over mixed prompts, and the medians.

A machine's speed drifts with heat and load, so the two modes take turns prompt by prompt, alternating which comes first, and the
ratio is formed within a run before the median is taken over runs. Rates are of decoding alone: prefill is never folded in.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import median
from typing import Any

from mlx_engine import blas
from mlx_engine.bench.prompts import PROMPTS, Prompt
from mlx_engine.events import GenerationRequest, Message, Mode, PairInfo, Reply, Stats
from mlx_engine.terminal import interrupt, reply
from mlx_engine.terminal.pair import Engine, MakeEngine, open_pair

MODES: tuple[Mode, ...] = ("plain", "dflash")


@dataclass(frozen=True)
class Measured:
    """One reply of one run."""

    run: int
    prompt: Prompt
    mode: Mode
    reply: Reply


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Measure and report; 130 when interrupted, with nothing reported."""
    engine, info = open_pair(make_engine, given)
    prompts = PROMPTS[: given.prompts]
    before = _load()
    measured = measure(engine, prompts, given.runs, given.max_tokens)
    if measured is None:
        print("Stopped; nothing is reported.", file=sys.stderr)
        return 130
    result = summarise(measured, info, given.max_tokens, (before, _load()))
    print(json.dumps(result, ensure_ascii=False) if given.json else table(result))
    return 0


def measure(engine: Engine, prompts: Sequence[Prompt], runs: int, max_tokens: int) -> list[Measured] | None:
    """Every prompt in both modes, `runs` times; None when it was interrupted.

    Raises:
        UserError: the engine could not answer.
    """
    measured: list[Measured] = []
    with interrupt.stops_reply() as cancel:
        for number in range(-1, runs):  # the first run, of one prompt, warms up and is not kept
            chosen = prompts if number >= 0 else prompts[:1]
            for index, prompt in enumerate(chosen):
                _progress(f"run {number + 1} of {runs}, prompt {index + 1} of {len(chosen)}" if number >= 0 else "warming up")
                for mode in MODES if (number + index) % 2 else MODES[::-1]:
                    request = GenerationRequest((Message("user", prompt.text),), mode=mode, max_tokens=max_tokens, reuse=False)
                    answer = reply.show(engine.generate(request, cancel), None)
                    if answer.reason == "cancelled":
                        _progress("")
                        return None
                    if number >= 0:
                        measured.append(Measured(number, prompt, mode, answer))
    _progress("")
    return measured


def summarise(measured: Sequence[Measured], info: PairInfo, max_tokens: int, load: tuple[Any, Any]) -> dict[str, Any]:
    """Medians over runs, every run, and what the figures depend on."""
    runs = sorted({each.run for each in measured})
    rates = {mode: [_rate([each for each in measured if (each.run, each.mode) == (run, mode)]) for run in runs] for mode in MODES}
    pairs = _pairs(measured)
    return {
        "pair": {"name": info.name, "family": info.family, "block_size": info.block_size},
        "machine": _machine(load),
        "runs": len(runs),
        "prompts": len(pairs) // len(runs),
        "max_tokens": max_tokens,
        "plain": _side([each for each in measured if each.mode == "plain"], rates["plain"]),
        "dflash": _side([each for each in measured if each.mode == "dflash"], rates["dflash"]),
        "ratio": _median([_over(b, a) for a, b in zip(rates["plain"], rates["dflash"], strict=True)]),
        "ratios": [_over(b, a) for a, b in zip(rates["plain"], rates["dflash"], strict=True)],
        "identical": sum(plain.reply.tokens == dflash.reply.tokens for plain, dflash in pairs),
        "compared": len(pairs),
        "kinds": {kind: _kind([pair for pair in pairs if pair[0].prompt.kind == kind]) for kind in _kinds(measured)},
        "replies": [_row(each) for each in measured],
    }


def table(result: dict[str, Any]) -> str:
    """The summary for a person."""
    machine, name = result["machine"], result["pair"]["name"]
    lines = [
        f"{name}: {result['prompts']} prompts, {result['runs']} runs, at most {result['max_tokens']} tokens a reply",
        f"{machine['device']}, BLAS {machine['blas']}, threads {machine['threads'] or '–'}, load {machine['load_before']}"
        f" before and {machine['load_after']} after",
        "",
        f"{'':12}{'tok/s':>8}{'(runs)':>16}{'tokens a round':>17}{'first token':>14}",
    ]
    for name, side in (("plain", result["plain"]), ("DFlash", result["dflash"])):
        spread = [rate for rate in side["runs_tok_s"] if rate is not None]
        between = f"{min(spread):.0f} – {max(spread):.0f}" if spread else "–"
        lines.append(
            f"{name:12}{_words(side['decode_tok_s'], '.0f'):>8}{between:>16}{_words(side['tokens_per_round'], '.1f'):>17}"
            f"{_words(side['ttft_s'], '.3f'):>12} s"
        )
    ratios = [ratio for ratio in result["ratios"] if ratio is not None]
    if ratios:
        lines += ["", f"DFlash / plain: {result['ratio']:.2f} (runs {min(ratios):.2f} – {max(ratios):.2f})"]
    lines += [
        f"Identical texts: {result['identical']} of {result['compared']}",
        "",
        f"{'kind':12}{'ratio':>8}{'tokens a round':>17}",
    ]
    for kind, side in result["kinds"].items():
        lines.append(f"{kind:12}{_words(side['ratio'], '.2f'):>8}{_words(side['tokens_per_round'], '.1f'):>17}")
    return "\n".join(lines)


def _words(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _side(measured: Sequence[Measured], rates: list[float | None]) -> dict[str, Any]:
    stats = [each.reply.stats for each in measured]
    return {
        "decode_tok_s": _median(rates),
        "runs_tok_s": rates,
        "ttft_s": _median([each.ttft_s for each in stats]),
        "tokens_per_round": _per_round(stats),
        "tokens": sum(each.tokens for each in stats),
        "peak_memory_bytes": max(each.peak_memory_bytes for each in stats),
    }


def _kind(pairs: Sequence[tuple[Measured, Measured]]) -> dict[str, Any]:
    drafted = [dflash.reply.stats for _, dflash in pairs]
    return {
        "ratio": _median([_over(dflash.reply.stats.decode_tok_s, plain.reply.stats.decode_tok_s) for plain, dflash in pairs]),
        "tokens_per_round": _per_round(drafted),
    }


def _per_round(stats: Sequence[Stats]) -> float | None:
    """Tokens that rounds yielded over rounds; what a last round drafted beyond the end of the reply is not counted."""
    rounds = sum(each.rounds for each in stats)
    return sum(each.tokens - 1 - each.plain_steps for each in stats if each.rounds) / rounds if rounds else None


def _kinds(measured: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(each.prompt.kind for each in measured))


def _pairs(measured: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Each prompt of each run: plain's reply and DFlash's."""
    found = {(each.run, each.prompt.text, each.mode): each for each in measured}
    return [(found[run, text, "plain"], found[run, text, "dflash"]) for run, text, mode in found if mode == "plain"]


def _rate(measured: Sequence[Measured]) -> float | None:
    """Tokens over seconds of decoding, all replies together: long replies count for more, as they do for whoever waits."""
    timed = [(each.reply.stats.tokens - 1, each.reply.stats.decode_tok_s) for each in measured]
    seconds = sum(tokens / rate for tokens, rate in timed if rate)
    return sum(tokens for tokens, rate in timed if rate) / seconds if seconds else None


def _over(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _row(each: Measured) -> dict[str, Any]:
    return {"run": each.run, "kind": each.prompt.kind, "prompt": each.prompt.text, **reply.as_json(each.reply)["stats"]}


def _load() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def _machine(load: tuple[Any, Any]) -> dict[str, Any]:
    in_use = blas.prepare()
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
    }


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
