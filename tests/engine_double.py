"""What all stand-ins for the engine share."""

import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from mlx_engine.contract.events import CompletedReply, Event, PairInfo, TextDifference
from mlx_engine.contract.machine_events import MemoryUse, ReliefStep
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    MeasureMachine,
    Message,
    Request,
    SavePrompts,
    SelectKernels,
    UnloadPair,
)
from mlx_engine.contract.urgency import Urgency
from mlx_engine.engine.comparison import Comparison, play
from mlx_engine.engine.relief import Relief
from mlx_engine.models.library.pair import demo_pair


class EngineDouble:
    """Runs requests with methods named like the engine's. A subclass defines those that its test needs."""

    def unload(self) -> None: ...

    def loaded_pair(self) -> PairInfo | None:
        return None

    def difference(self, request: GenerationRequest, baseline: CompletedReply, reply: CompletedReply, at: int) -> TextDifference:
        return TextDifference(at)

    def save_next(self) -> None: ...

    def awaits_memory(self, urgency: Urgency) -> bool:
        return False

    def give_back(self, step: ReliefStep, narrows: bool = True) -> None: ...

    @property
    def can_give_back(self) -> bool:
        return False

    def memory_use(self, relief: Relief, tuning: int | None) -> MemoryUse:
        return MemoryUse((), 0, 0, 0, relief.pressure, relief.step)

    def gains(self, running: int) -> bool:
        return True

    def read_sizes(self, messages: Sequence[Message], cancel: threading.Event) -> Iterator[None]:
        return iter(())

    def steps(
        self, request: GenerationRequest, cancel: threading.Event, submitted: float | None = None
    ) -> Generator[Sequence[Event], None, None]:
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
            case Compare():
                comparison = Comparison(request, cancel, self.loaded_pair, self.difference)
                yield from play(comparison.steps(), lambda pair: self.run(pair, cancel), lambda asked: self.steps(asked, cancel))
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
            case SelectKernels(seconds=seconds):
                yield from own.prove(cancel, seconds)
