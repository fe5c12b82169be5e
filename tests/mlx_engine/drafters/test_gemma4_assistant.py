"""Gemma 4 assistants: their configs, the layers that they read, their memory, and quantization."""

import json
import shutil
from copy import deepcopy
from types import SimpleNamespace

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig
from transformers.models.gemma4_assistant.configuration_gemma4_assistant import Gemma4AssistantConfig
from transformers.models.gemma4_unified.configuration_gemma4_unified import Gemma4UnifiedTextConfig
from transformers.models.gemma4_unified_assistant.configuration_gemma4_unified_assistant import Gemma4UnifiedAssistantConfig

from mlx_engine.contract.errors import UserError
from mlx_engine.decoding.prefill import prefill
from mlx_engine.drafters.gemma4_assistant.model import source_layers
from mlx_engine.drafters.registry import looks_like_drafter, parse, tapped
from mlx_engine.loading.drafter_files import load, read
from mlx_engine.models.configs.target_config import pair_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.fit import predict_fit
from tests.golden.__main__ import check_case
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.models.test_fit import CPU, DENSE

DENSE_KEYS, ORDERED = (GOLDEN / f"gemma4_assistant_{number}" for number in (1, 2))
CONFIG = read_config(ORDERED / "drafter")


def test_the_config_tells_both_kinds_of_layers():
    plain, ordered = (parse(read_config(folder / "drafter")) for folder in (DENSE_KEYS, ORDERED))
    assert (plain.hidden_size, plain.windows, plain.head_dim, plain.full_dim) == (48, (17, None), 16, 32)
    assert plain.sliding == (True, True, False) and plain.own_size == 32
    assert (plain.full_rope.share, plain.rope.theta) == (0.25, 10_000)
    assert (plain.centroids, ordered.centroids, ordered.chosen) == (0, 32, 10)
    assert looks_like_drafter(CONFIG)


def unified(config: dict, architecture: str, *missing: str) -> dict:
    """The config in the packaging of the 12B, whose text model has no inputs per layer."""
    text = {name: value for name, value in config["text_config"].items() if name not in missing}
    model_type = config["model_type"].replace("gemma4", "gemma4_unified")
    text["model_type"] = "gemma4_unified_text"
    return {**config, "architectures": [architecture], "model_type": model_type, "text_config": text}


def test_the_12b_and_its_assistant_give_the_reference_text_and_rounds(tmp_path):
    folder = shutil.copytree(DENSE_KEYS, tmp_path / "unified")
    for part, name in (("target", "Gemma4UnifiedForConditionalGeneration"), ("drafter", "Gemma4UnifiedAssistantForCausalLM")):
        no_inputs = ("vocab_size_per_layer_input", "hidden_size_per_layer_input") if part == "drafter" else ()
        config = unified(read_config(folder / part), name, *no_inputs)
        (folder / part / "config.json").write_text(json.dumps(config))
    assert looks_like_drafter(config)
    result = check_case(folder, thorough=False)
    assert not result.miss, result


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("folder", [DENSE_KEYS, ORDERED], ids=lambda folder: folder.name)
@pytest.mark.parametrize(
    ("whole", "text"), [(Gemma4AssistantConfig, Gemma4TextConfig), (Gemma4UnifiedAssistantConfig, Gemma4UnifiedTextConfig)]
)
def test_a_config_that_transformers_writes_again_is_read_the_same(folder, whole, text, heads):
    """It lists the sizes of full-attention layers per layer."""
    config = read_config(folder / "drafter")
    inner = config["text_config"] | {"num_key_value_heads": heads}
    again = whole(**{**config, "text_config": text(**inner), "model_type": whole.model_type}).to_dict()
    assert "global_head_dim" not in again["text_config"] and again["model_type"] == whole.model_type
    assert parse(again) == parse({**config, "text_config": inner})


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"text_config": None}, "num_hidden_layers"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"num_kv_shared_layers": 2}, "num_kv_shared_layers"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": ["conv"] * 3}, "layer_types"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 10_000.0}}}, "rope_parameters"),
        ({"enable_moe_block": True}, "enable_moe_block"),
        ({"hidden_activation": "silu"}, "hidden_activation"),
        ({"hidden_size_per_layer_input": 8}, "hidden_size_per_layer_input"),
        ({"use_bidirectional_attention": "all"}, "use_bidirectional_attention"),
        ({"per_layer_config": []}, "per_layer_config"),
        ({"per_layer_config": {"2": 5}}, "per_layer_config"),
        ({"per_layer_config": {"0": {"head_dim": 8}}}, "per_layer_config"),
        ({"per_layer_config": {"2": {"sliding_window": 8}}}, "per_layer_config"),
        ({"per_layer_config": {"2": {"head_dim": 64}}}, "head_dim"),
        ({"backbone_hidden_size": 0}, "backbone_hidden_size"),
        ({"num_centroids": None}, "num_centroids"),
        ({"num_centroids": 33}, "num_centroids"),
        ({"centroid_intermediate_top_k": 33}, "centroid_intermediate_top_k"),
        ({"output_multiplier": 0.5}, "output_multiplier"),
        ({"attention_sink_bias": True}, "attention_sink_bias"),
    ],
)
def test_an_unsupported_assistant_is_refused_by_its_field(fields, name):
    config = deepcopy(CONFIG)
    for field, value in fields.items():
        (config if field in config else config["text_config"])[field] = value
    assert parse(CONFIG)
    with pytest.raises(UserError, match=name):
        parse(config)


def test_an_unknown_field_outside_the_text_config_is_refused():
    with pytest.raises(UserError, match="unknown “sample_from_anchor”"):
        parse({**CONFIG, "sample_from_anchor": True})


def test_it_needs_a_gemma_4_target():
    assert pair_problem(read_config(ORDERED / "target"), CONFIG) is None
    assert "hidden_size" in str(pair_problem(read_config(DENSE_KEYS / "target"), CONFIG))
    qwen = {"model_type": "qwen3", "hidden_size": 40, "vocab_size": 128, "num_hidden_layers": 6}
    assert "Gemma 4" in str(pair_problem(qwen, CONFIG))


@pytest.mark.parametrize("field", ["head_dim", "global_head_dim"])
def test_its_keys_have_the_targets_size(field):
    config = deepcopy(CONFIG)
    config["text_config"][field] *= 2
    assert "keys and values per token" in str(pair_problem(read_config(ORDERED / "target"), config))


@pytest.mark.parametrize("token", [-1000, 0, 128, 1_000_000])
def test_an_order_of_other_tokens_is_refused(assistant, tmp_path, token):
    shutil.copytree(ORDERED / "drafter", tmp_path, dirs_exist_ok=True)
    weights = dict(mx.load(str(tmp_path / "model.safetensors")))
    name = "masked_embedding.token_ordering"
    weights[name] = mx.concatenate([weights[name].astype(mx.int64)[:-1], mx.array([token])])
    if token == 0:
        weights[name][0] = 0
    mx.save_safetensors(str(tmp_path / "model.safetensors"), weights)
    target = assistant.pair.target
    with pytest.raises(UserError, match=name):
        load(tmp_path, mx.float32, target.embed, target.head, 16, target.model.layers)


def test_it_reads_the_last_layers_with_their_own_keys():
    def layers(*kinds: tuple[bool, bool]) -> list:
        return [SimpleNamespace(self_attn=SimpleNamespace(is_sliding=slides, has_kv=own)) for slides, own in kinds]

    made = layers((True, True), (True, True), (False, True), (True, False), (False, False))
    assert source_layers(made) == (1, 2) and tapped(parse(CONFIG), made) == (0, 1, 5)
    for lacking in (layers((True, True), (True, True)), layers((True, True), (False, True)), []):
        with pytest.raises(UserError, match="layers whose keys"):
            source_layers(lacking)


def test_its_weights_are_its_own(assistant):
    layers = [array for layer in assistant.pair.model.model.layers for _, array in tree_flatten(layer.parameters())]
    own = assistant.pair.drafter.parameters()
    assert own and not {id(array) for array in layers} & {id(array) for array in own}
    stored = sum(array.size for array in read(ORDERED / "drafter").values())
    assert stored <= sum(array.size for array in own) <= 1.1 * stored


def test_its_context_takes_the_memory_that_was_predicted(assistant):
    pair, context = assistant.pair, assistant.pair.drafter.context()
    for _ in prefill(pair.target, pair.target.caches(), tuple(3 + at % 100 for at in range(700)), pair.drafter, context):
        pass
    line = next(line for line in predict_fit(DENSE, CONFIG, 1, 1, 700, CPU).lines if line.what == "Drafter context")
    size = sum(array.nbytes for window in pair.drafter.config.windows for array in context.kinds[window].state)
    assert size <= line.bytes <= size + 2 * 16 * 2 * 256 * 4


@pytest.mark.parametrize("bits", [4, 8])
def test_a_quantized_assistant_drafts_almost_the_same(assistant, bits):
    pair = assistant.pair
    case = json.loads((ORDERED / "cases.json").read_text(encoding="utf-8"))["cases"][0]
    made = load(ORDERED / "drafter", mx.float32, pair.target.embed, pair.target.head, bits, pair.target.model.layers)
    assert made.bits == bits
    own, pair.drafter = pair.drafter, made
    try:
        got = reply(assistant, tokens(case["prompt_ids"], width=4, max_tokens=48))
    finally:
        pair.drafter = own
    assert got.tokens == tuple(case["output_ids"]) and got.stats.accepted >= sum(case["accepted"]) / 2
