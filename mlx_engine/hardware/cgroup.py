"""Memory limits of control groups on Linux, as containers and systemd set them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")  # of the file system; tests have another one
_UNLIMITED = 1 << 60  # version 1 writes the largest multiple of a page for no limit


@dataclass(frozen=True)
class MemoryGroup:
    """A control group with a memory limit.

    Attributes:
        limit: bytes that its processes may use together.
        used: bytes that they use, without files that the kernel can drop, as in MemAvailable of the whole system.
        folder: where its files are.
    """

    limit: int
    used: int
    folder: Path

    @property
    def available(self) -> int:
        return max(self.limit - self.used, 0)


def memory_groups(root: Path | None = None) -> list[MemoryGroup]:
    """Return this process's groups with a memory limit; [] on a Mac.

    Raises:
        OSError, ValueError, KeyError: a file isn't as expected.
    """
    return [group for folder in _folders(root or ROOT) if (group := _group(folder)) is not None]


def memory_limit(root: Path | None = None) -> int | None:
    """Return the smallest limit, or None if there is none or it can't be read."""
    try:
        return min((group.limit for group in memory_groups(root)), default=None)
    except (OSError, ValueError, KeyError):
        return None


def _folders(root: Path) -> Iterator[Path]:
    """Yield the folders of this process's group and those above it.

    In a container, groups above its own aren't there.
    """
    listed = root / "proc/self/cgroup"
    if not listed.is_file():
        return
    for line in listed.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        relative = Path(path.lstrip("/"))
        for folder in (relative, *relative.parents):
            if (mount / folder).is_dir():
                yield mount / folder


def _group(folder: Path) -> MemoryGroup | None:
    if (folder / "memory.current").is_file():  # version 2
        limits = [text for name in ("memory.max", "memory.high") if (text := (folder / name).read_text().strip()) != "max"]
        used, prefix = "memory.current", ""
    elif (folder / "memory.limit_in_bytes").is_file():  # version 1
        limits, used, prefix = [(folder / "memory.limit_in_bytes").read_text()], "memory.usage_in_bytes", "total_"
    else:
        return None
    limit = min(map(int, limits), default=_UNLIMITED)
    if limit >= _UNLIMITED:
        return None
    stat = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
    files = sum(int(stat[f"{prefix}{kind}_file"]) for kind in ("active", "inactive"))
    return MemoryGroup(limit, max(int((folder / used).read_text()) - files, 0), folder)
