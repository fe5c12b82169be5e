"""Rank 0's connections to the workers, and the watch over them."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import why_failed
from mlx_engine.network.channel import Channel
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring.pairing import KnownWorker, meet_worker
from mlx_engine.ring.ring_plan import ALIVE_S

START_S = 120.0  # until a worker's child process has started
_CONNECT_S = 10.0
_KNOWN_S = 5.0  # from an error of MLX to the end of the connection that caused it
_LOOK_S = 0.05

RING_ENDED = EngineText.of("ring_ended", "The process that runs the model has ended. Try again to load the model again.")


class WorkerLink:
    """The connection to a worker.

    Args:
        worker: the worker.
        silent_s: seconds after which a silent worker counts as lost.

    Attributes:
        problem: why the worker is lost, or None.
    """

    def __init__(self, worker: KnownWorker, silent_s: float) -> None:
        self.name, self._silent_s = worker.name, silent_s
        self.problem: EngineText | None = None
        self._channel, _ = _met(worker)
        self.local_host = self._channel.local_host
        self._arrived = threading.Condition()
        self._messages: dict[str, list[Any]] = {}  # latest one of each kind
        self._passes: deque[float] = deque()  # start times of those in progress
        threading.Thread(target=self._receive, name="worker", daemon=True).start()

    def tell(self, message: Sequence[Any]) -> None:
        """Send a message. If the worker is gone, `problem` says so."""
        if message[0] == "pass":
            self._passes.append(time.monotonic())
        with suppress(ChannelClosed):  # `_receive` notices, too
            self._channel.send(message)

    def show_life(self) -> None:
        """Send a sign of life without blocking, so that other workers get theirs."""
        with suppress(ChannelClosed):
            self._channel.show_life()

    def wait_for(self, kind: str, seconds: float | None = None) -> list[Any]:
        """Return the rest of the first message of a kind.

        Raises:
            UserError: the worker is lost or too slow.
        """
        with self._arrived:
            if not self._arrived.wait_for(lambda: kind in self._messages or self.problem is not None, seconds):
                self.problem = _silent(self.name)
            self.check()
            return self._messages[kind]

    def check(self) -> None:
        """Check that the worker isn't lost.

        Raises:
            UserError: it is.
        """
        if self.problem is not None:
            raise UserError.of(self.problem)

    def oldest_pass(self) -> float:
        """Return the age of the oldest pass in progress in seconds, or 0."""
        try:
            return time.monotonic() - self._passes[0]
        except IndexError:
            return 0.0

    def lose(self, problem: EngineText) -> None:
        """Record why the worker is lost."""
        with self._arrived:
            self.problem = self.problem or problem
            self._arrived.notify_all()

    def close(self) -> None:
        """Disconnect, which ends the worker's rank."""
        self._channel.close()

    def _receive(self) -> None:
        try:
            while True:
                kind, *values = self._channel.receive(self._silent_s)
                if kind == "passed":
                    self._passes.popleft()
                elif kind == "failed":
                    template = "“{name}” has failed: {reason} Try again to reconnect."
                    self.lose(EngineText.of("worker_failed", template, name=self.name, reason=str(values[0])))
                    return
                elif kind != "alive":
                    with self._arrived:
                        self._messages[kind] = values
                        self._arrived.notify_all()
        except ChannelClosed:
            self.lose(_lost(self.name))
        except (ValueError, TypeError, IndexError, AttributeError):  # not a message of ours
            self.lose(_lost(self.name))


def pair(worker: KnownWorker) -> KnownWorker:
    """Connect to a worker, and remember it.

    Raises:
        UserError: it can't be reached, has another code, or another version of Slipstream.
    """
    channel, fingerprint = _met(worker)
    channel.close()
    paired = replace(worker, fingerprint=fingerprint)
    paired.save()
    return paired


def _met(worker: KnownWorker) -> tuple[Channel, str]:
    """Return an encrypted channel to a worker, and the worker's certificate."""
    try:
        channel = Channel.connected(worker.host, worker.port, _CONNECT_S)
    except OSError as error:
        raise _unreachable(worker, why_failed(error)) from None
    try:
        return channel, meet_worker(channel, worker)
    except BaseException as error:
        channel.close()
        if not isinstance(error, ChannelClosed):
            raise
        raise _unreachable(worker, str(error)) from None


def _unreachable(worker: KnownWorker, reason: EngineText | str) -> UserError:
    template = "“{name}” can't be reached ({reason}). Start the worker there, and check the connection."
    return UserError("worker_unreachable", template, name=worker.name, reason=reason)


def _lost(name: str) -> EngineText:
    template = "The connection to “{name}” was lost. Check that it is awake and connected, then try again."
    return EngineText.of("worker_lost", template, name=name)


def _silent(name: str) -> EngineText:
    template = "“{name}” takes too long. Check that it is awake and connected, then try again."
    return EngineText.of("worker_silent", template, name=name)


class Watch:
    """Watches workers, and ends this process when one is lost.

    The thread that runs MLX may then wait forever for that rank, and nothing else can end the wait.

    Args:
        links: the workers.
        pass_s: seconds after which a pass counts as stuck.
        lost: called with the reason when a worker is lost; must not return.
    """

    def __init__(self, links: Sequence[WorkerLink], pass_s: float, lost: Callable[[EngineText], object]) -> None:
        self._links, self._pass_s, self._lost = links, pass_s, lost
        self.armed = False  # a worker that is lost before is an error of loading

    def run(self) -> None:
        """Watch until a worker is lost."""
        told = 0.0
        while True:
            time.sleep(_LOOK_S)
            if time.monotonic() - told > ALIVE_S:
                told = time.monotonic()
                for link in self._links:
                    link.show_life()
            for link in self._links:
                if link.oldest_pass() > self._pass_s:
                    link.lose(_silent(link.name))
                if self.armed and link.problem is not None:
                    self._lost(link.problem)
                    return

    def give_up(self, reason: EngineText) -> None:
        """End this process because rank 0 has failed.

        A worker is probably lost, which is known soon. Otherwise, the process ends for this reason.
        """
        deadline = time.monotonic() + _KNOWN_S
        while time.monotonic() < deadline:
            for link in self._links:
                if link.problem is not None:
                    self._lost(link.problem)
            time.sleep(_LOOK_S)
        self._lost(reason)
