"""What the replies of a measurement add up to: medians with their spread, how drafts fared by position, and every reply."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from mlx_engine.bench.prompts import Prompt
from mlx_engine.errors import UserError
from mlx_engine.events import CompletedReply, Stats
from mlx_engine.requests import Mode
from mlx_engine.terminal import reply_printer


@dataclass(frozen=True)
class Way:
    """A way to decode: plainly, with DFlash at its own widths (`width` None), or at a fixed one."""

    mode: Mode
    width: int | None = None


PLAIN, DFLASH = Way("plain"), Way("dflash")


@dataclass(frozen=True)
class Measured:
    """One reply of one run. `joules`: what the processor used for it, prefill included; None where that is unknown."""

    run: int
    prompt: Prompt
    way: Way
    reply: CompletedReply
    joules: float | None = None


def summarise(measured: Sequence[Measured]) -> dict[str, Any]:
    """The report's figures. `replies` has those of plain decoding and of DFlash at its own widths; `fixed` has its own."""
    runs = sorted({each.run for each in measured})
    by_way = {way: [each for each in measured if each.way == way] for way in dict.fromkeys(each.way for each in measured)}
    rates = {way: [_rate([each for each in mine if each.run == run]) for run in runs] for way, mine in by_way.items()}
    pairs = _pairs(measured)
    ratios = [_over(b, a) for a, b in zip(rates[PLAIN], rates[DFLASH], strict=True)]
    fixed = sorted((way for way in by_way if way.width), key=lambda way: way.width or 0)
    return {
        "runs": len(runs),
        "prompts": len(pairs) // len(runs),
        "plain": _side(by_way[PLAIN], rates[PLAIN]),
        "dflash": _side(by_way[DFLASH], rates[DFLASH]),
        "fixed": {str(way.width): _side(by_way[way], rates[way]) | _beside(by_way[way], rates[way], rates[PLAIN]) for way in fixed},
        "ratio": _median(ratios),
        "ratios": ratios,
        "identical": sum(plain.reply.tokens == dflash.reply.tokens for plain, dflash in pairs),
        "compared": len(pairs),
        "kinds": {kind: _kind([pair for pair in pairs if pair[0].prompt.kind == kind]) for kind in _kinds(measured)},
        "replies": [_row(each) for each in measured if not each.way.width],
    }


def _side(measured: Sequence[Measured], rates: list[float | None]) -> dict[str, Any]:
    stats = [each.reply.stats for each in measured]
    used = [each.joules / each.reply.stats.tokens for each in measured if each.joules is not None and each.reply.stats.tokens]
    kept, tested = by_position(stats)
    return {
        "decode_tok_s": _median(rates),
        "runs_tok_s": rates,
        "prompt_tok_s": _median([each.prompt_tok_s for each in stats]),
        "ttft_s": _median([each.ttft_s for each in stats]),
        "quartiles": {
            name: _quartiles([getattr(each, name) for each in stats]) for name in ("decode_tok_s", "prompt_tok_s", "ttft_s")
        },
        "tokens_per_round": _per_round(stats),
        "acceptance_by_position": [a / b for a, b in zip(kept, tested, strict=True)],
        "tested_by_position": tested,
        "widths": {str(width): count for width, count in sorted(Counter(w for each in stats for w in each.widths).items())},
        "rounds": sum(each.rounds for each in stats),
        "plain_steps": sum(each.plain_steps for each in stats),
        "lookup_rounds": sum(each.lookup_rounds for each in stats),
        "tokens": sum(each.tokens for each in stats),
        "peak_memory_bytes": max(each.peak_memory_bytes for each in stats),
        "joules_per_token": _median(used),
    }


def by_position(stats: Sequence[Stats]) -> tuple[list[int], list[int]]:
    """Drafts kept and drafts tested at each position of a block, the first draft first.

    A draft is tested if all before it were kept; the one that is refused is the last that is tested.
    """
    kept, tested = Counter[int](), Counter[int]()
    for each in stats:
        for width, accepted in zip(each.widths, each.accepted_per_round, strict=False):
            kept.update(range(accepted))
            tested.update(range(min(accepted + 1, width - 1)))
    last = max(tested, default=-1) + 1
    return [kept[k] for k in range(last)], [tested[k] for k in range(last)]


def _beside(measured: Sequence[Measured], rates: list[float | None], plain: list[float | None]) -> dict[str, Any]:
    ratios = [_over(b, a) for a, b in zip(plain, rates, strict=True)]
    return {"ratio": _median(ratios), "ratios": ratios, "replies": [_row(each) for each in measured]}


def _kind(pairs: Sequence[tuple[Measured, Measured]]) -> dict[str, Any]:
    drafted = [dflash.reply.stats for _, dflash in pairs]
    return {
        "ratio": _median([_over(dflash.reply.stats.decode_tok_s, plain.reply.stats.decode_tok_s) for plain, dflash in pairs]),
        "tokens_per_round": _per_round(drafted),
        "plain_tok_s": _median([plain.reply.stats.decode_tok_s for plain, _ in pairs]),
        "dflash_tok_s": _median([each.decode_tok_s for each in drafted]),
    }


def _per_round(stats: Sequence[Stats]) -> float | None:
    """Tokens that rounds yielded over rounds; what a last round drafted beyond the end of the reply is not counted."""
    rounds = sum(each.rounds for each in stats)
    return sum(each.tokens - 1 - each.plain_steps for each in stats if each.rounds) / rounds if rounds else None


def _kinds(measured: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(each.prompt.kind for each in measured))


def _pairs(measured: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Each prompt of each run: plain's reply and DFlash's."""
    found = {(each.run, each.prompt, each.way): each for each in measured}
    return [(found[run, prompt, PLAIN], found[run, prompt, DFLASH]) for run, prompt, way in found if way == PLAIN]


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


def _quartiles(values: Sequence[float | None]) -> list[float] | None:
    """The first and the third."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    first, _, third = quantiles(known, n=4, method="inclusive")
    return [first, third]


def _row(each: Measured) -> dict[str, Any]:
    own = {"run": each.run, "kind": each.prompt.kind, "prompt": each.prompt.text, "before": len(each.prompt.before)}
    stats = each.reply.stats
    return own | {"prompt_tok_s": stats.prompt_tok_s, "joules": each.joules} | reply_printer.as_json(each.reply)["stats"]


def table(result: dict[str, Any]) -> str:
    """The summary for a person."""
    machine, name = result["machine"], result["pair"]["name"]
    lines = [
        f"{name}: {result['prompts']} prompts, {result['runs']} runs, at most {result['max_tokens']} tokens a reply",
        f"{machine['device']}, BLAS {machine['blas']}, threads {machine['threads'] or '–'}, load {machine['load_before']}"
        f" before and {machine['load_after']} after",
        "",
        f"{'':12}{'tok/s':>8}{'(runs)':>16}{'tokens a round':>17}{'first token':>14}{'prompt':>14}{'memory':>12}{'J a token':>11}",
    ]
    sides = [("plain", result["plain"]), ("DFlash", result["dflash"])]
    for title, side in sides + [(f"width {width}", side) for width, side in result["fixed"].items()]:
        lines.append(
            f"{title:12}{words(side['decode_tok_s'], '.0f'):>8}{_range(side['runs_tok_s']):>16}"
            f"{words(side['tokens_per_round'], '.1f'):>17}{words(side['ttft_s'], '.3f'):>12} s"
            f"{words(side['prompt_tok_s'], '.0f'):>8} tok/s{side['peak_memory_bytes'] / 1e6:>9.0f} MB"
            f"{words(side['joules_per_token'], '.2f', 'unknown'):>11}"
        )
    if any(ratio is not None for ratio in result["ratios"]):
        lines += ["", f"DFlash / plain: {result['ratio']:.2f} (runs {_range(result['ratios'], '.2f')})"]
    lines += [f"Identical texts: {result['identical']} of {result['compared']}"]
    if positions := result["dflash"]["acceptance_by_position"]:
        lines += ["Drafts kept, by position: " + " ".join(f"{share:.0%}".replace("%", " %") for share in positions)]
    if result["dflash"]["widths"] or result["dflash"]["plain_steps"]:
        counts = {"1": result["dflash"]["plain_steps"]} | result["dflash"]["widths"]
        lines += ["Rounds of each width: " + ", ".join(f"{count} × {width}" for width, count in counts.items() if count)]
    lines += ["", f"{'kind':12}{'ratio':>8}{'tokens a round':>17}"]
    for kind, side in result["kinds"].items():
        lines.append(f"{kind:12}{words(side['ratio'], '.2f'):>8}{words(side['tokens_per_round'], '.1f'):>17}")
    return "\n".join(lines)


def words(value: float | None, form: str, unknown: str = "–") -> str:
    """A figure, or what stands for one that is not known."""
    return unknown if value is None else format(value, form)


def _range(values: Sequence[float | None], form: str = ".0f") -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):{form}} – {max(known):{form}}" if known else "–"


def write(path: Path, text: str, replace: Callable[[str, Path], None] = os.replace) -> None:
    """Put a text into a file, whole or not at all.

    Raises:
        UserError: it cannot be written there.
    """
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(name, 0o644)
        replace(name, path)
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written ({error.strerror}). Name a file in a folder that you may write to.") from None
