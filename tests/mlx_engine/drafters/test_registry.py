"""The list of kinds: every folder is in it, and no kind depends on another or needs MLX before it is made."""

import subprocess
import sys
from pathlib import Path

import mlx_engine.drafters
from mlx_engine.drafters.registry import KINDS
from tests.test_structure import ROOT, imports

FOLDER = Path(mlx_engine.drafters.__file__).parent


def test_every_folder_is_a_kind_that_uses_no_other() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/model.py")} - {"parts"}
    assert folders == {kind.folder for kind in KINDS.values()}
    used = {
        (folder, name.split(".")[2])
        for folder in (*folders, "parts")
        for path in (FOLDER / folder).glob("*.py")
        for _, name in imports(path)
        if name.startswith("mlx_engine.drafters.")
    }
    assert {(folder, other) for folder, other in used if other not in (folder, "parts", "drafter")} == set()
    assert ("parts", "drafter") not in used


def test_reading_a_config_needs_no_mlx() -> None:
    code = "import sys, mlx_engine.drafters.registry; sys.exit('mlx' in sys.modules or 'mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
