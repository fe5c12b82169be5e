"""`slipstream doctor`: check this machine and installation."""

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import platformdirs

from mlx_engine.cli.console import print_json, say
from mlx_engine.cli.session import folders, open_pair
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.conditions import Conditions
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import CompareResult
from mlx_engine.contract.requests import Compare, GenerationRequest, Message
from mlx_engine.engine.bridge import to_iter
from mlx_engine.hardware import blas, sensors
from mlx_engine.hardware.machine import installed_gb, total_memory

_SETUP = "Run `make run` to install missing packages."
_WIDTH = 4  # rows per round
_REPORT = "Please report this problem."


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check, and advice on how to fix problems."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""


def run(args: argparse.Namespace, client: EngineClient) -> int:
    """Print all checks. Return 1 if one failed, otherwise 0."""
    checks = []
    for check in examine(args, client):
        checks.append(check)
        if not args.json:
            say(f"{check.state:5} {check.name:16} {check.detail}")
            if check.advice:
                say(f"{'':22} → {check.advice}")
    errors, warnings = (sum(check.state == state for check in checks) for state in ("fail", "warn"))
    if args.json:
        print_json({"ok": not errors, "findings": [asdict(check) for check in checks]})
    else:
        counts = ((errors, "error"), (warnings, "warning"))
        found = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)
        say(f"{found}." if found else "No problems found.")
    return 1 if errors else 0


def examine(args: argparse.Namespace, client: EngineClient) -> Iterator[Diagnosis]:
    """Yield all checks, quick ones first."""
    yield _python()
    yield _platform()
    yield _package("mlx", "mlx")
    yield _package("mlx-lm", "mlx-lm")
    yield _blas()
    yield _device()
    yield _memory()
    yield diagnose_conditions(sensors.read())
    yield _pair(args, client)
    yield _package("window", "PySide6-Essentials", missing="warn")
    yield _folder("data", platformdirs.user_data_path("Slipstream", appauthor=False))
    yield _folder("settings", platformdirs.user_config_path("Slipstream", appauthor=False))
    yield _folder("logs", platformdirs.user_log_path("Slipstream", appauthor=False))


def _python() -> Diagnosis:
    detail = f"{platform.python_version()} in {sys.prefix}"
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Diagnosis("Python", "ok", detail)
    return Diagnosis("Python", "fail", detail, "Use Python 3.11, 3.12, or 3.13.")


def _platform() -> Diagnosis:
    if sys.platform != "darwin":
        return Diagnosis("platform", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")
    release = platform.mac_ver()[0]
    detail = f"macOS {release}, {platform.machine()}"
    if platform.machine() != "arm64":
        return Diagnosis("platform", "fail", detail, "MLX needs Apple silicon (M1 or later) and a terminal without Rosetta.")
    if int(release.split(".")[0]) < 14:
        return Diagnosis("platform", "fail", detail, "Update to macOS 14 or later.")
    return Diagnosis("platform", "ok", detail)


def _package(name: str, package: str, missing: Literal["warn", "fail"] = "fail") -> Diagnosis:
    try:
        return Diagnosis(name, "ok", f"{package} {version(package)}")
    except PackageNotFoundError:
        return Diagnosis(name, missing, f"{package} isn't installed", _SETUP)


def _blas() -> Diagnosis:
    try:
        in_use = blas.prepare()
    except UserError as error:
        return Diagnosis("BLAS", "fail", str(error))
    threads = f", {in_use.threads} thread{'' if in_use.threads == 1 else 's'}" if in_use.threads else ""
    detail = f"{in_use.name}{threads}: {in_use.detail}"
    if in_use.name != "wheel":
        return Diagnosis("BLAS", "ok", detail)
    advice = "DFlash gains little with this BLAS. Install OpenBLAS with: sudo apt-get install libopenblas0-pthread"
    if os.environ.get("SLIPSTREAM_BLAS") == "wheel":
        advice = "DFlash gains little with this BLAS. Unset SLIPSTREAM_BLAS to use OpenBLAS."
    return Diagnosis("BLAS", "warn", detail, advice)


def _device() -> Diagnosis:
    try:
        import mlx.core as mx

        metal = mx.default_device() == mx.Device(mx.gpu)
        name = mx.device_info().get("device_name", "") if metal else platform.processor() or platform.machine()
    except Exception as error:  # MLX raises many types if its library or Metal is missing
        return Diagnosis("device", "fail", f"MLX doesn't start: {error}", _SETUP)
    if metal:
        return Diagnosis("device", "ok", f"Metal, {name}")
    detail = f"CPU, {os.cpu_count()} cores ({name})"
    if sys.platform == "darwin":
        return Diagnosis("device", "warn", detail, "MLX can't use the GPU, so replies will be slow.")
    return Diagnosis("device", "ok", detail)


def _memory() -> Diagnosis:
    total = total_memory()
    if total is None:
        return Diagnosis("memory", "warn", "unknown", "This system doesn't report its memory.")
    detail = f"{installed_gb(total)} GB"
    if total < 4 * 2**30:
        return Diagnosis("memory", "warn", detail, "This is enough for the demo pair, but larger models need more.")
    return Diagnosis("memory", "ok", detail)


def diagnose_conditions(now: Conditions) -> Diagnosis:
    """Report what slows the computer down now: heat, power, memory."""
    name, detail = "conditions", str(now)
    if now.is_hot:
        return Diagnosis(name, "warn", detail, "The computer is hot, and slows down. Let it cool.")
    if now.saves_power:
        return Diagnosis(name, "warn", detail, "Low Power Mode slows replies down. Turn it off for full speed.")
    if now.pressure == "critical":
        return Diagnosis(name, "warn", detail, "Memory is almost full. Quit other apps.")
    return Diagnosis(name, "ok", detail)


def _pair(args: argparse.Namespace, client: EngineClient) -> Diagnosis:
    name = "pair" if args.target else "demo pair"
    question = (Message("user", "How many divisors does 84 have?"),)
    result: CompareResult | None = None
    try:
        info = open_pair(client, args)
        if info.why_plain:
            return Diagnosis(name, "warn", f"loads, but decodes plainly: {info.why_plain}", "Add --drafter DIR to check DFlash.")
        # At a fixed width, tokens are drafted even if few are accepted
        request = GenerationRequest(messages=question, max_tokens=32, ignore_eos=True, width=min(_WIDTH, info.block_size))
        for event in to_iter(client, Compare((request,))):
            result = event if isinstance(event, CompareResult) else result
    except UserError as error:
        advice = "" if args.target else f"Can't use the demo pair in {folders(args)[0].parent}. Download Slipstream again."
        return Diagnosis(name, "fail", str(error), advice)
    assert result is not None, "a comparison ends with a result"
    plain, drafted = result.results
    count, token = len(plain.replies[0].tokens), drafted.difference.at + 1 if drafted.difference else 0
    drafter = f" (drafter in {info.drafter_weights}{', tuned' if info.tuned else ''})" if info.drafter_weights else ""
    loads = f"{info.name} loads{drafter}"
    stats = drafted.replies[0].stats
    if (few := stats.few_accepted) and drafted.verdict != "different":
        share = stats.acceptance or 0
        detail = f"{loads}; only {share:.0%} of the drafted tokens were accepted, probably because {few}"
        return Diagnosis(name, "warn", detail, "DFlash gains nothing with this drafter. Choose another one.")
    if drafted.verdict == "identical":
        return Diagnosis(name, "ok", f"{loads}; DFlash and plain decoding agree on {count} of {count} tokens")
    if drafted.verdict == "tie":
        return Diagnosis(name, "ok", f"{loads}; plain decoding differs from token {token} of {count}, within rounding error")
    return Diagnosis(name, "fail", f"{loads}, but plain decoding differs from token {token} of {count}", _REPORT)


def _folder(name: str, folder: Path) -> Diagnosis:
    """Check write access to a folder or its nearest existing parent."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Diagnosis(name, "ok", str(folder))
    advice = f"Make {existing} writable (needed only for the window)."
    return Diagnosis(name, "warn", f"{folder} can't be written to", advice)
