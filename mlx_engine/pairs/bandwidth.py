"""How fast downloads may be, as the user wants it: kept between runs, and by the window and the terminal alike."""

from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs.checkpoint_paths import data_folder, read_json, write_json

_MOST = 1e12  # bytes a second; more is no limit


def kept_limit() -> float | None:
    """Bytes a second; None: no limit."""
    try:
        raw = read_json(_file())
    except UserError:
        return None
    rate = raw.get("bytes_per_s") if isinstance(raw, dict) else None
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate < _MOST:
        return None
    return float(rate)


def keep_limit(rate: float | None) -> None:
    """Hold every download to that, from now on.

    Raises:
        UserError: it cannot be kept.
    """
    write_json(_file(), {"bytes_per_s": rate})


def _file() -> Path:
    return data_folder() / "bandwidth.json"
