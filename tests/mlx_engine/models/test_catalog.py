"""The catalog: facts have sources, repo names are valid, and the user's entries are validated."""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import resources
from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.registry import KINDS
from mlx_engine.models.configs.families import FAMILIES
from mlx_engine.models.files.repo import check_repo, is_head
from mlx_engine.models.library.catalog import custom_catalog_file, load_catalog, parse_entry
from mlx_engine.models.library.pair import Pair

RAW = json.loads((Path(resources.__file__).parent / "catalog.json").read_text(encoding="utf-8"))
REPORTED = [one for raw in RAW["pairs"] for drafter in raw["drafters"] for one in drafter["reported"]]
ASKED_FOR = (
    "qwen3-4b qwen3-8b qwen3-coder-30b-a3b qwen3-coder-next qwen3.5-4b qwen3.5-9b qwen3.5-27b qwen3.5-35b-a3b qwen3.5-122b-a10b"
)
ASKED_FOR += (
    " qwen3.6-27b qwen3.6-35b-a3b qwen3.8-27b gemma-4-12b gemma-4-26b-a4b gemma-4-31b gpt-oss-20b gpt-oss-120b llama-3.1-8b"
)
ASKED_FOR += " muse-glimmer-30b minimax-m2.5 kimi-k2.5 glm-5.1 glm-5.3-flash demo"
ASKED_FOR += " qwen3.5-397b-a17b minimax-m2.7 laguna-xs-2.1 laguna-s-2.1"
ASKED_FOR += " ternary-bonsai-2-27b gemma-4-e2b gemma-4-e4b"
ASKED_FOR += " qwen3-30b-a3b qwen3-32b qwen3-next-80b-a3b llama-3.3-70b"
ASKED_FOR += " qwen3-14b minicpm5-2b lfm2.5-1.2b lfm2.5-2.6b lfm2.5-8b-a1b"
ASKED_FOR += " qwen3.8-flash-next glm-5.3 minimax-m3.1-flash kimi-k2.6 kimi-k2.7-code nemotron-3.5-lightning"


def facts(value: Any) -> list[dict]:
    if isinstance(value, dict) and set(value) == {"is", "from"}:
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [fact for one in inner for fact in facts(one)]


class TestShippedCatalog:
    def test_it_contains_every_expected_pair_once(self) -> None:
        assert sorted(entry.id for entry in load_catalog().entries) == sorted(ASKED_FOR.split())

    def test_every_entry_has_the_same_fields(self) -> None:
        fields, drafter = set(RAW["pairs"][0]), set(RAW["pairs"][1]["drafters"][0])
        for raw in RAW["pairs"]:
            assert set(raw) == fields and all(set(one) == drafter for one in raw["drafters"])
            assert all(set(target) == {"repo", "bits", "size_gb"} for target in raw["targets"])
        assert all(set(one) == {"speedup", "machine", "target", "from"} for one in REPORTED)

    def test_every_fact_names_a_source_and_every_source_is_used(self) -> None:
        used = {fact["from"] for fact in facts(RAW["pairs"])} | {one["from"] for one in REPORTED}
        assert used == set(RAW["sources"])
        assert all(fact["is"] not in (None, "") for fact in facts(RAW["pairs"]))

    def test_all_other_fields_are_facts(self) -> None:
        plain = {"id", "name", "note", "tags", "targets", "drafters", "reported", "bits"}
        for raw in RAW["pairs"]:
            for part in (raw, *raw["drafters"], *raw["targets"]):
                assert all(name in plain or value is None or set(value) == {"is", "from"} for name, value in part.items())

    def test_every_family_is_known_or_has_a_reason(self) -> None:
        for entry in load_catalog().entries:
            assert entry.family is None or entry.family in FAMILIES or entry.why_not
        reasons = {entry.id: entry.why_not for entry in load_catalog().entries if entry.why_not}
        assert set(reasons) == {
            "glm-5.3-flash",
            "minimax-m3.1-flash",
            "qwen3.8-flash-next",
        }

    def test_repo_names_are_valid_and_pairs_unique(self) -> None:
        pairs = [pair for entry in load_catalog().entries for pair in entry.pairs]
        assert len(pairs) == len(set(pairs)) and all(check_repo(repo) for pair in pairs for repo in pair.repos)

    def test_the_drafter_of_dflashs_authors_comes_first(self) -> None:
        """It is used if only the target is given. NVIDIA's is in a format that isn't read."""
        authors = ("z-lab/", "incoai/")
        theirs = [[drafter.repo.startswith(authors) for drafter in entry.drafters] for entry in load_catalog().entries]
        several = [each for each in theirs if len(each) > 1 and any(each)]
        assert several and all(each[0] for each in several)

    def test_each_target_has_one_entry(self) -> None:
        targets = [target.repo for entry in load_catalog().entries for target in entry.targets]
        assert len(targets) == len(set(targets))

    def test_every_kind_is_offered_and_unknown_ones_are_not(self) -> None:
        entries = load_catalog().entries
        assert {drafter.kind for entry in entries for drafter in entry.drafters if drafter.kind} == {*KINDS}
        drafters = [{"repo": "c/medusa", "kind": "Medusa"}, {"repo": "c/flash", "kind": "DFlash"}]
        entry = parse_entry({"id": "mine", "targets": [{"repo": "a/b", "bits": 4}], "drafters": drafters})
        assert entry.pairs == (Pair("a/b", "c/flash"),) and "c/medusa" not in entry.repos

    def test_only_the_heads_of_original_models_are_downloaded(self) -> None:
        heads = [one for entry in load_catalog().entries for one in entry.drafters if one.kind == "MTP"]
        assert heads and all(is_head(one.repo) for one in heads)
        targets = [target.repo for entry in load_catalog().entries for target in entry.targets]
        assert not any(map(is_head, targets))

    def test_a_pair_is_found_by_id_and_quantization(self) -> None:
        entry = load_catalog().find("Qwen3.8-27B")
        assert entry.pair() == Pair("mlx-community/Qwen3.8-27B-4bit", "z-lab/Qwen3.8-27B-DFlash2")
        assert entry.pair(8).target == "mlx-community/Qwen3.8-27B-8bit"
        with pytest.raises(UserError, match=r"isn't available at 3 bits\. Choose from 4, 8"):
            entry.pair(3)
        with pytest.raises(UserError, match="comes with Slipstream"):
            load_catalog().find("demo").pair()
        with pytest.raises(UserError, match=r"isn't in the catalog \(similar: qwen3"):
            load_catalog().find("qwen3-5b")


def own(text: str) -> None:
    custom_catalog_file().parent.mkdir(parents=True, exist_ok=True)
    custom_catalog_file().write_text(text, encoding="utf-8")


class TestCustomEntries:
    def test_an_entry_of_plain_values_is_unconfirmed(self) -> None:
        own(json.dumps([{"id": "mine", "name": "Mine", "targets": [{"repo": "a/b", "bits": 4}], "drafter": {"repo": "c/d"}}]))
        entry = load_catalog().find("mine")
        assert entry.pair() == Pair("a/b", "c/d") and entry.custom and not entry.confirmed

    @pytest.mark.parametrize(
        "entry",
        [
            *(
                {"id": "mine", "targets": [{"repo": repo}], "drafter": {"repo": "c/d"}}
                for repo in ("../x", "/etc/passwd", "a\0b/c", 3)
            ),
            {"id": "../mine"},
            {"name": "no id"},
            {"id": "mine", "drafter": "c/d"},
            {"id": "mine", "targets": {"repo": "a/b"}},
            {"id": "mine", "tags": "x"},
            {"id": "mine", "name": "x\x1b[2J"},
            {"id": "mine", "context": "many"},
            {"id": "mine", "drafter": {"repo": "c/d", "reported": [{"speedup": [1]}]}},
            {"id": "mine", "drafters": {"repo": "c/d"}},
            {"id": "mine", "targets": [{"repo": "a/b", "bits": 10**9}]},
            *({"id": "mine", "targets": [{"repo": "a/b", "size_gb": size}]} for size in (-1, math.nan, math.inf, 10**400)),
            "x",
            None,
        ],
        ids=repr,
    )
    def test_a_malformed_entry_is_ignored_and_reported(self, entry: Any) -> None:
        own(json.dumps([entry, {"id": "good"}]))
        known = load_catalog()
        assert [one.id for one in known.entries if one.custom] == ["good"]
        assert len(known.problems) == 1 and "Entry 1 in" in str(known.problems[0])

    @pytest.mark.parametrize(
        "text", ["{", "[" * 100_000, "3", '{"pairs": 3}', "\ud800".encode("utf-8", "surrogatepass").decode("latin1")]
    )
    def test_a_damaged_file_is_ignored_and_reported(self, text: str) -> None:
        own(text)
        known = load_catalog()
        assert len(known.entries) == len(ASKED_FOR.split()) and known.problems

    def test_a_huge_file_is_not_read(self) -> None:
        own("")
        with custom_catalog_file().open("wb") as stream:
            stream.truncate(100_000_000)
        assert "is damaged" in str(load_catalog().problems[0])

    @given(
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.text("a/.\0", max_size=4)), lambda inner: st.lists(inner)
        )
    )
    def test_any_field_value_is_parsed_or_refused(self, value: Any) -> None:
        for name in ("id", "name", "targets", "drafter", "drafters", "family", "context", "tags", "why_not"):
            with suppress(UserError):
                parse_entry({"id": "mine", name: value})
