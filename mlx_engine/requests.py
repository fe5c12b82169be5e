"""Every request that a front end can make of an engine. Frozen dataclasses of plain values; answers are in `events`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["dflash", "plain"]
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One turn of a chat. `content` of an assistant turn is the answer alone; `thinking` is what it thought, if kept."""

    role: Role
    content: str
    thinking: str = ""


@dataclass(frozen=True)
class Sampling:
    """How the target chooses a token. Temperature 0 is greedy and ignores the rest but the penalties."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0


@dataclass(frozen=True)
class GenerationRequest:
    """Ask for one reply: to `messages` through the chat template, or to raw `prompt_tokens` (exactly one of the two).

    `width` is the number of rows of a verify, 1 to the drafter's block size, or None for the engine's choice. `seed` None draws a
    fresh one, which `Stats` reports. `max_tokens` counts generated tokens. `continue_from` is the answer, as far as it came, of an
    unfinished reply that is to go on, and `continue_thinking` what that reply had thought; they follow the prompt. `effort` reaches
    the targets whose chat template takes one. `reuse` False prefills the whole prompt and keeps nothing for later turns.
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


@dataclass(frozen=True)
class CompareRequest:
    """Answer `request` plainly and with DFlash, one after the other, `repeats` times in alternating order, with one seed.

    Between two runs the machine rests for `pause_s` seconds.
    """

    request: GenerationRequest
    repeats: int = 1
    pause_s: float = 0.0


@dataclass(frozen=True)
class CountTokens:
    """Ask how many tokens `messages` take with the chat template."""

    messages: tuple[Message, ...]
    thinking: bool = False


@dataclass(frozen=True)
class LoadPair:
    """Load these two folders; None for both loads the demo pair that comes with the app."""

    target: Path | None = None
    drafter: Path | None = None


@dataclass(frozen=True)
class MeasureMachine:
    """Hold the loaded pair against what this machine can do; `again`: measure the machine too, though that was done before."""

    again: bool = False


@dataclass(frozen=True)
class Calibrate:
    """Measure what the loaded pair's passes cost. Gives way: any other request cancels it."""


@dataclass(frozen=True)
class SelectKernels:
    """Find out which Metal kernels the loaded pair shall run. Gives way like `Calibrate`."""


Request = LoadPair | GenerationRequest | CompareRequest | CountTokens | MeasureMachine | Calibrate | SelectKernels
