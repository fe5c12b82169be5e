"""All requests to an engine. The responses are in `events`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from mlx_engine.contract.urgency import Urgency

Mode = Literal["dflash", "plain"]  # "dflash": with drafts, whatever proposes them
Role = Literal["system", "user", "assistant", "tool"]
Proposer = Literal["plain", "lookup", "drafter"]
Detail = Literal["auto", "low", "high"]


@dataclass(frozen=True)
class ToolCall:
    """A complete tool call by the model.

    The model may name an unknown tool or give invalid arguments.
    """

    id: str
    name: str
    arguments: str  # a JSON object


@dataclass(frozen=True)
class ToolSpec:
    """A tool that the model may call.

    Attributes:
        parameters: JSON schema of the arguments. Numbers keep their exact values; see `exact_json`.
        strict: whether arguments must match the schema.
        deferred: whether a message defines the tool. The chat template then doesn't get it.
    """

    name: str
    description: str | None
    parameters: Mapping[str, Any]
    strict: bool = False
    deferred: bool = False

    @property
    def declaration(self) -> dict[str, Any]:
        """The tool in OpenAI's format, as chat templates expect it."""
        function: dict[str, Any] = {"name": self.name}
        if self.description is not None:
            function["description"] = self.description
        function["parameters"] = self.parameters
        return {"type": "function", "function": function | ({"strict": True} if self.strict else {})}


@dataclass(frozen=True)
class AttachedImage:
    """An image in a message.

    Attributes:
        at: number of characters of the message's content before the image.
        data: the file's bytes, as received.
        name: what people call the image.
        detail: how finely the model sees it.
        digest: SHA-256 of the file. Computed unless given.
    """

    at: int
    data: bytes = field(repr=False)
    name: str = ""
    detail: Detail = "auto"
    digest: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", sha256(self.data).hexdigest())


@dataclass(frozen=True)
class Message:
    """A message of a chat. An assistant's `content` excludes its `thinking`.

    Attributes:
        calls: calls in an assistant's message.
        call_id: ID of the call whose result a tool's message contains.
        images: images in the order of their places.
        files_end: number of characters at the beginning of `content` that come from files.
    """

    role: Role
    content: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    images: tuple[AttachedImage, ...] = ()
    files_end: int = field(default=0, compare=False)

    @property
    def parts(self) -> Iterator[str | AttachedImage]:
        """The texts of the content, which may be empty, and the images between them."""
        done = 0
        for image in self.images:
            yield self.content[done : image.at]
            yield image
            done = max(done, image.at)
        yield self.content[done:]


@dataclass(frozen=True)
class Sampling:
    """Sampling settings. Greedy at temperature 0, where only penalties apply."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0


class Submitted:
    """What every request has.

    Attributes:
        gives_way: whether any other request cancels this one. On this computer, a reply goes on next to other replies, but begins
            after them, and its prompt is computed after theirs.
    """

    gives_way: bool = False


@dataclass(frozen=True)
class GenerationRequest(Submitted):
    """A request for one reply to `messages`, `prompt_tokens`, or `prompt_text`.

    Attributes:
        messages: rendered with the target's chat template.
        prompt_tokens: raw prompt.
        prompt_text: raw prompt, without a chat template.
        continue_from: answer of an unfinished reply to continue.
        continue_thinking: thinking of that reply.
        lookup_only: whether only lookup proposes tokens, not the drafter.
        width: rows per verify, 1 to the drafter's block size, or up to 32 if `lookup_only`; None for automatic.
        seed: None draws a new one, which `Stats` reports.
        max_tokens: token limit of the reply.
        ignore_eos: whether to continue after an end token. A grammar of a schema or of tools still ends the reply.
        effort: reasoning effort, for chat templates that support it.
        stop: strings that end the answer.
        reuse: whether to use and save snapshots of the prompt.
        rolling: least number of messages to leave out; more are left out if the reply would have too little room. None sends all.
        shorten_results: whether long results of tools are cut off if the reply would have too little room.
        foreground: whether a user is waiting for this reply: it skips the queue, and has every second turn.
        exact: whether to compute each row in an order that doesn't depend on the number of rows, so that text with and without
            DFlash is identical in every format. Slower, and without snapshots.
        tools: tools that the model may call. Without tools, calls in the reply are text.
        one_call: whether the reply ends after its first tool call.
        tool_choice: "auto", "none" (the model sees the tools but can't call them), "required", or the name of the tool to call.
        schema: JSON schema of the answer, as JSON. It doesn't constrain tool calls and thinking.
        logit_bias: token ID and a number from -100 to 100 that is added to its logit, before penalties and filters.
        logprobs: number of most likely tokens to report in `Commit.logprobs`, besides the reply's own; None reports nothing.
        chat: ID of the chat that the saved prompts belong to; see `ForgetPrompts`.
        private: whether to keep the prompt and the reply off the disk.
    """

    messages: tuple[Message, ...] = ()
    prompt_tokens: tuple[int, ...] | None = None
    prompt_text: str | None = None
    continue_from: str = ""
    continue_thinking: str = ""
    mode: Mode = "dflash"
    lookup_only: bool = False
    width: int | None = None
    sampling: Sampling = Sampling()
    seed: int | None = None
    max_tokens: int = 1024
    ignore_eos: bool = False
    thinking: bool = False
    effort: str | None = None
    stop: tuple[str, ...] = ()
    reuse: bool = True
    rolling: int | None = None
    shorten_results: bool = False
    gives_way: bool = False
    foreground: bool = False
    exact: bool = False
    tools: tuple[ToolSpec, ...] = ()
    one_call: bool = False
    tool_choice: str = "auto"
    schema: str | None = None
    logit_bias: tuple[tuple[int, float], ...] = ()
    logprobs: int | None = None
    chat: str = ""
    private: bool = False

    @property
    def urgency(self) -> Urgency:
        """Who waits for the reply."""
        return Urgency.FRONT if self.foreground else Urgency.LOW if self.gives_way else Urgency.NORMAL


@dataclass(frozen=True)
class LoadPair(Submitted):
    """A request to load a pair from folders. Without a target, loads the demo pair.

    Attributes:
        drafter_bits: 4 or 8 quantizes the drafter's matrices, 16 keeps the published weights, None chooses automatically.
        auto: whether to load the drafter on this disk that was fastest here. `drafter` is then one of those to choose from.
        tuned: whether to use the drafter's LoRA weights, if it has any for this target.
        workers: addresses of paired computers that run the target together with this one; for `EngineSwitch`.
    """

    target: Path | None = None
    drafter: Path | None = None
    drafter_bits: int | None = None
    auto: bool = False
    tuned: bool = True
    workers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contestant:
    """What replies in a comparison: plain decoding, lookup, or the drafter.

    Attributes:
        pair: a pair on this computer, which is loaded first; None for the pair or the endpoint in use.
    """

    proposer: Proposer
    pair: LoadPair | None = None

    def asked(self, request: GenerationRequest) -> GenerationRequest:
        """Return the request as this contestant gets it."""
        if self.proposer == "lookup":
            return replace(request, mode="dflash", lookup_only=True, width=None)
        return replace(request, mode="plain" if self.proposer == "plain" else "dflash")


BOTH_MODES = Contestant("plain"), Contestant("drafter")


def with_drafters(
    target: Path, drafters: Sequence[Path], drafter_bits: int | None = None, tuned: bool = True
) -> tuple[Contestant, ...]:
    """Return plain decoding, lookup, and each drafter of a target as contestants."""
    pairs = (LoadPair(target, drafter, drafter_bits, tuned=tuned) for drafter in drafters)
    return Contestant("plain"), Contestant("lookup"), *(Contestant("drafter", pair) for pair in pairs)


@dataclass(frozen=True)
class Compare(Submitted):
    """A comparison of contestants' replies. The first contestant is the baseline.

    Pairs are loaded one after the other, and the last one stays loaded. Contestants without one run with the first pair.

    Attributes:
        requests: one per prompt.
        repeats: number of replies of each contestant to each prompt.
        pause_s: seconds between two replies on this computer.
        together: whether all contestants reply at the same time. Their texts, but not their speeds, are those that they have
            alone, on a GPU with half precision until a near tie.
    """

    requests: tuple[GenerationRequest, ...]
    contestants: tuple[Contestant, ...] = BOTH_MODES
    repeats: int = 1
    pause_s: float = 0.0
    together: bool = False

    @property
    def pairs(self) -> tuple[LoadPair, ...]:
        """The pairs to load, without repetitions."""
        return tuple(dict.fromkeys(one.pair for one in self.contestants if one.pair is not None))


@dataclass(frozen=True)
class CountTokens(Submitted):
    """A request to count the tokens of the prompt that `request` would send.

    Attributes:
        estimate: whether a chat far longer than the context is estimated from its beginning. Otherwise, it is refused.
        parts: whether to count what the prompt consists of, too.
    """

    request: GenerationRequest
    estimate: bool = False
    parts: bool = False

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.request.messages


@dataclass(frozen=True)
class UnloadPair(Submitted):
    """A request to free the loaded pair's memory. It has no events."""


@dataclass(frozen=True)
class Endpoint:
    """How to reach a server with OpenAI's API.

    Attributes:
        url: base address, which ends before or after “/v1”.
        model: model to use; empty for the server's first one.
        key: API key, if the server needs one.
        plain_url: base address of the same model without speculative decoding, if there is one.
        headers: additional headers of each request.
        ca_file: certificate authority to trust, as a PEM file, instead of the system's.
        timeout_s: seconds without any data after which the connection counts as lost.
    """

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    plain_url: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    ca_file: Path | None = None
    timeout_s: float = 120.0

    @property
    def host(self) -> str:
        """Host and port, as shown to the user; empty if the address isn't valid."""
        with suppress(ValueError):
            return urlsplit(self.url).netloc.rpartition("@")[2]
        return ""

    @property
    def is_encrypted(self) -> bool:
        return all(url.lower().startswith("https://") for url in (self.url, self.plain_url) if url)


@dataclass(frozen=True)
class Connect(Submitted):
    """A request to use a server in place of the pair; see `LoadPair`."""

    endpoint: Endpoint


@dataclass(frozen=True)
class SavePrompts(Submitted):
    """A request to save prompts on disk and read saved ones.

    It also applies to pairs that are loaded later.

    Attributes:
        folder: where to save; None saves nothing.
        quota: bytes that saved prompts may take; 0 for the smaller of 10 GB and 10 % of the free disk space; None for what was set
            last for this folder, or else 0.
    """

    folder: Path | None = None
    quota: int | None = None


@dataclass(frozen=True)
class ForgetPrompts(Submitted):
    """A request to delete saved prompts that only these chats used; None deletes all.

    Attributes:
        chats: their IDs.
        runs: whether deleting all includes what tuning runs have saved.
    """

    chats: tuple[str, ...] | None = None
    runs: bool = True


@dataclass(frozen=True)
class KeepPrompts(Submitted):
    """A request to delete the saved prompts of all chats but these.

    It completes deletions that failed, or that the end of the program prevented.
    """

    chats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rest(Submitted):
    """A request to let the computer rest between the steps of replies.

    It is for quiet mode, and has no events. Texts are the same. Comparisons and measurements don't rest.

    Attributes:
        share: of the time of replies, from 0 to below 1. A rest has a limit, so a long chunk of a prompt rests for a smaller share.
    """

    share: float = 0.0


@dataclass(frozen=True)
class ReadMemory(Submitted):
    """A request for the `MemoryUse` now.

    It is answered between two steps of whatever runs.

    Attributes:
        tuning: ID of the process that tunes a drafter, if there is one.
    """

    tuning: int | None = None


@dataclass(frozen=True)
class MeasureMachine(Submitted):
    """A request to compare the loaded pair with this machine's limits."""

    again: bool = False  # measure the limits even if they are known


@dataclass(frozen=True)
class Calibrate(Submitted):
    """A request to measure the costs of passes. Any other request cancels it."""

    gives_way = True


@dataclass(frozen=True)
class TuneDrafter(Submitted):
    """A request to tune the loaded drafter to its target and the user's prompts.

    The same request continues a canceled one, and others for the pair use its replies. The result is used the next time that the
    pair is loaded.

    Attributes:
        prompts: chats that end with a user's message.
        general: other prompts, on which the drafter must stay as fast.
        whole: whether to train all weights of a new drafter and save them, instead of LoRA weights.
        epochs: number of times that each reply is used.
        max_tokens: token limit of the replies to learn from.
        sampling: sampling settings of the replies to learn from.
        thinking: whether the model thinks in these replies.
        seed: seed of sampling and training.
    """

    prompts: tuple[tuple[Message, ...], ...]
    general: tuple[tuple[Message, ...], ...] = ()
    whole: bool = False
    epochs: float = 8.0
    max_tokens: int = 512
    sampling: Sampling = Sampling()
    thinking: bool = False
    seed: int = 1


@dataclass(frozen=True)
class SelectKernels(Submitted):
    """A request to select Metal kernels for the pair. Any other request cancels it."""

    again: bool = False  # test the kernels even if the results are known
    seconds: float | None = None  # after which it ends without a result; the same request continues
    gives_way = True


Request = (
    LoadPair
    | UnloadPair
    | Connect
    | GenerationRequest
    | Compare
    | CountTokens
    | Rest
    | SavePrompts
    | ForgetPrompts
    | KeepPrompts
    | ReadMemory
    | MeasureMachine
    | Calibrate
    | TuneDrafter
    | SelectKernels
)
