"""Calibration results in the user's cache folder, a file per pair and machine."""

import hashlib
import json
import os
import platform
import re
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlx.core as mx
import platformdirs

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_json, write_json
from mlx_engine.hardware.machine import machine_model
from mlx_engine.loading.loaded_pair import LoadedPair

_VERSIONS = ("format", "mlx", "system", "kernel_sources")


def folder(kind: str) -> Path:
    """Return the folder for one kind of result."""
    return platformdirs.user_cache_path("Slipstream", appauthor=False) / kind


def identity(pair: LoadedPair) -> dict[str, Any]:
    """Return what all results depend on: pair, machine, and MLX, as JSON types."""
    info = pair.info
    device = mx.device_info().get("device_name", "") if mx.metal.is_available() else platform.processor()
    return {
        "pair": [info.target, info.target_bytes, info.drafter, info.drafter_bytes, info.drafter_weights, info.family],
        "dtype": str(pair.dtype),
        # No host name, because it changes with the network
        "machine": [platform.machine(), machine_model(), str(device), os.cpu_count()],
        "mlx": version("mlx"),
    }


def read(kind: str, of: dict[str, Any]) -> Any:
    """Return the result saved for `of`, or None if it is missing or damaged."""
    try:
        found = read_json(_file(kind, of))
        return found["result"] if found["of"] == of else None
    except (UserError, KeyError, TypeError):
        return None


def write(kind: str, of: dict[str, Any], result: Any) -> bool:
    """Save a result; return False if the folder isn't writable."""
    try:
        write_json(_file(kind, of), {"measured": time.time(), "of": of, "result": result})
    except UserError:
        return False
    return True


def _file(kind: str, of: dict[str, Any]) -> Path:
    """Return a result's file, without versions in its name.

    Newer results thus replace older ones.
    """
    key = {name: value for name, value in of.items() if name not in _VERSIONS}
    name = re.sub(r"[^\w.-]+", "-", str(of["pair"][0]))[-60:]
    return folder(kind) / f"{name}-{hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]}.json"
