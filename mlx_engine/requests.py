"""Every request that a front end can make of an engine. Answers are in `events`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["dflash", "plain"]
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One message of a chat. An assistant's `content` is the answer alone; its `thinking` is separate."""

    role: Role
    content: str
    thinking: str = ""


@dataclass(frozen=True)
class Sampling:
    """How the target chooses tokens. Temperature 0 is greedy and ignores everything else except penalties."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0


@dataclass(frozen=True)
class GenerationRequest:
    """Generate one reply, to either `messages` or `prompt_tokens`.

    Attributes:
        messages: rendered with the target's chat template.
        prompt_tokens: a raw prompt.
        continue_from: the answer of an unfinished reply, to be continued.
        continue_thinking: the thinking of that reply.
        width: rows of a verify, 1 to the drafter's block size; None for automatic.
        seed: None draws a new one, which `Stats` reports.
        max_tokens: of the reply.
        ignore_eos: go on after the end of the reply.
        effort: reasoning effort, for targets whose chat template takes one.
        stop: strings that end the answer.
        reuse: use and keep snapshots of the prompt.
        gives_way: any other request cancels it.
        exact: compute each row in an order that does not depend on the number of rows, so that DFlash's text equals plain text bit
            for bit in every format. Slower, and without snapshots.
    """

    messages: tuple[Message, ...] = ()
    prompt_tokens: tuple[int, ...] | None = None
    continue_from: str = ""
    continue_thinking: str = ""
    mode: Mode = "dflash"
    width: int | None = None
    sampling: Sampling = Sampling()
    seed: int | None = None
    max_tokens: int = 1024
    ignore_eos: bool = False
    thinking: bool = False
    effort: str | None = None
    stop: tuple[str, ...] = ()
    reuse: bool = True
    gives_way: bool = False
    exact: bool = False


@dataclass(frozen=True)
class CompareRequest:
    """Generate `request`'s reply plainly and with DFlash, `repeats` times in alternating order, with `pause_s` between two runs."""

    request: GenerationRequest
    repeats: int = 1
    pause_s: float = 0.0


@dataclass(frozen=True)
class CountTokens:
    """Count the tokens of `messages`, rendered with the chat template."""

    messages: tuple[Message, ...]
    thinking: bool = False


@dataclass(frozen=True)
class LoadPair:
    """Load a target and drafter from their folders; without a target, the demo pair that comes with the app.

    Attributes:
        drafter_bits: bits that the drafter's matrices are quantized to, 4 or 8; 16 for as published; None for automatic.
    """

    target: Path | None = None
    drafter: Path | None = None
    drafter_bits: int | None = None


@dataclass(frozen=True)
class MeasureMachine:
    """Measure the loaded pair against this machine's limits. `again`: measure the limits even if they are known."""

    again: bool = False


@dataclass(frozen=True)
class Calibrate:
    """Measure the costs of the loaded pair's passes. Any other request cancels it."""

    gives_way = True


@dataclass(frozen=True)
class SelectKernels:
    """Find out which Metal kernels the loaded pair should run. Any other request cancels it. `again`: even if they are known."""

    again: bool = False
    gives_way = True


Request = LoadPair | GenerationRequest | CompareRequest | CountTokens | MeasureMachine | Calibrate | SelectKernels
