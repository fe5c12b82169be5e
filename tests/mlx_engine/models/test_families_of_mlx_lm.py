"""The families that mlx-lm has models for, found without importing it."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from mlx_lm.utils import MODEL_REMAPPING

from mlx_engine.models.configs.families import FAMILIES, NOT_RUNNABLE, missing_family, mlx_lm_families
from mlx_engine.models.library.catalog import load_catalog


def test_families_include_those_that_mlx_lm_reads_as_another_one() -> None:
    found = mlx_lm_families()
    assert set(MODEL_REMAPPING) <= found and "stable_diffusion" not in found


def test_an_unknown_family_is_named() -> None:
    assert "“unheard_of” family" in str(missing_family({"model_type": "unheard_of"}))
    assert all(missing_family({"model_type": family}) is not None for family in NOT_RUNNABLE)


def test_mlx_lm_still_lacks_the_families_that_wait_for_it() -> None:
    """Fails with the first release that has one: move it to FAMILIES then, with a tiny config, and correct the catalog."""
    assert not NOT_RUNNABLE.keys() & mlx_lm_families() and not NOT_RUNNABLE.keys() & FAMILIES.keys()


def test_the_catalog_says_which_release_a_family_waits_for() -> None:
    waiting = [entry for entry in load_catalog().entries if entry.family in NOT_RUNNABLE]
    assert waiting
    for entry in waiting:
        assert f"mlx-lm {version('mlx-lm')} doesn't support the “{entry.family}” family. It needs a later" in str(entry.why_not)


def test_the_documentation_lists_the_families_that_wait() -> None:
    paragraphs = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8").split("\n\n")
    (listed,) = (paragraph for paragraph in paragraphs if "wait for a later release of mlx-lm" in paragraph)
    assert set(re.findall(r"[a-z0-9_]+", listed.partition("yet:")[2])) - {"and"} == NOT_RUNNABLE.keys()


def test_mlx_lm_is_not_imported() -> None:
    code = "import sys; from mlx_engine.models.configs.families import mlx_lm_families as f; f(); sys.exit('mlx_lm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
