"""Shortcuts to run requests in tests, without reuse of earlier prompts unless `reuse` is given."""

import threading
from collections.abc import Sequence

from mlx_engine.contract.events import CompletedReply, Event, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message, Sampling
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost


def question(text: str, **options) -> GenerationRequest:
    return GenerationRequest(messages=(Message("user", text),), **{"reuse": False, **options})


def tokens(prompt, temperature: float = 0.0, **options) -> GenerationRequest:
    """A request for raw prompt tokens."""
    sampling = Sampling(temperature=temperature)
    return GenerationRequest(prompt_tokens=tuple(prompt), sampling=sampling, **{"reuse": False, **options})


def events(engine: Engine, request: GenerationRequest, cancel: threading.Event | None = None) -> list[Event]:
    return list(engine.generate(request, cancel))


def reply(engine: Engine, request: GenerationRequest) -> CompletedReply:
    seen = events(engine, request)
    assert isinstance(seen[-1], Finished), seen[-1]
    return fold(seen)


def failure(engine: Engine, request: GenerationRequest) -> str:
    seen = events(engine, request)
    assert isinstance(seen[-1], Failed), seen[-1]
    return seen[-1].message


def wait_for(host: EngineHost, found: Sequence[Sequence[Event | None]]) -> None:
    """Wait until every job has ended, and end the host."""
    while not all(seen and seen[-1] is None for seen in found):
        assert not host._ended.wait(0.001)
    assert host.wait(120)
