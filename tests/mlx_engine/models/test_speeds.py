"""Predicted speeds from bytes and rates, and measured speeds that replace them."""

import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Stats
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.dflash2.config import DFlash2Config
from mlx_engine.drafters.mtp.config import Experts, MtpConfig
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.models.library import speeds as speeds_module
from mlx_engine.models.library.speeds import MeasuredSpeeds, measured_speeds, predict_speeds, record_speeds, speed_key
from tests.hub.repos import DRAFTER
from tests.mlx_engine.models.test_fit import DENSE, MAC

GB = 10**9
FOUR_BITS = {**DENSE, "quantization": {"bits": 4, "group_size": 64}, "tie_word_embeddings": True}
EVEN = MachineFacts("", "Metal", 12, 48 * GB, 36 * GB, 200e9, 1e18, "", "", "", "")
BLOCK = parse({**DRAFTER, "hidden_size": 4096, "block_size": 16})
COMMON = {name: value for name, value in vars(BLOCK).items() if name != "laguna"}
SELECTING = DFlash2Config(**COMMON, kernel_rows=2, group=16, rank=8, top_k=4)
HEAD = MtpConfig(**{field.name: COMMON[field.name] for field in fields(DrafterConfig)} | {"block_size": 8})
DRAFTERS = (BLOCK, SELECTING, HEAD, replace(HEAD, experts=Experts(64, 4, 512, True)))


def test_plain_speed_is_bandwidth_over_bytes_read() -> None:
    plain = predict_speeds(MAC, FOUR_BITS, None, (5 * GB, 0), 8192)["plain"]
    assert plain.high == pytest.approx(250 / 5)
    assert plain.low == pytest.approx(1 / (5 / 250 + 2 * 36 * 8 * 128 * 8192 * 2 / 250e9))
    assert "5.00 GB" in str(plain.reason) and not plain.measured


def test_an_untied_embedding_table_is_not_counted() -> None:
    tied, apart = ({**DENSE, "tie_word_embeddings": value} for value in (True, False))
    slow, fast = (predict_speeds(MAC, config, None, (16 * GB, 0), 1024)["plain"].high for config in (tied, apart))
    assert fast == pytest.approx(slow * 16e9 / (16e9 - 4096 * 151936 * 2))


def test_only_chosen_experts_are_counted() -> None:
    config = {**DENSE, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "tie_word_embeddings": True}
    experts = 36 * 128 * 3 * 4096 * 768 * 2
    plain = predict_speeds(MAC, config, None, (experts + 2 * GB, 0), 1024)["plain"]
    assert plain.high == pytest.approx(250e9 / (2e9 + experts / 16))


@given(st.floats(1e9, 1e12), st.integers(4 * 10**9, 10**12), st.integers(10**6, 10**10), st.sampled_from(DRAFTERS))
def test_ranges_are_ordered_and_dflash_is_never_slower_than_plain(
    rate: float, size: int, draft: int, drafter: DrafterConfig
) -> None:
    facts = MachineFacts("", "Metal", 12, 48 * GB, 36 * GB, rate, 20 * rate, "", "", "", "")
    speeds = predict_speeds(facts, FOUR_BITS, drafter, (size, draft), 8192)
    assert 0 < speeds["plain"].low <= speeds["plain"].high
    assert speeds["plain"].low <= speeds["dflash"].low <= speeds["dflash"].high >= speeds["plain"].high


def test_with_free_rows_the_gain_is_tokens_per_round() -> None:
    speeds = predict_speeds(EVEN, {**DENSE, "tie_word_embeddings": True}, BLOCK, (100 * GB, 1), 1)
    assert 4.9 < speeds["dflash"].high / speeds["plain"].high < 5.43


def test_each_draft_of_a_chain_takes_time() -> None:
    one, chain = (predict_speeds(MAC, FOUR_BITS, drafter, (5 * GB, GB), 1024)["dflash"].high for drafter in (BLOCK, HEAD))
    free = predict_speeds(MAC, FOUR_BITS, HEAD, (5 * GB, 1), 1024)["dflash"].high
    few = predict_speeds(MAC, FOUR_BITS, DRAFTERS[-1], (5 * GB, GB), 1024)["dflash"].high
    assert chain < one and chain < few < free


def test_if_compute_bound_dflash_gains_nothing() -> None:
    slow = MachineFacts("", "CPU", 2, 48 * GB, 36 * GB, 200e9, 200e9, "", "", "", "")
    speeds = predict_speeds(slow, {**DENSE, "tie_word_embeddings": True}, BLOCK, (16 * GB, GB), 1)
    assert speeds["plain"].high == pytest.approx(200e9 / 16e9) and speeds["dflash"].high == pytest.approx(speeds["plain"].high)


def test_the_speed_of_a_tiny_pair_is_not_predicted() -> None:
    assert predict_speeds(MAC, FOUR_BITS, None, (GB // 10, 0), 1024) == {}


def test_an_incomplete_config_is_not_predicted() -> None:
    assert predict_speeds(MAC, {"model_type": "qwen3"}, None, (GB, 0), 1024) == {}


def stats(rate: float | None, tokens: int = 100) -> Stats:
    return Stats("dflash", 1, 0, tokens, 0.1, 1.0, rate, 0, 0, 0, 0, (), (), 0, 0, 0)


def test_measured_speeds_replace_the_prediction_and_are_saved() -> None:
    name = speed_key("a/b", "c/d")
    assert not record_speeds(name, [stats(None)]) and not record_speeds(name, [stats(40.0, tokens=5)])
    for rate in (40.0, 60.0):
        assert record_speeds(name, [stats(rate)]) and measured_speeds(MeasuredSpeeds().rates(name)) == {}
    assert record_speeds(name, [stats(50.0)])
    shown = measured_speeds(MeasuredSpeeds().rates(name))["dflash"]
    assert (shown.low, shown.high, shown.measured) == (40.0, 60.0, True) and "median is 50 tok/s" in str(shown.reason)
    assert record_speeds(name, [stats(45.0)] * 30)
    assert MeasuredSpeeds().rates(name)["dflash"] == [45.0] * 20 and MeasuredSpeeds().rates("other") == {}


def test_speeds_of_writers_at_the_same_time_are_all_saved() -> None:
    """The window saves those of replies, and the engine those of comparisons."""
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda at: record_speeds(f"pair {at % 20}", [stats(float(at + 1))]), range(80)))
    saved = MeasuredSpeeds()
    assert {rate for at in range(20) for rate in saved.rates(f"pair {at}")["dflash"]} == set(map(float, range(1, 81)))


@pytest.mark.parametrize("raw", [None, 3, [], {"of": 1, "pairs": {}}, {"pairs": {"a": 3}}])
def test_damaged_speeds_are_ignored(monkeypatch: pytest.MonkeyPatch, raw: object) -> None:
    monkeypatch.setattr(speeds_module, "read_json", lambda path: raw)
    assert MeasuredSpeeds().rates("a") == {}


def test_speeds_survive_a_change_of_host_name_but_not_of_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert record_speeds("a/b", [replace(stats(9.0), mode="plain")])
    monkeypatch.setattr(platform, "node", lambda: "mac.fritz.box")
    assert MeasuredSpeeds().rates("a/b") == {"plain": [9.0]}
    monkeypatch.setattr(speeds_module, "machine_model", lambda: "Mac99,1")
    assert MeasuredSpeeds().rates("a/b") == {}


def test_impossible_rates_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"of": speeds_module._this_machine(), "pairs": {"a/b": {"plain": [9.0, 10**400, -1.0, float("nan"), "x"]}}}
    monkeypatch.setattr(speeds_module, "read_json", lambda path: kept)
    assert MeasuredSpeeds().rates("a/b") == {"plain": [9.0]}


rates = st.lists(st.lists(st.floats(0.1, 1e4), max_size=5), min_size=1, max_size=5)


def auto(rates: list[list[float]]) -> list[int]:
    """Return the drafters in Auto's order, by their index."""
    drafters = [Path(f"/drafter {at}") for at in range(len(rates))]
    speeds = MeasuredSpeeds()
    speeds._rates = {speed_key(Path("/target"), drafter): {"dflash": one} for drafter, one in zip(drafters, rates, strict=True)}
    return [drafters.index(one) for one in speeds.ranked(Path("/target"), drafters)]


@given(rates, st.floats(0.1, 1e4))
def test_auto_tries_the_drafter_with_the_highest_median_first(rates: list[list[float]], more: float) -> None:
    """The first one of equals, or of drafters that weren't measured. A reply that raises its median doesn't change the choice."""
    order, enough = auto(rates), min(3, max(map(len, rates)))
    medians = [median(one) if one and len(one) >= enough else 0.0 for one in rates]
    chosen = order[0]
    assert medians[chosen] == max(medians) and medians[chosen] not in medians[:chosen]
    higher = [[*one, max(medians) + more] if at == chosen else one for at, one in enumerate(rates)]
    assert auto(higher)[0] == chosen and auto([[] for _ in rates]) == list(range(len(rates)))
    if len(rates) > 1:
        others = [one for at, one in enumerate(rates) if at != chosen]
        assert [at + (at >= chosen) for at in auto(others)] == order[1:], "the next ones are chosen in the same way"


def test_one_reply_does_not_decide_against_many() -> None:
    assert auto([[40.0] * 20, [41.0]]) == [0, 1] and auto([[40.0] * 20, [41.0] * 3]) == [1, 0]
    assert auto([[40.0], [41.0]]) == [1, 0], "a comparison with one run each"


def test_a_relative_folder_has_the_key_of_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert speed_key(Path("q"), Path("d")) == speed_key(tmp_path / "q", tmp_path / "d")


def test_folders_in_the_hubs_cache_have_the_key_of_their_repos() -> None:
    cache = Path("/hub")
    target, drafter = (cache / f"models--{name}" / "snapshots" / ("a" * 40) for name in ("a--b", "c--d"))
    assert speed_key(target, drafter) == speed_key("a/b", "c/d") and speed_key(Path("/x"), None) == "/x"
