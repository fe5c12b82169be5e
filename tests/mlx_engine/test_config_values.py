"""A config with values that no forward can run with is refused by name, and never ends the process."""

import json
import subprocess
import sys

import pytest

from mlx_engine.errors import UserError
from tests.mlx_engine import tiny_families
from tests.mlx_engine.conftest import loaded


def changed(folder, field, value):
    config = json.loads((folder / "config.json").read_text())
    config.get("text_config", config)[field] = value
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("family", "field", "value", "words"),
    [
        ("qwen3_moe", "num_experts_per_tok", 9, "“num_experts_per_tok” as 9, but “num_experts” is only 4"),
        ("gpt_oss", "num_experts_per_tok", 9, "“num_experts_per_tok” as 9, but “num_local_experts” is only 4"),
        ("gemma4", "top_k_experts", 9, "“top_k_experts” as 9, but “num_experts” is only 4"),
        ("deepseek_v3", "n_group", 7, "“n_group” as 7, but “n_routed_experts” is only 4"),
        ("deepseek_v3", "n_group", 3, "Can't load"),
        ("deepseek_v3", "topk_group", 3, "“topk_group” as 3, but “n_group” is only 2"),
        ("glm_moe_dsa", "index_topk", 1 << 63, "“index_topk” as 9223372036854775808, which is too large"),
        ("minimax_m2", "rotary_dim", 128, "dims must not exceed the input's last dimension"),
        ("llama", "sliding_window", False, "“sliding_window” as false"),
        ("gpt_oss", "sliding_window", False, "“sliding_window” as false"),
        ("qwen3", "quantization", {"group_size": 0, "bits": 4}, "quantization with “group_size” as 0"),
        ("qwen3", "quantization", {"group_size": 32, "bits": 4, "lm_head": {"group_size": 0, "bits": 4}}, "“group_size” as 0"),
    ],
)
def test_a_value_that_no_forward_can_run_with_is_refused(tmp_path, family, field, value, words):
    folder = changed(tiny_families.save(family, tmp_path / "target"), field, value)
    with pytest.raises(UserError) as error:
        loaded(folder, None)
    assert words in str(error.value)


@pytest.mark.parametrize(("family", "field"), [("gemma4", "intermediate_size"), ("qwen3", "hidden_size"), ("qwen3", "head_dim")])
def test_a_size_below_the_number_of_quantized_groups_does_not_end_the_process(tmp_path, family, field):
    folder = changed(tiny_families.save(family, tmp_path / "target", 8), field, 1)
    load = "import pathlib, sys; from tests.mlx_engine.conftest import loaded; loaded(pathlib.Path(sys.argv[1]), None)"
    done = subprocess.run([sys.executable, "-c", load, str(folder)], capture_output=True, text=True)
    assert done.returncode == 1 and "UserError" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "content", ['{"eos_token": 3}', '{"eos_token": [1]}', '{"added_tokens_decoder": 3}', "[1]", "3", '{"tokenizer_class": 3}', "{"]
)
def test_a_damaged_tokenizer_config_is_not_blamed_on_the_models_config(tmp_path, content):
    folder = tiny_families.save("qwen3", tmp_path / "target")
    (folder / "tokenizer_config.json").write_text(content)
    try:
        loaded(folder, None)
    except UserError as error:
        assert "tokenizer" in str(error) and "The config.json" not in str(error)
