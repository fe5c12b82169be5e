"""What ranks do alike: they join a ring, or end."""

import signal
import subprocess
import sys

import pytest

from mlx_engine.network.channel import free_address
from mlx_engine.ring.rank import join_ring
from mlx_engine.ring.worker_address import is_rank_address

WAIT = """
from mlx_engine.ring import rank
rank._JOIN_S = 1
rank.join_ring(0, {addresses})
"""


def test_a_rank_that_waits_for_others_without_end_is_ended() -> None:
    """Its threads are stopped, so it wouldn't notice that its parent was killed."""
    program = WAIT.format(addresses=[free_address("127.0.0.1"), "192.0.2.1:9"])
    assert subprocess.run([sys.executable, "-c", program], timeout=120, check=False).returncode == -signal.SIGALRM


@pytest.mark.parametrize(
    "address", ["mac.local:1", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:1\n", '10.0.0.1"],["b:1', "10.0.0.1:65536", ""]
)
def test_only_addresses_join_a_ring(address: str) -> None:
    assert not is_rank_address(address)
    with pytest.raises(RuntimeError):
        join_ring(1, ["10.0.0.1:9000", address])


@pytest.mark.parametrize("address", ["10.0.0.1:9000", "127.0.0.1:65535", "fe80::1:80"])
def test_addresses_are_recognized(address: str) -> None:
    assert is_rank_address(address)
