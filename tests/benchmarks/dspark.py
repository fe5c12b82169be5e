"""Compare DSpark's rounds with mlx-dspark 0.20.3: same pairs, same prompts, one process, interleaved.

    tests/peers/run.sh --dspark [--runs 9]

Prints rounds and the median time per round of the reference pairs, greedily in float32 with whole blocks and without lookup.
"""

import argparse
import json
from collections.abc import Callable
from statistics import median
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402

from mlx_engine.contract.events import Finished  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from tests.benchmarks.peers import same_weights  # noqa: E402
from tests.golden.__main__ import HERE  # noqa: E402

Rounds = tuple[tuple[int, ...], int, float]  # tokens, number of rounds, seconds per round


def ours(engine: Engine) -> Callable[[list[int], int], Rounds]:
    def decode(prompt: list[int], limit: int) -> Rounds:
        request = GenerationRequest(prompt_tokens=tuple(prompt), width=engine.pair.info.block_size, max_tokens=limit, reuse=False)
        events = list(engine.generate(request))
        assert isinstance(events[-1], Finished)
        stats = events[-1].stats
        return fold(events).tokens, stats.rounds, stats.decode_s / (stats.rounds + stats.plain_steps)

    return decode


def theirs(case: str, engine: Engine) -> Callable[[list[int], int], Rounds]:
    from mlx_dspark.generate import speculative_generate  # type: ignore[import-not-found]
    from mlx_dspark.load import load_drafter, load_target  # type: ignore[import-not-found]

    target, tokenizer = load_target(str(HERE / case / "target"), require_tap=True)
    same_weights(target.model, engine.pair.target.model)
    drafter, _ = load_drafter(str(HERE / case / "drafter"), quantize=False)
    options: dict[str, Any] = {"max_draft_tokens": None, "lookup_drafts": False, "apply_chat_template": False}

    def decode(prompt: list[int], limit: int) -> Rounds:
        got = speculative_generate(target, tokenizer, drafter, prompt_ids=prompt, max_new_tokens=limit, **options)
        return tuple(got.token_ids[:limit]), got.num_rounds, got.decode_seconds / got.num_rounds

    return decode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=9, help="counted runs of every prompt (default 9)")
    runs = parser.parse_args().runs
    for case in ("dspark_1", "dspark_3"):  # mlx-dspark can't tap the other's Gemma target
        engine = Engine()
        for _ in engine.load(HERE / case / "target", HERE / case / "drafter"):
            pass
        described = json.loads((HERE / case / "cases.json").read_text(encoding="utf-8"))
        decoders = {"ours": ours(engine), "mlx-dspark": theirs(case, engine)}
        rounds, times = dict.fromkeys(decoders, 0), {name: list[float]() for name in decoders}
        for run in range(runs + 1):
            for one in described["cases"]:
                for name, decode in decoders.items():
                    tokens, count, seconds = decode(one["prompt_ids"], described["max_tokens"])
                    assert list(tokens) == one["output_ids"], (case, name)
                    if run:
                        rounds[name] += count
                        times[name].append(seconds)
            mx.clear_cache()
        shown = [f"{name} {rounds[name] // runs} rounds of {1e3 * median(times[name]):.2f} ms" for name in decoders]
        print(f"{case}: {', '.join(shown)}; time ratio {median(times['ours']) / median(times['mlx-dspark']):.2f}")


if __name__ == "__main__":
    main()
