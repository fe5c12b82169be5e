"""The check that runs on Macs, as far as another machine can try it."""

import subprocess
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


@pytest.mark.skipif(mx.metal.is_available(), reason="with Metal the kernels run")
def test_a_kernel_that_cannot_run_is_reported() -> None:
    kernels, failed = run_kernels([call_heads])
    assert kernels == len(failed) > 0
    assert all(one.startswith(("attention_inputs", "kv_injection")) for one in failed)


@pytest.mark.skipif(mx.metal.is_available(), reason="with Metal the command runs")
def test_without_metal_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "report.json")]) == 2
    assert "needs a Mac" in capsys.readouterr().err
    command = [sys.executable, "-m", "tests.strict_metal", str(tmp_path / "report.json")]
    assert subprocess.run(command, capture_output=True).returncode == 2
