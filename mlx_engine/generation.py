"""Generation of a reply: prefill, decoding, events, and statistics."""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast

import mlx.core as mx

from mlx_engine import chat, device, limits
from mlx_engine.decoding.plain import Step, plain
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.speculative import Rounds
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth, PairHistory, WidthController
from mlx_engine.drafters.drafter import Backlog
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import Event, Finished, PrefillProgress, Round, Stats, StopReason
from mlx_engine.loading import LoadedPair
from mlx_engine.prefix.boundaries import boundaries
from mlx_engine.prefix.snapshots import Snapshots
from mlx_engine.requests import GenerationRequest, Mode
from mlx_engine.template_sandbox import RenderingCancelled

_DFLASH_OFF = EngineText.of("dflash_off", "DFlash is off")


def generate_reply(
    pair: LoadedPair, snapshots: Snapshots, request: GenerationRequest, cancel: threading.Event
) -> Generator[Event, None, None]:
    """Yield the events of a reply, `Finished` last. Closing the generator ends it.

    Raises:
        UserError: the request can't be run.
    """
    if not request.exact:
        yield from _generate(pair, pair.history, snapshots, request, cancel)
        return
    with pair.exactly() as history:  # without snapshots, so that a prompt is always computed in the same chunks
        yield from _generate(pair, history, snapshots, replace(request, reuse=False), cancel)


def _generate(
    pair: LoadedPair, history: PairHistory, snapshots: Snapshots, request: GenerationRequest, cancel: threading.Event
) -> Generator[Event, None, None]:
    began = time.perf_counter()
    target, drafter, tokenizer = pair.target, pair.drafter, pair.tokenizer
    limits.check_choices(request, history.block if drafter else None)
    limits.check_tokens(request.prompt_tokens or (), target.rows)
    seed = secrets.randbits(32) if request.seed is None else request.seed
    mode: Mode = "dflash" if request.mode == "dflash" and drafter is not None else "plain"
    why_plain = None if mode == "dflash" else pair.info.why_plain if request.mode == "dflash" else _DFLASH_OFF
    try:
        messages = chat.fitting(tokenizer, request, pair.info.context_limit, cancel)
        left_out, request = len(request.messages) - len(messages), replace(request, messages=messages)
        rendered = chat.render(tokenizer, request, cancel)
    except RenderingCancelled:
        yield Finished("cancelled", Tally(began, mode, 0, 0, seed, why_plain, request.exact).stats())
        return
    prompt, length = rendered.tokens, len(rendered.tokens)
    limits.check_tokens(prompt, target.rows)
    limit = _token_limit(request, length, pair.info.context_limit)
    if not request.exact:
        pair.run_at(length)
    operations = pair.exact_operations if request.exact else pair.operations  # kernels may break ties differently than MLX
    chooser, penalties = Chooser(request.sampling, seed, operations), Penalties(request.sampling, prompt)
    ends = frozenset[int]() if request.ignore_eos else frozenset(tokenizer.eos_token_ids)
    branch = snapshots.take(prompt) if request.reuse else snapshots.new_branch(prompt)
    marks = boundaries(tokenizer, request, prompt, cancel) if request.reuse and snapshots.needs_marks else ()
    tally = Tally(began, mode, length, branch.reused, seed, why_plain, request.exact)
    reply = chat.ReplyText(tokenizer, rendered, request.stop)
    caches, context = branch.caches, branch.context
    reason: StopReason = "length"
    first: int | None = None
    steps: Generator[Step, None, None] | None = None
    consistent = True  # whether caches and context hold the same tokens
    try:
        yield PrefillProgress(branch.reused, length, branch.reused, left_out)
        reads_context = mode == "dflash" or request.reuse  # for rounds or a later turn
        for done in prefill(target, caches, prompt, *((drafter, context) if reads_context else (None, None)), marks):
            if isinstance(done, mx.array):
                chosen = chooser.choose(penalties.apply(done), length, chooser.noise(length, 1, done.shape[-1]))
                first = cast(int, chosen.item())
                break
            if done in marks:
                branch.mark()
            if cancel.is_set():
                reason = "cancelled"
                break
            yield PrefillProgress(done, length, branch.reused, left_out)
        if first is not None:
            penalties.add((first,))
            yield PrefillProgress(length, length, branch.reused, left_out)
            if mode == "dflash" and limit > 1:
                assert drafter is not None and context is not None
                controller: WidthController = FixedWidth(request.width) if request.width else AutomaticWidth(history)
                copies = Lookup((*prompt, first), history.block - 1) if history.lookup and not request.width else None
                ahead = device.runs_beside_host() and history.costs.table.queued and not request.exact
                rounds = Rounds(target, drafter, caches, context, chooser, penalties, controller, copies, queue_ahead=ahead)
                steps = rounds.run(first, limit - 1, ends)
            elif limit > 1:
                backlog = Backlog(drafter, context) if request.reuse and drafter is not None and context is not None else None
                steps = plain(target, caches, first, length, chooser, penalties, limit - 1, backlog)
            for step in chain((Step((first,), ("prefill",)),), steps or ()):
                at_s = tally.elapsed()
                branch.tokens += step.tokens
                end = next((at + 1 for at, token in enumerate(step.tokens) if token in ends), 0)
                tokens = step.tokens[:end] if end else step.tokens
                commits = list(reply.add(tokens, step.sources[: len(tokens)]))
                tally.add(step, sum(len(commit.tokens) for commit in commits), at_s)
                if step.drafted:
                    yield Round(step.width, step.proposer, step.tested, step.accepted, at_s)
                yield from commits
                if reply.stopped or end or cancel.is_set():
                    reason = "stop_string" if reply.stopped else "eos" if end else "cancelled"
                    break
    except BaseException as error:
        consistent = isinstance(error, GeneratorExit)  # other errors interrupt a pass
        raise
    finally:
        if steps is not None:
            steps.close()
        if consistent and request.reuse:
            snapshots.put(branch)
    yield from reply.finish()
    yield Finished("stop_string" if reply.stopped else reason, tally.stats())


def _token_limit(request: GenerationRequest, length: int, context_limit: int) -> int:
    """Return the token limit for the reply to a prompt of `length` tokens."""
    if length >= context_limit:
        template = "The chat has {tokens:,} tokens, but the context holds only {limit:,}. Shorten the chat, or start a new one."
        raise UserError("context_full", template, tokens=length, limit=context_limit)
    return min(request.max_tokens, context_limit - length)


@dataclass
class Tally:
    """Statistics of a reply in progress. `began` is a `time.perf_counter` value."""

    began: float
    mode: Mode
    prompt_tokens: int
    reused_tokens: int
    seed: int
    why_plain: EngineText | None
    exact: bool
    _first: float | None = None
    _last: float | None = None
    _tokens: int = 0
    _rounds: list[Step] = field(default_factory=list)
    _plain: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        mx.reset_peak_memory()

    def elapsed(self) -> float:
        """Return the seconds since the request arrived."""
        return time.perf_counter() - self.began

    def add(self, step: Step, tokens: int, at_s: float) -> None:
        """Add a step that became final at `at_s` with `tokens` tokens of the reply."""
        self._last = at_s
        self._tokens += tokens
        if self._first is None:
            self._first = at_s  # prefill's token belongs to no round
        elif step.drafted:
            self._rounds.append(step)
        else:
            self._plain.append(step)

    def stats(self) -> Stats:
        """Return the statistics so far."""
        rate = None
        if self._first is not None and self._last is not None and self._last > self._first:
            rate = (self._tokens - 1) / (self._last - self._first)
        return Stats(
            mode=self.mode,
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            tokens=self._tokens,
            ttft_s=self._first,
            prompt_tok_s=(self.prompt_tokens - self.reused_tokens) / self._first if self._first else None,
            decode_tok_s=rate,
            rounds=len(self._rounds),
            drafted=sum(step.drafted for step in self._rounds),
            tested=sum(step.tested for step in self._rounds),
            accepted=sum(step.accepted for step in self._rounds),
            accepted_per_round=tuple(step.accepted for step in self._rounds),
            widths=tuple(step.width for step in self._rounds),
            plain_steps=len(self._plain),
            why_plain=self.why_plain,
            peak_memory_bytes=mx.get_peak_memory(),
            seed=self.seed,
            lookup_rounds=sum(step.proposer == "lookup" for step in self._rounds),
            trials=sum(step.trial for step in (*self._rounds, *self._plain)),
            exact=self.exact,
            plain_because=tuple(Counter(step.why for step in self._plain if step.why).most_common()),
        )
