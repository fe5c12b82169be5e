"""The check that runs on Macs, as far as another machine can run it."""

import sys
from pathlib import Path

import mlx.core as mx
import pytest

from tests.strict_metal.__main__ import compile_texts, main, run_kernels
from tests.strict_metal.calls import call_heads

XCRUN = f"""#!{sys.executable}
import sys
from pathlib import Path
assert sys.argv[1:4] == ["-sdk", "macosx", "metal"]
text = Path(sys.argv[-1]).read_text()
header = text.splitlines()[0].split('"')[1]
assert any((Path(word[2:]) / header).is_file() for word in sys.argv if word.startswith("-I")), header
sys.exit("error: no bfloat" if "bfloat16_t" in text else 0)
"""


def test_what_metals_compiler_rejects_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xcrun = tmp_path / "xcrun"
    xcrun.write_text(XCRUN)
    xcrun.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    texts, rejected = compile_texts([call_heads])
    assert 0 < len(rejected) < texts
    assert all("bfloat16" in one and one.endswith("error: no bfloat") for one in rejected)


def test_a_kernel_that_cannot_run_is_reported() -> None:
    kernels, failed = run_kernels([call_heads])
    assert kernels > 0
    assert len(failed) == (0 if mx.metal.is_available() else kernels)
    assert all(one.startswith(("attention_inputs", "kv_injection")) for one in failed)


def test_without_metal_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    assert main([str(tmp_path / "report.json")]) == 2
    assert "needs a Mac" in capsys.readouterr().err
