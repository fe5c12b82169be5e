"""Time to the first token after a restart, with the prompt saved on disk and without.

    python -m tests.benchmarks.saved_prompts [--lengths 1024,2048,4096,8192] [--repeats 3] [--json]

Runs a random pair of about 300 MB. For each length: a chat of that many tokens, then its next turn after a restart, with the store
and without in turn. Also measures the speed of decoding while another prompt is written. Medians.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from mlx_engine import blas

blas.prepare()  # before MLX is imported

from mlx_engine.engine import Engine  # noqa: E402
from mlx_engine.events import Finished, Stats  # noqa: E402
from mlx_engine.prefix.store import PrefixStore  # noqa: E402
from mlx_engine.requests import GenerationRequest  # noqa: E402
from tests.benchmarks import deep_pairs  # noqa: E402

_NEW = 64  # tokens of the next turn
_QUOTA = 50_000_000_000


def stats(engine: Engine, prompt: list[int], **options) -> Stats:
    for event in engine.generate(GenerationRequest(prompt_tokens=tuple(prompt), ignore_eos=True, **options)):
        if isinstance(event, Finished):
            return event.stats
    raise AssertionError("a reply ends")


def save(engine: Engine) -> None:
    while (wait := engine.save_next()) is not None:
        time.sleep(wait)


def written(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def measure(engine: Engine, length: int, repeats: int) -> dict[str, float]:
    """Measure one length; times in seconds."""
    cold, warm, sizes = list[float](), list[float](), list[int]()
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            folder, rng = Path(name), random.Random(repeat)
            prompt = [rng.randrange(10, 1500) for _ in range(length)]
            longer = [*prompt, *(rng.randrange(10, 1500) for _ in range(_NEW))]
            engine.save_prompts(folder, _QUOTA)
            stats(engine, prompt, max_tokens=1)
            save(engine)
            engine.save_prompts(None)  # waits for the writer
            sizes.append(written(folder))
            for kept in (True, False) if repeat % 2 else (False, True):
                engine.free_memory()
                if kept:
                    engine.save_prompts(folder, _QUOTA)
                found = stats(engine, longer, max_tokens=1, private=not kept)
                engine.save_prompts(None)
                assert found.disk_tokens >= length - 1 if kept else not found.disk_tokens
                (warm if kept else cold).append(found.ttft_s or 0.0)
    caches = engine.snapshots.nbytes
    engine.free_memory()
    return {
        "tokens": length,
        "cold_s": median(cold),
        "saved_s": median(warm),
        "ratio": median(one / other for one, other in zip(warm, cold, strict=True)),
        "bytes": median(sizes),
        "amplification": median(sizes) / (caches * length / (length + _NEW)),
    }


def decoding(engine: Engine, repeats: int) -> float:
    """Return decode speed while prompts are written / decode speed without."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        store = PrefixStore(Path(name), _QUOTA)
        store.close()
        for repeat in range(2 * repeats):
            writes = bool(repeat % 2)
            engine.free_memory()
            engine.save_prompts(Path(name) if writes else None, _QUOTA)
            stats(engine, [rng.randrange(10, 1500) for _ in range(2048)], max_tokens=1)
            if writes:
                engine.save_next()  # the writer has work during the next reply
            found = stats(engine, [rng.randrange(10, 1500) for _ in range(16)], max_tokens=200, mode="plain")
            rates[writes].append(found.decode_tok_s or 0.0)
            save(engine)
    engine.save_prompts(None)
    return median(one / other for one, other in zip(rates[True], rates[False], strict=True))


def results(lengths: list[int], repeats: int) -> Iterator[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine()
        for _ in engine.load(*deep_pairs.write(deep_pairs.MIDDLING, Path(folder))):
            pass
        for length in lengths:
            yield measure(engine, length, repeats)
        yield {"decoding": decoding(engine, 2 * repeats)}
        engine.unload()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", default="1024,2048,4096,8192")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for found in results([int(length) for length in given.lengths.split(",")], given.repeats):
        if given.json:
            print(json.dumps(found), flush=True)
        elif "tokens" in found:
            times = f"{found['cold_s']:.2f} s without the store, {found['saved_s']:.3f} s with it, ratio {found['ratio']:.3f}"
            sizes = f"{found['bytes'] / 1e6:,.0f} MB written, {found['amplification']:.2f} x the caches"
            print(f"{found['tokens']:>6,} tokens: first token after {times}; {sizes}", flush=True)
        else:
            print(f"decode speed while writing / without: {found['decoding']:.3f}")


if __name__ == "__main__":
    main()
