"""Measure what fewer bits cost a drafter: size, tokens per round and acceptance.

    python -m tests.benchmarks.bits [--pair DIR] [--temperature 0] [--max-tokens 96] [--json]

DIR contains target/ and drafter/. The prompts come from DIR/cases.json (raw token ids) if it exists, else from `slipstream bench`.
The text doesn't depend on the drafter, so every row answers alike. No figure depends on the machine's speed.
"""

import argparse
import json
import sys
from pathlib import Path

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.errors import UserError  # noqa: E402
from mlx_engine.contract.events import Failed, Finished, Stats  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402

BITS = (16, 8, 4)


def requests(folder: Path | None, temperature: float, max_tokens: int, width: int) -> list[GenerationRequest]:
    """Return the requests, the same for every row."""
    cases = folder / "cases.json" if folder else None
    shared = {"width": width, "sampling": Sampling(temperature=temperature), "seed": 1, "max_tokens": max_tokens}
    if cases is not None and cases.is_file():
        prompts = [case["prompt_ids"] for case in json.loads(cases.read_text(encoding="utf-8"))["cases"]]
        return [GenerationRequest(prompt_tokens=tuple(prompt), **shared) for prompt in prompts]  # type: ignore[arg-type]
    return [GenerationRequest(messages=(Message("user", prompt.text),), **shared) for prompt in PROMPTS]  # type: ignore[arg-type]


def stats_of(engine: Engine, request: GenerationRequest) -> Stats:
    """Return the statistics of one reply.

    Raises:
        UserError: the reply failed.
    """
    for event in engine.generate(request):
        if isinstance(event, Failed):
            raise UserError.of(event)
        if isinstance(event, Finished):
            return event.stats
    raise AssertionError("a reply ends with its figures")


def measure(folder: Path | None, temperature: float, max_tokens: int) -> list[dict]:
    """Return one row per number of bits."""
    rows = []
    for bits in BITS:
        engine = Engine()
        for _ in engine.load(*((folder / "target", folder / "drafter") if folder else demo_pair()), drafter_bits=bits):
            pass
        drafter, info = engine.pair.drafter, engine.pair.info
        assert drafter is not None
        asked = requests(folder, temperature, max_tokens, info.block_size)
        found = [stats_of(engine, request) for request in asked]
        rounds, accepted, tested = (sum(getattr(stats, name) for stats in found) for name in ("rounds", "accepted", "tested"))
        rows.append(
            {
                "weights": info.drafter_weights,
                "megabytes": sum(array.nbytes for array in drafter.parameters()) / 1e6,
                "prompts": len(asked),
                "rounds": rounds,
                "tokens_per_round": (accepted + rounds) / rounds,
                "acceptance": accepted / tested,
            }
        )
        engine.unload()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bits", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pair", type=Path, metavar="DIR", help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--temperature", type=float, default=0.0, metavar="T")
    parser.add_argument("--max-tokens", type=int, default=96, metavar="N", help="a reply (default 96)")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    asked = parser.parse_args()
    rows = measure(asked.pair, asked.temperature, asked.max_tokens)
    if asked.json:
        print(json.dumps(rows))
        return 0
    print(f"{'weights':<10}{'MB':>8}{'rounds':>8}{'tokens per round':>18}{'acceptance':>12}")
    for row in rows:
        figures = f"{row['megabytes']:>8.2f}{row['rounds']:>8}{row['tokens_per_round']:>18.2f}{row['acceptance']:>12.3f}"
        print(f"{row['weights']:<10}{figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
