"""Generation of a reply: prefill, decoding, events, and statistics."""

import secrets
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace

import mlx.core as mx

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Commit, Event, Finished, PrefillProgress, Round, Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest, Mode
from mlx_engine.decoding.low_acceptance import likely_cause
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.stream import Step, Stream, decode
from mlx_engine.decoding.turns import ReplyClock
from mlx_engine.decoding.width import AutomaticWidth, FixedWidth, PairHistory, WidthController
from mlx_engine.drafters.lookup import Lookup
from mlx_engine.engine.prepare import Prepared, mode_of, prepare
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.formats.template_sandbox import RenderingCancelled
from mlx_engine.hardware import device
from mlx_engine.hardware.memory import ReplyMemory
from mlx_engine.loading.loaded_pair import LoadedPair
from mlx_engine.prefix.branch import Branch
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
    if request.exact:  # without snapshots, so that a prompt is always computed in the same chunks
        request = replace(request, reuse=False)
    with pair.exactly() if request.exact else nullcontext(pair.history) as history:
        seed = secrets.randbits(32) if request.seed is None else request.seed
        mode, why_plain = mode_of(pair, request)
        tally = Tally(clock, mode, seed, why_plain, request.exact)
        if mode == "dflash" and not request.lookup_only:
            tally.drafter = pair.info.drafter, pair.info.drafter_kind, pair.info.tuned
        try:
            block = history.block if pair.drafter else None
            prepared = prepare(pair, request, block, request.reuse and snapshots.needs_marks, cancel)
        except RenderingCancelled:
            yield [Finished("cancelled", tally.stats())]
            return
        length = len(prepared.prompt.tokens)
        if not room.fits(length):
            raise UserError.of(NO_MEMORY)
        while not room.take(clock, length + prepared.limit, snapshots.nbytes):
            if cancel.is_set():
                yield [Finished("cancelled", tally.stats())]
                return
            yield []
        if not request.exact:
            pair.run_at(length)
        prompt, chat = prepared.prompt.tokens, None if request.private else request.chat
        branch = snapshots.take(prompt, chat) if request.reuse else snapshots.new_branch(prompt)
        reply = _Reply(pair, snapshots, prepared, branch, tally, cancel)
        try:
            yield from reply.run(_stream(pair, history, prepared, branch, tally))
        except GeneratorExit:
            reply.keep()
            raise
        reply.keep()
        yield reply.finish()


def _stream(pair: LoadedPair, history: PairHistory, prepared: Prepared, branch: Branch, tally: "Tally") -> Stream:
    """Return the stream of a reply to a branch's tokens."""
    request, prompt, clock = prepared.request, prepared.prompt.tokens, tally.clock
    drafts = tally.mode == "dflash"
    controller: WidthController = FixedWidth(1, None)
    if drafts and request.width:
        controller = FixedWidth(request.width)
    elif drafts:
        controller = AutomaticWidth(history, request.lookup_only, request.sampling.temperature)
    operations = pair.exact_operations if request.exact else pair.operations  # kernels may break ties differently than MLX
    reads_context = request.reuse or (drafts and not request.lookup_only)  # for rounds or a later turn
    return Stream(
        branch.caches,
        pair.target.vocabulary,
        Chooser(request.sampling, tally.seed, operations, request.logprobs, prepared.grammar),
        Penalties(request.sampling, prompt, request.logit_bias, prepared.grammar),
        controller,
        anchor=prompt[-1],
        limit=prepared.limit,
        ends=prepared.ends,
        drafter=pair.drafter if reads_context else None,
        context=branch.context if reads_context else None,
        copies=Lookup(prompt, history.block - 1) if drafts and history.lookup and not request.width else None,
        clock=clock,
        queue_ahead=drafts and device.runs_beside_host() and history.costs.table.queued and not request.exact,
    )


class _Reply:
    """A reply that has its memory: events of its steps, and what later turns keep.

    Args:
        branch: caches that are filled with the prompt and the reply.
        tally: statistics of the reply.
        cancel: ends the reply after the current step.
    """

    def __init__(
        self, pair: LoadedPair, snapshots: Snapshots, prepared: Prepared, branch: Branch, tally: "Tally", cancel: threading.Event
    ) -> None:
        self.branch = branch
        self._pair, self._snapshots, self._prepared, self._tally, self._cancel = pair, snapshots, prepared, tally, cancel
        request = prepared.request
        self._text = ReplyText(pair.tokenizer, prepared.prompt, request.stop, request.tools, request.one_call)
        self._length = len(prepared.prompt.tokens)
        self._reason: StopReason = "length"
        tally.prompt_tokens, tally.reused_tokens, tally.disk_tokens = self._length, branch.reused, branch.from_disk

    def run(self, stream: Stream) -> Generator[Events, None, None]:
        """Yield the events of each step until the reply ends."""
        yield from self._prefill(stream)
        if self._reason != "cancelled":
            yield from self._decode(stream)

    def keep(self) -> None:
        """Keep the branch for later turns, if the request allows it.

        Caches and context must hold the same tokens.
        """
        if self._prepared.request.reuse:
            self._snapshots.put(self.branch)

    def finish(self) -> Events:
        """Return the events after the last step."""
        tally, info = self._tally, self._pair.info
        tally.snapshot_bytes = self._snapshots.nbytes
        if self._pair.drafter is not None:
            temperature = self._prepared.request.sampling.temperature
            facts = (self._pair.drafter.config, info.drafter_weights, len(self.branch.tokens), temperature)
            tally.few_accepted = likely_cause(tally.rounds, *facts)
        rest = list(self._text.finish(self._reason == "eos"))
        if self._text.stopped or (self._text.called and self._reason == "eos"):
            self._reason = "stop_string" if self._text.stopped else "tool_calls"
        return [*rest, Finished(self._reason, tally.stats(), self._text.stopped)]

    def _progress(self, done: int) -> PrefillProgress:
        return PrefillProgress(done, self._length, self.branch.reused, self._prepared.left_out, self._prepared.cut)

    def _prefill(self, stream: Stream) -> Generator[Events, None, None]:
        branch, prompt = self.branch, self._prepared.prompt.tokens
        yield [self._progress(branch.reused)]
        marks = self._snapshots.stops(self._prepared.prompt.boundaries, self._length)
        for done in prefill(self._pair.target, branch.caches, prompt, stream.drafter, stream.context, marks):
            if done in marks:
                branch.mark()
            if self._cancel.is_set():
                self._reason = "cancelled"
                return
            yield [self._progress(done)]

    def _decode(self, stream: Stream) -> Generator[Events, None, None]:
        tally, text = self._tally, self._text
        progress: list[Event] = [self._progress(self._length)]
        alone = tally.clock.alone if tally.mode == "dflash" else lambda: True  # the passes of a plain reply aren't timed
        with closing(decode(stream, self._pair.target, alone)) as steps:
            for step in steps:
                at_s = tally.clock()
                if step.sources[0] == "prefill":
                    self._snapshots.prefilled(self._length - self.branch.reused, at_s)
                self.branch.tokens += step.tokens
                added = [
                    replace(part, at_s=at_s) if isinstance(part, Commit) else part
                    for part in text.add(step.tokens, step.sources, step.logprobs)
                ]
                tally.add(step, sum(len(part.tokens) for part in added if isinstance(part, Commit)), at_s)
                if step.drafted:
                    progress.append(Round(step.width, step.proposer, step.tested, step.accepted, at_s))
                yield [*progress, *added]
                progress = []
                if text.ended or step.tokens[-1] in stream.ends:
                    self._reason = "stop_string" if text.stopped else "eos"
                    return
                if self._cancel.is_set():
                    self._reason = "cancelled"
                    return


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
