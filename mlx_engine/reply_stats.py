"""Counts and times of one reply, on a monotonic clock."""

import time
from collections import Counter

import mlx.core as mx

from mlx_engine.decoding.step import Step
from mlx_engine.errors import EngineText
from mlx_engine.events import Stats
from mlx_engine.requests import Mode


class Tally:
    """Adds up one reply's steps. `began` is when the request arrived, on `time.perf_counter`."""

    def __init__(
        self,
        began: float,
        mode: Mode,
        prompt_tokens: int,
        reused_tokens: int,
        seed: int,
        why_plain: EngineText | None,
        exact: bool,
    ) -> None:
        self._mode, self._prompt_tokens, self._seed, self._why_plain = mode, prompt_tokens, seed, why_plain
        self._reused_tokens, self._exact = reused_tokens, exact
        self._start = began
        self._first: float | None = None
        self._last: float | None = None
        self._rounds: list[Step] = []
        self._plain: list[Step] = []
        self._tokens = 0
        mx.reset_peak_memory()

    def elapsed(self) -> float:
        """Return the seconds since the request arrived."""
        return time.perf_counter() - self._start

    def add(self, step: Step, tokens: int, at_s: float) -> None:
        """Add a step that became final at `at_s` with `tokens` tokens that belong to the reply."""
        self._last = at_s
        self._tokens += tokens
        if self._first is None:
            self._first = at_s  # prefill's token belongs to no round
        elif step.drafted:
            self._rounds.append(step)
        else:
            self._plain.append(step)

    def stats(self) -> Stats:
        """Return the reply's statistics so far."""
        rate = None
        if self._first is not None and self._last is not None and self._last > self._first:
            rate = (self._tokens - 1) / (self._last - self._first)
        return Stats(
            mode=self._mode,
            prompt_tokens=self._prompt_tokens,
            reused_tokens=self._reused_tokens,
            tokens=self._tokens,
            ttft_s=self._first,
            prompt_tok_s=(self._prompt_tokens - self._reused_tokens) / self._first if self._first else None,
            decode_tok_s=rate,
            rounds=len(self._rounds),
            drafted=sum(step.drafted for step in self._rounds),
            tested=sum(step.tested for step in self._rounds),
            accepted=sum(step.accepted for step in self._rounds),
            accepted_per_round=tuple(step.accepted for step in self._rounds),
            widths=tuple(step.width for step in self._rounds),
            plain_steps=len(self._plain),
            why_plain=self._why_plain,
            peak_memory_bytes=mx.get_peak_memory(),
            seed=self._seed,
            lookup_rounds=sum(step.proposer == "lookup" for step in self._rounds),
            trials=sum(step.trial for step in (*self._rounds, *self._plain)),
            exact=self._exact,
            plain_because=tuple(Counter(step.why for step in self._plain if step.why).most_common()),
        )
