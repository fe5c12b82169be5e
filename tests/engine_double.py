"""What all stand-ins for the engine share."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import (
    Calibrate,
    CompareDrafters,
    CompareRequest,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    MeasureMachine,
    Request,
    SavePrompts,
    SelectKernels,
    UnloadPair,
)
from mlx_engine.models.library.pair import demo_pair


class EngineDouble:
    """Runs requests with methods named like the engine's. A subclass defines those that its test needs."""

    def unload(self) -> None: ...

    def save_next(self) -> None: ...

    def steps(
        self, request: GenerationRequest, cancel: threading.Event, submitted: float | None = None
    ) -> Iterator[Sequence[Event]]:
        own: Any = self
        return ([event] for event in own.generate(request, cancel))

    def run(self, request: Request, cancel: threading.Event) -> Iterator[Event]:
        own: Any = self
        match request:
            case LoadPair(target, drafter, bits):
                options = {"drafter_bits": bits} if bits else {}
                yield from own.load(*((target, drafter) if target else demo_pair()), **options)
            case GenerationRequest():
                yield from own.generate(request, cancel)
            case CompareRequest():
                yield from own.compare(request, cancel)
            case CompareDrafters():
                yield from own.compare_drafters(request, cancel)
            case CountTokens():
                yield own.count_tokens(request)
            case MeasureMachine(again=again):
                yield from own.roofline(cancel, again)
            case Calibrate():
                yield from own.calibrate(cancel)
            case SavePrompts() | ForgetPrompts() | KeepPrompts():
                pass
            case UnloadPair():
                own.unload()
            case SelectKernels():
                yield from own.prove(cancel)
