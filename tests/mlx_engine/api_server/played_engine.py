"""An engine that plays replies with thinking, text, and tool calls."""

import threading
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, Event, Finished, PairInfo, PrefillProgress, StopReason
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

Part = Commit | ToolCall
PAIR = PairInfo("tiny", "target", "drafter", "qwen3", 8, 64, 10, 5, False)


class PlayedEngine(ScriptedEngine):
    """Answers every request with `parts`, and ends with `reason`."""

    parts: Sequence[Part] = ()
    reason: StopReason = "eos"

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        self.requests.append(request)
        yield PrefillProgress(7, 7, 0)
        yield from self.parts
        yield Finished(self.reason, stats(request.mode))


def thought(text: str) -> Commit:
    return Commit(text, "thinking", (1,), ("drafter",))


def said(text: str) -> Commit:
    return Commit(text, "answer", (1,), ("drafter",))


def called(name: str, arguments: str = "{}", identifier: str = "abc") -> ToolCall:
    return ToolCall(identifier, name, arguments)


_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_calls = st.builds(ToolCall, st.uuids().map(str), st.sampled_from(["read", "shell"]), st.sampled_from(["{}", '{"a": "ü"}']))
_commits = st.builds(thought, _texts) | st.builds(said, _texts)
texts = st.lists(_commits, max_size=8)
replies = st.lists(_commits | _calls, max_size=8)
reasons = st.sampled_from(["eos", "tool_calls", "stop_string", "length"])
