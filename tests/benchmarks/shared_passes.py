"""Count what replies save by sharing a pass: dispatches and bytes of a pass for four streams, next to four passes.

    python -m tests.benchmarks.shared_passes

Passes are traced, not run, as in `host.py`. The first table has the targets of `exact_costs.py`, in published sizes, with all
kernels. Bytes are those of every operation's inputs and outputs. Of experts, they count the ones that the rows choose, once per
row. The second table has tiny models of all families with MLX's own operations.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from mlx.utils import tree_flatten

from mlx_engine.models.configs.families import FAMILIES as FACTS
from mlx_engine.targets.target import StreamRows, Target
from tests.benchmarks import dispatches, exact_costs, tracing
from tests.mlx_engine.tiny_families import FAMILIES, VOCABULARY, build

STREAMS = 4
ROWS = (1, 16)  # of a plain step, and of a round
_LENGTHS = (11, 17, 20, 30)  # of the tiny models' prompts
_ALIASES = dispatches.VIEWS | {"Reshape", "Flatten"}


def traced(target: Target, streams: Sequence[StreamRows]) -> tracing.Trace:
    """Return what a pass of these streams asks for."""

    def run() -> None:
        logits = target.forward_packed(streams, False) if len(streams) > 1 else target.forward(streams[0].tokens, streams[0].caches)
        mx.eval(logits, [stream.caches.state for stream in streams])

    with tracing.exportable():
        return tracing.trace(run)[1]


def tiny(name: str) -> Target:
    """Return a family's tiny target."""
    model = build(name)
    mx.eval(model.parameters())
    return Target(model, VOCABULARY, FACTS[name], ())


def rows_of(target: Target, rows: int, streams: Sequence[int] = range(STREAMS)) -> list[StreamRows]:
    """Return the rows of some of four streams of a tiny target, at different positions. They can be traced once."""
    found = []
    for number in streams:
        caches, tokens = target.caches(), mx.arange(number, number + rows, dtype=mx.uint32)
        mx.eval(tokens, target.forward(mx.arange(_LENGTHS[number], dtype=mx.uint32), caches), caches.state)
        found.append(StreamRows(tokens, caches))
    return found


def reads(trace: tracing.Trace, target: Target) -> Counter[str]:
    """Return how many operations of a pass read each weight, itself or a view of it."""

    def content(array: mx.array) -> tuple[Any, bytes]:
        return array.shape, np.array(array).tobytes()

    names = {content(weight): name for name, weight in tree_flatten(target.model.parameters())}
    weights = {letter: names[key] for letter, array in trace.constants.items() if (key := content(array)) in names}
    found: Counter[str] = Counter()
    for each in trace.primitives:
        if each.name in _ALIASES:
            if each.inputs and each.inputs[0].name in weights:
                weights |= {output.name: weights[each.inputs[0].name] for output in each.outputs}
        else:
            found.update({weights[tensor.name] for tensor in each.inputs if tensor.name in weights})
    return found


def read_more_often(name: str, rows: int) -> dict[str, int]:
    """Return the weights of a family's tiny model that a shared pass reads more often than one stream's pass with as many rows."""
    with tracing.as_with_metal():
        target = tiny(name)
        together = reads(traced(target, rows_of(target, rows)), target)
        alone = reads(traced(target, rows_of(target, STREAMS * rows, [0])), target)
        target.release()
    assert alone.keys() == together.keys()
    return {weight: together[weight] - alone[weight] for weight in alone if together[weight] != alone[weight]}


def published(name: str, rows: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return dispatches and bytes of four passes, and of a shared one, of a target in published size."""
    target = exact_costs.target_of(exact_costs.TARGETS[name])
    streams = []
    for number in range(STREAMS):
        tokens = mx.arange(number, number + rows, dtype=mx.uint32)
        mx.eval(tokens)
        streams.append(StreamRows(tokens, exact_costs.deep_caches(target)))
    one = exact_costs.cost(target, rows, False)  # leaves the target with kernels
    found = traced(target, streams).primitives
    target.release()
    shared = dispatches.count(found).dispatches, sum(exact_costs.moved_bytes(each) for each in found)
    return (STREAMS * one[0], STREAMS * one[1]), shared


def of_family(name: str, rows: int) -> tuple[int, int]:
    """Return the dispatches of four passes, and of a shared one, of a family's tiny model."""
    target = tiny(name)
    alone = [traced(target, rows_of(target, rows, [number])) for number in range(STREAMS)]
    shared = traced(target, rows_of(target, rows))
    target.release()
    return sum(dispatches.count(each.primitives).dispatches for each in alone), dispatches.count(shared.primitives).dispatches


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tracing.as_with_metal():
        print("| Target | Rows of each | Dispatches, four passes | Shared | MB, four passes | Shared |\n|---|---|---|---|---|---|")
        for name in exact_costs.TARGETS:
            for rows in ROWS:
                (apart, moved), (shared, less) = published(name, rows)
                print(f"| {name} | {rows} | {apart} | {shared} | {moved / 1e6:.0f} | {less / 1e6:.0f} |", flush=True)
        print("\n| Family | 1 row of each, four passes | Shared | 16 rows of each, four passes | Shared |\n|---|---|---|---|---|")
        for name in FAMILIES:
            counts = " | ".join(f"{apart:,} | {shared:,}" for apart, shared in (of_family(name, rows) for rows in ROWS))
            print(f"| `{name}` | {counts} |", flush=True)


if __name__ == "__main__":
    main()
