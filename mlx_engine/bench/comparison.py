"""`slipstream bench --compare A.json B.json`: two measurements beside each other, prompt by prompt."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlx_engine.bench.paired import Ratio, paired_ratio
from mlx_engine.errors import UserError

_ALIKE = {
    "pair": ("name", "family", "block_size", "drafter_weights"),
    "machine": ("system", "device", "blas", "threads", "mlx", "mlx_lm"),
}


def run(a: Path, b: Path, as_json: bool) -> int:
    """Print the comparison."""
    found = compare(read(a), read(b))
    print(json.dumps(found, ensure_ascii=False) if as_json else table(found))
    return 0


def read(path: Path) -> dict[str, Any]:
    """A report that `slipstream bench --out FILE` has written.

    Raises:
        UserError: it is none.
    """
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        rates(report)
        return report
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}). Give two files that `bench --out` has written.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path} is no report of `slipstream bench --out FILE`. Measure again with that option.") from None


def compare(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """B's rates over A's for every way to decode that both have, and what else differs between the two.

    The runs of one report follow each other, not the other report's: a busy minute falls on one side only.
    """
    differs = [
        {"what": f"{part}: {name.replace('_', ' ')}", "a": a[part].get(name), "b": b[part].get(name)}
        for part, names in _ALIKE.items()
        for name in names
        if a[part].get(name) != b[part].get(name)
    ]
    differs += [{"what": name, "a": a.get(name), "b": b.get(name)} for name in ("set", "max_tokens") if a.get(name) != b.get(name)]
    of_a, of_b = rates(a), rates(b)
    return {
        "differs": differs,
        "ways": {way: asdict(ratio) for way in of_a if way in of_b and (ratio := _ratio(of_b[way], of_a[way]))},
        "dflash_over_plain": [a["ratio"], b["ratio"]],
        "tokens_per_round": [a["dflash"]["tokens_per_round"], b["dflash"]["tokens_per_round"]],
    }


def rates(report: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Rates by way to decode and by prompt, a list of runs each; replies of one token have none."""
    out: dict[str, dict[str, list[float]]] = {}
    rows = [(row["mode"], row) for row in report["replies"]]
    rows += [(f"width {width}", row) for width, side in report.get("fixed", {}).items() for row in side["replies"]]
    for way, row in rows:
        if row["decode_tok_s"]:
            prompt = f"{row.get('before', 0)} {row['prompt']}"
            out.setdefault(way, {}).setdefault(prompt, []).append(float(row["decode_tok_s"]))
    return out


def _ratio(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> Ratio | None:
    shared = [(ours[prompt], theirs[prompt]) for prompt in ours if prompt in theirs]
    cut = [(x[: len(y)], y[: len(x)]) for x, y in shared]
    return paired_ratio([x for x, _ in cut], [y for _, y in cut]) if cut else None


def table(found: dict[str, Any]) -> str:
    """The comparison for a person."""
    lines = [f"differs – {each['what']}: {each['a']} and {each['b']}" for each in found["differs"]]
    if not found["ways"]:
        return "\n".join([*lines, "The two have no prompt in common, so that nothing can be compared."])
    lines += [f"{'B / A':12}{'rate':>8}{'95 %':>16}{'prompts':>10}"]
    for way, ratio in found["ways"].items():
        name = "DFlash" if way == "dflash" else way
        between = f"{ratio['low']:.2f} – {ratio['high']:.2f}"
        lines.append(f"{name:12}{ratio['value']:>8.2f}{between:>16}{ratio['pairs']:>10}")
    for title, (a, b), form in (
        ("DFlash / plain", found["dflash_over_plain"], ".2f"),
        ("tokens a round", found["tokens_per_round"], ".1f"),
    ):
        lines.append(f"{title}: " + " and ".join("–" if value is None else format(value, form) for value in (a, b)))
    return "\n".join(lines)
