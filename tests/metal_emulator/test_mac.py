"""The emulator and all kernels compile and link for a Mac.

Zig provides clang and a copy of Apple's headers.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from macholib.mach_o import CPU_TYPE_NAMES
from macholib.MachO import MachO
from macholib.SymbolTable import SymbolTable

from mlx_engine.calibration import self_check
from tests.metal_emulator import compiler, kernel, metal_kernel
from tests.metal_emulator.compiler import Compiler
from tests.packaging import ROOT


@pytest.fixture(scope="module")
def zig(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """Return Zig, a compiler for macOS, installed from the package index."""
    folder = tmp_path_factory.mktemp("zig")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", folder, "--constraint", ROOT / "packaging/constraints.txt", "ziglang"], check=True)
    return Compiler((str(folder / "ziglang/zig"), "c++", "-target", "aarch64-macos"), "clang++", "Zig")


@pytest.mark.long
def test_every_kernel_compiles_and_links_for_a_mac(zig: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = list[str]()
    build = compiler.build

    def record(cpp: str, host: Compiler) -> Path:
        texts.append(cpp)
        return build(cpp, host)

    monkeypatch.setattr(kernel, "build", record)
    kernel._library.cache_clear()
    names = [step.name for step in self_check.check_kernels(metal_kernel) if step.state == "ok"]
    assert len(texts) >= len(names) > 0
    monkeypatch.setattr(compiler, "CACHE", tmp_path)
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path / "zig"))
    for text in set(texts):
        library = MachO(str(build(text, zig)))
        assert [CPU_TYPE_NAMES[part.header.cputype] for part in library.headers] == ["ARM64"]
        exported = {name for _, name in SymbolTable(library).extdefsyms}
        assert {b"_emulator_kernel", b"_emulator_run"} <= exported
