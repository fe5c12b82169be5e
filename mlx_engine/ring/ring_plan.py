"""What the front end tells rank 0 about the ring."""

from collections.abc import Iterable
from dataclasses import dataclass

from mlx_engine.contract.errors import UserError
from mlx_engine.ring.pairing import KnownWorker, known_worker
from mlx_engine.ring.worker_address import read_address

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


def paired_plan(names: Iterable[str]) -> RingPlan:
    """Return the plan for workers that were paired before.

    Args:
        names: as `HOST:PORT`.

    Raises:
        UserError: the keychain has no code for one.
    """
    found = []
    for name in names:
        address = read_address(name)
        worker = known_worker(*address) if address is not None else None
        if worker is None:
            template = "The keychain has no pairing code for “{name}”. Remove it from the other Macs, and add it again."
            raise UserError("worker_code_missing", template, name=name)
        found.append(worker)
    return RingPlan(tuple(found))
