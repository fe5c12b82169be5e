"""Every event that an engine can produce, as frozen dataclasses of plain values.

*Drafted*: proposals made. *Accepted*: proposals that the target confirmed, 0 to width - 1. *Tested*: accepted plus the one that
was rejected, if any. *Acceptance*: accepted / tested. *Tokens per round*: accepted + 1, the acceptance length in papers.
Prefill's token belongs to no round.
"""

from dataclasses import dataclass, field
from typing import Literal

from mlx_engine.errors import EngineText, UserError
from mlx_engine.requests import Mode, Sampling

Channel = Literal["thinking", "answer"]
Source = Literal["prefill", "drafter", "lookup", "target"]
StopReason = Literal["eos", "stop_string", "length", "cancelled", "error"]


@dataclass(frozen=True)
class TokenCount:
    """The tokens of a chat; `limit` is the target's context length."""

    tokens: int
    limit: int


@dataclass(frozen=True)
class LoadProgress:
    """Progress of loading a pair: `fraction` from 0 to 1, and the current step."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class PairInfo:
    """A pair is loaded and ready.

    Attributes:
        can_think: its replies can contain thinking.
        why_plain: why DFlash is not available; None if it is.
        drafter_weights: format of the drafter's matrices: “float32”, “bfloat16”, “4 bit”.
        takes_effort: requests can set a reasoning effort.
        sampling: recommended by the target's authors.
        calibrated: the costs of its passes are known, or not needed.
        kernels_selected: the Metal kernels to run are known, or Metal is missing.
        kernels: the evidence for them, if it is known.
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
    sampling: Sampling = field(default_factory=Sampling)
    calibrated: bool = True
    kernels_selected: bool = True
    kernels: "KernelsSelected | None" = None


@dataclass(frozen=True)
class TuningProgress:
    """Progress of a measurement: `fraction` from 0 to 1, and the current step."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class Calibrated:
    """Measured costs in seconds: a plain step [depths], a verify and a draft [depths][widths]. `saved`: for later starts."""

    depths: tuple[int, ...]
    widths: tuple[int, ...]
    plain_s: tuple[float, ...]
    verify_s: tuple[tuple[float, ...], ...]
    draft_s: tuple[tuple[float, ...], ...]
    saved: bool


@dataclass(frozen=True)
class KernelSaving:
    """The share of a token's time that a kernel saves after `depth` tokens, and its standard error. Negative: it costs time."""

    depth: int
    share: float
    error: float


@dataclass(frozen=True)
class KernelTrial:
    """What is known about one Metal kernel on this machine.

    Attributes:
        used_at: measured context lengths at which it is used; empty if it is off.
        savings: at every measured context length; empty if it wasn't timed.
        off: largest difference from the reference on the pair's own arrays, as a share of the largest value.
        shapes: how many sets of shapes, dtypes and settings were compared.
    """

    kernel: str
    why: EngineText
    used_at: tuple[int, ...] = ()
    savings: tuple[KernelSaving, ...] = ()
    off: float | None = None
    shapes: int = 0


@dataclass(frozen=True)
class KernelsSelected:
    """The trials of all Metal kernels. The loaded pair runs those that are used.

    Attributes:
        depths: measured context lengths in tokens, rising.
        switch: context length from which those of the last depth run instead of those of the first; 0 if they are the same.
        saved: also at later starts.
    """

    trials: tuple[KernelTrial, ...]
    depths: tuple[int, ...] = ()
    switch: int = 0
    saved: bool = False


@dataclass(frozen=True)
class MachineFacts:
    """The limits of this machine, measured once. Speed and memory fit are predicted from them.

    Attributes:
        device: “Metal” or “CPU”.
        bandwidth: bytes per second when reading weights that exceed every cache.
        compute: floating-point operations per second of large matrix products in `dtype`.
        blas: what computes on a CPU.
        measured: the date.
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
    """A pass of the loaded pair.

    Attributes:
        rows: tokens of the pass.
        depth: tokens in the caches before it.
        bytes: weights, K/V and states that are read at least once.
        operations: of its matrix products and attention.
    """

    name: Literal["prefill", "plain", "verify", "draft"]
    rows: int
    depth: int
    seconds: float
    bytes: int
    operations: int


@dataclass(frozen=True)
class Roofline:
    """A machine's limits and the phases of the loaded pair."""

    facts: MachineFacts
    phases: tuple[Phase, ...]

    def floor_s(self, phase: Phase) -> float:
        """Return the least seconds possible on this machine: those of memory or of arithmetic, whichever are more."""
        return max(phase.bytes / self.facts.bandwidth, phase.operations / self.facts.compute)

    def bound(self, phase: Phase) -> Literal["memory", "compute"]:
        """Return whether memory or arithmetic sets the floor."""
        return "memory" if phase.bytes / self.facts.bandwidth >= phase.operations / self.facts.compute else "compute"

    def reached(self, phase: Phase) -> float:
        """Return floor / measured seconds, 0 to 1; above 1 if the weights came from the processor's cache."""
        return self.floor_s(phase) / phase.seconds

    @property
    def plain_ceiling(self) -> float | None:
        """The most tokens per second that plain decoding could reach; None if no plain step was measured."""
        return next((1 / self.floor_s(phase) for phase in self.phases if phase.name == "plain"), None)


@dataclass(frozen=True)
class PrefillProgress:
    """`done` of `total` prompt tokens are in the target's caches; `reused` of them were there before."""

    done: int
    total: int
    reused: int


@dataclass(frozen=True)
class Commit:
    """Final text. It may lag behind its tokens while a character or a stop string is incomplete.

    Attributes:
        sources: who supplied each of `tokens`.
        runs: who supplied the text, token by token, with the number of characters. A token may have come with an earlier commit. A
            character that spans several tokens counts for the first. Empty if unknown.
    """

    text: str
    channel: Channel
    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    runs: tuple[tuple[Source, int], ...] = ()


@dataclass(frozen=True)
class Round:
    """One draft and its verify, `width` rows wide, which ended `at_s` seconds after the request."""

    width: int
    proposer: Source
    tested: int
    accepted: int
    at_s: float


@dataclass(frozen=True)
class Stats:
    """Statistics of a reply. A value that was not measured is None.

    Attributes:
        decode_tok_s: (tokens - 1) / (time of the last token - time of the first), without prefill.
        lookup_rounds: rounds whose drafts were copied from prompt and reply.
        trials: passes made to learn what they cost or yield.
        why_plain: why the whole reply was decoded plainly.
        plain_because: why steps of a DFlash reply were plain, and how many.
        exact: whether DFlash on and off give the same text bit for bit.
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

    @property
    def tokens_per_round(self) -> float | None:
        """Mean of accepted + 1 over rounds, including drafts that the end of the reply cut off."""
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def mostly_plain(self) -> EngineText | None:
        """Why most of a DFlash reply was decoded plainly; None if it was not."""
        why, steps = self.plain_because[0] if self.plain_because else (None, 0)
        return why if self.mode == "dflash" and 2 * steps > self.tokens else None

    @property
    def acceptance(self) -> float | None:
        """Accepted / tested, 0 to 1; None if nothing was tested."""
        return self.accepted / self.tested if self.tested else None


@dataclass(frozen=True)
class Finished:
    """The reply is complete."""

    reason: StopReason
    stats: Stats


@dataclass(frozen=True)
class Failed(EngineText):
    """The request failed. The engine is ready for the next one."""

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
    """The following events of a comparison belong to run `index` (0-based) of `total`."""

    mode: Mode
    index: int
    total: int


@dataclass(frozen=True)
class CompareResult:
    """The same request's replies with both modes: the runs of median rate, or a pair of runs that differ.

    Attributes:
        ratio: median over repeats of DFlash's decode rate / plain decoding's.
        first_difference: index of the first token that differs.
        margin: how much the target's logits would have to change there for it to choose the other token; None if a filter removed
            one of them, or one reply ends there.
        verdict: “tie” if rounding alone can change the logits by the margin.
    """

    plain: CompletedReply
    dflash: CompletedReply
    ratio: float | None
    first_difference: int | None
    margin: float | None
    verdict: ComparisonVerdict


Event = (
    LoadProgress
    | PairInfo
    | TuningProgress
    | Calibrated
    | KernelsSelected
    | Roofline
    | PrefillProgress
    | Commit
    | Round
    | Finished
    | Failed
    | TokenCount
    | CompareRun
    | CompareResult
)
