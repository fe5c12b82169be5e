"""All events of an engine, as frozen dataclasses of plain values.

*Drafted*: proposed tokens. *Accepted*: proposals that the target confirmed, 0 to width - 1. *Tested*: accepted plus the rejected
one, if any. *Acceptance*: accepted / tested. *Tokens per round*: accepted + 1, called acceptance length in papers. The first token,
from prefill, belongs to no round.
"""

from dataclasses import dataclass, field
from typing import Literal

from mlx_engine.errors import EngineText, UserError
from mlx_engine.requests import Mode, Sampling, ToolCall

Channel = Literal["thinking", "answer"]
Source = Literal["prefill", "drafter", "lookup", "target"]
MeasuredBy = Literal["engine", "server", "client"]
StopReason = Literal["eos", "tool_calls", "stop_string", "length", "cancelled", "error"]


@dataclass(frozen=True)
class TokenCount:
    """The number of tokens of a chat, and the target's context length `limit`."""

    tokens: int
    limit: int


@dataclass(frozen=True)
class Queued:
    """The position of a reply in the queue, 1 if next. Sent on every change."""

    position: int


@dataclass(frozen=True)
class LoadProgress:
    """Progress of loading a pair: the current step and a fraction from 0 to 1."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class PairInfo:
    """A loaded pair.

    Attributes:
        family: the target's family, or the name and version of a server's program.
        can_think: whether replies can contain thinking.
        why_plain: why DFlash isn't available, or None.
        drafter_weights: format of the drafter's matrices: “float32”, “bfloat16”, “4 bit”.
        takes_effort: whether requests can set a reasoning effort.
        can_call_tools: whether requests can have tools.
        can_continue: whether a reply that was cut off can be continued.
        sampling: sampling settings recommended by the target's authors.
        calibrated: whether the costs of passes are known, or not needed.
        kernels_selected: whether the Metal kernels to run are known, or not needed.
        kernels: evidence for the selected kernels, if known.
        remote: host and port of the server that replies; empty for this computer.
        why_not_plain: why DFlash can't be turned off, or None.
        context_known: whether `context_limit` is known. Servers refuse longer prompts anyway.
    """

    name: str
    target: str
    drafter: str
    family: str
    block_size: int
    context_limit: int
    target_bytes: int
    drafter_bytes: int
    can_think: bool
    why_plain: EngineText | None = None
    drafter_weights: str = ""
    takes_effort: bool = False
    can_call_tools: bool = False
    can_continue: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    calibrated: bool = True
    kernels_selected: bool = True
    kernels: "KernelsSelected | None" = None
    remote: str = ""
    why_not_plain: EngineText | None = None
    context_known: bool = True


@dataclass(frozen=True)
class PromptsSaved:
    """The prompts saved on disk, sent after a request that may change them.

    Attributes:
        bytes: size of all files.
        quota: maximum size; 0 if prompts aren't saved.
        read_tokens: prompt tokens read from disk instead of computed so far.
    """

    bytes: int = 0
    quota: int = 0
    read_tokens: int = 0


@dataclass(frozen=True)
class TuningProgress:
    """Progress of a measurement: the current step and a fraction from 0 to 1."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class Calibrated:
    """Measured seconds of passes.

    `plain_s` is [depths]; `verify_s` and `draft_s` are [depths][widths].

    Attributes:
        saved: whether later starts use the results too.
    """

    depths: tuple[int, ...]
    widths: tuple[int, ...]
    plain_s: tuple[float, ...]
    verify_s: tuple[tuple[float, ...], ...]
    draft_s: tuple[tuple[float, ...], ...]
    saved: bool


@dataclass(frozen=True)
class KernelSaving:
    """Share of a token's time saved by a kernel; negative if the kernel is slower."""

    depth: int  # tokens of context
    share: float
    error: float  # standard error


@dataclass(frozen=True)
class KernelTrial:
    """The trial of a Metal kernel on this machine.

    Attributes:
        used_at: measured context lengths at which the kernel is used; empty if the kernel is off.
        savings: by measured context length; empty if the kernel wasn't timed.
        off: largest difference from the reference on the pair's arrays, relative to the largest value.
        shapes: number of compared combinations of shapes, dtypes, and settings.
    """

    kernel: str
    why: EngineText
    used_at: tuple[int, ...] = ()
    savings: tuple[KernelSaving, ...] = ()
    off: float | None = None
    shapes: int = 0


@dataclass(frozen=True)
class KernelsSelected:
    """The trials of all Metal kernels, after which the loaded pair runs the used ones.

    Attributes:
        depths: measured context lengths in tokens, ascending.
        switch: context length from which the kernels of the last depth replace those of the first; 0 if they are the same.
        saved: whether later starts use the selection too.
    """

    trials: tuple[KernelTrial, ...]
    depths: tuple[int, ...] = ()
    switch: int = 0
    saved: bool = False


@dataclass(frozen=True)
class MachineFacts:
    """Measured limits of this machine, from which speed and memory are predicted.

    Attributes:
        device: “Metal” or “CPU”.
        bandwidth: bytes per second when reading weights that exceed all caches.
        compute: floating-point operations per second of large matrix products in `dtype`.
        blas: the BLAS used on a CPU.
        measured: date of the measurement.
    """

    name: str
    device: str
    cores: int
    memory_bytes: int
    working_set_bytes: int
    bandwidth: float
    compute: float
    dtype: str
    blas: str
    mlx: str
    measured: str


@dataclass(frozen=True)
class Phase:
    """A measured pass of the loaded pair.

    Attributes:
        rows: tokens of the pass.
        depth: tokens in the caches before the pass.
        bytes: weights, K/V, and states, each counted once.
        operations: floating-point operations of matrix products and attention.
    """

    name: Literal["prefill", "plain", "verify", "draft"]
    rows: int
    depth: int
    seconds: float
    bytes: int
    operations: int


@dataclass(frozen=True)
class Roofline:
    """The limits of a machine, and the measured passes of the loaded pair."""

    facts: MachineFacts
    phases: tuple[Phase, ...]

    def floor_s(self, phase: Phase) -> float:
        """Return the minimum seconds of a pass on this machine."""
        return max(phase.bytes / self.facts.bandwidth, phase.operations / self.facts.compute)

    def bound(self, phase: Phase) -> Literal["memory", "compute"]:
        """Return whether memory or arithmetic limits a pass."""
        return "memory" if phase.bytes / self.facts.bandwidth >= phase.operations / self.facts.compute else "compute"

    def reached(self, phase: Phase) -> float:
        """Return minimum / measured seconds, 0 to 1; above 1 if weights were cached."""
        return self.floor_s(phase) / phase.seconds

    @property
    def plain_ceiling(self) -> float | None:
        """Highest possible tokens per second of plain decoding; None if not measured."""
        return next((1 / self.floor_s(phase) for phase in self.phases if phase.name == "plain"), None)


@dataclass(frozen=True)
class PrefillProgress:
    """Progress of prefill: `done` of `total` prompt tokens, `reused` from a snapshot.

    Attributes:
        left_out: number of the oldest messages that a rolling window leaves out of the prompt.
        result_length: number of characters after which results of tools are cut off; 0 if all of them fit.
    """

    done: int
    total: int
    reused: int
    left_out: int = 0
    result_length: int = 0


@dataclass(frozen=True)
class TokenLogprob:
    """A token and its natural log-probability.

    Attributes:
        text: UTF-8 bytes, which may be an incomplete character.
    """

    token: int
    text: bytes
    logprob: float


@dataclass(frozen=True)
class PositionLogprobs:
    """Log-probabilities of a reply's token and of the likeliest tokens in its place.

    They come from the target's own logits, before bias, penalties, temperature, and filters.

    Attributes:
        top: the most likely tokens, in descending order. The reply's token may be among them.
        hidden: whether the reply's token adds no text to the reply: an end token, a marker, or whitespace before the text.
    """

    chosen: TokenLogprob
    top: tuple[TokenLogprob, ...]
    hidden: bool = False


@dataclass(frozen=True)
class Commit:
    """Final text of a reply, which can lag behind its tokens.

    The text lags while a character, a stop sequence, or a tool call is incomplete. If the request has tools, calls are events, not
    text.

    Attributes:
        sources: the source of each token; empty if unknown.
        runs: source and number of characters of each token in `text`; empty if unknown. A token may belong to an earlier commit.
            A character that spans several tokens counts for the first.
        at_s: seconds after the request, without waiting; None if unknown.
        logprobs: one entry per token, or none if the request has no `logprobs`.
    """

    text: str
    channel: Channel
    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    runs: tuple[tuple[Source, int], ...] = ()
    at_s: float | None = None
    logprobs: tuple[PositionLogprobs, ...] = ()


@dataclass(frozen=True)
class Round:
    """A round: a draft and the pass that verified it.

    Attributes:
        width: rows of the pass.
        tested: drafted tokens that were tested.
        at_s: seconds from the request to the end of the round, without waiting.
    """

    width: int
    proposer: Source
    tested: int
    accepted: int
    at_s: float


@dataclass(frozen=True)
class Stats:
    """Statistics of a reply. Values that weren't measured are None.

    Attributes:
        ttft_s: seconds from the request to the first token, including all waiting.
        decode_tok_s: (tokens - 1) / decode_s.
        peak_memory_bytes: peak memory of all replies that ran at the same time.
        lookup_rounds: rounds whose drafts were copied from the prompt and reply.
        trials: passes run only to measure their cost or the number of tokens they yield.
        why_plain: why the whole reply was decoded plainly.
        plain_because: reasons for plain steps of a DFlash reply, with counts.
        exact: whether text with and without DFlash is guaranteed to be identical.
        waiting_s: seconds in the queue and during other replies' turns. Rates exclude this time.
        prefill_s: seconds up to the first token, without waiting.
        decode_s: seconds from the first token to the last, without waiting.
        disk_tokens: tokens of `reused_tokens` that were read from disk.
        snapshot_bytes: memory of all snapshots of past prompts, including this reply's.
        measured_by: who measured the rates: this engine, a server, or the client of a server that reports none.
        few_accepted: why almost no drafts were accepted, or None if more were.
    """

    mode: Mode
    prompt_tokens: int
    reused_tokens: int
    tokens: int
    ttft_s: float | None
    prompt_tok_s: float | None
    decode_tok_s: float | None
    rounds: int
    drafted: int
    tested: int
    accepted: int
    accepted_per_round: tuple[int, ...]
    widths: tuple[int, ...]
    plain_steps: int
    peak_memory_bytes: int
    seed: int
    why_plain: EngineText | None = None
    lookup_rounds: int = 0
    trials: int = 0
    plain_because: tuple[tuple[EngineText, int], ...] = ()
    exact: bool = False
    waiting_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    disk_tokens: int = 0
    snapshot_bytes: int = 0
    measured_by: MeasuredBy = "engine"
    few_accepted: EngineText | None = None

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens per round, counting accepted drafts past the end of the reply."""
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def mostly_plain(self) -> EngineText | None:
        """Why most of a DFlash reply was decoded plainly, or None if it wasn't."""
        why, steps = self.plain_because[0] if self.plain_because else (None, 0)
        return why if self.mode == "dflash" and 2 * steps > self.tokens else None

    @property
    def acceptance(self) -> float | None:
        """Accepted / tested, 0 to 1, or None if nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def share_of_drafts(self) -> float | None:
        """Accepted / drafted tokens, 0 to 1; None if nothing was drafted.

        Servers call this share acceptance.
        """
        return self.accepted / self.drafted if self.drafted else None


@dataclass(frozen=True)
class Finished:
    """The end of a complete reply.

    Attributes:
        stop_string: the stop sequence that ended the reply, or "".
    """

    reason: StopReason
    stats: Stats
    stop_string: str = ""


@dataclass(frozen=True)
class Failed(EngineText):
    """The end of a failed request. The engine is ready for the next one."""

    @classmethod
    def because(cls, error: UserError) -> "Failed":
        return cls(error.text.code, error.text.message, error.text.values)


@dataclass(frozen=True)
class CompletedReply:
    """A whole reply, collected from its events."""

    text: str
    thinking: str
    tokens: tuple[int, ...]
    reason: StopReason
    stats: Stats


ComparisonVerdict = Literal["identical", "tie", "different"]


@dataclass(frozen=True)
class CompareRun:
    """The start of run `index` (0-based) of `total` in a comparison."""

    mode: Mode
    index: int
    total: int


@dataclass(frozen=True)
class CompareResult:
    """The replies in both modes: those with the median rates, or two that differ.

    Attributes:
        ratio: DFlash's decode rate / the plain rate, median over repeats.
        first_difference: index of the first token that differs, or None.
        margin: change of the target's logits that would select the other token; None if no change would.
        verdict: “tie” if rounding alone can change the logits by the margin.
        in_characters: whether `first_difference` counts characters, because a server sent no tokens.
    """

    plain: CompletedReply
    dflash: CompletedReply
    ratio: float | None
    first_difference: int | None
    margin: float | None
    verdict: ComparisonVerdict
    in_characters: bool = False


Event = (
    Queued
    | LoadProgress
    | PairInfo
    | PromptsSaved
    | TuningProgress
    | Calibrated
    | KernelsSelected
    | Roofline
    | PrefillProgress
    | Commit
    | ToolCall
    | Round
    | Finished
    | Failed
    | TokenCount
    | CompareRun
    | CompareResult
)
