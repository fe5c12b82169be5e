"""The check that runs on Macs, as far as another machine can run it."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tests.metal_emulator import metal_kernel
from tests.strict_metal import on_gpu
from tests.strict_metal.__main__ import main
from tests.strict_metal.apple_compiler import STANDARDS, all_texts, compile_texts
from tests.strict_metal.on_gpu import Outcome, compare, run_apart

XCRUN = """#!/bin/sh
[ "$1 $2 $3" = "-sdk macosx metal" ] || exit 9
for word; do case "$word" in -I*) include=${word#-I} ;; esac; done
[ -f "$include/$(sed -n '1s/#include "\\(.*\\)"/\\1/p' "$word")" ] || exit 8
case "$*" in *-std=metal3.1*) if grep -q bfloat16_t "$word"; then echo "error: no bfloat" >&2; exit 1; fi ;; esac
echo "$word:7:9: warning: unused variable 'x' [-Wunused-variable]" >&2
"""


@pytest.fixture
def xcrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "xcrun"
    program.write_text(XCRUN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_what_metals_compiler_says_is_reported(xcrun: None) -> None:
    texts = all_texts(["kv_injection"])
    old, new = (compile_texts(texts, standard) for standard in ("3.1", "3.2"))
    assert 0 < len(old.errors) < old.texts == new.texts and not new.errors
    assert all("bfloat16" in name and output == "error: no bfloat" for name, output in old.errors.items())
    assert new.warnings == {"7:9: warning: unused variable 'x' [-Wunused-variable]": new.texts}


def test_the_command_compiles_every_standard_and_fails_if_one_rejects_a_text(
    xcrun: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.strict_metal.__main__.all_texts", lambda: all_texts(["kv_injection"]))
    report = tmp_path / "report.json"
    assert main(["compile", str(report)]) == 1
    found = json.loads(report.read_text())["standards"]
    assert tuple(found) == STANDARDS and found["3.1"]["errors"] and found["4.0"]["warnings"]
    assert "error custom_kernel_kv_injection" in capsys.readouterr().out
    assert main(["compile", str(report), "--standard", "3.2", "4.0"]) == 0


def spoilt(change: Callable[[mx.array], mx.array]) -> Any:
    """Return a `metal_kernel` whose results are changed."""

    def build(**definition: Any) -> Any:
        kernel = metal_kernel(**definition)

        def call(inputs: Sequence[Any], **rest: Any) -> list[mx.array]:
            return [change(array) for array in kernel(inputs=inputs, **rest)]

        return call

    return build


def test_a_kernel_is_compared_with_its_reference() -> None:
    count, wrong = compare("kv_injection", mx.float32, metal_kernel)
    assert count == 4 and wrong == []


@pytest.mark.parametrize("change", [mx.zeros_like, lambda array: array * 1.01])
def test_a_gpu_that_returns_wrong_numbers_is_reported(change: Callable[[mx.array], mx.array]) -> None:
    _, wrong = compare("kv_injection", mx.float32, spoilt(change))
    assert len(wrong) == 1 and "of the largest value" in wrong[0]


# It needs a machine where MLX has no Metal; with Metal, the kernel can run and there is nothing to report
@pytest.mark.skipif(mx.metal.is_available(), reason="on a Mac the kernel runs")
def test_a_kernel_that_cannot_run_is_reported() -> None:
    count, wrong = compare("kv_injection", mx.float32)
    assert len(wrong) == count and all("No Metal back-end" in one for one in wrong)
    found = run_apart("kv_injection", "float32")
    assert found.state == "wrong" and found.line.startswith("wrong kv_injection float32: RuntimeError: [metal_kernel]")


# A child that ends as a driver would end it
ENDS = {
    "an Objective-C exception": (
        "import os, sys; print('*** Terminating app due to uncaught exception NSInvalidArgumentException: unrecognized selector',"
        " '*** First throw call stack:', '0x1', sep=chr(10), file=sys.stderr, flush=True); os.abort()",
        "SIGABRT: *** Terminating app due to uncaught exception NSInvalidArgumentException: unrecognized selector",
    ),
    "a crash": ("import os; os.kill(os.getpid(), 11)", "SIGSEGV: no message"),
    "an error": ("import sys; sys.exit('dyld: missing symbol')", "exit code 1: dyld: missing symbol"),
    "no end": ("import signal; signal.pause()", "no result within 1 s"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_that_ends_is_one_line(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, detail = ENDS[end]
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    found = run_apart("kv_injection", "float32", timeout_s=1 if end == "no end" else on_gpu.TIMEOUT_S)
    assert (found.state, found.detail) == ("ended", detail)
    assert found.line == f"ended kv_injection float32: {detail}"


def test_the_report_has_all_kernels_whatever_became_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def apart(kernel: str, dtype: str) -> Outcome:
        return Outcome(kernel, dtype, "ended" if kernel == "kv_injection" else "ok", "…")

    monkeypatch.setattr(on_gpu, "run_apart", apart)
    report = tmp_path / "report.json"
    assert main(["run", str(report)]) == 1
    states = [one["state"] for one in json.loads(report.read_text())["kernels"]]
    assert len(states) == 21 and states.count("ended") == 3
    assert len(capsys.readouterr().out.splitlines()) == len(states)
