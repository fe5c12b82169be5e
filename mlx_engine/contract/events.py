"""All events of an engine, as frozen dataclasses of plain values.

*Drafted*: proposed tokens. *Accepted*: proposals that the target confirmed, 0 to width - 1. *Tested*: accepted plus the rejected
one, if any. *Acceptance*: accepted / drafted, as servers report it. *Tokens per round*: accepted + 1, called acceptance length in
papers. The first token, from prefill, belongs to no round.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.machine_events import Calibrated, KernelsSelected, MemoryUse, Roofline
from mlx_engine.contract.requests import Contestant, GenerationRequest, Mode, Proposer, Sampling, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.contract.token_logprobs import PositionLogprobs

Channel = Literal["thinking", "answer"]
Source = Literal["prefill", "drafter", "lookup", "target"]
MeasuredBy = Literal["engine", "server", "client"]
StopReason = Literal["eos", "tool_calls", "stop_string", "length", "cancelled", "error"]


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
        drafter_kind: such as “DFlash 2” or “MTP”; empty if unknown.
        drafter_folder: the folder it was loaded from.
        tuned: whether the drafter runs with LoRA weights for the target.
        why_not_tuned: why LoRA weights aren't used, or None.
        why_not_fastest: why Auto doesn't use the drafter that was fastest here, or None.
        can_see: whether requests can have images.
        why_cannot_see: why the target can't see here although its family can, or None.
        computers: how many computers run the target together.
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
    kernels: KernelsSelected | None = None
    remote: str = ""
    why_not_plain: EngineText | None = None
    context_known: bool = True
    drafter_kind: str = ""
    drafter_folder: Path | None = None
    tuned: bool = False
    why_not_tuned: EngineText | None = None
    why_not_fastest: EngineText | None = None
    can_see: bool = False
    why_cannot_see: EngineText | None = None
    computers: int = 1


@dataclass(frozen=True)
class PromptsSaved:
    """The prompts saved on disk, sent after a request that may change them.

    Attributes:
        bytes: size of all files.
        quota: maximum size; 0 if prompts aren't saved.
        read_tokens: prompt tokens read from disk instead of computed so far.
        undeleted: whether the request was to delete all, and that failed.
    """

    bytes: int = 0
    quota: int = 0
    read_tokens: int = 0
    undeleted: bool = False


@dataclass(frozen=True)
class WorkProgress:
    """Progress of a measurement: the current step and a fraction from 0 to 1."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a drafter, in tokens per round on held-out prompts.

    Attributes:
        before, after: on the user's prompts.
        general_before, general_after: on general prompts; 0 if there were none.
        kept: whether the tuned drafter is used from the next time that the pair is loaded.
        file: the LoRA weights, or the weights of a new drafter; empty if it wasn't kept.
        replies: number of replies to the user's prompts that were learned or held out.
    """

    before: float
    after: float
    general_before: float
    general_after: float
    kept: bool
    file: str
    replies: int


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
        unreadable_call: whether the text belongs to a tool call that can't be parsed.
    """

    text: str
    channel: Channel
    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    runs: tuple[tuple[Source, int], ...] = ()
    at_s: float | None = None
    logprobs: tuple[PositionLogprobs, ...] = ()
    unreadable_call: bool = False


@dataclass(frozen=True)
class Round:
    """A round: a draft and the pass that verified it.

    Attributes:
        width: rows of the pass.
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
        prompt_tok_s: computed tokens of the prompt / (prefill_s - image_s).
        decode_tok_s: (tokens - 1) / decode_s.
        peak_memory_bytes: peak memory of all replies that ran at the same time.
        lookup_rounds: rounds whose drafts were all copied from the prompt and reply.
        lookup_tested, lookup_accepted: copied drafts, also those behind a drafter's block.
        trials: passes run only to measure their cost or the number of tokens they yield.
        why_plain: why the whole reply was decoded plainly.
        plain_because: reasons for plain steps of a DFlash reply, with counts.
        exact: whether text with and without DFlash is guaranteed to be identical.
        waiting_s: seconds in the queue and during other replies' turns. Rates exclude this time.
        prefill_s: seconds up to the first token, without waiting.
        decode_s: seconds from the first token to the last, without waiting.
        cut_tokens: tokens that were left out of the prompt with messages and ends of results; an estimate if far too many, and 0
            if an earlier prompt had left out messages.
        disk_tokens: tokens of `reused_tokens` that were read from disk.
        snapshot_bytes: memory of all snapshots of past prompts, including this reply's.
        measured_by: who measured the rates: this engine, a server, or the client of a server that reports none.
        few_accepted: why almost no drafts were accepted, or None if more were.
        gpu_error: the GPU error after which the reply continued, or None.
        drafter: repo or folder of the drafter in use; empty if there was none or a server doesn't name it.
        drafter_kind: such as “DFlash 2” or “MTP”.
        tuned: whether the drafter ran with LoRA weights for the target.
        images, image_tokens: images in the prompt, and tokens of `prompt_tokens` that show them.
        image_s: seconds of `prefill_s` that images were decoded and computed.
        rest_s: seconds of `prefill_s` and `decode_s` in which the computer rested; see `Rest`.
        passes, own_passes, rows: passes of decoding, where one shared by n replies counts as 1/n or as 1, and this reply's rows.
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
    lookup_tested: int = 0
    lookup_accepted: int = 0
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
    gpu_error: EngineText | None = None
    drafter: str = ""
    drafter_kind: str = ""
    tuned: bool = False
    images: int = 0
    image_tokens: int = 0
    image_s: float = 0.0
    passes: float = 0.0
    own_passes: int = 0
    rows: int = 0
    rest_s: float = 0.0
    cut_tokens: int = 0

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens per round, without the first token and plain steps."""
        # drafts past the end of the reply can be accepted, and servers don't report plain steps
        tokens = min(self.tokens - 1 - self.plain_steps, self.accepted + self.rounds)
        return max(tokens, 0) / self.rounds if self.rounds else None

    @property
    def mostly_plain(self) -> EngineText | None:
        """Why most of a DFlash reply was decoded plainly, or None if it wasn't."""
        why, steps = self.plain_because[0] if self.plain_because else (None, 0)
        return why if self.mode == "dflash" and 2 * steps > self.tokens else None

    @property
    def acceptance(self) -> float | None:
        """The share of drafted tokens that were accepted; see `acceptance`."""
        return acceptance(self.accepted, self.drafted)

    @property
    def has_shared_passes(self) -> bool:
        """Whether other replies had rows in the reply's passes."""
        return self.passes < self.own_passes


def acceptance(accepted: int, drafted: int) -> float | None:
    """Return accepted / drafted tokens, 0 to 1, or None if unknown."""
    return accepted / drafted if 0 < drafted >= accepted else None


def tokens_per_round(replies: Sequence[Stats]) -> float | None:
    """Return the mean over several replies; see `Stats.tokens_per_round`."""
    rounds = sum(each.rounds for each in replies)
    return sum((each.tokens_per_round or 0.0) * each.rounds for each in replies) / rounds if rounds else None


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
class NextReply:
    """The start of run `index` (0-based) of `total` in a comparison.

    Attributes:
        kind: the kind of the loaded drafter, if it proposes and is known.
    """

    contestant: Contestant
    index: int
    total: int
    kind: str = ""


@dataclass(frozen=True)
class ContestantEvent:
    """An event of a contestant's reply."""

    contestant: Contestant
    event: "Event"


@dataclass(frozen=True)
class TextDifference:
    """The first difference of a reply and the baseline's reply.

    Attributes:
        at: index of the token, or of the character; see `CompareResult`.
        margin: change of the target's logits that would select the other token; None if no change would, or if it is unknown.
        tie: whether rounding alone can change the logits that much.
        prompt: index of the prompt among those that were answered.
    """

    at: int
    margin: float | None = None
    tie: bool = False
    prompt: int = 0


@dataclass(frozen=True)
class ContestantResult:
    """The replies of a contestant.

    Attributes:
        kind: the drafter's kind, such as “MTP”, if it proposes.
        drafter: its repo or folder name.
        bytes: memory of its weights.
        replies: one per prompt: that with the median rate, or one that differs from the baseline's. Empty if there is a problem.
        runs: statistics of all replies.
        tok_s: decode rate over all prompts, from the median of each; None if the replies were too short.
        identical: number of prompts whose replies are the baseline's.
        difference: the worst difference from the baseline, or None.
        problem: why replies are missing.
    """

    contestant: Contestant
    kind: str = ""
    drafter: str = ""
    bytes: int = 0
    replies: tuple[CompletedReply, ...] = ()
    runs: tuple[Stats, ...] = ()
    tok_s: float | None = None
    identical: int = 0
    difference: TextDifference | None = None
    problem: EngineText | None = None

    @property
    def proposer(self) -> Proposer:
        return self.contestant.proposer

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens per round over all prompts; see `Stats.tokens_per_round`."""
        return tokens_per_round([reply.stats for reply in self.replies])

    @property
    def verdict(self) -> ComparisonVerdict:
        """Whether the texts are the baseline's, or differ by more than rounding error."""
        return verdict_of(self.difference)


def verdict_of(difference: TextDifference | None) -> ComparisonVerdict:
    """Return what a difference means; a tie is one within rounding error."""
    return "identical" if difference is None else "tie" if difference.tie else "different"


@dataclass(frozen=True)
class CompareResult:
    """The results of a comparison, in the order of the contestants.

    Attributes:
        left_out: index of each prompt that the baseline couldn't answer, and why.
        in_characters: whether differences count characters, because a server sent no tokens or other models replied.
        together: whether the contestants replied at the same time, so that their speeds can't be compared.
    """

    results: tuple[ContestantResult, ...]
    left_out: tuple[tuple[int, EngineText], ...] = ()
    in_characters: bool = False
    together: bool = False

    @property
    def fastest(self) -> ContestantResult | None:
        """The fastest of them, or None if no reply was long enough to measure its speed."""
        if self.together:
            return None
        return max((one for one in self.results if one.tok_s), key=lambda one: one.tok_s or 0.0, default=None)

    def ratio(self, result: ContestantResult) -> float | None:
        """Return a contestant's decode rate / the baseline's, or None if unmeasured."""
        baseline = None if self.together else self.results[0].tok_s
        return result.tok_s / baseline if result.tok_s and baseline else None

    @property
    def has_shared_passes(self) -> bool:
        """Whether replies had passes in common."""
        return any(run.has_shared_passes for result in self.results for run in result.runs)


Event = (
    Queued
    | LoadProgress
    | PairInfo
    | PromptsSaved
    | WorkProgress
    | MemoryUse
    | Calibrated
    | Tuned
    | KernelsSelected
    | Roofline
    | PrefillProgress
    | Commit
    | ToolCall
    | Round
    | Finished
    | Failed
    | TokenCount
    | NextReply
    | ContestantEvent
    | ContestantResult
    | CompareResult
)

Generate = Callable[[GenerationRequest, threading.Event], Iterator[Event]]
