"""The child process that runs rank 0, with an engine's host.

MLX can wait forever for a rank that is lost, or abort the process. So the front end keeps its own process out of it, and only
passes requests in and events out. `ring_engine.py` is the other side.
"""

import logging
import os
import threading
import time
from collections.abc import Generator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Event, LoadProgress
from mlx_engine.contract.files import data_folder
from mlx_engine.engine.host import EngineHost
from mlx_engine.models.library.link_times import record_link
from mlx_engine.network.channel import free_address
from mlx_engine.ring.links import RING_ENDED, START_S, Watch, WorkerLink
from mlx_engine.ring.model_copy import send_model
from mlx_engine.ring.rank import join_ring, own_pipes
from mlx_engine.ring.ring_plan import ALIVE_S, RingPlan
from mlx_engine.ring.worker_models import config_digest, weights_digest

if TYPE_CHECKING:
    from mlx_engine.targets.sharding import Sharding

log = logging.getLogger(__name__)

LOST = 3  # exit status
_NOT_JOINED = EngineText.of(
    "ring_not_joined", "The computers can't exchange results. Allow Slipstream's connections in their firewalls, then try again."
)


class _Outbox:
    """Messages to the front end, from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, threading.Lock()

    def send(self, *message: Any) -> None:
        with self._lock:
            self._connection.send(message)

    def end(self, reason: EngineText) -> None:
        """Tell why this process ends, and end it."""
        with self._lock:
            try:
                self._connection.send(("reason", reason))
            finally:
                os._exit(LOST)


class _Workers:
    """The workers that run the other ranks; see `led_engine.Ring`."""

    def __init__(self, plan: RingPlan, outbox: _Outbox) -> None:
        self._outbox = outbox
        self._links = [WorkerLink(worker, plan.silent_s) for worker in plan.workers]
        self._watch = Watch(self._links, plan.pass_s, outbox.end)
        threading.Thread(target=self._watch.run, name="watch", daemon=True).start()

    def connect(self, target: Path) -> "Generator[LoadProgress, None, Sharding]":
        from mlx_engine.targets.sharding import Sharding

        digests = config_digest(target), weights_digest(target)
        for link in self._links:
            link.tell(["model", *digests])
        addresses = [free_address(self._links[-1].local_host)]
        for link in self._links:
            [is_found] = link.wait_for("model", START_S)
            if not is_found:
                yield from send_model(link, target)
            link.wait_for("started", START_S)
            addresses += link.wait_for("address", START_S)
        for rank, link in enumerate(self._links, 1):
            link.tell(["ring", rank, addresses])
        self._outbox.send("reason", _NOT_JOINED)  # `join_ring` stops all threads, so the front end may end this process
        try:
            group = join_ring(0, addresses)
        except RuntimeError:
            raise UserError.of(_NOT_JOINED) from None
        self._outbox.send("reason", RING_ENDED)
        return Sharding(group, self._tell)

    def wait_until_loaded(self, sharding: "Sharding") -> None:
        from mlx_engine.targets.sharding import exchange_seconds

        for link in self._links:
            link.wait_for("loaded")
        self._watch.armed = True
        self._tell("measure")
        record_link(len(self._links) + 1, exchange_seconds(sharding.group))

    def give_up(self, reason: EngineText | None) -> None:
        self._watch.give_up(reason or RING_ENDED)

    def _tell(self, *message: Any) -> None:
        for link in self._links:
            link.tell(message)


def _live(outbox: _Outbox) -> None:
    while True:
        outbox.send("alive")
        time.sleep(ALIVE_S)


def main() -> None:
    """Run requests until the front end is gone."""
    reads, writes = own_pipes()
    requests, outbox = Connection(reads.fileno(), writable=False), _Outbox(Connection(writes.fileno(), readable=False))
    plan: RingPlan = requests.recv()
    log_file = data_folder() / "several-computers.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger().addHandler(logging.FileHandler(log_file, "w"))

    def make_engine() -> Any:
        from mlx_engine.hardware import blas, open_files

        blas.prepare()
        open_files.import_mlx_lm()
        from mlx_engine.ring.led_engine import LedEngine

        return LedEngine(partial(_Workers, plan, outbox))

    def deliver(number: int, event: Event | None) -> None:
        if event is None:
            runs.pop(number, None)
        outbox.send("event", number, event)

    threading.Thread(target=_live, args=(outbox,), name="alive", daemon=True).start()
    host, runs = EngineHost(make_engine, str(log_file)), dict[int, Run]()
    try:
        while True:
            kind, number, request = requests.recv()
            if kind == "submit":
                runs[number] = host.submit(request, partial(deliver, number))
            elif (run := runs.get(number)) is not None:
                run.cancel()
    except (EOFError, OSError):
        os._exit(0)  # MLX may wait for other ranks


if __name__ == "__main__":
    main()
