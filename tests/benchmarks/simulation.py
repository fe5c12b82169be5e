"""Simulate the width controller on machines that are not available, from pass costs and acceptance probabilities.

    python -m tests.benchmarks.simulation [--seeds 5] [--rounds 300] [--json]

A machine is the cost of passes by width and context depth, derived from published speed-ups and tokens per round (each with its
source). A text is how often drafts are accepted. Every reply is decoded by the controller and by every fixed width on the same text
with the same timing noise. The figure is the controller's rate over that of the best fixed width. The controller starts cold or
with the machine's table, as after calibration.
"""

import argparse
import json
import random
import sys
from dataclasses import dataclass
from statistics import mean

from mlx_engine.decoding.costs import ASSUMED, LADDER, PLAIN_STEP, CostTable, PassKind
from mlx_engine.decoding.pair_history import PairHistory
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth, PassOutcome, WidthController

SCATTER = 0.05  # share of a pass's time


@dataclass(frozen=True)
class Machine:
    """A pair on a machine. Costs are in plain steps at the smallest depth."""

    name: str
    source: str
    block: int
    table: CostTable


def machine(name: str, source: str, block: int, draft: float, rounds: dict[int, dict[int, float]]) -> Machine:
    """Derive a machine from the cost of whole rounds in plain steps: `rounds[depth][width]`."""
    depths, widths = tuple(rounds), tuple(next(iter(rounds.values())))
    verify = tuple(tuple(row[width] - draft for width in widths) for row in rounds.values())
    flat = tuple(tuple(draft for _ in widths) for _ in depths)
    return Machine(name, source, block, CostTable(depths, widths, tuple(1.0 for _ in depths), verify, flat))


# A published speed-up s at n tokens per round means that a round costs n / s plain steps. Widths in between are interpolated.
MACHINES = (
    machine(
        "M4 Pro, 27B 8-bit", "mlx-dspark: 3.07 to 4.23 x with 7 drafts; long context 1.48 x with 3, 0.53 to 0.97 x with 7", 8, 0.12,
        {2048: {1: 1.13, 2: 1.18, 5: 1.35, 8: 1.5}, 8192: {1: 1.13, 2: 1.25, 5: 1.6, 8: 2.4},
         32768: {1: 1.13, 2: 1.4, 5: 2.5, 8: 6.0}},
    ),
    machine(
        "M4 Pro, 27B 8-bit, own kernels", "mlx-dspark: the same with its multi-row kernels, 1.85 x at 32k", 8, 0.12,
        {2048: {1: 1.13, 2: 1.18, 5: 1.35, 8: 1.5}, 32768: {1: 1.13, 2: 1.3, 5: 1.8, 8: 2.4}},
    ),
    machine(
        "M4 Pro, 27B 4-bit", "mlx-dspark: 2.05 to 3.12 x with 7 drafts", 8, 0.25,
        {2048: {1: 1.3, 2: 1.5, 5: 1.85, 8: 2.0}, 32768: {1: 1.3, 2: 1.7, 5: 3.0, 8: 6.5}},
    ),
    machine(
        "M4 Pro, 27B 2-bit", "NakliTechie: blocks of 8 give 1.3 to 1.5 x on code and lose on chat", 8, 0.35,
        {2048: {1: 1.4, 2: 1.75, 4: 2.3, 8: 3.15}},
    ),
    machine(
        "M5 Max, 27B 4-bit DFlash 2", "mlx-vlm: 1.66, 1.57 and 1.49 x with blocks of 3, 4 and 5", 8, 0.15,
        {2048: {1: 1.15, 2: 1.3, 3: 1.5, 4: 1.9, 5: 2.29, 8: 3.3}},
    ),
    machine(
        "M5 Max, 4B bf16", "dflash-mlx: 43.1 ms and 8.1 tokens a round, 3.40 x at 2k", 16, 0.3,
        {2048: {1: 1.3, 4: 1.5, 8: 1.8, 16: 2.38}, 8192: {1: 1.35, 4: 1.9, 8: 2.6, 16: 4.0}},
    ),
    machine(
        "M5 Max, 9B bf16", "dflash-mlx: 81.6 ms and 9.2 tokens a round, 4.37 x at 1k, 2.22 x at 8k", 16, 0.3,
        {2048: {1: 1.3, 4: 1.5, 8: 1.75, 16: 2.3}, 8192: {1: 1.35, 4: 1.9, 8: 2.6, 16: 4.14}},
    ),
    machine(
        "M5 Max, 27B 4-bit", "dflash-mlx: 137 ms and 9.6 tokens a round, 2.37 x at 2k, 1.34 x at 8k", 16, 0.25,
        {2048: {1: 1.25, 4: 2.0, 8: 2.7, 16: 4.05}, 8192: {1: 1.3, 4: 2.4, 8: 4.0, 16: 7.16}},
    ),
    machine(
        "M1 Max, 27B 8-bit", "mlx-dspark issue 38: no width pays", 8, 0.6,
        {2048: {1: 1.6, 2: 2.1, 4: 3.6, 8: 7.0}},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Text:
    """Acceptance probabilities in stretches (probability, tokens) that repeat.

    `later` multiplies the probability with every position of a block. If `fades`, it also falls in contexts beyond `FADES_FROM`.
    """

    name: str
    stretches: tuple[tuple[float, int], ...]
    later: float = 0.99
    fades: bool = False

    def ease(self, tokens: int, draw: random.Random) -> list[tuple[float, float]]:
        """Return for every position the token's difficulty, 0 to 1, and the acceptance threshold."""
        out: list[tuple[float, float]] = []
        while len(out) < tokens:
            for chance, length in self.stretches:
                stretch = max(round(length * draw.uniform(0.5, 1.5)), 1)
                out += [(draw.random(), chance) for _ in range(stretch)]
        return out


TEXTS = (
    Text("chat, 2.5 tokens a round", ((0.62, 1000),)),
    Text("code, 4.5 tokens a round", ((0.82, 1000),)),
    Text("maths, 6 tokens a round", ((0.89, 1000),)),
    Text("lists, 9 tokens a round", ((0.95, 1000),)),
    Text("prose between code", ((0.5, 60), (0.93, 60))),
    Text("hopeless", ((0.02, 1000),)),
)

# Drafters with a window of 2,048 tokens: the share of accepted drafts was reported to fall from 70 to 16 % beyond 100,000 tokens
FADES_FROM, FADED_AT, FADED = 64_000, 128_000, 0.23
LONG_CHAT = Text("code, with a windowed drafter", ((0.82, 1000),), fades=True)


def kept(depth: int) -> float:
    """Return the factor of acceptance probabilities of a drafter with a window."""
    return 1 - (1 - FADED) * min(max((depth - FADES_FROM) / (FADED_AT - FADES_FROM), 0.0), 1.0)


def decode(
    machine: Machine,
    ease: list[tuple[float, float]],
    later: float,
    controller: WidthController,
    depth: int,
    seed: int,
    slower: float = 1.0,
    scatter: float = SCATTER,
    fades: bool = False,
) -> tuple[float, list[PassOutcome]]:
    """Return the time of a reply in plain steps at the smallest depth, and the outcome of its passes."""
    draw, time, at, outcomes = random.Random(seed), 0.0, 0, []
    tokens = len(ease) - 16
    while at < tokens:
        choice = controller.choose(depth + at)
        width = min(choice.kind.width, tokens - at + 1)
        accepted, share = 0, kept(depth + at) if fades else 1.0
        while accepted < width - 1 and ease[at + accepted][0] < share * ease[at + accepted][1] * later**accepted:
            accepted += 1
        kind = PassKind(choice.kind.proposer, width)
        seconds = slower * machine.table.seconds(PLAIN_STEP if width == 1 else kind, depth + at) * draw.lognormvariate(0.0, scatter)
        outcome = PassOutcome(choice, depth + at, seconds, min(accepted + 1, width - 1), accepted)
        controller.record(outcome)
        outcomes.append(outcome)
        time += seconds
        at += min(accepted + 1, tokens - at)
    return time, outcomes


@dataclass(frozen=True)
class Result:
    """One machine, text and depth: the controller's rate over the best fixed width's, by seed."""

    machine: str
    text: str
    depth: int
    best: int  # the width that was best most often
    plain: float  # best fixed width's rate over plain
    cold: list[float]
    warm: list[float]


def run(machine: Machine, text: Text, depth: int, seeds: int, rounds: int) -> Result:
    """Run every width and the controller over as many tokens as the best width needs `rounds` passes for."""
    widths = [width for width in LADDER if width <= machine.block]
    cold: list[float] = []
    warm: list[float] = []
    bests: list[int] = []
    gains: list[float] = []
    for seed in range(seeds):
        whole = text.ease(rounds * machine.block + 16, random.Random(seed))
        times = {}
        for width in widths:
            times[width] = decode(machine, whole, text.later, FixedWidth(width), depth, seed, fades=text.fades)
        best = min(times, key=lambda width: times[width][0])
        share = rounds / len(times[best][1])
        part = whole[: round((len(whole) - 16) * min(share, 1.0)) + 16]
        fixed = {width: decode(machine, part, text.later, FixedWidth(width), depth, seed, fades=text.fades)[0] for width in widths}
        best = min(fixed, key=lambda width: fixed[width])
        for table, into in ((ASSUMED, cold), (machine.table, warm)):
            controller = AutomaticWidth(PairHistory(machine.block, table))
            into.append(fixed[best] / decode(machine, part, text.later, controller, depth, seed, fades=text.fades)[0])
        bests.append(best)
        gains.append(fixed[1] / fixed[best])
    return Result(machine.name, text.name, depth, max(set(bests), key=bests.count), mean(gains), cold, warm)


def depths(machine: Machine, text: Text) -> tuple[int, ...]:
    """Return the depths that a machine's figures cover, or extrapolated ones if the text fades."""
    if text.fades:
        return (65536, 98304, 131072) if machine.table.depths[-1] >= 32768 else ()
    return tuple(depth for depth in (2048, 8192, 32768) if depth <= machine.table.depths[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.simulation", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5, help="replies of every kind (default 5)")
    parser.add_argument("--rounds", type=int, default=300, help="passes that the best fixed width needs for a reply (default 300)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    texts = (*TEXTS, LONG_CHAT)
    results = [run(m, text, depth, asked.seeds, asked.rounds) for m in MACHINES for text in texts for depth in depths(m, text)]
    if asked.json:
        print(json.dumps([vars(result) for result in results]))
        return 0
    print(f"{'machine':<32}{'text':<30}{'depth':>7}{'best':>5}{'x plain':>9}{'cold':>7}{'least':>7}{'warm':>7}{'least':>7}")
    for r in results:
        print(
            f"{r.machine:<32}{r.text:<30}{r.depth:>7}{r.best:>5}{r.plain:>9.2f}{mean(r.cold):>7.3f}{min(r.cold):>7.3f}"
            f"{mean(r.warm):>7.3f}{min(r.warm):>7.3f}"
        )
    worst = min(results, key=lambda r: mean(r.cold))
    print(f"least mean: cold {mean(worst.cold):.3f}, warm {min(mean(r.warm) for r in results):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
