"""What crosses the door between a front end and an engine: requests in, events out.

Everything here is a frozen dataclass of plain Python values. No MLX array and no Qt object ever crosses, and nothing assumes that
the model runs on this machine, so that a server can stand behind the same door.

Vocabulary, used everywhere: *drafted* = proposals made; *accepted* = proposals kept (0 to width - 1); *tested* = accepted plus the
one that was refused, if any; acceptance = accepted / tested; tokens per round = accepted + 1, the papers' acceptance length. The
token that prefill yields belongs to no round.
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
    """Answer to `CountTokens`; `limit` is the target's context length in tokens."""

    tokens: int
    limit: int


@dataclass(frozen=True)
class LoadProgress:
    """Progress of loading a pair: `fraction` from 0 to 1, and the current step."""

    fraction: float
    step: EngineText


@dataclass(frozen=True)
class PairInfo:
    """A pair is loaded and ready. Sizes in bytes; `why_plain` says why DFlash is not available, empty when it is.

    `can_think`: its replies can hold thinking; `takes_effort`: a request may say how much. `drafter_weights` says in words what the
    drafter's matrices are in: “float32”, “bfloat16”, “4 bit”. `sampling` is what the target's makers advise. `calibrated`: what its
    passes cost on this machine has been measured, or nothing depends on it.
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
    kernels_selected: bool = True  # which Metal kernels it runs is known, or there is no Metal


@dataclass(frozen=True)
class CalibrationProgress:
    """Measuring what a verify and a draft cost here: `fraction` from 0 to 1."""

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
class KernelTrial:
    """What became of one Metal kernel: whether it is used, why, and DFlash's seconds a token on plain MLX and with it.

    `off` is the largest difference from its reference on the pair's own arrays, as a share of the largest value, over so many
    `shapes`.
    """

    kernel: str
    used: bool
    why: EngineText
    plain_s: float | None = None
    kernel_s: float | None = None
    off: float | None = None
    shapes: int = 0


@dataclass(frozen=True)
class KernelsSelected:
    """The trial of every Metal kernel. The loaded pair runs those that are used. `saved`: also at later starts."""

    trials: tuple[KernelTrial, ...]
    saved: bool


@dataclass(frozen=True)
class MachineFacts:
    """What this machine can do, measured once and kept: what speed and fit are predicted from, and what phases are held against.

    `bandwidth` is in bytes a second that weights larger than every cache are read with, `compute` in floating-point operations a
    second of large matrix products in `dtype`. `device` is “Metal” or “CPU”; `blas` names what computes on a CPU; `measured` is the
    day.
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
    """A pass of the loaded pair: how long it took, and what it cannot do without.

    `rows` tokens were in it and `depth` in the caches before it. `bytes` is what has to be read at least once (weights, K/V and
    states), `operations` are those of its matrix products and attention.
    """

    name: Literal["prefill", "plain", "verify", "draft"]
    rows: int
    depth: int
    seconds: float
    bytes: int
    operations: int


@dataclass(frozen=True)
class Roofline:
    """A machine's roofline, and what the loaded pair's phases reach of it."""

    facts: MachineFacts
    phases: tuple[Phase, ...]

    def floor_s(self, phase: Phase) -> float:
        """Seconds below which this machine cannot get: those of memory or of arithmetic, whichever are more."""
        return max(phase.bytes / self.facts.bandwidth, phase.operations / self.facts.compute)

    def bound(self, phase: Phase) -> Literal["memory", "compute"]:
        """Which of the two is the limit."""
        return "memory" if phase.bytes / self.facts.bandwidth >= phase.operations / self.facts.compute else "compute"

    def reached(self, phase: Phase) -> float:
        """Floor / measured, 0 to 1. Above 1 the weights came out of the processor's own cache, which is quicker than memory."""
        return self.floor_s(phase) / phase.seconds

    @property
    def plain_ceiling(self) -> float | None:
        """Tokens a second that plain decoding could reach if only memory held it up; None if no plain step was measured."""
        return next((1 / self.floor_s(phase) for phase in self.phases if phase.name == "plain"), None)


@dataclass(frozen=True)
class PrefillProgress:
    """`done` of `total` prompt tokens are in the target's cache; `reused` of them were there before."""

    done: int
    total: int
    reused: int


@dataclass(frozen=True)
class Commit:
    """Text that is final. `tokens` and `sources` (who supplied each token) belong to this text and are of equal length.

    Text may lag its tokens, while a character or a stop string is incomplete. `runs` tells the text token by token, also where the
    token came with an earlier commit: who supplied it, and how many characters it has. A character that is torn over several tokens
    counts for the first. They add up to the text's length, or are empty where it is not known.
    """

    text: str
    channel: Channel
    tokens: tuple[int, ...]
    sources: tuple[Source, ...]
    runs: tuple[tuple[Source, int], ...] = ()


@dataclass(frozen=True)
class Round:
    """One draft and its verify, `width` rows wide, ended at `at_s` seconds after the request."""

    width: int
    proposer: Source
    tested: int
    accepted: int
    at_s: float


@dataclass(frozen=True)
class Stats:
    """What a reply cost. Times in seconds on a monotonic clock; a figure that was not measured is None, never a guess."""

    mode: Mode
    prompt_tokens: int
    reused_tokens: int
    tokens: int
    ttft_s: float | None
    prompt_tok_s: float | None
    decode_tok_s: float | None  # (tokens - 1) / (last - first token): prefill is never folded in
    rounds: int
    drafted: int
    tested: int
    accepted: int
    accepted_per_round: tuple[int, ...]
    widths: tuple[int, ...]
    plain_steps: int
    peak_memory_bytes: int
    seed: int
    why_plain: EngineText | None = None  # why the whole reply was decoded plainly
    lookup_rounds: int = 0  # rounds whose drafts were copied from prompt and reply
    trials: int = 0  # passes made to learn what they cost or yield
    plain_because: tuple[tuple[EngineText, int], ...] = ()  # why steps of a DFlash reply were plain, and how many

    @property
    def tokens_per_round(self) -> float | None:
        """Mean of accepted + 1 over rounds (the acceptance length), as drafted: drafts that the end of the reply cut off count."""
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def mostly_plain(self) -> EngineText | None:
        """Why most of a DFlash reply was decoded plainly; None if it was not."""
        why, steps = self.plain_because[0] if self.plain_because else (None, 0)
        return why if self.mode == "dflash" and 2 * steps > self.tokens else None

    @property
    def acceptance(self) -> float | None:
        """Accepted / tested, 0 to 1; None when nothing was tested."""
        return self.accepted / self.tested if self.tested else None


@dataclass(frozen=True)
class Finished:
    """The reply is complete; nothing follows it."""

    reason: StopReason
    stats: Stats


@dataclass(frozen=True)
class Failed(EngineText):
    """The request failed; the text says why. The engine is ready for the next request."""

    @classmethod
    def because(cls, error: UserError) -> "Failed":
        """The event for an error."""
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
    """During a comparison: the events that follow belong to run `index` (0-based) of `total`, decoded in this mode."""

    mode: Mode
    index: int
    total: int


@dataclass(frozen=True)
class CompareResult:
    """The same request answered plainly and with DFlash: the run with the median rate of each mode, or, where any two runs of
    different modes part, the two that part worst.

    `ratio` is the median over repeats of DFlash's decode rate / plain's. `first_difference` is the index of the first differing
    token and `margin` by how much the target's logits would have to change there for the choice to fall on the other token (None
    when one is filtered out or one reply just ends); the verdict is `tie` only when rounding can have changed them by so much.
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
    | CalibrationProgress
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
