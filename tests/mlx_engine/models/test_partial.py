"""A partial file that a stop has closed keeps its name."""

from pathlib import Path

from mlx_engine.models.files.partial import PartialFile


def test_a_closed_file_does_not_get_its_final_name(tmp_path: Path) -> None:
    partial = PartialFile(tmp_path / "partial", 3)
    partial.close()
    assert not partial.finish(tmp_path / "whole")
    assert (tmp_path / "partial").exists() and not (tmp_path / "whole").exists()
