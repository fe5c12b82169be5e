"""Every published layout of a drafter's config is read as one; what is unknown or contradictory is refused by the field's name."""

import json
import math
import re
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.mtp.config import Experts
from mlx_engine.drafters.parts.block_config import BlockConfig
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.registry import parse
from mlx_engine.models.configs.target_config import pair_problem
from tests.examples import sampled
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.drafters.drafter_cases import flat, speculators

FOLDERS = sorted((*GOLDEN.glob("0*/drafter"), *GOLDEN.glob("e2e_*/drafter")))
PUBLISHED = {folder.parent.name: json.loads((folder / "config.json").read_text(encoding="utf-8")) for folder in FOLDERS}
V1, V2, SLIDING = PUBLISHED["01_v1_full"], PUBLISHED["06_dflash2"], PUBLISHED["02_v1_swa_mixed"]
MUSE = {
    **flat(SLIDING),
    "architectures": ["MuseGlimmerAssistantModel"],
    "model_type": "muse_glimmer_assistant",
    "layer_types": ["sliding_attention"] * 3,
}
LAGUNA = {
    **SLIDING,
    "architectures": ["DFlashLagunaForCausalLM"],
    "layer_types": ["sliding_attention"] * 3,
    "gating": "per-head",
    "num_experts": 0,
    "draft_vocab_size": SLIDING["vocab_size"],
    "num_target_layers": None,
    "dflash_config": {**SLIDING["dflash_config"], "num_target_layers": 10, "causal": True},
}
OWN = ("kernel_rows", "group", "rank", "top_k")  # fields of DFlash 2
SPARK, GEMMA_SPARK, SPARK_SPECULATORS = (
    json.loads((GOLDEN / f"dspark_{number}" / "drafter" / "config.json").read_text(encoding="utf-8")) for number in (1, 2, 3)
)
MTP, MTP_NATIVE = (
    json.loads((GOLDEN / name / "config.json").read_text(encoding="utf-8")) for name in ("mtp_1/drafter", "mtp_2/target")
)
EAGLE, EAGLE_SPECULATORS = (
    json.loads((GOLDEN / f"eagle3_{number}" / "drafter" / "config.json").read_text(encoding="utf-8")) for number in (1, 2)
)
EAGLE_NESTED = {
    **EAGLE,
    "eagle_config": {
        "eagle_aux_hidden_state_layer_ids": [1, 3, 4],
        "use_aux_hidden_state": True,
        "use_input_layernorm_in_first_layer": True,
        "use_last_layernorm": True,
        "use_mtp_layernorm": False,
    },
}
SPECFORGE = {
    **{name: value for name, value in SPARK.items() if name not in ("mask_token_id", "target_layer_ids")},
    "architectures": ["DSparkDraftModel"],
    "dflash_config": {
        "projector_type": "dspark",
        "mask_token_id": 119,
        "target_layer_ids": [0, 2],
        "attention_mode": "gqa",
        "dspark_backbone_conv_enabled": False,
    },
}
LAYOUTS = {
    **PUBLISHED,
    "dspark": SPARK,
    "dspark gemma": GEMMA_SPARK,
    "dspark speculators": SPARK_SPECULATORS,
    "dspark specforge": SPECFORGE,
    "eagle3": EAGLE,
    "eagle3 nested": EAGLE_NESTED,
    "eagle3 speculators": EAGLE_SPECULATORS,
    "muse": MUSE,
    "laguna": LAGUNA,
    "speculators": speculators(V1),
    "speculators2": speculators(V2, "dflash2"),
}


def refusal(config: dict) -> str:
    with pytest.raises(UserError) as error:
        parse(config)
    return str(error.value)


@pytest.mark.parametrize("name", PUBLISHED)
def test_fields_may_stand_at_either_level(name):
    config = PUBLISHED[name]
    nested = {key: value for key, value in config.items() if key not in ("block_size", "final_logit_softcapping")}
    nested["dflash_config"] = {**config["dflash_config"], **{key: config[key] for key in set(config) - set(nested)}}
    nested["dflash_config"].pop("dflash_config", None)
    assert parse(flat(config)) == parse(nested) == parse(config)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_rope_block_says_what_the_older_fields_say(name):
    config = deepcopy(PUBLISHED[name])
    theta, scaling = config.pop("rope_theta", None), config.pop("rope_scaling", None)
    if theta is None:
        config = {**config, "rope_theta": config.pop("rope_parameters")["rope_theta"]}
    else:
        config["rope_parameters"] = {"rope_theta": theta, "rope_type": "default", **(scaling or {})}
    assert parse(config) == parse(PUBLISHED[name])


def test_speculators_layout_says_the_same_with_layers_numbered_by_what_enters_them():
    ours, theirs = parse(V1), parse(speculators(V1))
    assert theirs.taps == ours.taps
    assert {**vars(theirs), "target_layers": ours.target_layers} == vars(ours)
    both = parse(speculators(V2, "dflash2"))
    assert [getattr(both, name) for name in OWN] == [getattr(parse(V2), name) for name in OWN]
    assert parse(speculators(V1, draft_vocab_size=100)).draft_vocab_size == 100


@pytest.mark.parametrize(
    ("fields", "causal"),
    [
        ({}, (True, True, False)),
        ({"is_causal": True}, (True, True, True)),
        ({"is_causal": False}, (False, False, False)),
        ({"causal": True}, (True, True, True)),
        ({"causal": False, "is_causal": False}, (False, False, False)),
        ({"causal_head": True}, (True, True, True)),
        ({"causal_head": True, "causal": True}, (True, True, True)),
        ({"causal_head": False}, (False, False, False)),
    ],
)
def test_causality_of_each_layer(fields, causal):
    assert parse({**SLIDING, **fields}).causal == causal
    assert parse({**SLIDING, "dflash_config": {**SLIDING["dflash_config"], **fields}}).causal == causal


def test_causality_where_a_format_means_otherwise():
    assert parse(MUSE).causal == (False,) * 3
    assert parse(LAGUNA).causal == (True,) * 3
    for kind, config, usual in (("dflash", SLIDING, (True, True, False)), ("dflash2", V2, (False, False))):
        assert parse(speculators(config, kind)).causal == usual
        assert parse(speculators(config, kind, sliding_window_non_causal=True)).causal == (False,) * len(usual)
        sliding = parse(config).windows
        assert parse(speculators(config, kind, sliding_window_non_causal=False)).causal == tuple(w is not None for w in sliding)


@pytest.mark.parametrize(
    ("layers", "target_layers", "taps"), [(5, 36, (1, 9, 17, 25, 33)), (1, 36, (18,)), (5, 64, (1, 16, 31, 46, 61))]
)
def test_taps_that_are_not_given_are_spread_evenly(layers, target_layers, taps):
    """Qwen3-8B's and Qwen3.6-27B's published taps come out of the formula."""
    config = {**V1, "num_hidden_layers": layers, "layer_types": None, "num_target_layers": target_layers}
    config["dflash_config"] = {"mask_token_id": 300}
    assert parse(config).taps == taps


def test_windows_by_older_fields():
    plain = {**SLIDING, "layer_types": None, "use_sliding_window": True, "max_window_layers": 1}
    assert parse(plain).windows == (None, 24, 24)
    swa = {**V1, "dflash_config": {**V1["dflash_config"], "use_swa": True, "swa_window_size": 128}}
    assert parse({**swa, "layer_types": None}).windows == (128, 128) and parse({**swa, "layer_types": None}).causal == (
        False,
        False,
    )
    assert parse(swa).windows == (128, 128)


def test_dspark_is_read_from_each_layout():
    plain, gemma, other = map(parse, (SPARK, GEMMA_SPARK, SPARK_SPECULATORS))
    assert parse(SPECFORGE) == plain
    # Its trainer copies the target's config
    copied = {"attn_output_gate": True, "full_attention_interval": 4, "linear_num_key_heads": 16, "partial_rotary_factor": 0.25}
    rope = {**SPARK["rope_parameters"], "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10]}
    trained = {**SPECFORGE["dflash_config"], "confidence_head_alpha": 1.0}
    assert parse({**SPECFORGE, "dflash_config": trained}) == plain
    assert parse({**SPARK, **copied, "rope_parameters": rope}) == plain
    assert (plain.first_row, plain.block_size, plain.windows, plain.taps) == (0, 8, (4096, 4096), (0, 2))
    assert (gemma.head_dim, gemma.kv_heads, gemma.rope.share, gemma.softcap) == (32, 1, 0.25, 30.0)
    assert (other.first_row, other.block_size, other.draft_vocab_size, other.taps) == (1, 6, 72, (0, 1, 2))
    assert plain.confident and not parse({**SPARK, "enable_confidence_head": False}).confident


def test_an_mtp_head_is_read_from_its_targets_config():
    plain, native = parse(MTP), parse(MTP_NATIVE)
    assert plain == replace(native, vocab_size=121) and native.kind == "MTP" and native.experts is None
    assert (native.taps, native.target_layers, native.rope.theta, native.rope.share) == ((4,), 4, 1e7, 0.5)
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24}
    nested = {**MTP_NATIVE, "model_type": "qwen3_5_moe", "text_config": {**MTP_NATIVE["text_config"], **experts}}
    assert parse(nested).experts == Experts(8, 2, 16, normalized=True) and parse(nested).intermediate_size == 24
    flat = {**MTP_NATIVE["text_config"], **experts, "model_type": "qwen3_next", "rope_parameters": None, "norm_topk_prob": False}
    next_config = parse({**flat, "rope_theta": 10_000_000, "partial_rotary_factor": 0.5, "mtp_num_hidden_layers": None})
    assert next_config == replace(parse(nested), experts=Experts(8, 2, 16, normalized=False))


@pytest.mark.parametrize(("config", "kind"), [(V1, "dflash"), (V2, "dflash2")])
@pytest.mark.parametrize(("anchor", "first_row"), [(None, 1), (False, 1), (True, 0)])
def test_the_row_of_the_anchor_proposes_if_the_config_says_so(config, kind, anchor, first_row):
    read = parse(speculators(config, kind, sample_from_anchor=anchor))
    assert read.first_row == first_row and read.block_size == parse(config).block_size + 1 - first_row
    assert parse({**config, "sample_from_anchor": anchor}).first_row == first_row


@pytest.mark.parametrize(("count", "first_row"), [(6, 0), (5, 1), (3, 1)])
def test_an_older_speculators_config_tells_the_first_row_by_its_proposals(count, first_row):
    methods = {"proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": count}]}
    assert parse({**SPARK_SPECULATORS, "sample_from_anchor": None, "speculators_config": methods}).first_row == first_row


@pytest.mark.parametrize(
    ("config", "fields", "name"),
    [
        (SPARK, {"markov_head_type": "gated"}, "markov_head_type"),
        (V1, {"rope_scaling": {"rope_type": "partial"}}, "rope_type"),
        (MTP, {"text_config": {**MTP["text_config"], "mtp_num_hidden_layers": 2}}, "mtp_num_hidden_layers"),
        (MTP, {"text_config": {**MTP["text_config"], "mtp_use_dedicated_embeddings": True}}, "mtp_use_dedicated_embeddings"),
        (MTP, {"text_config": {**MTP["text_config"], "rope_parameters": {"rope_type": "ntk", "rope_theta": 9.0}}}, "rope_type"),
        (MTP, {"text_config": {**MTP["text_config"], "num_hidden_layers": None}}, "num_hidden_layers"),
        (MTP, {"text_config": {**MTP["text_config"], "rope_scaling": {"rope_type": "yarn"}}}, "rope_scaling"),
        (SPARK, {"markov_rank": None}, "markov_rank"),
        (SPECFORGE, {"dspark_backbone_conv_enabled": True}, "dspark_backbone_conv_enabled"),
        (SPARK, {"log_snr_conditioning": True}, "log_snr_conditioning"),
        (SPARK, {"vocab_size": None}, "vocab_size"),
        (V1, {"architectures": ["LlamaForCausalLMEagle"]}, "architectures"),
        (V1, {"architectures": ["DFlashDraftModel", "DFlash2DraftModel"]}, "architectures"),
        (V1, {"architectures": None}, "architectures"),
        (V1, {"block_size": 12, "dflash_config": {**V1["dflash_config"], "block_size": 16}}, "block_size"),
        (V1, {"block_size": 16.5}, "block_size"),
        (V1, {"block_size": 10**400}, "block_size"),
        (V1, {"block_size": 65}, "block_size"),
        (SLIDING, {"sliding_window": SLIDING["block_size"] - 1}, "block_size"),
        (V1, {"sliding_window": math.inf, "layer_types": ["sliding_attention"] * 2, "use_sliding_window": True}, "sliding_window"),
        (V1, {"rms_norm_eps": math.nan}, "rms_norm_eps"),
        (V1, {"rope_theta": 1e300}, "rope_theta"),
        (V1, {"num_hidden_layers": 10**9, "layer_types": None}, "num_hidden_layers"),
        (V1, {"rope_parameters": {"rope_theta": 5}}, "rope_theta"),
        (V1, {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}, "rope_parameters": {"rope_type": "default"}}, "rope_type"),
        (V1, {"rope_scaling": {"rope_type": "longrope", "factor": 4.0}}, "rope_type"),
        (V1, {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 1, "beta_slow": 32}}, "beta_fast"),
        (V1, {"hidden_act": "gelu"}, "hidden_act"),
        (V1, {"mlp_bias": True}, "mlp_bias"),
        (V1, {"attention_bias": "false"}, "attention_bias"),
        (V1, {"is_causal": [True, False]}, "is_causal"),
        (V1, {"is_causal": True, "dflash_config": {**V1["dflash_config"], "causal": False}}, "is_causal"),
        (V1, {"num_target_layers": 7}, "target_layer_ids"),
        (V1, {"num_target_layers": None, "dflash_config": {"mask_token_id": 300}}, "target_layer_ids"),
        (V1, {"dflash_config": {**V1["dflash_config"], "attention_sink_bias": True}}, "attention_sink_bias"),
        (V1, {"dflash_config": {**V1["dflash_config"], "confidence": 3}}, "confidence"),
        (V1, {"dflash_config": {**V1["dflash_config"], "conv_kernel_size": 2}}, "conv_kernel_size"),
        (V1, {"residual_multiplier": 0.5}, "residual_multiplier"),
        (V1, {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        (V1, {"target_hidden_size": 128}, "target_hidden_size"),
        (V1, {"num_key_value_heads": 3}, "num_key_value_heads"),
        (V1, {"head_dim": 31}, "head_dim"),
        (V1, {"rms_norm_eps": 0}, "rms_norm_eps"),
        (V1, {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "quantization_config"),
        (V1, {"quantization": {"bits": 4, "group_size": 64, "mode": "mxfp4"}}, "quantization"),
        (V1, {"gating": "per-head"}, "gating"),
        (V1, {"draft_vocab_size": 400}, "draft_vocab_size"),
        (SLIDING, {"use_sliding_window": False}, "use_sliding_window"),
        (SLIDING, {"sliding_window": None}, "sliding_window"),
        (V2, {"dflash_config": {**V2["dflash_config"], "conv_group_size": 24}}, "conv_group_size"),
        (V2, {"dflash_config": {**V2["dflash_config"], "selector_top_k": 400}}, "selector_top_k"),
        (V2, {"dflash_config": {**V2["dflash_config"], "selector_rank": None}}, "selector_rank"),
        (V2, {"draft_vocab_size": 100}, "draft_vocab_size"),
        (speculators(V1), {"speculators_model_type": "dspark"}, "speculators_model_type"),
        (speculators(V1), {"architectures": ["Eagle3Speculator"]}, "architectures"),
        (V1, {"causal_head": True, "is_causal": False}, "causal_head"),
        (speculators(V1), {"sample_from_anchor": "yes"}, "sample_from_anchor"),
        (speculators(V1), {"aux_hidden_state_layer_ids": [0, 4]}, "aux_hidden_state_layer_ids"),
        (speculators(V1), {"aux_hidden_state_layer_ids": None}, "aux_hidden_state_layer_ids"),
        (speculators(V1), {"target_layer_ids": [1, 2, 3]}, "target_layer_ids"),
        (speculators(V1), {"hidden_size": 65}, "hidden_size"),
        (speculators(V2, "dflash2"), {"draft_ffn_type": "moe"}, "draft_ffn_type"),
        (MUSE, {"vocab_size": 10}, "vocab_size"),
    ],
)
def test_what_is_unknown_or_contradictory_is_refused_by_its_name(config, fields, name):
    assert f"“{name}”" in refusal({**config, **fields})


@pytest.mark.parametrize("name", LAYOUTS)
def test_one_field_said_twice_has_to_be_the_same(name):
    """At whatever two levels, for every field that is read."""
    config = LAYOUTS[name]
    inner = next((key for key in ("transformer_layer_config", "dflash_config") if key in config and name != "muse"), None)
    if inner is None:
        return
    for field, value in config[inner].items():
        if type(value) not in (int, float) or field in ("max_window_layers", "initializer_range", "attention_dropout"):
            continue
        if field in ("bos_token_id", "eos_token_id", "max_position_embeddings", "sliding_window", "initial_context_length"):
            continue
        assert parse({**config, field: value}) == parse(config)
        assert f"“{field}”" in refusal({**config, field: value + 2})


def test_what_a_drafter_has_no_use_for_is_passed_over():
    inherited = {
        "router_aux_loss_coef": 0.9,
        "num_local_experts": 32,
        "transformers_version": "5.1",
        "eagle": {"a": 1},
        "license": "x",
    }
    assert parse({**V1, **inherited, "norm_topk_prob": True, "unheard_of_scale": None, "swa_softcap": False}) == parse(V1)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_fit_is_judged_in_every_layout(name):
    config = LAYOUTS[name]
    read = parse(config)
    hidden = read.hidden_size
    target = {
        "hidden_size": hidden,
        "vocab_size": read.vocab_size,
        "num_hidden_layers": read.target_layers or max(read.tapped(1)) + 1,
    }
    assert pair_problem(target, config) is None
    assert f"“hidden_size” is {hidden}" in str(pair_problem({**target, "hidden_size": 128}, config))
    assert "“vocab_size”" in str(pair_problem({**target, "vocab_size": 50_000}, config))
    assert "layer" in str(pair_problem({**target, "num_hidden_layers": 2}, config))
    assert "layer" in str(pair_problem({"text_config": {**target, "num_hidden_layers": 2}}, config))


SMALL = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.sampled_from([2**31, 2**63, -(2**70), 10**400, 1e308, -1e-300, 0.5]),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["yarn", "llama3", "linear", "sliding_attention", "DFlash2DraftModel", "silu", "dflash"]),
)
ANYTHING = st.recursive(
    SMALL,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=4,
)


def places(config: dict) -> list[tuple[str, ...]]:
    """Every field, by its way from the top."""
    found = [(name,) for name in config]
    return found + [(name, *rest) for name, value in config.items() if isinstance(value, dict) for rest in places(value)]


@sampled(4)
@given(data=st.data())
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_config_that_is_changed_at_random_parses_or_is_refused_by_a_field(name, data):
    config = deepcopy(LAYOUTS[name])
    everywhere = sorted({place[-1] for other in LAYOUTS.values() for place in places(other)})
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(config)))
        holder = config
        for step in place[:-1]:
            holder = holder[step]
        match data.draw(st.sampled_from(["change", "drop", "add", "move"])):
            case "change":
                holder[place[-1]] = data.draw(ANYTHING)
            case "drop":
                del holder[place[-1]]
            case "add":
                holder[data.draw(st.sampled_from(everywhere))] = data.draw(ANYTHING)
            case _:
                config[data.draw(st.sampled_from(everywhere))] = holder.pop(place[-1])
    named = {place[-1] for place in places(config)} | set(everywhere)
    try:
        read = parse(config)
    except UserError as error:
        said = re.findall("“([^”]*)”", str(error))
        assert named.intersection(said) or {"low_freq_factor", "high_freq_factor", "factor", "beta_fast"}.intersection(said), error
        return
    assert isinstance(read, DrafterConfig)
    causal = read.causal if isinstance(read, BlockConfig) else read.windows
    assert len(read.windows) == len(causal) == read.layers and read.heads % read.kv_heads == 0
    assert min(read.tapped(1)) >= 0 and read.block_size >= 2


def test_eagle3_reads_three_layers_by_default_and_those_of_its_config_otherwise():
    assert [parse(EAGLE).tapped(layers) for layers in (4, 8, 32)] == [(1, 2, 3), (1, 3, 4), (1, 15, 28)]
    assert parse(EAGLE_NESTED).tapped(32) == (1, 3, 4)
    assert parse(EAGLE | {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}).tapped(32) == (1, 3, 4)
    assert parse(EAGLE_SPECULATORS).tapped(32) == (1, 2, 4)


def test_the_largest_block_and_the_smallest_window() -> None:
    assert parse({**V1, "block_size": 64}).block_size == 64
    assert SLIDING["block_size"] in parse({**SLIDING, "sliding_window": SLIDING["block_size"]}).windows
