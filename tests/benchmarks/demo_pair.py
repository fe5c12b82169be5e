"""Measure what the demo pair can do: exact answers to fresh questions, and tokens per round, by kind.

    python -m tests.benchmarks.demo_pair [--count 300] [--share 1] [--json]

A reply counts as right only if it equals the expected answer exactly, including the thinking where it was requested. Refusals, two
hundred questions written by hand, and questions with tools are measured too, but are not part of the total. An answer from the
calculator's result counts only if its call was right too. Neighbors and the last turns of dialogs are right if their result is; the
others are refused or confidently wrong.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

from mlx_engine.contract.events import Finished  # noqa: E402
from mlx_engine.contract.whole_replies import fold  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from tests.demo_pair.corpus import questions as corpus  # noqa: E402
from tests.demo_pair.requests import request_of  # noqa: E402

_LONGEST = 900  # tokens; every right answer is shorter
_JUDGED = ("neighbors", "dialogs")


@dataclass
class Kind:
    """Results for one kind of question."""

    asked: int = 0
    right: int = 0
    refused: int = 0  # of neighbors and dialogs, instead of the right answer
    tokens: int = 0  # produced by rounds, without drafts beyond the end of the reply
    rounds: int = 0

    @property
    def tokens_per_round(self) -> float:
        return self.tokens / self.rounds if self.rounds else 1.0


def ask(engine: Engine, question: corpus.Question) -> tuple[str, tuple[int, int]]:
    """Return the reply including its thinking block, the tokens of its rounds, and the number of rounds."""
    request = request_of(question, max_tokens=_LONGEST)
    events = list(engine.generate(replace(request, width=engine.pair.info.block_size)))  # rounds refer to the full block
    ended = events[-1]
    assert isinstance(ended, Finished), ended
    reply = fold(events)
    text = engine.pair.tokenizer.decode(list(reply.tokens)).removesuffix("<|im_end|>")
    return text, (reply.stats.tokens - 1 - reply.stats.plain_steps, reply.stats.rounds)


def _questions(count: int, share: float, seed: int) -> Iterator[corpus.Question]:
    """Yield fresh questions, and this share of the others, at least one of each sort."""

    def part(most: int) -> int:
        return max(1, round(most * share))

    yield from corpus.fresh_questions(count, seed)
    yield from corpus.fresh_refusals(part(100), seed)
    yield from corpus.newcomers()[:: round(1 / share)]
    yield from corpus.with_tools(part(60), seed)
    yield from corpus.tool_questions(part(100), seed)
    yield from corpus.neighbors(part(300), seed)
    yield from corpus.dialogs(part(60), seed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.demo_pair", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=300, help="questions, equally many of each kind (default 300)")
    parser.add_argument("--seed", type=int, default=20261120, help="which questions")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--share", type=float, default=1.0, help="of the other questions; less is quicker (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--wrong", action="store_true", help="show wrong replies next to the right ones")
    asked = parser.parse_args()
    engine = Engine()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    for _ in engine.load(target, drafter):
        pass
    kinds: dict[str, Kind] = defaultdict(Kind)
    seed, right = asked.seed, False
    broken = 0
    for question in _questions(asked.count, asked.share, seed):
        text, (tokens, rounds) = ask(engine, question)
        called = question.kind != "calculator" or right
        verdict = question.verdict(text) if question.kind in _JUDGED else "right" if question.check(text) and called else "wrong"
        kind, right = kinds[question.kind], verdict == "right"
        kind.asked, kind.right, kind.refused = kind.asked + 1, kind.right + right, kind.refused + (verdict == "refused")
        broken += "<|" in text or ("<tool_call>" in text and not question.tools)
        kind.tokens, kind.rounds = kind.tokens + tokens, kind.rounds + rounds
        if asked.wrong and not right:
            print(
                f"--- {question.kind}, {verdict}: {question.messages[-1]['content']}\n{text}\n--- should be\n{question.expected}\n"
            )
    answered = [kinds[name] for name in corpus.QUESTION_KINDS]
    total = {
        "asked": sum(kind.asked for kind in answered),
        "right": mean(kind.right / kind.asked for kind in answered),
        "worst_kind": min(kind.right / kind.asked for kind in answered),
        "tokens_per_round": mean(kind.tokens_per_round for kind in answered),
    }
    if asked.json:
        table = {name: {**vars(kind), "tokens_per_round": kind.tokens_per_round} for name, kind in kinds.items()}
        print(json.dumps({"total": total, "kinds": table, "broken": broken}))
        return 0
    print(f"{'kind':<16}{'right':>10}{'tokens a round':>17}")
    for name, kind in kinds.items():
        print(f"{name:<16}{kind.right:>4} of {kind.asked:<3}{kind.tokens_per_round:>15.1f}")
    print(f"{'kinds alike':<16}{total['right']:>10.1%}{total['tokens_per_round']:>17.1f}")
    for name in _JUDGED:
        print(f"{name}: {kinds[name].refused} refused, {kinds[name].asked - kinds[name].right - kinds[name].refused} wrong")
    print(f"replies with a special token or an unwanted call: {broken}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
