"""Measured times in which several computers exchange the results of a layer."""

from contextlib import suppress

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import data_folder, read_json, write_json

_LONGEST = 60.0  # seconds; longer times are invalid


def link_seconds(ranks: int) -> float | None:
    """Return the latest time that was measured with this number of computers, or None."""
    found = _read().get(str(ranks))
    return float(found) if isinstance(found, int | float) and 0 < found < _LONGEST else None


def record_link(ranks: int, seconds: float) -> None:
    """Save a measured time. A full disk is ignored."""
    with suppress(UserError):
        write_json(data_folder() / "link.json", {**_read(), str(ranks): seconds})


def _read() -> dict[str, object]:
    try:
        found = read_json(data_folder() / "link.json")
    except UserError:
        return {}
    return found if isinstance(found, dict) else {}
