"""Energy used by the processor, from Linux's powercap counters. Unknown on other systems."""

from pathlib import Path

_COUNTERS = Path("/sys/class/powercap")


class Meter:
    """Adds up the energy of all processor packages.

    Args:
        folder: where the counters are.
    """

    def __init__(self, folder: Path = _COUNTERS) -> None:
        self._packages: list[tuple[Path, int]] = []  # counter, and the value at which it wraps
        self._last: list[int] = []
        try:
            for package in sorted(folder.glob("*-rapl:[0-9]")):
                self._packages.append((package / "energy_uj", int((package / "max_energy_range_uj").read_text())))
            self._last = self._read()
        except (OSError, ValueError):  # on many systems only root may read them
            self._packages = []

    @property
    def known(self) -> bool:
        """Whether counters can be read."""
        return bool(self._packages)

    def joules(self) -> float | None:
        """Return the energy used since the last call, or since the meter was created; None if unknown."""
        if not self._packages:
            return None
        try:
            now = self._read()
        except (OSError, ValueError):
            self._packages = []
            return None
        ranges = (wraps for _, wraps in self._packages)
        used = sum((b - a) % (wraps + 1) for a, b, wraps in zip(self._last, now, ranges, strict=True))
        self._last = now
        return used / 1e6

    def _read(self) -> list[int]:
        return [int(path.read_text()) for path, _ in self._packages]
