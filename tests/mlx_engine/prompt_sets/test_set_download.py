"""`slipstream bench --set` with published sets: their download from the local hub, their formats, and their removal."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.prompt_sets.published_sets import PROMPT_LIMIT, PUBLISHED_SETS, TOKEN_LIMIT
from mlx_engine.prompt_sets.set_download import download_set, find_set, read_set
from tests.hub.local_hub import Fault, LocalHub
from tests.hub.repos import Repo, noise
from tests.mlx_engine.models.downloads import IN_HAND
from tests.mlx_engine.scripted_engine import ScriptedEngine

FILES = Path(__file__).parent / "files"
BOXED = "\nPlease reason step by step, and put your final answer within \\boxed{}."
TASK = "Write a solution to the following problem and make sure that it passes the tests:\n```python\n{}\n```"
PROBLEM = {"problem": "What is $\\frac{1}{2} + 1$?", "solution": "…", "answer": "3/2", "subject": "Algebra", "level": 1}
CHAT = {"question_id": 81, "category": "writing", "prompt": ["Write a {poem}.", "Shorten it."], "reference": []}
# The file of each set in its real format, with made-up content, and the prompts in it.
SETS: dict[str, tuple[bytes, list[str]]] = {
    "math500": (json.dumps(PROBLEM).encode() + b"\n", [PROBLEM["problem"] + BOXED]),  # type: ignore[operator]
    "humaneval": ((FILES / "tasks.parquet").read_bytes(), [TASK.format("Task 1"), TASK.format("Task {3}")]),
    "mbpp": ((FILES / "tasks.parquet").read_bytes(), ["Task 1", "Task {3}"]),
    "mt-bench": (json.dumps(CHAT).encode() + b"\n\n", ["Write a {poem}."]),
    "alpaca": ((FILES / "alpaca.parquet").read_bytes(), ["Sort.\n\nInput:\n3, 1", "Rhyme."]),
}


@pytest.fixture
def hub(local_hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    return local_hub


@pytest.fixture
def gsm8k(hub: LocalHub) -> Repo:
    return publish(hub, "gsm8k", (FILES / "gsm8k.parquet").read_bytes())


def publish(hub: LocalHub, name: str, data: bytes) -> Repo:
    """Add the repo of a set with other files, too, and the pinned commit before that of main."""
    chosen = PUBLISHED_SETS[name]
    repo = hub.repo(f"datasets/{chosen.repo}", {chosen.file: data, "README.md": b"# Prompts\n", "x.py": b"raise SystemExit\n"})
    repo.commits[chosen.revision] = repo.commits[repo.branches["main"]]
    repo.commit({chosen.file: b"revised"})
    return repo


def bench(*options: str, can_think: bool = True) -> tuple[int, ScriptedEngine]:
    engine = ScriptedEngine(can_think=can_think)
    return main(["bench", "--runs", "1", "--widths", "none", *options], lambda: engine), engine


def download(name: str, stop: threading.Event | None = None, report: Callable[[int, int], object] = lambda *_: None) -> Path | None:
    return download_set(PUBLISHED_SETS[name], stop or threading.Event(), lambda done, size: report(done, size) and None)


def test_a_set_is_downloaded_once_and_measured_with_the_settings_of_the_papers(
    hub: LocalHub, gsm8k: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, chosen = tmp_path / "out.json", PUBLISHED_SETS["gsm8k"]
    status, engine = bench("--set", "gsm8k", "--out", str(out))
    assert status == 0
    printed = capsys.readouterr()
    assert "Downloading gsm8k from openai/gsm8k, revision 740312a, license: MIT" in printed.err
    assert "Prompts: gsm8k from openai/gsm8k, revision 740312a, license: MIT" in printed.out
    report: dict[str, Any] = json.loads(out.read_text())
    assert (report["set"], report["prompts"], report["max_tokens"]) == ("gsm8k", PROMPT_LIMIT, TOKEN_LIMIT)
    assert report["source"]["revision"] == chosen.revision and report["source"]["license"] == "MIT"
    texts = [request.messages[0].content for request in engine.requests[2::2]]
    assert len(set(texts)) == PROMPT_LIMIT and all(text.endswith(f"{n}{BOXED}") for n, text in enumerate(texts))
    asked = len(hub.asked)
    status, engine = bench("--set", "gsm8k", "--limit", "2", "--max-tokens", "9", "--temperature", "1", "--thinking")
    assert status == 0 and len(hub.asked) == asked, "the file is on this disk"
    assert {(request.max_tokens, request.sampling.temperature, request.thinking) for request in engine.requests} == {(9, 1.0, True)}
    assert "up to 9 tokens per reply, temperature 1, thinking" in capsys.readouterr().out
    assert bench("--set", "gsm8k", "--limit", "2", "--thinking", can_think=False)[0] == 0
    assert "thinking" not in capsys.readouterr().out, "a report says what the model did"


@pytest.mark.parametrize("name", SETS)
def test_each_format_is_read(hub: LocalHub, name: str) -> None:
    data, prompts = SETS[name]
    publish(hub, name, data)
    file = download(name)
    assert file is not None and file.read_bytes() == data and find_set(PUBLISHED_SETS[name]) == file
    assert read_set(file, PUBLISHED_SETS[name], 10) == prompts


def test_every_published_set_is_tested() -> None:
    assert {*SETS, "gsm8k"} == PUBLISHED_SETS.keys()


def test_only_the_file_of_the_set_is_downloaded_and_verified(hub: LocalHub, gsm8k: Repo) -> None:
    hub.faults.extend([Fault("drop", at=3000), Fault("wrong", at=5)])
    assert download("gsm8k") is not None
    assert not [path for _, path, _ in hub.asked if "README" in path or "x.py" in path]
    assert not hub.faults, "both faults happened"


def test_a_stopped_download_is_resumed(hub: LocalHub) -> None:
    publish(hub, "math500", noise(1, 3_000_000))
    stop = threading.Event()
    hub.allow(1_000_000 + IN_HAND)
    assert download("math500", stop, lambda done, size: done >= 1_000_000 and stop.set()) is None
    assert find_set(PUBLISHED_SETS["math500"]) is None
    hub.allow(None)
    hub.sent.clear()
    file = download("math500")
    assert file is not None and file.read_bytes() == noise(1, 3_000_000)
    assert sum(hub.sent.values()) <= 2_000_000


def test_a_hub_that_cannot_be_used_is_named_before_the_models_are_loaded(
    gsm8k: Repo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    status, engine = bench("--set", "gsm8k")
    assert status == 1 and engine.loaded is None
    assert "HF_HUB_OFFLINE is set" in capsys.readouterr().err


def test_a_revision_that_is_gone_is_named(hub: LocalHub, gsm8k: Repo) -> None:
    gsm8k.commit({"main/test-00000-of-00001.parquet": b"new"}, forget=True)
    with pytest.raises(UserError, match=r"openai/gsm8k no longer has the revision that Slipstream uses \(740312a\)"):
        download("gsm8k")
    with pytest.raises(UserError, match="Can't find openai/openai_humaneval"):
        download("humaneval")


def test_a_set_can_be_removed_and_a_damaged_one_says_so(gsm8k: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--set", "gsm8k", "--limit", "1")[0] == 0
    file = find_set(PUBLISHED_SETS["gsm8k"])
    assert file is not None
    file.write_bytes(file.read_bytes()[:-9])
    capsys.readouterr()
    assert bench("--set", "gsm8k")[0] == 1
    assert "from openai/gsm8k: it isn't a Parquet file. Remove the set, then download it again." in capsys.readouterr().err
    assert bench("--remove-set", "gsm8k")[0] == 0
    assert "Removed gsm8k" in capsys.readouterr().out and find_set(PUBLISHED_SETS["gsm8k"]) is None
    assert bench("--remove-set", "gsm8k", "--json")[0] == 0
    assert json.loads(capsys.readouterr().out) == {"removed": "gsm8k", "bytes": 0}
    assert bench("--set", "gsm8k", "--limit", "1")[0] == 0


def test_streams_have_no_settings_of_sampling(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench("--streams", "1,2", "--thinking")
    assert "--streams can't be used with --temperature and --thinking" in capsys.readouterr().err
