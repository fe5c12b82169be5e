"""The `slipstream` command as a process of its own: exit codes and streams."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.cli.main import main
from tests.golden.__main__ import HERE

PAIR = HERE / "e2e_qwen3"


def installed(*argv: object, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a process, with a home folder that doesn't exist."""
    return subprocess.run(
        [sys.executable, "-m", "mlx_engine", *map(str, argv)],
        input=stdin,
        capture_output=True,
        env={**os.environ, "HOME": "/nonexistent", **environment},
        timeout=120,
        check=False,
    )


class TestTheProgram:
    """The real engine with the reference pair, in most tests in a process of its own."""

    @pytest.fixture
    def case(self, tmp_path: Path) -> tuple[dict[str, Any], Path]:
        case = json.loads((PAIR / "cases.json").read_text())["cases"][1]
        path = tmp_path / "ids.json"
        path.write_text(json.dumps(case["prompt_ids"]))
        return case, path

    def test_raw_tokens_give_the_reference_reply(self, case: tuple[dict[str, Any], Path]) -> None:
        expected, path = case
        pair = ("--target", PAIR / "target", "--drafter", PAIR / "drafter", "--max-tokens", 64, "--width", 8)
        done = installed("generate", "--tokens", path, *pair, "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["tokens"] == expected["output_ids"]
        assert report["stats"]["accepted_per_round"] == expected["accepted"]
        assert (report["stats"]["mode"], report["stats"]["plain_steps"]) == ("dflash", 0)

    def test_compare_agrees(self, case: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str]) -> None:
        pair = ("--target", PAIR / "target", "--drafter", PAIR / "drafter")
        assert main(list(map(str, ("compare", "--tokens", case[1], *pair, "--max-tokens", 24, "--json")))) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["identical"]
        assert report["plain"]["tokens"] == report["dflash"]["tokens"] == case[0]["output_ids"][:24]

    def test_an_error_shows_no_traceback(self, tmp_path: Path) -> None:
        done = installed("generate", "Hi", "--target", tmp_path)
        assert done.returncode == 1
        assert b"config.json" in done.stderr
        assert b"Traceback" not in done.stderr

    def test_an_unknown_blas_is_an_error(self) -> None:
        done = installed("generate", "Hi", SLIPSTREAM_BLAS="fast")
        assert done.returncode == 1
        assert done.stderr.decode().startswith("SLIPSTREAM_BLAS is “fast”")

    def test_help_and_version_do_not_load_mlx(self) -> None:
        code = "import sys; from mlx_engine.cli.main import parser; parser(); sys.exit('mlx.core' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
        assert installed("--version").returncode == 0

    @pytest.mark.parametrize(
        ("prompt", "drafter", "words"),
        [
            ([], "e2e_qwen3", "prompt is empty"),
            ([1] * 100_000, "e2e_qwen3", "100,000 tokens"),
            ([1, 99_999], "e2e_qwen3", "Token 99999"),
            ([1], "e2e_gpt_oss", "This drafter needs a target whose"),
            ([1], "none", "Can't find the folder"),
            ([1], "cut short", "is damaged or incomplete"),
        ],
    )
    def test_bad_input_is_an_error(
        self, tmp_path: Path, prompt: list[int], drafter: str, words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "ids.json").write_text(json.dumps(prompt))
        folder = HERE / drafter / "drafter"
        if drafter == "cut short":
            folder = tmp_path / "drafter"
            shutil.copytree(PAIR / "drafter", folder)
            weights = folder / "model.safetensors"
            weights.write_bytes(weights.read_bytes()[:-100])
        argv = ["generate", "--tokens", tmp_path / "ids.json", "--target", PAIR / "target", "--drafter", folder]
        assert main(list(map(str, argv))) == 1
        shown = capsys.readouterr()
        assert words in shown.err
        assert not shown.out


@pytest.mark.parametrize(
    ("command", "unbuffered"), [(["models", "list", "--json"], ""), (["models", "fit", "no-such-pair", "--json"], "1")]
)
def test_a_reader_that_has_gone_ends_the_command_quietly(command: list[str], unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    ended = subprocess.run(
        [sys.executable, "-m", "mlx_engine", *command], stdout=writer, stderr=subprocess.PIPE, text=True, env=environment
    )
    os.close(writer)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr


@pytest.mark.parametrize("closed", ["1>&-", ">&- 2>&-"])
def test_a_command_runs_without_the_streams_that_its_caller_closed(closed: str) -> None:
    command = f'"{sys.executable}" -m mlx_engine models list --json {closed}'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert ended.returncode == 0 and not ended.stderr
