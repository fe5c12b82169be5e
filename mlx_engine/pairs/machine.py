"""Where the facts of this machine are kept between two starts. Reading them imports no MLX."""

import os
from dataclasses import asdict, fields
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path

import platformdirs

from mlx_engine.errors import UserError
from mlx_engine.events import MachineFacts
from mlx_engine.pairs.checkpoint_paths import read_json, write_json


def file() -> Path:
    """The file that holds them."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / "machine.json"


def known() -> MachineFacts | None:
    """What was measured here earlier; None if nothing was, if it cannot be read, or if processor or MLX have changed since."""
    try:
        kept = read_json(file())
        facts = MachineFacts(**{field.name: kept[field.name] for field in fields(MachineFacts)})
        rates = (float(facts.bandwidth), float(facts.compute))
        if not all(isfinite(rate) and rate > 0 for rate in rates) or (facts.cores, facts.mlx) != (os.cpu_count(), version("mlx")):
            return None
        return facts
    except (UserError, ValueError, KeyError, TypeError, PackageNotFoundError):
        return None


def keep(facts: MachineFacts) -> bool:
    """Keep them for later; False where the folder cannot be written to, which is no error."""
    try:
        write_json(file(), asdict(facts))
    except UserError:
        return False
    return True
