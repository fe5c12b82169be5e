"""A pair that can't be run is refused with a reason, and the pair in use stays loaded."""

import json
import shutil
import struct
from itertools import product

import mlx.core as mx
import pytest

from mlx_engine.calibration import calibration, roofline
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import LoadProgress, PairInfo
from mlx_engine.contract.requests import Calibrate, Compare, MeasureMachine
from mlx_engine.engine import comparison, local_comparison
from mlx_engine.engine.engine import Engine
from mlx_engine.loading import loaded_pair, target_model
from tests.mlx_engine import tiny_families
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


def test_loading_reports_progress_and_ends_with_the_pair(pair):
    seen = list(Engine().load(pair / "target", pair / "drafter"))
    fractions = [event.fraction for event in seen if isinstance(event, LoadProgress)]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert isinstance(seen[-1], PairInfo) and seen[-1].block_size == 8 and seen[-1].target_bytes > 0


def test_a_pair_in_the_hubs_cache_is_named_by_its_repos(tmp_path):
    folders = [
        shutil.copytree(GOLDEN / "e2e_qwen3" / role, tmp_path / f"models--owner--Zebra-{role}" / "snapshots" / ("0" * 40))
        for role in ("target", "drafter")
    ]
    (info,) = [event for event in Engine().load(*folders) if isinstance(event, PairInfo)]
    assert (info.name, info.target, info.drafter) == ("Zebra-target", "owner/Zebra-target", "owner/Zebra-drafter")


@pytest.mark.parametrize("role", ["target", "drafter"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(pair, role, name):
    (pair / role / name).unlink()
    message = refusal(pair / "target", pair / "drafter")
    assert role in message and ("config.json" in message or "no weights" in message)


@pytest.mark.parametrize("role", ["target", "drafter"])
@pytest.mark.parametrize("left", [0, 5, 40, -1])
def test_truncated_weights_are_detected(pair, role, left):
    file = pair / role / "model.safetensors"
    file.write_bytes(file.read_bytes()[:left])
    message = refusal(pair / "target", pair / "drafter")
    assert role in message and "is damaged or incomplete" in message and "Download the model again" in message


def test_damaged_weights_are_detected(pair):
    file = pair / "target" / "model.safetensors"
    file.write_bytes(struct.pack("<Q", 20) + b"this is not JSON, no" + bytes(100))
    assert "damaged" in refusal(pair / "target", pair / "drafter")


def declare(file, tensor, dtype, shape):
    """Change what a file says about a tensor."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header[tensor] |= {"dtype": dtype, "shape": shape}
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


@pytest.mark.parametrize(
    ("role", "tensor", "dtype", "shape"),
    [
        ("target", "model.embed_tokens.weight", "F64", [128, 32]),
        ("target", "lm_head.weight", "I32", [128, 64]),
        ("target", "model.norm.weight", "C64", [32]),
        ("drafter", "fc.weight", "F64", [64, 64]),
        ("drafter", "norm.weight", "F8_E5M2", [256]),
        ("quantized", "model.layers.0.mlp.up_proj.weight", "I32", [64, 8]),
        ("quantized", "model.layers.0.mlp.up_proj.weight", "U32", [512]),
        ("quantized", "model.layers.0.mlp.up_proj.scales", "I32", [64, 2]),
        ("quantized", "model.layers.0.mlp.up_proj.biases", "U32", [64, 2]),
    ],
)
def test_weights_in_a_wrong_format_are_named(pair, role, tensor, dtype, shape):
    if role == "quantized":
        tiny_families.save("qwen3", pair / role, 4)
    declare(pair / role / "model.safetensors", tensor, dtype, shape)
    message = refusal(*(pair / "target", pair / role) if role == "drafter" else (pair / role, None))
    assert f"“{tensor}”" in message and role in message
    assert "don't match its config.json (" in message or f"{role}/model.safetensors”, which is stored as {dtype}. " in message


WHERE = [("layers.0.mlp.up_proj", False), ("layers.0.mlp.up_proj", True), ("embed_tokens", False)]  # and whether it is listed
WRONG = [
    ("uint8", (1, 1)),  # as in formats of 4-bit floats
    ("bool_", (1, 1)),
    ("float32", (1, 0.5)),
    ("float32", (1, 2)),
    ("float32", (1, 0)),
    ("float32", (0.5, 1)),
    ("float32", (2,)),
    ("float32", ()),
]
SCALES = [
    pytest.param(*where, part, *wrong, marks=[] if (i + j + k) % 4 == 0 else [pytest.mark.long])
    for (i, where), (j, part), (k, wrong) in product(enumerate(WHERE), enumerate(("scales", "biases")), enumerate(WRONG))
]


@pytest.mark.parametrize(("module", "listed", "part", "dtype", "shape"), SCALES)
def test_scales_and_biases_that_do_not_fit_are_named(pair, module, listed, part, dtype, shape):
    """An error of MLX or mlx-lm named neither the model nor the tensor, or another model family was blamed."""
    name = f"model.{module}.{part}"

    def damage(weights):
        rows, groups = weights[name].shape
        wrong = tuple(int(one * share) for one, share in zip((rows, groups), shape, strict=False))
        return weights | {name: mx.ones(wrong, getattr(mx, dtype))}

    tiny_families.save("qwen3", pair / "quantized", 4, damage)
    if listed:
        config = json.loads((pair / "quantized" / "config.json").read_text())
        config["quantization"][f"model.{module}"] = {"group_size": config["quantization"]["group_size"], "bits": 4}
        (pair / "quantized" / "config.json").write_text(json.dumps(config))
    message = refusal(pair / "quantized", None)
    either = dtype == "float32" and f"(“model.{module}.biases” " in message  # if both could be wrong
    assert f"(“{name}” " in message or either
    assert "The weights of “quantized” don't match its config.json (" in message


def test_scales_of_a_format_that_does_not_exist_are_named(pair):
    """An error of mlx-lm was shown."""
    module = "model.layers.0.mlp.up_proj"

    def damage(weights):
        scales = mx.ones((weights[f"{module}.scales"].shape[0], 3), mx.uint8)
        return {name: array for name, array in weights.items() if name != f"{module}.biases"} | {f"{module}.scales": scales}

    tiny_families.save("qwen3", pair / "quantized", 8, damage)
    assert f"(“{module}.scales” is stored as uint8)" in refusal(pair / "quantized", None)


def test_a_packed_tensor_that_is_missing_is_named(pair):
    name = "model.layers.0.mlp.up_proj.weight"
    tiny_families.save("qwen3", pair / "quantized", 4, lambda weights: {key: weights[key] for key in weights if key != name})
    assert f"(“{name}” is missing)" in refusal(pair / "quantized", None)


def test_a_missing_shard_is_named(pair):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (pair / "target" / "model.safetensors").rename(pair / "target" / "model-00001-of-00002.safetensors")
    (pair / "target" / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-00002-of-00002.safetensors" in refusal(pair / "target", pair / "drafter")


def test_a_config_that_is_not_json_is_refused(pair):
    (pair / "drafter" / "config.json").write_text("<html>404</html>")
    assert "config.json" in refusal(pair / "target", pair / "drafter")


def test_a_missing_folder_is_named(tmp_path):
    assert "nowhere" in refusal(tmp_path / "nowhere", None)


def test_a_target_without_a_tokenizer_is_refused(pair):
    (pair / "target" / "tokenizer.json").unlink()
    assert "tokenizer" in refusal(pair / "target", None)


def test_a_damaged_tokenizer_is_refused(pair):
    (pair / "target" / "tokenizer.json").write_text('{"model": 3}')
    assert "tokenizer" in refusal(pair / "target", None)


def test_weights_that_do_not_match_their_config_are_refused(pair):
    change(pair / "target" / "config.json", intermediate_size=77)
    message = refusal(pair / "target", None)
    assert "don't match its config.json" in message and "(77, 64)" in message


def test_code_inside_a_checkpoint_is_never_run(pair):
    (pair / "target" / "model.py").write_text("raise SystemExit('ran')")
    change(pair / "target" / "config.json", model_file="model.py")
    assert "never runs" in refusal(pair / "target", None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hidden_size": 128}, "“hidden_size” is 128"),
        ({"vocab_size": 999}, "“vocab_size” is 999"),
        ({"num_target_layers": 36}, "“num_hidden_layers” is 36"),
        ({"dflash_config": {"mask_token_id": 3, "target_layer_ids": [1, 9]}}, "[1, 9]"),
        ({"dflash_config": {"mask_token_id": 4000, "target_layer_ids": [1, 2]}}, "“mask_token_id” (4000)"),
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
def test_the_field_in_which_a_drafter_does_not_fit_is_named(pair, fields, words):
    change(pair / "drafter" / "config.json", **fields)
    assert words in refusal(pair / "target", pair / "drafter")


@pytest.mark.parametrize(("role", "value"), [("target", float("nan")), ("drafter", float("inf")), ("drafter", -float("inf"))])
def test_weights_with_nan_or_infinity_are_refused_and_the_next_pair_loads(pair, role, value):
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
    assert "NaN or infinit" in str(error.value) and (role == "drafter" or name in str(error.value))
    list(engine.load(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter"))
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4


def test_python_code_in_ordinary_repositories_is_ignored(pair):
    for role in ("target", "drafter"):
        for name in ("modeling_own.py", "tokenization_own.py", "dflash.py"):
            (pair / role / name).write_text("raise SystemExit('ran')")
        change(pair / role / "config.json", auto_map={"AutoModel": "modeling_own.Own", "AutoModelForCausalLM": "modeling_own.Own"})
    change(pair / "target" / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_own.Own", None]})
    engine = loaded(pair / "target", pair / "drafter")
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4


def test_a_tokenizer_that_needs_its_own_code_is_refused(pair):
    (pair / "target" / "tokenizer.json").unlink()
    (pair / "target" / "tiktoken.model").write_text("IQ== 0")
    change(pair / "target" / "tokenizer_config.json", auto_map={"AutoTokenizer": ["tokenization_own.Own", None]})
    assert "tokenization_own.Own" in refusal(pair / "target", pair / "drafter")


def test_a_model_that_needs_its_own_code_is_refused(pair):
    (pair / "target" / "modeling_own.py").write_text("raise SystemExit('ran')")
    change(pair / "target" / "config.json", model_type="unheard_of", auto_map={"AutoModelForCausalLM": "modeling_own.Own"})
    message = refusal(pair / "target", None)
    assert "unheard_of" in message and "never runs" in message


def test_a_drafter_for_a_family_without_dflash_is_refused_and_plain_decoding_suggested(pair):
    change(pair / "target" / "config.json", model_type="olmo2")
    message = refusal(pair / "target", pair / "drafter")
    assert "olmo2" in message and "use plain decoding" in message


def test_a_family_unknown_to_mlx_lm_is_refused_with_or_without_a_drafter(pair):
    change(pair / "target" / "config.json", model_type="deepseek_v4")
    for drafter in (pair / "drafter", None):
        message = refusal(pair / "target", drafter)
        assert "DeepSeek V4" in message and "mlx-lm" in message


def test_an_explicit_null_counts_as_absent(pair):
    config = json.loads((pair / "drafter" / "config.json").read_text())
    nothing = ("max_position_embeddings", "input_embedding_scale", "output_multiplier", "final_logit_softcapping", "is_causal")
    (pair / "drafter" / "config.json").write_text(json.dumps({**config, **dict.fromkeys(nothing)}))
    engine = loaded(pair / "target", pair / "drafter")
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=9, ignore_eos=True)).tokens) == 9


NEEDED = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "rms_norm_eps",
)
ABSENT = object()
# Words that belong in no message
PYTHON = ("__init__", "NoneType", "argument", "operand", "unhashable", "Error", "iterable", "()", "division", "range")


@pytest.mark.parametrize("content", [{}, {"model_type": "qwen3"}, {"model_type": 3}, {"model_type": ["qwen3"]}], ids=str)
def test_the_missing_field_of_a_config_is_named(pair, content):
    (pair / "target" / "config.json").write_text(json.dumps(content))
    for drafter in (None, pair / "drafter"):
        message = refusal(pair / "target", drafter)
        assert ("“hidden_size”" if content.get("model_type") == "qwen3" else "model_type") in message
        assert not any(word in message for word in PYTHON)


@pytest.mark.parametrize(
    "value", [ABSENT, None, "64", -1, 0, [1], {"a": 1}, 2.5], ids=lambda value: "absent" if value is ABSENT else repr(value)
)
@pytest.mark.parametrize("field", NEEDED)
def test_an_invalid_field_of_a_targets_config_is_named(pair, field, value):
    if field == "rms_norm_eps" and value == 2.5:
        return  # a valid number
    config = json.loads((pair / "target" / "config.json").read_text())
    config[field] = value
    if value is ABSENT:
        del config[field]
    (pair / "target" / "config.json").write_text(json.dumps(config))
    message = refusal(pair / "target", None)
    assert f"“{field}”" in message and not any(word in message for word in PYTHON)


@pytest.mark.parametrize(
    "fields",
    [
        {"architectures": -1},
        {"eos_token_id": "x"},
        {"rope_theta": "x"},
        {"tie_word_embeddings": "x"},
        {"torch_dtype": [1]},
        {"max_position_embeddings": 0},
        {"quantization": "x"},
        {"text_config": 3},
    ],
    ids=str,
)
def test_other_invalid_fields_are_named(pair, fields):
    change(pair / "target" / "config.json", **fields)
    message = refusal(pair / "target", None)
    assert f"“{next(iter(fields))}”" in message and not any(word in message for word in PYTHON)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("e2e_qwen3_5", "hidden_size", "64"),
        ("e2e_qwen3_5", "linear_num_value_heads", 0),
        ("e2e_gpt_oss", "num_local_experts", "3"),
        ("e2e_gpt_oss", "rope_scaling", [1]),
    ],
)
def test_invalid_fields_of_other_families_are_named(tmp_path, name, field, value):
    folder = shutil.copytree(GOLDEN / name / "target", tmp_path / "target")
    config = json.loads((folder / "config.json").read_text())
    config.get("text_config", config)[field] = value
    (folder / "config.json").write_text(json.dumps(config))
    message = refusal(folder, None)
    assert f"“{field}”" in message and not any(word in message for word in PYTHON)


def test_a_refused_pair_leaves_the_loaded_one_in_use(pair):
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    (pair / "target" / "tokenizer.json").unlink()
    with pytest.raises(UserError):
        list(engine.load(pair / "target", pair / "drafter"))
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4


class TestOutOfMemory:
    """MLX raises a RuntimeError."""

    def out(self, *_, **__):
        raise RuntimeError("[malloc] Unable to allocate 123456789 bytes.")

    def test_while_loading(self, pair, monkeypatch):
        engine = loaded(pair / "target", pair / "drafter")
        monkeypatch.setattr(loaded_pair, "warm", self.out)
        with pytest.raises(UserError, match=r"n't enough memory for .* GB of weights\. Quit other"):
            list(engine.load(pair / "target", pair / "drafter"))
        monkeypatch.undo()
        with pytest.raises(UserError, match="No model is loaded"):
            _ = engine.pair
        assert isinstance(list(engine.load(pair / "target", pair / "drafter"))[-1], PairInfo)

    def test_while_mlx_lm_reads(self, pair, monkeypatch):
        monkeypatch.setattr(target_model, "load_model", self.out)
        assert "n't enough memory" in refusal(pair / "target", pair / "drafter")

    @pytest.mark.parametrize(
        ("module", "name", "asked", "words"),
        [
            (calibration, "PassTimer", Calibrate(), "to calibrate"),
            (roofline, "_measure_machine", MeasureMachine(True), "to measure"),
        ],
        ids=["calibration", "roofline"],
    )
    def test_while_measuring_the_pair_stays(self, pair, monkeypatch, module, name, asked, words):
        engine = loaded(pair / "target", pair / "drafter")
        monkeypatch.setattr(module, name, self.out)
        with pytest.raises(UserError, match=f"n't enough memory {words}"):
            list(engine.run(asked))
        assert reply(engine, tokens((1, 2, 3), max_tokens=4)).tokens

    def test_while_comparing_texts(self, tiny, monkeypatch):
        monkeypatch.setattr(local_comparison, "difference", self.out)
        monkeypatch.setattr(comparison, "first_difference", lambda *_: 0)
        with pytest.raises(UserError, match="n't enough memory"):
            list(tiny.run(Compare((tokens((73, 122, 51), max_tokens=4),))))

    def test_other_errors_are_not_changed(self, pair, monkeypatch):
        def bug(*_):
            raise RuntimeError("a bug")

        monkeypatch.setattr(loaded_pair, "warm", bug)
        with pytest.raises(RuntimeError, match="a bug"):
            loaded(pair / "target", pair / "drafter")
