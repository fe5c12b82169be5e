"""Measure what the drafter should propose at a temperature: tokens per round of every rule.

    python -m tests.benchmarks.proposals [--seeds 5] [--temperatures 0.6 1.0] [--json]

Every rule except two yardsticks gives the same text for a seed: the target picks its token by keyed noise, and a proposal is kept
while it equals that token. The yardsticks depend on more than the seed: *rejection* draws proposals from the drafter and keeps each
with probability p / q (arXiv 2211.17192); *independent* draws them and keeps those that equal the target's own draw.

Tokens per round are all tokens over all rounds, without drafts beyond the end of a reply. The 95% intervals come from resampling
prompts, and seeds within a prompt. No figure depends on the machine's speed.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from mlx_engine.hardware import blas

blas.prepare()  # before MLX is imported

import mlx.core as mx  # noqa: E402
import numpy as np  # noqa: E402

from mlx_engine.cli.bench_prompts import PROMPTS  # noqa: E402
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling  # noqa: E402
from mlx_engine.decoding.prefill import prefill  # noqa: E402
from mlx_engine.decoding.sampling import Chooser  # noqa: E402
from mlx_engine.drafters.parts.chooser import ProposalChooser  # noqa: E402
from mlx_engine.drafters.parts.context import DraftContext  # noqa: E402
from mlx_engine.engine.engine import Engine  # noqa: E402
from mlx_engine.formats import chat_prompt  # noqa: E402
from mlx_engine.loading.loaded_pair import LoadedPair  # noqa: E402
from mlx_engine.models.library.pair import demo_pair  # noqa: E402
from mlx_engine.targets.caches import Caches  # noqa: E402
from tests.mlx_engine.targets.target_passes import fork  # noqa: E402

# Questions and how their replies begin. The demo pair wasn't trained on them, so its text varies.
OPEN = (
    ("Tell me a story.", "Once upon a time"),
    ("Name a capital.", ""),
    ("Go on.", "In"),
    ("Write a poem.", "The"),
    ("Tell me something.", "There is"),
    ("What did you do today?", "Today"),
    ("Write a letter.", "Dear"),
    ("Tell me a joke.", "Why"),
    ("What is on your mind?", "I think"),
    ("Give me a list.", "1."),
    ("Describe the sea.", "It is"),
    ("What will tomorrow bring?", "Tomorrow"),
)
GROUPS = ("closed", "open", "all")
_LONGEST = 120  # tokens per reply
_RESAMPLES = 2000


class Rule(ProposalChooser, Protocol):
    """A way to propose and verify, for one reply."""

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        """Return proposals, uint32 [rows], for the drafter's logits [rows, V]."""
        ...

    def verify(self, logits: mx.array, drafts: mx.array, noise: mx.array) -> list[int]:
        """Return the tokens of a round for the target's logits [rows + 1, V]."""
        ...


class SameNoise(ProposalChooser):
    """Propose under the target's noise at `cooling` times the temperature; 0 is argmax."""

    def __init__(self, chooser: Chooser, cooling: float) -> None:
        self.chooser, self.cooling = chooser, cooling

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        assert noise is not None
        temperature = self.chooser.sampling.temperature
        return mx.argmax(logits.astype(mx.float32) / temperature + self.cooling * noise[: logits.shape[0]], axis=-1)

    def verify(self, logits: mx.array, drafts: mx.array, noise: mx.array) -> list[int]:
        chosen = cast(list[int], mx.argmax(self.chooser.scores(logits, noise), axis=-1).tolist())
        drafted = cast(list[int], drafts.tolist())
        kept = next((i for i, (a, b) in enumerate(zip(drafted, chosen, strict=False)) if a != b), len(drafted))
        return chosen[: kept + 1]


class Default(SameNoise):
    """What the engine does."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__(chooser, 0.0)

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        return self.chooser.propose(logits, noise)


class Independent(SameNoise):
    """Propose by independent random draws."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__(chooser, 1.0)
        self._key = mx.random.key(chooser.seed)

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        self._key, key = mx.random.split(self._key)
        return super().propose(logits, mx.random.gumbel(logits.shape, key=key))


class Rejection(ProposalChooser):
    """Draw from the drafter's distribution q; keep with probability p / q, else draw from the rest of p."""

    def __init__(self, chooser: Chooser) -> None:
        self._temperature, self._random = chooser.sampling.temperature, np.random.default_rng(chooser.seed)
        self._drafter = np.empty((0, 0))

    def propose(self, logits: mx.array, noise: mx.array | None) -> mx.array:
        self._drafter = self._law(logits)
        return mx.array([self._draw(row) for row in self._drafter], dtype=mx.uint32)

    def verify(self, logits: mx.array, drafts: mx.array, noise: mx.array) -> list[int]:
        out: list[int] = []
        target = self._law(logits)
        for token, p, q in zip(cast(list[int], drafts.tolist()), target, self._drafter, strict=False):
            if self._random.random() * q[token] >= p[token]:
                return [*out, self._draw(np.maximum(p - q, 0.0))]
            out.append(token)
        return [*out, self._draw(target[len(out)])]

    def _law(self, logits: mx.array) -> np.ndarray:
        scaled = np.array(logits.astype(mx.float32)).astype(np.float64) / self._temperature
        shares = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
        return shares / shares.sum(axis=-1, keepdims=True)

    def _draw(self, shares: np.ndarray) -> int:
        reached = np.cumsum(shares)
        return int(np.searchsorted(reached, self._random.random() * reached[-1], side="right"))


RULES: dict[str, Callable[[Chooser], Rule]] = {
    "by confidence (default)": Default,
    "same noise, 1.0 T": lambda chooser: SameNoise(chooser, 1.0),
    "same noise, 0.6 T": lambda chooser: SameNoise(chooser, 0.6),
    "same noise, 0.3 T": lambda chooser: SameNoise(chooser, 0.3),
    "argmax": lambda chooser: SameNoise(chooser, 0.0),
    "rejection": Rejection,
    "independent": Independent,
}


@dataclass(frozen=True)
class Count:
    """The rounds of one reply."""

    tokens: int
    rounds: int


@dataclass(frozen=True)
class Read:
    """A prefilled prompt, from which every reply to it starts."""

    length: int
    caches: Caches
    context: DraftContext
    logits: mx.array  # [1, V], for the token after the prompt


def read(pair: LoadedPair, prompt: Sequence[int]) -> Read:
    """Prefill once for all rules and seeds."""
    assert pair.drafter is not None
    caches, context = pair.target.caches(), pair.drafter.context()
    for _ in prefill(pair.target, caches, prompt, pair.drafter, context):
        pass
    last = mx.array(prompt[-1:])
    logits, features = pair.target.forward_tapped(last, caches)
    pair.drafter.inject(context, features, last)
    mx.eval(logits, caches.state, context.state)
    return Read(len(prompt), caches, context, logits)


def count(pair: LoadedPair, opening: Read, rule: Rule, chooser: Chooser) -> Count:
    """Generate one reply in rounds of the drafter's block size, until it ends or reaches `_LONGEST` tokens."""
    target, drafter = pair.target, pair.drafter
    assert drafter is not None
    caches, context, ends = fork(target, opening.caches), opening.context.copy(), set(pair.tokenizer.eos_token_ids)
    last = cast(int, mx.argmax(chooser.scores(opening.logits, chooser.noise(opening.length, 1, target.vocabulary)), axis=-1).item())
    tokens, rounds = 0, 0
    while last not in ends and tokens < _LONGEST - 1:
        rows = min(drafter.config.block_size, _LONGEST - tokens)
        noise = chooser.noise(context.position + 1, rows, target.vocabulary)
        assert noise is not None
        anchor = mx.array([last], dtype=mx.uint32)
        drafts = drafter.propose(context, anchor, rows, rule, noise)
        logits, features = target.forward_tapped(mx.concatenate([anchor, drafts]), caches)
        drafter.inject(context, features)
        mx.eval(logits, context.state)
        yielded = rule.verify(logits, drafts, noise)
        caches.rewind(rows - len(yielded))
        context.drop(rows - len(yielded))
        end = next((i + 1 for i, token in enumerate(yielded) if token in ends), len(yielded))
        tokens, rounds, last = tokens + min(end, _LONGEST - 1 - tokens), rounds + 1, yielded[end - 1]
    return Count(tokens, rounds)


def prompts(pair: LoadedPair) -> dict[str, list[list[int]]]:
    """Return the prompt tokens of closed and open-ended prompts."""

    def ask(text: str, opening: str = "") -> list[int]:
        return chat_prompt.render(pair.tokenizer, GenerationRequest((Message("user", text),), continue_from=opening)).tokens

    return {"closed": [ask(prompt.text) for prompt in PROMPTS], "open": [ask(*each) for each in OPEN]}


Table = dict[str, dict[str, list[list[Count]]]]  # rule -> group -> prompt -> seed


def per_round(cells: Sequence[Sequence[Count]]) -> float:
    """All tokens over all rounds."""
    rounds = sum(each.rounds for row in cells for each in row)
    return sum(each.tokens for row in cells for each in row) / rounds


def compared(ours: list[list[Count]], theirs: list[list[Count]]) -> tuple[float, float, float]:
    """Return one rule's tokens per round over another's, with a 95% paired bootstrap interval."""
    draw, ratios = random.Random(0), []
    for _ in range(_RESAMPLES):
        a, b = [], []
        for _ in ours:
            i = draw.randrange(len(ours))
            at = draw.choices(range(len(ours[i])), k=len(ours[i]))
            a.append([ours[i][j] for j in at])
            b.append([theirs[i][j] for j in at])
        ratios.append(per_round(a) / per_round(b))
    ratios.sort()
    return per_round(ours) / per_round(theirs), ratios[int(0.025 * _RESAMPLES)], ratios[int(0.975 * _RESAMPLES)]


def measure(pair: LoadedPair, temperature: float, seeds: int) -> Table:
    """Run every rule on every prompt with every seed."""
    asked = prompts(pair)
    table: Table = {name: {group: [] for group in asked} for name in RULES}
    for group, questions in asked.items():
        for number, prompt in enumerate(questions):
            _progress(f"T = {temperature}: {group} prompt {number + 1} of {len(questions)}")
            opening = read(pair, prompt)
            for name, make in RULES.items():
                row = []
                for seed in range(1, seeds + 1):
                    chooser = Chooser(Sampling(temperature=temperature), seed)
                    row.append(count(pair, opening, make(chooser), chooser))
                table[name][group].append(row)
    _progress("")
    for groups in table.values():
        groups["all"] = groups["closed"] + groups["open"]
    return table


def summary(table: Table) -> dict:
    """Return tokens per round by rule and group, and the ratio to rejection."""
    return {
        name: {
            group: {"tokens_per_round": per_round(cells), "to_rejection": compared(cells, table["rejection"][group])}
            for group, cells in groups.items()
        }
        for name, groups in table.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.proposals", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=5, help="of every prompt (default 5)")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.6, 1.0], help="default: 0.6 1.0")
    parser.add_argument("--pair", type=Path, help="folder with target/ and drafter/ (default: the demo pair)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args()
    engine = Engine()
    target, drafter = (asked.pair / "target", asked.pair / "drafter") if asked.pair else demo_pair()
    for _ in engine.load(target, drafter):
        pass
    report = {str(heat): summary(measure(engine.pair, heat, asked.seeds)) for heat in asked.temperatures}
    print(json.dumps(report) if asked.json else table_of(report))
    return 0


def table_of(report: dict) -> str:
    """Format the report as the table in docs/performance.md."""
    lines = []
    for heat, rules in report.items():
        heads = [f"T = {heat}: {group}" if group != "all" else "all, over rejection's (95 %)" for group in GROUPS]
        lines += [f"| {' | '.join(['', *heads])} |", "|---" * 4 + "|"]
        for name, groups in rules.items():
            ratio, low, high = groups["all"]["to_rejection"]
            cells = [f"{groups[group]['tokens_per_round']:.2f}" for group in GROUPS]
            over = f", {ratio:.3f} ({low:.3f} to {high:.3f})" if name != "rejection" else ""
            lines.append(f"| {name} | {cells[0]} | {cells[1]} | {cells[2]}{over} |")
        lines.append("")
    return "\n".join(lines)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
