"""Compare predicted memory with the peak that a prompt chunk reaches, for every family and several context lengths.

    python -m tests.benchmarks.fit_families [--only NAME] [--context 1024 --context 8192] [--json]

The pairs are small and random, so that the memory of a pass is a large part of all. Only the last chunk of each context is
computed: the caches before it hold copies of the first chunk's rows.
"""

import argparse
import gc
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402

from mlx_engine.contract.machine_events import MachineFacts  # noqa: E402
from mlx_engine.decoding.prefill import CHUNK, prefill  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.files.checkpoint import read_config, weight_bytes  # noqa: E402
from mlx_engine.models.fit import predict_fit  # noqa: E402
from mlx_engine.prefix.branch import Branch  # noqa: E402
from tests.benchmarks.fit import MB, Case, make  # noqa: E402
from tests.mlx_engine import tiny_families  # noqa: E402
from tests.mlx_engine.sized_families import SIZED, VOCABULARY  # noqa: E402

CONTEXTS = (1024, 2048, 4096, 8192)
MTP = "qwen3_5 with MTP"
NAMES = (*SIZED, MTP)


def measure(name: str, folder: Path, contexts: list[int]) -> list[dict[str, Any]]:
    """Return predicted and measured bytes at each context length, the longest last."""
    target, drafter = make(Case(SIZED[name.partition(" ")[0]], drafter=(False,)), folder)
    if name == MTP:
        drafter = _save_mtp(folder / "mtp")
    facts = MachineFacts("", "CPU" if mx.default_device().type == mx.cpu else "Metal", 1, 10**12, 10**12, 1.0, 1.0, "", "", "", "")
    files = read_config(target), read_config(drafter), weight_bytes(target), weight_bytes(drafter)
    engine, rows = Engine(), list[dict[str, Any]]()
    for _ in engine.load(target, drafter):
        pass
    tokens = [3 + 7 * at % (VOCABULARY - 3) for at in range(CHUNK)]
    first = engine.snapshots.new_branch()
    _compute(engine, first, tokens)
    for context in sorted(contexts):
        if name == MTP:  # its context has a different number of rows for each kind
            branch, held = first, 0
            while branch.caches.length < context - CHUNK:
                _compute(engine, branch, [*range(branch.caches.length), *tokens])
        else:
            branch = _repeated(engine, first, context // CHUNK - 1)
            held = sum(array.nbytes for array in first.arrays())
        gc.collect()
        mx.clear_cache()
        mx.reset_peak_memory()
        _compute(engine, branch, [*range(branch.caches.length), *tokens])
        peak = mx.get_peak_memory() - held
        del branch
        rows.append({"pair": name, "context": context, "predicted": predict_fit(*files, context, facts).needed, "measured": peak})
    engine.unload()
    return rows


def _compute(engine: Engine, branch: Branch, tokens: list[int]) -> None:
    """Compute a chunk as the prefill does, but not the last token of a prompt."""
    pair = engine.pair
    next(prefill(pair.target, branch.caches, [*tokens, 3], pair.drafter, branch.context))


def _repeated(engine: Engine, first: Branch, times: int) -> Branch:
    """Return a branch whose caches hold a chunk's rows several times."""
    branch = engine.snapshots.new_branch()
    assert first.context is not None and branch.context is not None
    branch.caches.fill([first.caches.rows(0, CHUNK)] * times, CHUNK * times)
    branch.context.fill([first.context.rows(0, CHUNK)] * times, CHUNK * times)
    branch.caches.thaw(first.caches.freeze())
    branch.context.thaw(first.context.freeze())
    mx.eval(branch.arrays())
    return branch


def _save_mtp(folder: Path) -> Path:
    saved = tiny_families.CONFIGS, tiny_families.VOCABULARY
    try:
        tiny_families.CONFIGS, tiny_families.VOCABULARY = SIZED, VOCABULARY
        return tiny_families.save_mtp("qwen3_5", folder)
    finally:
        tiny_families.CONFIGS, tiny_families.VOCABULARY = saved


def table(rows: list[dict[str, Any]]) -> str:
    """Format the errors as a table of Markdown."""
    contexts = sorted({row["context"] for row in rows})
    lines = ["| Pair | " + " | ".join(f"{context:,} tokens" for context in contexts) + " |", "|---" * (len(contexts) + 1) + "|"]
    for name in dict.fromkeys(row["pair"] for row in rows):
        cells = {row["context"]: row for row in rows if row["pair"] == name}
        words = [
            f"{row['measured'] / MB:,.0f} MB, {row['predicted'] / row['measured'] - 1:+.1%}"
            for row in map(cells.get, contexts)
            if row
        ]
        lines.append(f"| {name} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fit_families", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help="of the pairs, this one")
    parser.add_argument("--context", action="append", type=int, metavar="N", help="tokens, a multiple of 512")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    asked = parser.parse_args()
    rows = list[dict[str, Any]]()
    for name in asked.only or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(name, Path(folder), asked.context or list(CONTEXTS))
    print(json.dumps(rows) if asked.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
