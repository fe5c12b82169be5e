"""Write the committed measurements into the docs, and draw them.

    python packaging/figures.py [--measure]

`tests/benchmarks/report/` contains the results of `slipstream bench`, of the comparison with other decoders, and of the memory
measurements. All numbers in README.md and docs/performance.md come from these files. `--measure` measures first, which takes at
least half an hour on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for tests.benchmarks, which is not installed
REPORT = ROOT / "tests/benchmarks/report"
# What the report keeps of every reply: enough for `slipstream bench --compare`
REPLY = ("run", "kind", "prompt", "before", "mode", "tokens", "decode_tok_s", "ttft_s")
MEMORY = [sys.executable, "-m", "tests.benchmarks.memory", "--json"]
FIT = [sys.executable, "-m", "tests.benchmarks.fit", "--json"]
PEERS = ["tests/peers/run.sh", "--runs", "2", "--processes", "3", "--json"]
NOT_MEASURED = "Not measured for this version yet."
MAX_LOAD = 0.7  # over the last minute, before measuring
RATIOS = {
    "dflash / plain": "DFlash / plain",
    "plain / mlx-lm": "plain / mlx-lm {mlx-lm} `stream_generate`",
    "dflash / z-lab": "DFlash / z-lab's loop (`dflash` {dflash})",
    "dflash / dflash-mlx": "DFlash / dflash-mlx {dflash-mlx}",
    "dflash / mlx-dspark": "DFlash / mlx-dspark {mlx-dspark}",
    "dflash / mlx-lm speculative": "DFlash / mlx-lm {mlx-lm} speculative",
}
BLAS = {"openblas": "OpenBLAS", "wheel": "the BLAS of MLX's wheel", "metal": "Metal"}


class Refusal(Exception):
    """An error that explains why nothing was written, and what to do."""


def read(name: str) -> dict[str, Any] | None:
    """Return a measurement, or None if it doesn't exist."""
    file = REPORT / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def pages() -> dict[Path, str]:
    """Return every page with figures, filled in from the measurements.

    Raises:
        Refusal: a measurement or a page's marker is missing.
    """
    speed, peers, memory, fit = read("speed.json"), read("peers.json"), read("memory.json"), read("fit.json")
    if peers is None:
        raise Refusal(f"{REPORT.relative_to(ROOT)} has no peers.json. Create it with --measure.")
    front, performance = ROOT / "README.md", ROOT / "docs/performance.md"
    sections = {
        "speed": speed_section(speed),
        "peers": peers_section(peers),
        "memory": memory_section(memory),
        "fit": fit_section(fit),
    }
    page = performance.read_text(encoding="utf-8")
    for name, text in sections.items():
        page = between(page, name, text)
    readme = between(front.read_text(encoding="utf-8"), "figures", f"{where(peers)}\n\n{ratios(peers)}")
    pages = {front: readme, performance: page}
    if speed is not None:
        from tests.benchmarks import speed_picture

        pages[REPORT / "speed.svg"] = speed_picture.svg(speed) + "\n"
    return pages


def between(page: str, name: str, text: str) -> str:
    """Replace the text between the markers `<!-- NAME -->` and `<!-- NAME: end -->`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise Refusal(f"A page lost its marker {(end if found else begin).strip()}. Put it back around the figures.")
    return f"{before}{begin}\n{text}\n\n{end}{after}"


def on_a_mac(peers: dict[str, Any]) -> bool:
    return peers["blas"]["name"] == "metal"


def machine(peers: dict[str, Any]) -> str:
    processor, _, cores = peers["machine"].partition(", ")
    return f"a Mac ({processor}, {cores})" if on_a_mac(peers) else f"{cores} of a machine without a graphics card ({processor})"


def where(peers: dict[str, Any]) -> str:
    return f"Demo pair, {peers['date']}, {machine(peers)}." + ("" if on_a_mac(peers) else " No Mac has been measured yet.")


def conditions(peers: dict[str, Any]) -> str:
    loads, blas = peers["load_average"], peers["blas"]
    threads = f", {blas['threads']} threads" if blas["threads"] else ""
    return (
        f"{where(peers)} float32, {BLAS[blas['name']]}{threads}, load {min(loads):.1f} to {max(loads):.1f},\n"
        f"{peers['prompts']} mixed prompts, {peers['runs']} runs of each in {peers['processes']} processes."
    )


def ratios(peers: dict[str, Any]) -> str:
    same, replies = peers["same_text_as_plain"]["dflash"], peers["prompts"] * peers["runs"]
    titles = {**RATIOS, "dflash / plain": f"DFlash / plain ({same} of {replies} texts identical)"}
    lines = ["| | Speed ratio | 95% interval |", "|---|---|---|"]
    for key, title in titles.items():
        if key in peers["ratios"]:
            value, low, high = (peers["ratios"][key][name] for name in ("value", "low", "high"))
            form = ".1f" if value >= 2 else ".2f"
            lines.append(f"| {title.format_map(peers['versions'])} | {value:{form}} | {low:{form}} to {high:{form}} |")
    return "\n".join(lines)


def speed_section(speed: dict[str, Any] | None) -> str:
    """Return the table and picture of `slipstream bench`."""
    if speed is None:
        return NOT_MEASURED
    from mlx_engine.cli import bench_results  # here, so that --help needs no environment

    of = speed["machine"]
    return "\n\n".join(
        [
            f"{speed['when'][:10]}, {of['system']}, Python {of['python']}, MLX {of['mlx']}, mlx-lm {of['mlx_lm']}.",
            "![Rates, acceptance by position, widths, and the ratio by kind of text](../tests/benchmarks/report/speed.svg)",
            f"```\n{bench_results.table(speed)}\n```",
            "`slipstream bench --compare tests/benchmarks/report/speed.json MINE.json` compares your computer with this one.",
        ]
    )


def peers_section(peers: dict[str, Any]) -> str:
    """Return the median rates of other decoders. Their ratios are in the README."""
    rows = [f"| {name} | {rate:.1f} | {peers['same_text_as_plain'][name]} |" for name, rate in peers["median_tok_s"].items()]
    return "\n\n".join(
        [
            conditions(peers) + " The ratios are in the [README](../README.md#performance).",
            "\n".join(["| Decoder | tok/s, median | Texts as plain decoding |", "|---|---|---|", *rows]),
            *(f"Not run: {name}: {reason}." for name, reason in peers["cannot_run"].items()),
            "Versions: " + ", ".join(f"{name} {version}" for name, version in peers["versions"].items()) + ".",
        ]
    )


def memory_section(memory: dict[str, Any] | None) -> str:
    if memory is None:
        return NOT_MEASURED
    from tests.benchmarks.memory import table

    return f"The demo pair on {memory['when']}, chat after chat, each until the context is full:\n\n```\n{table(memory)}\n```"


def fit_section(fit: dict[str, Any] | None) -> str:
    if fit is None:
        return NOT_MEASURED
    from tests.benchmarks import fit as prediction

    return f"Measured on {fit['when']}, {BLAS.get(fit['backend'], fit['backend'])}:\n\n```\n{prediction.table(fit)}\n```"


def slim(speed: dict[str, Any]) -> dict[str, Any]:
    """Return a report of `slipstream bench` with fewer details per reply."""

    def rows(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in REPLY} for row in replies]

    fixed = {width: {**side, "replies": rows(side["replies"])} for width, side in speed["fixed"].items()}
    return {**speed, "replies": rows(speed["replies"]), "fixed": fixed}


def measure() -> None:
    """Run all measurements, and replace the old ones after all have succeeded.

    Raises:
        Refusal: the machine is busy, or a measurement failed.
    """
    if (load := os.getloadavg()[0]) > MAX_LOAD:
        raise Refusal(f"This machine is busy (load {load:.1f}). Wait until it is idle.")
    new = {name: REPORT / f"{name}.new" for name in ("speed.json", "peers.json", "memory.json", "fit.json")}
    REPORT.mkdir(exist_ok=True)
    try:
        run([sys.executable, "-m", "mlx_engine", "bench", "--out", str(new["speed.json"])])
        measured = slim(json.loads(new["speed.json"].read_text(encoding="utf-8")))
        new["speed.json"].write_text(json.dumps(measured, ensure_ascii=False) + "\n", encoding="utf-8")
        new["peers.json"].write_text(run(PEERS, capture=True), encoding="utf-8")
        new["memory.json"].write_text(run(MEMORY, capture=True), encoding="utf-8")
        new["fit.json"].write_text(run(FIT, capture=True), encoding="utf-8")
        for name, file in new.items():
            file.replace(REPORT / name)
    finally:
        for file in new.values():
            file.unlink(missing_ok=True)


def run(command: list[str], capture: bool = False) -> str:
    print("$", " ".join(command).replace(f"{ROOT}/", ""), flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE if capture else None, text=True)
    if done.returncode:
        raise Refusal(
            f"{Path(command[0]).name} failed with exit code {done.returncode}, see its output above. Nothing was changed."
        )
    return done.stdout or ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure first; otherwise only rewrite the pages")
    given = parser.parse_args(arguments)
    try:
        if given.measure:
            measure()
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
    except Refusal as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
