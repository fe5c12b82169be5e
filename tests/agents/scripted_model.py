"""A scripted engine that calls tools, step by step, as a model would."""

import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Failed, Finished, LoadProgress, PairInfo, PrefillProgress
from mlx_engine.contract.requests import CountTokens, GenerationRequest, ToolCall
from mlx_engine.contract.token_counts import TokenCount
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats


@dataclass(frozen=True)
class Step:
    """A reply of the model: text, and possibly the call of a tool."""

    text: str
    tool: str = ""
    arguments: str = ""  # JSON
    thinking: str = ""


def tokens_of(request: GenerationRequest) -> int:
    """Return about as many tokens as a real tokenizer would."""
    texts = [
        *(json.dumps(tool.declaration) for tool in request.tools),
        *(message.content + message.thinking for message in request.messages),
    ]
    texts += [call.arguments for message in request.messages for call in message.calls]
    return sum(map(len, texts)) // 4


class ScriptedModel(ScriptedEngine):
    """Takes a step per reply in a session, in order. Requests without tools, for titles and summaries, get a fixed text.

    Args:
        script: the replies of a session.
        context: context length in tokens.
        can_see: whether the model sees images.

    Attributes:
        requests: the requests with tools.
        asides: all others.
        refused: the requests that were too long.
    """

    def __init__(self, script: Sequence[Step], context: int = 1 << 16, can_see: bool = False) -> None:
        super().__init__(can_see=can_see)
        self.script, self._context = script, context
        self.asides: list[GenerationRequest] = []
        self.refused: list[GenerationRequest] = []
        self._taken = 0

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]:
        for event in super().load(target, drafter, drafter_bits):
            yield replace(event, context_limit=self._context, can_think=True) if isinstance(event, PairInfo) else event

    def count_tokens(self, request: CountTokens) -> TokenCount:
        return TokenCount(tokens_of(request.request), self._context)

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        count = tokens_of(request)
        if count >= self._context:
            self.refused.append(request)
            error = UserError("context_full", "{tokens} tokens, {limit} at most", tokens=count, limit=self._context)
            yield Failed.because(error)
            return
        (self.requests if request.tools else self.asides).append(request)
        step = self._step(request)
        yield PrefillProgress(count, count, 0)
        if step.thinking:
            yield Commit(step.thinking, "thinking", (1,), ("drafter",))
        if step.text:
            yield Commit(step.text, "answer", (2,), ("drafter",))
        if step.tool:
            yield ToolCall(f"call{len(self.requests):05}", step.tool, step.arguments)
        counted: dict[str, Any] = {"prompt_tokens": count}
        yield Finished("tool_calls" if step.tool else "eos", replace(stats(request.mode), **counted))

    def _step(self, request: GenerationRequest) -> Step:
        if not request.tools and any(step.tool for step in self.script):
            return Step("A scripted title")
        taken = sum(message.role == "assistant" for message in request.messages)
        return self.script[min(taken, len(self.script) - 1)]


class CompactingModel(ScriptedModel):
    """Takes its steps in order, whatever the history is, and writes a summary if asked for one."""

    def _step(self, request: GenerationRequest) -> Step:
        last = request.messages[-1].content
        if re.search("detailed summary|anchored summary", last):
            return Step("<analysis>Short.</analysis>\n<summary>The files were read.</summary>")
        self._taken += 1
        return self.script[min(self._taken, len(self.script)) - 1]


def call(tool: str, **arguments: Any) -> dict[str, str]:
    return {"tool": tool, "arguments": json.dumps(arguments)}
