"""Measure what the demo pair can do: exact answers to fresh questions, and tokens per round, by kind.

    python -m tests.benchmarks.demo_pair [--count 300] [--json]

A reply counts as right only if it equals the expected answer exactly, including the thinking where it was requested. Refusals, two
hundred questions written by hand, and questions with tools are measured too, but are not part of the total. An answer from the
calculator's result counts only if its call was right too.
"""

import argparse
import json
import sys
from collections import defaultdict
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


@dataclass
class Kind:
    """Results for one kind of question."""

    asked: int = 0
    right: int = 0
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.demo_pair", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=300, help="questions, equally many of each kind (default 300)")
    parser.add_argument("--seed", type=int, default=20261120, help="which questions")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--wrong", action="store_true", help="show wrong replies next to the right ones")
    asked = parser.parse_args()
    engine = Engine()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    for _ in engine.load(target, drafter):
        pass
    kinds: dict[str, Kind] = defaultdict(Kind)
    seed, right = asked.seed, False
    fresh = (*corpus.fresh_questions(asked.count, seed), *corpus.fresh_refusals(seed=seed), *corpus.newcomers())
    for question in (*fresh, *corpus.with_tools(seed=seed), *corpus.tool_questions(seed=seed)):
        text, (tokens, rounds) = ask(engine, question)
        called = question.kind != "calculator" or right
        kind, right = kinds[question.kind], question.check(text) and called
        kind.asked, kind.right = kind.asked + 1, kind.right + right
        kind.tokens, kind.rounds = kind.tokens + tokens, kind.rounds + rounds
        if asked.wrong and not right:
            print(f"--- {question.kind}: {question.messages[-1]['content']}\n{text}\n--- should be\n{question.expected}\n")
    answered = [kinds[name] for name in corpus.QUESTION_KINDS]
    total = {
        "asked": sum(kind.asked for kind in answered),
        "right": mean(kind.right / kind.asked for kind in answered),
        "worst_kind": min(kind.right / kind.asked for kind in answered),
        "tokens_per_round": mean(kind.tokens_per_round for kind in answered),
    }
    if asked.json:
        table = {name: {**vars(kind), "tokens_per_round": kind.tokens_per_round} for name, kind in kinds.items()}
        print(json.dumps({"total": total, "kinds": table}))
        return 0
    print(f"{'kind':<16}{'right':>10}{'tokens a round':>17}")
    for name, kind in kinds.items():
        print(f"{name:<16}{kind.right:>4} of {kind.asked:<3}{kind.tokens_per_round:>15.1f}")
    print(f"{'kinds alike':<16}{total['right']:>10.1%}{total['tokens_per_round']:>17.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
