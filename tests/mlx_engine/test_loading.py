"""What cannot be run is refused before it is loaded, in a sentence that says what is wrong; the pair in use stays."""

import json
import shutil
import struct

import mlx.core as mx
import pytest

from mlx_engine.engine import Engine
from mlx_engine.errors import UserError
from mlx_engine.events import LoadProgress, PairInfo
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded


@pytest.fixture
def pair(tmp_path):
    """A copy of the tiny pair that a test may break."""
    return shutil.copytree(GOLDEN / "e2e_qwen3", tmp_path / "pair")


def refusal(target, drafter) -> str:
    with pytest.raises(UserError) as error:
        loaded(target, drafter)
    return str(error.value)


def change(config, **fields):
    content = json.loads(config.read_text())
    for name, value in fields.items():
        content.pop(name, None) if value is None else content.update({name: value})
    config.write_text(json.dumps(content))


def test_loading_tells_how_far_it_is_and_ends_with_the_pair(pair):
    seen = list(Engine().load(pair / "target", pair / "drafter"))
    fractions = [event.fraction for event in seen if isinstance(event, LoadProgress)]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert isinstance(seen[-1], PairInfo) and seen[-1].block_size == 8 and seen[-1].target_bytes > 0


@pytest.mark.parametrize("role", ["target", "drafter"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(pair, role, name):
    (pair / role / name).unlink()
    said = refusal(pair / "target", pair / "drafter")
    assert role in said and ("config.json" in said or "no weights" in said)


@pytest.mark.parametrize("role", ["target", "drafter"])
@pytest.mark.parametrize("left", [0, 5, 40, -1])
def test_weights_that_are_cut_short_are_noticed(pair, role, left):
    file = pair / role / "model.safetensors"
    file.write_bytes(file.read_bytes()[:left])
    said = refusal(pair / "target", pair / "drafter")
    assert role in said and "cut short" in said and "Download it again" in said


def test_damaged_weights_are_noticed(pair):
    file = pair / "target" / "model.safetensors"
    file.write_bytes(struct.pack("<Q", 20) + b"this is not JSON, no" + bytes(100))
    assert "damaged" in refusal(pair / "target", pair / "drafter")


def test_a_missing_shard_is_named(pair):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (pair / "target" / "model.safetensors").rename(pair / "target" / "model-00001-of-00002.safetensors")
    (pair / "target" / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-00002-of-00002.safetensors" in refusal(pair / "target", pair / "drafter")


def test_a_config_that_is_no_json_is_refused(pair):
    (pair / "drafter" / "config.json").write_text("<html>404</html>")
    assert "config.json" in refusal(pair / "target", pair / "drafter")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    assert "nowhere" in refusal(tmp_path / "nowhere", None)


def test_a_target_without_a_tokenizer_is_refused(pair):
    (pair / "target" / "tokenizer.json").unlink()
    assert "tokenizer" in refusal(pair / "target", None)


def test_a_damaged_tokenizer_is_refused(pair):
    (pair / "target" / "tokenizer.json").write_text('{"model": 3}')
    assert "tokenizer" in refusal(pair / "target", None)


def test_weights_that_do_not_fit_their_config_are_refused(pair):
    change(pair / "target" / "config.json", intermediate_size=77)
    assert "cannot be loaded" in refusal(pair / "target", None)


def test_code_inside_a_checkpoint_is_never_run(pair):
    (pair / "target" / "model.py").write_text("raise SystemExit('ran')")
    change(pair / "target" / "config.json", model_file="model.py")
    assert "never run" in refusal(pair / "target", None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hidden_size": 128}, "hidden size 128"),
        ({"vocab_size": 999}, "vocabulary of 999"),
        ({"num_target_layers": 36}, "36 layers"),
        ({"dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 9]}}, "layers [1, 9]"),
        ({"dflash_config": {"mask_token_id": 4000, "target_layer_ids": [1, 2]}}, "mask_token_id” is 4,000"),
        ({"architectures": ["LlamaForCausalLM"]}, "LlamaForCausalLM"),
        ({"block_size": 1}, "block_size"),
        ({"layer_types": ["linear_attention"]}, "linear_attention"),
        ({"layer_types": ["sliding_attention"], "sliding_window": None}, "sliding_window"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types"),
        ({"rope_scaling": {"rope_type": "longrope"}}, "longrope"),
        ({"num_hidden_layers": 2, "layer_types": None}, "layers.1."),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"num_hidden_layers": "one"}, "num_hidden_layers"),
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"dflash_config": [1]}, "dflash_config"),
        ({"dflash_config": {"mask_token_id": "4", "target_layer_ids": [1, 2]}}, "mask_token_id"),
        ({"dflash_config": {"mask_token_id": 4, "target_layer_ids": ["1"]}}, "target_layer_ids"),
        ({"rope_scaling": "yarn"}, "rope_scaling"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "factor"),
        ({"final_logit_softcapping": "30"}, "final_logit_softcapping"),
        ({"quantization": {"bits": 4}}, "group_size"),
    ],
)
def test_a_drafter_that_does_not_fit_is_refused_by_the_field(pair, fields, words):
    change(pair / "drafter" / "config.json", **fields)
    assert words in refusal(pair / "target", pair / "drafter")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("role", ["target", "drafter"])
def test_weights_that_are_no_numbers_are_refused_and_the_next_pair_loads(pair, role, value):
    file = pair / role / "model.safetensors"
    weights = mx.load(str(file))
    name = sorted(weights)[len(weights) // 2]
    flat = weights[name].flatten()
    flat[flat.size // 2] = value
    weights[name] = flat.reshape(weights[name].shape)
    mx.save_safetensors(str(file), weights)
    engine = Engine()
    with pytest.raises(UserError, match=role) as error:
        list(engine.load(pair / "target", pair / "drafter"))
    assert "finite" in str(error.value) and (role == "drafter" or name in str(error.value))
    list(engine.load(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter"))
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4


def test_python_that_lies_in_ordinary_repositories_is_ignored(pair):
    for role in ("target", "drafter"):
        for name in ("modeling_own.py", "tokenization_own.py", "dflash.py"):
            (pair / role / name).write_text("raise SystemExit('ran')")
        change(pair / role / "config.json", auto_map={"AutoModel": "modeling_own.Own", "AutoModelForCausalLM": "modeling_own.Own"})
    change(pair / "target" / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_own.Own", None]})
    engine = loaded(pair / "target", pair / "drafter")
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4


def test_a_tokenizer_that_only_its_own_python_reads_is_refused_by_name(pair):
    (pair / "target" / "tokenizer.json").unlink()
    (pair / "target" / "tiktoken.model").write_text("IQ== 0")
    change(pair / "target" / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_own.Own", None]})
    assert "tokenization_own.Own" in refusal(pair / "target", pair / "drafter")


def test_a_model_that_only_its_own_python_reads_is_refused_by_name(pair):
    (pair / "target" / "modeling_own.py").write_text("raise SystemExit('ran')")
    change(pair / "target" / "config.json", model_type="unheard_of", auto_map={"AutoModelForCausalLM": "modeling_own.Own"})
    said = refusal(pair / "target", None)
    assert "unheard_of" in said and "never run" in said


def test_a_drafter_for_a_family_without_dflash_is_refused_by_name_and_plain_decoding_offered(pair):
    change(pair / "target" / "config.json", model_type="olmo2")
    said = refusal(pair / "target", pair / "drafter")
    assert "olmo2" in said and "decode plainly" in said


def test_a_family_that_mlx_lm_lacks_is_refused_by_name_with_or_without_a_drafter(pair):
    change(pair / "target" / "config.json", model_type="deepseek_v4")
    for drafter in (pair / "drafter", None):
        said = refusal(pair / "target", drafter)
        assert "DeepSeek V4" in said and "mlx-lm" in said


def test_an_explicit_null_counts_as_absent(pair):
    config = json.loads((pair / "drafter" / "config.json").read_text())
    nothing = ("max_position_embeddings", "input_embedding_scale", "output_multiplier", "final_logit_softcapping", "is_causal")
    (pair / "drafter" / "config.json").write_text(json.dumps({**config, **dict.fromkeys(nothing)}))
    engine = loaded(pair / "target", pair / "drafter")
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=9, ignore_eos=True)).tokens) == 9


@pytest.mark.parametrize(
    "fields",
    [
        {"num_attention_heads": 0},
        {"rope_parameters": "x"},
        {"hidden_size": None},
        {"vocab_size": [1]},
        {"model_type": "unheard"},
    ],
)
def test_a_target_with_an_absurd_config_is_refused_in_a_sentence(pair, fields):
    change(pair / "target" / "config.json", **fields)
    assert len(refusal(pair / "target", None)) > 20


def test_a_pair_that_is_refused_leaves_the_present_one_in_use(pair):
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    (pair / "target" / "tokenizer.json").unlink()
    with pytest.raises(UserError):
        list(engine.load(pair / "target", pair / "drafter"))
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4
