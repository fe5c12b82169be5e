"""The drafter as a function of its tensors: its logits are those of the decoding drafter, and its loss and gradient are right."""

import json

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.dflash2.model import DFlash2Drafter
from mlx_engine.drafters.parts.block_tensors import matrices, vectors
from mlx_engine.drafters.registry import parse
from mlx_engine.tuning.block_loss import BlockBatch, BlockLoss
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.drafters.drafter_cases import Case

KINDS = sorted(folder.name for folder in GOLDEN.iterdir() if folder.name[:2].isdigit())


def model(case: Case) -> BlockLoss:
    embed, head = (lambda ids: case.table[ids]), (lambda hidden: hidden @ case.head.T)
    return BlockLoss(parse(case.config), dict(case.weights), mx.float32, embed, head)


def blocks(case: Case, seed: int = 3) -> BlockBatch:
    """Two sequences of 40 positions, with three anchors each."""
    config, rng = parse(case.config), np.random.default_rng(seed)
    tokens = rng.integers(1, config.vocab_size, (2, 3, config.block_size)).astype(np.uint32)
    features = mx.array(rng.normal(size=(2, 40, config.hidden_size * len(config.taps))).astype(np.float32))
    weights = mx.array(rng.random((2, 3, config.block_size - 1)).astype(np.float32))
    return BlockBatch(features, mx.array(tokens), mx.array([[0, 7, 39], [1, 20, 40]]), weights)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_the_decoding_drafter(kind):
    case = Case(kind)
    drafter, batch = case.drafter(), blocks(case)
    found = model(case).logits({}, batch)
    for row, anchors in enumerate(batch.anchors.tolist()):
        for index, position in enumerate(anchors):
            context = drafter.context()
            if position:
                drafter.inject(context, batch.features[row, :position])
            tokens = batch.blocks[row, index]
            hidden = drafter.hidden(context, tokens[:1], drafter.config.block_size)
            expected = drafter.logits(hidden)
            if isinstance(drafter, DFlash2Drafter):  # the edge from each true token, to all tokens
                edges = drafter.selector.predecessors.rows(tokens[:-1]) * drafter.selector.edge(hidden)
                expected = expected + edges @ drafter.selector.successors.weight.T
            # float32, with sums in another order: they differ by up to 2e-5
            np.testing.assert_allclose(np.array(found[row, index]), np.array(expected), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["01_v1_full", "06_dflash2"])
def test_loss_is_the_weighted_cross_entropy_of_the_tokens_after_the_anchors(kind):
    case = Case(kind)
    batch, trained = blocks(case), model(case)
    logits = np.array(trained.logits({}, batch)).astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    labels, weights = np.array(batch.blocks[:, :, 1:]), np.array(batch.weights).astype(np.float64)
    expected = (-np.log(np.take_along_axis(shares, labels[..., None].astype(int), -1)[..., 0]) * weights).sum() / weights.sum()
    assert trained({}, batch).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "lora"),
    [
        ("02_v1_swa_mixed", False),
        ("04_v1_yarn_bias", False),
        ("04_v1_yarn_bias", True),
        ("06_dflash2", False),
        *(pytest.param(kind, True, marks=pytest.mark.long) for kind in ("02_v1_swa_mixed", "06_dflash2")),
    ],
)
def test_gradient_is_the_slope_of_the_loss(kind, lora):
    case = Case(kind)
    config, block_model, batch = parse(case.config), model(case), blocks(case)
    mx.random.seed(11)  # the same numbers, whatever tests ran before
    if lora:
        trained = {}
        for name, (rows, columns) in matrices(config).items():
            trained[f"{name}.lora_a"], trained[f"{name}.lora_b"] = (
                mx.random.normal((4, columns)) / 8,
                mx.random.normal((rows, 4)) / 8,
            )
    else:
        trained = {name: case.weights[name] for name in (*(f"{each}.weight" for each in matrices(config)), *vectors(config))}
    gradient = mx.grad(block_model)(trained, batch)
    assert gradient.keys() == trained.keys()
    for name, array in trained.items():  # along the gradient, the loss rises by its length
        length = mx.linalg.norm(gradient[name].flatten()).item()

        def slope(step: float, name: str = name, array: mx.array = array) -> float:
            above, below = (block_model(trained | {name: array + side * gradient[name]}, batch) for side in (step, -step))
            return (above - below).item() / (2 * step)

        step = min(0.01 / length**2, 0.01 * mx.linalg.norm(array.flatten()).item() / length)
        found = (4 * slope(step / 2) - slope(step)) / 3  # without the error that grows with the square of the step
        assert found == pytest.approx(length**2, rel=0.02, abs=1e-5 / step), name


def test_positions_at_and_after_the_anchor_are_not_seen():
    case = Case("01_v1_full")
    batch, trained = blocks(case), model(case)
    other = mx.array(batch.features)
    other[:, 7:] = 9.0
    found = [
        trained.logits({}, BlockBatch(features, batch.blocks, batch.anchors, batch.weights)) for features in (batch.features, other)
    ]
    assert mx.array_equal(found[0][0, :2], found[1][0, :2])  # anchors 0 and 7
    assert not mx.allclose(found[0][0, 2], found[1][0, 2])


@pytest.mark.parametrize("name", ["dspark_3", "eagle3_2"])
def test_other_drafters_are_refused(name):
    config = parse(json.loads((GOLDEN / name / "drafter" / "config.json").read_text()))
    with pytest.raises(UserError, match="Only DFlash and DFlash 2"):
        BlockLoss(config, {}, mx.float32, lambda ids: ids, lambda hidden: hidden)
