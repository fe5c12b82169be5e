"""The families that mlx-lm has models for, found without importing it."""

import subprocess
import sys

from mlx_lm.utils import MODEL_REMAPPING

from mlx_engine.models.configs.families import NOT_RUNNABLE, missing_family, mlx_lm_families


def test_families_include_those_that_mlx_lm_reads_as_another_one() -> None:
    found = mlx_lm_families()
    assert set(MODEL_REMAPPING) <= found and "stable_diffusion" not in found


def test_an_unknown_family_is_named() -> None:
    assert "“unheard_of” family" in str(missing_family({"model_type": "unheard_of"}))
    assert all(missing_family({"model_type": family}) is not None for family in NOT_RUNNABLE)


def test_mlx_lm_is_not_imported() -> None:
    code = "import sys; from mlx_engine.models.configs.families import mlx_lm_families as f; f(); sys.exit('mlx_lm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
