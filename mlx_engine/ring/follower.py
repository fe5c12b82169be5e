"""The child process of a worker that runs a rank.

It repeats what rank 0 does until its standard input ends. If another rank is lost in a pass, MLX can wait forever or abort the
process, so the worker watches it, and ends it.
"""

import os
import queue
import threading
from pathlib import Path
from typing import Any, BinaryIO

from mlx_engine.contract.errors import UserError
from mlx_engine.network.frames import ChannelClosed, read_frame, write_frame
from mlx_engine.ring.rank import join_ring, own_pipes


def _receive(reads: BinaryIO, messages: "queue.SimpleQueue[Any]") -> None:
    """Queue messages, and end this process with its parent, even in a pass."""
    try:
        while True:
            messages.put(read_frame(reads))
    except ChannelClosed:
        os._exit(0)


def _follow(messages: "queue.SimpleQueue[Any]", writes: BinaryIO) -> None:
    from mlx_engine.hardware import blas, open_files

    blas.prepare()
    open_files.import_mlx_lm()
    from mlx_engine.hardware import memory
    from mlx_engine.loading.target_model import read_target
    from mlx_engine.targets.sharded import FollowedTarget, ShardedTarget
    from mlx_engine.targets.sharding import Sharding, exchange_seconds

    write_frame(writes, ["started"])
    rank, addresses, folder = messages.get()
    group = join_ring(rank, addresses)
    memory.bound_spare_buffers()
    steps = read_target(Path(folder), Sharding(group))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            target = end.value.wrapped()
            break
    assert isinstance(target, ShardedTarget)
    followed = FollowedTarget(target)
    write_frame(writes, ["loaded"])
    with memory.wired():
        while True:
            if (message := messages.get()) == ["measure"]:
                exchange_seconds(group)
            elif followed.repeat(*message):
                write_frame(writes, ["passed"])


def main() -> None:
    """Follow rank 0, and end."""
    reads, writes = own_pipes()
    messages = queue.SimpleQueue[Any]()
    threading.Thread(target=_receive, args=(reads, messages), name="messages", daemon=True).start()
    try:
        _follow(messages, writes)
    except BaseException as error:
        write_frame(writes, ["failed", str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"])
    os._exit(0)  # otherwise MLX could wait for other ranks


if __name__ == "__main__":
    main()
