"""On every way in, TF32 is off before MLX is imported, whatever the user has set."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracked import tracked

ROOT = Path(__file__).parents[2]
# Says what MLX would read at its first import, and ends the process
AT_MLX = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlx", "mlx_lm"):
            print(os.environ.get("MLX_ENABLE_TF32"), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Finder())
"""
WAYS = {
    "library": "import mlx_engine.kernels.operations",
    "terminal": "sys.argv[1:] = ['doctor']; from mlx_engine.__main__ import main; main()",
    "app": "from app.__main__ import main; main(['--selftest', '--no-window'])",
    "child of the app": "from app.__main__ import main; main(['--child', 'mlx_engine.__main__', 'doctor'])",
    "tests": "import tests.golden.pair_case",
}


@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_tf32_is_off_when_mlx_is_imported(code: str) -> None:
    environment = {**os.environ, "MLX_ENABLE_TF32": "1"}
    process = subprocess.run([sys.executable, "-c", AT_MLX + code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert process.stdout.splitlines()[-1:] == ["0"], process.stderr


def test_mlx_is_imported_only_in_packages_that_turn_tf32_off() -> None:
    for name in tracked():
        if name.endswith(".py") and Path(name).parts[0] not in ("mlx_engine", "tests"):
            assert not re.search(r"^ *(import|from) mlx(_lm)?\b", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE), name
