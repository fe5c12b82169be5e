"""`slipstream doctor`: this machine and this installation, line by line, with what to do about what is amiss."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import platformdirs

from mlx_engine import blas
from mlx_engine.errors import UserError
from mlx_engine.events import CompareResult, Failed
from mlx_engine.requests import CompareRequest, GenerationRequest, Message
from mlx_engine.terminal.pair import MakeEngine, folders, open_pair

_SETUP = "Run `make run` once: it installs what is missing."


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and what to do if it is not well."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""


def run(given: argparse.Namespace, make_engine: MakeEngine) -> int:
    """Print every finding; 1 when one is a failure."""
    findings = []
    for finding in examine(given, make_engine):
        findings.append(finding)
        if not given.json:
            print(f"{finding.state:5} {finding.name:16} {finding.detail}")
            if finding.advice:
                print(f"{'':22} → {finding.advice}", flush=True)
    failed = sum(finding.state == "fail" for finding in findings)
    if given.json:
        print(json.dumps({"ok": not failed, "findings": [asdict(finding) for finding in findings]}, ensure_ascii=False))
    else:
        warned = sum(finding.state == "warn" for finding in findings)
        print(f"{failed} to mend, {warned} to look at." if failed or warned else "All is well.")
    return 1 if failed else 0


def examine(given: argparse.Namespace, make_engine: MakeEngine) -> Iterator[Finding]:
    """All findings, the quick ones first."""
    yield _python()
    yield _platform()
    yield _package("mlx", "mlx")
    yield _package("mlx-lm", "mlx-lm")
    yield _blas()
    yield _device()
    yield _memory()
    yield _pair(given, make_engine)
    yield _package("window", "PySide6-Essentials", missing="warn")
    for name, place in (
        ("data", platformdirs.user_data_path("Slipstream", appauthor=False)),
        ("settings", platformdirs.user_config_path("Slipstream", appauthor=False)),
        ("logs", platformdirs.user_log_path("Slipstream", appauthor=False)),
    ):
        yield _folder(name, place)


def _python() -> Finding:
    detail = f"{platform.python_version()} in {sys.prefix}"
    if (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Finding("Python", "ok", detail)
    return Finding("Python", "fail", detail, "Use Python 3.11, 3.12 or 3.13.")


def _platform() -> Finding:
    if sys.platform == "darwin":
        release = platform.mac_ver()[0]
        detail = f"macOS {release}, {platform.machine()}"
        if platform.machine() != "arm64":
            return Finding("platform", "fail", detail, "MLX needs Apple silicon (M1 or later) and a terminal without Rosetta.")
        if int(release.split(".")[0]) < 14:
            return Finding("platform", "fail", detail, "Update to macOS 14 or newer.")
        return Finding("platform", "ok", detail)
    return Finding("platform", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")


def _package(name: str, package: str, missing: Literal["warn", "fail"] = "fail") -> Finding:
    try:
        return Finding(name, "ok", f"{package} {version(package)}")
    except PackageNotFoundError:
        return Finding(name, missing, f"{package} is not installed", _SETUP)


def _blas() -> Finding:
    try:
        in_use = blas.prepare()
    except UserError as error:
        return Finding("BLAS", "fail", str(error))
    threads = f", {in_use.threads} thread{'' if in_use.threads == 1 else 's'}" if in_use.threads else ""
    detail = f"{in_use.name}{threads}: {in_use.detail}"
    if in_use.name != "wheel":
        return Finding("BLAS", "ok", detail)
    advice = "Checking many tokens at once gains little with it. For a fast one: sudo apt-get install libopenblas0-pthread"
    if os.environ.get("SLIPSTREAM_BLAS") == "wheel":
        advice = "Asked for by SLIPSTREAM_BLAS=wheel; checking many tokens at once gains little with it."
    return Finding("BLAS", "warn", detail, advice)


def _device() -> Finding:
    try:
        import mlx.core as mx

        metal = mx.default_device() == mx.Device(mx.gpu)
        name = mx.device_info().get("device_name", "") if metal else platform.processor() or platform.machine()
    except Exception as error:  # MLX fails in many ways where its library or Metal is missing
        return Finding("device", "fail", f"MLX does not start: {error}", _SETUP)
    if metal:
        return Finding("device", "ok", f"Metal, {name}")
    detail = f"CPU, {os.cpu_count()} cores ({name})"
    if sys.platform == "darwin":
        return Finding("device", "warn", detail, "MLX does not see the graphics processor, so replies are slow.")
    return Finding("device", "ok", detail)


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return Finding("memory", "warn", "not known", "This system does not tell how much memory it has.")
    detail = f"{total / 2**30:.1f} GiB"
    if total < 4 * 2**30:
        return Finding("memory", "warn", detail, "Enough for the demo pair; larger models need more.")
    return Finding("memory", "ok", detail)


def _pair(given: argparse.Namespace, make_engine: MakeEngine) -> Finding:
    """Load the pair and compare a few tokens: the main job, in small."""
    name = "pair" if given.target else "demo pair"
    place = folders(given)[0].parent
    request = GenerationRequest(messages=(Message("user", "How many divisors does 84 have?"),), max_tokens=32, ignore_eos=True)
    try:
        engine, info = open_pair(make_engine, given)
        if info.why_plain:
            return Finding(name, "warn", f"loads; plain decoding only: {info.why_plain}", "Add --drafter DIR to check DFlash.")
        result = None
        for event in engine.compare(CompareRequest(request)):
            if isinstance(event, Failed):
                return Finding(name, "fail", event.message)
            result = event if isinstance(event, CompareResult) else result
    except UserError as error:
        return Finding(name, "fail", str(error), "" if given.target else f"The demo pair belongs in {place}; get Slipstream anew.")
    assert result is not None, "a comparison ends with its result"
    count = len(result.plain.tokens)
    loads = f"{info.name} loads" + (f" (drafter in {info.drafter_weights})" if info.drafter_weights else "")
    if result.verdict == "identical":
        return Finding(name, "ok", f"{loads}; DFlash and plain decoding agree on {count} of {count} tokens")
    at = (result.first_difference or 0) + 1
    if result.verdict == "tie":
        return Finding(name, "ok", f"{loads}; the texts part at token {at} of {count}, at a tie within rounding")
    return Finding(name, "fail", f"{loads}, but the texts part at token {at} of {count}", "Please report this.")


def _folder(name: str, place: Path) -> Finding:
    """Can the app write there? Asked of the nearest folder that exists; nothing is made."""
    existing = next(path for path in (place, *place.parents) if path.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Finding(name, "ok", str(place))
    advice = f"Make {existing} writable. The commands in the terminal write nothing there and work without it."
    return Finding(name, "warn", f"{place} cannot be written to", advice)
