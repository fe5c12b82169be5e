"""The events of a reply that a server streams in OpenAI's format."""

import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Channel, Commit, Event, Finished, Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.remote.endpoint import Endpoint, failure
from mlx_engine.remote.statistics import stats

LONGEST_LINE = 10_000_000  # bytes
_DONE = "[DONE]"
_REASONS: dict[str, StopReason] = {"stop": "eos", "length": "length", "tool_calls": "tool_calls"}


async def data_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of server-sent events.

    Raises:
        UserError: a line is too long.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise UserError("remote_line_too_long", "The server sent a line that is too long. Check the address.")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")
    if rest.startswith(b"data:"):
        yield rest[5:].strip().decode("utf-8", "replace")


@dataclass
class _Call:
    """A call that arrives in pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class ReplyStream:
    """The state of a streamed reply.

    Attributes:
        request: the request for the reply.
        sent: time of the request, from `time.perf_counter`.
        finished: whether the server said how the reply ended.
    """

    endpoint: Endpoint
    request: GenerationRequest
    sent: float = field(default_factory=time.perf_counter)
    finished: bool = False
    _first: float | None = None
    _last: float = 0.0
    _tokens: int = 0
    _reason: StopReason = "eos"
    _stop_string: str = ""
    _calls: dict[int, _Call] = field(default_factory=dict)
    _usage: dict[str, Any] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)  # channels with text

    def __post_init__(self) -> None:
        started = {"thinking": self.request.continue_thinking, "answer": self.request.continue_from}
        self._started |= {channel for channel, text in started.items() if text}

    def events(self, data: str) -> Iterator[Event]:
        """Yield the events of a chunk.

        Raises:
            UserError: the server reports an error, or the chunk isn't valid.
        """
        if data == _DONE:
            return
        try:
            chunk = json.loads(data)
            json.dumps(chunk, ensure_ascii=False).encode()  # half of a surrogate pair isn't text
        except (ValueError, RecursionError):
            chunk = None
        if not isinstance(chunk, dict):
            host = self.endpoint.host
            raise UserError("remote_bad_chunk", "“{host}” sent invalid data in its reply. Try again.", host=host)
        if chunk.get("error"):
            raise failure(self.endpoint, chunk)
        for name in ("usage", "timings", "metrics", "sglext", "slipstream"):
            if isinstance(chunk.get(name), dict):
                self._usage[name] = chunk[name]
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        yield from self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> Iterator[Event]:
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        thinking = delta.get("reasoning_content") or delta.get("reasoning") or ""
        answer = choice.get("text") or delta.get("content") or ""
        sent = choice.get("token_ids")
        ids = tuple(sent) if isinstance(sent, list) and all(type(token) is int for token in sent) else ()
        if thinking or answer or delta.get("tool_calls"):
            self._last = time.perf_counter()
            self._first = self._first or self._last
        self._tokens += len(ids)
        at_s = time.perf_counter() - self.sent
        channel: Channel = "thinking" if thinking else "answer"
        texts: dict[Channel, Any] = {"thinking": thinking, "answer": answer}
        for name, found in texts.items():
            text = self._without_margin(name, found if isinstance(found, str) else "")
            if text or (ids and name == channel):
                unreadable = name == "answer" and delta.get("unreadable_call") is True  # from Slipstream
                yield Commit(text, name, ids if name == channel else (), (), at_s=at_s, unreadable_call=unreadable)
        self._add_calls(delta.get("tool_calls"))
        if isinstance(reason := choice.get("finish_reason"), str):
            self.finished = True
            stops = (choice.get(name) for name in ("stop_reason", "matched_stop"))  # of vLLM and Slipstream; of SGLang
            self._stop_string = next((stop for stop in stops if isinstance(stop, str)), "")
            self._reason = "stop_string" if self._stop_string else _REASONS.get(reason, "eos")
            calls = [self._calls[index] for index in sorted(self._calls)]
            yield from (ToolCall(call.id or f"call{at}", call.name, call.arguments or "{}") for at, call in enumerate(calls))

    def _without_margin(self, channel: Channel, text: str) -> str:
        """Strip the whitespace at the beginning of a channel."""
        if channel not in self._started:
            text = text.lstrip()
            self._started |= {channel} if text else set()
        return text

    def _add_calls(self, deltas: Any) -> None:
        for delta in deltas if isinstance(deltas, list) else ():
            function = delta.get("function") if isinstance(delta, dict) else None
            if not isinstance(function, dict):
                continue
            index = delta.get("index")
            call = self._calls.setdefault(index if isinstance(index, int) else len(self._calls), _Call())
            call.id = str(delta.get("id") or call.id)
            call.name += str(function.get("name") or "")
            call.arguments += str(function.get("arguments") or "")

    def end(self) -> Finished:
        """Return the last event.

        Raises:
            UserError: the stream ended before the reply.
        """
        if not self.finished:
            host = self.endpoint.host
            raise UserError("remote_cut", "“{host}” ended the reply early. The partial reply is kept. Try again.", host=host)
        return Finished(self._reason, self.stats(), self._stop_string)

    def stats(self) -> Stats:
        """Return the statistics so far."""
        ttft = self._first - self.sent if self._first else None
        return stats(self.request, self._usage, self._tokens, ttft, self._last - self._first if self._first else 0.0)
