"""Puts the committed measurements into the pages: `python packaging/figures.py [--measure]`.

`tests/benchmarks/report/` holds what `slipstream bench`, the comparison with other decoders and the measurements of memory gave.
Its page and the figures of the front page are written from these files and from nothing else. `--measure` measures first: half an
hour and more on a machine that does nothing else.
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
REPORT = ROOT / "tests/benchmarks/report"
# What is kept of every reply: enough for `slipstream bench --compare`.
REPLY = ("run", "kind", "prompt", "before", "mode", "tokens", "decode_tok_s", "ttft_s")
MEMORY = [sys.executable, "-m", "tests.benchmarks.memory", "--json"]
FIT = [sys.executable, "-m", "tests.benchmarks.fit", "--json"]
PEERS = ["tests/peers/run.sh", "--runs", "2", "--processes", "3", "--json"]
MOST_LOAD = 0.7  # over the last minute, before anything is measured
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
    """Why nothing was written, and what to do about it."""


def read(name: str) -> dict[str, Any] | None:
    """A measurement; None where it has not been taken."""
    file = REPORT / name
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def pages() -> dict[Path, str]:
    """Every page with figures, as the measurements have it.

    Raises:
        Refusal: a page has lost the place where they stand.
    """
    speed, peers, memory, fit = read("speed.json"), read("peers.json"), read("memory.json"), read("fit.json")
    if peers is None:
        raise Refusal(f"{REPORT.relative_to(ROOT)} holds no peers.json; --measure makes one.")
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    front = between(front, "headline", headline(peers))
    front = between(front, "figures", "\n\n".join([conditions(peers), ratios(peers), *([rates(speed)] if speed else [])]))
    return {ROOT / "README.md": front, REPORT / "README.md": report(speed, peers, memory, fit)}


def between(page: str, name: str, text: str) -> str:
    """The page with this text between its marks `<!-- NAME -->` and `<!-- NAME: end -->`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- {name}: end -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise Refusal(f"README.md has lost its mark {(end if found else begin).strip()}; put it back around the figures.")
    return f"{before}{begin}\n{text}\n\n{end}{after}"


def on_a_mac(peers: dict[str, Any]) -> bool:
    return peers["blas"]["name"] == "metal"


def machine(peers: dict[str, Any]) -> str:
    processor, _, cores = peers["machine"].partition(", ")
    return f"a Mac ({processor}, {cores})" if on_a_mac(peers) else f"{cores} of a machine without a graphics card ({processor})"


def headline(peers: dict[str, Any]) -> str:
    ratio = peers["ratios"]["dflash / plain"]
    return (
        f"With the demo pair, on {machine(peers)}, DFlash was {ratio['value']:.1f} times as fast as plain decoding\n"
        f"([measured](#what-the-figures-mean) on {peers['date']})."
        + ("" if on_a_mac(peers) else " On a Mac nothing has been measured yet.")
    )


def conditions(peers: dict[str, Any]) -> str:
    loads, blas = peers["load_average"], peers["blas"]
    threads = f", {blas['threads']} threads" if blas["threads"] else ""
    return (
        f"Measured with the demo pair on {peers['date']}, on {machine(peers)}:\n"
        f"float32, {BLAS[blas['name']]}{threads}, load {min(loads):.1f} to {max(loads):.1f}; {peers['prompts']} mixed prompts, "
        f"{peers['runs']} runs of each in {peers['processes']} processes."
    )


def ratios(peers: dict[str, Any]) -> str:
    same, replies = peers["same_text_as_plain"]["dflash"], peers["prompts"] * peers["runs"]
    titles = {**RATIOS, "dflash / plain": f"DFlash / plain; {same} of {replies} texts identical"}
    lines = ["| | ratio | interval |", "|---|---|---|"]
    for key, title in titles.items():
        if key in peers["ratios"]:
            value, low, high = (peers["ratios"][key][name] for name in ("value", "low", "high"))
            form = ".1f" if value >= 2 else ".2f"
            lines.append(f"| {title.format_map(peers['versions'])} | {value:{form}} | {low:{form}} to {high:{form}} |")
    return "\n".join(lines)


def rates(speed: dict[str, Any]) -> str:
    dflash = speed["dflash"]
    return (
        f"`slipstream bench` on the same machine, {speed['when'][:10]}: {dflash['decode_tok_s']:.0f} tok/s with DFlash, "
        f"{speed['plain']['decode_tok_s']:.0f} plainly,\n{dflash['tokens_per_round']:.1f} tokens a round, {speed['identical']} of "
        f"{speed['compared']} texts identical."
    )


def report(speed: dict[str, Any] | None, peers: dict[str, Any], memory: dict[str, Any] | None, fit: dict[str, Any] | None) -> str:
    """The page beside the measurements."""
    parts = [
        "# Speed, as last measured",
        "`make figures` measures and writes this page; the figures are those of the files beside it. What they mean stands on\n"
        "[the front page](../../../README.md#what-the-figures-mean), how they are taken [one page up](../README.md).",
        "## Plain decoding and DFlash",
    ]
    if speed is None:
        parts.append("Not measured for this version yet.")
    else:
        from mlx_engine.bench import results  # here, so that --help needs no environment

        of = speed["machine"]
        parts += [
            f"{speed['when'][:10]}, {of['system']}, Python {of['python']}, MLX {of['mlx']}, mlx-lm {of['mlx_lm']}.",
            "![Rates, drafts kept by position, widths, and the ratio by kind of text](speed.svg)",
            f"```\n{results.table(speed)}\n```",
            "`slipstream bench --compare tests/benchmarks/report/speed.json MINE.json` sets another machine beside it.",
        ]
    parts += ["## Beside other decoders", conditions(peers), ratios(peers)]
    if medians := peers.get("median_tok_s"):
        rows = [f"| {name} | {rate:.1f} | {peers['same_text_as_plain'][name]} |" for name, rate in medians.items()]
        parts.append("\n".join(["| | tok/s, median | texts as plain |", "|---|---|---|", *rows]))
    parts += [f"{name} cannot run: {reason}." for name, reason in peers["cannot_run"].items()]
    parts.append("Versions: " + ", ".join(f"{name} {version}" for name, version in peers["versions"].items()) + ".")
    parts.append("## Memory of chats, and later turns")
    if memory is None:
        parts.append("Not measured for this version yet.")
    else:
        from tests.benchmarks.memory import table

        parts += [
            f"The demo pair on {memory['when']}; chat after chat, each until the context is full. What the lines say stands in\n"
            "[the engine's page](../../README.md#what-a-later-turn-reuses-and-memory).",
            f"```\n{table(memory)}\n```",
        ]
    parts.append("## Memory foretold before a download")
    if fit is None:
        parts.append("Not measured for this version yet.")
    else:
        from tests.benchmarks import fit as foretelling

        backend = BLAS.get(fit["backend"], fit["backend"])
        parts += [
            f"Beside the peak that a pair then reached, on {fit['when']}, {backend}. How it is foretold, and that nothing in it\n"
            "is fitted, stands in [the engine's page](../../README.md#what-a-pair-needs-before-it-is-fetched).",
            f"```\n{foretelling.table(fit)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def slim(speed: dict[str, Any]) -> dict[str, Any]:
    """A report of `slipstream bench` with less about every reply."""

    def rows(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{name: row[name] for name in REPLY} for row in replies]

    fixed = {width: {**side, "replies": rows(side["replies"])} for width, side in speed["fixed"].items()}
    return {**speed, "replies": rows(speed["replies"]), "fixed": fixed}


def measure() -> None:
    """All measurements, one after the other; what was there before stays until all are taken.

    Raises:
        Refusal: the machine is busy, or a measurement failed.
    """
    if (load := os.getloadavg()[0]) > MOST_LOAD:
        raise Refusal(f"This machine is busy (load {load:.1f}); figures would say little. Wait until it does nothing else.")
    new = {name: REPORT / f"{name}.new" for name in ("speed.json", "speed.svg", "peers.json", "memory.json", "fit.json")}
    REPORT.mkdir(exist_ok=True)
    try:
        bench = [
            sys.executable,
            "-m",
            "mlx_engine.cli",
            "bench",
            "--out",
            str(new["speed.json"]),
            "--picture",
            str(new["speed.svg"]),
        ]
        carry_out(bench)
        measured = slim(json.loads(new["speed.json"].read_text(encoding="utf-8")))
        new["speed.json"].write_text(json.dumps(measured, ensure_ascii=False) + "\n", encoding="utf-8")
        new["peers.json"].write_text(carry_out(PEERS, wanted=True), encoding="utf-8")
        new["memory.json"].write_text(carry_out(MEMORY, wanted=True), encoding="utf-8")
        new["fit.json"].write_text(carry_out(FIT, wanted=True), encoding="utf-8")
        for name, file in new.items():
            file.replace(REPORT / name)
    finally:
        for file in new.values():
            file.unlink(missing_ok=True)


def carry_out(command: list[str], wanted: bool = False) -> str:
    print("$", " ".join(command).replace(f"{ROOT}/", ""), flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE if wanted else None, text=True)
    if done.returncode:
        raise Refusal(f"{Path(command[0]).name} ended with {done.returncode}; what it said stands above. Nothing was changed.")
    return done.stdout or ""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure first; otherwise only the pages are written anew")
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
