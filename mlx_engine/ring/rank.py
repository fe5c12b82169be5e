"""What the processes of all ranks do alike."""

import json
import os
import signal
import subprocess
import tempfile
from typing import IO, Any, BinaryIO

from mlx_engine.hardware.child_process import module_command
from mlx_engine.ring.worker_address import is_rank_address

_JOIN_S = 300  # longer than the other side waits for a sign of life


def start_rank(module: str) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """Start a rank's process. Return it, and the pipes to and from it."""
    process = subprocess.Popen(
        module_command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # MLX reports lost ranks there
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    return process, process.stdin, process.stdout


def own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes to the parent. What a library prints goes to standard error."""
    reads, writes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return reads, writes


def join_ring(rank: int, addresses: list[str]) -> Any:
    """Connect to the other ranks, and return MLX's group.

    Waits for them, and stops all other threads. If it waits for minutes, the system ends this process, whose parent may be gone.

    Raises:
        RuntimeError: they can't be reached, or an address isn't one.
    """
    if not all(map(is_rank_address, addresses)):
        raise RuntimeError("An address isn't valid.")
    import mlx.core as mx

    with tempfile.NamedTemporaryFile("w", suffix=".json") as hosts:
        hosts.write(json.dumps([[address] for address in addresses]))
        hosts.flush()
        os.environ |= {"MLX_RANK": str(rank), "MLX_HOSTFILE": hosts.name}
        signal.alarm(_JOIN_S)
        try:
            return mx.distributed.init(strict=True, backend="ring")
        finally:
            signal.alarm(0)
