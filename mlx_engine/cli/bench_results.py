"""Benchmark results: medians, spread, acceptance by position, and all replies."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from mlx_engine.cli import generate
from mlx_engine.cli.bench_prompts import BenchPrompt
from mlx_engine.contract.counts import Counts
from mlx_engine.contract.events import CompletedReply, Stats, tokens_per_round
from mlx_engine.contract.requests import Mode


@dataclass(frozen=True)
class BenchMode:
    """A decoding mode. A `width` of None means automatic."""

    mode: Mode
    width: int | None = None


PLAIN, DFLASH = BenchMode("plain"), BenchMode("dflash")


@dataclass(frozen=True)
class MeasuredReply:
    """A reply of a run, and the processor's energy for it, including prefill."""

    run: int
    prompt: BenchPrompt
    mode: BenchMode
    reply: CompletedReply
    joules: float | None = None

    @property
    def stats(self) -> Stats:
        return self.reply.stats


_Replies = Sequence[MeasuredReply]
_COUNTS = ("rounds", "plain_steps", "lookup_rounds", "lookup_tested", "lookup_accepted", "tokens")


def summarize(measured: _Replies) -> dict[str, Any]:
    """Return the report. Replies at fixed widths are listed separately in `fixed`."""
    runs = sorted({each.run for each in measured})
    by_mode = {mode: [each for each in measured if each.mode == mode] for mode in dict.fromkeys(each.mode for each in measured)}
    rates = {mode: [_rate([each for each in mine if each.run == run]) for run in runs] for mode, mine in by_mode.items()}
    pairs = _pairs(measured)
    ratios = _ratios(rates[DFLASH], rates[PLAIN])
    fixed = sorted((mode for mode in by_mode if mode.width), key=lambda mode: mode.width or 0)
    kinds = dict.fromkeys(each.prompt.kind for each in measured)
    return {
        "runs": len(runs),
        "prompts": len(pairs) // len(runs),
        "plain": _summary(by_mode[PLAIN], rates[PLAIN]),
        "dflash": _summary(by_mode[DFLASH], rates[DFLASH]),
        "fixed": {str(mode.width): _fixed(by_mode[mode], rates[mode], rates[PLAIN]) for mode in fixed},
        "ratio": _median(ratios),
        "ratios": ratios,
        "identical": sum(plain.reply.tokens == dflash.reply.tokens for plain, dflash in pairs),
        "compared": len(pairs),
        "kinds": {kind: _kind([pair for pair in pairs if pair[0].prompt.kind == kind]) for kind in kinds},
        "replies": [_row(each) for each in measured if not each.mode.width],
    }


def _summary(measured: _Replies, rates: list[float | None]) -> dict[str, Any]:
    stats = [each.stats for each in measured]
    accepted, tested = by_position(stats)
    times = {name: [getattr(each, name) for each in stats] for name in ("decode_tok_s", "prompt_tok_s", "ttft_s")}
    return {
        "decode_tok_s": _median(rates),
        "runs_tok_s": rates,
        "prompt_tok_s": _median(times["prompt_tok_s"]),
        "ttft_s": _median(times["ttft_s"]),
        "quartiles": {name: _quartiles(values) for name, values in times.items()},
        "tokens_per_round": tokens_per_round(stats),
        "acceptance_by_position": [a / b for a, b in zip(accepted, tested, strict=True)],
        "tested_by_position": tested,
        "widths": {str(width): count for width, count in sorted(Counter(w for each in stats for w in each.widths).items())},
        **{name: getattr(Counts.of(*stats), name) for name in _COUNTS},
        "peak_memory_bytes": max(each.peak_memory_bytes for each in stats),
        "joules_per_token": _median(
            [each.joules / each.stats.tokens for each in measured if each.joules is not None and each.stats.tokens]
        ),
    }


def by_position(stats: Sequence[Stats]) -> tuple[list[int], list[int]]:
    """Return counts of accepted and tested drafts by position after the anchor."""
    accepted, tested = Counter[int](), Counter[int]()
    for each in stats:
        for width, count in zip(each.widths, each.accepted_per_round, strict=False):
            accepted.update(range(count))
            tested.update(range(min(count + 1, width - 1)))
    positions = range(max(tested, default=-1) + 1)
    return [accepted[k] for k in positions], [tested[k] for k in positions]


def _fixed(measured: _Replies, rates: list[float | None], plain: list[float | None]) -> dict[str, Any]:
    ratios = _ratios(rates, plain)
    return _summary(measured, rates) | {
        "ratio": _median(ratios),
        "ratios": ratios,
        "replies": [_row(each) for each in measured],
    }


def _kind(pairs: Sequence[tuple[MeasuredReply, MeasuredReply]]) -> dict[str, Any]:
    plain, dflash = ([pair[side].stats.decode_tok_s for pair in pairs] for side in (0, 1))
    return {
        "ratio": _median(_ratios(dflash, plain)),
        "tokens_per_round": tokens_per_round([drafted.stats for _, drafted in pairs]),
        "plain_tok_s": _median(plain),
        "dflash_tok_s": _median(dflash),
    }


def _pairs(measured: _Replies) -> list[tuple[MeasuredReply, MeasuredReply]]:
    """Return the plain and the DFlash reply for each prompt and run."""
    found = {(each.run, each.prompt, each.mode): each for each in measured}
    return [(found[run, prompt, PLAIN], found[run, prompt, DFLASH]) for run, prompt, mode in found if mode == PLAIN]


def _rate(measured: _Replies) -> float | None:
    """Return tokens per second over all replies, so that long replies weigh more."""
    timed = [(each.stats.tokens - 1, each.stats.decode_tok_s) for each in measured]
    seconds = sum(tokens / rate for tokens, rate in timed if rate)
    return sum(tokens for tokens, rate in timed if rate) / seconds if seconds else None


def _ratios(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[float | None]:
    return [a / b if a and b else None for a, b in zip(ours, theirs, strict=True)]


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _quartiles(values: Sequence[float | None]) -> list[float] | None:
    """Return the first and third quartiles."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    first, _, third = quantiles(known, n=4, method="inclusive")
    return [first, third]


def _row(each: MeasuredReply) -> dict[str, Any]:
    row = {"run": each.run, "kind": each.prompt.kind, "prompt": each.prompt.text, "before": len(each.prompt.messages) - 1}
    return row | {"prompt_tok_s": each.stats.prompt_tok_s, "joules": each.joules} | generate.as_json(each.reply)["stats"]


def table(report: dict[str, Any]) -> str:
    """Return the report as text."""
    lines = [
        *heading(report),
        f"{'':12}{'tok/s':>8}{'(runs)':>16}{'tokens/round':>15}{'first token':>14}{'prompt':>14}{'memory':>12}{'J/token':>11}",
    ]
    sides = [("plain", report["plain"]), ("DFlash", report["dflash"])]
    for title, side in sides + [(f"width {width}", side) for width, side in report["fixed"].items()]:
        lines.append(
            f"{title:12}{words(side['decode_tok_s'], '.0f'):>8}{_range(side['runs_tok_s']):>16}"
            f"{words(side['tokens_per_round'], '.1f'):>15}{words(side['ttft_s'], '.3f'):>12} s"
            f"{words(side['prompt_tok_s'], '.0f'):>8} tok/s{words(side['peak_memory_bytes'] / 1e6 or None, '.0f'):>9} MB"
            f"{words(side['joules_per_token'], '.2f', 'unknown'):>11}"
        )
    if any(ratio is not None for ratio in report["ratios"]):
        lines += ["", f"DFlash / plain: {report['ratio']:.2f} (runs {_range(report['ratios'], '.2f')})"]
    lines += [f"Identical replies: {report['identical']} of {report['compared']}"]
    if positions := report["dflash"]["acceptance_by_position"]:
        lines += ["Acceptance by position, if all before are accepted: " + " ".join(f"{share:.0%}" for share in positions)]
    if report["dflash"]["widths"] or report["dflash"]["plain_steps"]:
        counts = {"1": report["dflash"]["plain_steps"]} | report["dflash"]["widths"]
        lines += ["Rounds by width: " + ", ".join(f"{count} × {width}" for width, count in counts.items() if count)]
    if tested := report["dflash"].get("lookup_tested"):  # results of earlier versions lack it
        lines += [f"Copied from earlier text: {report['dflash']['lookup_accepted']} of {tested} accepted"]
    lines += ["", f"{'kind':12}{'ratio':>8}{'tokens/round':>15}"]
    for kind, side in report["kinds"].items():
        lines.append(f"{kind:12}{words(side['ratio'], '.2f'):>8}{words(side['tokens_per_round'], '.1f'):>15}")
    return "\n".join(lines)


def heading(report: dict[str, Any]) -> list[str]:
    """Return the lines that say what was measured, and where."""
    machine, name = report["machine"], report["pair"]["name"]
    settings = f"up to {report['max_tokens']} tokens per reply"
    if report.get("temperature"):
        settings += f", temperature {report['temperature']:g}"
    if report.get("thinking"):
        settings += ", thinking"
    origin = []
    if source := report.get("source"):  # of a published set
        origin = [
            f"Prompts: {report['set']} from {source['repo']}, revision {source['revision'][:7]}, license: {source['license']}"
        ]
    local = f"{machine['device']}, BLAS {machine['blas']}, threads {machine['threads'] or '–'}, load {machine['load_before']}"
    return [
        f"{name}: {_count(report['prompts'], 'prompt')}, {_count(report['runs'], 'run')}, {settings}",
        *origin,
        f"Server: {remote}" if (remote := report["pair"].get("remote")) else f"{local} before and {machine['load_after']} after",
        "",
    ]


def _count(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def words(value: float | None, form: str, unknown: str = "–") -> str:
    """Format a value that may be unknown."""
    return unknown if value is None else format(value, form)


def _range(values: Sequence[float | None], form: str = ".0f") -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):{form}} – {max(known):{form}}" if known else "–"
