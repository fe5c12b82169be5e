"""Run the shell steps of a workflow's jobs on this machine, with stand-ins for what only a Mac or GitHub has.

Steps run in order as GitHub runs them: with its options for bash, conditions, expressions filled in, and the files that pass
variables and outputs on. `uses:` steps are left out.
"""

import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from tests.packaging import ROOT

JOBS = yaml.safe_load((ROOT / ".github/workflows/mac.yml").read_text(encoding="utf-8"))["jobs"]
COPIED = ("pyproject.toml", "CHANGELOG.md", "packaging")
# Real steps are only printed, because they would build, sign or send something; the last two work anywhere.
_PYTHON = f"""echo "python $*" >> "$CALLS"
case "$*" in
  "-m pip "*) ;;
  *"release.py keychain") cp -p "$RUNNER_TEMP"/* "$STATE"; exec "{sys.executable}" "$@" --dry-run ;;
  *"release.py checksums" | *"release.py notes") exec "{sys.executable}" "$@" ;;
  *"release.py "*) exec "{sys.executable}" "$@" --dry-run ;;
  *) exec "{sys.executable}" "$@" ;;
esac"""
_SELF_TEST = """echo "$0 $*" >> "$CALLS"; echo '{"ok": true}'; exit "${GPU_STATUS:-0}" """
STAND_INS = {
    "bin/python": _PYTHON,
    "bin/xcrun": """echo "xcrun $*" >> "$CALLS"; [ -e "$STATE/toolchain" ] || { echo "missing Metal Toolchain" >&2; exit 1; }""",
    "bin/xcodebuild": """echo "xcodebuild $*" >> "$CALLS"; touch "$STATE/toolchain" """,
    "bin/security": """echo "security $*" >> "$CALLS"; exit 1""",
    "bin/gh": """echo "gh $*" >> "$CALLS" """,
    "checkout/packaging/setup.sh": """echo "setup.sh $*" >> "$CALLS" """,
    "checkout/packaging/test.sh": """echo "test.sh $*" >> "$CALLS" """,
    "checkout/.venv/bin/python": """echo "venv $*" >> "$CALLS"
case "$*" in *" compile "*) exit "${COMPILE_STATUS:-0}" ;; *) echo '{"ok": true}'; exit "${GPU_STATUS:-0}" ;; esac""",
    "checkout/dist/macos14/Slipstream.app/Contents/MacOS/Slipstream": _SELF_TEST,
}


class Missing(str):
    """A value that a context lacks: empty, as are its parts."""

    def __getattr__(self, name: str) -> "Missing":
        return self


class Context(SimpleNamespace):
    """A context of expressions."""

    def __getattr__(self, name: str) -> Missing:
        return Missing()


def evaluate(expression: str, contexts: dict[str, Any]) -> Any:
    """Evaluate an expression of a workflow, as far as ours use them."""
    functions = {"startsWith": str.startswith, "always": lambda: True}
    return eval(expression.replace("&&", " and ").replace("||", " or "), {"__builtins__": {}}, {**functions, **contexts})


@dataclass
class JobRun:
    """What a job did."""

    failed: bool = False
    ran: list[str] = field(default_factory=list)  # names of steps
    calls: list[str] = field(default_factory=list)  # of stand-ins
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


def toolchain(folder: Path) -> Path:
    return folder / "state/toolchain"


def set_up(folder: Path) -> Path:
    """Create a checkout and the stand-ins in a folder."""
    for name in COPIED:
        source, target = ROOT / name, folder / "checkout" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name, code in STAND_INS.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{code}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    for name in ("state", "runner"):
        (folder / name).mkdir()
    toolchain(folder).touch()
    return folder


def run_job(
    folder: Path, name: str, secrets: dict[str, str] | None = None, ref: str = "refs/heads/main", **environment: str
) -> JobRun:
    """Run a job for the first entry of its matrix."""
    job, done = JOBS[name], JobRun()
    first = {key: value[0] for key, value in job.get("strategy", {}).get("matrix", {}).items()}
    contexts = {
        "secrets": Context(**(secrets or {})),
        "matrix": Context(**first.pop("include", first)),
        "github": Context(ref=ref, token="token-of-github"),
        "steps": Context(),
        "env": Context(),
    }
    passed = vars(contexts["env"])

    def filled(text: object) -> str:
        return re.sub(r"\$\{\{(.+?)\}\}", lambda match: str(evaluate(match[1].strip(), contexts)), str(text))

    passed.update({key: filled(value) for key, value in job.get("env", {}).items()})
    paths = {key: folder / f"state/{key}" for key in ("GITHUB_ENV", "GITHUB_OUTPUT", "CALLS")}
    outer = {
        **{key: str(path) for key, path in paths.items()},
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "RUNNER_TEMP": str(folder / "runner"),
        "STATE": str(folder / "state"),
        "GITHUB_REF_NAME": ref.rpartition("/")[2],
        **environment,
    }
    for path in paths.values():
        path.write_text("")
    for step in (step for step in job["steps"] if "run" in step):
        condition = str(step.get("if", "True"))
        if (done.failed and "always()" not in condition) or not evaluate(condition, contexts):
            continue
        own = {key: filled(value) for key, value in step.get("env", {}).items()}
        for key in ("GITHUB_ENV", "GITHUB_OUTPUT"):
            paths[key].write_text("")
        script = folder / "state/step.sh"
        script.write_text(filled(step["run"]))
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        result = subprocess.run(
            command, cwd=folder / "checkout", env={**outer, **passed, **own}, capture_output=True, text=True, timeout=300
        )
        done.ran.append(step["name"])
        done.log += result.stdout + result.stderr
        done.failed |= result.returncode != 0 and not step.get("continue-on-error", False)
        passed.update(_variables(paths["GITHUB_ENV"]))
        if "id" in step:
            setattr(contexts["steps"], step["id"], Context(outputs=Context(**_variables(paths["GITHUB_OUTPUT"]))))
    done.calls = paths["CALLS"].read_text().splitlines()
    done.outputs = {key: filled(value) for key, value in job.get("outputs", {}).items()}
    return done


def would_run(name: str, ref: str, **needed: JobRun) -> bool:
    """Return whether GitHub would start a job after the jobs that it needs."""
    job = JOBS[name]
    assert set(job["needs"]) == set(needed)
    needs = Context(**{other: Context(outputs=Context(**run.outputs)) for other, run in needed.items()})
    condition = evaluate(job["if"], {"github": Context(ref=ref), "needs": needs})
    return bool(condition) and not any(run.failed for run in needed.values())


def _variables(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines())
