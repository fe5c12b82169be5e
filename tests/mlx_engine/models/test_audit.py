"""`slipstream models audit` with the local hub: the catalog is compared with what the repos say."""

import json
from typing import Any

import pytest
from huggingface_hub import constants

from mlx_engine.cli.main import main
from mlx_engine.models.library.catalog import custom_catalog_file, load_catalog
from tests.hub.local_hub import LocalHub
from tests.hub.repos import DRAFTER, TARGET, config, drafter_files, target_files

ENTRY: dict[str, Any] = {
    "id": "mine",
    "family": "qwen3",
    "license": "mit",
    "context": 4096,
    "targets": [{"repo": "owner/target", "bits": 4, "size_gb": 0.63}],
    "drafters": [{"repo": "owner/drafter", "kind": "DFlash", "block_size": 8, "size_gb": None}],
}


@pytest.fixture
def hub(local_hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> LocalHub:
    monkeypatch.setattr(constants, "ENDPOINT", local_hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", local_hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    local_hub.repo("owner/target", {**target_files(60_000), "config.json": config(**TARGET, quantization={"bits": 4})})
    local_hub.repo("owner/drafter", drafter_files(10_000))
    return local_hub


def catalog(**changed: Any) -> None:
    custom_catalog_file().parent.mkdir(parents=True, exist_ok=True)
    custom_catalog_file().write_text(json.dumps([ENTRY | changed]))


def audited(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the results of the user's own entry by role."""
    status = main(["models", "audit", "--json"])
    printed = json.loads(capsys.readouterr().out)
    return status, {one["role"]: one for one in printed["repos"] if one["id"] == "mine"}


def target(bits: int | None = 4, size_gb: float | None = None) -> list[dict[str, Any]]:
    return [{"repo": "owner/target", "bits": bits, "size_gb": size_gb}]


def drafter(**facts: Any) -> list[dict[str, Any]]:
    return [{"repo": "owner/drafter", "kind": "DFlash"} | facts]


def test_revisions_sizes_and_facts_are_those_of_the_hub(hub, capsys):
    catalog(targets=target(), license=None)
    found = audited(capsys)[1]
    for role, repo in (("target", "owner/target"), ("drafter", "owner/drafter")):
        one, listed = found[role], hub.repos[repo]
        assert one["commit"] == listed.branches["main"] and one["repo"] == repo
        assert one["faults"] == one["differences"] == [] and one["note"] == ""
    assert found["target"]["size"] > 60_000 and found["drafter"]["size"] > 10_000
    assert found["target"]["facts"] | {"license": None, "size_gb": 0} == {
        **{"family": "qwen3", "bits": 4, "context": 4096},
        **{"license": None, "size_gb": 0},
    }
    assert (found["drafter"]["facts"]["kind"], found["drafter"]["facts"]["block_size"]) == ("DFlash", 8)


def test_the_table_shows_what_the_repos_contain(hub, capsys):
    catalog(targets=target(), license=None)
    main(["models", "audit"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if " mine " in line]
    assert [line[:3] for line in lines] == [["✓", "mine", "owner/target"], ["✓", "mine", "owner/drafter"]]
    assert lines[0][3] == hub.repos["owner/target"].branches["main"][:7]
    assert [" ".join(line[6:]) for line in lines] == ["qwen3 · 4 bits · 4096 tokens", "DFlash · blocks of 8"]


@pytest.mark.parametrize(
    ("changed", "role", "words"),
    [
        ({"family": "llama"}, "target", "family is qwen3; the catalog says llama"),
        ({"context": 8192}, "target", "context is 4096; the catalog says 8192"),
        ({"targets": target(bits=8)}, "target", "bits is 4; the catalog says 8"),
        ({"targets": target(size_gb=0.5)}, "target", "size_gb is 0.0; the catalog says 0.5"),
        ({"drafters": drafter(kind="DSpark")}, "drafter", "kind is DFlash; the catalog says DSpark"),
        ({"drafters": drafter(block_size=16)}, "drafter", "block_size is 8; the catalog says 16"),
    ],
)
def test_facts_that_differ_are_listed(hub, capsys, changed, role, words):
    catalog(**{"targets": target(), "license": None} | changed)
    status, found = audited(capsys)
    assert status == 1 and found[role]["differences"] == [words] and found[role]["faults"] == []


def test_sizes_may_be_rounded(hub, capsys):
    hub.repo("owner/target", target_files(*[7_000_000] * 8))
    for size, differs in ((0.055, False), (0.058, False), (0.061, True), (0.08, True)):
        catalog(targets=target(None, size), license=None)
        assert bool(audited(capsys)[1]["target"]["differences"]) == differs, size


@pytest.mark.parametrize(
    ("role", "fields", "words"),
    [
        ("target", {**TARGET, "model_type": "zebra"}, "mlx-lm doesn't support the “zebra” family"),
        ("target", {**TARGET, "model_file": "x.py"}, "requires custom Python code"),
        ("drafter", {**DRAFTER, "hidden_size": 128}, "needs a target whose “hidden_size” is 128"),
        ("drafter", {**DRAFTER, "architectures": ["MedusaDraftModel"]}, "MedusaDraftModel"),
        ("drafter", {**DRAFTER, "block_size": 1}, "block_size"),
    ],
)
def test_repos_that_cannot_be_used_are_faults(hub, capsys, role, fields, words):
    files = target_files(1000) if role == "target" else drafter_files(1000)
    hub.repo(f"owner/{role}", {**files, "config.json": config(**fields)})
    catalog(targets=target(None), license=None, context=None, family=None)
    status, found = audited(capsys)
    assert status == 1 and any(words in fault for fault in found[role]["faults"]), found[role]


def test_repos_that_are_missing_are_faults_and_drafters_are_then_checked_alone(hub, capsys):
    hub.repos["owner/target"].private = True
    catalog()
    found = audited(capsys)[1]
    assert "Can't find owner/target" in found["target"]["faults"][0] and found["target"]["commit"] == ""
    assert found["drafter"]["faults"] == [] and found["drafter"]["facts"]["block_size"] == 8
    hub.repo("owner/drafter", {**drafter_files(1000), "config.json": config(**DRAFTER, sample_from_nowhere=True, head_dim="x")})
    assert "head_dim" in audited(capsys)[1]["drafter"]["faults"][0]


def test_gated_drafters_are_expected_if_the_catalog_says_so(hub, capsys):
    hub.repos["owner/drafter"].gated = True
    for gated in (True, None):
        catalog(targets=target(), license=None, drafters=drafter(gated=gated))
        one = audited(capsys)[1]["drafter"]
        assert bool(one["note"]) == bool(gated) and bool(one["faults"]) != bool(gated)
        main(["models", "audit"])
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith("1 of ") and last.endswith("not checked: 1.") == bool(gated)


def test_refusals_that_the_catalog_states_are_expected_until_the_model_can_run(hub, capsys):
    catalog(targets=target(), license=None, family="zebra")
    one = audited(capsys)[1]["target"]
    assert any("it can run; the catalog says" in words for words in one["differences"])
    hub.repo("owner/target", {**target_files(1000), "config.json": config(**{**TARGET, "model_type": "zebra"})})
    one = audited(capsys)[1]["target"]
    assert "zebra" in one["note"] and one["faults"] == one["differences"] == []


def test_every_repo_of_the_catalog_is_asked_about_once(hub, capsys):
    assert main(["models", "audit"]) == 1
    shown = capsys.readouterr().out.splitlines()
    repos = [repo for entry in load_catalog().entries for repo in entry.repos]
    assert [line.split()[2] for line in shown if line.startswith("✗")] == repos and len(repos) > 40
    assert shown[-1] == f"0 of {len(repos)} repos are as the catalog says."
    asked = [path for _, path, _ in hub.asked if path.endswith("?blobs=true")]
    assert len(asked) == len({repo.partition("#")[0] for repo in repos})


@pytest.mark.parametrize(("endpoint", "words"), [(None, "HF_HUB_OFFLINE is set"), ("http://127.0.0.1:9", "Can't reach")])
def test_an_audit_without_a_hub_is_one_error(hub, monkeypatch, capsys, endpoint, words):
    """Not one error per repo."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", endpoint is None)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint or hub.url)
    assert main(["models", "audit", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert words in printed["error"] and set(printed) == {"error"} and hub.asked == []
