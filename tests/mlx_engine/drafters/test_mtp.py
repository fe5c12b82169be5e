"""MTP heads: experts in each published layout, quantization, and what is taken of a whole model."""

from types import SimpleNamespace

import mlx.core as mx
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models.qwen3_next import Qwen3NextSparseMoeBlock

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.mtp.model import MtpDrafter
from mlx_engine.drafters.registry import make, parse
from mlx_engine.loading.drafter_files import read
from mlx_engine.models.files.checkpoint import read_config
from tests.mlx_engine.conftest import GOLDEN

FOLDER, AT = GOLDEN / "mtp_1" / "drafter", "layers.0.mlp."
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 64}


def block(normalized=True) -> tuple[Qwen3NextSparseMoeBlock, dict[str, mx.array]]:
    """mlx-lm's experts, and their weights by name."""
    mx.random.seed(5)
    made = Qwen3NextSparseMoeBlock(SimpleNamespace(**EXPERTS, hidden_size=48, norm_topk_prob=normalized))
    return made, dict(tree_flatten(made.parameters()))


def drafter(weights: dict[str, mx.array], bits: int = 16, **fields) -> MtpDrafter:
    text = {**read_config(FOLDER)["text_config"], **EXPERTS, **fields}
    others = {name: array for name, array in read(FOLDER).items() if not name.startswith(AT)}
    table = mx.random.normal((121, 48), key=mx.random.key(1))
    made = {**others, **{AT + name: array for name, array in weights.items()}}
    config = parse({"model_type": "qwen3_5_mtp", "text_config": text})
    return make(config, made, mx.float32, lambda tokens: table[tokens], lambda hidden: hidden @ table.T, bits)


def switched(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    return weights


def fused(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    gate, up, down = (weights.pop(f"switch_mlp.{name}_proj.weight") for name in ("gate", "up", "down"))
    return {**weights, "experts.gate_up_proj": mx.concatenate([gate, up], axis=1), "experts.down_proj": down}


def one_by_one(weights: dict[str, mx.array]) -> dict[str, mx.array]:
    stacked = {name: weights.pop(f"switch_mlp.{name}_proj.weight") for name in ("gate", "up", "down")}
    each = {f"experts.{i}.{name}_proj.weight": array[i] for name, array in stacked.items() for i in range(8)}
    return {**weights, **each}


@pytest.mark.parametrize("layout", [switched, fused, one_by_one])
@pytest.mark.parametrize("normalized", [True, False])
def test_experts_of_each_layout_agree_with_mlx_lms(layout, normalized):
    reference, weights = block(normalized)
    made = drafter(layout(weights), norm_topk_prob=normalized)
    x = mx.random.normal((1, 5, 48), key=mx.random.key(2))
    assert mx.allclose(made.feed_forward(x), reference(x), atol=1e-5).item()


def test_quantized_experts_stay_close():
    reference, weights = block()
    made = drafter(fused(weights), bits=8)
    assert made._experts is not None and made._experts.bits == 8
    x = mx.random.normal((1, 5, 48), key=mx.random.key(2))
    assert mx.allclose(made.feed_forward(x), reference(x), atol=0.02).item()


def test_a_head_in_its_targets_folder_counts_alone(mtp):
    size = sum(array.nbytes for array in read(FOLDER).values())
    assert mtp.pair.info.drafter_bytes == size < mtp.pair.info.target_bytes


def test_missing_experts_are_named():
    _, weights = block()
    del weights["switch_mlp.up_proj.weight"]
    with pytest.raises(UserError, match=r"switch_mlp\.up_proj\.weight"):
        drafter(weights)


def test_a_native_head_ignores_the_targets_own_tensors_and_adds_one_to_norms():
    config = parse(read_config(FOLDER))
    stored = read(FOLDER)
    native = {f"mtp.{name}": array - 1 if array.ndim == 1 else array for name, array in stored.items()}
    ends = (lambda tokens: mx.zeros((*tokens.shape, 48))), (lambda hidden: hidden)
    one = make(config, dict(stored), mx.float32, *ends)
    other = make(config, {**native, "model.norm.weight": mx.zeros(48), "lm_head.weight": mx.zeros((3, 3))}, mx.float32, *ends)
    for ours, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert mx.allclose(ours, theirs, atol=1e-6).item()
