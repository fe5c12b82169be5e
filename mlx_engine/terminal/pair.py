"""Loading the pair that the command line names."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event as CancelEvent
from typing import Protocol

from mlx_engine.events import Calibrated, CalibrationProgress, Event, KernelsSelected, LoadProgress, PairInfo, Roofline
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.requests import CompareRequest, GenerationRequest
from mlx_engine.terminal import interrupt


class Engine(Protocol):
    """What the commands need of an engine; `mlx_engine.engine.Engine` is one."""

    def load(self, target: Path, drafter: Path | None, drafter_bits: int | None = None) -> Iterator[LoadProgress | PairInfo]: ...
    def generate(self, request: GenerationRequest, cancel: CancelEvent | None = None) -> Iterator[Event]: ...
    def compare(self, request: CompareRequest, cancel: CancelEvent | None = None) -> Iterator[Event]: ...
    def calibrate(self, cancel: CancelEvent | None = None) -> Iterator[CalibrationProgress | Calibrated]: ...
    def prove(self, cancel: CancelEvent | None = None) -> Iterator[CalibrationProgress | KernelsSelected]: ...
    def roofline(self, cancel: CancelEvent | None = None, again: bool = False) -> Iterator[CalibrationProgress | Roofline]: ...


MakeEngine = Callable[[], Engine]


def local_engine() -> Engine:
    """This machine's engine. MLX is imported here, so that help and mistakes of usage need not wait for it."""
    from mlx_engine import blas

    blas.prepare()
    from mlx_engine.engine import Engine as LocalEngine

    return LocalEngine()


def folders(arguments: argparse.Namespace) -> tuple[Path, Path | None]:
    """The folders of target and drafter: the ones given, else the demo pair's."""
    if arguments.target:
        return arguments.target, arguments.drafter
    return demo_pair()


def open_pair(make_engine: MakeEngine, arguments: argparse.Namespace, calibrated: bool = False) -> tuple[Engine, PairInfo]:
    """An engine with the pair loaded. On a terminal the progress stands on one line of standard error, which is then cleared.

    Args:
        make_engine: makes it.
        arguments: name the pair.
        calibrated: measure what its passes cost, unless that is known; Ctrl-C skips it.

    Raises:
        UserError: the pair cannot be run.
    """
    engine = make_engine()
    shown = sys.stderr.isatty()
    info = None
    try:
        for event in engine.load(*folders(arguments), arguments.drafter_bits):
            if isinstance(event, PairInfo):
                info = event
            elif shown:
                print(f"\r\033[K{event.step} …", end="", file=sys.stderr, flush=True)
        if calibrated and info is not None and not info.calibrated:
            with interrupt.stops_reply() as cancel:
                for measured in engine.calibrate(cancel):
                    if shown and isinstance(measured, CalibrationProgress):
                        print(f"\r\033[K{measured.step}, once for this pair …", end="", file=sys.stderr, flush=True)
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    assert info is not None, "loading ends with the pair's description"
    return engine, info
