"""Generation of a reply: prefill, decoding, events, and statistics."""

import secrets
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast

import mlx.core as mx

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Commit, Event, Finished, PrefillProgress, Round, Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest, Mode
from mlx_engine.decoding.low_acceptance import likely_cause
from mlx_engine.decoding.plain import Step, plain
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.speculative import Rounds
from mlx_engine.decoding.turns import ReplyClock
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth, PairHistory, WidthController
from mlx_engine.drafters.drafter import Backlog
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.engine.prepare import mode_of, prepare
from mlx_engine.formats import logprobs
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.formats.template_sandbox import RenderingCancelled
from mlx_engine.hardware import device
from mlx_engine.hardware.memory import ReplyMemory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.prefix.snapshots import Snapshots

NO_MEMORY = EngineText.of(
    "reply_memory", "There isn't enough memory for this reply. Quit other apps, start a new chat, or load a smaller model."
)

Events = Sequence[Event]


def generate_reply(
    pair: LoadedPair,
    snapshots: Snapshots,
    request: GenerationRequest,
    cancel: threading.Event,
    clock: ReplyClock,
    room: ReplyMemory,
) -> Generator[Events, None, None]:
    """Yield the events of each step of a reply, `Finished` last.

    Closing the generator ends the reply. A step is a chunk of the prompt or a pass of decoding. Other replies may have steps
    in between.

    Args:
        pair: the pair that runs the reply.
        snapshots: snapshots of earlier prompts.
        request: the reply to generate.
        cancel: ends the reply after the current step.
        clock: measures the reply's time, without that of other replies between its steps.
        room: memory reserved for all replies. Steps are empty while the reply waits for memory.

    Raises:
        UserError: the request can't be run.
    """
    if not request.exact:
        yield from _generate(pair, pair.history, snapshots, request, cancel, clock, room)
        return
    with pair.exactly() as history:  # without snapshots, so that a prompt is always computed in the same chunks
        yield from _generate(pair, history, snapshots, replace(request, reuse=False), cancel, clock, room)


def _generate(
    pair: LoadedPair,
    history: PairHistory,
    snapshots: Snapshots,
    request: GenerationRequest,
    cancel: threading.Event,
    clock: ReplyClock,
    room: ReplyMemory,
) -> Generator[Events, None, None]:
    target, drafter, tokenizer = pair.target, pair.drafter, pair.tokenizer
    seed = secrets.randbits(32) if request.seed is None else request.seed
    mode, why_plain = mode_of(pair, request)
    tally = Tally(clock, mode, seed, why_plain, request.exact)
    if mode == "dflash" and not request.lookup_only:
        tally.drafter = pair.info.drafter, pair.info.drafter_kind, pair.info.tuned
    try:
        block = history.block if drafter else None
        prepared = prepare(pair, request, block, request.reuse and snapshots.needs_marks, cancel)
    except RenderingCancelled:
        yield [Finished("cancelled", tally.stats())]
        return
    request, grammar, limit, ends = prepared.request, prepared.grammar, prepared.limit, prepared.ends
    prompt, length = prepared.prompt.tokens, len(prepared.prompt.tokens)
    left_out, cut = prepared.left_out, prepared.cut
    if not room.fits(length):
        raise UserError.of(NO_MEMORY)
    while not room.take(clock, length + limit, snapshots.nbytes):
        if cancel.is_set():
            yield [Finished("cancelled", tally.stats())]
            return
        yield []
    if not request.exact:
        pair.run_at(length)
    operations = pair.exact_operations if request.exact else pair.operations  # kernels may break ties differently than MLX
    chooser = Chooser(request.sampling, seed, operations, request.logprobs, grammar)
    penalties = Penalties(request.sampling, prompt, request.logit_bias, grammar)
    branch = snapshots.take(prompt, None if request.private else request.chat) if request.reuse else snapshots.new_branch(prompt)
    marks = snapshots.stops(prepared.boundaries, length)
    tally.prompt_tokens, tally.reused_tokens, tally.disk_tokens = length, branch.reused, branch.from_disk
    reply = ReplyText(tokenizer, prepared.prompt, request.stop, request.tools, request.one_call)
    caches, context = branch.caches, branch.context
    reason: StopReason = "length"
    first: Step | None = None
    steps: Generator[Step, None, None] | None = None
    consistent = True  # whether caches and context hold the same tokens
    try:
        yield [PrefillProgress(branch.reused, length, branch.reused, left_out, cut)]
        reads_context = request.reuse or (mode == "dflash" and not request.lookup_only)  # for rounds or a later turn
        for done in prefill(target, caches, prompt, *((drafter, context) if reads_context else (None, None)), marks):
            if isinstance(done, mx.array):
                chosen = chooser.choose(penalties.apply(done), length, chooser.noise(length, 1, done.shape[-1]))
                report = chooser.report(done, chosen)
                first = Step((cast(int, chosen.item()),), ("prefill",), logprobs=logprobs.read(report, 1))
                break
            if done in marks:
                branch.mark()
            if cancel.is_set():
                reason = "cancelled"
                break
            yield [PrefillProgress(done, length, branch.reused, left_out, cut)]
        if first is not None:
            snapshots.prefilled(length - branch.reused, clock())
            penalties.add(first.tokens)
            progress: list[Event] = [PrefillProgress(length, length, branch.reused, left_out, cut)]
            if mode == "dflash" and limit > 1:
                assert drafter is not None and context is not None
                automatic = AutomaticWidth(history, request.lookup_only, request.sampling.temperature)
                controller: WidthController = FixedWidth(request.width) if request.width else automatic
                copies = Lookup((*prompt, *first.tokens), history.block - 1) if history.lookup and not request.width else None
                ahead = device.runs_beside_host() and history.costs.table.queued and not request.exact
                parts = (target, drafter, caches, context, chooser, penalties, controller, copies)
                rounds = Rounds(*parts, clock=clock, queue_ahead=ahead, alone=clock.alone, keeps_context=reads_context)
                steps = rounds.run(first.tokens[0], limit - 1, ends)
            elif limit > 1:
                backlog = Backlog(drafter, context) if request.reuse and drafter is not None and context is not None else None
                steps = plain(target, caches, first.tokens[0], length, chooser, penalties, limit - 1, backlog)
            for step in chain((first,), steps or ()):
                at_s = clock()
                branch.tokens += step.tokens
                end = next((at + 1 for at, token in enumerate(step.tokens) if token in ends), 0)
                tokens = step.tokens[:end] if end else step.tokens
                added = [
                    replace(part, at_s=at_s) if isinstance(part, Commit) else part
                    for part in reply.add(tokens, step.sources[: len(tokens)], step.logprobs[: len(tokens)])
                ]
                tally.add(step, sum(len(part.tokens) for part in added if isinstance(part, Commit)), at_s)
                if step.drafted:
                    progress.append(Round(step.width, step.proposer, step.tested, step.accepted, at_s))
                yield [*progress, *added]
                progress = []
                if reply.ended or end or cancel.is_set():
                    reason = "stop_string" if reply.stopped else "eos" if reply.ended or end else "cancelled"
                    break
    except BaseException as error:
        consistent = isinstance(error, GeneratorExit)  # other errors interrupt a pass
        raise
    finally:
        if steps is not None:
            steps.close()
        if consistent and request.reuse:
            snapshots.put(branch)
    tally.snapshot_bytes = snapshots.nbytes
    if drafter is not None:
        facts = (drafter.config, pair.info.drafter_weights, len(branch.tokens), request.sampling.temperature)
        tally.few_accepted = likely_cause(tally.rounds, *facts)
    rest = list(reply.finish(reason == "eos"))
    if reply.stopped or (reply.called and reason == "eos"):
        reason = "stop_string" if reply.stopped else "tool_calls"
    yield [*rest, Finished(reason, tally.stats(), reply.stopped)]


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
    disk_tokens: int = 0
    snapshot_bytes: int = 0
    few_accepted: EngineText | None = None
    drafter: tuple[str, str, bool] = "", "", False  # name, kind, and whether it is tuned
    rounds: list[Step] = field(default_factory=list)
    _first: float | None = None
    _first_waited: float = 0.0
    _last: float = 0.0
    _tokens: int = 0
    _plain: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.clock.alone():
            mx.reset_peak_memory()

    def add(self, step: Step, tokens: int, at_s: float) -> None:
        """Add a step that became final at `at_s` with `tokens` tokens of the reply."""
        self._last = at_s
        self._tokens += tokens
        if self._first is None:
            self._first, self._first_waited = at_s, self.clock.waited  # prefill's token belongs to no round
        elif step.drafted:
            self.rounds.append(step)
        else:
            self._plain.append(step)

    def stats(self) -> Stats:
        """Return the statistics so far."""
        prefill = self._first or 0.0
        decoding = self._last - prefill if self._first is not None else 0.0
        return Stats(
            mode=self.mode,
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            disk_tokens=self.disk_tokens,
            snapshot_bytes=self.snapshot_bytes,
            tokens=self._tokens,
            ttft_s=None if self._first is None else self._first + self._first_waited,
            prompt_tok_s=(self.prompt_tokens - self.reused_tokens) / prefill if prefill else None,
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
            trials=sum(step.trial for step in (*self.rounds, *self._plain)),
            exact=self.exact,
            plain_because=tuple(Counter(step.why for step in self._plain if step.why).most_common()),
            waiting_s=self.clock.waited,
            prefill_s=prefill,
            decode_s=decoding,
            few_accepted=self.few_accepted,
            drafter=self.drafter[0],
            drafter_kind=self.drafter[1],
            tuned=self.drafter[2],
        )
