"""Count what exact mode costs: dispatches and bytes of a pass, next to those of the fast mode.

    python -m tests.benchmarks.exact_costs

Each target has one layer of each kind in its published sizes, 4-bit weights, and 8,192 tokens of context. Passes are traced, not
run, as in `host.py`. The fast mode runs every kernel for blocks and leaves single rows to MLX. Bytes are those of every operation's
inputs and outputs. Of experts, they count the ones that the rows choose, once per row.
"""

import argparse
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map
from mlx_lm.utils import _get_classes

from mlx_engine.kernels.operations import ALL_ROWS, KERNELS, PLAIN, ROW_EXACT, SEVERAL_ROWS, with_kernels
from mlx_engine.models.configs.families import FAMILIES
from mlx_engine.targets.caches import Caches
from mlx_engine.targets.target import Target
from tests.benchmarks import dispatches, tracing

DEPTH = 8192
_PROMPT = 2  # few, because the states of recurrences are computed
_COMMON = {
    "rms_norm_eps": 1e-6,
    "vocab_size": 1024,
    "rope_theta": 1e6,
    "max_position_embeddings": 40960,
    "tie_word_embeddings": True,
}
_SLIDING = {"layer_types": ["sliding_attention", "full_attention"], "num_hidden_layers": 2}
_QWEN3_5 = {
    **_COMMON, "model_type": "qwen3_5_text", "hidden_size": 2560, "intermediate_size": 9216, "num_attention_heads": 16,
    "num_key_value_heads": 4, "head_dim": 256, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 2, "num_hidden_layers": 2,
}  # fmt: skip
TARGETS: dict[str, dict[str, Any]] = {
    "Qwen3 4B": {
        **_COMMON, "model_type": "qwen3", "num_hidden_layers": 1, "hidden_size": 2560, "intermediate_size": 9728,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
    },
    "Qwen3.5 4B": {"model_type": "qwen3_5", "tie_word_embeddings": True, "text_config": _QWEN3_5},
    "gpt-oss 20B": {
        **_COMMON, **_SLIDING, "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128, "num_local_experts": 32, "num_experts_per_tok": 4,
    },
    "Gemma 4 26B": {
        **_COMMON, **_SLIDING, "model_type": "gemma4_text", "hidden_size": 2816, "intermediate_size": 2112,
        "num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 2, "head_dim": 256,
        "global_head_dim": 512, "sliding_window": 1024, "attention_k_eq_v": True, "num_kv_shared_layers": 0,
        "hidden_size_per_layer_input": 0, "use_double_wide_mlp": False, "enable_moe_block": True, "num_experts": 128,
        "top_k_experts": 8, "moe_intermediate_size": 704,
    },
}  # fmt: skip


def target_of(config: dict[str, Any]) -> Target:
    make, arguments = _get_classes(config)
    model = make(arguments.from_dict(config))
    model.update(tree_map(lambda array: mx.zeros(array.shape, mx.bfloat16), model.parameters()))
    # a GPU looks up a quantized table in one dispatch, which a CPU's graph doesn't show
    nn.quantize(model, 64, 4, class_predicate=lambda _, part: hasattr(part, "to_quantized") and not isinstance(part, nn.Embedding))
    model.set_dtype(mx.bfloat16)
    mx.eval(model.parameters())
    return Target(model, config.get("vocab_size", 1024), FAMILIES[config["model_type"]], [0])


def cost(target: Target, rows: int, exact: bool) -> tuple[int, int]:
    """Return dispatches and bytes of one pass."""
    kernels = dict.fromkeys(ROW_EXACT, ALL_ROWS) if exact else dict.fromkeys(KERNELS, SEVERAL_ROWS)
    caches = deep_caches(target)
    target.use(with_kernels(kernels, tracing.kernel, row_exact=exact), False)
    with tracing.exportable():
        _, found = tracing.trace(lambda: mx.eval(target.forward(mx.zeros((rows,), mx.uint32), caches)))
    moved = sum(moved_bytes(each) for each in found.primitives)
    return dispatches.count(found.primitives).dispatches, moved


def deep_caches(target: Target) -> Caches:
    """Return caches of zeros with room for `DEPTH` tokens."""
    target.use(PLAIN, False)  # kernels can only be traced
    caches = target.caches()
    target.forward(mx.zeros((_PROMPT,), mx.uint32), caches)  # gives the caches their shapes
    for layer in caches.layers:
        state = [mx.zeros(part.shape, part.dtype) if isinstance(part, mx.array) else part for part in layer.state]
        layer.state = state
    caches.grow(DEPTH)
    mx.eval(caches.state)
    return caches


def moved_bytes(each: tracing.Primitive) -> int:
    """Return the bytes that an operation reads and writes, of experts only those that its rows choose, once per row."""
    out = each.outputs[0]
    if each.name == "GatherQMM":
        experts = [part for part in each.inputs if part.shape[0] == each.inputs[1].shape[0]]
        choices = out.nbytes // out.itemsize // out.shape[-1]
        return choices * sum(part.nbytes for part in experts) // experts[0].shape[0]
    if each.name == "SliceUpdate":  # in place
        return 2 * each.inputs[1].nbytes
    return dispatches.count([each]).bytes


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| Target | Rows | Dispatches, fast | Exact | MB, fast | Exact |\n|---|---|---|---|---|---|")
    with tracing.as_with_metal():
        for name, config in TARGETS.items():
            target = target_of(config)
            for rows in (1, 8, 16):
                (fast, read), (exact, read_exactly) = (cost(target, rows, exact) for exact in (False, True))
                print(f"| {name} | {rows} | {fast} | {exact} | {read / 1e6:.0f} | {read_exactly / 1e6:.0f} |", flush=True)
            target.release()


if __name__ == "__main__":
    main()
