"""Statistics of a reply in progress."""

from collections import Counter
from dataclasses import dataclass, field

import mlx.core as mx

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Stats
from mlx_engine.contract.requests import Mode
from mlx_engine.decoding.step import Step
from mlx_engine.decoding.turns import ReplyClock


@dataclass
class Tally:
    """Statistics of a reply in progress, with times measured by the reply's clock."""

    clock: ReplyClock
    mode: Mode
    seed: int
    why_plain: EngineText | None
    exact: bool
    prompt_tokens: int = 0
    reused_tokens: int = 0
    cut_tokens: int = 0
    disk_tokens: int = 0
    snapshot_bytes: int = 0
    images: int = 0
    image_tokens: int = 0
    image_s: float = 0.0
    few_accepted: EngineText | None = None
    gpu_error: EngineText | None = None
    drafter: tuple[str, str, bool] = "", "", False  # name, kind, and whether it is tuned
    rounds: list[Step] = field(default_factory=list)
    _first: float | None = None
    _first_waited: float = 0.0
    _last: float = 0.0
    _tokens: int = 0
    _plain: list[Step] = field(default_factory=list)
    _passes: float = 0.0
    _own_passes: int = 0
    _rows: int = 0
    _rested: float = 0.0

    def __post_init__(self) -> None:
        if len(self.clock.turns.replies) < 2:
            mx.reset_peak_memory()

    def add(self, step: Step, tokens: int, at_s: float) -> None:
        """Add a step that became final at `at_s` with `tokens` tokens of the reply."""
        self._last, self._rested = at_s, self.clock.rested
        self._tokens += tokens
        self._passes += 1 / step.streams
        self._own_passes += 1
        self._rows += step.width
        if self._first is None:
            self._first, self._first_waited = at_s, self.clock.waited  # prefill's token belongs to no round
        elif step.drafted:
            self.rounds.append(step)
        else:
            self._plain.append(step)

    def stats(self) -> Stats:
        """Return the statistics so far."""
        prefill = self._first or 0.0
        reading = prefill - self.image_s
        decoding = self._last - prefill if self._first is not None else 0.0
        return Stats(
            mode=self.mode,
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            disk_tokens=self.disk_tokens,
            snapshot_bytes=self.snapshot_bytes,
            tokens=self._tokens,
            ttft_s=None if self._first is None else self._first + self._first_waited,
            prompt_tok_s=(self.prompt_tokens - self.reused_tokens) / reading if reading > 0 else None,
            decode_tok_s=(self._tokens - 1) / decoding if decoding > 0 else None,
            rounds=len(self.rounds),
            drafted=sum(step.drafted for step in self.rounds),
            tested=sum(step.tested for step in self.rounds),
            accepted=sum(step.accepted for step in self.rounds),
            accepted_per_round=tuple(step.accepted for step in self.rounds),
            widths=tuple(step.width for step in self.rounds),
            plain_steps=len(self._plain),
            why_plain=self.why_plain,
            peak_memory_bytes=mx.get_peak_memory(),
            seed=self.seed,
            lookup_rounds=sum(step.proposer == "lookup" for step in self.rounds),
            lookup_tested=sum(step.copies_tested for step in self.rounds),
            lookup_accepted=sum(step.copies_accepted for step in self.rounds),
            trials=sum(step.trial for step in (*self.rounds, *self._plain)),
            exact=self.exact,
            plain_because=tuple(Counter(step.why for step in self._plain if step.why).most_common()),
            waiting_s=self.clock.waited,
            prefill_s=prefill,
            decode_s=decoding,
            few_accepted=self.few_accepted,
            gpu_error=self.gpu_error,
            drafter=self.drafter[0],
            drafter_kind=self.drafter[1],
            tuned=self.drafter[2],
            images=self.images,
            image_tokens=self.image_tokens,
            image_s=self.image_s,
            passes=self._passes,
            own_passes=self._own_passes,
            rows=self._rows,
            rest_s=self._rested,
            cut_tokens=self.cut_tokens,
        )
