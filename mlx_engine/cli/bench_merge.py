"""`slipstream bench --compare`: reports of several measurements in one table."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlx_engine.cli import bench_ratio
from mlx_engine.cli.bench_results import words
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read
from mlx_engine.hardware.machine import installed_gb
from mlx_engine.models.library.library import base_name
from mlx_engine.prompt_sets.published_results import PublishedResult, published_result

_COLUMNS = ("pair", "prompts", "machine")


@dataclass(frozen=True)
class ReportLine:
    """What one report says.

    Attributes:
        pair: the target and the kind of its drafter.
        prompts: the set and the settings of its replies.
        machine: where the replies were computed.
        when: date of the report.
        plain: tokens per second of plain decoding.
        drafted: tokens per second with the drafter.
        ratio: of both.
        paper: what the DFlash paper reports for the same target, kind of drafter, set, and temperature.
    """

    pair: str
    prompts: str
    machine: str
    when: str
    plain: float | None
    drafted: float | None
    ratio: float | None
    tokens_per_round: float | None
    identical: int
    compared: int
    paper: PublishedResult | None = None

    @classmethod
    def of(cls, report: dict[str, Any]) -> "ReportLine":
        """Return the line of a report of `slipstream bench`.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it isn't such a report.
        """
        pair, drafted = report["pair"], report["dflash"]
        kind, temperature = str(pair.get("drafter_kind") or ""), float(report.get("temperature") or 0)  # earlier reports lack them
        thinking = bool(report.get("thinking"))
        target = base_name(str(pair.get("target") or ""))
        settings = [f"{report['prompts']:d} × {report['set']}", f"T {temperature:g}", *(["thinking"] if thinking else [])]
        return cls(
            pair=f"{pair['name']} + {kind}" if kind else str(pair["name"]),
            prompts=", ".join(settings),
            machine=_machine(report),
            when=str(report["when"])[:10],
            plain=_number(report["plain"]["decode_tok_s"]),
            drafted=_number(drafted["decode_tok_s"]),
            ratio=_number(report["ratio"]),
            tokens_per_round=_number(drafted["tokens_per_round"]),
            identical=int(report["identical"]),
            compared=int(report["compared"]),
            paper=None if thinking else published_result(target, kind, str(report["set"]), temperature),
        )


def read_reports(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the reports in files. A file has one report, or several that were merged.

    Raises:
        UserError: a file isn't a report.
    """
    return [report for path in paths for report in _read(path)]


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        reports: list[dict[str, Any]] = value.get("reports", [value])
        for report in reports:
            ReportLine.of(report)
            bench_ratio.rates(report)
        if not reports:
            raise ValueError("no report")
        return reports
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        template = "“{file}” isn't a benchmark report. Create one with “slipstream bench --out FILE”."
        raise UserError("report_invalid", template, file=str(path)) from None


def table(lines: Sequence[ReportLine]) -> str:
    """Return the lines as text. What all have in common is said once, above."""
    common, different = split_columns(lines)
    wide = {name: max(len(name), *(len(getattr(line, name)) for line in lines)) for name in different}
    head = "".join(f"{name:{wide[name] + 2}}" for name in different)
    text = [
        *common,
        "",
        f"{head}{'plain':>9}{'drafted':>10}{'ratio':>8}{'paper':>8}{'tokens/round':>15}{'paper':>8}{'identical':>15}",
    ]
    for line in lines:
        names = "".join(f"{getattr(line, name):{wide[name] + 2}}" for name in different)
        ratio, rounds = (line.paper.ratio, line.paper.tokens_per_round) if line.paper else (None, None)
        speeds = (
            f"{words(line.plain, '.0f'):>9}{words(line.drafted, '.0f'):>10}{words(line.ratio, '.2f'):>8}{words(ratio, '.2f'):>8}"
        )
        identical = f"{line.identical} of {line.compared}"
        text.append(f"{names}{speeds}{words(line.tokens_per_round, '.2f'):>15}{words(rounds, '.2f'):>8}{identical:>15}")
    return "\n".join(text)


def split_columns(lines: Sequence[ReportLine]) -> tuple[list[str], list[str]]:
    """Return the texts that all lines share, and the names of the other columns."""
    same = [name for name in _COLUMNS if len({getattr(line, name) for line in lines}) == 1]
    return [getattr(lines[0], name) for name in same], [name for name in _COLUMNS if name not in same]


def _machine(report: dict[str, Any]) -> str:
    if remote := report["pair"].get("remote"):
        return f"server {remote}"
    machine = report["machine"]
    facts = machine.get("facts")
    name = f"{facts['name']}, {installed_gb(facts['memory_bytes'])} GB" if facts else str(machine["device"])
    others = int(machine.get("computers") or 1) - 1  # earlier reports lack them
    return f"{name}, and {others} more" if others > 0 else name


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if not math.isfinite(number := float(value)) or number < 0:
        raise ValueError(number)
    return number
