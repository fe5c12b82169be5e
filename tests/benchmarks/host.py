"""Measure what a round costs besides arithmetic, without a GPU.

    python -m tests.benchmarks.host [--json]

For a greedy DFlash round of 16 rows it counts primitives without views, estimated Metal dispatches (`dispatches.py`), bytes moved,
how often the host waits for the device, and how long it builds the graph. The pairs have realistic depth and are otherwise tiny
(`deep_pairs.py`). Other decoders are counted the same way if installed: `tests/peers/run.sh --host` creates an environment for
them. Their Metal kernels can't run here; their fallbacks are counted. Host time is the thread's processor time, so other work
doesn't count.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
from mlx_lm.models.cache import KVCache  # noqa: E402

from mlx_engine.contract.errors import UserError  # noqa: E402
from mlx_engine.contract.events import Failed, Round  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Sampling  # noqa: E402
from mlx_engine.decoding.costs import ASSUMED  # noqa: E402
from mlx_engine.decoding.sampling import Chooser  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.hardware.device import DevicePosition  # noqa: E402
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels  # noqa: E402
from tests.benchmarks import deep_pairs, dispatches, host_peers, tracing  # noqa: E402
from tests.mlx_engine.targets.target_passes import fork  # noqa: E402

PROMPT = tuple(range(20, 84))
_WARM, _TIMED = 3, 12
Loop = Callable[[Path, Path], Iterator[None]]


@dataclass(frozen=True)
class Cost:
    """One round of a loop: dispatches by kind, and host seconds of every timed round.

    `idle` counts the waits that leave the device without work.
    """

    primitives: int
    dispatches: int
    bytes: int
    waits: int
    idle: int
    host_s: tuple[float, ...]
    parts: dict[str, int]


@dataclass(frozen=True)
class Parts:
    """Dispatches of our own round by part; `kernel` if our kernels replace MLX operations.

    The round is queued before the previous one is read. `verify` is the target's pass with taps, `a_layer` the mean per layer
    without embedding and head.
    """

    draft: int
    draft_kernel: int
    verify: int
    verify_kernel: int
    a_layer: float
    a_layer_kernel: float
    accept: int
    accept_kernel: int
    inject: int
    inject_kernel: int


def ours(target: Path, drafter: Path, operations: Operations = PLAIN) -> Iterator[None]:
    """Run our own loop, one round at a time."""
    engine = _loaded(target, drafter)
    engine.pair.use(operations)
    engine.pair.use_costs(replace(ASSUMED, queued=True))  # as on a Mac where calibration found this faster
    request = GenerationRequest(prompt_tokens=PROMPT, width=deep_pairs.BLOCK, max_tokens=1000, ignore_eos=True, reuse=False)
    for event in engine.generate(request):
        if isinstance(event, Failed):
            raise UserError.of(event)
        if isinstance(event, Round):
            yield


def _while_traced(name: str) -> Any:
    """Use a kernel while a round is traced, and its reference in the rounds before."""
    kernel = with_kernels((name,), tracing.kernel)

    def run(*arguments: Any) -> Any:
        return getattr(kernel if tracing.active else PLAIN, name)(*arguments)

    return run


_ALL = replace(PLAIN, **{name: _while_traced(name) for name in KERNELS})


def with_our_kernels(target: Path, drafter: Path) -> Iterator[None]:
    """Run our own loop with every kernel."""
    return ours(target, drafter, _ALL)


LOOPS: dict[str, Loop] = {"Slipstream": ours, "Slipstream, kernels": with_our_kernels, **host_peers.LOOPS}


def cost(loop: Loop, target: Path, drafter: Path) -> Cost:
    """Warm up a loop, time some rounds, and trace one. Rounds with kernels are built but not run."""

    def warm() -> Iterator[None]:
        rounds = loop(target, drafter)
        for _ in range(_WARM):
            next(rounds)
        return rounds

    with tracing.as_with_metal():
        if loop is with_our_kernels:
            with tracing.exportable():
                rounds = warm()
            host = tracing.built_s(lambda: next(rounds), _WARM + _TIMED)[_WARM:]
        else:
            clock = tracing.Clock()
            with clock.watching():
                rounds = warm()
                host = tuple(clock.host_s(lambda: next(rounds)) for _ in range(_TIMED))
        with tracing.exportable():
            rounds = warm()
        traces = tracing.trace(lambda: next(rounds), before=2)
    first, both = (dispatches.count(found.primitives) for found in traces)
    kinds = {name: here for name in both.kinds if (here := both.kinds[name] - first.kinds[name])}
    return Cost(
        both.primitives - first.primitives,
        both.dispatches - first.dispatches,
        both.bytes - first.bytes,
        traces[1].waits - traces[0].waits,
        traces[1].idle - traces[0].idle,
        host,
        kinds,
    )


def parts(target: Path, drafter: Path) -> Parts:
    """Trace each part of our own round separately.

    The round is queued behind another: only the device knows where it begins and how many rows were kept.
    """
    with tracing.as_with_metal():
        pair = _loaded(target, drafter).pair
        assert pair.drafter is not None
        model, own, rows = pair.target, pair.drafter, deep_pairs.BLOCK
        caches, context = model.caches(), own.context()
        _, features = model.forward_tapped(mx.array(PROMPT), caches)
        caches.rewind(0)
        own.inject(context, features)
        start, kept = len(PROMPT), mx.array([rows], mx.int32)
        # where a round begins that is queued behind an unread one of equal width
        behind = DevicePosition(mx.array([start + rows], mx.int32), start + 1, start + rows, kept).span(rows)
        mx.eval(features, caches.state, context.state, behind.positions, behind.end, behind.start.value, kept)
        chooser, block = Chooser(Sampling(), 0), mx.array(PROMPT[:rows])
        logits, some = mx.zeros((rows, model.vocabulary)), mx.zeros((rows, features.shape[1]))
        drafts = block[1:].astype(mx.uint32)
        mx.eval(block, logits, some, drafts)

        def counted(stretch: Callable[[], Any]) -> int:
            return dispatches.count(tracing.trace(lambda: mx.eval(stretch()))[1].primitives).dispatches

        def injected() -> list:
            fresh = own.context()
            fresh.position = context.position
            fresh.kinds = {window: kind.share() for window, kind in context.kinds.items()}  # including spare rows
            fresh.place(behind)
            own.inject(fresh, some)
            return fresh.state

        def verify() -> int:
            line = fork(model, caches)
            before = DevicePosition.known(start).span(rows)
            mx.eval(model.forward_tapped(block, line, before), [layer.state for layer in line.layers if isinstance(layer, KVCache)])

            def verified() -> list:
                found = model.forward_tapped(block, line, behind)
                return [*found, *(layer.state for layer in line.layers if isinstance(layer, KVCache))]

            return counted(verified)

        def accepted() -> list[mx.array]:
            verdict = chooser.verify(logits, drafts, 0, None)
            return [verdict.choices, verdict.count()]

        plain = [counted(accepted), counted(injected)]
        chooser.operations = own.operations = with_kernels()
        kernels = [counted(accepted), counted(injected)]
        chooser.operations = own.operations = PLAIN
        around = counted(lambda: [model.head(mx.fast.rms_norm(model.embed(block[None]), None, 1e-6))]) + len(own.config.taps)
        anchor = block[:1].astype(mx.uint32)
        mx.eval(anchor)

        def draft() -> int:
            context.place(behind)
            return counted(lambda: own.propose(context, anchor, rows, chooser, None))

        layers, verify_plain, draft_plain = len(caches.layers), verify(), draft()
        pair.use(_ALL)
        verify_kernel, draft_kernel = verify(), draft()
        pair.use(PLAIN)
        return Parts(
            draft=draft_plain,
            draft_kernel=draft_kernel,
            verify=verify_plain,
            verify_kernel=verify_kernel,
            a_layer=(verify_plain - around) / layers,
            a_layer_kernel=(verify_kernel - around) / layers,
            accept=plain[0],
            accept_kernel=kernels[0],
            inject=plain[1],
            inject_kernel=kernels[1],
        )


def _loaded(target: Path, drafter: Path) -> Engine:
    engine = Engine()
    for _ in engine.load(target, drafter):
        pass
    return engine


def measure(kinds: list[str], loops: list[str]) -> dict[str, Any]:
    """Measure every loop on every pair; a loop that can't run says why."""
    report: dict[str, Any] = {}
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            pair = deep_pairs.write(deep_pairs.KINDS[kind], Path(folder))
            row: dict[str, Any] = {"layers": _layers(kind), "parts": asdict(parts(*pair)), "loops": {}}
            for name in loops:
                try:
                    row["loops"][name] = asdict(cost(LOOPS[name], *pair))
                except Exception as error:  # other decoders may fail in any way; the row says so
                    if not name.startswith("Slipstream"):
                        row["loops"][name] = {"error": _reason(error)}
                        continue
                    raise
            report[kind] = row
    return report


def _layers(kind: str) -> int:
    config = deep_pairs.KINDS[kind]
    return int(config.get("text_config", config)["num_hidden_layers"])


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed here"
    return f"{type(error).__name__}: {(str(error).strip() or 'no words').splitlines()[0][:160]}"


def table(report: dict[str, Any]) -> str:
    """Format the report as text."""
    lines: list[str] = []
    for kind, row in report.items():
        own = row["parts"]
        lines += [
            kind,
            f"  {'a round of 16 rows':22}{'primitives':>12}{'dispatches':>12}{'MB moved':>10}{'waits':>7}{'idle':>6}"
            f"{'host ms':>9}{'(least, most)':>16}",
        ]
        for name, found in row["loops"].items():
            if "error" in found:
                lines.append(f"  {name:22}cannot run: {found['error']}")
                continue
            times = [1e3 * seconds for seconds in found["host_s"]]
            lines.append(
                f"  {name:22}{found['primitives']:>12,}{found['dispatches']:>12,}{found['bytes'] / 1e6:>10.1f}"
                f"{found['waits']:>7}{found['idle']:>6}"
                f"{median(times):>9.2f}{f'{min(times):.1f} – {max(times):.1f}':>16}"
            )
        lines += [
            f"  ours, part by part: draft {own['draft']}, verify {own['verify']} ({own['a_layer']:.1f} a layer), "
            f"accept and next token {own['accept']}, inject {own['inject']}",
            f"  with kernels: draft {own['draft_kernel']}, verify {own['verify_kernel']} ({own['a_layer_kernel']:.1f} a layer), "
            f"accept and next token {own['accept_kernel']}, inject {own['inject_kernel']}",
            "",
        ]
    return "\n".join(lines).rstrip()


def run(as_json: bool, kinds: list[str] | None = None, loops: list[str] | None = None) -> int:
    """Measure and print."""
    report = measure(kinds or list(deep_pairs.KINDS), loops or list(LOOPS))
    print(json.dumps(report) if as_json else table(report))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.host", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pair", action="append", choices=deep_pairs.KINDS, help="one of the pairs (default: all)")
    parser.add_argument("--loop", action="append", choices=LOOPS, help="one of the decoders (default: all)")
    parser.add_argument("--dispatches", action="store_true", help="print the table that dispatches are estimated with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    if asked.dispatches:
        for row in dispatches.TABLE:
            print(f"{', '.join(row.names)}\n    {row.dispatches}\n    {row.source}")
        return 0
    return run(asked.json, asked.pair, asked.loop)


if __name__ == "__main__":
    sys.exit(main())
