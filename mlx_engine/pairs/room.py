"""How much memory models may take on this machine, at most and just now. No MLX."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from mlx_engine.events import MachineFacts

_RECOMMENDED = 3 / 4  # of a machine's memory, where nothing was measured; about what Metal recommends
_ALLOCATES, _AT_MOST = 1.5, 0.95  # MLX allocates up to 1.5 working sets or 95 % of the memory (its Metal allocator); then it fails


def all_memory() -> int | None:
    """Bytes of memory that this machine has; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None


@cache
def machine_model() -> str:
    """What the maker calls this machine's model, such as Mac15,6; empty where the system does not say."""
    if os.uname().sysname != "Darwin":
        return ""
    try:
        told = subprocess.run(["/usr/sbin/sysctl", "-n", "hw.model"], capture_output=True, text=True, timeout=5, check=True)
        return told.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def working_set(facts: MachineFacts | None) -> int | None:
    """Bytes that a pair and all its buffers may take: measured, else three quarters of the memory."""
    if facts is not None:
        return facts.working_set_bytes
    memory = all_memory()
    return None if memory is None else int(memory * _RECOMMENDED)


def ceiling(facts: MachineFacts | None) -> int | None:
    """Bytes from which on MLX cannot allocate at all."""
    memory, budget = facts.memory_bytes if facts else all_memory(), working_set(facts)
    return None if memory is None or budget is None else int(min(_ALLOCATES * budget, _AT_MOST * memory))


def free_memory() -> int | None:
    """Bytes that could be had just now without paging anything out; None where the system does not say."""
    try:
        if os.uname().sysname == "Darwin":
            told = subprocess.run(["/usr/bin/vm_stat"], capture_output=True, text=True, timeout=5, check=True).stdout
            return free_by_vm_stat(told)
        return free_by_meminfo(Path("/proc/meminfo").read_text(encoding="ascii"))
    except (OSError, ValueError, subprocess.SubprocessError, AttributeError):
        return None


def free_by_meminfo(told: str) -> int | None:
    """The kernel's own estimate, in Linux' /proc/meminfo."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def free_by_vm_stat(told: str) -> int | None:
    """Pages that are free or can be had at once (speculative, purgeable, of files), as macOS' vm_stat prints them."""
    size = re.search(r"page size of (\d+) bytes", told)
    counts = {name: int(count) for name, count in re.findall(r"^(Pages [a-z ]+|File-backed pages):\s+(\d+)\.$", told, re.MULTILINE)}
    if size is None or "Pages free" not in counts:
        return None
    names = ("Pages free", "Pages purgeable", "File-backed pages")  # speculative pages are among the file-backed ones
    return int(size[1]) * sum(counts.get(name, 0) for name in names)
