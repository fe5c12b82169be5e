"""What prompts that are saved on disk cost and save.

    python -m tests.benchmarks.saved_prompts [--lengths 1024,2048,…,32768] [--repeats 3] [--json]

Runs a random pair of about 300 MB. Prints the section of docs/performance.md:

- For each length, a chat of that many tokens, then its next turn after a restart: time to the first token, bytes written and read.
- The speed of decoding while another prompt is written and without, in turn.
- The time to find a prompt among those of 1,000 chats of 2,000 tokens.

Medians. All lengths take about an hour on an idle machine with four cores.
"""

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from statistics import median

from mlx_engine.hardware import blas

BLAS = blas.prepare()  # before MLX is imported

from mlx_engine.contract.events import Finished, Stats  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.prefix.disk import DiskPrefixes  # noqa: E402
from mlx_engine.prefix.part_store import PrefixStore  # noqa: E402
from tests.benchmarks import deep_pairs  # noqa: E402
from tests.mlx_engine.prefix import saved_parts  # noqa: E402

_NEW = 64  # tokens of the next turn
_QUOTA = 50_000_000_000
_WRITTEN, _REPLY = 4096, 64  # tokens of the prompt that is written at most, and of the reply that is decoded during that
_CHATS, _CHAT = 1000, 2000


def prompt_of(length: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(10, 1500) for _ in range(length)]


def stats(engine: Engine, prompt: list[int], **options) -> Stats:
    for event in engine.generate(GenerationRequest(prompt_tokens=tuple(prompt), ignore_eos=True, **options)):
        if isinstance(event, Finished):
            return event.stats
    raise AssertionError("a reply ends")


def save(engine: Engine) -> None:
    """Save everything."""
    while (wait := engine.save_next()) is not None:
        time.sleep(wait)
    assert engine.snapshots.disk is not None
    engine.snapshots.disk._writer.flush(600)


def traffic() -> tuple[int, int]:
    """Return how many bytes this process has read and written, or zeros if the system doesn't count them."""
    counts = Path("/proc/self/io")
    lines = dict(line.split(": ") for line in counts.read_text().splitlines()) if counts.exists() else {}
    return int(lines.get("rchar", 0)), int(lines.get("wchar", 0))


def leave_page_cache(folder: Path) -> None:
    """Let the next read come from the disk, where the system supports it."""
    for path in folder.iterdir() if hasattr(os, "posix_fadvise") else ():
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def measure(engine: Engine, length: int, repeats: int) -> dict[str, float]:
    """Measure one length: times in seconds, sizes in bytes."""
    found: dict[str, list[float]] = {name: [] for name in ("cold_s", "saved_s", "ratio", "written", "read", "amplification")}
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            folder, prompt = Path(name), prompt_of(length, repeat)
            engine.free_memory()
            engine.save_prompts(folder, _QUOTA)
            before = traffic()
            cold = stats(engine, prompt, max_tokens=1).ttft_s or 0.0
            save(engine)
            written = traffic()[1] - before[1]
            [branch] = engine.snapshots._branches
            assert branch.context is not None
            rows = sum(array.nbytes for array in branch.caches.rows(0, length) + branch.context.rows(0, length))
            del branch
            engine.save_prompts(None)
            leave_page_cache(folder)
            engine.free_memory()
            engine.save_prompts(folder, _QUOTA)
            before = traffic()
            turn = stats(engine, [*prompt, *prompt_of(_NEW, repeat)], max_tokens=1)
            assert turn.disk_tokens >= length - 1
            warm = turn.ttft_s or 0.0
            values = (cold, warm, warm / cold, written, traffic()[0] - before[0], written / rows)
            for each, value in zip(found.values(), values, strict=True):
                each.append(value)
            save(engine)
            engine.save_prompts(None)
    return {"tokens": length, **{name: median(values) for name, values in found.items()}}


def decoding(engine: Engine, length: int, repeats: int) -> dict[str, float]:
    """Compare the speed of decoding while a prompt of this length is written and without."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    prompt, written = prompt_of(length, 0), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine.free_memory()
        stats(engine, prompt, max_tokens=1)  # the next ones come from memory
        for repeat in range(2 * repeats):
            writes = bool(repeat % 2)
            engine.save_prompts(folder if writes else None, _QUOTA)
            engine.forget_prompts(())
            stats(engine, prompt, max_tokens=1)
            while engine.save_next() == 0.0:
                pass  # the writer gets everything that it can hold
            found = stats(engine, prompt_of(16, repeat), max_tokens=_REPLY, mode="plain", reuse=False)
            rates[writes].append(found.decode_tok_s or 0.0)
            if writes:
                save(engine)
                engine.save_prompts(None)
                other = PrefixStore(folder, _QUOTA)
                written = other.use().bytes
                other.clear()
                other.close()
    ratios = [one / other for one, other in zip(rates[True], rates[False], strict=True)]
    return {"decoding": median(ratios), "decoding_low": min(ratios), "decoding_high": max(ratios), "written": written}


def look_up() -> dict[str, float]:
    """Measure how long it takes to find a prompt among many, in milliseconds."""
    with tempfile.TemporaryDirectory() as name:
        store = PrefixStore(Path(name), _QUOTA, keep_free=0)
        for chat in range(_CHATS):
            saved_parts.save(store, saved_parts.tokens_of(chat, _CHAT))
        prefixes, times = DiskPrefixes(store, saved_parts.PAIR, False), list[float]()
        for chat in range(0, _CHATS, 5):
            tokens = saved_parts.tokens_of(chat, _CHAT)
            began = time.perf_counter()
            found = prefixes.find(tokens, 0)
            times.append(1000 * (time.perf_counter() - began))
            assert found is not None and found.length == _CHAT // 256 * 256
        store.close()
    return {"look_up_ms": median(times), "look_up_max_ms": max(times)}


def results(lengths: list[int], repeats: int) -> Iterator[dict[str, float]]:
    yield look_up()
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine()
        for _ in engine.load(*deep_pairs.write(deep_pairs.MIDDLING, Path(folder))):
            pass
        yield decoding(engine, min(max(lengths), _WRITTEN), 10 * repeats)
        for length in lengths:
            yield measure(engine, length, repeats)
        engine.unload()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384,32768")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.json:
        load = f"load {os.getloadavg()[0]:.1f} before"
        print(f"Measured on {date.today()} on {os.cpu_count()} cores, {BLAS.name}, {load}, medians of {given.repeats} runs:\n")
        print("| Tokens of the chat | First token without | First token with | Ratio | Written | Written / caches | Read |")
        print("|---|---|---|---|---|---|---|", flush=True)
    notes = []
    for found in results([int(length) for length in given.lengths.split(",")], given.repeats):
        if given.json:
            print(json.dumps(found), flush=True)
        elif "tokens" in found:
            times = f"{found['cold_s']:.2f} s | {found['saved_s']:.2f} s | {found['ratio']:.3f}"
            sizes = f"{found['written'] / 1e6:,.0f} MB | {found['amplification']:.2f} | {found['read'] / 1e6:,.0f} MB"
            print(f"| {found['tokens']:,} | {times} | {sizes} |", flush=True)
        elif "decoding" in found:
            span = f"{found['decoding']:.3f} ({found['decoding_low']:.3f} to {found['decoding_high']:.3f})"
            notes.append(f"Decode speed while {found['written'] / 1e6:,.0f} MB are written, relative to decoding alone: {span}.")
        else:
            times = f"{found['look_up_ms']:.2f} ms, {found['look_up_max_ms']:.2f} ms at most"
            notes.append(f"Finding a prompt among {_CHATS:,} chats of {_CHAT:,} tokens: {times}.")
    if notes:
        print("", *notes, sep="\n")


if __name__ == "__main__":
    main()
