"""Predicted speeds from bytes and rates, and measured speeds that replace them."""

import json
import os
import platform
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import mlx.core as mx
import platformdirs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.calibration import saved_calibration
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Stats
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.decoding.costs import CostTable
from mlx_engine.drafters.dflash2.config import DFlash2Config
from mlx_engine.drafters.mtp.config import Experts, MtpConfig
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.models.library import speeds as speeds_module
from mlx_engine.models.library.measured_costs import FORMAT, MeasuredCosts, measured_costs
from mlx_engine.models.library.pass_times import PassTimes
from mlx_engine.models.library.speeds import (
    MeasuredSpeeds,
    SpeedRange,
    measured_speeds,
    predict_speeds,
    record_speeds,
    speed_key,
    with_measured,
)
from tests.hub.repos import DRAFTER
from tests.mlx_engine.models import published_speeds
from tests.mlx_engine.models.published_speeds import CHIPS, MODELS
from tests.mlx_engine.models.test_fit import DENSE, MAC

GB = 10**9
FOUR_BITS = {**DENSE, "quantization": {"bits": 4, "group_size": 64}, "tie_word_embeddings": True}
EVEN = MachineFacts("", "Metal", 12, 48 * GB, 36 * GB, 200e9, 1e18, "", "", "", "")
BLOCK = parse({**DRAFTER, "hidden_size": 4096, "block_size": 16})
COMMON = {name: value for name, value in vars(BLOCK).items() if name != "laguna"}
SELECTING = DFlash2Config(**COMMON, kernel_rows=2, group=16, rank=8, top_k=4)
HEAD = MtpConfig(**{field.name: COMMON[field.name] for field in fields(DrafterConfig)} | {"block_size": 8})
DRAFTERS = (BLOCK, SELECTING, HEAD, replace(HEAD, experts=Experts(64, 4, 512, True)))


def test_plain_speed_is_bandwidth_over_bytes_read_but_for_a_fixed_time() -> None:
    plain = predict_speeds(EVEN, FOUR_BITS, None, (5 * GB, 0), 8192)["plain"]
    assert 1 / plain.high == pytest.approx(5 / 200 + 0.0015, abs=1e-4), "about 400 dispatches and a synchronization"
    assert 1 / plain.low - 1 / plain.high == pytest.approx(2 * 36 * 8 * 128 * 8192 * 2 / 200e9)
    assert "5.00 GB" in str(plain.reason) and not plain.measured and plain.gain is None


def test_each_layer_takes_time_that_no_bandwidth_saves() -> None:
    few, many = ({**FOUR_BITS, "num_hidden_layers": layers} for layers in (36, 72))
    fast, slow = (predict_speeds(EVEN, config, BLOCK, (5 * GB, GB), 1) for config in (few, many))
    assert 0.0013 < 1 / slow["plain"].high - 1 / fast["plain"].high < 0.0015
    assert slow["chat"].high < fast["chat"].high and slow["code"].low < fast["code"].low


def test_an_untied_embedding_table_is_not_counted() -> None:
    tied, apart = ({**DENSE, "tie_word_embeddings": value} for value in (True, False))
    slow, fast = (predict_speeds(EVEN, config, None, (16 * GB, 0), 1024)["plain"].high for config in (tied, apart))
    assert 1 / slow - 1 / fast == pytest.approx(4096 * 151936 * 2 / 200e9)


def test_only_chosen_experts_are_counted() -> None:
    config = {**DENSE, "num_experts": 128, "moe_intermediate_size": 768, "tie_word_embeddings": True}
    experts = 36 * 128 * 3 * 4096 * 768 * 2
    four, eight = (
        predict_speeds(EVEN, {**config, "num_experts_per_tok": chosen}, None, (experts + 2 * GB, 0), 1024)["plain"].high
        for chosen in (4, 8)
    )
    assert 1 / eight - 1 / four == pytest.approx(experts / 32 / 200e9)


@given(
    st.floats(1e9, 1e12),
    st.integers(4 * 10**9, 10**12),
    st.integers(10**6, 10**10),
    st.sampled_from(DRAFTERS),
    st.sampled_from(["", "Apple M1", "Apple M2 Pro", "Apple M3 Max", "Apple M4", "Apple M5 Max", "Apple M12"]),
)
def test_ranges_are_ordered_and_drafting_is_never_slower_than_plain(
    rate: float, size: int, draft: int, drafter: DrafterConfig, chip: str
) -> None:
    facts = MachineFacts("", "Metal", 12, 48 * GB, 36 * GB, rate, 20 * rate, "", "", "", "")
    speeds = predict_speeds(replace(facts, name=chip), FOUR_BITS, drafter, (size, draft), 8192)
    plain = speeds["plain"]
    assert set(speeds) == {"plain", "chat", "code"} and 0 < plain.low <= plain.middle <= plain.high
    for kind in ("chat", "code"):
        drafted = speeds[kind]
        assert plain.low <= drafted.low <= drafted.middle <= drafted.high and plain.high <= drafted.high
        assert drafted.gain is not None and 1 <= drafted.gain[0] <= drafted.gain[1] <= drafter.block_size
        assert drafted.gains or drafted.may_not_gain
    assert speeds["chat"].middle <= speeds["code"].middle


def test_with_free_rows_the_gain_is_tokens_per_round() -> None:
    speeds = predict_speeds(EVEN, {**DENSE, "tie_word_embeddings": True}, BLOCK, (100 * GB, 1), 1)
    for kind, few, many in (("chat", 2.96, 3.43), ("code", 4.99, 8.24)):
        low, high = speeds[kind].gain
        assert 0.95 * few < low < few and 0.95 * many < high < many


def test_a_drafters_arithmetic_takes_time() -> None:
    """Its weights were charged for reading only, so drafts seemed free with much bandwidth."""
    times = PassTimes(replace(MAC, bandwidth=1e18), FOUR_BITS, 5 * GB, 1)
    none, one, two = (times.draft_seconds(BLOCK, size, 8, 2) for size in (0, 100 * GB, 200 * GB))
    assert one - none == pytest.approx(2 * 8 * 50e9 / (0.8 * MAC.compute), rel=0.01)
    assert two - none == pytest.approx(2 * (one - none), rel=0.01)


@given(st.integers(4 * 10**9, 10**11), st.integers(10**6, 10**10), st.sampled_from(DRAFTERS), st.booleans())
def test_newer_chips_with_the_same_rates_are_no_slower(size: int, draft: int, drafter: DrafterConfig, quantized: bool) -> None:
    """M1 and M2 have no kernels for a few rows; M5's accelerators need macOS 26."""
    config = FOUR_BITS if quantized else {**DENSE, "tie_word_embeddings": True}
    old, new = (predict_speeds(replace(MAC, name=f"Apple {chip}"), config, drafter, (size, draft), 8192) for chip in ("M2", "M4"))
    accelerated = replace(MAC, name="Apple M5", compute=4 * MAC.compute)
    newest = predict_speeds(accelerated, config, drafter, (size, draft), 8192)
    for kind in old:
        assert old[kind].middle <= new[kind].middle * 1.0001 and new[kind].high <= newest[kind].high * 1.0001


def test_each_draft_of_a_chain_takes_time() -> None:
    one, chain = (predict_speeds(MAC, FOUR_BITS, drafter, (5 * GB, GB), 1024)["code"].high for drafter in (BLOCK, HEAD))
    free = predict_speeds(MAC, FOUR_BITS, HEAD, (5 * GB, 1), 1024)["code"].high
    few = predict_speeds(MAC, FOUR_BITS, DRAFTERS[-1], (5 * GB, GB), 1024)["code"].high
    assert chain < one and chain < few < free


def test_if_compute_bound_dflash_gains_nothing() -> None:
    slow = MachineFacts("", "CPU", 2, 48 * GB, 36 * GB, 200e9, 20e9, "", "", "", "")
    speeds = predict_speeds(slow, {**DENSE, "tie_word_embeddings": True}, BLOCK, (16 * GB, GB), 1)
    assert speeds["plain"].high < 20e9 / 16e9
    assert all(speeds[kind].high == speeds["plain"].high and not speeds[kind].gains for kind in ("chat", "code"))
    assert str(speeds["chat"]).endswith("(no gain)")


def test_the_speed_of_a_tiny_pair_is_not_predicted() -> None:
    assert predict_speeds(MAC, FOUR_BITS, None, (GB // 10, 0), 1024) == {}


def test_an_incomplete_config_is_not_predicted() -> None:
    assert predict_speeds(MAC, {"model_type": "qwen3"}, None, (GB, 0), 1024) == {}


def test_an_m1_max_gains_nothing_with_an_8_bit_27b() -> None:
    """Published: 0.91 times plain decoding at best, with 24 cores (mlx-dspark, issue 38). 32 cores reach 8.9 TFLOP/s."""
    for compute in (6.7e12, 8.9e12):
        for drafter in ("DFlash 2", "DSpark"):
            facts = replace(CHIPS["M1 Max"], compute=compute)
            config = {**MODELS["Qwen3.x 27B"].config, "quantization": {"bits": 8, "group_size": 64}}
            speeds = predict_speeds(facts, config, published_speeds.DRAFTERS[drafter], (28_600_000_000, 3_850_000_000), 8192)
            for kind in ("chat", "code"):
                assert speeds[kind].middle == speeds["plain"].middle and speeds[kind].may_not_gain
            assert not speeds["chat"].gains


def test_rates_and_gains_are_short() -> None:
    reason = EngineText("", "")
    texts = [str(SpeedRange(20, 30, 41, reason, gain=gain)) for gain in ((1.31, 2.62), (1.04, 1.9), (1.0, 1.04), (2.0, 2.0))]
    assert texts == [f"20–41 tok/s ({gain})" for gain in ("1.3 to 2.6×", "no gain to 1.9×", "no gain", "2.0×")]
    assert str(SpeedRange(8.2, 9, 9.04, reason)) == "8.2–9 tok/s"


def test_a_pairs_own_acceptance_replaces_the_published_one() -> None:
    rates = {}
    for accepted in (0.2, 0.9):
        speeds = predict_speeds(MAC, FOUR_BITS, BLOCK, (5 * GB, GB), 1024, [accepted])
        assert set(speeds) == {"plain", "dflash"} and "Your replies" in str(speeds["dflash"].reason)
        rates[accepted] = speeds["dflash"].middle
    assert rates[0.2] < rates[0.9]
    mixed = predict_speeds(MAC, FOUR_BITS, BLOCK, (5 * GB, GB), 1024, [0.2, 0.9, 0.9])["dflash"]
    assert mixed.low < rates[0.2] < mixed.middle == rates[0.9] < mixed.high


def test_the_acceptance_of_replies_is_saved() -> None:
    key = speed_key("a/b", "c/d")
    for tested, accepted in ((100, 75), (8, 1), (40, 10)):
        assert record_speeds(key, [replace(stats(40.0), tested=tested, accepted=accepted)])
    assert record_speeds(key, [replace(stats(40.0), tested=140, accepted=120, lookup_tested=100, lookup_accepted=100)])
    assert record_speeds(key, [replace(stats(40.0), tested=108, accepted=98, lookup_tested=100, lookup_accepted=90)])
    saved = MeasuredSpeeds()
    assert saved.acceptance(key) == [0.75, 0.25, 0.5], "8 drafts say little, and copies say nothing about the drafter"
    assert saved.rates(key) == {"dflash": [40.0] * 5} and saved.acceptance("other") == []


def test_measured_replies_replace_all_predictions_of_drafting() -> None:
    predicted = predict_speeds(MAC, FOUR_BITS, BLOCK, (5 * GB, GB), 1024)
    assert with_measured(predicted, {"dflash": [1.0, 2.0]}) == predicted
    shown = with_measured(predicted, {"dflash": [70.0, 80.0, 99.0]})
    assert set(shown) == {"plain", "dflash"} and shown["plain"] == predicted["plain"] and shown["dflash"].middle == 80


COSTS = MeasuredCosts((2, 4, 16), (0.05, 0.06), ((0.06, 0.07, 0.2), (0.07, 0.09, 0.3)))


def test_measured_costs_replace_the_predicted_ones() -> None:
    speeds = predict_speeds(MAC, FOUR_BITS, BLOCK, (5 * GB, GB), 1024, [0.8], COSTS)
    assert (speeds["plain"].low, speeds["plain"].high) == (1 / 0.06, 1 / 0.05)
    four, sixteen = (sum(0.8**at for at in range(width)) for width in (4, 16))
    assert speeds["dflash"].high == pytest.approx(max(four / 0.07, sixteen / 0.2))
    assert speeds["dflash"].low == pytest.approx(max(four / 0.09, sixteen / 0.3))
    assert "measured on this machine" in str(speeds["dflash"].reason)
    slow = replace(COSTS, rounds=((0.5,) * 3,) * 2)
    assert not predict_speeds(MAC, FOUR_BITS, BLOCK, (5 * GB, GB), 1024, [0.8], slow)["dflash"].gains


INFO = SimpleNamespace(target="a/b", target_bytes=5, drafter="c/d", drafter_bytes=1, drafter_weights="4 bit", family="qwen3")
TABLE = CostTable((128, 2048), (2, 4), (0.1, 0.2), ((0.11, 0.12), (0.13, 0.14)), ((0.01, 0.02), (0.03, 0.04)))


@contextmanager
def cache() -> Iterator[None]:
    """Give the code in this block an empty cache folder."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(platformdirs, "user_cache_path", lambda *_, **__: Path(folder))
        yield


def identity() -> dict[str, object]:
    return saved_calibration.identity(SimpleNamespace(info=INFO, dtype=mx.float16)) | {"format": FORMAT}


@given(st.permutations(range(4)), st.permutations(range(4)))
@cache()
def test_the_latest_calibration_counts_whichever_file_is_newer(measured: list[int], written: list[int]) -> None:
    for at, (when, modified) in enumerate(zip(measured, written, strict=True)):
        of = identity() | {"backend": at}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(saved_calibration.time, "time", lambda when=when: 1e9 + when)
            assert saved_calibration.write("calibration", of, asdict(replace(TABLE, plain=(0.1 + when, 0.2))))
        os.utime(saved_calibration._file("calibration", of), (modified, modified))
    (costs,) = measured_costs().values()
    assert costs.plain == (3.1, 0.2)
    other = identity() | {"backend": 4, "format": FORMAT + 1}
    assert saved_calibration.write("calibration", other, asdict(TABLE)) and list(measured_costs().values()) == [costs]


@cache()
def test_calibrated_costs_are_found_by_names_and_sizes() -> None:
    of = identity()
    assert saved_calibration.write("calibration", {**of, "backend": "first"}, asdict(TABLE))
    (costs,) = measured_costs().values()
    assert measured_costs() == {(("a/b", "c/d"), (5, 1)): costs}
    assert costs.seconds(1, True) == 0.2 and costs.seconds(4, False) == pytest.approx(0.14) and costs.widths == (2, 4)
    assert saved_calibration.write("calibration", {**of, "mlx": "0.1"}, asdict(TABLE)) and len(measured_costs()) == 1


@given(st.recursive(st.none() | st.floats() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3), max_leaves=4))
@cache()
def test_damaged_calibrations_are_ignored(odd: object) -> None:
    of = identity()
    for name in ("widths", "plain", "verify", "draft"):
        assert saved_calibration.write("calibration", of, {**asdict(TABLE), name: odd})
        for costs in measured_costs().values():
            assert all(costs.seconds(width, full) > 0 for width in (1, *costs.widths) for full in (True, False))
    whole = {"measured": 1e9, "of": of, "result": asdict(TABLE)}
    for raw in (odd, {"of": odd}, *({**whole, name: odd} for name in whole), {**whole, "of": {**of, "pair": odd}}):
        (saved_calibration.folder("calibration") / "x.json").write_text(json.dumps(raw), encoding="utf-8")
        measured_costs()


def stats(rate: float | None, tokens: int = 100) -> Stats:
    return Stats("dflash", 1, 0, tokens, 0.1, 1.0, rate, 0, 0, 0, 0, (), (), 0, 0, 0)


def test_measured_speeds_replace_the_prediction_and_are_saved() -> None:
    name = speed_key("a/b", "c/d")
    assert not record_speeds(name, [stats(None)]) and not record_speeds(name, [stats(40.0, tokens=5)])
    assert not record_speeds(name, [replace(stats(40.0), rest_s=1.0)]), "in quiet mode"
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
