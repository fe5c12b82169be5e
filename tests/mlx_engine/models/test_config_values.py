"""A config with values that no forward can run with is refused by name, and never ends the process."""

import json
import shutil

import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.formats import chat_prompt
from tests.mlx_engine import tiny_families
from tests.mlx_engine.asking import failure
from tests.mlx_engine.conftest import GOLDEN, loaded


def changed(folder, field, value):
    config = json.loads((folder / "config.json").read_text())
    config.get("text_config", config)[field] = value
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("family", "field", "value", "words"),
    [
        ("qwen3_moe", "num_experts_per_tok", 9, "“num_experts_per_tok” to 9, but “num_experts” is only 4"),
        ("gpt_oss", "num_experts_per_tok", 9, "“num_experts_per_tok” to 9, but “num_local_experts” is only 4"),
        ("gemma4", "top_k_experts", 9, "“top_k_experts” to 9, but “num_experts” is only 4"),
        ("deepseek_v3", "n_group", 7, "“n_group” to 7, but “n_routed_experts” is only 4"),
        ("deepseek_v3", "n_group", 3, "“n_group” to 3, which doesn't divide “n_routed_experts” (4)"),
        ("deepseek_v3", "topk_group", 3, "“topk_group” to 3, but “n_group” is only 2"),
        ("glm_moe_dsa", "index_topk", 1 << 63, "“index_topk” to 9223372036854775808, which is too large"),
        ("minimax_m2", "rotary_dim", 128, "“rotary_dim” to 128, but “head_dim” is only 16"),
        ("qwen3", "num_attention_heads", 7, "“num_key_value_heads” to 2, which doesn't divide “num_attention_heads” (7)"),
        ("gemma4_text", "num_kv_shared_layers", 128, "“num_kv_shared_layers” to 128, but “num_hidden_layers” is only 6"),
        ("llama", "layer_types", ["full_attention", 9], "“layer_types” to 9; allowed: full_attention, sliding_attention"),
        ("llama", "layer_types", ["full_attention"], "“layer_types” for only 1 of 4 layers"),
        ("gpt_oss", "num_attention_heads", "4", '“num_attention_heads” to "4"'),
        ("kimi_k25", "qk_rope_head_dim", 8.5, "“qk_rope_head_dim” to 8.5"),
        ("qwen3", "intermediate_size", 65, "has shape (64, 64), not (65, 64)"),
        ("qwen3", "tie_word_embeddings", False, "“lm_head.weight” is missing"),
        ("qwen3", "num_hidden_layers", 2, "“model.layers.2.input_layernorm.weight” isn't part of the model"),
        ("qwen3", "rope_theta", 10**30, "“rope_theta” to 1000000000000000000000000000000, which is too large"),
        ("qwen3", "rope_parameters", {"rope_theta": 1 << 64}, "“rope_theta” to 18446744073709551616, which is too large"),
        ("llama", "sliding_window", False, "“sliding_window” to false"),
        ("gpt_oss", "sliding_window", False, "“sliding_window” to false"),
        ("qwen3", "quantization", {"group_size": 0, "bits": 4}, "“group_size” to 0 in its quantization settings"),
        ("qwen3", "quantization", {"group_size": 32, "bits": 4, "lm_head": {"group_size": 0, "bits": 4}}, "“group_size” to 0"),
    ],
)
def test_a_value_that_no_forward_can_run_with_is_refused(tmp_path, family, field, value, words):
    folder = changed(tiny_families.save(family, tmp_path / "target"), field, value)
    with pytest.raises(UserError) as error:
        loaded(folder, None)
    assert words in str(error.value)


@pytest.mark.parametrize("value", [[[1]], [{}], ["Qwen3ForCausalLM", [1]] * 2])
def test_architectures_of_another_type_are_refused(tmp_path, value):
    folder = changed(tiny_families.save("qwen3", tmp_path / "target"), "architectures", value)
    with pytest.raises(UserError, match=r"sets “architectures” to .*; expected type: string"):
        loaded(folder, None)


@pytest.mark.parametrize("name", ["cache", "base", "switch_layers", "", "..", "a\0", "\ud800"])
def test_a_family_that_names_no_model_of_mlx_lm_is_refused(tmp_path, name):
    folder = changed(tiny_families.save("qwen3", tmp_path / "target"), "model_type", name)
    with pytest.raises(UserError, match=r"family|model_type"):
        loaded(folder, None)


@pytest.mark.parametrize("field", ["prompt_text", "messages", "continue_from", "continue_thinking", "chat_template"])
def test_half_a_character_is_refused(tmp_path, field):
    folder = shutil.copytree(GOLDEN / "e2e_qwen3" / "target", tmp_path / "target")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    template = "{% for message in messages %}{{ message.content }} {% endfor %}" + "\ud800" * (field == "chat_template")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"chat_template": template}))
    asked = {"messages": (Message("user", "t3 \ud800" if field == "messages" else "t3"),)} if field != "prompt_text" else {}
    if field not in ("messages", "chat_template"):
        asked[field] = "t3 \ud800"
    assert failure(loaded(folder, None), GenerationRequest(**asked)) == (
        "The prompt contains half of a character (U+D800). Remove it from the text, or choose another model."
    )


def test_a_value_that_only_a_tapped_forward_fails_with_is_refused(tmp_path):
    folder = changed(tiny_families.save("glm_moe_dsa", tmp_path / "target"), "index_topk", -1)
    with pytest.raises(UserError, match="“index_topk” to -1, but it must be above 0"):
        loaded(folder, tiny_families.save_drafter("glm_moe_dsa", tmp_path / "drafter"))


def test_a_quantization_that_mlx_does_not_have_is_refused(tmp_path):
    folder = tiny_families.save("laguna", tmp_path / "target", 8)
    settings = json.loads((folder / "config.json").read_text())["quantization"]
    layers = {name: each | {"group_size": 5} for name, each in settings.items() if isinstance(each, dict)}
    changed(folder, "quantization", settings | layers)
    with pytest.raises(UserError, match="“group_size” to 5 in its quantization settings; allowed: 16, 32, 64, 128"):
        loaded(folder, None)


@pytest.mark.parametrize(("family", "field"), [("gemma4", "intermediate_size"), ("qwen3", "hidden_size"), ("qwen3", "head_dim")])
def test_a_size_below_the_number_of_quantized_groups_does_not_end_the_process(tmp_path, family, field):
    with pytest.raises(UserError):
        loaded(changed(tiny_families.save(family, tmp_path / field, 8), field, 1), None)


@pytest.mark.parametrize(
    "content",
    [
        '{"eos_token": 3}',
        '{"eos_token": [1]}',
        '{"added_tokens_decoder": 3}',
        "[1]",
        "3",
        '{"tokenizer_class": 3}',
        "{",
        '{"unk_token": ""}',
    ],
)
def test_a_damaged_tokenizer_config_is_not_blamed_on_the_models_config(tmp_path, content):
    folder = tiny_families.save("qwen3", tmp_path / "target")
    (folder / "tokenizer_config.json").write_text(content)
    try:
        loaded(folder, None)
    except UserError as error:
        assert "tokenizer" in str(error) and "The config.json" not in str(error)


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b'"a"', b"3", b"\xff", b"[" * 100_000, b'{"eos_token_id": 2.5}'])
def test_a_damaged_generation_config_is_ignored(tmp_path, content):
    folder = tiny_families.save("qwen3", tmp_path / "target")
    (folder / "generation_config.json").write_bytes(content)
    assert loaded(folder, None).pair.tokenizer.eos_token_ids == {127}


def test_several_chat_templates_without_a_default_are_none(tmp_path):
    folder = tiny_families.save("qwen3", tmp_path / "target")
    templates = [{"name": "tool_use", "template": "x"}]
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"chat_template": templates}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(UserError, match="has no chat template"):
        chat_prompt.template(loaded(folder, None).pair.tokenizer, [Message("user", "Hi")])


def test_a_tokenizer_config_nested_too_deeply_is_refused(tmp_path):
    folder = tiny_families.save("qwen3", tmp_path / "target")
    (folder / "tokenizer.json").rename(folder / "tiktoken.model")
    (folder / "tokenizer_config.json").write_text("[" * 100_000)
    with pytest.raises(UserError, match="Can't read the tokenizer"):
        loaded(folder, None)
