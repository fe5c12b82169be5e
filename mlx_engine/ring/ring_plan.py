"""What the front end tells rank 0 about the ring."""

from dataclasses import dataclass

from mlx_engine.ring.pairing import KnownWorker

PASS_S = 60.0
ALIVE_S = 1.0  # between signs of life
SILENT_S = 15.0


@dataclass(frozen=True)
class RingPlan:
    """The computers that run a pair together.

    Attributes:
        workers: the others.
        pass_s: seconds after which a pass counts as stuck.
        silent_s: seconds without a sign of life after which a process counts as lost.
    """

    workers: tuple[KnownWorker, ...]
    pass_s: float = PASS_S
    silent_s: float = SILENT_S
