"""The comparison of two benchmark reports, prompt by prompt."""

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

_CONDITIONS = {
    "pair": ("name", "family", "block_size", "drafter_weights", "tuned", "remote"),
    "machine": ("system", "device", "blas", "threads", "mlx", "mlx_lm", "computers"),
}
_SETTINGS = {"set": None, "max_tokens": None, "temperature": 0.0, "thinking": False}  # and what they were in earlier reports
_RESAMPLES = 2000


@dataclass(frozen=True)
class PairedRatio:
    """Geometric mean of paired ratios, with a 95% interval."""

    value: float
    low: float
    high: float
    pairs: int


def paired_ratio(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> PairedRatio:
    """Return ours / theirs from rates [prompts][runs], paired run by run.

    Each prompt contributes the median ratio of its runs, so that one disturbed run matters little. Then prompts are resampled
    (percentile bootstrap, fixed seed), because the result should hold for other prompts.
    """
    logs = [median(math.log(a / b) for a, b in zip(x, y, strict=True)) for x, y in zip(ours, theirs, strict=True)]
    draw = random.Random(0)
    means = sorted(mean(draw.choices(logs, k=len(logs))) for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return PairedRatio(math.exp(mean(logs)), math.exp(low), math.exp(high), len(logs))


def compare(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Return B's rates over A's for each shared mode, and the conditions that differ.

    The runs of the two reports aren't interleaved, so a disturbance affects only one report.
    """
    found = [
        (f"{part}: {name.replace('_', ' ')}", *(each[part].get(name, 1 if name == "computers" else None) for each in (a, b)))
        for part, names in _CONDITIONS.items()
        for name in names
    ]
    found += [(name.replace("_", " "), a.get(name, usual), b.get(name, usual)) for name, usual in _SETTINGS.items()]
    differs = [{"what": what, "a": of_a, "b": of_b} for what, of_a, of_b in found if of_a != of_b]
    ours, theirs = rates(b), rates(a)
    return {
        "differs": differs,
        "ways": {mode: asdict(ratio) for mode in theirs if mode in ours and (ratio := _ratio(ours[mode], theirs[mode]))},
        "dflash_over_plain": [a["ratio"], b["ratio"]],
        "tokens_per_round": [a["dflash"]["tokens_per_round"], b["dflash"]["tokens_per_round"]],
    }


def rates(report: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return decode rates by mode and prompt, omitting replies of one token."""
    out: dict[str, dict[str, list[float]]] = {}
    rows = [(row["mode"], row) for row in report["replies"]]
    rows += [(f"width {width}", row) for width, side in report.get("fixed", {}).items() for row in side["replies"]]
    for mode, row in rows:
        if row["decode_tok_s"]:
            prompt = f"{row.get('before', 0)} {row['prompt']}"
            out.setdefault(mode, {}).setdefault(prompt, []).append(float(row["decode_tok_s"]))
    return out


def _ratio(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> PairedRatio | None:
    shared = [(ours[prompt], theirs[prompt]) for prompt in ours if prompt in theirs]
    return paired_ratio([x[: len(y)] for x, y in shared], [y[: len(x)] for x, y in shared]) if shared else None


def table(found: dict[str, Any]) -> str:
    lines = [f"Different {each['what']}: {each['a']} and {each['b']}" for each in found["differs"]]
    if not found["ways"]:
        return "\n".join([*lines, "The reports have no prompt in common. Measure both with the same prompts."])
    lines += [f"{'B / A':12}{'rate':>8}{'95%':>16}{'prompts':>10}"]
    for mode, ratio in found["ways"].items():
        interval = f"{ratio['low']:.2f} – {ratio['high']:.2f}"
        lines.append(f"{'DFlash' if mode == 'dflash' else mode:12}{ratio['value']:>8.2f}{interval:>16}{ratio['pairs']:>10}")
    for title, (a, b), form in (
        ("DFlash / plain", found["dflash_over_plain"], ".2f"),
        ("tokens/round", found["tokens_per_round"], ".1f"),
    ):
        lines.append(f"{title}: " + " and ".join("–" if value is None else format(value, form) for value in (a, b)))
    return "\n".join(lines)
