"""Replay recorded texts to compare ways of drafting: a drafter, copies of earlier text, and both in one verify.

    python -m tests.benchmarks.replay [--tokenizer FILE] [--agents FOLDER] [--turns N] [--json]

No model runs. The target always answers with the recorded text. Each slot of the drafter is right with a probability: such that
blocks yield the published tokens per round, and 0.95 (or, with --alike, the same) for tokens that continue a copy. Copies come from
the whole context. A pass costs what `pass_times` predicts for a chip, with our kernels up to 16 rows, or the calibrated table of
this machine. A round that can't be queued, because the host has to read before it, costs 1.5 ms more on a GPU.

The engine's own code chooses passes and copies, and learns acceptance. --agents stores sessions of real agents in a folder, and
reads them again; see `replay_agents`.
"""

import argparse
import json
import sys
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from mlx_engine.decoding.acceptance import tokens_by_width
from mlx_engine.decoding.costs import PLAIN_STEP, CostTable, PassKind
from mlx_engine.drafters.dflash2.config import KIND as DFLASH2
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.models.library.pass_times import PassTimes
from tests.benchmarks import replay_texts
from tests.benchmarks.replay_rules import SOURCES, WIDEST, WIDTHS, Engine, Machine, Reply, Tally, copy_alone, replies
from tests.benchmarks.replay_texts import Turn
from tests.mlx_engine.models.published_speeds import CHIPS, DRAFTERS, MODELS

HOST = 1.5e-3  # seconds
_COPIED = 0.95  # acceptance of a drafted token that continues a copy
_CONTEXT = 16384
_SPAN = 31  # tokens of a copy where sources are compared


def predicted(chip: str, model: str, drafter: str, block: int, gigabytes: float) -> Machine:
    """Return predicted costs in 4 bits, with kernels of our own up to 16 rows."""
    facts = CHIPS[chip]
    if chip == "M1 Max":  # its kernels read the weights once for all rows, as MLX's do from M3 on
        facts = facts.__class__(**{**vars(facts), "name": "Apple M3"})
    known = MODELS[model]
    times = PassTimes(facts, {**known.config, "quantization": {"bits": 4, "group_size": 64}}, round(known.weights * 4.5 / 8), 8192)

    def verify(rows: int) -> float:  # an M5's accelerators compute up to 32 rows together
        return times.seconds(rows, 2 if rows <= 16 or chip == "M5 Max" else 1, full=True)

    draft = tuple(times.draft_seconds(DRAFTERS[drafter], round(gigabytes * 1e9), min(rows, block), 2) for rows in WIDTHS)
    table = CostTable((0,), WIDTHS, (verify(1),), (tuple(map(verify, WIDTHS)),), (draft,))
    return Machine(f"{chip}, {model}", block, table, HOST)


def calibrated() -> Machine:
    """Return the demo pair on this machine."""
    import threading

    from mlx_engine.calibration.calibration import calibrate
    from tests.benchmarks.widths import loaded

    engine = loaded(*demo_pair(), cold=True)
    for _ in calibrate(engine.pair, threading.Event(), for_later=False):
        pass
    history = engine.pair.history
    return Machine("this machine, demo pair", history.block, history.costs.table, 0.0)


_PAIRS = (("Qwen3.x 27B", "DFlash 2", 8, 3.85), ("Qwen3.x 35B-A3B", "DFlash 2", 8, 0.94), ("Qwen3 8B", "DFlash", 16, 2.09))


def machines() -> list[Machine]:
    return [predicted(chip, *pair) for chip in ("M1 Max", "M4 Max", "M5 Max") for pair in _PAIRS]


def rules(machine: Machine) -> dict[str, Engine]:
    """Return the ways of drafting on a machine."""
    return {
        "drafter": Engine(machine, 1),
        "copies": Engine(machine, WIDEST, lookup_only=True),
        "either, block": Engine(machine, machine.block),
        "both, 32": Engine(machine, WIDEST),
    }


# ---- texts


_KINDS: dict[str, tuple[str, Callable[[int], list[list[Turn]]]]] = {
    "whole files": ("code", replay_texts.whole_files),
    "edit blocks": ("code", replay_texts.edit_blocks),
    "diffs": ("code", replay_texts.diffs),
    "JSON": ("code", replay_texts.records),
    "chats": ("chat", replay_texts.chats),
    "translations": ("chat", replay_texts.translations),
}


def agents(folder: Path, count: int) -> dict[str, list[list[Turn]]]:
    """Return sessions of agents, recorded now unless the folder has them."""
    from tests.benchmarks import replay_agents

    found = {}
    for name in replay_agents.AGENTS:
        file = folder / f"{name}.json"
        if not file.exists():
            said = replay_agents.sessions(name, count)
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps([[[turn.prompt, turn.reply] for turn in each] for each in said]))
        found[name] = [[Turn(*turn) for turn in each] for each in json.loads(file.read_text())]
    return found


def acceptance(block: int, tokens: float) -> float:
    """Return the chance of each slot with which a block yields so many tokens."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if tokens_by_width([middle] * (block - 1))[-1] < tokens else (low, middle)
    return low


def encoded(tokenizer: Tokenizer, sessions: list[list[Turn]], limit: int) -> list[tuple[list[int], list[int]]]:
    """Return prompts, without what is too long ago, and replies, up to `limit` turns."""
    turns = [turn for session in sessions for turn in session][:limit]
    texts = [*(turn.prompt for turn in turns), *(turn.reply for turn in turns)]
    ids = [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return [
        (prompt[-_CONTEXT:], reply) for prompt, reply in zip(ids[: len(turns)], ids[len(turns) :], strict=True) if len(reply) > 1
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.replay", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json (default: the demo pair's)")
    parser.add_argument("--agents", type=Path, help="folder of the agents' sessions")
    parser.add_argument("--sessions", type=int, default=5, help="of each agent and kind of text (default 5)")
    parser.add_argument("--turns", type=int, default=60, help="most turns of each kind (default 60)")
    parser.add_argument("--alike", action="store_true", help="the drafter is no better on copies")
    parser.add_argument("--here", action="store_true", help="this machine, too")
    parser.add_argument("--rules", help="names of rules, separated by |")
    parser.add_argument("--machines", default="", help="machines with this in their names")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(asked.tokenizer or demo_pair()[0] / "tokenizer.json"))
    kinds = {name: (text, make(asked.sessions)) for name, (text, make) in _KINDS.items()}
    if asked.agents:
        kinds = {name: ("code", found) for name, found in agents(asked.agents, asked.sessions).items()} | kinds
    texts = {}
    for name, (text, sessions) in kinds.items():
        published = DFLASH2.tokens_per_round
        assert published is not None
        few, many = published.code if text == "code" else published.chat
        chance = acceptance(8, sqrt(few * many))
        turns = encoded(tokenizer, sessions, asked.turns)
        texts[name] = replies(turns, chance, chance if asked.alike else max(chance, _COPIED), seed=1)
    report: dict[str, Any] = {"sources": {name: sources(said) for name, said in texts.items()}}
    if not asked.json:
        print(table(f"Copies alone, {_SPAN} tokens each: tokens per pass, rows per token", report["sources"], 2), flush=True)
    for machine in [*machines(), *([calibrated()] if asked.here else [])]:
        if asked.machines in machine.name:
            report[machine.name] = {name: replayed(machine, said, asked.rules) for name, said in texts.items()}
            if not asked.json:
                print(table(described(machine), report[machine.name], 3), flush=True)
    if asked.json:
        print(json.dumps(report))
    return 0


def sources(said: list[Reply]) -> dict[str, list[float]]:
    """Return tokens per pass and rows per token of each way to find a copy."""
    tallies = {name: Tally() for name in SOURCES}
    for reply in said:
        for name, make in SOURCES.items():
            copy_alone(make(reply.whole), reply, _SPAN, tallies[name])
    return {name: [tally.tokens / tally.rounds, tally.rows / tally.tokens] for name, tally in tallies.items()}


def replayed(machine: Machine, said: list[Reply], chosen: str | None) -> dict[str, list[float]]:
    """Return speed relative to plain decoding, tokens per round, and rows per token of each rule."""
    plain, found = machine.table.seconds(PLAIN_STEP, 0), {}
    for name, rule in rules(machine).items():
        if chosen and name not in chosen.split("|"):
            continue
        tally = Tally()
        for reply in said:
            rule.run(reply, tally)
        found[name] = [tally.tokens * plain / tally.seconds, tally.tokens / tally.rounds, tally.rows / tally.tokens]
    return found


def described(machine: Machine) -> str:
    """Return a machine's costs in plain steps."""
    plain, block = machine.table.seconds(PLAIN_STEP, 0), machine.block
    costs = ", ".join(f"{w} rows {machine.table.seconds(PassKind('lookup', w), 0) / plain:.2f}" for w in (2, 4, 8, 16, 24, 32))
    draft = machine.table.seconds(PassKind("drafter", block), 0) - machine.table.seconds(PassKind("lookup", block), 0)
    return f"{machine.name}, block {block}: plain step {plain * 1e3:.1f} ms; in plain steps: draft {draft / plain:.2f}, {costs}"


def table(title: str, found: dict[str, dict[str, list[float]]], numbers: int) -> str:
    """Format a row for each kind of text."""
    names = [*next(iter(found.values()))]
    lines = ["", title, f"{'':<14}" + "".join(f"{name:>18}" for name in names)]
    for kind, each in found.items():
        places = [2, 1, 1] if numbers == 3 else [1, 1]
        shown = ([f"{value:.{digits}f}" for value, digits in zip(row, places, strict=True)] for row in each.values())
        cells = (" ".join(row) for row in shown)
        lines.append(f"{kind:<14}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
