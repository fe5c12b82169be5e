"""What the processes of all ranks do alike."""

import os
import subprocess
import tempfile
from typing import IO, Any, BinaryIO

from mlx_engine.hardware.child_process import module_command


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

    Waits for them as long as it takes, and stops all other threads.

    Raises:
        RuntimeError: they can't be reached.
    """
    import mlx.core as mx

    with tempfile.NamedTemporaryFile("w", suffix=".json") as hosts:
        hosts.write("[" + ",".join(f'["{address}"]' for address in addresses) + "]")
        hosts.flush()
        os.environ |= {"MLX_RANK": str(rank), "MLX_HOSTFILE": hosts.name}
        return mx.distributed.init(strict=True, backend="ring")
