"""Predicted memory: caches compared with mlx-lm's, the lines and their sum, and the verdicts."""

import time
from contextlib import suppress

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.cache import CacheList, KVCache, make_prompt_cache

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import PREFILL_ROWS
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.drafters.parts.context import DraftContext
from mlx_engine.drafters.registry import parse
from mlx_engine.hardware import machine
from mlx_engine.loading.image_reader import ImageReader
from mlx_engine.models.configs.target_config import (
    MOST_LAYERS,
    dflash_problem,
    layer_states,
    pair_problem,
    target_problem,
    text_config,
)
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.fit import predict_fit
from mlx_engine.models.library.speeds import predict_speeds
from mlx_engine.vision.spans import ImageSpan
from mlx_engine.vision.vision_checkpoint import described_rules
from tests.hub.repos import DRAFTER
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.tiny_families import CONFIGS, FAMILIES, build

GB = 10**9
MAC = MachineFacts("Apple M4 Pro", "Metal", 14, 48 * GB, 36 * GB, 250e9, 15e12, "float16", "", "", "")
CPU = MachineFacts("", "CPU", 2, 64 * GB, 48 * GB, 1e10, 1e11, "float32", "", "", "")
DENSE = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 12288,
    "vocab_size": 151936,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_layer_states_match_mlx_lms_caches(name: str) -> None:
    tokens = 300 if name not in ("qwen3_next", "qwen3_5", "qwen3_5_moe") else 40
    model = build(name)
    caches = make_prompt_cache(model)
    model(mx.array([[3 + at % 100 for at in range(tokens)]]), cache=caches)
    mx.eval([cache.state for cache in caches])
    held = [part.nbytes for cache in caches for part in (cache.caches if isinstance(cache, CacheList) else [cache])]
    states = layer_states(CONFIGS[name])
    assert states is not None and sum(state.bytes(tokens, 4) for state in states) == pytest.approx(sum(held), rel=0.001)
    growing = sum(type(cache) is KVCache or isinstance(cache, CacheList) for cache in caches)
    assert sum(bool(state.row) and state.window is None for state in states) == growing


def test_the_drafter_context_matches_its_prediction() -> None:
    config = parse(
        {**DRAFTER, "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 300}
    )
    for context in (200, 700, 2000):
        predicted = predict_fit(DENSE, {**DRAFTER}, 1, 1, context)  # the same arithmetic, with the drafter as it is
        assert next(line for line in predicted.lines if line.what == "Drafter context").bytes
        held = DraftContext(config.windows)
        for start in range(0, context, PREFILL_ROWS):
            for window, kind in held.kinds.items():
                count = min(PREFILL_ROWS, context - start)
                kind.append(mx.zeros((2, config.windows.count(window), config.kv_heads, count, config.head_dim)))
        raw = {**DRAFTER, "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 300}
        line = next(line for line in predict_fit(DENSE, raw, 1, 1, context, CPU).lines if line.what == "Drafter context")
        size = sum(array.nbytes for array in held.state)
        assert size <= line.bytes <= size + 2 * 2 * config.kv_heads * config.head_dim * 4 * (300 + 2 * 256)


def test_the_lines_add_up() -> None:
    predicted = predict_fit(DENSE, None, 8_000_000_000, 0, 8192, MAC)
    assert predicted.needed == sum(line.bytes or 0 for line in predicted.lines) and all(line.formula for line in predicted.lines)
    kv = next(line for line in predicted.lines if line.what == "Target KV cache")
    assert kv.bytes == 2 * 36 * 8 * 128 * 8192 * 2


@pytest.mark.parametrize("name", FAMILIES)
def test_the_formulas_of_caches_and_states_give_their_bytes(name: str) -> None:
    lines = predict_fit(CONFIGS[name], None, GB, 0, 1024, CPU).lines
    held = [line for line in lines if line.what in ("Target KV cache", "Recurrent state")]
    assert held and all(line.bytes == eval(line.formula.replace("×", "*").replace(",", "")) for line in held)


@pytest.mark.parametrize("family", ["qwen3_5", "gemma4_causal", "gemma4_unified"])
def test_a_pair_that_sees_needs_memory_for_a_photo(family: str) -> None:
    config = read_config(GOLDEN / "vision" / family)
    blind, seeing = (predict_fit(config, None, GB, 0, 1024, CPU, sees=sees) for sees in (False, True))
    (line,) = [line for line in seeing.lines if line not in blind.lines]
    rules = described_rules(config)
    assert rules is not None and line.bytes and line.what == "12-megapixel image"
    photo = ImageSpan(0, rules.grid(*rules.size(4032, 3024)), "photo")
    reserved = ImageReader(GOLDEN, rules, mx.float32).bytes([photo])
    assert reserved <= line.bytes < reserved + photo.size
    assert blind.lines == predict_fit({**config, "vision_config": None}, None, GB, 0, 1024, CPU).lines


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2, 3, 2**31, 2**63, -(2**70), 10**400, 1e308, float("nan"), float("inf"), 0.5]),
    st.sampled_from(["", "qwen3", "gemma4_text", "full_attention", [], {}, [1], [None], [[]], {"a": []}]),
)
FIELDS = sorted({name for config in CONFIGS.values() for name in (*config, *text_config(config))})
QUANTISED = ["bits", "group_size", "mode", "quant_method"]


@given(
    st.sampled_from(FAMILIES),
    st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=3),
    st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=3),
    st.dictionaries(st.sampled_from(QUANTISED), ODD),
    st.booleans(),
)
def test_any_config_is_predicted_or_refused(name: str, odd: dict, nested: dict, quantised: dict, on_cpu: bool) -> None:
    config = {**CONFIGS[name], **odd, "quantization": quantised, "quantization_config": quantised}
    if isinstance(inner := config.get("text_config"), dict) or nested:
        config["text_config"] = {**(inner if isinstance(inner, dict) else {}), **nested}
    facts = CPU if on_cpu else MAC
    try:
        predicted = predict_fit(config, DRAFTER, GB, GB, 1024, facts)
        assert predicted.verdict and predicted.reason
        for speed in predict_speeds(facts, config, parse(DRAFTER), (GB, GB), 1024).values():
            assert 0 < speed.low <= speed.high
        problem = target_problem(config) or dflash_problem(config) or pair_problem(config, DRAFTER)
        assert problem is None or str(problem).endswith(".")
    except UserError as error:
        assert str(error).endswith(".")


@pytest.mark.parametrize("layers", [MOST_LAYERS + 1, 10**6, 10**9, 2**39, 10**400])
def test_an_absurd_number_of_layers_is_refused_quickly(layers: int) -> None:
    config = {**DENSE, "num_hidden_layers": layers}
    assert "more than 2,048 layers" in str(target_problem(config))
    began = time.thread_time()
    with suppress(UserError):
        assert predict_fit(config, None, GB, 0, 1024, MAC).verdict == "unknown"
    assert time.thread_time() - began < 1


@given(st.integers(1, 10**12), st.integers(1, 10**6), st.integers(1, 10**6))
def test_more_context_never_needs_less_memory(size: int, one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert predict_fit(DENSE, DRAFTER, size, size, less, MAC).needed <= predict_fit(DENSE, DRAFTER, size, size, more, MAC).needed


@pytest.mark.parametrize(
    ("size", "free", "verdict"),
    [(8, 40, "comfortable"), (30, 40, "tight"), (8, 4, "tight"), (37, 40, "will swap"), (48, 40, "no")],
)
def test_the_verdict_matches_its_reason(size: int, free: int, verdict: str) -> None:
    predicted = predict_fit(DENSE, None, size * GB, 0, 1024, MAC, free=free * GB)
    assert predicted.verdict == verdict and "At 1,024 tokens" in str(predicted.reason)
    assert (predicted.reason.code == "fit_crowded") == (free == 4)


def test_an_incomplete_config_makes_the_fit_unknown() -> None:
    predicted = predict_fit({"model_type": "qwen3"}, None, GB, 0, 1024, MAC)
    assert predicted.verdict == "unknown" and [line.what for line in predicted.lines if line.bytes is None] == [
        "Target KV cache",
        "Workspace",
    ]


def test_a_large_drafter_on_a_gpu_is_counted_as_quantized() -> None:
    raw = {**DRAFTER, "hidden_size": 4096}
    stored, small = (
        next(x for x in predict_fit(DENSE, raw, GB, size, 1024, MAC).lines if x.what == "Drafter weights")
        for size in (4 * GB, GB // 2)
    )
    assert 4 * GB * 4.5 / 16 <= (stored.bytes or 0) < 1.2 * GB and (small.bytes or 0) >= GB // 2


def test_free_memory_is_parsed_from_both_systems() -> None:
    assert machine.free_by_meminfo("MemTotal: 100 kB\nMemAvailable:   2048 kB\n") == 2048 * 1024
    predicted = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:    1000.\nPages active:  5.\n"
        "Pages speculative:  7.\nPages purgeable:   200.\nFile-backed pages:     300.\n"
    )
    assert machine.free_by_vm_stat(predicted) == 16384 * 1500
    assert machine.free_by_vm_stat("") is None and machine.free_by_meminfo("") is None
