"""This machine's memory and saved measurements."""

import os
import re
import subprocess
import sys
from dataclasses import asdict, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path

import platformdirs

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_json, write_json
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.hardware import cgroup

_RECOMMENDED = 3 / 4  # of the memory, without measurements; roughly what Metal recommends
# MLX's Metal allocator fails beyond 1.5 working sets or 95 % of the memory
_WORKING_SETS, _MEMORY_SHARE = 1.5, 0.95


def facts_file() -> Path:
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "machine.json"


def load_facts() -> MachineFacts | None:
    """Return saved measurements, or None if the processor or MLX has changed."""
    try:
        saved = read_json(facts_file())
        facts = MachineFacts(**{field.name: saved[field.name] for field in fields(MachineFacts)})
        rates = (float(facts.bandwidth), float(facts.compute))
        if not all(isfinite(rate) and rate > 0 for rate in rates) or (facts.cores, facts.mlx) != (os.cpu_count(), version("mlx")):
            return None
        return facts
    except (UserError, ValueError, KeyError, TypeError, PackageNotFoundError):
        return None


def save_facts(facts: MachineFacts) -> bool:
    try:
        write_json(facts_file(), asdict(facts))
    except UserError:
        return False
    return True


def total_memory() -> int | None:
    """Return the bytes of memory, or None if unknown.

    That of the machine, or of this process's control group if that has less.
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None
    return min(memory, cgroup.memory_limit() or memory)


def installed_gb(count: int) -> int:
    """Return installed memory in GB of 2**30 bytes, as sold and as shown by macOS."""
    return round(count / 2**30)


@cache
def machine_model() -> str:
    """Return the Mac's model identifier, such as Mac15,6, or "" elsewhere."""
    if os.uname().sysname != "Darwin":
        return ""
    try:
        return _output("/usr/sbin/sysctl", "-n", "hw.model").strip()
    except (OSError, subprocess.SubprocessError):
        return ""


@cache
def has_accelerators() -> bool:
    """Return whether MLX can use accelerators of this Mac's GPU: its newest kernels."""
    if os.uname().sysname != "Darwin":
        return False
    try:
        chip = _output("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    except (OSError, subprocess.SubprocessError):
        return False
    return accelerated(chip, os.uname().release)


def accelerated(chip: str, kernel: str) -> bool:
    """Return whether MLX can use accelerators of a chip such as "Apple M5 Max".

    The kernel's release stands for that of macOS, which is reported as 16 to programs built for earlier ones: 25.2 is macOS 26.2.
    """
    generation, release = re.search(r"\bM(\d+)\b", chip), re.match(r"(\d+)\.(\d+)", kernel)
    if generation is None or release is None:
        return False
    return int(generation[1]) >= 5 and (int(release[1]), int(release[2])) >= (25, 2)


def working_set(facts: MachineFacts | None) -> int | None:
    """Return the most bytes that a pair should use, or None if unknown."""
    memory, limit = total_memory(), cgroup.memory_limit()
    if facts is None:
        return None if memory is None else int(memory * _RECOMMENDED)
    return facts.working_set_bytes if limit is None else min(facts.working_set_bytes, int(limit * _RECOMMENDED))


def without_gpu(facts: MachineFacts | None) -> bool:
    """Return whether models run on the CPU alone."""
    # without measurements, Macs are assumed to have a GPU, and other machines none
    return facts.device == "CPU" if facts is not None else sys.platform != "darwin"


def allocation_limit(facts: MachineFacts | None) -> int | None:
    """Return the bytes beyond which MLX can't allocate, or None if unknown."""
    memory, budget = total_memory(), working_set(facts)
    if facts is not None:
        memory = min(facts.memory_bytes, cgroup.memory_limit() or facts.memory_bytes)
    return None if memory is None or budget is None else int(min(_WORKING_SETS * budget, _MEMORY_SHARE * memory))


def free_memory() -> int | None:
    """Return the bytes available without swapping, or None if unknown."""
    try:
        if os.uname().sysname == "Darwin":
            return free_by_vm_stat(_output("/usr/bin/vm_stat"))
        free = free_by_meminfo(Path("/proc/meminfo").read_text(encoding="ascii"))
        return None if free is None else min([free, *(group.available for group in cgroup.memory_groups())])
    except (OSError, ValueError, KeyError, subprocess.SubprocessError, AttributeError):
        return None


def free_by_meminfo(text: str) -> int | None:
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def free_by_vm_stat(text: str) -> int | None:
    size = re.search(r"page size of (\d+) bytes", text)
    counts = {name: int(count) for name, count in re.findall(r"^(Pages [a-z ]+|File-backed pages):\s+(\d+)\.$", text, re.MULTILINE)}
    if size is None or "Pages free" not in counts:
        return None
    names = ("Pages free", "Pages purgeable", "File-backed pages")  # file-backed pages include speculative ones
    return int(size[1]) * sum(counts.get(name, 0) for name in names)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
