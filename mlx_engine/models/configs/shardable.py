"""Which targets several computers can run together, without MLX."""

from collections.abc import Iterator

from mlx_engine.contract.errors import EngineText
from mlx_engine.models.configs.target_config import text_config

# Families whose layers mlx-lm can divide (`Model.shard`, 0.32), as far as the tests run them
SHARDABLE = ("gpt_oss", "llama", "qwen3", "qwen3_5", "qwen3_5_moe", "qwen3_moe")
MOST_RANKS = 8
_DIVIDED = (
    *("num_attention_heads", "num_key_value_heads", "linear_num_key_heads", "linear_num_value_heads"),
    *("intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size"),
)


def sharding_problem(config: dict, ranks: int) -> EngineText | None:
    """Return why some computers can't run a target together, or None if they can."""
    family = str(config.get("model_type"))
    if family not in SHARDABLE:
        template = (
            "Models of the “{family}” family can't be divided among several computers (supported: {families}). Use one computer."
        )
        return EngineText.of("family_not_shardable", template, family=family, families=", ".join(SHARDABLE))
    if (fault := next(_undivided(config, ranks), None)) is None:
        return None
    name, size = fault
    possible = [str(count) for count in range(2, MOST_RANKS + 1) if not any(_undivided(config, count))]
    if not possible:
        template = "This model can't be divided among several computers, because its “{field}” is {size:,}. Use one computer."
        return EngineText.of("size_not_shardable", template, field=name, size=size)
    template = "This model can't be divided among {ranks} computers, because its “{field}” is {size:,}. Use {possible}."
    return EngineText.of("sizes_not_shardable", template, ranks=ranks, field=name, size=size, possible=" or ".join(possible))


def _undivided(config: dict, ranks: int) -> Iterator[tuple[str, int]]:
    """Yield the names and values of sizes that `ranks` doesn't divide."""
    text = text_config(config)
    repeats = str(config.get("model_type")).startswith("qwen3_5")  # its keys are repeated if there are fewer heads than computers
    sizes = {name: value for name in _DIVIDED if type(value := text.get(name)) is int and value > 0}
    if repeats and not text.get("tie_word_embeddings"):
        sizes["vocab_size"] = text.get("vocab_size", ranks)
    for name, size in sizes.items():
        may_repeat = repeats and name == "num_key_value_heads" and size < ranks
        if (ranks % size if may_repeat else size % ranks) != 0:
            yield name, size
    quantization = config.get("quantization")
    group = quantization.get("group_size") if isinstance(quantization, dict) else None
    if type(group) is not int or group < 1:
        return
    heads, head, hidden = text.get("num_attention_heads"), text.get("head_dim"), text.get("hidden_size")
    if type(heads) is int and heads > 0 and type(hidden) is int:
        size = heads * (head if type(head) is int else hidden // heads)
        if size % (ranks * group):
            yield "num_attention_heads", heads
    for name, size in sizes.items():
        if name.endswith("intermediate_size") and size % (ranks * group):
            yield name, size
    values, width = text.get("linear_num_value_heads"), text.get("linear_value_head_dim")
    if type(values) is int and type(width) is int and values * width % (ranks * group):
        yield "linear_num_value_heads", values
