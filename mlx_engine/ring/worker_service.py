"""A worker, which runs a rank for another computer in a child process.

This process uses no MLX, so it always answers. It ends the child when the leader is gone or silent, or the child fails.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from mlx_engine.contract.errors import UserError
from mlx_engine.models.library.library import model_name
from mlx_engine.network.channel import Channel, free_address, listen
from mlx_engine.network.frames import ChannelClosed, read_frame, write_frame
from mlx_engine.ring.model_copy import receive_model, remove_copies
from mlx_engine.ring.pairing import WorkerIdentity, meet_leader
from mlx_engine.ring.rank import start_rank
from mlx_engine.ring.ring_plan import ALIVE_S, SILENT_S
from mlx_engine.ring.worker_models import copies_folder, find_model

log = logging.getLogger(__name__)

_MOST_STRANGERS = 16  # connections that haven't shown the code
_REFUSED_S = 0.1  # until connections are accepted again after an error
# Messages for the rank; see `FollowedTarget`. Others, such as one with a folder to read, aren't passed on
_REPEATED = frozenset("measure pass caches free rewind finish cut copy freeze thaw".split())
_BUSY_S = SILENT_S + 5.0  # in which an earlier connection ends, even if its cable was pulled


class _Strangers:
    """Connections that haven't shown the code.

    If there are too many, the oldest is ended.
    """

    def __init__(self) -> None:
        self._open: dict[Channel, None] = {}
        self._changed = threading.Condition()

    def add(self, channel: Channel) -> None:
        with self._changed:
            while len(self._open) >= _MOST_STRANGERS:
                with suppress(OSError):  # the other side has ended it
                    next(iter(self._open)).shut_down()
                self._changed.wait(_REFUSED_S)
            self._open[channel] = None

    def remove(self, channel: Channel) -> None:
        with self._changed:
            self._open.pop(channel, None)
            self._changed.notify_all()


class WorkerService:
    """Runs ranks for one leader at a time.

    Args:
        identity: what leaders know it by.
        host: address to wait on. MLX's exchange uses the address that the leader connects to.
        port: where to wait; 0 for any free port.
        folders: models to find, besides those of the library.
        copies: folder for copies of models that this computer doesn't have; by default `copies_folder`.
        silent_s: seconds after which a silent leader counts as lost.

    Raises:
        OSError: the address can't be used.
    """

    def __init__(
        self,
        identity: WorkerIdentity,
        host: str,
        port: int = 0,
        folders: Sequence[Path] = (),
        copies: Path | None = None,
        silent_s: float = SILENT_S,
    ) -> None:
        self._identity, self._context, self._folders, self._silent_s = identity, identity.context(), folders, silent_s
        self._copies = copies or copies_folder()
        self._server = listen(host, port)
        self.port: int = self._server.getsockname()[1]
        self._busy, self._strangers = threading.Lock(), _Strangers()

    def serve(self) -> None:
        """Serve leaders, without end."""
        while True:
            try:
                channel = Channel.accepted(self._server)
            except OSError as error:
                log.warning("A connection can't be accepted: %s", error.strerror)
                time.sleep(_REFUSED_S)
                continue
            if channel is not None:
                self._strangers.add(channel)
                threading.Thread(target=self._serve_leader, args=(channel,), daemon=True).start()

    def _serve_leader(self, channel: Channel) -> None:
        try:
            if not meet_leader(channel, self._identity, self._context):
                log.warning("A computer with a wrong pairing code was refused.")
                return
            self._strangers.remove(channel)
            match _next(channel, self._silent_s):  # a leader that only pairs sends nothing
                case ["model", str(config), str(weights)]:
                    self._run_rank(channel, config, weights)
        except ChannelClosed:
            pass
        finally:
            channel.close()
            self._strangers.remove(channel)

    def _run_rank(self, channel: Channel, config: str, weights: str) -> None:
        ended = threading.Event()
        living = threading.Thread(target=_live, args=(channel, ended), daemon=True)
        living.start()
        is_free = self._busy.acquire(timeout=_BUSY_S)
        try:
            if not is_free:
                channel.send(["failed", "It is used by another computer."])
                return
            copied = self._copies / hashlib.sha256(f"{config} {weights}".encode()).hexdigest()[:32]
            folder = find_model(config, weights, [*self._folders, copied])
            channel.send(["model", folder is not None])
            if folder is None:
                log.info("The model is being copied to “%s”.", copied)
                receive_model(copied, partial(_next, channel, self._silent_s), channel.send)
                folder = find_model(config, weights, [copied])
                if folder is None:  # otherwise it would never be sent again
                    remove_copies(copied)
                    channel.send(["failed", "The copy of the model was damaged, so it was deleted."])
            if folder is not None:
                log.info("“%s” is used by another computer.", model_name(folder))
                try:
                    _RankRun(channel, folder, ended, self._silent_s).run()
                finally:
                    log.info("Disconnected.")
        except UserError as error:
            channel.send(["failed", str(error)])
        finally:
            ended.set()
            living.join()
            if is_free:
                self._busy.release()


def _next(channel: Channel, silent_s: float) -> Any:
    """Return the next message that isn't a sign of life."""
    while (message := channel.receive(silent_s)) == ["alive"]:
        pass
    return message


def _live(channel: Channel, ended: threading.Event) -> None:
    """Send signs of life until `ended`."""
    with suppress(ChannelClosed):
        while not ended.wait(ALIVE_S):
            channel.send(["alive"])


class _RankRun:
    """One rank's child process, and its messages to and from the leader.

    Args:
        ended: is set when the child has ended.
        silent_s: seconds after which a silent leader counts as lost.
    """

    def __init__(self, channel: Channel, folder: Path, ended: threading.Event, silent_s: float) -> None:
        self._channel, self._folder, self._ended, self._silent_s = channel, folder, ended, silent_s
        self._child, self._requests, self._answers = start_rank("mlx_engine.ring.follower")

    def run(self) -> None:
        """Pass messages on until the leader is gone or the child has ended."""
        answering = threading.Thread(target=self._answer, daemon=True)
        answering.start()
        try:
            self._channel.send(["address", free_address(self._channel.local_host)])
            while True:
                match self._channel.receive(self._silent_s):
                    case ["alive"]:
                        pass
                    case ["ring", int(rank), [*addresses]]:
                        write_frame(self._requests, [rank, addresses, str(self._folder)])
                    case [str(what), *values] if what in _REPEATED:
                        write_frame(self._requests, [what, *values])
                    case _:
                        raise ChannelClosed("ended")
        except (BrokenPipeError, ValueError):  # the child has ended, which `_answer` reports
            answering.join(self._silent_s)
        finally:
            self._ended.set()
            self._child.kill()
            answering.join()
            with suppress(BrokenPipeError), self._child:
                pass

    def _answer(self) -> None:
        """Pass on what the child answers, until it has ended."""
        with suppress(ChannelClosed):
            while True:
                self._channel.send(read_frame(self._answers))
        with suppress(ChannelClosed):
            if not self._ended.is_set():
                self._channel.send(["failed", "The process that runs the model has ended."])
        self._ended.set()
