"""`python -m training.evaluate DIR`: exactly right answers to fresh questions, and tokens per round, by kind.

Float32, greedy, block 16. A reply is checked against the reference in one pass. Where it differs, the rest is decoded with guesses.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from . import NEEDS_TORCH

try:
    import torch
except ModuleNotFoundError:
    raise SystemExit(NEEDS_TORCH) from None

from tokenizers import Tokenizer

from . import drafter as drafting
from . import target as targeting
from .corpus.questions import QUESTION_KINDS, Question, fresh_questions, fresh_refusals, newcomers, tool_questions, with_tools
from .corpus.template import prompt
from .data import encode_reply
from .model import BLOCK, Drafter, Target
from .tokenizer import END

MAX_TOKENS = 640
GUESSED = 24  # tokens


@dataclass
class Outcome:
    """A question's greedy reply."""

    question: Question
    before: list[int]
    reply: list[int]
    text: str
    right: bool


def greedy(target: Target, before: list[int], reply: list[int]) -> list[int]:
    """Return the target's greedy reply, given one that it probably agrees with."""
    done, guess = list[int](), reply
    while len(done) < MAX_TOKENS:
        hidden, _ = target(torch.tensor([before + done + guess]))
        chosen = target.logits(hidden[0, len(before) + len(done) - 1 :]).argmax(-1).tolist()
        agreed = next((i for i, (mine, guessed) in enumerate(zip(chosen, guess, strict=False)) if mine != guessed), len(guess))
        done += chosen[: agreed + 1]
        if END in done:
            return done[: done.index(END) + 1]
        guess = _repeated(before + reply + done)
    return done


def _repeated(tokens: list[int]) -> list[int]:
    """Return what followed the last two tokens when they occurred before, as a guess of what follows them now."""
    for i in range(len(tokens) - 3, 0, -1):
        if tokens[i - 1 : i + 1] == tokens[-2:]:
            return tokens[i + 1 : i + 1 + GUESSED]
    return []


@torch.no_grad()
def answers(target: Target, words: Tokenizer, questions: Iterable[Question]) -> list[Outcome]:
    """Return the greedy reply to each question."""
    outcomes = []
    for question in questions:
        before = words.encode(prompt(question.messages, question.thinking, question.tools), add_special_tokens=False).ids
        expected = encode_reply(words, question.expected)
        reply = greedy(target, before, expected)
        text = words.decode([token for token in reply if token != END], skip_special_tokens=False)
        outcomes.append(Outcome(question, before, reply, text, reply[-1] == END and question.check(text)))
    return outcomes


@torch.no_grad()
def rounds(target: Target, drafter: Drafter, outcome: Outcome) -> tuple[int, int]:
    """Return the number of tokens from rounds, and of rounds. The first token comes from prefill."""
    tokens = outcome.before + outcome.reply
    start, last = len(outcome.before), len(tokens) - 1
    if start >= last:
        return 0, 0
    anchors = torch.arange(start, last)
    guesses: list[list[int]] = []
    for part in anchors.split(64):
        states = drafting.block_states(target, drafter, torch.tensor([tokens]), part[None])[0]
        guesses += target.logits(states[:, 1:]).argmax(-1).tolist()
    at, count = start, 0
    while at < last:
        kept = 0
        while kept < BLOCK - 1 and at + 1 + kept <= last and guesses[at - start][kept] == tokens[at + 1 + kept]:
            kept += 1
        at += kept + 1
        count += 1
    return last - start, count


def share(outcomes: list[Outcome]) -> str:
    """Return how many outcomes are right."""
    right = sum(outcome.right for outcome in outcomes)
    return f"{right} of {len(outcomes)} ({right / len(outcomes):.1%})"


def main() -> None:
    """Print both numbers for each kind, for all kinds, for refusals, and for questions written by hand or asked with tools."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20261120)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--wrong", action="store_true", help="show the wrong replies")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    target = targeting.load(options.folder / "target")
    words = Tokenizer.from_file(str(options.folder / "target" / "tokenizer.json"))
    has_drafter = (options.folder / "drafter" / "model.safetensors").exists()
    drafter = drafting.load(options.folder / "drafter") if has_drafter else None
    seed = options.seed
    questions = [
        *fresh_questions(options.count, seed),
        *fresh_refusals(seed=seed),
        *newcomers(),
        *with_tools(seed=seed),
        *tool_questions(seed=seed),
    ]
    outcomes = answers(target, words, questions)
    for call, result in pairwise(outcomes):
        if result.question.kind == "calculator":
            result.right = result.right and call.right
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.question.kind].append(outcome)
    speeds: list[float] = []
    for kind, mine in by_kind.items():
        if kind not in QUESTION_KINDS and speeds:
            asked = [outcome for outcome in outcomes if outcome.question.kind in QUESTION_KINDS]
            print(f"| all kinds | {share(asked)} | {sum(speeds) / len(speeds):.2f} |")
            speeds = []
        speed = math.nan
        if drafter is not None:
            counts = [rounds(target, drafter, outcome) for outcome in mine]
            speed = sum(tokens for tokens, _ in counts) / sum(count for _, count in counts)
        if kind in QUESTION_KINDS:
            speeds.append(speed)
        print(f"| {kind} | {share(mine)} | {speed:.2f} |", flush=True)
    for outcome in outcomes:
        if options.wrong and not outcome.right:
            print(f"\n### {outcome.question.kind}: {outcome.question.messages[-1]['content']}")
            print(f"--- reply\n{outcome.text}\n--- reference\n{outcome.question.expected}")


if __name__ == "__main__":
    main()
