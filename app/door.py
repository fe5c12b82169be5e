"""The engine's door as the app sees it. Importing this imports neither Qt nor MLX."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from mlx_engine.events import Calibrated, CalibrationProgress, Event, KernelsSelected, LoadProgress, PairInfo, Roofline, TokenCount
from mlx_engine.requests import CompareRequest, CountTokens, GenerationRequest


class Engine(Protocol):
    """What the app asks of an engine: `mlx_engine.engine.Engine`, or one that plays a script."""

    def load(self, target: Path, drafter: Path | None) -> Iterator[LoadProgress | PairInfo]: ...

    def generate(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event]: ...

    def compare(self, request: CompareRequest, cancel: threading.Event) -> Iterator[Event]: ...

    def count_tokens(self, request: CountTokens) -> TokenCount: ...

    def roofline(self, cancel: threading.Event, again: bool) -> Iterator[CalibrationProgress | Roofline]: ...

    def calibrate(self, cancel: threading.Event) -> Iterator[CalibrationProgress | Calibrated]: ...

    def prove(self, cancel: threading.Event) -> Iterator[CalibrationProgress | KernelsSelected]: ...

    def unload(self) -> None: ...


def real_engine() -> Engine:
    """Make the engine. Called in the engine's thread only: from here on MLX is in the process."""
    from mlx_engine import blas

    blas.prepare()
    import mlx_engine.engine

    return mlx_engine.engine.Engine()


def demo_pair() -> tuple[Path, Path]:
    """Where the demo pair lies."""
    from mlx_engine.pairs import demo

    return demo.demo_pair()
