"""Replies' streams under a script, and comparison of the caches and contexts that they leave."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.stream import Stream
from mlx_engine.decoding.width import PassOutcome, WidthChoice, WidthController
from mlx_engine.drafters.lookup import Offer
from tests.mlx_engine.targets.test_families import contents

GREEDY = Sampling()


class Scripted(WidthController):
    """A controller that repeats a list of choices and records the outcomes."""

    def __init__(self, passes: Sequence[PassKind]) -> None:
        self._passes = cycle(passes)
        self.outcomes: list[PassOutcome] = []

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        self._kind = kind = next(self._passes)
        if kind.copied:
            return WidthChoice(PassKind("drafter", kind.block), appends=True)
        return WidthChoice(kind, "as scripted" if kind == PLAIN_STEP else "")

    def extend(self, choice: WidthChoice, depth: int, offer: Offer) -> WidthChoice:
        return replace(choice, kind=self._kind)

    def record(self, outcome: PassOutcome) -> None:
        self.outcomes.append(outcome)


class SometimesWrong:
    """Proposes the tokens of the plain reply, with one of each block replaced.

    Attributes:
        behind: number of drafts that the next proposal follows.
    """

    def __init__(self, plain: Sequence[int], wrong: Sequence[int]) -> None:
        self._plain, self._wrong = plain, cycle(wrong)
        self._at, self.behind = 0, 0

    def add(self, tokens: tuple[int, ...]) -> None:
        self._at += len(tokens)

    def offer(self, drafts: Sequence[int] = ()) -> Offer | None:
        self.behind = len(drafts)
        return Offer(15, 3)

    def propose(self, count: int) -> list[int]:
        begin = self._at + self.behind
        drafts = [*self._plain[begin : begin + count], *[5] * count][:count]
        wrong = next(self._wrong)
        return [5 if i == wrong else token for i, token in enumerate(drafts)]


def prefilled(pair, prompt, controller, limit, sampling=GREEDY, seed=0, **options) -> Stream:
    """Return the stream of a reply whose prompt is computed but for its last token."""
    caches, context = pair.target.caches(), pair.drafter.context()
    list(prefill(pair.target, caches, prompt, pair.drafter, context))
    options |= {"drafter": pair.drafter, "context": context}
    parts = (caches, pair.target.vocabulary, Chooser(sampling, seed), Penalties(sampling, prompt), controller)
    return Stream(*parts, prompt[-1], limit, **options)


class Run:
    """One reply's rounds with their own caches and context."""

    def __init__(self, engine, prompt, controller, ahead: bool = False, sampling=GREEDY, seed: int = 0, **options) -> None:
        self.target = engine.pair.target
        self.stream = prefilled(engine.pair, prompt, controller, 0, sampling, seed, queue_ahead=ahead, **options)
        self.caches, self.context = self.stream.caches, self.stream.context
        self.first: tuple[int, ...] = ()

    def steps(self, limit: int, ends: Sequence[int] = (), stop: int | None = None) -> list[Step]:
        """Return all steps after the first token, or close the generator after `stop` of them."""
        self.stream.limit, self.stream.ends = limit + 1, frozenset(ends)
        running = decode(self.stream, self.target)
        first, *seen_steps = islice(running, stop and stop + 1)
        running.close()
        assert first.sources == ("prefill",)
        self.first = first.tokens
        return seen_steps


def close(found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Assert that numbers are equal, and arrays within rounding."""
    for ours, theirs in zip(found, wanted, strict=True):
        if isinstance(theirs, mx.array):
            assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
            # 1e-4: a masked view may be summed in another order, a rounding of float32 in every layer, and mlx-lm's deepseek
            # attends by another formula in passes of one row; with the wheel's BLAS the small pairs differ by nothing
            np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=0, atol=1e-4)
        else:
            assert ours == theirs


def same_state(one: Run, other: Run) -> None:
    """Assert equal keys, values and states in the visible parts of caches and contexts."""
    position = one.caches.length
    assert position == other.caches.length == one.context.position == other.context.position
    close(contents(one.caches.layers), contents(other.caches.layers))
    for key, kind in one.context.kinds.items():
        seen = position if kind.window is None else min(position, kind.window - 1)
        rows = []
        for held in (kind, other.context.kinds[key]):
            assert held.first + held.rows == position and held.rows >= seen
            rows.append(np.array(held.rows_between(position - seen, position)))
        # from the target's hidden states, which differ by the same rounding
        np.testing.assert_allclose(*rows, rtol=0, atol=1e-4)
