"""Measure what chats hold in memory and what a later turn saves.

    python -m tests.benchmarks.memory [--turns 50] [--tokens 8192] [--runs 10] [--json]

Three parts: a long session (turn after turn, a new chat when the context is full), a long prompt (peak and held bytes of prefill
and decoding), and the time to first token of a second and a sixth turn with and without reuse, interleaved.
"""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402

from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.cli.bench_ratio import paired_ratio  # noqa: E402
from mlx_engine.contract.events import CompletedReply, Failed, Finished, PrefillProgress  # noqa: E402
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402

MB = 1 << 20


def ask(engine: Engine, request: GenerationRequest) -> CompletedReply:
    """Return one reply.

    Raises:
        RuntimeError: the engine failed.
    """
    events = list(engine.generate(request))
    ended = events[-1]
    if not isinstance(ended, Finished):
        raise RuntimeError(ended.message if isinstance(ended, Failed) else "the reply has no end")
    return fold(events)


def sitting(engine: Engine, turns: int, max_tokens: int) -> list[dict[str, int]]:
    """Chat for a number of turns; return the bytes held after each."""
    rows: list[dict[str, int]] = []
    messages: tuple[Message, ...] = ()
    for turn in range(turns):
        question = Message("user", PROMPTS[turn % len(PROMPTS)].text)
        count = engine.count_tokens(CountTokens(GenerationRequest((*messages, question))))
        if count.tokens + max_tokens > count.limit:
            messages = ()
        messages = (*messages, question)
        reply = ask(engine, GenerationRequest(messages, max_tokens=max_tokens))
        messages = (*messages, Message("assistant", reply.text))
        mx.clear_cache()
        rows.append(
            {
                "prompt": reply.stats.prompt_tokens,
                "reused": reply.stats.reused_tokens,
                "active": mx.get_active_memory(),
                "snapshots": engine.snapshots.nbytes,
                "peak": reply.stats.peak_memory_bytes,
            }
        )
    return rows


def long_prompt(engine: Engine, length: int, max_tokens: int) -> dict[str, int]:
    """Prefill and decode a long prompt; return bytes held, peak, and the arithmetic of its rows.

    The context limit is raised for it: positions beyond the trained ones give poor text and cost the same.
    """
    pair = engine.pair
    pair.info = dataclasses.replace(pair.info, context_limit=max(pair.info.context_limit, length + max_tokens))
    tokens = tuple(3 + 7 * at % (pair.target.vocabulary - 3) for at in range(length))
    engine.free_memory()
    before = mx.get_active_memory()
    prefilled = 0
    for event in engine.generate(GenerationRequest(prompt_tokens=tokens, max_tokens=max_tokens, ignore_eos=True)):
        if isinstance(event, PrefillProgress) and event.done == length:
            prefilled = mx.get_active_memory() - before
        elif isinstance(event, Finished):
            peak = event.stats.peak_memory_bytes - before
    mx.clear_cache()
    held = mx.get_active_memory() - before
    branch = engine.snapshots.take((*tokens, 0))  # removed from the store to inspect it
    rows = sum(array.nbytes for array in branch.caches.state + (branch.context.state if branch.context else []))
    return {"tokens": length, "rows": rows, "prefilled": prefilled, "held": held, "peak": peak}


def next_turn(engine: Engine, turn: int, runs: int) -> dict[str, Any]:
    """Return seconds to first token of one turn, by chat and run, with and without reuse."""
    seconds: dict[bool, list[list[float]]] = {True: [], False: []}
    reused, lengths = [], []
    for chat in range(6):
        asked = [PROMPTS[(chat + 5 * at) % len(PROMPTS)].text for at in range(turn)]
        messages: tuple[Message, ...] = (Message("user", asked[0]),)
        for question in asked[1:]:
            before = messages
            reply = ask(engine, GenerationRequest(before, max_tokens=200))
            messages = (*before, Message("assistant", reply.text), Message("user", question))
        of_chat: dict[bool, list[float]] = {True: [], False: []}
        for run in range(runs):
            for reuse in (True, False) if (run + chat) % 2 else (False, True):
                engine.free_memory()
                ask(engine, GenerationRequest(before, max_tokens=200))  # both continue the same reply
                stats = ask(engine, GenerationRequest(messages, max_tokens=1, reuse=reuse)).stats
                assert stats.ttft_s is not None
                of_chat[reuse].append(stats.ttft_s)
                if reuse and not run:
                    reused.append(stats.reused_tokens)
                    lengths.append(stats.prompt_tokens)
        for reuse, times in of_chat.items():
            seconds[reuse].append(times)
    return {
        "turn": turn,
        "prompt_tokens": lengths,
        "reused_tokens": reused,
        "with_s": median(time for times in seconds[True] for time in times),
        "without_s": median(time for times in seconds[False] for time in times),
        "ratio": dataclasses.asdict(paired_ratio(seconds[True], seconds[False])),
    }


def table(result: dict[str, Any]) -> str:
    """Format the results as text."""
    lines: list[str] = []
    if rows := result.get("sitting"):
        late = [row["active"] for row in rows[len(rows) // 2 :]]
        asked, reused = (sum(row[name] for row in rows) for name in ("prompt", "reused"))
        lines += [
            f"{len(rows)} turns, at most {result['budget'] / MB:.0f} MB for what is kept of chats; "
            f"weights and what else stays {result['weights'] / MB:.1f} MB",
            f"  prefilled {asked - reused:,} of {asked:,} prompt tokens",
            f"  held after a turn: {max(row['active'] for row in rows) / MB:.1f} MB at most,"
            f" {min(late) / MB:.1f} to {max(late) / MB:.1f} MB in the second half",
            f"  kept of chats: {max(row['snapshots'] for row in rows) / MB:.1f} MB at most",
        ]
    for turn in result.get("turns", ()):
        ratio, length, reused = turn["ratio"], median(turn["prompt_tokens"]), median(turn["reused_tokens"])
        lines += [
            f"turn {turn['turn']}, medians: {length:.0f} tokens, {reused:.0f} reused",
            f"  first token after {1000 * turn['with_s']:.1f} ms, without reuse {1000 * turn['without_s']:.1f} ms;"
            f" ratio {ratio['value']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})",
        ]
    for row in result.get("long_prompts", ()):
        lines += [
            f"{row['tokens']:,} tokens: keys, values and context take {row['rows'] / MB:.1f} MB",
            f"  held {row['held'] / MB:.1f} MB, {row['prefilled'] / MB:.1f} MB before decoding;"
            f" at most {(row['peak'] - row['rows']) / MB:.1f} MB more in passing",
        ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.memory", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=50, help="of the long sitting (default 50)")
    parser.add_argument("--budget", type=int, default=32, help="megabytes for what is kept of chats (default 32)")
    parser.add_argument("--tokens", type=int, default=8192, help="of the long prompt (default 8192)")
    parser.add_argument("--runs", type=int, default=10, help="of each later turn (default 10)")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    engine = Engine()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    for _ in engine.load(target, drafter):
        pass
    engine.snapshots.budget = asked.budget * MB
    result: dict[str, Any] = {"when": time.strftime("%Y-%m-%d"), "blas": blas.prepare().name, "budget": asked.budget * MB}
    ask(engine, GenerationRequest((Message("user", PROMPTS[0].text),), max_tokens=32, reuse=False))  # warm-up
    mx.clear_cache()
    result["weights"] = mx.get_active_memory()
    if asked.turns:
        result["sitting"] = sitting(engine, asked.turns, 160)
    if asked.runs:
        result["turns"] = [next_turn(engine, turn, asked.runs) for turn in (2, 6)]
    if asked.tokens:
        engine.snapshots.budget = 1 << 40
        result["long_prompts"] = [long_prompt(engine, length, 64) for length in (asked.tokens // 2, asked.tokens)]
    print(json.dumps(result) if asked.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
