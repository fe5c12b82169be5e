"""`slipstream cache`."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.cli.main import main
from mlx_engine.prefix import index, part_store
from mlx_engine.prefix.part_store import PrefixStore
from tests.mlx_engine.prefix.saved_parts import damage, save, tokens_of


def test_saved_prompts_are_listed_verified_and_cleared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = PrefixStore(tmp_path, 10**9)
    save(store, tokens_of(1, 1024))
    store.close()

    def run(command: str) -> dict[str, Any]:
        assert main(["cache", command, "--folder", str(tmp_path), "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    listed = run("list")
    assert (listed["parts"], listed["folder"], len(listed["pairs"])) == (4, str(tmp_path), 1)
    assert listed["bytes"] == sum(path.stat().st_size for path in tmp_path.glob("*.safetensors"))
    damage(next(tmp_path.glob("*.safetensors")), "flip", random.Random(1))
    assert run("verify") == {"good": 3, "deleted": 1}
    assert run("clear")["left"] == 0
    assert not list(tmp_path.glob("*.safetensors"))


@pytest.mark.parametrize("command", ["list", "verify"])
def test_listing_and_verifying_delete_no_intact_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Not even with an index from before quotas were saved, and more prompts than fit by default."""
    store = PrefixStore(tmp_path, 10**9)
    save(store, tokens_of(1, 1024))
    store.close()
    monkeypatch.setattr(part_store, "DEFAULT_QUOTA", 1)
    assert main(["cache", command, "--folder", str(tmp_path), "--json"]) == 0
    assert main(["cache", "list", "--folder", str(tmp_path), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (listed["parts"], listed["quota"]) == (4, 10**9)
    index.delete(tmp_path)
    assert main(["cache", command, "--folder", str(tmp_path)]) == 0
    assert len(list(tmp_path.glob("*.safetensors"))) == 4


def test_each_command_also_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for command in ("list", "verify", "clear"):
        assert main(["cache", command, "--folder", str(tmp_path)]) == 0
        said.append(capsys.readouterr().out)
    assert all(said)


def test_an_unknown_command_is_a_usage_error() -> None:
    with pytest.raises(SystemExit):
        main(["cache", "burn"])


def test_what_cannot_be_deleted_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PrefixStore(tmp_path, 10**9)
    save(store, tokens_of(1, 512))
    store.close()

    def fail(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", fail)
    assert main(["cache", "clear", "--folder", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "Deleted" not in output.out and str(tmp_path) in output.err
