"""`slipstream bench`: measure plain decoding, DFlash, and fixed block widths.

A machine's speed drifts with heat and load. So plain and DFlash replies alternate prompt by prompt, fixed widths follow every few
prompts, and the machine pauses between runs. Ratios are computed within a run, then the median is taken over runs. Rates exclude
prefill.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mlx_engine.cli import bench_merge, bench_picture, bench_ratio, bench_results, bench_sets, bench_streams, generate, session
from mlx_engine.cli.bench_merge import ReportLine
from mlx_engine.cli.bench_prompts import BenchPrompt
from mlx_engine.cli.bench_report import BenchSettings, describe, load_averages, order
from mlx_engine.cli.console import note, print_json, progress, say
from mlx_engine.cli.session import cancellable, chosen_drafters, folders, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.files import cannot_write, replace_file, write_json
from mlx_engine.contract.machine_events import Roofline
from mlx_engine.contract.requests import MeasureMachine
from mlx_engine.hardware import machine
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.prompt_sets.published_sets import PROMPT_LIMIT, PUBLISHED_SETS, TOKEN_LIMIT

_DEFAULT_WIDTHS = (4, 8, 16)
_TOKENS = 256  # limit per reply, except in published sets
_COUNTERS = Path("/sys/class/powercap")


class EnergyMeter:
    """A meter of the processor's energy, read from Linux's powercap counters."""

    def __init__(self, folder: Path = _COUNTERS) -> None:
        self._packages: list[tuple[Path, int]] = []  # counter file, and the value at which it wraps
        self._last: list[int] = []
        try:
            for package in sorted(folder.glob("*-rapl:[0-9]")):
                self._packages.append((package / "energy_uj", int((package / "max_energy_range_uj").read_text())))
            self._last = self._read()
        except (OSError, ValueError):  # on many systems only root may read them
            self._packages = []

    @property
    def known(self) -> bool:
        """Whether the counters can be read."""
        return bool(self._packages)

    def joules(self) -> float | None:
        """Return the joules used since the last call or the start, or None if unknown."""
        if not self._packages:
            return None
        try:
            now = self._read()
        except (OSError, ValueError):
            self._packages = []
            return None
        ranges = (wraps for _, wraps in self._packages)
        used = sum((b - a) % (wraps + 1) for a, b, wraps in zip(self._last, now, ranges, strict=True))
        self._last = now
        return used / 1e6

    def _read(self) -> list[int]:
        return [int(path.read_text()) for path, _ in self._packages]


@dataclass(frozen=True)
class BenchPlan:
    """The prompts, runs, and widths to measure."""

    prompts: Sequence[BenchPrompt]
    runs: int
    settings: BenchSettings
    widths: tuple[int, ...] = ()
    cool_down_s: float = 0.0  # pause between runs
    rest: Callable[[float], None] = time.sleep


def run(args: argparse.Namespace, client: EngineClient) -> int:
    """Measure, print the report, and return the exit code."""
    if args.compare:
        return _compare(args)
    if args.roofline:
        return _run_roofline(args, client)
    if args.remove_set:
        return bench_sets.remove(args.remove_set, args.json)
    name = args.set or ("mixed" if folders(args) == demo_pair() else "general")
    if name in PUBLISHED_SETS:
        args.limit, args.max_tokens = args.limit or PROMPT_LIMIT, args.max_tokens or TOKEN_LIMIT
    args.max_tokens = args.max_tokens or _TOKENS
    prompts = bench_sets.load(name, args)  # before the pair, which takes longer
    if args.drafters:
        return _run_drafters(args, client, name, prompts)
    if args.streams:
        info, before = open_pair(client, args, calibrated=True), load_averages()
        together = bench_streams.measure(client, bench_streams.plan_of(args, prompts))
        found = None if together is None else bench_streams.summarize(together)
        return _show(args, _report(args, info, before, name, found), bench_streams.table)
    return _show(args, _measured(args, client, name, prompts), bench_results.table)


def _run_drafters(args: argparse.Namespace, client: EngineClient, name: str | Path, prompts: Sequence[BenchPrompt]) -> int:
    """Measure the drafters one after the other, and return the exit code."""
    reports = list[dict[str, Any]]()
    drafters, (args.target, _), args.widths = chosen_drafters(args), folders(args), ()
    for args.drafter in drafters:
        note(model_name(args.drafter))
        if (report := _measured(args, client, name, prompts)) is None:
            break
        reports.append(report)
        if args.out is not None:
            write_json(args.out, {"reports": reports})
    if not reports:
        return _show(args, None, bench_results.table)
    lines = [ReportLine.of(report) for report in reports]
    if args.picture is not None:
        _save_picture(args.picture, lines)
    print_json({"reports": reports}) if args.json else say(*bench_merge.table(lines).split("\n"))
    if len(reports) == len(drafters):
        return 0
    note(f"Stopped. {len(reports)} of {len(drafters)} drafters were measured.")
    return 130


def _measured(
    args: argparse.Namespace, client: EngineClient, name: str | Path, prompts: Sequence[BenchPrompt]
) -> dict[str, Any] | None:
    """Load the pair, and return its report, or None if Ctrl-C stopped it."""
    info = open_pair(client, args, calibrated=True)
    before, meter = load_averages(), EnergyMeter()
    plan = BenchPlan(
        prompts=prompts[: args.limit],
        runs=args.runs,
        settings=BenchSettings(args.max_tokens, args.temperature, args.thinking),
        widths=_widths(args, info.block_size),
        cool_down_s=args.cool_down,
    )
    measured = measure(client, plan, meter)
    if measured is not None and info.remote:  # this computer's energy says nothing about the server
        measured = [replace(each, joules=None) for each in measured]
    energy = {"energy": "powercap" if meter.known and not info.remote else "unknown"}
    return _report(args, info, before, name, None if measured is None else energy | bench_results.summarize(measured))


def _report(
    args: argparse.Namespace, info: PairInfo, before: list[float], name: str | Path, found: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return the report of what was measured.

    Args:
        args: of the command.
        info: the pair.
        before: the machine's load before.
        name: of the set of prompts, or a file.
        found: the results, or None if they were stopped.
    """
    settings = BenchSettings(args.max_tokens, args.temperature, args.thinking)
    title = name.name if isinstance(name, Path) else name
    return found and describe(info, title, settings, before) | {"cool_down_s": args.cool_down, **found}


def _show(args: argparse.Namespace, report: dict[str, Any] | None, table: Callable[[dict[str, Any]], str]) -> int:
    """Print and save a report, and return the exit code."""
    if report is None:
        note("Stopped. There is nothing to report.")
        return 130
    if args.out is not None:
        write_json(args.out, report)
    if args.picture is not None:
        _save_picture(args.picture, [ReportLine.of(report)])
    print_json(report) if args.json else say(*table(report).split("\n"))
    return 0


def _compare(args: argparse.Namespace) -> int:
    """Merge reports, print them next to each other, and return the exit code."""
    reports = bench_merge.read_reports(args.compare)
    lines = [ReportLine.of(report) for report in reports]
    if args.out is not None:
        write_json(args.out, {"reports": reports})
    if args.picture is not None:
        _save_picture(args.picture, lines)
    ratio = bench_ratio.compare(*reports) if len(reports) == 2 else None
    if args.json:
        print_json({"lines": [asdict(line) for line in lines], **(ratio or {})})
    else:
        text = "\n\n".join([bench_merge.table(lines), *([bench_ratio.table(ratio)] if ratio else [])])
        say(*text.split("\n"))
    return 0


def _save_picture(path: Path, lines: Sequence[ReportLine]) -> None:
    try:
        replace_file(path, bench_picture.draw(lines))
    except OSError as error:
        raise cannot_write(path, error) from None


def measure(client: EngineClient, plan: BenchPlan, meter: EnergyMeter) -> list[bench_results.MeasuredReply] | None:
    """Return the replies to every prompt in every mode, or None if Ctrl-C stopped it.

    Raises:
        UserError: a request failed.
    """
    measured: list[bench_results.MeasuredReply] = []
    fixed = tuple(bench_results.BenchMode("dflash", width) for width in plan.widths)
    try:
        for number in range(-1, plan.runs):  # the first run warms up with one prompt and is not reported
            prompts = list(plan.prompts if number >= 0 else plan.prompts[:1])
            if number > 0 and plan.cool_down_s:
                progress(f"Pausing before run {number + 1} of {plan.runs}")
                plan.rest(plan.cool_down_s)
            for index, prompt, mode in order(prompts, number, fixed if number >= 0 else ()):
                step = f"Run {number + 1} of {plan.runs}, prompt {index + 1} of {len(prompts)}"
                progress(step if number >= 0 else "Warming up")
                request = plan.settings.request(prompt, mode, number)
                meter.joules()
                reply = generate.show(cancellable(client, request), printing=False)
                joules = meter.joules()
                if reply.reason == "cancelled":
                    return None
                if number >= 0:
                    measured.append(bench_results.MeasuredReply(number, prompt, mode, reply, joules))
    finally:
        progress("")
    return measured


def _widths(args: argparse.Namespace, block: int) -> tuple[int, ...]:
    if args.widths is None:
        return tuple(sorted({*(width for width in _DEFAULT_WIDTHS if width < block), block} - {1}))
    if too_wide := [width for width in args.widths if width > block]:
        args.parser.error(f"width {too_wide[0]} exceeds the drafter's block size; use 2 to {block}.")
    widths: tuple[int, ...] = args.widths
    return widths


def _run_roofline(args: argparse.Namespace, client: EngineClient) -> int:
    """Measure and print this machine's limits, and return the exit code."""
    info = open_pair(client, args)
    found = session.measure(client, MeasureMachine(again=True))
    if not isinstance(found, Roofline):
        note("Stopped. There is nothing to report.")
        return 130
    print_json({"pair": info.name, **_roofline_json(found)}) if args.json else say(*roofline_table(found).split("\n"))
    return 0


def _roofline_json(found: Roofline) -> dict[str, Any]:
    phases = [
        asdict(phase) | {"floor_s": found.floor_s(phase), "bound": found.bound(phase), "reached": found.reached(phase)}
        for phase in found.phases
    ]
    return {"machine": asdict(found.facts), "phases": phases, "plain_ceiling_tok_s": found.plain_ceiling}


def roofline_table(roofline: Roofline) -> str:
    facts = roofline.facts
    memory = machine.installed_gb(facts.memory_bytes)
    lines = [
        f"{facts.name}: {facts.device}, {memory} GB, {facts.cores} cores, measured {facts.measured}",
        f"memory {facts.bandwidth / 1e9:.1f} GB/s, arithmetic {facts.compute / 1e12:.2f} TFLOP/s ({facts.dtype})",
        "",
        f"{'pass':10}{'tokens':>8}{'depth':>8}{'time':>12}{'limit':>12}{'bound':>10}{'reached':>10}{'reads':>12}{'computes':>12}",
    ]
    for phase in roofline.phases:
        lines.append(
            f"{phase.name:10}{phase.rows:>8}{phase.depth:>8}{1e3 * phase.seconds:>9.1f} ms{1e3 * roofline.floor_s(phase):>9.2f} ms"
            f"{roofline.bound(phase):>10}{roofline.reached(phase):>10.0%}{phase.bytes / 1e6:>9,.0f} MB"
            f"{phase.operations / 1e9:>8,.1f} GFLOP"
        )
    if roofline.plain_ceiling is not None:
        lines += ["", f"The limit for plain decoding on this machine is {roofline.plain_ceiling:,.0f} tokens per second."]
    if any(roofline.reached(phase) > 1 for phase in roofline.phases):
        lines += ["Values above 100% mean that weights are read from the processor's cache."]
    return "\n".join(lines)
